// Steps of a live player with their diagnosis; rows and batches of a fleet.
#pragma once

#include "dispatch.hpp"
#include "setup.hpp"

namespace hn {

/// A run of a player, with two more runs for the state before a step and for evaluations at other scales.
struct AtPlay {
    Setup setup;
    Run run, before, twin;
};

/// Advice of a round: one action per expert, or (experts, actions) shares.
struct Heard {
    const i64* actions = nullptr;
    const double* shares = nullptr;
};

struct Players {
    bool (*begin)(const Setup&, Run&);
    /// Recompute the weights from the losses at the current scale.
    bool (*weigh_anew)(const Setup&, Run&);
    /// Update the weights to the scale of the next round; `diagnosed`: as part of a round.
    bool (*make_ready)(const Setup&, Run&, bool diagnosed);
    /// Draw an action, or return -1 if the smoothing failed. Sets run.probability and run.weight.
    i64 (*act_expert)(AtPlay&);
    i64 (*act_arm)(AtPlay&);
    i64 (*act_on_advice)(AtPlay&, const Heard&);
    i64 (*act_awake)(AtPlay&, const bool* awake, double* p);
    void (*share_awake)(const Setup&, const Run&, const bool* awake, double* p);
    /// Position of the first loss outside the loss range, or -1.
    i64 (*first_bad)(const Setup&, const double* losses);
    /// Settle a round. Returns -1, the position of the first bad loss (state unchanged), or -2 if the smoothing failed.
    /// `ticket` is the distribution of a late move, or null for the current one.
    i64 (*observe_row)(AtPlay&, const double* losses, const double* ticket);
    Status (*observe_arm)(AtPlay&, i64 arm, double probability, double weight, double loss);
    Status (*observe_on_advice)(AtPlay&, const Heard&, i64 action, double weight, double loss);
    Status (*observe_awake)(AtPlay&, const bool* awake, i64 arm, double weight, double loss);
    /// Recompute the stored sums of the weights, after they were read from a file.
    void (*restore_sums)(const Setup&, Run&);
    void (*charge_sleepers)(const double* p, const bool* awake, double* losses, i64 n);
};

// A learner of a fleet is a row of numbers: L, numbers that reproduce its weights, own loss, stream, counts.
//
//     Tsallis 1/2, log-barrier   L  base placed moved slope_sum  own  stream  counts      n + 11 numbers
//     Entropy                    L  base (arm)                   own  stream  counts      n + 8 or n + 9
//     all others, and diagnosed  L  weights  memory  all numbers of the run
//
// The weights of the first two kinds are reproduced bit for bit, so a row is equivalent to the run of a player.

/// Counts of a learner: moves drawn, pending and dropped.
struct RowCounts {
    u32 drawn = 0, open = 0, forgotten = 0;
    u32 delay : 29 = 0;  // largest number of pending moves when a move was drawn
    u32 slept : 1 = 0;   // an arm was unavailable in some round
    u32 stayed : 1 = 0;  // weights were evaluated at the root; `moved` then stores their total
    u32 behind : 1 = 0;  // weights have the scale of the last move drawn, not of the next
};
static_assert(sizeof(RowCounts) == 2 * sizeof(double));

inline constexpr u32 most_rounds = 0xfffffff0u;  // per learner: a round is 32 bits of a ticket

struct RowPlan {
    bool compact = true;
    bool diagnosed = false;  // stores all numbers of the run and reports stability, like a player
    i64 n = 1, state = 0, weights = 0, memory = 0, numbers = 0, own = 0, stream = 0, counts = 0, stride = 0;
    i64 mark_words = 0;  // words per open decision, 64 arms each, for baselines or available arms
};

// Always inlined, because it is compiled once per instruction set.
#define HN_AT inline __attribute__((always_inline))
HN_AT RowCounts counts_at(const RowPlan& plan, const double* row) {
    RowCounts c;
    __builtin_memcpy(static_cast<void*>(&c), row + plan.counts, sizeof c);
    return c;
}
HN_AT void put_counts(const RowPlan& plan, double* row, const RowCounts& c) {
    __builtin_memcpy(row + plan.counts, &c, sizeof c);
}
HN_AT Words stream_at(const RowPlan& plan, const double* row) {
    Words w;
    __builtin_memcpy(static_cast<void*>(&w), row + plan.stream, sizeof w);
    return w;
}
HN_AT void put_stream(const RowPlan& plan, double* row, const Words& w) {
    __builtin_memcpy(row + plan.stream, &w, sizeof w);
}

#undef HN_AT

// Learners with the same description, one row per learner, and batches of their rounds.

/// A batch: row k of `rows` draws or settles decision k. A row may occur several times; its rounds are played in order.
struct FleetBatch {
    const Setup* setup;
    const RowPlan* plan;
    Run* run;  // scratch run, whose memory is separate from the workspace
    double* const* rows;
    i64 count;
    // Per decision; `marks` has plan->mark_words words per decision: baselines, or available arms.
    i32* arms;
    u32* rounds;
    double *probabilities, *weights;
    u64* marks;
    bool* slept;
    // Drawing: available arms or null, with stride `per_decision` (0 if they are the same for all decisions).
    const bool* awake;
    i64 per_decision;
    // Settling.
    const double* losses;
    double* shares;  // working memory, one number per arm
    // Drawing: called after decision k with the probabilities of all arms, which are written to `all`; may be null.
    void (*counted)(void* fleet, i64 k, const double* probabilities);
    void* fleet;
    double* all;
    double* backup;  // copies of the rows, plan->stride numbers per decision
};

struct Fleets {
    /// Write the row of a new learner: L is the prior, or 0. The stream is not set.
    bool (*begin)(const Setup&, const RowPlan&, Run&, const double* prior, double* row);
    /// Returns -1, or the position of the first failed decision; then the state is unchanged.
    i64 (*act)(const FleetBatch&);
    i64 (*settle)(const FleetBatch&);
    /// Convert a row to a run and back, for certificates and files.
    void (*unpack)(const Setup&, const RowPlan&, const double* row, Run&);
    void (*pack)(const Setup&, const RowPlan&, const Run&, double* row);
    /// First four words of the stream of a key: see random.hpp.
    void (*seed)(const u32* pool, u32 constant, const u32* parts, i64 count, u64* words);
};

}  // namespace hn
HN_FAMILY(Players, players)
HN_FAMILY(Fleets, fleets)
