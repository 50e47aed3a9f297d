"""Where the tournament is played: every adversary of the package, and tables of your own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from benchmarks.tournament.rules import Arena, Setting, Size
from hannan import adversaries
from hannan.learners.decisions.sets import Decisions, MSets, ShortestPaths
from hannan.validation import Array

#: Experts of the expert bandits' tournament.
EXPERTS = 16
#: Combinatorial games are played on these; the grid of paths has so many corners a side.
COMBINED = ("stochastic", "stochastically_constrained", "switching", "small_best_loss", "experts_lower_bound")
GRID = 4


def arenas(setting: Setting, size: Size, seed: int, tables: Mapping[str, Array] | None = None) -> list[Arena]:
    """Every game of a setting; tables are cut to their first `size.most_rows` rows."""
    own = {name: np.ascontiguousarray(losses[: size.most_rows]) for name, losses in (tables or {}).items()}
    if setting == "combinatorial":
        return list(_combinatorial(size, seed, own))
    found = []
    actions = size.n // 2 if setting == "expert_bandit" else size.n
    for name, make in adversaries.all_adversaries().items():
        losses = make(size.rounds, actions, seed=seed)
        advice = advised(losses, EXPERTS, seed) if setting == "expert_bandit" else None
        found.append(Arena(setting, name.replace("_", " "), losses, advice))
    if setting == "experts":
        empty = np.zeros((size.greedy, size.n))
        found.append(Arena(setting, "greedy", empty, answers=_greedy(size.greedy)))
    for name, losses in own.items():
        heard = advised(losses, max(EXPERTS, 2 * losses.shape[1]), seed) if setting == "expert_bandit" else None
        found.append(Arena(setting, name, losses, heard, real=True))
    return found


def _combinatorial(size: Size, seed: int, tables: Mapping[str, Array]) -> Iterator[Arena]:
    """Pairs out of n, and paths across a grid; tables by pairs."""
    makers = adversaries.all_adversaries()
    for title, decisions in _decisions(size.n):
        for name in COMBINED:
            losses = makers[name](size.rounds, decisions.d, seed=seed)
            yield Arena("combinatorial", f"{title}, {name.replace('_', ' ')}", losses, decisions=decisions)
    for name, losses in tables.items():
        if losses.shape[1] > 2:
            yield Arena("combinatorial", f"pairs, {name}", losses, real=True, decisions=MSets(losses.shape[1], 2))


def _decisions(n: int) -> Iterator[tuple[str, Decisions]]:
    yield "pairs", MSets(n, 2)
    if no_graphs() is None:
        yield "paths", grid(GRID)


def grid(side: int) -> ShortestPaths:
    """Paths across a square of side x side corners, down or to the right.

    >>> grid(3).d, grid(3).most, len(grid(3).every())
    (12, 4, 6)
    """
    down = [((i, j), (i + 1, j)) for i in range(side - 1) for j in range(side)]
    right = [((i, j), (i, j + 1)) for i in range(side) for j in range(side - 1)]
    return ShortestPaths((*down, *right), (0, 0), (side - 1, side - 1))


def no_graphs() -> str | None:
    """Why no paths are played, if they are not."""
    try:
        grid(2)
    except ModuleNotFoundError as reason:
        return str(reason)
    return None


def _greedy(rounds: int) -> Callable[[Any], Array]:
    def answers(learner: Any) -> Array:
        return adversaries.greedy(learner, rounds)

    return answers


def advised(losses: Array, experts: int, seed: int) -> Any:
    """Advice: one expert stays with each action; the others are right more and more often, from chance to 3 in 4.

    "Right" is the action of least loss in that round, so the best of them beats every single action.
    """
    rounds, actions = losses.shape
    rng = np.random.default_rng([seed, 5])
    advice = rng.integers(0, actions, (rounds, experts))
    advice[:, :actions] = np.arange(actions)
    others = experts - actions
    skill = np.linspace(0.0, 0.75, others)
    right = rng.random((rounds, others)) < skill
    best = losses.argmin(axis=1)[:, None]
    advice[:, actions:] = np.where(right, best, advice[:, actions:])
    return advice.astype(np.uint8)
