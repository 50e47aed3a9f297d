// Sleeping: play p restricted to the awake and renormalised; sleepers are charged the learner's own loss.
//
// With o = <p_awake, l> in the place of every sleeper's loss, <p, l> = o as well: one vector of losses, to which every
// bound applies as it stands, and a sleeper's regret does not move while it sleeps. A bandit charges sleepers the loss
// that it saw, whose mean is its own.
#pragma once

#include "weighing.hpp"

namespace hn::HN_ISA {

/// Where the awake hold less of p than this, floats have lost their shares. Any play among them keeps the guarantee up
/// to this much a round: <p, l> moves by at most the mass of the awake.
inline constexpr double least_mass = 1e-250;

/// p = the weights in place, restricted to the awake (at least one) and renormalised.
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
}

/// Draw from p by one uniform.
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
    run.round += 1.0;
    return last;
}

/// Every sleeper gets the loss <p, l> of the awake, kept between their least and greatest.
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

/// After the (normalised) loss x of an arm drawn among the awake. `paid`, `span`: <p, lhat> under the weights before, and
/// the span of lhat.
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
