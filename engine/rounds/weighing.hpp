// From L to weights, for the smoothing, the scale and the path of a run.
#pragma once

#include "../smoothings/barrier.hpp"
#include "../smoothings/entropy.hpp"
#include "../smoothings/powers.hpp"

namespace hn::HN_ISA {

/// Every smoothing that is not kept by a path of its own: w, total and, where asked, value, for L at the scale in place.
/// False if it failed. In kernels/smoothings.cpp: one call, compiled once.
bool smooth(const Setup& s, Run& run, i64 changed, bool valued);
/// The same after L_i = value, which this puts there; `same`: at the scale of the weights in place.
bool smooth_one(const Setup& s, Run& run, i64 i, double value, bool same, bool valued);

/// Draw an arm from the posterior; needs `s.samples()`. Compiled once, like `smooth`.
i64 draw_sampled(const Setup& s, Run& run);

/// Weights for L at `scale`; `changed` is the one arm whose L changed since the weights were made, or -1. The value is
/// made where asked; it never changes the weights.
HN_INLINE bool weigh(const Setup& s, Run& run, double scale, i64 changed, bool valued) {
    const bool same = scale == run.scale;
    if (!same) at_scale(run, scale);
    bool fine = true;
    switch (s.path) {
        case Path::called: return smooth(s, run, same ? changed : -1, valued);
        case Path::half:
            fine = Barrier<2>::from_anywhere(s, run);
            if (valued) run.value = Barrier<2>::value(s, run);
            return fine;
        case Path::barrier:
            fine = Barrier<1>::from_anywhere(s, run);
            if (valued) run.value = Barrier<1>::value(s, run);
            return fine;
        case Path::powers:
            fine = PowerSeries::from_anywhere(s, run);
            if (valued) run.value = PowerSeries::value(s, run);
            return fine;
        case Path::entropy_one:
            if (same && changed >= 0) {
                entropy_one(s, run, changed);
                break;
            }
            [[fallthrough]];
        default: entropy_all(s, run);
    }
    if (valued) run.value = entropy_value(run);
    return run.total > 0.0;
}
HN_COLD bool weigh_apart(const Setup& s, Run& run, double scale, bool valued) {
    return weigh(s, run, scale, -1, valued);
}

/// L_i = value, then the weights at `scale`: one arm has changed.
HN_INLINE bool weigh_one(const Setup& s, Run& run, i64 i, double value, double scale, bool valued) {
    const double before = run.scale;
    if (s.path == Path::powers) {
        if (scale != before) at_scale(run, scale);
        const bool fine = PowerSeries::after_one(s, run, i, value, before);
        if (valued) run.value = PowerSeries::value(s, run);
        return fine;
    }
    if (by_series(s.path)) {
        const double inverse = run.inverse;
        if (scale != before) at_scale(run, scale);
        return s.path == Path::half ? Barrier<2>::after_one(s, run, i, value, {before, inverse}, valued)
                                    : Barrier<1>::after_one(s, run, i, value, {before, inverse}, valued);
    }
    if (s.path == Path::called) {
        const bool same = scale == before;
        if (!same) at_scale(run, scale);
        return smooth_one(s, run, i, value, same, valued);
    }
    run.L[i] = value;
    return weigh(s, run, scale, i, valued);
}

/// Bring the weights to the scale of the round to be played: late feedback leaves them a round behind.
HN_INLINE bool prepare(const Setup& s, Run& run, bool valued) {
    const double scale = next_scale(s, run);
    return scale == run.scale || weigh_apart(s, run, scale, valued);
}

/// The weights of round 1, and Phi_1(0).
inline bool begin(const Setup& s, Run& run) {
    at_scale(run, s.first_scale());
    if (!weigh_apart(s, run, run.scale, true)) return false;
    run.start = run.value;
    return true;
}

}  // namespace hn::HN_ISA
