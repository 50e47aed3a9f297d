"""The integrand of FTPL for Gamma, Weibull, Frechet, Pareto and Gaussian perturbations, in a variable made for it.

G(w) = prod_j F(w + d_j) and r(w + d_i), r = f/F: see kernels/perturbed for the integral. The change of variable w(t)
is double exponential, so that the integrand in t is smooth and falls fast at both ends.
"""

from __future__ import annotations

import math

from hannan.kernels.compile import kernel
from hannan.kernels.gammas import gamma_cdf_and_ratio

GAMMA, WEIBULL, FRECHET, PARETO, GAUSSIAN = 11, 12, 13, 14, 16

#: An arm whose probability is surely below e^-FAR is given probability zero.
FAR = 707.0

_SQRT_HALF = math.sqrt(0.5)
_DENSITY_0 = 1.0 / math.sqrt(2.0 * math.pi)


@kernel
def reach(code, a, conditioned):
    """The gap d beyond which an arm's probability is surely below e^-FAR, P(Z > d) or, Gaussian, its square root."""
    if code == GAMMA:
        # S(d) <= e^(-d/2) 2^a for every d.
        return 2.0 * (FAR + a) if a > 1.0 else FAR
    if code == WEIBULL:
        if conditioned > 0.0:
            return (1.0 + FAR) ** (1.0 / a) - 1.0
        return FAR ** (1.0 / a)
    if code == GAUSSIAN:
        return 2.0 * math.sqrt(FAR)
    return math.inf


@kernel
def place(code, a, conditioned, t):
    """The node w(t) and dw/dt; w is measured from the lower end of the leader's support."""
    if code == GAUSSIAN:
        return t, 1.0
    if code == FRECHET:
        e = math.exp(t)
        w = math.exp((t + e) / a)
        return w, w * (1.0 + e) / a
    e = math.exp(-t)
    u = math.exp(t - e)
    du = u * (1.0 + e)
    if code == PARETO:
        return math.expm1(u / a), math.exp(u / a) / a * du
    if code == WEIBULL:
        if conditioned > 0.0:
            w = math.expm1(math.log1p(u) / a)
            return w, (1.0 + w) / (a * (1.0 + u)) * du
        w = math.exp((t - e) / a)
        return w, w / a * (1.0 + e)
    return u, du


@kernel
def total_of(values):
    """Their sum by four running sums, which the processor can add at once."""
    n = values.shape[0]
    a = b = c = d = 0.0
    for i in range(0, n - 3, 4):
        a += values[i]
        b += values[i + 1]
        c += values[i + 2]
        d += values[i + 3]
    for i in range(n - n % 4, n):
        a += values[i]
    return (a + b) + (c + d)


@kernel
def product_of(values):
    """Their product by four running products."""
    n = values.shape[0]
    a = b = c = d = 1.0
    for i in range(0, n - 3, 4):
        a *= values[i]
        b *= values[i + 1]
        c *= values[i + 2]
        d *= values[i + 3]
    for i in range(n - n % 4, n):
        a *= values[i]
    return (a * b) * (c * d)


@kernel
def product_and_ratios(code, a, conditioned, constant, w, d, r, scratch):
    """G(w), with r[i] = r(w + d_i) written for every arm. Plain loops apart, so that they vectorise."""
    n = d.shape[0]
    if code == FRECHET:
        if a == 2.0:
            for i in range(n):
                inverse = 1.0 / (w + d[i])
                scratch[i] = inverse * inverse
                r[i] = 2.0 * inverse * inverse * inverse
        else:
            for i in range(n):
                z = w + d[i]
                scratch[i] = z**-a
                r[i] = a * scratch[i] / z
        return math.exp(-total_of(scratch))
    if code == PARETO:
        if a == 2.0 and w >= 0.01:
            for i in range(n):
                z = 1.0 + w + d[i]
                square = z * z
                # F = 1 - 1/z^2, r = 2/(z^3 F) = 2/(z (z^2 - 1))
                scratch[i] = 1.0 - 1.0 / square
                r[i] = 2.0 / (z * (square - 1.0))
        else:
            for i in range(n):
                y = w + d[i]
                if y < 0.01:
                    # 1 - (1 + y)^-a would cancel
                    scratch[i] = -math.expm1(-a * math.log1p(y))
                    tail = 1.0 - scratch[i]
                else:
                    tail = (1.0 + y) ** -a
                    scratch[i] = 1.0 - tail
                r[i] = a * tail / ((1.0 + y) * scratch[i])
    elif code == WEIBULL:
        for i in range(n):
            z = w + d[i]
            if conditioned > 0.0:
                u = math.expm1(a * math.log1p(z))
                slope = a * (1.0 + u) / (1.0 + z)
            else:
                u = z**a
                slope = a * u / z
            grown = math.expm1(u)
            scratch[i] = grown / (grown + 1.0) if u < 700.0 else 1.0
            r[i] = slope / grown
    elif code == GAMMA:
        for i in range(n):
            scratch[i], r[i] = gamma_cdf_and_ratio(a, w + d[i], constant)
    else:
        for i in range(n):
            z = w + d[i]
            scratch[i] = 0.5 * math.erfc(-z * _SQRT_HALF)
            r[i] = _DENSITY_0 * math.exp(-0.5 * z * z) / scratch[i]
    return product_of(scratch)
