// Tsallis 1/2 (K = 2) and the log-barrier (K = 1): w_i = u_i^-K, u_i = (L_i - base)/scale + y, where y is the root of
// S_K = 1, S_k = sum u_i^-k. After one arm has changed, the changes of S_K and S_K+1, and hence Newton's first step,
// are known without a pass. One pass then gives S_K .. S_K+3, and the root is the inverted series in e = S_K - 1,
//
//     delta = x + b x^2 + (2 b^2 - c) x^3 + O(e^4),  x = e/(K S_K+1),
//     b = (K+1)/2 S_K+2/S_K+1,  c = (K+1)(K+2)/6 S_K+3/S_K+1,
//
// from which the weights follow without a further division: 1/(u + delta) = r (1 - t)(1 + t^2) + O(t^4), t = delta r.
// The log-barrier uses one more term of each series: (5 b^3 - 5 b c + d) x^4, d = (K+1)(K+2)(K+3)/24 S_K+4/S_K+1, and
// (1 + t^4).
//
// Phi is stationary in y at the root, so near the root
//
//     Phi = base + scale (2 - y - S_1),    log-barrier: base + scale (n - y + sum log u_i).
//
// From any starting point: S_K^(-1/K) is concave in y, so Newton's method needs three or four passes from the last
// root, and after a step to the left of the root it never overshoots; with base = min L, y >= 1 (no probability exceeds
// 1) is away from the pole.
#pragma once

#include "../rounds/schedule.hpp"

namespace hn::HN_ISA {

/// Logarithm of a product of positive numbers: exponents are added, significands multiplied.
class LogOfProduct {
    f64x4 significands = splat(1.0);
    i64x4 exponents{};

    HN_INLINE void split(f64x4& x) {
        const i64x4 word = (i64x4)x;
        exponents += (word >> 52) - 1023;
        x = (f64x4)((word & 0x000fffffffffffff) | 0x3ff0000000000000);
    }

public:
    HN_INLINE void take(f64x4 x) {
        split(x);
        significands *= x;
        split(significands);
    }
    HN_INLINE double log() const {
        const double whole = double((exponents[0] + exponents[1]) + (exponents[2] + exponents[3]));
        return fma(whole, 0.6931471805599453, hn::HN_ISA::log(fold_product(significands)));
    }
};

/// Compute y, and Phi at y; returns false if the series did not converge.
struct SeriesRoot {
    double y, value;
    bool fine;
};

template <int K>
struct Barrier {
    static_assert(K == 1 || K == 2);
    static constexpr bool longer =
        K == 1;  // with large learning rates, one more term of the series saves passes
    static constexpr double small = longer ? 1e-3 : 2e-4;  // smaller e: e^5 (e^4) is below the rounding error
    static constexpr double least_y =
        -3.0;  // y decreases if losses exceed base; above this value u loses no digits

    template <class V> struct SumsOf {
        V s0, s1, s2, s3, s4;
    };  // S_K .. S_K+3, and S_K+4 for the longer series, otherwise S_1 (from `pass` only)
    using Sums = SumsOf<double>;

    template <class V> static HN_INLINE V power(V r) { return K == 2 ? r * r : r; }
    /// Newton's step on S^(-1/K), as a series in e: a first approximation.
    template <class V> static HN_INLINE V guess(V e) {
        return K == 2 ? e * (0.5 + e * (0.375 - 0.0625 * e)) : e * (1.0 + e);
    }
    /// The same step for any e.
    static HN_INLINE double newton(double s, double slope) {
        return (K == 2 ? sqrt(s) - 1.0 : s - 1.0) * s / slope;
    }

    /// Distance of the root, from the sums at y.
    template <class V> static HN_INLINE V to_root(const SumsOf<V>& sums) {
        const V third = 1.0 / sums.s1, x = ((sums.s0 - 1.0) * (1.0 / K)) * third;
        const V b = (0.5 * (K + 1)) * sums.s2 * third, c = ((K + 1) * (K + 2) / 6.0) * sums.s3 * third;
        if constexpr (longer) {
            const V d = ((K + 1) * (K + 2) * (K + 3) / 24.0) * sums.s4 * third;
            const V x2 = x * x, b2 = b * b;  // short chains
            return (x + x2 * b) + (x2 * x) * ((2.0 * b2 - c) + x * ((5.0 * b) * (b2 - c) + d));
        }
        return x + (x * x) * (b + x * (2.0 * (b * b) - c));
    }
    /// Weight at the root from r at y, t = delta r; `at_root`: no probability exceeds 1.
    template <class V> static HN_INLINE V turned(V r, V t) {
        const V t2 = t * t, close = r * ((1.0 - t) * (1.0 + t2));
        return power(longer ? close * (1.0 + t2 * t2) : close);
    }
    template <class V> static HN_INLINE V at_root(V r, V t) { return min(turned(r, t), V{} + 1.0); }

    /// Pass r_j to a function, four at a time, with `value` instead of L_i; returns the sums.
    template <class Take>
    static HN_INLINE Sums pass(const Setup& s, const Run& run, double y, i64 i, double value, Take take) {
        const f64x4 from = splat(run.base), rate = splat(run.inverse), place = splat(y), here = splat(value);
        f64x4 s0{}, s1{}, s2{}, s3{}, s4{};
        for (i64 j = 0; j < s.n; j += 4) {
            const f64x4 L = select(i64x4(lanes(j) == splat(i)), here, load4(run.L + j));
            const f64x4 r = 1.0 / ((L - from) * rate + place);
            take(j, r);
            const f64x4 r2 = r * r, p = power(r);
            s0 += p;
            s1 += p * r;
            s2 += p * r2;
            s3 += (p * r) * r2;
            s4 += longer ? (p * r2) * r2 : r;
        }
        return {fold(s0), fold(s1), fold(s2), fold(s3), fold(s4)};
    }

    /// As above, with the result written to w.
    static HN_INLINE Sums pass(const Setup& s, Run& run, double y, i64 i, double value) {
        return pass(s, run, y, i, value, [&](i64 j, f64x4 r) HN_WITHIN { store4(run.w + j, r); });
    }

    /// Scale of the current weights and its inverse, if the next round has another scale.
    template <class V> struct Before {
        V scale, inverse;
    };
    /// Newton's first step after L_i has become `value`, from the current weight, sums and y: the point of the pass.
    template <class V>
    static HN_INLINE V first_place(V value, V base, V old, V total, V slope_sum, V warm,
                                   const Before<V>& before, V scale, V inverse) {
        if constexpr (K == 1) {
            // In units of L, in which everything except 1/scale is known before the new scale: r = 1/l, l = L_i - base
            // + scale y. The slope R + r^2 is (R l^2 + 1)/l^2, so that its division need not wait for the division of
            // r.
            const V place = warm * before.scale, l = (value - base) + place, l2 = l * l, r = 1.0 / l;
            const V mine = old * before.inverse;
            const V rest = slope_sum * (before.inverse * before.inverse) - mine * mine,
                    flat = l2 / (rest * l2 + 1.0);
            const V e = ((total * before.inverse - mine) + r) * scale - 1.0;
            return (place + guess(e) * (flat * inverse)) * inverse;
        } else {
            const V ratio = before.scale * inverse;  // lengths in units of the scale grow by this factor
            const V shrink = 1.0 / ratio, unit = shrink * shrink, y = warm * ratio;
            const V r = 1.0 / ((value - base) * inverse + y), p = power(r);
            const V e = ((total - old) * unit - 1.0) + p, rest = slope_sum - old * hn::HN_ISA::sqrt(old);
            return y + guess(e) / (rest * (unit * shrink) + p * r);
        }
    }

    /// Set L_i = value at the current scale; `before` is the scale of the current weights. Phi is computed if
    /// requested. Returns false if it failed.
    static HN_INLINE bool after_one(const Setup& s, Run& run, i64 i, double value,
                                    const Before<double>& before, bool valued) {
        const double y = first_place(value, run.base, run.w[i], run.total, run.slope_sum, run.warm, before,
                                     run.scale, run.inverse);
        const Sums sums = pass(s, run, y, i, value);
        run.L[i] = value;  // not before the pass, because its wide loads would wait for this store
        const double delta = to_root(sums);
        if (__builtin_expect(!converges(sums.s0, y), 0)) {
            const bool fine = once_more(s, run, y + delta);
            if (valued) run.value = Barrier::value(s, run);
            return fine;
        }
        step_to(s, run, sums, y, delta);
        if (valued)
            run.value = K == 2 ? dual(s, run.base, run.scale, run.warm, roots_at(sums, delta))
                               : Barrier::value(s, run);
        return true;
    }
    /// S_1 at y + delta from the sums at y.
    static HN_INLINE double roots_at(const Sums& sums, double delta) {
        return sums.s4 - delta * (sums.s0 - delta * (sums.s1 - delta * sums.s2));
    }
    /// sum log u_i at y + delta from that at y.
    static HN_INLINE double logs_at(double logs, const Sums& sums, double delta) {
        const double half = sums.s1 / 2.0, third = sums.s2 / 3.0, fourth = sums.s3 / 4.0;
        return logs + delta * (sums.s0 - delta * (half - delta * (third - delta * fourth)));
    }

    /// Root for L_i = value at the current scale, and Phi there; no state is changed, and no weight is computed.
    static HN_INLINE SeriesRoot root_after(const Setup& s, const Run& run, i64 i, double value) {
        const double y = first_place(value, run.base, run.w[i], run.total, run.slope_sum, run.warm,
                                     Before<double>{run.scale, run.inverse}, run.scale, run.inverse);
        LogOfProduct product;
        const Sums sums = pass(s, run, y, i, value, [&](i64 j, f64x4 r) HN_WITHIN {
            if constexpr (K == 1) product.take(select(i64x4(lanes(j) < splat(s.n)), r, splat(1.0)));
        });
        const double delta = to_root(sums);
        const double sum = K == 2 ? roots_at(sums, delta) : logs_at(-product.log(), sums, delta);
        return {y + delta, dual(s, run.base, run.scale, y + delta, sum), converges(sums.s0, y)};
    }
    static HN_INLINE bool converges(double s0, double y) { return abs(s0 - 1.0) < small && y > least_y; }
    /// If the series of the first pass is not accurate enough, it is a good starting point: another pass there, or from
    /// any point.
    static HN_APART bool once_more(const Setup& s, Run& run, double y) {
        if (longer && y > least_y) {
            const Sums sums = pass(s, run, y, -1, 0.0);
            if (converges(sums.s0, y)) {
                step_to(s, run, sums, y, to_root(sums));
                return true;
            }
        }
        return from_anywhere(s, run);
    }

    /// After a pass at y: compute the weights at the root y + delta.
    static HN_INLINE void step_to(const Setup& s, Run& run, const Sums& sums, double y, double delta) {
        const f64x4 step = splat(delta);
        for (i64 j = 0; j < s.n; j += 4) {
            const f64x4 here = load4(run.w + j);
            store4(run.w + j, at_root(here, step * here));
        }
        run.placed = y;
        run.moved = delta;
        run.warm = y + delta;
        run.slope_sum = sums.s1 - (K + 1) * sums.s2 * delta;
        run.total = 1.0;  // up to rounding errors, which delta corrects
    }
    /// After a pass at the root y: compute the weights there.
    static HN_INLINE void stay_at(const Setup& s, Run& run, const Sums& sums, double y) {
        for (i64 j = 0; j < s.n; j += 4) store4(run.w + j, power(load4(run.w + j)));
        run.placed = y;
        run.moved = 0.0;
        run.warm = y;
        run.total = sums.s0;
        run.slope_sum = sums.s1;
    }
    /// Recompute one weight, the sums and the warm start from L, base, scale, placed, moved, slope_sum and the current
    /// total: the values that `after_one` needs before it recomputes the weights. The bits are those of `again`.
    static HN_INLINE void again_one(const Setup&, Run& run, i64 i) {
        const double r = 1.0 / ((run.L[i] - run.base) * run.inverse + run.placed);
        run.w[i] = run.moved != 0.0 ? at_root(r, run.moved * r) : power(r);
        run.warm = run.moved != 0.0 ? run.placed + run.moved : run.placed;
    }
    /// Recompute the weights, their sums and the warm start from L, base, scale, placed and moved, with the same bits.
    /// A step of 0 results from an error of 0, and then both computations agree.
    static HN_INLINE void again(const Setup& s, Run& run) {
        const double y = run.placed;
        const Sums sums = pass(s, run, y, -1, 0.0);
        if (run.moved != 0.0) step_to(s, run, sums, y, run.moved);
        else stay_at(s, run, sums, y);
    }

    /// As above, if the total and the sum of the slopes are known: recompute only the weights and the warm start.
    static HN_INLINE void again_weights(const Setup& s, Run& run) {
        const f64x4 from = splat(run.base), rate = splat(run.inverse), place = splat(run.placed);
        const f64x4 step = splat(run.moved);
        if (run.moved != 0.0) {
            for (i64 j = 0; j < s.n; j += 4) {
                const f64x4 here = 1.0 / ((load4(run.L + j) - from) * rate + place);
                store4(run.w + j, at_root(here, step * here));
            }
        } else {
            for (i64 j = 0; j < s.n; j += 4)
                store4(run.w + j, power(1.0 / ((load4(run.L + j) - from) * rate + place)));
        }
        run.warm = run.moved != 0.0 ? run.placed + run.moved : run.placed;
    }

    /// w and total for L at the current scale, for any change of L; returns false if it failed.
    static HN_APART bool from_anywhere(const Setup& s, Run& run) {
        double low = run.L[0];
        for (i64 j = 1; j < s.n; ++j) low = min(run.L[j], low);
        // In units of the scale y is in [1, n^(1/K)] when base is min L.
        const double widest = K == 2 ? sqrt(double(s.n)) : double(s.n);
        double y = run.warm + (low - run.base) * run.inverse;
        y = min(y > 1.0 ? y : 1.0, widest);
        run.base = low;
        bool last = false;
        double error = 1.0;
        for (int turn = 0; turn < 100; ++turn) {
            const Sums sums = pass(s, run, y, -1, 0.0);
            error = sums.s0 - 1.0;
            if (last || abs(error) < 1e-14) {
                stay_at(s, run, sums, y);
                return abs(error) < 1e-9;
            }
            y += newton(sums.s0, sums.s1);
            y = y > 1.0 ? y : 1.0;
            last = abs(error) < 1e-7;
        }
        return false;
    }

    /// Phi(L) from the current weights.
    static inline double value(const Setup& s, const Run& run) {
        f64x4 roots{};
        LogOfProduct product;
        for (i64 j = 0; j < s.n; j += 4) {
            const i64x4 inside = i64x4(lanes(j) < splat(s.n));
            if constexpr (K == 2) roots += only(inside, sqrt(load4(run.w + j)));
            else product.take(select(inside, load4(run.w + j), splat(1.0)));
        }
        return dual(s, run.base, run.scale, run.warm, K == 2 ? fold(roots) : -product.log());
    }
    /// Phi from y and S_1, or from y and sum log u_i.
    static HN_INLINE double dual(const Setup& s, double base, double scale, double y, double sum) {
        return base + scale * (K == 2 ? (2.0 - y) - sum : (double(s.n) - y) + sum);
    }
};

}  // namespace hn::HN_ISA
