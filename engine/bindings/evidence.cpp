// hannan._engine, the table of evidence of a learner.
#include <nanobind/stl/string.h>

#include <cstring>

#include "../players/evidence.hpp"
#include "arrays.hpp"
#include "registration.hpp"

namespace hn {
namespace {

void act(Evidence& table, In<double> probabilities, i64 arm) {
    require(probabilities.size() == table.arms.size(), "probabilities must have one number per arm");
    require(arm >= 0 && std::size_t(arm) < table.arms.size(), "arm must be an index of the table");
    table.act(probabilities.data(), std::size_t(arm));
}
void settle(Evidence& table, u64 draw, i64 arm, double probability, double loss) {
    require(draw >= 1 && draw <= table.draws, "draw must be the number of a draw of this table");
    require(arm >= 0 && std::size_t(arm) < table.arms.size(), "arm must be an index of the table");
    require(probability > 0.0 && probability <= 1.0, "probability must be in (0, 1]");
    require(loss >= 0.0 && loss <= 1.0, "loss must be in [0, 1]");
    require(table.pending > 0, "every draw is settled already");
    table.settle(draw, std::size_t(arm), probability, loss);
}

double arm_low(const Evidence& table, i64 arm, int side, double threshold) {
    return evidence().low(table.arms.at(std::size_t(arm)).main[side], nullptr, 1.0, double(table.draws), threshold);
}
double pair_low(const Evidence& table, i64 larger, i64 smaller, double threshold) {
    return evidence().low(table.arms.at(std::size_t(larger)).main[0], &table.arms.at(std::size_t(smaller)).main[1], 1.0,
                          2.0 * double(table.draws), threshold);
}
double regret_low(const Evidence& table, i64 arm, double threshold) {
    return evidence().low(table.arms.at(std::size_t(arm)).regret, nullptr, regret_factor, double(table.draws), threshold);
}
double fixed_low(const Evidence& table, i64 arm, int side, double threshold) {
    const ArmEvidence& found = table.arms.at(std::size_t(arm));
    return evidence().low(found.fixed[side], nullptr, 1.0, found.drawn, threshold);
}
double fixed_product(const Evidence& table, i64 larger, i64 smaller, double shift) {
    const ArmEvidence &a = table.arms.at(std::size_t(larger)), &b = table.arms.at(std::size_t(smaller));
    return evidence().product({&a.fixed[0], &b.fixed[1], a.drawn, b.drawn}, shift);
}
/// Twice the point estimate minus 1: e_0 - e_1, from the smallest bet of both sides.
double estimate(const Evidence& table, i64 arm) {
    const ArmEvidence& found = table.arms.at(std::size_t(arm));
    const double smallest = 1.0 / double(1 << (bets - 1));
    double e[2];
    for (int side = 0; side < 2; ++side)
        e[side] = (found.main[side].W[bets - 1] / smallest + found.main[side].C[bets - 1]) / double(table.draws);
    return 0.5 * (e[0] + 1.0 - e[1]);
}

nb::bytes to_bytes(const Evidence& table) {
    const u64 head[3] = {table.draws, table.pending, u64(table.arms.size())};
    std::string out(reinterpret_cast<const char*>(head), sizeof head);
    out.append(reinterpret_cast<const char*>(&table.own), sizeof table.own);
    out.append(reinterpret_cast<const char*>(table.arms.data()), table.arms.size() * sizeof(ArmEvidence));
    out.append(reinterpret_cast<const char*>(table.centers.data()), table.centers.size() * sizeof(double));
    return nb::bytes(out.data(), out.size());
}
Evidence from_bytes(nb::bytes bytes) {
    u64 head[3];
    const std::size_t before = sizeof head + sizeof(double);
    require(bytes.size() >= before, "corrupt evidence: the table is shorter than its head");
    const char* at = bytes.c_str();
    std::memcpy(head, at, sizeof head);
    const u64 n = head[2], versions = u64(std::bit_width(head[0])) + 1;
    require(n >= 1 && n <= (u64(1) << 24) && head[1] <= head[0] &&
                bytes.size() == before + n * sizeof(ArmEvidence) + versions * n * sizeof(double),
            "corrupt evidence: its size does not match its number of arms and draws");
    Evidence table{std::size_t(n)};
    table.draws = head[0];
    table.pending = head[1];
    at += sizeof head;
    std::memcpy(&table.own, at, sizeof table.own);
    at += sizeof table.own;
    std::memcpy(table.arms.data(), at, n * sizeof(ArmEvidence));
    at += n * sizeof(ArmEvidence);
    table.centers.resize(versions * n);
    std::memcpy(table.centers.data(), at, versions * n * sizeof(double));
    return table;
}

}  // namespace

void bind_evidence(nb::module_& m) {
    nb::class_<Evidence>(m, "Evidence", "Capitals of the arms of one learner.")
        .def(nb::init<std::size_t>(), "arms"_a)
        .def("act", &act, "probabilities"_a, "arm"_a, "Count a draw; its feedback is pending.")
        .def("settle", &settle, "draw"_a, "arm"_a, "probability"_a, "loss"_a, "Count the feedback of a draw.")
        .def_ro("draws", &Evidence::draws)
        .def_ro("pending", &Evidence::pending)
        .def_ro("own", &Evidence::own)
        .def_prop_ro("arms", [](const Evidence& t) { return t.arms.size(); })
        .def("drawn", [](const Evidence& t, i64 arm) { return t.arms.at(std::size_t(arm)).drawn; }, "arm"_a)
        .def("settled", [](const Evidence& t, i64 arm) { return t.arms.at(std::size_t(arm)).settled; }, "arm"_a)
        .def("sum", [](const Evidence& t, i64 arm) { return t.arms.at(std::size_t(arm)).sum; }, "arm"_a)
        .def("arm_low", &arm_low, "arm"_a, "side"_a, "threshold"_a)
        .def("pair_low", &pair_low, "larger"_a, "smaller"_a, "threshold"_a)
        .def("regret_low", &regret_low, "arm"_a, "threshold"_a)
        .def("fixed_low", &fixed_low, "arm"_a, "side"_a, "threshold"_a)
        .def("fixed_product", &fixed_product, "larger"_a, "smaller"_a, "shift"_a)
        .def("estimate", &estimate, "arm"_a)
        .def("to_bytes", &to_bytes)
        .def_static("from_bytes", &from_bytes, "bytes"_a);
}

}  // namespace hn
