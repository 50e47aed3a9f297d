// Sum of a Tsallis and a Shannon regularizer, for delayed feedback (Zimmert, Seldin 2020): argmin <L, x> + F_t(x),
//
//     F_t(x) = -2 sqrt(t) sum sqrt(x_i) + theta sum x_i log x_i,  theta = sqrt(2 D_t/log n),
//
// where D_t is the number of missing observations at each move, summed over the moves up to t, or min(s - 1, d) at move s
// if no loss is more than parameter[0] = d moves late. With y = sqrt(x_i) stationarity is
// sqrt(t)/y - 2 theta log y = c_i = d_i + c, d_i = L_i - min L. Newton's method finds the c with sum x = 1 from the left,
// where it never overshoots, because x_i is convex and decreasing in c. The memory: moves at the last call, D before the
// next move, D with the next move.
#pragma once

#include "memory.hpp"

namespace hn::HN_ISA {

/// D_t of the next move.
inline double missing_so_far(const Setup& s, Run& run) {
    const auto [moves, before, with] = DelayedMemory(run.memory);
    takes_in(run);
    const double drawn = double(run.round), delay = s.parameter[0];
    if (delay > 0.0) {
        const double first = min(drawn, delay);
        return 0.5 * first * (first + 1.0) + (drawn - first) * delay;
    }
    if (drawn != *moves) {  // the move for which D was predicted last has been drawn since
        *moves = drawn;
        *before = *with;
    }
    return *with = *before + double(run.round - run.settled);
}

/// y in (0, 1] with s/y - 2 theta log y = c >= s: Newton on log y, concave, from the left.
inline double tsallis_shannon_root(double c, double s, double theta) {
    if (theta == 0.0) return s / c;
    double u = log(s / c);
    for (int step = 0; step < 60; ++step) {
        const double lead = s * exp(-u), move = (lead - 2.0 * theta * u - c) / (lead + 2.0 * theta);
        u += move;
        if (abs(move) <= 1e-15 * (1.0 + abs(u))) break;
    }
    return exp(min(u, 0.0));
}

HN_MEMORY(tsallis_shannon, 3, Noise::none)  // moves at the last call, D before the next move, D with the next move
inline bool tsallis_shannon(const Setup& s, Run& run) {
    const double waiting = missing_so_far(s, run), scale = run.scale;
    const double theta = s.n > 1 ? sqrt(2.0 * waiting / log(double(s.n))) : 0.0;
    double low = run.L[0];
    for (i64 i = 1; i < s.n; ++i) low = min(run.L[i], low);
    // Start from the last c, relative to the smallest loss at that time. If it is to the right of the root, one step
    // leads to the left.
    double c = max(scale, run.warm + low);
    run.value = __builtin_nan("");
    for (int step = 0; step < 200; ++step) {
        double total = 0.0, slope = 0.0;
        for (i64 i = 0; i < s.n; ++i) {
            const double y = tsallis_shannon_root(run.L[i] - low + c, scale, theta), x = y * y;
            run.w[i] = x;
            total += x;
            slope += x * y / (0.5 * scale + theta * y);  // dx/dc = -1/(s/(2 x^(3/2)) + theta/x)
        }
        run.total = total;
        const double move = (total - 1.0) / slope;
        if (abs(total - 1.0) <= 1e-14 * double(s.n) || abs(move) <= 1e-15 * c) {
            run.warm = c - low;
            return true;
        }
        c = max(scale, c + move);
    }
    return false;
}

}  // namespace hn::HN_ISA
