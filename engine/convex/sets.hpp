// Convex sets: operations on vectors, projections and steps on the ball, the box and the simplex.
//
// Vectors of any length are processed four numbers at a time; the order of every sum depends on the length alone.
#pragma once

#include "../convex.hpp"
#include "../simd.hpp"

namespace hn::HN_ISA {

/// The first `left` (1 to 3) numbers at p, then zeros.
HN_INLINE f64x4 rest4(const double* p, i64 left) {
    return f64x4{p[0], left > 1 ? p[1] : 0.0, left > 2 ? p[2] : 0.0, 0.0};
}

/// <a, b>: lane k sums the entries k mod 4.
HN_INLINE double inner(const double* a, const double* b, i64 n) {
    f64x4 sums{};
    i64 k = 0;
    for (; k + 4 <= n; k += 4) sums += load4(a + k) * load4(b + k);
    if (k < n) sums += rest4(a + k, n - k) * rest4(b + k, n - k);
    return fold(sums);
}

/// <a, b> of long vectors, with eight accumulators.
HN_INLINE double long_inner(const double* a, const double* b, i64 n) {
    f64x4 low{}, high{};
    i64 k = 0;
    for (; k + 8 <= n; k += 8) {
        low += load4(a + k) * load4(b + k);
        high += load4(a + k + 4) * load4(b + k + 4);
    }
    double total = ((low[0] + low[1]) + (low[2] + low[3])) + ((high[0] + high[1]) + (high[2] + high[3]));
    for (; k < n; ++k) total += a[k] * b[k];
    return total;
}

/// y += share * x.
HN_INLINE void add(double* y, double share, const double* x, i64 n) {
    const f64x4 by = splat(share);
    i64 k = 0;
    for (; k + 4 <= n; k += 4) store4(y + k, load4(y + k) + by * load4(x + k));
    for (; k < n; ++k) y[k] += share * x[k];
}

/// y *= by.
HN_INLINE void multiply(double* y, double by, i64 n) {
    for (i64 k = 0; k < n; ++k) y[k] *= by;
}

HN_INLINE double larger(double x, double y) { return x > y ? x : y; }
HN_INLINE double smaller(double x, double y) { return x < y ? x : y; }

// Operations of a convex set for the solver, in addition to its quadratic argmin: the linear argmin and the
// optimality residual.

/// Vectors of a run are padded to multiples of four.
HN_INLINE double padded_inner(const double* a, const double* b, i64 d) {
    f64x4 sums{};
    for (i64 k = 0; k < d; k += 4) sums += load4(a + k) * load4(b + k);
    return fold(sums);
}

/// Factor that scales v to the radius of the sphere.
HN_INLINE double shrink_to(double radius, double square) {
    return square > 0.0 ? radius / sqrt(square) : 0.0;
}

/// x = argmin <v, x> over the set: O(d).
HN_INLINE void linear_argmin(const Region& region, const double* v, double* x) {
    const i64 d = region.d;
    if (region.kind == SetKind::ball) {
        const f64x4 shrink = splat(shrink_to(region.radius, padded_inner(v, v, d)));
        for (i64 k = 0; k < d; k += 4) store4(x + k, load4(region.center + k) - shrink * load4(v + k));
    } else if (region.kind == SetKind::box) {
        for (i64 j = 0; j < d; ++j)
            x[j] = v[j] > 0.0 ? region.low[j] : v[j] < 0.0 ? region.high[j] : region.center[j];
    } else {
        i64 best = 0;
        for (i64 j = 0; j < d; ++j) {
            x[j] = 0.0;
            if (v[j] < v[best]) best = j;
        }
        x[best] = 1.0;
    }
}

/// Minimum of ||g + nu|| over nu in the normal cone of the set at x: 0 if and only if x is optimal. On the
/// simplex the multiplier of the sum is the mean of g over the support, the best one up to signs.
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
        return sqrt(total);
    }
    double level = 0.0;
    if (region.kind == SetKind::simplex) {
        i64 support = 0;
        for (i64 j = 0; j < d; ++j)
            if (x[j] > 0.0) {
                level += g[j];
                ++support;
            }
        level /= double(support);
    }
    for (i64 j = 0; j < d; ++j) {
        double slope = g[j] - level;
        if (x[j] <= region.low[j]) slope = smaller(slope, 0.0);
        if (region.kind == SetKind::box && x[j] >= region.high[j]) slope = larger(slope, 0.0);
        total += slope * slope;
    }
    return sqrt(total);
}

// argmin over a ball of <g, y - x> + (y - x)'H(y - x)/2.
//
// H = P T P', where T is tridiagonal and P a product of reflections I - 2 m m'. Systems with H + push I are then solved
// in O(d), and P is applied in O(d^2). With s = y - center: s = -(H + push)^-1 a, a = g - H(x - center), where push is
// 0 or the root of ||s|| = radius. 1/||s|| is concave in push, so Newton's method from the left never overshoots the
// root.

/// T (diagonal, off-diagonal) and the reflections of the model's H, which is overwritten; two rows of
/// `mirrors` are working memory.
inline void tridiagonal(i64 d, PointModel& model) {
    double *H = model.H, *work = model.mirrors + (d + 1) * d;
    for (i64 j = 0; j < d * d; ++j) model.mirrors[j] = 0.0;
    for (i64 k = 0; k < d - 2; ++k) {
        // Reflect the column below the diagonal onto its first coordinate.
        double* m = model.mirrors + k * d;
        const i64 first = k + 1, count = d - first;
        for (i64 i = first; i < d; ++i) m[i] = H[i * d + k];
        const double length = sqrt(inner(m + first, m + first, count));
        m[first] -= m[first] > 0.0 ? -length : length;
        const double norm = sqrt(inner(m + first, m + first, count));
        if (norm == 0.0) continue;
        for (i64 i = first; i < d; ++i) m[i] /= norm;
        // H <- (I - 2mm') H (I - 2mm') = H - m w' - w m', w = 2(Hm - (m'Hm) m), on the remaining block.
        double along = 0.0;
        for (i64 i = k; i < d; ++i) {
            work[i] = 2.0 * inner(H + i * d + first, m + first, count);
            along += m[i] * work[i];
        }
        for (i64 i = k; i < d; ++i) work[i] -= along * m[i];
        for (i64 i = k; i < d; ++i) {
            const f64x4 mine = splat(m[i]), other = splat(work[i]);
            double* row = H + i * d;
            i64 j = k;
            for (; j + 4 <= d; j += 4)
                store4(row + j, load4(row + j) - (mine * load4(work + j) + other * load4(m + j)));
            for (; j < d; ++j) row[j] -= m[i] * work[j] + work[i] * m[j];
        }
    }
    for (i64 k = 0; k < d; ++k) {
        model.diagonal[k] = H[k * d + k];
        model.beside[k] = k + 1 < d ? H[(k + 1) * d + k] : 0.0;
    }
}

/// v <- P'v, or P v if `backwards`.
HN_INLINE void reflect(const double* mirrors, double* v, i64 d, bool backwards) {
    for (i64 i = 0; i < d - 2; ++i) {
        const i64 row = backwards ? d - 3 - i : i, first = row + 1;
        const double* m = mirrors + row * d + first;
        add(v + first, -2.0 * inner(m, v + first, d - first), m, d - first);
    }
}

/// v <- (T + push)^-1 v; the pivots are at least the ridge, because H is.
HN_INLINE void solve_tridiagonal(const PointModel& model, double push, double ridge, double* v,
                                 double* pivots, i64 d) {
    const double *diagonal = model.diagonal, *beside = model.beside;
    pivots[0] = larger(diagonal[0] + push, ridge);
    for (i64 k = 1; k < d; ++k) {
        const double ratio = beside[k - 1] / pivots[k - 1];
        pivots[k] = larger(diagonal[k] + push - ratio * beside[k - 1], ridge);
        v[k] -= ratio * v[k - 1];
    }
    v[d - 1] /= pivots[d - 1];
    for (i64 k = d - 2; k >= 0; --k) v[k] = (v[k] - beside[k] * v[k + 1]) / pivots[k];
}

/// model.trial = the argmin, after `tridiagonal`.
inline void ball_argmin(const Region& region, PointModel& model, double ridge, const double* x) {
    const i64 d = region.d;
    const double *diagonal = model.diagonal, *beside = model.beside, *center = region.center, *g = model.g;
    double *a = model.mirrors + d * d, *pivots = a + d, *second = model.step, *y = model.trial;
    for (i64 j = 0; j < d; ++j) {
        second[j] = x[j] - center[j];
        y[j] = g[j];
    }
    reflect(model.mirrors, second, d, false);
    reflect(model.mirrors, y, d, false);
    double top = 0.0, square = 0.0;
    for (i64 j = 0; j < d; ++j) {
        double turned = diagonal[j] * second[j] + beside[j] * (j + 1 < d ? second[j + 1] : 0.0);
        double around = abs(diagonal[j]) + abs(beside[j]);
        if (j > 0) {
            turned += beside[j - 1] * second[j - 1];
            around += abs(beside[j - 1]);
        }
        top = larger(top, around);
        a[j] = y[j] - turned;
        square += a[j] * a[j];
    }
    double push = larger(0.0, sqrt(square) / region.radius - top), norm = 0.0;
    for (int tries = 0; tries < 200; ++tries) {
        for (i64 j = 0; j < d; ++j) y[j] = -a[j];
        solve_tridiagonal(model, push, ridge, y, pivots, d);
        square = inner(y, y, d);
        norm = sqrt(square);
        if (norm <= region.radius * (1.0 + 1e-15)) break;
        for (i64 j = 0; j < d; ++j) second[j] = y[j];
        solve_tridiagonal(model, push, ridge, second, pivots, d);
        const double before = push;
        push += square / inner(second, y, d) * (norm - region.radius) / region.radius;
        if (!(push > before)) break;
    }
    const double shrink = norm > region.radius || (push > 0.0 && norm > 0.0) ? region.radius / norm : 1.0;
    reflect(model.mirrors, y, d, true);
    for (i64 j = 0; j < d; ++j) y[j] = center[j] + shrink * y[j];
}

// argmin over a box or a simplex of <g, y - x> + (y - x)'H(y - x)/2, by a primal active-set method.
//
// From the feasible x: minimize over the free coordinates (with a constant sum on the simplex), stop at the first
// active bound and fix that coordinate; at a minimum, free the coordinate whose multiplier has the wrong sign and the
// largest absolute value.

/// Cholesky: factor factor' = H[rows, rows], for m rows.
inline void cholesky(const double* H, const i64* rows, i64 m, i64 d, double* factor) {
    for (i64 i = 0; i < m; ++i)
        for (i64 j = 0; j <= i; ++j) {
            const double left = H[rows[i] * d + rows[j]] - inner(factor + i * d, factor + j * d, j);
            factor[i * d + j] = i == j ? sqrt(larger(left, 1e-300)) : left / factor[j * d + j];
        }
}

/// Solve factor factor' p = right, in place.
inline void solve_factored(const double* factor, i64 m, i64 d, double* right) {
    for (i64 i = 0; i < m; ++i) right[i] = (right[i] - inner(factor + i * d, right, i)) / factor[i * d + i];
    for (i64 i = m - 1; i >= 0; --i) {
        right[i] /= factor[i * d + i];
        add(right, -right[i], factor + i * d, i);
    }
}

/// slope = g + H(y - x), with working memory for y - x.
inline void model_slope(const PointModel& model, const double* x, i64 d, double* apart) {
    for (i64 k = 0; k < d; ++k) apart[k] = model.trial[k] - x[k];
    for (i64 j = 0; j < d; ++j) model.slope[j] = model.g[j] + inner(model.H + j * d, apart, d);
}

/// model.trial = the argmin; returns false if the iteration limit is reached.
inline bool box_argmin(const Region& region, PointModel& model, const double* x) {
    const i64 d = region.d;
    const bool simplex = region.kind == SetKind::simplex;
    const double *low = region.low, *high = region.high;
    double *y = model.trial, *slope = model.slope, *step = model.step, *ones = model.ones;
    i64 *rows = model.free, *fixed = model.fixed;
    for (i64 j = 0; j < d; ++j) {
        y[j] = x[j];
        fixed[j] = x[j] <= low[j] || x[j] >= high[j];
    }
    for (i64 tries = 0; tries < 50 * d + 50; ++tries) {
        model_slope(model, x, d, ones);
        i64 m = 0;
        for (i64 j = 0; j < d; ++j)
            if (!fixed[j]) rows[m++] = j;
        double level = 0.0;
        if (m > 0) {
            // Approximate multiplier of the sum: without it the two solves would cancel.
            if (simplex)
                for (i64 i = 0; i < m; ++i) level += slope[rows[i]] / double(m);
            for (i64 i = 0; i < m; ++i) {
                step[i] = level - slope[rows[i]];
                ones[i] = 1.0;
            }
            cholesky(model.H, rows, m, d, model.factor);
            solve_factored(model.factor, m, d, step);
            if (simplex) {
                solve_factored(model.factor, m, d, ones);
                double total = 0.0, more = 0.0;
                for (i64 i = 0; i < m; ++i) {
                    total += ones[i];
                    more -= step[i];
                }
                more /= total;
                level += more;
                // Restore the sum that a nearly singular H has lost by rounding, or x would leave the
                // simplex.
                double drift = 0.0;
                for (i64 i = 0; i < m; ++i) {
                    step[i] += more * ones[i];
                    drift += step[i];
                }
                for (i64 i = 0; i < m; ++i) step[i] -= drift / double(m);
            }
            double share = 1.0;
            i64 wall = -1;
            for (i64 i = 0; i < m; ++i) {
                const i64 j = rows[i];
                if (step[i] < 0.0 && y[j] + share * step[i] < low[j]) {
                    share = (low[j] - y[j]) / step[i];
                    wall = j;
                } else if (step[i] > 0.0 && y[j] + share * step[i] > high[j]) {
                    share = (high[j] - y[j]) / step[i];
                    wall = j;
                }
            }
            for (i64 i = 0; i < m; ++i) {
                const i64 j = rows[i];
                y[j] = smaller(larger(y[j] + share * step[i], low[j]), high[j]);
            }
            if (wall >= 0) {
                y[wall] = y[wall] - low[wall] < high[wall] - y[wall] ? low[wall] : high[wall];
                fixed[wall] = 1;
                continue;
            }
            model_slope(model, x, d, ones);
        }
        double worst = 0.0;
        i64 freed = -1;
        for (i64 j = 0; j < d; ++j)
            if (fixed[j] && low[j] < high[j]) {
                const double multiplier = slope[j] - level, wrong = y[j] <= low[j] ? -multiplier : multiplier;
                if (wrong > worst + 1e-13 * (abs(slope[j]) + abs(level))) {
                    worst = wrong;
                    freed = j;
                }
            }
        if (freed < 0) return true;
        fixed[freed] = 0;
    }
    return false;
}

}  // namespace hn::HN_ISA
