"""FTPL with exponential tails: with x = e^-w the play is an integral of a polynomial, Gauss's rule is exact.

Exponential: p_i = y_i int_0^1 prod_(j != i) (1 - y_j x) dx, y_j = e^-d_j. Laplace: the same with y_j/2 above
w = 0; below, each arm with z < 0 has F(z) = e^z/2 and r(z) = 1, so the integrand is smooth between the
breakpoints w = -d_j, and falls at least like e^(k w) below the k-th of them.
"""

from __future__ import annotations

import math

import numpy as np

from hannan.kernels.compile import kernel

#: Gauss-Legendre rules on [0, 1]: row m - 1 has m nodes, exact to degree 2m - 1; 24 nodes integrate e^-u on
#: [0, 40] to 1e-15.
MOST = 24
_X = np.zeros((MOST, MOST))
_W = np.zeros((MOST, MOST))
for _m in range(1, MOST + 1):
    _x, _w = np.polynomial.legendre.leggauss(_m)
    _X[_m - 1, :_m], _W[_m - 1, :_m] = 0.5 * (_x + 1.0), 0.5 * _w
PANEL = 12

#: Beyond e^-DEPTH of the whole, an integrand is negligible.
DEPTH = 39.0
LN2 = math.log(2.0)


@kernel
def upper_part(y, p, nodes, weights):
    """p_i = int_0^1 y_i prod_(j != i)(1 - y_j x) dx; return (nodes used, int_0^inf (1 - G(w)) dw).

    nodes receive w = -log x, weights A = G dw.
    """
    n = y.shape[0]
    total = 0.0
    for j in range(n):
        p[j] = 0.0
        total += y[j]
    top = min(1.0, DEPTH / total)
    # prod (1 - y_j x) <= exp(-total x): beyond `top` G is negligible and 1 - G is 1.
    mean = -math.log(top)
    count = min(MOST, (n + 1) // 2)
    for q in range(count):
        x, dx = top * _X[count - 1, q], top * _W[count - 1, q]
        product = 1.0
        shortfall = 0.0
        for j in range(n):
            # 1 - prod (1 - y_j x), by a recursion that does not cancel
            shortfall += product * y[j] * x
            product *= 1.0 - y[j] * x
        mean += dx * shortfall / x
        weight = dx * product
        for j in range(n):
            p[j] += weight * y[j] / (1.0 - y[j] * x)
        if nodes.shape[0] > 0:
            nodes[q] = -math.log(x)
            weights[q] = weight / x
    return count, mean


@kernel
def exponential(d, p, nodes, weights):
    """p for the Exponential law; return (nodes used, E max(Z - d), status)."""
    n = d.shape[0]
    y = np.empty(n)
    for j in range(n):
        y[j] = math.exp(-d[j])
    used, mean = upper_part(y, p, nodes, weights)
    return used, mean, 0.0


@kernel
def laplace(d, p, nodes, weights):
    """p for the Laplace law; return (nodes used, E max(Z - d), status)."""
    n = d.shape[0]
    half = np.empty(n)
    order = np.argsort(d)
    gap = np.empty(n)
    for j in range(n):
        gap[j] = d[order[j]]
        half[j] = 0.5 * math.exp(-gap[j])
    sums = np.zeros(n)
    used, mean = upper_part(half, sums, nodes, weights)
    s = 0.0
    k = 0
    behind = 0.0  # sum of the gaps of the arms below their breakpoint
    depth = 0.0  # -log G(-s) + (s where a far arm gains it)
    if n > 1 and gap[1] > DEPTH + math.log(n) + 1.0:
        # One leader, far ahead: down to `flat` every other F is 1 to the last digit.
        flat = gap[1] - DEPTH - math.log(n)
        piece = -0.5 * math.expm1(-flat)
        sums[0] += piece
        mean -= piece
        for j in range(1, n):
            sums[j] += 0.5 * half[j] * flat
        if nodes.shape[0] > 0:
            # In the Hessian the leader meets a far arm: e^-s e^s is constant, any rule is exact.
            for q in range(MOST):
                if used < nodes.shape[0]:
                    nodes[used] = -flat * _X[MOST - 1, q]
                    weights[used] = 0.5 * math.exp(-flat * _X[MOST - 1, q]) * flat * _W[MOST - 1, q]
                used += 1
        s = flat
    while k < n and gap[k] <= s:
        behind += gap[k]
        k += 1
    while depth < DEPTH + 5.0:
        # steepness of the integrand at s: R(s) = k + sum of the ratios of the arms above
        grow = math.exp(s)
        steep = float(k)
        for j in range(k, n):
            x = half[j] * grow
            steep += x / (1.0 - x)
        length = min(1.0, 5.0 / steep)
        end = s + length
        if k < n and gap[k] < end:
            end = gap[k]
            length = end - s
        if length > 0.0:
            for q in range(PANEL):
                at = s + length * _X[PANEL - 1, q]
                grow = math.exp(at)
                product = 1.0
                for j in range(k, n):
                    product *= 1.0 - half[j] * grow
                weight = length * _W[PANEL - 1, q] * product * math.exp(behind - k * (at + LN2))
                mean -= weight
                for j in range(k):
                    sums[j] += weight
                for j in range(k, n):
                    x = half[j] * grow
                    sums[j] += weight * x / (1.0 - x)
                if nodes.shape[0] > 0:
                    if used < nodes.shape[0]:
                        nodes[used] = -at
                        weights[used] = weight
                    used += 1
        s = end
        while k < n and gap[k] <= s:
            behind += gap[k]
            k += 1
        product = 1.0
        grow = math.exp(s)
        for j in range(k, n):
            product *= 1.0 - half[j] * grow
        # A far arm's term gains e^s; with one arm behind the product stays flat, so wait for the second.
        depth = k * (s + LN2) - behind - math.log(product) - s if product > 0.0 else math.inf
        if k == n and n == 1:
            depth += s
    for j in range(n):
        p[order[j]] = sums[j]
    return used, mean, 0.0
