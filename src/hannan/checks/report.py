"""Results of checks: no exception if a check passes, `Failed` with the violation, or `Skipped` with a reason."""

from __future__ import annotations

import functools
import unittest
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NoReturn

#: A check is a function of its subject, and has the name of the function.
Check = Callable[[Any], None]


class Failed(AssertionError):
    """Raised by a check if the learner or distribution violates a rule."""


class Skipped(unittest.SkipTest):
    """Raised by a check that does not apply, with the reason; pytest and unittest report the test as skipped."""


@dataclass(frozen=True)
class Report:
    """Result of `check_learner` or `check_law` if no check failed.

    Attributes
    ----------
    subject : str
        Repr of the learner or distribution.
    passed : tuple of str
        Names of the checks that passed.
    skipped : dict of str to str
        Names of the checks that were skipped, each with its reason.

    Examples
    --------
    >>> import hannan as hn
    >>> len(hn.checks.check_learner(hn.Experts(3)).passed) > 20
    True
    """

    subject: str
    passed: tuple[str, ...]
    skipped: dict[str, str] = field(hash=False)

    def __str__(self) -> str:
        head = f"{self.subject}: {len(self.passed)} checks passed, {len(self.skipped)} skipped"
        return "\n".join([head, *(f"  {name}: skipped, {reason}" for name, reason in self.skipped.items())])


def named(checks: Iterable[Check], subject: Any) -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield (name, callable) for each check of this subject."""
    for check in checks:
        yield check.__name__, functools.partial(check, subject)


def run(checks: Iterable[tuple[str, Callable[[], None]]], subject: Any) -> Report:
    """Run all checks; raise `Failed` with all violations, including unexpected exceptions."""
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
        raise Failed("\n".join([f"{subject!r} fails {len(broken)} checks", *broken]))
    return Report(repr(subject), tuple(passed), skipped)


def hold(kept: Any, promise: str) -> None:
    """Raise `Failed` with the rule unless `kept` is true."""
    if not bool(kept):
        raise Failed(promise)


def skip(reason: str) -> NoReturn:
    """Raise `Skipped`: the check does not apply."""
    raise Skipped(reason)


def needs(thing: Any, *names: str) -> None:
    """Raise `Skipped` if the subject lacks one of the named methods."""
    for name in names:
        if not hasattr(thing, name):
            skip(f"{type(thing).__name__} has no {name}")


def rejects(call: Callable[[], Any], what: str) -> None:
    """Raise `Failed` unless the call raises a ValueError."""
    try:
        call()
    except ValueError:
        return
    except Exception as error:
        raise Failed(f"{what} must raise a ValueError; got {type(error).__name__}: {error}") from error
    raise Failed(f"{what} must raise a ValueError; it was accepted")
