// A bandit replayed on a log: row t has the action a_t that was logged, its loss, and its propensity p_t.
//
// The learner draws its own action; the row is accepted if that is a_t and a coin of floor/p_t agrees. Given that a row
// is accepted, its action has the learner's distribution q, for every logging policy, if floor is at most every p_t:
// the accepted rows are a game of the learner. A rejected row changes nothing except the state of the random stream.
#pragma once

#include "../combination.hpp"
#include "../rounds/advice.hpp"

namespace hn::HN_ISA {

/// q over the actions at this row, after the weights were computed.
inline void replayed_distribution(ReplayJob& job, const Advised<i64>& heard) {
    const Setup& s = job.at->setup;
    Run& run = job.at->run;
    if (!heard.actions) {
        for (i64 j = 0; j < s.n; ++j) job.q[j] = floored(s, run.w[j] / run.total, run.round + 1.0);
        return;
    }
    double whole = action_masses(s, run, heard);
    double* q = masses_of(s, run);
    const double rho = next_clip(s, run);
    if (rho > 0.0) whole = clip_masses(q, s.actions, rho * whole);
    for (i64 j = 0; j < s.actions; ++j) job.q[j] = q[j] / whole;
}

/// Estimate of the loss of a policy from the rows before: the mean of each action, and for a new action the mean of all
/// actions.
struct Guess {
    double direct, here;
};
inline Guess guess(const ReplayJob& job, i64 actions, i64 a) {
    double seen = 0.0, total = 0.0, direct = 0.0;
    for (i64 j = 0; j < actions; ++j) {
        total += job.totals[j];
        seen += job.seen[j];
    }
    const double mean = seen > 0.0 ? total / seen : 0.0;
    const auto of = [&](i64 j) { return job.seen[j] > 0.0 ? job.totals[j] / job.seen[j] : mean; };
    for (i64 j = 0; j < actions; ++j) direct += job.q[j] * of(j);
    return {direct, of(a)};
}

/// Square of the distance of a term from the mean of the terms before it.
inline double beside(double x, double total, double count) {
    const double off = count > 0.0 ? x - total / count : x;
    return off * off;
}

/// The same for doubly robust terms, with the center clamped to the range of the losses. The conditional mean of a term
/// is in this range, but terms can be 1/propensity times as large, and the interval requires X - center >= -(1 +
/// 1/propensity) * range.
inline double beside_clamped(double x, double total, double count, double low, double high) {
    const double mean = count > 0.0 ? total / count : 0.0;
    const double off = x - (mean < low ? low : mean > high ? high : mean);
    return off * off;
}

inline i64 replay_rows(ReplayJob& job, const Players& steps) {
    AtPlay& at = *job.at;
    const Setup& s = at.setup;
    ReplaySums& sums = *job.sums;
    for (i64 t = 0; t < job.rows; ++t) {
        const i64 a = job.actions[t];
        const Heard heard{job.advice ? job.advice + t * s.n : nullptr, nullptr};
        job.failed = !steps.make_ready(s, at.run, true);
        if (job.failed) return t;
        replayed_distribution(job, Advised<i64>{heard.actions, nullptr});
        if (job.played)
            for (i64 j = 0; j < s.actions; ++j) job.played[t * s.actions + j] += job.q[j];
        const i64 drawn = job.advice ? steps.act_on_advice(at, heard) : steps.act_arm(at);
        job.failed = drawn < 0;
        if (job.failed) return t;
        const Guess known = guess(job, s.actions, a);
        const double loss = job.losses[t], w = job.q[a] / job.propensities[t];
        const double robust = known.direct + w * (loss - known.here);
        if (drawn == a && uniform(*job.coins) * job.propensities[t] < job.floor) {
            const double p = at.run.probability, weight = at.run.weight;
            const Status status = job.advice ? steps.observe_on_advice(at, heard, a, weight, loss)
                                             : steps.observe_arm(at, a, p, weight, loss);
            job.failed = status == Status::failed;
            if (status != Status::fine) return t;
            sums.loss_beside += beside(loss, sums.loss, sums.accepted);
            sums.accepted += 1.0;
            sums.loss += loss;
            sums.loss2 += loss * loss;
        } else {
            --at.run.round;
        }
        const double wl = w * loss;
        sums.wl_beside += beside(wl, sums.wl, sums.rows);
        sums.dr_beside += beside_clamped(robust, sums.dr, sums.rows, s.low, s.high);
        sums.rows += 1.0;
        sums.w += w;
        sums.w2 += w * w;
        sums.wl += wl;
        sums.wl2 += wl * wl;
        sums.w2l += w * wl;
        sums.w2l2 += wl * wl;
        sums.dr += robust;
        sums.dr2 += robust * robust;
        job.totals[a] += loss;
        job.seen[a] += 1.0;
    }
    return -1;
}

}  // namespace hn::HN_ISA
