#include "../games/combine.hpp"

#include "../games/combination.hpp"
#include "../games/replay.hpp"

namespace hn::HN_ISA {

extern const Players players;
extern const Combine combine;

namespace {

i64 rows(CombineJob& job) { return combine_rows(job, players); }
i64 events(CombineEvents& told) { return combine_events(told, players); }

void prices(const Price& price, const double* forecasts, const double* targets, i64 rows, i64 n,
            double* out) {
    for (i64 t = 0; t < rows; ++t)
        for (i64 i = 0; i < n; ++i) out[t * n + i] = price_of(price, forecasts[t * n + i], targets[t]);
}

double oracle(const Price& price, const double* forecasts, const double* targets, i64 rows, i64 n,
              const double* q, double* slope) {
    const Price uncapped{price.kind, price.parameter, infinity};
    double total = 0.0;
    for (i64 i = 0; i < n; ++i) slope[i] = 0.0;
    for (i64 t = 0; t < rows; ++t) {
        const double y = targets[t], *row = forecasts + t * n;
        if (y != y) continue;
        double f = 0.0;
        for (i64 i = 0; i < n; ++i) f += q[i] * row[i];
        const double g = slope_of(price, f, y);
        total += price_of(uncapped, f, y);
        for (i64 i = 0; i < n; ++i) slope[i] += g * row[i];
    }
    return total;
}

}  // namespace

const Combine combine = {rows, events, count_row, prices, oracle};

extern const Combinations combinations;
const Combinations combinations = {begin_combination, answer_row,  settle_row,
                                   prompt_rows,       refresh_all, bounds_b};

extern const Players players;
extern const Replay replay;

namespace {
i64 rows(ReplayJob& job) { return replay_rows(job, players); }
}  // namespace

const Replay replay = {rows};

}  // namespace hn::HN_ISA
