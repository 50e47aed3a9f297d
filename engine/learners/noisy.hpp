// Leaders of noisy sums: the noise is drawn as the game goes, and stays.
//
//     dropout      leader of sum_t Bernoulli((1 - a) l_{t,i}): a loss is heard, whole, or dropped
//     random walk  leader of L_i + Z_i, each Z_i a walk of steps +-1/2, one more before every round
//
// Given its noise such a learner plays a leader, even among several (for the walk, among those that led before if any
// still does): that is the distribution in place. The memory: L as last seen and the sums heard, or Z.
#pragma once

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

HN_MEMORY(dropout, 2 * n, Noise::own)  // L of the last step, the noisy sums
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

}  // namespace hn::HN_ISA
