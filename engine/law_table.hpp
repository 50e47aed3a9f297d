// A law of the user's own, as Python tabulated it: see hannan/mathematics/laws/tabulated.py and smoothings/table.hpp.
#pragma once

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

}  // namespace hn
