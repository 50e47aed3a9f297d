// Weights computed from the regrets R_i = own - L_i and from the sums V_i = sum r_i^2 or C_i = sum |r_i|:
//
//     Squint          w_i = int_0^(1/2) e^(eta R_i - eta^2 V_i) d eta
//     AdaNormalHedge  w_i = (e^([R_i+1]_+^2 / (3(C_i+1))) - e^([R_i-1]_+^2 / (3(C_i+1)))) / 2
//     ML-Poly         w_i = [R_i]_+ / (1 + V_i)
//
// r_i = <p, l> - l_i is the regret of one round. The memory: L after the last step, then V or C.
#pragma once

#include "../combination.hpp"
#include "memory.hpp"

namespace hn::HN_ISA {

/// Add the squares (or absolute values) of the regrets of the step just settled; returns the sums.
inline double* take_in_regrets(const Setup& s, Run& run, bool squared) {
    const auto [seen, sums] = SeenAndSums(run.memory, s.n);
    if (takes_in(run))
        for (i64 i = 0; i < s.n; ++i) {
            const double r = run.paid - (run.L[i] - seen[i]);
            seen[i] = run.L[i];
            sums[i] += squared ? r * r : abs(r);
        }
    return sums;
}

/// w contains logarithms: convert them to weights whose maximum is 1; uniform if no arm has a weight.
inline bool from_logs(const Setup& s, Run& run) {
    double top = -infinity, total = 0.0;
    for (i64 i = 0; i < s.n; ++i) top = max(run.w[i], top);
    for (i64 i = 0; i < s.n; ++i) {
        run.w[i] = top > -infinity ? exp(run.w[i] - top) : 1.0;
        total += run.w[i];
    }
    run.total = total;
    run.value = __builtin_nan("");
    return total > 0.0;
}

/// Gauss-Legendre rule with twelve nodes on [-1/4, 1/4], which is symmetric, and its weights.
inline constexpr double evidence_nodes[6] = {0.03130835212786723, 0.09195787474954505, 0.14682948857165437,
                                             0.19247566854857617, 0.2260293140926187,  0.2453901585616798};
inline constexpr double evidence_masses[6] = {0.06228676145335067,  0.05837313413458865,
                                              0.05079185668076643,  0.040019582135836604,
                                              0.026734831498829766, 0.011793834096627853};

/// log int_0^(1/2) e^(eta R - eta^2 V) d eta: completing the square, in log space.
///
/// With a = R/(2 sqrt V), b = (R-V)/(2 sqrt V): sqrt(pi) e^(a^2) (erf a - erf b)/(2 sqrt V), a^2 - b^2 = R/2 - V/4.
inline double log_evidence(double R, double V) {
    if (abs(R) <= 2.0 && V <= 1.0) {
        // The difference of two close values of erf would lose digits; there the integrand is a polynomial up
        // to rounding.
        double whole = 0.0;
        for (int k = -6; k < 6; ++k) {
            const int j = k < 0 ? -1 - k : k;
            const double eta = 0.25 + (k < 0 ? -evidence_nodes[j] : evidence_nodes[j]);
            whole += evidence_masses[j] * exp(eta * R - eta * eta * V);
        }
        return log(whole);
    }
    const double deviation = sqrt(V), a = R / (2.0 * deviation), b = (R - V) / (2.0 * deviation);
    const double lead = log(1.7724538509055160273 / (2.0 * deviation)), apart = R / 2.0 - V / 4.0;
    if (b >= 0.0) return lead + apart + log(erfcx(b) - exp(-apart) * erfcx(a));
    if (a <= 0.0) return lead + log(erfcx(-a) - exp(apart) * erfcx(-b));
    return lead + a * a + log(2.0 - erfc(a) - erfc(-b));
}

HN_MEMORY(squint, 2 * n, Noise::none)  // L seen, V or C
inline bool squint(const Setup& s, Run& run) {
    const double* V = take_in_regrets(s, run, true);
    for (i64 i = 0; i < s.n; ++i) run.w[i] = log_evidence(run.own - run.L[i], V[i]);
    return from_logs(s, run);
}

HN_MEMORY(ada_normal_hedge, 2 * n, Noise::none)  // L seen, V or C
inline bool ada_normal_hedge(const Setup& s, Run& run) {
    const double* C = take_in_regrets(s, run, false);
    for (i64 i = 0; i < s.n; ++i) {
        const double R = run.own - run.L[i], c = 3.0 * (C[i] + 1.0);
        const double up = max(R + 1.0, 0.0), down = max(R - 1.0, 0.0), high = up * up / c,
                     low = down * down / c;
        run.w[i] = high > low ? high + log(-expm1(low - high)) : -infinity;
    }
    return from_logs(s, run);
}

HN_MEMORY(ml_poly, 2 * n, Noise::none)  // L seen, V or C
inline bool ml_poly(const Setup& s, Run& run) {
    const double* V = take_in_regrets(s, run, true);
    double total = 0.0;
    for (i64 i = 0; i < s.n; ++i) {
        run.w[i] = max(run.own - run.L[i], 0.0) / (1.0 + V[i]);
        total += run.w[i];
    }
    if (!(total > 0.0)) {
        for (i64 i = 0; i < s.n; ++i) run.w[i] = 1.0;
        total = double(s.n);
    }
    run.total = total;
    run.value = __builtin_nan("");
    return true;
}

// Rules that weight columns by the regrets r_i = g (x - f_i) of the slopes, in any units: R_i = sum r_i over the rows
// in which the column is available. B = max |r| over all columns and rows so far.
//
//     ML-Poly         w_i ~ [R_i]_+ / (B^2 + V_i), V_i = sum r_i^2             (Gaillard, Stoltz, van Erven 2014; opera)
//     BOA             w_i ~ eta_i e^(eta_i S_i), S_i = sum r_i - eta_i r_i^2, eta_i = min(1/(2 M_i), sqrt(ln n / V_i))
//                                                                              (Wintenberger 2017)
//     Squint          w_i ~ int_0^(1/2) e^(eta R_i/B - eta^2 V_i/B^2) d eta    (Koolen, van Erven 2015)
//     AdaNormalHedge  of R_i/B and sum |r_i|/B                                 (Luo, Schapire 2015)
//     fixed share     w_i <- (1 - a) w_i e^(eta r_i)/sum + a/n, a = 1/(t+1), eta = min(1/B, sqrt(ln n / sum max r^2))
//
// If the range is not known in advance, no bound is proved for these rules here.

/// p of the available columns, normalized, even if no available column has a weight.
inline void share_regrets(const RegretState& s, Mixing kind, const double* f, double* p) {
    double top = -infinity, total = 0.0;
    const double B = s.range > 0.0 ? s.range : 1.0;
    for (i64 i = 0; i < s.n; ++i) {
        p[i] = -infinity;
        if (f[i] != f[i]) continue;
        switch (kind) {
            case Mixing::ml_poly: {
                const double up = max(s.regret[i], 0.0);
                p[i] = up > 0.0 ? log(up) - log(B * B + s.second[i]) : -infinity;
                break;
            }
            case Mixing::boa:
                p[i] = s.weight[i] > 0.0 ? log(s.weight[i]) + s.weight[i] * s.regret[i] : -infinity;
                break;
            case Mixing::squint: p[i] = log_evidence(s.regret[i] / B, s.second[i] / (B * B)); break;
            case Mixing::ada_normal_hedge: {
                const double R = s.regret[i] / B, c = 3.0 * (s.second[i] / B + 1.0);
                const double up = max(R + 1.0, 0.0), down = max(R - 1.0, 0.0), high = up * up / c,
                             low = down * down / c;
                p[i] = high > low ? high + log(-expm1(low - high)) : -infinity;
                break;
            }
            default: p[i] = log(s.weight[i]);
        }
        top = max(p[i], top);
    }
    for (i64 i = 0; i < s.n; ++i) {
        p[i] = f[i] == f[i] ? (top > -infinity ? exp(p[i] - top) : 1.0) : 0.0;
        total += p[i];
    }
    for (i64 i = 0; i < s.n; ++i) p[i] /= total;
}

/// Settle a row answered with x: r_i = g (x - f_i) of the available columns.
inline void settle_regrets(RegretState& s, Mixing kind, const double* f, double x, double g) {
    double seen = s.range, span = 0.0;
    for (i64 i = 0; i < s.n; ++i)
        if (f[i] == f[i]) span = max(abs(g * (x - f[i])), span);
    if (!(span >= 1e-140)) return;
    s.range = max(span, seen);
    s.settled += 1.0;
    const double log_n = log(double(s.n > 1 ? s.n : 2));
    if (kind == Mixing::fixed_share) {
        s.second[0] += span * span;
        const double eta = min(1.0 / s.range, sqrt(log_n / s.second[0])), share = 1.0 / (s.settled + 1.0);
        double total = 0.0, awake = 0.0;
        for (i64 i = 0; i < s.n; ++i)
            if (f[i] == f[i]) {
                awake += s.weight[i];
                s.weight[i] *= exp(eta * (g * (x - f[i])));
                total += s.weight[i];
            }
        // Unavailable columns keep their share, and all columns give a small part.
        for (i64 i = 0; i < s.n; ++i) {
            if (f[i] == f[i]) s.weight[i] *= awake / total;
            s.weight[i] = (1.0 - share) * s.weight[i] + share / double(s.n);
        }
        return;
    }
    for (i64 i = 0; i < s.n; ++i) {
        if (f[i] != f[i]) continue;
        const double r = g * (x - f[i]);
        s.second[i] += kind == Mixing::ada_normal_hedge ? abs(r) : r * r;
        s.largest[i] = max(abs(r), s.largest[i]);
        if (kind == Mixing::boa) {
            const double M = max(s.largest[i], 0.1 * s.range), V = max(s.second[i], 0.1 * s.range * s.range);
            s.weight[i] = min(0.5 / M, sqrt(log_n / V));
            s.regret[i] += r - s.weight[i] * r * r;
        } else {
            s.regret[i] += r;
        }
    }
}

}  // namespace hn::HN_ISA
