// xoshiro256++ (Blackman and Vigna), one stream per run. Run r of seed s starts from NumPy's SeedSequence(s,
// spawn_key=(r,)), its losses from (r, 1), additional noise from (r, 2).
#pragma once

#include "chacha20.hpp"
#include "setup.hpp"
#include "simd.hpp"

namespace hn::HN_ISA {

template <class Word> HN_INLINE Word rotate(Word x, int k) { return (x << k) | (x >> (64 - k)); }

/// Next word of one stream (u64), or of four streams (u64x4), with the same code.
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
    // The two halves become the low bits of 2^52 and 2^84: exact, because AVX2 has no conversion of 64-bit
    // integers.
    const u64x4 x = word >> 11;
    const f64x4 high = (f64x4)((x >> 32) | 0x4530000000000000u) - 0x1.00000001p84;
    const f64x4 low = (f64x4)((x & 0xffffffffu) | 0x4330000000000000u);
    return (high + low) * 0x1p-53;
}

HN_INLINE u64 next_word(Words& s) { return next_word(s.a, s.b, s.c, s.d); }
HN_INLINE u64 next_word(SecureWords& s) { return s.next(); }

template <class Source> HN_INLINE double uniform(Source& s) { return as_uniform(next_word(s)); }

/// Four streams, one per lane.
struct FourStreams {
    u64x4 a, b, c, d;
    HN_INLINE static FourStreams gather(const Words* s0, const Words* s1, const Words* s2, const Words* s3) {
        return {u64x4{s0->a, s1->a, s2->a, s3->a}, u64x4{s0->b, s1->b, s2->b, s3->b},
                u64x4{s0->c, s1->c, s2->c, s3->c}, u64x4{s0->d, s1->d, s2->d, s3->d}};
    }
    HN_INLINE f64x4 next() { return as_uniform(next_word(a, b, c, d)); }
    HN_INLINE Words lane(int g) const { return {a[g], b[g], c[g], d[g]}; }
};

// Stream of a key: NumPy's SeedSequence(seed, spawn_key=(key,)), after O'Neill's seed_seq_fe.
//
// A SeedSequence hashes the seed into a pool of four words, then hashes the spawn key word by word, then draws from the
// pool. NumPy does the first part; `constant` is the state of its hash. Key k has the stream of run k of a game.

HN_INLINE u32 seed_hash(u32 x, u32& constant, u32 times) {
    x ^= constant;
    constant *= times;
    x *= constant;
    return x ^ (x >> 16);
}

/// Hash the words of a spawn key into the pool, and draw four words of a stream.
inline void seed_words(const u32* pool, u32 constant, const u32* parts, i64 count, u64* words) {
    u32 mixed[4] = {pool[0], pool[1], pool[2], pool[3]};
    for (i64 p = 0; p < count; ++p)
        for (int k = 0; k < 4; ++k) {
            const u32 hashed = seed_hash(parts[p], constant, 0x931E8875u);
            const u32 x = 0xCA01F9DDu * mixed[k] - 0x4973F715u * hashed;
            mixed[k] = x ^ (x >> 16);
        }
    u32 drawing = 0x8B51F9DDu;
    for (int k = 0; k < 4; ++k) {
        const u32 low = seed_hash(mixed[(2 * k) % 4], drawing, 0x58F38DEDu);
        const u32 high = seed_hash(mixed[(2 * k + 1) % 4], drawing, 0x58F38DEDu);
        words[k] = u64(high) << 32 | low;
    }
}

}  // namespace hn::HN_ISA
