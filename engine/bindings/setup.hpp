// A learner's Setup with what it points to, as Python holds it.
#pragma once

#include <new>
#include <vector>

#include "../potentials.hpp"
#include "../setup.hpp"
#include "arrays.hpp"

namespace hn {

/// Room for runs: aligned, freed with its owner.
class Room {
    double* numbers_ = nullptr;

public:
    explicit Room(i64 count = 0) {
        if (count > 0)
            numbers_ = static_cast<double*>(
                ::operator new(std::size_t(count) * sizeof(double), std::align_val_t(64)));
    }
    Room(const Room&) = delete;
    Room& operator=(const Room&) = delete;
    Room(Room&& other) noexcept : numbers_(other.numbers_) { other.numbers_ = nullptr; }
    ~Room() { ::operator delete(numbers_, std::align_val_t(64)); }
    double* at(i64 k) const { return numbers_ + k; }
};

/// So many places for a run that the next one is aligned too.
inline i64 aligned_room(const Setup& s) { return (s.room() + 7) & ~i64(7); }

struct Description {
    Setup setup;
    std::vector<double> prior, grid;
    nb::object law;     // a callable (L, scale, valued) -> (w, value), where the smoothing is Python's own
    nb::object estimate;  // a callable (action, p, L, scale, draw) -> (weight, baselines or None), if user-defined
    nb::object raised;  // what it raised, if it did
    nb::object table;   // keeps a tabulated law alive
};

/// tp_traverse of what holds a setup: a law of the user's own may know its player, and the garbage collector must see it.
template <class Holder>
int visit_setup_of(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    if (nb::inst_ready(self)) Py_VISIT(nb::inst_ptr<Holder>(self)->description.ptr());
    return 0;
}

/// Raises what a smoothing of Python's own raised, if that is why a step failed.
void raise_if_foreign(Description& d);

Words words_at(const u64* w);

// A tabulated law as Python holds it: its numbers, and the struct that points to them.

struct HeldTable {
    LawTable table;
    std::vector<double> points, w, dw;
};

}  // namespace hn
