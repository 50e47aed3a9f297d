"""AdaHedge (de Rooij, van Erven, Grunwald and Koolen 2014): experts without tuning, for losses in any units."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from hannan import validation
from hannan.learners.learner import Learner, Weigher
from hannan.learners.names import FORECASTS
from hannan.learners.tuning import Order, Schedule, Tuning
from hannan.mathematics import bounds
from hannan.mathematics.bounds import Against, Bound, Sense, Terms, Withheld
from hannan.mathematics.regularizers import Entropy
from hannan.players.certificate import MEAN_PLAY, Certificate
from hannan.players.sleeping import SleepingPlayer
from hannan.saving.formatting import figure

#: Smaller spans are treated as 0, because their squares could underflow in the sum of variances.
_LEAST_SPAN = 1e-140
#: Largest loss without a stated range; sums of larger losses could overflow.
ANY = (-1e150, 1e150)
_SOURCE = "AdaHedge, de Rooij et al. 2014"


@dataclass(frozen=True)
class MixabilityGap(Tuning):
    """Tuning with scale_t = Delta_(t-1)/ln n, where Delta is the sum of the mixability gaps."""

    order: ClassVar[Order] = "first"


@dataclass(frozen=True, repr=False)
class AdaHedge(Learner):
    """Hedge without tuning: neither the number of rounds nor the range of the losses must be known.

    Parameters
    ----------
    n : int
        Number of experts.
    loss_range : tuple of float, optional
        Range of the losses. If it is given, a loss outside of the range raises ValueError, and `bound` has a value
        before play.
    gains : bool, default False
        If True, larger values are better.

    Notes
    -----
    p_i ~ e^(-L_i/s), s = Delta/ln n, where Delta = sum_t <p_t, l_t> + s_t log <p_t, e^(-l_t/s_t)> is the sum of the
    mixability gaps. The play does not depend on the units and the offset of the losses. With s the largest span of a
    round, V the sum of the variances of l_t under p_t, and L- and L+ the sums of the smallest and of the largest loss
    of each round,

        regret <= 2 Delta <= 2 sqrt(V ln n) + s (4/3 ln n + 2),
        regret <= 2 sqrt(s ln n (L* - L-)(L+ - L*)/(L+ - L-)) + s (16/3 ln n + 2).

    A certificate has the smaller of the two, for the observed s.

    References
    ----------
    De Rooij, van Erven, Grunwald and Koolen, Follow the leader if you can, hedge if you must, JMLR 2014.

    Examples
    --------
    >>> player = AdaHedge(2).start(seed=0)
    >>> for loss in ([3.0, 1.0], [2.0, 700.0], [5.0, 5.5]):
    ...     player.observe(player.act(), loss)
    >>> player.distribution().round(4).tolist()
    [0.704, 0.296]
    """

    n: int
    loss_range: tuple[float, float] = ANY
    gains: bool = False

    smoothing = Entropy()
    tuning = MixabilityGap()
    _largest = ANY[1]
    _against: ClassVar[Against] = "any"
    _sense: ClassVar[Sense | None] = "mean"

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", validation.count(self.n, "n"))
        self._check()

    @property
    def _trivial(self) -> bool:
        return self.n == 1

    @property
    def width(self) -> float:
        """Width of a unit of loss: 1, because losses are not normalized."""
        return 1.0

    def in_units(self, total: float, rounds: int) -> float:
        return -total if self.gains else total

    def schedule(self) -> Schedule:
        raise ValueError("AdaHedge has no schedule: its scale Delta/ln n depends on the losses")

    def _weigher(self) -> Weigher:
        return Weigher("adahedge", (1.0 / math.log(self.n) if self.n > 1 else 0.0,))

    def setup(self) -> Any:
        return self._setup("experts", self.n, Schedule.constant(1.0))

    @property
    def _ranged(self) -> bool:
        """True if a range is stated."""
        return self.loss_range != ANY

    def start(self, seed: int | None = None, name: str | None = None) -> AdaHedgePlayer:
        return AdaHedgePlayer(self, seed, name)

    # Bounds

    def bound(
        self,
        rounds: int | None = None,
        best_loss: float | None = None,
        *,
        spread: float | None = None,
        printed: bool = False,
        against: str | None = None,
    ) -> Bound:
        """Return a bound on the regret, if the losses of no round span more than `spread`.

        The default of `spread` is the width of a stated `loss_range`. An upper bound on the best loss is then used too:
        (L* - L-)(L+ - L*)/(L+ - L-) is at most L*(T - L*)/T for losses in [0, 1], and the bound states the condition.

        Parameters
        ----------
        rounds : int, optional
            Number of rounds.
        best_loss : float, optional
            Cumulative loss of the best choice in hindsight, or an upper bound on it.
        spread : float, optional
            Upper bound on the difference between the largest and the smallest loss of a round.
        printed : bool, default False
            If True, return the bound as the paper prints it.
        against : {"adaptive", "oblivious", "iid"}, optional
            Adversary the bound must hold against.

        Returns
        -------
        Bound
            Value, terms, theorem and adversary.

        Examples
        --------
        >>> print(AdaHedge(9).bound(rounds=17184, spread=2.0))
        expected regret <= 416.1, even against an adaptive adversary
          valid    for the mean play on every loss sequence; for sampled moves in expectation, even if losses depend
                   on past moves
          theorem  AdaHedge, de Rooij et al. 2014, spans of at most 2
          terms    2 sqrt(s ln n (L*-L-)(L+-L*)/(L+-L-))  388.7
                   s (16/3 ln n + 2)                      27.44
          scale    Delta/ln n
        """
        rounds = None if rounds is None else validation.count(rounds, "rounds", least=0)
        if printed:
            raise Withheld("the paper has no bound for AdaHedge; got printed=True")
        if spread is None and self._ranged:
            spread = self.loss_range[1] - self.loss_range[0]
        if self._trivial or rounds == 0:
            return bounds.nothing()
        if spread is None:
            raise Withheld(
                "the bound of AdaHedge depends on the loss range; pass loss_range= or spread=, "
                "or use player.certificate() after playing"
            )
        spread = validation.positive(spread, "spread")
        if rounds is None and not (self._ranged and best_loss is not None):
            raise ValueError("rounds is required: the bound depends on the number of rounds")
        most = math.inf if rounds is None else spread * rounds / 4.0
        smaller = math.inf
        if best_loss is not None and self._ranged:
            total, units = validation.real(best_loss, "best_loss"), self.units
            if rounds is None and units.zero != 0.0:
                raise ValueError(
                    f"rounds is required with best_loss for loss_range {self.loss_range}; got best_loss alone"
                )
            best = float(units.lost(total, rounds or 0))
            top = math.inf if rounds is None else units.width * rounds
            slack = 1e-9 * (spread + abs(total))
            if not -slack <= best <= top + slack:
                raise ValueError(
                    f"best_loss must be a possible total of {rounds} rounds in {self.loss_range}; got {total!r}"
                )
            best = min(max(best, 0.0), 0.5 * top)  # L*(T - L*)/T is largest at T/2.
            smaller = best * (1.0 - best / top) if math.isfinite(top) else best
        used = best_loss is not None and smaller < most
        terms = best_loss_terms(self.n, spread, min(most, smaller))
        bound = settled(terms, f"{_SOURCE}, spans of at most {figure(spread)}", rounds, spread)
        if used and bound.sense != "run":
            bound = bound.supposing(float(best_loss or 0.0), self.gains)
        return bound.asked(against)

    def observed_bound(self, seen: Seen) -> Bound:
        """Return the smaller of the two forms, for the observed numbers.

        Parameters
        ----------
        seen : Seen
            Numbers that the player observed.

        Returns
        -------
        Bound
            Value, terms, theorem and adversary.
        """
        if self._trivial or seen.rounds == 0 or seen.span == 0.0:
            return bounds.nothing("one choice, or no difference, has no regret")
        # Sums of T losses are exact up to T units in their last place; ab/(a + b) grows with a and b, and is at most a
        # quarter of the spans together.
        slack = seen.rounds * math.ulp(max(abs(seen.best), abs(seen.least), abs(seen.most)))
        above, below = max(seen.best - seen.least, 0.0) + slack, max(seen.most - seen.best, 0.0) + slack
        most = min(above * (below / (above + below)), seen.rounds * seen.span / 4.0)
        forms = [best_loss_terms(self.n, seen.span, most)]
        if seen.span > _LEAST_SPAN:
            forms.append(variance_terms(self.n, seen.span, seen.variance))
        terms = min(forms, key=lambda form: sum(form.values()))
        return settled(terms, f"{_SOURCE}, observed range s = {figure(seen.span)}", seen.rounds, seen.span)


@dataclass(frozen=True)
class Seen:
    """Observed numbers that a bound of AdaHedge uses: rounds, L*, L-, L+, the largest span, V, and Delta."""

    rounds: int
    best: float
    least: float
    most: float
    span: float
    variance: float
    gap: float

    @classmethod
    def of(cls, player: AdaHedgePlayer) -> Seen:
        """Return the numbers of a player."""
        return cls(player._settled, float(player._losses.min()), **player._adahedge)


def best_loss_terms(n: int, spread: float, most: float) -> Terms:
    """Return 2 sqrt(s ln n B) + s (16/3 ln n + 2), B = (L*-L-)(L+-L*)/(L+-L-)."""
    root = 2.0 * math.sqrt(spread) * math.sqrt(most * math.log(n))
    return {
        "2 sqrt(s ln n (L*-L-)(L+-L*)/(L+-L-))": root,
        "s (16/3 ln n + 2)": spread * (16.0 / 3.0 * math.log(n) + 2.0),
    }


def variance_terms(n: int, spread: float, variance: float) -> Terms:
    """Return 2 sqrt(V ln n) + s (4/3 ln n + 2)."""
    return {
        "2 sqrt(V ln n)": 2.0 * math.sqrt(variance * math.log(n)),
        "s (4/3 ln n + 2)": spread * (4.0 / 3.0 * math.log(n) + 2.0),
    }


def settled(terms: Terms, source: str, rounds: int | None, spread: float) -> Bound:
    """Return a bound rounded up, at most rounds * span."""
    value = bounds.rounded_up(math.fsum(terms.values()))
    if rounds is not None and value >= rounds * spread:
        most = bounds.trivial(rounds * spread, "rounds x span", "largest span")
        return replace(most, schedule="scale_t = Delta/ln n")
    return Bound(
        value, terms, source, None, "scale_t = Delta/ln n", sense="mean", against="any"
    )  # fmt: skip


class AdaHedgePlayer(SleepingPlayer):
    """Player of `AdaHedge`: a move is one expert, a loss is a vector with one number per expert."""

    learner: AdaHedge
    _made_of_losses = True

    def certificate(self, delta: float | None = None) -> Certificate:
        """Return the certificate; the first moves follow the leader, without a claim on stability."""
        delta = None if delta is None else validation.between(delta, 0.0, 1.0, "delta", "()")
        seen, own = Seen.of(self), self._own
        bound, withheld = self._observed(seen)
        return Certificate(
            **self._standing(),
            bound=bound,
            withheld=withheld,
            own_loss=self.learner.in_units(own, self._settled),
            best_loss=self.learner.in_units(seen.best, self._settled),
            regret=own - seen.best,
            identity=self._identity(seen.best),
            estimated_regret=None,
            gamma=1.0,
            realised_level=self._level,
            claimed_rate=None,
            delta=delta,
            on_this_run_says="" if delta is None else MEAN_PLAY,
            notes=(*self._of_moves(bound, seen.best), *self._notes()),
        )

    def _identity(self, least: float) -> dict[str, float]:
        """Return the terms of the master identity; the term of the changes of scale is the remainder."""
        value, drift = least - self._scale * math.log(self._total), self._drift
        return {"start": 0.0, "end": value - least, "drift": drift, "scale changes": self._own - value - drift}

    def _observed(self, seen: Seen) -> tuple[Bound | None, str]:
        if withheld := self._lost():
            return None, withheld
        return self.bound_of(seen, self._largest_delay)

    def bound_of(self, seen: Seen, late: int) -> tuple[Bound | None, str]:
        """Return (bound for the observed numbers or None, reason if None); `late` is the largest delay."""
        if late:
            # The two forms below hold without delay; the form that they are derived from holds with any delay.
            terms = {"2 Delta": 2.0 * seen.gap}
            return settled(terms, "AdaHedge with late losses, docs/proofs/combine.md", seen.rounds, seen.span), ""
        return self.learner.observed_bound(seen), ""


@dataclass(frozen=True)
class Rule:
    """Rule of `hannan.learners.names.FORECASTS` by its name; losses outside of `loss_range` raise ValueError.

    >>> Rule(), Rule("boa").name
    (two-layers, 'boa')
    """

    name: str = "two-layers"
    loss_range: tuple[float, float] = ANY

    def __post_init__(self) -> None:
        if self.name not in FORECASTS:
            raise ValueError(f"rule must be one of {', '.join(FORECASTS)}; got {self.name!r}")
        object.__setattr__(self, "loss_range", validation.loss_range(self.loss_range, ANY[1]))

    def __repr__(self) -> str:
        low, high = self.loss_range
        return self.name if self.loss_range == ANY else f"{self.name}, losses in {low:g}:{high:g}"
