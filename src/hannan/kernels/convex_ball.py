"""Whole games of linear losses on a ball, x_t = center - radius v/||v||, v = L + scale b: four coordinates at a time.

The same arithmetic as `convex.act_linear`, bit for bit. The vectors of a run are copied to where zeros fill up the last
four, so that a pass over ten coordinates is three steps, not a loop's preamble and ten.
"""

from __future__ import annotations

import math

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from hannan.kernels.calling import aligned, alive, at, data_of
from hannan.kernels.compile import kernel, step
from hannan.kernels.convex import HEADER, OWN_LOSS, ROUND, SCALE, SPREAD, STREAM
from hannan.kernels.convex_noise import draw
from hannan.kernels.vectors import DOUBLE, fold, lanes, load, splat, store


@kernel
def ball_games(rules, center, radius, sums, states, rows, marks, out, moves):
    """As `convex.linear_games`, on a ball."""
    rounds, d, kept = rows.shape[0], rows.shape[1], moves.shape[1] > 0
    width = d - d % 4 + 4  # and room for the draw's last normal
    room = np.zeros(6 * width + 8)
    q = aligned(data_of(room))
    total, x, normals, edge, middle = (
        at(q, width), at(q, 2 * width), at(q, 3 * width), at(q, 4 * width), at(q, 5 * width),
    )  # fmt: skip
    _copy(middle, data_of(center), d)
    for run in range(states.shape[0]):
        s = at(data_of(states), run * states.shape[1])
        _copy(q, at(data_of(sums), run * d), d)
        _copy(normals, at(s, HEADER + d), d)
        played, own, scale, spread = s[ROUND], s[OWN_LOSS], s[SCALE], s[SPREAD]
        mark = 0
        for t in range(rounds):
            played += 1.0
            scale = rules.c * math.sqrt(rules.a + rules.b * played + rules.d * own)
            if rules.fresh or played == 1.0:
                spread = draw(rules.noise, at(s, STREAM), normals, d)
                normals[d] = 0.0
            square = _perturbed(total, q, scale * spread, normals, d)
            row = at(data_of(rows), t * d)
            if t * d + d + (-d & 3) > rounds * d:
                # Fours read past their row: past the last one there is nothing.
                _copy(edge, row, d)
                row = edge
            own += _met(x, middle, radius / math.sqrt(square) if square > 0.0 else 0.0, total, row, q, d)
            if kept:
                for j in range(d):
                    moves[run, t, j] = x[j]
            if mark < marks.size and marks[mark] == t + 1:
                out[run, mark] = own
                mark += 1
        s[ROUND], s[OWN_LOSS], s[SCALE], s[SPREAD] = played, own, scale, spread
        _copy(at(data_of(sums), run * d), q, d)
        _copy(at(s, np.int64(HEADER)), x, d)
        _copy(at(s, HEADER + d), normals, d)
    alive(room)


@step
def _copy(a, b, d):
    for j in range(d):
        a[j] = b[j]


def _fours(builder, d):
    """A loop over 0, 4, 8, ... below d."""
    word = ir.IntType(64)
    return cgutils.for_range_slice(builder, ir.Constant(word, 0), d, ir.Constant(word, 4))


def _nothing():
    return ir.Constant(ir.VectorType(DOUBLE, 4), [0.0] * 4)


@intrinsic
def _perturbed(typingctx, total, q, size, normals, d):
    """total = q + size normals; returns <total, total>."""

    def codegen(context, builder, signature, args):
        total, q, size, normals, d = args
        sums, size = cgutils.alloca_once_value(builder, _nothing()), splat(builder, size, 4)
        with _fours(builder, d) as (i, _):
            scaled = builder.fmul(size, load(builder, builder.gep(normals, [i]), 4))
            v = builder.fadd(load(builder, builder.gep(q, [i]), 4), scaled)
            store(builder, v, builder.gep(total, [i]))
            builder.store(builder.fadd(builder.load(sums), builder.fmul(v, v)), sums)
        return fold(builder, builder.load(sums), 4)

    return types.float64(total, q, types.float64, normals, types.int64), codegen


@intrinsic
def _met(typingctx, x, center, shrink, total, row, q, d):
    """x = center - shrink total, q += row; returns <x, row>. What is read of row beyond d does not count."""

    def codegen(context, builder, signature, args):
        x, center, shrink, total, row, q, d = args
        sums, shrink = cgutils.alloca_once_value(builder, _nothing()), splat(builder, shrink, 4)
        end = splat(builder, d, 4)
        with _fours(builder, d) as (i, _):
            scaled = builder.fmul(shrink, load(builder, builder.gep(total, [i]), 4))
            v = builder.fsub(load(builder, builder.gep(center, [i]), 4), scaled)
            store(builder, v, builder.gep(x, [i]))
            inside = builder.icmp_signed("<", lanes(builder, i), end)
            losses = builder.select(inside, load(builder, builder.gep(row, [i]), 4), _nothing())
            builder.store(builder.fadd(builder.load(sums), builder.fmul(v, losses)), sums)
            place = builder.gep(q, [i])
            store(builder, builder.fadd(load(builder, place, 4), losses), place)
        return fold(builder, builder.load(sums), 4)

    number = types.float64
    return number(x, center, number, total, row, q, types.int64), codegen
