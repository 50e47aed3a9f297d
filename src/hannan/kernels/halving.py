"""Tsallis with alpha = 1/2: w_i = (scale / (L_i - x))^2, x the root of sum w = 1 below min L - scale.

S(x)^(-1/2), S = sum w, is concave and nearly linear in x, so Newton on S^(-1/2) = 1 needs two or three passes
from the last round's root; from the right of the root it never passes it again. x <= min L - scale always
(no probability exceeds 1), which also keeps it clear of the pole at min L.
"""

from __future__ import annotations

import numpy as np

from hannan.kernels.compile import step
from hannan.kernels.drawing import total
from hannan.kernels.state import HEADER, SCALE, TOTAL, WARM

_PASSES = 100


@step
def tsallis_half(s, n):
    """Write w and TOTAL for L at the scale in place; WARM keeps (min L - x) / scale. False if it failed."""
    low = HEADER
    w = low + n
    scale = s[SCALE]
    least = s[low]
    for i in range(1, n):
        least = min(least, s[low + i])
    # y = (min L - x) / scale is in [1, sqrt n]; distances are in units of the scale.
    y = min(max(1.0, s[WARM]), np.sqrt(np.float64(n)))
    inverse = 1.0 / scale
    last = False
    for _ in range(_PASSES):
        s3 = 0.0
        whole = n - (n & 3)
        t0 = t1 = t2 = t3 = 0.0
        for i in range(0, whole, 4):
            r0 = 1.0 / ((s[low + i] - least) * inverse + y)
            r1 = 1.0 / ((s[low + i + 1] - least) * inverse + y)
            r2 = 1.0 / ((s[low + i + 2] - least) * inverse + y)
            r3 = 1.0 / ((s[low + i + 3] - least) * inverse + y)
            q0, q1, q2, q3 = r0 * r0, r1 * r1, r2 * r2, r3 * r3
            s[w + i] = q0
            s[w + i + 1] = q1
            s[w + i + 2] = q2
            s[w + i + 3] = q3
            t0 += q0 * r0
            t1 += q1 * r1
            t2 += q2 * r2
            t3 += q3 * r3
        s3 = (t0 + t1) + (t2 + t3)
        for i in range(whole, n):
            r = 1.0 / ((s[low + i] - least) * inverse + y)
            s[w + i] = r * r
            s3 += r * r * r
        s2 = total(s, w, n)
        s[TOTAL] = s2
        error = s2 - 1.0
        if last or abs(error) < 1e-14:
            s[WARM] = y
            return True
        # d(S^(-1/2))/dy = S^(-3/2) sum r^3: the step to S = 1.
        y = max(1.0, y - (1.0 - np.sqrt(s2)) * s2 / s3)
        last = abs(error) < 1e-7
    s[WARM] = y
    return abs(s[TOTAL] - 1.0) < 1e-9


@step
def half_value(s, n):
    """Phi(L) = <p, L> + 2 scale (1 - sum sqrt p) at the weights in place."""
    low = HEADER
    least = s[low]
    for i in range(1, n):
        least = min(least, s[low + i])
    inner = roots = 0.0
    for i in range(n):
        p = s[low + n + i] / s[TOTAL]
        inner += p * (s[low + i] - least)
        roots += np.sqrt(p)
    return least + inner + 2.0 * s[SCALE] * (1.0 - roots)
