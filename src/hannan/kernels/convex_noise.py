"""Draws of the noise vector b, from the run's own stream.

Normals by a ziggurat of 256 layers of equal area (Marsaglia and Tsang): 8 bits of a word choose the layer, 53
other bits the place in it. Gamma noise, density exp(-||b||) in d dimensions, is normals times sqrt(2V),
V ~ Gamma((d+1)/2).
"""

from __future__ import annotations

import math

import numpy as np

from hannan.kernels.calling import alive, at, data_of
from hannan.kernels.compile import aside, kernel, step
from hannan.kernels.exponential import bits_of, float_of
from hannan.kernels.streams import next_word, uniform

_255 = np.uint64(255)

LAYERS = 256
_EDGE = 3.6541528853610088  # where the tail begins
_AREA = 0.00492867323399141  # of one layer
_UNIT = 2.0**-52


def _layers():
    """Right edges of the layers, widest first; edge 0 makes the bottom layer's rectangle of the same area."""
    edge = np.zeros(LAYERS + 1)
    edge[0], edge[1] = _AREA * math.exp(0.5 * _EDGE**2), _EDGE
    for i in range(2, LAYERS):
        edge[i] = math.sqrt(-2.0 * math.log(_AREA / edge[i - 1] + math.exp(-0.5 * edge[i - 1] ** 2)))
    return edge


EDGES = _layers()
WIDTHS = EDGES[:-1] * _UNIT
#: Below this, a 53-bit signed integer times the layer's width is under the curve for certain.
CERTAIN = (EDGES[1:] / EDGES[:-1] * 2.0**52).astype(np.int64)

GAMMA, GAUSSIAN = 0, 1


@aside
def _rare(s, layer, u):
    """The rest of the ziggurat: the tail, or the wedge beside a layer; (accepted, draw)."""
    if layer == 0:
        while True:
            x = -math.log(1.0 - uniform(s, 0)) / _EDGE
            if -2.0 * math.log(1.0 - uniform(s, 0)) >= x * x:
                return True, (_EDGE + x if u > 0.0 else -_EDGE - x)
    x = u * EDGES[layer]
    above = math.exp(-0.5 * (EDGES[layer] ** 2 - x * x))
    below = math.exp(-0.5 * (EDGES[layer + 1] ** 2 - x * x))
    return above + uniform(s, 0) * (below - above) < 1.0, x


@step
def fill(s, out, d):
    """d normals into `out`, from the stream whose words are at s[0..3]; both are addresses."""
    s0, s1, s2, s3 = bits_of(s[0]), bits_of(s[1]), bits_of(s[2]), bits_of(s[3])
    j = 0
    while j < d:
        word, s0, s1, s2, s3 = next_word(s0, s1, s2, s3)
        layer, place = np.int64(word & _255), np.int64(word) >> 11
        out[j] = place * WIDTHS[layer]
        if abs(place) < CERTAIN[layer]:
            j += 1
            continue
        s[0], s[1], s[2], s[3] = float_of(s0), float_of(s1), float_of(s2), float_of(s3)
        accepted, out[j] = _rare(s, layer, place * _UNIT)
        j += accepted
        s0, s1, s2, s3 = bits_of(s[0]), bits_of(s[1]), bits_of(s[2]), bits_of(s[3])
    s[0], s[1], s[2], s[3] = float_of(s0), float_of(s1), float_of(s2), float_of(s3)


@aside
def _accepted(x, v, u, base):
    """The exact test of the cubed normal, which one draw in fifty needs."""
    return math.log(u) < 0.5 * x * x + base * (1.0 - v + math.log(v))


@step
def draw(code, s, out, d):
    """Normals into out[0..d-1] (out[d] is room): what to multiply them by for a standard draw of the noise.

    Gamma((d+1)/2) by Marsaglia and Tsang's cubed normal.
    """
    if code != GAMMA:
        fill(s, out, d)
        return 1.0
    fill(s, out, d + 1)
    base = 0.5 * (d + 1) - 1.0 / 3.0
    slope = 1.0 / math.sqrt(9.0 * base)
    while True:
        x = out[d]
        v = 1.0 + slope * x
        v = v * v * v
        u = 1.0 - uniform(s, 0)
        if v > 0.0 and (u < 1.0 - 0.0331 * x * x * x * x or _accepted(x, v, u, base)):
            return math.sqrt(2.0 * base * v)
        fill(s, at(out, d), 1)


@kernel
def normals(s, out):
    """Fill `out` with normals: what the tests measure."""
    fill(data_of(s), data_of(out), out.size)


@kernel
def draws(code, s, out):
    """Fill the rows of `out` with standard draws of the noise: what the tests measure."""
    row = np.empty(out.shape[1] + 1)
    for i in range(out.shape[0]):
        spread = draw(code, data_of(s), data_of(row), out.shape[1])
        out[i] = spread * row[:-1]
    alive(row)
