// AdaHedge (de Rooij, van Erven, Grunwald, Koolen 2014): w_i ~ e^(-L_i/s), s = Delta/ln n, where Delta is the sum of
// the mixability gaps so far.
//
// The gap is delta = <p, l> - m, m = -s log sum_i p_i e^(-l_i/s) = Phi_s(L + l) - Phi_s(L): the D_t of the master
// identity. At Delta = 0 the scale is 0 and the weights are uniform over the leaders. The smallest loss of the round is
// subtracted from all losses, so that a large offset costs no digits. A table, a game and a live player compute this
// round with the same bits. parameter[0] is 1/ln n (0 for n = 1).
#pragma once

#include "../rounds/drawing.hpp"
#include "../rounds/rows.hpp"
#include "memory.hpp"

namespace hn::HN_ISA {

/// The memory of a run.
HN_INLINE AdaHedgeSums& adahedge_sums_of(Run& run) { return *reinterpret_cast<AdaHedgeSums*>(run.memory); }
/// The losses of the round, signed, in `places` places; 0 beyond n.
HN_INLINE double* adahedge_losses(Run& run) { return run.memory + adahedge_sums; }

/// Smaller scales are treated as 0, because their inverse could overflow.
inline constexpr double smallest_gap = 1e-300;

/// Consecutive rounds: values that the next round waits for stay in registers.
struct AdaHedgeRounds {
    const Setup& s;
    Run& run;
    double* x;
    i64 places;
    double inverse, scale, base, own, drift, level;
    AdaHedgeSums sums;

    HN_INLINE AdaHedgeRounds(const Setup& setup, Run& at)
        : s(setup), run(at), x(adahedge_losses(at)), places(setup.places()), inverse(at.inverse),
          scale(at.scale), base(span_of(at.L, setup.n).min), own(at.own), drift(at.drift), level(at.level),
          sums(adahedge_sums_of(at)) {}

    /// Compute the weights, and their expectation of the losses of the round.
    HN_INLINE Met meet(double low) {
        if (scale > 0.0) return meet_row(run.w, run.L, places, base, x, low, inverse);
        return meet_even(low);
    }

    /// After the losses: the gap, the sums (except the variance) and the next scale. <p, l> = low + mean.
    HN_INLINE void move_on(double low, double high, const Met& met, double mean) {
        // Rounding errors are about 1e-16 of the scale per round, negligible compared with the gaps that make
        // the scale.
        const double mixed =
            met.kept > 0.5 * met.mass ? -scale * log_ratio(met.kept, met.mass) : far(low, met.mass);
        const double gap = mean - mixed;
        sums.gap += gap > 0.0 ? gap : 0.0;
        // log p_i/p_i' = (l_i - m)/s at one scale, which is at most 1/s; there is no bound for a leader that changes at
        // scale 0.
        if (high > low) {
            if (scale > 0.0) {
                if (level * scale < 1.0) level = max((high - low - mixed) / scale / (high - low), level);
            } else if (gap > 0.0) {
                level = infinity;
            }
        }
        scale = sums.gap > smallest_gap ? sums.gap * s.parameter[0] : 0.0;
        inverse = scale > 0.0 ? 1.0 / scale : 0.0;
        base = add_up(run.L, x, places);
        sums.span = max(high - low, sums.span);
        sums.min_losses += low;
        sums.max_losses += high;
        own += low + mean;
        drift += gap;
    }

    /// Store the state of the rounds, and compute the weights of the next round.
    HN_INLINE void finish() {
        adahedge_sums_of(run) = sums;
        run.scale = scale;
        run.inverse = inverse;
        run.own = own;
        run.drift = drift;
        run.level = level;
        run.total = scale > 0.0 ? weigh_row(run.w, run.L, places, base, inverse) : even();
    }

    /// m minus the smallest loss, for a step that moves most of the mass or at scale 0: computed from L, so
    /// that nothing underflows.
    HN_COLD double far(double low, double mass) const {
        const double from = span_of(run.L, s.n).min;
        double lead = infinity, after = 0.0;
        for (i64 i = 0; i < s.n; ++i) lead = min((run.L[i] - from) + (x[i] - low), lead);
        if (!(scale > 0.0)) return lead;
        for (i64 i = 0; i < s.n; ++i) after += exp((lead - ((run.L[i] - from) + (x[i] - low))) / scale);
        return lead - scale * log(after / mass);
    }

    /// Uniform weights over the leaders; returns their number.
    HN_COLD double even() {
        double leaders = 0.0;
        for (i64 i = 0; i < places; ++i) {
            run.w[i] = run.L[i] == base ? 1.0 : 0.0;
            leaders += run.w[i];
        }
        return leaders;
    }

    /// `meet` at scale 0, where no share of the mass need remain.
    HN_COLD Met meet_even(double low) {
        const double leaders = even();
        double above = 0.0;
        for (i64 i = 0; i < s.n; ++i) above += run.w[i] * (x[i] - low);
        return {leaders, 0.0, above};
    }

    /// log(part/whole) for part in (whole/2, whole]: 2 atanh(z), z = (part - whole)/(part + whole), a short
    /// series near 1, which is the case for small steps.
    static HN_INLINE double log_ratio(double part, double whole) {
        if (part < 0.9 * whole) return log(part / whole);
        const double z = (part - whole) / (part + whole), y = z * z, y2 = y * y;
        // z^2 <= 0.0028: the first omitted term is below 1e-19 of the sum. In pairs, because the next weights
        // wait for it.
        const double low = (1.0 / 3.0 + 0.2 * y) + y2 * (1.0 / 7.0 + (1.0 / 9.0) * y);
        const double series = low + (y2 * y2) * ((1.0 / 11.0 + (1.0 / 13.0) * y) + (1.0 / 15.0) * y2);
        return 2.0 * (z + z * y * series);
    }
};

HN_MEMORY(adahedge, adahedge_sums + places(), Noise::none)
/// Weights from the gaps so far; in the first round they are uniform.
inline bool adahedge(const Setup& s, Run& run) {
    AdaHedgeRounds rounds(s, run);
    rounds.scale = rounds.sums.gap > smallest_gap ? rounds.sums.gap * s.parameter[0] : 0.0;
    rounds.inverse = rounds.scale > 0.0 ? 1.0 / rounds.scale : 0.0;
    rounds.finish();
    run.value = 0.0;
    return run.total > 0.0;
}

/// Settle a row of validated losses; `ticket` is the distribution of a late move, or null for the current
/// one.
inline void settle_adahedge(const Setup& s, Run& run, const double* losses, const double* ticket) {
    AdaHedgeRounds rounds(s, run);
    double* x = rounds.x;
    for (i64 i = 0; i < s.n; ++i) x[i] = losses[i] * s.slope;
    const Span seen = span_of(x, s.n);
    const Met met = rounds.meet(seen.min);
    double mean = met.above / met.mass;
    if (ticket) {
        // The distribution of the move is not the current one.
        mean = 0.0;
        for (i64 i = 0; i < s.n; ++i) mean += ticket[i] * (x[i] - seen.min);
        for (i64 i = 0; i < s.n; ++i) {
            const double away = x[i] - (seen.min + mean);
            rounds.sums.variance += ticket[i] * (away * away);
        }
    } else {
        rounds.sums.variance += squares(run.w, x, seen.min + mean, rounds.places) / met.mass;
    }
    rounds.move_on(seen.min, seen.max, met, mean);
    rounds.finish();
}

}  // namespace hn::HN_ISA
