"""Privacy of a whole game: statements about all moves together, their composition, and their price in regret."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from hannan import validation
from hannan.learners.convex.privacy import MORE_REGRET, USUAL, Privacy, PrivacyCurve
from hannan.mathematics import bounds
from hannan.mathematics.convex.noise import GaussianNoise
from hannan.saving.formatting import ceiling, chance, counted
from hannan.saving.result import Shown

#: Pairs of loss sequences that a privacy statement compares.
Neighbors = Literal["add-remove", "replace"]
#: Relative increase of noise and of computed epsilons. Rounding of the constants of the engine makes the sensitivity of
#: the stream at most 4e-12 larger than its closed form (exact arithmetic, tests/mathematics/test_correlated_noise.py).
ROUNDING = 1e-9
#: Smallest epsilon of a learner: below it, delta is a difference of numbers that agree in nearly all digits.
LEAST = 1e-6
#: Assumptions of a statement about all moves of a game.
CONDITION = (
    "covers the moves of one player: not its losses, its regret, its errors, its certificate or its files, and not the "
    "moves of copies; assumes real-valued noise that no one can reproduce (a player started without a seed); the "
    "number and the times of losses are public"
)
#: The same if each report of a loss is randomized before the learner receives it.
REPORTS = (
    "covers everything that the player computes from its reports: moves, weights, files and certificates; a loss "
    "is reported once, by one copy; assumes a player started without a seed; the number and the times of reports are "
    "public"
)
#: Reason why learners with kept noise are played live only; the class name precedes it.
LIVE_ONLY = (
    "is not available in fleets and stores, because opening a store replays every draw, and private noise must never "
    "be drawn twice; use learner.start()"
)


def checked_neighbors(neighbors: Any) -> Neighbors:
    """Return a neighboring relation, or raise."""
    if neighbors not in ("add-remove", "replace"):
        raise ValueError(f'neighbors must be "add-remove" or "replace"; got {neighbors!r}')
    return neighbors  # type: ignore[no-any-return]


def checked_epsilon(epsilon: Any) -> float:
    """Return an epsilon that the conversions of this module cover, or raise."""
    found = validation.positive(epsilon, "epsilon")
    if found < LEAST:
        raise ValueError(f"epsilon must be at least {LEAST:g}; got {found!r}")
    return found


def check_compiled(learner: Any, members: tuple[str, ...]) -> None:
    """Raise ValueError if a subclass defines members from which its private noise or its statement is computed."""
    own = validation.user_defined(learner, members)
    if own:
        raise ValueError(
            "the privacy of a subclass must be that of its parent; "
            f"got {type(learner).__name__} with user-defined {', '.join(own)}"
        )


def gaussian_mu(epsilon: float, delta: float) -> float:
    """Return the largest mu of Gaussian differential privacy that implies (epsilon, delta).

    >>> round(gaussian_mu(1.0, 1e-6), 4), round(gaussian_mu(1.0, 1e-9), 4)
    (0.2367, 0.182)
    """
    return 1.0 / GaussianNoise(delta).sigma(epsilon, 1.0)


def gaussian_epsilon(mu: float, delta: float) -> float:
    """Return the smallest epsilon that mu-GDP implies at delta, rounded up.

    >>> round(gaussian_epsilon(0.1264, 1e-6), 4)
    0.5099
    """
    return GaussianNoise(delta).epsilon_of(mu, 1.0) * (1.0 + ROUNDING) if mu > 0.0 else 0.0


def zcdp_epsilon(rho: float, delta: float) -> float:
    """Return the smallest epsilon that rho-zCDP implies at delta, rounded up.

    >>> round(zcdp_epsilon(0.024356, 1e-6), 3)
    1.0
    """
    if rho == 0.0:
        return 0.0

    def epsilon(log_excess: float) -> float:
        alpha = 1.0 + math.exp(log_excess)
        spent = (math.log(1.0 / delta) + (alpha - 1.0) * math.log1p(-1.0 / alpha) - math.log(alpha)) / (alpha - 1.0)
        return rho * alpha + spent

    low, high, golden = -20.0, 40.0, 0.5 * (math.sqrt(5.0) - 1.0)
    for _ in range(200):
        left, right = high - golden * (high - low), low + golden * (high - low)
        if epsilon(left) <= epsilon(right):
            high = right
        else:
            low = left
    return bounds.rounded_up(max(0.0, epsilon(0.5 * (low + high))))


def zcdp_rho(epsilon: float, delta: float) -> float:
    """Return the largest rho, up to rounding, for which rho-zCDP implies (epsilon, delta).

    >>> round(zcdp_rho(1.0, 1e-6), 6)
    0.024356
    """
    low, high = 0.0, epsilon
    while high - low > 1e-14 * high:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if zcdp_epsilon(middle, delta) <= epsilon else (low, middle)
    return low


@dataclass(frozen=True)
class GamePrivacy(Privacy):
    """A statement of (epsilon, delta)-differential privacy of all moves of a game.

    Parameters
    ----------
    epsilon, delta : float
        The parameters.
    rounds : int or None
        Number of rounds that the statement covers; None for any number of rounds.
    source : str
        Theorem.
    condition : str, optional
        Assumptions.
    mu : float or None, optional
        Parameter of Gaussian differential privacy, if the moves are a Gaussian mechanism.
    neighbors : {"add-remove", "replace"}, optional
        Neighboring relation.
    per_person : int, optional
        Number of rounds to which one person contributes at most.
    rho : float or None, optional
        Parameter of zero-concentrated differential privacy, if `mu` is None.
    learners : int, optional
        Number of learners whose moves the statement covers together.
    changed : str, optional
        Noun for what one round contributes.

    Examples
    --------
    >>> import hannan as hn
    >>> alone = hn.PrivateExperts(10, epsilon=1.0, rounds=1000).privacy()
    >>> print(alone.says)
    (epsilon, delta) = (1, 1e-06) for 1000 rounds together
    >>> each = alone.share(3)  # three learners observe the same people
    >>> one = hn.PrivateExperts(10, epsilon=each, rounds=1000).privacy()
    >>> round(each, 3), one.together(one, one).epsilon <= 1.0
    (0.554, True)
    """

    rounds: int | None  # type: ignore[assignment]
    condition: str = CONDITION
    mu: float | None = None
    neighbors: Neighbors = "add-remove"
    per_person: int = 1
    rho: float | None = None
    learners: int = 1
    changed: str = "loss vector"

    @property
    def between(self) -> str:  # type: ignore[override]
        """Neighboring relation, in words."""
        nouns = f"{self.changed}es" if self.changed.endswith("s") else f"{self.changed}s"
        many = f"one {self.changed}" if self.per_person == 1 else f"up to {self.per_person} {nouns}"
        where = "" if self.learners == 1 else " of each learner"
        removed = "added or removed (the round remains, with constant losses)"
        change = removed if self.neighbors == "add-remove" else "replaced"
        return f"neighboring sequences: {many}{where} {change}, in both directions, chosen adaptively"

    @property
    def says(self) -> str:
        """The statement as a line, both parameters rounded up."""
        covered = "any number of rounds" if self.rounds is None else f"{counted(self.rounds, 'round')} together"
        many = "" if self.learners == 1 else f" of {self.learners} learners"
        return f"(epsilon, delta) = ({ceiling(self.epsilon)}, {chance(self.delta)}) for {covered}{many}"

    @property
    def _concentrated(self) -> float:
        """A rho for which the statement is rho-zCDP."""
        if self.mu is not None:
            return 0.5 * self.mu * self.mu
        # Pure differential privacy is zero-concentrated: Bun and Steinke (2016), proposition 1.4.
        return 0.5 * self.epsilon * self.epsilon if self.rho is None else self.rho

    def share(self, learners: int) -> float:
        """Return the epsilon that each of several learners can spend so that all of them together spend this one.

        Parameters
        ----------
        learners : int
            Number of learners of this kind that observe the same people.

        Returns
        -------
        float
            Epsilon of each learner, at the same delta, rounded down.
        """
        many = validation.count(learners, "learners")
        if many == 1:
            return self.epsilon
        if self.delta == 0.0:
            return self.epsilon / many * (1.0 - ROUNDING)
        if self.mu is not None:
            return gaussian_epsilon(gaussian_mu(self.epsilon, self.delta) / math.sqrt(many), self.delta) * (
                1.0 - 3.0 * ROUNDING
            )
        return zcdp_epsilon(zcdp_rho(self.epsilon, self.delta) / many, self.delta) * (1.0 - 3.0 * ROUNDING)

    def together(self, *others: GamePrivacy, delta: float | None = None) -> GamePrivacy:
        """Return the privacy of all moves of several learners that observe the same people.

        Parameters
        ----------
        *others : GamePrivacy
            Statements of the other learners. Losses may depend on the moves of all of them.
        delta : float, optional
            Delta of the result. Default: the largest one of the statements.

        Returns
        -------
        GamePrivacy
            Exact for Gaussian mechanisms. Otherwise by concentrated differential privacy, or the sum of the epsilons
            if it is smaller and its deltas sum to at most `delta`.
        """
        parts = (self, *others)
        for part in others:
            same = (part.neighbors, part.per_person, part.changed) == (self.neighbors, self.per_person, self.changed)
            if not same:
                raise ValueError(
                    f"others must compare the same sequences as this statement ({self.between}); got {part.between}"
                )
        target = max(part.delta for part in parts) if delta is None else delta
        target = validation.between(target, 0.0, 1.0, "delta", "[)")
        summed = bounds.rounded_up(math.fsum(part.epsilon for part in parts))
        found = [(summed, "the sum of the epsilons")] if math.fsum(part.delta for part in parts) <= target else []
        mu = None
        if all(part.mu is not None for part in parts):
            mu = math.sqrt(math.fsum((part.mu or 0.0) ** 2 for part in parts))
            if target > 0.0:
                found.append((gaussian_epsilon(mu, target), "one Gaussian mechanism, mu^2 = sum of mu_i^2"))
        rho = math.fsum(part._concentrated for part in parts)
        if target > 0.0:
            found.append((zcdp_epsilon(rho, target), "zero-concentrated privacy, rho = sum of rho_i"))
        if not found:
            raise bounds.Withheld(f"delta must be above 0 for mechanisms that have a delta; got {delta!r}")
        epsilon, how = min(found)
        counts = [part.rounds for part in parts]
        rounds = None if None in counts else sum(count or 0 for count in counts)
        return replace(
            self, epsilon=epsilon, delta=target, rounds=rounds, mu=mu, rho=None if mu is not None else rho,
            source=f"composition of {len(parts)} statements: {how}", learners=sum(part.learners for part in parts),
            condition="; ".join(dict.fromkeys(part.condition for part in parts)),
        )  # fmt: skip

    def shown(self) -> Shown:
        assumptions = [("neighbors", self.between), ("private if", self.condition)]
        return Shown(self.says, assumptions=assumptions, details=[*self.parameters(), ("theorem", self.source)])

    def parameters(self) -> list[tuple[str, str]]:
        """Return the parameter of the definition that the statement was converted from, as a row."""
        if self.mu is not None:
            return [("mu", f"{ceiling(self.mu)} (Gaussian differential privacy)")]
        return [] if self.rho is None else [("rho", f"{ceiling(self.rho)} (zero-concentrated differential privacy)")]


def curve(
    described: str, rounds: int, delta: float, epsilons: Sequence[float] | None, at: Callable[[float], Any],
    free: Callable[[], Any], *, quantity: str, noise: Callable[[Any], float], smallest: float = 1e-4,
) -> PrivacyCurve:  # fmt: skip
    """Return bounds by epsilon of the learners `at(epsilon)`; `noise` is their `quantity`, `free` has no privacy."""
    rounds = validation.count(rounds, "rounds")
    asked = sorted(validation.positive(x, "epsilon") for x in (USUAL if epsilons is None else epsilons))
    if not asked:
        raise ValueError("epsilons must have at least one number; got an empty sequence")
    withheld: list[str] = []

    def bound(learner: Any) -> float | None:
        try:
            return float(learner.bound(rounds).value)
        except ValueError as reason:
            withheld.append(str(reason))
            return None

    learners = [at(epsilon) for epsilon in asked]
    least = bound(free())
    return PrivacyCurve(
        described, rounds, delta,
        epsilons=tuple(asked), scales=tuple(noise(learner) for learner in learners),
        bounds=tuple(bound(learner) for learner in learners), free=least,
        withheld=withheld[0] if withheld else "", quantity=quantity,
        epsilon_at_ten_percent=None if least is None else epsilon_at(
            MORE_REGRET * least, lambda epsilon: bound(at(epsilon)), smallest
        ),
    )  # fmt: skip


def epsilon_at(most: float, bound: Callable[[float], float | None], smallest: float = 1e-4) -> float | None:
    """Return the smallest epsilon, rounded up, with bound(epsilon) <= most; None if there is none below 1000.

    Values of epsilon below `smallest` are not tried.

    >>> round(epsilon_at(4.0, lambda epsilon: 1.0 / epsilon), 6)
    0.25
    """

    def enough(epsilon: float) -> bool:
        found = bound(epsilon)
        return found is not None and found <= most

    low, high = smallest, 1000.0
    if not enough(high):
        return None
    if enough(low):
        return low
    while high > low * (1.0 + 1e-7):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
