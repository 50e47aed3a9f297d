// Rule B: weights of columns of forecasts with one learning rate per column, scale-free, for targets that arrive late and
// in any order.
//
// When the target of a row arrives, g is the slope of the loss at the forecast x that was given, and z is the forecast
// that the current weights give for the row. For the available columns
//
//     r_i = g (z - f_i),  V_i += r_i^2 + 2 |r_i| (sum of |r_i| settled since the row was answered),  M_i = max |r_i|,
//     eta_i = 1/max(2 M_i, sqrt V_i),  S_i += r_i - eta_i r_i^2,  weights ~ min(pi0_i eta_i, c_i) e^(eta_i S_i)
//
// over the available old columns, that is, columns with an update. If there is none, the weights are the prior pi0 over
// the available columns with a settled target, or over all available columns. Two guards: a row whose available columns
// agree to rounding, or with g = 0, changes no weight; at the first update V_i starts from max_j r_j^2/10 and M_i from
// max_j |r_j|/sqrt 10. Without them a column that equals the forecast to rounding gets a rate near 1e16 and all weight.
//
// The cap c_i is chosen once, at the first update of column i. It is infinite if no column is old. Otherwise it limits
// the weight of the newcomer, whose rate is still large, to that of an average old column (`first_updates`).
//
// P grows so that sum_i pi_i e^(eta_i S_i) <= P over the updated columns, with pi_i = min(pi0_i, c_i/eta_i). Hence
// sum g (x - f_i) <= ln(P/pi_i)/eta_i + C_i + drift_i + still_i, where C_i = sum eta_i r_i^2, drift_i = sum g (x - z), and
// still_i = sum r_i over the rows that changed no weight: docs/proofs/combine.md.
#pragma once

#include "../combination.hpp"
#include "../exp.hpp"
#include "../log.hpp"

namespace hn::HN_ISA {

inline constexpr double coincide = 1e-12, smallest_slope = 1e-140, largest_slope = 1e140, first_share = 0.1;

/// Below this, or above its inverse, sums of weights have lost digits, and logarithms are used.
inline constexpr double weight_floor = 1e-250;

/// Limits of the capped prior mass, relative to the prior and absolute, and of the cap itself: e^(eta_i S_i) <= P/pi_i
/// then stays below the largest number.
inline constexpr double relative_mass_floor = 1e-200, mass_floor = 1e-280, cap_floor = 1e-300;
inline constexpr double largest_spread = 1e300;

/// min(pi0_i eta_i, c_i), as a logarithm: log(pi0 eta) would be rounded differently.
HN_INLINE double log_factor(const RuleBState& b, i64 i) {
    return min(log(b.prior[i]) + log(b.rate[i]), log(b.cap[i]));
}
HN_INLINE double log_weight(const RuleBState& b, i64 i) { return log_factor(b, i) + b.rate[i] * b.gain[i]; }

/// pi_i = min(pi0_i, c_i/eta_i) of an updated column.
HN_INLINE double capped_prior(const RuleBState& b, i64 i) { return min(b.prior[i], b.cap[i] / b.rate[i]); }

/// Weights of the available columns by their logarithms.
struct LogShares {
    const RuleBState& b;
    const double* f;
    double top = -infinity, total = 0.0;
    bool old = false, told = false;  // whether an available column was updated, or has a settled target

    LogShares(const RuleBState& state, const double* forecasts) : b(state), f(forecasts) {
        for (i64 i = 0; i < b.n; ++i) {
            if (f[i] != f[i]) continue;
            if (b.rate[i] > 0.0) {
                old = true;
                top = max(log_weight(b, i), top);
            }
            told |= b.settled && b.settled[i] > 0.0;
        }
        for (i64 i = 0; i < b.n; ++i) total += part(i);
    }
    double part(i64 i) const {
        if (f[i] != f[i]) return 0.0;
        if (old) return b.rate[i] > 0.0 ? exp(log_weight(b, i) - top) : 0.0;
        return told && !(b.settled[i] > 0.0) ? 0.0 : b.prior[i];
    }
    double operator[](i64 i) const { return part(i) / total; }
};

HN_COLD double mix_by_logs(const RuleBState& b, const double* f, double* p) {
    const LogShares shares(b, f);
    double mixed = 0.0;
    for (i64 i = 0; i < b.n; ++i) {
        const double share = shares[i];
        if (f[i] == f[i]) mixed += share * f[i];
        if (p) p[i] = share;
    }
    return mixed;
}

/// Forecast of the current weights for a row, and the sum of the weights of its available columns; 0 if the weights were
/// computed by their logarithms.
struct Mixed {
    double z, mass;
};

/// The available columns are in [low, high]; p (n) may be null.
HN_INLINE Mixed mix_with_mass(const RuleBState& b, const double* f, double low, double high, double* p) {
    f64x4 total{}, sum{};
    for (i64 i = 0; i < b.places; i += 4) {
        const f64x4 here = load4(f + i), w = load4(b.weight + i);
        const i64x4 awake = here == here;
        total += only(awake, w);
        sum += only(awake, w * here);
    }
    double mass = fold(total), x;
    const double weighed = fold(sum);
    if (mass > weight_floor && mass < 1.0 / weight_floor && abs(weighed) < infinity) {
        x = weighed / mass;
        if (p)
            for (i64 i = 0; i < b.n; ++i) p[i] = f[i] == f[i] ? b.weight[i] / mass : 0.0;
    } else {
        x = mix_by_logs(b, f, p);
        mass = 0.0;
    }
    // Clamp rounding errors: a probability is at most one.
    return {max(min(x, high), low), mass};
}
HN_INLINE double mix_b(const RuleBState& b, const double* f, double low, double high, double* p) {
    return mix_with_mass(b, f, low, high, p).z;
}

/// A row whose target has arrived.
struct SettledRow {
    const double* f;          // forecasts, NaN if not available
    double x, g;              // the answer that was given, and the slope of the loss there
    // Range of the available forecasts, and magnitude of the numbers that they are computed from
    double low, high, scale;
    const double* before;     // sums of |r_i| when the row was answered; null if no row was settled since
    const double* distance = nullptr;  // d_i of the columns from z; null for |z - f_i|
    double distance_scale = scale;  // magnitude of the forecasts whose differences are the distances
};

HN_INLINE double distance_of(const SettledRow& row, double z, i64 i) {
    return row.distance ? row.distance[i] : abs(z - row.f[i]);
}

/// Sum of the squared distances under the weights before the row, if these need logarithms; 0 if no old column is available.
HN_COLD double spread_by_logs(const RuleBState& b, SettledRow row, double z) {
    const LogShares shares(b, row.f);
    double sum = 0.0;
    if (!shares.old) return sum;
    for (i64 i = 0; i < b.n; ++i)
        if (row.f[i] == row.f[i]) sum += shares[i] * distance_of(row, z, i) * distance_of(row, z, i);
    return sum;
}

/// First updates: choose c_i of the columns that had no update before this row, then compute their weights and their part
/// of P. The other arrays are up to date. D is the set of the available old columns, or of all old columns if `among` is
/// false, that is, if no old column is available.
///
///     c_i = (pi0_i / sum_D pi0_j) W / h_i,  W = max(sum_D min(pi0_j eta_j, c_j) E_j, sum_D min(pi0_j eta_j, c_j) / n),
///     h_i = max(1, E_i) max(1, d_i / tau),  tau = sqrt(Q / rows);  the second factor is 1 if `among` is false or tau = 0.
///
/// Distances are between forecasts: with squared loss r_i is small whenever the answer happened to be right.
HN_COLD void first_updates(RuleBState& b, SettledRow row, double z, bool among) {
    const auto chosen = [&](i64 i) { return b.cap[i] > 0.0 && !(among && row.f[i] != row.f[i]); };
    double prior = 0.0, top = -infinity, top_factor = -infinity, sum = 0.0, factors = 0.0;
    for (i64 i = 0; i < b.n; ++i)
        if (chosen(i)) {
            prior += b.prior[i];
            top = max(log_weight(b, i), top);
            top_factor = max(log_factor(b, i), top_factor);
        }
    for (i64 i = 0; i < b.n; ++i)
        if (chosen(i)) {
            sum += exp(log_weight(b, i) - top);
            factors += exp(log_factor(b, i) - top_factor);
        }
    const bool start = !(prior > 0.0);
    if (start && b.settled) b.spread_rows += 1.0;
    const double tau = among && b.spread_rows > 0.0 ? sqrt(b.spread / b.spread_rows) : 0.0;
    const double log_w =
        start ? 0.0 : max(top + log(sum), top_factor + log(factors) - log(double(b.n))) - log(prior);
    for (i64 i = 0; i < b.n; ++i) {
        if (row.f[i] != row.f[i] || b.cap[i] > 0.0) continue;
        double cap = infinity;
        if (!start) {
            const double far = tau > 0.0 ? max(log(distance_of(row, z, i)) - log(tau), 0.0) : 0.0;
            const double least_mass = max(relative_mass_floor * b.prior[i], mass_floor);
            const double wanted = log(b.prior[i]) + log_w - max(b.rate[i] * b.gain[i], 0.0) - far;
            cap = max(exp(max(wanted, log(least_mass) + log(b.rate[i]))), cap_floor);
            if (cap >= b.prior[i] * b.rate[i]) cap = infinity;
            else b.capped = true;
        }
        b.cap[i] = cap;
        --b.waiting;
        b.weight[i] = min(b.prior[i] * b.rate[i], cap) * b.level[i];
        if (b.forget == 1.0) b.grown += capped_prior(b, i) * b.level[i];
    }
}

/// Update V, M, eta, S, E and the weights of the available columns, whose largest |r_i| is `largest`; return the growth of P
/// by the old ones. A column at its first update still needs its cap.
template <bool capped>
HN_INLINE double update_b(RuleBState& b, const double* f, double g, double z, double largest,
                          const double* before) {
    const bool bounded = b.forget == 1.0;
    const f64x4 slope = splat(g), here = splat(z), nothing{};
    const f64x4 first = splat(first_share * (largest * largest)),
                most_first = splat(sqrt(first_share) * largest);
    f64x4 more{};
    for (i64 i = 0; i < b.places; i += 4) {
        const f64x4 column = load4(f + i);
        const i64x4 awake = column == column;
        const f64x4 rate = load4(b.rate + i), gain = load4(b.gain + i), sizes = load4(b.sizes + i);
        const i64x4 seen = rate > nothing;
        const f64x4 r = only(awake, slope * (here - column)), r2 = r * r, far = abs(r);
        const f64x4 between = before ? sizes - load4(before + i) : nothing;
        const f64x4 V = select(seen, load4(b.squares + i) * b.forget, first) + (r2 + 2.0 * far * between);
        const f64x4 M = max(select(seen, load4(b.largest + i), most_first), far);
        const f64x4 next = 1.0 / max(2.0 * M, sqrt(V));
        const f64x4 after = gain * b.forget + (r - next * r2), level = exp(next * after);
        if (bounded) {
            const f64x4 a = next / select(seen, rate, splat(1.0)), u = next * r;
            // pi_i before the row; rho, the ratio of pi_i after the row to it; and rho a.
            f64x4 mass = load4(b.prior + i), kept = (1.0 - a) * (1.0 + u), fell = a;
            if constexpr (capped) {
                const f64x4 prior = mass, cap = load4(b.cap + i);
                mass = min(prior, cap / rate);
                const f64x4 rho = min(prior, cap / next) / mass;
                kept *= rho;
                fell *= rho;
            }
            const f64x4 fall = (1.0 - fell * a) * (rate * far) - (1.0 - fell);
            kept += only(r < nothing, load4(b.level + i) * max(fall, nothing));
            more += only(awake & seen, mass * kept);
            store4(b.spent + i, load4(b.spent + i) + only(awake, next * r2));
        }
        store4(b.squares + i, select(awake, V, load4(b.squares + i)));
        store4(b.largest + i, select(awake, M, load4(b.largest + i)));
        store4(b.rate + i, select(awake, next, rate));
        store4(b.gain + i, select(awake, after, gain));
        store4(b.sizes + i, sizes + only(awake, far));
        store4(b.level + i, select(awake, level, load4(b.level + i)));
        f64x4 factor = load4(b.prior + i) * next;
        if constexpr (capped) factor = min(factor, load4(b.cap + i));
        store4(b.weight + i, select(awake, factor * level, load4(b.weight + i)));
    }
    return fold(more);
}
HN_APART double update_capped(RuleBState& b, const double* f, double g, double z, double largest,
                              const double* before) {
    return update_b<true>(b, f, g, z, largest, before);
}

/// Whether any available column is old, and whether any is new.
struct Ages {
    bool old, fresh;
};
HN_COLD Ages ages_of(const RuleBState& b, const double* f) {
    Ages ages{false, false};
    for (i64 i = 0; i < b.n; ++i)
        if (f[i] == f[i]) (b.rate[i] > 0.0 ? ages.old : ages.fresh) = true;
    return ages;
}

/// Settle a row. `spreads` is false for the upper layer, whose columns are available in every row, so that no
/// new column needs Q.
template <bool spreads = true>
HN_INLINE void settle_b(RuleBState& b, const SettledRow& row) {
    const double *f = row.f, x = row.x, g = row.g, *distance = row.distance;
    const auto [z, mass] = mix_with_mass(b, f, row.low, row.high, nullptr);
    const double spread = max(row.high - z, z - row.low), drifted = g * (x - z), largest = abs(g) * spread;
    const bool still = spread <= coincide * row.scale || !(largest >= smallest_slope);
    const f64x4 slope = splat(g), here = splat(z), given = splat(x),
                inverse = splat(mass > 0.0 ? 1.0 / mass : 0.0);
    const bool drifts =
        row.distance || drifted != 0.0;  // the first condition predicts the branch for quantiles
    f64x4 apart{};
    for (i64 i = 0; i < b.places; i += 4) {
        const f64x4 column = load4(f + i);
        const i64x4 awake = column == column;
        store4(b.lead + i, load4(b.lead + i) + only(awake, slope * (given - column)));
        if (drifts) store4(b.drift + i, load4(b.drift + i) + only(awake, splat(drifted)));
        if (still) store4(b.still + i, load4(b.still + i) + only(awake, slope * (here - column)));
        if constexpr (spreads) {
            const f64x4 d = distance ? load4(distance + i) : here - column;
            apart += only(awake, load4(b.weight + i) * inverse * d * d);
        }
    }
    if (still) return;
    const Ages ages = b.waiting ? ages_of(b, f) : Ages{true, false};
    if (spreads && ages.old) {
        const double squares = mass > 0.0 ? fold(apart) : spread_by_logs(b, row, z);
        // Old columns that agree to rounding, such as a single one, have the distance 0.
        if (sqrt(squares) > coincide * row.distance_scale) b.spread = min(b.spread + squares, largest_spread);
        b.spread_rows += 1.0;
    }
    b.grown += spreads && b.capped ? update_capped(b, f, g, z, largest, row.before)
                                   : update_b<false>(b, f, g, z, largest, row.before);
    if (ages.fresh) first_updates(b, row, z, ages.old);
}

/// Compute e^(eta S), the weights, `capped` and `waiting` from the other arrays. If P of a file is smaller than the sum that
/// it bounds, P becomes that sum.
inline void refresh_b(RuleBState& b) {
    double sum = 0.0;
    b.capped = false;
    b.waiting = b.n;
    for (i64 i = 0; i < b.places; ++i) {
        const bool old = b.rate[i] > 0.0;
        b.level[i] = old ? exp(b.rate[i] * b.gain[i]) : 1.0;
        b.weight[i] = min(b.prior[i] * b.rate[i], b.cap[i]) * b.level[i];
        if (old) {
            sum += capped_prior(b, i) * b.level[i];
            b.capped |= b.cap[i] < infinity;
            --b.waiting;
        }
    }
    if (b.forget == 1.0 && sum > b.grown * (1.0 + 1e-9)) b.grown = sum;
}

/// b_i, a bound on sum g (x - f_i) over the rows in which column i is available.
inline void bounds_b(const RuleBState& b, double* to) {
    for (i64 i = 0; i < b.n; ++i) {
        const double lead = b.rate[i] > 0.0 ? (log(b.grown) - log(capped_prior(b, i))) / b.rate[i] : 0.0;
        to[i] = lead + b.spent[i] + b.drift[i] + b.still[i];
    }
}

}  // namespace hn::HN_ISA
