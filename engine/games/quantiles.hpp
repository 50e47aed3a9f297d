// Forecasts on a grid of quantile levels with weights common to the levels: f_i, x and z are vectors, and the loss is the
// mean of the pinball losses of the levels, L(x, y) = (1/Q) sum_q pinball_q(x_q, y), convex in x with slope g.
//
// Every rule learns only from r_i = <g, z - f_i>. With weights that are common to the levels, the mean of the numbers
// <g, f_i> is <g, z>, so a row is settled like a row with the point forecasts <g, f_i> and the answer <g, x>, at slope
// 1.
#pragma once

#include "combine.hpp"

namespace hn::HN_ISA {

/// L of a vector whose levels are `stride` apart.
HN_INLINE double price_levels(const Combination& c, const double* x, i64 stride, double y) {
    double cost = 0.0;
    for (i64 q = 0; q < c.levels; ++q) {
        const double over = x[q * stride] - y;
        cost += over < 0.0 ? -c.level[q] * over : (1.0 - c.level[q]) * over;
    }
    return cost / double(c.levels);
}

/// <g, f_i> of every column, <g, x>, and the magnitude of their terms.
struct Line {
    double at, low, high, scale;
};

/// Columns with `places` numbers per level, from f on; x is the answer at which the slopes are computed, with levels
/// `stride` apart. If z is not null, the distances of the columns from z, means of |z_q - f_q|, are written too; the
/// levels of z are `apart` apart.
HN_INLINE Line line_of(Combination& c, const double* f, i64 places, const double* x, i64 stride, double y,
                       double* line, const double* z = nullptr, i64 apart = 1) {
    const double share = 1.0 / double(c.levels);
    double at = 0.0;
    for (i64 q = 0; q < c.levels; ++q) {
        const double over = x[q * stride] > y, under = x[q * stride] < y;
        c.slope[q] = share * (over * (1.0 - c.level[q]) - under * c.level[q]);
        at += c.slope[q] * x[q * stride];
    }
    f64x4 low = splat(infinity), high = splat(-infinity), scale{};
    for (i64 i = 0; i < places; i += 4) {
        f64x4 sum{}, sizes{}, far{};
        for (i64 q = 0; q < c.levels; ++q) {
            const f64x4 column = load4(f + q * places + i), part = c.slope[q] * column;
            sum += part;
            sizes += abs(part);
            if (z) far += abs(z[q * apart] - column);
        }
        store4(line + i, sum);
        if (z) store4(c.distance + i, share * far);
        low = min(sum, low);
        high = max(sum, high);
        scale = max(sizes, scale);
    }
    return {at, fold_min(low), fold_max(high), fold_max(scale)};
}

/// Write z, level by level.
HN_INLINE void mix_levels(const Combination& c, const RuleBState& b, const double* f, double* z) {
    const auto [first, mass] = mix_with_mass(b, f, -infinity, infinity, nullptr);
    z[0] = first;
    for (i64 q = 1; q < c.levels; ++q) {
        const double* columns = f + q * c.places;
        f64x4 sum{};
        for (i64 i = 0; i < c.places; i += 4) {
            const f64x4 here = load4(columns + i);
            sum += only(here == here, load4(b.weight + i) * here);
        }
        const double mixed = fold(sum) / mass;
        z[q] = mass > 0.0 && abs(mixed) < infinity ? mixed : mix_b(b, columns, -infinity, infinity, nullptr);
    }
}

/// Settle a row in one layer, whose own answer was x. If no row was settled since (`before` is null), x is z. The
/// forecasts are numbers of size `scale`.
template <bool spreads = true>
HN_INLINE void settle_layer(Combination& c, RuleBState& b, const double* f, const double* x, i64 stride,
                            double y, double* line, const double* before, double scale) {
    if (spreads && before) mix_levels(c, b, f, c.center);
    const Line of = line_of(c, f, b.places, x, stride, y, line,
                            !spreads ? nullptr
                            : before ? c.center
                                     : x,
                            before ? 1 : stride);
    settle_b<spreads>(
        b, {line, of.at, 1.0, of.low, of.high, of.scale, before, spreads ? c.distance : nullptr, scale});
}

inline Happened settle_levels(Combination& c, double* numbers, double y) {
    const OpenRow ticket = c.open_row(numbers);
    const i64 seats = c.seats();
    const double *f = ticket.f(), *told = ticket.told(), *x = ticket.answers();
    const bool prompt = numbers[OpenRow::settled] == c.tally.settled;
    bool whole = true;
    for (i64 i = 0; i < c.n; ++i) {
        const double cost = price_levels(c, f + i, c.places, y);
        const bool awake = f[i] == f[i];
        c.awake[i] = awake;
        whole &= awake;
        c.losses[i] = cost;
        if (awake && !(c.setup.low <= cost && cost <= c.setup.high))
            return {abs(cost) < infinity ? Trouble::outside : Trouble::infinite, i};
    }
    // Slopes are below 1, so the spread itself must have a finite square.
    if (learns_slopes(c.kind) && !(numbers[OpenRow::high] - numbers[OpenRow::low] <= largest_slope))
        return {Trouble::extreme, -1};

    double expected = 0.0;
    const double scale = max(abs(numbers[OpenRow::low]), abs(numbers[OpenRow::high]));
    if (c.kind == Mixing::two_layers) {
        expected = settle_own(c, ticket.p(), f, 1.0, 0.0, whole, prompt);
        double line[most_seats], costs[members];
        settle_layer<false>(c, c.top, told, x, 1, y, line, prompt ? nullptr : ticket.top_sizes(), scale);
        settle_layer(c, c.b, f, told, seats, y, c.line, prompt ? nullptr : ticket.sizes(), scale);
        settle_layer(c, c.quick, f, told + 1, seats, y, c.line, prompt ? nullptr : ticket.quick_sizes(),
                     scale);
        for (i64 k = 0; k < members; ++k) costs[k] = price_levels(c, told + k, seats, y);
        count_members(c, costs, whole);
    } else if (c.kind == Mixing::rule_b) {
        settle_layer(c, c.b, f, x, 1, y, c.line, prompt ? nullptr : ticket.sizes(), scale);
    } else {
        const Line own = line_of(c, f, c.places, x, 1, y, c.line);
        if (has_adahedge(c.kind)) expected = settle_own(c, ticket.p(), c.line, 1.0, own.low, whole, prompt);
        else if (has_regrets(c.kind)) settle_regrets(c.regrets, c.kind, c.line, own.at, 1.0);
    }
    c.mean_loss += price_levels(c, told + 3, seats, y);
    count_row(c.tally, c.n, c.losses, price_levels(c, x, 1, y), expected);
    return {};
}

}  // namespace hn::HN_ISA
