// Vectors of any length, four numbers at a time; every sum in an order that depends on the length alone.
#pragma once

#include "../simd.hpp"

namespace hn::HN_ISA {

/// The first `left` (1 to 3) numbers at p, then zeros.
HN_INLINE f64x4 rest4(const double* p, i64 left) {
    return f64x4{p[0], left > 1 ? p[1] : 0.0, left > 2 ? p[2] : 0.0, 0.0};
}

/// <a, b>: lane k sums what is at k mod 4.
HN_INLINE double inner(const double* a, const double* b, i64 n) {
    f64x4 sums{};
    i64 k = 0;
    for (; k + 4 <= n; k += 4) sums += load4(a + k) * load4(b + k);
    if (k < n) sums += rest4(a + k, n - k) * rest4(b + k, n - k);
    return fold(sums);
}

/// <a, b> of long vectors, in eight sums.
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

}  // namespace hn::HN_ISA
