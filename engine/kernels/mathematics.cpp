#include "../mathematics.hpp"

#include "../learners/index_rules.hpp"
#include "../learners/second_order.hpp"
#include "../log.hpp"
#include "../random.hpp"

namespace hn::HN_ISA {
namespace {

template <class V>
V of(Function which, V x) {
    switch (which) {
        case Function::exp_soon: return exp_soon(x);
        case Function::exp_small: return exp_small(x);
        case Function::expm1: return expm1(x);
        default: return exp(x);
    }
}

void each(Function which, const double* x, double* out, i64 count, bool by_fours) {
    i64 k = 0;
    if (by_fours && which <= Function::expm1)
        for (; k + 4 <= count; k += 4) store4(out + k, of(which, load4(x + k)));
    for (; k < count; ++k) {
        switch (which) {
            case Function::log: out[k] = log(x[k]); break;
            case Function::log1p: out[k] = log1p(x[k]); break;
            case Function::erfc: out[k] = erfc(x[k]); break;
            case Function::erfcx: out[k] = erfcx(x[k]); break;
            default: out[k] = of(which, x[k]);
        }
    }
}

void pow_each(const double* x, double a, double* out, i64 count) {
    for (i64 k = 0; k < count; ++k) out[k] = pow(x[k], a);
}

void uniforms(u64* words, double* out, i64 count) {
    Words s{words[0], words[1], words[2], words[3]};
    for (i64 k = 0; k < count; ++k) out[k] = uniform(s);
    words[0] = s.a, words[1] = s.b, words[2] = s.c, words[3] = s.d;
}

}  // namespace

extern const Mathematics mathematics;
const Mathematics mathematics = {each, pow_each, uniforms, log_evidence, least_mean};

}  // namespace hn::HN_ISA
