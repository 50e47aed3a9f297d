"""Players of learners over decisions that consist of components."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hannan import _engine, validation
from hannan.mathematics.bounds import Bound, at_observed
from hannan.players import identity
from hannan.players.certificate import THIS_RUN_ONLY, Certificate, no_run_bound
from hannan.players.tickets import Book, Deciding, Written
from hannan.saving import fields
from hannan.validation import Array


class PlanTicket(NamedTuple):
    """Fields of a plan."""

    player: str
    round: int
    action: tuple[int, ...]


class Plan(Written, PlanTicket):
    """One decision: the player that drew it, its round, and its components."""

    __slots__ = ()


class DecisionsPlayer(_engine.Book, Book):
    """Player of a learner over decisions that consist of components.

    `act()` draws a decision, and `observe(plan, losses)` settles it with the losses of all components, or of the chosen
    ones if `sees_all` is False. Not thread-safe: guard it with a lock.

    Notes
    -----
    The learner has `n` components, the set `decisions`, `sees_all`, `drawn(losses, rng)`, which returns a decision and
    the data that settling it needs, `met(losses, action, row, kept)`, which returns the losses afterwards, and `bound`.
    """

    learner: Deciding
    _move = Plan

    def __init__(self, learner: Deciding, seed: int | None, name: str | None = None) -> None:
        super().__init__("", Plan)
        self.learner, self.sees_all = learner, bool(learner.sees_all)
        self._rng = stream(self._take_name(seed, name))
        self.losses: Array = np.zeros(learner.n)
        self.own = 0.0

    def act(self) -> Plan:
        """Draw a decision.

        Returns
        -------
        Plan
            The move.
        """
        chosen, kept = self.learner.drawn(self.losses, self._rng)
        plan: Plan = self._issue(tuple(int(i) for i in np.flatnonzero(chosen)), 0.0, kept)
        return plan

    def observe(self, plan: Plan, loss: Any) -> None:
        """Settle a pending decision with the losses of its components.

        Parameters
        ----------
        plan : Plan
            The object returned by `act`.
        loss : array-like of float
            Losses in [0, 1]: of all components, or of the chosen ones if `sees_all` is False.

        Raises
        ------
        ValueError
            If the losses are invalid, or the decision is not pending. The player is then unchanged.
        """
        number = self._ticket(plan)
        row = validation.losses(loss)
        picked = list(plan.action)
        size = self.learner.n if self.sees_all else len(picked)
        if row.shape != (size,):
            raise ValueError(f"losses must be {size} numbers, one per component; got shape {row.shape}")
        validation.row(row, size, 0.0, 1.0)
        self.losses = self.learner.met(self.losses, picked, row, self._kept(number))
        self.own += float(row[picked].sum() if self.sees_all else row.sum())
        self._close(number)

    def least_estimate(self) -> float:
        """Return min_v <L, v>, where L are the cumulative losses, or their estimates.

        Returns
        -------
        float
            The smallest cumulative loss of a decision.
        """
        return float(self.learner.decisions.best(self.losses) @ self.losses)

    # Certificates

    def certificate(self, delta: float | None = None) -> Certificate:
        """Return the certificate so far; the stability is not measured.

        Parameters
        ----------
        delta : float, optional
            Also state whether a bound on the regret of this run is proved, with probability 1 - delta.

        Returns
        -------
        Certificate
            The certificate; docs/certificate.md explains every line of it.
        """
        delta = None if delta is None else validation.between(delta, 0.0, 1.0, "delta", "()")
        least = self.least_estimate()
        bound, withheld = self._bound(least if self.sees_all else None)
        says = THIS_RUN_ONLY if self.sees_all else no_run_bound(type(self.learner).__name__)
        return Certificate(
            **self._standing(),
            bound=bound,
            withheld=withheld,
            own_loss=self.own,
            best_loss=least if self.sees_all else None,
            regret=self.own - least if self.sees_all else None,
            identity={},
            estimated_regret=None if self.sees_all else self.own - least,
            gamma=1.0,
            realised_level=None,
            claimed_rate=None,
            kind="realized",
            comparator="decision",
            delta=delta,
            on_this_run_says="" if delta is None else says,
        )

    def _bound(self, best: float | None) -> tuple[Bound | None, str]:
        """Return (bound now or None, reason if None)."""
        if withheld := self._lost() or self._late():
            return None, withheld
        try:
            return at_observed(self.learner, self.learner.bound(self._settled, best, against="any"), best), ""
        except ValueError as reason:
            return None, str(reason)

    # Saving

    def _saved(self) -> dict[str, Any]:
        state: Any = self._rng.bit_generator.state["state"]
        return {
            **super()._saved(),
            "stream": [str(state["state"]), str(state["inc"])], "own": self.own, "losses": self.losses,
        }  # fmt: skip

    def _renew(self) -> None:
        state: Any = self._rng.bit_generator.state["state"]
        words = [state[key] >> shift & (1 << 64) - 1 for key in ("state", "inc") for shift in (0, 64)]
        fresh = identity.renewed(np.array(words, dtype=np.uint64))
        self._rng = stream(int.from_bytes(fresh.astype("<u8").tobytes(), "little"))

    def _restore(self, state: dict[str, Any]) -> None:
        rounds = fields.whole(state["drawn"], "rounds")
        # Estimates grow at most with the square of the rounds; resampling with a larger sum would not terminate.
        most = 100.0 * self.learner.n * (rounds + 10.0) ** 2
        losses = np.asarray(state["losses"])
        if losses.dtype != np.float64 or losses.shape != (self.learner.n,):
            raise ValueError(f"corrupt file: expected {self.learner.n} losses; found {validation.brief(losses)}")
        fields.within(losses, "losses", 0.0, most)
        own = fields.number(state["own"], "own loss", 0.0, most)
        words = [fields.text(word, "stream") for word in fields.items(state["stream"], "stream", 2)]
        if not all(word.isascii() and word.isdigit() and len(word) < 40 for word in words):
            raise ValueError(f"corrupt file: stream must be two integers below 2**128; found {validation.brief(words)}")
        value, inc = map(int, words)
        if not (value < 1 << 128 and inc < 1 << 128 and inc & 1):
            raise ValueError(f"corrupt file: stream must be two integers below 2**128, the second odd; found {words}")
        super()._restore(state)
        self.own, self.losses = own, losses.copy()
        before = self._rng.bit_generator.state
        self._rng.bit_generator.state = {**before, "state": {"state": value, "inc": inc}}

    def _chosen(self, *rest: Any) -> tuple[Any, ...]:
        (action,) = rest
        chosen = tuple(
            fields.whole(i, "component", 0, self.learner.n - 1) for i in fields.items(action, "plan")
        )  # fmt: skip
        if chosen != tuple(sorted(set(chosen))) or not 0 < len(chosen) <= self.learner.decisions.most:
            raise ValueError(
                f"corrupt file: expected a decision with increasing components; found {validation.brief(chosen)}"
            )
        return (chosen,)

    def _told(self, move: Plan, plain: Any, kept: Any) -> Any:
        size = 0 if self.sees_all else len(move.action)
        return tuple(fields.number(k, "trials", 1.0, 1e15) for k in fields.items(kept, "trials", size))


def stream(seed: int) -> np.random.Generator:
    """Return the random stream of a player; it differs from default_rng(seed), which may have drawn the losses."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(1957,))))
