// Perturbation distribution for the quadrature of FTPL, in one header: F, r = f/F and a suitable change of variable.
// The build finds the line HN_LAW(name) in a header of this folder, and defines the name of the law in `Smoothing` and
// in Python. `name##_law` defines `at` or `product`, and the members of `Rules` that differ from their defaults.
#pragma once

#include "../smoothings/powers.hpp"

#define HN_LAW(name) struct name##_law;

namespace hn::HN_ISA {

/// A law: its kind, its number a (shape, k or alpha), whether a Weibull is conditioned, and log Gamma(a) of a Gamma.
struct LawOf {
    Smoothing kind;
    double a, conditioned, constant;
};

inline constexpr double far =
    707.0;  // an arm whose probability is certainly below e^-far gets the probability zero

struct Place {
    double w, dw;
};

/// Defaults for laws on z > 0 with a light tail.
struct Rules {
    /// Gap d beyond which the probability of an arm is certainly below e^-far, since it is at most P(Z > d) or, for the
    /// Gaussian, its square root.
    static double reach(const LawOf&) { return infinity; }
    /// Node w(t) and dw/dt of the double-exponential rule; w is measured from the lower end of the support of the
    /// leader.
    static Place place(const LawOf&, double t) {
        const double e = exp(-t), u = exp(t - e);
        return {u, u * (1.0 + e)};
    }
};

inline double total_of(const double* x, i64 n) {
    f64x4 sum{};
    i64 i = 0;
    for (; i + 4 <= n; i += 4) sum += load4(x + i);
    double rest = 0.0;
    for (; i < n; ++i) rest += x[i];
    return fold(sum) + rest;
}
inline double product_of(const double* x, i64 n) {
    f64x4 product = splat(1.0);
    i64 i = 0;
    for (; i + 4 <= n; i += 4) product *= load4(x + i);
    double rest = 1.0;
    for (; i < n; ++i) rest *= x[i];
    return fold_product(product) * rest;
}

/// G(w) = prod_j F(w + d_j), with r_i = r(w + d_i) written for every arm: by the loop of the law, or arm by
/// arm.
template <class One>
inline double product_of_law(const LawOf& law, double w, const double* d, i64 n, double* r, double* room) {
    if constexpr (requires { &One::product; }) {
        return One::product(law, w, d, n, r, room);
    } else {
        for (i64 i = 0; i < n; ++i) One::at(law, w + d[i], room[i], r[i]);
        return product_of(room, n);
    }
}

}  // namespace hn::HN_ISA
