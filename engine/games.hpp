// Whole games: the input of a block of rounds, and the arrays that it fills.
#pragma once

#include <span>

#include "dispatch.hpp"
#include "setup.hpp"

namespace hn {

/// losses[per_run * run + per_round * t + i]: loss of arm i or, if the game has coins, the mean of that loss.
struct LossTable {
    const double* x;
    i64 per_run, per_round;
};

/// After round ends[k] (ascending, counted from 1) the curves are written to columns[k].
struct Marks {
    std::span<const i64> ends, columns;
    HN_INLINE i64 count() const { return i64(ends.size()); }
};

/// How a block of rounds ended. `round` is counted from 0 in the block; `column` is an arm, an action or an expert.
struct Outcome {
    enum class Kind : u8 { fine, bad_loss, bad_advice, failed };
    Kind kind = Kind::fine;
    i64 run = 0, round = 0, column = 0;

    HN_INLINE explicit operator bool() const { return kind != Kind::fine; }
    /// The smoothing had no solution.
    HN_INLINE static Outcome failed(i64 run, i64 round) { return {Kind::failed, run, round, 0}; }
    /// The first bad entry is at a flat position of a block with `width` columns.
    HN_INLINE static Outcome bad(Kind kind, i64 position, i64 width) {
        return {kind, 0, position / width, position % width};
    }
};

/// A single run checks this many losses and then plays them, so that each loss is loaded from memory once.
inline constexpr i64 look_ahead = 4096;

/// Bytes of advice that are checked and then followed, so that each byte is loaded from memory once.
inline constexpr i64 advice_near = 1 << 16;

/// Advice of a block; one of the pointers is set for bandits with experts.
struct AdviceTable {
    const u8* bytes = nullptr;       // actions (rounds, experts), if there are at most 256
    const i64* actions = nullptr;    // actions (rounds, experts)
    const double* shares = nullptr;  // distributions (rounds, experts, actions)
};

/// Play rounds 0 .. rounds - 1 with runs first .. last - 1. Arrays are indexed by the run.
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
    i64 ahead = 0;  // distance, in numbers, to the losses that are checked next: they are prefetched
    AdviceTable advice{};
};

/// Play rounds of one state, from which several runs draw.
struct ExpertsJob {
    const Setup* setup;
    Run* run;
    const double* losses;  // (rounds, n)
    Words* streams;
    i64 runs, rounds;
    double* totals;      // own loss per run
    double* mean_total;  // sum of <p_t, l_t>
    Marks marks;
    double* own;  // (runs, width)
    i64 width;
    double *mean, *best;
    i64* counts;
    i32* moves;
    i64 length;
    bool fictitious;
};

/// A block of losses to check and to add up: entries must be in [low, high].
struct LossBlock {
    const double* x;
    i64 rounds, n;
    double low, high;
};

/// Losses of actions with the advice of experts on them.
struct AdvisedBlock {
    const double* x;
    i64 stride;  // from a round to the next; 0 if the losses do not change
    AdviceTable advice;
    i64 experts, actions, rounds;
};

/// Smallest and largest cumulative loss at each mark.
struct Extremes {
    double *min, *max;
};

struct Games {
    Outcome (*bandit)(const BanditJob&);
    Outcome (*advised)(const BanditJob&);
    Outcome (*experts)(const ExpertsJob&);
    /// Adds the rows of a block to sums (n). Stops at the first bad entry.
    Outcome (*survey)(const LossBlock& block, double* sums, const Marks& marks, Extremes out);
    /// Adds the loss of every expert to sums (experts). `room`: working memory, 3 numbers per expert.
    void (*expert_losses)(const AdvisedBlock& block, double* sums, const Marks& marks, Extremes out,
                          double* room);
    i64 (*largest_byte)(const u8* x, i64 count);
    /// out[t n + i] = 1 with probability means[stride t + i], else 0.
    void (*toss)(Words& coins, const double* means, i64 stride, i64 rounds, i64 n, double* out);
};

}  // namespace hn
HN_FAMILY(Games, games)
