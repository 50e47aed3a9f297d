// The Frechet law: F(z) = exp(-z^-a) on z > 0.
#pragma once

#include "law.hpp"

namespace hn::HN_ISA {

HN_LAW(frechet)
struct frechet_law : Rules {
    static Place place(const LawOf& law, double t) {
        const double e = exp(t), w = exp((t + e) / law.a);
        return {w, w * (1.0 + e) / law.a};
    }
    static double product(const LawOf& law, double w, const double* d, i64 n, double* r, double* room) {
        const double a = law.a;
        if (a == 2.0) {
            f64x4 sum{};
            i64 i = 0;
            for (; i + 4 <= n; i += 4) {
                const f64x4 inverse = 1.0 / (w + load4(d + i)), square = inverse * inverse;
                sum += square;
                store4(r + i, 2.0 * square * inverse);
            }
            double rest = 0.0;
            for (; i < n; ++i) {
                const double inverse = 1.0 / (w + d[i]), square = inverse * inverse;
                rest += square;
                r[i] = 2.0 * square * inverse;
            }
            return exp(-(fold(sum) + rest));
        }
        for (i64 i = 0; i < n; ++i) {
            const double z = w + d[i];
            room[i] = pow(z, -a);
            r[i] = a * room[i] / z;
        }
        return exp(-total_of(room, n));
    }
};

}  // namespace hn::HN_ISA
