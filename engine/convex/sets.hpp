// What the solver needs of a convex set beside its quadratic argmin: the linear argmin and the optimality residual.
#pragma once

#include "../convex.hpp"
#include "vectors.hpp"

namespace hn::HN_ISA {

/// Vectors of a run are padded: whole fours, no end to watch.
HN_INLINE double padded_inner(const double* a, const double* b, i64 d) {
    f64x4 sums{};
    for (i64 k = 0; k < d; k += 4) sums += load4(a + k) * load4(b + k);
    return fold(sums);
}

/// How much of v leads from the center to the sphere.
HN_INLINE double shrink_to(double radius, double square) { return square > 0.0 ? radius / root(square) : 0.0; }

/// x = argmin <v, x> over the set: O(d).
HN_INLINE void linear_argmin(const Region& region, const double* v, double* x) {
    const i64 d = region.d;
    if (region.kind == SetKind::ball) {
        const f64x4 shrink = splat(shrink_to(region.radius, padded_inner(v, v, d)));
        for (i64 k = 0; k < d; k += 4) store4(x + k, load4(region.center + k) - shrink * load4(v + k));
    } else if (region.kind == SetKind::box) {
        for (i64 j = 0; j < d; ++j) x[j] = v[j] > 0.0 ? region.low[j] : v[j] < 0.0 ? region.high[j] : region.center[j];
    } else {
        i64 best = 0;
        for (i64 j = 0; j < d; ++j) {
            x[j] = 0.0;
            if (v[j] < v[best]) best = j;
        }
        x[best] = 1.0;
    }
}

/// ||g + nu|| for the nu of the normal cone of the set at x that makes it least: 0 iff x is optimal.
/// On the simplex the multiplier of the sum is the mean of g over the support, which is least up to signs.
inline double residual(const Region& region, const double* x, const double* g) {
    const i64 d = region.d;
    double total = 0.0;
    if (region.kind == SetKind::ball) {
        double along = 0.0, square = 0.0;
        for (i64 j = 0; j < d; ++j) {
            const double s = x[j] - region.center[j];
            along += g[j] * s;
            square += s * s;
        }
        const double near = region.radius * (1.0 - 1e-13);
        const double push = square >= near * near ? larger(0.0, -along / square) : 0.0;
        for (i64 j = 0; j < d; ++j) {
            const double left = g[j] + push * (x[j] - region.center[j]);
            total += left * left;
        }
        return root(total);
    }
    double level = 0.0;
    if (region.kind == SetKind::simplex) {
        i64 support = 0;
        for (i64 j = 0; j < d; ++j)
            if (x[j] > 0.0) level += g[j], ++support;
        level /= double(support);
    }
    for (i64 j = 0; j < d; ++j) {
        double slope = g[j] - level;
        if (x[j] <= region.low[j]) slope = smaller(slope, 0.0);
        if (region.kind == SetKind::box && x[j] >= region.high[j]) slope = larger(slope, 0.0);
        total += slope * slope;
    }
    return root(total);
}

}  // namespace hn::HN_ISA
