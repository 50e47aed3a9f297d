// Construction of a combination, and its state as named fields.
#pragma once

#include <nanobind/stl/optional.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "../combination.hpp"
#include "arrays.hpp"
#include "fields.hpp"

namespace hn {

/// Rule of a combination: how weights are made, the loss with its range, and the quantile levels, if any.
struct MixRule {
    Mixing kind;
    Price price;
    double low, high;
    std::vector<double> levels;
};

/// The rule must outlive the combination, which points to its levels.
inline Combination combination_of(const MixRule& rule, i64 n) {
    require(n >= 1 && n <= (i64(1) << 24), "the number of columns must be between 1 and 2^24");
    Combination c;
    c.kind = rule.kind;
    c.n = n;
    c.places = in_fours(n);
    c.price = rule.price;
    c.levels = i64(rule.levels.size());
    c.level = rule.levels.data();
    require(c.levels <= 10000 && n * c.depth() <= (i64(1) << 24),
            "the number of columns times levels must be at most 2^24, with at most 10000 levels");
    Setup& s = c.setup;
    s.setting = Setting::experts;
    s.weighing = Weighing::memory;
    s.memory = Memory::adahedge;
    s.path = Path::called;
    s.n = n;
    s.low = rule.low;
    s.high = rule.high;
    s.parameter[0] = n > 1 ? 1.0 / std::log(double(n)) : 0.0;
    return c;
}

inline std::vector<double> levels_of(const std::optional<In<double>>& levels) {
    if (!levels) return {};
    std::vector<double> out(levels->data(), levels->data() + levels->size());
    double before = 0.0;
    for (const double level : out) {
        require(before < level && level < 1.0, "levels must ascend in (0, 1)");
        before = level;
    }
    return out;
}

inline void check_prior(const double* prior, i64 n) {
    double sum = 0.0;
    for (i64 i = 0; i < n; ++i) {
        require(prior[i] > 0.0, "prior must be positive");
        sum += prior[i];
    }
    require(std::fabs(sum - 1.0) < 1e-9, "prior must sum to 1");
}

// The state as named fields: written by name, and read back with a check per field.

/// Visit the numbers of AdaHedge's run.
template <class Visit> void each_own(Combination& state, Visit visit) {
    visit("own", state.own.own);
    visit("drift", state.own.drift);
    visit("level", state.own.level);
}
template <class Visit> void each_total(Combination& state, Visit visit) {
    visit("answered", state.answered);
    visit("mean_loss", state.mean_loss);
    visit("mixture", state.tally.mixture);
    visit("expected", state.tally.expected);
    visit("settled", state.tally.settled);
    visit("range", state.regrets.range);
    visit("regret_rows", state.regrets.settled);
    visit("member_b", state.member_loss[0]);
    visit("member_quick", state.member_loss[1]);
    visit("member_adahedge", state.member_loss[2]);
    visit("member_mean", state.member_loss[3]);
    visit("grown", state.b.grown);
    visit("top_grown", state.top.grown);
}
/// Sums of the distances of the columns; files of version 0.2 have none of them, and no caps.
template <class Visit> void each_spread(Combination& state, Visit visit) {
    visit("spread", state.b.spread);
    visit("spread_rows", state.b.spread_rows);
    visit("quick_spread", state.quick.spread);
    visit("quick_spread_rows", state.quick.spread_rows);
}
template <class Visit> void each_cap(Combination& state, Visit visit) {
    visit("b_cap", state.b);
    visit("quick_cap", state.quick);
}
/// Visit every array with its length and its smallest valid value.
template <class Visit> void each_array_of_state(Combination& state, Visit visit) {
    const auto rule_arrays = [&](RuleBState& b, const char* prefix) {
        each_array(b, [&](const char* name, double* array) {
            const std::string text = name;
            if (text == "level" || text == "weight" || text == "cap") return;
            const bool free_sign = text == "gain" || text == "drift" || text == "still" || text == "lead";
            visit((prefix + text).c_str(), array, b.n, free_sign ? -1.7e308 : 0.0);
        });
    };
    rule_arrays(state.b, "b_");
    rule_arrays(state.quick, "quick_");
    rule_arrays(state.top, "top_");
    visit("losses", state.tally.losses, state.n, -1.7e308);
    visit("beside", state.tally.beside, state.n, -1.7e308);
    visit("awake", state.tally.awake, state.n, 0.0);
    visit("slept_b", state.slept_b, state.n, -1.7e308);
    visit("slept_adahedge", state.slept_own, state.n, -1.7e308);
    visit("adahedge_losses", state.own.L, state.n, -1.7e308);
    visit("adahedge_sums", state.own.memory, adahedge_sums, -1.7e308);
    visit("regrets", state.regrets.regret, state.n, -1.7e308);
    visit("seconds", state.regrets.second, state.n, 0.0);
    visit("regret_sizes", state.regrets.largest, state.n, 0.0);
    visit("regret_weights", state.regrets.weight, state.n, 0.0);
}

/// Write all fields except pending rows.
inline nb::dict fields_of(Combination& state) {
    nb::dict out, numbers;
    each_own(state, [&](const char* name, double& x) { numbers[name] = x; });
    each_total(state, [&](const char* name, double& x) { numbers[name] = x; });
    each_spread(state, [&](const char* name, double& x) { numbers[name] = x; });
    out["numbers"] = numbers;
    each_array_of_state(state, [&](const char* name, double* array, i64 count, double) {
        out[name] = array_of(array, count);
    });
    // An infinite cap is stored as 0.
    each_cap(state, [&](const char* name, RuleBState& b) {
        Fresh<double> caps{std::size_t(b.n)};
        for (i64 i = 0; i < b.n; ++i) caps.data[i] = std::isfinite(b.cap[i]) ? b.cap[i] : 0.0;
        out[name] = caps.give();
    });
    return out;
}

/// Read caps, sums of distances and P. In a file of version 0.2 no column has a cap, and P includes the prior masses of the
/// columns without an update.
inline void read_caps(Combination& state, const nb::dict& from, const nb::dict& numbers) {
    bool stored = false;
    each_spread(state, [&](const char* name, double&) { stored |= numbers.contains(name); });
    each_cap(state, [&](const char* name, RuleBState&) { stored |= from.contains(name); });
    const auto none = [](RuleBState& b) {
        for (i64 i = 0; i < b.n; ++i) b.cap[i] = b.rate[i] > 0.0 ? __builtin_inf() : 0.0;
    };
    none(state.top);
    if (!stored) {
        none(state.b);
        none(state.quick);
        for (RuleBState* b : {&state.b, &state.quick, &state.top}) {
            double sum = 0.0, updated = 0.0;
            for (i64 i = 0; i < b->n; ++i) {
                sum += b->prior[i];
                updated += b->rate[i] > 0.0 ? b->prior[i] : 0.0;
            }
            must(std::fabs(sum - 1.0) < 1e-9, "prior", "must sum to 1");
            if (b == &state.quick) continue;
            must(b->grown >= 1.0, "grown", "must be >= 1");
            b->grown = b->grown - 1.0 + updated;
        }
        return;
    }
    each_spread(state, [&](const char* name, double& x) {
        must(nb::try_cast(nb::object(nb::borrow(entry(numbers, name))), x), name, "must be a number");
    });
    for (const RuleBState* b : {&state.b, &state.quick}) {
        must(b->spread >= 0.0 && b->spread <= 1e300, "spread", "must be in [0, 1e300]");
        must(b->spread_rows >= 0.0 && b->spread_rows <= state.tally.settled &&
                 b->spread_rows == std::floor(b->spread_rows),
             "spread_rows", "must be an integer, at most `settled`");
    }
    each_cap(state, [&](const char* name, RuleBState& b) {
        read_array(from, name, b.n, b.cap, 0.0, 1.7e308);
        for (i64 i = 0; i < b.n; ++i) {
            must(b.cap[i] == 0.0 || (b.cap[i] >= 1e-300 && b.rate[i] > 0.0), name,
                 "must be 0, or at least 1e-300 if the column has a learning rate");
            if (b.cap[i] == 0.0 && b.rate[i] > 0.0) b.cap[i] = __builtin_inf();
        }
    });
}

/// Read the fields. Levels and weights are computed afterwards.
inline void read_fields(Combination& state, const nb::dict& from) {
    const nb::dict numbers = nb::cast<nb::dict>(entry(from, "numbers"));
    const auto number = [&](const char* name, double& x) {
        must(nb::try_cast(nb::object(nb::borrow(entry(numbers, name))), x), name, "must be a number");
        must(std::isfinite(x) || std::string(name) == "level", name, "must be finite");
    };
    each_own(state, number);
    each_total(state, number);
    for (const double* count : {&state.answered, &state.tally.settled, &state.regrets.settled})
        must(*count >= 0.0 && *count <= 0x1p53 && *count == std::floor(*count), "answered and settled",
             "must be integers between 0 and 2^53");
    must(state.tally.settled <= state.answered, "settled", "must be at most `answered`");
    must(state.b.grown >= 0.0 && state.top.grown >= 0.0, "grown", "must be >= 0");
    each_array_of_state(state, [&](const char* name, double* array, i64 count, double low) {
        read_array(from, name, count, array, low, 1.7e308);
    });
    for (RuleBState* b : {&state.b, &state.quick, &state.top}) {
        for (i64 i = 0; i < b->n; ++i) {
            must(b->prior[i] > 0.0 && b->prior[i] <= 1.0 + 1e-9, "prior", "must be in (0, 1]");
            must(b->rate[i] == 0.0 || (b->rate[i] >= 1e-200 && b->rate[i] <= 1e200), "rate",
                 "must be within the limits of the field");
            must(b->rate[i] * b->gain[i] <= 700.0, "gain", "must have rate times gain of at most 700");
        }
    }
    read_caps(state, from, numbers);
    AdaHedgeSums& sums = *reinterpret_cast<AdaHedgeSums*>(state.own.memory);
    must(sums.gap >= 0.0 && sums.variance >= 0.0 && sums.span >= 0.0, "adahedge_sums", "must be >= 0");
}

/// Check that the answers of a pending row are between its forecasts, and that its sums are at most the current sums.
inline void check_ticket(const Combination& state, double* at) {
    const OpenRow ticket = state.open_row(at);
    const double low = at[OpenRow::low], high = at[OpenRow::high];
    must(std::isfinite(low) && std::isfinite(high), "open",
         "must have answers between the smallest and the largest forecast");
    must(at[OpenRow::settled] >= 0.0 && at[OpenRow::settled] <= state.tally.settled, "open",
         "must have been answered after at most `settled` rows");
    for (i64 q = 0; q < state.depth(); ++q) {
        const double x = ticket.answers()[q], *f = ticket.f(q), *told = ticket.told(q);
        must(low <= x && x <= high, "open", "must have answers between the smallest and the largest forecast");
        i64 awake = 0;
        for (i64 i = 0; i < state.places; ++i) {
            must(std::isnan(f[i]) || (i < state.n && low <= f[i] && f[i] <= high), "open",
                 "must have forecasts between low and high");
            must(std::isnan(f[i]) == std::isnan(ticket.f()[i]), "open",
                 "must have all levels of a column, or none");
            awake += !std::isnan(f[i]);
        }
        must(awake > 0, "open", "must have at least one forecast");
        for (i64 k = state.kind == Mixing::two_layers ? 0 : 3; k < members; ++k)
            must(low <= told[k] && told[k] <= high, "open",
                 "must have member answers between the smallest and the largest forecast");
    }
    const double *p = ticket.p(), *sizes = ticket.sizes(), *quick = ticket.quick_sizes();
    if (has_adahedge(state.kind))
        for (i64 i = 0; i < state.n; ++i)
            must(p[i] >= 0.0 && p[i] <= 1.0 + 1e-9, "open", "must have weights in [0, 1]");
    if (state.kind == Mixing::two_layers)
        for (i64 k = 0; k < members; ++k)
            must(ticket.top_sizes()[k] >= 0.0 && ticket.top_sizes()[k] <= state.top.sizes[k],
                 "open", "must have sums between 0 and the current sums");
    if (has_rule_b(state.kind))
        for (i64 i = 0; i < state.n; ++i) {
            must(sizes[i] >= 0.0 && sizes[i] <= state.b.sizes[i], "open",
                 "must have sums between 0 and the current sums");
            if (state.kind == Mixing::two_layers)
                must(quick[i] >= 0.0 && quick[i] <= state.quick.sizes[i], "open",
                     "must have sums between 0 and the current sums");
        }
}

// New columns while a combination runs.

/// Copy the state to a combination with more columns, which had no forecast so far; `to` has begun, and its levels and
/// weights are computed afterwards.
///
/// Rule B: prior masses, caps and P are multiplied by n/(n + new), and a new column has the mass 1/(n + new). All of them
/// are proportional, so weights and bounds are those of the columns that were empty from the start. AdaHedge: a new column
/// has the loss of AdaHedge itself, as any column without a forecast, and Delta is multiplied like ln n, so that the
/// scale does not change: sum m <= Phi_s(L) also holds with the new column, because its loss is at least sum m, and 2
/// Delta remains a bound.
inline void extend(Combination& to, Combination& from) {
    const double kept = double(from.n) / double(to.n), share = 1.0 / double(to.n);
    std::vector<double> numbers;
    const auto keep = [&](const char*, double& x) { numbers.push_back(x); };
    each_own(from, keep);
    each_total(from, keep);
    each_spread(from, keep);
    std::size_t next = 0;
    const auto give = [&](const char*, double& x) { x = numbers[next++]; };
    each_own(to, give);
    each_total(to, give);
    each_spread(to, give);
    std::vector<const double*> arrays;
    std::vector<i64> sizes;
    each_array_of_state(from, [&](const char*, const double* array, i64 count, double) {
        arrays.push_back(array);
        sizes.push_back(count);
    });
    std::size_t which = 0;
    each_array_of_state(to, [&](const char*, double* array, i64 count, double) {
        for (i64 i = 0; i < count; ++i) array[i] = i < sizes[which] ? arrays[which][i] : 0.0;
        ++which;
    });
    for (i64 i = 0; i < to.top.n; ++i) to.top.cap[i] = from.top.cap[i];
    const auto masses = [&](RuleBState& b, const RuleBState& before) {
        for (i64 i = 0; i < to.n; ++i) {
            b.prior[i] = i < from.n ? before.prior[i] * kept : share;
            const double cap = i < from.n ? before.cap[i] * kept : 0.0;
            b.cap[i] = cap > 0.0 ? std::max(cap, 1e-300) : 0.0;
        }
    };
    masses(to.b, from.b);
    masses(to.quick, from.quick);
    to.b.grown *= kept;
    AdaHedgeSums& sums = *reinterpret_cast<AdaHedgeSums*>(to.own.memory);
    if (from.n > 1) sums.gap *= std::log(double(to.n)) / std::log(double(from.n));
    if (to.kind == Mixing::fixed_share)
        for (i64 i = 0; i < to.n; ++i)
            to.regrets.weight[i] = i < from.n ? from.regrets.weight[i] * kept : share;
    for (i64 i = from.n; i < to.n; ++i) {
        to.own.L[i] = to.own.own;
        if (to.kind != Mixing::two_layers) continue;
        to.slept_b[i] = to.member_loss[0];
        to.slept_own[i] = to.member_loss[2];
    }
}

/// Copy a pending row; its new columns have no forecast.
inline void extend_row(const Combination& to, double* numbers, const Combination& from, double* before) {
    const OpenRow row = to.open_row(numbers), old = from.open_row(before);
    for (i64 k = 0; k < to.width(); ++k) numbers[k] = 0.0;
    for (i64 k = 0; k < OpenRow::forecasts; ++k) numbers[k] = before[k];
    for (i64 q = 0; q < to.depth(); ++q)
        for (i64 i = 0; i < to.places; ++i) row.f(q)[i] = i < from.n ? old.f(q)[i] : __builtin_nan("");
    for (i64 i = 0; i < from.n; ++i) {
        row.p()[i] = old.p()[i];
        row.sizes()[i] = old.sizes()[i];
        row.quick_sizes()[i] = old.quick_sizes()[i];
    }
    for (i64 k = 0; k < (members + 1) * to.levels; ++k) row.rest()[k] = old.rest()[k];
}

}  // namespace hn
