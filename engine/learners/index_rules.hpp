// The arm whose mean loss may be the least: a lower confidence bound of each mean m after N plays, t rounds settled.
//
//     UCB1    m - sqrt(2 ln t/N)                                  (Auer, Cesa-Bianchi, Fischer 2002)
//     MOSS    m - sqrt(max(0, ln(T/(n N)))/N)                     (Audibert, Bubeck 2009)
//     KL-UCB  min{q : N kl(m, q) <= ln t + c ln ln t}             (Garivier, Cappe 2011)
//
// parameter[0] is T of MOSS, c of KL-UCB.
#pragma once

#include "arm_sums.hpp"

namespace hn::HN_ISA {

HN_COUNTER(ucb1, 2 * n)
inline bool ucb1(const Setup& s, Run& run) {
    take_in_arm(s, run);
    const double twice = 2.0 * log(most(run.settled, 1.0));
    least_of(s, run, [=](double mean, double count) { return mean - root(twice / count); });
    return true;
}

HN_COUNTER(moss, 2 * n)
inline bool moss(const Setup& s, Run& run) {
    take_in_arm(s, run);
    const double share = s.parameter[0] / double(s.n);
    least_of(s, run, [=](double mean, double count) { return mean - root(most(log(share / count), 0.0) / count); });
    return true;
}

/// x log(x/y), 0 at x = 0.
HN_INLINE double relative(double x, double y) { return x > 0.0 ? x * log(x / y) : 0.0; }

/// The least q <= m with kl(m, q) <= room: kl falls and is convex in q below m, so Newton from the left never overshoots.
inline double least_mean(double m, double room) {
    if (!(m > 0.0)) return 0.0;
    // From the left: kl(m, q) >= 2 (m - q)^2, and >= m log(m/q) + (1 - m) log(1 - m).
    const double rest = m < 1.0 ? (1.0 - m) * log1p(-m) : 0.0;
    double q = most(m - root(0.5 * room), m * exp((rest - room) / m));
    if (!(q > 0.0)) return 0.0;
    for (int step = 0; step < 100; ++step) {
        const double over = relative(m, q) + relative(1.0 - m, 1.0 - q) - room;
        const double move = over * q * (1.0 - q) / (m - q);  // d kl/dq = (q - m)/(q (1 - q))
        if (!(move > 1e-15 * q) || !(m - q > 0.0)) break;
        q = least(q + move, m);
    }
    return q;
}

HN_COUNTER(kl_ucb, 2 * n)
inline bool kl_ucb(const Setup& s, Run& run) {
    take_in_arm(s, run);
    const double once = log(most(run.settled, 1.0)), twice = once > 1.0 ? log(once) : 0.0;
    const double room = once + s.parameter[0] * twice;
    least_of(s, run, [=](double mean, double count) { return least_mean(mean, room / count); });
    return true;
}

}  // namespace hn::HN_ISA
