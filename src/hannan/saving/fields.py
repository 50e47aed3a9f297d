"""Validation of fields of saved files: each function returns the value, or raises ValueError with rule and value."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hannan import validation
from hannan.validation import Array

#: Limit of counts: floats below it are exact.
MOST = 1 << 53
#: Limit of losses, estimates and weights, whose squares are finite floats.
LARGE = 1e150


def whole(value: Any, name: str, least: int = 0, most: int = MOST) -> int:
    """Return an integer in least..most; strings, floats and booleans are errors."""
    if type(value) is not int or not least <= value <= most:
        raise ValueError(_corrupt(name, f"an integer in {least}..{most}", validation.brief(value)))
    return value


def number(value: Any, name: str, low: float, high: float) -> float:
    """Return a finite number in [low, high]."""
    if type(value) not in (int, float) or not low <= value <= high or not math.isfinite(value):
        raise ValueError(_corrupt(name, f"a number in [{low:g}, {high:g}]", validation.brief(value)))
    return float(value)


def text(value: Any, name: str) -> str:
    """Return a string."""
    if not isinstance(value, str):
        raise ValueError(_corrupt(name, "a string", validation.brief(value)))
    return value


def items(value: Any, name: str, size: int | None = None) -> list[Any]:
    """Return a list with `size` items, or with any number if `size` is None."""
    if not isinstance(value, list) or (size is not None and len(value) != size):
        many = "" if size is None else f" of {size} items"
        raise ValueError(_corrupt(name, f"a list{many}", validation.brief(value)))
    return value


def bits(value: Any, size: int, name: str, kind: str = "f") -> Any:
    """Return `size` 8-byte numbers from their hexadecimal digits, without checking their values."""
    if not isinstance(value, str) or len(value) != 16 * size:
        found = f"{len(value) / 16:g}" if isinstance(value, str) else validation.brief(value)
        raise ValueError(_corrupt(name, f"{size} numbers", found))
    try:
        raw = bytes.fromhex(value)
    except ValueError:
        raw = b""
    if len(raw) != 8 * size:
        raise ValueError(_corrupt(name, "hexadecimal digits", validation.brief(value)))
    return np.frombuffer(raw, dtype=f"<{kind}8").astype(f"{kind}8")


def numbers(value: Any, size: int, name: str, low: float = -LARGE, high: float = LARGE) -> Array:
    """Return `size` finite numbers in [low, high]."""
    return within(bits(value, size, name), name, low, high)


def within(array: Array, name: str, low: float = -LARGE, high: float = LARGE) -> Array:
    """Return the array if all its values are in [low, high]."""
    good = (array >= low) & (array <= high)
    if not good.all():
        where = int(np.argmin(good.ravel()))
        found = f"{array.ravel()[where]} at index {where}"
        raise ValueError(_corrupt(name, f"numbers in [{low:g}, {high:g}]", found))
    return array


def distribution(value: Any, size: int, name: str) -> Array:
    """Return `size` probabilities that sum to 1."""
    return validation.distribution(numbers(value, size, name, 0.0, 1.0 + 1e-9), f"corrupt file: {name}")


def array(value: Any, kind: str, size: int, name: str, low: float, high: float) -> Any:
    """Return an array of a pending move, {"hex": digits, "kind": kind}, with values in [low, high]."""
    if not isinstance(value, dict) or value.keys() != {"hex", "kind"} or value["kind"] != kind:
        raise ValueError(_corrupt(name, f"an array of kind {kind!r}", validation.brief(value)))
    return within(bits(value["hex"], size, name, kind), name, low, high)


def mask(value: Any, n: int, action: int) -> Any:
    """Return the mask of available arms: 0s and 1s, with 1 for the drawn action."""
    awake = array(value, "i", n, "the mask of available arms", 0, 1)
    if awake[action] != 1:
        raise ValueError(f"corrupt file: the mask of available arms must contain the drawn action; found no {action}")
    return awake


def _corrupt(name: str, expected: str, found: str) -> str:
    return f"corrupt file: expected {expected} for {name}; found {found}"
