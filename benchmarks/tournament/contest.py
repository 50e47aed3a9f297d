"""Games of the tournament: every learner against every adversary and on tables, for each setting.

A `Contestant` is a learner with its guarantee. An `Arena` is a loss sequence in [0, 1], with advice for bandits with
experts, or with a set of decisions for combinatorial games. `hold` yields one `Outcome` per game.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from benchmarks.tournament.arenas import arenas
from benchmarks.tournament.field import contestants
from benchmarks.tournament.rules import SETTINGS, Arena, Contestant, Outcome, Setting, Size
from hannan import adversaries
from hannan.games.compare import play_all
from hannan.games.compare.environments import Environment
from hannan.games.compare.numbers import Cell, Entrant
from hannan.games.play import play
from hannan.validation import Array


def hold(
    quick: bool = False,
    seed: int = 0,
    settings: tuple[Setting, ...] = SETTINGS,
    size: Size | None = None,
    tables: Mapping[str, Array] | None = None,
) -> Iterator[Outcome]:
    """Play all games and yield their outcomes, one comparison per setting.

    `tables` contains user-defined losses in [0, 1] by name, with one column per arm. They are used in every setting.
    """
    size = size or Size.of(quick)
    for setting in settings:
        games = {arena.name: arena for arena in arenas(setting, size, seed, tables or {})}
        who = contestants(setting)
        speeds = {contestant.name: _microseconds(contestant, next(iter(games.values()))) for contestant in who}
        entrants = [_Entered(contestant.name, contestant, contestant.most_runs) for contestant in who]
        places = [arena.environment() for arena in games.values()]
        for cell in play_all(entrants, places, size.runs, None, seed):
            yield _outcome(cell, games[cell.environment], speeds[cell.learner])


class _Entered(Entrant):
    """Contestant, built for the arena of the game."""

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
        setting=arena.setting,
        learner=cell.learner,
        adversary=cell.environment,
        real=arena.real,
        rounds=cell.rounds,
        regrets=regrets,
        bound=cell.last_bound,
        source=cell.source,
        withheld=cell.withheld,
        microseconds=speed,
        answered=arena.answers is not None,
        against=cell.against,
    )


def _microseconds(contestant: Contestant, arena: Arena, rounds: int = 1000) -> float:
    """Return the time per round of one run on one thread, the best of three games after a first one."""
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
    """Return the names of the sequences that are functions of (rounds, n, seed)."""
    return list(adversaries.all_adversaries())
