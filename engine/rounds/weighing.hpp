// Weights as a function of L, for the smoothing, the scale and the path of a run.
#pragma once

#include "../smoothings/barrier.hpp"
#include "../smoothings/entropy.hpp"
#include "../smoothings/powers.hpp"

namespace hn::HN_ISA {

/// Compute w, total and, if `valued`, value from L at the current scale, for the path `called`. Returns false if it failed.
/// Defined in kernels/smoothings.cpp, so that it is compiled once.
bool smooth(const Setup& s, Run& run, i64 changed, bool valued);
/// Set L_i = value, then compute the weights; `same` means that the scale has not changed.
bool smooth_one(const Setup& s, Run& run, i64 i, double value, bool same, bool valued);

/// Draw an arm from the posterior; needs `s.samples()`. Compiled once, like `smooth`.
i64 draw_sampled(const Setup& s, Run& run);

/// Compute the weights for L at `scale`. `changed` is the only arm whose L changed since the last weights, or -1. The value
/// is computed if `valued`, and does not change the weights.
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

/// Set L_i = value, then compute the weights at `scale`.
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

/// Update the weights to the scale of the next round, because late feedback leaves them at an earlier scale.
HN_INLINE bool prepare(const Setup& s, Run& run, bool valued) {
    const double scale = next_scale(s, run);
    return scale == run.scale || weigh_apart(s, run, scale, valued);
}

/// Compute the weights of round 1 and Phi_1(0).
inline bool begin(const Setup& s, Run& run) {
    at_scale(run, s.first_scale());
    if (!weigh_apart(s, run, run.scale, true)) return false;
    run.start = run.value;
    return true;
}

}  // namespace hn::HN_ISA
