// A combination as Python describes it.
#pragma once

#include <nanobind/stl/optional.h>

#include <cmath>

#include "../combination.hpp"
#include "arrays.hpp"

namespace hn {

inline Combination combination_of(Mixing kind, i64 n, const Price& price, double low, double high) {
    require(n >= 1 && n <= (i64(1) << 24), "there must be columns");
    Combination c;
    c.kind = kind, c.n = n, c.places = in_fours(n), c.price = price;
    Setup& s = c.setup;
    s.setting = Setting::experts, s.smoothing = Smoothing::adahedge, s.path = Path::called;
    s.n = n, s.low = low, s.high = high;
    s.parameter[0] = n > 1 ? 1.0 / std::log(double(n)) : 0.0;
    return c;
}

inline void check_prior(const std::optional<In<double>>& prior, i64 n) {
    if (!prior) return;
    require(i64(prior->size()) == n, "a prior has a number a column");
    double sum = 0.0;
    for (i64 i = 0; i < n; ++i) require(prior->data()[i] > 0.0, "a prior must be positive"), sum += prior->data()[i];
    require(std::fabs(sum - 1.0) < 1e-9, "a prior must sum to 1");
}

}  // namespace hn
