// Rows of forecasts: answers, and updates of every layer from a target. In two layers each member learns from
// the slope at its own forecast, and the upper layer from the slope at the answer. A ticket stores the state
// of the answer, so its target may arrive at any time.
#pragma once

#include "quantiles.hpp"

namespace hn::HN_ISA {

inline Happened settle_row(Combination& c, double* numbers, double y) {
    if (c.levels) return settle_levels(c, numbers, y);
    const OpenRow ticket = c.open_row(numbers);
    const double *f = ticket.f(), *told = ticket.told(), x = numbers[OpenRow::answer];
    const double low = numbers[OpenRow::low], high = numbers[OpenRow::high];
    const bool prompt = numbers[OpenRow::settled] == c.tally.settled;
    bool whole = true;
    for (i64 i = 0; i < c.n; ++i) {
        const bool awake = f[i] == f[i];
        c.awake[i] = awake;
        whole &= awake;
        const double cost = awake ? price_of(c.price, f[i], y) : __builtin_nan("");
        c.losses[i] = cost;
        // NaN and infinity are outside of every range.
        if (awake && !(c.setup.low <= cost && cost <= c.setup.high))
            return {abs(cost) < infinity ? Trouble::outside : Trouble::infinite, i};
    }
    const auto slope = [&](double at) {
        return price_of(c.price, at, y) < c.price.cap ? slope_of(c.price, at, y) : 0.0;
    };
    const double g = slope(x);
    double steepest = abs(g), slopes[2] = {0.0, 0.0};
    if (c.kind == Mixing::two_layers)
        for (int k = 0; k < 2; ++k) {
            slopes[k] = slope(told[k]);
            steepest = max(abs(slopes[k]), steepest);
        }
    if (learns_slopes(c.kind) && steepest > 0.0 && !(steepest * (high - low) <= largest_slope))
        return {Trouble::extreme, -1};

    double expected = 0.0;
    const double scale = max(abs(low), abs(high));
    if (has_adahedge(c.kind)) expected = settle_own(c, ticket.p(), f, g, low, whole, prompt);
    if (c.kind == Mixing::two_layers) {
        double least_told = fold_min(load4(told)), most_told = fold_max(load4(told));
        for (i64 k = members; k < c.seated(); ++k) {
            least_told = min(told[k], least_told);
            most_told = max(told[k], most_told);
        }
        const double top_scale = max(abs(least_told), abs(most_told));
        settle_b<false>(c.top, {told, x, g, least_told, most_told, top_scale,
                                prompt ? nullptr : ticket.top_sizes()});
        settle_b(c.b, {f, told[0], slopes[0], low, high, scale, prompt ? nullptr : ticket.sizes()});
        settle_b(c.quick, {f, told[1], slopes[1], low, high, scale, prompt ? nullptr : ticket.quick_sizes()});
        double costs[members];
        for (i64 k = 0; k < members; ++k) costs[k] = price_of(c.price, told[k], y);
        count_members(c, costs, whole);
    } else if (c.kind == Mixing::rule_b) {
        settle_b(c.b, {f, x, g, low, high, scale, prompt ? nullptr : ticket.sizes()});
    } else if (has_regrets(c.kind)) {
        settle_regrets(c.regrets, c.kind, f, x, g);
    }
    c.mean_loss += price_of(c.price, told[3], y);
    count_row(c.tally, c.n, c.losses, price_of(c.price, x, y), expected);
    return {};
}

inline i64 prompt_rows(Combination& c, const double* forecasts, const double* targets, i64 rows,
                       double* ticket, double* mixed, double* weights, Happened& happened) {
    const i64 depth = c.depth();
    for (i64 t = 0; t < rows; ++t) {
        if (!answer_row(c, forecasts + t * c.cells(), ticket, weights ? weights + t * c.n : nullptr)) {
            happened.trouble = Trouble::asleep;
            return t;
        }
        if (targets[t] == targets[t]) {
            happened = settle_row(c, ticket, targets[t]);
            if (happened.trouble != Trouble::none) {
                c.answered -= 1.0;
                return t;
            }
        }
        const double* told = c.open_row(ticket).answers();
        for (i64 q = 0; q < depth; ++q) mixed[t * depth + q] = told[q];
    }
    return rows;
}

inline void refresh_all(Combination& c) {
    for (RuleBState* b : {&c.top, &c.b, &c.quick}) refresh_b(*b);
    // The following sums are the memory of AdaHedge; its weights follow from them.
    adahedge(c.setup, c.own);
}

inline void begin_combination(Combination& c, double* numbers, const double* prior) {
    for (i64 k = 0; k < c.room(); ++k) numbers[k] = 0.0;
    const auto lay = [&](RuleBState& b, i64 n, double forget) {
        b.n = n;
        b.places = in_fours(n);
        b.forget = forget;
        b.grown = b.spread = b.spread_rows = 0.0;
        b.settled = nullptr;
        each_array(b, [&](const char*, double*& array) {
            array = numbers;
            numbers += b.places;
        });
        for (i64 i = 0; i < n; ++i) b.prior[i] = prior && n == c.n ? prior[i] : 1.0 / double(n);
    };
    lay(c.b, c.n, 1.0);
    lay(c.quick, c.n, 0.99);
    lay(c.top, c.seated(), 1.0);
    RegretState& s = c.regrets;
    s = {
        c.n, c.places, 0.0, 0.0, numbers, numbers + c.places, numbers + 2 * c.places, numbers + 3 * c.places};
    numbers += 4 * c.places;
    if (c.kind == Mixing::fixed_share)
        for (i64 i = 0; i < c.n; ++i) s.weight[i] = 1.0 / double(c.n);
    c.losses = numbers;
    c.row = numbers + c.places;
    c.shares = numbers + 2 * c.places;
    c.line = numbers + 3 * c.places;
    c.distance = numbers + 4 * c.places;
    numbers += 5 * c.places;
    static_cast<RunNumbers&>(c.own) = RunNumbers{};
    c.own.lay_out(c.setup, numbers);
    numbers += c.setup.room();
    c.tally = Tally{};
    c.tally.losses = numbers;
    c.tally.beside = numbers + c.n;
    c.tally.awake = numbers + 2 * c.n;
    c.slept_b = numbers + 3 * c.n;
    c.slept_own = numbers + 4 * c.n;
    c.slope = numbers + 5 * c.n;
    c.center = c.slope + c.levels;
    c.b.settled = c.quick.settled = c.tally.awake;
    c.answered = c.mean_loss = 0.0;
    for (double& x : c.member_loss) x = 0.0;
    refresh_all(c);
}

}  // namespace hn::HN_ISA
