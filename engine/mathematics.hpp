// The engine's own functions of one number, as tests see them.
#pragma once

#include "dispatch.hpp"
#include "types.hpp"

namespace hn {

enum class Function : int { exp, exp_soon, exp_small, expm1, log, log1p, erfc, erfcx };

struct Mathematics {
    void (*each)(Function which, const double* x, double* out, i64 count, bool by_fours);
    void (*pow_each)(const double* x, double a, double* out, i64 count);
    void (*uniforms)(u64* words, double* out, i64 count);
    double (*log_evidence)(double R, double V);  // of Squint
    double (*least_mean)(double m, double room);  // of KL-UCB
};

}  // namespace hn
HN_FAMILY(Mathematics, mathematics)
