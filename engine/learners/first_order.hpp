// Exponential weights of bandits whose regret follows the loss of the best arm.
//
//     Green       w_i = e^(-L_i/s), or 0 if the probability of arm i is below a threshold
//     Exp3Light   w_i = e^(-L_i/s_r), s_r = c 2^r in epoch r, the first with min L <= 4^r
//
// Both are functions of the estimates L, so they store no numbers: parameter[0] is the threshold, or c.
#pragma once

#include "memory.hpp"

namespace hn::HN_ISA {

/// w_i = e^((min L - L_i)/scale) and their sum.
HN_INLINE void exponential_weights(const Setup& s, Run& run, double low, double scale) {
    double total = 0.0;
    for (i64 i = 0; i < s.n; ++i) {
        run.w[i] = exp((low - run.L[i]) / scale);
        total += run.w[i];
    }
    run.total = total;
    run.value = __builtin_nan("");
}
HN_INLINE double smallest(const Setup& s, const Run& run) {
    double low = infinity;
    for (i64 i = 0; i < s.n; ++i) low = min(run.L[i], low);
    return low;
}

HN_MEMORY(green, 0, Noise::none)
inline bool green(const Setup& s, Run& run) {
    takes_in(run);
    exponential_weights(s, run, smallest(s, run), run.scale);
    // The threshold is below 1/n, so the largest weight is never set to 0.
    const double least = s.parameter[0] * run.total;
    double total = 0.0;
    for (i64 i = 0; i < s.n; ++i) {
        if (run.w[i] < least) run.w[i] = 0.0;
        total += run.w[i];
    }
    run.total = total;
    return true;
}

HN_MEMORY(exp3_light, 0, Noise::none)
inline bool exp3_light(const Setup& s, Run& run) {
    takes_in(run);
    const double low = smallest(s, run);
    double grown = s.parameter[0];
    for (double most = 1.0; low > most; most *= 4.0) grown *= 2.0;
    exponential_weights(s, run, low, grown);
    return true;
}

}  // namespace hn::HN_ISA
