"""Arenas of the tournament: all adversaries of the library, and tables of losses."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from benchmarks.tournament.rules import Arena, Setting, Size
from hannan import adversaries
from hannan.learners.fpl import Decisions, MSets, ShortestPaths
from hannan.validation import Array

#: Number of experts in the setting with expert advice.
EXPERTS = 16
#: Adversaries of combinatorial games, and number of vertices per side of the grid for paths.
COMBINED = ("stochastic", "stochastically_constrained", "switching", "small_best_loss", "experts_lower_bound")
GRID = 4


def arenas(setting: Setting, size: Size, seed: int, tables: Mapping[str, Array] | None = None) -> list[Arena]:
    """Return all arenas of a setting; tables are truncated to `size.most_rows` rows."""
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
    """Yield arenas for pairs out of n and for paths in a grid; tables are used with pairs."""
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
    """Return the paths in a grid of side x side vertices that go down or to the right.

    >>> grid(3).d, grid(3).most, len(grid(3).every())
    (12, 4, 6)
    """
    down = [((i, j), (i + 1, j)) for i in range(side - 1) for j in range(side)]
    right = [((i, j), (i, j + 1)) for i in range(side) for j in range(side - 1)]
    return ShortestPaths((*down, *right), (0, 0), (side - 1, side - 1))


def no_graphs() -> str | None:
    """Return the reason why paths are omitted, or None."""
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
    """Return advice of one expert per action, which never changes, and of further experts with increasing skill.

    The skill is the probability, from 0 to 3/4, of advising the action with the smallest loss of the round. The best
    expert is therefore better than every fixed action.
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
