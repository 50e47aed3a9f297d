// Clipping of forecasts: a model that fails for one row is moved towards the median of the available columns.
//
// The distance of a column in a row is d = mean over the levels of |f - median|, and its usual distance is the mean of its
// distances so far, after clipping. With at least three available columns, a column with at least 20 earlier distances is
// moved to the distance limit = max(factor * its usual distance, mean of the usual distances) if d is larger:
// f -> median + (limit/d) (f - median). All levels have the same factor limit/d <= 1, so clipping does not make
// quantiles cross. Because of the second argument, a column that has always been the median can move away from it. Only
// forecasts of this row and of earlier rows are used, no targets.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "types.hpp"

namespace hn {

inline constexpr i64 fewest_columns = 3;
inline constexpr double fewest_distances = 20.0, largest_distance = 1e290;

struct ForecastClip {
    i64 n, levels;
    double factor;
    std::vector<double> sums, rows;  // of the distances of each column, and their number

    ForecastClip(i64 columns, i64 depth, double limit)
        : n(columns), levels(depth), factor(limit), sums(std::size_t(columns)), rows(std::size_t(columns)) {}

    void add_columns(i64 more) {
        n += more;
        sums.resize(std::size_t(n), 0.0);
        rows.resize(std::size_t(n), 0.0);
    }

    /// Clip a row in place, level by level; `learn`: also add the distances of the row. Returns whether a forecast was
    /// moved.
    bool row(double* f, bool learn) {
        double usual = 0.0, known = 0.0;
        for (i64 i = 0; i < n; ++i)
            if (rows[std::size_t(i)] >= fewest_distances) {
                usual += sums[std::size_t(i)] / rows[std::size_t(i)];
                known += 1.0;
            }
        middle_.resize(std::size_t(levels));
        for (i64 q = 0; q < levels; ++q) {
            if (!find_middle(f + q * n)) return false;
            middle_[std::size_t(q)] = found_;
        }
        bool moved = false;
        for (i64 i = 0; i < n; ++i) {
            if (f[i] != f[i]) continue;
            // In halves, so that no difference overflows.
            double half = 0.0;
            for (i64 q = 0; q < levels; ++q)
                half += std::fabs(0.5 * f[q * n + i] - 0.5 * middle_[std::size_t(q)]) / double(levels);
            double distance = std::min(2.0 * half, largest_distance);
            double &sum = sums[std::size_t(i)], &count = rows[std::size_t(i)];
            const double limit = count >= fewest_distances ? std::max(factor * (sum / count), usual / known) : 0.0;
            if (limit > 0.0 && half > 0.5 * limit) {
                const double share = limit / half;
                for (i64 q = 0; q < levels; ++q) {
                    const double m = middle_[std::size_t(q)];
                    f[q * n + i] = m + share * (0.5 * f[q * n + i] - 0.5 * m);
                }
                distance = limit;
                moved = true;
            }
            if (learn) {
                sum += distance;
                count += 1.0;
            }
        }
        return moved;
    }

private:
    std::vector<double> middle_, sorted_;
    double found_ = 0.0;

    /// Median of the available forecasts of a level; false if there are too few of them.
    bool find_middle(const double* f) {
        sorted_.clear();
        for (i64 i = 0; i < n; ++i)
            if (f[i] == f[i]) sorted_.push_back(f[i]);
        const i64 count = i64(sorted_.size());
        if (count < fewest_columns) return false;
        const auto at = sorted_.begin() + (count - 1) / 2;
        std::nth_element(sorted_.begin(), at, sorted_.end());
        found_ = *at;
        if (count % 2 == 0) found_ = 0.5 * found_ + 0.5 * *std::min_element(at + 1, sorted_.end());
        return true;
    }
};

}  // namespace hn
