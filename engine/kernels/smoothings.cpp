#include "../potentials.hpp"
#include "../smoothings/all.hpp"

namespace hn::HN_ISA {

bool smooth(const Setup& s, Run& run, i64 changed, bool valued) { return smooth_any(s, run, changed, valued); }
bool smooth_one(const Setup& s, Run& run, i64 i, double value, bool same, bool valued) {
    if (s.smoothing == Smoothing::exponential) return smooth_exponential(s, run, i, value, valued);
    run.L[i] = value;
    return smooth_any(s, run, same ? i : -1, valued);
}
i64 draw_sampled(const Setup& s, Run& run) { return draw_belief(s, run); }

namespace {

bool leaders_at(Smoothing kind, const double* parameter, const double* L, i64 n, double scale, double* p, double* mean) {
    Nodes none;
    const Led led = leaders(kind, parameter, L, n, scale, false, p, none);
    if (!led.fine) return false;
    *mean = mean_of_leader(kind, parameter, L, n, scale, led.mean);
    return true;
}

i64 nodes_at(Smoothing kind, const double* parameter, const double* L, i64 n, double scale, double* p, double* w,
             double* mass, i64 room) {
    Nodes nodes{w, mass, room, 0};
    return leaders(kind, parameter, L, n, scale, true, p, nodes).fine ? nodes.used : -1;
}

bool by_table(const LawTable& t, const double* L, i64 n, double scale, double* p, double* total, double* mean) {
    return table_leaders(t, L, n, scale, p, *total, *mean);
}

bool heavy(const Setup& s) {
    return (s.smoothing == Smoothing::frechet || s.smoothing == Smoothing::pareto) && s.parameter[0] >= 1.0;
}
i64 grid_places(const Setup& s) { return heavy(s) ? heavy_grid_places(law_of(s.smoothing, s.parameter), s.n) : 0; }
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
const Potentials potentials = {leaders_at, nodes_at,  ratio_matrix, by_table, grid_places,
                               make_grid,  powers_at, powers_value};

}  // namespace hn::HN_ISA
