"""Where the tournament is played: every adversary of the package, and real data where its packages are installed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from hannan import adversaries
from hannan.games.tournament.contest import Arena, Setting, Size
from hannan.learners.decisions.sets import Decisions, MSets, ShortestPaths
from hannan.refusals import Array
from hannan.tables import examples

#: Experts of the expert bandits' tournament.
EXPERTS = 16
#: Combinatorial games are played on these; the grid of paths has so many corners a side.
COMBINED = ("stochastic", "stochastically_constrained", "switching", "small_best_loss", "experts_lower_bound")
GRID = 4


def arenas(setting: Setting, size: Size, seed: int) -> list[Arena]:
    """Every game of a setting."""
    if setting == "combinatorial":
        return list(_combinatorial(size, seed))
    found = []
    actions = size.n // 2 if setting == "expert_bandit" else size.n
    for name, make in adversaries.all_adversaries().items():
        losses = make(size.rounds, actions, seed=seed)
        advice = advised(losses, EXPERTS, seed) if setting == "expert_bandit" else None
        found.append(Arena(setting, name.replace("_", " "), losses, advice))
    if setting == "experts":
        empty = np.zeros((size.greedy, size.n))
        found.append(Arena(setting, "greedy", empty, answers=_greedy(size.greedy)))
    for name, losses, advice in _real():
        if setting == "expert_bandit" and advice is None:
            continue
        losses = np.ascontiguousarray(losses[: size.most_rows])
        heard = advice[: size.most_rows] if setting == "expert_bandit" else None
        found.append(Arena(setting, name, losses, heard, real=True))
    return found


def _combinatorial(size: Size, seed: int) -> Iterator[Arena]:
    """Pairs out of n, and paths across a grid; real data by pairs."""
    makers = adversaries.all_adversaries()
    for title, decisions in _decisions(size.n):
        for name in COMBINED:
            losses = makers[name](size.rounds, decisions.d, seed=seed)
            yield Arena("combinatorial", f"{title}, {name.replace('_', ' ')}", losses, decisions=decisions)
    for name, losses, _ in _real():
        losses, pairs = np.ascontiguousarray(losses[: size.most_rows]), MSets(losses.shape[1], 2)
        yield Arena("combinatorial", f"pairs, {name}", losses, real=True, decisions=pairs)


def _decisions(n: int) -> Iterator[tuple[str, Decisions]]:
    yield "pairs", MSets(n, 2)
    if _no_graphs() is None:
        yield "paths", grid(GRID)


def grid(side: int) -> ShortestPaths:
    """Paths across a square of side x side corners, down or to the right.

    >>> grid(3).d, grid(3).most, len(grid(3).every())
    (12, 4, 6)
    """
    down = [((i, j), (i + 1, j)) for i in range(side - 1) for j in range(side)]
    right = [((i, j), (i, j + 1)) for i in range(side) for j in range(side - 1)]
    return ShortestPaths((*down, *right), (0, 0), (side - 1, side - 1))


def _no_graphs() -> str | None:
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


def _real() -> Iterator[tuple[str, Array, Any]]:
    """(name, losses in [0, 1], advice or None) of the sets that are installed."""
    for make in (_electricity, _approval, _flights, _stocks):
        try:
            yield make()
        except examples.NotInstalled:
            continue


def missing() -> list[str]:
    """What is not installed, and how to install it."""
    reasons = [reason for reason in (_no_graphs(),) if reason is not None]
    for make in (_electricity, _approval, _flights, _stocks):
        try:
            make()
        except examples.NotInstalled as reason:
            reasons.append(str(reason))
    return reasons


def _errors(table: dict[str, Any]) -> Array:
    """|forecast - y| of every expert, the largest of all being 1."""
    y = np.asarray(table["y"], dtype=np.float64)
    names = [name for name in table if name not in ("y", "day", "half_hour")]
    errors = np.abs(np.column_stack([table[name] for name in names]) - y[:, None])
    return np.asarray(errors / errors.max())


def _electricity() -> tuple[str, Array, Any]:
    return "electricity demand", _errors(examples.electricity()), None


def _approval() -> tuple[str, Array, Any]:
    return "approval polls", _errors(examples.approval()), None


def _flights() -> tuple[str, Array, Any]:
    losses, advice, _ = examples.flights()
    return "flight delays", losses, advice


def _stocks() -> tuple[str, Array, Any]:
    ratios, _ = examples.stocks()
    return "stocks", (ratios.max() - ratios) / (ratios.max() - ratios.min()), None
