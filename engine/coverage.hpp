// Prediction intervals with certified coverage: proposals made of residuals, and one tracker per end.
//
// An end is base -+ unit sinh(theta), where theta is a sum over the groups of the row. A settled row adds
// step (miss - rate) to the theta of each of its groups, and the miss is that of the end that was issued. So theta is a
// function of two counts, and the miss rate of the settled rows is known exactly (docs/proofs/coverage.md).
#pragma once

#include "dispatch.hpp"

namespace hn {

/// The last numbers in the order of arrival (a ring), and sorted.
struct SortedWindow {
    i64 most = 0, count = 0, next = 0;
    double *line = nullptr, *sorted = nullptr;  // most each
};

/// Proposals of intervals around a point forecast: quantiles of residuals, of residuals over a scale, and symmetric.
inline constexpr i64 proposers = 14, scales = 3;
/// Numbers of residuals in the windows; fewer than `fewest` propose nothing.
inline constexpr i64 window_sizes[proposers] = {50, 150, 500, 2000, 500, 500, 500, 500, 100, 500, 2000, 500, 500, 500};
inline constexpr i64 fewest = 20;
/// Decays of the scales; the second one is the unit.
inline constexpr double scale_decays[scales] = {0.9, 0.97, 0.99};
inline constexpr i64 unit_scale = 1;
/// A scale is at least this share of the long-run mean. The unit is at least the smallest unit.
inline constexpr double scale_floor = 0.1, smallest_unit = 1e-300;
/// Largest residual over a scale: a perfect model that fails once must not overflow.
inline constexpr double largest_ratio = 1e9;

struct Residuals {
    i64 ends = 0;                   // number of quantile levels; 0: only the unit is computed
    const double* level = nullptr;  // ascending
    SortedWindow window[proposers];
    double recent[scales] = {}, weight[scales] = {}, total = 0.0, settled = 0.0;
    double mean_spread = 0.0, answered = 0.0;
};

/// Data of a row that are kept until its target arrives; a scale of 0 is unknown.
struct ResidualRow {
    double center, spread, scale[scales], unit;  // unit 0: nothing was proposed
};

/// Counts per group, in a row: settled rows, misses per end, rows missed at both ends per coverage. Group 0 has all rows.
struct Tracker {
    i64 coverages = 1;
    bool lower = true, upper = true;  // which ends an interval has
    const double* rate = nullptr;     // per coverage, from the narrowest: target miss rate of an end
    double step = 0.03, start = 0.1, group_step = 0.1;
    double *counts = nullptr, *sums = nullptr;

    HN_INLINE i64 sides() const { return i64(lower) + i64(upper); }
    HN_INLINE i64 ends() const { return coverages * sides(); }
    HN_INLINE i64 stride() const { return 1 + ends() + coverages; }
    HN_INLINE bool is_upper(i64 end) const { return upper && (!lower || end % 2 == 1); }
    /// Columns of `sums`, one number per end: cost, bound of the cost, largest distance of a target in units.
    enum : i64 { cost = 0, bound = 1, beyond = 2, sum_columns = 3 };
    /// Numbers of an open row: unit, then issued end, base end and shift in units, per end.
    HN_INLINE i64 width() const { return 1 + 3 * ends(); }
};

/// If |theta| is above this number, the end is shifted no further, so that ends stay finite; theta itself is never
/// clipped.
inline constexpr double largest_shift = 300.0;

struct CoverageKernels {
    /// Proposals level by level (ends x proposers; NaN: too few residuals). False, and no proposals, if there are none.
    bool (*propose)(Residuals&, double center, const double* forecasts, i64 n, ResidualRow& row, double* proposals);
    void (*learn)(Residuals&, const ResidualRow& row, double target);
    void (*issue)(const Tracker&, const double* base, double unit, const i64* groups, i64 count, double* row);
    void (*settle)(Tracker&, const double* row, const i64* groups, i64 count, double target);
};

}  // namespace hn

HN_FAMILY(CoverageKernels, coverage)
