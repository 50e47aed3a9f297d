// Combination of forecasts row by row: p of the available columns, the mixture, the losses, and the step of
// the learner. The target of a row is used only after the row is answered, except to check whether the row
// can be settled. The steps are those of a live player, so a table and a player have identical weights.
#pragma once

#include "../combination.hpp"
#include "../learners/adahedge.hpp"
#include "../learners/rule_b.hpp"
#include "../learners/second_order.hpp"
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
    for (; i < n; ++i) {
        p[i] = w[i] / mass;
        mixed += p[i] * f[i];
    }
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

/// Count a row: losses (NaN: missing), the loss of the mixture, and <p, l>.
inline void count_row(Tally& tally, i64 n, const double* losses, double cost, double own) {
    tally.mixture += cost;
    tally.expected += own;
    tally.settled += 1.0;
    for (i64 i = 0; i < n; ++i)
        if (losses[i] == losses[i]) {
            tally.losses[i] += losses[i];
            tally.beside[i] += cost;
            tally.awake[i] += 1.0;
        }
}

/// AdaHedge for rows with all forecasts and a target; returns the first other row.
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
        const Met met = rounds.meet(seen.min);
        // NaN propagates into `above`.
        if (!(s.low <= seen.min && seen.max <= s.high && met.above == met.above && y == y)) break;
        const double mean = met.above / met.mass;
        rounds.move_on(seen.min, seen.max, met, mean);
        // The rest does not depend on the next weights, so it overlaps with their computation.
        const i64 i = pick(run.w, n, uniform(run.stream) * met.mass);
        job.played[t] = i;
        const double told = shares(job.weights + t * n, run.w, met.mass, f, n),
                     cost = price_of(job.price, told, y);
        job.mixed[t] = told;
        mixture += cost;
        job.mean_loss += price_of(job.price, sum_of_row(f, n) / double(n), y);
        variance += squares(run.w, x, seen.min + mean, rounds.places) / met.mass;
        add_row(losses, x, n);
    }
    const double done = double(t - first);
    if (t > first) run.probability = job.weights[(t - 1) * n + job.played[t - 1]];
    run.round += t - first;
    rounds.sums.variance = variance;
    rounds.finish();
    Tally& tally = *job.tally;
    tally.mixture += mixture;
    tally.whole_mixture += mixture;
    tally.expected += rounds.own - before;
    tally.settled += done;
    tally.whole_rows += done;
    return t;
}

/// Mask of the available columns of a row, and their losses at its target (NaN if missing); the number of
/// available columns. Errors are reported.
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
            job.trouble = abs(x) < infinity ? Trouble::outside : Trouble::infinite;
            job.expert = i;
        }
    }
    if (up == 0) job.trouble = Trouble::asleep;
    return up;
}

/// Update the learner with the losses of a row; `ticket` is the distribution of the answer if other rows were
/// settled since.
inline bool learn(CombineJob& job, const double* f, const double* p, const double* ticket, i64 up,
                  double mixed, double y, const Players& steps) {
    AtPlay& at = *job.at;
    const i64 n = at.setup.n;
    double expected = 0.0, sum = 0.0;
    for (i64 i = 0; i < n; ++i) {
        job.row[i] = job.losses[i];
        if (job.awake[i]) {
            expected += p[i] * job.losses[i];
            sum += f[i];
        }
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

/// A row that may have missing forecasts and a missing target; returns false for an error, with the state
/// unchanged.
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
    job.played[t] = drawn;
    job.mixed[t] = mixed;
    if (y == y) return learn(job, f, p, nullptr, up, mixed, y, steps);
    // No loss arrives before the next row, so the round is counted when one does.
    --at.run.round;
    return true;
}

/// Process the target of a row that was answered before.
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
    ++job.at->run.round;
    if (!learn(job, f, p, delay > 0.0 ? p : nullptr, up, mixed, y, steps)) return false;
    events.largest_delay = max(delay, events.largest_delay);
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
    const bool adaptive = job.at->setup.is(Memory::adahedge);
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

// Rows of forecasts: weights of the rule and the answer; updates of AdaHedge and the members when the target
// arrives.

/// Weights of AdaHedge over the available columns.
HN_INLINE void share_adahedge(const Combination& c, bool whole, const bool* awake, double* p) {
    if (whole)
        for (i64 i = 0; i < c.n; ++i) p[i] = c.own.w[i] / c.own.total;
    else restrict_to(c.setup, c.own, awake, p);
}

/// Median of the available forecasts: the middle one or the two middle ones, by rank; NaN is last.
HN_COLD void share_median(const double* f, i64 n, i64 up, double* p, double* order) {
    i64 m = 0;
    for (i64 i = 0; i < n; ++i) {
        p[i] = 0.0;
        if (f[i] != f[i]) continue;
        i64 at = m++;
        for (; at > 0 && f[i64(order[at - 1])] > f[i]; --at) order[at] = order[at - 1];
        order[at] = double(i);
    }
    p[i64(order[(up - 1) / 2])] += 0.5;
    p[i64(order[up / 2])] += 0.5;
}

HN_INLINE double weighed(const double* p, const double* f, i64 n) {
    double x = 0.0;
    for (i64 i = 0; i < n; ++i) x += f[i] == f[i] ? p[i] * f[i] : 0.0;
    return x;
}

/// Mixture of the columns f in [low, high] of a row, of which `up` are available, with mean told[3]. The
/// answers of the members are written; `weights` of the columns (n) may be null. All levels have the weights
/// of the first level.
HN_INLINE double mix_row(Combination& c, const double* f, double low, double high, i64 up, double* told,
                         double* p, double* weights, bool first) {
    if (c.kind == Mixing::two_layers) {
        double* shares = weights ? c.shares : nullptr;
        told[0] = mix_b(c.b, f, low, high, shares);
        if (weights)
            for (i64 i = 0; i < c.n; ++i) c.row[i] = shares[i];
        told[1] = mix_b(c.quick, f, low, high, shares);
        if (first) share_adahedge(c, up == c.n, c.awake, p);
        told[2] = max(min(weighed(p, f, c.n), high), low);
        double part[most_seats], least_told = told[0], most_told = told[0];
        for (i64 k = 1; k < c.seated(); ++k) {
            least_told = min(told[k], least_told);
            most_told = max(told[k], most_told);
        }
        const double x = mix_b(c.top, told, least_told, most_told, weights ? part : nullptr);
        if (weights)
            for (i64 i = 0; i < c.n; ++i)
                weights[i] = part[0] * c.row[i] + part[1] * shares[i] + part[2] * p[i] +
                             (c.awake[i] ? part[3] / double(up) : 0.0) +
                             (c.outside_weights ? part[members] * c.outside_weights[i] : 0.0);
        return x;
    }
    if (c.kind == Mixing::rule_b) {
        const double x = mix_b(c.b, f, low, high, weights ? p : nullptr);
        if (weights)
            for (i64 i = 0; i < c.n; ++i) weights[i] = p[i];
        return x;
    }
    if (c.kind == Mixing::median) share_median(f, c.n, up, p, c.row);
    else if (first) {
        if (has_adahedge(c.kind)) share_adahedge(c, up == c.n, c.awake, p);
        else if (has_regrets(c.kind)) share_regrets(c.regrets, c.kind, f, p);
        else
            for (i64 i = 0; i < c.n; ++i) p[i] = c.awake[i] ? 1.0 / double(up) : 0.0;
    }
    if (weights)
        for (i64 i = 0; i < c.n; ++i) weights[i] = p[i];
    return max(min(weighed(p, f, c.n), high), low);
}

inline bool answer_row(Combination& c, const double* forecasts, double* numbers, double* weights) {
    const OpenRow ticket = c.open_row(numbers);
    const i64 depth = c.depth(), median = (depth - 1) / 2;
    double bottom = infinity, top = -infinity;
    for (i64 q = 0; q < depth; ++q, forecasts += c.n) {
        double *f = ticket.f(q), low = infinity, high = -infinity, sum = 0.0;
        i64 up = 0;
        for (i64 i = 0; i < c.n; ++i) {
            const double here = forecasts[i];
            const bool awake = here == here;
            f[i] = here;
            c.awake[i] = awake;
            up += awake;
            low = min(here, low);
            high = max(here, high);
            sum += awake ? here : 0.0;
        }
        if (up == 0) return false;
        for (i64 i = c.n; i < c.places; ++i) f[i] = __builtin_nan("");
        double* told = ticket.told(q);
        told[3] = max(min(sum / double(up), high), low);
        if (c.outside) {
            told[members] = max(min(c.outside_forecast[q], high), low);
            for (i64 k = c.seated(); k < c.seats(); ++k) told[k] = __builtin_nan("");
        }
        bottom = min(low, bottom);
        top = max(high, top);
        // Weights are common to the levels; those of the median rule are reported for the middle level.
        const bool asked = q == (c.kind == Mixing::median ? median : 0);
        ticket.answers()[q] =
            mix_row(c, f, low, high, up, told, ticket.p(), asked ? weights : nullptr, q == 0);
    }
    numbers[OpenRow::low] = bottom;
    numbers[OpenRow::high] = top;
    numbers[OpenRow::settled] = c.tally.settled;
    if (has_rule_b(c.kind)) {
        for (i64 i = 0; i < c.places; ++i) ticket.sizes()[i] = c.b.sizes[i];
        if (c.kind == Mixing::two_layers) {
            for (i64 i = 0; i < c.seats(); ++i) ticket.top_sizes()[i] = c.top.sizes[i];
            for (i64 i = 0; i < c.places; ++i) ticket.quick_sizes()[i] = c.quick.sizes[i];
        }
    }
    c.answered += 1.0;
    return true;
}

/// Update AdaHedge with a row: with losses, or with slopes times the columns (`line`, from `low` on). Returns
/// its expected loss.
HN_INLINE double settle_own(Combination& c, const double* p, const double* line, double g, double low,
                            bool whole, bool prompt) {
    double expected = 0.0;
    for (i64 i = 0; i < c.n; ++i) {
        if (c.awake[i]) expected += p[i] * c.losses[i];
        c.row[i] = c.kind == Mixing::adahedge_slopes && c.awake[i] ? g * (line[i] - low) : c.losses[i];
    }
    if (!whole) charge_sleepers(p, c.awake, c.row, c.n);
    settle_adahedge(c.setup, c.own, c.row, prompt ? nullptr : p);
    return expected;
}

/// Losses of the members in a row, assigned to the columns without a forecast.
HN_INLINE void count_members(Combination& c, const double* costs, bool whole) {
    for (i64 k = 0; k < members; ++k) c.member_loss[k] += costs[k];
    if (!whole)
        for (i64 i = 0; i < c.n; ++i)
            if (!c.awake[i]) {
                c.slept_b[i] += costs[0];
                c.slept_own[i] += costs[2];
            }
}

}  // namespace hn::HN_ISA
