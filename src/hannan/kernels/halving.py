"""Tsallis with alpha = 1/2: w_i = u_i^-2, u_i = (L_i - BASE)/scale + y, y = WARM the root of S_2 = 1, S_k = sum u_i^-k.

From anywhere (`from_anywhere`): S_2^(-1/2) is concave and nearly linear in y, so Newton on S_2^(-1/2) = 1 needs three
or four passes from the last root; from the right of the root it never passes it again. BASE is min L there, and
y >= 1 always (no probability exceeds 1), which keeps it clear of the pole.

After one arm has changed (`after_one`): what that does to S_2 and S_3 is known without a pass, and so is Newton's
first step. One pass then gives S_2 .. S_5, and the root is the inverted series

    e = S_2 - 1,  delta = e/a + (b/a^3) e^2 + (2 b^2/a^5 - c/a^4) e^3 + O(e^4),  a, b, c = 2 S_3, 3 S_4, 4 S_5

from which the weights follow without another division: 1/(u + delta) = r (1 - t)(1 + t^2) + O(t^4), t = delta r.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from hannan.kernels.calling import at
from hannan.kernels.compile import aside, step
from hannan.kernels.drawing import total
from hannan.kernels.state import BASE, HEADER, INVERSE, SCALE, SLOPE_SUM, TOTAL, WARM
from hannan.kernels.vectors import DOUBLE, fold, lanes, load, splat, store

_PASSES = 100
#: Below it, e^4 is lost in rounding.
_SMALL = 2e-4
#: y falls as the losses rise above BASE; above this it costs u no digits.
_LEAST_Y = -3.0


@step
def after_one(s, n, i, value, before):
    """L_i = value, then w and TOTAL at the scale in place; `before` is the scale of the weights there. False if it
    failed."""
    low, w = np.int64(HEADER), np.int64(HEADER) + n
    inverse, base = s[INVERSE], s[BASE]
    ratio = before * inverse  # lengths in units of the scale grow by it
    y = s[WARM] * ratio
    old = s[w + i]
    r = 1.0 / ((value - base) * inverse + y)
    e = ((s[TOTAL] - old) / (ratio * ratio) - 1.0) + r * r
    slope = (s[SLOPE_SUM] - old * np.sqrt(old)) / (ratio * ratio * ratio) + r * r * r
    # Newton on S_2^(-1/2), (sqrt(1 + e) - 1)(1 + e)/slope, as a series: it is a guess.
    y += e * (0.5 + e * (0.375 - 0.0625 * e)) / slope
    two, three, four, five = _sums(at(s, w), at(s, low), n, i, value, base, inverse, y)
    # Not before the pass, whose wide loads would wait for it.
    s[low + i] = value
    e = two - 1.0
    if not (abs(e) < _SMALL and y > _LEAST_Y):
        return from_anywhere(s, n)
    third = 1.0 / three
    x, b, c = (0.5 * e) * third, (1.5 * four) * third, (2.0 * five) * third
    delta = x + (x * x) * (b + x * (2.0 * (b * b) - c))
    _move(at(s, w), n, delta)
    s[WARM], s[SLOPE_SUM] = y + delta, three - 3.0 * four * delta
    s[TOTAL] = 1.0  # up to rounding: that is what delta is for
    return True


@aside
def from_anywhere(s, n):
    """Write w and TOTAL for L at the scale in place, whatever has changed. False if it failed."""
    low = HEADER
    w = low + n
    least = s[low]
    for i in range(1, n):
        least = min(least, s[low + i])
    inverse = 1.0 / s[SCALE]
    # In units of the scale y is in [1, sqrt n], when BASE is min L.
    y = min(max(1.0, s[WARM] + (least - s[BASE]) * inverse), np.sqrt(np.float64(n)))
    s[BASE] = least
    last = False
    for _ in range(_PASSES):
        s3 = 0.0
        for i in range(n):
            r = 1.0 / ((s[low + i] - least) * inverse + y)
            s[w + i] = r * r
            s3 += r * r * r
        s2 = total(s, w, n)
        s[TOTAL], s[SLOPE_SUM], s[WARM] = s2, s3, y
        error = s2 - 1.0
        if last or abs(error) < 1e-14:
            return True
        # d(S^(-1/2))/dy = S^(-3/2) S_3: the step to S = 1.
        y = max(1.0, y - (1.0 - np.sqrt(s2)) * s2 / s3)
        last = abs(error) < 1e-7
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


@intrinsic
def _sums(typingctx, r, low, n, i, value, base, inverse, y):
    """r_j = 1/((low_j - base) inverse + y), in fours, 0 beyond n, low_i = value; returns (S_2, S_3, S_4, S_5)."""

    def codegen(context, builder, signature, args):
        vector = ir.VectorType(DOUBLE, 4)
        zero, one = ir.Constant(vector, [0.0] * 4), ir.Constant(vector, [1.0] * 4)
        i, value, base, inverse, y = (splat(builder, a, 4) for a in args[3:])
        sums = [cgutils.alloca_once_value(builder, zero) for _ in range(4)]
        end = splat(builder, args[2], 4)
        four = ir.Constant(ir.IntType(64), 4)
        with cgutils.for_range_slice(builder, ir.Constant(ir.IntType(64), 0), args[2], four) as (first, _):
            lane = lanes(builder, first)
            d = load(builder, builder.gep(args[1], [first]), 4)
            d = builder.fsub(builder.select(builder.icmp_signed("==", lane, i), value, d), base)
            u = builder.fadd(builder.fmul(d, inverse), y)
            inside = builder.icmp_signed("<", lane, end)
            x = builder.select(inside, builder.fdiv(one, u), zero)
            store(builder, x, builder.gep(args[0], [first]))
            x2 = builder.fmul(x, x)
            x3 = builder.fmul(x2, x)
            for place, power in zip(sums, (x2, x3, builder.fmul(x2, x2), builder.fmul(x2, x3)), strict=True):
                builder.store(builder.fadd(builder.load(place), power), place)
        return cgutils.pack_array(builder, [fold(builder, builder.load(place), 4) for place in sums])

    number = types.float64
    return types.UniTuple(number, 4)(r, low, types.int64, types.int64, *[number] * 4), codegen


@intrinsic
def _move(typingctx, r, n, delta):
    """r_i becomes (r_i (1 - t)(1 + t^2))^2, t = delta r_i, in fours; not above 1, whatever the rounding."""

    def codegen(context, builder, signature, args):
        one = ir.Constant(ir.VectorType(DOUBLE, 4), [1.0] * 4)
        delta = splat(builder, args[2], 4)
        four = ir.Constant(ir.IntType(64), 4)
        with cgutils.for_range_slice(builder, ir.Constant(ir.IntType(64), 0), args[1], four) as (first, _):
            place = builder.gep(args[0], [first])
            x = load(builder, place, 4)
            t = builder.fmul(delta, x)
            series = builder.fmul(builder.fsub(one, t), builder.fadd(one, builder.fmul(t, t)))
            x = builder.fmul(x, series)
            x = builder.fmul(x, x)
            store(builder, builder.select(builder.fcmp_ordered("<", x, one), x, one), place)
        return context.get_dummy_value()

    return types.void(r, types.int64, types.float64), codegen
