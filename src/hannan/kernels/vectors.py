"""Eight or sixteen numbers at a time, written as LLVM vectors: sums in a fixed order, without fastmath.

numba leaves straight-line code scalar and keeps a reduction in order; here the order is chosen instead: a
block of sixteen is folded in halves, (x_0 + x_8) + (x_4 + x_12) and so on, the same on every machine.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

DOUBLE = ir.DoubleType()


def load(builder, pointer, width):
    """A vector of `width` numbers from any address."""
    address = builder.bitcast(pointer, ir.VectorType(DOUBLE, width).as_pointer())
    return builder.load(address, align=8)


def store(builder, vector, pointer):
    """A vector to any address."""
    builder.store(vector, builder.bitcast(pointer, vector.type.as_pointer()), align=8)


def splat(builder, scalar, width):
    """The same number in every lane."""
    vector = ir.Constant(ir.VectorType(scalar.type, width), ir.Undefined)
    vector = builder.insert_element(vector, scalar, ir.Constant(ir.IntType(32), 0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), width), [0] * width)
    return builder.shuffle_vector(vector, vector, zeros)


def fold(builder, vector, width):
    """The sum of all lanes, upper half on lower half."""
    index = ir.IntType(32)
    while width > 1:
        width //= 2
        halves = [
            builder.shuffle_vector(
                vector, vector, ir.Constant(ir.VectorType(index, width), [first + k for k in range(width)])
            )
            for first in (0, width)
        ]
        vector = builder.fadd(*halves)
    return builder.extract_element(vector, ir.Constant(index, 0))


@intrinsic
def sum16(typingctx, p):
    """p[0] + ... + p[15]."""

    def codegen(context, builder, signature, args):
        return fold(builder, load(builder, args[0], 16), 16)

    return types.float64(p), codegen


@intrinsic
def dot16(typingctx, p, q):
    """p[0] q[0] + ... + p[15] q[15]."""

    def codegen(context, builder, signature, args):
        return fold(builder, builder.fmul(load(builder, args[0], 16), load(builder, args[1], 16)), 16)

    return types.float64(p, q), codegen


def _hits(builder, advice, pointer, action):
    """Which of sixteen experts advise the action: a vector of bits."""
    if isinstance(advice.dtype, types.Float):
        heard = load(builder, pointer, 16)
        return builder.fcmp_ordered("==", heard, splat(builder, builder.sitofp(action, DOUBLE), 16))
    number = ir.IntType(advice.dtype.bitwidth)
    address = builder.bitcast(pointer, ir.VectorType(number, 16).as_pointer())
    heard = builder.load(address, align=number.width // 8)
    if number.width < 64:
        action = builder.trunc(action, number)
    return builder.icmp_signed("==", heard, splat(builder, action, 16))


@intrinsic
def masked_sum16(typingctx, w, advice, action):
    """The sum of the w_i with advice_i = action, i < 16."""

    def codegen(context, builder, signature, args):
        hits = _hits(builder, advice, args[1], args[2])
        none = ir.Constant(ir.VectorType(DOUBLE, 16), [0.0] * 16)
        return fold(builder, builder.select(hits, load(builder, args[0], 16), none), 16)

    return types.float64(w, advice, types.int64), codegen


@intrinsic
def masked_update16(typingctx, w, low, advice, action, estimate, factor):
    """low_i += estimate and w_i *= factor where advice_i = action, i < 16; returns the sum of the w_i."""

    def codegen(context, builder, signature, args):
        hits = _hits(builder, advice, args[2], args[3])
        vector = ir.VectorType(DOUBLE, 16)
        more = builder.select(hits, splat(builder, args[4], 16), ir.Constant(vector, [0.0] * 16))
        times = builder.select(hits, splat(builder, args[5], 16), ir.Constant(vector, [1.0] * 16))
        store(builder, builder.fadd(load(builder, args[1], 16), more), args[1])
        weights = builder.fmul(load(builder, args[0], 16), times)
        store(builder, weights, args[0])
        return fold(builder, weights, 16)

    return types.float64(w, low, advice, types.int64, types.float64, types.float64), codegen


@intrinsic
def prefetch(typingctx, p):
    """Ask for the cache line at p; no harm where there is none."""

    def codegen(context, builder, signature, args):
        number = ir.IntType(32)
        byte = ir.IntType(8).as_pointer()
        shape = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        ask = cgutils.get_or_insert_function(builder.module, shape, "llvm.prefetch.p0")
        # read, keep in all caches, data
        builder.call(ask, [builder.bitcast(args[0], byte), *(ir.Constant(number, k) for k in (0, 3, 1))])
        return context.get_dummy_value()

    return types.void(p), codegen
