// Slates: m of n items per round, with inclusion probabilities that are exact multiples of 2^-52.
//
//     x = argmin over 0 <= x <= 1, sum x = m of <L, x> - 2 s sum sqrt(x_i),   so that x_i = min(1, (s/(L_i - lambda))^2)
//
// Proofs: docs/proofs/slates.md.
#pragma once

#include "dispatch.hpp"
#include "setup.hpp"

namespace hn {

enum class SlateEstimator : int { importance_weighted, reduced_variance, implicit };

/// A learner over slates of `m` of `n` items. scale_t = c sqrt(a + b t).
struct SlateSetup {
    i64 n = 1, m = 1;
    Schedule schedule;
    SlateEstimator estimator = SlateEstimator::reduced_variance;
    double gamma = 0.0;
};

/// One run: estimated losses, inclusion probabilities as multiples of 2^-52, and the order of the items by L.
struct SlateRun {
    double *L = nullptr, *x = nullptr;
    u64* exact = nullptr;
    i32 *order = nullptr, *shuffled = nullptr;
    i64 clamped = 0;  // items whose probability is 1 without a multiplier
    double scale = 1.0;
    Words stream;
};

inline constexpr u64 slate_whole = u64(1) << 52;

struct SlateKernels {
    /// Probabilities for L at a scale: x and `exact`, whose sum is m 2^52.
    void (*weigh)(const SlateSetup&, SlateRun&, double scale);
    /// Restrict x and `exact` to available items: min(1, alpha x) on these, whose sum is the smaller of m and their
    /// number, which is returned; 0 on the others.
    i64 (*restrict)(const SlateSetup&, SlateRun&, const bool* available);
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
