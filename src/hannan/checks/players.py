"""Checks of players: distribution, moves, losses, certificates, and delayed feedback.

Adapters let the same checks play arms, expert advice, decisions and convex games. The losses are fixed in advance:
those of round t come from the random stream (11, t) and do not depend on the player.
"""

from __future__ import annotations

import math
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from hannan.checks.report import Check, hold, needs, rejects, skip
from hannan.mathematics.convex.losses import Linear, Logistic, Loss
from hannan.players.tickets import DELAYED
from hannan.validation import Array


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
        return float(self.learner.decisions.paid(losses[list(move.action)]))

    def is_valid(self, move: Any) -> bool:
        chosen = np.zeros(self.choices)
        chosen[list(move.action)] = 1.0
        # The move is the best decision if each component outside of it costs more than all components in it.
        best = self.learner.decisions.best(np.where(chosen > 0.0, 1e-3, 1.0 + self.choices))
        return bool(((best > 0.0) == (chosen > 0.0)).all())


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


def moves_are_valid(learner: Any) -> None:
    """Check that each move is an arm, decision or point of the game, with a probability in (0, 1]."""
    adapter = adapt(learner)
    for t in range(60):
        move = adapter.act(t)
        hold(adapter.is_valid(move), f"move must be valid in the game; got {move!r}")
        for probability in (getattr(move, "probability", None), *getattr(move, "probabilities", ())):
            valid = probability is None or 0.0 < probability <= 1.0
            hold(valid, f"the probability of a move must be in (0, 1]; got {probability!r}")
        adapter.observe(move, adapter.losses(t))


def move_probability_matches_distribution(learner: Any) -> None:
    """Check that p >= 0 sums to 1, and that each move has the probability given by p."""
    adapter = _distributed(learner)
    for t in range(60):
        p = _simplex(adapter)
        move = adapter.act(t)
        if not adapter.advised and hasattr(move, "probability"):
            found, right = float(move.probability), float(p[adapter.action(move)])
            hold(
                math.isclose(found, right, rel_tol=1e-9),
                f"probability of the move must be {right!r}; got {found!r}",
            )
        adapter.observe(move, adapter.losses(t))


def moves_follow_the_distribution(learner: Any) -> None:
    """Check that the counts of 400 moves are near the sums of p (Azuma-Hoeffding, false-alarm probability 1e-6)."""
    adapter = _distributed(learner)
    if adapter.advised:
        skip("the distribution is over experts, and the moves are actions")
    rounds, n = 400, adapter.choices
    gap = np.zeros(n)
    for t in range(rounds):
        gap -= adapter.player.distribution()
        move = adapter.act(t)
        gap[adapter.action(move)] += 1.0
        adapter.observe(move, adapter.losses(t))
    most = math.sqrt(rounds * math.log(2.0 * n / 1e-6) / 2.0)
    hold(
        np.abs(gap).max() <= most,
        f"counts of moves must differ by at most {most:.1f} from the sums of p; got {np.abs(gap).max():.1f}",
    )


def distribution_keeps_the_state(learner: Any) -> None:
    """Check that calling `distribution` does not change the state or the moves."""
    adapter, other = _distributed(learner), adapt(learner)
    for t in range(30):
        if t % 5 == 0:
            before = state(adapter.player)
            first, second = adapter.player.distribution(), adapter.player.distribution()
            hold((first == second).all(), f"two calls of distribution must agree; got {first} and {second}")
            hold(state(adapter.player) == before, "distribution must not change the state; the state changed")
        adapter.player.distribution()
        hold(adapter.step(t) == other.step(t), "distribution must not change the moves; the moves changed")


def losses_are_not_modified_or_kept(learner: Any) -> None:
    """Check that the player does not modify the losses it observes, and keeps no reference to them."""
    adapter = adapt(learner)
    row = adapter.losses(0)
    if not isinstance(row, np.ndarray):
        skip("losses are functions, which cannot be modified")
    row.setflags(write=False)
    adapter.observe(adapter.act(0), row)
    changed = adapter.losses(1)
    adapter.observe(adapter.act(1), changed)
    hold((changed == adapter.losses(1)).all(), "losses must not be modified; they were")
    before = state(adapter.player)
    changed[:] = adapter.low
    hold(state(adapter.player) == before, "losses must not be kept by reference; modifying them changed the player")


def invalid_losses_are_rejected(learner: Any) -> None:
    """Check that invalid losses raise a ValueError and leave the state unchanged."""
    adapter = adapt(learner)
    adapter.run(0, 5)
    move = adapter.act(5)
    before = state(adapter.player)
    for what, loss in _bad(adapter, move):
        rejects(lambda loss=loss: adapter.player.observe(move, loss), f"a loss of {what}")  # type: ignore[misc]
    hold(state(adapter.player) == before, "a rejected loss must not change the state; the state changed")
    adapter.observe(move, adapter.losses(5))


def _bad(adapter: Adapter, move: Any) -> list[tuple[str, Any]]:
    """Return pairs (description, invalid loss)."""
    if adapter.points:
        # A player that observes only the loss of its point accepts a number.
        function = [("a number", 0.5)] if getattr(adapter.player, "sees_all", True) else []
        return [*function, ("None", None), ("NaN", math.nan), ("text", "0.5")]
    good, low = adapter.observed(move, adapter.losses(0)), adapter.low
    numbers = [math.nan, math.inf, -math.inf, "0.5", None, 1j]
    if math.isfinite(sum(getattr(adapter.learner, "loss_range", (0.0, 1.0)))) and _ranged(adapter):
        numbers += [low - 1e-9 * adapter.width, adapter.high + 1e-9 * adapter.width]
    shapes: list[Any] = [np.full(adapter.choices + 1, low), np.full((1, adapter.choices), low), [], "text"]
    if np.ndim(good) == 0:
        return [(repr(x), x) for x in (*numbers, *shapes, [low], np.full(3, low))]
    return [(f"{x!r} at the end", [*good[:-1], x]) for x in numbers] + [(repr(x), x) for x in shapes]


def _ranged(adapter: Adapter) -> bool:
    low, high = getattr(adapter.learner, "loss_range", (0.0, 1.0))
    return (low, high) == (adapter.low, adapter.high)


def invalid_advice_is_rejected(learner: Any) -> None:
    """Check that invalid advice raises a ValueError and leaves the state unchanged."""
    adapter = adapt(learner)
    if not adapter.advised:
        skip("the learner takes no advice")
    n, k = learner.experts, adapter.choices
    before = state(adapter.player)
    bad = [
        np.full(n, k), np.full(n, -1), np.zeros(n + 1, int), np.zeros(n), np.full((n, k), 2.0 / k),
        np.full((n, k), np.nan), [], "up", None, np.full((n, k + 1), 1.0 / (k + 1)),
    ]  # fmt: skip
    for advice in bad:
        rejects(lambda advice=advice: adapter.player.act(advice), f"advice of {advice!r}")  # type: ignore[misc]
    hold(state(adapter.player) == before, "rejected advice must not change the state; the state changed")


def equal_losses_keep_the_distribution(learner: Any) -> None:
    """Check losses that are all 0, 1 or 1e-300: p stays a distribution, and constant with full information."""
    for value in (0.0, 1.0, 1e-300):
        adapter = _distributed(learner)
        start = adapter.player.distribution()
        row = adapter.row(np.full(adapter.choices, value))
        for t in range(50):
            adapter.observe(adapter.act(t), row)
        p = _simplex(adapter)
        if adapter.full and not getattr(learner, "own_noise", False):
            moved = float(np.abs(p / start - 1.0).max())
            hold(moved < 1e-8, f"equal losses must not change p; the largest relative change is {moved:.3g}")


def worst_arm_is_least_likely(learner: Any) -> None:
    """Check 600 rounds in which one arm has all the losses: p must be smallest for that arm."""
    adapter = _distributed(learner)
    lost = np.zeros(adapter.choices)
    lost[0] = 1.0
    row = adapter.row(1.0 - lost if adapter.gains else lost)
    for t in range(600):
        adapter.observe(adapter.act(t), row)
    p = _simplex(adapter)
    if not adapter.advised and adapter.choices > 1:
        hold(p[0] <= p[1:].min() * (1.0 + 1e-9), f"the arm that always loses must be the least likely; got p = {p}")


def certificate_is_consistent(learner: Any) -> None:
    """Check the number of rounds, the regret, its terms, the stability, and the bound or the reason for its absence."""
    adapter = adapt(learner)
    needs(adapter.player, "certificate")
    rounds = 150
    own = 0.0
    for t in range(rounds):
        move = adapter.act(t)
        adapter.observe(move, adapter.losses(t))
        own += adapter.cost(move, adapter.losses(t))
    certificate = adapter.player.certificate()
    hold(certificate.rounds == rounds, f"a certificate must count {rounds} rounds; got {certificate.rounds}")
    hold(
        (certificate.bound is None) == bool(certificate.withheld),
        "a certificate must have either a bound or the reason why it is withheld",
    )
    prompt = not certificate.largest_delay and DELAYED not in certificate.withheld
    hold(
        prompt,
        f"without delayed losses a certificate must not report a delay; got {certificate.largest_delay}, "
        f"{certificate.withheld!r}",
    )
    hold(certificate.bound is None or certificate.bound.value >= 0.0, f"a bound must be >= 0; got {certificate.bound}")
    slack = 1e-9 * adapter.width * rounds
    if certificate.regret is None:
        # A learner that may never play an arm again has no estimate for it.
        guess = certificate.estimated_regret
        hold(guess is None or math.isfinite(guess), f"an estimated regret must be finite; got {guess!r}")
        if getattr(learner, "reported", False):
            # An estimate from reports: Hoeffding's inequality, false-alarm probability 1e-6.
            slack = adapter.width * learner.response.factor * math.sqrt(rounds * math.log(2e6) / 2.0)
        hold(
            abs(certificate.own_loss - own) <= slack,
            f"own_loss must be the total loss of the moves, {own!r}; got {certificate.own_loss!r}",
        )
    else:
        gap = (
            certificate.best_loss - certificate.own_loss
            if adapter.gains
            else certificate.own_loss - certificate.best_loss
        )
        hold(
            abs(certificate.regret - gap) <= slack,
            f"regret must be the own loss minus the best loss, {gap!r}; got {certificate.regret!r}",
        )
        terms = math.fsum(certificate.identity.values()) if certificate.identity else certificate.regret
        hold(
            abs(terms - certificate.regret) <= slack,
            f"the identity must sum to the regret {certificate.regret!r}; got {terms!r}",
        )
    if certificate.best_loss is not None and not adapter.not_arms:
        totals = np.sum([adapter.losses(t) for t in range(rounds)], axis=0)
        best = float(totals.max() if adapter.gains else totals.min())
        hold(abs(certificate.best_loss - best) <= slack, f"best_loss must be {best!r}; got {certificate.best_loss!r}")
    if certificate.claimed_rate is not None:
        kept = certificate.realised_level <= certificate.claimed_rate * (1 + 1e-6) + 1e-9
        hold(
            kept, f"the measured level must be at most {certificate.claimed_rate!r}; got {certificate.realised_level!r}"
        )
    hold(
        str(certificate) and "<table" in certificate._repr_html_(),
        "a certificate must print as text and as an HTML table",
    )


def _distributed(learner: Any) -> Adapter:
    """Return the adapter of a player that has `distribution`."""
    adapter = of_arms(learner)
    needs(adapter.player, "distribution")
    return adapter


def _simplex(adapter: Adapter) -> Array:
    p: Array = np.asarray(adapter.player.distribution())
    hold(np.isfinite(p).all() and (p >= 0.0).all(), f"p must be finite and >= 0; got {p}")
    hold(abs(p.sum() - 1.0) < 1e-9, f"p must sum to 1; got {p.sum()!r}")
    return p


PLAYER_CHECKS: tuple[Check, ...] = (
    moves_are_valid,
    move_probability_matches_distribution,
    moves_follow_the_distribution,
    distribution_keeps_the_state,
    losses_are_not_modified_or_kept,
    invalid_losses_are_rejected,
    invalid_advice_is_rejected,
    equal_losses_keep_the_distribution,
    worst_arm_is_least_likely,
    certificate_is_consistent,
)


def delayed_losses_are_accepted(learner: Any) -> None:
    """Check losses in any order: pending moves are listed, and the bound covers the delay or is withheld."""
    adapter = with_tickets(learner)
    moves = [adapter.act(t) for t in range(6)]
    for k, t in enumerate((3, 0, 5, 1, 4, 2)):
        if hasattr(adapter.player, "open_moves"):
            opened = len(adapter.player.open_moves)
            hold(opened == 6 - k, f"open_moves must list {6 - k} moves; got {opened}")
        adapter.observe(moves[t], adapter.losses(t))
    if hasattr(adapter.player, "certificate"):
        certificate = adapter.player.certificate()
        hold(
            (certificate.rounds, certificate.open_moves) == (6, 0),
            f"6 rounds must be settled and none pending; got {certificate}",
        )
        hold(
            certificate.largest_delay == 5,
            f"the largest delay must be 5; got {certificate.largest_delay}",
        )
        hold(
            certificate.bound is None or certificate.bound.value >= 0.0,
            f"a bound must be >= 0; got {certificate.bound}",
        )
    adapter.run(6, 30)
    if hasattr(adapter.player, "distribution") and not adapter.not_arms:
        p = adapter.player.distribution()
        hold(np.isfinite(p).all() and abs(p.sum() - 1.0) < 1e-9, f"p must sum to 1 after late losses; got {p}")


def dropped_move_withholds_the_bound(learner: Any) -> None:
    """Check that a move without feedback can be dropped, and that the bound is then withheld."""
    adapter = with_tickets(learner)
    needs(adapter.player, "forget", "certificate")
    adapter.run(0, 3)
    adapter.player.forget(adapter.act(3))
    adapter.run(4, 8)
    certificate = adapter.player.certificate()
    counts = (certificate.rounds, certificate.open_moves, certificate.forgotten)
    hold(counts == (7, 0, 1), f"7 rounds must be settled, none pending and 1 dropped; got {counts}")
    hold(
        certificate.bound is None and "dropped" in certificate.withheld,
        f"the bound must be withheld; got {certificate.bound}",
    )


def move_is_settled_once(learner: Any) -> None:
    """Check that settled, foreign, altered and invented moves raise a ValueError and leave the state unchanged."""
    adapter, other = with_tickets(learner), adapt(learner)
    settled = adapter.act(0)
    adapter.observe(settled, adapter.losses(0))
    other.step(0)
    move, foreign = adapter.act(1), other.act(1)
    bad = [("a settled move", settled), ("a move of another player", foreign)]
    bad += [(f"the invalid move {thing!r}", thing) for thing in ((), None, "ticket", 7)]
    if hasattr(move, "_replace"):
        bad += [("a move of a future round", move._replace(round=99)), ("a move of round 0", move._replace(round=0))]
        bad.append(("a move of the round [1]", move._replace(round=[1])))
        if "probability" in getattr(move, "_fields", ("probability",)) and hasattr(move, "probability"):
            bad.append(("a move of another probability", move._replace(probability=(move.probability or 0.5) / 2)))
        bad.append(("a move of another action", move._replace(action=_other(move.action))))
    losses, before = adapter.observed(move, adapter.losses(1)), state(adapter.player)
    for what, ticket in bad:
        rejects(lambda ticket=ticket: adapter.player.observe(ticket, losses), what)  # type: ignore[misc]
        if hasattr(adapter.player, "forget"):
            rejects(lambda ticket=ticket: adapter.player.forget(ticket), what)  # type: ignore[misc]
    hold(state(adapter.player) == before, "a rejected move must not change the state; the state changed")
    adapter.observe(move, adapter.losses(1))
    rejects(lambda: adapter.player.observe(move, losses), "a move that has just been settled")


def _other(action: Any) -> Any:
    return (*action, action[-1]) if isinstance(action, tuple) else action + 1


FEEDBACK_CHECKS: tuple[Check, ...] = (
    delayed_losses_are_accepted,
    dropped_move_withholds_the_bound,
    move_is_settled_once,
)
