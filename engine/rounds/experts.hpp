// Round of experts: all losses are observed, L_t = L_{t-1} + l_t.
#pragma once

#include "weighing.hpp"

namespace hn::HN_ISA {

/// Return the first i with row_i NaN or outside [low, high], or -1.
HN_INLINE i64 first_outside(const double* row, i64 n, double low, double high) {
    const f64x4 bottom = splat(low), top = splat(high);
    i64x4 bad{};
    i64 i = 0;
    for (; i + 4 <= n; i += 4) {
        const f64x4 x = load4(row + i);
        bad |= ~(i64x4(bottom <= x) & i64x4(x <= top));
    }
    bool any = bits(bad) != 0;
    for (; i < n; ++i) any |= !(low <= row[i] && row[i] <= high);
    if (__builtin_expect(!any, 1)) return -1;
    for (i = 0; low <= row[i] && row[i] <= high;) ++i;
    return i;
}

/// sum_i w_i row_i.
HN_INLINE double mean_under(const double* w, const double* row, i64 n) {
    f64x4 a{}, b{};
    i64 i = 0;
    for (; i + 8 <= n; i += 8) {
        a += load4(w + i) * load4(row + i);
        b += load4(w + i + 4) * load4(row + i + 4);
    }
    double t = fold(a + b);
    for (; i < n; ++i) t += w[i] * row[i];
    return t;
}

/// Return the normalized <p, l> of the current weights.
HN_INLINE double expected_loss(const Setup& s, const Run& run, const double* row) {
    return (mean_under(run.w, row, s.n) / run.total - s.origin) * s.slope;
}

HN_INLINE void add_row(const Setup& s, Run& run, const double* row) {
    const f64x4 origin = splat(s.origin), slope = splat(s.slope);
    i64 i = 0;
    for (; i + 4 <= s.n; i += 4) store4(run.L + i, load4(run.L + i) + (load4(row + i) - origin) * slope);
    for (; i < s.n; ++i) run.L[i] += (row[i] - s.origin) * s.slope;
}

/// L += l and w *= e^(-l/scale), where l/scale <= 0.1: a polynomial of degree 7.
HN_INLINE void multiply_row(const Setup& s, Run& run, const double* row) {
    const double rate = -run.inverse;
    const f64x4 origin = splat(s.origin), slope = splat(s.slope), rates = splat(rate);
    i64 i = 0;
    for (; i + 4 <= s.n; i += 4) {
        const f64x4 x = (load4(row + i) - origin) * slope;
        store4(run.L + i, load4(run.L + i) + x);
        store4(run.w + i, load4(run.w + i) * exp_small(x * rates));
    }
    for (; i < s.n; ++i) {
        const double x = (row[i] - s.origin) * s.slope;
        run.L[i] += x;
        run.w[i] *= exp_small(x * rate);
    }
}

inline constexpr double small_step = 0.1;

/// Check, <w, row>, L += l, w *= e^(-l/scale) and the sums of sixteen, in one pass, with the results of
/// first_outside, mean_under, multiply_row and sum_up. Returns false if a loss is out of range; the run then ends.
/// `Plain`: losses in [0, 1], which need no normalization.
template <bool Plain>
HN_INLINE bool meet_row(const Setup& s, Run& run, const double* row, double& mean) {
    const double rate = -run.inverse;
    const f64x4 origin = splat(s.origin), slope = splat(s.slope), rates = splat(rate);
    double *const L = run.L, *const w = run.w, *const tree = run.tree;
    const i64 n = s.n;
    f64x4 dot[2]{}, lowest = splat(s.low), highest = splat(s.high);
    i64 i = 0;
    const auto four = [&](i64 at, int odd) {
        const f64x4 x = load4(row + at), before = load4(w + at);
        // NaN is not detected here but propagates into the dot product.
        lowest = min(x, lowest);
        highest = max(x, highest);
        dot[odd] += before * x;
        const f64x4 l = Plain ? x : (x - origin) * slope, after = before * exp_small(l * rates);
        store4(L + at, load4(L + at) + l);
        store4(w + at, after);
        return after;
    };
    for (; i + fan <= n; i += fan) {
        __builtin_prefetch(row + n + i);
        __builtin_prefetch(row + n + i + 8);
        const f64x4 a = four(i, 0), b = four(i + 4, 1), c = four(i + 8, 0), d = four(i + 12, 1);
        tree[i / fan] = fold((a + c) + (b + d));
    }
    if (i + 8 <= n) {
        four(i, 0);
        four(i + 4, 1);
        i += 8;
    }
    double t = fold(dot[0] + dot[1]);
    bool good = t == t && fold_min(lowest) >= s.low && fold_max(highest) <= s.high;
    for (; i < n; ++i) {
        good &= s.low <= row[i] && row[i] <= s.high;
        t += w[i] * row[i];
        const double l = (row[i] - s.origin) * s.slope;
        L[i] += l;
        w[i] *= exp_small(l * rate);
    }
    if (n % fan) tree[n / fan] = sum16(w + n / fan * fan);
    mean = t;
    return good;
}
/// True if meet_row supports the next row.
HN_INLINE bool meets(const Setup& s, const Run& run) {
    return s.path == Path::entropy_times && s.tree() && run.inverse <= small_step && run.fresh < refresh;
}
/// Complete a round after `meet_row`.
HN_INLINE void settle_met(const Setup& s, Run& run, double own) {
    run.own += own;
    run.fresh += 1.0;
    run.total = grow_on(run.tree, s.n);
    if (!in_range(run.total, s.n)) entropy_anew(s, run);
}

/// Settle a row of losses: own loss, L, weights of the next round. Returns false if the smoothing failed.
HN_INLINE bool settle_row(const Setup& s, Run& run, const double* row, double own, bool valued) {
    run.own += own;
    if (s.path == Path::entropy_times && run.inverse <= small_step) {
        if (run.fresh < refresh) {
            multiply_row(s, run, row);
            run.fresh += 1.0;
            sum_up(s, run);
            if (!in_range(run.total, s.n)) entropy_anew(s, run);
        } else {
            add_row(s, run, row);
            entropy_anew(s, run);
        }
        if (valued) run.value = entropy_value(run);
        return true;
    }
    add_row(s, run, row);
    if (s.path == Path::called) {
        ++run.settled;
        run.paid = own;
    }
    return weigh_apart(s, run, next_scale(s, run), valued);
}

}  // namespace hn::HN_ISA
