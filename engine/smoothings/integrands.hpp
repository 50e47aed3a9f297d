// The integrand of FTPL for the laws of laws/, in the variable that each of them has.
//
// G(w) = prod_j F(w + d_j) and r(w + d_i), r = f/F. The change of variable w(t) is double exponential, so that the
// integrand in t is smooth and falls fast at both ends.
#pragma once

#include "found_laws.hpp"  // written by the build: every header of laws/

namespace hn::HN_ISA {

inline double reach(const LawOf& law) {
    switch (law.kind) {
        case Smoothing::exponential: case Smoothing::laplace: return far;
#define HN_ROW(name) \
    case Smoothing::name: return name##_law::reach(law);
        HN_LAWS(HN_ROW)
#undef HN_ROW
        default: return infinity;
    }
}

inline Place place(const LawOf& law, double t) {
    switch (law.kind) {
#define HN_ROW(name) \
    case Smoothing::name: return name##_law::place(law, t);
        HN_LAWS(HN_ROW)
#undef HN_ROW
        default: return Rules::place(law, t);
    }
}

/// G(w), with r_i = r(w + d_i) written for every arm; d, r and room have places in fours.
inline double product_and_ratios(const LawOf& law, double w, const double* d, i64 n, double* r, double* room) {
    switch (law.kind) {
#define HN_ROW(name) \
    case Smoothing::name: return product_of_law<name##_law>(law, w, d, n, r, room);
        HN_LAWS(HN_ROW)
#undef HN_ROW
        default: return 0.0;
    }
}

}  // namespace hn::HN_ISA
