// Rows of forecasts: the weights of the kind, the answer, and what the target teaches every layer.
//
// In two layers each member learns from the slope at the forecast that it gave itself, and the layer above from the slope
// at the answer. A ticket keeps what the row was answered with, so its target may come whenever it likes.
#pragma once

#include "../learners/regrets.hpp"
#include "../learners/rule_b.hpp"
#include "combine.hpp"

namespace hn::HN_ISA {

/// The weights of AdaHedge among the awake.
HN_INLINE void share_adahedge(const Combination& c, bool whole, const bool* awake, double* p) {
    if (whole)
        for (i64 i = 0; i < c.n; ++i) p[i] = c.own.w[i] / c.own.total;
    else
        restrict_to(c.setup, c.own, awake, p);
}

/// The middle of the awake, or the two middles: p by rank, NaN last.
HN_COLD void share_median(const double* f, i64 n, i64 up, double* p, double* order) {
    i64 m = 0;
    for (i64 i = 0; i < n; ++i) {
        p[i] = 0.0;
        if (f[i] != f[i]) continue;
        i64 at = m++;
        for (; at > 0 && f[i64(order[at - 1])] > f[i]; --at) order[at] = order[at - 1];
        order[at] = double(i);
    }
    p[i64(order[(up - 1) / 2])] += 0.5, p[i64(order[up / 2])] += 0.5;
}

HN_INLINE double weighed(const double* p, const double* f, i64 n) {
    double x = 0.0;
    for (i64 i = 0; i < n; ++i) x += f[i] == f[i] ? p[i] * f[i] : 0.0;
    return x;
}

inline bool answer_row(Combination& c, const double* forecasts, double* numbers, double* weights) {
    const Ticket ticket{numbers, c.places};
    double *f = ticket.f(), *p = ticket.p(), low = infinity, high = -infinity, sum = 0.0;
    i64 up = 0;
    for (i64 i = 0; i < c.n; ++i) {
        const double here = forecasts[i];
        const bool awake = here == here;
        f[i] = here, c.awake[i] = awake, up += awake;
        low = least(here, low), high = most(here, high);
        sum += awake ? here : 0.0;
    }
    if (up == 0) return false;
    for (i64 i = c.n; i < c.places; ++i) f[i] = __builtin_nan("");
    numbers[Ticket::low] = low, numbers[Ticket::high] = high, numbers[Ticket::settled] = c.tally.settled;
    const double mean = most(least(sum / double(up), high), low);
    const bool whole = up == c.n;
    double x;
    if (c.kind == Mixing::two_layers) {
        double* told = numbers + Ticket::member;
        double* shares = weights ? c.shares : nullptr;
        told[0] = mix_b(c.b, f, low, high, shares);
        if (weights)
            for (i64 i = 0; i < c.n; ++i) c.row[i] = shares[i];
        told[1] = mix_b(c.quick, f, low, high, shares);
        share_adahedge(c, whole, c.awake, p);
        told[2] = most(least(weighed(p, f, c.n), high), low);
        told[3] = mean;
        double part[members], least_told = told[0], most_told = told[0];
        for (int k = 1; k < 4; ++k) least_told = least(told[k], least_told), most_told = most(told[k], most_told);
        x = mix_b(c.top, told, least_told, most_told, weights ? part : nullptr);
        if (weights)
            for (i64 i = 0; i < c.n; ++i)
                weights[i] = part[0] * c.row[i] + part[1] * shares[i] + part[2] * p[i] +
                             (c.awake[i] ? part[3] / double(up) : 0.0);
        for (i64 i = 0; i < members; ++i) numbers[Ticket::top_sizes + i] = c.top.sizes[i];
        for (i64 i = 0; i < c.places; ++i) ticket.sizes()[i] = c.b.sizes[i], ticket.quick_sizes()[i] = c.quick.sizes[i];
    } else {
        if (c.kind == Mixing::rule_b) {
            x = mix_b(c.b, f, low, high, weights ? p : nullptr);
            for (i64 i = 0; i < c.places; ++i) ticket.sizes()[i] = c.b.sizes[i];
        } else {
            if (has_adahedge(c.kind)) share_adahedge(c, whole, c.awake, p);
            else if (has_regrets(c.kind)) share_regrets(c.regrets, c.kind, f, p);
            else if (c.kind == Mixing::median) share_median(f, c.n, up, p, c.row);
            else
                for (i64 i = 0; i < c.n; ++i) p[i] = c.awake[i] ? 1.0 / double(up) : 0.0;
            x = most(least(weighed(p, f, c.n), high), low);
        }
        if (weights)
            for (i64 i = 0; i < c.n; ++i) weights[i] = p[i];
    }
    numbers[Ticket::member + 3] = mean;
    numbers[Ticket::answer] = x;
    c.answered += 1.0;
    return true;
}

inline Happened settle_row(Combination& c, double* numbers, double y) {
    const Ticket ticket{numbers, c.places};
    const double *f = ticket.f(), *told = numbers + Ticket::member, x = numbers[Ticket::answer];
    const double low = numbers[Ticket::low], high = numbers[Ticket::high];
    const bool prompt = numbers[Ticket::settled] == c.tally.settled;
    bool whole = true;
    for (i64 i = 0; i < c.n; ++i) {
        const bool awake = f[i] == f[i];
        c.awake[i] = awake, whole &= awake;
        const double cost = awake ? price_of(c.price, f[i], y) : __builtin_nan("");
        c.losses[i] = cost;
        // NaN and infinity are outside of every range.
        if (awake && !(c.setup.low <= cost && cost <= c.setup.high))
            return {size(cost) < infinity ? Trouble::outside : Trouble::infinite, i};
    }
    const auto slope = [&](double at) { return price_of(c.price, at, y) < c.price.cap ? slope_of(c.price, at, y) : 0.0; };
    const double g = slope(x);
    double steepest = size(g), slopes[2] = {0.0, 0.0};
    if (c.kind == Mixing::two_layers)
        for (int k = 0; k < 2; ++k) slopes[k] = slope(told[k]), steepest = most(size(slopes[k]), steepest);
    if (c.kind != Mixing::mean && c.kind != Mixing::median && c.kind != Mixing::adahedge && steepest > 0.0 &&
        !(steepest * (high - low) <= largest_slope))
        return {Trouble::extreme, -1};

    double expected = 0.0;
    if (has_adahedge(c.kind)) {
        const double* p = ticket.p();
        for (i64 i = 0; i < c.n; ++i) {
            if (c.awake[i]) expected += p[i] * c.losses[i];
            c.row[i] = c.kind == Mixing::adahedge_slopes && c.awake[i] ? g * (f[i] - low) : c.losses[i];
        }
        if (!whole) charge_sleepers(p, c.awake, c.row, c.n);
        settle_adahedge(c.setup, c.own, c.row, prompt ? nullptr : p);
    }
    if (c.kind == Mixing::two_layers) {
        const f64x4 four = load4(told);
        settle_b(c.top, told, x, g, fold_least(four), fold_most(four), prompt ? nullptr : numbers + Ticket::top_sizes);
        settle_b(c.b, f, told[0], slopes[0], low, high, prompt ? nullptr : ticket.sizes());
        settle_b(c.quick, f, told[1], slopes[1], low, high, prompt ? nullptr : ticket.quick_sizes());
        const double by_b = price_of(c.price, told[0], y), by_own = price_of(c.price, told[2], y);
        c.member_loss[0] += by_b, c.member_loss[1] += price_of(c.price, told[1], y);
        c.member_loss[2] += by_own, c.member_loss[3] += price_of(c.price, told[3], y);
        if (!whole)
            for (i64 i = 0; i < c.n; ++i)
                if (!c.awake[i]) c.slept_b[i] += by_b, c.slept_own[i] += by_own;
    } else if (c.kind == Mixing::rule_b) {
        settle_b(c.b, f, x, g, low, high, prompt ? nullptr : ticket.sizes());
    } else if (has_regrets(c.kind)) {
        settle_regrets(c.regrets, c.kind, f, x, g);
    }
    c.mean_loss += price_of(c.price, told[3], y);
    count_row(c.tally, c.n, c.losses, price_of(c.price, x, y), expected);
    return {};
}

inline i64 prompt_rows(Combination& c, const double* forecasts, const double* targets, i64 rows, double* ticket,
                       double* mixed, double* weights, Happened& happened) {
    for (i64 t = 0; t < rows; ++t) {
        if (!answer_row(c, forecasts + t * c.n, ticket, weights ? weights + t * c.n : nullptr)) {
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
        mixed[t] = ticket[Ticket::answer];
    }
    return rows;
}

inline void refresh_all(Combination& c) {
    for (RuleBState* b : {&c.top, &c.b, &c.quick}) refresh_b(*b);
    // The sums below of AdaHedge are its memory: its weights follow.
    adahedge(c.setup, c.own);
}

inline void begin_combination(Combination& c, double* numbers, const double* prior) {
    for (i64 k = 0; k < c.room(); ++k) numbers[k] = 0.0;
    const auto lay = [&](RuleBState& b, i64 n, double forget) {
        b.n = n, b.places = in_fours(n), b.forget = forget, b.grown = 1.0;
        each_array(b, [&](const char*, double*& array) { array = numbers, numbers += b.places; });
        for (i64 i = 0; i < n; ++i) b.prior[i] = prior && n == c.n ? prior[i] : 1.0 / double(n);
    };
    lay(c.b, c.n, 1.0), lay(c.quick, c.n, 0.99), lay(c.top, members, 1.0);
    RegretState& s = c.regrets;
    s = {c.n, c.places, 0.0, 0.0, numbers, numbers + c.places, numbers + 2 * c.places, numbers + 3 * c.places};
    numbers += 4 * c.places;
    if (c.kind == Mixing::fixed_share)
        for (i64 i = 0; i < c.n; ++i) s.weight[i] = 1.0 / double(c.n);
    c.losses = numbers, c.row = numbers + c.places, c.shares = numbers + 2 * c.places, numbers += 3 * c.places;
    static_cast<RunNumbers&>(c.own) = RunNumbers{};
    c.own.lay_out(c.setup, numbers);
    numbers += c.setup.room();
    c.tally = Tally{};
    c.tally.losses = numbers, c.tally.beside = numbers + c.n, c.tally.awake = numbers + 2 * c.n;
    c.slept_b = numbers + 3 * c.n, c.slept_own = numbers + 4 * c.n;
    c.answered = c.mean_loss = 0.0;
    for (double& x : c.member_loss) x = 0.0;
    refresh_all(c);
}

}  // namespace hn::HN_ISA
