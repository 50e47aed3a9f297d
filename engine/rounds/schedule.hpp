// Scale of the next round, and clipping threshold rho.
#pragma once

#include "../log.hpp"
#include "../setup.hpp"

namespace hn::HN_ISA {

/// a = min(1/2, kappa (1 + own)^(-1/3)) of the tuned clipping.
HN_INLINE double clip_level(const Setup& s, const Run& run) {
    return min(s.kappa * pow(1.0 + run.own, -1.0 / 3.0), 0.5);
}
HN_INLINE double other_actions(const Setup& s) { return s.actions > 2 ? double(s.actions - 1) : 1.0; }

HN_INLINE double next_scale(const Setup& s, const Run& run) {
    if (s.kappa > 0.0) {
        const double a = clip_level(s, run);
        return s.rate * other_actions(s) / (2.0 * a * a);
    }
    const Schedule& q = s.schedule;
    // A branch, so that schedules without the learner's loss do not wait for it.
    if (q.d == 0.0) return q.b == 0.0 ? run.scale : q.c * sqrt(q.a + q.b * (run.round + 1.0));
    return q.c * sqrt(q.a + q.b * (run.round + 1.0) + q.d * run.own);
}

/// rho of the next round: fixed, or a/(K - 1).
HN_INLINE double next_clip(const Setup& s, const Run& run) {
    return s.kappa > 0.0 ? clip_level(s, run) / other_actions(s) : s.clip;
}

HN_INLINE void at_scale(Run& run, double scale) {
    run.scale = scale;
    run.inverse = 1.0 / scale;
}

}  // namespace hn::HN_ISA
