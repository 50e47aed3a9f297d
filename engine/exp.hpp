// e^x in strict floating point, inlined, the same bits for one number and for four, on every machine: `exp` is
// within 1 ulp, `exp_soon` within 1.5.
#pragma once

#include "simd.hpp"
#include "tables.hpp"

namespace hn::HN_ISA {

inline constexpr double exp_lowest = -708.39, exp_highest = 709.4, exp_largest = 0x1.2f2e45681d07cp+1023;
inline constexpr double exp_shift = 0x1.8p52;  // adding it rounds to an integer, left in the low bits

template <class V> struct WordsOf {
    using type = u64;
};
template <> struct WordsOf<f64x4> {
    using type = u64x4;
};
template <class V> using WordOf = typename WordsOf<V>::type;

/// Out of range, y is invalid and is replaced at the end by 0 (or `below`) and by the largest number, so that
/// no operation waits for a comparison.
template <class V>
HN_INLINE V exp_in_range(V x, V y, V below = V{}) {
    y = select(x >= exp_lowest, y, below);
    return select(x <= exp_highest, y, V{} + exp_largest);
}

/// x = k ln 2 + r; (e^r - 1) and 2^k. e^r = 1 + r + r^2 q(r), q of degree 9 at Chebyshev nodes (1.7e-17).
template <class V> struct ExpParts {
    V minus_one, power;
};
template <class V>
HN_INLINE ExpParts<V> exp_parts(V x) {
    using W = WordOf<V>;
    const V zero{}, shifted = fma(x, zero + 1.4426950408889634, zero + exp_shift);
    const V k = shifted - exp_shift;
    const V r = fma(k, zero - 2.3190468138462996e-17, fma(k, zero - 0.6931471805599453, x));
    const V r2 = r * r, r4 = r2 * r2;
    const auto pair = [&](double high, double low) { return fma(V{} + high, r, V{} + low); };
    // Estrin's scheme, for short dependency chains.
    const V p0 = pair(0.16666666666666669, 0.5000000000000001),
            p1 = pair(0.008333333333330062, 0.04166666666662413),
            p2 = pair(0.00019841269863053618, 0.0013888888917213717),
            p3 = pair(2.7557268459997064e-06, 2.4801521295954376e-05),
            p4 = pair(2.510038549551032e-08, 2.7620088445409746e-07);
    const V q = fma(fma(p4, r4, fma(p3, r2, p2)), r4, fma(p1, r2, p0));
    const V power = __builtin_bit_cast(V, W((__builtin_bit_cast(W, shifted) + 1023) << 52));
    return {fma(q, r2, r), power};
}

/// e^x without table lookups, for many numbers at a time.
template <class V>
HN_INLINE V exp(V x) {
    const auto [y, power] = exp_parts(x);
    return exp_in_range(x, fma(y, power, power));
}

HN_INLINE u64 power_at(u64 k) { return __builtin_bit_cast(u64, tables::power[k & 127]); }
HN_INLINE u64x4 power_at(u64x4 k) {
    return u64x4{power_at(k[0]), power_at(k[1]), power_at(k[2]), power_at(k[3])};
}

/// e^x with a short dependency chain, within 1.3 ulp: x = k ln2/128 + r, a table of 2^(j/128), degree 5.
template <class V>
HN_INLINE V exp_soon(V x, V below = V{}) {
    using W = WordOf<V>;
    const V zero{}, shifted = fma(x, zero + 0x1.71547652b82fep+7, zero + exp_shift);
    const V k = shifted - exp_shift;
    const V r = fma(k, zero - 0x1.62e42fefa39efp-8, x);
    const V rest = fma(k, zero - 0x1.abc9e3b39803fp-63, r);
    const V r2 = r * r;
    const V q = fma(fma(r, zero + 1.0 / 120.0, zero + 1.0 / 24.0), r2, fma(r, zero + 1.0 / 6.0, zero + 0.5));
    const W word = __builtin_bit_cast(W, shifted);
    // The low seven bits of k select the entry of the table; the others are the exponent.
    const V power = __builtin_bit_cast(V, W(power_at(word) + ((word >> 7) << 52)));
    return exp_in_range(x, fma(fma(q, r2, rest), power, power), below);
}

/// e^x for -0.1 <= x <= 0 (a little beyond on both sides): relative error 1.5e-17 before rounding.
template <class V>
HN_INLINE V exp_small(V x) {
    const V zero{};
    V q = zero + 0.00018874910400078904;
    q = fma(q, x, zero + 0.0013873321293770855);
    q = fma(q, x, zero + 0.008333202161212364);
    q = fma(q, x, zero + 0.041666660532656156);
    q = fma(q, x, zero + 0.16666666651075376);
    q = fma(q, x, zero + 0.4999999999980528);
    q = fma(q, x, zero + 0.9999999999999908);
    return fma(q, x, zero + 1.0);
}

/// e^x - 1; below 2 ulp.
template <class V>
HN_INLINE V expm1(V x) {
    const auto [y, power] = exp_parts(x);
    V out = fma(y, power, power - 1.0);
    out = select(x >= -40.0, out, V{} - 1.0);
    return select(x <= exp_highest, out, V{} + exp_largest);
}

}  // namespace hn::HN_ISA
