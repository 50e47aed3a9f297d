// One softmax bandit with up to 64 arms. A single run waits for its last weight, so the latency of the longest chain counts.
//
// The weights stay in registers. The partial sums of the other arms are computed while the exp of the drawn arm is. The next
// arm is predicted from an approximate weight, 1 - y + y^2/2 for e^-y: speculative execution continues with the predicted
// arm while the exact one is computed and compared. Predictions do not change the bits.
#pragma once

#include "bandits.hpp"

namespace hn::HN_ISA {

/// The two arms are equal: use a branch instead of a selection, so that later operations need not wait for
/// the second one. The compiler must not know that they are equal, or it would merge them.
HN_INLINE i64 agreed(i64 guessed, i64 right) {
    i64 arm = guessed;
    asm("" : "+r"(arm));
    if (__builtin_expect(guessed != right, 0)) {
        arm = right;
        asm volatile("" : "+r"(arm));
    }
    return arm;
}

/// An arm below this may be drawn without reading its weight: n if all weights are positive, else 0.
HN_COLD i64 sure_of(const double* w, i64 n) {
    i64 positive = 0;
    for (i64 j = 0; j < n; ++j) positive += w[j] > 0.0;
    return positive == n ? n : 0;
}

/// Predict the arm of the next draw from approximate weights: y = rate loss total/w_i, and then w_i <- w_i (1
/// - y + y^2/2).
template <int V>
struct NextArm {
    f64x4 sums[V];
    double total;

    /// Recompute from the weights themselves from time to time, so that errors do not grow. steps: rate/w_i.
    HN_INLINE void begin(const f64x4* w, const double* inverse, double rate, double* steps) {
        total = 0.0;
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v) {
            sums[v] = partial_sums(total, w[v]);
            store4(steps + 4 * v, load4(inverse + 4 * v) * splat(rate));
        }
    }
    HN_INLINE i64 arm(double u) const {
        const f64x4 goal = splat(u * total);
        i64 k = 0;
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v) k += __builtin_popcount(unsigned(bits(i64x4(sums[v] <= goal))));
        return k;
    }
    HN_INLINE void move(i64 i, double loss, double rate, double* steps) {
        const double all = loss * total, y = all * steps[i], less = all * rate * fma(y, -0.5, 1.0);
        steps[i] = fma(y, steps[i], steps[i]);
        total -= less;
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v) sums[v] -= only(i64x4(lanes(4 * v) >= splat(i)), splat(less));
        soon(total);
    }
};

/// One run, V vectors of arms in registers.
template <int V>
struct SoftmaxAlone {
    static constexpr bool guesses =
        V <= 4;  // for more arms, a round is limited by its work and not by latency
    f64x4 w[V], sums[V];
    i64x4 after[V];  // masks of the lanes at or beyond the arm, which is excluded from the sums

    /// Partial sums of all arms but one; returns their total.
    HN_INLINE double leave_out(i64 i) {
        double base = 0.0;
        const i64x4 which = splat(i);
#pragma GCC unroll 16
        for (int v = 0; v < V; ++v) {
            sums[v] = partial_sums(base, except(i64x4(lanes(4 * v) == which), w[v]));
            after[v] = i64x4(lanes(4 * v) >= which);
        }
        return base;
    }
    HN_INLINE i64 count(double fresh, double target) const {
        const f64x4 more = splat(fresh), goal = splat(target);
        i64 k = 0;
#pragma GCC unroll 16
        for (int v = 0; v < V; ++v)
            k += __builtin_popcount(unsigned(bits(i64x4(sums[v] + only(after[v], more) <= goal))));
        return k;
    }
    HN_INLINE void put(i64 i, double fresh) {
#pragma GCC unroll 16
        for (int v = 0; v < V; ++v) w[v] = select(i64x4(lanes(4 * v) == splat(i)), splat(fresh), w[v]);
    }
    HN_INLINE void load(const Setup& s, const Run& run, double* inverse) {
#pragma GCC unroll 16
        for (int v = 0; v < V; ++v) w[v] = 4 * v < s.places() ? load4(run.w + 4 * v) : f64x4{};
        for (i64 j = 0; j < s.n; ++j) inverse[j] = 1.0 / run.w[j];
    }
    HN_INLINE void store(const Setup& s, Run& run) const {
#pragma GCC unroll 16
        for (int v = 0; v < V; ++v)
            if (4 * v < s.places()) store4(run.w + 4 * v, w[v]);
    }

    static void play(const BanditJob& job, i64 r) {
        SoftmaxAlone here;  // local variable, so that it stays in registers
        const Setup& s = *job.setup;
        const bool plain = guesses && s.origin == 0.0 && s.slope == 1.0 && !job.coins && !job.moves;
        plain ? here.template rounds<guesses>(job, r) : here.template rounds<false>(job, r);
    }
    /// `plain`: losses are normalized already, there are no coins, and moves are not stored.
    template <bool plain>
    HN_INLINE void rounds(const BanditJob& given, i64 r) {
        const BanditJob job = given;  // a copy, so that no write can alias it
        const Setup s = *job.setup;
        alignas(32) double inverse[4 * V]{}, steps[4 * V];
        Run& run = job.runs[r];
        Words stream = run.stream;
        double* L = run.L;
        double base = run.base, own = run.own;
        const double nan = __builtin_nan(""), rate = run.inverse, origin = s.origin, slope = s.slope;
        const double* row = job.losses.x + job.losses.per_run * r;
        const i64 step = job.losses.per_round;
        i64* counts = job.counts + r * s.n;
        load(s, run, inverse);
        i64 last = run.arm;
        double fresh = run.w[last], mass = leave_out(last) + fresh;
        i64 sure = sure_of(run.w, s.n);
        NextArm<V> next;
        if (guesses) next.begin(w, inverse, rate, steps);
        Clock at{job.marks, job.rounds};
        while (at.t < job.rounds) {
            for (const i64 end = at.until(); at.t < end; ++at.t) {
                const double u = uniform(stream);
                i64 i = count(fresh, u * mass);
                if (guesses) {
                    const i64 guessed = next.arm(u);
                    i = agreed(guessed, i);
                    if ((at.t & 31) == 0) next.begin(w, inverse, rate, steps);
                }
                if (__builtin_expect(i >= sure && (i >= s.n || inverse[i] == infinity), 0)) {
                    store(s, run);
                    i = drawn_instead(run.w, s.n, i);
                }
                double x = row[i];
                row += step;
                __builtin_prefetch(row + 16 * step);
                if (job.ahead) fetch_ahead(row, job.ahead, s.n);
                if (!plain && job.coins) x = uniform(job.coins[r]) < x ? 1.0 : 0.0;
                const double loss = plain ? x : (x - origin) * slope;
                own += loss;
                if (guesses) next.move(i, loss, rate, steps);
                const double value = fma(loss, mass * inverse[i], L[i]);
                L[i] = value;
                const double rest = leave_out(i);
                last = i;
                fresh = exp_soon((base - value) * rate,
                                 nan);  // NaN instead of 0, which the check of the total detects
                inverse[i] = 1.0 / fresh;
                put(i, fresh);
                mass = rest + fresh;
                if (__builtin_expect(!in_range(mass, s.n), 0)) {
                    store(s, run);
                    run.arm = i;
                    if (fresh != fresh) {
                        run.w[i] = 0.0;
                        mass = rest;
                    }
                    if (!in_range(mass, s.n)) entropy_anew(s, run);
                    load(s, run, inverse);
                    base = run.base;
                    fresh = run.w[i];
                    mass = leave_out(i) + fresh;
                    sure = sure_of(run.w, s.n);
                    if (guesses) next.begin(w, inverse, rate, steps);
                }
                ++counts[i];
                if (!plain && job.moves) job.moves[r * job.length + at.t] = i32(i);
            }
            if (at.marked()) job.own[r * job.width + at.column()] = own;
        }
        store(s, run);
        run.stream = stream;
        run.own = own;
        run.arm = last;
        run.total = mass;
        run.round += job.rounds;
    }
};

}  // namespace hn::HN_ISA
