// The weight that replaces 1/p_i in the estimate lhat_i = weight * loss of a bandit.
//
// importance weighting: 1/p_i exactly. Geometric resampling, capped: min(cap, G), where G is geometric with success
// probability p_i: the number of draws until i is drawn again has this distribution, so G is drawn by inversion.
// Conditional resampling: sigma min(cap, G'), sigma = #{j : L_j <= L_i}: arm i can only lead if its perturbation is the
// largest of these sigma exchangeable ones, so G' is geometric with success probability sigma p_i. Implicit
// exploration: 1/(p_i + gamma). Reduced variance: 1/p_i, applied to the loss minus a baseline B_i = 1/2 if p_i >=
// 4/scale^2; every arm is charged its baseline. The baselines of the round are stored in scratch.
#pragma once

#include "weighing.hpp"

namespace hn::HN_ISA {

/// min(cap, G), P(G > k) = (1 - p)^k.
HN_INLINE double capped_geometric(double u, double p, double cap) {
    if (p >= 1.0) return 1.0;
    return min(1.0 + __builtin_floor(log1p(-u) / log1p(-p)), cap);
}

HN_INLINE double rank(const Setup& s, const Run& run, i64 i) {
    i64 sigma = 0;
    for (i64 j = 0; j < s.n; ++j) sigma += run.L[j] <= run.L[i];
    return double(sigma);
}

/// Call a user-defined estimator; its baselines are stored in scratch. NaN if it failed.
HN_COLD double foreign_weight(const Setup& s, Run& run, i64 i, double total) {
    return s.foreign_estimate.weigh(
        s.foreign_estimate.self, i, run.w, total, run.L, s.n, run.scale, run.stream,
        [](Words& stream) { return uniform(stream); }, run.scratch);
}

/// Weight of action i, drawn with probability mass/total; may advance the stream.
HN_INLINE double weight_of(const Setup& s, Run& run, i64 i, double mass, double total) {
    // Multiplied by the inverse instead of total / mass, because games know 1 / mass long before the total.
    if (s.estimator == Estimator::importance_weighted) return total * (1.0 / mass);
    const double p = mass / total;
    switch (s.estimator) {
        case Estimator::geometric: return capped_geometric(uniform(run.stream), p, s.estimator_parameter);
        case Estimator::conditional: {
            const double sigma = rank(s, run, i);
            return sigma * capped_geometric(uniform(run.stream), sigma * p, s.estimator_parameter);
        }
        case Estimator::implicit: return 1.0 / (p + s.estimator_parameter);
        case Estimator::foreign: return foreign_weight(s, run, i, total);
        default: break;
    }
    const f64x4 bar = splat(4.0 * total / (run.scale * run.scale)), half = splat(0.5);
    for (i64 j = 0; j < s.n; j += 4) store4(run.scratch + j, only(i64x4(load4(run.w + j) >= bar), half));
    return total * (1.0 / mass);
}

/// L_j += B_j for j != i, B in scratch; returns the new L_i. `shift`: the largest B_j, that of the likely arms.
HN_INLINE double add_baselines(const Setup& s, Run& run, i64 i, double weight, double loss, double& shift) {
    const double own = run.scratch[i], value = run.L[i] + own + (loss - own) * weight;
    f64x4 top{};
    for (i64 j = 0; j < s.n; j += 4) {
        const f64x4 b = load4(run.scratch + j);
        store4(run.L + j, load4(run.L + j) + b);
        top = max(top, b);
    }
    shift = fold_max(top);
    return value;
}

}  // namespace hn::HN_ISA
