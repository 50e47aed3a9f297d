// FTPL with exponential tails: with x = e^-w the probabilities are integrals of polynomials, for which Gauss's rule is
// exact.
//
// Exponential: p_i = y_i int_0^1 prod_(j != i) (1 - y_j x) dx, y_j = e^-d_j: a polynomial of degree n - 1, so
// (n + 1)/2 nodes are exact; 24 integrate e^-u on [0, 40] to 1e-15. Laplace: the same with y_j/2 above w = 0; below,
// each arm with z < 0 has F(z) = e^z/2 and r(z) = 1, so the integrand is smooth between the breakpoints w = -d_j, and
// decreases at least like e^(k w) below the k-th breakpoint.
#pragma once

#include "powers.hpp"

namespace hn::HN_ISA {

inline constexpr i64 most_nodes = 24;
inline constexpr double depth = 39.0;  // beyond e^-depth of the total an integrand is negligible

/// Output of the nodes w of a rule and their masses A = G dw, for the Hessian; `used` counts them even if
/// there is no space.
struct Nodes {
    double *w = nullptr, *mass = nullptr;
    i64 room = 0, used = 0;
    void add(double at, double a) {
        if (used < room) {
            w[used] = at;
            mass[used] = a;
        }
        ++used;
    }
};

/// p_i = int_0^1 y_i prod_(j != i)(1 - y_j x) dx; returns int_0^inf (1 - G(w)) dw.
inline double upper_part(const double* y, i64 n, double* p, Nodes& nodes) {
    double total = 0.0;
    for (i64 j = 0; j < n; ++j) {
        p[j] = 0.0;
        total += y[j];
    }
    // prod (1 - y_j x) <= exp(-total x): beyond `top` G is negligible and 1 - G is 1.
    const double top = min(depth / total, 1.0);
    double mean = -log(top);
    const i64 count = n >= 2 * most_nodes - 1 ? most_nodes : (n + 1) / 2;
    for (i64 q = 0; q < count; ++q) {
        const double x = top * tables::gauss_x[count - 1][q], dx = top * tables::gauss_w[count - 1][q];
        double product = 1.0, shortfall = 0.0;
        for (i64 j = 0; j < n; ++j) {
            // 1 - prod (1 - y_j x), by a recursion that does not cancel
            shortfall += product * y[j] * x;
            product *= 1.0 - y[j] * x;
        }
        mean += dx * shortfall / x;
        const double mass = dx * product;
        for (i64 j = 0; j < n; ++j) p[j] += mass * y[j] / (1.0 - y[j] * x);
        if (nodes.room > 0) nodes.add(-log(x), mass / x);
    }
    return mean;
}

/// p for the Exponential law at gaps d, and E max(Z - d). `y` has space for n numbers.
inline double exponential_leaders(const double* d, i64 n, double* p, double* y, Nodes& nodes) {
    for (i64 j = 0; j < n; ++j) y[j] = exp(-d[j]);
    return upper_part(y, n, p, nodes);
}

/// A sum of fractions a/b, b > 0, as one fraction.
struct Fraction {
    f64x4 above, below;
    HN_INLINE Fraction operator+(const Fraction& other) const {
        return {above * other.below + other.above * below, below * other.below};
    }
};

/// The same for a run, four arms at a time, with `value` instead of L_i (no arm if i = -1), which is stored
/// last, because vector loads would wait for it. Unnormalized into w; E max_j (Z_j - d_j) if requested.
/// `fours`: number of vectors, a constant if this is inlined for few of them.
HN_INLINE bool exponential_in_fours(const Setup& s, Run& run, i64 i, double value, i64 fours, bool valued,
                                    double& mean) {
    const i64 m = 4 * fours;
    const f64x4 here = splat(value);
    const auto loss = [&](i64 j) { return select(i64x4(lanes(j) == splat(i)), here, load4(run.L + j)); };
    f64x4 low4 = loss(0);
    for (i64 j = 4; j < m; j += 4) low4 = min(low4, loss(j));
    const f64x4 low = splat(fold_min(low4)), rate = splat(run.inverse);
    f64x4 mass{};
    for (i64 j = 0; j < m; j += 4) {
        const f64x4 y = exp((low - loss(j)) * rate);
        store4(run.w + j, y);
        mass += y;
    }
    if (i >= 0) run.L[i] = value;
    const i64 count = s.n >= 2 * most_nodes - 1 ? most_nodes : (s.n + 1) / 2;
    double top = 1.0;
    if (double(m) > depth) {  // y <= 1, so the total of fewer arms is not larger
        const double total = fold(mass);
        if (total > depth) top = depth / total;
    }
    const double *rule_x = tables::gauss_x[count - 1], *rule_w = tables::gauss_w[count - 1];
    double x[most_nodes], weight[most_nodes];
    mean = 0.0;
    for (i64 q = 0; q < count; ++q) {
        x[q] = top * rule_x[q];
        f64x4 product = splat(1.0);
        for (i64 j = 0; j < m; j += 4) product *= 1.0 - load4(run.w + j) * x[q];
        const double whole = fold_product(product);
        weight[q] = top * rule_w[q] * whole;
        if (valued)
            mean +=
                rule_w[q] * (1.0 - whole) / rule_x[q];  // the leader has y = 1, so 1 - G >= x
    }
    if (top < 1.0) mean -= log(top);
    f64x4 sum{};
    for (i64 j = 0; j < m; j += 4) {
        const f64x4 y = load4(run.w + j);
        // Six nodes share a division, because the product of all factors 1 - x_q of a rule of 24 nodes is
        // above 1e-14.
        const auto one = [&](i64 q) { return Fraction{splat(weight[q]), 1.0 - y * x[q]}; };
        const auto two = [&](i64 q) { return one(q) + one(q + 1); };
        f64x4 p{};
        for (i64 q = 0; q < count; q += 6) {
            const i64 left = count - q;
            Fraction part = left > 1 ? two(q) : one(q);
            if (left > 3) part = part + two(q + 2);
            else if (left > 2) part = part + one(q + 2);
            if (left > 5) part = part + two(q + 4);
            else if (left == 5) part = part + one(q + 4);
            p += part.above / part.below;
        }
        p *= y;
        store4(run.w + j, p);
        sum += p;
    }
    run.total = fold(sum);
    return run.total > 0.0;
}
inline bool exponential_run(const Setup& s, Run& run, i64 i, double value, bool valued, double& mean) {
    if (s.n <= 4) return exponential_in_fours(s, run, i, value, 1, valued, mean);
    if (s.n <= 8) return exponential_in_fours(s, run, i, value, 2, valued, mean);
    if (s.n <= 12) return exponential_in_fours(s, run, i, value, 3, valued, mean);
    return exponential_in_fours(s, run, i, value, (s.n + 3) / 4, valued, mean);
}

/// p of one arm and Phi for L at another scale than the current one; `y` has space for s.places() numbers.
struct OneArm {
    double p, value;
};
inline OneArm exponential_one(const Setup& s, const double* L, double scale, i64 arm, double* y) {
    f64x4 low4 = load4(L);
    for (i64 j = 4; j < s.n; j += 4) low4 = min(low4, load4(L + j));
    const double low = fold_min(low4), inverse = 1.0 / scale;
    f64x4 mass{};
    for (i64 j = 0; j < s.n; j += 4) {
        const f64x4 far = exp((splat(low) - load4(L + j)) * splat(inverse));
        store4(y + j, far);
        mass += far;
    }
    const i64 count = s.n >= 2 * most_nodes - 1 ? most_nodes : (s.n + 1) / 2;
    const double total = fold(mass), top = total > depth ? depth / total : 1.0, own = y[arm];
    const double *rule_x = tables::gauss_x[count - 1], *rule_w = tables::gauss_w[count - 1];
    double mean = 0.0, p = 0.0;
    for (i64 q = 0; q < count; ++q) {
        const double x = top * rule_x[q];
        f64x4 product = splat(1.0);
        for (i64 j = 0; j < s.n; j += 4) product *= 1.0 - load4(y + j) * x;
        const double whole = fold_product(product);
        mean += rule_w[q] * (1.0 - whole) / rule_x[q];
        p += top * rule_w[q] * whole / (1.0 - own * x);
    }
    if (top < 1.0) mean -= log(top);
    return {own * p, low - scale * mean};
}

/// Sort d in ascending order together with the original positions: heap sort, in place.
inline void sort_gaps(double* gap, double* order, i64 n) {
    const auto less = [&](i64 a, i64 b) {
        return gap[a] < gap[b] || (gap[a] == gap[b] && order[a] < order[b]);
    };
    const auto swap = [&](i64 a, i64 b) {
        const double g = gap[a], o = order[a];
        gap[a] = gap[b];
        order[a] = order[b];
        gap[b] = g;
        order[b] = o;
    };
    const auto sift = [&](i64 from, i64 end) {
        for (i64 k = from; 2 * k + 1 < end;) {
            i64 child = 2 * k + 1;
            if (child + 1 < end && less(child, child + 1)) ++child;
            if (!less(k, child)) return;
            swap(k, child);
            k = child;
        }
    };
    for (i64 k = n / 2 - 1; k >= 0; --k) sift(k, n);
    for (i64 end = n - 1; end > 0; --end) {
        swap(0, end);
        sift(0, end);
    }
}

/// p for the Laplace law; E max(Z - d). `room`: 4 n numbers.
inline double laplace_leaders(const double* d, i64 n, double* p, double* room, Nodes& nodes) {
    constexpr double ln2 = 0.6931471805599453;
    constexpr i64 panel = 12;
    double *gap = room, *order = room + n, *half = room + 2 * n, *sums = room + 3 * n;
    for (i64 j = 0; j < n; ++j) {
        gap[j] = d[j];
        order[j] = double(j);
    }
    sort_gaps(gap, order, n);
    for (i64 j = 0; j < n; ++j) half[j] = 0.5 * exp(-gap[j]);
    double mean = upper_part(half, n, sums, nodes);
    double s = 0.0, behind = 0.0;  // behind: sum of the gaps of the arms below their breakpoint
    double deep = 0.0;             // -log G(-s), plus s if a far arm gains e^s
    i64 k = 0;
    const double logn = log(double(n));
    if (n > 1 && gap[1] > depth + logn + 1.0) {
        // One leader with a large gap: down to `flat` every other F equals 1 to the last digit.
        const double flat = gap[1] - depth - logn, piece = -0.5 * expm1(-flat);
        sums[0] += piece;
        mean -= piece;
        for (i64 j = 1; j < n; ++j) sums[j] += 0.5 * half[j] * flat;
        if (nodes.room > 0)
            // In the Hessian, for the leader and an arm with a large gap, e^-s e^s is constant, and every
            // rule is exact.
            for (i64 q = 0; q < most_nodes; ++q) {
                const double at = flat * tables::gauss_x[most_nodes - 1][q];
                nodes.add(-at, 0.5 * exp(-at) * flat * tables::gauss_w[most_nodes - 1][q]);
            }
        s = flat;
    }
    while (k < n && gap[k] <= s) behind += gap[k++];
    while (deep < depth + 5.0) {
        // steepness of the integrand at s: R(s) = k + sum of the ratios of the arms above
        double grow = exp(s), steep = double(k);
        for (i64 j = k; j < n; ++j) {
            const double x = half[j] * grow;
            steep += x / (1.0 - x);
        }
        double length = min(5.0 / steep, 1.0), end = s + length;
        if (k < n && gap[k] < end) {
            end = gap[k];
            length = end - s;
        }
        if (length > 0.0)
            for (i64 q = 0; q < panel; ++q) {
                const double at = s + length * tables::gauss_x[panel - 1][q];
                grow = exp(at);
                double product = 1.0;
                for (i64 j = k; j < n; ++j) product *= 1.0 - half[j] * grow;
                const double mass =
                    length * tables::gauss_w[panel - 1][q] * product * exp(behind - double(k) * (at + ln2));
                mean -= mass;
                for (i64 j = 0; j < k; ++j) sums[j] += mass;
                for (i64 j = k; j < n; ++j) {
                    const double x = half[j] * grow;
                    sums[j] += mass * x / (1.0 - x);
                }
                if (nodes.room > 0) nodes.add(-at, mass);
            }
        s = end;
        while (k < n && gap[k] <= s) behind += gap[k++];
        double product = 1.0;
        grow = exp(s);
        for (i64 j = k; j < n; ++j) product *= 1.0 - half[j] * grow;
        // The term of an arm with a large gap gains e^s; with one arm behind, the product stays flat until
        // the second.
        deep = product > 0.0 ? double(k) * (s + ln2) - behind - log(product) - s : infinity;
        if (k == n && n == 1) deep += s;
    }
    for (i64 j = 0; j < n; ++j) p[i64(order[j])] = sums[j];
    return mean;
}

}  // namespace hn::HN_ISA
