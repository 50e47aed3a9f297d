// Followers of an action: the experts that advise it, listed once per round; weights and losses are updated by this list.
//
// Advice of 64 experts is compared to one bit each; a table gives the positions of the set bits of a byte.
#pragma once

#include "../setup.hpp"
#include "../simd.hpp"

namespace hn::HN_ISA {

HN_INLINE u32* followers_of(Run& run) { return reinterpret_cast<u32*>(run.scratch); }

/// Bit i: whether e_i = j, i < 64.
HN_INLINE u64 hits64(const i64* e, i64 j) {
    u64 found = 0;
    for (int i = 0; i < 64; ++i) found |= u64(e[i] == j) << i;
    return found;
}
HN_INLINE u64 hits64(const u8* e, i64 j) {
#if defined(__AVX2__)
    const __m256i key = _mm256_set1_epi8(char(j));
    const auto half = [&](const u8* p) {
        const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
        return u32(_mm256_movemask_epi8(_mm256_cmpeq_epi8(x, key)));
    };
    return u64(half(e)) | u64(half(e + 32)) << 32;
#else
    u64 found = 0;
    for (int i = 0; i < 64; ++i) found |= u64(e[i] == u8(j)) << i;
    return found;
#endif
}

/// Write the positions of the set bits plus `first` to `who`, and return the end. Writes up to eight numbers too many.
#if defined(__AVX2__)
struct BytePlaces {
    u8 of[256][8];
};
inline constexpr BytePlaces byte_places = [] {
    BytePlaces found{};
    for (int byte = 0; byte < 256; ++byte)
        for (int bit = 0, k = 0; bit < 8; ++bit)
            if (byte >> bit & 1) found.of[byte][k++] = u8(bit);
    return found;
}();
HN_INLINE u32* list_bits(u64 found, u32 first, u32* who) {
    __m256i from = _mm256_set1_epi32(int(first));
#pragma GCC unroll 8
    for (int k = 0; k < 64; k += 8) {
        const u64 byte = found >> k & 255;
        const __m128i bits = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(byte_places.of[byte]));
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(who),
                            _mm256_add_epi32(_mm256_cvtepu8_epi32(bits), from));
        from = _mm256_add_epi32(from, _mm256_set1_epi32(8));
        who += __builtin_popcountll(byte);
    }
    return who;
}
#else
HN_INLINE u32* list_bits(u64 found, u32 first, u32* who) {
    for (; found; found &= found - 1) *who++ = first + u32(__builtin_ctzll(found));
    return who;
}
#endif

/// List the experts that advise action j, and return their number.
template <class E>
HN_INLINE i64 list_followers(const Setup& s, Run& run, const E* e, i64 j) {
    u32 *const list = followers_of(run), *who = list;
    i64 c = 0;
    for (; c + 64 <= s.n; c += 64) who = list_bits(hits64(e + c, j), u32(c), who);
    if (c < s.n && s.n >= 64) {
        // The last 64 experts, without those that were compared before.
        return list_bits(hits64(e + s.n - 64, j) >> (64 - (s.n - c)), u32(c), who) - list;
    }
    for (; c < s.n; ++c) {
        *who = u32(c);
        who += i64(e[c]) == j;
    }
    return who - list;
}
/// Total weight of the listed experts.
HN_INLINE double mass_of_list(Run& run, i64 count) {
    const u32* who = followers_of(run);
    const double* w = run.w;
    double t0 = 0.0, t1 = 0.0, t2 = 0.0, t3 = 0.0;
    i64 k = 0;
    for (; k + 4 <= count; k += 4) {
        t0 += w[who[k]];
        t1 += w[who[k + 1]];
        t2 += w[who[k + 2]];
        t3 += w[who[k + 3]];
    }
    for (; k < count; ++k) t0 += w[who[k]];
    return (t0 + t1) + (t2 + t3);
}
/// L_i += estimate and w_i *= factor for each listed expert.
HN_INLINE void add_to_list(Run& run, i64 count, double estimate, double factor) {
    const u32* who = followers_of(run);
    double *L = run.L, *w = run.w;
    for (i64 k = 0; k < count; ++k) {
        L[who[k]] += estimate;
        w[who[k]] *= factor;
    }
}

}  // namespace hn::HN_ISA
