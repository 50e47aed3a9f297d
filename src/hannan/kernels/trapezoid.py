"""The trapezoidal rule of FTPL for Gamma, Weibull, Frechet, Pareto and Gaussian perturbations.

After the change of variable of kernels/integrands the error of the trapezoidal rule is squared each time its step is
halved, so the difference of two steps certifies the finer one.
"""

from __future__ import annotations

import math

import numpy as np

from hannan.kernels.compile import kernel
from hannan.kernels.integrands import FRECHET, GAMMA, GAUSSIAN, WEIBULL, place, product_and_ratios, total_of

#: Relative change under halving that ends the refinement. The error of the finer rule is its square as long as
#: no singularity is near; CLOSE is for the cases where one may be: see `agreement`.
AGREE, CLOSE = 1e-6, 1e-11
#: A term is negligible below this part of its arm's sum.
NEGLIGIBLE = 1e-17

#: Below w = e^deep the integrand is a pure power of w; deep is chosen so that G(w) w is still e^DEEP.
DEEP = -640.0


@kernel
def first_step(code, a, n):
    """A step that is fine enough for n tied arms; the refinement checks it."""
    spread = math.log(n) + 1.0
    if code == GAUSSIAN:
        return 0.45 / math.sqrt(spread)
    if code == FRECHET:
        return 0.35 / math.sqrt(spread)
    if code == GAMMA and a > 1.0:
        return 0.36 / max(2.6, spread + math.sqrt(a))
    return 0.36 / max(2.6, spread)


@kernel
def centre(code, a, conditioned, n):
    """A t at which G is not small: the upper 1/n quantile of the law, or beyond."""
    spread = math.log(n) + 1.0
    if code == GAUSSIAN:
        return 0.0
    if code == FRECHET:
        return math.log(max(spread, 1.0))
    if code == GAMMA:
        return math.log(a + math.sqrt(2.0 * a * spread) + 2.0 * spread)
    return math.log(spread)


@kernel
def agreement(code, a, second):
    """The change under halving that ends the refinement: a power z^a, a < 1, beside a small gap is nearly singular."""
    return CLOSE if second or (a < 1.0 and code != GAUSSIAN) else AGREE


@kernel
def order_at_zero(code, a, conditioned, d, second):
    """(c, deep, infinite): below w = e^deep the sums' integrand is w^c d(log w); deep is -inf if it never matters.

    With m arms tied at the lead c is m a for the play and m a - 1 for the Hessian; where that is not positive, its
    rows of tied arms are infinite, and the other rows have m a.
    """
    if (code == WEIBULL and conditioned == 0.0) or code == GAMMA:
        tied = 0
        for i in range(d.shape[0]):
            tied += 1 if d[i] == 0.0 else 0
        deep = DEEP / (1.0 + tied * a)
        if second and tied > 1 and tied * a > 1.0:
            return tied * a - 1.0, deep, False
        return tied * a, deep, second and tied > 1
    return math.inf, -math.inf, False


@kernel
def shrunk(u):
    """(1 - e^-u)/u."""
    return -math.expm1(-u) / u if u > 1e-8 else 1.0


@kernel
def _pair_up(r):
    """r_i -> r_i sum_(j != i) r_j, by sums from both ends: subtracting r_i from the whole would cancel."""
    n = r.shape[0]
    if n == 1:
        return
    others = np.empty(n)
    running = 0.0
    for i in range(n):
        others[i] = running
        running += r[i]
    running = 0.0
    for i in range(n - 1, -1, -1):
        others[i] += running
        running += r[i]
    for i in range(n):
        r[i] *= others[i]


@kernel
def visit(code, a, conditioned, constant, order, deep, t, d, second, r, scratch, sums, odd, is_odd):
    """Add the node w(t) to the sums of all arms; return (w, weight, part of the mean, arms it mattered for)."""
    n = d.shape[0]
    w, dw = place(code, a, conditioned, t)
    if deep > -math.inf:
        # G(w) w would underflow before w^order is negligible: below e^deep the node is e^deep, and w^order a factor.
        e = math.exp(-t)
        root = a if code == WEIBULL else 1.0
        log_w = (t - e) / root
        if log_w < deep:
            w = math.exp(deep)
            dw = w * (1.0 + e) / root * math.exp(order * (log_w - deep))
            if code == WEIBULL and a < 0.05 and not second:
                # At so small a power w^a is not yet small: F = 1 - e^-u, u = w^a, is no pure power.
                u, v = math.exp(a * log_w), math.exp(a * deep)
                dw *= math.exp(v - u) * (shrunk(u) / shrunk(v)) ** (order / a - 1.0)
    if not (dw > 0.0 and w < 1e300):
        return w, 0.0, 0.0, 0
    weight = product_and_ratios(code, a, conditioned, constant, w, d, r, scratch) * dw
    if not weight > 0.0:
        return w, 0.0, 0.0, 0
    mean = weight * w * total_of(r)
    if second:
        _pair_up(r)
    mattered = 0
    for i in range(n):
        sums[i] += weight * r[i]
    for i in range(n):
        mattered += 1 if weight * r[i] > NEGLIGIBLE * sums[i] else 0
    if is_odd:
        for i in range(n):
            odd[i] += weight * r[i]
    return w, weight, mean, mattered


@kernel
def quadrature(code, a, conditioned, d, second, p, nodes, weights):
    """Fill p (unnormalised) for gaps d >= 0, one of them 0; return (number of nodes, E max(Z - d), status).

    second: refine until the row sums of the Hessian agree too. nodes and weights, when not empty, receive
    w_q and A_q = G(w_q) dw_q; a number of nodes beyond their length means that they did not fit.
    """
    n = d.shape[0]
    constant = math.lgamma(a) if code == GAMMA else 0.0
    r = np.empty(n)
    scratch = np.empty(n)
    sums = np.zeros(n)
    odd = np.zeros(n)
    h = first_step(code, a, n)
    middle = centre(code, a, conditioned, n)
    order, deep, infinite = order_at_zero(code, a, conditioned, d, second)
    enough = agreement(code, a, second)
    first = 0
    last = 0
    mean = 0.0
    used = 0
    if code == GAUSSIAN:
        # phi(w + g) Phi(w) peaks at -g/2; the leaders' mass ends before 11.
        gap = 0.0
        for i in range(n):
            gap = max(gap, d[i])
        first = math.floor((-0.5 * gap - 9.5) / h)
        last = math.ceil(11.0 / h)
    for direction in range(2):
        # Up, then down, until a node matters for no arm; the line of the Gaussian has fixed ends.
        index = (first if code == GAUSSIAN else 0) if direction == 0 else -1
        while True:
            if code == GAUSSIAN and (direction == 1 or index > last):
                break
            t = middle + h * index
            w, weight, part, mattered = visit(
                code, a, conditioned, constant, order, deep, t, d, second, r, scratch, sums, odd, index % 2 != 0
            )
            if weight > 0.0:
                mean += part
                if used < nodes.shape[0]:
                    nodes[used] = w
                    weights[used] = weight
                used += 1
            if code != GAUSSIAN:
                # The node that no longer matters is kept as the end: a peak may lie between it and the last that did.
                first = min(first, index)
                last = max(last, index)
                # w times a density is over later than the density: E max of a Weibull law needs its own reach.
                if mattered == 0 and not (code in (GAMMA, WEIBULL) and part > NEGLIGIBLE * mean):
                    break
            if abs(index) > 200000:
                return used, 0.0, math.nan
            index += 1 if direction == 0 else -1
    for _ in range(14):
        worst = 0.0
        for i in range(n):
            # Infinite rows of the Hessian have no sum to agree on.
            if sums[i] * h > 1e-290 and not (infinite and d[i] == 0.0):
                worst = max(worst, abs(sums[i] - 2.0 * odd[i]) / sums[i])
        if worst < enough:
            for i in range(n):
                p[i] = h * sums[i]
            for q in range(min(used, nodes.shape[0])):
                weights[q] *= h
            return used, h * mean, 0.0
        # Halve: all nodes so far become the even ones, the midpoints the odd ones.
        odd[:] = 0.0
        for index in range(first, last):
            t = middle + h * (index + 0.5)
            w, weight, part, mattered = visit(
                code, a, conditioned, constant, order, deep, t, d, second, r, scratch, sums, odd, True
            )
            if weight > 0.0:
                mean += part
                if used < nodes.shape[0]:
                    nodes[used] = w
                    weights[used] = weight
                used += 1
        h *= 0.5
        first *= 2
        last *= 2
    return used, 0.0, math.nan
