// Every smoothing that is called once a round: w, total and, where asked, value, for L at the scale in place.
#pragma once

#include "../learners/adahedge.hpp"
#include "../learners/delayed.hpp"
#include "../learners/fixed_share.hpp"
#include "../learners/greedy.hpp"
#include "../learners/index_rules.hpp"
#include "../learners/lb_inf.hpp"
#include "../learners/noisy.hpp"
#include "../learners/second_order.hpp"
#include "../rounds/weighing.hpp"
#include "heavy_run.hpp"
#include "table.hpp"

namespace hn::HN_ISA {

inline bool smooth_powers(const Setup& s, Run& run, bool valued) {
    const double alpha = s.smoothing == Smoothing::tsallis ? s.parameter[0] : 0.0;
    const Solved solved = power_leaders(run.L, s.n, run.scale, alpha, run.warm, run.w);
    run.total = solved.total, run.warm = solved.beyond;
    if (valued) run.value = regularizer_value(run.L, run.w, s.n, solved.total, run.scale, alpha);
    return solved.fine;
}

inline bool smooth_exponential(const Setup& s, Run& run, bool valued) {
    double mean;
    const bool fine = exponential_run(s, run, mean);
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
    switch (s.smoothing) {
        case Smoothing::tsallis: case Smoothing::log_barrier: return smooth_powers(s, run, valued);
        case Smoothing::exponential: return smooth_exponential(s, run, valued);
        case Smoothing::gamma: case Smoothing::weibull: case Smoothing::frechet: case Smoothing::pareto:
        case Smoothing::laplace: case Smoothing::gaussian: return smooth_law(s, run, valued);
        case Smoothing::table: return smooth_table(s, run, valued);
        case Smoothing::foreign: return smooth_foreign(s, run, valued);
        case Smoothing::squint: return squint(s, run);
        case Smoothing::ada_normal_hedge: return ada_normal_hedge(s, run);
        case Smoothing::ml_poly: return ml_poly(s, run);
        case Smoothing::fixed_share: return fixed_share(s, run);
        case Smoothing::fitted_barrier: return lb_inf(s, run);
        case Smoothing::tsallis_shannon: return tsallis_shannon(s, run);
        case Smoothing::dropout: return dropout(s, run);
        case Smoothing::random_walk: return random_walk(s, run);
        case Smoothing::adahedge: return adahedge_anew(s, run);
        case Smoothing::ucb1: return ucb1(s, run);
        case Smoothing::moss: return moss(s, run);
        case Smoothing::kl_ucb: return kl_ucb(s, run);
        case Smoothing::epsilon_greedy: return epsilon_greedy(s, run);
        case Smoothing::explore_then_commit: return explore_then_commit(s, run);
        default: return false;
    }
}

}  // namespace hn::HN_ISA
