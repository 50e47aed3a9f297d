// Sum of the observed losses, G(x) = <q, x> + x'Qx/2 + sum_i phi(<z_i, x>) + (ridge/2)||x - center||^2.
//
// Linear losses are stored in q, squared losses in q and Q; for other losses the data are stored, one column of Z per
// loss.
#pragma once

#include "../convex.hpp"
#include "../log.hpp"
#include "sets.hpp"

namespace hn::HN_ISA {

/// phi(u) of one built-in loss; the labels of logistic and hinge losses are folded into z.
inline double phi_at(Phi phi, double parameter, double u, double y) {
    switch (phi) {
        case Phi::linear: return u;
        case Phi::squared: return 0.5 * (u - y) * (u - y);
        case Phi::logistic: return u > 0.0 ? log1p(exp(-u)) : log1p(exp(u)) - u;
        case Phi::huber: {
            const double e = abs(u - y);
            return e <= parameter ? 0.5 * e * e : parameter * (e - 0.5 * parameter);
        }
        default: {
            const double fall = larger(1.0 - u, 0.0), inside = smaller(fall, parameter);
            return 0.5 * inside * inside / parameter + (fall - inside);
        }
    }
}

/// phi' of the margins work[0..m-1] to work[sweep..], phi'' to work[2 sweep..]; a few unused numbers beyond m
/// are written too.
inline bool slopes(const Sums& sums, double* work, i64 start, i64 m, bool curved) {
    double *slope = work + sweep, *bent = work + 2 * sweep;
    const double* y = sums.y + start;
    const f64x4 zero{}, one = splat(1.0), most_ = splat(sums.parameter);
    switch (sums.phi) {
        case Phi::logistic:
            for (i64 k = 0; k < m; k += 4) {
                const f64x4 u = load4(work + k), tail = exp(-abs(u)), small = tail / (one + tail);
                store4(slope + k, select(u > zero, -small, small - one));
                store4(bent + k, small / (one + tail));
            }
            return true;
        case Phi::huber:
            for (i64 k = 0; k < m; k += 4) {
                const f64x4 e = load4(work + k) - load4(y + k);
                store4(slope + k, min(max(e, -most_), most_));
                store4(bent + k, select(abs(e) <= most_, one, zero));
            }
            return true;
        case Phi::hinge:
            for (i64 k = 0; k < m; k += 4) {
                const f64x4 fall = (one - load4(work + k)) / most_;
                store4(slope + k, -min(max(fall, zero), one));
                store4(bent + k, select(fall >= zero, select(fall <= one, one / most_, zero), zero));
            }
            return true;
        case Phi::own: return sums.own(sums.whose, work, m, curved);
        default: return true;  // stored in q and Q, without rows
    }
}

/// <z_i, x> for the rows start, ..., start + m - 1, and for a few beyond, within the reserved memory.
inline void margins(const Sums& sums, const double* x, double* u, i64 start, i64 m) {
    const i64 d = sums.d, room = sums.room;
    const double* Z = sums.Z + start;
    for (i64 k = 0; k < m; k += 4) store4(u + k, f64x4{});
    i64 j = 0;
    for (; j + 4 <= d; j += 4, Z += 4 * room) {
        const f64x4 x0 = splat(x[j]), x1 = splat(x[j + 1]), x2 = splat(x[j + 2]), x3 = splat(x[j + 3]);
        for (i64 k = 0; k < m; k += 4) {
            const double* z = Z + k;
            const f64x4 four = (load4(z) * x0 + load4(z + room) * x1) +
                               (load4(z + 2 * room) * x2 + load4(z + 3 * room) * x3);
            store4(u + k, load4(u + k) + four);
        }
    }
    for (; j < d; ++j, Z += room) add(u, x[j], Z, in_fours(m));
}

/// g = grad G(x) + noise; returns false if a user-defined phi failed.
inline bool gradient(const Sums& sums, const double* center, double ridge, const double* noise,
                     const double* x, double* g, double* work) {
    const i64 d = sums.d;
    for (i64 j = 0; j < d; ++j) {
        g[j] = sums.q[j] + noise[j] + ridge * (x[j] - center[j]);
        if (sums.Q) g[j] += inner(sums.Q + j * d, x, d);
    }
    for (i64 start = 0; start < sums.rows; start += sweep) {
        const i64 m = min(sweep, sums.rows - start);
        margins(sums, x, work, start, m);
        if (!slopes(sums, work, start, m, false)) return false;
        for (i64 j = 0; j < d; ++j) g[j] += long_inner(work + sweep, sums.Z + j * sums.room + start, m);
    }
    return true;
}

/// H = Hess G(x) + ridge; returns false if a user-defined phi failed.
inline bool hessian(const Sums& sums, double ridge, const double* x, double* H, double* work) {
    const i64 d = sums.d;
    for (i64 j = 0; j < d * d; ++j) H[j] = sums.Q ? sums.Q[j] : 0.0;
    for (i64 j = 0; j < d; ++j) H[j * d + j] += ridge;
    double *weighted = work + sweep, *bent = work + 2 * sweep;
    for (i64 start = 0; start < sums.rows; start += sweep) {
        const i64 m = min(sweep, sums.rows - start);
        margins(sums, x, work, start, m);
        if (!slopes(sums, work, start, m, true)) return false;
        for (i64 j = 0; j < d; ++j) {
            const double* column = sums.Z + j * sums.room + start;
            for (i64 k = 0; k < m; k += 4) store4(weighted + k, load4(bent + k) * load4(column + k));
            for (i64 i = 0; i <= j; ++i)
                H[j * d + i] += long_inner(weighted, sums.Z + i * sums.room + start, m);
        }
    }
    for (i64 j = 0; j < d; ++j)
        for (i64 i = 0; i < j; ++i) H[i * d + j] = H[j * d + i];
    return true;
}

/// G(x) without the ridge, without user-defined losses, and without the y^2/2 of squared losses.
inline double sum_value(const Sums& sums, const double* x) {
    const i64 d = sums.d;
    double total = inner(sums.q, x, d);
    if (sums.Q)
        for (i64 j = 0; j < d; ++j) total += 0.5 * x[j] * inner(sums.Q + j * d, x, d);
    for (i64 i = 0; i < (sums.phi == Phi::own ? 0 : sums.rows); ++i) {
        double u = 0.0;
        for (i64 j = 0; j < d; ++j) u += sums.Z[j * sums.room + i] * x[j];
        total += phi_at(sums.phi, sums.parameter, u, sums.y[i]);
    }
    return total;
}

/// Add one loss; memory must have been reserved. A label was multiplied into z.
HN_INLINE void include(Sums& sums, Phi phi, const double* z, double y) {
    const i64 d = sums.d;
    if (phi == Phi::linear) {
        add(sums.q, 1.0, z, d);
    } else if (phi == Phi::squared) {
        add(sums.q, -y, z, d);
        for (i64 j = 0; j < d; ++j) add(sums.Q + j * d, z[j], z, d);
        ++sums.squares;
    } else {
        for (i64 j = 0; j < d; ++j) sums.Z[j * sums.room + sums.rows] = z[j];
        sums.y[sums.rows++] = y;
    }
}

}  // namespace hn::HN_ISA
