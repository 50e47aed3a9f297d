"""Weights made of the regrets R_i = own - L_i and of what they summed up to: V_i = sum r_i^2 or C_i = sum |r_i|.

    Squint          w_i = int_0^(1/2) e^(eta R_i - eta^2 V_i) d eta
    AdaNormalHedge  w_i = (e^([R_i+1]_+^2 / (3(C_i+1))) - e^([R_i-1]_+^2 / (3(C_i+1)))) / 2
    ML-Poly         w_i = [R_i]_+ / (1 + V_i)

r_i = <p, l> - l_i is the regret of one round. The memory: steps taken in, L as last seen, V or C.
"""

from __future__ import annotations

import math

import numpy as np
from numba import carray

from hannan.kernels.compile import aside
from hannan.kernels.state import HEADER, MEMORY, OWN, PAID, SETTLED, TOTAL, VALUE

#: Gauss and Legendre on [0, 1/2].
_NODES, _MASSES = (tuple(0.25 * x) for x in np.polynomial.legendre.leggauss(12))
_ROOT_PI = math.sqrt(math.pi)


@aside
def take_in(state, n, squared):
    """Add the squares (or sizes) of the regrets of the step just settled; returns where the sums are."""
    first = np.int64(state[MEMORY])
    seen, sums = first + 1, first + 1 + n
    if state[first] < 0.0:
        state[first] = 0.0
    if state[SETTLED] != state[first]:
        state[first] = state[SETTLED]
        paid = state[PAID]
        for i in range(n):
            r = paid - (state[HEADER + i] - state[seen + i])
            state[seen + i] = state[HEADER + i]
            state[sums + i] += r * r if squared else abs(r)
    return sums


@aside
def from_logs(state, n):
    """w holds logarithms: make weights of them, the largest 1; all alike where no arm has any."""
    w = HEADER + n
    top = -np.inf
    for i in range(n):
        top = max(top, state[w + i])
    total = 0.0
    for i in range(n):
        x = math.exp(state[w + i] - top) if top > -np.inf else 1.0
        state[w + i] = x
        total += x
    state[TOTAL] = total
    return 0.0 if total > 0.0 else np.nan


@aside
def erfcx(x):
    """e^(x^2) erfc(x), x >= 0; beyond 25 its asymptotic series."""
    if x < 25.0:
        return math.exp(x * x) * math.erfc(x)
    y = 0.5 / (x * x)
    return (1.0 - y * (1.0 - 3.0 * y * (1.0 - 5.0 * y * (1.0 - 7.0 * y * (1.0 - 9.0 * y))))) / (x * _ROOT_PI)


@aside
def log_evidence(R, V):
    """log int_0^(1/2) e^(eta R - eta^2 V) d eta: completing the square, in log space.

    With a = R/(2 sqrt V), b = (R-V)/(2 sqrt V): sqrt(pi) e^(a^2) (erf a - erf b)/(2 sqrt V), a^2 - b^2 = R/2 - V/4.
    """
    if abs(R) <= 2.0 and V <= 1.0:
        # The difference of two close erfs would lose digits; the integrand is a polynomial to rounding.
        whole = 0.0
        for k in range(12):
            eta = 0.25 + _NODES[k]
            whole += _MASSES[k] * math.exp(eta * R - eta * eta * V)
        return math.log(whole)
    root = math.sqrt(V)
    a, b = R / (2.0 * root), (R - V) / (2.0 * root)
    lead = math.log(_ROOT_PI / (2.0 * root))
    apart = R / 2.0 - V / 4.0
    if b >= 0.0:
        return lead + apart + math.log(erfcx(b) - math.exp(-apart) * erfcx(a))
    if a <= 0.0:
        return lead + math.log(erfcx(-a) - math.exp(apart) * erfcx(-b))
    return lead + a * a + math.log(2.0 - math.erfc(a) - math.erfc(-b))


def squint(pointer, size, n, scale, changed):
    state = carray(pointer, (size,))
    sums = take_in(state, n, True)
    for i in range(n):
        state[HEADER + n + i] = log_evidence(state[OWN] - state[HEADER + i], state[sums + i])
    state[VALUE] = np.nan
    return from_logs(state, n)


def ada_normal_hedge(pointer, size, n, scale, changed):
    state = carray(pointer, (size,))
    sums = take_in(state, n, False)
    for i in range(n):
        R, C = state[OWN] - state[HEADER + i], 3.0 * (state[sums + i] + 1.0)
        high, low = max(R + 1.0, 0.0) ** 2 / C, max(R - 1.0, 0.0) ** 2 / C
        state[HEADER + n + i] = high + math.log(-math.expm1(low - high)) if high > low else -np.inf
    state[VALUE] = np.nan
    return from_logs(state, n)


def ml_poly(pointer, size, n, scale, changed):
    state = carray(pointer, (size,))
    sums = take_in(state, n, True)
    total = 0.0
    for i in range(n):
        x = max(state[OWN] - state[HEADER + i], 0.0) / (1.0 + state[sums + i])
        state[HEADER + n + i] = x
        total += x
    if not total > 0.0:
        total = 0.0
        for i in range(n):
            state[HEADER + n + i] = 1.0
            total += 1.0
    state[TOTAL] = total
    state[VALUE] = np.nan
    return 0.0
