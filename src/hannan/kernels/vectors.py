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


def _hits(builder, advice, pointer, action, width):
    """Which of `width` experts advise the action: a vector of bits."""
    if isinstance(advice.dtype, types.Float):
        heard = load(builder, pointer, width)
        return builder.fcmp_ordered("==", heard, splat(builder, builder.sitofp(action, DOUBLE), width))
    number = ir.IntType(advice.dtype.bitwidth)
    address = builder.bitcast(pointer, ir.VectorType(number, width).as_pointer())
    heard = builder.load(address, align=number.width // 8)
    if number.width < 64:
        action = builder.trunc(action, number)
    return builder.icmp_signed("==", heard, splat(builder, action, width))


@intrinsic
def masked_sum16(typingctx, w, advice, action):
    """The sum of the w_i with advice_i = action, i < 16."""

    def codegen(context, builder, signature, args):
        hits = _hits(builder, advice, args[1], args[2], 16)
        none = ir.Constant(ir.VectorType(DOUBLE, 16), [0.0] * 16)
        return fold(builder, builder.select(hits, load(builder, args[0], 16), none), 16)

    return types.float64(w, advice, types.int64), codegen


@intrinsic
def masked_update16(typingctx, w, low, advice, action, estimate, factor):
    """low_i += estimate and w_i *= factor where advice_i = action, i < 16; returns the sum of the w_i."""

    def codegen(context, builder, signature, args):
        hits = _hits(builder, advice, args[2], args[3], 16)
        vector = ir.VectorType(DOUBLE, 16)
        more = builder.select(hits, splat(builder, args[4], 16), ir.Constant(vector, [0.0] * 16))
        times = builder.select(hits, splat(builder, args[5], 16), ir.Constant(vector, [1.0] * 16))
        store(builder, builder.fadd(load(builder, args[1], 16), more), args[1])
        weights = builder.fmul(load(builder, args[0], 16), times)
        store(builder, weights, args[0])
        return fold(builder, weights, 16)

    return types.float64(w, low, advice, types.int64, types.float64, types.float64), codegen


@intrinsic
def hits64(typingctx, advice, action):
    """Bit i: whether advice_i = action, i < 64."""

    def codegen(context, builder, signature, args):
        bits = _hits(builder, advice, args[0], args[1], 64)
        return builder.bitcast(bits, ir.IntType(64))

    return types.uint64(advice, types.int64), codegen


@intrinsic
def ones(typingctx, bits):
    """How many bits are set."""

    def codegen(context, builder, signature, args):
        return _ones(builder, args[0])

    return types.int64(types.uint64), codegen


@intrinsic
def first_one(typingctx, bits):
    """The place of the lowest bit set; 64 where none is."""

    def codegen(context, builder, signature, args):
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.uint64), codegen


def _ones(builder, word):
    shape = ir.FunctionType(word.type, [word.type])
    return builder.call(cgutils.get_or_insert_function(builder.module, shape, "llvm.ctpop.i64"), [word])


def lanes(builder, first):
    """first, first + 1, first + 2, first + 3."""
    word = ir.IntType(64)
    return builder.add(splat(builder, first, 4), ir.Constant(ir.VectorType(word, 4), [0, 1, 2, 3]))


def _partial_sums(builder, base, x):
    """base + x_0 + ... + x_j in lane j of four."""
    zero = ir.Constant(x.type, [0.0] * 4)
    for places in ([4, 0, 1, 2], [4, 4, 0, 1]):
        shift = ir.Constant(ir.VectorType(ir.IntType(32), 4), places)
        x = builder.fadd(x, builder.shuffle_vector(x, zero, shift))
    return builder.fadd(splat(builder, base, 4), x)


@intrinsic
def scan4(typingctx, out, x, base, first, skip):
    """out_j = base + x_0 + ... + x_j, j < 4, with 0 for x_(skip - first); returns out_3."""

    def codegen(context, builder, signature, args):
        skipped = builder.icmp_signed("==", lanes(builder, args[3]), splat(builder, args[4], 4))
        zero = ir.Constant(ir.VectorType(DOUBLE, 4), [0.0] * 4)
        sums = _partial_sums(builder, args[2], builder.select(skipped, zero, load(builder, args[1], 4)))
        store(builder, sums, args[0])
        return builder.extract_element(sums, ir.Constant(ir.IntType(32), 3))

    return types.float64(out, x, types.float64, types.int64, types.int64), codegen


@intrinsic
def count4(typingctx, sums, first, skipped, mass, u):
    """How many of sums_j + mass (j >= skipped), j = first .. first + 3, are at most u."""

    def codegen(context, builder, signature, args):
        zero = ir.Constant(ir.VectorType(DOUBLE, 4), [0.0] * 4)
        after = builder.icmp_signed(">=", lanes(builder, args[1]), splat(builder, args[2], 4))
        more = builder.select(after, splat(builder, args[3], 4), zero)
        sums = builder.fadd(load(builder, args[0], 4), more)
        below = builder.fcmp_ordered("<=", sums, splat(builder, args[4], 4))
        return _ones(builder, builder.zext(builder.bitcast(below, ir.IntType(4)), ir.IntType(64)))

    return types.int64(sums, types.int64, types.int64, types.float64, types.float64), codegen


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
