// BLAKE2b (RFC 7693) with a key of up to 64 bytes: h = F(h, key padded to a block), then F over the message's blocks.
#pragma once

#include <cstring>

#include "types.hpp"

namespace hn {

class Blake2b {
    u64 h_[8];
    u8 block_[128];
    u64 length_ = 0;
    std::size_t held_ = 0, size_;

    static constexpr u64 iv[8] = {0x6a09e667f3bcc908u, 0xbb67ae8584caa73bu, 0x3c6ef372fe94f82bu,
                                  0xa54ff53a5f1d36f1u, 0x510e527fade682d1u, 0x9b05688c2b3e6c1fu,
                                  0x1f83d9abfb41bd6bu, 0x5be0cd19137e2179u};
    static constexpr u8 sigma[10][16] = {{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
                                         {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
                                         {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
                                         {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
                                         {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
                                         {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
                                         {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
                                         {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
                                         {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
                                         {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0}};

    static u64 turned(u64 x, int by) { return x >> by | x << (64 - by); }
    void mix(bool last) {
        u64 v[16], m[16];
        for (int k = 0; k < 8; ++k) {
            v[k] = h_[k];
            v[k + 8] = iv[k];
        }
        std::memcpy(m, block_, 128);  // little-endian, like all supported machines
        v[12] ^= length_;
        if (last) v[14] = ~v[14];
        const auto g = [&](int a, int b, int c, int d, u64 x, u64 y) {
            v[a] += v[b] + x;
            v[d] = turned(v[d] ^ v[a], 32);
            v[c] += v[d];
            v[b] = turned(v[b] ^ v[c], 24);
            v[a] += v[b] + y;
            v[d] = turned(v[d] ^ v[a], 16);
            v[c] += v[d];
            v[b] = turned(v[b] ^ v[c], 63);
        };
#pragma GCC unroll 12
        for (int round = 0; round < 12; ++round) {  // unrolled, so that sigma is known
            const u8* s = sigma[round % 10];
            g(0, 4, 8, 12, m[s[0]], m[s[1]]);
            g(1, 5, 9, 13, m[s[2]], m[s[3]]);
            g(2, 6, 10, 14, m[s[4]], m[s[5]]);
            g(3, 7, 11, 15, m[s[6]], m[s[7]]);
            g(0, 5, 10, 15, m[s[8]], m[s[9]]);
            g(1, 6, 11, 12, m[s[10]], m[s[11]]);
            g(2, 7, 8, 13, m[s[12]], m[s[13]]);
            g(3, 4, 9, 14, m[s[14]], m[s[15]]);
        }
        for (int k = 0; k < 8; ++k) h_[k] ^= v[k] ^ v[k + 8];
    }

public:
    /// Digest of `size` bytes (1 to 64) with a key of 0 to 64 bytes.
    Blake2b(std::size_t size, const u8* key, std::size_t key_size) : size_(size) {
        for (int k = 0; k < 8; ++k) h_[k] = iv[k];
        h_[0] ^= 0x01010000u ^ u64(key_size) << 8 ^ u64(size);
        if (key_size == 0) return;
        std::memset(block_, 0, 128);
        std::memcpy(block_, key, key_size);
        held_ = 128;
    }
    /// State after the block of the key, from which non-empty messages start.
    void take_key() {
        if (held_ == 128) {
            length_ += 128;
            mix(false);
            held_ = 0;
        }
    }
    void add(const u8* data, std::size_t count) {
        while (count > 0) {
            if (held_ == 128) {
                length_ += 128;
                mix(false);
                held_ = 0;
            }  // a full block that is not the last
            const std::size_t part = count < 128 - held_ ? count : 128 - held_;
            std::memcpy(block_ + held_, data, part);
            held_ += part;
            data += part;
            count -= part;
        }
    }
    void end(u8* digest) {
        length_ += held_;
        std::memset(block_ + held_, 0, 128 - held_);
        mix(true);
        std::memcpy(digest, h_, size_);
    }
};

}  // namespace hn
