"""What a check says: nothing if it passes, `Failed` with the promise that was broken, `Skipped` with a reason."""

from __future__ import annotations

import functools
import unittest
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NoReturn

#: A check is a function of its subject; its name is the function's.
Check = Callable[[Any], None]


class Failed(AssertionError):
    """A promise of the contract that the subject broke."""


class Skipped(unittest.SkipTest):
    """A check that has nothing to hold the subject to, and why; pytest and unittest report it as skipped."""


@dataclass(frozen=True)
class Report:
    """The checks that a subject passed, and those that were skipped, each with its reason."""

    subject: str
    passed: tuple[str, ...]
    skipped: dict[str, str] = field(hash=False)

    def __str__(self) -> str:
        head = f"{self.subject}: {len(self.passed)} checks passed, {len(self.skipped)} skipped"
        return "\n".join([head, *(f"  {name}: skipped, {reason}" for name, reason in self.skipped.items())])


def named(checks: Iterable[Check], subject: Any) -> Iterator[tuple[str, Callable[[], None]]]:
    """(name, callable) of each check on this subject."""
    for check in checks:
        yield check.__name__, functools.partial(check, subject)


def run(checks: Iterable[tuple[str, Callable[[], None]]], subject: Any) -> Report:
    """Run them all; `Failed` says every promise that was broken, an error within a check counts as one."""
    passed: list[str] = []
    skipped: dict[str, str] = {}
    broken: list[str] = []
    for name, check in checks:
        try:
            check()
        except Skipped as reason:
            skipped[name] = str(reason)
        except Exception as error:
            kind = "" if isinstance(error, Failed) else f"{type(error).__name__}: "
            broken.append(f"  {name}: {kind}{error}")
        else:
            passed.append(name)
    if broken:
        raise Failed("\n".join([f"{subject!r} breaks {len(broken)} of its promises", *broken]))
    return Report(repr(subject), tuple(passed), skipped)


def hold(kept: Any, promise: str) -> None:
    """The promise, which the subject broke unless `kept`."""
    if not bool(kept):
        raise Failed(promise)


def skip(reason: str) -> NoReturn:
    """There is nothing here to hold the subject to."""
    raise Skipped(reason)


def needs(thing: Any, *names: str) -> None:
    """Skip what asks for methods that the subject does not offer."""
    for name in names:
        if not hasattr(thing, name):
            skip(f"{type(thing).__name__} has no {name}")


def refuses(call: Callable[[], Any], what: str) -> None:
    """A ValueError, or a subclass, is what a bad value meets."""
    try:
        call()
    except ValueError:
        return
    except Exception as error:
        raise Failed(f"{what} must be refused with a ValueError; got {type(error).__name__}: {error}") from error
    raise Failed(f"{what} must be refused with a ValueError; it was taken")
