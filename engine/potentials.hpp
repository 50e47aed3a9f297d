// User-defined law, tabulated in Python: see hannan/mathematics/laws/tabulated.py and smoothings/table.hpp.
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

// Potentials at one L, for hannan.mathematics.potentials.

struct Potentials {
    /// p for FTPL, and E max_j (Z_j - d_j); returns false if the quadrature did not converge.
    bool (*leaders)(Smoothing, const double* parameter, const double* L, i64 n, double scale, double* p,
                    double* mean);
    /// Nodes and masses of the quadrature rule of the Hessian; returns their number, or -1. p has space for n
    /// numbers.
    i64 (*nodes)(Smoothing, const double* parameter, const double* L, i64 n, double scale, double* p,
                 double* w, double* mass, i64 room);
    bool (*ratios)(Smoothing, const double* parameter, const double* gaps, i64 n, const double* nodes,
                   i64 count, double* out);
    /// p of a tabulated law, unnormalized, its sum, and E max_j (Z_j - d_j); returns false if it failed.
    bool (*by_table)(const LawTable&, const double* L, i64 n, double scale, double* p, double* total,
                     double* mean);
    /// Grid of a heavy-tailed law: returns the number of its entries (0 if there is no grid), and writes
    /// them.
    i64 (*grid_places)(const Setup&);
    void (*make_grid)(const Setup&, double* grid);
    /// p for FTRL, unnormalized, with its sum; returns false if it failed. alpha = 0 is the log-barrier.
    bool (*powers)(const double* L, i64 n, double scale, double alpha, double* w, double* total);
    double (*powers_value)(const double* L, const double* p, i64 n, double scale, double alpha);
};

// Functions of one number, for tests.

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
