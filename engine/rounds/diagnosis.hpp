// What a live player says of its own stability: the terms of the master identity, and the realised level.
//
// sum <p_t, l_t> = Phi(L_T) - Phi(0) + sum D_t + sum [Phi_t(L_t) - Phi_{t+1}(L_t)], exactly. run.drift and run.change keep
// the two sums, run.level the largest divergence of one step at one scale over the span of its loss. The play itself
// is never touched: what it does not already know is evaluated on a copy, warm starts included.
#pragma once

#include "weighing.hpp"

namespace hn::HN_ISA {

inline constexpr double least_span = 1e-3;  // below it rounding would drown the divergence

/// log_gamma p - log_gamma q, the Tsallis logarithm; 0 where p is below what weights can hold.
HN_INLINE double log_gap(double p, double q, double gamma) {
    if (!(p > 1e-290)) return 0.0;
    if (gamma == 1.0) return log(p / q);
    if (gamma == 2.0) return 1.0 / q - 1.0 / p;
    if (gamma == 1.5) return 2.0 * (1.0 / root(q) - 1.0 / root(p));
    return (pow(p, 1.0 - gamma) - pow(q, 1.0 - gamma)) / (1.0 - gamma);
}

/// The step just settled, from `before` to `run` (whose value is that of its own scale), evaluated at the scale before
/// it: `run` itself where that has not changed, else `twin`. Null if it failed.
inline const Run* at_old_scale(const Setup& s, const Run& run, const Run& before, Run& twin, i64 arm) {
    if (run.scale == before.scale) return &run;
    twin.copy(s, before);
    __builtin_memcpy(twin.L, run.L, std::size_t(s.n) * sizeof(double));
    if (by_series(s.path) && arm >= 0) {
        // One arm has changed, and with baselines the likely ones alike: one pass.
        if (s.estimator == Estimator::reduced_variance) {
            double shift = 0.0;
            for (i64 j = 0; j < s.n; ++j) shift = most(run.scratch[j], shift);
            twin.base += shift;
        }
        return weigh_one(s, twin, arm, run.L[arm], before.scale, true) ? &twin : nullptr;
    }
    // What a learner with a memory reads besides L: the step that was just settled.
    twin.own = run.own, twin.weight = run.weight;
    twin.settled = run.settled, twin.arm = run.arm, twin.paid = run.paid;
    return weigh_apart(s, twin, before.scale, true) ? &twin : nullptr;
}

/// What was in place before a step: the weights, their total, the losses, the value and the scale.
struct Before { const double *w, *L; double total, value, scale; };
HN_INLINE Before as_before(const Run& run) { return {run.w, run.L, run.total, run.value, run.scale}; }

/// After a step: `paid` is <p_ticket, l>, `span` that of l, `arm` the one hit or -1 for all. Divergences are taken over
/// single arms, which is enough for gamma >= 1.
inline bool diagnose(const Setup& s, Run& run, const Before& was, const Run* then, i64 arm, double paid, double span) {
    if (!then) return false;
    const bool entropic = s.path >= Path::entropy && s.path <= Path::entropy_times;
    run.drift += paid - (then->value - was.value);
    if (span >= least_span) {
        double worst = 0.0;
        if (s.gamma == 1.5 && arm < 0 && s.path == Path::half) {
            // log_gap of all arms, four at a time: 2 (1/sqrt q - 1/sqrt p).
            f64x4 top{};
            for (i64 i = 0; i < s.n; i += 4) {
                const f64x4 p = splat(was.total) / load4(was.w + i), q = splat(then->total) / load4(then->w + i);
                top = most(only(i64x4(lanes(i) < splat(s.n)), 2.0 * (root(q) - root(p))), top);
            }
            run.level = most(fold_most(top) / span, run.level);
            if (then != &run) run.change += then->value - run.value;
            return true;
        }
        const i64 first = arm >= 0 ? arm : 0, last = arm >= 0 ? arm + 1 : s.n;
        for (i64 i = first; i < last; ++i) {
            const double p = was.w[i] / was.total, q = then->w[i] / then->total;
            if (q > 0.0) {
                worst = most(log_gap(p, q, s.gamma), worst);
            } else if (entropic && s.gamma == 1.0) {
                // log p_i = (Phi - L_i)/scale, also where p_i is too small for a float.
                worst = most(((run.L[i] - was.L[i]) - (then->value - was.value)) / was.scale, worst);
            } else if (remembers(s.smoothing) && p > 1e-290) {
                worst = infinity;  // a learner with a memory may drop an arm altogether
            }
        }
        run.level = most(worst / span, run.level);
    }
    if (then != &run) run.change += then->value - run.value;
    return true;
}

}  // namespace hn::HN_ISA
