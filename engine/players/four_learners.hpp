// Rounds of four learners of a fleet, one per lane: Tsallis 1/2 and log-barrier bandits with up to sixteen arms.
//
// Four rows are transposed and played with the bits of draw_arm and settle_arm with Barrier<K>. Rows store no weights, so
// a settlement computes none.
#pragma once

#include "../smoothings/barrier_lanes.hpp"
#include "fleet.hpp"

namespace hn::HN_ISA {

inline constexpr i64 ahead_of_fours = 12;  // decisions

/// Columns to rows, and back.
HN_INLINE void turn(f64x4& a, f64x4& b, f64x4& c, f64x4& d) {
    const f64x4 p = __builtin_shufflevector(a, b, 0, 4, 2, 6), q = __builtin_shufflevector(a, b, 1, 5, 3, 7);
    const f64x4 r = __builtin_shufflevector(c, d, 0, 4, 2, 6), t = __builtin_shufflevector(c, d, 1, 5, 3, 7);
    a = __builtin_shufflevector(p, r, 0, 1, 4, 5);
    b = __builtin_shufflevector(q, t, 0, 1, 4, 5);
    c = __builtin_shufflevector(p, r, 2, 3, 6, 7);
    d = __builtin_shufflevector(q, t, 2, 3, 6, 7);
}

template <int K, bool Reduced>
struct Fours {
    using Solver = Barrier<K>;
    using Lanes = BarrierLanes<K>;
    using Sums = typename Lanes::Sums;
    static constexpr i64 most_arms = 16, most_numbers = most_arms + 12;

    const FleetBatch b;  // a copy, so that no write can alias it
    const RowPlan plan;
    const i64 n;
    const Schedule schedule;
    const double first_scale, widest;
    f64x4 x[most_numbers];  // columns: L, then the other numbers of a row

    explicit Fours(const FleetBatch& batch)
        : b(batch), plan(*batch.plan), n(plan.n), schedule(batch.setup->schedule),
          first_scale(batch.setup->first_scale()), widest(K == 2 ? sqrt(double(n)) : double(n)) {}

    static bool good(const FleetBatch& b) {
        const Setup& s = *b.setup;
        return b.plan->compact && !b.awake && !b.counted && s.n <= most_arms && s.kappa == 0.0 && s.floor == 0.0 &&
               s.path == (K == 2 ? Path::half : Path::barrier) &&
               s.estimator == (Reduced ? Estimator::reduced_variance : Estimator::importance_weighted);
    }
    /// True if decisions k to k + 3 belong to four different learners.
    HN_INLINE bool apart(i64 k) const {
        double* const* r = b.rows + k;
        return r[0] != r[1] && r[0] != r[2] && r[0] != r[3] && r[1] != r[2] && r[1] != r[3] && r[2] != r[3];
    }
    HN_INLINE void gather(double* const* rows, i64 from, i64 to) {
        for (i64 j = from; j < to; j += 4) {
            for (int g = 0; g < 4; ++g) x[j + g] = load4(rows[g] + j);
            turn(x[j], x[j + 1], x[j + 2], x[j + 3]);
        }
    }
    HN_INLINE void scatter(double* const* rows, i64 at, f64x4 p, f64x4 q, f64x4 r, f64x4 t) const {
        turn(p, q, r, t);
        store4(rows[0] + at, p);
        store4(rows[1] + at, q);
        store4(rows[2] + at, r);
        store4(rows[3] + at, t);
    }
    HN_INLINE f64x4 scales(f64x4 round, f64x4 own) const {
        return scales_of_lanes(schedule, round, own, splat(first_scale));
    }
    /// `visit(j, lane of the sums)` of every arm.
    template <class Visit> HN_INLINE void arms(Visit visit) const {
        i64 j = 0;
        for (; j + 4 <= n; j += 4) {
            visit(j, 0);
            visit(j + 1, 1);
            visit(j + 2, 2);
            visit(j + 3, 3);
        }
        if (j < n) visit(j, 0);
        if (j + 1 < n) visit(j + 1, 1);
        if (j + 2 < n) visit(j + 2, 2);
    }

    /// Draw decisions k to k + 3. Returns false, with the state unchanged, if one of them is not supported here.
    HN_INLINE bool draw(i64 k) {
        double* const* rows = b.rows + k;
        RowCounts counts[4];
        f64x4 round, stayed;
        for (int g = 0; g < 4; ++g) {
            counts[g] = counts_at(plan, rows[g]);
            if (counts[g].behind || counts[g].drawn >= most_rounds) return false;
            round[g] = double(counts[g].drawn);
            stayed[g] = double(counts[g].stayed);
        }
        gather(rows, 0, plan.counts);
        const f64x4 zero{}, one = splat(1.0), base = x[n], placed = x[n + 1], own = x[plan.own];
        const i64x4 still = i64x4(stayed != zero);
        const f64x4 moved = except(still, x[n + 2]), total = select(still, x[n + 2], one);
        const f64x4 scale = scales(round, own), inverse = one / scale;
        const f64x4 cap = select(i64x4(moved != zero), one,
                                 splat(infinity));  // weights at the root itself are not truncated
        f64x4 w[most_arms + 1];
        arms([&](i64 j, int) {
            const f64x4 r = Lanes::reciprocal(x[j], base, inverse, placed), t = moved * r;
            w[j] = min(Solver::turned(r, t), cap);
        });
        for (i64 j = n; j <= in_fours(n); ++j) w[j] = zero;
        u64x4 words[4];
        for (int g = 0; g < 4; ++g) words[g] = u64x4(x[plan.stream + g]);
        const f64x4 target = as_uniform(next_word(words[0], words[1], words[2], words[3])) * total;
        scatter(rows, plan.stream, f64x4(words[0]), f64x4(words[1]), f64x4(words[2]), f64x4(words[3]));
        i64x4 drawn = pick_lanes(w, in_fours(n), target);
        const f64x4 mass = weights_drawn(w, drawn);
        store4(b.probabilities + k, mass / total);
        store4(b.weights + k, total * (one / mass));
        if constexpr (Reduced) {
            const f64x4 bar = Lanes::baseline_bar(total, scale);
            i64x4 marks{};
            arms([&](i64 j, int) { marks |= i64x4(w[j] >= bar) & splat(i64(1) << j); });
            for (int g = 0; g < 4; ++g) b.marks[(k + g) * plan.mark_words] = u64(marks[g]);
        }
        for (int g = 0; g < 4; ++g) {
            RowCounts& c = counts[g];
            if (c.open > c.delay) c.delay = c.open;
            ++c.drawn;
            ++c.open;
            c.behind = 1;
            put_counts(plan, rows[g], c);
            b.arms[k + g] = i32(drawn[g]);
            b.rounds[k + g] = c.drawn;
            b.slept[k + g] = false;
        }
        return true;
    }

    HN_INLINE Sums pass(f64x4 base, f64x4 inverse, f64x4 y) const {
        typename Lanes::Accumulators accumulators;
        arms([&](i64 j, int v) { accumulators.add(v, Lanes::reciprocal(x[j], base, inverse, y)); });
        return accumulators.sums();
    }

    enum class Settled { yes, failed, not_here };

    /// Settle decisions k to k + 3.
    HN_INLINE Settled settle(i64 k, double origin, double slope) {
        double* const* rows = b.rows + k;
        if (b.slept[k] || b.slept[k + 1] || b.slept[k + 2] || b.slept[k + 3]) return Settled::not_here;
        RowCounts counts[4];
        f64x4 round, late, stayed, low;
        i64x4 arm, marks;
        for (int g = 0; g < 4; ++g) {
            counts[g] = counts_at(plan, rows[g]);
            round[g] = double(counts[g].drawn);
            late[g] = double(counts[g].drawn - counts[g].behind);
            stayed[g] = double(counts[g].stayed);
            arm[g] = b.arms[k + g];
            low[g] = rows[g][b.arms[k + g]];
            if constexpr (Reduced) marks[g] = i64(b.marks[(k + g) * plan.mark_words]);
        }
        gather(rows, 0, plan.own + 1);
        const f64x4 zero{}, one = splat(1.0), half = splat(0.5), weight = load4(b.weights + k);
        const i64x4 still = i64x4(stayed != zero);
        const f64x4 moved = except(still, x[n + 2]), total = select(still, x[n + 2], one), placed = x[n + 1];
        const f64x4 warm = select(i64x4(moved != zero), placed + moved, placed);
        const f64x4 before = scales(late, x[plan.own]),
                    l = (load4(b.losses + k) - splat(origin)) * splat(slope);
        const f64x4 own = x[plan.own] + l, scale = scales(round, own);
        f64x4 base = x[n], inverse = one / before;
        // Recompute the weight of the drawn arm.
        const f64x4 r = Lanes::reciprocal(low, base, inverse, placed), t = moved * r;
        const f64x4 cap = select(i64x4(moved != zero), one, splat(infinity));
        const f64x4 old = min(Solver::turned(r, t), cap);
        f64x4 value;
        if constexpr (Reduced) {
            const i64x4 bit{i64(1) << arm[0], i64(1) << arm[1], i64(1) << arm[2], i64(1) << arm[3]};
            const f64x4 mine = only(i64x4((marks & bit) != 0), half);
            value = Lanes::charged(low, l, weight, mine);
            base += only(i64x4(marks != 0), half);
        } else {
            value = Lanes::charged(low, l, weight);
        }
        const typename Lanes::Before was{before, inverse};
        inverse = one / scale;
        const f64x4 y = Solver::first_place(value, base, old, total, x[n + 3], warm, was, scale, inverse);
        arms([&](i64 j, int) {
            f64x4 here = x[j];
            if constexpr (Reduced) here += only(i64x4((marks & splat(i64(1) << j)) != 0), half);
            x[j] = select(i64x4(arm == splat(j)), value, here);
        });
        const Sums sums = pass(base, inverse, y);
        i64x4 near = Lanes::converges(sums.s0, y);
        const f64x4 delta = Solver::to_root(sums);
        Root root{base, y, delta, Lanes::slope_at_root(sums, delta), one};
        if (bits(near) != 15) {
            if constexpr (Solver::longer) near |= once_more(~near, inverse, root);
            if (bits(near) != 15 && !from_anywhere(~near, inverse, warm, root)) return Settled::failed;
        }
        x[n] = root.base;
        x[n + 1] = root.placed;
        x[n + 3] = root.slope;
        x[plan.own] = own;
        const i64x4 stays = i64x4(root.moved == zero);
        x[n + 2] = select(stays, root.total, root.moved);
        // Writes up to three numbers too many, with the values that were read.
        for (i64 j = 0; j <= plan.own; j += 4) scatter(rows, j, x[j], x[j + 1], x[j + 2], x[j + 3]);
        for (int g = 0; g < 4; ++g) {
            RowCounts& c = counts[g];
            --c.open;
            c.behind = 0;
            c.stayed = stays[g] != 0;
            put_counts(plan, rows[g], c);
        }
        return Settled::yes;
    }

    /// Store the root of the sums in the rows.
    struct Root {
        f64x4 base, placed, moved, slope, total;
    };

    /// `Barrier<K>::once_more` of the lanes in `some`: those that converge.
    HN_APART i64x4 once_more(i64x4 some, f64x4 inverse, Root& root) const {
        const f64x4 y = root.placed + root.moved;
        const Sums sums = pass(root.base, inverse, y);
        const i64x4 done = some & Lanes::converges(sums.s0, y);
        const f64x4 delta = Solver::to_root(sums), slope = Lanes::slope_at_root(sums, delta);
        root.placed = select(done, y, root.placed);
        root.moved = select(done, delta, root.moved);
        root.slope = select(done, slope, root.slope);
        return done;
    }

    /// `Barrier<K>::from_anywhere` of the lanes in `some`.
    HN_APART bool from_anywhere(i64x4 some, f64x4 inverse, f64x4 warm, Root& root) const {
        const f64x4 one = splat(1.0);
        f64x4 low = x[0];
        for (i64 j = 1; j < n; ++j) low = min(x[j], low);
        f64x4 y = warm + (low - root.base) * inverse;
        y = min(max(y, one), splat(widest));
        i64x4 last{};
        for (int turn = 0; turn < 100; ++turn) {
            const Sums sums = pass(low, inverse, y);
            const f64x4 error = abs(sums.s0 - 1.0);
            const i64x4 done = some & (last | i64x4(error < 1e-14));
            if (bits(done)) {
                if (bits(done & ~i64x4(error < 1e-9))) return false;
                root = {select(done, low, root.base), select(done, y, root.placed), except(done, root.moved),
                        select(done, sums.s1, root.slope), select(done, sums.s0, root.total)};
                some &= ~done;
                if (!bits(some)) return true;
            }
            const f64x4 by = (K == 2 ? hn::HN_ISA::sqrt(sums.s0) - 1.0 : sums.s0 - 1.0) * sums.s0 / sums.s1;
            y = max(y + by, one);
            last = i64x4(error < 1e-7);
        }
        return false;
    }
};

}  // namespace hn::HN_ISA
