"""Adapters that let the same checks play arms, expert advice, decisions and convex games.

The losses are fixed in advance: those of round t come from the random stream (11, t) and do not depend on the player.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from hannan.checks.report import skip
from hannan.mathematics.convex.losses import Linear, Logistic, Loss


class Adapter:
    """Player of arms or experts; a loss is a row of numbers, or the loss of the arm drawn."""

    #: Reason why checks of arms do not apply; empty for arms.
    not_arms = ""
    #: True if moves are points of a convex set and losses are functions.
    points = False
    advised = False

    def __init__(self, learner: Any, seed: int | None = 0, player: Any = None) -> None:
        self.learner = learner
        self.player = learner.start(seed) if player is None else player
        self.full = bool(getattr(self.player, "sees_all", False))
        self.low: float
        self.high: float
        self.low, self.high = getattr(learner, "loss_range", (0.0, 1.0))
        # The range is practically infinite: use losses in [0, 1].
        if self.high - self.low > 1e100:
            self.low, self.high = 0.0, 1.0
        self.gains = bool(getattr(learner, "gains", False))

    @property
    def width(self) -> float:
        """Difference of the largest and the smallest loss."""
        return float(self.high - self.low)

    @property
    def choices(self) -> int:
        """Number of actions of a move."""
        return int(self.learner.n)

    @property
    def has_a_choice(self) -> bool:
        """True if moves can differ."""
        return self.choices > 1

    def row(self, fractions: Any) -> Any:
        """Return losses at the given fractions of the loss range."""
        return self.low + self.width * np.asarray(fractions)

    def losses(self, t: int) -> Any:
        """Return the losses of round t."""
        return self.row(np.random.default_rng([11, t]).random(self.choices))

    def act(self, t: int) -> Any:
        """Return the move of round t."""
        return self.player.act()

    def observed(self, move: Any, losses: Any) -> Any:
        """Return the part of the losses that the player observes."""
        return losses if self.full else float(losses[self.action(move)])

    def observe(self, move: Any, losses: Any) -> None:
        """Settle a move with the losses of its round."""
        self.player.observe(move, self.observed(move, losses))

    def action(self, move: Any) -> Any:
        """Return the action of a move."""
        return getattr(move, "action", move)

    def cost(self, move: Any, losses: Any) -> float:
        """Return the loss of a move."""
        return float(losses[self.action(move)])

    def is_valid(self, move: Any) -> bool:
        """Return whether the move is valid in the game."""
        return bool(0 <= self.action(move) < self.choices)

    def step(self, t: int) -> Any:
        """Play one round and return (action, probability)."""
        move = self.act(t)
        self.observe(move, self.losses(t))
        return self.action(move), getattr(move, "probability", None)

    def run(self, start: int, stop: int) -> list[Any]:
        """Play rounds start..stop-1 and return their steps."""
        return [self.step(t) for t in range(start, stop)]

    def play_arguments(self, rounds: int) -> dict[str, Any]:
        """Return the same rounds as arguments of `hannan.play`."""
        return {"losses": np.array([self.losses(t) for t in range(rounds)])}


class AdvisedAdapter(Adapter):
    """Player of a bandit with expert advice: actions, or distributions over actions."""

    advised = True

    @property
    def choices(self) -> int:
        return int(self.learner.actions)

    @property
    def has_a_choice(self) -> bool:
        return self.choices > 1 and int(self.learner.experts) > 1

    def advice(self, t: int) -> Any:
        """Return one advised action per expert."""
        return np.random.default_rng([13, t]).integers(self.choices, size=self.learner.experts)

    def act(self, t: int) -> Any:
        if t % 3 == 0:
            rng = np.random.default_rng([13, t])
            return self.player.act(rng.dirichlet(np.ones(self.choices), self.learner.experts))
        return self.player.act(self.advice(t))

    def play_arguments(self, rounds: int) -> dict[str, Any]:
        return {**super().play_arguments(rounds), "advice": np.array([self.advice(t) for t in range(rounds)])}


class DecisionAdapter(Adapter):
    """Player of decisions that are sets of components, with one loss per component or per chosen component."""

    not_arms = "moves are sets of components"

    def observed(self, move: Any, losses: Any) -> Any:
        return losses if self.full else losses[list(move.action)]

    def cost(self, move: Any, losses: Any) -> float:
        return float(losses[list(move.action)].sum())

    def is_valid(self, move: Any) -> bool:
        chosen = np.zeros(self.choices)
        chosen[list(move.action)] = 1.0
        # The move is the best decision if each component outside of it costs more than all components in it.
        best = self.learner.decisions.best(np.where(chosen > 0.0, 1e-3, 1.0 + self.choices))
        return bool((best == chosen).all())


class ConvexAdapter(Adapter):
    """Player of points of a convex set; losses are linear or logistic functions, whichever the learner admits."""

    not_arms = "moves are points of a convex set"
    points = True

    def __init__(self, learner: Any, seed: int | None = 0, player: Any = None) -> None:
        super().__init__(learner, seed, player)
        self.full = True
        rng, d = np.random.default_rng(11), int(learner.domain.d)
        z = rng.standard_normal((200, d))
        z *= 0.9 * learner.lipschitz / np.linalg.norm(z, axis=1, keepdims=True)
        labels = rng.integers(2, size=len(z)).astype(bool)
        self._sequence = self._admitted([Linear(z), Linear(np.abs(z)), Logistic(z, labels), Logistic(0.1 * z, labels)])

    def _admitted(self, sequences: list[Loss]) -> Loss:
        for losses in sequences:
            try:
                self.learner.admit(losses)
            except ValueError:
                continue
            return losses
        skip("the learner admits none of the linear and logistic losses tried")

    @property
    def has_a_choice(self) -> bool:
        return float(self.learner.domain.radius) > 0.0

    def losses(self, t: int) -> Any:
        return self._sequence[t]

    def row(self, fractions: Any) -> Any:
        skip(self.not_arms)

    def observed(self, move: Any, losses: Any) -> Any:
        return losses

    def cost(self, move: Any, losses: Any) -> float:
        return float(losses.value(np.array(move.action)))

    def is_valid(self, move: Any) -> bool:
        if getattr(self.learner, "accuracy", None) is not None:
            skip("moves contain noise and may be outside of the set")
        return bool(self.learner.domain.contains(np.array(move.action)))

    def play_arguments(self, rounds: int) -> dict[str, Any]:
        return {"losses": self._sequence[:rounds]}


def adapt(learner: Any, seed: int | None = 0, player: Any = None) -> Adapter:
    """Return the adapter of a learner; skip the check if the learner has no player."""
    if not hasattr(learner, "start"):
        skip(f"{type(learner).__name__} has no start and plays complete games only")
    kind = Adapter
    for mark, other in (("domain", ConvexAdapter), ("decisions", DecisionAdapter), ("experts", AdvisedAdapter)):
        if hasattr(learner, mark):
            kind = other
            break
    return kind(learner, seed, player)


def of_arms(learner: Any) -> Adapter:
    """Return the adapter of a learner with arms or experts; skip the check for other learners."""
    adapter = adapt(learner)
    if adapter.not_arms:
        skip(adapter.not_arms)
    return adapter


def with_tickets(learner: Any) -> Adapter:
    """Return the adapter of a learner whose moves identify their round, as needed for delayed losses."""
    adapter = adapt(learner)
    if not hasattr(adapter.act(0), "action"):
        skip("moves are plain numbers, not tickets: losses must be observed in order")
    return adapt(learner)


def state(player: Any) -> Any:
    """Return the state of a player: the file that it saves, or else its visible attributes."""
    if hasattr(player, "save"):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "player"
            player.save(path)
            return path.read_bytes()
    shown = [getattr(player, name)() for name in ("distribution", "certificate") if hasattr(player, name)]
    return repr([*shown, getattr(player, "open_moves", None)])
