// Forecasts combined row by row: what a block of rows needs, and what it leaves behind.
#pragma once

#include "dispatch.hpp"
#include "players.hpp"

namespace hn {

/// loss(f, y) of a forecast; pinball at level `parameter`, Huber square up to it; at most `cap`.
enum class PointLoss : int { absolute, squared, pinball, huber, log };
struct Price {
    PointLoss kind = PointLoss::absolute;
    double parameter = 0.0, cap = __builtin_inf();
};

/// Sums over the settled rows: of the mixture, of <p, l>, and of each expert its loss, the mixture's loss in the rows
/// where it was awake, and how many they are. A row in which nobody slept is counted once for all.
struct Tally {
    double mixture = 0.0, expected = 0.0, settled = 0.0, whole_mixture = 0.0, whole_rows = 0.0;
    double *losses = nullptr, *beside = nullptr, *awake = nullptr;  // n each
};

/// What can be wrong with a row: nobody awake, a loss outside the range, an infinite one, a smoothing that failed, a slope
/// times a spread that has no square.
enum class Trouble : int { none, asleep, outside, infinite, failed, extreme };

/// Rows of forecasts (NaN sleeps) and targets (NaN: none yet); weights, mixed, played are written.
struct CombineJob {
    AtPlay* at;
    Price price;
    const double *forecasts, *targets;
    i64 rows;
    double *weights, *mixed;
    i64* played;
    Tally* tally;
    double* losses;  // n: those of the row that is looked at
    double* row;     // n, scratch
    bool* awake;     // n, scratch
    Trouble trouble = Trouble::none;
    i64 expert = -1;
    double mean_loss = 0.0;  // of the mean of the awake, over the rows settled
};

/// Rows that are answered, and targets that come later, in order: e >= 0 answers row e (its target is NaN), e < 0 settles
/// ticket ~e: one of the rows, or, from `rows` on, one of `old`, answered before.
struct CombineEvents {
    CombineJob* job;
    const i64* order;
    const double* told;
    i64 count;
    double* seen;  // how many rows were settled when each was answered
    const double *old_forecasts, *old_weights, *old_mixed, *old_seen;
    double largest_delay = 0.0;
};

struct Combine {
    /// Answer every row and settle those with a target; stops before the first row that cannot be settled (trouble and
    /// expert say why). Returns the number of rows done.
    i64 (*rows)(CombineJob&);
    /// As told; stops before the first event that cannot be. Returns the number of events done.
    i64 (*events)(CombineEvents&);
    void (*count)(Tally&, i64 n, const double* losses, double cost, double own);
    void (*prices)(const Price&, const double* forecasts, const double* targets, i64 rows, i64 n, double* out);
    /// sum_t loss(<q, f_t>, y_t) over rows with a target; its slope in q.
    double (*oracle)(const Price&, const double* forecasts, const double* targets, i64 rows, i64 n, const double* q,
                     double* slope);
};

}  // namespace hn
HN_FAMILY(Combine, combine)
