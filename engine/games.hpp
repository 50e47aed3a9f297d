// Whole games: what a block of rounds needs, and what it leaves behind.
#pragma once

#include "dispatch.hpp"
#include "setup.hpp"

namespace hn {

/// losses[per_run run + per_round t + i] is the loss of arm i or, where there are coins, its mean.
struct LossTable {
    const double* x;
    i64 per_run, per_round;
};

/// Own loss after round ends[k] (ascending, from 1) goes to column columns[k] of a row.
struct Marks {
    const i64 *ends, *columns;
    i64 count;
};

/// A run that is alone looks at so many losses, then plays them: they come from memory once.
inline constexpr i64 look_ahead = 4096;

/// Bytes of advice that are checked and then followed: they come from memory once.
inline constexpr i64 advice_near = 1 << 16;

/// Runs first .. last - 1 of `runs`, `rounds` rounds; arrays are indexed by the run.
struct BanditJob {
    const Setup* setup;
    Run* runs;
    i64 first, last, rounds;
    LossTable losses;
    Words* coins;  // one stream per run, or null
    Marks marks;
    double* own;  // (runs, width)
    i64 width;
    i64* counts;  // (runs, arms)
    i32* moves;   // (runs, length), or null
    i64 length;
    i64 ahead =
        0;  // numbers of the losses from here to those that are looked at next: on their way while a run plays
    const u8* advice8 = nullptr;  // (rounds, experts), of bandits with experts
    const i64* advice = nullptr;
    const double* shares = nullptr;  // (rounds, experts, actions)
};

/// One learner, and every run that draws from it. totals: a run's own loss each, then that of p_t.
struct ExpertsJob {
    const Setup* setup;
    Run* run;
    const double* losses;  // (rounds, n)
    Words* streams;
    i64 runs, rounds;
    double* totals;
    Marks marks;
    double* own;  // (runs, width)
    i64 width;
    double *mean, *best;
    i64* counts;
    i32* moves;
    i64 length;
    bool fictitious;
};

/// What `advised` says of a byte of advice that is no action.
inline constexpr i64 no_action = -2;

struct Games {
    /// -1, or the round at which a smoothing failed.
    i64 (*bandit)(const BanditJob&);
    i64 (*advised)(const BanditJob&);
    /// -1; t n + i at a bad loss; -2 - t when a smoothing failed.
    i64 (*experts)(const ExpertsJob&);
    /// Adds rows to sums (n); least and most of them at the marks. -1, or the place of the first bad entry.
    i64 (*survey)(const double* x, i64 rounds, i64 n, double low, double high, double* sums,
                  const Marks& marks, double* lows, double* highs);
    void (*expert_losses)(const double* x, i64 stride, const BanditJob& heard, i64 n, i64 actions, i64 rounds,
                          double* sums, const Marks& marks, double* lows, double* highs, double* room);
    i64 (*largest_byte)(const u8* x, i64 count);
    /// out[t n + i] = 1 with probability means[stride t + i], else 0.
    void (*toss)(Words& coins, const double* means, i64 stride, i64 rounds, i64 n, double* out);
};

}  // namespace hn
HN_FAMILY(Games, games)
