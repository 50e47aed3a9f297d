// Leaders of noisy sums: the noise is drawn during the game; only the random playout draws it afresh.
//
//     dropout      leader of sum_t Bernoulli((1 - a) l_{t,i}): a loss is recorded as 1, or dropped
//     random walk  leader of L_i + Z_i, where each Z_i is a walk with steps +-1/2, one step before every round
//     playout      leader of L_i + Z_i, where each Z_i is a fresh sum of one normal number per remaining round
//
// Given the noise, the distribution is uniform over the leaders (for the walk, over the previous leaders if one of them
// still leads). The memory: L after the last step, and the recorded sums or Z.
#pragma once

#include "../convex/noise.hpp"
#include "memory.hpp"

namespace hn::HN_ISA {

/// w = 1 for the arms with the smallest score; if `loyal`, only for those that led before, if any of them
/// still leads.
template <class Score>
inline bool lead(const Setup& s, Run& run, bool loyal, Score score) {
    double low = score(0), total = 0.0;
    bool left = false;
    for (i64 i = 1; i < s.n; ++i) low = min(score(i), low);
    for (i64 i = 0; i < s.n; ++i) left |= score(i) == low && run.w[i] > 0.0;
    for (i64 i = 0; i < s.n; ++i) {
        run.w[i] = score(i) == low && (run.w[i] > 0.0 || !(loyal && left)) ? 1.0 : 0.0;
        total += run.w[i];
    }
    run.total = total;
    run.value = __builtin_nan("");
    return true;
}

HN_MEMORY(dropout, 2 * n, Noise::own)  // L after the last step, the noisy sums
inline bool dropout(const Setup& s, Run& run) {
    const SeenAndSums memory(run.memory, s.n);
    double *seen = memory.seen, *heard = memory.sums;
    if (takes_in(run)) {
        const double kept = 1.0 - s.parameter[0];
        for (i64 i = 0; i < s.n; ++i) {
            heard[i] += uniform(run.noise) < kept * (run.L[i] - seen[i]) ? 1.0 : 0.0;
            seen[i] = run.L[i];
        }
    }
    return lead(s, run, false, [&](i64 i) { return heard[i]; });
}

HN_MEMORY(random_walk, n, Noise::own)  // Z
inline bool random_walk(const Setup& s, Run& run) {
    double* walk = run.memory;
    // One step of the walk before every round, including the first.
    if (is_new(run) || run.settled != run.taken)
        for (i64 i = 0; i < s.n; ++i) walk[i] += uniform(run.noise) < 0.5 ? 0.5 : -0.5;
    run.taken = run.settled;
    return lead(s, run, true, [&](i64 i) { return walk[i] + run.L[i]; });
}

// parameter[0] is the number of rounds, parameter[1] the standard deviation of one round.
HN_MEMORY(random_playout, n, Noise::own)  // Z
inline bool random_playout(const Setup& s, Run& run) {
    double* rest = run.memory;
    if (is_new(run) || run.settled != run.taken) {
        // At least one round remains, so that the last move and later ones are drawn, too.
        const double remain = max(s.parameter[0] - double(run.settled), 1.0);
        const double deviation = s.parameter[1] * sqrt(remain);
        fill_normals(run.noise, rest, s.n);
        for (i64 i = 0; i < s.n; ++i) rest[i] *= deviation;
    }
    run.taken = run.settled;
    return lead(s, run, false, [&](i64 i) { return rest[i] + run.L[i]; });
}

}  // namespace hn::HN_ISA
