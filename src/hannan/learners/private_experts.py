"""Experts whose complete sequence of moves is differentially private."""

from __future__ import annotations

import dataclasses
import functools
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from hannan import validation
from hannan.learners import game_privacy
from hannan.learners.convex.privacy import PrivacyCurve
from hannan.learners.game_privacy import (
    ROUNDING,
    GamePrivacy,
    Neighbors,
    check_compiled,
    checked_epsilon,
    checked_neighbors,
    gaussian_epsilon,
    gaussian_mu,
)
from hannan.learners.learner import Weigher, asked_rounds
from hannan.learners.memory import NoisyPlayer, Remembered
from hannan.learners.tuning import Schedule
from hannan.mathematics import bounds
from hannan.mathematics.bounds import Bound, Terms, Whom, Withheld
from hannan.mathematics.laws.light import Gaussian
from hannan.mathematics.mechanisms import CorrelatedNoise
from hannan.players.certificate import KEPT_NOISE, PrivateCertificate
from hannan.players.convex import NOT_PRIVATE, OF_THIS_COPY
from hannan.saving.formatting import ceiling, figure
from hannan.validation import Array

if TYPE_CHECKING:
    from hannan.players.tickets import Move

NOISE = CorrelatedNoise()
#: Theorems of the bounds, by form.
SOURCES = {
    "hedge": "Theorem R of docs/proofs/private.md: Hedge on noisy sums, a constant scale",
    "leader": "Theorem R (C) of docs/proofs/private.md: the leader of noisy sums, padded to one noise level",
    "anytime": "Theorem R (A') of docs/proofs/private.md: Hedge on noisy sums, a growing scale",
    "first-order": "Theorem R (D) of docs/proofs/private.md: Hedge on noisy sums, first order",
}
ADAPTIVE = "Theorem E of docs/proofs/private.md: Hedge on noisy sums, losses that may depend on the noise"
#: Outputs that the statement covers.
RELEASED = (
    "the experts that were drawn; also their probabilities (move.probability, distribution()), if they are rounded: "
    "low-order bits show those of the noise"
)
#: Members from which the noise, the moves and the statement are computed.
STATED = (
    *("mu", "sigma", "sensitivity", "noise_level", "form", "scales"),
    *("schedule", "_weigher", "setup", "privacy", "start"),
)
#: An epsilon at which the noise changes no printed digit of a bound.
NO_PRIVACY = 1e6
#: Growth of the blocks of rounds in which the sum of the noise levels is bounded by its right end.
BLOCK = 1e-3


def sensitivity(n: int, neighbors: Neighbors = "add-remove", sparsity: int | None = None) -> float:
    """Return the largest Euclidean distance of two neighboring loss vectors in [0, 1]^n, up to a common constant.

    Adding a constant to every loss does not change the moves, so the distance is taken after subtracting the mean.

    Parameters
    ----------
    n : int
        Number of experts.
    neighbors : {"add-remove", "replace"}
        Whether a loss vector is compared with zero or with another loss vector.
    sparsity : int, optional
        Largest number of losses per round that differ from the lower end of the range. Default: `n`.

    Examples
    --------
    >>> sensitivity(2), sensitivity(10), sensitivity(10, sparsity=1)  # doctest: +ELLIPSIS
    (0.7071..., 1.5811..., 0.9486...)
    """
    dense = math.sqrt((n // 2) * ((n + 1) // 2) / n)
    if neighbors == "replace":
        return 2.0 * dense if sparsity is None or 2 * sparsity > n else math.sqrt(2.0 * sparsity)
    return dense if sparsity is None or 2 * sparsity >= n else math.sqrt(sparsity - sparsity * sparsity / n)


class Form(NamedTuple):
    """How the noisy sums are played: the proof, the scale of Hedge, and the padded level of the noise (0: none)."""

    kind: Literal["hedge", "leader", "anytime", "first-order"]
    scale: float
    padded: float = 0.0


@dataclass(frozen=True, repr=False)
class PrivateExperts(Remembered):
    """Experts with one (epsilon, delta) of differential privacy for all moves together.

    Hedge on noisy cumulative losses, p_i ~ exp(-(L_i + G_i)/s). The Gaussian noise G is kept and correlated over
    rounds, so that the complete sequence of moves is one Gaussian mechanism; the draw of each move is fresh.

    Parameters
    ----------
    n : int
        Number of experts.
    epsilon, delta : float
        Privacy of all moves together. Delta must be well below 1/rounds. Default of `delta`: 1e-6.
    rounds : int, optional
        Number of rounds. Default: any number of rounds, which one epsilon covers as well.
    best_loss : float, optional
        Upper bound on the cumulative loss of the best expert; the bound is then of first order. Requires `rounds`.
    per_person : int
        Number of rounds to which one person contributes at most.
    neighbors : {"add-remove", "replace"}
        Whether one loss vector is added or removed, or replaced by another one.
    loss_range : tuple of float
        Smallest and largest loss.
    gains : bool
        Whether values are rewards (larger is better).
    sparsity : int, optional
        Largest number of losses per round that differ from the lower end of `loss_range`; less noise is needed then.

    Notes
    -----
    With N experts and mu from (epsilon, delta), E[regret] <= sqrt((T + 4 (1 - 1/N) sigma_T^2) ln N/2) for losses that
    are fixed in advance, where sigma_T = S gamma_T/mu grows like the logarithm of T (docs/proofs/private.md). Privacy
    holds even against an adaptive adversary; this regret bound does not.

    Examples
    --------
    >>> PrivateExperts(10, epsilon=1.0, rounds=10_000).bound().value  # doctest: +ELLIPSIS
    120.3...
    >>> round(PrivateExperts(10, epsilon=1.0).bound(10_000).value, 1)  # one epsilon for any number of rounds
    178.2
    """

    epsilon: float
    delta: float = 1e-6
    rounds: int | None = None
    best_loss: float | None = None
    per_person: int = 1
    neighbors: Neighbors = "add-remove"
    loss_range: tuple[float, float] = (0.0, 1.0)
    gains: bool = False
    sparsity: int | None = None

    own_noise: ClassVar[bool] = True
    live_only: ClassVar[str] = f"PrivateExperts {game_privacy.LIVE_ONLY}"

    def __post_init__(self) -> None:
        super().__post_init__()
        put = functools.partial(object.__setattr__, self)
        check_compiled(self, STATED)
        put("epsilon", checked_epsilon(self.epsilon))
        put("delta", validation.between(self.delta, 0.0, 1.0, "delta", "()"))
        put("per_person", validation.count(self.per_person, "per_person"))
        checked_neighbors(self.neighbors)
        if self.rounds is not None:
            put("rounds", validation.count(self.rounds, "rounds"))
        if self.sparsity is not None:
            put("sparsity", validation.count(self.sparsity, "sparsity"))
            if self.sparsity > self.n:
                raise ValueError(f"sparsity must be at most n = {self.n}; got {self.sparsity}")
        if self.best_loss is not None:
            if self.rounds is None:
                raise ValueError(
                    "rounds is required with best_loss, because the noise level depends on the number "
                    "of rounds; got rounds=None"
                )
            put("best_loss", validation.real(self.best_loss, "best_loss"))
            if self._best <= 0.0:
                raise ValueError(f"best_loss must be above the smallest possible total loss; got {self.best_loss!r}")

    @property
    def _best(self) -> float:
        """Upper bound on the loss of the best expert, for losses in [0, 1]."""
        return self._normalised(float(self.best_loss or 0.0), self.rounds, "best_loss")

    @property
    def sensitivity(self) -> float:
        """Largest distance of two neighboring loss vectors in [0, 1]^n, up to a common constant."""
        return sensitivity(self.n, self.neighbors, self.sparsity)

    @property
    def sensitivity_of(self) -> str:
        """The pairs of loss vectors over which the sensitivity is the largest distance, in words."""
        values = "rewards" if self.gains else "losses"
        if self.sparsity == 1:
            values = values[:-1] if self.gains else "loss"
        sparse = f"at most {self.sparsity} {values} per round above the lower end"
        of = f"{'rewards' if self.gains else 'losses'} in the loss range" if self.sparsity is None else sparse
        return f"of {of}, {'one vector added or removed' if self.neighbors == 'add-remove' else 'one vector replaced'}"

    @functools.cached_property
    def mu(self) -> float:
        """Parameter of Gaussian differential privacy of all moves together, for one round of a person."""
        return gaussian_mu(self.epsilon, self.delta) / self.per_person

    @functools.cached_property
    def sigma(self) -> float:
        """Standard deviation of the white noise that drives the stream, for losses in [0, 1]."""
        seen = math.inf if self.rounds is None else self.rounds - 1
        return self.sensitivity * NOISE.column_norm(seen) / self.mu * (1.0 + ROUNDING)

    def noise_level(self, rounds: int) -> float:
        """Return the standard deviation of the noise in the last of `rounds` moves, for losses in [0, 1].

        Parameters
        ----------
        rounds : int
            Number of rounds.

        Returns
        -------
        float
            Standard deviation.
        """
        return self.sigma * NOISE.row_norm(max(rounds - 1, 0))

    @functools.cached_property
    def form(self) -> Form:
        """The form with the smallest proved bound: Hedge, the leader, anytime Hedge, or first-order Hedge."""
        n, logs = self.n, math.log(self.n)
        if self.rounds is None:
            return Form("anytime", 0.5 / math.sqrt(logs) if n > 1 else 1.0)
        level, rounds = self.noise_level(self.rounds), self.rounds
        if n == 1:
            return Form("hedge", 1.0)
        apart = 1.0 - 1.0 / n
        if self.best_loss is not None:
            rate = math.sqrt(2.0 * logs / (self._best + apart * level**2))
            return Form("first-order", 1.0 / math.log1p(rate))
        scales = [math.sqrt((rounds + 4.0 * apart * level**2) / (8.0 * logs))]
        # If the noise is larger than the scale, its cost grows linearly, and a smaller scale is better.
        slope = logs - self._most**2 / (2.0 * apart)
        if slope > 0.0:
            scales.append(min(math.sqrt(rounds / (8.0 * slope)), apart * level / self._most))
        forms = [Form("hedge", scale) for scale in scales if scale > 0.0]
        padded = max(level, 0.5 * math.sqrt(rounds))
        forms.append(Form("leader", 1.0, padded))
        return min(forms, key=lambda form: math.fsum(self._oblivious(form, rounds).values()))

    @property
    def _most(self) -> float:
        """Expected maximum of n standard normals."""
        return _expected_max(self.n)

    # Privacy

    def privacy(self, rounds: int | None = None, delta: float | None = None) -> GamePrivacy:  # type: ignore[override]
        """Return the privacy of all moves together.

        Parameters
        ----------
        rounds : int, optional
            Number of rounds. Default: those that the learner was given, or any number of rounds.
        delta : float, optional
            Delta of the statement. Default: that of the learner.

        Returns
        -------
        GamePrivacy
            Epsilon, delta, and the assumptions.
        """
        asked = self.rounds if rounds is None else validation.count(rounds, "rounds")
        target = self.delta if delta is None else validation.between(delta, 0.0, 1.0, "delta", "()")
        mu, epsilon = self.mu * self.per_person, self.epsilon
        if (asked, target) != (self.rounds, self.delta):
            seen = math.inf if asked is None else asked - 1
            white = NOISE.column_norm(math.inf if self.rounds is None else self.rounds - 1)
            mu *= NOISE.column_norm(seen) / white if white else 0.0
            epsilon = gaussian_epsilon(mu, target)
        return GamePrivacy(
            epsilon, target, asked, "Theorem P of docs/proofs/private.md: one Gaussian mechanism", mu=mu,
            neighbors=self.neighbors, per_person=self.per_person,
        )  # fmt: skip

    def scale_for(self, *_: Any, **__: Any) -> NoReturn:
        """Not available: epsilon is given at construction and determines the noise."""
        raise Withheld(
            "PrivateExperts has no scale_for: epsilon is given at construction, and sigma is the noise computed from it"
        )

    def privacy_curve(self, rounds: int | None = None, epsilons: Sequence[float] | None = None) -> PrivacyCurve:
        """Return the bound on the expected regret by epsilon, and the epsilon that costs at most 10% more regret.

        Parameters
        ----------
        rounds : int, optional
            Number of rounds. Default: the number that the learner is tuned for.
        epsilons : sequence of float, optional
            Values of epsilon.

        Returns
        -------
        PrivacyCurve
            The curve; `scales` are the standard deviations of the noise in the last round.

        Examples
        --------
        >>> curve = PrivateExperts(10, epsilon=1.0, rounds=10_000).privacy_curve(epsilons=[0.5, 1.0])
        >>> [round(bound, 1) for bound in curve.bounds], round(curve.free, 1), round(curve.epsilon_at_ten_percent, 3)
        ([149.4, 120.4], 107.3, 1.118)
        """
        tuned = rounds if rounds is not None else self.rounds
        if tuned is None:
            raise ValueError("rounds is required: the bound depends on the number of rounds")
        horizon = None if self.rounds is None else tuned

        def at(epsilon: float) -> PrivateExperts:
            return dataclasses.replace(self, epsilon=epsilon, rounds=horizon)

        return game_privacy.curve(
            repr(self), tuned, self.delta, epsilons, at, lambda: at(NO_PRIVACY),
            quantity="noise", noise=lambda learner: learner.noise_level(tuned) * self.width,
        )  # fmt: skip

    def start(self, seed: int | None = None, name: str | None = None) -> PrivatePlayer:
        """Start a live player.

        Parameters
        ----------
        seed : int, optional
            Seed for experiments; the player then states no privacy. Default: randomness of the operating system.
        name : str, optional
            Name of the player in its tickets.

        Returns
        -------
        PrivatePlayer
            The player.
        """
        return PrivatePlayer(self, seed, name)

    def schedule(self) -> Schedule:
        form = self.form
        return Schedule(form.scale, b=1.0) if form.kind == "anytime" else Schedule.constant(form.scale)

    def _weigher(self) -> Weigher:
        form = self.form
        cost = (1.0 - 1.0 / self.n) / math.log(self.n) if form.kind == "anytime" and self.n > 1 else 0.0
        return Weigher("private_hedge", (self.sigma, form.padded, cost))

    # Bounds

    def bound(
        self, rounds: int | None = None, best_loss: float | None = None, *, printed: bool = False, against: Whom = None
    ) -> Bound:
        """Return the smallest proved bound on the expected regret.

        Parameters
        ----------
        rounds : int, optional
            Number of rounds. Default: the number that the learner is tuned for.
        best_loss : float, optional
            Not used: the first-order form takes `best_loss` at construction.
        printed : bool
            Not available: the paper has no such learner.
        against : {"adaptive", "oblivious", "iid"}, optional
            Adversary the bound must hold against. Default: whichever gives the smallest bound.

        Returns
        -------
        Bound
            Value, terms, theorem and adversary.

        Raises
        ------
        Withheld
            If no such bound is proved.
        """
        if printed:
            raise Withheld("the paper has no bound for PrivateExperts; got printed=True")
        against = None if against is None else bounds.checked(against)
        rounds = asked_rounds(rounds, self.rounds, self)
        if self.n == 1 or rounds == 0:
            return bounds.nothing()
        most = rounds * self.width
        bound = self._stated(self._oblivious(self.form, rounds), SOURCES[self.form.kind], "oblivious")
        if bound.value >= most:
            return bounds.trivial(most)
        if against == "any" and self.form.kind in ("hedge", "anytime"):
            adaptive = self._stated(self._adaptive(rounds), ADAPTIVE, "any")
            bound = adaptive if adaptive.value < most else bound
        return bound.asked(against)

    def _stated(self, terms: Terms, source: str, against: bounds.Against) -> Bound:
        value = bounds.rounded_up(math.fsum(terms.values()))
        bound = Bound(value, terms, source, sense="kept" if against == "oblivious" else None, against=against)
        if self.form.kind == "first-order":
            bound = bound.supposing(float(self.best_loss or 0.0), self.gains)
        return bound.times(self.width)

    def _oblivious(self, form: Form, rounds: int) -> Terms:
        """Return the terms for losses in [0, 1] that are fixed in advance."""
        level, logs, apart, most = self.noise_level(rounds), math.log(self.n), 1.0 - 1.0 / self.n, self._most
        if form.kind == "leader":
            return {"m g": most * form.padded, "m T/(4 g)": most * rounds / (4.0 * form.padded)}
        if form.kind == "anytime":
            spread = rounds + 4.0 * apart * level**2
            free = math.sqrt(rounds * logs)
            return {"sqrt(T ln N)": free, "privacy": math.sqrt(spread * logs) - free}
        scale = form.scale
        if form.kind == "first-order":
            rate = math.expm1(1.0 / scale)
            kept = rate / ((1.0 + rate) * math.log1p(rate))
            return {
                "L* (1/theta - 1)": self._best * (1.0 / kept - 1.0),
                "s ln N/theta": scale * logs / kept,
                "privacy": apart * level**2 / (2.0 * scale * kept),
            }
        extra = apart * level**2 / (2.0 * scale)
        if apart * level > most * scale:
            extra = most * level - most**2 * scale / (2.0 * apart)
        return {"s ln N": scale * logs, "T/(8 s)": rounds / (8.0 * scale), "privacy": extra}

    def _adaptive(self, rounds: int) -> Terms:
        """Return the terms for losses in [0, 1] that may depend on past moves."""
        logs, most = math.log(self.n), self._most
        # Noise level and scale increase, so a block is bounded by the noise level at its right end and the scale at its
        # left end.
        ends = np.unique(np.geomspace(1, rounds + 1, math.ceil(math.log(rounds + 1) / BLOCK) + 2).astype(np.int64))
        starts, stops = ends[:-1], ends[1:] - 1
        if not len(starts):
            starts = stops = np.array([1])
        levels = self.sigma * NOISE.row_norms(stops - 1)
        scales = self.scales(starts)
        counts = stops - starts + 1
        last = float(self.scales(np.array([rounds]))[0])
        return {
            "s ln N": last * logs,
            "sum 1/(8 s)": float((counts / (8.0 * scales)).sum()),
            "privacy": float((counts * most * levels / (2.0 * scales)).sum()),
        }

    def scales(self, rounds: NDArray[np.int64]) -> Array:
        """Return the scales of Hedge in these rounds (1, 2, ...).

        Parameters
        ----------
        rounds : numpy.ndarray of int
            Rounds, starting at 1.

        Returns
        -------
        numpy.ndarray
            Scales, one per round.
        """
        form = self.form
        if form.kind != "anytime":
            return np.full(len(rounds), form.scale)
        levels = self.sigma * NOISE.row_norms(rounds - 1)
        return np.asarray(0.5 * np.sqrt((rounds + 4.0 * (1.0 - 1.0 / self.n) * levels**2) / math.log(self.n)))


@functools.cache
def _expected_max(n: int) -> float:
    """Return the expected maximum of n standard normals."""
    return float(Gaussian().expected_max(n))


class PrivatePlayer(NoisyPlayer):
    """A running `PrivateExperts`. It is not thread-safe.

    Without a seed its noise comes from a cryptographic generator with a key of the operating system. The key is not in
    files: a loaded player draws a new one.
    """

    learner: PrivateExperts
    #: Whether another copy may continue from this player.
    _copied = False

    def __init__(self, learner: PrivateExperts, seed: int | None, name: str | None = None) -> None:
        super().__init__(learner, seed, name)
        if seed is None:
            self._new_key()

    def _new_key(self) -> None:
        self._set_words(self._words[0], np.frombuffer(os.urandom(32), dtype="<u8").astype(np.uint64))

    def act(self, awake: Any = None) -> Move:
        """Draw a move.

        Returns
        -------
        Move
            The expert and the probability with which it was drawn, given the noise.

        Raises
        ------
        ValueError
            If the number of rounds that epsilon covers has been played.
        """
        self._check_covered()
        return super().act(awake)

    def distribution(self, awake: Any = None) -> Array:
        """Return the probabilities of the next move, given the noise.

        Returns
        -------
        numpy.ndarray
            One probability per expert.

        Raises
        ------
        ValueError
            If the number of rounds that epsilon covers has been played.
        """
        self._check_covered()
        return super().distribution(awake)

    def _check_covered(self) -> None:
        rounds = self.learner.rounds
        if rounds is not None and self._settled >= rounds:
            raise ValueError(
                f"epsilon covers {rounds} rounds, and {self._settled} have been settled; start PrivateExperts with "
                "rounds=None for any number of rounds"
            )

    def observe(  # type: ignore[override]
        self, move: Move, value: Any = None, *, loss: Any = None, reward: Any = None
    ) -> None:
        """Settle a move with the losses of all experts.

        Parameters
        ----------
        move : Move
            Move that `act` returned.
        value : array_like
            One loss per expert, or one reward per expert for a learner of rewards (`gains=True`).
        loss : array_like, optional
            The same by name, for a learner of losses.
        reward : array_like, optional
            The same by name, for a learner of rewards.
        """
        if loss is not None:
            self._check_loss_keyword(loss)
        loss = value if loss is None else loss
        sparsity = self.learner.sparsity
        if sparsity is not None:
            row = np.asarray(validation.losses(loss if reward is None else reward))
            low = self.learner.loss_range[0]
            found = int((row != low).sum())
            if found > sparsity:
                raise ValueError(f"at most sparsity = {sparsity} losses may differ from {low:g}; got {found}")
        super().observe(move, loss, reward=reward)

    # Certificates

    def certificate(self, delta: float | None = None) -> PrivateCertificate:
        """Return the certificate so far: privacy of all moves, and the bound on the regret.

        Parameters
        ----------
        delta : float, optional
            Not supported: no high-probability bound is proved, because the noise is kept.

        Returns
        -------
        PrivateCertificate
            The certificate.
        """
        # Privacy does not follow from the stability of one move given the noise.
        plain = dataclasses.replace(super().certificate(delta), realised_level=None)
        if self.seed is not None:
            return PrivateCertificate.of(plain, privacy=NOT_PRIVATE["seed"])
        learner, stated = self.learner, self.learner.privacy()
        copied = f"; {OF_THIS_COPY}" if self._copied else ""
        noise = figure(learner.noise_level(self._settled + 1) * learner.width)
        return PrivateCertificate.of(
            plain,
            privacy=stated.says,
            private_if=f"{stated.between}; {stated.condition}{copied}",
            private_by=stated.source,
            parameters=(
                *stated.parameters(),
                ("sensitivity", f"{ceiling(learner.sensitivity * learner.width)}, {learner.sensitivity_of}"),
                ("noise", f"standard deviation {noise} in the next move, kept and correlated over rounds"),
                ("released", RELEASED),
            ),
        )

    def _bound(self, best: float | None) -> tuple[Bound | None, str]:
        if withheld := self._lost() or self._late():
            return None, withheld
        try:
            return self.learner.bound(self._settled), ""
        except ValueError as reason:
            return None, str(reason)

    def _on_this_run(self, delta: float, regret: float) -> tuple[float | None, str]:
        return None, KEPT_NOISE

    # Saving

    def _renew(self) -> None:
        super()._renew()
        self._copied = True  # in a file, or in a forked process

    def _saved(self) -> dict[str, Any]:
        self._copied = True
        state = super()._saved()
        return state if self.seed is not None else {**state, "noise": [0] * len(state["noise"])}

    def _resume(self, content: dict[str, Any]) -> None:
        super()._resume(content)
        if self.seed is None:
            self._new_key()
        self._copied = True
