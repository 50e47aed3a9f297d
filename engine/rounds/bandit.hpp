// Round of a bandit: draw an arm, observe its loss, L_arm += weight * loss.
#pragma once

#include "estimating.hpp"

namespace hn::HN_ISA {

/// Draw an arm from the mixture with uniform play, with one uniform number.
HN_COLD i64 draw_floored(const Setup& s, const Run& run, double u) {
    const double share = floor_share(s, double(run.round));
    if (u >= share) return draw(s, run, (u - share) / (1.0 - share));
    const i64 i = i64(u / share * double(s.n));
    return i < s.n ? i : s.n - 1;
}

/// Probability of an arm in the round that was drawn last.
HN_INLINE double chance_of(const Setup& s, const Run& run, i64 i) {
    return floored(s, run.w[i] / run.total, double(run.round));
}

/// Draw an arm, and set run.weight, which replaces 1/p.
HN_INLINE i64 draw_arm(const Setup& s, Run& run) {
    ++run.round;
    if (s.path == Path::called && s.samples()) {
        run.weight = 1.0;  // the losses of the other arms are not estimated
        return draw_sampled(s, run);
    }
    const double u = uniform(run.stream);
    const i64 i = __builtin_expect(s.floor != 0.0, 0) ? draw_floored(s, run, u) : draw(s, run, u);
    run.weight = weight_of(s, run, i, run.w[i], run.total);
    if (__builtin_expect(s.floor != 0.0, 0)) run.weight = 1.0 / chance_of(s, run, i);
    return i;
}

/// For a series: the new L_i, before it is stored. With baselines all likely arms have moved by the same
/// amount, so that relative to them only arm i has changed.
HN_INLINE double charged(const Setup& s, Run& run, i64 i, double weight, double loss) {
    if (s.estimator != Estimator::reduced_variance) return fma(loss, weight, run.L[i]);
    double shift;
    const double value = add_baselines(s, run, i, weight, loss, shift);
    run.base += shift;
    return value;
}

/// Settle a normalized loss: own loss, L, weights of the next round. Returns false if the smoothing failed.
HN_INLINE bool settle_arm(const Setup& s, Run& run, i64 i, double weight, double loss, bool valued) {
    run.own += loss;
    if (s.path == Path::called) {
        ++run.settled;
        run.arm = i;
        run.paid = loss;
        run.weight = weight;
    }
    const double scale = next_scale(s, run);
    if (by_series(s.path)) return weigh_one(s, run, i, charged(s, run, i, weight, loss), scale, valued);
    if (s.has_baselines()) {
        if (!(weight >= 0.0)) return false;  // a user-defined estimator failed
        double shift;
        run.L[i] = add_baselines(s, run, i, weight, loss, shift);
        return weigh_apart(s, run, scale, valued);
    }
    return weigh_one(s, run, i, fma(loss, weight, run.L[i]), scale, valued);
}

}  // namespace hn::HN_ISA
