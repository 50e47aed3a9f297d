"""Draw i with probability w_i / sum w from one uniform: the first i whose prefix sum exceeds u * total.

Prefix sums are made four at a time (short chains, no branches), so a weight of zero is never drawn: its
prefix equals the one before. From TREE_FROM arms on, sums of FAN weights, of FAN sums and so on are kept, and a draw
and an update cost log n. Every kept sum is a function of the weights below it: nothing drifts.
"""

from __future__ import annotations

import numpy as np

from hannan.kernels.calling import at, data_of
from hannan.kernels.compile import kernel, step
from hannan.kernels.state import FAN, TOTAL
from hannan.kernels.vectors import sum16


@step
def last_positive(s, a, m):
    """Where rounding carries u past the last prefix: the last positive weight."""
    k = m - 1
    while k > 0 and not s[a + k] > 0.0:
        k -= 1
    return k


@step
def pick(s, a, m, u):
    """The first k with s[a] + ... + s[a+k] > u, without branches; m when there is none."""
    base = 0.0
    k = 0
    whole = m - (m & 3)
    for j in range(a, a + whole, 4):
        left = s[j] + s[j + 1]
        right = s[j + 2] + s[j + 3]
        k += (base + s[j] <= u) + (base + left <= u) + (base + (left + s[j + 2]) <= u)
        base += left + right
        k += base <= u
    for j in range(a + whole, a + m):
        base += s[j]
        k += base <= u
    return k


@step
def total(s, a, m):
    """The sum of s[a..a+m-1], in the order of `pick`."""
    base = 0.0
    whole = m - (m & 3)
    for j in range(a, a + whole, 4):
        base += (s[j] + s[j + 1]) + (s[j + 2] + s[j + 3])
    for j in range(a + whole, a + m):
        base += s[j]
    return base


@step
def _but(s, a, m, j, last):
    """s[a+j], and 0 for j = last and beyond the end."""
    return s[a + j] if j < m and j != last else 0.0


@step
def total_around(s, a, m, last):
    """The sum of s[a..a+m-1], what changed last added last: all but one addition can be made before it is known.

    `vectors.scan4` makes the same partial sums, and `kernels.few_arms` the same total.
    """
    base = 0.0
    for j in range(0, m, 4):
        x0, x1, x2, x3 = (
            _but(s, a, m, j, last), _but(s, a, m, j + 1, last), _but(s, a, m, j + 2, last), _but(s, a, m, j + 3, last),
        )  # fmt: skip
        base += (x3 + x2) + (x1 + x0)
    return base + s[a + last]


@step
def pick_around(s, a, m, last, u):
    """As `pick`, with the partial sums of `total_around`."""
    base = 0.0
    k = 0
    for j in range(0, m, 4):
        x0, x1, x2, x3 = (
            _but(s, a, m, j, last), _but(s, a, m, j + 1, last), _but(s, a, m, j + 2, last), _but(s, a, m, j + 3, last),
        )  # fmt: skip
        k += base + x0 + (s[a + last] if j >= last else 0.0) <= u
        k += base + (x1 + x0) + (s[a + last] if j + 1 >= last else 0.0) <= u
        k += base + ((x2 + x1) + x0) + (s[a + last] if j + 2 >= last else 0.0) <= u
        base += (x3 + x2) + (x1 + x0)
        k += base + (s[a + last] if j + 3 >= last else 0.0) <= u
    return k if k < m else last_positive(s, a, m)


@step
def fan_total(s, a, m):
    """The sum of at most FAN numbers."""
    if m == FAN:
        # The order of sum16, in scalar loads: a wide load just after a narrow store would wait for it.
        t0 = (s[a] + s[a + 8]) + (s[a + 4] + s[a + 12])
        t1 = (s[a + 1] + s[a + 9]) + (s[a + 5] + s[a + 13])
        t2 = (s[a + 2] + s[a + 10]) + (s[a + 6] + s[a + 14])
        t3 = (s[a + 3] + s[a + 11]) + (s[a + 7] + s[a + 15])
        return (t0 + t2) + (t1 + t3)
    return total(s, a, m)


@step
def fan_pick(s, a, m, u):
    """(k, u - prefix before k) among at most FAN numbers; the last positive one when u is past the end."""
    base = before = 0.0
    k = 0
    whole = m - (m & 3)
    for j in range(a, a + whole, 4):
        left = s[j] + s[j + 1]
        p0, p1, p2 = base + s[j], base + left, base + (left + s[j + 2])
        base += left + (s[j + 2] + s[j + 3])
        k += (p0 <= u) + (p1 <= u) + (p2 <= u) + (base <= u)
        # Prefixes ascend: the last one at most u is the one before k.
        here = max(p0 if p0 <= u else 0.0, p1 if p1 <= u else 0.0)
        there = max(p2 if p2 <= u else 0.0, base if base <= u else 0.0)
        before = max(before, max(here, there))
    for j in range(a + whole, a + m):
        base += s[j]
        k += base <= u
        before = base if base <= u else before
    if k >= m:
        return last_positive(s, a, m), np.inf
    return k, u - before


def tree_size(n: int) -> int:
    """How many partial sums a tree over n weights keeps."""
    size = 0
    while n > FAN:
        n = -(-n // FAN)
        size += n
    return size


@step
def grow(s, leaves, n, tree):
    """Make every partial sum from the weights; returns their total."""
    if n > FAN:
        for k in range(n >> 4):
            s[tree + k] = sum16(at(s, leaves + FAN * k))
        if n & (FAN - 1):
            s[tree + (n >> 4)] = total(s, leaves + (n - (n & (FAN - 1))), n & (FAN - 1))
    return grow_on(s, leaves, n, tree)


@step
def grow_on(s, leaves, n, tree):
    """Make the partial sums above the first level, which is in place; returns the total."""
    below, m, level = leaves, n, tree
    while m > FAN:
        above = (m + FAN - 1) >> 4
        if below != leaves:
            for k in range(m >> 4):
                s[level + k] = fan_total(s, below + FAN * k, FAN)
            if m & (FAN - 1):
                s[level + above - 1] = fan_total(s, below + (m - (m & (FAN - 1))), m & (FAN - 1))
        below, m, level = level, above, level + above
    return fan_total(s, below, m)


@step
def regrow(s, leaves, n, tree, i):
    """Make again the partial sums above weight i; returns the total."""
    below, m, level = leaves, n, tree
    while m > FAN:
        k = i >> 4
        s[level + k] = fan_total(s, below + FAN * k, min(FAN, m - FAN * k))
        i = k
        below, m = level, (m + FAN - 1) >> 4
        level += m
    return fan_total(s, below, m)


@step
def descend(s, leaves, n, tree, u):
    """The weight where the prefix sum exceeds u, from the top of the tree down."""
    depth = 0
    m = n
    level = tree
    while m > FAN:
        m = (m + FAN - 1) >> 4
        level += m
        depth += 1
    level -= m  # the top level: at most FAN sums
    node, u = fan_pick(s, level, m, u)
    while depth > 0:
        depth -= 1
        m = (n + (1 << (4 * depth)) - 1) >> (4 * depth)
        if depth > 0:
            level -= m
        else:
            level = leaves
        first = FAN * node
        k, u = fan_pick(s, level + first, min(FAN, m - first), u)
        node = first + k
    return node


@step
def draw(s, leaves, n, tree, u):
    """The arm drawn by the uniform u from the weights in place, whose sum is s[TOTAL]."""
    u = u * s[TOTAL]
    if tree > 0:
        return descend(s, leaves, n, tree, u)
    i = pick(s, leaves, n, u)
    return i if i < n else last_positive(s, leaves, n)


@kernel
def draws(state, leaves, n, tree, us, out):
    """Draw once for each uniform; for tests."""
    s = data_of(state)
    for j in range(us.size):
        out[j] = draw(s, leaves, n, tree, us[j])
