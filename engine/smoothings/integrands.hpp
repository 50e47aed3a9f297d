// The integrand of FTPL for Gamma, Weibull, Frechet, Pareto and Gaussian perturbations, in a variable made for it.
//
// G(w) = prod_j F(w + d_j) and r(w + d_i), r = f/F. The change of variable w(t) is double exponential, so that the
// integrand in t is smooth and falls fast at both ends.
#pragma once

#include "powers.hpp"

namespace hn::HN_ISA {

/// A law: its kind, its number a (shape, k or alpha), whether a Weibull is conditioned, and log Gamma(a) of a Gamma.
struct LawOf {
    Smoothing kind;
    double a, conditioned, constant;
};

inline constexpr double far = 707.0;  // an arm whose probability is surely below e^-far is given probability zero

/// The gap d beyond which an arm's probability is surely below e^-far, P(Z > d) or, Gaussian, its square root.
inline double reach(const LawOf& law) {
    switch (law.kind) {
        case Smoothing::exponential: case Smoothing::laplace: return far;
        case Smoothing::gamma: return law.a > 1.0 ? 2.0 * (far + law.a) : far;  // S(d) <= e^(-d/2) 2^a for every d
        case Smoothing::weibull:
            return law.conditioned > 0.0 ? pow(1.0 + far, 1.0 / law.a) - 1.0 : pow(far, 1.0 / law.a);
        case Smoothing::gaussian: return 2.0 * root(far);
        default: return infinity;
    }
}

struct Place { double w, dw; };

/// The node w(t) and dw/dt; w is measured from the lower end of the leader's support.
inline Place place(const LawOf& law, double t) {
    const double a = law.a;
    if (law.kind == Smoothing::gaussian) return {t, 1.0};
    if (law.kind == Smoothing::frechet) {
        const double e = exp(t), w = exp((t + e) / a);
        return {w, w * (1.0 + e) / a};
    }
    const double e = exp(-t), u = exp(t - e), du = u * (1.0 + e);
    if (law.kind == Smoothing::pareto) return {expm1(u / a), exp(u / a) / a * du};
    if (law.kind == Smoothing::weibull) {
        if (law.conditioned > 0.0) {
            const double w = expm1(log1p(u) / a);
            return {w, (1.0 + w) / (a * (1.0 + u)) * du};
        }
        const double w = exp((t - e) / a);
        return {w, w / a * (1.0 + e)};
    }
    return {u, du};
}

/// F = P(a, z) and r = f/F of the Gamma law at z > 0: the regularized incomplete gamma function.
inline void gamma_cdf_and_ratio(double a, double z, double log_gamma, double& cdf, double& ratio) {
    if (z <= 0.0) {
        cdf = 0.0, ratio = infinity;
        return;
    }
    const double front = exp(a * log(z) - z - log_gamma);  // z f(z)
    if (z < a + 1.0) {
        // series: P = z^a e^-z / Gamma(a) * sum_k z^k / (a (a+1) ... (a+k))
        double term = 1.0 / a, total = term, k = a;
        while (term > 1e-17 * total) {
            k += 1.0;
            term *= z / k;
            total += term;
        }
        cdf = front * total, ratio = 1.0 / (z * total);
        return;
    }
    // modified Lentz on the continued fraction of the upper tail
    double b = z + 1.0 - a, c = 1e300, d = 1.0 / b, fraction = d;
    const int most_terms = 500 + int(10.0 * root(a));
    for (int k = 1; k < most_terms; ++k) {
        const double step = -double(k) * (double(k) - a);
        b += 2.0;
        d = step * d + b;
        if (size(d) < 1e-300) d = 1e-300;
        c = b + step / c;
        if (size(c) < 1e-300) c = 1e-300;
        d = 1.0 / d;
        const double change = d * c;
        fraction *= change;
        if (size(change - 1.0) < 1e-16) break;
    }
    cdf = 1.0 - front * fraction;
    ratio = front / z / cdf;
}

inline double total_of(const double* x, i64 n) {
    f64x4 sum{};
    i64 i = 0;
    for (; i + 4 <= n; i += 4) sum += load4(x + i);
    double rest = 0.0;
    for (; i < n; ++i) rest += x[i];
    return fold(sum) + rest;
}
inline double product_of(const double* x, i64 n) {
    f64x4 product = splat(1.0);
    i64 i = 0;
    for (; i + 4 <= n; i += 4) product *= load4(x + i);
    double rest = 1.0;
    for (; i < n; ++i) rest *= x[i];
    return fold_product(product) * rest;
}

/// G(w), with r_i = r(w + d_i) written for every arm; d, r and room have places in fours.
inline double product_and_ratios(const LawOf& law, double w, const double* d, i64 n, double* r, double* room) {
    const double a = law.a;
    switch (law.kind) {
        case Smoothing::frechet:
            if (a == 2.0) {
                f64x4 sum{};
                i64 i = 0;
                for (; i + 4 <= n; i += 4) {
                    const f64x4 inverse = 1.0 / (w + load4(d + i)), square = inverse * inverse;
                    sum += square;
                    store4(r + i, 2.0 * square * inverse);
                }
                double rest = 0.0;
                for (; i < n; ++i) {
                    const double inverse = 1.0 / (w + d[i]), square = inverse * inverse;
                    rest += square;
                    r[i] = 2.0 * square * inverse;
                }
                return exp(-(fold(sum) + rest));
            }
            for (i64 i = 0; i < n; ++i) {
                const double z = w + d[i];
                room[i] = pow(z, -a);
                r[i] = a * room[i] / z;
            }
            return exp(-total_of(room, n));
        case Smoothing::pareto:
            if (a == 2.0 && w >= 0.01) {
                for (i64 i = 0; i < n; ++i) {
                    const double z = 1.0 + w + d[i], square = z * z;
                    // F = 1 - 1/z^2, r = 2/(z^3 F) = 2/(z (z^2 - 1))
                    room[i] = 1.0 - 1.0 / square;
                    r[i] = 2.0 / (z * (square - 1.0));
                }
            } else {
                for (i64 i = 0; i < n; ++i) {
                    const double y = w + d[i];
                    double tail;
                    if (y < 0.01) {  // 1 - (1 + y)^-a would cancel
                        room[i] = -expm1(-a * log1p(y));
                        tail = 1.0 - room[i];
                    } else {
                        tail = pow(1.0 + y, -a);
                        room[i] = 1.0 - tail;
                    }
                    r[i] = a * tail / ((1.0 + y) * room[i]);
                }
            }
            break;
        case Smoothing::weibull:
            for (i64 i = 0; i < n; ++i) {
                const double z = w + d[i];
                double u, slope;
                if (law.conditioned > 0.0) {
                    u = expm1(a * log1p(z));
                    slope = a * (1.0 + u) / (1.0 + z);
                } else {
                    u = pow(z, a);
                    slope = a * u / z;
                }
                const double grown = expm1(u);
                room[i] = u < 700.0 ? grown / (grown + 1.0) : 1.0;
                r[i] = u < 709.0 ? slope / grown : slope * exp(-u);
            }
            break;
        case Smoothing::gamma:
            for (i64 i = 0; i < n; ++i) gamma_cdf_and_ratio(a, w + d[i], law.constant, room[i], r[i]);
            break;
        default:  // Gaussian
            for (i64 i = 0; i < n; ++i) {
                const double z = w + d[i];
                const double x = -z * 0.7071067811865476;  // sqrt(1/2)
                room[i] = 0.5 * erfc(x);
                // f/F without the two exponentials where F is small: they cancel.
                r[i] = x > 0.0 ? 0.7978845608028654 / erfcx(x) : 0.3989422804014327 * exp(-0.5 * z * z) / room[i];
            }
    }
    return product_of(room, n);
}

}  // namespace hn::HN_ISA
