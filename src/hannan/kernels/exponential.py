"""exp(x) = 2^k e^r, k = round(x / ln 2), r = x - k ln 2, |r| <= ln(2)/2.

An own exp, so that it is inlined and vectorised in strict floating point, and so that a game gives the same
bits whichever mathematics library the machine has. e^r = 1 + r + r^2 q(r) with q of degree 9, interpolated
at Chebyshev nodes (relative error 1.7e-17); every product and sum that matters is a fused multiply-add.
Accuracy: 1 ulp. Below e^-708.39 it is 0, above e^709.4 it stays there.
One text makes the scalar and
the eight-lane form, so they agree bit for bit.
"""

from __future__ import annotations

import math

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from hannan.kernels.calling import at, data_of
from hannan.kernels.compile import kernel, step
from hannan.kernels.vectors import DOUBLE, load, prefetch, splat, store

LOWEST = -708.39
HIGHEST = 709.4
_MOST = math.exp(HIGHEST)
_SHIFT = 6755399441055744.0  # 1.5 * 2^52: adding it rounds to an integer, kept in the low bits
_LOG2E = 1.4426950408889634
_LN2 = (0.6931471805599453, 2.3190468138462996e-17)
_Q = (
    0.5000000000000001,
    0.16666666666666669,
    0.04166666666662413,
    0.008333333333330062,
    0.0013888888917213717,
    0.00019841269863053618,
    2.4801521295954376e-05,
    2.7557268459997064e-06,
    2.7620088445409746e-07,
    2.510038549551032e-08,
)
#: e^x on [-0.1, 0]: relative error 1.5e-17.
_SMALL = (
    1.0,
    0.9999999999999908,
    0.4999999999980528,
    0.16666666651075376,
    0.041666660532656156,
    0.008333202161212364,
    0.0013873321293770855,
    0.00018874910400078904,
)


class _Arithmetic:
    """Constants and fused multiply-adds of one width: 1 for a number, 8 for a vector."""

    def __init__(self, builder, width):
        self.builder, self.width = builder, width
        self.type = DOUBLE if width == 1 else ir.VectorType(DOUBLE, width)
        self.name = "llvm.fma.f64" if width == 1 else f"llvm.fma.v{width}f64"

    def constant(self, number, type_=DOUBLE):
        if self.width == 1:
            return ir.Constant(type_, number)
        return ir.Constant(ir.VectorType(type_, self.width), [number] * self.width)

    def fma(self, x, y, z):
        shape = ir.FunctionType(self.type, [self.type] * 3)
        return self.builder.call(cgutils.get_or_insert_function(self.builder.module, shape, self.name), [x, y, z])

    def exp(self, x):
        b, c, fma = self.builder, self.constant, self.fma
        shifted = fma(x, c(_LOG2E), c(_SHIFT))
        k = b.fsub(shifted, c(_SHIFT))
        r = fma(k, c(-_LN2[1]), fma(k, c(-_LN2[0]), x))
        r2 = b.fmul(r, r)
        r4 = b.fmul(r2, r2)
        # Estrin's scheme: short chains, because a bandit waits for this number.
        p = [fma(c(_Q[i + 1]), r, c(_Q[i])) for i in range(0, 10, 2)]
        q = fma(fma(p[4], r4, fma(p[3], r2, p[2])), r4, fma(p[1], r2, p[0]))
        word = ir.IntType(64) if self.width == 1 else ir.VectorType(ir.IntType(64), self.width)
        bits = b.add(b.bitcast(shifted, word), c(1023, ir.IntType(64)))
        power = b.bitcast(b.shl(bits, c(52, ir.IntType(64))), self.type)
        y = fma(fma(q, r2, r), power, power)
        # Out of range y is nonsense: it is replaced at the end, so that nothing waits for the comparison.
        y = b.select(b.fcmp_ordered(">=", x, c(LOWEST)), y, c(0.0))
        return b.select(b.fcmp_ordered("<=", x, c(HIGHEST)), y, c(_MOST))

    def small_exp(self, x):
        q = self.constant(_SMALL[-1])
        for coefficient in _SMALL[-2::-1]:
            q = self.fma(q, x, self.constant(coefficient))
        return q


@intrinsic
def exp(typingctx, x):
    """e^x."""

    def codegen(context, builder, signature, args):
        return _Arithmetic(builder, 1).exp(args[0])

    return types.float64(types.float64), codegen


@intrinsic
def small_exp(typingctx, x):
    """e^x for -0.1 <= x <= 0 (a little beyond on both sides)."""

    def codegen(context, builder, signature, args):
        return _Arithmetic(builder, 1).small_exp(args[0])

    return types.float64(types.float64), codegen


@intrinsic
def fused(typingctx, x, y, z):
    """x y + z, rounded once."""

    def codegen(context, builder, signature, args):
        return _Arithmetic(builder, 1).fma(*args)

    return types.float64(types.float64, types.float64, types.float64), codegen


@intrinsic
def _softmax8(typingctx, w, low, base, inverse):
    """w_i = exp((base - low_i) * inverse) for i < 8."""

    def codegen(context, builder, signature, args):
        x = builder.fsub(splat(builder, args[2], 8), load(builder, args[1], 8))
        x = builder.fmul(x, splat(builder, args[3], 8))
        store(builder, _Arithmetic(builder, 8).exp(x), args[0])
        return context.get_dummy_value()

    return types.void(w, low, types.float64, types.float64), codegen


@intrinsic
def _multiply8(typingctx, w, low, row, origin, slope, rate):
    """x_i = (row_i - origin) slope, low_i += x_i, w_i *= e^(x_i rate) for i < 8."""

    def codegen(context, builder, signature, args):
        origin, slope, rate = (splat(builder, a, 8) for a in args[3:])
        x = builder.fmul(builder.fsub(load(builder, args[2], 8), origin), slope)
        store(builder, builder.fadd(load(builder, args[1], 8), x), args[1])
        factor = _Arithmetic(builder, 8).small_exp(builder.fmul(x, rate))
        store(builder, builder.fmul(load(builder, args[0], 8), factor), args[0])
        return context.get_dummy_value()

    return types.void(w, low, row, types.float64, types.float64, types.float64), codegen


@step
def softmax(w, low, n, base, inverse):
    """w_i = exp((base - low_i) * inverse), i < n."""
    whole = n - (n & 7)
    for i in range(0, whole, 8):
        _softmax8(at(w, i), at(low, i), base, inverse)
    for i in range(whole, n):
        w[i] = exp((base - low[i]) * inverse)


@step
def multiply(w, low, row, n, origin, slope, rate):
    """low_i += x_i and w_i *= e^(x_i rate), x_i = (row_i - origin) slope, -0.1 <= x_i rate <= 0."""
    whole = n - (n & 7)
    for i in range(0, whole, 8):
        _multiply8(at(w, i), at(low, i), at(row, i), origin, slope, rate)
        prefetch(at(row, n + i))  # the next round's losses, in a game
    for i in range(whole, n):
        x = (row[i] - origin) * slope
        low[i] += x
        w[i] *= small_exp(x * rate)


@intrinsic
def bits_of(typingctx, x):
    """The 64 bits of a float64."""

    def codegen(context, builder, signature, args):
        return builder.bitcast(args[0], ir.IntType(64))

    return types.uint64(types.float64), codegen


@intrinsic
def float_of(typingctx, x):
    """The float64 with these 64 bits."""

    def codegen(context, builder, signature, args):
        return builder.bitcast(args[0], DOUBLE)

    return types.float64(types.uint64), codegen


@kernel
def exp_each(x, out, small):
    """out_i = e^(x_i), eight at a time where it can: what the tests measure."""
    if small:
        for i in range(x.size):
            out[i] = small_exp(x[i])
    else:
        softmax(data_of(out), data_of(x), np.int64(x.size), 0.0, -1.0)
