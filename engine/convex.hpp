// Objective perturbation (Algorithm 1 of the paper): x_t = argmin_X G(x) + <b, x>, G the sum of the losses seen.
//
// A set, the rules of a learner, the losses seen, the state of a run and the solver's model, in named fields and
// free of any instruction set. Vectors of a run have zeros up to the next multiple of four, and room for four more.
#pragma once

#include "dispatch.hpp"
#include "setup.hpp"

namespace hn {

enum class SetKind : int { ball, box, simplex, other };
enum class Phi : int { linear, squared, logistic, huber, hinge, own };
enum class NoiseKind : int { gamma, gaussian };
/// What the solver reports; `failed` is a phi of the user's own that is not finite, or has raised.
enum class Solved : int { fine, stuck, failed };

HN_INLINE constexpr i64 padded(i64 d) { return in_fours(d) + 4; }

/// A convex set: a ball by center and radius, a box and a simplex by low and high (0 and infinite on the simplex).
struct Region {
    SetKind kind;
    i64 d;
    double radius;
    const double *center, *low, *high;
};

/// How a learner plays: noise, the schedule scale = c sqrt(a + b t + d own), and its ridge.
struct PointRules {
    NoiseKind noise;
    bool fresh;
    double c, a, b, d;
    double ridge;        // of a privacy statement, always there; 0 is none
    double loss_ridge;   // what each curved loss adds to the ridge
    double scale_ridge;  // what the ridge has for each unit of scale, once a curved loss was seen
    double accuracy;     // the largest distance from the exact argmin

    /// The ridge: that of a privacy statement, or just enough to vouch for the distance from the argmin.
    HN_INLINE double ridge_of(i64 curved, double scale) const {
        const double grown = curved > 0 ? loss_ridge * double(curved) + scale_ridge * scale : 0.0;
        return grown > ridge ? grown : ridge;
    }
};

/// Losses of one sweep over the rows; the work of a sweep: their margins, slopes and curvatures.
inline constexpr i64 sweep = 512;

/// The losses seen: G(x) = <q, x> + x'Qx/2 + sum_i phi(<z_i, x>). A column of Z (d, room) a loss that is not in q and Q.
struct Sums {
    i64 d = 0, room = 0, rows = 0, squares = 0;
    Phi phi = Phi::linear;
    double parameter = 0.0;
    double *Z = nullptr, *y = nullptr, *q = nullptr;
    double* Q = nullptr;  // none while there are no squared losses
    /// phi' of the margins work[0..m-1] to work[sweep..], and if `curved` phi'' to work[2 sweep..]; false if it failed.
    bool (*own)(void* whose, double* work, i64 m, bool curved) = nullptr;
    void* whose = nullptr;

    HN_INLINE i64 curved() const { return rows + squares; }
};

/// The numbers of a run.
struct PointNumbers {
    double round = 0.0, own = 0.0;
    double scale = 0.0, spread = 0.0;  // the noise is scale * spread * normals
    double ridge = 0.0;
    double distance = 0.0, farthest = 0.0,
           last = 0.0;      // from the exact argmins: their sum, the largest, the last
    double modelled = 0.0;  // 1 + losses in the model's Hessian; 0 is no model
};

struct PointRun : PointNumbers {
    Words stream;
    double *x, *normals, *noise;  // the move; a draw, with room for one normal more; the noise, or room
};

/// The quadratic model of G: its Hessian H, on a ball in tridiagonal form; and room to work in.
struct PointModel {
    double *H, *diagonal, *beside, *mirrors;  // mirrors: (d + 2, d)
    double *g, *trial, *old, *work;           // work: 3 sweeps
    double *slope, *step, *ones, *factor;     // of the box; factor: (d, d)
    i64 *free, *fixed;

    HN_INLINE static constexpr i64 places(i64 d) { return 3 * d * d + 2 * d + 8 * d + 3 * sweep; }
    HN_INLINE void lay_out(i64 d, double* room, i64* marks) {
        const auto take = [&](double*& field, i64 count) {
            field = room;
            room += count;
        };
        take(work, 3 * sweep);
        take(H, d * d);
        take(diagonal, d);
        take(beside, d);
        take(mirrors, (d + 2) * d);
        take(g, d);
        take(trial, d);
        take(old, d);
        take(slope, d);
        take(step, d);
        take(ones, d);
        take(factor, d * d);
        free = marks;
        fixed = marks + d;
    }
};

/// A run at play.
struct AtPoint {
    const PointRules* rules;
    const Region* region;
    Sums* sums;
    PointRun* run;
    PointModel* model;
};

/// Rounds to play: rows of losses of one kind; own losses are noted after the rounds of `marks`, moves if there is room.
struct PointRounds {
    Phi phi;
    const double *rows, *targets;
    i64 count;
    const i64* marks;
    i64 noted;
    double *own, *moves;
    double* edge;  // room for a padded row
};

struct ConvexTable {
    Solved (*act)(const AtPoint&);
    Solved (*play)(const AtPoint&, const PointRounds&);
    void (*perturb)(const PointRules&, PointRun&, i64 d);
    double (*loss)(Phi, double parameter, const double* x, const double* z, double y, i64 d);
    void (*include)(Sums&, Phi, const double* z, double y);
    Solved (*minimise)(const Region&, const Sums&, double ridge, double tolerance, const double* noise,
                       double* x, PointNumbers&, PointModel&, double& left);
    bool (*gradient)(const Sums&, const double* center, double ridge, const double* noise, const double* x,
                     double* g, double* work);
    bool (*hessian)(const Sums&, double ridge, const double* x, double* H, double* work);
    double (*value)(const Sums&, const double* x);
    double (*draw)(NoiseKind, Words&, double* out, i64 d);
    void (*normals)(Words&, double* out, i64 count);
};

}  // namespace hn
HN_FAMILY(ConvexTable, convex)
