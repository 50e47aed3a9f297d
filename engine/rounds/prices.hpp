// loss(f, y) of a forecast, and its slope in f.
#pragma once

#include "../combination.hpp"
#include "../log.hpp"
#include "rows.hpp"

namespace hn::HN_ISA {

HN_INLINE double price_of(const Price& price, double f, double y) {
    double x;
    switch (price.kind) {
        case PointLoss::absolute: x = abs(f - y); break;
        case PointLoss::squared: x = (f - y) * (f - y); break;
        case PointLoss::pinball:
            x = y > f ? price.parameter * (y - f) : (1.0 - price.parameter) * (f - y);
            break;
        case PointLoss::huber: {
            const double away = abs(f - y), near = min(away, price.parameter);
            x = near * (away - 0.5 * near);
            break;
        }
        default: x = 0.0 <= f && f <= 1.0 ? -log(y == 1.0 ? f : 1.0 - f) : __builtin_nan("");
    }
    return x > price.cap ? price.cap : x;
}

/// Slope of the loss without its cap. Computed without a branch, because the side of the target cannot be
/// predicted.
HN_INLINE double slope_of(const Price& price, double f, double y) {
    const double over = f > y, under = f < y;
    switch (price.kind) {
        case PointLoss::absolute: return over - under;
        case PointLoss::squared: return 2.0 * (f - y);
        case PointLoss::pinball: return over * (1.0 - price.parameter) - under * price.parameter;
        case PointLoss::huber: return max(min(f - y, price.parameter), -price.parameter);
        default: return y == 1.0 ? -1.0 / max(f, 1e-300) : 1.0 / max(1.0 - f, 1e-300);
    }
}

/// x_i = loss(f_i, y) for a row, 0 up to a multiple of four; the smallest and the largest.
HN_INLINE Span price_row(const Price& price, const double* f, double y, double* x, i64 n) {
    i64 i = 0;
    if (price.kind <= PointLoss::squared) {
        const f64x4 target = splat(y), cap = splat(price.cap);
        const bool squared = price.kind == PointLoss::squared;
        for (; i + 4 <= n; i += 4) {
            const f64x4 gap = load4(f + i) - target, cost = squared ? gap * gap : abs(gap);
            store4(x + i, select(i64x4(cost > cap), cap, cost));
        }
        if (i < n) {
            // Stored as one vector, because a vector load would wait for single stores.
            const auto one = [&](i64 k) HN_WITHIN {
                const double gap = f[k] - y, cost = squared ? gap * gap : abs(gap);
                return cost > price.cap ? price.cap : cost;
            };
            store4(x + i, f64x4{one(i), i + 1 < n ? one(i + 1) : 0.0, i + 2 < n ? one(i + 2) : 0.0, 0.0});
            i = n;
        }
    }
    for (; i < n; ++i) x[i] = price_of(price, f[i], y);
    return span_of(x, n);
}

}  // namespace hn::HN_ISA
