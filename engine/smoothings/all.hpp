// All smoothings that are called once per round: they compute w, total and, if requested, value, for L at the current
// scale.
#pragma once

#include "found_learners.hpp"  // written by the build: every header of learners/ with a row
#include "../rounds/weighing.hpp"
#include "heavy.hpp"
#include "table.hpp"

namespace hn::HN_ISA {

inline bool smooth_powers(const Setup& s, Run& run, bool valued) {
    const double alpha = s.smoothing == Smoothing::tsallis ? s.parameter[0] : 0.0;
    const PowerLeaders solved = power_leaders(run.L, s.n, run.scale, alpha, run.warm, run.w);
    run.total = solved.total;
    run.warm = solved.beyond;
    if (valued) run.value = regularizer_value(run.L, run.w, s.n, solved.total, run.scale, alpha);
    return solved.fine;
}

inline bool smooth_exponential(const Setup& s, Run& run, i64 i, double value, bool valued) {
    double mean;
    const bool fine = exponential_run(s, run, i, value, valued, mean);
    if (valued) run.value = lowest(run.L, s.n) - run.scale * mean;
    return fine;
}

inline bool smooth_law(const Setup& s, Run& run, bool valued) {
    if (s.grid && heavy_run(s, run)) {
        if (valued) {
            const double mean = mean_of_leader(s.smoothing, s.parameter, run.L, s.n, run.scale, 0.0);
            run.value = lowest(run.L, s.n) - run.scale * mean;
        }
        return true;
    }
    Nodes none;
    const Led led = leaders(s.smoothing, s.parameter, run.L, s.n, run.scale, false, run.w, none);
    if (!led.fine) return false;
    run.total = careful_sum(run.w, s.n);
    if (valued) {
        const double mean = mean_of_leader(s.smoothing, s.parameter, run.L, s.n, run.scale, led.mean);
        run.value = lowest(run.L, s.n) - run.scale * mean;
    }
    return true;
}

inline bool smooth_table(const Setup& s, Run& run, bool valued) {
    double mean;
    if (!table_leaders(*s.table, run.L, s.n, run.scale, run.w, run.total, mean)) return false;
    if (valued) run.value = lowest(run.L, s.n) - run.scale * mean;
    return true;
}

inline bool smooth_foreign(const Setup& s, Run& run, bool valued) {
    if (!s.foreign.weigh(s.foreign.self, run.L, s.n, run.scale, valued, run.w, &run.value)) return false;
    run.total = sum_of(run.w, s.n);
    return run.total > 0.0;
}

inline bool smooth_any(const Setup& s, Run& run, i64 changed, bool valued) {
    (void)changed;
    if (s.samples()) return thompson(s, run, valued);
#define HN_ROW(name, ...) \
    case HN_KIND::name: return name(s, run);
    if (s.weighing == Weighing::memory) {
#define HN_KIND Memory
        switch (s.memory) { HN_MEMORIES(HN_ROW) }
#undef HN_KIND
    }
    if (s.weighing == Weighing::counter) {
#define HN_KIND Counter
        switch (s.counter) { HN_COUNTERS(HN_ROW) }
#undef HN_KIND
    }
#undef HN_ROW
    switch (s.smoothing) {
        case Smoothing::tsallis:
        case Smoothing::log_barrier: return smooth_powers(s, run, valued);
        case Smoothing::exponential: return smooth_exponential(s, run, -1, 0.0, valued); HN_LAWS(HN_CASE)
        case Smoothing::laplace: return smooth_law(s, run, valued);
        case Smoothing::table: return smooth_table(s, run, valued);
        case Smoothing::foreign: return smooth_foreign(s, run, valued);
        default: return false;
    }
}

}  // namespace hn::HN_ISA
