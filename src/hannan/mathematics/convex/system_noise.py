"""Noise from the operating system's generator, for moves that are to be private.

The stream of a game is fast and no cipher: who sees enough of it, or its seed, knows the noise. Here every bit
is of `os.urandom`. Draws have the resolution of doubles everywhere, near 0 as well: a uniform is a 53-bit
mantissa with a geometric exponent, not a multiple of 2^-53.

    exponential     -log U, or -log(1 - U), U uniform in (0, 1/2): a fair coin says which
    two normals     sqrt(2 E) (cos W, sin W), W uniform in an octant, then turned by three coins
    Gamma noise     density exp(-||b||): d normals times the norm of d + 1 others, as 2 Gamma((d+1)/2) is chi-squared

They are rounded real draws: a statement of privacy about them is one for real-valued noise (docs/proofs/convex.md).
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from hannan.mathematics.convex.noise import GammaNoise
from hannan.refusals import Array


def standard(kernel: str, d: int) -> Array:
    """A standard draw in d dimensions of the noise with this `kernel`.

    >>> standard(GammaNoise.kernel, 3).shape
    (3,)
    """
    if kernel == GammaNoise.kernel:
        drawn = normals(2 * d + 1)
        return np.asarray(drawn[:d] * np.linalg.norm(drawn[d:]))
    return normals(d)


def normals(n: int) -> Array:
    """n standard normals."""
    pairs = (n + 1) // 2
    radius = np.sqrt(2.0 * exponentials(pairs))
    angle = 0.25 * np.pi * uniforms(pairs)
    coins = _words(pairs)
    across, along = np.cos(angle), np.sin(angle)
    turned = (coins & np.uint64(1)).astype(bool)
    x, y = np.where(turned, along, across), np.where(turned, across, along)
    signs = [np.where((coins >> np.uint64(k)) & np.uint64(1), 1.0, -1.0) for k in (1, 2)]
    return np.concatenate([radius * x * signs[0], radius * y * signs[1]])[:n]


def exponentials(n: int) -> Array:
    """n standard exponentials, with full resolution at both ends."""
    half = 0.5 * uniforms(n)
    coins = (_words(n) & np.uint64(1)).astype(bool)
    return np.where(coins, -np.log(half), -np.log1p(-half))


def uniforms(n: int) -> Array:
    """n uniforms in (0, 1): 53 significant bits wherever they fall."""
    mantissa = 1.0 + (_words(n) >> np.uint64(12)).astype(np.float64) * 2.0**-52
    exponent = np.ones(n, dtype=np.int64)
    left = np.arange(n)
    while left.size:
        # The zeros that 52 bits begin with are geometric; zeros alone ask for 52 more.
        bits = (_words(left.size) >> np.uint64(12)).astype(np.float64)
        exponent[left] += 52 - np.frexp(bits)[1]
        left = left[bits == 0.0]
    return np.asarray(np.ldexp(mantissa, -exponent))


def _words(n: int) -> Any:
    return np.frombuffer(os.urandom(8 * n), dtype=np.uint64)
