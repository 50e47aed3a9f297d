// Passes over a row of numbers, in blocks of at most sixteen: sums in one fixed order, the same in a table, a game and a
// live player. A padded row has a multiple of four numbers.
#pragma once

#include "../exp.hpp"

namespace hn::HN_ISA {

/// Expectations of a row of losses under the weights: sum w, sum w e^(-(l - low)/s), sum w (l - low), where
/// low is the smallest loss.
struct Met {
    double mass, kept, above;
};
struct Span {
    double min, max;
};

/// Sum of four vectors of a block in pairs: ((a + b) + (c + d)).
template <class Each>
HN_INLINE f64x4 joined(i64 width, Each each) {
    f64x4 x = each(0);
    if (width > 4) x += each(4);
    if (width > 12) {
        const f64x4 y = each(8) + each(12);
        return x + y;
    }
    return width > 8 ? x + each(8) : x;
}

/// Blocks of sixteen, and a last one of 4 to 16: body(first, width). For a short row the width is a constant,
/// without a loop.
template <class Body>
HN_INLINE void blocks(i64 padded, Body body) {
    switch (padded) {
        case 4: return body(0, i64(4));
        case 8: return body(0, i64(8));
        case 12: return body(0, i64(12));
        case 16: return body(0, i64(16));
    }
    i64 i = 0;
    for (; padded - i > 16; i += 16) body(i, i64(16));
    body(i, padded - i);
}

/// w_i = e^((base - L_i) inverse), and their sum.
inline double weigh_row(double* w, const double* sums, i64 padded, double base, double inverse) {
    double total = 0.0;
    blocks(padded, [&](i64 first, i64 width) HN_WITHIN {
        total += fold(joined(width, [&](i64 j) HN_WITHIN {
            const f64x4 x = exp((base - load4(sums + first + j)) * inverse);
            store4(w + first + j, x);
            return x;
        }));
    });
    return total;
}

/// `weigh_row`, and expectations of the losses x under the weights, so that exponentials overlap.
inline Met meet_row(double* w, const double* sums, i64 padded, double base, const double* x, double low,
                    double inverse) {
    Met met{0.0, 0.0, 0.0};
    f64x4 kept[4], above[4];
    blocks(padded, [&](i64 first, i64 width) HN_WITHIN {
        met.mass += fold(joined(width, [&](i64 j) HN_WITHIN {
            const f64x4 loss = load4(x + first + j), weight = exp((base - load4(sums + first + j)) * inverse);
            store4(w + first + j, weight);
            kept[j / 4] = weight * exp((low - loss) * inverse);
            above[j / 4] = weight * (loss - low);
            return weight;
        }));
        met.kept += fold(joined(width, [&](i64 j) HN_WITHIN { return kept[j / 4]; }));
        met.above += fold(joined(width, [&](i64 j) HN_WITHIN { return above[j / 4]; }));
    });
    return met;
}

/// L_i += x_i; returns the smallest L_i.
inline double add_up(double* sums, const double* x, i64 padded) {
    f64x4 best = splat(infinity);
    for (i64 i = 0; i < padded; i += 4) {
        const f64x4 after = load4(sums + i) + load4(x + i);
        store4(sums + i, after);
        best = min(after, best);
    }
    return fold_min(best);
}

/// sum_i p_i (x_i - base)^2.
inline double squares(const double* p, const double* x, double base, i64 padded) {
    double total = 0.0;
    blocks(padded, [&](i64 first, i64 width) {
        total += fold(joined(width, [&](i64 j) {
            const f64x4 away = load4(x + first + j) - base;
            return load4(p + first + j) * (away * away);
        }));
    });
    return total;
}

/// Minimum and maximum of n numbers; NaN is not detected here.
inline Span span_of(const double* x, i64 n) {
    Span seen{x[0], x[0]};
    i64 i = 0;
    if (n >= 4) {
        f64x4 low = load4(x), high = low;
        for (i = 4; i + 4 <= n; i += 4) {
            const f64x4 here = load4(x + i);
            low = min(here, low);
            high = max(here, high);
        }
        seen = {fold_min(low), fold_max(high)};
    }
    for (; i < n; ++i) seen = {min(x[i], seen.min), max(x[i], seen.max)};
    return seen;
}

}  // namespace hn::HN_ISA
