// The perturbed leader with a tabulated law: p_i = int G(w) r(w + d_i) dw, four nodes at a time.
#pragma once

#include "../law_table.hpp"
#include "../log4.hpp"
#include "leaders.hpp"

namespace hn::HN_ISA {

/// log F and log r at z; beyond the table's ends F is 0, or 1 and r is 0.
HN_INLINE void look_up(const LawTable& t, f64x4 z, f64x4& log_cdf, f64x4& log_ratio) {
    const f64x4 x = (z - splat(t.centre)) / splat(t.spread), a = size(x);
    f64x4 s;
    if (t.one_sided) {
        s = log4(most(x, splat(1e-300)));
    } else {
        // arsinh |x|, near 0 by log1p so that nothing is lost
        const f64x4 up = log1p4(a + a * a / (1.0 + root(1.0 + a * a)));
        s = select(i64x4(x < 0.0), -up, up);
    }
    const f64x4 at = (s - splat(t.first)) / splat(t.step);
    const f64x4 last = splat(double(t.size - 1));
    const i64x4 below = i64x4(at < 0.0), above = i64x4(at >= last);
    const f64x4 inside = select(below | above, f64x4{}, at);
    f64x4 cell, f0, e0, f1, e1, g0, h0, g1, h1;
    for (int k = 0; k < 4; ++k) {
        const i64 place = inside[k] < last[k] ? i64(inside[k]) : 0;  // false for what is not a number
        const double* p = t.points + 4 * place;
        cell[k] = double(place);
        f0[k] = p[0], e0[k] = p[1], g0[k] = p[2], h0[k] = p[3];
        f1[k] = p[4], e1[k] = p[5], g1[k] = p[6], h1[k] = p[7];
    }
    const f64x4 u = inside - cell, v = 1.0 - u, u2 = u * u, v2 = v * v;
    const f64x4 b0 = (1.0 + 2.0 * u) * v2, b1 = u2 * (3.0 - 2.0 * u), c0 = u * v2, c1 = -(u2 * v);
    log_cdf = (f0 * b0 + f1 * b1) + (e0 * c0 + e1 * c1);
    log_ratio = (g0 * b0 + g1 * b1) + (h0 * c0 + h1 * c1);
    log_cdf = select(below, splat(-1e4), select(above, f64x4{}, log_cdf));
    log_ratio = select(below | above, splat(-1e4), log_ratio);
}

/// Weights at L, unnormalised, with their sum; E max_j (Z_j - d_j).
inline bool table_leaders(const LawTable& t, const double* L, i64 n, double scale, double* p, double& total, double& mean) {
    double* room = workspace(9 * n);
    if (!room) return false;
    double *d = room, *r = room + n, *sums = room + 5 * n;
    const double low = lowest(L, n);
    for (i64 j = 0; j < n; ++j) d[j] = (L[j] - low) / scale;
    for (i64 k = 0; k < 4 * n; ++k) sums[k] = 0.0;
    f64x4 means{};
    for (i64 q = 0; q < t.nodes; q += 4) {
        const f64x4 w = load4(t.w + q);
        f64x4 logs{};
        for (i64 j = 0; j < n; ++j) {
            f64x4 log_cdf, log_ratio;
            look_up(t, w + splat(d[j]), log_cdf, log_ratio);
            logs += log_cdf;
            store4(r + 4 * j, log_ratio);
        }
        const f64x4 length = load4(t.dw + q);
        f64x4 whole{};
        for (i64 j = 0; j < n; ++j) {
            const f64x4 part = length * exp(logs + load4(r + 4 * j));
            store4(sums + 4 * j, load4(sums + 4 * j) + part);
            whole += part;
        }
        means += w * whole;
    }
    total = 0.0;
    for (i64 j = 0; j < n; ++j) p[j] = fold(load4(sums + 4 * j)), total += p[j];
    mean = t.has_mean ? fold(means) : infinity;
    return total > 0.5 && total < 2.0;
}

}  // namespace hn::HN_ISA
