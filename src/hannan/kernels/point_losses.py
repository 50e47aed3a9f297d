"""loss(f, y) by code, compiled: 0 absolute, 1 squared, 2 pinball, 3 log."""

from __future__ import annotations

import numpy as np

from hannan.kernels.compile import kernel, step
from hannan.kernels.lanes import absolute, span, squared


@step
def point_loss(code, parameter, cap, f, y):
    """loss(f, y), at most cap. NaN where it has no value."""
    if code == 0:
        x = abs(f - y)
    elif code == 1:
        x = (f - y) * (f - y)
    elif code == 2:
        x = parameter * (y - f) if y > f else (1.0 - parameter) * (f - y)
    elif 0.0 <= f <= 1.0:
        x = -np.log(f) if y == 1.0 else -np.log(1.0 - f)
    else:
        x = np.nan
    return cap if x > cap else x


@step
def row_losses(code, parameter, cap, f, y, x, n):
    """x_i = loss(f_i, y), a row at a time; (min x, max x), look for what is not a number elsewhere."""
    if cap == np.inf:
        if code == 0:
            return absolute(x, f, y, n)
        if code == 1:
            return squared(x, f, y, n)
    for i in range(n):
        x[i] = point_loss(code, parameter, cap, f[i], y)
    return span(x, n)


@kernel
def point_losses(code, parameter, cap, forecasts, targets, out):
    """out_ti = loss(f_ti, y_t)."""
    for t in range(forecasts.shape[0]):
        for i in range(forecasts.shape[1]):
            out[t, i] = point_loss(code, parameter, cap, forecasts[t, i], targets[t])
