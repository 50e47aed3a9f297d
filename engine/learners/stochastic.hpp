// Learners for i.i.d. losses, which store the number and the sum of the losses of each arm. The memory: N_i, the number
// of observed losses of arm i, then their sums. If the rule selects several arms, the distribution is uniform over
// them, and the move has this probability; otherwise its probability is 1.
#pragma once

#include "memory.hpp"

namespace hn::HN_ISA {

/// Add the loss just settled.
HN_INLINE void take_in_arm(const Setup& s, Run& run) {
    if (!takes_in(run)) return;
    const i64 arm = run.arm;
    const ArmCounts arms(run.memory, s.n);
    arms.count[arm] += 1.0;
    arms.sum[arm] += run.paid;
}

/// run.w contains scores: uniform weights over the arms with the smallest score. Returns their number.
inline double even_among_least(const Setup& s, Run& run) {
    double low = run.w[0], leaders = 0.0;
    for (i64 i = 1; i < s.n; ++i) low = min(run.w[i], low);
    for (i64 i = 0; i < s.n; ++i) {
        run.w[i] = run.w[i] == low ? 1.0 : 0.0;
        leaders += run.w[i];
    }
    run.total = leaders;
    run.value = __builtin_nan("");
    return leaders;
}

/// Arms that were never played are first; the others are ordered by score(mean, N).
template <class Score>
inline double least_of(const Setup& s, Run& run, Score score) {
    const ArmCounts arms(run.memory, s.n);
    const double *count = arms.count, *sum = arms.sum;
    for (i64 i = 0; i < s.n; ++i) run.w[i] = count[i] > 0.0 ? score(sum[i] / count[i], count[i]) : -infinity;
    return even_among_least(s, run);
}

// The arm with the smallest mean so far, and exploration.
//
//     epsilon-greedy       p = e/n + (1 - e) among the leaders, e constant or min(1, (n ln t/t)^(1/3))
//     explore then commit  every arm m times, then always the leader after these n m losses
//
// parameter[0] is e, or -1 for the decreasing e; or m.

HN_COUNTER(epsilon_greedy, 2 * n, Noise::none)
inline bool epsilon_greedy(const Setup& s, Run& run) {
    take_in_arm(s, run);
    const double n = double(s.n), t = double(run.settled) + 1.0;
    const double explored = s.parameter[0] >= 0.0 ? s.parameter[0] : min(pow(n * log(t) / t, 1.0 / 3.0), 1.0);
    const double leaders = least_of(s, run, [](double mean, double) { return mean; });
    double total = 0.0;
    for (i64 i = 0; i < s.n; ++i) {
        run.w[i] = explored / n + (run.w[i] > 0.0 ? (1.0 - explored) / leaders : 0.0);
        total += run.w[i];
    }
    run.total = total;
    return true;
}

/// Number of plays of the arm that was played least.
HN_INLINE double fewest(const Setup& s, const Run& run) {
    const double* count = ArmCounts(run.memory, s.n).count;
    double few = count[0];
    for (i64 i = 1; i < s.n; ++i) few = min(count[i], few);
    return few;
}

HN_COUNTER(explore_then_commit, 2 * n, Noise::none)
inline bool explore_then_commit(const Setup& s, Run& run) {
    // Losses after the last exploring round are not counted, because the choice is final.
    if (fewest(s, run) < s.parameter[0]) take_in_arm(s, run);
    else takes_in(run);
    if (fewest(s, run) >= s.parameter[0]) {
        least_of(s, run, [](double mean, double) { return mean; });
        return true;
    }
    const double* count = ArmCounts(run.memory, s.n).count;
    for (i64 i = 0; i < s.n; ++i) run.w[i] = count[i];
    even_among_least(s, run);
    return true;
}

// The arm with the smallest lower confidence bound of its mean loss m after N plays, with t settled rounds.
//
//     UCB1    m - sqrt(2 ln t/N)                                  (Auer, Cesa-Bianchi, Fischer 2002)
//     MOSS    m - sqrt(max(0, ln(T/(n N)))/N)                     (Audibert, Bubeck 2009)
//     KL-UCB  min{q : N kl(m, q) <= ln t + c ln ln t}             (Garivier, Cappe 2011)
//
// parameter[0] is T of MOSS, c of KL-UCB.

HN_COUNTER(ucb1, 2 * n, Noise::none)
inline bool ucb1(const Setup& s, Run& run) {
    take_in_arm(s, run);
    const double twice = 2.0 * log(max(double(run.settled), 1.0));
    least_of(s, run, [=](double mean, double count) { return mean - sqrt(twice / count); });
    return true;
}

HN_COUNTER(moss, 2 * n, Noise::none)
inline bool moss(const Setup& s, Run& run) {
    take_in_arm(s, run);
    const double share = s.parameter[0] / double(s.n);
    least_of(s, run,
             [=](double mean, double count) { return mean - sqrt(max(log(share / count), 0.0) / count); });
    return true;
}

/// x log(x/y), 0 at x = 0.
HN_INLINE double relative(double x, double y) { return x > 0.0 ? x * log(x / y) : 0.0; }

/// Smallest q <= m with kl(m, q) <= room: kl is decreasing and convex in q below m, so Newton's method from
/// the left never overshoots.
inline double least_mean(double m, double room) {
    if (!(m > 0.0)) return 0.0;
    // Start from the left: kl(m, q) >= 2 (m - q)^2, and >= m log(m/q) + (1 - m) log(1 - m).
    const double rest = m < 1.0 ? (1.0 - m) * log1p(-m) : 0.0;
    double q = max(m - sqrt(0.5 * room), m * exp((rest - room) / m));
    if (!(q > 0.0)) return 0.0;
    for (int step = 0; step < 100; ++step) {
        const double over = relative(m, q) + relative(1.0 - m, 1.0 - q) - room;
        const double move = over * q * (1.0 - q) / (m - q);  // d kl/dq = (q - m)/(q (1 - q))
        if (!(move > 1e-15 * q) || !(m - q > 0.0)) break;
        q = min(q + move, m);
    }
    return q;
}

HN_COUNTER(kl_ucb, 2 * n, Noise::none)
inline bool kl_ucb(const Setup& s, Run& run) {
    take_in_arm(s, run);
    const double once = log(max(double(run.settled), 1.0)), twice = once > 1.0 ? log(once) : 0.0;
    const double room = once + s.parameter[0] * twice;
    least_of(s, run, [=](double mean, double count) { return least_mean(mean, room / count); });
    return true;
}

}  // namespace hn::HN_ISA
