// FTRL, computed: p(L) = argmin <L, p> + F(p) on the simplex, by its single multiplier.
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
#include "../rounds/schedule.hpp"
#include "../setup.hpp"

namespace hn::HN_ISA {

inline double lowest(const double* L, i64 n) {
    double low = L[0];
    for (i64 i = 1; i < n; ++i) low = min(L[i], low);
    return low;
}

/// Kahan summation, because 100,000 equal terms would otherwise lose four digits.
inline double careful_sum(const double* x, i64 n) {
    double total = 0.0, lost = 0.0;
    for (i64 k = 0; k < n; ++k) {
        const double term = x[k] - lost, grown = total + term;
        lost = (grown - total) - term;
        total = grown;
    }
    return total;
}

struct PowerLeaders {
    double total, beyond;
    bool fine;
};

/// Tsallis (0 < alpha < 1) and log-barrier (alpha = 0): fills w with p. beyond = (m - m0)/m0 >= 0; the given value is a
/// warm start. From the right of the root, one Newton step for a concave function leads to the left of it, and from
/// there every step is to the right.
inline PowerLeaders power_leaders(const double* L, i64 n, double scale, double alpha, double beyond,
                                  double* w) {
    const double low = lowest(L, n), s = 1.0 / (1.0 - alpha);
    const double m0 = alpha > 0.0 ? scale * alpha * s : scale;
    double total = 0.0;
    if (!(beyond >= 0.0)) beyond = 0.0;
    for (int step = 0; step < 200; ++step) {
        total = 0.0;
        double slope = 0.0, lost = 0.0;
        for (i64 i = 0; i < n; ++i) {
            // x = (d_i + m)/m0 - 1: log1p is accurate if alpha is near 1 and s is huge.
            const double x = (L[i] - low) / m0 + beyond, inverse = 1.0 / (1.0 + x);
            const double p = alpha == 0.5 ? inverse * inverse : alpha == 0.0 ? inverse : exp(-s * log1p(x));
            w[i] = p;
            slope += p * inverse;
            const double term = p - lost, grown = total + term;
            lost = (grown - total) - term;
            total = grown;
        }
        // Newton on h(m)/m0 = total^(-1/s): its derivative in beyond is total^(-1/s - 1) slope.
        if (abs(total - 1.0) <= 4e-16 * (double(n) + 1.0)) return {total, beyond, true};
        const double move = expm1(log(total) / s) * total / slope;
        if (!(abs(move) < infinity)) return {total, beyond, false};
        const double moved = beyond + move;
        if (moved == beyond || abs(move) <= 1e-16 * (1.0 + beyond) || (move < 0.0 && step > 0))
            return {total, beyond, true};
        beyond = moved > 0.0 ? moved : 0.0;
    }
    return {total, beyond, false};
}

/// <L, p> + F(p) for Tsallis (0 < alpha < 1) and log-barrier (alpha = 0), p = w/total.
inline double regularizer_value(const double* L, const double* w, i64 n, double total, double scale,
                                double alpha) {
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

// Tsallis of any alpha, not too near 0 or 1: w_i = u_i^-s, u_i = (L_i - base)/m0 + y, s = 1/(1-alpha), m0 = scale alpha s.
//
// The series of barrier.hpp with a real power s instead of K: one pass of logarithms and exponentials per round.

struct PowerSeries {
    static constexpr double small = 2e-4;

    struct Sums {
        double s0, s1, s2, s3;
    };
    static HN_INLINE double power_of(const Setup& s) { return 1.0 / (1.0 - s.parameter[0]); }
    static HN_INLINE double rate_of(const Setup& s, const Run& run) {
        return run.inverse / (s.parameter[0] * power_of(s));
    }

    /// w_j = u_j^-s, with `value` instead of L_i; returns sum w r^k, k = 0 .. 3, r = 1/u.
    static HN_INLINE Sums pass(const Setup& s, Run& run, double rate, double y, i64 i, double value) {
        const f64x4 from = splat(run.base), times = splat(rate), place = splat(y), here = splat(value);
        const f64x4 power = splat(-power_of(s));
        f64x4 s0{}, s1{}, s2{}, s3{};
        for (i64 j = 0; j < s.n; j += 4) {
            const f64x4 L = select(i64x4(lanes(j) == splat(i)), here, load4(run.L + j));
            const f64x4 u = (L - from) * times + place, r = 1.0 / u;
            const f64x4 p = only(i64x4(lanes(j) < splat(s.n)), exp(power * log4(u)));
            store4(run.w + j, p);
            const f64x4 q = p * r, r2 = r * r;
            s0 += p;
            s1 += q;
            s2 += p * r2;
            s3 += q * r2;
        }
        return {fold(s0), fold(s1), fold(s2), fold(s3)};
    }

    /// Set L_i = value at the current scale; `before` is the scale of the current weights. Returns false if it failed.
    static inline bool after_one(const Setup& s, Run& run, i64 i, double value, double before) {
        const double K = power_of(s), rate = rate_of(s, run);
        const double ratio = before * run.inverse, shrink = 1.0 / ratio;
        double y = run.warm * ratio;
        const double old = run.w[i];
        const double old_r = 1.0 / ((run.L[i] - run.base) * (rate * shrink) + run.warm);
        const double u = (value - run.base) * rate + y;
        if (!(u > 0.1)) {
            run.L[i] = value;
            return from_anywhere(s, run);
        }
        const double r = 1.0 / u, p = exp(-K * log(u)), unit = ratio == 1.0 ? 1.0 : exp(K * log(shrink));
        const double e = ((run.total - old) * unit - 1.0) + p;
        const double slope = (run.slope_sum - old * old_r) * (unit * shrink) + p * r;
        // Newton's step on S^(-1/K), concave: ((1 + e)^(1/K) - 1)(1 + e)/slope, as a series: a first
        // approximation.
        const double k = 1.0 / K;
        y += e * (k + e * k * (0.5 * (k - 1.0) + 1.0)) / slope;
        double low = run.L[0];
        for (i64 j = 1; j < s.n; ++j) low = min(j == i ? value : run.L[j], low);
        if (i == 0) low = min(value, low);
        if (!((low - run.base) * rate + y > 0.5)) {
            run.L[i] = value;
            return from_anywhere(s, run);
        }
        const Sums sums = pass(s, run, rate, y, i, value);
        run.L[i] = value;
        const double error = sums.s0 - 1.0;
        if (!(abs(error) < small && y > -3.0)) return from_anywhere(s, run);
        const double third = 1.0 / sums.s1, x = (error / K) * third;
        const double b = (0.5 * (K + 1.0)) * sums.s2 * third,
                     c = ((K + 1.0) * (K + 2.0) / 6.0) * sums.s3 * third;
        const double delta = x + (x * x) * (b + x * (2.0 * (b * b) - c));
        const f64x4 from = splat(run.base), times = splat(rate), place = splat(y), one = splat(1.0);
        for (i64 j = 0; j < s.n; j += 4) {
            // (1 + t)^-K, t = delta/u.
            const f64x4 t = splat(delta) / ((load4(run.L + j) - from) * times + place);
            const f64x4 series = one - K * t * (one - (0.5 * (K + 1.0)) * t * (one - ((K + 2.0) / 3.0) * t));
            store4(run.w + j, min(load4(run.w + j) * series, one));
        }
        run.warm = y + delta;
        run.slope_sum = sums.s1 - (K + 1.0) * sums.s2 * delta;
        run.total = 1.0;
        return true;
    }

    static HN_COLD bool from_anywhere(const Setup& s, Run& run) {
        const double low = lowest(run.L, s.n), rate = rate_of(s, run);
        const double beyond = run.warm + (low - run.base) * rate - 1.0;
        const PowerLeaders solved = power_leaders(run.L, s.n, run.scale, s.parameter[0], beyond, run.w);
        run.total = solved.total;
        run.base = low;
        run.warm = 1.0 + solved.beyond;
        double slope = 0.0;
        for (i64 j = 0; j < s.n; ++j) slope += run.w[j] / ((run.L[j] - low) * rate + run.warm);
        run.slope_sum = slope;
        return solved.fine;
    }

    static inline double value(const Setup& s, const Run& run) {
        return regularizer_value(run.L, run.w, s.n, run.total, run.scale, s.parameter[0]);
    }
};

}  // namespace hn::HN_ISA
