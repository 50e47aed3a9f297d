// Forecasts combined row by row: p of the awake, the mixture, the losses, and the step of the learner.
//
// A row is answered before its target is looked at for anything but whether the row can be settled at all; the steps are
// those of a live player, so a table and a player make the same weights, bit for bit.
#pragma once

#include "../combine.hpp"
#include "../learners/adahedge.hpp"
#include "../rounds/experts.hpp"
#include "../rounds/prices.hpp"
#include "../rounds/sleeping.hpp"

namespace hn::HN_ISA {

/// p_i = w_i / mass; <p, f>.
HN_INLINE double shares(double* p, const double* w, double mass, const double* f, i64 n) {
    f64x4 sum{};
    i64 i = 0;
    for (; i + 4 <= n; i += 4) {
        const f64x4 share = load4(w + i) / mass;
        store4(p + i, share);
        sum += share * load4(f + i);
    }
    double mixed = fold(sum);
    for (; i < n; ++i) p[i] = w[i] / mass, mixed += p[i] * f[i];
    return mixed;
}

/// f_0 + ... + f_(n-1).
HN_INLINE double sum_of_row(const double* f, i64 n) {
    f64x4 sum{};
    i64 i = 0;
    for (; i + 4 <= n; i += 4) sum += load4(f + i);
    double total = fold(sum);
    for (; i < n; ++i) total += f[i];
    return total;
}

/// sums_i += x_i.
HN_INLINE void add_row(double* sums, const double* x, i64 n) {
    i64 i = 0;
    for (; i + 4 <= n; i += 4) store4(sums + i, load4(sums + i) + load4(x + i));
    for (; i < n; ++i) sums[i] += x[i];
}

/// Count a row: losses (NaN asleep), the mixture's, and <p, l>.
inline void count_row(Tally& tally, i64 n, const double* losses, double cost, double own) {
    tally.mixture += cost, tally.expected += own, tally.settled += 1.0;
    for (i64 i = 0; i < n; ++i)
        if (losses[i] == losses[i]) tally.losses[i] += losses[i], tally.beside[i] += cost, tally.awake[i] += 1.0;
}

/// Rows by AdaHedge as long as nobody sleeps and every target is known; returns the first that is not so.
HN_APART i64 whole_rows(CombineJob& job, i64 first, i64 stop) {
    const Setup& s = job.at->setup;
    Run& run = job.at->run;
    const i64 n = s.n;
    AdaHedgeRounds rounds(s, run);
    const double before = rounds.own;
    double *x = rounds.x, *losses = job.tally->losses;
    double mixture = 0.0, variance = rounds.sums.variance;
    i64 t = first;
    for (; t < stop; ++t) {
        const double *f = job.forecasts + t * n, y = job.targets[t];
        const Span seen = price_row(job.price, f, y, x, n);
        const Met met = rounds.meet(seen.least);
        // What is not a number makes `above` one of its kind.
        if (!(s.low <= seen.least && seen.most <= s.high && met.above == met.above && y == y)) break;
        const double mean = met.above / met.mass;
        rounds.move_on(seen.least, seen.most, met, mean);
        // From here on nothing waits for anything: it is done while the next row's weights are on their way.
        const i64 i = pick(run.w, n, uniform(run.stream) * met.mass);
        job.played[t] = i;
        const double told = shares(job.weights + t * n, run.w, met.mass, f, n), cost = price_of(job.price, told, y);
        job.mixed[t] = told;
        mixture += cost;
        job.mean_loss += price_of(job.price, sum_of_row(f, n) / double(n), y);
        variance += squares(run.w, x, seen.least + mean, rounds.places) / met.mass;
        add_row(losses, x, n);
    }
    const double done = double(t - first);
    if (t > first) run.probability = job.weights[(t - 1) * n + job.played[t - 1]];
    run.round += done;
    rounds.sums.variance = variance;
    rounds.finish();
    Tally& tally = *job.tally;
    tally.mixture += mixture, tally.whole_mixture += mixture, tally.expected += rounds.own - before;
    tally.settled += done, tally.whole_rows += done;
    return t;
}

/// Who is awake in a row, and the losses at its target, NaN where there are none; how many are awake. A trouble is told.
inline i64 look_at(CombineJob& job, const double* f, double y) {
    const Setup& s = job.at->setup;
    const bool known = y == y;
    i64 up = 0;
    for (i64 i = 0; i < s.n; ++i) {
        job.awake[i] = f[i] == f[i];
        up += job.awake[i];
        const double x = known && job.awake[i] ? price_of(job.price, f[i], y) : __builtin_nan("");
        job.losses[i] = x;
        // NaN and infinity are outside of every range.
        if (known && job.awake[i] && !(s.low <= x && x <= s.high) && job.expert < 0) {
            job.trouble = size(x) < infinity ? Trouble::outside : Trouble::infinite;
            job.expert = i;
        }
    }
    if (up == 0) job.trouble = Trouble::asleep;
    return up;
}

/// The learner hears of the losses of a row, `ticket` being what it was drawn from where others were settled since.
inline bool learn(CombineJob& job, const double* f, const double* p, const double* ticket, i64 up, double mixed, double y,
                  const Players& steps) {
    AtPlay& at = *job.at;
    const i64 n = at.setup.n;
    double expected = 0.0, sum = 0.0;
    for (i64 i = 0; i < n; ++i) {
        job.row[i] = job.losses[i];
        if (job.awake[i]) expected += p[i] * job.losses[i], sum += f[i];
    }
    if (up < n) steps.charge_sleepers(p, job.awake, job.row, n);
    if (steps.observe_row(at, job.row, ticket) != -1) {
        job.trouble = Trouble::failed;
        return false;
    }
    count_row(*job.tally, n, job.losses, price_of(job.price, mixed, y), expected);
    job.mean_loss += price_of(job.price, (up == n ? sum_of_row(f, n) : sum) / double(up), y);
    return true;
}

/// A row in which somebody may sleep, and whose target may be missing; false, before anything moves, at a trouble.
inline bool one_row(CombineJob& job, i64 t, const Players& steps) {
    AtPlay& at = *job.at;
    const i64 n = at.setup.n;
    const double *f = job.forecasts + t * n, y = job.targets[t];
    double* p = job.weights + t * n;
    const i64 up = look_at(job, f, y);
    if (job.trouble != Trouble::none) return false;
    const i64 drawn = up == n ? steps.act_expert(at) : steps.act_awake(at, job.awake, p);
    if (drawn < 0) {
        job.trouble = Trouble::failed;
        return false;
    }
    double mixed = 0.0;
    if (up == n) {
        mixed = shares(p, at.run.w, at.run.total, f, n);
    } else {
        for (i64 i = 0; i < n; ++i)
            if (job.awake[i]) mixed += p[i] * f[i];
    }
    job.played[t] = drawn, job.mixed[t] = mixed;
    if (y == y) return learn(job, f, p, nullptr, up, mixed, y, steps);
    // No loss will come before the next row: the round is not counted until one does.
    at.run.round -= 1.0;
    return true;
}

/// The target of a row that was answered before.
inline bool late_target(CombineEvents& events, i64 slot, double y, const Players& steps) {
    CombineJob& job = *events.job;
    const i64 n = job.at->setup.n, old = slot - job.rows;
    const bool here = old < 0;
    const double* f = here ? job.forecasts + slot * n : events.old_forecasts + old * n;
    const double* p = here ? job.weights + slot * n : events.old_weights + old * n;
    const double mixed = here ? job.mixed[slot] : events.old_mixed[old];
    const double delay = job.tally->settled - (here ? events.seen[slot] : events.old_seen[old]);
    const i64 up = look_at(job, f, y);
    if (job.trouble != Trouble::none) return false;
    job.at->run.round += 1.0;
    if (!learn(job, f, p, delay > 0.0 ? p : nullptr, up, mixed, y, steps)) return false;
    events.largest_delay = most(delay, events.largest_delay);
    return true;
}

inline i64 combine_events(CombineEvents& events, const Players& steps) {
    CombineJob& job = *events.job;
    for (i64 k = 0; k < events.count; ++k) {
        const i64 e = events.order[k];
        if (e >= 0) events.seen[e] = job.tally->settled;
        if (!(e >= 0 ? one_row(job, e, steps) : late_target(events, ~e, events.told[k], steps))) return k;
    }
    return events.count;
}

inline i64 combine_rows(CombineJob& job, const Players& steps) {
    const bool adaptive = job.at->setup.smoothing == Smoothing::adahedge;
    i64 t = 0;
    while (t < job.rows) {
        if (adaptive) t = whole_rows(job, t, job.rows);
        if (t < job.rows) {
            if (!one_row(job, t, steps)) return t;
            ++t;
        }
    }
    return t;
}

}  // namespace hn::HN_ISA
