// The Pareto law: F(z) = 1 - z^-a on z > 1; w is measured from 1.
#pragma once

#include "law.hpp"

namespace hn::HN_ISA {

HN_LAW(pareto)
struct pareto_law : Rules {
    static Place place(const LawOf& law, double t) {
        const double a = law.a, e = exp(-t), u = exp(t - e), du = u * (1.0 + e);
        return {expm1(u / a), exp(u / a) / a * du};
    }
    static double product(const LawOf& law, double w, const double* d, i64 n, double* r, double* room) {
        const double a = law.a;
        if (a == 2.0 && w >= 0.01) {
            for (i64 i = 0; i < n; ++i) {
                const double z = 1.0 + w + d[i], square = z * z;
                // F = 1 - 1/z^2, r = 2/(z^3 F) = 2/(z (z^2 - 1))
                room[i] = 1.0 - 1.0 / square;
                r[i] = 2.0 / (z * (square - 1.0));
            }
        } else {
            for (i64 i = 0; i < n; ++i) {
                const double y = w + d[i];
                double tail;
                if (y < 0.01) {  // 1 - (1 + y)^-a would cancel
                    room[i] = -expm1(-a * log1p(y));
                    tail = 1.0 - room[i];
                } else {
                    tail = pow(1.0 + y, -a);
                    room[i] = 1.0 - tail;
                }
                r[i] = a * tail / ((1.0 + y) * room[i]);
            }
        }
        return product_of(room, n);
    }
};

}  // namespace hn::HN_ISA
