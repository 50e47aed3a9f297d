"""The corrections of the paper, each with the printed form beside it, and a switch to turn it back.

A claim asks `form("name")` for the form to check. Inside `as_printed("name")` it gets the printed one, and
must then fail: that is how the tests know that a claim checks what it says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

_PRINTED: ContextVar[frozenset[str]] = ContextVar("printed", default=frozenset())


@dataclass(frozen=True)
class Correction:
    """`corrected` stands where `printed` stood in the paper, at `label`."""

    name: str
    label: str
    says: str
    corrected: Callable[..., Any] = field(hash=False, repr=False)
    printed: Callable[..., Any] = field(hash=False, repr=False)


CORRECTIONS: dict[str, Correction] = {}


def correct(name: str, label: str, says: str, *, corrected: Callable[..., Any], printed: Callable[..., Any]) -> None:
    """Enter a correction."""
    if name in CORRECTIONS:
        raise ValueError(f"a correction must have a name of its own; got {name!r} twice")
    CORRECTIONS[name] = Correction(name, label, says, corrected, printed)


def form(name: str) -> Callable[..., Any]:
    """The corrected form, unless it is turned back."""
    correction = CORRECTIONS[name]
    return correction.printed if name in _PRINTED.get() else correction.corrected


@contextmanager
def as_printed(*names: str) -> Iterator[None]:
    """Turn corrections back into the printed form, here only."""
    unknown = [name for name in names if name not in CORRECTIONS]
    if unknown:
        raise ValueError(f"a correction must be one of {', '.join(sorted(CORRECTIONS))}; got {unknown[0]!r}")
    token = _PRINTED.set(_PRINTED.get() | frozenset(names))
    try:
        yield
    finally:
        _PRINTED.reset(token)
