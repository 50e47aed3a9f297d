// The potentials themselves, at one L: what hannan.mathematics.potentials asks for.
#pragma once

#include "dispatch.hpp"
#include "setup.hpp"

namespace hn {

struct Potentials {
    /// p for FTPL; the mean of the leader (E max_j (Z_j - d_j)); false if the quadrature did not converge.
    bool (*leaders)(Smoothing, const double* parameter, const double* L, i64 n, double scale, double* p, double* mean);
    /// Nodes and masses of the rule that serves the Hessian: how many, or -1; p is room for n numbers.
    i64 (*nodes)(Smoothing, const double* parameter, const double* L, i64 n, double scale, double* p, double* w,
                 double* mass, i64 room);
    bool (*ratios)(Smoothing, const double* parameter, const double* gaps, i64 n, const double* nodes, i64 count,
                   double* out);
    /// p of a tabulated law, unnormalised, their sum, and the mean of the leader; false if it failed.
    bool (*by_table)(const LawTable&, const double* L, i64 n, double scale, double* p, double* total, double* mean);
    /// The grid of a heavy-tailed law: how many places it has (0: there is none), and its numbers.
    i64 (*grid_places)(const Setup&);
    void (*make_grid)(const Setup&, double* grid);
    /// p for FTRL, unnormalised, with its sum; false if it failed. alpha = 0 is the log-barrier.
    bool (*powers)(const double* L, i64 n, double scale, double alpha, double* w, double* total);
    double (*powers_value)(const double* L, const double* p, i64 n, double scale, double alpha);
};

}  // namespace hn
HN_FAMILY(Potentials, potentials)
