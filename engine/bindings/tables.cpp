// hannan._engine, tables: forecasts combined, logs replayed, MYGA's mixture.
#include <algorithm>
#include <limits>
#include <vector>

#include "../combination.hpp"
#include "../myga.hpp"
#include "arrays.hpp"
#include "player.hpp"
#include "registration.hpp"
#include "setup.hpp"

namespace hn {
namespace {

/// Sums over the settled rows of a table, with their arrays.
struct Tallied {
    Tally sums;
    std::vector<double> arrays;
    i64 n;

    explicit Tallied(i64 n) : arrays(std::size_t(3 * n), 0.0), n(n) {
        sums.losses = arrays.data();
        sums.beside = sums.losses + n;
        sums.awake = sums.beside + n;
    }
    Tallied(const Tallied&) = delete;

    i64 places() const { return 2 + 3 * n; }
    /// mixture, settled, then losses, beside and awake.
    double* write(double* out) const {
        *out++ = sums.mixture;
        *out++ = sums.settled;
        for (i64 i = 0; i < n; ++i) *out++ = sums.losses[i];
        for (i64 i = 0; i < n; ++i) *out++ = sums.beside[i] + sums.whole_mixture;
        for (i64 i = 0; i < n; ++i) *out++ = sums.awake[i] + sums.whole_rows;
        return out;
    }
};

/// What is noted of a learner at play at a point of the curves: the tally, the loss of the mean, own loss, the largest delay,
/// the sums of AdaHedge (0 of others), and L.
i64 note_places(const Tallied& tally) { return tally.places() + 8 + tally.n; }
void note(const AtPlay& at, const Tallied& tally, double mean_loss, double delay, double* out) {
    out = tally.write(out);
    *out++ = mean_loss;
    *out++ = at.run.own;
    *out++ = delay;
    AdaHedgeSums sums{};
    if (at.setup.smoothing == Smoothing::adahedge)
        sums = *reinterpret_cast<const AdaHedgeSums*>(at.run.memory);
    for (const double x : {sums.gap, sums.variance, sums.span, sums.min_losses, sums.max_losses}) *out++ = x;
    for (i64 i = 0; i < tally.n; ++i) *out++ = at.run.L[i];
}

Price priced(PointLoss kind, double parameter, double cap) { return {kind, parameter, cap}; }

using Column = nb::ndarray<const double, nb::ndim<1>, nb::device::cpu>;

/// A job with its scratch.
struct Rows {
    std::vector<double> numbers;
    std::unique_ptr<bool[]> awake;
    CombineJob job;

    Rows(AtPlay& at, Tallied& tally, const Price& price, Table2<double> forecasts, const double* targets,
         std::size_t count, OutTable2<double> weights, Out<double> mixed, Out<i64> played)
        : numbers(std::size_t(2 * at.setup.n), 0.0), awake(new bool[std::size_t(at.setup.n)]()),
          job{&at,
              price,
              forecasts.data(),
              targets,
              i64(count),
              weights.data(),
              mixed.data(),
              played.data(),
              &tally.sums,
              numbers.data(),
              numbers.data() + at.setup.n,
              awake.get()} {
        const i64 n = at.setup.n;
        require(at.setup.setting == Setting::experts, "forecasts are combined by experts");
        require(tally.n == n && i64(forecasts.shape(0)) == job.rows && i64(forecasts.shape(1)) == n,
                "a row has one forecast per expert");
        require(i64(weights.shape(0)) == job.rows && i64(weights.shape(1)) == n,
                "a row has one weight per expert");
        require(i64(mixed.size()) == job.rows && i64(played.size()) == job.rows, "a row has an answer");
    }
};

/// Stretches between the points of the curves, and a note at the end of each: `go(from, to)` says how many it did.
template <class Go, class Delay>
i64 stretches(Rows& rows, const Tallied& tally, In<i64> points, i64 count, double& mean_loss, double* notes,
              Go go, Delay delay) {
    nb::gil_scoped_release free;
    CombineJob& job = rows.job;
    i64 done = 0;
    for (std::size_t k = 0; k <= points.size() && job.trouble == Trouble::none; ++k) {
        const i64 stop = k < points.size() ? points.data()[k] : count;
        job.mean_loss = 0.0;
        done += go(done, stop);
        mean_loss += job.mean_loss;
        if (done < stop) break;
        if (k < points.size()) note(*job.at, tally, mean_loss, delay(), notes + i64(k) * note_places(tally));
    }
    return done;
}
void require_points(In<i64> points, i64 count) {
    for (std::size_t k = 0; k < points.size(); ++k)
        require(points.data()[k] > (k ? points.data()[k - 1] : 0) && points.data()[k] <= count,
                "points must ascend, from 1 to the end");
}

/// (rows done, trouble, expert, the loss of the mean, a note after each of the points: rows done). `mean_loss`: so far.
nb::object combine_rows(nb::handle player, Tallied& tally, const Price& price, Table2<double> forecasts,
                        In<double> targets, OutTable2<double> weights, Out<double> mixed, Out<i64> played,
                        double mean_loss, In<i64> points) {
    const Busy here = alone(player);
    Rows rows(at_play(player), tally, price, forecasts, targets.data(), targets.size(), weights, mixed,
              played);
    CombineJob& job = rows.job;
    const i64 count = job.rows, n = tally.n;
    require_points(points, count);
    Fresh<double> notes(points.size(), std::size_t(note_places(tally)));
    const double before = tally.sums.settled, delay = double(largest_delay(player));
    const i64 done = stretches(
        rows, tally, points, count, mean_loss, notes.data,
        [&](i64 from, i64 to) {
            job.forecasts = forecasts.data() + from * n;
            job.targets = targets.data() + from;
            job.rows = to - from;
            job.weights = weights.data() + from * n;
            job.mixed = mixed.data() + from;
            job.played = played.data() + from;
            return combine().rows(job);
        },
        [&] { return delay; });
    count_rounds(player, i64(tally.sums.settled - before));
    if (job.trouble == Trouble::failed) raise_if_foreign(player);
    return nb::make_tuple(done, job.trouble, job.expert, mean_loss, notes.give());
}

/// (events done, trouble, expert, the largest delay, the loss of the mean, notes), as `combine_rows`; points: events done.
nb::object combine_events(nb::handle player, Tallied& tally, const Price& price, Table2<double> forecasts,
                          In<i64> order, In<double> told, OutTable2<double> weights, Out<double> mixed,
                          Out<i64> played, Out<double> seen, Table2<double> old_forecasts,
                          Table2<double> old_weights, In<double> old_mixed, In<double> old_seen,
                          double mean_loss, In<i64> points) {
    const std::size_t count = forecasts.shape(0), old = old_forecasts.shape(0);
    const Busy here = alone(player);
    const std::vector<double> nothing(count, std::numeric_limits<double>::quiet_NaN());
    Rows rows(at_play(player), tally, price, forecasts, nothing.data(), count, weights, mixed, played);
    require(seen.size() == count && told.size() == order.size(), "a row has its place, an event its target");
    require(i64(old_forecasts.shape(1)) == tally.n && old_weights.shape(0) == old &&
                i64(old_weights.shape(1)) == tally.n && old_mixed.size() == old && old_seen.size() == old,
            "a row of before has what it was answered with");
    std::vector<bool> open(count + old, false);
    for (std::size_t k = count; k < count + old; ++k) open[k] = true;
    for (std::size_t k = 0; k < order.size(); ++k) {
        const i64 e = order.data()[k], slot = e >= 0 ? e : ~e;
        require(slot < i64(e >= 0 ? count : count + old) && open[std::size_t(slot)] == (e < 0),
                "a row is answered, then settled, once");
        open[std::size_t(slot)] = e >= 0;
    }
    CombineEvents events{&rows.job,          order.data(),     told.data(),
                         i64(order.size()),  seen.data(),      old_forecasts.data(),
                         old_weights.data(), old_mixed.data(), old_seen.data()};
    require_points(points, i64(order.size()));
    Fresh<double> notes(points.size(), std::size_t(note_places(tally)));
    const double before = tally.sums.settled, delay = double(largest_delay(player));
    const i64 done = stretches(
        rows, tally, points, i64(order.size()), mean_loss, notes.data,
        [&](i64 from, i64 to) {
            events.order = order.data() + from;
            events.told = told.data() + from;
            events.count = to - from;
            return combine().events(events);
        },
        [&] { return std::max(delay, events.largest_delay); });
    count_rounds(player, i64(tally.sums.settled - before), i64(events.largest_delay));
    if (rows.job.trouble == Trouble::failed) raise_if_foreign(player);
    return nb::make_tuple(done, rows.job.trouble, rows.job.expert, i64(events.largest_delay), mean_loss,
                          notes.give());
}

/// Columns, whatever their strides, side by side in `table` (rows, columns), from their row `first` on. A few rows at a
/// time: what a column has of them is next to each other, and so is what is written.
void side_by_side(nb::list columns, i64 first, OutTable2<double> table) {
    const i64 rows = i64(table.shape(0)), n = i64(table.shape(1)), few = 64;
    require(i64(columns.size()) == n && first >= 0, "a table has its columns");
    std::vector<Column> from;
    for (nb::handle column : columns) from.push_back(nb::cast<Column>(column, false));
    for (const Column& column : from) require(i64(column.shape(0)) >= first + rows, "a column has every row");
    for (i64 t = 0; t < rows; t += few)
        for (i64 i = 0; i < n; ++i) {
            const i64 step = from[std::size_t(i)].stride(0), stop = std::min(t + few, rows);
            const double* at = from[std::size_t(i)].data() + (first + t) * step;
            double* to = table.data() + t * n + i;
            for (i64 k = t; k < stop; ++k, at += step, to += n) *to = *at;
        }
}

nb::object replay_rows(nb::handle player, In<i64> actions, In<double> losses, In<double> propensities,
                       nb::object advice, double floor, Out<u64> coins, OutTable2<double> model,
                       Out<double> sums) {
    const Busy here = alone(player);
    AtPlay& at = at_play(player);
    const i64 rows = i64(actions.size()), k = at.setup.actions;
    require(i64(losses.size()) == rows && i64(propensities.size()) == rows,
            "a row has a loss and a propensity");
    require(coins.size() == 4, "a stream has four words");
    require(model.shape(0) == 3 && i64(model.shape(1)) == k, "a model has three rows of actions");
    require(sums.size() == sizeof(ReplaySums) / sizeof(double), "sums have their places");
    for (i64 t = 0; t < rows; ++t)
        require(actions.data()[t] >= 0 && actions.data()[t] < k, "an action must be one that there is");
    ReplayJob job{&at,
                  actions.data(),
                  losses.data(),
                  propensities.data(),
                  nullptr,
                  rows,
                  floor,
                  nullptr,
                  model.data(),
                  model.data() + k,
                  model.data() + 2 * k,
                  reinterpret_cast<ReplaySums*>(sums.data())};
    Table2<i64> heard;
    if (at.setup.setting == Setting::expert_bandit) {
        heard = nb::cast<Table2<i64>>(advice);
        require(i64(heard.shape(0)) == rows && i64(heard.shape(1)) == at.setup.n,
                "a row has one action per expert");
        for (std::size_t i = 0; i < heard.size(); ++i)
            require(heard.data()[i] >= 0 && heard.data()[i] < k, "advice must be an action");
        job.advice = heard.data();
    } else {
        require(at.setup.setting == Setting::bandit, "a log is replayed by bandits");
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

/// MYGA's experts and thresholds, with their losses.
struct MygaMixture {
    std::vector<double> losses, mistrust, w, tails;
    MygaState state;

    MygaMixture(i64 actions, i64 experts, i64 thresholds, double eta, double gamma, double step)
        : losses(std::size_t(experts), 0.0), mistrust(std::size_t(thresholds), 0.0),
          w(std::size_t(experts), 0.0), tails(std::size_t(thresholds) + 1, 0.0),
          state{actions, experts, thresholds, eta, gamma, step, losses.data(), mistrust.data()} {
        require(actions >= 1 && experts >= 1 && thresholds >= 0, "there must be actions and experts");
    }
    MygaMixture(const MygaMixture&) = delete;

    nb::object mix(In<double> advice) {
        require(i64(advice.size()) == state.experts * state.actions, "advice must be experts x actions");
        Fresh<double> q{std::size_t(state.actions)}, majority{std::size_t(state.actions)},
            p{std::size_t(state.actions)};
        myga().mix(state, advice.data(), q.data, majority.data, p.data, w.data(), tails.data());
        return nb::make_tuple(q.give(), majority.give(), p.give());
    }
    void charge(In<double> advice, In<double> q, In<double> majority, i64 arm, double estimate) {
        require(i64(advice.size()) == state.experts * state.actions, "advice must be experts x actions");
        require(i64(q.size()) == state.actions && i64(majority.size()) == state.actions,
                "q must have a number an action");
        require(arm >= 0 && arm < state.actions, "an arm must be one that there is");
        myga().charge(state, advice.data(), q.data(), majority.data(), arm, estimate);
    }
    void restore(In<double> real, In<double> thresholds) {
        require(real.size() == losses.size() && thresholds.size() == mistrust.size(),
                "losses must be one per expert and a threshold");
        for (const auto* from : {&real, &thresholds})
            for (std::size_t i = 0; i < from->size(); ++i)
                require(from->data()[i] >= 0.0 && from->data()[i] <= 1e300,
                        "losses must be finite and at least 0");
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
    nb::class_<Price>(m, "Price", "loss(f, y) of a forecast, at most `cap`.")
        .def(nb::new_(&priced), "kind"_a, "parameter"_a, "cap"_a);
    nb::class_<Tallied>(m, "Tally", "Sums over the settled rows of a table.")
        .def(nb::init<i64>(), "n"_a)
        .def_prop_ro(
            "mixture", [](Tallied& t) { return t.sums.mixture; }, "The loss of the mixture.")
        .def_prop_ro(
            "expected", [](Tallied& t) { return t.sums.expected; }, "The sum of <p, l>.")
        .def_prop_ro(
            "settled", [](Tallied& t) { return i64(t.sums.settled); }, "Rows with a target.")
        .def_prop_ro(
            "losses", [](Tallied& t) { return array_of(t.sums.losses, t.n); }, "The loss of each expert.")
        .def_prop_ro(
            "beside",
            [](Tallied& t) {
                Fresh<double> out{std::size_t(t.n)};
                for (i64 i = 0; i < t.n; ++i) out.data[i] = t.sums.beside[i] + t.sums.whole_mixture;
                return out.give();
            },
            "The mixture's loss in the waking rows of each expert.")
        .def_prop_ro(
            "awake",
            [](Tallied& t) {
                Fresh<i64> out{std::size_t(t.n)};
                for (i64 i = 0; i < t.n; ++i) out.data[i] = i64(t.sums.awake[i] + t.sums.whole_rows);
                return out.give();
            },
            "The waking rows of each expert.")
        .def(
            "numbers",
            [](Tallied& t) {
                Fresh<double> out{std::size_t(t.places())};
                t.write(out.data);
                return out.give();
            },
            "mixture, settled, then losses, beside and awake, in one array.")
        .def(
            "add",
            [](Tallied& t, In<double> losses, double cost, double own) {
                require(i64(losses.size()) == t.n, "a row has one loss per expert");
                combine().count(t.sums, t.n, losses.data(), cost, own);
            },
            "losses"_a, "mixture"_a, "expected"_a,
            "A row: the losses (NaN asleep), the mixture's, and <p, l>.");
    m.def("combine_rows", &combine_rows, "player"_a, "tally"_a, "price"_a, "forecasts"_a, "targets"_a,
          "weights"_a, "mixed"_a, "played"_a, "mean_loss"_a, "points"_a);
    m.def(
        "combine_note",
        [](nb::handle player, Tallied& tally, double mean_loss) {
            const AtPlay& at = at_play(player);
            require(at.setup.n == tally.n, "a tally has one sum per expert");
            Fresh<double> out{std::size_t(note_places(tally))};
            note(at, tally, mean_loss, double(largest_delay(player)), out.data);
            return out.give();
        },
        "player"_a, "tally"_a, "mean_loss"_a,
        "The tally, the mean's and own loss, the delay, five sums of AdaHedge, and L.");
    m.def("combine_events", &combine_events, "player"_a, "tally"_a, "price"_a, "forecasts"_a, "order"_a,
          "told"_a, "weights"_a, "mixed"_a, "played"_a, "seen"_a, "old_forecasts"_a, "old_weights"_a,
          "old_mixed"_a, "old_seen"_a, "mean_loss"_a, "points"_a,
          "What happens in order: e >= 0 answers row e, e < 0 settles ~e: a row, or one of before.");
    m.def("side_by_side", &side_by_side, "columns"_a, "first"_a, "table"_a,
          "Rows of columns, from row `first` on, into a table.");
    m.def(
        "prices",
        [](const Price& price, Table2<double> forecasts, In<double> targets) {
            require(forecasts.shape(0) == targets.size(), "a row has a target");
            Fresh<double> out(forecasts.shape(0), forecasts.shape(1));
            combine().prices(price, forecasts.data(), targets.data(), i64(forecasts.shape(0)),
                             i64(forecasts.shape(1)), out.data);
            return out.give();
        },
        "price"_a, "forecasts"_a, "targets"_a, "loss(f_ti, y_t), for every cell.");
    m.def(
        "oracle_pass",
        [](const Price& price, Table2<double> forecasts, In<double> targets, In<double> q) {
            require(forecasts.shape(0) == targets.size() && forecasts.shape(1) == q.size(),
                    "a row has a target, a column a weight");
            Fresh<double> slope(q.size());
            const double total = combine().oracle(price, forecasts.data(), targets.data(),
                                                  i64(targets.size()), i64(q.size()), q.data(), slope.data);
            return nb::make_tuple(total, slope.give());
        },
        "price"_a, "forecasts"_a, "targets"_a, "q"_a, "sum_t loss(<q, f_t>, y_t), and its gradient in q.");
    m.def("replay_rows", &replay_rows, "player"_a, "actions"_a, "losses"_a, "propensities"_a,
          "advice"_a.none(), "floor"_a, "coins"_a, "model"_a, "sums"_a);
    nb::class_<MygaMixture>(m, "Myga", "MYGA's experts and thresholds, with their losses.")
        .def(nb::init<i64, i64, i64, double, double, double>(), "actions"_a, "experts"_a, "thresholds"_a,
             "eta"_a, "gamma"_a, "step"_a)
        .def("mix", &MygaMixture::mix, "advice"_a, "(q, majority, p) for a row of advice, flat.")
        .def("charge", &MygaMixture::charge, "advice"_a, "q"_a, "majority"_a, "arm"_a, "estimate"_a)
        .def("restore", &MygaMixture::restore, "losses"_a, "mistrust"_a)
        .def_prop_ro("losses", [](MygaMixture& t) { return array_of(t.losses.data(), t.state.experts); })
        .def_prop_ro("mistrust",
                     [](MygaMixture& t) { return array_of(t.mistrust.data(), t.state.thresholds); });
}

}  // namespace hn
