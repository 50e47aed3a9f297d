// AdaHedge: w_i ~ e^(-L_i/s), s = Delta/ln n, Delta the sum of the mixability gaps so far.
//
// The gap is delta = <p, l> - m, m = -s log sum_i p_i e^(-l_i/s) = Phi_s(L + l) - Phi_s(L): the D_t of the master
// identity. At Delta = 0 the scale is 0 and the play is even among the leaders. Losses are taken less their least of the
// round, so a large offset costs no digits. A table, a game and a live player play this round, bit for bit.
#pragma once

#include "../adahedge.hpp"
#include "../log.hpp"
#include "../rounds/rows.hpp"

namespace hn::HN_ISA {

/// Below this the scale is taken as 0: its inverse could overflow.
inline constexpr double smallest_gap = 1e-300;

/// What a round waits for, in registers.
struct AdaHedgeRound {
    AdaHedge& a;
    double inverse, scale, base, gap, own, span, least, most, drift, level;

    explicit AdaHedgeRound(AdaHedge& state)
        : a(state), inverse(state.scale > 0.0 ? 1.0 / state.scale : 0.0), scale(state.scale),
          base(span_of(state.sums, state.n).least), gap(state.gap), own(state.own), span(state.span),
          least(state.least), most(state.most), drift(state.drift), level(state.level) {}

    /// Make the weights and face them with the losses of the round.
    HN_INLINE Met meet(double lowest) {
        if (scale > 0.0) return meet_row(a.weights, a.sums, a.padded, base, a.losses, lowest, inverse);
        return meet_even(lowest);
    }

    /// The losses are in: the gap, the sums (but for the variance) and the next scale. <p, l> = lowest + share above.
    HN_INLINE void move_on(double lowest, double highest, const Met& met, double above, double share) {
        const double mean = share * above;
        // Rounding here is some 1e-16 of the scale a round: nothing beside the gaps that made the scale.
        const double mixed =
            met.kept > 0.5 * met.mass ? -scale * log_ratio(met.kept, met.mass) : far(lowest, met.mass);
        const double step = mean - mixed;
        gap += step > 0.0 ? step : 0.0;
        // log p_i/p_i' = (l_i - m)/s at one scale, at most 1/s; a leader that changes at scale 0 has no bound.
        if (highest > lowest) {
            if (scale > 0.0) {
                if (level * scale < 1.0) {
                    const double here = (highest - lowest - mixed) / scale / (highest - lowest);
                    level = here > level ? here : level;
                }
            } else if (step > 0.0) {
                level = infinity;
            }
        }
        scale = gap > smallest_gap ? gap * a.per_log_n : 0.0;
        inverse = scale > 0.0 ? 1.0 / scale : 0.0;
        base = add_row(a.sums, a.losses, a.padded);
        span = highest - lowest > span ? highest - lowest : span;
        own += lowest + mean;
        least += lowest;
        most += highest;
        drift += step;
    }

    /// Everything back to its place, and the weights of the next round.
    void finish() {
        a.scale = scale, a.gap = gap, a.own = own, a.span = span;
        a.least = least, a.most = most, a.drift = drift, a.level = level;
        a.total = scale > 0.0 ? weigh_row(a.weights, a.sums, a.padded, base, inverse) : even();
    }

    /// m less the least for a step that moves most of the mass, or at scale 0: from L itself, nothing underflows.
    HN_COLD double far(double lowest, double mass) const {
        const double from = span_of(a.sums, a.n).least;
        double lead = infinity;
        for (i64 i = 0; i < a.n; ++i) {
            const double next = (a.sums[i] - from) + (a.losses[i] - lowest);
            lead = next < lead ? next : lead;
        }
        if (!(scale > 0.0)) return lead;
        double after = 0.0;
        for (i64 i = 0; i < a.n; ++i) after += exp((lead - ((a.sums[i] - from) + (a.losses[i] - lowest))) / scale);
        return lead - scale * log(after / mass);
    }

    /// Even weights among the leaders; how many they are.
    HN_COLD double even() {
        double leaders = 0.0;
        for (i64 i = 0; i < a.padded; ++i) {
            a.weights[i] = a.sums[i] == base ? 1.0 : 0.0;
            leaders += a.weights[i];
        }
        return leaders;
    }

    /// `meet` at scale 0; no share of the mass is kept for sure.
    HN_COLD Met meet_even(double lowest) {
        const double leaders = even();
        double above = 0.0;
        for (i64 i = 0; i < a.n; ++i) above += a.weights[i] * (a.losses[i] - lowest);
        return {leaders, 0.0, above};
    }

    /// log(part/whole), part in (whole/2, whole]: 2 atanh(z), z = (part - whole)/(part + whole), a short series near 1,
    /// where small steps lead.
    static HN_INLINE double log_ratio(double part, double whole) {
        if (part < 0.9 * whole) return log(part / whole);
        const double z = (part - whole) / (part + whole), y = z * z, y2 = y * y;
        // z^2 <= 0.0028: the first term left out is below 1e-19 of the sum. In pairs: the next weights wait for it.
        const double low = (1.0 / 3.0 + 0.2 * y) + y2 * (1.0 / 7.0 + (1.0 / 9.0) * y);
        const double series = low + (y2 * y2) * ((1.0 / 11.0 + (1.0 / 13.0) * y) + (1.0 / 15.0) * y2);
        return 2.0 * (z + z * y * series);
    }
};

/// Settle a row of losses, which are known to be good; `ticket` is the distribution of a late move, or null for the one
/// in place.
inline void settle(AdaHedge& a, const double* losses, const double* ticket) {
    AdaHedgeRound round(a);
    for (i64 i = 0; i < a.n; ++i) a.losses[i] = losses[i] * a.slope;
    const Span seen = span_of(a.losses, a.n);
    const Met met = round.meet(seen.least);
    double share = 1.0 / met.mass, above = met.above;
    if (ticket) {
        // What met the losses is not in place.
        share = 1.0, above = 0.0;
        for (i64 i = 0; i < a.n; ++i) above += ticket[i] * (a.losses[i] - seen.least);
        for (i64 i = 0; i < a.n; ++i) {
            const double away = a.losses[i] - (seen.least + above);
            a.variance += ticket[i] * (away * away);
        }
    } else {
        a.variance += share * squares(a.weights, a.losses, seen.least + share * above, a.padded);
    }
    round.move_on(seen.least, seen.most, met, above, share);
    round.finish();
}

}  // namespace hn::HN_ISA
