// Frechet and Pareto, round after round: the trapezoidal rule of trapezoid.hpp, four nodes at a time.
//
// The nodes w(t) and their lengths depend on the law and on n alone, so they are made once (`make_heavy_grid`), at the
// first step and at the midpoints of it and of its half. A game whose gaps need more goes back to trapezoid.hpp.
#pragma once

#include "../log4.hpp"
#include "leaders.hpp"

namespace hn::HN_ISA {

/// grid: step, first index, count; then w and dw of level 0 (count each), of level 1 (count), of level 2 (2 count).
inline constexpr double grid_from = -7.0, grid_to = 7.5;  // in t - centre
inline constexpr i64 grid_head = 4;
inline i64 heavy_grid_count(const LawOf& law, i64 n) { return in_fours(i64((grid_to - grid_from) / first_step(law, n)) + 8); }
inline i64 heavy_grid_places(const LawOf& law, i64 n) { return grid_head + 8 * heavy_grid_count(law, n); }

inline void make_heavy_grid(const LawOf& law, i64 n, double* grid) {
    const double h = first_step(law, n), middle = centre(law, n);
    const i64 count = heavy_grid_count(law, n), first = -in_fours(i64(-grid_from / h));
    grid[0] = h, grid[1] = double(first), grid[2] = double(count), grid[3] = 0.0;
    const auto fill = [&](double* w, double* dw, i64 size, double step, double offset) {
        for (i64 k = 0; k < size; ++k) {
            const auto [at, length] = place(law, middle + h * (double(first) + step * double(k) + offset));
            const bool good = length > 0.0 && at > 0.0 && at < 1e280 && length < 1e280;
            w[k] = good ? at : 1.0, dw[k] = good ? length : 0.0;
        }
    };
    double* at = grid + grid_head;
    fill(at, at + count, count, 1.0, 0.0);
    fill(at + 2 * count, at + 3 * count, count, 1.0, 0.5);
    fill(at + 4 * count, at + 6 * count, 2 * count, 0.5, 0.25);
}

/// Four nodes: f/F of arm j into r_j; returns G dw, G a product over all arms.
HN_INLINE f64x4 heavy_nodes(const LawOf& law, const double* d, i64 n, f64x4 w, f64x4 dw, double* r) {
    const f64x4 a = splat(law.a);
    f64x4 mass;
    if (law.kind == Smoothing::frechet) {
        f64x4 sum{};
        for (i64 j = 0; j < n; ++j) {
            const f64x4 z = w + splat(d[j]), inverse = 1.0 / z;
            const f64x4 x = law.a == 2.0 ? inverse * inverse : exp(-a * log4(z));
            sum += x;
            store4(r + 4 * j, a * x * inverse);
        }
        mass = dw * exp(-sum);
    } else {
        f64x4 product = splat(1.0);
        for (i64 j = 0; j < n; ++j) {
            const f64x4 y = w + splat(d[j]), z = 1.0 + y;
            if (law.a == 2.0) {
                // F = 1 - 1/z^2 = y (2 + y)/z^2 without cancellation, r = 2/(z^3 F)
                const f64x4 q = y * (2.0 + y);
                product *= q / (z * z);
                store4(r + 4 * j, 2.0 / (z * q));
            } else {
                const f64x4 power = -a * log1p4(y);
                const auto [part, unit] = exp_parts(power);
                const f64x4 tail = exp_in_range(power, fma(part, unit, unit)), cdf = select(i64x4(power > -40.0), -fma(part, unit, unit - 1.0), splat(1.0));
                product *= cdf;
                store4(r + 4 * j, a * tail / (z * cdf));
            }
        }
        mass = dw * product;
    }
    return mass;
}

/// Weights of a run, unnormalised; false where the grid is not fine or not wide enough.
inline bool heavy_run(const Setup& s, Run& run) {
    const LawOf law = law_of(s.smoothing, s.parameter);
    const i64 n = s.n, count = i64(s.grid[2]), first = i64(s.grid[1]);
    double h = s.grid[0];
    double* room = workspace(13 * n);
    if (!room) return false;
    double *d = room, *r = room + n, *sums = room + 5 * n, *more = room + 9 * n;
    const double low = lowest(run.L, n);
    for (i64 j = 0; j < n; ++j) d[j] = (run.L[j] - low) * run.inverse;
    for (i64 k = 0; k < 4 * n; ++k) sums[k] = 0.0;
    const double *w = s.grid + grid_head, *dw = w + count;
    const auto visit = [&](const double* at, const double* length, i64 k, double* into) {
        const f64x4 mass = heavy_nodes(law, d, n, load4(at + k), load4(length + k), r);
        i64x4 matters{};
        for (i64 j = 0; j < n; ++j) {
            const f64x4 part = mass * load4(r + 4 * j), sum = load4(into + 4 * j) + part;
            store4(into + 4 * j, sum);
            matters |= i64x4(part > 1e-17 * sum);
        }
        return bits(matters) != 0;
    };
    const i64 start = -first;  // where index 0 is
    i64 up = start, down = start - 4;
    while (up < count && visit(w, dw, up, sums)) up += 4;
    while (down >= 0 && visit(w, dw, down, sums)) down -= 4;
    if (up >= count || down < 0) return false;
    const i64 from = down, to = up + 4 < count ? up + 4 : count;
    // Even and odd nodes are two rules of twice the step: where they agree, their mean is right to the square of that.
    const auto agree_so_far = [&](auto even, auto odd) {
        double worst = 0.0;
        for (i64 j = 0; j < n; ++j) {
            const double a = even(j), b = odd(j), whole = a + b;
            if (whole * h > 1e-290) worst = most(size(a - b) / whole, worst);
        }
        return worst < agreement(law, false);
    };
    bool done = agree_so_far([&](i64 j) { return sums[4 * j] + sums[4 * j + 2]; },
                             [&](i64 j) { return sums[4 * j + 1] + sums[4 * j + 3]; });
    for (int level = 1; level <= 2 && !done; ++level) {
        const double *at = s.grid + grid_head + (level == 1 ? 2 : 4) * count, *length = at + (level == 1 ? 1 : 2) * count;
        for (i64 k = 0; k < 4 * n; ++k) more[k] = 0.0;
        for (i64 k = level * from; k < level * to; k += 4) visit(at, length, k, more);
        h *= 0.5;
        done = agree_so_far([&](i64 j) { return fold(load4(sums + 4 * j)); }, [&](i64 j) { return fold(load4(more + 4 * j)); });
        for (i64 k = 0; k < 4 * n; ++k) sums[k] += more[k];
    }
    if (!done) return false;
    double total = 0.0;
    for (i64 j = 0; j < n; ++j) {
        run.w[j] = h * fold(load4(sums + 4 * j));
        total += run.w[j];
    }
    run.total = total;
    return total > 0.5 && total < 2.0;
}

}  // namespace hn::HN_ISA
