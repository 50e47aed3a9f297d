// hannan._engine: the potentials at one L.
#include "../potentials.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <tuple>

#include "../players.hpp"
#include "arrays.hpp"
#include "registration.hpp"
#include "setup.hpp"

namespace hn {
namespace {

/// Four numbers, with zeros for missing ones.
struct Parameters {
    double at[4] = {0.0, 0.0, 0.0, 0.0};
    explicit Parameters(const std::vector<double>& given) {
        require(given.size() <= 4, "parameters must be at most four numbers");
        for (std::size_t k = 0; k < given.size(); ++k) at[k] = given[k];
    }
};

}  // namespace

void bind_potentials(nb::module_& m) {
    nb::class_<HeldTable>(m, "LawTable", "Tabulated perturbation distribution of the user.")
        .def(
            "__init__",
            [](HeldTable* held, bool one_sided, bool has_mean, double centre, double spread, double first,
               double step, Table2<double> points, In<double> w, In<double> dw) {
                require(points.shape(0) >= 2 && points.shape(1) == 4,
                        "points must have four columns and at least two rows");
                require(spread > 0.0 && step > 0.0, "spread and step must be > 0");
                require(w.size() == dw.size() && w.size() % 4 == 0 && w.size() > 0,
                        "w and dw must have the same length, a multiple of four");
                new (held) HeldTable;
                held->points.assign(points.data(), points.data() + points.size());
                held->w.assign(w.data(), w.data() + w.size());
                held->dw.assign(dw.data(), dw.data() + dw.size());
                held->table = {one_sided,
                               has_mean,
                               centre,
                               spread,
                               first,
                               step,
                               i64(points.shape(0)),
                               held->points.data(),
                               i64(w.size()),
                               held->w.data(),
                               held->dw.data()};
            },
            nb::kw_only(), "one_sided"_a, "has_mean"_a, "centre"_a, "spread"_a, "first"_a, "step"_a,
            "points"_a, "w"_a, "dw"_a)
        .def(
            "leaders",
            [](const HeldTable& held, In<double> L, double scale) {
                require(L.size() > 0, "L must have at least one arm");
                Fresh<double> p(L.size());
                double total = 0.0, mean = 0.0;
                const bool fine =
                    potentials().by_table(held.table, L.data(), i64(L.size()), scale, p.data, &total, &mean);
                return std::make_tuple(p.give(), total, mean, fine);
            },
            "L"_a, "scale"_a, "FTPL at L. Returns (p, sum of p, E max_j (Z_j - d_j), valid).");
    m.def(
        "perturbed_leaders",
        [](Smoothing kind, const std::vector<double>& parameters, In<double> L, double scale) {
            require(L.size() > 0, "L must have at least one arm");
            Fresh<double> p(L.size());
            double mean = 0.0;
            bool fine;
            {
                nb::gil_scoped_release gil;
                fine = potentials().leaders(kind, Parameters(parameters).at, L.data(), i64(L.size()), scale,
                                            p.data, &mean);
            }
            return std::make_tuple(p.give(), mean, fine);
        },
        "law"_a, "parameters"_a, "L"_a, "scale"_a, "FTPL at L. Returns (p, E max_j (Z_j - d_j), converged).");
    m.def(
        "perturbed_nodes",
        [](Smoothing kind, const std::vector<double>& parameters, In<double> L, double scale, i64 room) {
            require(L.size() > 0 && room > 0, "L must have at least one arm, and room at least one node");
            Fresh<double> p(L.size()), w{std::size_t(room)}, mass{std::size_t(room)};
            i64 used;
            {
                nb::gil_scoped_release gil;
                used = potentials().nodes(kind, Parameters(parameters).at, L.data(), i64(L.size()), scale,
                                          p.data, w.data, mass.data, room);
            }
            return std::make_tuple(used, w.give(), mass.give());
        },
        "law"_a, "parameters"_a, "L"_a, "scale"_a, "room"_a,
        "Quadrature rule of the Hessian. Returns (count, nodes w, masses G dw); count is -1 if it did not "
        "converge.");
    m.def(
        "perturbed_ratios",
        [](Smoothing kind, const std::vector<double>& parameters, In<double> gaps, In<double> nodes) {
            Fresh<double> out(nodes.size(), gaps.size());
            if (!potentials().ratios(kind, Parameters(parameters).at, gaps.data(), i64(gaps.size()),
                                     nodes.data(), i64(nodes.size()), out.data))
                throw std::bad_alloc();
            return out.give();
        },
        "law"_a, "parameters"_a, "gaps"_a, "nodes"_a, "Return r(w_q + d_i) for every node and arm.");
    m.def(
        "regularized_leaders",
        [](In<double> L, double scale, double alpha) {
            require(L.size() > 0, "L must have at least one arm");
            Fresh<double> w(L.size());
            double total = 0.0;
            const bool fine = potentials().powers(L.data(), i64(L.size()), scale, alpha, w.data, &total);
            return std::make_tuple(w.give(), total, fine);
        },
        "L"_a, "scale"_a, "alpha"_a,
        "Leader of Tsallis, or of the log-barrier (alpha = 0). Returns (w, sum of w, converged).");
    m.def(
        "regularized_value",
        [](In<double> L, In<double> p, double scale, double alpha) {
            require(L.size() == p.size() && L.size() > 0, "L and p must have the same length, at least 1");
            return potentials().powers_value(L.data(), p.data(), i64(L.size()), scale, alpha);
        },
        "L"_a, "p"_a, "scale"_a, "alpha"_a, "Return <L, p> + scale F(p).");
}

// hannan._engine: the functions of one number, the streams, the instruction set.

void bind_mathematics(nb::module_& m) {
    nb::enum_<Function>(m, "Function")
        .value("exp", Function::exp)
        .value("exp_soon", Function::exp_soon)
        .value("exp_small", Function::exp_small)
        .value("expm1", Function::expm1)
        .value("log", Function::log)
        .value("log1p", Function::log1p)
        .value("erfc", Function::erfc)
        .value("erfcx", Function::erfcx);
    m.def(
        "each",
        [](Function which, In<double> x, bool by_fours) {
            Fresh<double> out(x.size());
            mathematics().each(which, x.data(), out.data, i64(x.size()), by_fours);
            return out.give();
        },
        "function"_a, "x"_a, "by_fours"_a = true,
        "Return f(x_i) for every i; by fours or one by one, the bits are the same.");
    m.def(
        "power",
        [](In<double> x, double a) {
            Fresh<double> out(x.size());
            mathematics().pow_each(x.data(), a, out.data, i64(x.size()));
            return out.give();
        },
        "x"_a, "a"_a, "Return x_i^a for every x_i >= 0.");
    m.def(
        "uniforms",
        [](Out<u64> words, i64 count) {
            require(words.size() == 4, "words must have four entries");
            require(count >= 0, "count must be >= 0");
            Fresh<double> out{std::size_t(count)};
            mathematics().uniforms(words.data(), out.data, count);
            return out.give();
        },
        "words"_a, "count"_a, "Draw uniforms from a stream, and advance its words.");
    m.def(
        "words_of_keys",
        [](In<u32> begun, nb::ndarray<const u32, nb::ndim<2>, nb::c_contig, nb::device::cpu> keys) {
            require(begun.size() == 5, "begun must have five entries: four words of the pool and a constant");
            const i64 count = i64(keys.shape(0)), parts = i64(keys.shape(1));
            Fresh<u64> out(std::size_t(4 * count));
            for (i64 k = 0; k < count; ++k)
                fleets().seed(begun.data(), begun.data()[4], keys.data() + k * parts, parts,
                              out.data + 4 * k);
            return out.give();
        },
        "begun"_a, "keys"_a,
        "First four words of the stream of each key. A key is a row of 32-bit parts: see random.hpp.");
    m.def(
        "log_evidence", [](double R, double V) { return mathematics().log_evidence(R, V); }, "R"_a, "V"_a,
        "Logarithm of the integral of e^(eta R - eta^2 V) over [0, 1/2], the weight of Squint.");
    m.def(
        "least_mean", [](double m, double room) { return mathematics().least_mean(m, room); }, "m"_a,
        "room"_a, "Smallest q <= m with kl(m, q) <= room, the index of KL-UCB.");
    m.def("instruction_set", &instruction_set, "Instruction set in use: \"v3\" (AVX2 and FMA) or \"base\".");
    m.def("use_instruction_set", &use_instruction_set, "name"_a,
          "Choose \"base\", \"v3\" or \"\" (the best). Returns False if this machine does not support it.");
}

}  // namespace hn
