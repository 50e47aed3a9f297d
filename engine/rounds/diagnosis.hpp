// Stability diagnostics of a live player: the terms of the master identity, and the measured level.
//
// sum <p_t, l_t> = Phi(L_T) - Phi(0) + sum D_t + sum [Phi_t(L_t) - Phi_{t+1}(L_t)], exactly. run.drift and run.change
// store the two sums, run.level the largest divergence of one step at one scale divided by the span of its loss. The
// run itself is never changed: additional values are computed on a copy, including warm starts.
#pragma once

#include "weighing.hpp"

namespace hn::HN_ISA {

inline constexpr double least_span = 1e-3;  // smaller divergences are rounding errors

/// log_gamma p - log_gamma q, the Tsallis logarithm; 0 if p is too small to be represented.
HN_INLINE double log_gap(double p, double q, double gamma) {
    if (!(p > 1e-290)) return 0.0;
    if (gamma == 1.0) return log(p / q);
    if (gamma == 2.0) return 1.0 / q - 1.0 / p;
    if (gamma == 1.5) return 2.0 * (1.0 / sqrt(q) - 1.0 / sqrt(p));
    return (pow(p, 1.0 - gamma) - pow(q, 1.0 - gamma)) / (1.0 - gamma);
}

/// Evaluate the step just settled, from `before` to `run` (whose value is at its own scale), at the scale
/// before it: `run` itself if the scale has not changed, else `twin`. Null if it failed.
inline const Run* at_old_scale(const Setup& s, const Run& run, const Run& before, Run& twin) {
    if (run.scale == before.scale) return &run;
    twin.copy(s, before);
    __builtin_memcpy(twin.L, run.L, std::size_t(s.n) * sizeof(double));
    // Input of a learner with a memory in addition to L: the step that was just settled.
    twin.own = run.own;
    twin.weight = run.weight;
    twin.settled = run.settled;
    twin.arm = run.arm;
    twin.paid = run.paid;
    return weigh_apart(s, twin, before.scale, true) ? &twin : nullptr;
}

/// Maximum of log(p_i/q_i), four arms at a time; negative if a weight is too small for it.
HN_INLINE double widest_log(const double* w, double total, const Run& then, i64 n) {
    f64x4 top{};
    i64x4 lost{};
    for (i64 i = 0; i < n; i += 4) {
        const f64x4 p = load4(w + i), q = load4(then.w + i);
        const i64x4 inside = i64x4(lanes(i) < splat(n));
        top = max(only(inside, p / q), top);
        lost |= inside & (~i64x4(p > splat(1e-290 * total)) | ~i64x4(q > 0.0));
    }
    if (bits(lost)) return -1.0;
    return max(log(fold_max(top) * (then.total / total)), 0.0);
}

/// The same for 2 (1/sqrt q_i - 1/sqrt p_i), if no weight is 0.
HN_INLINE double widest_root(const double* w, double total, const Run& then, i64 n) {
    f64x4 top{};
    for (i64 i = 0; i < n; i += 4) {
        const f64x4 p = splat(total) / load4(w + i), q = splat(then.total) / load4(then.w + i);
        top = max(only(i64x4(lanes(i) < splat(n)), 2.0 * (sqrt(q) - sqrt(p))), top);
    }
    return fold_max(top);
}

/// State before a step: the weights, their total, the losses, the value and the scale.
struct Before {
    const double *w, *L;
    double total, value, scale;
};
HN_INLINE Before as_before(const Run& run) { return {run.w, run.L, run.total, run.value, run.scale}; }

/// Largest divergence of a step over single arms, which suffices for gamma >= 1; `arm` is the drawn arm, or
/// -1 for all.
inline double divergence(const Setup& s, const Run& run, const Before& was, const Run& then, i64 arm) {
    if (arm < 0 && s.gamma == 1.0) {
        const double widest = widest_log(was.w, was.total, then, s.n);
        if (widest >= 0.0) return widest;
    }
    if (arm < 0 && s.gamma == 1.5 && s.path == Path::half) return widest_root(was.w, was.total, then, s.n);
    const bool entropic = s.path >= Path::entropy && s.path <= Path::entropy_times;
    double worst = 0.0;
    const i64 first = arm >= 0 ? arm : 0, last = arm >= 0 ? arm + 1 : s.n;
    for (i64 i = first; i < last; ++i) {
        const double p = was.w[i] / was.total, q = then.w[i] / then.total;
        if (q > 0.0) {
            worst = max(log_gap(p, q, s.gamma), worst);
        } else if (entropic && s.gamma == 1.0) {
            // log p_i = (Phi - L_i)/scale, which also works if p_i underflows.
            worst = max(((run.L[i] - was.L[i]) - (then.value - was.value)) / was.scale, worst);
        } else if (s.weighing != Weighing::smoothing && p > 1e-290) {
            worst = infinity;  // a learner with a memory may give an arm probability 0
        }
    }
    return worst;
}

/// Update the sums of the identity after a step: `paid` is <p_ticket, l>, `value` the value before the step.
HN_INLINE void add_terms(Run& run, double value, const Run& then, double paid) {
    run.drift += paid - (then.value - value);
    if (&then != &run) run.change += then.value - run.value;
}

/// After a step: `span` is the range of l, `arm` the drawn arm or -1 for all.
inline bool diagnose(const Setup& s, Run& run, const Before& was, const Run* then, i64 arm, double paid,
                     double span) {
    if (!then) return false;
    if (span >= least_span) run.level = max(divergence(s, run, was, *then, arm) / span, run.level);
    add_terms(run, was.value, *then, paid);
    return true;
}

/// The same for the current weights of a series (smoothings/barrier.hpp) after one pass: u_i = p_i^(-1/K) is
/// (L_i - base)/scale + y, so the Tsallis logarithms of log-barrier and Tsallis 1/2 change by K (u'_i - u_i),
/// and the change is largest for the arm with the loss `highest`.
HN_INLINE double series_gap(Path path, const RunNumbers& was, const Run& then, double highest) {
    const double moved = (highest - (then.base - was.base)) * was.inverse + (then.warm - was.warm);
    return max(path == Path::half ? 2.0 * moved : moved, 0.0);
}

}  // namespace hn::HN_ISA
