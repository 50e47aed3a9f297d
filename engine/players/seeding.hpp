// The stream of a key: NumPy's SeedSequence(seed, spawn_key=(key,)), after O'Neill's seed_seq_fe.
//
// A SeedSequence hashes the seed into a pool of four words, then its spawn key, word by word, then draws from the pool.
// The first part is NumPy's; `constant` is where its hash has got to. Key k has the stream of run k of a game.
#pragma once

#include "../simd.hpp"

namespace hn::HN_ISA {

HN_INLINE u32 seed_hash(u32 x, u32& constant, u32 times) {
    x ^= constant;
    constant *= times;
    x *= constant;
    return x ^ (x >> 16);
}

/// Words of a spawn key into the pool, and four words of a stream out of it.
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
