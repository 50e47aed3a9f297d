// Learners for i.i.d. losses: what they know of an arm is how often it was played and what that cost.
//
// The memory: N_i, the losses of arm i that have come, then their sum. Where the rule leaves several arms the play is even
// among them, and the probability of a move says so; where it leaves one, it is 1.
#pragma once

#include "memory.hpp"

namespace hn::HN_ISA {

/// Take in the loss just settled.
HN_INLINE void take_in_arm(const Setup& s, Run& run) {
    if (!takes_in(run)) return;
    const i64 arm = i64(run.arm);
    run.memory[arm] += 1.0, run.memory[s.n + arm] += run.paid;
}

/// run.w holds scores: even among those of the least. Returns how many they are.
inline double even_among_least(const Setup& s, Run& run) {
    double low = run.w[0], leaders = 0.0;
    for (i64 i = 1; i < s.n; ++i) low = least(run.w[i], low);
    for (i64 i = 0; i < s.n; ++i) {
        run.w[i] = run.w[i] == low ? 1.0 : 0.0;
        leaders += run.w[i];
    }
    run.total = leaders;
    run.value = __builtin_nan("");
    return leaders;
}

/// Arms that were never played come first; the others by score(mean, N).
template <class Score>
inline double least_of(const Setup& s, Run& run, Score score) {
    const double *count = run.memory, *sum = run.memory + s.n;
    for (i64 i = 0; i < s.n; ++i) run.w[i] = count[i] > 0.0 ? score(sum[i] / count[i], count[i]) : -infinity;
    return even_among_least(s, run);
}

}  // namespace hn::HN_ISA
