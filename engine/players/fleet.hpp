// Rounds of a fleet: unpack a row into a run, play the round of rounds/, pack the run again.
//
// The rows of a batch are scattered in memory, so they are prefetched some decisions ahead.
#pragma once

#include "../players.hpp"
#include "../rounds/bandit.hpp"
#include "../rounds/sleeping.hpp"

namespace hn::HN_ISA {

inline constexpr i64 ahead = 6;  // decisions

HN_INLINE void fetch(const RowPlan& plan, const double* row) {
    for (i64 k = 0; k < plan.stride; k += 8) __builtin_prefetch(row + k, 1);
    __builtin_prefetch(row + plan.stride - 1, 1);
}

/// At least n numbers, rounded up to a multiple of four, because rows are contiguous.
HN_INLINE void copy_fours(double* to, const double* from, i64 n) {
    for (i64 j = 0; j < n; j += 4) store4(to + j, load4(from + j));
}

/// Which weights are recomputed: all with their sums; all; or, for 0 and above, the weight of one arm before
/// its loss, and then all.
inline constexpr i64 all_and_sums = -2, all_weights = -1;

/// Unpack a row. Numbers of `run` that a row does not store keep their initial values.
HN_INLINE void unpack_run(const Setup& s, const RowPlan& plan, const double* row, const RowCounts& counts,
                          Run& run, i64 arm) {
    copy_fours(run.L, row, s.n);
    for (i64 j = s.n; j < s.places(); ++j) run.L[j] = infinity;
    if (!plan.compact) {
        __builtin_memcpy(static_cast<void*>(static_cast<RunNumbers*>(&run)), row + plan.numbers,
                         sizeof(RunNumbers));
        __builtin_memcpy(run.w, row + plan.weights, std::size_t(s.n) * sizeof(double));
        __builtin_memcpy(run.memory, row + plan.memory, std::size_t(s.memory_places()) * sizeof(double));
        if (s.tree()) grow(run.w, s.n, run.tree);
        return;
    }
    const double* state = row + plan.state;
    run.base = state[0];
    run.own = row[plan.own];
    run.stream = stream_at(plan, row);
    // The learner's loss and the scale change together, so the scale is that of the drawn rounds, or one
    // round behind.
    run.round = counts.drawn - counts.behind;
    if (!s.schedule.constant()) at_scale(run, next_scale(s, run));
    run.round = counts.drawn;
    if (!by_series(s.path)) {
        if (s.path == Path::entropy_one) run.arm = i64(state[1]);
        entropy_fill(s, run);
        return;
    }
    const bool half = s.path == Path::half;
    run.placed = state[1];
    run.moved = counts.stayed ? 0.0 : state[2];
    if (arm == all_and_sums) {
        if (half) Barrier<2>::again(s, run);
        else Barrier<1>::again(s, run);
        return;
    }
    run.total = counts.stayed ? state[2] : 1.0;
    run.slope_sum = state[3];
    if (arm == all_weights) {
        if (half) Barrier<2>::again_weights(s, run);
        else Barrier<1>::again_weights(s, run);
        return;
    }
    if (half) Barrier<2>::again_one(s, run, arm);
    else Barrier<1>::again_one(s, run, arm);
}

/// Pack a run. `drawn`: only a move was drawn, so the losses are unchanged; `kept`: the weights are unchanged as well.
HN_INLINE void pack_run(const Setup& s, const RowPlan& plan, const Run& run, RowCounts& counts, double* row,
                        bool drawn, bool kept = false) {
    if (plan.compact && drawn && (kept || s.schedule.constant())) {
        put_stream(plan, row, run.stream);
        return;
    }
    if (!drawn || !plan.compact)
        copy_fours(row, run.L, s.n);  // up to three numbers too many, which are overwritten below
    if (!plan.compact) {
        __builtin_memcpy(row + plan.numbers, static_cast<const RunNumbers*>(&run), sizeof(RunNumbers));
        __builtin_memcpy(row + plan.weights, run.w, std::size_t(s.n) * sizeof(double));
        __builtin_memcpy(row + plan.memory, run.memory, std::size_t(s.memory_places()) * sizeof(double));
        return;
    }
    double* state = row + plan.state;
    state[0] = run.base;
    row[plan.own] = run.own;
    put_stream(plan, row, run.stream);
    if (by_series(s.path)) {
        counts.stayed = run.moved == 0.0;
        state[1] = run.placed;
        state[2] = counts.stayed ? run.total : run.moved;
        state[3] = run.slope_sum;
    } else if (s.path == Path::entropy_one) {
        state[1] = double(run.arm);
    }
}

/// Baselines are 0 or 1/2, stored as one bit per arm.
HN_INLINE void mark_baselines(const Setup& s, const Run& run, u64* marks, i64 words) {
    for (i64 k = 0; k < words; ++k) marks[k] = 0;
    for (i64 j = 0; j < s.n; j += 4)
        marks[j >> 6] |= u64(unsigned(bits(i64x4(load4(run.scratch + j) > splat(0.0))))) << (j & 63);
}
HN_INLINE void baselines_of(const Setup& s, const u64* marks, Run& run) {
    for (i64 j = 0; j < s.n; j += 4) {
        const u64 four = marks[j >> 6] >> (j & 63);
        const i64x4 set = ((splat(i64(four)) >> lanes(0)) & splat(i64(1))) != splat(i64(0));
        store4(run.scratch + j, only(set, splat(0.5)));
    }
}

HN_INLINE bool all_awake(const bool* awake, i64 n) {
    for (i64 i = 0; i < n; ++i)
        if (!awake[i]) return false;
    return true;
}

/// Restores the rows of a batch if a round fails.
HN_INLINE void keep(const FleetBatch& b, i64 k, i64 from) {
    const i64 stride = b.plan->stride;
    copy_fours(b.backup + k * stride, b.rows[k] + from, stride - from);
}
/// Restore in reverse order after decision k failed, so that a row that occurs twice gets its first copy.
inline i64 undone(const FleetBatch& b, i64 k, i64 from) {
    const i64 stride = b.plan->stride;
    for (i64 j = k; j >= 0; --j)
        __builtin_memcpy(b.rows[j] + from, b.backup + j * stride,
                         std::size_t(stride - from) * sizeof(double));
    return k;
}

/// Draw one move. Returns false if the smoothing failed or the learner has reached its last round.
HN_INLINE bool draw_one(const FleetBatch& b, const Setup& s, Run& run, i64 k) {
    const RowPlan& plan = *b.plan;
    double* row = b.rows[k];
    RowCounts counts = counts_at(plan, row);
    if (counts.drawn >= most_rounds) return false;
    unpack_run(s, plan, row, counts, run, all_weights);
    // Rows that are not marked as behind have the scale of this round.
    const bool kept = plan.compact && !counts.behind;
    const double scale = run.scale, value = run.value;
    if (!kept && !prepare(s, run, plan.diagnosed)) return false;
    if (plan.diagnosed && run.scale != scale) run.change += value - run.value;
    const bool* awake = b.awake ? b.awake + k * b.per_decision : nullptr;
    const bool sleeps = awake && !all_awake(awake, s.n);
    if (sleeps) {
        restrict_to(s, run, awake, b.shares);
        b.arms[k] = i32(draw_among(s, run, b.shares));
        b.probabilities[k] = run.probability;
        b.weights[k] = 1.0 / run.probability;
        u64* marks = b.marks + k * plan.mark_words;
        for (i64 w = 0; w < plan.mark_words; ++w) marks[w] = 0;
        for (i64 j = 0; j < s.n; ++j) marks[j >> 6] |= u64(awake[j]) << (j & 63);
    } else {
        const i64 i = draw_arm(s, run);
        b.arms[k] = i32(i);
        b.probabilities[k] = chance_of(s, run, i);
        b.weights[k] = run.weight;
        if (s.estimator == Estimator::reduced_variance)
            mark_baselines(s, run, b.marks + k * plan.mark_words, plan.mark_words);
    }
    b.slept[k] = sleeps;
    if (b.counted) {
        for (i64 j = 0; j < s.n; ++j) b.all[j] = sleeps ? b.shares[j] : chance_of(s, run, j);
        b.all[b.arms[k]] = b.probabilities[k];
        b.counted(b.fleet, k, b.all);
    }
    pack_run(s, plan, run, counts, row, true, kept);
    if (counts.open > counts.delay) counts.delay = counts.open;
    ++counts.drawn;
    ++counts.open;
    counts.behind = 1;
    counts.slept |= u32(sleeps);
    b.rounds[k] = counts.drawn;
    put_counts(plan, row, counts);
    return true;
}

HN_INLINE bool settle_one(const FleetBatch& b, const Setup& s, Run& run, i64 k, bool* awake) {
    const RowPlan& plan = *b.plan;
    double* row = b.rows[k];
    RowCounts counts = counts_at(plan, row);
    unpack_run(s, plan, row, counts, run, b.slept[k] ? all_weights : b.arms[k]);
    const double x = (b.losses[k] - s.origin) * s.slope;
    const u64* marks = b.marks + k * plan.mark_words;
    if (b.slept[k]) {
        for (i64 j = 0; j < s.n; ++j) awake[j] = marks[j >> 6] >> (j & 63) & 1;
        double paid, span;
        if (!settle_among(s, run, awake, b.arms[k], b.weights[k], x, paid, span, false)) return false;
    } else {
        if (s.estimator == Estimator::reduced_variance) baselines_of(s, marks, run);
        if (!settle_arm(s, run, b.arms[k], b.weights[k], x, s.samples())) return false;
    }
    pack_run(s, plan, run, counts, row, false);
    --counts.open;
    counts.behind = 0;
    put_counts(plan, row, counts);
    return true;
}

}  // namespace hn::HN_ISA
