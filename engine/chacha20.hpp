// ChaCha20 (RFC 8439): sixteen words of a stream per key, block number and nonce.
//
//     a += b; d = (d ^ a) <<< 16;   c += d; b = (b ^ c) <<< 12;   a += b; d = (d ^ a) <<< 8;   c += d; b = (b ^ c) <<< 7
//
// on the columns and the diagonals of a 4 x 4 matrix, ten times; then the initial matrix is added. Outputs reveal neither
// the key nor other outputs, which xoshiro256++ does not guarantee, so noise that protects data is drawn from this
// generator.
#pragma once

#include <cstring>

#include "setup.hpp"

namespace hn {

struct ChaCha20Key {
    u32 word[8];
};

HN_INLINE void chacha20_block(const ChaCha20Key& key, u32 number, const u32* nonce, u32* out) {
    const u32 initial[16] = {0x61707865u, 0x3320646eu, 0x79622d32u, 0x6b206574u, key.word[0], key.word[1],
                             key.word[2], key.word[3], key.word[4], key.word[5], key.word[6], key.word[7],
                             number, nonce[0], nonce[1], nonce[2]};
    u32 x[16];
    std::memcpy(x, initial, sizeof x);
    const auto rotate = [](u32 word, int by) { return word << by | word >> (32 - by); };
    const auto quarter = [&](int a, int b, int c, int d) {
        x[a] += x[b];
        x[d] = rotate(x[d] ^ x[a], 16);
        x[c] += x[d];
        x[b] = rotate(x[b] ^ x[c], 12);
        x[a] += x[b];
        x[d] = rotate(x[d] ^ x[a], 8);
        x[c] += x[d];
        x[b] = rotate(x[b] ^ x[c], 7);
    };
    for (int pass = 0; pass < 10; ++pass) {
        quarter(0, 4, 8, 12);
        quarter(1, 5, 9, 13);
        quarter(2, 6, 10, 14);
        quarter(3, 7, 11, 15);
        quarter(0, 5, 10, 15);
        quarter(1, 6, 11, 12);
        quarter(2, 7, 8, 13);
        quarter(3, 4, 9, 14);
    }
    for (int k = 0; k < 16; ++k) out[k] = x[k] + initial[k];
}

/// Random words of a key, from a block on. A block that was started is not continued by another object.
struct SecureWords {
    ChaCha20Key key;
    u64 number;  // of the next block; below 2^64, in the block number and the first word of the nonce
    u64 held[8];
    int used = 8;

    HN_INLINE SecureWords(const Words& words, u64 first) : number(first) { std::memcpy(key.word, &words, sizeof key.word); }
    HN_INLINE u64 next() {
        if (used == 8) {
            const u32 nonce[3] = {u32(number >> 32), 0, 0};
            u32 out[16];
            chacha20_block(key, u32(number), nonce, out);
            std::memcpy(held, out, sizeof held);
            ++number;
            used = 0;
        }
        return held[used++];
    }
};

}  // namespace hn
