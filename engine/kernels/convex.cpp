#include "../convex.hpp"

#include "../convex/rounds.hpp"

namespace hn::HN_ISA {
namespace {

Solved act_(const AtPoint& at) { return act(at); }
Solved play_(const AtPoint& at, const PointRounds& rounds) { return play(at, rounds); }

/// Only the noise of the round, for a set whose argmin is computed in Python.
void perturb_(const PointRules& rules, PointRun& run, i64 d) {
    const double share = perturb(rules, run, d);
    for (i64 j = 0; j < d; ++j) run.noise[j] = share * run.normals[j];
}

double loss(Phi phi, double parameter, const double* x, const double* z, double y, i64 d) {
    return phi_at(phi, parameter, inner(x, z, d), y);
}
void include_(Sums& sums, Phi phi, const double* z, double y) { include(sums, phi, z, y); }
double noise_(NoiseKind kind, Words& s, double* out, i64 d) { return draw_noise(kind, s, out, d); }
void normals(Words& s, double* out, i64 count) { fill_normals(s, out, count); }

}  // namespace

extern const ConvexTable convex;
const ConvexTable convex = {act_,     play_,   perturb_,  loss,   include_, find_leader,
                            gradient, hessian, sum_value, noise_, normals};

}  // namespace hn::HN_ISA
