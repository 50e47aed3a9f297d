// Rule B: weights of columns of forecasts, a learning rate a column, scale-free, targets late and in any order.
//
// When the target of a row comes, g is the slope of the loss at the forecast x that was given, z what the weights now in
// place would forecast for the row. For the awake columns
//
//     r_i = g (z - f_i),  V_i += r_i^2 + 2 |r_i| (sum of |r_i| settled since the row was answered),  M_i = max |r_i|,
//     eta_i = 1/max(2 M_i, sqrt V_i),  S_i += r_i - eta_i r_i^2,  weights ~ pi_i eta_i e^(eta_i S_i),
//
// among the awake columns seen before (none: pi). Two guards: a row whose awake columns agree to rounding, or with g = 0,
// moves nothing; at its first sight V_i starts from max_j r_j^2/10 and M_i from max_j |r_j|/sqrt 10. Without them a column
// that equals the forecast to rounding gets a rate near 1e16 and all of the weight.
//
// P grows so that sum_i pi_i e^(eta_i S_i) <= P; hence sum g (x - f_i) <= ln(P/pi_i)/eta_i + C_i + drift_i + still_i,
// C_i = sum eta_i r_i^2, drift_i = sum g (x - z), still_i = sum r_i of the rows that moved nothing: docs/proofs/combine.md.
#pragma once

#include "../combination.hpp"
#include "../exp.hpp"
#include "../log.hpp"

namespace hn::HN_ISA {

inline constexpr double coincide = 1e-12, smallest_slope = 1e-140, largest_slope = 1e140, first_share = 0.1;

/// Below this, or from its inverse on, sums of weights have lost digits: logarithms take over.
inline constexpr double weight_floor = 1e-250;

/// The weights of the awake by their logarithms; pi where nobody awake was seen.
HN_COLD double mix_by_logs(const RuleBState& b, const double* f, double* p) {
    double top = -infinity, total = 0.0, mixed = 0.0;
    const auto height = [&](i64 i) { return log(b.prior[i]) + log(b.rate[i]) + b.rate[i] * b.gain[i]; };
    for (i64 i = 0; i < b.n; ++i)
        if (f[i] == f[i] && b.rate[i] > 0.0) top = most(height(i), top);
    const bool seen = top > -infinity;
    const auto share = [&](i64 i) {
        if (f[i] != f[i]) return 0.0;
        if (!seen) return b.prior[i];
        return b.rate[i] > 0.0 ? exp(height(i) - top) : 0.0;
    };
    for (i64 i = 0; i < b.n; ++i) total += share(i);
    for (i64 i = 0; i < b.n; ++i) {
        const double part = share(i) / total;
        if (f[i] == f[i]) mixed += part * f[i];
        if (p) p[i] = part;
    }
    return mixed;
}

/// What the weights in place forecast for a row whose awake columns are in [low, high]; p (n) may be null.
HN_INLINE double mix_b(const RuleBState& b, const double* f, double low, double high, double* p) {
    f64x4 total{}, sum{};
    for (i64 i = 0; i < b.places; i += 4) {
        const f64x4 here = load4(f + i), w = load4(b.weight + i);
        const i64x4 awake = here == here;
        total += only(awake, w);
        sum += only(awake, w * here);
    }
    const double mass = fold(total), weighed = fold(sum);
    double x;
    if (mass > weight_floor && mass < 1.0 / weight_floor && size(weighed) < infinity) {
        x = weighed / mass;
        if (p)
            for (i64 i = 0; i < b.n; ++i) p[i] = f[i] == f[i] ? b.weight[i] / mass : 0.0;
    } else {
        x = mix_by_logs(b, f, p);
    }
    // Rounding must not lead out of the columns: a probability stays one.
    return most(least(x, high), low);
}

/// Settle a row that was answered with x, when the sums of |r_i| were `before` (null: nothing was settled since). The
/// columns are in [low, high], and were made of numbers of size `scale`.
HN_INLINE void settle_b(RuleBState& b, const double* f, double x, double g, double low, double high, double scale,
                        const double* before) {
    const double z = mix_b(b, f, low, high, nullptr);
    const double spread = most(high - z, z - low), drifted = g * (x - z), largest = size(g) * spread;
    const bool still = spread <= coincide * scale || !(largest >= smallest_slope);
    const f64x4 slope = splat(g), here = splat(z), given = splat(x), nothing{};
    for (i64 i = 0; i < b.places; i += 4) {
        const f64x4 column = load4(f + i);
        const i64x4 awake = column == column;
        store4(b.lead + i, load4(b.lead + i) + only(awake, slope * (given - column)));
        store4(b.drift + i, load4(b.drift + i) + only(awake, splat(drifted)));
        if (still) store4(b.still + i, load4(b.still + i) + only(awake, slope * (here - column)));
    }
    if (still) return;
    const bool bounded = b.forget == 1.0;
    const f64x4 first = splat(first_share * (largest * largest)), most_first = splat(root(first_share) * largest);
    f64x4 more{};
    for (i64 i = 0; i < b.places; i += 4) {
        const f64x4 column = load4(f + i);
        const i64x4 awake = column == column;
        const f64x4 rate = load4(b.rate + i), gain = load4(b.gain + i), sizes = load4(b.sizes + i);
        const i64x4 seen = rate > nothing;
        const f64x4 r = only(awake, slope * (here - column)), r2 = r * r, far = size(r);
        const f64x4 between = before ? sizes - load4(before + i) : nothing;
        const f64x4 V = select(seen, load4(b.squares + i) * b.forget, first) + (r2 + 2.0 * far * between);
        const f64x4 M = most(select(seen, load4(b.largest + i), most_first), far);
        const f64x4 next = 1.0 / most(2.0 * M, root(V));
        const f64x4 after = gain * b.forget + (r - next * r2), level = exp(next * after);
        if (bounded) {
            const f64x4 a = next / select(seen, rate, splat(1.0)), u = next * r;
            const f64x4 fall = (1.0 - a * a) * (rate * far) - (1.0 - a);
            const f64x4 kept = (1.0 - a) * (1.0 + u) + only(r < nothing, load4(b.level + i) * most(fall, nothing));
            const f64x4 sight = most(level - 1.0, nothing);
            more += only(awake, load4(b.prior + i) * select(seen, kept, sight));
            store4(b.spent + i, load4(b.spent + i) + only(awake, next * r2));
        }
        store4(b.squares + i, select(awake, V, load4(b.squares + i)));
        store4(b.largest + i, select(awake, M, load4(b.largest + i)));
        store4(b.rate + i, select(awake, next, rate));
        store4(b.gain + i, select(awake, after, gain));
        store4(b.sizes + i, sizes + only(awake, far));
        store4(b.level + i, select(awake, level, load4(b.level + i)));
        store4(b.weight + i, select(awake, load4(b.prior + i) * next * level, load4(b.weight + i)));
    }
    b.grown += fold(more);
}

/// e^(eta S) and the weights, from what they are made of.
inline void refresh_b(RuleBState& b) {
    for (i64 i = 0; i < b.places; ++i) {
        b.level[i] = b.rate[i] > 0.0 ? exp(b.rate[i] * b.gain[i]) : 1.0;
        b.weight[i] = b.prior[i] * b.rate[i] * b.level[i];
    }
}

/// b_i, a bound on sum g (x - f_i) over the rows with i awake.
inline void bounds_b(const RuleBState& b, double* to) {
    for (i64 i = 0; i < b.n; ++i) {
        const double lead = b.rate[i] > 0.0 ? log(b.grown / b.prior[i]) / b.rate[i] : 0.0;
        to[i] = lead + b.spent[i] + b.drift[i] + b.still[i];
    }
}

}  // namespace hn::HN_ISA
