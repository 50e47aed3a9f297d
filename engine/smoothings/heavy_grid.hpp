// Nodes for Frechet and Pareto, round after round: tables that are made once, joined by where the gaps end.
//
// Node k is at t = first + k h, and there
//
//     Frechet  c w = A D,  A = y^-(2/a) B,  y = log(1 + e^-t): e^-(c w)^-a is about e^-(y^2), a Gaussian on the left;
//     Pareto   (1 + w)^a = 1 + A D,  A = e^(t - e^(-t/2)) B: the law's support begins double exponentially on the left;
//     B = (1 + e^(t - turn))^more: on the right log w grows like t (Frechet of a < 2: like 2 t/a);
//     D = e^(g e^((t - b)/2)), g = 2/a or 1: beyond t = b the tails end double exponentially.
//
// An arm at gap d has its pole at w = -d, about pi away from the real line in t as long as b lies beyond it: then the
// trapezoidal rule needs few nodes. A rule whose ends do not move with the gaps takes two to three times as many. b is a
// multiple of h, so D is a table too, read from another place.
#pragma once

#include "../log4.hpp"
#include "leaders.hpp"

namespace hn::HN_ISA {

/// Two levels, the second the midpoints of the first; each A, its logarithmic derivative, D, and the derivative of that.
struct HeavyGrid {
    static constexpr double widest = 40.0;  // the largest b
    static constexpr double ends = 8.0;     // t - b at the last node: D is e^54 and more
    static constexpr double margin = 1.0;   // b is so far beyond the last gap, or further

    double h, from, turn, more;
    i64 count, shifts, start;

    HeavyGrid(const LawOf& law, i64 n) {
        const bool frechet = law.kind == Smoothing::frechet;
        const double spread = frechet ? 0.0 : log(double(n));
        h = frechet ? (law.a < 2.0 ? 0.18 * law.a : 0.36) : n > 16 ? 0.3 : 0.34;
        from = frechet ? 40.0 : 10.0;
        turn = spread + 4.0;
        more = frechet ? (law.a > 2.0 ? 1.0 - 2.0 / law.a : 0.0) : law.a - 1.0;
        shifts = i64(widest / h);
        count = in_fours(i64((from + widest + ends) / h));
        start = i64((from + spread) / h);
    }
    /// Where log w is `last`, or a little beyond.
    double reach(const LawOf& law, double last) const {
        if (law.kind == Smoothing::pareto) return last + (1.0 - 1.0 / law.a) * turn;
        return law.a > 2.0 ? last + more * turn : 0.5 * law.a * last;
    }
    i64 level_places() const { return 2 * count + 2 * (count + shifts); }
    i64 places() const { return 2 * level_places(); }
};
inline i64 heavy_grid_places(const LawOf& law, i64 n) { return HeavyGrid(law, n).places(); }

inline void make_heavy_grid(const LawOf& law, i64 n, double* grid) {
    const HeavyGrid g(law, n);
    const bool frechet = law.kind == Smoothing::frechet;
    const double power = frechet ? 2.0 / law.a : 1.0;
    for (int level = 0; level < 2; ++level) {
        double *a = grid + level * g.level_places(), *slope = a + g.count, *d = slope + g.count, *steep = d + g.count + g.shifts;
        const double offset = level == 0 ? 0.0 : 0.5;
        for (i64 k = 0; k < g.count; ++k) {
            const double t = g.h * (double(k) + offset) - g.from, up = exp(t - g.turn);
            double log_a;
            if (frechet) {
                const double e = exp(-t), y = log1p(e);
                log_a = -power * log(y), slope[k] = power * e / ((1.0 + e) * y);
            } else {
                const double e = exp(-0.5 * t);
                log_a = t - e, slope[k] = 1.0 + 0.5 * e;
            }
            a[k] = exp(log_a + g.more * log1p(up)), slope[k] += g.more * up / (1.0 + up);
        }
        for (i64 k = 0; k < g.count + g.shifts; ++k) {
            const double t = g.h * (double(k - g.shifts) + offset) - g.from;
            const double e = power * exp(0.5 * least(t, HeavyGrid::ends));
            d[k] = exp(e), steep[k] = 0.5 * e;
        }
    }
}

}  // namespace hn::HN_ISA
