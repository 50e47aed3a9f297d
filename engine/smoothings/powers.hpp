// FTRL computed: p(L) = argmin <L, p> + F(p) on the simplex, by its one multiplier.
//
// With d_i = L_i - min L >= 0, stationarity gives p_i as a decreasing function of d_i + m for one m > 0:
//
//     Tsallis      p_i = ((d_i + m)/m0)^(-s),  s = 1/(1-alpha), m0 = scale alpha/(1-alpha)
//     log-barrier  p_i = ((d_i + m)/m0)^(-1),  m0 = scale (the same with s = 1)
//
// sum p = 1 is solved as h(m) = (sum_i (d_i + m)^-s)^(-1/s) = m0: h is a power mean of order -s, so it is concave and
// increasing, and Newton's steps from the left never overshoot; at m = m0 the leader alone has p = 1, so the root is to
// the right. For tied arms h is linear and one step is exact.
#pragma once

#include "../log.hpp"
#include "../setup.hpp"

namespace hn::HN_ISA {

inline double lowest(const double* L, i64 n) {
    double low = L[0];
    for (i64 i = 1; i < n; ++i) low = least(L[i], low);
    return low;
}

/// Kahan's sum: 100,000 equal terms would otherwise lose four digits.
inline double careful_sum(const double* x, i64 n) {
    double total = 0.0, lost = 0.0;
    for (i64 k = 0; k < n; ++k) {
        const double term = x[k] - lost, grown = total + term;
        lost = (grown - total) - term;
        total = grown;
    }
    return total;
}

struct PowerLeaders { double total, beyond; bool fine; };

/// Tsallis (0 < alpha < 1) and log-barrier (alpha = 0): fills w with p. beyond = (m - m0)/m0 >= 0; the one given is a
/// warm start: from the right of the root one step of Newton on a concave function lands to the left of it, and from
/// there on every step is to the right.
inline PowerLeaders power_leaders(const double* L, i64 n, double scale, double alpha, double beyond, double* w) {
    const double low = lowest(L, n), s = 1.0 / (1.0 - alpha);
    const double m0 = alpha > 0.0 ? scale * alpha * s : scale;
    double total = 0.0;
    if (!(beyond >= 0.0)) beyond = 0.0;
    for (int step = 0; step < 200; ++step) {
        total = 0.0;
        double slope = 0.0, lost = 0.0;
        for (i64 i = 0; i < n; ++i) {
            // x = (d_i + m)/m0 - 1: log1p keeps the digits where alpha is near 1 and s is huge.
            const double x = (L[i] - low) / m0 + beyond, inverse = 1.0 / (1.0 + x);
            const double p = alpha == 0.5 ? inverse * inverse : alpha == 0.0 ? inverse : exp(-s * log1p(x));
            w[i] = p;
            slope += p * inverse;
            const double term = p - lost, grown = total + term;
            lost = (grown - total) - term;
            total = grown;
        }
        // Newton on h(m)/m0 = total^(-1/s): its derivative in beyond is total^(-1/s - 1) slope.
        if (size(total - 1.0) <= 4e-16 * (double(n) + 1.0)) return {total, beyond, true};
        const double move = expm1(log(total) / s) * total / slope;
        if (!(size(move) < infinity)) return {total, beyond, false};
        const double moved = beyond + move;
        if (moved == beyond || size(move) <= 1e-16 * (1.0 + beyond) || (move < 0.0 && step > 0))
            return {total, beyond, true};
        beyond = moved > 0.0 ? moved : 0.0;
    }
    return {total, beyond, false};
}

/// <L, p> + F(p) for Tsallis (0 < alpha < 1) and log-barrier (alpha = 0), p = w/total.
inline double regularizer_value(const double* L, const double* w, i64 n, double total, double scale, double alpha) {
    const double low = lowest(L, n);
    double inner = 0.0, shape = 0.0;
    for (i64 i = 0; i < n; ++i) {
        const double p = w[i] / total;
        inner += (L[i] - low) * p;
        if (alpha == 0.0) shape -= log(p);
        else if (p > 0.0) shape -= p * expm1((alpha - 1.0) * log(p)) / (1.0 - alpha);
    }
    return low + inner + scale * shape;
}

}  // namespace hn::HN_ISA
