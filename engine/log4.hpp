// log and log1p of four at a time, of positive normal numbers: within 2 ulp.
#pragma once

#include "exp.hpp"

namespace hn::HN_ISA {

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
    // What 1 + y lost: exact on the side of the larger.
    const f64x4 lost = select(i64x4(y < 1.0), y - (u - 1.0), 1.0 - (u - y));
    return log4(u) + lost / u;
}

}  // namespace hn::HN_ISA
