#include "../potentials.hpp"

#include "../learners/second_order.hpp"
#include "../learners/stochastic.hpp"
#include "../log.hpp"
#include "../random.hpp"
#include "../smoothings/all.hpp"

namespace hn::HN_ISA {

bool smooth(const Setup& s, Run& run, i64 changed, bool valued) {
    return smooth_any(s, run, changed, valued);
}
bool smooth_one(const Setup& s, Run& run, i64 i, double value, bool same, bool valued) {
    if (s.is(Smoothing::exponential)) return smooth_exponential(s, run, i, value, valued);
    run.L[i] = value;
    return smooth_any(s, run, same ? i : -1, valued);
}
i64 draw_sampled(const Setup& s, Run& run) { return draw_belief(s, run); }

namespace {

bool leaders_at(Smoothing kind, const double* parameter, const double* L, i64 n, double scale, double* p,
                double* mean) {
    Nodes none;
    const Led led = leaders(kind, parameter, L, n, scale, false, p, none);
    if (!led.fine) return false;
    *mean = mean_of_leader(kind, parameter, L, n, scale, led.mean);
    return true;
}

i64 nodes_at(Smoothing kind, const double* parameter, const double* L, i64 n, double scale, double* p,
             double* w, double* mass, i64 room) {
    Nodes nodes{w, mass, room, 0};
    return leaders(kind, parameter, L, n, scale, true, p, nodes).fine ? nodes.used : -1;
}

bool by_table(const LawTable& t, const double* L, i64 n, double scale, double* p, double* total,
              double* mean) {
    return table_leaders(t, L, n, scale, p, *total, *mean);
}

bool heavy(const Setup& s) {
    return (s.is(Smoothing::frechet) || s.is(Smoothing::pareto)) && s.parameter[0] >= 1.0;
}
i64 grid_places(const Setup& s) {
    return heavy(s) ? heavy_grid_places(law_of(s.smoothing, s.parameter), s.n) : 0;
}
void make_grid(const Setup& s, double* grid) { make_heavy_grid(law_of(s.smoothing, s.parameter), s.n, grid); }

bool powers_at(const double* L, i64 n, double scale, double alpha, double* w, double* total) {
    const PowerLeaders solved = power_leaders(L, n, scale, alpha, 0.0, w);
    *total = solved.total;
    return solved.fine;
}
double powers_value(const double* L, const double* p, i64 n, double scale, double alpha) {
    return regularizer_value(L, p, n, 1.0, scale, alpha);
}

}  // namespace

extern const Potentials potentials;
const Potentials potentials = {leaders_at,  nodes_at,  ratio_matrix, by_table,
                               grid_places, make_grid, powers_at,    powers_value};

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
    words[0] = s.a;
    words[1] = s.b;
    words[2] = s.c;
    words[3] = s.d;
}

}  // namespace

extern const Mathematics mathematics;
const Mathematics mathematics = {each, pow_each, uniforms, log_evidence, least_mean};

}  // namespace hn::HN_ISA
