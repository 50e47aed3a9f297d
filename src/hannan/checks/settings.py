"""A player at a table, whatever it plays: what a loss looks like, what a move is, and whether it asks for advice.

The losses are fixed in advance, the same whatever the player does: round t has those of stream (11, t).
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from hannan.checks.report import skip
from hannan.mathematics.convex.losses import Linear, Logistic, Loss


class Seat:
    """Arms or experts: a loss is a row of numbers, or the number of the arm that was drawn."""

    #: What a move chooses, and why what is asked of arms cannot be asked of it; "" of arms.
    apart = ""
    #: Whether a move is a point of a set, and a loss a function on it.
    points = False
    advised = False

    def __init__(self, learner: Any, seed: int | None = 0, player: Any = None) -> None:
        self.learner = learner
        self.player = learner.start(seed) if player is None else player
        self.full = bool(getattr(self.player, "sees_all", False))
        self.low: float
        self.high: float
        self.low, self.high = getattr(learner, "loss_range", (0.0, 1.0))
        # A range that is as good as none: losses of ordinary size.
        if self.high - self.low > 1e100:
            self.low, self.high = 0.0, 1.0
        self.gains = bool(getattr(learner, "gains", False))

    @property
    def width(self) -> float:
        """What the widest losses differ by."""
        return float(self.high - self.low)

    @property
    def choices(self) -> int:
        """How many actions a move may have."""
        return int(self.learner.n)

    @property
    def has_a_choice(self) -> bool:
        """Whether moves can differ."""
        return self.choices > 1

    def row(self, fractions: Any) -> Any:
        """Losses at these fractions of the range."""
        return self.low + self.width * np.asarray(fractions)

    def losses(self, t: int) -> Any:
        """The losses of round t."""
        return self.row(np.random.default_rng([11, t]).random(self.choices))

    def act(self, t: int) -> Any:
        """A move."""
        return self.player.act()

    def told(self, move: Any, losses: Any) -> Any:
        """What the player is told of the losses of its round."""
        return losses if self.full else float(losses[self.action(move)])

    def observe(self, move: Any, losses: Any) -> None:
        """Settle a move with the losses of its round."""
        self.player.observe(move, self.told(move, losses))

    def action(self, move: Any) -> Any:
        """What was chosen."""
        return getattr(move, "action", move)

    def paid(self, move: Any, losses: Any) -> float:
        """What a move cost."""
        return float(losses[self.action(move)])

    def possible(self, move: Any) -> bool:
        """Whether the game has such a move."""
        return bool(0 <= self.action(move) < self.choices)

    def step(self, t: int) -> Any:
        """One round; what was played."""
        move = self.act(t)
        self.observe(move, self.losses(t))
        return self.action(move), getattr(move, "probability", None)

    def run(self, start: int, stop: int) -> list[Any]:
        """Rounds start..stop-1."""
        return [self.step(t) for t in range(start, stop)]

    def game(self, rounds: int) -> dict[str, Any]:
        """The same rounds as `hannan.play` takes them."""
        return {"losses": np.array([self.losses(t) for t in range(rounds)])}


class AdvisedSeat(Seat):
    """Bandits with experts: a move is drawn on the advice of the round, actions or distributions over them."""

    advised = True

    @property
    def choices(self) -> int:
        return int(self.learner.actions)

    @property
    def has_a_choice(self) -> bool:
        return self.choices > 1 and int(self.learner.experts) > 1

    def advice(self, t: int) -> Any:
        """An action each."""
        return np.random.default_rng([13, t]).integers(self.choices, size=self.learner.experts)

    def act(self, t: int) -> Any:
        if t % 3 == 0:
            rng = np.random.default_rng([13, t])
            return self.player.act(rng.dirichlet(np.ones(self.choices), self.learner.experts))
        return self.player.act(self.advice(t))

    def game(self, rounds: int) -> dict[str, Any]:
        return {**super().game(rounds), "advice": np.array([self.advice(t) for t in range(rounds)])}


class DecisionSeat(Seat):
    """Decisions made of components: a loss is a number for each, or for each that was chosen."""

    apart = "its moves are sets of components"

    def told(self, move: Any, losses: Any) -> Any:
        return losses if self.full else losses[list(move.action)]

    def paid(self, move: Any, losses: Any) -> float:
        return float(losses[list(move.action)].sum())

    def possible(self, move: Any) -> bool:
        chosen = np.zeros(self.choices)
        chosen[list(move.action)] = 1.0
        # It is its own cheapest: components outside cost more than all inside together.
        best = self.learner.decisions.best(np.where(chosen > 0.0, 1e-3, 1.0 + self.choices))
        return bool((best == chosen).all())


class ConvexSeat(Seat):
    """Points of a convex set: a loss is a function on it, linear or logistic, whichever the learner admits."""

    apart = "its moves are points of a set"
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
        skip("none of the losses tried is one that it admits")

    @property
    def has_a_choice(self) -> bool:
        return float(self.learner.domain.radius) > 0.0

    def losses(self, t: int) -> Any:
        return self._sequence[t]

    def row(self, fractions: Any) -> Any:
        skip(self.apart)

    def told(self, move: Any, losses: Any) -> Any:
        return losses

    def paid(self, move: Any, losses: Any) -> float:
        return float(losses.value(np.array(move.action)))

    def possible(self, move: Any) -> bool:
        if getattr(self.learner, "accuracy", None) is not None:
            skip("its moves carry noise of their own, and may leave the set")
        return bool(self.learner.domain.contains(np.array(move.action)))

    def game(self, rounds: int) -> dict[str, Any]:
        return {"losses": self._sequence[:rounds]}


def seat(learner: Any, seed: int | None = 0, player: Any = None) -> Seat:
    """The seat of a learner; skips one that has no live player."""
    if not hasattr(learner, "start"):
        skip(f"{type(learner).__name__} has no start: it plays whole games only")
    kind = Seat
    for mark, other in (("domain", ConvexSeat), ("decisions", DecisionSeat), ("experts", AdvisedSeat)):
        if hasattr(learner, mark):
            kind = other
            break
    return kind(learner, seed, player)


def of_arms(learner: Any) -> Seat:
    """The seat of a learner of arms or experts, with advice or without."""
    taken = seat(learner)
    if taken.apart:
        skip(taken.apart)
    return taken


def with_tickets(learner: Any) -> Seat:
    """The seat of a learner whose moves are tickets, so that losses may come late."""
    taken = seat(learner)
    if not hasattr(taken.act(0), "action"):
        skip("its moves are plain numbers, no tickets: losses must come in order")
    return seat(learner)


def state(player: Any) -> Any:
    """Everything that the player remembers: what it would save, or else what it shows."""
    if hasattr(player, "save"):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "player"
            player.save(path)
            return path.read_bytes()
    shown = [getattr(player, name)() for name in ("distribution", "certificate") if hasattr(player, name)]
    return repr([*shown, getattr(player, "open_moves", None)])
