"""Refusals at the door: each check returns the clean value, or raises the rule and then the value.

Nothing is clipped, rescaled or repaired here; what does not fit is refused before any state changes.
"""

from __future__ import annotations

import inspect
import operator
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

SUM_TOLERANCE = 1e-9
#: The losses of 1e18 rounds below this sum to a finite number.
LARGEST_LOSS = 1e290
#: Rows of so many numbers are checked one by one.
FEW = 32
#: Longer names, and names after so many, are not compared with an unknown one.
LONGEST_NAME, MOST_NAMES = 100, 10_000
#: Losses are played divided by the width of their range: its inverse is finite.
SMALLEST_WIDTH = 1e-290


def real(value: Any, name: str) -> float:
    """A finite real number."""
    number = _as_float(value, name)
    if not np.isfinite(number):
        raise ValueError(f"{name} must be a finite number; got {value!r}")
    return number


def positive(value: Any, name: str) -> float:
    """A finite number above zero."""
    number = _as_float(value, name)
    if not (np.isfinite(number) and number > 0.0):
        raise ValueError(f"{name} must be a finite number > 0; got {value!r}")
    return number


def between(value: Any, low: float, high: float, name: str, closed: str = "[]") -> float:
    """A number of the interval low..high; `closed` is one of "[]", "[)", "(]", "()"."""
    number = _as_float(value, name)
    above = number >= low if closed[0] == "[" else number > low
    below = number <= high if closed[1] == "]" else number < high
    if not (above and below):
        raise ValueError(f"{name} must be in {closed[0]}{low:g}, {high:g}{closed[1]}; got {value!r}")
    return number


def count(value: Any, name: str, least: int = 1) -> int:
    """A whole number, at least `least`."""
    try:
        number = operator.index(value)
    except TypeError:
        number = int(value) if isinstance(value, float) and value.is_integer() else least - 1
        if number < least:
            raise ValueError(f"{name} must be a whole number >= {least}; got {value!r}") from None
    if number < least or isinstance(value, bool):
        raise ValueError(f"{name} must be a whole number >= {least}; got {value!r}")
    return number


def losses(values: Any, name: str = "losses") -> Array:
    """A non-empty array of finite numbers, arms along the last axis."""
    array = _as_array(values, name)
    if array.ndim == 0 or array.shape[-1] == 0:
        raise ValueError(f"{name} must be a non-empty vector; got shape {array.shape}")
    if not np.isfinite(array).all():
        where = _first(~np.isfinite(array))
        raise ValueError(f"{name} must be finite; got {array[where]} at index {_show(where)}")
    return array


def loss_range(value: Any, largest: float = LARGEST_LOSS) -> tuple[float, float]:
    """(low, high), low < high, whose sums over a game and whose 1/width are floats."""
    try:
        low, high = value
    except (TypeError, ValueError):
        raise ValueError(f"loss_range must be a pair (low, high); got {value!r}") from None
    low, high = real(low, "loss_range low"), real(high, "loss_range high")
    if not low < high:
        raise ValueError(f"loss_range must have low < high; got {value!r}")
    if max(-low, high) > largest or high - low < SMALLEST_WIDTH:
        raise ValueError(
            f"loss_range must lie within -+{largest:g} and be at least {SMALLEST_WIDTH:g} wide, so that sums of losses "
            f"and 1/width are finite; got {value!r}"
        )
    return low, high


def row(values: Any, n: int, low: float, high: float) -> Array:
    """The losses of one round: n finite numbers of [low, high]."""
    # A short row of good floats, as most are: looked at one by one, which is quicker than NumPy for so few.
    few = values.tolist() if type(values) is np.ndarray and values.ndim == 1 and n <= FEW else values
    if type(few) is list and len(few) == n <= FEW:
        for x in few:
            if type(x) is not float or not low <= x <= high:
                break
        else:
            return np.array(few)
    array = losses(values)
    if array.shape != (n,):
        raise ValueError(f"losses must be {n} numbers; got shape {array.shape}")
    bad = (array < low) | (array > high)
    if bad.any():
        i = int(np.argmax(bad))
        raise ValueError(f"losses must be in [{low:g}, {high:g}]; got {array[i]} at index {i}")
    return array


def distribution(values: Any, name: str) -> Array:
    """Non-negative numbers that sum to 1 within 1e-9 along the last axis."""
    array = losses(values, name)
    if (array < 0.0).any():
        where = _first(array < 0.0)
        raise ValueError(f"{name} must be non-negative; got {array[where]} at index {_show(where)}")
    total = array.sum(axis=-1)
    wrong = np.abs(total - 1.0) > SUM_TOLERANCE
    if wrong.any():
        worst = float(np.atleast_1d(total)[np.atleast_1d(wrong)][0])
        raise ValueError(f"{name} must sum to 1 within {SUM_TOLERANCE:g}; got a sum of {worst!r}")
    return array


def once(names: Iterable[Any], what: str) -> None:
    """Refuse a name that comes again: what is asked for twice would be dropped, or counted double.

    >>> once(["exp3", "bandit", "exp3"], "learners")
    Traceback (most recent call last):
        ...
    ValueError: learners must each be named once; got 'exp3' twice
    """
    seen: set[Any] = set()
    for name in names:
        if name in seen:
            raise ValueError(f"{what} must each be named once; got {brief(name)} twice")
        seen.add(name)


def meant(word: Any, known: Iterable[str]) -> str:
    """Return ". Did you mean 'x'?" for a known name that is close to an unknown one, else an empty string.

    Upper and lower case, spaces, hyphens and underscores do not count.

    >>> meant("Abslute", ["absolute", "squared"]), meant("forecast", ["absolute", "squared"])
    (". Did you mean 'absolute'?", '')
    """
    if not isinstance(word, str) or len(word) > LONGEST_NAME:
        return ""
    import difflib  # for messages alone
    from itertools import islice

    plain: dict[str, str] = {}
    for name in islice(known, MOST_NAMES):
        plain.setdefault(_plain(name), name)
    close = difflib.get_close_matches(_plain(word), plain, n=1, cutoff=0.6)
    return f". Did you mean {plain[close[0]]!r}?" if close and plain[close[0]] != word else ""


def _plain(name: Any) -> str:
    return str(name).strip().lower().replace("_", "-").replace(" ", "-")


def complete(cls: type, base: type, needed: Sequence[str], possible: str) -> None:
    """Raise TypeError if a subclass of `base` does not define every needed method or attribute.

    `possible` is a sentence about what a user-defined subclass can do.
    """
    missing = [name for name in needed if inspect.getattr_static(cls, name) is inspect.getattr_static(base, name)]
    if missing:
        what = cls.__name__ if cls is base else f"{cls.__name__}, a subclass of {base.__name__},"
        raise TypeError(
            f"{what} must define {', '.join(needed)} as methods or class attributes; got no {', no '.join(missing)}. "
            f"{possible}"
        )


def user_defined(thing: Any, names: Sequence[str]) -> list[str]:
    """Return the names whose definition for the class of `thing` is outside this package.

    >>> class Number(int):
    ...     def bit_length(self): return 0
    >>> Number.__module__ = "user"
    >>> user_defined(Number(3), ["bit_length"])
    ['bit_length']
    """
    definers = {name: next(c for c in type(thing).__mro__ if name in vars(c)) for name in names}
    return [name for name, cls in definers.items() if not cls.__module__.startswith("hannan.")]


def unmasked(values: Any, name: str) -> Any:
    """What it was given; a masked array with a masked entry is refused, alone or in a list, for NumPy reads what
    lies under the mask. A mask that hides nothing is let through."""
    # NumPy loads its masked arrays on first use: where nobody has, there are none.
    if "numpy.ma" in sys.modules and isinstance(values, np.ma.MaskedArray):
        hidden: Any = np.ma.getmaskarray(values)
        if hidden.dtype.names:
            hidden = np.any([hidden[field] for field in hidden.dtype.names], axis=0)
        if hidden.any():
            place = f" at index {_show(_first(hidden))}" if hidden.ndim else ""
            raise ValueError(f"{name} must have no masked entries; got one{place}")
    elif isinstance(values, (list, tuple)) and not all(type(x) is float for x in values):
        for x in values:
            unmasked(x, name)
    return values


def brief(value: Any, most: int = 80) -> str:
    """A value as a message may show it: nothing from outside fills a screen."""
    shown = repr(value)
    return shown if len(shown) <= most else f"{shown[:most]}..."


def _as_float(value: Any, name: str) -> float:
    unmasked(value, name)
    if isinstance(value, (str, bytes, bool, np.bool_)):
        raise ValueError(f"{name} must be a number; got {value!r}")
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must be a number; got {value!r}") from None


def _as_array(values: Any, name: str) -> Array:
    unmasked(values, name)
    try:
        raw = np.asarray(values)
    except ValueError:
        raise ValueError(f"{name} must be a rectangular array of numbers; got rows of different lengths") from None
    if raw.dtype.kind not in "fiub" or (raw.dtype.kind == "b" and raw.size):
        if raw.dtype.kind == "O" and raw.size and all(_is_number(x) for x in raw.flat):
            try:
                return raw.astype(np.float64)
            except OverflowError:
                raise ValueError(f"{name} must be finite; got a whole number beyond the floats") from None
        if raw.size:
            raise ValueError(f"{name} must be real numbers; got {raw.dtype.name} values such as {raw.flat[0]!r}")
    return raw.astype(np.float64)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _first(mask: NDArray[np.bool_]) -> tuple[int, ...]:
    return tuple(int(i) for i in np.argwhere(mask)[0])


def _show(where: tuple[int, ...]) -> str:
    return str(where[0]) if len(where) == 1 else str(where)
