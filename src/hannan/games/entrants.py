"""Entrants: everything that `hn.compare` and `hn.sweep` take for a learner, built for the environment it meets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hannan.games.environments import Environment
from hannan.games.own import built, is_class, is_factory, is_player, stated_n
from hannan.learners.names import Numbers, parse
from hannan.learners.names import learner as named


@dataclass(frozen=True, eq=False)
class Entrant:
    """A learner by name: `given` is a learner, a text of `hannan.learners.names`, a class with act and observe, or a
    factory that returns one of these or a player. `most_runs` is for those that take milliseconds per round."""

    name: str
    given: Any
    most_runs: int | None = None

    def built(self, where: Environment, n: int, rounds: int) -> Any:
        """The learner for n arms (or actions) and so many rounds."""
        try:
            return self._built(where, n, rounds)
        except (ValueError, TypeError) as reason:
            raise ValueError(f"learner {self.name!r} in environment {where.name!r}: {reason}") from None

    def _built(self, where: Environment, n: int, rounds: int) -> Any:
        given = self.given
        if isinstance(given, type) or is_factory(given):
            given = built(given, n, rounds)
        if isinstance(given, str):
            numbers = Numbers(rounds=rounds)
            if parse(given).kind == "expert-bandit":
                if where.experts is None:
                    raise ValueError(f"an expert-bandit needs advice, which the environment has not; got {given!r}")
                return named(given, where.experts, actions=n, numbers=numbers)
            return named(given, n, numbers=numbers)
        return given

    @property
    def n(self) -> int | None:
        """The number of arms that it brings with it."""
        if isinstance(self.given, (str, type)):
            return None
        return stated_n(self.given)


def entrant(name: str, given: Any) -> Entrant:
    """The entrant that was meant; a name that the grammar does not know is refused here.

    >>> entrant("ours", "bandit:tsallis").given
    'bandit:tsallis'
    """
    if isinstance(given, Entrant):
        return given
    if isinstance(given, str):
        try:
            parse(given)
        except ValueError as reason:
            raise ValueError(f"learner {name!r}: {reason}") from None
    elif isinstance(given, type):
        if not is_class(given):
            raise ValueError(f"learner {name!r}: a class must have act and observe; got {given.__name__}")
    elif not (hasattr(given, "start") or is_factory(given)):
        hint = ". Pass its class or a function that makes it, so that each run has a new one" * is_player(given)
        raise ValueError(
            f"learner {name!r} must be a learner, its text such as 'bandit:tsallis', a class with act and observe, or "
            f"a function of (n, rounds); got {given!r}{hint}"
        )
    return Entrant(name, given)
