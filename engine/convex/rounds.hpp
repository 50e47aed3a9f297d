// Rounds: draw the noise, move to the perturbed leader, observe the loss. Live players and games use the same
// code.
#pragma once

#include "leader.hpp"
#include "noise.hpp"

namespace hn::HN_ISA {

/// Draw the noise of the round; returns the factor of its normals.
HN_INLINE double perturb(const PointRules& rules, PointRun& run, i64 d) {
    run.round += 1.0;
    run.scale = rules.c * sqrt(rules.a + rules.b * run.round + rules.d * run.own);
    if (rules.fresh || run.round == 1.0) run.spread = draw_noise(rules.noise, run.stream, run.normals, d);
    return run.scale * run.spread;
}

/// noise = q + share * normals, padded; returns its square.
HN_INLINE double perturbed(double* total, const double* q, double share, const double* normals, i64 d) {
    const f64x4 by = splat(share);
    f64x4 sums{};
    for (i64 k = 0; k < d; k += 4) {
        const f64x4 v = load4(q + k) + by * load4(normals + k);
        store4(total + k, v);
        sums += v * v;
    }
    return fold(sums);
}

/// A move after linear losses only, in O(d).
HN_INLINE void act_linear(const AtPoint& at) {
    PointRun& run = *at.run;
    const double share = perturb(*at.rules, run, at.region->d);
    perturbed(run.noise, at.sums->q, share, run.normals, at.region->d);
    linear_argmin(*at.region, run.noise, run.x);
}

/// A move. The run stores it, and its largest distance from the exact argmin.
inline Solved act(const AtPoint& at) {
    PointRun& run = *at.run;
    const PointRules& rules = *at.rules;
    const i64 d = at.region->d, curved = at.sums->curved();
    run.last = 0.0;
    if (curved == 0 && rules.ridge == 0.0) {
        act_linear(at);
        return Solved::fine;
    }
    const double share = perturb(rules, run, d);
    for (i64 j = 0; j < d; ++j) {
        run.noise[j] = share * run.normals[j];
        if (run.ridge == 0.0) run.x[j] = at.region->center[j];
    }
    run.ridge = rules.ridge_of(curved, run.scale);
    double left;
    const Solved found = find_leader(*at.region, *at.sums, run.ridge, rules.accuracy * run.ridge, run.noise,
                                     run.x, run, *at.model, left);
    run.last = left / run.ridge;
    run.distance += run.last;
    run.farthest = larger(run.farthest, run.last);
    return found;
}

/// Rounds of linear losses on a ball, x = center - radius v/||v||, v = q + noise: with the same bits as round by round.
inline void play_on_ball(const AtPoint& at, const PointRounds& rounds) {
    const Region& region = *at.region;
    const PointRules& rules = *at.rules;
    PointRun& run = *at.run;
    const i64 d = region.d, count = rounds.count, whole = d & ~i64(3), left = d & 3;
    double *q = at.sums->q, *x = run.x, *total = run.noise;
    const i64x4 inside = lanes(0) < splat(left);
    i64 noted = 0;
    run.last = count > 0 ? 0.0 : run.last;
    for (i64 t = 0; t < count; ++t) {
        const double share = perturb(rules, run, d);
        const f64x4 shrink = splat(shrink_to(region.radius, perturbed(total, q, share, run.normals, d)));
        const double* row = rounds.rows + t * d;
        if (t * d + in_fours(d) > count * d) {
            // Vector loads read beyond a row, so the last rows are handled separately.
            for (i64 j = 0; j < d; ++j) rounds.edge[j] = row[j];
            row = rounds.edge;
        }
        f64x4 sums{};
        const auto meet = [&](i64 k, f64x4 losses) {
            const f64x4 v = load4(region.center + k) - shrink * load4(total + k);
            store4(x + k, v);
            sums += v * losses;
            store4(q + k, load4(q + k) + losses);
        };
        for (i64 k = 0; k < whole; k += 4) meet(k, load4(row + k));
        if (left) meet(whole, only(inside, load4(row + whole)));
        run.own += fold(sums);
        if (rounds.moves)
            for (i64 j = 0; j < d; ++j) rounds.moves[t * d + j] = x[j];
        if (noted < rounds.noted && rounds.marks[noted] == t + 1) rounds.own[noted++] = run.own;
    }
}

inline Solved play(const AtPoint& at, const PointRounds& rounds) {
    const Region& region = *at.region;
    Sums& sums = *at.sums;
    const i64 d = region.d;
    if (rounds.phi == Phi::linear && region.kind == SetKind::ball && sums.curved() == 0 &&
        at.rules->ridge == 0.0) {
        play_on_ball(at, rounds);
        return Solved::fine;
    }
    i64 noted = 0;
    for (i64 t = 0; t < rounds.count; ++t) {
        const Solved found = act(at);
        if (found != Solved::fine) return found;
        const double *row = rounds.rows + t * d, y = rounds.targets[t];
        if (rounds.moves)
            for (i64 j = 0; j < d; ++j) rounds.moves[t * d + j] = at.run->x[j];
        at.run->own += phi_at(rounds.phi, sums.parameter, inner(at.run->x, row, d), y);
        include(sums, rounds.phi, row, y);
        if (noted < rounds.noted && rounds.marks[noted] == t + 1) rounds.own[noted++] = at.run->own;
    }
    return Solved::fine;
}

}  // namespace hn::HN_ISA
