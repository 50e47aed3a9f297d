// The state of a run as named fields: written by name, and read back with a check per field.
#pragma once

#include <cmath>
#include <string>

#include "../setup.hpp"
#include "arrays.hpp"

namespace hn {

[[noreturn, gnu::noinline, gnu::cold]] inline void refuse(const char* name, const char* rule) {
    throw nb::value_error((std::string(name) + " " + rule).c_str());
}
inline void must(bool holds, const char* name, const char* rule) {
    if (!holds) refuse(name, rule);
}

inline nb::handle entry(const nb::dict& from, const char* name) {
    if (!from.contains(name))
        throw nb::value_error((std::string("corrupt file: missing field ") + name).c_str());
    return from[name];
}
inline i64 whole(const nb::dict& from, const char* name, i64 low, i64 high) {
    i64 value = 0;
    must(nb::try_cast(nb::object(nb::borrow(entry(from, name))), value), name, "must be an integer");
    if (value < low || value > high)
        throw nb::value_error((std::string(name) + " must be between " + std::to_string(low) + " and " +
                               std::to_string(high) + "; got " + std::to_string(value))
                                  .c_str());
    return value;
}

/// Integer that a file stores as a double, of at most 2^53 in absolute value.
inline i64 counted(const char* name, double x) {
    must(std::fabs(x) <= 0x1p53 && x == std::floor(x), name, "must be an integer within the limits of the field");
    return i64(x);
}

inline nb::object words_list(const Words& w) { return nb::make_tuple(w.a, w.b, w.c, w.d); }
inline Words read_words(const nb::dict& from, const char* name, bool wanted) {
    nb::object found = nb::borrow(entry(from, name));
    must(nb::isinstance<nb::sequence>(found) && nb::len(found) == 4, name, "must have four words");
    Words w;
    u64* to[4] = {&w.a, &w.b, &w.c, &w.d};
    for (std::size_t k = 0; k < 4; ++k)
        must(nb::try_cast(nb::object(found[k]), *to[k]), name, "must have four words");
    must(!wanted || (w.a | w.b | w.c | w.d), name, "must have a word that is not zero");
    return w;
}

inline nb::dict fields_of(const Setup& s, Run& run) {
    nb::dict out, numbers;
    each_number(run, [&](const char* name, auto& x) { numbers[name] = double(x); });
    out["numbers"] = numbers;
    out["stream"] = words_list(run.stream);
    out["noise"] = words_list(run.noise);
    out["losses"] = array_of(run.L, s.n);
    out["weights"] = array_of(run.w, s.n);
    out["memory"] = array_of(run.memory, s.memory_places());
    out["baselines"] = array_of(run.scratch, s.has_baselines() ? s.n : 0);
    return out;
}

inline void read_array(const nb::dict& from, const char* name, i64 count, double* to, double low,
                       double high) {
    In<double> found;
    must(nb::try_cast(nb::object(nb::borrow(entry(from, name))), found), name, "must be numbers");
    must(i64(found.size()) == count, name, "must have one number per arm");
    for (i64 k = 0; k < count; ++k)
        must(found.data()[k] >= low && found.data()[k] <= high, name,
             "must have finite numbers within the limits of the field");
    for (i64 k = 0; k < count; ++k) to[k] = found.data()[k];
}

/// Check the numbers of a run, and set `inverse`.
void check_numbers(const Setup& s, RunNumbers& run);
/// Check that the weights are finite and sum to their total.
void check_weights(const Setup& s, const Run& run);
/// Check the memory of a learner.
void check_memory(const Setup& s, const Run& run);
/// Check that the terms of the regret identity are finite. If a certificate reports them, also check that the first is
/// `start` and that they sum to the own loss.
void check_identity(const RunNumbers& run, double start, bool told);
/// Check that weights recomputed from the losses agree with the stored weights, up to rounding and solver tolerance.
void must_agree(const Setup& s, const Run& run, Run& twin);

/// Read all fields into a run. No value is used as an index before it was checked.
void read_fields(const Setup& s, Run& run, const nb::dict& from, bool sees_all);

}  // namespace hn
