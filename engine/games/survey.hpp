// Check of a block of losses, and the cumulative loss of every arm.
//
// Sums are added in the order of the rounds, so that a record does not depend on the blocks of a game.
#pragma once

#include "../games.hpp"
#include "../random.hpp"

namespace hn::HN_ISA {

/// Add columns [0, 4 V) of `rows` rows, with n numbers per row, to sums. Returns true if all entries are in range.
template <int V>
bool add_rows(const double* x, i64 rows, i64 n, double low, double high, double* sums) {
    f64x4 total[V];
    const f64x4 bottom = splat(low), top = splat(high);
    i64x4 bad{};
    for (int v = 0; v < V; ++v) total[v] = load4(sums + 4 * v);
    for (i64 t = 0; t < rows; ++t, x += n)
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v) {
            const f64x4 here = load4(x + 4 * v);
            bad |= ~(i64x4(bottom <= here) & i64x4(here <= top));
            total[v] += here;
        }
    for (int v = 0; v < V; ++v) store4(sums + 4 * v, total[v]);
    return bits(bad) == 0;
}
/// Add all columns, for n >= 4 and 4 (V - 1) < n <= 4 V, in one pass. The last vector overlaps, so that some columns are
/// summed twice with the same bits. NaN propagates into the sums.
template <int V>
bool add_few(const double* x, i64 rows, i64 n, double low, double high, double* sums) {
    f64x4 total[V], lowest[V], highest[V];
    const i64 last = n - 4;
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) {
        total[v] = load4(sums + (v + 1 < V ? 4 * v : last));
        lowest[v] = splat(low);
        highest[v] = splat(high);
    }
    for (i64 t = 0; t < rows; ++t, x += n)
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v) {
            const f64x4 here = load4(x + (v + 1 < V ? 4 * v : last));
            lowest[v] = min(here, lowest[v]);
            highest[v] = max(here, highest[v]);
            total[v] += here;
        }
    bool good = true;
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) {
        store4(sums + (v + 1 < V ? 4 * v : last), total[v]);
        good &= bits(i64x4(total[v] == total[v]) & i64x4(lowest[v] >= low) & i64x4(highest[v] <= high)) == 15;
    }
    return good;
}
inline bool add_column(const double* x, i64 rows, i64 n, double low, double high, double* sum) {
    double total = *sum;
    bool good = true;
    for (i64 t = 0; t < rows; ++t, x += n) {
        good &= low <= *x && *x <= high;
        total += *x;
    }
    *sum = total;
    return good;
}

inline Outcome survey(const LossBlock& block, double* sums, const Marks& marks, Extremes out) {
    const auto [x, rounds, n, low, high] = block;
    i64 t = 0;
    for (i64 k = 0; k <= marks.count(); ++k) {
        const i64 end = k < marks.count() ? marks.ends[std::size_t(k)] : rounds, rows = end - t;
        const double* here = x + t * n;
        bool good = true;
        i64 j = 0;
        if (n >= 4 && n <= 16) {
            const auto add = n == 4 ? add_few<1> : n <= 8 ? add_few<2> : n <= 12 ? add_few<3> : add_few<4>;
            good = add(here, rows, n, low, high, sums);
            j = n;
        }
        for (; j + 16 <= n; j += 16) good &= add_rows<4>(here + j, rows, n, low, high, sums + j);
        if (j + 8 <= n) {
            good &= add_rows<2>(here + j, rows, n, low, high, sums + j);
            j += 8;
        }
        if (j + 4 <= n) {
            good &= add_rows<1>(here + j, rows, n, low, high, sums + j);
            j += 4;
        }
        if (j + 2 <= n && rows > 0) {
            // Two columns side by side: separate accumulators break the dependency chain.
            double a = sums[j], b = sums[j + 1];
            const double* p = here + j;
            for (i64 r = 0; r < rows; ++r, p += n) {
                good &= low <= p[0] && p[0] <= high && low <= p[1] && p[1] <= high;
                a += p[0];
                b += p[1];
            }
            sums[j] = a;
            sums[j + 1] = b;
            j += 2;
        }
        for (; j < n; ++j) good &= add_column(here + j, rows, n, low, high, sums + j);
        if (!good)
            for (i64 a = 0; a < rows * n; ++a)
                if (!(low <= here[a] && here[a] <= high))
                    return Outcome::bad(Outcome::Kind::bad_loss, t * n + a, n);
        t = end;
        if (k < marks.count()) {
            const Extent now = extent_of(sums, n);
            out.min[k] = now.min;
            out.max[k] = now.max;
        }
    }
    return {};
}

inline void toss(Words& coins, const double* means, i64 stride, i64 rounds, i64 n, double* out) {
    for (i64 t = 0; t < rounds; ++t)
        for (i64 i = 0; i < n; ++i) out[t * n + i] = uniform(coins) < means[stride * t + i] ? 1.0 : 0.0;
}

}  // namespace hn::HN_ISA
