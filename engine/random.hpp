// xoshiro256++ (Blackman and Vigna), one stream per run. Run r of seed s starts from NumPy's
// SeedSequence(s, spawn_key=(r,)), its losses from (r, 1), noise of its own from (r, 2).
#pragma once

#include "setup.hpp"
#include "simd.hpp"

namespace hn::HN_ISA {

template <class Word> HN_INLINE Word rotate(Word x, int k) { return (x << k) | (x >> (64 - k)); }

/// The next word of one stream (u64), or of four side by side (u64x4): the same text.
template <class Word>
HN_INLINE Word next_word(Word& a, Word& b, Word& c, Word& d) {
    const Word result = rotate(Word(a + d), 23) + a;
    const Word t = b << 17;
    c ^= a;
    d ^= b;
    b ^= c;
    a ^= d;
    c ^= t;
    d = rotate(d, 45);
    return result;
}

/// The top 53 bits of a word as a number in [0, 1).
HN_INLINE double as_uniform(u64 word) { return double(i64(word >> 11)) * 0x1p-53; }
HN_INLINE f64x4 as_uniform(u64x4 word) {
    // Two halves behind the leading bits of 2^52 and 2^84: exact, and AVX2 has no other way.
    const u64x4 x = word >> 11;
    const f64x4 high = (f64x4)((x >> 32) | 0x4530000000000000u) - 0x1.00000001p84;
    const f64x4 low = (f64x4)((x & 0xffffffffu) | 0x4330000000000000u);
    return (high + low) * 0x1p-53;
}

HN_INLINE double uniform(Words& s) { return as_uniform(next_word(s.a, s.b, s.c, s.d)); }

}  // namespace hn::HN_ISA
