// Games of bandits with expert advice.
#pragma once

#include "../rounds/advice.hpp"
#include "bandits.hpp"

namespace hn::HN_ISA {

template <class E>
Outcome advised_game(const BanditJob& job, const E* actions) {
    const Setup s = *job.setup;
    for (i64 r = job.first; r < job.last; ++r) {
        Run& run = job.runs[r];
        Clock at{job.marks, job.rounds};
        while (at.t < job.rounds) {
            for (const i64 end = at.until(); at.t < end; ++at.t) {
                const Advised<E> heard{
                    actions ? actions + at.t * s.n : nullptr,
                    job.advice.shares ? job.advice.shares + at.t * s.n * s.actions : nullptr};
                i64 listed;
                const i64 j = draw_action(s, run, heard, listed);
                if (__builtin_expect(j >= s.actions, 0)) return {Outcome::Kind::bad_advice, r, at.t, 0};
                const double loss = (loss_at(job, r, at.t, j) - s.origin) * s.slope;
                if (!settle_action(s, run, heard, j, listed, run.weight, loss, false))
                    return Outcome::failed(r, at.t);
                ++job.counts[r * s.actions + j];
                if (job.moves) job.moves[r * job.length + at.t] = i32(j);
            }
            if (at.marked()) job.own[r * job.width + at.column()] = run.own;
        }
    }
    return {};
}

/// Loss of expert i in a round: the loss of its action, or its expected loss.
template <class E>
HN_INLINE double expert_loss(const double* x, const E* e, const double* shares, i64 i, i64 actions) {
    if (!shares) return x[i64(e[i])];
    double loss = 0.0;
    for (i64 j = 0; j < actions; ++j) loss += shares[i * actions + j] * x[j];
    return loss;
}

/// code_i = 16 a_i + b_i, for actions below sixteen.
template <class E>
HN_INLINE void pair_up(const E* a, const E* b, i64 n, u8* code) {
    i64 i = 0;
    if constexpr (sizeof(E) == 1) {
        typedef u8 u8x32 __attribute__((vector_size(32), aligned(1), may_alias));
        for (; i + 32 <= n; i += 32) {
            const u8x32 x = *reinterpret_cast<const u8x32*>(a + i),
                        y = *reinterpret_cast<const u8x32*>(b + i);
            *reinterpret_cast<u8x32*>(code + i) = (x << 4) + y;
        }
    }
    for (; i < n; ++i) code[i] = u8(16 * i64(a[i]) + i64(b[i]));
}

/// L_i += x_{t, E_ti} (or <E_ti, x_t>) for all experts and every round. Rounds are added in pairs, (x_t + x_{t+1}) first,
/// so that the at most sixteen actions of a pair of rounds make one table of 256 sums, and each expert needs one lookup
/// per pair. A block starts at an even round, so the blocks of a game do not change a bit of the result; the best loss
/// after an odd round is computed without adding that round. `room`: 3 n numbers.
template <class E>
void expert_losses(const AdvisedBlock& block, const E* e, double* sums, const Marks& marks, Extremes out,
                   double* room) {
    const double *x = block.x, *shares = block.advice.shares;
    const i64 stride = block.stride, n = block.experts, actions = block.actions, rounds = block.rounds;
    constexpr i64 small = 16;
    double table[2][small * small];
    u8* codes = reinterpret_cast<u8*>(room + n);
    double* after = room;
    const bool quick = actions <= small && !shares;
    const i64 span = shares ? n * actions : n;
    const auto pair = [&](double* sums_of_two, u8* code, i64 t) {
        const double *here = x + stride * t, *there = here + stride;
        for (i64 i = 0; i < actions; ++i)
            for (i64 j = 0; j < actions; ++j) sums_of_two[small * i + j] = here[i] + there[j];
        pair_up(e + t * n, e + (t + 1) * n, n, code);
    };
    i64 t = 0;
    for (i64 k = 0; k <= marks.count(); ++k) {
        const i64 end = k < marks.count() ? marks.ends[std::size_t(k)] : rounds;
        while (quick && t + 4 <= end) {
            pair(table[0], codes, t);
            pair(table[1], codes + n, t + 2);
            for (i64 i = 0; i < n;) {
                // Prefetch the advice of four later rounds.
                const char* later = reinterpret_cast<const char*>(e + t * n + 4 * i) + advice_near;
                for (i64 k = 0; k < 4 * i64(sizeof(E)); ++k) __builtin_prefetch(later + 64 * k, 0, 2);
                for (const i64 end_of_some = i + 64 < n ? i + 64 : n; i < end_of_some; ++i)
                    sums[i] = (sums[i] + table[0][codes[i]]) + table[1][codes[n + i]];
            }
            t += 4;
        }
        while (quick && t + 2 <= end) {
            pair(table[0], codes, t);
            for (i64 i = 0; i < n; ++i) sums[i] += table[0][codes[i]];
            t += 2;
        }
        const auto one = [&](i64 at, i64 i) {
            return expert_loss(x + stride * at, shares ? nullptr : e + at * n,
                               shares ? shares + at * span : nullptr, i, actions);
        };
        while (t + 2 <= end) {
            for (i64 i = 0; i < n; ++i) sums[i] += one(t, i) + one(t + 1, i);
            t += 2;
        }
        if (k == marks.count()) break;
        const double* now = sums;
        if (t < end) {
            for (i64 i = 0; i < n; ++i) after[i] = sums[i] + one(t, i);
            now = after;
        }
        const Extent found = extent_of(now, n);
        out.min[k] = found.min;
        out.max[k] = found.max;
    }
    if (t < rounds)
        for (i64 i = 0; i < n; ++i)
            sums[i] += expert_loss(x + stride * t, shares ? nullptr : e + t * n,
                                   shares ? shares + t * span : nullptr, i, actions);
}

}  // namespace hn::HN_ISA
