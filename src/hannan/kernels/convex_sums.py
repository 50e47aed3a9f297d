"""The sum of the losses seen, G(x) = <q, x> + x'Qx/2 + sum_i phi(<z_i, x>) + (ridge/2)||x - center||^2.

Linear losses are in q, squared ones in q and Q; of the others the data are kept, a column of Z a loss, so
that the sums over losses are vectorised although floating point is strict.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from hannan.kernels.calling import at, call_smoothing, data_of
from hannan.kernels.compile import kernel, step
from hannan.kernels.exponential import exp

LINEAR, SQUARED, LOGISTIC, HUBER, HINGE, OWN = 0, 1, 2, 3, 4, 5
#: Losses of one sweep; `work` holds their margins, slopes and curvatures.
BLOCK = 512


class Losses(NamedTuple):
    """What was seen; of Z (d, room) and y (room,) the first `count[0]` columns. Q is empty while unused."""

    family: int
    parameter: float
    address: int  # of the user's own phi
    Z: Any
    y: Any
    q: Any
    Q: Any
    count: Any  # [curved losses in Z, squared losses in Q]


@step
def phi(family, parameter, u, y):
    """phi(u) of one built-in loss; the labels of LOGISTIC and HINGE are folded into z."""
    if family == LINEAR:
        return u
    if family == SQUARED:
        return 0.5 * (u - y) * (u - y)
    if family == LOGISTIC:
        return math.log1p(exp(-u)) if u > 0.0 else math.log1p(exp(u)) - u
    if family == HUBER:
        e = abs(u - y)
        return 0.5 * e * e if e <= parameter else parameter * (e - 0.5 * parameter)
    short = max(1.0 - u, 0.0)
    inner = min(short, parameter)
    return 0.5 * inner * inner / parameter + (short - inner)


@step
def _slopes(losses, work, start, m, curved):
    """phi' at the margins work[0..m-1] into work[BLOCK..], phi'' into work[2 BLOCK..]; NaN if phi failed."""
    family, parameter = losses.family, losses.parameter
    u, y = data_of(work), at(data_of(losses.y), start)
    slope, bent = at(u, BLOCK), at(u, 2 * BLOCK)
    if family == LOGISTIC:
        for k in range(m):
            tail = exp(-abs(u[k]))
            small = tail / (1.0 + tail)
            slope[k] = -small if u[k] > 0.0 else small - 1.0
            bent[k] = small / (1.0 + tail)
    elif family == HUBER:
        for k in range(m):
            e = u[k] - y[k]
            slope[k] = min(max(e, -parameter), parameter)
            bent[k] = 1.0 if abs(e) <= parameter else 0.0
    elif family == HINGE:
        for k in range(m):
            short = (1.0 - u[k]) / parameter
            slope[k] = -min(max(short, 0.0), 1.0)
            bent[k] = 1.0 / parameter if 0.0 <= short <= 1.0 else 0.0
    else:
        return call_smoothing(losses.address, u, work.size, m, 0.0, curved)
    return 0.0


@step
def _column(losses, j, start):
    """The address of coordinate j of losses start, start + 1, ...: indexing it needs no checks, so it vectorises."""
    return at(data_of(losses.Z), j * losses.Z.shape[1] + start)


@step
def _margins(losses, x, u, start, m):
    """<z_i, x> of losses start..start+m-1 to the address u; four coordinates at a time."""
    d = x.size
    for k in range(m):
        u[k] = 0.0
    for j in range(0, d - d % 4, 4):
        a, b = _column(losses, j, start), _column(losses, j + 1, start)
        c, e = _column(losses, j + 2, start), _column(losses, j + 3, start)
        x0, x1, x2, x3 = x[j], x[j + 1], x[j + 2], x[j + 3]
        for k in range(m):
            u[k] += (a[k] * x0 + b[k] * x1) + (c[k] * x2 + e[k] * x3)
    for j in range(d - d % 4, d):
        a, x0 = _column(losses, j, start), x[j]
        for k in range(m):
            u[k] += a[k] * x0


@step
def _inner(a, b, m):
    """sum_k a[k] b[k] of two addresses, in eight partial sums, which vectorise."""
    a0 = a1 = a2 = a3 = a4 = a5 = a6 = a7 = 0.0
    full = m - m % 8
    for k in range(0, full, 8):
        a0 += a[k] * b[k]
        a1 += a[k + 1] * b[k + 1]
        a2 += a[k + 2] * b[k + 2]
        a3 += a[k + 3] * b[k + 3]
        a4 += a[k + 4] * b[k + 4]
        a5 += a[k + 5] * b[k + 5]
        a6 += a[k + 6] * b[k + 6]
        a7 += a[k + 7] * b[k + 7]
    total = ((a0 + a1) + (a2 + a3)) + ((a4 + a5) + (a6 + a7))
    for k in range(full, m):
        total += a[k] * b[k]
    return total


@kernel
def value(losses, x):
    """G(x) without ridge, without a user's own losses, and without the y^2/2 of the squared ones."""
    q, Q, total = losses.q, losses.Q, 0.0
    for j in range(x.size):
        total += q[j] * x[j]
        for k in range(Q.shape[0]):
            total += 0.5 * x[j] * Q[j, k] * x[k]
    for i in range(losses.count[0] if losses.family != OWN else 0):
        u = 0.0
        for j in range(x.size):
            u += losses.Z[j, i] * x[j]
        total += phi(losses.family, losses.parameter, u, losses.y[i])
    return total


@kernel
def gradient(losses, center, ridge, noise, x, g, work):
    """g = grad G(x) + noise; False if a user's own phi failed."""
    q, Q, n = losses.q, losses.Q, losses.count[0]
    for j in range(x.size):
        total = q[j] + noise[j] + ridge * (x[j] - center[j])
        for k in range(Q.shape[0]):
            total += Q[j, k] * x[k]
        g[j] = total
    for start in range(0, n, BLOCK):
        m = min(BLOCK, n - start)
        _margins(losses, x, data_of(work), start, m)
        if math.isnan(_slopes(losses, work, start, m, 0)):
            return False
        for j in range(x.size):
            g[j] += _inner(at(data_of(work), BLOCK), _column(losses, j, start), m)
    return True


@kernel
def hessian(losses, ridge, x, H, work):
    """H = Hess G(x); False if a user's own phi failed."""
    Q, n, d = losses.Q, losses.count[0], x.size
    for j in range(d):
        for k in range(d):
            H[j, k] = (Q[j, k] if Q.shape[0] > 0 else 0.0) + (ridge if j == k else 0.0)
    for start in range(0, n, BLOCK):
        m = min(BLOCK, n - start)
        _margins(losses, x, data_of(work), start, m)
        if math.isnan(_slopes(losses, work, start, m, 1)):
            return False
        for j in range(d):
            row, bent, weighted = _column(losses, j, start), at(data_of(work), 2 * BLOCK), at(data_of(work), BLOCK)
            for k in range(m):
                weighted[k] = bent[k] * row[k]
            for i in range(j + 1):
                H[j, i] += _inner(weighted, _column(losses, i, start), m)
    for j in range(d):
        for i in range(j):
            H[i, j] = H[j, i]
    return True


@step
def include(losses, family, z, y):
    """Add one loss; Z must have room. The caller has folded a label into z."""
    q, Q, count, d = losses.q, losses.Q, losses.count, z.size
    if family == LINEAR:
        for j in range(d):
            q[j] += z[j]
    elif family == SQUARED:
        for j in range(d):
            q[j] -= y * z[j]
            for k in range(d):
                Q[j, k] += z[j] * z[k]
        count[1] += 1
    else:
        for j in range(d):
            losses.Z[j, count[0]] = z[j]
        losses.y[count[0]] = y
        count[0] += 1
