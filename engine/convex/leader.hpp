// argmin_X G(x) + <b, x> by steps to the minimum over X of a quadratic model of G, whose Hessian is kept from round to
// round (chord steps) and recomputed if this is worth its cost (Newton steps). The residual of the optimality
// conditions is computed for each move; G is strongly convex with constant ridge, so the distance of the move from the
// exact argmin is at most residual/ridge.
#pragma once

#include "sets.hpp"
#include "sums.hpp"

namespace hn::HN_ISA {

inline constexpr int pass_limit = 400;

/// Compute the model's Hessian at x.
inline bool renew_model(const Region& region, const Sums& sums, double ridge, const double* x,
                        PointNumbers& run, PointModel& model) {
    if (!hessian(sums, ridge, x, model.H, model.work)) return false;
    if (region.kind == SetKind::ball) tridiagonal(region.d, model);
    run.modelled = 1.0 + double(sums.curved());
    return true;
}

/// The sum has grown since the model was computed: scale it in proportion, to first order.
inline void grow_model(const Region& region, const Sums& sums, PointNumbers& run, PointModel& model) {
    const double now = 1.0 + double(sums.curved()), ratio = now / run.modelled;
    if (!(ratio > 1.0)) return;
    if (region.kind == SetKind::ball) {
        multiply(model.diagonal, ratio, region.d);
        multiply(model.beside, ratio, region.d);
    } else {
        multiply(model.H, ratio, region.d * region.d);
    }
    run.modelled = now;
}

/// Improve x, a point of X, until the residual `left` is at most `tolerance`.
inline Solved find_leader(const Region& region, const Sums& sums, double ridge, double tolerance,
                          const double* noise, double* x, PointNumbers& run, PointModel& model,
                          double& left) {
    const i64 d = region.d;
    double *g = model.g, *trial = model.trial, *old = model.old;
    bool renew = run.modelled == 0.0, current = false, stepped = false;
    double before = infinity, slope = 0.0, share = 1.0, near = 0.0, far = 2.0;
    left = infinity;
    if (!renew) grow_model(region, sums, run, model);
    for (int pass = 0; pass < pass_limit; ++pass) {
        if (!gradient(sums, region.center, ridge, noise, x, g, model.work)) return Solved::failed;
        const double now = residual(region, x, g);
        if (now <= tolerance) {
            left = now;
            return Solved::fine;
        }
        if (stepped) {
            if (!current && now > before) {
                // The step of an outdated model increased the residual: return, and update the model.
                for (i64 j = 0; j < d; ++j) x[j] = old[j];
                renew = true;
                stepped = false;
                continue;
            }
            double along = 0.0;
            for (i64 j = 0; j < d; ++j) along += g[j] * (trial[j] - old[j]);
            if (current && now > 0.5 * before) {
                // G is convex, so its slope increases along the step, and the minimum is where the slope is
                // 0. If the step is too long, shorten it; if it is on the decreasing side of a kink, lengthen
                // it.
                const double little = 1e-3 * abs(slope);
                const bool beyond = along > little && share > 1e-12;
                if (beyond) far = share;
                if (beyond || (along < -little && far - near > 1e-12 * far && far <= 1.0)) {
                    if (!beyond) near = share;
                    share = 0.5 * (near + far);
                    for (i64 j = 0; j < d; ++j) x[j] = old[j] + share * (trial[j] - old[j]);
                    continue;
                }
            }
            // Each chord step reduces the residual by a factor; a new Hessian costs as much as about d/4
            // steps.
            const double gain = before / now;
            renew = gain < 2.0 || log(now / tolerance) > (2.0 + 0.25 * double(d)) * log(gain);
        }
        before = left = now;
        current = renew;
        stepped = true;
        share = 1.0;
        near = 0.0;
        far = 2.0;
        if (renew && !renew_model(region, sums, ridge, x, run, model)) {
            left = infinity;
            return Solved::failed;
        }
        if (region.kind == SetKind::ball) {
            ball_argmin(region, model, ridge, x);
        } else if (!box_argmin(region, model, x)) {
            return Solved::stuck;
        }
        slope = 0.0;
        for (i64 j = 0; j < d; ++j) {
            slope += g[j] * (trial[j] - x[j]);
            old[j] = x[j];
            x[j] = trial[j];
        }
    }
    return Solved::stuck;
}

}  // namespace hn::HN_ISA
