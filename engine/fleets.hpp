// Many learners of one description, a row of numbers each, and batches of their rounds.
#pragma once

#include "dispatch.hpp"
#include "players/row.hpp"

namespace hn {

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
    /// The first four words of each key's stream: see players/seeding.hpp.
    void (*seed)(const u32* pool, u32 constant, const u32* parts, i64 count, u64* words);
};

}  // namespace hn
HN_FAMILY(Fleets, fleets)
