// Thompson sampling: each arm is drawn with its posterior probability of having the largest mean gain y = 1 - loss.
//
//     Beta      y_i ~ Beta(1 + k_i, 1 + N_i - k_i), where k_i of the N_i losses of arm i are 0; other losses are
//               first rounded to 0 or 1 at random, with the same mean (Agrawal, Goyal 2012)
//     Gaussian  y_i ~ N(m_i, 1/(N_i + 1)), m_i the sum of the gains of arm i over N_i + 1 (Agrawal, Goyal 2013)
//
// A game draws the y_i and plays the largest. A live player draws in the same way and also computes the probability of
// its arm, p_i = int f_i prod_(j != i) F_j, by panels of twelve nodes from right to left, whose width is that of the
// narrowest density there. The F_j are integrals over the same nodes, so only densities are evaluated. The accuracy is
// 1e-12; no p_i is below 1e-30. The memory: N, the sums of the recorded losses, and the number of coins tossed.
#pragma once

#include "../convex/noise.hpp"
#include "../dispatch.hpp"
#include "stochastic.hpp"
#include "../tables.hpp"

namespace hn::HN_ISA {

/// Gamma(shape), shape >= 1, at scale 1: Marsaglia and Tsang's cubed normal.
inline double draw_gamma(Words& stream, double shape) {
    const double base = shape - 1.0 / 3.0, slope = 1.0 / sqrt(9.0 * base);
    for (;;) {
        double x;
        fill_normals(stream, &x, 1);
        const double cube = 1.0 + slope * x, v = cube * cube * cube, u = uniform(stream);
        if (!(cube > 0.0)) continue;
        if (u < 1.0 - 0.0331 * (x * x) * (x * x) || cubed_accepted(x, v, u, base)) return base * v;
    }
}

/// Arm with the largest draw.
inline i64 draw_belief(const Setup& s, Run& run) {
    const ArmCounts arms(run.memory, s.n);
    const double *count = arms.count, *sum = arms.sum;
    const bool beta = s.counter == Counter::thompson_beta;
    double top = -infinity;
    i64 best = 0;
    for (i64 i = 0; i < s.n; ++i) {
        const double gains = count[i] - sum[i];
        double y;
        if (beta) {
            const double won = draw_gamma(run.stream, 1.0 + gains),
                         lost = draw_gamma(run.stream, 1.0 + sum[i]);
            y = won / (won + lost);
        } else {
            fill_normals(run.stream, &y, 1);
            y = (gains + y * sqrt(count[i] + 1.0)) / (count[i] + 1.0);
        }
        if (y > top) {
            top = y;
            best = i;
        }
    }
    return best;
}

/// log n! - log(n/e)^n - log sqrt(2 pi n): Stirling's error.
inline double stirling_error(double n) {
    if (n < 16.0) {
        double sum = 0.0;
        for (double k = 2.0; k <= n; ++k) sum += log(k);
        return sum - (n + 0.5) * log(n) + n - 0.91893853320467274178;
    }
    const double y = 1.0 / (n * n);
    return (1.0 / 12.0 - (1.0 / 360.0 - (1.0 / 1260.0 - (1.0 / 1680.0 - y / 1188.0) * y) * y) * y) / n;
}

/// Posterior of one arm: a density with one peak, its height at the peak, and its standard deviation.
struct Belief {
    bool beta;
    double won, lost, peak, height, deviation, low, high;

    HN_INLINE Belief() = default;
    HN_INLINE Belief(bool by_coins, double count, double sum) : beta(by_coins), won(count - sum), lost(sum) {
        if (beta) {
            const double ends = won > 0.0 && lost > 0.0
                                    ? stirling_error(count) - stirling_error(won) - stirling_error(lost)
                                    : 0.0;
            peak = count > 0.0 ? won / count : 0.5;
            height = count + 1.0;
            if (won > 0.0 && lost > 0.0)
                height *= exp(ends) * sqrt(count / (6.28318530717958647693 * won * lost));
            const double mean = (won + 1.0) / (count + 2.0);
            deviation = sqrt(mean * (1.0 - mean) / (count + 3.0));
        } else {
            const double many = count + 1.0;
            won = many;
            peak = (count - sum) / many;
            deviation = 1.0 / sqrt(many);
            height = 0.39894228040143267794 * sqrt(many);
        }
        low = reach(-1.0);
        high = reach(1.0);
    }

    /// log f(y)/f(peak).
    HN_INLINE double fall(double y) const {
        if (!beta) return -0.5 * won * (y - peak) * (y - peak);
        const double gained = won > 0.0 ? won * log1p((y - peak) / peak) : 0.0;
        return gained + (lost > 0.0 ? lost * log1p((peak - y) / (1.0 - peak)) : 0.0);
    }
    HN_INLINE double density(double y) const { return height * exp(fall(y)); }

    /// Distance on one side within which the density is above e^-42 of its peak.
    double reach(double side) const {
        double step = deviation;
        for (int k = 0; k < 60; ++k, step *= 1.25) {
            const double y = peak + side * step;
            if (beta && !(y > 0.0 && y < 1.0)) return side > 0.0 ? 1.0 : 0.0;
            if (fall(y) < -42.0) return y;
        }
        return peak + side * step;
    }
};

/// Width of the panel that ends at `right`.
inline double panel_width(const Belief* belief, i64 n, double right, double left) {
    double width = right - left;
    for (i64 i = 0; i < n; ++i) {
        if (belief[i].low >= right) continue;  // all of it is above `left`
        width = min(width, max(belief[i].deviation, right - belief[i].high));
    }
    return width;
}

/// run.w = p.
inline bool weigh_beliefs(const Setup& s, Run& run) {
    constexpr int m = panels::count;
    const i64 n = s.n, each = i64(sizeof(Belief) / sizeof(double));
    double* room = workspace(n * (each + 1 + 2 * m) + 2 * (n + 1));
    if (!room) return false;
    Belief* belief = reinterpret_cast<Belief*>(room);
    const ArmCounts arms(run.memory, n);
    double *beyond = room + n * each, *f = beyond + n, *F = f + n * m, *before = F + n * m;
    double left = -infinity, right = -infinity;
    for (i64 i = 0; i < n; ++i) {
        belief[i] = Belief(s.counter == Counter::thompson_beta, arms.count[i], arms.sum[i]);
        beyond[i] = 0.0;
        run.w[i] = 1e-30;
        left = max(belief[i].low, left);
        right = max(belief[i].high, right);
    }
    // Below `left` the density of some arm is negligible, so no other arm has the largest draw there.
    while (right > left) {
        const double width = panel_width(belief, n, right, left), from = right - width;
        if (!(from < right)) return false;
        for (i64 i = 0; i < n; ++i) {
            double* density = f + i * m;
            double* below = F + i * m;
            double mass = 0.0;
            const bool outside = belief[i].high <= from || belief[i].low >= right;
            for (int k = 0; k < m; ++k) {
                density[k] = outside ? 0.0 : width * belief[i].density(from + width * panels::nodes[k]);
                mass += panels::weights[k] * density[k];
            }
            for (int k = 0; k < m; ++k) {
                double above = beyond[i];
                if (!outside)
                    for (int l = 0; l < m; ++l) above += panels::above[k][l] * density[l];
                below[k] = above < 1.0 ? 1.0 - above : 0.0;
            }
            beyond[i] += mass;
        }
        for (int k = 0; k < m; ++k) {
            // prod_(j != i) F_j is the product of the factors before i times that of the factors after i,
            // without division.
            before[0] = panels::weights[k];
            for (i64 i = 0; i < n; ++i) before[i + 1] = before[i] * F[i * m + k];
            double after = 1.0;
            for (i64 i = n - 1; i >= 0; --i) {
                run.w[i] += f[i * m + k] * before[i] * after;
                after *= F[i * m + k];
            }
        }
        right = from;
    }
    double total = 0.0;
    for (i64 i = 0; i < n; ++i) total += run.w[i];
    run.total = total;
    return total > 0.5;
}

HN_COUNTER(thompson_beta, 2 * n + 1, Noise::own)
HN_COUNTER(thompson_gaussian, 2 * n + 1, Noise::none)

/// Add a loss just settled; probabilities are computed only when a live player needs them.
inline bool thompson(const Setup& s, Run& run, bool valued) {
    if (takes_in(run)) {
        const i64 arm = run.arm;
        const ArmCounts arms(run.memory, s.n);
        double loss = run.paid;
        if (s.counter == Counter::thompson_beta && loss > 0.0 && loss < 1.0) {
            loss = uniform(run.noise) < loss ? 1.0 : 0.0;
            *arms.coins += 1.0;
        }
        arms.count[arm] += 1.0;
        arms.sum[arm] += loss;
    }
    run.value = __builtin_nan("");
    return !valued || weigh_beliefs(s, run);
}
inline bool thompson_beta(const Setup& s, Run& run) { return thompson(s, run, true); }
inline bool thompson_gaussian(const Setup& s, Run& run) { return thompson(s, run, true); }

}  // namespace hn::HN_ISA
