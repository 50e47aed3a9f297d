// hannan._engine, panels: many series, each combined separately; the caller divides the series among the
// cores.
#include <algorithm>
#include <memory>
#include <vector>

#include "combination.hpp"
#include "registration.hpp"
#include "setup.hpp"

namespace hn {
namespace {

/// Results of a series: numbers of one row of `totals`.
struct PanelTotals {
    double settled, mixture, mean_loss, bound_b, bound_quick, bound_own, bound_mean, gap, grown;
};

/// Rows of all series: a target is settled before row `known` of the whole table is answered.
struct PanelTable {
    Table2<double> forecasts;
    In<double> targets;
    In<i64> known, starts;
    std::optional<Table2<double>> prior;  // one row for all series, or one per series
    /// A further member of the upper layer: its forecasts, and its last weights of the columns.
    std::optional<Table2<double>> outside;
    std::optional<In<double>> outside_weights;

    const double* prior_of(i64 series) const {
        return prior ? prior->data() + (prior->shape(0) > 1 ? series * i64(prior->shape(1)) : 0) : nullptr;
    }
};

/// Arrays that a combined panel is written to: answers per row, the rest per series.
struct PanelResults {
    Out<double> mixed;
    OutTable2<double> weights, losses, beside, awake, bounds, totals;
};

/// Memory of one worker, reused for one series after the other.
struct Worker {
    Combination c;
    Room room;
    std::unique_ptr<bool[]> awake;
    std::vector<double> tickets;
    std::vector<i64> order, counts;

    explicit Worker(const Combination& like)
        : c(like), room(like.room()), awake(new bool[std::size_t(like.places)]()) {
        c.awake = awake.get();
    }

    /// Rows of [begin, end): a target is settled before the row `known` (of the whole table) is answered, targets that
    /// are known at the same time in the order of their rows. Returns the first row with an error, or -1.
    i64 play(const PanelTable& table, const PanelResults& results, i64 which, Happened& happened) {
        const i64* known = table.known.data();
        const i64 begin = table.starts.data()[which], end = table.starts.data()[which + 1];
        const i64 rows = end - begin, depth = c.depth();
        const i64 width = c.width();
        combinations().begin(c, room.at(0), table.prior_of(which));
        counts.assign(std::size_t(rows) + 2, 0);
        order.assign(std::size_t(rows), 0);
        const auto due = [&](i64 t) { return std::min(known[begin + t] - begin, rows); };
        for (i64 t = 0; t < rows; ++t) ++counts[std::size_t(due(t)) + 1];
        for (i64 t = 0; t <= rows; ++t) counts[std::size_t(t) + 1] += counts[std::size_t(t)];
        for (i64 t = 0; t < rows; ++t) order[std::size_t(counts[std::size_t(due(t))]++)] = t;
        // A ticket is reused after its row is settled; the oldest pending row determines how many tickets are
        // needed.
        i64 most = 1;
        for (i64 t = 0, oldest = 0; t < rows; ++t) {
            while (oldest < t && due(oldest) <= t) ++oldest;
            most = std::max(most, t - oldest + 1);
        }
        if (i64(tickets.size()) < most * width) tickets.resize(std::size_t(most * width));
        const auto ticket = [&](i64 t) { return tickets.data() + t % most * width; };
        i64 next = 0;
        for (i64 t = 0; t <= rows; ++t) {
            for (; next < rows && due(order[std::size_t(next)]) <= t; ++next) {
                const i64 row = order[std::size_t(next)];
                const double y = table.targets.data()[begin + row];
                if (y != y) continue;
                happened = combinations().settle(c, ticket(row), y);
                if (happened.trouble != Trouble::none) return begin + row;
            }
            if (t == rows) break;
            const i64 at = begin + t;
            if (c.outside) c.outside_forecast = table.outside->data() + at * depth;
            if (!combinations().answer(c, table.forecasts.data() + at * c.cells(), ticket(t), nullptr)) {
                happened.trouble = Trouble::asleep;
                return at;
            }
            const double* told = c.open_row(ticket(t)).answers();
            for (i64 q = 0; q < depth; ++q) results.mixed.data()[at * depth + q] = told[q];
        }
        finish(table, results, which);
        return -1;
    }

    void finish(const PanelTable& table, const PanelResults& results, i64 which) {
        const i64 n = c.n;
        for (i64 i = 0; i < n; ++i) {
            results.losses.data()[which * n + i] = c.tally.losses[i];
            results.beside.data()[which * n + i] = c.tally.beside[i];
            results.awake.data()[which * n + i] = c.tally.awake[i];
        }
        double top[most_seats] = {};
        if (c.kind == Mixing::two_layers) combinations().bounds(c.top, top);
        if (has_rule_b(c.kind)) combinations().bounds(c.b, results.bounds.data() + which * n);
        reinterpret_cast<PanelTotals*>(results.totals.data())[which] = {c.tally.settled, c.tally.mixture,
                             c.mean_loss,     top[0],
                             top[1],          top[2],
                             top[3],          reinterpret_cast<const AdaHedgeSums*>(c.own.memory)->gap,
                             c.b.grown};
        // Weights of a row with all forecasts; the forecasts themselves matter for the median only.
        std::vector<double> even(std::size_t(c.cells()), 0.0),
            scratch(std::size_t(c.width()), 0.0);
        c.outside_forecast = even.data();
        c.outside_weights = c.outside ? table.outside_weights->data() : nullptr;
        combinations().answer(c, even.data(), scratch.data(), results.weights.data() + which * n);
        c.outside_weights = nullptr;
    }
};

/// (first bad row or -1, error, column).
nb::tuple panel(const MixRule& rule, const PanelTable& table, const PanelResults& results, i64 first,
                i64 last) {
    const i64 rows = i64(table.targets.size()), n = i64(results.losses.shape(1)),
              series = i64(table.starts.size()) - 1;
    const i64 *known = table.known.data(), *starts = table.starts.data();
    Combination like = combination_of(rule, n);
    if (table.outside) {
        require(rule.kind == Mixing::two_layers && table.outside_weights &&
                    i64(table.outside_weights->size()) == n,
                "a further member requires the rule with two layers, and one weight per column");
        require(i64(table.outside->shape(0)) == rows && i64(table.outside->shape(1)) == like.depth(),
                "a further member must have one forecast per row and level");
        like.outside = 1;
    }
    require(i64(table.forecasts.shape(1)) == like.cells(), "forecasts must have one entry per column");
    require(i64(table.forecasts.shape(0)) == rows && i64(table.known.size()) == rows &&
                i64(results.mixed.size()) == rows * like.depth(),
            "mixed must have one entry per row and level");
    require(series >= 0 && starts[0] == 0 && starts[series] == rows,
            "starts must begin at 0 and end at the number of rows");
    for (i64 s = 0; s < series; ++s) require(starts[s] <= starts[s + 1], "starts must ascend");
    for (i64 t = 0; t < rows; ++t) require(known[t] > t, "known must be greater than the number of the row");
    for (const auto* out :
         {&results.weights, &results.losses, &results.beside, &results.awake, &results.bounds})
        require(i64(out->shape(0)) == series && i64(out->shape(1)) == n,
                "arrays of series must have one row per series and one entry per column");
    require(i64(results.totals.shape(0)) == series &&
                results.totals.shape(1) == sizeof(PanelTotals) / sizeof(double),
            "totals must have one row per series");
    require(0 <= first && first <= last && last <= series, "first and last must be series of the table");
    const i64 priors = table.prior ? i64(table.prior->shape(0)) : 0;
    require(!table.prior || ((priors == 1 || priors == series) && i64(table.prior->shape(1)) == n),
            "prior must have one number per column");
    for (i64 s = 0; s < priors; ++s) check_prior(table.prior->data() + s * n, n);
    i64 troubled = -1;
    Happened happened;
    {
        nb::gil_scoped_release released;
        Worker worker(like);
        for (i64 s = first; s < last && troubled < 0; ++s)
            troubled = worker.play(table, results, s, happened);
    }
    return nb::make_tuple(troubled, happened.trouble, happened.expert);
}

}  // namespace

void bind_panel(nb::module_& m) {
    nb::class_<PanelTable>(m, "PanelTable", "Rows of all series, one series after the other.")
        .def(
            "__init__",
            [](PanelTable* made, Table2<double> forecasts, In<double> targets, In<i64> known, In<i64> starts,
               std::optional<Table2<double>> prior, std::optional<Table2<double>> outside,
               std::optional<In<double>> outside_weights) {
                new (made) PanelTable{forecasts, targets, known, starts, prior, outside, outside_weights};
            },
            "forecasts"_a, "targets"_a, "known"_a, "starts"_a, "prior"_a.none() = nb::none(),
            nb::kw_only(), "outside"_a.none() = nb::none(), "outside_weights"_a.none() = nb::none());
    nb::class_<PanelResults>(m, "PanelResults", "Arrays that a combined panel is written to.")
        .def(
            "__init__",
            [](PanelResults* made, Out<double> mixed, OutTable2<double> weights, OutTable2<double> losses,
               OutTable2<double> beside, OutTable2<double> awake, OutTable2<double> bounds,
               OutTable2<double> totals) {
                new (made) PanelResults{mixed, weights, losses, beside, awake, bounds, totals};
            },
            nb::kw_only(), "mixed"_a, "weights"_a, "losses"_a, "beside"_a, "awake"_a, "bounds"_a, "totals"_a);
    m.def("panel", &panel, "rule"_a, "table"_a, "results"_a, "first"_a, "last"_a,
          "Combine the series first..last-1 separately. Returns (first bad row or -1, error, column).");
}

}  // namespace hn
