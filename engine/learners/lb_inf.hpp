// LB-INF (Ito 2021): an optimistic log-barrier with one scale per arm, and a running prediction m of each loss.
//
//     p = argmin <S + m, p> - sum_i g_i log p_i,    S += m + (l - m_I)/p_I e_I
//     g_i += v_i/(2 g_i log T),  v_i = (l - m_I)^2 ((1 - p_i)^2 if i = I else p_i^2),  m_I += (l - m_I)/4
//
// Without a number of rounds, log T is replaced by ln(t + e - 1), and m_I is the mean of the losses of arm I and of one
// loss 1/2.
//
// p_i = g_i/(d_i + x), d_i = S_i + m_i - min: sum p = 1 is solved for x by Newton on 1/sum, which is concave in x, so that
// steps from the left never overshoot. The memory: g, m, S, N; parameter[0] is log T, or 0.
#pragma once

#include "memory.hpp"

namespace hn::HN_ISA {

HN_MEMORY(lb_inf, 4 * n, Noise::none)  // g, m, S, N
inline bool lb_inf(const Setup& s, Run& run) {
    const i64 n = s.n;
    const auto [g, m, S, N] = LbInfMemory(run.memory, n);
    if (is_new(run))
        for (i64 i = 0; i < n; ++i) {
            g[i] = 2.0;
            m[i] = 0.5;
        }
    if (takes_in(run)) {
        const i64 arm = run.arm;
        const bool told = s.parameter[0] > 0.0;
        const double off = run.paid - m[arm],
                     grows = told ? s.parameter[0] : log(double(run.settled) + 1.718281828459045);
        for (i64 i = 0; i < n; ++i) {
            const double away = i == arm ? 1.0 - 1.0 / run.weight : run.w[i] / run.total;
            g[i] += off * off * away * away / (2.0 * g[i] * grows);
            S[i] += m[i];
        }
        S[arm] += off * run.weight;
        N[arm] += 1.0;
        m[arm] += told ? 0.25 * off : off / (N[arm] + 1.0);
    }
    run.value = __builtin_nan("");
    double low = infinity, start = 0.0;
    for (i64 i = 0; i < n; ++i) low = min(S[i] + m[i], low);
    for (i64 i = 0; i < n; ++i) start = max(g[i] - (S[i] + m[i] - low), start);
    double x = max(start, run.warm);
    for (int step = 0; step < 200; ++step) {
        double total = 0.0, slope = 0.0;
        for (i64 i = 0; i < n; ++i) {
            const double inverse = 1.0 / (S[i] + m[i] - low + x), p = g[i] * inverse;
            run.w[i] = p;
            total += p;
            slope += p * inverse;
        }
        run.total = total;
        const double move = (total - 1.0) * total / slope;
        if (abs(total - 1.0) <= 1e-14 * double(n) || abs(move) <= 1e-15 * x) {
            run.warm = x;
            return true;
        }
        x = max(start, x + move);
    }
    return false;
}

}  // namespace hn::HN_ISA
