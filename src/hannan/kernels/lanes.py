"""Short rows in registers: passes over m numbers, m a multiple of four, at most sixteen at a time.

What a round of AdaHedge is made of. A row of n is followed by padding: L = inf has weight 0, and no finite loss there
adds to a sum. Sums are in a fixed order (fours are added, then folded in halves), the same in a table, a game and
a live player.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from hannan.kernels.calling import at
from hannan.kernels.compile import step
from hannan.kernels.exponential import _Arithmetic
from hannan.kernels.vectors import load, splat, store

_NUMBER = types.float64
_INDEX = ir.IntType(32)
_ZERO = ir.Constant(_INDEX, 0)


def _reduce(builder, vector, join):
    """All lanes joined: the fours of a vector, then halves."""

    def lanes(vector, first, count):
        places = ir.Constant(ir.VectorType(_INDEX, count), [first + k for k in range(count)])
        return builder.shuffle_vector(vector, vector, places)

    fours = [lanes(vector, first, 4) for first in range(0, vector.type.count, 4)]
    while len(fours) > 1:
        fours = [join(*fours[k : k + 2]) if k + 1 < len(fours) else fours[k] for k in range(0, len(fours), 2)]
    pair = join(lanes(fours[0], 0, 2), lanes(fours[0], 2, 2))
    ends = (builder.extract_element(pair, ir.Constant(_INDEX, k)) for k in (0, 1))
    return join(*ends)


def _fold(builder, vector):
    """The sum of all lanes."""
    return _reduce(builder, vector, builder.fadd)


def _best(builder, vector, sign):
    """The least (sign "<") or greatest (">") of all lanes."""
    return _reduce(builder, vector, lambda a, b: builder.select(builder.fcmp_ordered(sign, a, b), a, b))


def _pass(width, make, numbers=1):
    """An intrinsic on `width` lanes: make(builder, pointers and numbers) -> what is returned, `numbers` of them."""

    @intrinsic
    def one(typingctx, a, b, c, d, e, f):
        given = (a, b, c, d, e, f)
        returned = _NUMBER if numbers == 1 else types.UniTuple(_NUMBER, numbers)

        def codegen(context, builder, signature, args):
            # A number is the same in every lane; what is not needed is an integer 0.
            lanes = [splat(builder, x, width) if kind == _NUMBER else x for kind, x in zip(given, args, strict=True)]
            out = make(builder, width, *lanes)
            return out if numbers == 1 else context.make_tuple(builder, signature.return_type, out)

        return returned(*given), codegen

    return one


def _adding(builder, width, low, x, *_):
    after = builder.fadd(load(builder, low, width), load(builder, x, width))
    store(builder, after, low)
    return _best(builder, after, "<")


def _weighing(builder, width, w, low, base, inverse, *_):
    lead = builder.fsub(base, load(builder, low, width))
    weights = _Arithmetic(builder, width).exp(builder.fmul(lead, inverse))
    store(builder, weights, w)
    return _fold(builder, weights)


def _meeting(builder, width, w, low, base, x, least, inverse):
    arithmetic, x = _Arithmetic(builder, width), load(builder, x, width)
    lead = builder.fsub(base, load(builder, low, width))
    weights = arithmetic.exp(builder.fmul(lead, inverse))
    shares = arithmetic.exp(builder.fmul(builder.fsub(least, x), inverse))
    store(builder, weights, w)
    kept, above = builder.fmul(weights, shares), builder.fmul(weights, builder.fsub(x, least))
    return [_fold(builder, vector) for vector in (weights, kept, above)]


def _squaring(builder, width, p, x, base, *_):
    x = builder.fsub(load(builder, x, width), base)
    return _fold(builder, builder.fmul(load(builder, p, width), builder.fmul(x, x)))


def _spanning(builder, width, x, *_):
    x = load(builder, x, width)
    return [_best(builder, x, sign) for sign in "<>"]


def _sharing(builder, width, p, w, mass, f, *_):
    shares = builder.fdiv(load(builder, w, width), mass)
    store(builder, shares, p)
    return _fold(builder, builder.fmul(shares, load(builder, f, width)))


def _filling(price):
    """x = price(f, y); (min x, max x)."""

    def make(builder, width, x, f, y, *_):
        return _priced(builder, x, price(builder, load(builder, f, width), y))

    return make


def _filling_rest(price):
    """The same for four given one by one: a wide load just after narrow stores would wait for them to leave."""

    def make(builder, width, x, *given):
        *four, y = given
        f = four[0]
        for k in range(1, 4):
            f = builder.insert_element(f, builder.extract_element(four[k], _ZERO), ir.Constant(_INDEX, k))
        return _priced(builder, x, price(builder, f, y))

    return make


def _priced(builder, x, prices):
    store(builder, prices, x)
    return [_best(builder, prices, sign) for sign in "<>"]


def _absolute(builder, f, y):
    there, back = builder.fsub(f, y), builder.fsub(y, f)
    return builder.select(builder.fcmp_ordered("<", there, back), back, there)


def _squared(builder, f, y):
    gap = builder.fsub(f, y)
    return builder.fmul(gap, gap)


_add4, _add8, _add12, _add16 = (_pass(k, _adding) for k in (4, 8, 12, 16))
_weigh4, _weigh8, _weigh12, _weigh16 = (_pass(k, _weighing) for k in (4, 8, 12, 16))
_squares4, _squares8, _squares12, _squares16 = (_pass(k, _squaring) for k in (4, 8, 12, 16))
_meet4, _meet8, _meet12, _meet16 = (_pass(k, _meeting, numbers=3) for k in (4, 8, 12, 16))
_absolute8, _squared8 = (_pass(8, _filling(price), numbers=2) for price in (_absolute, _squared))
_absolute4, _squared4 = (_pass(4, _filling_rest(price), numbers=2) for price in (_absolute, _squared))
_span8 = _pass(8, _spanning, numbers=2)
_share8 = _pass(8, _sharing)


@step
def add(low, x, m):
    """L_i += x_i; the least L_i after it."""
    best, i = low[0] + x[0], 0
    while m - i > 16:
        one = _add16(at(low, i), at(x, i), 0, 0, 0, 0)
        best, i = one if one < best else best, i + 16
    rest, low, x = m - i, at(low, i), at(x, i)
    if rest == 12:
        one = _add12(low, x, 0, 0, 0, 0)
    elif rest == 8:
        one = _add8(low, x, 0, 0, 0, 0)
    elif rest == 4:
        one = _add4(low, x, 0, 0, 0, 0)
    else:
        one = _add16(low, x, 0, 0, 0, 0)
    return one if one < best else best


@step
def weigh(w, low, m, base, inverse):
    """w_i = e^((base - L_i) inverse); their sum."""
    total, i = 0.0, 0
    while m - i > 16:
        total, i = total + _weigh16(at(w, i), at(low, i), base, inverse, 0, 0), i + 16
    rest, w, low = m - i, at(w, i), at(low, i)
    if rest == 12:
        return total + _weigh12(w, low, base, inverse, 0, 0)
    if rest == 8:
        return total + _weigh8(w, low, base, inverse, 0, 0)
    if rest == 4:
        return total + _weigh4(w, low, base, inverse, 0, 0)
    return total + _weigh16(w, low, base, inverse, 0, 0)


@step
def meet(w, low, m, base, x, least, inverse):
    """`weigh`, sum_i w_i e^((least - x_i) inverse) and sum_i w_i (x_i - least): no exponential waits for another."""
    total, kept, above, i = 0.0, 0.0, 0.0, 0
    while m - i > 16:
        a, b, c = _meet16(at(w, i), at(low, i), base, at(x, i), least, inverse)
        total, kept, above, i = total + a, kept + b, above + c, i + 16
    rest, w, low, x = m - i, at(w, i), at(low, i), at(x, i)
    if rest == 12:
        a, b, c = _meet12(w, low, base, x, least, inverse)
    elif rest == 8:
        a, b, c = _meet8(w, low, base, x, least, inverse)
    elif rest == 4:
        a, b, c = _meet4(w, low, base, x, least, inverse)
    else:
        a, b, c = _meet16(w, low, base, x, least, inverse)
    return total + a, kept + b, above + c


@step
def squares(p, x, base, m):
    """sum_i p_i (x_i - base)^2."""
    total, i = 0.0, 0
    while m - i > 16:
        total, i = total + _squares16(at(p, i), at(x, i), base, 0, 0, 0), i + 16
    rest, p, x = m - i, at(p, i), at(x, i)
    if rest == 12:
        return total + _squares12(p, x, base, 0, 0, 0)
    if rest == 8:
        return total + _squares8(p, x, base, 0, 0, 0)
    if rest == 4:
        return total + _squares4(p, x, base, 0, 0, 0)
    return total + _squares16(p, x, base, 0, 0, 0)


@step
def span(x, n):
    """(min_i x_i, max_i x_i), of any n; look for what is not a number elsewhere."""
    least = most = x[0]
    whole = n - (n & 7)
    for i in range(0, whole, 8):
        a, b = _span8(at(x, i), 0, 0, 0, 0, 0)
        least, most = a if a < least else least, b if b > most else most
    for i in range(whole, n):
        least, most = x[i] if x[i] < least else least, x[i] if x[i] > most else most
    return least, most


@step
def absolute(x, f, y, n):
    """x_i = |f_i - y|, x padded by its last; (min x, max x), look for what is not a number elsewhere."""
    least, most, whole = np.inf, -np.inf, n - (n & 7)
    for i in range(0, whole, 8):
        a, b = _absolute8(at(x, i), at(f, i), y, 0, 0, 0)
        least, most = a if a < least else least, b if b > most else most
    for i in range(whole, n, 4):
        a, b = _absolute4(at(x, i), f[i], f[min(i + 1, n - 1)], f[min(i + 2, n - 1)], f[min(i + 3, n - 1)], y)
        least, most = a if a < least else least, b if b > most else most
    return least, most


@step
def squared(x, f, y, n):
    """x_i = (f_i - y)^2, x padded by its last; (min x, max x), look for what is not a number elsewhere."""
    least, most, whole = np.inf, -np.inf, n - (n & 7)
    for i in range(0, whole, 8):
        a, b = _squared8(at(x, i), at(f, i), y, 0, 0, 0)
        least, most = a if a < least else least, b if b > most else most
    for i in range(whole, n, 4):
        a, b = _squared4(at(x, i), f[i], f[min(i + 1, n - 1)], f[min(i + 2, n - 1)], f[min(i + 3, n - 1)], y)
        least, most = a if a < least else least, b if b > most else most
    return least, most


@step
def share(p, w, n, mass, f):
    """p_i = w_i / mass, of any n; sum_i p_i f_i."""
    whole = n - (n & 7)
    total = 0.0
    for i in range(0, whole, 8):
        total += _share8(at(p, i), at(w, i), mass, at(f, i), 0, 0)
    for i in range(whole, n):
        p[i] = w[i] / mass
        total += p[i] * f[i]
    return total
