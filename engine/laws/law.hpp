// A law of perturbations to the quadrature of FTPL, in one header: F, r = f/F and a change of variable made for them.
//
// The line HN_LAW(name) in a header of this folder is all that the build asks for: it makes the law's name in `Smoothing`,
// in Python and here. `name##_law` then has `at` or `product`, and whatever of `Rules` is different for it.
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
    707.0;  // an arm whose probability is surely below e^-far is given probability zero

struct Place {
    double w, dw;
};

/// Defaults for laws on z > 0 with a light tail.
struct Rules {
    /// The gap d beyond which an arm's probability is surely below e^-far, P(Z > d) or, Gaussian, its square root.
    static double reach(const LawOf&) { return infinity; }
    /// The node w(t) and dw/dt, double exponential; w is measured from the lower end of the leader's support.
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
