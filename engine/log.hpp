// log, log1p, pow and erfc with the same bits on every machine. log is a sum of two parts, accurate to 2^-66,
// so that x^a keeps its digits if a log x is large.
#pragma once

#include "exp.hpp"

namespace hn::HN_ISA {

/// A number as an unevaluated sum, |low| <= ulp(high)/2.
struct Parts {
    double high, low;
};

/// log x, x > 0 and finite: x = 2^k m, m c = 1 + r by a table of c, |r| < 0.008.
HN_INLINE Parts log_parts(double x) {
    u64 word = __builtin_bit_cast(u64, x);
    i64 k = -1023;
    if (__builtin_expect(word < 0x0010000000000000u, 0)) {
        word = __builtin_bit_cast(u64, x * 0x1p52);
        k -= 52;
    }
    const u64 cell = (word >> 45) & 127;
    const bool upper = cell >= 52;
    k += i64(word >> 52) + upper;
    const u64 exponent = upper ? 0x3fe0000000000000u : 0x3ff0000000000000u;
    const double m = __builtin_bit_cast(double, (word & 0x000fffffffffffffu) | exponent);
    const double* row = tables::logarithm[cell];
    const double r = fma(m, row[0], -1.0);  // exact, because c has ten bits
    const double whole = double(k), start = fma(whole, tables::ln2_high, row[1]);
    const double t = start + r, lost = (start - t) + r;
    const double half = -0.5 * r, square = r * half;
    const double high = t + square;
    const double lower = fma(half, r, -square) + ((t - high) + square);
    // r^3/3 - r^4/4 + ... + r^9/9
    const double r2 = r * r;
    const double q = fma(r2, fma(r2, fma(r, -1.0 / 8.0, 1.0 / 7.0), fma(r, -1.0 / 6.0, 1.0 / 5.0)),
                         fma(r, -1.0 / 4.0, 1.0 / 3.0));
    const double low = ((fma(whole, tables::ln2_low, row[2]) + lost) + lower) + r * r2 * q;
    const double y = high + low;
    return {y, (high - y) + low};
}

HN_INLINE double log(double x) {
    if (__builtin_expect(!(x > 0.0 && x < infinity), 0))
        return x == 0.0 ? -infinity : x > 0.0 ? x : __builtin_nan("");
    return log_parts(x).high;
}

/// log(1 + x).
HN_INLINE double log1p(double x) {
    const double u = 1.0 + x;
    if (!(u > 0.0 && u < infinity)) return log(u);
    if (u == 1.0) return x;
    const double lost = abs(x) < 1.0 ? x - (u - 1.0) : 1.0 - (u - x);
    const Parts y = log_parts(u);
    return y.high + (y.low + lost / u);
}

/// e^(high + low).
HN_INLINE double exp(Parts x) {
    const double y = exp(x.high);
    return fma(y, x.low, y);
}

/// x^a, x >= 0: within 2 ulp if the result is a normal number.
HN_INLINE double pow(double x, double a) {
    if (__builtin_expect(!(x > 0.0 && x < infinity), 0)) {
        if (a == 0.0) return 1.0;
        if (x == 0.0) return a > 0.0 ? 0.0 : infinity;
        return x > 0.0 ? (a > 0.0 ? x : 0.0) : __builtin_nan("");
    }
    const Parts y = log_parts(x);
    const double high = a * y.high;
    return exp(Parts{high, fma(a, y.high, -high) + a * y.low});
}

/// e^(x^2) erfc(x) for x >= 0; NaN has no entry in the table.
HN_INLINE double erfcx(double x) {
    const double t = 4.0 / (4.0 + x);
    const double at = t * 64.0;
    const int cell = at >= 64.0 ? 63 : at > 0.0 ? int(at) : 0;
    const double s = 2.0 * (at - double(cell)) - 1.0;
    const double* c = tables::erfcx[cell];
    double y = c[9];
    for (int k = 8; k >= 0; --k) y = fma(y, s, c[k]);
    return y;
}

/// 1 - erf(x).
HN_INLINE double erfc(double x) {
    const double a = abs(x), square = a * a, rest = fma(a, a, -square);
    if (a > 27.3) return x > 0.0 ? 0.0 : 2.0;
    const double y = exp(Parts{-square, -rest}) * erfcx(a);
    return x >= 0.0 ? y : 2.0 - y;
}

// log and log1p of four positive normal numbers: within 2 ulp.

/// x = 2^k m, m in [sqrt(1/2), sqrt 2): log m = 2 artanh(s), s = (m - 1)/(m + 1), by its series in s^2 <= 0.0295.
HN_INLINE f64x4 log4(f64x4 x) {
    const i64x4 word = (i64x4)x;
    i64x4 k = (word >> 52) - 1023;
    f64x4 m = (f64x4)((word & 0x000fffffffffffff) | 0x3ff0000000000000);
    const i64x4 large = i64x4(m > 1.4142135623730951);
    m = select(large, 0.5 * m, m);
    k -= large;  // a mask is -1
    const f64x4 whole = (f64x4)(k + 0x4338000000000000) - 0x1.8p52;
    const f64x4 f = m - 1.0, s = f / (f + 2.0), z = s * s, half = 0.5 * f * f;
    f64x4 r = splat(2.0 / 23.0);
    r = fma(r, z, splat(2.0 / 21.0));
    r = fma(r, z, splat(2.0 / 19.0));
    r = fma(r, z, splat(2.0 / 17.0));
    r = fma(r, z, splat(2.0 / 15.0));
    r = fma(r, z, splat(2.0 / 13.0));
    r = fma(r, z, splat(2.0 / 11.0));
    r = fma(r, z, splat(2.0 / 9.0));
    r = fma(r, z, splat(2.0 / 7.0));
    r = fma(r, z, splat(2.0 / 5.0));
    r = fma(r, z, splat(2.0 / 3.0));
    // log m = f - (f^2/2 - s (f^2/2 + z r)): the large parts are exact.
    const f64x4 low = fma(s, fma(r, z, half), whole * tables::ln2_low);
    return fma(whole, splat(tables::ln2_high), f - (half - low));
}

/// log(1 + y), y >= 0.
HN_INLINE f64x4 log1p4(f64x4 y) {
    const f64x4 u = 1.0 + y;
    // Rounding error of 1 + y: exact on the side of the larger term.
    const f64x4 lost = select(i64x4(y < 1.0), y - (u - 1.0), 1.0 - (u - y));
    return log4(u) + lost / u;
}

}  // namespace hn::HN_ISA
