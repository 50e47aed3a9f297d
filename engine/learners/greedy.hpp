// The arm of least mean so far, and some exploring.
//
//     epsilon-greedy       p = e/n + (1 - e) among the leaders, e constant or min(1, (n ln t/t)^(1/3))
//     explore then commit  every arm m times, then the leader of those n m losses for ever
//
// parameter[0] is e, or -1 for the falling one; or m.
#pragma once

#include "arm_sums.hpp"

namespace hn::HN_ISA {

HN_COUNTER(epsilon_greedy, 2 * n)
inline bool epsilon_greedy(const Setup& s, Run& run) {
    take_in_arm(s, run);
    const double n = double(s.n), t = run.settled + 1.0;
    const double explored = s.parameter[0] >= 0.0 ? s.parameter[0] : least(pow(n * log(t) / t, 1.0 / 3.0), 1.0);
    const double leaders = least_of(s, run, [](double mean, double) { return mean; });
    double total = 0.0;
    for (i64 i = 0; i < s.n; ++i) {
        run.w[i] = explored / n + (run.w[i] > 0.0 ? (1.0 - explored) / leaders : 0.0);
        total += run.w[i];
    }
    run.total = total;
    return true;
}

/// How often the arm that was played least was played.
HN_INLINE double fewest(const Setup& s, const Run& run) {
    double few = run.memory[0];
    for (i64 i = 1; i < s.n; ++i) few = least(run.memory[i], few);
    return few;
}

HN_COUNTER(explore_then_commit, 2 * n)
inline bool explore_then_commit(const Setup& s, Run& run) {
    // What comes after the last exploring round does not count: it is for ever.
    if (fewest(s, run) < s.parameter[0]) take_in_arm(s, run);
    else takes_in(run);
    if (fewest(s, run) >= s.parameter[0]) {
        least_of(s, run, [](double mean, double) { return mean; });
        return true;
    }
    for (i64 i = 0; i < s.n; ++i) run.w[i] = run.memory[i];
    even_among_least(s, run);
    return true;
}

}  // namespace hn::HN_ISA
