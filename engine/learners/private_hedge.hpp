// Hedge on noisy sums, w_i = exp(-(L_i + G_i)/s), with Gaussian noise that is correlated over rounds:
//
//     G = sigma sum_j beta_j u_j,  u_j <- nu_j u_j + z,  z standard normal, one per arm and settled loss.
//
// All moves together are one Gaussian mechanism (docs/proofs/private.md). The noise comes from ChaCha20. Parameters: sigma;
// the padded level g, above 0 for the leader of L + G + sqrt(g^2 - sigma_t^2) z; and kappa/ln n of the anytime form, whose
// scale is sqrt(scale_t^2 + (kappa/ln n) sigma_t^2), where sigma_t^2 = sigma^2 sum_{r < t} b_r^2 and b_r = sum_j beta_j nu_j^r.
#pragma once

#include <algorithm>

#include "../chacha20.hpp"
#include "../convex/noise.hpp"
#include "memory.hpp"

namespace hn::HN_ISA {

/// Decay rates and weights of the states, from mathematics/mechanisms.py.
namespace correlated {
inline constexpr int states = 7;
inline constexpr double nu[states] = {0x1.0000000000000p+0, 0x1.ffffe4b96748dp-1, 0x1.fffe3d6c5941ep-1, 0x1.ffe2ed83544e9p-1,
        0x1.fe2091e1485c0p-1, 0x1.e1ecf522a7ab5p-1, 0x1.78b56362cef38p-2};
inline constexpr double beta[states] = {0x1.4e2c54338d0ccp-12, 0x1.95fe77b7fd28dp-11, 0x1.b09250f7a9f64p-9, 0x1.b8bbdee779f8dp-7,
        0x1.bf8a434935824p-5, 0x1.c0a50f67ab473p-3, 0x1.6abb50fc77d32p-1};
}  // namespace correlated

/// The memory: L + G as played, the states, the padding (one number per arm each), nu_j^r of the next step r, the sum of
/// b_r^2 so far, and the number of the next block of random words.
struct PrivateMemory {
    double *noisy, *padding, *u, *power, *norm, *block;
    HN_INLINE PrivateMemory(double* memory, i64 n)
        : noisy(memory),
          padding(noisy + n),
          u(padding + n),
          power(u + correlated::states * n),
          norm(power + correlated::states),
          block(norm + 1) {}
};

/// One step of the noise: a fresh normal per arm drives all of its states.
inline void advance_noise(const PrivateMemory& memory, SecureWords& words, i64 n) {
    fill_normals(words, memory.noisy, n);
    double b = 0.0;
    for (int j = 0; j < correlated::states; ++j) {
        double* u = memory.u + j * n;
        for (i64 i = 0; i < n; ++i) u[i] = correlated::nu[j] * u[i] + memory.noisy[i];
        b += correlated::beta[j] * memory.power[j];
        memory.power[j] *= correlated::nu[j];
    }
    *memory.norm += b * b;
}

HN_MEMORY(private_hedge, 9 * n + 9, Noise::own)  // L + G, padding and seven states per arm; powers, norm and block
inline bool private_hedge(const Setup& s, Run& run) {
    const double sigma = s.parameter[0], padded = s.parameter[1], cost = s.parameter[2];
    const PrivateMemory memory(run.memory, s.n);
    const bool starts = is_new(run);
    const i64 seen = starts ? 0 : run.taken;
    if (starts) std::fill_n(memory.power, correlated::states, 1.0);
    if (takes_in(run) || starts) {
        SecureWords words(run.noise, u64(*memory.block));
        for (i64 step = seen; step < run.settled; ++step) advance_noise(memory, words, s.n);
        if (padded > 0.0) fill_normals(words, memory.padding, s.n);
        *memory.block = double(words.number);
    }
    const double variance = sigma * sigma * *memory.norm;
    const double pad = padded > 0.0 ? sqrt(max(padded * padded - variance, 0.0)) : 0.0;
    double low = infinity;
    for (i64 i = 0; i < s.n; ++i) {
        double noise = 0.0;
        for (int j = 0; j < correlated::states; ++j) noise += correlated::beta[j] * memory.u[j * s.n + i];
        memory.noisy[i] = run.L[i] + sigma * noise + pad * memory.padding[i];
        low = min(memory.noisy[i], low);
    }
    const double inverse = cost > 0.0 ? 1.0 / sqrt(run.scale * run.scale + cost * variance) : run.inverse;
    double total = 0.0;
    for (i64 i = 0; i < s.n; ++i) {
        const double behind = memory.noisy[i] - low;
        run.w[i] = padded > 0.0 ? (behind == 0.0 ? 1.0 : 0.0) : exp(-behind * inverse);
        total += run.w[i];
    }
    run.total = total;
    run.value = __builtin_nan("");
    return true;
}

}  // namespace hn::HN_ISA
