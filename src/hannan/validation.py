"""Validation of arguments: each function returns the converted value or raises ValueError.

An error message states the rule with the name of the parameter, then the value and its index. No function clips,
rescales or repairs a value. Callers validate before they change any state.
"""

from __future__ import annotations

import functools
import inspect
import operator
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

SUM_TOLERANCE = 1e-9
#: Largest absolute value of a loss: the sum over 1e18 rounds is finite.
LARGEST_LOSS = 1e290
#: Rows of at most this length are validated in a Python loop.
FEW = 32
#: Limits on the length and on the number of the names that `meant` compares with an unknown name.
LONGEST_NAME, MOST_NAMES = 100, 10_000
#: Smallest width of a loss range: losses are divided by the width, and the inverse of the width must be finite.
SMALLEST_WIDTH = 1e-290


def real(value: Any, name: str) -> float:
    """Return `value` as a float; raise ValueError if it is not a finite number."""
    number = _as_float(value, name)
    if not np.isfinite(number):
        raise ValueError(f"{name} must be a finite number; got {value!r}")
    return number


def positive(value: Any, name: str) -> float:
    """Return `value` as a float; raise ValueError if it is not finite and > 0."""
    number = _as_float(value, name)
    if not (np.isfinite(number) and number > 0.0):
        raise ValueError(f"{name} must be a finite number > 0; got {value!r}")
    return number


def between(value: Any, low: float, high: float, name: str, closed: str = "[]") -> float:
    """Return `value` as a float; raise ValueError if it is outside the interval from `low` to `high`.

    `closed` specifies which ends belong to the interval: "[]", "[)", "(]" or "()".
    """
    number = _as_float(value, name)
    above = number >= low if closed[0] == "[" else number > low
    below = number <= high if closed[1] == "]" else number < high
    if not (above and below):
        raise ValueError(f"{name} must be in {closed[0]}{low:g}, {high:g}{closed[1]}; got {value!r}")
    return number


def count(value: Any, name: str, least: int = 1) -> int:
    """Return `value` as an int; raise ValueError if it is not an integer >= `least`."""
    try:
        number = operator.index(value)
    except TypeError:
        number = int(value) if isinstance(value, float) and value.is_integer() else least - 1
        if number < least:
            raise ValueError(f"{name} must be an integer >= {least}; got {value!r}") from None
    if number < least or isinstance(value, bool):
        raise ValueError(f"{name} must be an integer >= {least}; got {value!r}")
    return number


def losses(values: Any, name: str = "losses") -> Array:
    """Return `values` as a non-empty array of finite floats, with the arms on the last axis."""
    array = _as_array(values, name)
    if array.ndim == 0 or array.shape[-1] == 0:
        raise ValueError(f"{name} must be a non-empty vector; got shape {array.shape}")
    if not np.isfinite(array).all():
        where = _first(~np.isfinite(array))
        raise ValueError(f"{name} must be finite; got {array[where]} at index {_show(where)}")
    return array


def loss_range(value: Any, largest: float = LARGEST_LOSS) -> tuple[float, float]:
    """Return (low, high) as floats, with low < high; sums of losses and 1/(high - low) are finite."""
    try:
        low, high = value
    except (TypeError, ValueError):
        raise ValueError(f"loss_range must be a pair (low, high); got {value!r}") from None
    low, high = real(low, "loss_range low"), real(high, "loss_range high")
    if not low < high:
        raise ValueError(f"loss_range must have low < high; got {value!r}")
    if max(-low, high) > largest or high - low < SMALLEST_WIDTH:
        raise ValueError(
            f"loss_range must be within [{-largest:g}, {largest:g}] and be at least {SMALLEST_WIDTH:g} wide, so that "
            f"sums of losses and 1/width are finite; got {value!r}"
        )
    return low, high


def row(values: Any, n: int, low: float, high: float) -> Array:
    """Return the losses of one round as an array of n numbers in [low, high]."""
    # Fast path: for a short row of valid floats a Python loop is faster than NumPy.
    few = values.tolist() if type(values) is np.ndarray and values.ndim == 1 and n <= FEW else values
    if type(few) is list and len(few) == n <= FEW:
        for x in few:
            if type(x) is not float or not low <= x <= high:
                break
        else:
            return np.array(few)
    array = losses(values)
    if array.shape != (n,):
        raise ValueError(f"losses must have {n} numbers, one per arm; got shape {array.shape}")
    bad = (array < low) | (array > high)
    if bad.any():
        i = int(np.argmax(bad))
        raise ValueError(f"losses must be in [{low:g}, {high:g}]; got {array[i]} at index {i}")
    return array


def distribution(values: Any, name: str) -> Array:
    """Return `values` as an array of probabilities that sum to 1 within 1e-9 along the last axis."""
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
    """Raise ValueError if a name occurs twice: the duplicate would be dropped or counted twice.

    >>> once(["exp3", "bandit", "exp3"], "learners")
    Traceback (most recent call last):
        ...
    ValueError: learners must have unique names; got 'exp3' twice
    """
    seen: set[Any] = set()
    for name in names:
        if name in seen:
            raise ValueError(f"{what} must have unique names; got {brief(name)} twice")
        seen.add(name)


def meant(word: Any, known: Iterable[str]) -> str:
    """Return ". Did you mean 'x'?" for a known name that is close to an unknown one, else an empty string.

    The comparison ignores case and treats spaces, hyphens and underscores alike.

    >>> meant("Abslute", ["absolute", "squared"]), meant("forecast", ["absolute", "squared"])
    (". Did you mean 'absolute'?", '')
    """
    if not isinstance(word, str) or len(word) > LONGEST_NAME:
        return ""
    import difflib  # needed for error messages only
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


def user_defined(thing: Any, names: Sequence[str]) -> tuple[str, ...]:
    """Return the names whose definition for the class of `thing` is outside this package.

    >>> class Number(int):
    ...     def bit_length(self): return 0
    >>> Number.__module__ = "user"
    >>> user_defined(Number(3), ["bit_length"])
    ('bit_length',)
    """
    kind: Any = type(thing)
    return _user_defined(kind, tuple(names))


@functools.lru_cache(maxsize=256)
def _user_defined(kind: type, names: tuple[str, ...]) -> tuple[str, ...]:
    definers = {name: next(c for c in kind.__mro__ if name in vars(c)) for name in names}
    return tuple(name for name, cls in definers.items() if not cls.__module__.startswith("hannan."))


def unmasked(values: Any, name: str) -> Any:
    """Return `values` unchanged; raise ValueError if they contain a masked entry.

    NumPy functions would read the data under the mask. Masked arrays without masked entries are accepted, and lists
    and tuples are searched recursively.
    """
    # NumPy imports numpy.ma on first use: if it is not imported, no masked array exists.
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
    """Return the repr of a value for an error message, truncated to `most` characters."""
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
                raise ValueError(f"{name} must be finite; got an integer too large for a float") from None
        if raw.size:
            raise ValueError(f"{name} must be real numbers; got {raw.dtype.name} values such as {raw.flat[0]!r}")
    return raw.astype(np.float64)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _first(mask: NDArray[np.bool_]) -> tuple[int, ...]:
    return tuple(int(i) for i in np.argwhere(mask)[0])


def _show(where: tuple[int, ...]) -> str:
    return str(where[0]) if len(where) == 1 else str(where)
