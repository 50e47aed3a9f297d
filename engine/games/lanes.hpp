// Softmax bandits at a constant scale with up to 64 arms: one weight changes per round.
//
// Four runs share a vector, one per lane, and several vectors are played alternately. Remaining runs are played by
// softmax_alone.hpp. Both compute the bits of draw_arm and settle_arm.
#pragma once

#include "../smoothings/barrier_lanes.hpp"
#include "softmax_alone.hpp"

namespace hn::HN_ISA {

/// What four runs of a game, one per lane, share whatever their weights are: streams, coins, own losses and counts.
struct FourRuns {
    f64x4 own;
    FourStreams stream, coins;

    HN_INLINE void load(const BanditJob& job, i64 first) {
        const Run* run = job.runs + first;
        for (int g = 0; g < 4; ++g) own[g] = run[g].own;
        stream = FourStreams::gather(&run[0].stream, &run[1].stream, &run[2].stream, &run[3].stream);
        if (job.coins) {
            const Words* c = job.coins + first;
            coins = FourStreams::gather(c, c + 1, c + 2, c + 3);
        }
    }
    HN_INLINE void store(const BanditJob& job, i64 first) const {
        for (int g = 0; g < 4; ++g) {
            Run& run = job.runs[first + g];
            run.own = own[g];
            run.stream = stream.lane(g);
            if (job.coins) job.coins[first + g] = coins.lane(g);
        }
    }
    /// Add the normalized losses of the drawn arms to `own`, and return them.
    HN_INLINE f64x4 charge(const BanditJob& job, const Setup& s, i64 first, i64 t, i64x4 drawn) {
        const auto [x, per_run, per_round] = job.losses;
        const double* row = x + per_run * first + per_round * t;
        f64x4 loss{row[drawn[0]], row[per_run + drawn[1]], row[2 * per_run + drawn[2]], row[3 * per_run + drawn[3]]};
        if (job.coins) loss = only(i64x4(coins.next() < loss), splat(1.0));
        const f64x4 l = (loss - splat(s.origin)) * splat(s.slope);
        own += l;
        return l;
    }
    HN_INLINE static void count(const BanditJob& job, const Setup& s, i64 first, i64 t, i64x4 drawn) {
        i64* counts = job.counts + first * s.n;
        ++counts[drawn[0]];
        ++counts[s.n + drawn[1]];
        ++counts[2 * s.n + drawn[2]];
        ++counts[3 * s.n + drawn[3]];
        if (job.moves)
            for (int g = 0; g < 4; ++g) job.moves[(first + g) * job.length + t] = i32(drawn[g]);
    }
};

/// Four runs, one per lane, with m places for arms (m even) and weight 0 beyond them. The newest weight of each run is in
/// `fresh`; its entry in w is 0.
template <i64 m>
struct SoftmaxFour : FourRuns {
    f64x4 w[m + 1], L[m];
    f64x4 fresh, mass, base;
    double rate;
    i64x4 last;

    void load(const BanditJob& job, i64 first) {
        FourRuns::load(job, first);
        const Setup& s = *job.setup;
        Run* run = job.runs + first;
        for (i64 j = 0; j < m; ++j)
            for (int g = 0; g < 4; ++g) {
                w[j][g] = j < s.n ? run[g].w[j] : 0.0;
                L[j][g] = j < s.n ? run[g].L[j] : infinity;
            }
        w[m] = f64x4{};
        rate = run[0].inverse;
        for (int g = 0; g < 4; ++g) {
            base[g] = run[g].base;
            last[g] = run[g].arm;
            fresh[g] = run[g].w[last[g]];
            lane_of(w, last[g], g) = 0.0;
        }
    }
    void store(const BanditJob& job, i64 first) {
        const Setup& s = *job.setup;
        // A round checks the range of its total before it draws; after the last round this check is still missing.
        f64x4 sums[m];
        const f64x4 mass = scan(sums);
        const i64x4 good = i64x4(mass > 1e-6) & i64x4(mass < 1e6 * double(s.n));
        if (bits(good) != 15) anew(job, first, good, sums);
        put_back();
        for (int g = 0; g < 4; ++g) {
            Run& run = job.runs[first + g];
            for (i64 j = 0; j < s.n; ++j) {
                run.w[j] = w[j][g];
                run.L[j] = L[j][g];
            }
            run.base = base[g];
            run.arm = last[g];
            run.total = sum_around(run.w, s.n, last[g]);
            run.round += job.rounds;
        }
        FourRuns::store(job, first);
    }
    /// Write the newest weights to w.
    HN_INLINE void put_back() {
        lane_of(w, last[0], 0) = fresh[0];
        lane_of(w, last[1], 1) = fresh[1];
        lane_of(w, last[2], 2) = fresh[2];
        lane_of(w, last[3], 3) = fresh[3];
    }
    /// Write partial sums w_0 + ... + w_j to sums[j], with the newest weight added last. Returns the total.
    HN_INLINE f64x4 scan(f64x4* sums) const {
        f64x4 before{};
#pragma GCC unroll 16
        for (i64 v = 0; v < m; v += 4) {
            f64x4 x[4], more[4];
#pragma GCC unroll 4
            for (i64 l = 0; l < 4; ++l) {
                if (v + l >= m) {
                    x[l] = f64x4{};
                    continue;
                }
                x[l] = w[v + l];
                more[l] = only(i64x4(last <= splat(v + l)), fresh);
            }
            const f64x4 a = x[1] + x[0], b = x[2] + x[1], c = x[3] + x[2];
            sums[v] = (before + x[0]) + more[0];
            sums[v + 1] = (before + a) + more[1];
            if (v + 2 == m) return (before + a) + fresh;
            sums[v + 2] = (before + (b + x[0])) + more[2];
            before = before + (c + a);
            sums[v + 3] = before + more[3];
        }
        return before + fresh;
    }
    /// First half of a round. Each half is computed for all vectors, so that their latencies overlap.
    HN_INLINE void draw(const BanditJob& job, const Setup& s, i64 first, i64) {
        f64x4 sums[m];
        mass = scan(sums);
        const i64x4 good = i64x4(mass > 1e-6) & i64x4(mass < 1e6 * double(s.n));
        if (__builtin_expect(bits(good) != 15, 0)) mass = anew(job, first, good, sums);
        const f64x4 target = stream.next() * mass;
        i64x4 k[4]{};
#pragma GCC unroll 64
        for (i64 j = 0; j < m; ++j) k[j % 4] -= i64x4(sums[j] <= target);
        put_back();
        last = (k[0] + k[1]) + (k[2] + k[3]);
    }
    HN_INLINE bool settle(const BanditJob& job, const Setup& s, i64 first, i64 t) {
        const f64x4 here = weights_drawn(w, last);
        const i64 i0 = last[0], i1 = last[1], i2 = last[2], i3 = last[3];
        const f64x4 old{lane_of(L, i0, 0), lane_of(L, i1, 1), lane_of(L, i2, 2), lane_of(L, i3, 3)};
        const f64x4 l = charge(job, s, first, t, last);
        const f64x4 value = fma(l, mass * (1.0 / here), old);
        fresh = exp_soon((base - value) * splat(rate));
        lane_of(L, i0, 0) = value[0];
        lane_of(L, i1, 1) = value[1];
        lane_of(L, i2, 2) = value[2];
        lane_of(L, i3, 3) = value[3];
        lane_of(w, i0, 0) = 0.0;
        lane_of(w, i1, 1) = 0.0;
        lane_of(w, i2, 2) = 0.0;
        lane_of(w, i3, 3) = 0.0;
        count(job, s, first, t, last);
        return true;
    }
    /// Recompute the lanes whose total has left the range.
    __attribute__((noinline, cold)) f64x4 anew(const BanditJob& job, i64 first, i64x4 good, f64x4* sums) {
        const Setup& s = *job.setup;
        for (int g = 0; g < 4; ++g) {
            if (good[g]) continue;
            Run& run = job.runs[first + g];
            for (i64 j = 0; j < s.n; ++j) run.L[j] = L[j][g];
            run.arm = last[g];
            entropy_anew(s, run);
            for (i64 j = 0; j < s.n; ++j) w[j][g] = run.w[j];
            base[g] = run.base;
            fresh[g] = run.w[last[g]];
            lane_of(w, last[g], g) = 0.0;
        }
        return scan(sums);
    }
};

/// Number of vectors to play alternately, given the remaining runs.
HN_INLINE i64 four_at_most(i64 runs) { return runs < 16 ? runs / 4 : 4; }

/// Play up to sixteen runs, four per vector.
template <class Four>
Outcome play_together(const BanditJob& given, i64 first, i64 groups) {
    const BanditJob job = given;  // a copy, so that no write can alias it
    const Setup s = *job.setup;
    Four four[4];
    for (i64 g = 0; g < groups; ++g) four[g].load(job, first + 4 * g);
    Clock at{job.marks, job.rounds};
    while (at.t < job.rounds) {
        for (const i64 end = at.until(); at.t < end; ++at.t) {
            for (i64 g = 0; g < groups; ++g) four[g].draw(job, s, first + 4 * g, at.t);
            for (i64 g = 0; g < groups; ++g)
                if (!four[g].settle(job, s, first + 4 * g, at.t)) return Outcome::failed(first + 4 * g, at.t);
        }
        if (at.marked()) {
            const i64 column = at.column();
            for (i64 g = 0; g < 4 * groups; ++g)
                job.own[(first + g) * job.width + column] = four[g / 4].own[g % 4];
        }
    }
    for (i64 g = 0; g < groups; ++g) four[g].store(job, first + 4 * g);
    return {};
}

template <int V, i64 m = 4 * V>
Outcome softmax_games(const BanditJob& job) {
    i64 r = job.first;
    for (i64 groups; (groups = four_at_most(job.last - r)) > 0; r += 4 * groups)
        play_together<SoftmaxFour<m>>(job, r, groups);
    for (; r < job.last; ++r) SoftmaxAlone<V>::play(job, r);
    return {};
}

/// True if these lanes support the setup.
HN_INLINE bool softmax_few(const Setup& s) {
    return s.path == Path::entropy_one && s.estimator == Estimator::importance_weighted && s.floor == 0.0 && !s.log_prior &&
           s.n < tree_from;
}
inline Outcome play_softmax_few(const BanditJob& job) {
    const i64 n = job.setup->n;
    if (n <= 4) return softmax_games<1>(job);
    if (n <= 10) return softmax_games<3, 10>(job);
    if (n <= 12) return softmax_games<3>(job);
    if (n <= 16) return softmax_games<4>(job);
    return softmax_games<16>(job);
}

// Tsallis 1/2 and log-barrier bandits with up to sixteen arms: four runs per vector, one per lane. The
// results are identical to draw_arm and settle_arm with Barrier<K>. A lane whose series does not converge is
// computed by Barrier<K> alone.

/// Four runs with m places for arms (m even), and weight 0 beyond them.
template <int K, bool Reduced, i64 m>
struct BarrierFour : FourRuns {
    using Solver = Barrier<K>;
    using Lanes = BarrierLanes<K>;
    f64x4 L[m], w[m + 1];
    f64x4 base, y, slope, total, scale, inverse;
    double round;
    // State between the draw and the weights of the next round: the arms, their L, the threshold of
    // baselines, and the stage of the pass.
    i64x4 k;
    f64x4 value, bar, place, warm;

    void load(const BanditJob& job, i64 first) {
        FourRuns::load(job, first);
        const Setup& s = *job.setup;
        const Run* run = job.runs + first;
        for (i64 j = 0; j < m; ++j)
            for (int g = 0; g < 4; ++g) {
                w[j][g] = j < s.n ? run[g].w[j] : 0.0;
                L[j][g] = j < s.n ? run[g].L[j] : infinity;
            }
        w[m] = f64x4{};
        for (int g = 0; g < 4; ++g) {
            base[g] = run[g].base;
            y[g] = run[g].warm;
            slope[g] = run[g].slope_sum;
            total[g] = run[g].total;
            scale[g] = run[g].scale;
            inverse[g] = run[g].inverse;
        }
        round = double(run[0].round);
    }
    void store_lane(const Setup& s, Run& run, int g) const {
        for (i64 j = 0; j < s.n; ++j) {
            run.w[j] = w[j][g];
            run.L[j] = L[j][g];
        }
        run.base = base[g];
        run.warm = y[g];
        run.slope_sum = slope[g];
        run.total = total[g];
        run.own = own[g];
        at_scale(run, scale[g]);
        run.round = i64(round);
    }
    void store(const BanditJob& job, i64 first) const {
        for (int g = 0; g < 4; ++g) store_lane(*job.setup, job.runs[first + g], g);
        FourRuns::store(job, first);
    }
    /// First half of a round. Each half is computed for all vectors, so that their latencies overlap.
    HN_INLINE void draw(const BanditJob& job, const Setup& s, i64 first, i64 t) {
        k = pick_lanes(w, m, stream.next() * total);
        const f64x4 one = splat(1.0), half = splat(0.5), old = weights_drawn(w, k);
        const i64 i0 = k[0], i1 = k[1], i2 = k[2], i3 = k[3];
        const f64x4 low{lane_of(L, i0, 0), lane_of(L, i1, 1), lane_of(L, i2, 2), lane_of(L, i3, 3)};
        const f64x4 weight = total * (one / old);
        round += 1.0;
        const f64x4 l = charge(job, s, first, t, k);
        if constexpr (Reduced) {
            bar = Lanes::baseline_bar(total, scale);
            i64x4 any{};
#pragma GCC unroll 16
            for (i64 j = 0; j < m; ++j) any |= i64x4(w[j] >= bar);
            const f64x4 mine = only(i64x4(old >= bar), half);
            value = Lanes::charged(low, l, weight, mine);
            base += only(any, half);
        } else {
            value = Lanes::charged(low, l, weight);
        }
        const f64x4 before = scale, was = inverse;
        warm = y;
        scale = scales_of_lanes(s.schedule, round, own, scale);
        inverse = one / scale;
        place = Solver::first_place(value, base, old, total, slope, y, {before, was}, scale, inverse);
        count(job, s, first, t, k);
    }
    HN_INLINE bool settle(const BanditJob& job, const Setup& s, i64 first, i64) {
        const f64x4 one = splat(1.0), half = splat(0.5);
        f64x4 r[m];
        typename Lanes::Accumulators accumulators;
#pragma GCC unroll 16
        for (i64 j = 0; j < m; ++j) {
            f64x4 here = L[j];
            if constexpr (Reduced) here += only(i64x4(w[j] >= bar), half);
            L[j] = here = select(i64x4(k == splat(j)), value, here);
            r[j] = Lanes::reciprocal(here, base, inverse, place);
            accumulators.add(j & 3, r[j]);
        }
        const typename Lanes::Sums sums = accumulators.sums();
        const i64x4 good = Lanes::converges(sums.s0, place);
        const f64x4 delta = Solver::to_root(sums);
#pragma GCC unroll 16
        for (i64 j = 0; j < m; ++j) w[j] = Solver::at_root(r[j], delta * r[j]);
        y = place + delta;
        slope = Lanes::slope_at_root(sums, delta);
        total = one;
        return __builtin_expect(bits(good) == 15, 1) || alone(job, s, first, good);
    }
    /// Compute the lanes that did not converge like a single run.
    __attribute__((noinline, cold)) bool alone(const BanditJob& job, const Setup& s, i64 first, i64x4 good) {
        for (int g = 0; g < 4; ++g) {
            if (good[g]) continue;
            Run& run = job.runs[first + g];
            store_lane(s, run, g);
            run.warm = warm[g];
            if (!Solver::once_more(s, run, y[g])) return false;
            for (i64 j = 0; j < s.n; ++j) w[j][g] = run.w[j];
            base[g] = run.base;
            y[g] = run.warm;
            slope[g] = run.slope_sum;
            total[g] = run.total;
        }
        return true;
    }
};

template <int K, bool Reduced, i64 m>
Outcome barrier_games(const BanditJob& job) {
    i64 r = job.first;
    for (i64 groups; (groups = four_at_most(job.last - r)) > 0; r += 4 * groups)
        if (const Outcome outcome = play_together<BarrierFour<K, Reduced, m>>(job, r, groups)) return outcome;
    BanditJob rest = job;
    rest.first = r;
    return bandit_games<int(K == 2 ? Path::half : Path::barrier)>(rest);
}

HN_INLINE bool barrier_few(const Setup& s) {
    return (s.path == Path::half || s.path == Path::barrier) && s.n <= 16 && s.floor == 0.0 &&
           (s.estimator == Estimator::importance_weighted || s.estimator == Estimator::reduced_variance);
}
template <int K, bool Reduced>
Outcome play_barrier_few(const BanditJob& job) {
    const i64 n = job.setup->n;
    if (n <= 10) return barrier_games<K, Reduced, 10>(job);
    return n <= 12 ? barrier_games<K, Reduced, 12>(job) : barrier_games<K, Reduced, 16>(job);
}
inline Outcome play_barrier_few(const BanditJob& job) {
    const bool reduced = job.setup->estimator == Estimator::reduced_variance;
    if (job.setup->path == Path::half)
        return reduced ? play_barrier_few<2, true>(job) : play_barrier_few<2, false>(job);
    return reduced ? play_barrier_few<1, true>(job) : play_barrier_few<1, false>(job);
}

}  // namespace hn::HN_ISA
