// Draws of the noise vector b, from the run's own stream.
//
// Normals by a ziggurat of 256 layers of equal area (Marsaglia and Tsang): 8 bits of a word choose the layer, 53 other
// bits the place in it. Gamma noise, density exp(-||b||) in d dimensions, is normals times sqrt(2 V), V ~ Gamma((d+1)/2).
#pragma once

#include "../convex.hpp"
#include "../log.hpp"
#include "../random.hpp"
#include "ziggurat.hpp"

namespace hn::HN_ISA {

struct Normal {
    bool accepted;
    double value;
};

/// Rare cases of the ziggurat: the tail, or the wedge next to a layer.
template <class Source> HN_COLD Normal rare_normal(Source& s, u64 layer, double u) {
    const double* edges = ziggurat::edges;
    if (layer == 0) {
        for (;;) {
            const double x = -log(1.0 - uniform(s)) / ziggurat::tail;
            if (-2.0 * log(1.0 - uniform(s)) >= x * x)
                return {true, u > 0.0 ? ziggurat::tail + x : -ziggurat::tail - x};
        }
    }
    const double x = u * edges[layer];
    const double above = exp(-0.5 * (edges[layer] * edges[layer] - x * x));
    const double below = exp(-0.5 * (edges[layer + 1] * edges[layer + 1] - x * x));
    return {above + uniform(s) * (below - above) < 1.0, x};
}

/// `count` normals.
template <class Source> HN_INLINE void fill_normals(Source& stream, double* out, i64 count) {
    Source s = stream;
    for (i64 j = 0; j < count;) {
        const u64 word = next_word(s), layer = word & 255;
        const i64 place = i64(word) >> 11;
        out[j] = double(place) * ziggurat::widths[layer];
        if (__builtin_expect((place < 0 ? -place : place) < ziggurat::certain[layer], 1)) {
            ++j;
            continue;
        }
        stream = s;
        const Normal found = rare_normal(stream, layer, double(place) * 0x1p-52);
        s = stream;
        out[j] = found.value;
        j += found.accepted;
    }
    stream = s;
}

/// Exact test of the cubed normal, needed in one of fifty draws.
HN_COLD bool cubed_accepted(double x, double v, double u, double base) {
    return log(u) < 0.5 * x * x + base * (1.0 - v + log(v));
}

/// Write normals to out[0..d-1] and 0 to out[d]; returns the factor that makes them a standard draw of the
/// noise. Gamma((d+1)/2) by Marsaglia and Tsang's cubed normal.
HN_INLINE double draw_noise(NoiseKind kind, Words& s, double* out, i64 d) {
    if (kind != NoiseKind::gamma) {
        fill_normals(s, out, d);
        out[d] = 0.0;
        return 1.0;
    }
    fill_normals(s, out, d + 1);
    const double base = 0.5 * double(d + 1) - 1.0 / 3.0, slope = 1.0 / sqrt(9.0 * base);
    double v;
    for (;;) {
        const double x = out[d];
        v = 1.0 + slope * x;
        v = v * v * v;
        const double u = 1.0 - uniform(s);
        if (v > 0.0 && (u < 1.0 - 0.0331 * x * x * x * x || cubed_accepted(x, v, u, base))) break;
        fill_normals(s, out + d, 1);
    }
    out[d] = 0.0;
    return sqrt(2.0 * base * v);
}

}  // namespace hn::HN_ISA
