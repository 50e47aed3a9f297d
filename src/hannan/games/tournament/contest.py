"""The tournament: every learner on every adversary and on real data, setting by setting.

A `Contestant` is a learner for given sizes, and what it promises; an `Arena` is a loss sequence in [0, 1] (with
advice, for bandits with experts; with a set of decisions, for combinatorial games). `hold` plays them all and yields
an `Outcome` a game.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from hannan import adversaries
from hannan.games.cells import Cell, interval
from hannan.games.compare import play_all
from hannan.games.entrants import Entrant
from hannan.games.environments import Environment
from hannan.games.play import play
from hannan.learners.decisions.learner import Combinatorial
from hannan.learners.decisions.sets import Decisions
from hannan.refusals import Array

Setting = Literal["experts", "bandit", "expert_bandit", "combinatorial"]
SETTINGS: tuple[Setting, ...] = ("experts", "bandit", "expert_bandit", "combinatorial")


@dataclass(frozen=True)
class Size:
    """How much is played."""

    n: int
    rounds: int
    runs: int
    #: Real data are cut here.
    most_rows: int
    #: The greedy adversary answers a learner round by round, by hand.
    greedy: int

    @classmethod
    def of(cls, quick: bool) -> Size:
        """The small one, or the full one."""
        return cls(8, 1000, 8, 1500, 100) if quick else cls(8, 10_000, 48, 20_000, 300)


@dataclass(frozen=True)
class Contestant:
    """A learner by name and its promise, in words: `build(n, rounds)`, `build(actions, experts, rounds)`, or
    `build(decisions, rounds)`."""

    setting: Setting
    name: str
    build: Callable[..., Any]
    promise: str
    #: Those that take milliseconds a round play fewer runs.
    most_runs: int = 1_000_000


@dataclass(frozen=True, eq=False)
class Arena:
    """Losses (T, n), advice or None, decisions or None; `answers` stands for losses that depend on the learner."""

    setting: Setting
    name: str
    losses: Array
    advice: Any = None
    real: bool = False
    answers: Callable[[Any], Array] | None = None
    decisions: Decisions | None = None

    def environment(self) -> Environment:
        """The arena as a comparison knows it."""
        rounds, n = (int(k) for k in self.losses.shape)
        own = self.answers is not None or self.decisions is not None
        return Environment(
            self.name, "oblivious", n, rounds, lambda asked: self.losses, advice=self.advice,
            answers=self.losses_of if own else None, about=self,
        )  # fmt: skip

    def losses_of(self, learner: Any) -> Array:
        """What this learner meets: answers to it; or, where it chooses from a list of decisions, what each costs."""
        if self.answers is not None:
            return self.answers(learner)
        if self.decisions is not None and not isinstance(learner, Combinatorial):
            return np.asarray(self.losses @ self.decisions.every().T)
        return self.losses


@dataclass(frozen=True, eq=False)
class Outcome:
    """One game: the regret of every run (one number where the expectation is exact), the bound, the time."""

    setting: Setting
    learner: str
    adversary: str
    real: bool
    rounds: int
    regrets: Array
    bound: float | None
    source: str
    withheld: str
    microseconds: float
    #: Whether the losses were an answer to this very learner, so that others met other losses.
    answered: bool = False
    #: Against whom the bound holds.
    against: str = ""

    @property
    def regret(self) -> float:
        """The mean regret."""
        return float(self.regrets.mean())

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Of the mean regret; a point where the expectation is exact."""
        return interval(self.regrets, level)

    @property
    def kept(self) -> bool | None:
        """Whether the bound was kept, as far as the runs can tell; None where none is proved."""
        return None if self.bound is None else self.interval()[0] <= self.bound * (1.0 + 1e-12)


def hold(
    quick: bool = False, seed: int = 0, settings: tuple[Setting, ...] = SETTINGS, size: Size | None = None
) -> Iterator[Outcome]:
    """Play everything, one comparison a setting; outcomes come as they are ready."""
    from hannan.games.tournament.arenas import arenas
    from hannan.games.tournament.field import contestants

    size = size or Size.of(quick)
    for setting in settings:
        games = {arena.name: arena for arena in arenas(setting, size, seed)}
        who = contestants(setting)
        speeds = {contestant.name: _microseconds(contestant, next(iter(games.values()))) for contestant in who}
        entrants = [_Entered(contestant.name, contestant, contestant.most_runs) for contestant in who]
        places = [arena.environment() for arena in games.values()]
        for cell in play_all(entrants, places, size.runs, None, seed):
            yield _outcome(cell, games[cell.environment], speeds[cell.learner])


class _Entered(Entrant):
    """A contestant, built for the arena that it meets."""

    def _built(self, where: Environment, n: int, rounds: int) -> Any:
        return _learner(self.given, where.about, rounds)


def _learner(contestant: Contestant, arena: Arena, rounds: int) -> Any:
    n = arena.losses.shape[1]
    if arena.decisions is not None:
        return contestant.build(arena.decisions, rounds)
    if contestant.setting == "expert_bandit":
        return contestant.build(n, arena.advice.shape[1], rounds)
    return contestant.build(n, rounds)


def _outcome(cell: Cell, arena: Arena, speed: float) -> Outcome:
    regrets = cell.final if cell.exact is None else cell.exact
    return Outcome(
        arena.setting, cell.learner, cell.environment, arena.real, cell.rounds, regrets, cell.last_bound, cell.source,
        cell.withheld, speed, arena.answers is not None, cell.against,
    )  # fmt: skip


def _microseconds(contestant: Contestant, arena: Arena, rounds: int = 1000) -> float:
    """Of a round of one run on one thread, the best of three games; compilation is not counted."""
    learner = _learner(contestant, arena, min(len(arena.losses), rounds))
    losses = arena.losses_of(learner)[:rounds]
    advice = None if arena.advice is None else arena.advice[:rounds]
    best = np.inf
    for _ in range(4):
        began = time.perf_counter()
        play(learner, losses, runs=1, advice=advice, threads=1)
        best = min(best, time.perf_counter() - began)
    return float(best) / len(losses) * 1e6


def known_adversaries() -> list[str]:
    """The names of the sequences that are functions of (rounds, n, seed)."""
    return list(adversaries.all_adversaries())
