// hannan._engine: the functions of one number, the streams, the instruction set.
#include <nanobind/stl/string.h>

#include "../fleets.hpp"
#include "../mathematics.hpp"
#include "arrays.hpp"
#include "rooms.hpp"

namespace hn {

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
        "function"_a, "x"_a, "by_fours"_a = true, "f(x_i) for every i, four at a time or one by one: the same bits.");
    m.def(
        "power",
        [](In<double> x, double a) {
            Fresh<double> out(x.size());
            mathematics().pow_each(x.data(), a, out.data, i64(x.size()));
            return out.give();
        },
        "x"_a, "a"_a, "x_i^a for every x_i >= 0.");
    m.def(
        "uniforms",
        [](Out<u64> words, i64 count) {
            require(words.size() == 4, "a stream has four words");
            require(count >= 0, "a count must be at least 0");
            Fresh<double> out{std::size_t(count)};
            mathematics().uniforms(words.data(), out.data, count);
            return out.give();
        },
        "words"_a, "count"_a, "The next uniforms of a stream; its words move on.");
    m.def(
        "words_of_keys",
        [](In<u32> begun, nb::ndarray<const u32, nb::ndim<2>, nb::c_contig, nb::device::cpu> keys) {
            require(begun.size() == 5, "a seed begins a pool of four words and a constant");
            const i64 count = i64(keys.shape(0)), parts = i64(keys.shape(1));
            Fresh<u64> out(std::size_t(4 * count));
            for (i64 k = 0; k < count; ++k)
                fleets().seed(begun.data(), begun.data()[4], keys.data() + k * parts, parts, out.data + 4 * k);
            return out.give();
        },
        "begun"_a, "keys"_a, "The first four words of the stream of each key, a row of 32-bit parts: see players/seeding.hpp.");
    m.def("log_evidence", [](double R, double V) { return mathematics().log_evidence(R, V); }, "R"_a, "V"_a,
          "log of the integral of e^(eta R - eta^2 V) over [0, 1/2]: the weight of Squint.");
    m.def("least_mean", [](double m, double room) { return mathematics().least_mean(m, room); }, "m"_a, "room"_a,
          "The least q <= m with kl(m, q) <= room: the index of KL-UCB.");
    m.def("instruction_set", &instruction_set, "\"v3\" (AVX2 and FMA) or \"base\".");
    m.def("use_instruction_set", &use_instruction_set, "name"_a,
          "Choose \"base\", \"v3\" or \"\" (the best); False where this machine cannot.");
}

}  // namespace hn
