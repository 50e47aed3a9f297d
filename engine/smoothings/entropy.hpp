// Entropy: w_i = exp((base - L_i)/scale + log prior_i - top), a function of L_i alone, so one changed arm costs one exp;
// base moves (to min L) only when the total leaves [1e-6, 1e6 n].
#pragma once

#include "../rounds/drawing.hpp"
#include "../rounds/schedule.hpp"

namespace hn::HN_ISA {

/// True if no probability above 1e-300 underflows; false for NaN.
HN_INLINE bool in_range(double total, i64 n) { return 1e-6 < total && total < 1e6 * double(n); }

/// The total, and the partial sums if they are stored.
HN_INLINE void sum_up(const Setup& s, Run& run) {
    if (s.tree()) run.total = grow(run.w, s.n, run.tree);
    else if (s.path == Path::entropy_one) run.total = sum_around(run.w, s.n, run.arm);
    else run.total = sum_of(run.w, s.n);
}

/// All weights from L at the current base, by `exp_soon`, like the single weight of a round.
HN_INLINE void entropy_fill(const Setup& s, Run& run) {
    const f64x4 base = splat(run.base), rate = splat(run.inverse);
    const i64 m = s.places();
    if (s.log_prior) {
        for (i64 j = 0; j < s.n; ++j)
            run.w[j] = exp_soon((run.base - run.L[j]) * run.inverse + (s.log_prior[j] - run.top));
    } else if (s.path == Path::entropy_one) {
        for (i64 j = 0; j < m; j += 4) store4(run.w + j, exp_soon((base - load4(run.L + j)) * rate));
    } else {
        for (i64 j = 0; j < m; j += 4) store4(run.w + j, exp((base - load4(run.L + j)) * rate));
    }
    run.fresh = 0.0;
    sum_up(s, run);
}

/// Move base to min L and, with a prior, top so that the largest weight is 1; then compute all weights.
HN_COLD void entropy_anew(const Setup& s, Run& run) {
    double base = run.L[0];
    for (i64 j = 1; j < s.n; ++j) base = min(run.L[j], base);
    run.base = base;
    if (s.log_prior) {
        double top = -infinity;
        for (i64 j = 0; j < s.n; ++j) top = max((base - run.L[j]) * run.inverse + s.log_prior[j], top);
        run.top = top;
    }
    entropy_fill(s, run);
}

/// All weights at the current scale.
HN_INLINE void entropy_all(const Setup& s, Run& run) {
    entropy_fill(s, run);
    if (!in_range(run.total, s.n)) entropy_anew(s, run);
}

/// Weight of arm i from L_i, at the current scale.
HN_INLINE void entropy_one(const Setup& s, Run& run, i64 i) {
    double x = (run.base - run.L[i]) * run.inverse;
    if (s.log_prior) x += s.log_prior[i] - run.top;
    run.w[i] = exp_soon(x);
    run.arm = i;
    run.total = s.tree() ? regrow(run.w, s.n, run.tree, i) : sum_around(run.w, s.n, i);
    if (__builtin_expect(!in_range(run.total, s.n), 0)) entropy_anew(s, run);
}

/// Phi(L) = -scale log sum_i prior_i e^(-L_i/scale) from the current weights.
HN_INLINE double entropy_value(const Run& run) { return run.base - run.scale * (log(run.total) + run.top); }

}  // namespace hn::HN_ISA
