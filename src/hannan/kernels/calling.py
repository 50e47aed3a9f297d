"""Raw pointers: no reference counts, no negative indices, and smoothings called by address.

A step gets a pointer to the state of its run and indexes it like an array; what a round costs is set by that.
The caller keeps the arrays alive: numba frees an array of a kernel's own after the last line that names it, whatever
still points there, so such a kernel ends with `alive(array)`.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic


@intrinsic
def data_of(typingctx, array):
    """The address of the first element of a contiguous array."""

    def codegen(context, builder, signature, args):
        return cgutils.create_struct_proxy(signature.args[0])(context, builder, value=args[0]).data

    return types.CPointer(array.dtype)(array), codegen


@intrinsic
def alive(typingctx, array):
    """Nothing; but the array is in use until here."""

    def codegen(context, builder, signature, args):
        return context.get_dummy_value()

    return types.void(array), codegen


@intrinsic
def at(typingctx, pointer, offset):
    """The address of pointer[offset]."""

    def codegen(context, builder, signature, args):
        return builder.gep(args[0], [args[1]])

    return pointer(pointer, types.int64), codegen


@intrinsic
def aligned(typingctx, pointer):
    """The next address that is a multiple of 64: vectors from there on do not cross a line of the cache."""

    def codegen(context, builder, signature, args):
        word = ir.IntType(64)
        address = builder.add(builder.ptrtoint(args[0], word), ir.Constant(word, 63))
        return builder.inttoptr(builder.and_(address, ir.Constant(word, -64)), args[0].type)

    return pointer(pointer), codegen


@intrinsic
def words_at(typingctx, pointer):
    """The same address, as one of whole numbers."""

    def codegen(context, builder, signature, args):
        return builder.bitcast(args[0], ir.IntType(64).as_pointer())

    return types.CPointer(types.int64)(pointer), codegen


@intrinsic
def call_smoothing(typingctx, address, s, size, n, scale, changed):
    """f(s, size, n, scale, changed) for the C function at `address`."""
    sig = types.float64(types.int64, s, types.int64, types.int64, types.float64, types.int64)

    def codegen(context, builder, signature, args):
        double, word = ir.DoubleType(), ir.IntType(64)
        shape = ir.FunctionType(double, [double.as_pointer(), word, word, double, word])
        return builder.call(builder.inttoptr(args[0], shape.as_pointer()), args[1:])

    return sig, codegen
