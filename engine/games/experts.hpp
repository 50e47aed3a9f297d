// Games of experts. All losses are observed, so runs with the same losses share p_t and only draw separately.
#pragma once

#include "../learners/adahedge.hpp"
#include "../rounds/experts.hpp"
#include "bandits.hpp"

namespace hn::HN_ISA {

inline Outcome experts_game(const ExpertsJob& job) {
    const Setup s = *job.setup;
    Run& run = *job.run;
    const i64 n = s.n;
    const bool plain = s.origin == 0.0 && s.slope == 1.0;
    Clock at{job.marks, job.rounds};
    for (; at.t < job.rounds; ++at.t) {
        const double* row = job.losses + at.t * n;
        const bool one_pass = !job.fictitious && meets(s, run);
        double now = 0.0;
        if (!one_pass) {
            const i64 bad = first_outside(row, n, s.low, s.high);
            if (bad >= 0) return {Outcome::Kind::bad_loss, 0, at.t, bad};
            now = expected_loss(s, run, row);
        }
        ++run.round;
        if (job.fictitious) {
            // Play in round t the distribution of round t + 1.
            if (!settle_row(s, run, row, now, false)) return Outcome::failed(0, at.t);
            now = expected_loss(s, run, row);
        }
        for (i64 r = 0; r < job.runs; ++r) {
            const i64 i = draw(s, run, uniform(job.streams[r]));
            job.totals[r] += (row[i] - s.origin) * s.slope;
            ++job.counts[r * n + i];
            if (job.moves) job.moves[r * job.length + at.t] = i32(i);
        }
        if (s.is(Memory::adahedge)) {
            const double before =
                run.own;  // losses may have a large offset, so <p, l> is computed in the round
            settle_adahedge(s, run, row, nullptr);
            now = run.own - before;
        } else if (one_pass) {
            const double before = run.total;
            const bool good = plain ? meet_row<true>(s, run, row, now) : meet_row<false>(s, run, row, now);
            if (!good) return {Outcome::Kind::bad_loss, 0, at.t, first_outside(row, n, s.low, s.high)};
            now = (now / before - s.origin) * s.slope;
            settle_met(s, run, now);
        } else if (!job.fictitious && !settle_row(s, run, row, now, false)) {
            return Outcome::failed(0, at.t);
        }
        *job.mean_total += now;
        if (at.due()) {
            const i64 column = at.column();
            for (i64 r = 0; r < job.runs; ++r) job.own[r * job.width + column] = job.totals[r];
            job.mean[column] = *job.mean_total;
            double low = run.L[0];
            for (i64 i = 1; i < n; ++i) low = min(run.L[i], low);
            job.best[column] = low;
        }
    }
    return {};
}

}  // namespace hn::HN_ISA
