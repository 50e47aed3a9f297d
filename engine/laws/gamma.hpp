// The Gamma law: f(z) = z^(a-1) e^-z/Gamma(a) on z > 0.
#pragma once

#include "law.hpp"

namespace hn::HN_ISA {

HN_LAW(gamma)
struct gamma_law : Rules {
    static double reach(const LawOf& law) {
        return law.a > 1.0 ? 2.0 * (far + law.a) : far;  // S(d) <= e^(-d/2) 2^a for every d
    }
    /// F = P(a, z) and r = f/F at z > 0: the regularized incomplete gamma function.
    static void at(const LawOf& law, double z, double& cdf, double& ratio) {
        const double a = law.a, log_gamma = law.constant;
        if (z <= 0.0) {
            cdf = 0.0;
            ratio = infinity;
            return;
        }
        const double front = exp(a * log(z) - z - log_gamma);  // z f(z)
        if (z < a + 1.0) {
            // series: P = z^a e^-z / Gamma(a) * sum_k z^k / (a (a+1) ... (a+k))
            double term = 1.0 / a, total = term, k = a;
            while (term > 1e-17 * total) {
                k += 1.0;
                term *= z / k;
                total += term;
            }
            cdf = front * total;
            ratio = 1.0 / (z * total);
            return;
        }
        // modified Lentz on the continued fraction of the upper tail
        double b = z + 1.0 - a, c = 1e300, d = 1.0 / b, fraction = d;
        const int most_terms = 500 + int(10.0 * sqrt(a));
        for (int k = 1; k < most_terms; ++k) {
            const double step = -double(k) * (double(k) - a);
            b += 2.0;
            d = step * d + b;
            if (abs(d) < 1e-300) d = 1e-300;
            c = b + step / c;
            if (abs(c) < 1e-300) c = 1e-300;
            d = 1.0 / d;
            const double change = d * c;
            fraction *= change;
            if (abs(change - 1.0) < 1e-16) break;
        }
        cdf = 1.0 - front * fraction;
        ratio = front / z / cdf;
    }
};

}  // namespace hn::HN_ISA
