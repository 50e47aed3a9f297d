// Steps of a live player, with their diagnosis; rows and batches of the learners of a fleet.
#pragma once

#include "dispatch.hpp"
#include "setup.hpp"

namespace hn {

/// A run at play: its state, and two more to look back with.
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
    /// The weights of the losses in place, at the scale in place.
    bool (*weigh_anew)(const Setup&, Run&);
    /// Bring the weights to the round to be played; `diagnosed`: as a part of the play, not for a look.
    bool (*make_ready)(const Setup&, Run&, bool diagnosed);
    /// Draws: the action, or -1 when the smoothing failed. run.probability and run.weight are of the move.
    i64 (*act_expert)(AtPlay&);
    i64 (*act_arm)(AtPlay&);
    i64 (*act_on_advice)(AtPlay&, const Heard&);
    i64 (*act_awake)(AtPlay&, const bool* awake, double* p);
    void (*share_awake)(const Setup&, const Run&, const bool* awake, double* p);
    /// The first loss that is out of range, or -1.
    i64 (*first_bad)(const Setup&, const double* losses);
    /// -1, the place of the first bad loss (nothing moved), or -2 when the smoothing failed. `ticket`: the distribution
    /// of a late move, or null for the one in place.
    i64 (*observe_row)(AtPlay&, const double* losses, const double* ticket);
    Status (*observe_arm)(AtPlay&, i64 arm, double probability, double weight, double loss);
    Status (*observe_on_advice)(AtPlay&, const Heard&, i64 action, double weight, double loss);
    Status (*observe_awake)(AtPlay&, const bool* awake, i64 arm, double weight, double loss);
    /// The partial sums of the weights in place, after they were read from a file.
    void (*restore_sums)(const Setup&, Run&);
    void (*charge_sleepers)(const double* p, const bool* awake, double* losses, i64 n);
};

// A learner of a fleet as a row of numbers: L, then what its weights can be made from again, own loss, stream, counts.
//
//     Tsallis 1/2, log-barrier   L  base placed moved slope_sum  own  stream  counts      n + 11 numbers
//     Entropy                    L  base (arm)                   own  stream  counts      n + 8 or n + 9
//     all others, and diagnosed  L  weights  memory  every number of the run              no pass makes their weights again
//
// The weights of the first two kinds are a function of these to the last bit, so a row is its player's run.

/// How often a learner was asked, and what is missing.
struct RowCounts {
    u32 drawn = 0, open = 0, forgotten = 0;
    u32 delay : 29 = 0;  // the most that were open when another was drawn
    u32 slept : 1 = 0;   // an arm slept in some round
    u32 stayed : 1 = 0;  // the weights were passed at the root: in the place of `moved` is their total
    u32 behind : 1 = 0;  // the weights are of the scale of the last move drawn, not yet of the next
};
static_assert(sizeof(RowCounts) == 2 * sizeof(double));

inline constexpr u32 most_rounds = 0xfffffff0u;  // of one learner: rounds are 32 bits of a ticket

struct RowPlan {
    bool compact = true;
    bool diagnosed = false;  // every number of the run is kept, and its stability told, as a player does
    i64 n = 1, state = 0, weights = 0, memory = 0, numbers = 0, own = 0, stream = 0, counts = 0, stride = 0;
    i64 mark_words = 0;  // 64 arms a word, with each open decision: where there are baselines or sleepers
};

// Compiled once an instruction set, so never a function of its own.
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

// Many learners of one description, a row of numbers each, and batches of their rounds.

/// One batch: row k of `rows` draws, or settles, decision k. A row may come twice: its rounds follow each other.
struct FleetBatch {
    const Setup* setup;
    const RowPlan* plan;
    Run* run;  // to play in: laid out, its room not shared with the smoothings'
    double* const* rows;
    i64 count;
    // Of the decisions, drawn or to be settled; `marks`, plan->mark_words a decision: baselines, or who was awake.
    i32* arms;
    u32* rounds;
    double *probabilities, *weights;
    u64* marks;
    bool* slept;
    // Drawing: null, or who is awake, `per_decision` numbers on from one decision to the next (0: the same for all).
    const bool* awake;
    i64 per_decision;
    // Settling.
    const double* losses;
    double* shares;  // room for one number per arm
    double* backup;  // room for the rows as they were, plan->stride a decision
};

struct Fleets {
    /// The row of a learner that has played nothing: L is the prior, or 0. The stream is not set.
    bool (*begin)(const Setup&, const RowPlan&, Run&, const double* prior, double* row);
    /// -1, or the place of the first that failed; then nothing has moved.
    i64 (*act)(const FleetBatch&);
    i64 (*settle)(const FleetBatch&);
    /// The run of a row, all of it, and back: for certificates and for files.
    void (*unpack)(const Setup&, const RowPlan&, const double* row, Run&);
    void (*pack)(const Setup&, const RowPlan&, const Run&, double* row);
    /// First four words of the stream of a key: see random.hpp.
    void (*seed)(const u32* pool, u32 constant, const u32* parts, i64 count, u64* words);
};

}  // namespace hn
HN_FAMILY(Players, players)
HN_FAMILY(Fleets, fleets)
