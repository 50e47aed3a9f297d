"""Bandits whose losses are randomized before the learner receives them."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn

from hannan import validation
from hannan.learners import game_privacy
from hannan.learners.convex.privacy import PrivacyCurve
from hannan.learners.game_privacy import REPORTS, GamePrivacy
from hannan.learners.learner import Learner
from hannan.mathematics import bounds
from hannan.mathematics.bounds import Bound, Whom, Withheld
from hannan.mathematics.mechanisms import LEAST, RandomizedResponse
from hannan.players.reporting import reporting

SOURCE = "Theorem L of docs/proofs/private.md: randomized response"


@dataclass(frozen=True, repr=False)
class LocallyPrivate(Learner):
    """A bandit that receives a randomized report of each loss, with one epsilon for any number of rounds and delta = 0.

    Every learner that receives only the losses of drawn arms can be wrapped. Moves, weights, certificates and files are
    computed from the reports, so that epsilon covers all of them; a loss itself is not stored anywhere.

    Parameters
    ----------
    learner : learner
        A bandit, with or without expert advice.
    epsilon : float
        Privacy of each loss.

    Notes
    -----
    A loss x in [0, 1] is reported as 1 with probability 1/2 + tau (x - 1/2), tau = tanh(epsilon/2), and as 0 otherwise.
    The expected regret is at most coth(epsilon/2) times the bound of the learner, and
    coth(epsilon/2) (bound + sqrt(T ln n/2)) if its bound holds against an adaptive adversary (docs/proofs/private.md).
    First-order bounds bring no gain, because every arm has reports of at least (1 - tau)/2 per round.

    References
    ----------
    Warner, Randomized response: a survey technique for eliminating evasive answer bias, JASA 1965.

    Examples
    --------
    >>> import hannan as hn
    >>> learner = LocallyPrivate(hn.Bandit(4), epsilon=1.0)
    >>> print(learner.privacy().says)
    (epsilon, delta) = (1, 0) for any number of rounds
    >>> round(learner.bound(10_000).value / hn.Bandit(4).bound(10_000).value, 3)
    2.164
    """

    learner: Any
    epsilon: float

    #: Games step its players in Python.
    stepped: ClassVar[bool] = True
    #: The class of learners whose state is a function of randomized reports.
    reported: ClassVar[bool] = True

    def __post_init__(self) -> None:
        inner = self.learner
        setting = inner.setup().setting if isinstance(inner, Learner) else None
        if setting not in ("bandit", "expert_bandit") or getattr(inner, "reported", False):
            raise ValueError(
                "learner must be a bandit of this package, with one observed loss per round, such as hn.Bandit(3); "
                f"got {validation.brief(inner)}"
            )
        game_privacy.check_compiled(self, ("response", "reported", "privacy", "start"))
        object.__setattr__(self, "epsilon", RandomizedResponse(self.epsilon).epsilon)

    def __getattr__(self, name: str) -> Any:
        # Sizes and parts (n, arms, actions, experts, smoothing, ...) are those of the learner.
        if name.startswith("_") or name == "learner":
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self.learner, name)

    @functools.cached_property
    def response(self) -> RandomizedResponse:
        """The mechanism that randomizes losses."""
        return RandomizedResponse(self.epsilon)

    def schedule(self) -> Any:
        return self.learner.schedule()

    def setup(self) -> Any:
        return self.learner.setup()

    def tuned_best(self) -> float:
        return float(self.learner.tuned_best())

    @property
    def report_values(self) -> tuple[float, float]:
        """Values of a report in the log of a store, in the user's units: the mean of a value is the loss (or reward).

        Pass them to `hn.replay` as `loss_range`.
        """
        low, high = map(float, self.learner.loss_range)
        middle, half = 0.5 * (low + high), 0.5 * (high - low) * self.response.factor
        return middle - half, middle + half

    def in_units(self, total: float, rounds: int) -> float:
        """Return the unbiased estimate of a cumulative loss, in the user's units, from the sum of its reports.

        Parameters
        ----------
        total : float
            Sum of the reports.
        rounds : int
            Number of rounds.

        Returns
        -------
        float
            Estimate of the cumulative loss.
        """
        return float(self.units.total(self.response.estimate(total, rounds), rounds))

    def start(self, seed: int | None = None, name: str | None = None, evidence: bool = False) -> Any:
        """Start a live player.

        Parameters
        ----------
        seed : int, optional
            Seed for experiments; the player then states no privacy. Default: randomness of the operating system.
        name : str, optional
            Name of the player in its tickets.
        evidence : bool
            Not supported: evidence about the arms would be about their reports.

        Returns
        -------
        Player
            The player of the learner, with randomized reports.
        """
        if evidence:
            raise ValueError("evidence must be False for LocallyPrivate, which stores reports of losses only; got True")
        kind: Any = type(self.learner.start(0))
        return reporting(kind)(self, seed, name)

    # Privacy

    def privacy(self, rounds: int | None = None, delta: float = 0.0, *, per_person: int = 1) -> GamePrivacy:  # type: ignore[override]
        """Return the privacy of everything that is computed from the reports.

        Parameters
        ----------
        rounds : int, optional
            Number of rounds. Epsilon does not depend on it. Default: any number of rounds.
        delta : float
            Not used: the statement has delta = 0.
        per_person : int
            Number of rounds to which one person contributes at most.

        Returns
        -------
        GamePrivacy
            Epsilon, delta = 0, and the assumptions.
        """
        asked = None if rounds is None else validation.count(rounds, "rounds")
        validation.between(delta, 0.0, 1.0, "delta", "[)")
        many = validation.count(per_person, "per_person")
        return GamePrivacy(
            many * self.epsilon, 0.0, asked, SOURCE, REPORTS, neighbors="replace", per_person=many, changed="loss"
        )

    def scale_for(self, *_: Any, **__: Any) -> NoReturn:
        """Not available: epsilon is given at construction and determines the randomization."""
        raise Withheld(
            "LocallyPrivate has no scale_for: epsilon is given at construction, and losses are "
            "randomized without a noise scale"
        )

    def privacy_curve(
        self, rounds: int, epsilons: Sequence[float] | None = None, *, per_person: int = 1
    ) -> PrivacyCurve:
        """Return the bound on the expected regret by epsilon, and the epsilon that costs at most 10% more regret.

        Parameters
        ----------
        rounds : int
            Number of rounds.
        epsilons : sequence of float, optional
            Values of epsilon, for all reports of one person.
        per_person : int
            Number of rounds to which one person contributes at most.

        Returns
        -------
        PrivacyCurve
            The curve; `scales` are the factors coth(epsilon/2).
        """
        many = validation.count(per_person, "per_person")
        return game_privacy.curve(
            repr(self), rounds, 0.0, epsilons, lambda epsilon: dataclasses.replace(self, epsilon=epsilon / many),
            lambda: self.learner, quantity="factor", noise=lambda learner: learner.response.factor,
            smallest=max(1e-4, 2.0 * LEAST * many),
        )  # fmt: skip

    # Bounds

    def bound(
        self, rounds: int | None = None, best_loss: float | None = None, *, printed: bool = False,
        against: Whom = None, delta: float | None = None, **asked: Any,
    ) -> Bound:  # fmt: skip
        """Return the smallest proved bound on the expected regret.

        Parameters
        ----------
        rounds : int, optional
            Number of rounds. Required unless the tuning states it.
        best_loss : float, optional
            Not used: bounds in the best loss bring no gain.
        printed : bool
            Not available: the paper has no such learner.
        against : {"adaptive", "oblivious", "iid"}, optional
            Adversary that the bound must hold against. Default: the smallest bound that is proved.
        delta : float, optional
            Not supported: no high-probability bound is proved.
        **asked
            Further arguments of the bound of the wrapped learner, such as `missing` or `switches`.

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
            raise Withheld("the paper has no bound for LocallyPrivate; got printed=True")
        if delta is not None:
            raise Withheld("no high-probability bound is proved for randomized reports")
        against = None if against is None else bounds.checked(against)
        inner: Bound = self.learner.bound(rounds, **asked, **({} if against is None else {"against": against}))
        if inner.sense == "run":
            return inner
        if inner.at_most is not None:
            raise Withheld(
                f"the bound of {self.learner!r} assumes a small best loss, but randomized reports average at least "
                f"{0.5 - 0.5 * self.response.contrast:.3g} per round for every arm. Use another tuning"
            )
        if inner.sense == "mean":
            raise Withheld(
                "a bound for the mean play does not cover a learner that receives reports of the drawn arm only"
            )
        played = self._played(rounds)
        factor, terms = self.response.factor, dict(inner.terms)
        source = f"{SOURCE}, coth(epsilon/2) = {factor:.4g} times: {inner.source}"
        if inner.against == "any":
            # The expected maximum of the martingales of the reports of each comparator.
            many = int(getattr(self, "experts", self.n))
            terms["sqrt(T ln n/2)"] = self.width * math.sqrt(played * math.log(many) / 2.0)
        terms = {name: factor * term for name, term in terms.items()}
        # A probability of a report is rounded to a multiple of 2^-53.
        value = bounds.rounded_up(math.fsum(terms.values()) + factor * self.width * played * 2.0**-52)
        if value >= played * self.width:
            return bounds.trivial(played * self.width)
        return Bound(
            value, terms, source, proof=inner.proof, sense=inner.sense, condition=inner.condition, against=inner.against
        ).asked(against)

    def _played(self, rounds: int | None) -> int:
        told = self.learner.tuning.told_rounds if rounds is None else rounds
        if told is None:
            raise ValueError("rounds is required: the bound depends on the number of rounds")
        return validation.count(told, "rounds", least=0)
