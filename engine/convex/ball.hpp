// argmin over a ball of <g, y - x> + (y - x)'H(y - x)/2.
//
// H = P T P', T tridiagonal, P a product of reflections I - 2 m m'. Every H + push I is then solved in O(d), and P
// applied in O(d^2). With s = y - center: s = -(H + push)^-1 a, a = g - H(x - center), where push is 0 or the root of
// ||s|| = radius. 1/||s|| is concave in push, so Newton from the left never passes the root.
#pragma once

#include "sets.hpp"

namespace hn::HN_ISA {

/// T (diagonal, beside) and the mirrors of the model's H, which is used up; two rows of `mirrors` are room.
inline void tridiagonal(i64 d, PointModel& model) {
    double *H = model.H, *work = model.mirrors + (d + 1) * d;
    for (i64 j = 0; j < d * d; ++j) model.mirrors[j] = 0.0;
    for (i64 k = 0; k < d - 2; ++k) {
        // The column below the diagonal, reflected onto its first coordinate.
        double* m = model.mirrors + k * d;
        const i64 first = k + 1, count = d - first;
        for (i64 i = first; i < d; ++i) m[i] = H[i * d + k];
        const double length = root(inner(m + first, m + first, count));
        m[first] -= m[first] > 0.0 ? -length : length;
        const double norm = root(inner(m + first, m + first, count));
        if (norm == 0.0) continue;
        for (i64 i = first; i < d; ++i) m[i] /= norm;
        // H <- (I - 2mm') H (I - 2mm') = H - m w' - w m', w = 2(Hm - (m'Hm) m), on what is left.
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

/// v <- P'v, or P v when backwards.
HN_INLINE void reflect(const double* mirrors, double* v, i64 d, bool backwards) {
    for (i64 i = 0; i < d - 2; ++i) {
        const i64 row = backwards ? d - 3 - i : i, first = row + 1;
        const double* m = mirrors + row * d + first;
        add(v + first, -2.0 * inner(m, v + first, d - first), m, d - first);
    }
}

/// v <- (T + push)^-1 v; the pivots are at least the ridge, which is what H is at least.
HN_INLINE void solve_tridiagonal(const PointModel& model, double push, double ridge, double* v, double* pivots, i64 d) {
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
    for (i64 j = 0; j < d; ++j) second[j] = x[j] - center[j], y[j] = g[j];
    reflect(model.mirrors, second, d, false);
    reflect(model.mirrors, y, d, false);
    double top = 0.0, square = 0.0;
    for (i64 j = 0; j < d; ++j) {
        double turned = diagonal[j] * second[j] + beside[j] * (j + 1 < d ? second[j + 1] : 0.0);
        double around = size(diagonal[j]) + size(beside[j]);
        if (j > 0) {
            turned += beside[j - 1] * second[j - 1];
            around += size(beside[j - 1]);
        }
        top = larger(top, around);
        a[j] = y[j] - turned;
        square += a[j] * a[j];
    }
    double push = larger(0.0, root(square) / region.radius - top), norm = 0.0;
    for (int tries = 0; tries < 200; ++tries) {
        for (i64 j = 0; j < d; ++j) y[j] = -a[j];
        solve_tridiagonal(model, push, ridge, y, pivots, d);
        square = inner(y, y, d);
        norm = root(square);
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

}  // namespace hn::HN_ISA
