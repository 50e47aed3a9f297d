// argmin over a box or a simplex of <g, y - x> + (y - x)'H(y - x)/2, by a primal active-set method.
//
// From the feasible x: minimise over the free coordinates (keeping their sum on the simplex), stop at the first bound
// met and fix it; at a minimum free the coordinate whose multiplier is the most wrong.
#pragma once

#include "sets.hpp"

namespace hn::HN_ISA {

/// factor factor' = H[rows, rows], for m rows.
inline void cholesky(const double* H, const i64* rows, i64 m, i64 d, double* factor) {
    for (i64 i = 0; i < m; ++i)
        for (i64 j = 0; j <= i; ++j) {
            const double left = H[rows[i] * d + rows[j]] - inner(factor + i * d, factor + j * d, j);
            factor[i * d + j] = i == j ? root(larger(left, 1e-300)) : left / factor[j * d + j];
        }
}

/// factor factor' p = right, in place.
inline void solve_factored(const double* factor, i64 m, i64 d, double* right) {
    for (i64 i = 0; i < m; ++i) right[i] = (right[i] - inner(factor + i * d, right, i)) / factor[i * d + i];
    for (i64 i = m - 1; i >= 0; --i) {
        right[i] /= factor[i * d + i];
        add(right, -right[i], factor + i * d, i);
    }
}

/// slope = g + H(y - x), with room for y - x.
inline void model_slope(const PointModel& model, const double* x, i64 d, double* apart) {
    for (i64 k = 0; k < d; ++k) apart[k] = model.trial[k] - x[k];
    for (i64 j = 0; j < d; ++j) model.slope[j] = model.g[j] + inner(model.H + j * d, apart, d);
}

/// model.trial = the argmin; false where the walk does not end.
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
            // The multiplier of the sum, nearly: without it the two solves would cancel all their digits.
            if (simplex)
                for (i64 i = 0; i < m; ++i) level += slope[rows[i]] / double(m);
            for (i64 i = 0; i < m; ++i) step[i] = level - slope[rows[i]], ones[i] = 1.0;
            cholesky(model.H, rows, m, d, model.factor);
            solve_factored(model.factor, m, d, step);
            if (simplex) {
                solve_factored(model.factor, m, d, ones);
                double total = 0.0, more = 0.0;
                for (i64 i = 0; i < m; ++i) total += ones[i], more -= step[i];
                more /= total;
                level += more;
                // What H, nearly singular, has lost of the sum is given back: else x would drift off the simplex.
                double drift = 0.0;
                for (i64 i = 0; i < m; ++i) step[i] += more * ones[i], drift += step[i];
                for (i64 i = 0; i < m; ++i) step[i] -= drift / double(m);
            }
            double share = 1.0;
            i64 wall = -1;
            for (i64 i = 0; i < m; ++i) {
                const i64 j = rows[i];
                if (step[i] < 0.0 && y[j] + share * step[i] < low[j])
                    share = (low[j] - y[j]) / step[i], wall = j;
                else if (step[i] > 0.0 && y[j] + share * step[i] > high[j])
                    share = (high[j] - y[j]) / step[i], wall = j;
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
                if (wrong > worst + 1e-13 * (size(slope[j]) + size(level))) worst = wrong, freed = j;
            }
        if (freed < 0) return true;
        fixed[freed] = 0;
    }
    return false;
}

}  // namespace hn::HN_ISA
