// hannan._engine, tables: combination of forecasts, replay of logs, and the mixture of MYGA.
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include "../combination.hpp"
#include "../myga.hpp"
#include "arrays.hpp"
#include "player.hpp"
#include "registration.hpp"
#include "setup.hpp"

namespace hn {
namespace {

/// Sums over the settled rows of a table, with their arrays, and the loss of the mean of the columns.
struct Tallied {
    Tally sums;
    double mean_loss = 0.0;
    std::vector<double> arrays;
    i64 n;

    explicit Tallied(i64 n) : arrays(std::size_t(3 * n), 0.0), n(n) {
        sums.losses = arrays.data();
        sums.beside = sums.losses + n;
        sums.awake = sums.beside + n;
    }
    Tallied(const Tallied&) = delete;

    i64 places() const { return 2 + 3 * n; }
    /// mixture, settled, then losses, beside and awake
    double* write(double* out) const {
        *out++ = sums.mixture;
        *out++ = sums.settled;
        for (i64 i = 0; i < n; ++i) *out++ = sums.losses[i];
        for (i64 i = 0; i < n; ++i) *out++ = sums.beside[i] + sums.whole_mixture;
        for (i64 i = 0; i < n; ++i) *out++ = sums.awake[i] + sums.whole_rows;
        return out;
    }
};

/// Notes about a learner at a point of the curves: the tally, the loss of the mean, the learner's loss, the
/// largest delay, the sums of AdaHedge (0 for other learners), and L.
i64 note_places(const Tallied& tally) { return tally.places() + 8 + tally.n; }
void note(const AtPlay& at, const Tallied& tally, double delay, double* out) {
    out = tally.write(out);
    *out++ = tally.mean_loss;
    *out++ = at.run.own;
    *out++ = delay;
    AdaHedgeSums sums{};
    if (at.setup.is(Memory::adahedge)) sums = *reinterpret_cast<const AdaHedgeSums*>(at.run.memory);
    for (const double x : {sums.gap, sums.variance, sums.span, sums.min_losses, sums.max_losses}) *out++ = x;
    for (i64 i = 0; i < tally.n; ++i) *out++ = at.run.L[i];
}

Price priced(PointLoss kind, double parameter, double cap) { return {kind, parameter, cap}; }

using Column = nb::ndarray<const double, nb::ndim<1>, nb::device::cpu>;

/// Rows of forecasts, and the arrays for their answers: weights, mixtures and the experts drawn.
struct TableRows {
    Table2<double> forecasts;
    OutTable2<double> weights;
    Out<double> mixed;
    Out<i64> played;
};

/// Rows that were answered before, with the number of rows settled at their answers.
struct PendingRows {
    Table2<double> forecasts, weights;
    In<double> mixed, seen;
};

/// Answers and settlements in order, with the targets settled. `seen`: rows settled before each answer; a record is made
/// after each number of events in `points`.
struct TableEvents {
    In<i64> order;
    In<double> told;
    In<i64> points;
    Out<double> seen;
    PendingRows pending;
};

/// A job with its scratch.
struct Rows {
    std::vector<double> numbers;
    std::unique_ptr<bool[]> awake;
    CombineJob job;

    Rows(AtPlay& at, Tallied& tally, const Price& price, const TableRows& table, const double* targets)
        : numbers(std::size_t(2 * at.setup.n), 0.0), awake(new bool[std::size_t(at.setup.n)]()),
          job{&at,
              price,
              table.forecasts.data(),
              targets,
              i64(table.forecasts.shape(0)),
              table.weights.data(),
              table.mixed.data(),
              table.played.data(),
              &tally.sums,
              numbers.data(),
              numbers.data() + at.setup.n,
              awake.get()} {
        const i64 n = at.setup.n;
        require(at.setup.setting == Setting::experts,
                "forecasts must be combined by a learner with full information");
        require(tally.n == n && i64(table.forecasts.shape(1)) == n,
                "forecasts must have one column per expert");
        require(i64(table.weights.shape(0)) == job.rows && i64(table.weights.shape(1)) == n,
                "weights must have one row per row of forecasts and one column per expert");
        require(i64(table.mixed.size()) == job.rows && i64(table.played.size()) == job.rows,
                "mixed and played must have one entry per row");
    }
};

/// Blocks of rows between the points of the curves, with a note after each; `go(from, to)` returns the number
/// of rows done.
template <class Go, class Delay>
i64 stretches(Rows& rows, Tallied& tally, In<i64> points, i64 count, double* notes, Go go, Delay delay) {
    nb::gil_scoped_release free;
    CombineJob& job = rows.job;
    i64 done = 0;
    for (std::size_t k = 0; k <= points.size() && job.trouble == Trouble::none; ++k) {
        const i64 stop = k < points.size() ? points.data()[k] : count;
        job.mean_loss = 0.0;
        done += go(done, stop);
        tally.mean_loss += job.mean_loss;
        if (done < stop) break;
        if (k < points.size()) note(*job.at, tally, delay(), notes + i64(k) * note_places(tally));
    }
    return done;
}
void require_points(In<i64> points, i64 count) {
    for (std::size_t k = 0; k < points.size(); ++k)
        require(points.data()[k] > (k ? points.data()[k - 1] : 0) && points.data()[k] <= count,
                "points must ascend between 1 and the number of rows");
}

/// Returns (rows done, error, expert, one record per number of rows in `points`).
nb::object combine_rows(nb::handle player, Tallied& tally, const Price& price, const TableRows& table,
                        In<double> targets, In<i64> points) {
    const Busy here = alone(player);
    require(targets.size() == table.forecasts.shape(0), "forecasts must have one row per target");
    Rows rows(at_play(player), tally, price, table, targets.data());
    CombineJob& job = rows.job;
    const i64 count = job.rows, n = tally.n;
    require_points(points, count);
    Fresh<double> notes(points.size(), std::size_t(note_places(tally)));
    const double before = tally.sums.settled, delay = double(largest_delay(player));
    const i64 done = stretches(
        rows, tally, points, count, notes.data,
        [&](i64 from, i64 to) {
            job.forecasts = table.forecasts.data() + from * n;
            job.targets = targets.data() + from;
            job.rows = to - from;
            job.weights = table.weights.data() + from * n;
            job.mixed = table.mixed.data() + from;
            job.played = table.played.data() + from;
            return combine().rows(job);
        },
        [&] { return delay; });
    count_rounds(player, i64(tally.sums.settled - before));
    if (job.trouble == Trouble::failed) raise_if_foreign(player);
    return nb::make_tuple(done, job.trouble, job.expert, notes.give());
}

/// Returns (events done, error, expert, largest delay, records), as `combine_rows`.
nb::object combine_events(nb::handle player, Tallied& tally, const Price& price, const TableRows& table,
                          const TableEvents& given) {
    const PendingRows& pending = given.pending;
    const In<i64>&order = given.order, &points = given.points;
    const std::size_t count = table.forecasts.shape(0), old = pending.forecasts.shape(0);
    const Busy here = alone(player);
    const std::vector<double> nothing(count, std::numeric_limits<double>::quiet_NaN());
    Rows rows(at_play(player), tally, price, table, nothing.data());
    require(given.seen.size() == count && given.told.size() == order.size(),
            "seen must have one entry per row, and targets one per event");
    require(i64(pending.forecasts.shape(1)) == tally.n && pending.weights.shape(0) == old &&
                i64(pending.weights.shape(1)) == tally.n && pending.mixed.size() == old &&
                pending.seen.size() == old,
            "forecasts, weights, mixed and seen of pending rows must have one entry per row");
    std::vector<bool> open(count + old, false);
    for (std::size_t k = count; k < count + old; ++k) open[k] = true;
    for (std::size_t k = 0; k < order.size(); ++k) {
        const i64 e = order.data()[k], slot = e >= 0 ? e : ~e;
        require(slot < i64(e >= 0 ? count : count + old) && open[std::size_t(slot)] == (e < 0),
                "order must answer every row once and then settle it at most once");
        open[std::size_t(slot)] = e >= 0;
    }
    CombineEvents events{&rows.job,
                         order.data(),
                         given.told.data(),
                         i64(order.size()),
                         given.seen.data(),
                         pending.forecasts.data(),
                         pending.weights.data(),
                         pending.mixed.data(),
                         pending.seen.data()};
    require_points(points, i64(order.size()));
    Fresh<double> notes(points.size(), std::size_t(note_places(tally)));
    const double before = tally.sums.settled, delay = double(largest_delay(player));
    const i64 done = stretches(
        rows, tally, points, i64(order.size()), notes.data,
        [&](i64 from, i64 to) {
            events.order = order.data() + from;
            events.told = given.told.data() + from;
            events.count = to - from;
            return combine().events(events);
        },
        [&] { return std::max(delay, events.largest_delay); });
    count_rounds(player, i64(tally.sums.settled - before), i64(events.largest_delay));
    if (rows.job.trouble == Trouble::failed) raise_if_foreign(player);
    return nb::make_tuple(done, rows.job.trouble, rows.job.expert, i64(events.largest_delay), notes.give());
}

/// Copy columns, with any strides, next to each other into `table` (rows, columns), from row `first` on. A
/// few rows are copied at a time, so that reads and writes are contiguous.
void side_by_side(nb::list columns, i64 first, OutTable2<double> table) {
    const i64 rows = i64(table.shape(0)), n = i64(table.shape(1)), few = 64;
    require(i64(columns.size()) == n && first >= 0,
            "table must have one column per array, and first must be >= 0");
    std::vector<Column> from;
    for (nb::handle column : columns) from.push_back(nb::cast<Column>(column, false));
    for (const Column& column : from)
        require(i64(column.shape(0)) >= first + rows, "columns must have at least first + rows entries");
    for (i64 t = 0; t < rows; t += few)
        for (i64 i = 0; i < n; ++i) {
            const i64 step = from[std::size_t(i)].stride(0), stop = std::min(t + few, rows);
            const double* at = from[std::size_t(i)].data() + (first + t) * step;
            double* to = table.data() + t * n + i;
            for (i64 k = t; k < stop; ++k, at += step, to += n) *to = *at;
        }
}

/// Rows of a log of decisions: actions taken, their losses and propensities, advice, and the smallest propensity.
struct LoggedRows {
    In<i64> actions;
    In<double> losses, propensities;
    nb::object advice;
    double floor;
};

nb::object replay_rows(nb::handle player, const LoggedRows& log, Out<u64> coins, OutTable2<double> model,
                       Out<double> sums, std::optional<OutTable2<double>> played) {
    const In<i64>& actions = log.actions;
    const In<double>&losses = log.losses, &propensities = log.propensities;
    const Busy here = alone(player);
    AtPlay& at = at_play(player);
    const i64 rows = i64(actions.size()), k = at.setup.actions;
    require(i64(losses.size()) == rows && i64(propensities.size()) == rows,
            "losses and propensities must have one entry per row");
    require(coins.size() == 4, "coins must have four words");
    require(model.shape(0) == 3 && i64(model.shape(1)) == k,
            "model must have three rows and one column per action");
    require(!played || (i64(played->shape(0)) == rows && i64(played->shape(1)) == k),
            "played must have one entry per row and action");
    require(sums.size() == sizeof(ReplaySums) / sizeof(double),
            "sums must have one entry per field of ReplaySums");
    for (i64 t = 0; t < rows; ++t)
        require(actions.data()[t] >= 0 && actions.data()[t] < k, "actions must be between 0 and k - 1");
    ReplayJob job{&at,
                  actions.data(),
                  losses.data(),
                  propensities.data(),
                  nullptr,
                  rows,
                  log.floor,
                  nullptr,
                  model.data(),
                  model.data() + k,
                  model.data() + 2 * k,
                  played ? played->data() : nullptr,
                  reinterpret_cast<ReplaySums*>(sums.data())};
    Table2<i64> heard;
    if (at.setup.setting == Setting::expert_bandit) {
        heard = nb::cast<Table2<i64>>(log.advice);
        require(i64(heard.shape(0)) == rows && i64(heard.shape(1)) == at.setup.n,
                "advice must have one action per row and expert");
        for (std::size_t i = 0; i < heard.size(); ++i)
            require(heard.data()[i] >= 0 && heard.data()[i] < k,
                    "advice must be actions between 0 and k - 1");
        job.advice = heard.data();
    } else {
        require(at.setup.setting == Setting::bandit, "a log must be replayed by a bandit learner");
    }
    Words words = words_at(coins.data());
    job.coins = &words;
    i64 bad;
    {
        nb::gil_scoped_release free;
        bad = replay().rows(job);
    }
    coins.data()[0] = words.a;
    coins.data()[1] = words.b;
    coins.data()[2] = words.c;
    coins.data()[3] = words.d;
    if (job.failed) raise_if_foreign(player);
    return nb::make_tuple(bad, job.failed);
}

/// Cumulative losses of MYGA's experts and thresholds.
struct MygaMixture {
    std::vector<double> losses, mistrust, w, tails;
    MygaState state;

    MygaMixture(i64 actions, i64 experts, i64 thresholds, double eta, double gamma, double step)
        : losses(std::size_t(experts), 0.0), mistrust(std::size_t(thresholds), 0.0),
          w(std::size_t(experts), 0.0), tails(std::size_t(thresholds) + 1, 0.0),
          state{actions, experts, thresholds, eta, gamma, step, losses.data(), mistrust.data()} {
        require(actions >= 1 && experts >= 1 && thresholds >= 0,
                "actions and experts must be >= 1, and thresholds >= 0");
    }
    MygaMixture(const MygaMixture&) = delete;

    nb::object mix(In<double> advice) {
        require(i64(advice.size()) == state.experts * state.actions,
                "advice must have one number per expert and action");
        Fresh<double> q{std::size_t(state.actions)}, majority{std::size_t(state.actions)},
            p{std::size_t(state.actions)};
        myga().mix(state, advice.data(), q.data, majority.data, p.data, w.data(), tails.data());
        return nb::make_tuple(q.give(), majority.give(), p.give());
    }
    void charge(In<double> advice, In<double> q, In<double> majority, i64 arm, double estimate) {
        require(i64(advice.size()) == state.experts * state.actions,
                "advice must have one number per expert and action");
        require(i64(q.size()) == state.actions && i64(majority.size()) == state.actions,
                "q and majority must have one number per action");
        require(arm >= 0 && arm < state.actions, "arm must be between 0 and actions - 1");
        myga().charge(state, advice.data(), q.data(), majority.data(), arm, estimate);
    }
    void restore(In<double> real, In<double> thresholds) {
        require(real.size() == losses.size() && thresholds.size() == mistrust.size(),
                "losses must have one number per expert and threshold");
        for (const auto* from : {&real, &thresholds})
            for (std::size_t i = 0; i < from->size(); ++i)
                require(from->data()[i] >= 0.0 && from->data()[i] <= 1e300, "losses must be finite and >= 0");
        for (std::size_t i = 0; i < losses.size(); ++i) losses[i] = real.data()[i];
        for (std::size_t i = 0; i < mistrust.size(); ++i) mistrust[i] = thresholds.data()[i];
    }
};

}  // namespace

void bind_tables(nb::module_& m) {
    nb::enum_<PointLoss>(m, "PointLoss")
        .value("absolute", PointLoss::absolute)
        .value("squared", PointLoss::squared)
        .value("pinball", PointLoss::pinball)
        .value("huber", PointLoss::huber)
        .value("log", PointLoss::log);
    nb::enum_<Trouble>(m, "Trouble")
        .value("none", Trouble::none)
        .value("asleep", Trouble::asleep)
        .value("outside", Trouble::outside)
        .value("infinite", Trouble::infinite)
        .value("failed", Trouble::failed)
        .value("extreme", Trouble::extreme);
    nb::class_<Price>(m, "Price", "Loss of a forecast f for a target y, capped at `cap`.")
        .def(nb::new_(&priced), "kind"_a, "parameter"_a, "cap"_a);
    nb::class_<Tallied>(m, "Tally", "Sums over the settled rows of a table.")
        .def(nb::init<i64>(), "n"_a)
        .def_prop_ro(
            "mixture", [](Tallied& t) { return t.sums.mixture; }, "Cumulative loss of the mixture.")
        .def_prop_ro(
            "expected", [](Tallied& t) { return t.sums.expected; }, "Sum of <p, l>.")
        .def_rw("mean_loss", &Tallied::mean_loss, "Cumulative loss of the mean of the columns.")
        .def_prop_ro(
            "settled", [](Tallied& t) { return i64(t.sums.settled); }, "Number of rows with a target.")
        .def_prop_ro(
            "losses", [](Tallied& t) { return array_of(t.sums.losses, t.n); },
            "Cumulative loss of each expert.")
        .def_prop_ro(
            "beside",
            [](Tallied& t) {
                Fresh<double> out{std::size_t(t.n)};
                for (i64 i = 0; i < t.n; ++i) out.data[i] = t.sums.beside[i] + t.sums.whole_mixture;
                return out.give();
            },
            "Loss of the mixture over the rows with a forecast, per expert.")
        .def_prop_ro(
            "awake",
            [](Tallied& t) {
                Fresh<i64> out{std::size_t(t.n)};
                for (i64 i = 0; i < t.n; ++i) out.data[i] = i64(t.sums.awake[i] + t.sums.whole_rows);
                return out.give();
            },
            "Number of rows with a forecast, per expert.")
        .def(
            "numbers",
            [](Tallied& t) {
                Fresh<double> out{std::size_t(t.places())};
                t.write(out.data);
                return out.give();
            },
            "All sums of the tally, concatenated.")
        .def(
            "add",
            [](Tallied& t, In<double> losses, double cost, double own) {
                require(i64(losses.size()) == t.n, "losses must have one entry per expert");
                combine().count(t.sums, t.n, losses.data(), cost, own);
            },
            "losses"_a, "mixture"_a, "expected"_a,
            "Add a row: losses (NaN marks a missing forecast), the loss of the mixture, and <p, l>.");
    nb::class_<TableRows>(m, "TableRows", "Rows of forecasts, and the arrays for their answers.")
        .def(
            "__init__",
            [](TableRows* made, Table2<double> forecasts, OutTable2<double> weights, Out<double> mixed,
               Out<i64> played) { new (made) TableRows{forecasts, weights, mixed, played}; },
            "forecasts"_a, "weights"_a, "mixed"_a, "played"_a);
    nb::class_<PendingRows>(m, "PendingRows", "Rows that were answered before.")
        .def(
            "__init__",
            [](PendingRows* made, Table2<double> forecasts, Table2<double> weights, In<double> mixed,
               In<double> seen) { new (made) PendingRows{forecasts, weights, mixed, seen}; },
            "forecasts"_a, "weights"_a, "mixed"_a, "seen"_a);
    nb::class_<TableEvents>(m, "TableEvents", "Answers and settlements in order, with the targets settled.")
        .def(
            "__init__",
            [](TableEvents* made, In<i64> order, In<double> told, In<i64> points, Out<double> seen,
               const PendingRows& pending) { new (made) TableEvents{order, told, points, seen, pending}; },
            "order"_a, "told"_a, "points"_a, "seen"_a, "pending"_a);
    m.def("combine_rows", &combine_rows, "player"_a, "tally"_a, "price"_a, "table"_a, "targets"_a,
          "points"_a);
    m.def(
        "combine_note",
        [](nb::handle player, Tallied& tally) {
            const AtPlay& at = at_play(player);
            require(at.setup.n == tally.n, "the tally and the player must have the same number of experts");
            Fresh<double> out{std::size_t(note_places(tally))};
            note(at, tally, double(largest_delay(player)), out.data);
            return out.give();
        },
        "player"_a, "tally"_a,
        "Sums at this row: the tally, losses of the mean and of the learner, delay, five sums of AdaHedge, "
        "and L.");
    m.def("combine_events", &combine_events, "player"_a, "tally"_a, "price"_a, "table"_a, "events"_a,
          "Process events in order: e >= 0 answers row e, e < 0 settles row ~e, or an earlier pending row.");
    m.def("side_by_side", &side_by_side, "columns"_a, "first"_a, "table"_a,
          "Copy rows of columns, from row `first` on, into a table.");
    m.def(
        "prices",
        [](const Price& price, Table2<double> forecasts, In<double> targets) {
            require(forecasts.shape(0) == targets.size(), "forecasts must have one row per target");
            Fresh<double> out(forecasts.shape(0), forecasts.shape(1));
            combine().prices(price, forecasts.data(), targets.data(), i64(forecasts.shape(0)),
                             i64(forecasts.shape(1)), out.data);
            return out.give();
        },
        "price"_a, "forecasts"_a, "targets"_a, "Return loss(f_ti, y_t) for every cell.");
    m.def(
        "oracle_pass",
        [](const Price& price, Table2<double> forecasts, In<double> targets, In<double> q) {
            require(forecasts.shape(0) == targets.size() && forecasts.shape(1) == q.size(),
                    "forecasts must have one row per target and one column per weight");
            Fresh<double> slope(q.size());
            const double total = combine().oracle(price, forecasts.data(), targets.data(),
                                                  i64(targets.size()), i64(q.size()), q.data(), slope.data);
            return nb::make_tuple(total, slope.give());
        },
        "price"_a, "forecasts"_a, "targets"_a, "q"_a,
        "Return sum_t loss(<q, f_t>, y_t) and its gradient in q.");
    nb::class_<LoggedRows>(m, "LoggedRows", "Rows of a log of decisions, with the smallest propensity.")
        .def(
            "__init__",
            [](LoggedRows* made, In<i64> actions, In<double> losses, In<double> propensities,
               nb::object advice, double floor) {
                new (made) LoggedRows{actions, losses, propensities, std::move(advice), floor};
            },
            "actions"_a, "losses"_a, "propensities"_a, "advice"_a.none(), "floor"_a);
    m.def("replay_rows", &replay_rows, "player"_a, "rows"_a, "coins"_a, "model"_a, "sums"_a, "played"_a.none() = nb::none());
    nb::class_<MygaMixture>(m, "Myga", "Cumulative losses of MYGA's experts and thresholds.")
        .def(nb::init<i64, i64, i64, double, double, double>(), "actions"_a, "experts"_a, "thresholds"_a,
             "eta"_a, "gamma"_a, "step"_a)
        .def("mix", &MygaMixture::mix, "advice"_a,
             "Return (q, majority, p) for the advice of one round, as a flat array.")
        .def("charge", &MygaMixture::charge, "advice"_a, "q"_a, "majority"_a, "arm"_a, "estimate"_a)
        .def("restore", &MygaMixture::restore, "losses"_a, "mistrust"_a)
        .def_prop_ro("losses", [](MygaMixture& t) { return array_of(t.losses.data(), t.state.experts); })
        .def_prop_ro("mistrust",
                     [](MygaMixture& t) { return array_of(t.mistrust.data(), t.state.thresholds); });
}

}  // namespace hn
