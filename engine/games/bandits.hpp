// Games of bandits. The outer loop is over rounds and the inner one over a few runs, so that their latencies overlap.
#pragma once

#include "../games.hpp"
#include "../rounds/bandit.hpp"

namespace hn::HN_ISA {

/// Position in a block, with stops at the marks.
struct Clock {
    const Marks& marks;
    i64 rounds, t = 0, k = 0;
    HN_INLINE i64 until() const {
        return k < marks.count() && marks.ends[std::size_t(k)] < rounds ? marks.ends[std::size_t(k)] : rounds;
    }
    HN_INLINE bool marked() const { return k < marks.count() && t == marks.ends[std::size_t(k)]; }
    /// Whether a mark is after this round.
    HN_INLINE bool due() const { return k < marks.count() && t + 1 == marks.ends[std::size_t(k)]; }
    /// Column of the mark that was reached; moves on to the next mark.
    HN_INLINE i64 column() { return marks.columns[std::size_t(k++)]; }
};

HN_INLINE double loss_at(const BanditJob& job, i64 run, i64 t, i64 i) {
    const double x = job.losses.x[job.losses.per_run * run + job.losses.per_round * t + i];
    if (!job.coins) return x;
    return uniform(job.coins[run]) < x ? 1.0 : 0.0;
}

/// Prefetch the losses that are checked next into the L2 cache.
HN_INLINE void fetch_ahead(const double* row, i64 ahead, i64 n) {
    for (i64 i = 0; i < n; i += 8) __builtin_prefetch(row + ahead + i, 0, 2);
}

/// The path is not known at compile time.
inline constexpr int any_path = -1;

/// Repeat the known path after calls that the compiler cannot see through, so that it removes the other paths.
template <int P>
HN_INLINE void on_path(Setup& s) {
    if constexpr (P != any_path) s.path = Path(P);
}

/// Play a round of one run. Returns false if the smoothing failed.
template <int P>
HN_INLINE bool bandit_round(const BanditJob& job, Setup& s, i64 r, i64 t) {
    Run& run = job.runs[r];
    on_path<P>(s);
    if (job.ahead) fetch_ahead(job.losses.x + job.losses.per_round * t, job.ahead, s.n);
    const i64 i = draw_arm(s, run);
    const double x = loss_at(job, r, t, i);
    const double loss = s.origin == 0.0 && s.slope == 1.0
                            ? x
                            : (x - s.origin) * s.slope;  // avoids the latency of two operations
    on_path<P>(s);
    if (!settle_arm(s, run, i, run.weight, loss, false)) return false;
    ++job.counts[r * s.n + i];
    if (job.moves) job.moves[r * job.length + t] = i32(i);
    return true;
}

/// Play some runs side by side.
template <int P>
Outcome bandit_side_by_side(const BanditJob& job, i64 first, i64 last) {
    Setup s = *job.setup;
    Clock at{job.marks, job.rounds};
    while (at.t < job.rounds) {
        for (const i64 end = at.until(); at.t < end; ++at.t)
            for (i64 r = first; r < last; ++r)
                if (!bandit_round<P>(job, s, r, at.t)) return Outcome::failed(r, at.t);
        if (at.marked()) {
            const i64 column = at.column();
            for (i64 r = first; r < last; ++r) job.own[r * job.width + column] = job.runs[r].own;
        }
    }
    return {};
}

template <int P>
Outcome bandit_games(const BanditJob& job) {
    for (i64 r = job.first; r < job.last; r += 4) {
        const Outcome outcome = bandit_side_by_side<P>(job, r, r + 4 < job.last ? r + 4 : job.last);
        if (outcome) return outcome;
    }
    return {};
}

}  // namespace hn::HN_ISA
