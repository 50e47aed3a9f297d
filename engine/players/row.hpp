// A learner of a fleet as a row of numbers: L, then what its weights can be made from again, own loss, stream, counts.
//
//     Tsallis 1/2, log-barrier   L  base placed moved slope_sum  own  stream  counts      n + 11 numbers
//     Entropy                    L  base (arm)                   own  stream  counts      n + 8 or n + 9
//     all others, and diagnosed  L  weights  memory  every number of the run              no pass makes their weights again
//
// The weights of the first two kinds are a function of these to the last bit, so a row is its player's run.
#pragma once

#include "../setup.hpp"

namespace hn {

/// How often a learner was asked, and what is missing.
struct RowCounts {
    u32 drawn = 0, open = 0, forgotten = 0;
    u32 delay : 29 = 0;   // the most that were open when another was drawn
    u32 slept : 1 = 0;    // an arm slept in some round
    u32 stayed : 1 = 0;   // the weights were passed at the root: in the place of `moved` is their total
    u32 behind : 1 = 0;   // the weights are of the scale of the last move drawn, not yet of the next
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

}  // namespace hn
