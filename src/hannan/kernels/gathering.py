"""Columns of a table, wherever they lie, as rows: one pass, which also finds what is infinite."""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from hannan.kernels.compile import kernel
from hannan.kernels.vectors import DOUBLE


@intrinsic
def _number_at(typingctx, address):
    """The float64 at an address; the caller keeps its array alive."""

    def codegen(context, builder, signature, args):
        return builder.load(builder.inttoptr(args[0], ir.PointerType(DOUBLE)))

    return types.float64(types.int64), codegen


@kernel
def gather(addresses, strides, out):
    """out_ti = the t-th number of column i, `strides` bytes apart; the position of the first infinite one, or -1."""
    rows, n = out.shape
    wrong = 0
    for t in range(rows):
        for i in range(n):
            x = _number_at(addresses[i] + t * strides[i])
            out[t, i] = x
            wrong += x == x and not abs(x) < np.inf
    if wrong:
        for t in range(rows):
            for i in range(n):
                if abs(out[t, i]) == np.inf:
                    return t * n + i
    return -1
