// Integrand of FTPL for the laws of laws/, in the variable of each law. G(w) = prod_j F(w + d_j) and r(w +
// d_i), r = f/F. The change of variable w(t) is double exponential, so that the integrand in t is smooth and
// decreases fast at both ends.
#pragma once

#include "exponential.hpp"
#include "found_laws.hpp"  // written by the build: every header of laws/

namespace hn::HN_ISA {

inline double reach(const LawOf& law) {
    switch (law.kind) {
        case Smoothing::exponential:
        case Smoothing::laplace: return far;
#define HN_ROW(name) \
    case Smoothing::name: return name##_law::reach(law);
            HN_LAWS(HN_ROW)
#undef HN_ROW
        default: return infinity;
    }
}

inline Place place(const LawOf& law, double t) {
    switch (law.kind) {
#define HN_ROW(name) \
    case Smoothing::name: return name##_law::place(law, t);
        HN_LAWS(HN_ROW)
#undef HN_ROW
        default: return Rules::place(law, t);
    }
}

/// G(w), with r_i = r(w + d_i) written for every arm; d, r and room have a multiple of four places.
inline double product_and_ratios(const LawOf& law, double w, const double* d, i64 n, double* r,
                                 double* room) {
    switch (law.kind) {
#define HN_ROW(name) \
    case Smoothing::name: return product_of_law<name##_law>(law, w, d, n, r, room);
        HN_LAWS(HN_ROW)
#undef HN_ROW
        default: return 0.0;
    }
}

// The trapezoidal rule of FTPL for Gamma, Weibull, Frechet, Pareto and Gaussian perturbations.
//
// After the change of variable above, each halving of the step squares the error of the trapezoidal rule, so the
// difference between two step sizes bounds the error of the smaller one.

/// Relative change under halving that ends the refinement. The error of the finer rule is the square of this change
/// unless a singularity is near; `close_by` is for cases in which one may be near: see `agreement`.
inline constexpr double agree = 1e-6, close_by = 1e-11;
inline constexpr double negligible = 1e-17;  // smaller terms, relative to the sum of their arm, are negligible
inline constexpr double deepest =
    -640.0;  // below w = e^deep the integrand is a pure power of w; G(w) w is still e^deepest

/// A step that is fine enough for n tied arms; the refinement verifies it.
inline double first_step(const LawOf& law, i64 n) {
    const double spread = log(double(n)) + 1.0;
    if (law.kind == Smoothing::gaussian) return 0.45 / sqrt(spread);
    if (law.kind == Smoothing::frechet) return 0.35 / sqrt(spread);
    const double wide = law.kind == Smoothing::gamma && law.a > 1.0 ? spread + sqrt(law.a) : spread;
    return 0.36 / (wide > 2.6 ? wide : 2.6);
}

/// Return a t at which G is not small: the upper 1/n quantile of the law, or a larger one.
inline double centre(const LawOf& law, i64 n) {
    const double spread = log(double(n)) + 1.0;
    if (law.kind == Smoothing::gaussian) return 0.0;
    if (law.kind == Smoothing::gamma) return log(law.a + sqrt(2.0 * law.a * spread) + 2.0 * spread);
    return log(spread > 1.0 ? spread : 1.0);
}

/// A power z^a with a < 1 is nearly singular near a small gap.
inline double agreement(const LawOf& law, bool second) {
    return second || (law.a < 1.0 && law.kind != Smoothing::gaussian) ? close_by : agree;
}

/// Below w = e^deep the sums' integrand is w^order d(log w); deep is -inf if it never matters. With m tied leaders the
/// order is m a for the probabilities and m a - 1 for the Hessian; if m a - 1 is not positive, the rows of the tied
/// arms are infinite, and the other rows have order m a.
struct AtZero {
    double order, deep;
    bool infinite;
};
inline AtZero order_at_zero(const LawOf& law, const double* d, i64 n, bool second) {
    if (!((law.kind == Smoothing::weibull && law.conditioned == 0.0) || law.kind == Smoothing::gamma))
        return {infinity, -infinity, false};
    i64 tied = 0;
    for (i64 i = 0; i < n; ++i) tied += d[i] == 0.0;
    const double power = double(tied) * law.a, deep = deepest / (1.0 + power);
    if (second && tied > 1 && power > 1.0) return {power - 1.0, deep, false};
    return {power, deep, second && tied > 1};
}

/// (1 - e^-u)/u.
inline double shrunk(double u) { return u > 1e-8 ? -expm1(-u) / u : 1.0; }

/// r_i -> r_i sum_(j != i) r_j, by sums from both ends, because subtracting r_i from the total would cancel.
inline void pair_up(double* r, i64 n, double* others) {
    if (n == 1) return;
    double running = 0.0;
    for (i64 i = 0; i < n; ++i) {
        others[i] = running;
        running += r[i];
    }
    running = 0.0;
    for (i64 i = n - 1; i >= 0; --i) {
        others[i] += running;
        running += r[i];
    }
    for (i64 i = 0; i < n; ++i) r[i] *= others[i];
}

/// One integral for all arms, at gaps d >= 0, one of which is 0. All arrays have a multiple of four places.
struct Quadrature {
    LawOf law;
    const double* d;
    i64 n;
    bool second;
    double *r, *room, *others, *sums, *odd;
    AtZero zero;

    struct Visited {
        double w, weight, mean;
        i64 mattered;
    };

    /// Add the node w(t) to the sums of all arms.
    Visited visit(double t, bool is_odd) {
        auto [w, dw] = place(law, t);
        if (zero.deep > -infinity) {
            // G(w) w would underflow before w^order is negligible: below e^deep the node is e^deep, and w^order a factor.
            const double e = exp(-t), power = law.kind == Smoothing::weibull ? law.a : 1.0,
                         log_w = (t - e) / power;
            if (log_w < zero.deep) {
                w = exp(zero.deep);
                dw = w * (1.0 + e) / power * exp(zero.order * (log_w - zero.deep));
                if (law.kind == Smoothing::weibull && law.a < 0.05 && !second) {
                    // For such a small power, w^a is not small: F = 1 - e^-u, u = w^a, is not approximately a power.
                    const double u = exp(law.a * log_w), v = exp(law.a * zero.deep);
                    dw *= exp(v - u) * pow(shrunk(u) / shrunk(v), zero.order / law.a - 1.0);
                }
            }
        }
        if (!(dw > 0.0 && w < 1e300)) return {w, 0.0, 0.0, 0};
        const double weight = product_and_ratios(law, w, d, n, r, room) * dw;
        if (!(weight > 0.0)) return {w, 0.0, 0.0, 0};
        const double mean = weight * w * total_of(r, n);
        if (second) pair_up(r, n, others);
        i64 mattered = 0, i = 0;
        const f64x4 mass = splat(weight), little = splat(negligible);
        for (; i + 4 <= n; i += 4) {
            const f64x4 part = mass * load4(r + i), sum = load4(sums + i) + part;
            store4(sums + i, sum);
            mattered += bits(i64x4(part > little * sum));
            if (is_odd) store4(odd + i, load4(odd + i) + part);
        }
        for (; i < n; ++i) {
            const double part = weight * r[i];
            sums[i] += part;
            mattered += part > negligible * sums[i];
            if (is_odd) odd[i] += part;
        }
        return {w, weight, mean, mattered};
    }

    /// Write p (unnormalized); `mean` = E max(Z - d). second: refine until the row sums of the Hessian agree
    /// too.
    bool integrate(double* p, Nodes& nodes, double& mean) {
        double h = first_step(law, n);
        const double middle = centre(law, n), enough = agreement(law, second);
        zero = order_at_zero(law, d, n, second);
        for (i64 i = 0; i < n; ++i) sums[i] = odd[i] = 0.0;
        const bool line = law.kind == Smoothing::gaussian;
        const bool wide_mean = law.kind == Smoothing::gamma || law.kind == Smoothing::weibull;
        i64 first = 0, last = 0;
        mean = 0.0;
        if (line) {
            // phi(w + g) Phi(w) peaks at -g/2; the leaders' mass ends before 11.
            double gap = 0.0;
            for (i64 i = 0; i < n; ++i) gap = max(d[i], gap);
            first = i64(__builtin_floor((-0.5 * gap - 9.5) / h));
            last = i64(__builtin_ceil(11.0 / h));
        }
        // Add nodes upward, then downward, until a node does not matter for any arm; the interval of the Gaussian has
        // fixed ends.
        for (int direction = 0; direction < 2; ++direction) {
            i64 index = direction == 1 ? -1 : line ? first : 0;
            while (true) {
                if (line && (direction == 1 || index > last)) break;
                const Visited v = visit(middle + h * double(index), index % 2 != 0);
                if (v.weight > 0.0) {
                    mean += v.mean;
                    if (nodes.room > 0) nodes.add(v.w, v.weight);
                }
                if (!line) {
                    // The first node that does not matter is not necessarily the end, because a peak may be between it
                    // and later nodes that do.
                    first = index < first ? index : first;
                    last = index > last ? index : last;
                    // w times a density ends later than the density, so E max of a Weibull law needs a wider
                    // interval.
                    if (v.mattered == 0 && !(wide_mean && v.mean > negligible * mean)) break;
                }
                if (index > 200000 || index < -200000) return false;
                index += direction == 0 ? 1 : -1;
            }
        }
        for (int halving = 0; halving < 14; ++halving) {
            double worst = 0.0;
            for (i64 i = 0; i < n; ++i)
                // Infinite rows of the Hessian have no sum to compare.
                if (sums[i] * h > 1e-290 && !(zero.infinite && d[i] == 0.0))
                    worst = max(abs(sums[i] - 2.0 * odd[i]) / sums[i], worst);
            if (worst < enough) {
                for (i64 i = 0; i < n; ++i) p[i] = h * sums[i];
                for (i64 q = 0; q < nodes.used && q < nodes.room; ++q) nodes.mass[q] *= h;
                mean *= h;
                return true;
            }
            // Halve the step: all nodes so far become the even ones, the midpoints the odd ones.
            for (i64 i = 0; i < n; ++i) odd[i] = 0.0;
            for (i64 index = first; index < last; ++index) {
                const Visited v = visit(middle + h * (double(index) + 0.5), true);
                if (v.weight > 0.0) {
                    mean += v.mean;
                    if (nodes.room > 0) nodes.add(v.w, v.weight);
                }
            }
            h *= 0.5;
            first *= 2;
            last *= 2;
        }
        return false;
    }
};

/// prod_j F(w + d_j) - F(w)^n = F(w)^n expm1(sum_j log F(w + d_j) - log F(w)), without cancellation.
inline double difference_of_products(const LawOf& law, double w, const double* d, i64 n) {
    const bool frechet = law.kind == Smoothing::frechet;
    const double a = law.a, z = frechet ? w : 1.0 + w;
    const double x = frechet ? pow(z, -a) : exp(-a * log1p(w)), cdf = frechet ? 1.0 : -expm1(-a * log1p(w));
    if (cdf <= 0.0) return 0.0;
    double total = 0.0;
    for (i64 j = 0; j < n; ++j) {
        const double drop = -x * expm1(-a * log1p(d[j] / z));
        total += frechet ? drop : log1p(drop / cdf);
    }
    const double start = frechet ? -double(n) * x : double(n) * log(cdf);
    return total > 1.0 ? exp(start + total) - exp(start) : exp(start) * expm1(total);
}

/// E max_j Z_j - E max_j (Z_j - d_j) = int (G_d(w) - G_0(w)) dw for Frechet and Pareto: their own tails are too heavy
/// to integrate if a is near 1; this difference decreases faster by one power. NaN if it failed.
inline double excess(const LawOf& law, const double* d, i64 n) {
    double h = first_step(law, n);
    const double middle = centre(law, n);
    double even = 0.0, odd = 0.0;
    i64 first = 0, last = 0;
    for (int direction = 0; direction < 2; ++direction) {
        i64 index = direction == 0 ? 0 : -1;
        while (index < 200000 && index > -200000) {
            const auto [w, dw] = place(law, middle + h * double(index));
            const double term = dw > 0.0 && w < 1e300 ? difference_of_products(law, w, d, n) * dw : 0.0;
            (index % 2 == 0 ? even : odd) += term;
            first = index < first ? index : first;
            last = index > last ? index : last;
            if (term <= negligible * (even + odd) && (direction == 1 || w > 1.0 || even + odd > 0.0)) break;
            index += direction == 0 ? 1 : -1;
        }
    }
    for (int halving = 0; halving < 14; ++halving) {
        const double whole = even + odd;
        if (whole == 0.0 || abs(even - odd) < close_by * whole) return h * whole;
        even += odd;
        odd = 0.0;
        for (i64 index = first; index < last; ++index) {
            const auto [w, dw] = place(law, middle + h * (double(index) + 0.5));
            if (dw > 0.0 && w < 1e300) odd += difference_of_products(law, w, d, n) * dw;
        }
        h *= 0.5;
        first *= 2;
        last *= 2;
    }
    return __builtin_nan("");
}

}  // namespace hn::HN_ISA
