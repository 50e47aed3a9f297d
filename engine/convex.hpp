// Objective perturbation (Algorithm 1 of the paper): x_t = argmin_X G(x) + <b, x>, where G is the sum of the
// observed losses. This header has a set, the rules of a learner, the losses, the state of a run and the
// model of the solver, as named fields that do not depend on the instruction set. Vectors of a run have zeros
// up to the next multiple of four.
#pragma once

#include "dispatch.hpp"
#include "setup.hpp"

namespace hn {

enum class SetKind : int { ball, box, simplex, other };
enum class Phi : int { linear, squared, logistic, huber, hinge, own };
enum class NoiseKind : int { gamma, gaussian };
/// Status of the solver; `failed` means that a user-defined phi is not finite or has raised an exception.
enum class Solved : int { fine, stuck, failed };

HN_INLINE constexpr i64 padded(i64 d) { return in_fours(d) + 4; }

/// A convex set: a ball by center and radius, a box and a simplex by low and high (0 and infinite on the simplex).
struct Region {
    SetKind kind;
    i64 d;
    double radius;
    const double *center, *low, *high;
};

/// Rules of a learner: noise, the schedule scale = c sqrt(a + b t + d own), and its ridge.
struct PointRules {
    NoiseKind noise;
    bool fresh;
    double c, a, b, d;
    double ridge;  // of a privacy statement, constant; 0 if there is none
    double loss_ridge;  // ridge added by each curved loss
    double scale_ridge;  // ridge per unit of scale, after the first curved loss
    double accuracy;     // largest distance from the exact argmin

    /// The ridge: of a privacy statement, or the smallest one that guarantees the distance from the argmin.
    HN_INLINE double ridge_of(i64 curved, double scale) const {
        const double grown = curved > 0 ? loss_ridge * double(curved) + scale_ridge * scale : 0.0;
        return grown > ridge ? grown : ridge;
    }
};

/// Number of losses per block of rows; working memory of a block: margins, slopes and curvatures.
inline constexpr i64 sweep = 512;

/// The observed losses: G(x) = <q, x> + x'Qx/2 + sum_i phi(<z_i, x>). Z (d, room) has one column per loss
/// that is not in q and Q.
struct Sums {
    i64 d = 0, room = 0, rows = 0, squares = 0;
    Phi phi = Phi::linear;
    double parameter = 0.0;
    double *Z = nullptr, *y = nullptr, *q = nullptr;
    double* Q = nullptr;  // null until the first squared loss
    /// phi' of the margins work[0..m-1] to work[sweep..], and if `curved` phi'' to work[2 sweep..]; false if it failed.
    bool (*own)(void* whose, double* work, i64 m, bool curved) = nullptr;
    void* whose = nullptr;

    HN_INLINE i64 curved() const { return rows + squares; }
};

/// State of a run.
struct PointNumbers {
    double round = 0.0, own = 0.0;
    double scale = 0.0, spread = 0.0;  // the noise is scale * spread * normals
    double ridge = 0.0;
    double distance = 0.0, farthest = 0.0,
           last = 0.0;  // distances from the exact argmins: sum, largest, last
    double modelled = 0.0;  // 1 + number of losses in the model's Hessian; 0 if there is no model
};

struct PointRun : PointNumbers {
    Words stream;
    double *x, *normals, *noise;  // the move; a draw, with one additional normal; the noise, or memory
};

/// Quadratic model of G: its Hessian H, tridiagonal on a ball; and working memory.
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

/// A run in play.
struct AtPoint {
    const PointRules* rules;
    const Region* region;
    Sums* sums;
    PointRun* run;
    PointModel* model;
};

/// Rounds to play: rows of losses of one kind. The learner's loss is stored after the rounds of `marks`;
/// moves are stored if there is an array for them.
struct PointRounds {
    Phi phi;
    const double *rows, *targets;
    i64 count;
    const i64* marks;
    i64 noted;
    double *own, *moves;
    double* edge;  // memory for a padded row
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
