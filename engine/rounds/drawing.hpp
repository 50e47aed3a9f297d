// Draw i with probability w_i / total from one uniform: the first i whose partial sum exceeds u total.
//
// A weight of zero is never drawn: if rounding selects one, the last positive weight before it is drawn instead. From
// tree_from arms on, a tree stores sums of sixteen weights, of sixteen sums, and so on, and the partial sums of its top level,
// so that a draw and an update cost log n. Every stored sum is recomputed from the weights below it, so errors do not add up.
#pragma once

#include "../random.hpp"

namespace hn::HN_ISA {

/// Last positive weight, for u beyond the last sum by rounding.
HN_COLD i64 last_positive(const double* w, i64 n) {
    i64 k = n - 1;
    while (k > 0 && !(w[k] > 0.0)) --k;
    return k;
}
/// True if place k of n has a positive weight, so that it was not drawn by rounding.
HN_INLINE bool is_drawn(const double* w, i64 n, i64 k) { return __builtin_expect(k < n && w[k] > 0.0, 1); }
HN_COLD i64 drawn_instead(const double* w, i64 n, i64 k) { return last_positive(w, k < n ? k + 1 : n); }

/// w_0 + ... + w_(m-1), with m a multiple of four: the last partial sum of `pick`.
HN_INLINE double sum_of(const double* w, i64 m) {
    double base = 0.0;
    for (i64 j = 0; j < m; j += 4) partial_sums(base, load4(w + j));
    return base;
}
HN_INLINE i64 pick(const double* w, i64 n, double u) {
    const f64x4 target = splat(u);
    double base = 0.0;
    i64 k = 0;
    for (i64 j = 0; j < n; j += 4) {
        const f64x4 sums = partial_sums(base, load4(w + j));
        k += __builtin_popcount(unsigned(bits(i64x4(sums <= target))));
    }
    return is_drawn(w, n, k) ? k : drawn_instead(w, n, k);
}

/// The same count for four runs, one per lane: `w` has an even number m of places for arms, with weight 0
/// from n on. The result may be m, or an arm of weight 0, which `weights_drawn` corrects.
HN_INLINE i64x4 pick_lanes(const f64x4* w, i64 m, f64x4 target) {
    f64x4 before{};
    i64x4 k{};
#pragma GCC unroll 4
    for (i64 j = 0; j < m; j += 4) {
        const f64x4 *x = w + j, a = x[1] + x[0];
        k -= i64x4(before + x[0] <= target);
        k -= i64x4(before + a <= target);
        if (j + 2 == m) break;
        const f64x4 b = x[2] + x[1], c = x[3] + x[2];
        k -= i64x4(before + (b + x[0]) <= target);
        before = before + (c + a);
        k -= i64x4(before <= target);
    }
    return k;
}
HN_INLINE double& lane_of(f64x4* a, i64 i, int g) { return reinterpret_cast<double*>(a)[4 * i + g]; }
/// Weights of the drawn arms, one per lane; w[m] is 0. If one is 0, k becomes the last arm before it with a
/// positive weight.
HN_INLINE f64x4 weights_drawn(f64x4* w, i64x4& k) {
    f64x4 here{lane_of(w, k[0], 0), lane_of(w, k[1], 1), lane_of(w, k[2], 2), lane_of(w, k[3], 3)};
    if (__builtin_expect(bits(i64x4(here > 0.0)) != 15, 0))
        for (int g = 0; g < 4; ++g) {
            while (k[g] > 0 && !(lane_of(w, k[g], g) > 0.0)) --k[g];
            here[g] = lane_of(w, k[g], g);
        }
    return here;
}

/// `pick` with the weight of one arm added last, so that all other additions can be made before it is known.
HN_INLINE double sum_around(const double* w, i64 n, i64 last) {
    double base = 0.0;
    for (i64 j = 0; j < n; j += 4) partial_sums(base, except(i64x4(lanes(j) == splat(last)), load4(w + j)));
    return base + w[last];
}
HN_INLINE i64 pick_around(const double* w, i64 n, i64 last, double u) {
    const f64x4 target = splat(u), more = splat(w[last]);
    double base = 0.0;
    i64 k = 0;
    for (i64 j = 0; j < n; j += 4) {
        const f64x4 sums = partial_sums(base, except(i64x4(lanes(j) == splat(last)), load4(w + j)));
        const f64x4 after = sums + only(i64x4(lanes(j) >= splat(last)), more);
        k += __builtin_popcount(unsigned(bits(i64x4(after <= target))));
    }
    return is_drawn(w, n, k) ? k : drawn_instead(w, n, k);
}

// The tree. Levels are stored one after another in groups of sixteen, padded with zeros; the partial sums of
// the top level are last.

/// Sums of sixteen of the m numbers of `from`.
HN_INLINE void sum_level(const double* from, i64 m, double* level) {
    i64 k = 0;
    for (; (k + 3) * fan < m; k += 4) store4(level + k, sum16_of_four(from + fan * k));
    for (; k * fan < m; ++k) level[k] = sum16(from + fan * k);
}
/// Partial sums of the top level, stored after it, from the i-th on; returns the total.
HN_INLINE double add_up(double* top, i64 m, i64 i) {
    double* sums = top + in_fans(m);
    i64 j = i & ~i64(3);
    double base = j > 0 ? sums[j - 1] : 0.0;
    for (; j < m; j += 4) store4(sums + j, partial_sums(base, load4(top + j)));
    return base;
}
/// Compute all sums above the first level, which is up to date; returns the total.
HN_INLINE double grow_on(double* tree, i64 n) {
    i64 m = in_fans(n) / fan;
    double* level = tree;
    while (m > crown) {
        double* above = level + in_fans(m);
        sum_level(level, m, above);
        level = above;
        m = in_fans(m) / fan;
    }
    return add_up(level, m, 0);
}
HN_INLINE double grow(const double* w, i64 n, double* tree) {
    sum_level(w, n, tree);
    return grow_on(tree, n);
}
/// Update the sums above weight i. Returns the total.
HN_INLINE double regrow(const double* w, i64 n, double* tree, i64 i) {
    const double* below = w;
    double* level = tree;
    for (i64 m = in_fans(n) / fan;; m = in_fans(m) / fan) {
        i /= fan;
        level[i] = sum16(below + fan * i);
        if (m <= crown) return add_up(level, m, i);
        below = level;
        level += in_fans(m);
    }
}
/// Among sixteen: the first whose partial sum exceeds u, and the rest of u before it.
HN_INLINE i64 pick_of_fan(const double* w, double& u) {
    const f64x4 target = splat(u);
    double base = 0.0;
    f64x4 before{};
    i64 k = 0;
#pragma GCC unroll 4
    for (int j = 0; j < fan; j += 4) {
        const f64x4 sums = partial_sums(base, load4(w + j));
        const i64x4 below = i64x4(sums <= target);
        k += __builtin_popcount(unsigned(bits(below)));
        // sums ascend, so the largest sum that is at most u is the one before k
        before = max(before, only(below, sums));
    }
    if (!is_drawn(w, fan, k)) {
        u = infinity;
        return drawn_instead(w, fan, k);
    }
    u -= fold_max(before);
    return k;
}
/// Select among the m sums of the top level by their partial sums; as `pick_of_fan`.
HN_INLINE i64 pick_of_crown(const double* top, i64 m, double& u) {
    const double* sums = top + in_fans(m);
    const f64x4 target = splat(u);
    i64x4 below{};
    for (i64 j = 0; j < m; j += 4) below -= i64x4(load4(sums + j) <= target);
    const i64 k = (below[0] + below[2]) + (below[1] + below[3]);
    if (!is_drawn(top, m, k)) {
        u = infinity;
        return drawn_instead(top, m, k);
    }
    if (k > 0) u = max(u - sums[k - 1], 0.0);  // the sums ascend, up to an ulp
    return k;
}
HN_INLINE i64 descend(const double* w, i64 n, const double* tree, double u) {
    const double* levels[16];
    int depth = 0;
    i64 m = in_fans(n) / fan;
    const double* level = tree;
    while (m > crown) {
        levels[depth++] = level;
        level += in_fans(m);
        m = in_fans(m) / fan;
    }
    i64 node = pick_of_crown(level, m, u);
    while (depth > 0) node = fan * node + pick_of_fan(levels[--depth] + fan * node, u);
    return fan * node + pick_of_fan(w + fan * node, u);
}

/// Return the arm that the uniform u selects from the current weights.
HN_INLINE i64 draw(const Setup& s, const Run& run, double u) {
    u *= run.total;
    if (s.tree()) return descend(run.w, s.n, run.tree, u);
    if (s.path == Path::entropy_one) return pick_around(run.w, s.n, run.arm, u);
    return pick(run.w, s.n, u);
}

}  // namespace hn::HN_ISA
