// AdaHedge at play, as plain fields: what a round reads and moves, what a bound is made of, what a file keeps.
#pragma once

#include "random.hpp"

namespace hn {

/// Rows of `padded` numbers, n of them real: behind the last, L = inf has weight 0 and a loss of 0 adds nothing.
struct AdaHedge {
    i64 n = 0, padded = 0;
    double low = 0.0, high = 0.0;  // losses outside are refused
    double slope = 1.0;            // -1 for gains
    double per_log_n = 0.0;        // 1/ln n; 0 where there is nothing to choose

    double scale = 0.0;     // Delta/ln n
    double gap = 0.0;       // Delta, the sum of the mixability gaps; never falls, also where a late loss makes `drift` do so
    double own = 0.0;       // sum of <p, l>
    double variance = 0.0;  // V, the sum of the variances of the losses under p
    double span = 0.0;      // the largest span of one round
    double least = 0.0;     // the sum of the least losses of the rounds
    double most = 0.0;      // the sum of the greatest
    double drift = 0.0;     // sum D_t of the master identity
    double level = 0.0;     // the largest divergence of a step, over the span of its losses
    double total = 0.0;     // the sum of the weights
    double probability = 0.0;
    i64 round = 0;
    Words stream;

    double *sums = nullptr, *weights = nullptr, *losses = nullptr;
};

/// Sums over the settled rows of a table: of the mixture, of <p, l>, and of each expert its loss, the mixture's loss in
/// the rows where it was awake, and how many they are. A row in which nobody slept is counted once for all.
struct Tally {
    double mixture = 0.0, expected = 0.0, settled = 0.0, whole_mixture = 0.0, whole_rows = 0.0;
    double *losses = nullptr, *beside = nullptr, *rows = nullptr;
};

/// loss(f, y): what forecasts are charged.
enum class PointLoss : int { absolute, squared, pinball, log };
struct Priced {
    PointLoss kind;
    double parameter, cap;
};

}  // namespace hn
