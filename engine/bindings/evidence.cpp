// hannan._engine, the table of evidence of a learner.
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cmath>
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
    require(draw >= 1 && draw <= table.draws, "draw must be the number of an existing draw of this table");
    require(arm >= 0 && std::size_t(arm) < table.arms.size(), "arm must be an index of the table");
    require(probability > 0.0 && probability <= 1.0, "probability must be in (0, 1]");
    require(loss >= 0.0 && loss <= 1.0, "loss must be in [0, 1]");
    require(table.pending > 0, "every draw has already been settled");
    table.settle(Evidence::version_of(draw), std::size_t(arm), probability, loss);
}

double arm_low(const Evidence& table, i64 arm, int side, double threshold) {
    return evidence().low(table.arms.at(std::size_t(arm)).main[side], nullptr, 1.0, double(table.draws), threshold);
}
double pair_low(const Evidence& table, i64 larger, i64 smaller, double threshold) {
    return evidence().low(table.arms.at(std::size_t(larger)).main[0], &table.arms.at(std::size_t(smaller)).main[1], 1.0,
                          2.0 * double(table.draws), threshold);
}
double capital_low(In<double> W, In<double> C, double top, double threshold) {
    require(W.size() == bets && C.size() == bets, "W and C must have one number per bet");
    EvidenceRow row;
    std::copy_n(W.data(), bets, row.W);
    std::copy_n(C.data(), bets, row.C);
    return evidence().low(row, nullptr, 1.0, top, threshold);
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
/// Head of a saved table; arms and centers follow.
struct Head {
    u64 draws, pending, arms;
    i64 sure;
    u64 sure_since, seen_draws, seen_settled, began, sure_sequence;
    double own;
};

bool sound(const Evidence& table) {
    double drawn = 0.0, settled = 0.0, sum = 0.0;
    for (const ArmEvidence& arm : table.arms) {
        const double* numbers = reinterpret_cast<const double*>(&arm);
        for (std::size_t k = 0; k < sizeof(ArmEvidence) / sizeof(double); ++k)
            if (!std::isfinite(numbers[k])) return false;
        if (!(0.0 <= arm.least && arm.least <= 1.0)) return false;
        if (!(0.0 <= arm.sum && arm.sum <= arm.settled && arm.settled <= arm.drawn)) return false;
        drawn += arm.drawn;
        settled += arm.settled;
        sum += arm.sum;
    }
    for (const double center : table.centers)
        if (!(center >= 0.0 && center <= 1.0)) return false;
    return drawn == double(table.draws) && settled == double(table.draws - table.pending) &&
           std::abs(sum - table.own) <= 1e-9 * (1.0 + sum) && table.sure >= -1 && table.sure < i64(table.arms.size()) &&
           table.sure_since <= table.draws && table.seen_draws <= table.draws && table.seen_settled <= table.draws - table.pending;
}

}  // namespace

std::string bytes_of(const Evidence& table) {
    const Head head{table.draws, table.pending, u64(table.arms.size()), table.sure, table.sure_since,
                    table.seen_draws, table.seen_settled, table.began, table.sure_sequence, table.own};
    std::string out(reinterpret_cast<const char*>(&head), sizeof head);
    out.append(reinterpret_cast<const char*>(table.arms.data()), table.arms.size() * sizeof(ArmEvidence));
    out.append(reinterpret_cast<const char*>(table.centers.data()), table.centers.size() * sizeof(double));
    return out;
}
Evidence evidence_of(const char* at, std::size_t size) {
    Head head;
    require(size >= sizeof head, "corrupt evidence: the table is shorter than its head");
    std::memcpy(&head, at, sizeof head);
    const u64 n = head.arms, versions = u64(std::bit_width(head.draws)) + 1;
    require(n >= 1 && n <= (u64(1) << 24) && head.pending <= head.draws &&
                size == sizeof head + n * sizeof(ArmEvidence) + versions * n * sizeof(double),
            "corrupt evidence: its size does not match its number of arms and draws");
    Evidence table{std::size_t(n)};
    table.draws = head.draws;
    table.pending = head.pending;
    table.sure = head.sure;
    table.sure_since = head.sure_since;
    table.seen_draws = head.seen_draws;
    table.seen_settled = head.seen_settled;
    table.began = head.began;
    table.sure_sequence = head.sure_sequence;
    table.own = head.own;
    at += sizeof head;
    std::memcpy(table.arms.data(), at, n * sizeof(ArmEvidence));
    at += n * sizeof(ArmEvidence);
    table.centers.resize(versions * n);
    std::memcpy(table.centers.data(), at, versions * n * sizeof(double));
    require(sound(table), "corrupt evidence: its counts and sums contradict each other");
    return table;
}

namespace {

nb::bytes to_bytes(const Evidence& table) {
    const std::string out = bytes_of(table);
    return nb::bytes(out.data(), out.size());
}
Evidence from_bytes(nb::bytes bytes) { return evidence_of(bytes.c_str(), bytes.size()); }
double estimate(const Evidence& table, i64 arm) {
    require(arm >= 0 && std::size_t(arm) < table.arms.size(), "arm must be an index of the table");
    return table.estimate(std::size_t(arm));
}

}  // namespace

void bind_evidence(nb::module_& m) {
    m.def("capital_low", &capital_low, "W"_a, "C"_a, "top"_a, "threshold"_a,
          "Return the smallest value in [0, top] at which a capital is at most e^threshold, rounded down.");
    nb::class_<Evidence>(m, "Evidence", "Capitals of the arms of one learner.")
        .def(nb::init<std::size_t>(), "arms"_a)
        .def("act", &act, "probabilities"_a, "arm"_a, "Count a draw; its feedback is pending.")
        .def("settle", &settle, "draw"_a, "arm"_a, "probability"_a, "loss"_a, "Count the feedback of a draw.")
        .def("watch", &Evidence::watch, "Evaluate the best arm if the counts have grown by 2% since the last evaluation.")
        .def("retire", [](Evidence& t, i64 arm) { t.retired.at(std::size_t(arm)) = 1; }, "arm"_a,
             "Leave an arm out of the comparison of the best arm from now on.")
        .def_ro("draws", &Evidence::draws)
        .def_ro("pending", &Evidence::pending)
        .def_ro("own", &Evidence::own)
        .def_ro("sure", &Evidence::sure, "Arm that has been the best since draw `sure_since`, or -1.")
        .def_ro("sure_since", &Evidence::sure_since)
        .def_rw("sequence", &Evidence::sequence, "Sequence of the next event in the journal of a store.")
        .def_ro("began", &Evidence::began, "Sequence of the first draw.")
        .def_ro("sure_sequence", &Evidence::sure_sequence, "Sequence of the event at which the arm became the best.")
        .def_prop_ro("arms", [](const Evidence& t) { return t.arms.size(); })
        .def("drawn", [](const Evidence& t, i64 arm) { return t.arms.at(std::size_t(arm)).drawn; }, "arm"_a)
        .def("settled", [](const Evidence& t, i64 arm) { return t.arms.at(std::size_t(arm)).settled; }, "arm"_a)
        .def("least", [](const Evidence& t, i64 arm) { return t.arms.at(std::size_t(arm)).least; }, "arm"_a,
             "Smallest probability of the arm at any draw.")
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
