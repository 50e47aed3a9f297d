// FTPL computed, not sampled: one integral serves all arms.
//
// With d_i = (L_i - min L)/scale, the best perturbed arm is at M = max_j (Z_j - d_j), whose cdf is G(w) = prod_j F(w + d_j).
// With r = f/F,  p_i = int G(w) r(w + d_i) dw,  d p_i/d d_j = int G(w) r(w + d_i) r(w + d_j) dw  (i != j).
#pragma once

#include "../dispatch.hpp"
#include "trapezoid.hpp"

namespace hn::HN_ISA {

struct Led {
    double mean;
    bool fine;
};

/// parameter: a (shape, k, alpha); conditioned; log Gamma(a) or Gamma(1 - 1/a).
inline LawOf law_of(Smoothing kind, const double* parameter) {
    return {kind, parameter[0], parameter[1], kind == Smoothing::gamma ? parameter[2] : 0.0};
}

/// Write the distribution at L to p; the mean is E max_j (Z_j - d_j), except for Frechet and Pareto. second, nodes: for
/// the Hessian.
inline Led leaders(Smoothing kind, const double* parameter, const double* L, i64 n, double scale, bool second,
                   double* p, Nodes& nodes) {
    const LawOf law = law_of(kind, parameter);
    const i64 m = in_fours(n) + 4;
    double* room = workspace(8 * m);
    if (!room) return {0.0, false};
    double *d = room, *near = room + m, *q = room + 2 * m, *rest = room + 3 * m;
    const double low = lowest(L, n), reaches = reach(law);
    i64 count = 0;
    for (i64 i = 0; i < n; ++i) {
        const double gap = (L[i] - low) / scale;
        if (gap <= reaches) {
            d[count] = gap;
            near[count] = double(i);
            ++count;
        }
    }
    Led led{0.0, true};
    if (kind == Smoothing::exponential) {
        led.mean = exponential_leaders(d, count, q, rest, nodes);
    } else if (kind == Smoothing::laplace) {
        led.mean = laplace_leaders(d, count, q, rest, nodes);
    } else {
        Quadrature rule{law, d, count, second, rest, rest + m, rest + 2 * m, rest + 3 * m, rest + 4 * m, {}};
        led.fine = rule.integrate(q, nodes, led.mean);
        if (second) return led;
    }
    const double total = careful_sum(q, count);
    for (i64 i = 0; i < n; ++i) p[i] = 0.0;
    if (!(0.0 < total && total < infinity)) return {led.mean, false};
    for (i64 k = 0; k < count; ++k) p[i64(near[k])] = q[k] / total;
    return led;
}

/// E max_j (Z_j - d_j): `mean` from the quadrature, or the closed form minus the excess for heavy tails.
inline double mean_of_leader(Smoothing kind, const double* parameter, const double* L, i64 n, double scale,
                             double mean) {
    if (kind != Smoothing::frechet && kind != Smoothing::pareto) return mean;
    const double a = parameter[0];
    if (a <= 1.0) return infinity;
    double* d = workspace(in_fours(n) + 4);
    if (!d) return __builtin_nan("");
    const double low = lowest(L, n);
    for (i64 i = 0; i < n; ++i) d[i] = (L[i] - low) / scale;
    double whole = parameter[2];  // Gamma(1 - 1/a)
    if (kind == Smoothing::frechet) {
        whole *= pow(double(n), 1.0 / a);
    } else {
        double logs = 0.0;
        for (i64 k = 1; k <= n; ++k) logs += log1p(1.0 / (a * double(k) - 1.0));
        whole = exp(logs);
    }
    return whole - excess(law_of(kind, parameter), d, n);
}

/// out_(q, i) = r(w_q + d_i).
inline bool ratio_matrix(Smoothing kind, const double* parameter, const double* d, i64 n, const double* nodes,
                         i64 count, double* out) {
    const LawOf law = law_of(kind, parameter);
    double* room = workspace(3 * in_fours(n));
    if (!room) return false;
    double *ratio = room, *spare = room + in_fours(n), *gaps = room + 2 * in_fours(n);
    for (i64 i = 0; i < in_fours(n); ++i) gaps[i] = i < n ? d[i] : 0.0;
    for (i64 q = 0; q < count; ++q) {
        const double w = nodes[q];
        if (kind == Smoothing::exponential) {
            for (i64 i = 0; i < n; ++i) out[q * n + i] = 1.0 / expm1(w + d[i]);
        } else if (kind == Smoothing::laplace) {
            for (i64 i = 0; i < n; ++i) {
                const double z = w + d[i];
                out[q * n + i] = z < 0.0 ? 1.0 : 1.0 / (2.0 * exp(z) - 1.0);
            }
        } else {
            product_and_ratios(law, w, gaps, n, ratio, spare);
            for (i64 i = 0; i < n; ++i) out[q * n + i] = ratio[i];
        }
    }
    return true;
}

}  // namespace hn::HN_ISA
