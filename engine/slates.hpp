// Slates: m of n items per round. Plays, as inclusion probabilities x with sum m:
//
//     tsallis       x = argmin <L, x> - 2 s sum sqrt(x_i),      so that x_i = min(1, (s/(L_i - lambda))^2)
//     entropy       x = argmin <L, x> + s sum x_i ln x_i,       so that x_i = min(1, e^((lambda - L_i)/s))
//     left_out      the same for the omitted items:   x_i = 1 - min(1, e^((L_i - lambda)/s))
//     hedge         P(slate) proportional to e^(-loss of the slate/s)
//     leaders       the m smallest L_i - s Z_i, Z_i exponential and independent
//
// Tsallis and entropy round x to multiples of 2^-52 that sum to m. Proofs: docs/proofs/slates.md.
#pragma once

#include "dispatch.hpp"
#include "setup.hpp"

namespace hn {

enum class SlateEstimator : int { importance_weighted, reduced_variance, implicit };
enum class SlatePlay : int { tsallis, entropy, left_out, hedge, leaders };
/// systematic: exact inclusion probabilities. conditional: the draw of maximum entropy with these. leaders: by the noise.
enum class SlateDraw : int { systematic, conditional, leaders };

/// A learner over slates of `m` of `n` items. scale_t = c sqrt(a + b t + d own), own the loss of the mean play.
struct SlateSetup {
    i64 n = 1, m = 1;
    Schedule schedule;
    SlateEstimator estimator = SlateEstimator::reduced_variance;
    double gamma = 0.0;
    SlatePlay play = SlatePlay::tsallis;
    SlateDraw draw = SlateDraw::systematic;
};

/// One run: estimated losses, inclusion probabilities (as multiples of 2^-52), and the order of the items by L.
struct SlateRun {
    double *L = nullptr, *x = nullptr;
    u64* exact = nullptr;
    i32 *order = nullptr, *shuffled = nullptr;
    i64 clamped = 0;  // items whose probability is 1 without a multiplier
    double scale = 1.0;
    Words stream;
    // Conditional draw: weight of each item over its odds, kept from round to round; the drawn items among those of
    // probability below 1; p and 1 - p of independent items; and scratch memory, first the table of their counts.
    double *ratio = nullptr, *p = nullptr, *rest = nullptr, *counts = nullptr;
    i32* free = nullptr;
    i64 free_items = 0, wanted = 0;
    double deviation = 0.0;  // largest relative difference of fitted and wanted probabilities, over all rounds
};

/// Numbers per row of the table of counts: places 0 to m + 1, and zeros up to a multiple of four and four more.
inline constexpr i64 slate_row(i64 m) { return (m + 5) / 4 * 4 + 4; }
/// Numbers of scratch memory of a run.
inline constexpr i64 slate_scratch(const SlateSetup& s) {
    const i64 conditional = (s.n + 3) * slate_row(s.m) + s.n, leaders = 4 * (s.n + 2) * s.m + 2 * s.n;
    return s.draw == SlateDraw::systematic ? 0 : s.play == SlatePlay::leaders ? leaders : conditional;
}

inline constexpr u64 slate_whole = u64(1) << 52;

struct SlateKernels {
    /// Probabilities for L at a scale: x and `exact`, whose sum is m 2^52.
    void (*weigh)(const SlateSetup&, SlateRun&, double scale);
    /// Restrict x and `exact` to available items: min(1, alpha x) on these, whose sum is the smaller of m and their
    /// number, which is returned; 0 on the others.
    i64 (*restrict)(const SlateSetup&, SlateRun&, const bool* available);
    /// Fit the conditional draw of `count` items to `exact`, and set x to its inclusion probabilities. The weights are
    /// stored for the next round if `kept`.
    void (*condition)(const SlateSetup&, SlateRun&, i64 count, bool kept);
    /// Draw by these weights, in uniformly random order; returns the probability of the slate.
    double (*draw_conditionally)(const SlateSetup&, SlateRun&, i64 count, i64* items);
    /// The m smallest L_i - scale Z_i with fresh noise, the smallest first.
    void (*lead)(const SlateSetup&, SlateRun&, double scale, i64* items);
    /// Probability that these are the m leaders.
    double (*chance_of_leaders)(const SlateSetup&, SlateRun&, const i64* items);
    /// Shuffle the items of a slate.
    void (*shuffle)(SlateRun&, i64 count, i64* items);
    /// `count` different items in uniformly random order, where `exact` sums to count 2^52; each is drawn with its exact
    /// probability.
    void (*draw)(const SlateSetup&, SlateRun&, i64 count, i64* items);
    /// L after the losses of the items of a slate, which were drawn with these probabilities at this scale. `kept` has the
    /// baseline of every item of that round, or is null for estimators without baselines.
    void (*settle)(const SlateSetup&, SlateRun&, i64 count, const i64* items, const double* probabilities,
                   const double* losses, const double* baselines);
    /// Baselines of the reduced-variance estimator at the probabilities and the scale in place.
    void (*baselines)(const SlateSetup&, const SlateRun&, double* out);
};

}  // namespace hn

HN_FAMILY(SlateKernels, slates)
