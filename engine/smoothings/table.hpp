// The perturbed leader with a tabulated law: p_i = int G(w) r(w + d_i) dw, four nodes at a time.
#pragma once

#include "../potentials.hpp"
#include "../log.hpp"
#include "leaders.hpp"

namespace hn::HN_ISA {

/// Constants of a table for lookups without divisions.
struct TableLook {
    const LawTable& t;
    const double per_spread = 1.0 / t.spread, per_step = 1.0 / t.step;

    /// log F and log r at z; below the table F is 0, above it F is 1 and r is 0.
    HN_INLINE void at(f64x4 z, f64x4& log_cdf, f64x4& log_ratio) const {
        const f64x4 x = (z - splat(t.centre)) * splat(per_spread), a = abs(x);
        // log x, or arsinh x: only its distance from a grid point counts, so near 0 its relative error does
        // not matter.
        const f64x4 up = log4(t.one_sided ? max(x, splat(1e-300)) : a + sqrt(1.0 + a * a));
        const f64x4 s = t.one_sided ? up : select(i64x4(x < 0.0), -up, up);
        const f64x4 place = (s - splat(t.first)) * splat(per_step);
        const f64x4 last = splat(double(t.size - 1));
        const i64x4 below = i64x4(place < 0.0), above = i64x4(place >= last);
        const f64x4 inside = select(below | above, f64x4{}, place);
        f64x4 cell;
        const double* points[4];
#pragma GCC unroll 4
        for (int k = 0; k < 4; ++k) {
            const i64 i = inside[k] < last[k] ? i64(inside[k]) : 0;  // false for NaN
            points[k] = t.points + 4 * i;
            cell[k] = double(i);
        }
        const f64x4 u = inside - cell, v = 1.0 - u, u2 = u * u, v2 = v * v;
        const Turned left((1.0 + 2.0 * u) * v2, u * v2), right(u2 * (3.0 - 2.0 * u), -(u2 * v));
        // For a node: values of log F, its slopes, values of log r, its slopes, each at both ends.
        f64x4 parts[4];
#pragma GCC unroll 4
        for (int k = 0; k < 4; ++k)
            parts[k] = load4(points[k]) * left.of(k) + load4(points[k] + 4) * right.of(k);
        const f64x4 first = in_pairs(parts[0], parts[1]), second = in_pairs(parts[2], parts[3]);
        log_cdf = __builtin_shufflevector(first, second, 0, 1, 4, 5);
        log_ratio = __builtin_shufflevector(first, second, 2, 3, 6, 7);
        log_cdf = select(below, splat(-1e4), select(above, f64x4{}, log_cdf));
        log_ratio = select(below | above, splat(-1e4), log_ratio);
    }

private:
    /// Lane k of two vectors as (x_k, y_k, x_k, y_k).
    struct Turned {
        f64x4 even, odd;
        HN_INLINE Turned(f64x4 x, f64x4 y)
            : even(__builtin_shufflevector(x, y, 0, 4, 2, 6)),
              odd(__builtin_shufflevector(x, y, 1, 5, 3, 7)) {}
        HN_INLINE f64x4 of(int k) const {
            const f64x4 both = k % 2 ? odd : even;
            return k < 2 ? __builtin_shufflevector(both, both, 0, 1, 0, 1)
                         : __builtin_shufflevector(both, both, 2, 3, 2, 3);
        }
    };
    /// (x_0 + x_1, y_0 + y_1, x_2 + x_3, y_2 + y_3).
    static HN_INLINE f64x4 in_pairs(f64x4 x, f64x4 y) {
        return __builtin_shufflevector(x, y, 0, 4, 2, 6) + __builtin_shufflevector(x, y, 1, 5, 3, 7);
    }
};

/// Weights at L, unnormalized, with their sum; E max_j (Z_j - d_j).
inline bool table_leaders(const LawTable& t, const double* L, i64 n, double scale, double* p, double& total,
                          double& mean) {
    double* room = workspace(9 * n);
    if (!room) return false;
    double *d = room, *r = room + n, *sums = room + 5 * n;
    const double low = lowest(L, n);
    for (i64 j = 0; j < n; ++j) d[j] = (L[j] - low) / scale;
    for (i64 k = 0; k < 4 * n; ++k) sums[k] = 0.0;
    f64x4 means{};
    const TableLook look{t};
    for (i64 q = 0; q < t.nodes; q += 4) {
        const f64x4 w = load4(t.w + q);
        f64x4 logs{};
        for (i64 j = 0; j < n; ++j) {
            f64x4 log_cdf, log_ratio;
            look.at(w + splat(d[j]), log_cdf, log_ratio);
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
    for (i64 j = 0; j < n; ++j) {
        p[j] = fold(load4(sums + 4 * j));
        total += p[j];
    }
    mean = t.has_mean ? fold(means) : infinity;
    return total > 0.5 && total < 2.0;
}

}  // namespace hn::HN_ISA
