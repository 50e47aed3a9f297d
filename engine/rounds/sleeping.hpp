// Available arms: p is restricted to the available arms and renormalized, and unavailable arms are charged the
// learner's own loss. If o = <p_available, l> replaces the loss of every unavailable arm, then <p, l> = o as well. So
// every bound applies to this vector of losses, and the regret against an arm does not change while the arm is
// unavailable. A bandit charges unavailable arms the observed loss, whose mean is the learner's own loss.
#pragma once

#include "weighing.hpp"

namespace hn::HN_ISA {

/// Smallest probability of the available arms below which their shares underflow. Any distribution over them then
/// satisfies the guarantee up to this error per round, because <p, l> changes by at most that probability.
inline constexpr double least_mass = 1e-250;

/// p = current weights restricted to the available arms (at least one), normalized, and mixed with uniform play of these
/// arms if there is an exploration floor.
inline void restrict_to(const Setup& s, const Run& run, const bool* awake, double* p) {
    double mass = 0.0;
    for (i64 i = 0; i < s.n; ++i) {
        p[i] = awake[i] ? run.w[i] : 0.0;
        mass += p[i];
    }
    if (!(mass > least_mass * run.total)) {
        double base = infinity;
        for (i64 i = 0; i < s.n; ++i)
            if (awake[i]) base = min(run.L[i], base);
        mass = 0.0;
        for (i64 i = 0; i < s.n; ++i) {
            const double gap = base - run.L[i];
            p[i] = 0.0;
            if (awake[i]) p[i] = run.scale > 0.0 ? exp(gap / run.scale) : double(gap == 0.0);
            mass += p[i];
        }
    }
    for (i64 i = 0; i < s.n; ++i) p[i] /= mass;
    if (s.floor == 0.0) return;
    const double share = floor_share(s, run.round + 1.0);
    double count = 0.0;
    for (i64 i = 0; i < s.n; ++i) count += double(awake[i]);
    for (i64 i = 0; i < s.n; ++i) p[i] = awake[i] ? (1.0 - share) * p[i] + share / count : 0.0;
}

/// Draw an arm from p with one uniform.
inline i64 draw_among(const Setup& s, Run& run, const double* p) {
    const double u = uniform(run.stream);
    i64 last = 0;
    double sum = 0.0;
    for (i64 i = 0; i < s.n; ++i)
        if (p[i] > 0.0) {
            last = i;
            sum += p[i];
            if (sum > u) break;
        }
    run.probability = p[last];
    ++run.round;
    return last;
}

/// Give every unavailable arm the loss <p, l> of the available arms, clamped to their range.
inline void charge_sleepers(const double* p, const bool* awake, double* losses, i64 n) {
    double own = 0.0, low = infinity, high = -infinity;
    for (i64 i = 0; i < n; ++i)
        if (awake[i]) {
            own += p[i] * losses[i];
            low = min(losses[i], low);
            high = max(losses[i], high);
        }
    own = own > low ? (own < high ? own : high) : low;
    for (i64 i = 0; i < n; ++i)
        if (!awake[i]) losses[i] = own;
}

/// Settle the normalized loss x of an arm drawn among the available arms. Sets paid = <p, lhat> under the previous weights
/// and span, the range of lhat.
inline bool settle_among(const Setup& s, Run& run, const bool* awake, i64 arm, double weight, double x,
                         double& paid, double& span, bool valued) {
    double low = infinity, high = -infinity;
    paid = 0.0;
    for (i64 j = 0; j < s.n; ++j) {
        const double estimate = !awake[j] ? x : j == arm ? x * weight : 0.0;
        run.L[j] += estimate;
        paid += run.w[j] / run.total * estimate;
        low = min(estimate, low);
        high = max(estimate, high);
    }
    span = high - low;
    run.own += x;
    return weigh_apart(s, run, next_scale(s, run), valued);
}

}  // namespace hn::HN_ISA
