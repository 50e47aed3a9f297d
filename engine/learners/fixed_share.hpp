// Fixed share: a Bayesian update, then mixing with the uniform distribution, w_i <- (1 - a) w_i e^(-l_i/s)/sum + a/n.
//
// The memory: L after the last step, then the sum of the mix losses, which is the potential of the master identity.
#pragma once

#include "memory.hpp"

namespace hn::HN_ISA {

HN_MEMORY(fixed_share, n + 1, Noise::none)  // L after the last step, and the sum of the mix losses
inline bool fixed_share(const Setup& s, Run& run) {
    const auto [seen, mixed] = FixedShareMemory(run.memory, s.n);
    if (is_new(run)) {
        for (i64 i = 0; i < s.n; ++i) run.w[i] = 1.0 / double(s.n);
        run.total = 1.0;
    }
    if (takes_in(run)) {
        const double share = s.parameter[0];
        double low = infinity, after = 0.0, total = 0.0;
        // The memory temporarily stores the step instead of L.
        for (i64 i = 0; i < s.n; ++i) {
            seen[i] = run.L[i] - seen[i];
            low = min(seen[i], low);
        }
        for (i64 i = 0; i < s.n; ++i) {
            run.w[i] *= exp((low - seen[i]) * run.inverse);
            seen[i] = run.L[i];
            after += run.w[i];
        }
        *mixed += low - run.scale * log(after / run.total);
        const double kept = (1.0 - share) / after, even = share / double(s.n);
        for (i64 i = 0; i < s.n; ++i) {
            run.w[i] = kept * run.w[i] + even;
            total += run.w[i];
        }
        run.total = total;
    }
    run.value = *mixed;
    return true;
}

}  // namespace hn::HN_ISA
