// Nodes for Frechet and Pareto for repeated rounds: tables that are computed once, combined according to the largest
// gap.
//
// Node k is at t = first + k h, and there
//
//     Frechet  c w = A D,  A = y^-(2/a) B,  y = log(1 + e^-t): e^-(c w)^-a is about e^-(y^2), a Gaussian on the left;
//     Pareto   (1 + w)^a = 1 + A D,  A = e^(t - e^(-t/2)) B: the law's support begins double exponentially on the left;
//     B = (1 + e^(t - turn))^more: on the right log w grows like t (Frechet of a < 2: like 2 t/a);
//     D = e^(g e^((t - b)/2)), g = 2/a or 1: beyond t = b the tails decrease double exponentially.
//
// An arm at gap d has a pole at w = -d, about pi away from the real line in t if b is beyond it; then the trapezoidal rule needs few nodes.
// A rule whose ends do not depend on the gaps needs two to three times as many. b is a multiple of h, so D is a table
// too, read with an offset.
#pragma once

#include "../log.hpp"
#include "leaders.hpp"

namespace hn::HN_ISA {

/// Two levels, the second with the midpoints of the first; for each A, its logarithmic derivative, D, and the
/// derivative of D.
struct HeavyGrid {
    static constexpr double widest = 40.0;  // the largest b
    static constexpr double ends = 8.0;  // t - b at the last node, at which D is at least e^54
    static constexpr double margin = 1.0;  // smallest distance of b from the last gap

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
    /// Position where log w is `last`, or slightly beyond.
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
        double *a = grid + level * g.level_places(), *slope = a + g.count, *d = slope + g.count,
               *steep = d + g.count + g.shifts;
        const double offset = level == 0 ? 0.0 : 0.5;
        for (i64 k = 0; k < g.count; ++k) {
            const double t = g.h * (double(k) + offset) - g.from, up = exp(t - g.turn);
            double log_a;
            if (frechet) {
                const double e = exp(-t), y = log1p(e);
                log_a = -power * log(y);
                slope[k] = power * e / ((1.0 + e) * y);
            } else {
                const double e = exp(-0.5 * t);
                log_a = t - e;
                slope[k] = 1.0 + 0.5 * e;
            }
            a[k] = exp(log_a + g.more * log1p(up));
            slope[k] += g.more * up / (1.0 + up);
        }
        for (i64 k = 0; k < g.count + g.shifts; ++k) {
            const double t = g.h * (double(k - g.shifts) + offset) - g.from;
            const double e = power * exp(0.5 * min(t, HeavyGrid::ends));
            d[k] = exp(e);
            steep[k] = 0.5 * e;
        }
    }
}

// Frechet and Pareto for repeated rounds: the trapezoidal rule on the nodes above, four at a time. Even and odd nodes
// are two rules with twice the step; the relative error of their mean is about the square of their relative difference.
// Gaps that need more than one halving of the step are handled by trapezoid.hpp.

/// 1/c with sum_j (c/(1 + c d_j))^a about 1, the scale of a Frechet leader; d has a multiple of four places,
/// infinite beyond n.
HN_INLINE double heavy_scale(const LawOf& law, const double* d, i64 n) {
    double reach = 1.0;
    for (int turn = 0; turn < 6; ++turn) {
        f64x4 sum{};
        for (i64 j = 0; j < n; j += 4) {
            const f64x4 z = splat(reach) + load4(d + j);
            if (law.a == 2.0) {
                const f64x4 inverse = 1.0 / z;
                sum += inverse * inverse;
            } else {
                sum += exp(splat(-law.a) * log4(z));
            }
        }
        const double whole = fold(sum);
        if (whole < 1.25) break;
        reach *= law.a == 2.0 ? sqrt(whole) : pow(whole, 1.0 / law.a);
    }
    return reach;
}

/// x^m for a small whole m, known to the compiler.
template <int m> HN_INLINE f64x4 whole_power(f64x4 x) {
    if constexpr (m == 1) return x;
    else if constexpr (m % 2 == 0) return whole_power<m / 2>(x * x);
    else return x * whole_power<m - 1>(x);
}

/// State of one law for repeated rounds. Whole is a if a is a small integer, so that powers are products; otherwise 0.
template <bool Frechet, int Whole>
struct Heavy {
    static constexpr bool Square = Whole == 2;
    const LawOf& law;
    const double* d;
    i64 n;
    double *r, scale;

    /// Four nodes q = A D with q'/q: w and dw.
    HN_INLINE void nodes(f64x4 q, f64x4 rate, f64x4& w, f64x4& dw) const {
        if constexpr (Frechet) {
            w = splat(scale) * q;
            dw = w * rate;
        } else if constexpr (Square) {
            const f64x4 z = sqrt(1.0 + q);
            w = q / (1.0 + z);
            dw = 0.5 * q * rate / z;
        } else {
            w = expm1(log1p4(q) * splat(1.0 / law.a));
            dw = (1.0 + w) * q * rate / ((1.0 + q) * splat(law.a));
        }
    }
    /// 1/x of one or two numbers by one division; the product is far from overflow.
    template <int count> static HN_INLINE void invert(f64x4* x) {
        if constexpr (count == 1) {
            x[0] = 1.0 / x[0];
        } else {
            const f64x4 both = 1.0 / (x[0] * x[1]), first = both * x[1];
            x[1] = both * x[0];
            x[0] = first;
        }
    }
    /// For `count` arms from j on: f/F, without the factor a, into r; the factors of G into `whole`, or of its
    /// logarithm for Frechet.
    template <int count> HN_INLINE void arms(f64x4 w, i64 j, f64x4& whole) const {
        f64x4 x[count], q[count];
#pragma GCC unroll 2
        for (int k = 0; k < count; ++k) {
            const f64x4 y = w + splat(d[j + k]);
            q[k] = y * (2.0 + y);
            x[k] = Frechet ? y : (1.0 + y) * q[k];
        }
        invert<count>(x);
#pragma GCC unroll 2
        for (int k = 0; k < count; ++k) {
            if constexpr (Frechet) {
                const f64x4 square = x[k] * x[k];
                whole += square;
                store4(r + 4 * (j + k), square * x[k]);
            } else {
                // F = 1 - 1/z^2 = q/z^2, q = y (2 + y), without cancellation; r = 2/(z^3 F) = 2/(z q)
                const f64x4 inverse = q[k] * x[k];
                whole *= q[k] * (inverse * inverse);
                store4(r + 4 * (j + k), x[k]);
            }
        }
    }
    HN_INLINE void any_arm(f64x4 w, i64 j, f64x4& whole) const {
        const f64x4 y = w + splat(d[j]), a = splat(law.a);
        if constexpr (Whole > 2 && Frechet) {
            const f64x4 inverse = 1.0 / y, x = whole_power<Whole>(inverse);
            whole += x;
            store4(r + 4 * j, x * inverse);
        } else if constexpr (Whole > 2) {
            // z^a F = z^a - 1 = y (1 + z + ... + z^(a-1)) = q, without cancellation; f/(a F) = 1/(z q).
            const f64x4 z = 1.0 + y;
            f64x4 sum = splat(1.0);
#pragma GCC unroll 4
            for (int k = 1; k < Whole; ++k) sum = fma(sum, z, splat(1.0));
            const f64x4 q = y * sum, x = 1.0 / (z * q);
            whole *= q * whole_power<Whole>(q * x);
            store4(r + 4 * j, x);
        } else if constexpr (Frechet) {
            const f64x4 x = exp(-a * log4(y));
            whole += x;
            store4(r + 4 * j, x / y);
        } else {
            const f64x4 power = -a * log1p4(y);
            const auto [part, unit] = exp_parts(power);
            const f64x4 tail = exp_in_range(power, fma(part, unit, unit));
            const f64x4 cdf = select(i64x4(power > -40.0), -fma(part, unit, unit - 1.0), splat(1.0));
            whole *= cdf;
            store4(r + 4 * j, tail / ((1.0 + y) * cdf));
        }
    }
    /// Add four nodes to the sums of all arms; returns one bit per node, set if the node matters for any arm.
    HN_INLINE int visit(f64x4 q, f64x4 rate, double* into) const {
        f64x4 w, dw, whole = splat(Frechet ? 0.0 : 1.0);
        nodes(q, rate, w, dw);
        i64 j = 0;
        if constexpr (Square) {
            for (; j + 2 <= n; j += 2) arms<2>(w, j, whole);
            if (j < n) arms<1>(w, j, whole);
        } else {
            for (; j < n; ++j) any_arm(w, j, whole);
        }
        const f64x4 mass = splat(law.a) * dw * (Frechet ? exp(-whole) : whole);
        i64x4 matters{};
        for (j = 0; j < n; ++j) {
            const f64x4 part = mass * load4(r + 4 * j), sum = load4(into + 4 * j) + part;
            store4(into + 4 * j, sum);
            matters |= i64x4(part > 1e-17 * sum);
        }
        return bits(matters);
    }
};

/// Weights of a run, unnormalized; returns false if the grid is not fine or not wide enough.
template <bool Frechet, int Whole>
bool heavy_run(const Setup& s, Run& run, const LawOf& law) {
    const i64 n = s.n, m = in_fours(n);
    const HeavyGrid grid(law, n);
    double* room = workspace(m + 12 * n);
    if (!room) return false;
    double *d = room, *r = d + m, *sums = r + 4 * n, *more = sums + 4 * n;
    f64x4 low4 = load4(run.L), far4{};
    for (i64 j = 4; j < m; j += 4) low4 = min(low4, load4(run.L + j));
    const f64x4 low = splat(fold_min(low4)), rate = splat(run.inverse);
    for (i64 j = 0; j < m; j += 4) {
        const f64x4 gap = (load4(run.L + j) - low) * rate;
        store4(d + j, gap);
        far4 = max(far4, select(i64x4(lanes(j) < splat(n)), gap, far4));
    }
    for (i64 k = 0; k < 4 * n; ++k) sums[k] = 0.0;
    const double scale = Frechet ? heavy_scale(law, d, n) : 1.0, gap = 1.0 + fold_max(far4) / scale;
    // log gap, rounded up; its exponent suffices.
    const double last = double(i64(__builtin_bit_cast(u64, gap) >> 52) - 1022) * 0.6931471805599453;
    const double b = min(grid.reach(law, last) + HeavyGrid::margin, HeavyGrid::widest);
    const i64 moved = i64(b / grid.h), shift = grid.shifts - moved,
              end = grid.count - grid.shifts + moved - 3;
    const Heavy<Frechet, Whole> rule{law, d, n, r, scale};
    const auto visit = [&](i64 level, i64 k, double* into) {
        const double *a = s.grid + level * grid.level_places() + k, *turned = a + 2 * grid.count + shift;
        const f64x4 slope = load4(a + grid.count) + load4(turned + grid.count + grid.shifts);
        return rule.visit(load4(a) * load4(turned), slope, into);
    };
    i64 up = grid.start, down = grid.start - 4;
    // The outermost node that does not matter for any arm is the end.
    while (up < end && visit(0, up, sums) & 8) up += 4;
    while (down >= 0 && visit(0, down, sums) & 1) down -= 4;
    if (up >= end || down < 0) return false;
    double h = grid.h;
    const double enough =
        Frechet || n <= 16 ? 1e-6 : 1e-7;  // in the complex plane a product over many arms grows
    bool fine = true;
    for (i64 j = 0; j < n; ++j) {
        const double even = sums[4 * j] + sums[4 * j + 2], odd = sums[4 * j + 1] + sums[4 * j + 3],
                     whole = even + odd;
        fine = fine && !(abs(even - odd) >= enough * whole && whole * h > 1e-290);
        run.w[j] = whole;
    }
    if (!fine) {
        for (i64 k = 0; k < 4 * n; ++k) more[k] = 0.0;
        for (i64 k = down; k < up + 4; k += 4) visit(1, k, more);
        h *= 0.5;
        for (i64 j = 0; j < n; ++j) {
            const double even = run.w[j], odd = fold(load4(more + 4 * j)), whole = even + odd;
            if (!(abs(even - odd) < enough * whole) && whole * h > 1e-290) return false;
            run.w[j] = whole;
        }
    }
    double total = 0.0;
    for (i64 j = 0; j < n; ++j) {
        run.w[j] *= h;
        total += run.w[j];
    }
    run.total = total;
    return total > 0.5 && total < 2.0;
}
template <bool Frechet> bool heavy_run_of(const Setup& s, Run& run, const LawOf& law) {
    if (law.a == 2.0) return heavy_run<Frechet, 2>(s, run, law);
    // Games with fewer arms keep the bits of version 0.2, whose powers are exponentials of logarithms.
    if (s.n < tree_from) return heavy_run<Frechet, 0>(s, run, law);
    if (law.a == 3.0) return heavy_run<Frechet, 3>(s, run, law);
    if (law.a == 4.0) return heavy_run<Frechet, 4>(s, run, law);
    if (law.a == 5.0) return heavy_run<Frechet, 5>(s, run, law);
    return heavy_run<Frechet, 0>(s, run, law);
}
inline bool heavy_run(const Setup& s, Run& run) {
    const LawOf law = law_of(s.smoothing, s.parameter);
    return law.kind == Smoothing::frechet ? heavy_run_of<true>(s, run, law) : heavy_run_of<false>(s, run, law);
}

}  // namespace hn::HN_ISA
