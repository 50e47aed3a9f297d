// Arithmetic of Tsallis 1/2 (K = 2) and of the log-barrier (K = 1) for four runs, one run per lane.
//
// Every function computes the bits of Barrier<K> and of draw_arm and settle_arm. Games (games/lanes.hpp) and fleets
// (players/four_learners.hpp) load and store the lanes and call these functions.
#pragma once

#include "barrier.hpp"

namespace hn::HN_ISA {

HN_INLINE f64x4 all_lanes(double x) { return splat(x); }
HN_INLINE f64x4 all_lanes(f64x4 x) { return x; }

/// Scale of the next round; `constant` if the schedule is. `round` is common to the lanes (double) or one per lane.
template <class Round>
HN_INLINE f64x4 scales_of_lanes(const Schedule& q, Round round, f64x4 own, f64x4 constant) {
    if (q.d != 0.0) return q.c * sqrt(q.a + q.b * (round + 1.0) + q.d * own);
    return q.b == 0.0 ? constant : all_lanes(q.c * sqrt(q.a + q.b * (round + 1.0)));
}

template <int K>
struct BarrierLanes {
    using Solver = Barrier<K>;
    using Sums = typename Solver::template SumsOf<f64x4>;
    using Before = typename Solver::template Before<f64x4>;

    /// 1/u_i = 1/((L_i - base)/scale + y).
    static HN_INLINE f64x4 reciprocal(f64x4 L, f64x4 base, f64x4 inverse, f64x4 y) {
        return 1.0 / ((L - base) * inverse + y);
    }

    /// Sums over the arms in four accumulators, one per arm modulo four: the order of the sums of one run.
    struct Accumulators {
        f64x4 s0[4]{}, s1[4]{}, s2[4]{}, s3[4]{}, s4[4]{};

        HN_INLINE void add(i64 k, f64x4 r) {
            const f64x4 r2 = r * r, p = Solver::power(r);
            s0[k] += p;
            s1[k] += p * r;
            s2[k] += p * r2;
            s3[k] += (p * r) * r2;
            if constexpr (Solver::longer) s4[k] += (p * r2) * r2;
        }
        static HN_INLINE f64x4 folded(const f64x4* x) { return (x[0] + x[2]) + (x[1] + x[3]); }
        HN_INLINE Sums sums() const { return {folded(s0), folded(s1), folded(s2), folded(s3), folded(s4)}; }
    };

    static HN_INLINE i64x4 converges(f64x4 s0, f64x4 y) {
        return i64x4(abs(s0 - 1.0) < Solver::small) & i64x4(y > Solver::least_y);
    }
    /// S_K+1 at the root y + delta, from the sums at y.
    static HN_INLINE f64x4 slope_at_root(const Sums& sums, f64x4 delta) {
        return sums.s1 - (K + 1) * sums.s2 * delta;
    }

    /// Weights from this value on get a baseline of 1/2 (reduced variance).
    static HN_INLINE f64x4 baseline_bar(f64x4 total, f64x4 scale) { return 4.0 * total / (scale * scale); }
    /// New L of the drawn arm; `baseline` is that of the arm.
    static HN_INLINE f64x4 charged(f64x4 L, f64x4 loss, f64x4 weight, f64x4 baseline) {
        return L + baseline + (loss - baseline) * weight;
    }
    static HN_INLINE f64x4 charged(f64x4 L, f64x4 loss, f64x4 weight) { return fma(loss, weight, L); }
};

}  // namespace hn::HN_ISA
