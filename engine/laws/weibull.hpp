// The Weibull laws: S(z) = e^-u, u = z^a, or conditioned u = (1 + z)^a - 1.
#pragma once

#include "law.hpp"

namespace hn::HN_ISA {

HN_LAW(weibull)
struct weibull_law : Rules {
    static double reach(const LawOf& law) {
        return law.conditioned > 0.0 ? pow(1.0 + far, 1.0 / law.a) - 1.0 : pow(far, 1.0 / law.a);
    }
    static Place place(const LawOf& law, double t) {
        const double a = law.a, e = exp(-t);
        if (law.conditioned > 0.0) {
            const double u = exp(t - e), du = u * (1.0 + e), w = expm1(log1p(u) / a);
            return {w, (1.0 + w) / (a * (1.0 + u)) * du};
        }
        const double w = exp((t - e) / a);
        return {w, w / a * (1.0 + e)};
    }
    static void at(const LawOf& law, double z, double& cdf, double& ratio) {
        const double a = law.a;
        double u, slope;
        if (law.conditioned > 0.0) {
            u = expm1(a * log1p(z));
            slope = a * (1.0 + u) / (1.0 + z);
        } else {
            u = pow(z, a);
            slope = a * u / z;
        }
        const double grown = expm1(u);
        cdf = u < 700.0 ? grown / (grown + 1.0) : 1.0;
        ratio = u < 709.0 ? slope / grown : slope * exp(-u);
    }
};

}  // namespace hn::HN_ISA
