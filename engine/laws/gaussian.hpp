// The Gaussian law N(0, 1).
#pragma once

#include "law.hpp"

namespace hn::HN_ISA {

HN_LAW(gaussian)
struct gaussian_law : Rules {
    static double reach(const LawOf&) { return 2.0 * sqrt(far); }
    static Place place(const LawOf&, double t) { return {t, 1.0}; }
    static void at(const LawOf&, double z, double& cdf, double& ratio) {
        const double x = -z * 0.7071067811865476;  // sqrt(1/2)
        cdf = 0.5 * erfc(x);
        // f/F without the two exponentials if F is small, because they cancel.
        ratio = x > 0.0 ? 0.7978845608028654 / erfcx(x) : 0.3989422804014327 * exp(-0.5 * z * z) / cdf;
    }
};

}  // namespace hn::HN_ISA
