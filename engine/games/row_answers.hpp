// Rows of forecasts: the weights of the kind and the answer; what AdaHedge and the members are told when the target comes.
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

/// What a row's columns f in [low, high] are mixed to, of which `up` are awake and whose mean is in told[3]. The members'
/// answers are written; `weights` of the columns (n) may be null. The weights are those of the first level at every level.
HN_INLINE double mix_row(Combination& c, const double* f, double low, double high, i64 up, double* told, double* p,
                         double* weights, bool first) {
    if (c.kind == Mixing::two_layers) {
        double* shares = weights ? c.shares : nullptr;
        told[0] = mix_b(c.b, f, low, high, shares);
        if (weights)
            for (i64 i = 0; i < c.n; ++i) c.row[i] = shares[i];
        told[1] = mix_b(c.quick, f, low, high, shares);
        if (first) share_adahedge(c, up == c.n, c.awake, p);
        told[2] = most(least(weighed(p, f, c.n), high), low);
        double part[members], least_told = told[0], most_told = told[0];
        for (int k = 1; k < 4; ++k) least_told = least(told[k], least_told), most_told = most(told[k], most_told);
        const double x = mix_b(c.top, told, least_told, most_told, weights ? part : nullptr);
        if (weights)
            for (i64 i = 0; i < c.n; ++i)
                weights[i] = part[0] * c.row[i] + part[1] * shares[i] + part[2] * p[i] +
                             (c.awake[i] ? part[3] / double(up) : 0.0);
        return x;
    }
    if (c.kind == Mixing::rule_b) {
        const double x = mix_b(c.b, f, low, high, weights ? p : nullptr);
        if (weights)
            for (i64 i = 0; i < c.n; ++i) weights[i] = p[i];
        return x;
    }
    if (c.kind == Mixing::median) share_median(f, c.n, up, p, c.row);
    else if (first) {
        if (has_adahedge(c.kind)) share_adahedge(c, up == c.n, c.awake, p);
        else if (has_regrets(c.kind)) share_regrets(c.regrets, c.kind, f, p);
        else
            for (i64 i = 0; i < c.n; ++i) p[i] = c.awake[i] ? 1.0 / double(up) : 0.0;
    }
    if (weights)
        for (i64 i = 0; i < c.n; ++i) weights[i] = p[i];
    return most(least(weighed(p, f, c.n), high), low);
}

inline bool answer_row(Combination& c, const double* forecasts, double* numbers, double* weights) {
    const OpenRow ticket{numbers, c.places, c.levels};
    const i64 depth = c.depth(), median = (depth - 1) / 2;
    double bottom = infinity, top = -infinity;
    for (i64 q = 0; q < depth; ++q, forecasts += c.n) {
        double *f = ticket.f(q), low = infinity, high = -infinity, sum = 0.0;
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
        double* told = ticket.told(q);
        told[3] = most(least(sum / double(up), high), low);
        bottom = least(low, bottom), top = most(high, top);
        // Weights are common to the levels; the median's are told of the middle one.
        const bool asked = q == (c.kind == Mixing::median ? median : 0);
        ticket.answers()[q] = mix_row(c, f, low, high, up, told, ticket.p(), asked ? weights : nullptr, q == 0);
    }
    numbers[OpenRow::low] = bottom, numbers[OpenRow::high] = top, numbers[OpenRow::settled] = c.tally.settled;
    if (has_rule_b(c.kind)) {
        for (i64 i = 0; i < c.places; ++i) ticket.sizes()[i] = c.b.sizes[i];
        if (c.kind == Mixing::two_layers) {
            for (i64 i = 0; i < members; ++i) numbers[OpenRow::top_sizes + i] = c.top.sizes[i];
            for (i64 i = 0; i < c.places; ++i) ticket.quick_sizes()[i] = c.quick.sizes[i];
        }
    }
    c.answered += 1.0;
    return true;
}

/// AdaHedge hears of a row: of losses, or of what slopes make of the columns (`line`, from `low` on). What it expected.
HN_INLINE double settle_own(Combination& c, const double* p, const double* line, double g, double low, bool whole, bool prompt) {
    double expected = 0.0;
    for (i64 i = 0; i < c.n; ++i) {
        if (c.awake[i]) expected += p[i] * c.losses[i];
        c.row[i] = c.kind == Mixing::adahedge_slopes && c.awake[i] ? g * (line[i] - low) : c.losses[i];
    }
    if (!whole) charge_sleepers(p, c.awake, c.row, c.n);
    settle_adahedge(c.setup, c.own, c.row, prompt ? nullptr : p);
    return expected;
}

/// What the members lost in a row, and in its place those who slept.
HN_INLINE void count_members(Combination& c, const double* costs, bool whole) {
    for (i64 k = 0; k < members; ++k) c.member_loss[k] += costs[k];
    if (!whole)
        for (i64 i = 0; i < c.n; ++i)
            if (!c.awake[i]) c.slept_b[i] += costs[0], c.slept_own[i] += costs[2];
}

}  // namespace hn::HN_ISA
