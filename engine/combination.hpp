// Combination of forecasts row by row: input and results of a block of rows.
#pragma once

#include "dispatch.hpp"
#include "players.hpp"

namespace hn {

/// Loss loss(f, y) of a forecast: pinball at level `parameter`, Huber quadratic up to `parameter`; at most
/// `cap`.
enum class PointLoss : int { absolute, squared, pinball, huber, log };
struct Price {
    PointLoss kind = PointLoss::absolute;
    double parameter = 0.0, cap = __builtin_inf();
};

/// Sums over the settled rows: loss of the mixture, <p, l>, and for each expert its loss, the loss of the
/// mixture in the rows with its forecast, and their number. A row with all forecasts is counted once for all
/// experts.
struct Tally {
    double mixture = 0.0, expected = 0.0, settled = 0.0, whole_mixture = 0.0, whole_rows = 0.0;
    double *losses = nullptr, *beside = nullptr, *awake = nullptr;  // n each
};

/// Errors of a row: no forecast available, a loss outside the range, an infinite loss, a smoothing that
/// failed, a slope times a spread whose square overflows.
enum class Trouble : int { none, asleep, outside, infinite, failed, extreme };

/// Rows of forecasts (NaN: missing) and targets (NaN: unknown); weights, mixed and played are written.
struct CombineJob {
    AtPlay* at;
    Price price;
    const double *forecasts, *targets;
    i64 rows;
    double *weights, *mixed;
    i64* played;
    Tally* tally;
    double* losses;  // n: losses of the current row
    double* row;     // n, scratch
    bool* awake;     // n, scratch
    Trouble trouble = Trouble::none;
    i64 expert = -1;
    double mean_loss = 0.0;  // loss of the mean of the available forecasts, over the settled rows
};

/// Answers of rows and later targets, in order: e >= 0 answers row e (its target is NaN), e < 0 settles
/// ticket ~e, which is one of the rows or, from `rows` on, one of the rows in `old`, answered before.
struct CombineEvents {
    CombineJob* job;
    const i64* order;
    const double* told;
    i64 count;
    double* seen;  // number of settled rows when each row was answered
    const double *old_forecasts, *old_weights, *old_mixed, *old_seen;
    double largest_delay = 0.0;
};

struct Combine {
    /// Answer every row and settle rows with a target; stops before the first row that cannot be settled (see
    /// error code and expert). Returns the number of rows done.
    i64 (*rows)(CombineJob&);
    /// Process the events; stops before the first event that is invalid. Returns the number of events done.
    i64 (*events)(CombineEvents&);
    void (*count)(Tally&, i64 n, const double* losses, double cost, double own);
    void (*prices)(const Price&, const double* forecasts, const double* targets, i64 rows, i64 n,
                   double* out);
    /// sum_t loss(<q, f_t>, y_t) over rows with a target, and its gradient in q.
    double (*oracle)(const Price&, const double* forecasts, const double* targets, i64 rows, i64 n,
                     const double* q, double* slope);
};

// Combination of forecasts that learns from losses and slopes: rows are answered, and settled when their
// target arrives.

/// Weighting rule: rule B over {B, B .99, AdaHedge, the mean}, or a single rule.
enum class Mixing : int {
    two_layers,
    rule_b,
    adahedge,
    adahedge_slopes,
    ml_poly,
    boa,
    squint,
    ada_normal_hedge,
    fixed_share,
    mean,
    median,
};
HN_INLINE constexpr bool has_rule_b(Mixing m) { return m <= Mixing::rule_b; }
HN_INLINE constexpr bool has_adahedge(Mixing m) {
    return m == Mixing::two_layers || m == Mixing::adahedge || m == Mixing::adahedge_slopes;
}
HN_INLINE constexpr bool learns_slopes(Mixing m) {
    return m != Mixing::adahedge && m != Mixing::mean && m != Mixing::median;
}
HN_INLINE constexpr bool has_regrets(Mixing m) { return m >= Mixing::ml_poly && m <= Mixing::fixed_share; }

/// Rule B: learners/rule_b.hpp. Arrays have a multiple of four places; beyond n all numbers are 0.
struct RuleBState {
    i64 n = 0, places = 0;
    double forget = 1.0;
    double grown = 0.0;  // P, at least the sum of pi_i e^(eta_i S_i) over the updated columns
    double spread = 0.0,
           spread_rows = 0.0;  // Q and n: sum of the weighted squared distances, and number of their rows
    bool capped = false;       // whether a cap is finite
    i64 waiting = 0;           // number of columns without an update
    /// Number of settled rows per column; null in the upper layer, whose columns are available in every row.
    const double* settled = nullptr;
    double *prior = nullptr, *gain = nullptr, *squares = nullptr, *largest = nullptr, *rate = nullptr,
           *level = nullptr, *weight = nullptr, *sizes = nullptr, *spent = nullptr, *drift = nullptr,
           *still = nullptr, *lead = nullptr;
    /// c_i, the cap of prior times rate: 0 before the first update of the column, infinity if there is no cap.
    double* cap = nullptr;
};

/// Visit every array of a rule by its name, for its layout, for files and for queries. `level` is e^(eta S), `weight`
/// its part of the weights; both follow from the other arrays.
template <class State, class Visit>
HN_INLINE void each_array(State& b, Visit visit) {
    visit("prior", b.prior);
    visit("gain", b.gain);
    visit("squares", b.squares);
    visit("largest", b.largest);
    visit("rate", b.rate);
    visit("level", b.level);
    visit("weight", b.weight);
    visit("sizes", b.sizes);
    visit("spent", b.spent);
    visit("drift", b.drift);
    visit("still", b.still);
    visit("lead", b.lead);
    visit("cap", b.cap);
}
inline constexpr i64 rule_b_arrays = 13;

/// Rules that keep regrets: learners/second_order.hpp.
struct RegretState {
    i64 n = 0, places = 0;
    double range = 0.0, settled = 0.0;
    double *regret = nullptr, *second = nullptr, *largest = nullptr, *weight = nullptr;
};

/// Members of every combination of two layers, and the places of the members if there is one more member.
inline constexpr i64 members = 4, most_seats = 8;

/// State of a row until its target arrives, as one array. Forecasts on a grid of quantile levels have `places` per level,
/// then the answers of the members and of the row, level by level. `seats` is the number of places of the members: 4, or
/// 8 if there are more than four members; their answers then follow the other numbers.
struct OpenRow {
    enum : i64 { answer = 0, member = 1, top = 5, settled = 9, low = 10, high = 11, forecasts = 12 };
    double* at;
    i64 places, levels, seats = members;
    HN_INLINE static i64 depth(i64 levels) { return levels ? levels : 1; }
    HN_INLINE static i64 width(i64 places, i64 levels, i64 seats = members) {
        return forecasts + (depth(levels) + 3) * places + (members + 1) * levels +
               (seats > members ? seats * (depth(levels) + 1) : 0);
    }
    HN_INLINE double* f(i64 q = 0) const { return at + forecasts + q * places; }
    HN_INLINE double* p() const { return f(depth(levels)); }
    HN_INLINE double* sizes() const { return p() + places; }
    HN_INLINE double* quick_sizes() const { return p() + 2 * places; }
    HN_INLINE double* answers() const { return levels ? rest() + members * levels : at + answer; }
    HN_INLINE double* told(i64 q = 0) const {
        return seats > members ? more() + seats * q : levels ? rest() + members * q : at + member;
    }
    HN_INLINE double* top_sizes() const { return seats > members ? more() + seats * depth(levels) : at + top; }
    HN_INLINE double* rest() const { return p() + 3 * places; }
    HN_INLINE double* more() const { return rest() + (members + 1) * levels; }
};

struct Combination {
    Mixing kind = Mixing::two_layers;
    i64 n = 1, places = 4;
    Price price;
    /// Quantile levels, or none; with levels, the loss of a row is the mean of their pinball losses.
    i64 levels = 0;
    const double* level = nullptr;
    RuleBState top, b, quick;
    /// Number of further members, 0 or 1; the forecast of such a member, one number per level, for the row that is
    /// answered next, and its weights of the columns, if weights are requested.
    i64 outside = 0;
    const double *outside_forecast = nullptr, *outside_weights = nullptr;
    RegretState regrets;
    Setup setup;  // of AdaHedge, with the required range of the losses
    Run own;
    Tally tally;
    double answered = 0.0, mean_loss = 0.0, member_loss[members] = {0.0, 0.0, 0.0, 0.0};
    /// Losses of the members B and AdaHedge in the rows without a forecast of each column.
    double *slept_b = nullptr, *slept_own = nullptr;
    double *losses = nullptr, *row = nullptr, *shares = nullptr;
    double *line = nullptr,
           *slope = nullptr;  // for quantiles: losses from slopes for each column, and the slopes
    double *distance = nullptr,
           *center = nullptr;  // scratch for quantiles: distances d_i, and z of each level
    bool* awake = nullptr;

    HN_INLINE i64 depth() const { return OpenRow::depth(levels); }
    /// Number of the members, and of their places.
    HN_INLINE i64 seated() const { return members + outside; }
    HN_INLINE i64 seats() const { return outside ? most_seats : members; }
    HN_INLINE i64 width() const { return OpenRow::width(places, levels, seats()); }
    HN_INLINE OpenRow open_row(double* at) const { return {at, places, levels, seats()}; }
    /// Numbers of a row of forecasts, level by level.
    HN_INLINE i64 cells() const { return n * depth(); }

    HN_INLINE i64 room() const {
        return rule_b_arrays * (2 * places + seats()) + 4 * places + setup.room() + 5 * n + 8 + 5 * places +
               2 * levels;
    }
};

/// Result of settling a row: error code, and column of the error.
struct Happened {
    Trouble trouble = Trouble::none;
    i64 expert = -1;
};

struct Combinations {
    /// Arrays laid out in `numbers` (room() of them, aligned); kind, n, price, setup and priors are set.
    void (*begin)(Combination&, double* numbers, const double* prior);
    /// Returns false if no forecast is available. `weights` (n, of the columns) may be null.
    bool (*answer)(Combination&, const double* forecasts, double* ticket, double* weights);
    /// The state is unchanged after an error.
    Happened (*settle)(Combination&, double* ticket, double target);
    /// Answer rows, and settle those with a target; returns the first row that cannot be settled, or `rows`.
    /// `mixed` has one number per row and level.
    i64 (*rows)(Combination&, const double* forecasts, const double* targets, i64 rows, double* ticket,
                double* mixed, double* weights, Happened& happened);
    /// Recompute levels and weights after the other arrays were read.
    void (*refresh)(Combination&);
    void (*bounds)(const RuleBState&, double* to);
};

// Replay of a bandit on a log of decisions of another policy.

/// Sums over the rows: w = q/propensity, l the loss, dr the doubly robust term; and over the rows accepted.
struct ReplaySums {
    double rows, w, w2, wl, wl2, w2l, w2l2, dr, dr2, accepted, loss, loss2;
    /// Squared distances from the mean of the terms before: of w l, of dr (mean clamped to the loss range), of accepted losses.
    double wl_beside, dr_beside, loss_beside;
};

/// Rows of a log. `totals`, `seen` and `q` (K each): losses and counts of each action in the rows before, and
/// the learner's distribution at the row.
struct ReplayJob {
    AtPlay* at;
    const i64* actions;
    const double *losses, *propensities;
    const i64* advice;  // (rows, experts), or null
    i64 rows;
    double floor;  // at most every propensity
    Words* coins;
    double *totals, *seen, *q;
    double* played;  // (rows, actions), to which the learner's probabilities are added, or null
    ReplaySums* sums;
    bool failed = false;  // of the returned row: whether the smoothing failed, and not the loss
};

struct Replay {
    /// -1, or the row that could not be settled
    i64 (*rows)(ReplayJob&);
};

}  // namespace hn
HN_FAMILY(Combine, combine)
HN_FAMILY(Combinations, combinations)
HN_FAMILY(Replay, replay)
