// A law of the user's own, as Python tabulated it: see hannan/mathematics/laws/tabulated.py and smoothings/table.hpp.
#pragma once

#include "dispatch.hpp"
#include "setup.hpp"
#include "types.hpp"

namespace hn {

/// log F and log(f/F) on an even grid of s: s = arsinh((z - centre)/spread), or log of it for a law on [centre, inf).
/// Cells are cubic pieces, (value, slope times step) of both at each point. Nodes are those of the integral over w.
struct LawTable {
    bool one_sided = false, has_mean = true;
    double centre = 0.0, spread = 1.0, first = 0.0, step = 1.0;
    i64 size = 0;                    // points
    const double* points = nullptr;  // (size, 4)
    i64 nodes = 0;                   // in fours
    const double *w = nullptr, *dw = nullptr;
};

// The potentials themselves, at one L: what hannan.mathematics.potentials asks for.

struct Potentials {
    /// p for FTPL; the mean of the leader (E max_j (Z_j - d_j)); false if the quadrature did not converge.
    bool (*leaders)(Smoothing, const double* parameter, const double* L, i64 n, double scale, double* p,
                    double* mean);
    /// Nodes and masses of the rule that serves the Hessian: how many, or -1; p is room for n numbers.
    i64 (*nodes)(Smoothing, const double* parameter, const double* L, i64 n, double scale, double* p,
                 double* w, double* mass, i64 room);
    bool (*ratios)(Smoothing, const double* parameter, const double* gaps, i64 n, const double* nodes,
                   i64 count, double* out);
    /// p of a tabulated law, unnormalised, their sum, and the mean of the leader; false if it failed.
    bool (*by_table)(const LawTable&, const double* L, i64 n, double scale, double* p, double* total,
                     double* mean);
    /// The grid of a heavy-tailed law: how many places it has (0: there is none), and its numbers.
    i64 (*grid_places)(const Setup&);
    void (*make_grid)(const Setup&, double* grid);
    /// p for FTRL, unnormalised, with its sum; false if it failed. alpha = 0 is the log-barrier.
    bool (*powers)(const double* L, i64 n, double scale, double alpha, double* w, double* total);
    double (*powers_value)(const double* L, const double* p, i64 n, double scale, double alpha);
};

// The engine's own functions of one number, as tests see them.

enum class Function : int { exp, exp_soon, exp_small, expm1, log, log1p, erfc, erfcx };

struct Mathematics {
    void (*each)(Function which, const double* x, double* out, i64 count, bool by_fours);
    void (*pow_each)(const double* x, double a, double* out, i64 count);
    void (*uniforms)(u64* words, double* out, i64 count);
    double (*log_evidence)(double R, double V);   // of Squint
    double (*least_mean)(double m, double room);  // of KL-UCB
};

}  // namespace hn
HN_FAMILY(Potentials, potentials)
HN_FAMILY(Mathematics, mathematics)
