// Rules that weigh columns by the regrets r_i = g (x - f_i) of their slopes, in whatever units: R_i = sum r_i, and of
// columns asleep nothing moves. B = max |r| over all columns and rows so far.
//
//     ML-Poly         w_i ~ [R_i]_+ / (B^2 + V_i), V_i = sum r_i^2             (Gaillard, Stoltz, van Erven 2014; opera)
//     BOA             w_i ~ eta_i e^(eta_i S_i), S_i = sum r_i - eta_i r_i^2, eta_i = min(1/(2 M_i), sqrt(ln n / V_i))
//                                                                              (Wintenberger 2017)
//     Squint          w_i ~ int_0^(1/2) e^(eta R_i/B - eta^2 V_i/B^2) d eta    (Koolen, van Erven 2015)
//     AdaNormalHedge  of R_i/B and sum |r_i|/B                                 (Luo, Schapire 2015)
//     fixed share     w_i <- (1 - a) w_i e^(eta r_i)/sum + a/n, a = 1/(t+1), eta = min(1/B, sqrt(ln n / sum max r^2))
//
// Where the range is not known before, no bound is proved for them here.
#pragma once

#include "../combination.hpp"
#include "second_order.hpp"

namespace hn::HN_ISA {

/// p of the awake, normalised; even where no awake column has any weight.
inline void share_regrets(const RegretState& s, Mixing kind, const double* f, double* p) {
    double top = -infinity, total = 0.0;
    const double B = s.range > 0.0 ? s.range : 1.0;
    for (i64 i = 0; i < s.n; ++i) {
        p[i] = -infinity;
        if (f[i] != f[i]) continue;
        switch (kind) {
            case Mixing::ml_poly: {
                const double up = most(s.regret[i], 0.0);
                p[i] = up > 0.0 ? log(up) - log(B * B + s.second[i]) : -infinity;
                break;
            }
            case Mixing::boa: p[i] = s.weight[i] > 0.0 ? log(s.weight[i]) + s.weight[i] * s.regret[i] : -infinity; break;
            case Mixing::squint: p[i] = log_evidence(s.regret[i] / B, s.second[i] / (B * B)); break;
            case Mixing::ada_normal_hedge: {
                const double R = s.regret[i] / B, c = 3.0 * (s.second[i] / B + 1.0);
                const double up = most(R + 1.0, 0.0), down = most(R - 1.0, 0.0), high = up * up / c, low = down * down / c;
                p[i] = high > low ? high + log(-expm1(low - high)) : -infinity;
                break;
            }
            default: p[i] = log(s.weight[i]);
        }
        top = most(p[i], top);
    }
    for (i64 i = 0; i < s.n; ++i) {
        p[i] = f[i] == f[i] ? (top > -infinity ? exp(p[i] - top) : 1.0) : 0.0;
        total += p[i];
    }
    for (i64 i = 0; i < s.n; ++i) p[i] /= total;
}

/// A row answered with x: r_i = g (x - f_i) of the awake.
inline void settle_regrets(RegretState& s, Mixing kind, const double* f, double x, double g) {
    double seen = s.range, span = 0.0;
    for (i64 i = 0; i < s.n; ++i)
        if (f[i] == f[i]) span = most(size(g * (x - f[i])), span);
    if (!(span >= 1e-140)) return;
    s.range = most(span, seen), s.settled += 1.0;
    const double log_n = log(double(s.n > 1 ? s.n : 2));
    if (kind == Mixing::fixed_share) {
        s.second[0] += span * span;
        const double eta = least(1.0 / s.range, root(log_n / s.second[0])), share = 1.0 / (s.settled + 1.0);
        double total = 0.0, awake = 0.0;
        for (i64 i = 0; i < s.n; ++i)
            if (f[i] == f[i]) {
                awake += s.weight[i];
                s.weight[i] *= exp(eta * (g * (x - f[i])));
                total += s.weight[i];
            }
        // Sleepers keep their share, and everybody gives a little.
        for (i64 i = 0; i < s.n; ++i) {
            if (f[i] == f[i]) s.weight[i] *= awake / total;
            s.weight[i] = (1.0 - share) * s.weight[i] + share / double(s.n);
        }
        return;
    }
    for (i64 i = 0; i < s.n; ++i) {
        if (f[i] != f[i]) continue;
        const double r = g * (x - f[i]);
        s.second[i] += kind == Mixing::ada_normal_hedge ? size(r) : r * r;
        s.largest[i] = most(size(r), s.largest[i]);
        if (kind == Mixing::boa) {
            const double M = most(s.largest[i], 0.1 * s.range), V = most(s.second[i], 0.1 * s.range * s.range);
            s.weight[i] = least(0.5 / M, root(log_n / V));
            s.regret[i] += r - s.weight[i] * r * r;
        } else {
            s.regret[i] += r;
        }
    }
}

}  // namespace hn::HN_ISA
