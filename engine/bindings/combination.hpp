// A combination as Python describes it.
#pragma once

#include <nanobind/stl/optional.h>

#include <cmath>
#include <vector>

#include "../combination.hpp"
#include "arrays.hpp"

namespace hn {

/// Of quantiles `levels` says which; they must outlive it.
inline Combination combination_of(Mixing kind, i64 n, const Price& price, double low, double high,
                                  const std::vector<double>& levels) {
    require(n >= 1 && n <= (i64(1) << 24), "there must be columns");
    Combination c;
    c.kind = kind, c.n = n, c.places = in_fours(n), c.price = price;
    c.levels = i64(levels.size()), c.level = levels.data();
    require(c.levels <= 10000 && n * c.depth() <= (i64(1) << 24), "there must not be too many columns");
    Setup& s = c.setup;
    s.setting = Setting::experts, s.smoothing = Smoothing::adahedge, s.path = Path::called;
    s.n = n, s.low = low, s.high = high;
    s.parameter[0] = n > 1 ? 1.0 / std::log(double(n)) : 0.0;
    return c;
}

inline std::vector<double> levels_of(const std::optional<In<double>>& levels) {
    if (!levels) return {};
    std::vector<double> out(levels->data(), levels->data() + levels->size());
    double before = 0.0;
    for (const double level : out) require(before < level && level < 1.0, "levels must ascend in (0, 1)"), before = level;
    return out;
}

inline void check_prior(const double* prior, i64 n) {
    double sum = 0.0;
    for (i64 i = 0; i < n; ++i) require(prior[i] > 0.0, "a prior must be positive"), sum += prior[i];
    require(std::fabs(sum - 1.0) < 1e-9, "a prior must sum to 1");
}

}  // namespace hn
