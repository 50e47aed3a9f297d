// hannan._engine, combinations: rows of forecasts answered and settled, one at a time or a table of them.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <string>
#include <unordered_map>
#include <vector>

#include "../clipping.hpp"
#include "../combination.hpp"
#include "combination.hpp"
#include "registration.hpp"
#include "setup.hpp"

namespace hn {
namespace {

/// A combination with its memory, and the tickets of the pending rows.
struct Mixer {
    MixRule rule;
    Combination state;
    Room room;
    std::unique_ptr<bool[]> awake;
    i64 width;
    std::vector<double> tickets;
    std::vector<i64> free;
    std::unordered_map<i64, i64> open;  // row -> slot

    Mixer(const MixRule& of, i64 n, std::optional<In<double>> prior)
        : rule(of), state(combination_of(rule, n)), room(state.room()),
          awake(new bool[std::size_t(state.places)]()), width(state.width()) {
        state.awake = awake.get();
        if (prior) {
            require(i64(prior->size()) == n, "prior must have one number per column");
            check_prior(prior->data(), n);
        }
        combinations().begin(state, room.at(0), prior ? prior->data() : nullptr);
    }
    Mixer(const Mixer&) = delete;

    double* ticket(i64 slot) { return tickets.data() + slot * width; }
    OpenRow read(i64 slot) { return state.open_row(ticket(slot)); }
    void tell(i64 slot, double* mixed) {
        for (i64 q = 0; q < state.depth(); ++q) mixed[q] = read(slot).answers()[q];
    }
    i64 take() {
        if (free.empty()) {
            const i64 slot = i64(tickets.size()) / width;
            tickets.resize(std::size_t((slot + 1) * width));
            return slot;
        }
        const i64 slot = free.back();
        free.pop_back();
        return slot;
    }

    /// Return the answer of a pending row (an array for quantiles), or None if no forecast was available.
    nb::object answer(i64 row, In<double> forecasts, std::optional<Out<double>> weights) {
        require(i64(forecasts.size()) == state.cells(), "forecasts must have one entry per column");
        require(!weights || i64(weights->size()) == state.n, "weights must have one entry per column");
        require(!open.count(row), "the row is already pending");
        const i64 slot = take();
        if (!combinations().answer(state, forecasts.data(), ticket(slot),
                                   weights ? weights->data() : nullptr)) {
            free.push_back(slot);
            return nb::none();
        }
        open[row] = slot;
        if (state.levels) return nb::object(array_of(read(slot).answers(), state.levels));
        return nb::float_(ticket(slot)[OpenRow::answer]);
    }
    /// (trouble, column).
    nb::tuple settle(i64 row, double target) {
        const auto found = open.find(row);
        require(found != open.end(), "the row is not pending");
        const Happened happened = combinations().settle(state, ticket(found->second), target);
        if (happened.trouble == Trouble::none) {
            free.push_back(found->second);
            open.erase(found);
        }
        return nb::make_tuple(happened.trouble, happened.expert);
    }
    bool forget(i64 row) {
        const auto found = open.find(row);
        if (found == open.end()) return false;
        free.push_back(found->second);
        open.erase(found);
        return true;
    }
    nb::object waiting(i64 row) {
        const auto found = open.find(row);
        if (found == open.end()) return nb::none();
        Fresh<double> out{std::size_t(state.cells())};
        for (i64 q = 0, k = 0; q < state.depth(); ++q)
            for (i64 i = 0; i < state.n; ++i) out.data[k++] = read(found->second).f(q)[i];
        return out.give();
    }

    nb::object told(i64 row) {
        const auto found = open.find(row);
        return found == open.end() ? nb::none()
                                   : nb::object(array_of(read(found->second).answers(), state.depth()));
    }

    /// Process the rows whose targets are known (NaN: never) before the next row is answered. Returns (rows
    /// done, error_code, column).
    nb::tuple rows(Table2<double> forecasts, In<double> targets, Out<double> mixed,
                   std::optional<OutTable2<double>> weights) {
        const i64 count = i64(targets.size());
        require(i64(forecasts.shape(0)) == count && i64(forecasts.shape(1)) == state.cells(),
                "forecasts must have one entry per column");
        require(i64(mixed.size()) == count * state.depth(), "mixed must have one entry per row and level");
        require(!weights || (i64(weights->shape(0)) == count && i64(weights->shape(1)) == state.n),
                "weights must have one row per row of forecasts");
        const i64 slot = take();
        Happened happened;
        i64 done;
        {
            nb::gil_scoped_release released;
            done = combinations().rows(state, forecasts.data(), targets.data(), count, ticket(slot),
                                       mixed.data(), weights ? weights->data() : nullptr, happened);
        }
        free.push_back(slot);
        return nb::make_tuple(done, happened.trouble, happened.expert);
    }

    /// Process events in order: e >= 0 answers row e of the table, which then has the number first + e; e < 0
    /// settles the pending row with number ~e, with the target in `told`. Returns (events done, error_code,
    /// column).
    nb::tuple events(Table2<double> forecasts, In<i64> order, In<double> told, i64 first, Out<double> mixed,
                     std::optional<OutTable2<double>> weights) {
        const i64 count = i64(order.size()), rows = i64(forecasts.shape(0));
        require(i64(forecasts.shape(1)) == state.cells() && i64(mixed.size()) == rows * state.depth(),
                "forecasts must have one entry per column, and mixed one per row");
        require(i64(told.size()) == count, "targets must have one entry per event");
        require(!weights || (i64(weights->shape(0)) == rows && i64(weights->shape(1)) == state.n),
                "weights must have one row per row of forecasts");
        for (i64 k = 0; k < count; ++k) require(order.data()[k] < rows, "order must consist of row numbers of the table");
        i64 k = 0;
        Happened happened;
        {
            nb::gil_scoped_release released;
            std::vector<i64> slots(std::size_t(rows), -1);  // number of rows in this table
            for (; k < count; ++k) {
                const i64 e = order.data()[k];
                if (e >= 0) {
                    if (slots[std::size_t(e)] >= 0 || open.count(first + e)) break;
                    const i64 slot = take();
                    if (!combinations().answer(state, forecasts.data() + e * state.cells(), ticket(slot),
                                               weights ? weights->data() + e * state.n : nullptr)) {
                        free.push_back(slot);
                        happened.trouble = Trouble::asleep;
                        break;
                    }
                    slots[std::size_t(e)] = slot;
                    tell(slot, mixed.data() + e * state.depth());
                } else {
                    const i64 row = ~e, here = row - first;
                    const bool near = here >= 0 && here < rows && slots[std::size_t(here)] >= 0;
                    const auto found = near ? open.end() : open.find(row);
                    if (!near && found == open.end()) break;
                    const i64 slot = near ? slots[std::size_t(here)] : found->second;
                    happened = combinations().settle(state, ticket(slot), told.data()[k]);
                    if (happened.trouble != Trouble::none) break;
                    free.push_back(slot);
                    if (near) slots[std::size_t(here)] = -1;
                    else open.erase(found);
                }
            }
            for (i64 e = 0; e < rows; ++e)
                if (slots[std::size_t(e)] >= 0) open[first + e] = slots[std::size_t(e)];
        }
        return nb::make_tuple(k, happened.trouble, happened.expert);
    }

    /// Weights with which a row of these forecasts would be answered; the state is unchanged. Empty if no
    /// forecast is available.
    nb::object weights(In<double> forecasts) {
        require(i64(forecasts.size()) == state.cells(), "forecasts must have one entry per column");
        Fresh<double> p{std::size_t(state.n)};
        const i64 slot = take();
        const bool awake = combinations().answer(state, forecasts.data(), ticket(slot), p.data);
        free.push_back(slot);
        if (!awake) return nb::none();
        state.answered -= 1.0;
        return p.give();
    }

    nb::dict fields_of_layer(const RuleBState& b) {
        nb::dict out;
        each_array(b, [&](const char* name, const double* array) { out[name] = array_of(array, b.n); });
        out["grown"] = b.grown;
        out["spread"] = b.spread;
        out["spread_rows"] = b.spread_rows;
        Fresh<double> bound{std::size_t(b.n)};
        combinations().bounds(b, bound.data);
        out["bound"] = bound.give();
        return out;
    }
    const RuleBState& layer(const std::string& name) {
        require(has_rule_b(state.kind), "layers exist for rule B only");
        require(name == "b" || state.kind == Mixing::two_layers,
                "this layer exists only for the rule with two layers");
        require(name == "b" || name == "quick" || name == "top", "layer must be 'b', 'quick' or 'top'");
        return name == "b" ? state.b : name == "quick" ? state.quick : state.top;
    }
    /// All numbers that bounds are computed from: mixture, mean_loss, settled, gap, the four bounds of the
    /// upper layer, then losses, beside, awake, slept_b, slept_adahedge and the bounds of B, n numbers each;
    /// 0 if a rule does not have them.
    nb::object numbers() {
        const i64 n = state.n;
        Fresh<double> out{std::size_t(4 + members + 6 * n)};
        double* to = out.data;
        to[0] = state.tally.mixture;
        to[1] = state.mean_loss;
        to[2] = state.tally.settled;
        to[3] = gap();
        if (state.kind == Mixing::two_layers) combinations().bounds(state.top, to + 4);
        to += 4 + members;
        for (const double* from :
             {state.tally.losses, state.tally.beside, state.tally.awake, state.slept_b, state.slept_own}) {
            for (i64 i = 0; i < n; ++i) to[i] = from[i];
            to += n;
        }
        if (has_rule_b(state.kind)) combinations().bounds(state.b, to);
        return out.give();
    }
    double gap() const { return reinterpret_cast<const AdaHedgeSums*>(state.own.memory)->gap; }

    /// Add columns that had no forecast so far, with prior mass 1/n each.
    void add_columns(i64 more) {
        require(more >= 1 && more <= (i64(1) << 24), "the number of new columns must be between 1 and 2^24");
        Combination next = combination_of(rule, state.n + more);
        Room numbers(next.room());
        std::unique_ptr<bool[]> up(new bool[std::size_t(next.places)]());
        next.awake = up.get();
        combinations().begin(next, numbers.at(0), nullptr);
        extend(next, state);
        combinations().refresh(next);
        const i64 slots = i64(tickets.size()) / width, wide = next.width();
        std::vector<double> rows(std::size_t(slots * wide), 0.0);
        for (const auto& [row, slot] : open) extend_row(next, rows.data() + slot * wide, state, ticket(slot));
        state = next;
        room = std::move(numbers);
        awake = std::move(up);
        tickets = std::move(rows);
        width = wide;
    }

    // Files

    nb::dict fields() {
        nb::dict out = fields_of(state), rows;
        for (const auto& [row, slot] : open) rows[nb::int_(row)] = array_of(ticket(slot), width);
        out["open"] = rows;
        return out;
    }
    void restore(const nb::dict& from) {
        read_fields(state, from);
        const nb::dict rows = nb::cast<nb::dict>(entry(from, "open"));
        for (auto [key, value] : rows) {
            i64 row = 0;
            must(nb::try_cast(nb::object(nb::borrow(key)), row), "open", "must have integer row numbers");
            In<double> found;
            must(nb::try_cast(nb::object(nb::borrow(value)), found) && i64(found.size()) == width, "open",
                 "must have the number of entries of a pending row");
            const i64 slot = take();
            for (i64 k = 0; k < width; ++k) ticket(slot)[k] = found.data()[k];
            check_ticket(state, ticket(slot));
            open[row] = slot;
        }
        combinations().refresh(state);
    }
};

}  // namespace

void bind_clip(nb::module_& m) {
    nb::class_<ForecastClip>(m, "ForecastClip", "Limit of the distances of forecasts from the median of their row.")
        .def(
            "__init__",
            [](ForecastClip* made, i64 n, i64 levels, double factor) {
                require(n >= 1 && levels >= 1 && n <= (i64(1) << 24) / levels, "columns and levels must be at least 1");
                require(factor >= 1.0, "factor must be at least 1");
                new (made) ForecastClip(n, levels, factor);
            },
            "n"_a, "levels"_a, "factor"_a)
        .def(
            "rows",
            [](ForecastClip& t, OutTable2<double> table, In<i64> which, bool learn) {
                require(i64(table.shape(1)) == t.n * t.levels, "table must have one entry per column");
                i64 moved = 0;
                for (std::size_t k = 0; k < which.size(); ++k) {
                    const i64 row = which.data()[k];
                    require(row >= 0 && row < i64(table.shape(0)), "which must have rows of the table");
                    moved += t.row(table.data() + row * t.n * t.levels, learn);
                }
                return moved;
            },
            "table"_a, "which"_a, "learn"_a, "Clip rows in place, and return the number of rows that changed.")
        .def("add_columns", &ForecastClip::add_columns, "more"_a)
        .def("fields",
             [](ForecastClip& t) {
                 nb::dict out;
                 out["sums"] = array_of(t.sums.data(), t.n);
                 out["rows"] = array_of(t.rows.data(), t.n);
                 return out;
             })
        .def(
            "restore",
            [](ForecastClip& t, const nb::dict& from) {
                std::vector<double> sums(std::size_t(t.n)), rows(std::size_t(t.n));
                read_array(from, "sums", t.n, sums.data(), 0.0, 1.7e308);
                read_array(from, "rows", t.n, rows.data(), 0.0, 0x1p53);
                for (const double count : rows) must(count == std::floor(count), "rows", "must be integers");
                t.sums = sums;
                t.rows = rows;
            },
            "fields"_a);
}

void bind_combination(nb::module_& m) {
    bind_clip(m);
    nb::enum_<Mixing>(m, "Mixing")
        .value("two_layers", Mixing::two_layers)
        .value("rule_b", Mixing::rule_b)
        .value("adahedge", Mixing::adahedge)
        .value("adahedge_slopes", Mixing::adahedge_slopes)
        .value("ml_poly", Mixing::ml_poly)
        .value("boa", Mixing::boa)
        .value("squint", Mixing::squint)
        .value("ada_normal_hedge", Mixing::ada_normal_hedge)
        .value("fixed_share", Mixing::fixed_share)
        .value("mean", Mixing::mean)
        .value("median", Mixing::median);
    nb::class_<MixRule>(m, "MixRule",
                        "Rule of a combination, with the loss, its range and the quantile levels.")
        .def(
            "__init__",
            [](MixRule* made, Mixing kind, const Price& price, double low, double high,
               std::optional<In<double>> levels) {
                new (made) MixRule{kind, price, low, high, levels_of(levels)};
            },
            "kind"_a, "price"_a, "low"_a, "high"_a, "levels"_a.none() = nb::none());
    nb::class_<Mixer>(m, "Mixer",
                      "Forecast combination: answers rows, and settles them when their targets are known.")
        .def(nb::init<const MixRule&, i64, std::optional<In<double>>>(), "rule"_a, "n"_a,
             "prior"_a.none() = nb::none())
        .def("answer", &Mixer::answer, "row"_a, "forecasts"_a, "weights"_a.none() = nb::none())
        .def("settle", &Mixer::settle, "row"_a, "target"_a)
        .def("forget", &Mixer::forget, "row"_a)
        .def("waiting", &Mixer::waiting, "row"_a, "Forecasts of a pending row, or None.")
        .def("told", &Mixer::told, "row"_a, "Answers of a pending row, one per level, or None.")
        .def("rows", &Mixer::rows, "forecasts"_a, "targets"_a, "mixed"_a, "weights"_a.none())
        .def("events", &Mixer::events, "forecasts"_a, "order"_a, "told"_a, "first"_a, "mixed"_a,
             "weights"_a.none())
        .def("weights", &Mixer::weights, "forecasts"_a)
        .def("add_columns", &Mixer::add_columns, "more"_a)
        .def(
            "layer", [](Mixer& t, const std::string& name) { return t.fields_of_layer(t.layer(name)); }, "name"_a)
        .def("numbers", &Mixer::numbers, "All sums that bounds are computed from, in one array.")
        .def("fields", &Mixer::fields)
        .def("restore", &Mixer::restore, "fields"_a)
        .def_prop_ro("open_rows", [](Mixer& t) { return i64(t.open.size()); })
        .def_prop_ro("answered", [](Mixer& t) { return i64(t.state.answered); })
        .def_prop_ro("settled", [](Mixer& t) { return i64(t.state.tally.settled); })
        .def_prop_ro(
            "mixture", [](Mixer& t) { return t.state.tally.mixture; }, "Cumulative loss of the answers.")
        .def_prop_ro(
            "expected", [](Mixer& t) { return t.state.tally.expected; }, "Sum of <p, l> of AdaHedge.")
        .def_prop_ro(
            "mean_loss", [](Mixer& t) { return t.state.mean_loss; },
            "Cumulative loss of the mean of the columns.")
        .def_prop_ro(
            "gap", [](Mixer& t) { return t.gap(); }, "Mixability gap Delta of AdaHedge.")
        .def_prop_ro("member_losses", [](Mixer& t) { return array_of(t.state.member_loss, members); })
        .def_prop_ro(
            "slept_b", [](Mixer& t) { return array_of(t.state.slept_b, t.state.n); },
            "Loss of rule B over the rows in which a column had no forecast, per column.")
        .def_prop_ro("slept_adahedge", [](Mixer& t) { return array_of(t.state.slept_own, t.state.n); })
        .def_prop_ro("losses", [](Mixer& t) { return array_of(t.state.tally.losses, t.state.n); })
        .def_prop_ro("beside", [](Mixer& t) { return array_of(t.state.tally.beside, t.state.n); })
        .def_prop_ro("awake", [](Mixer& t) { return array_of(t.state.tally.awake, t.state.n); });
}

}  // namespace hn
