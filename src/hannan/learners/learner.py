"""Base class of learners: frozen descriptions of algorithms, with units, bounds and JSON."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, NoReturn

from hannan import saving, validation
from hannan.learners.tuning import ClippedSchedule, Schedule, Tuning, check_tuning
from hannan.mathematics import bounds
from hannan.mathematics.bounds import (
    Against,
    Bound,
    Cover,
    Proved,
    Sense,
    Terms,
    Units,
    Whom,
    Withheld,
    checked,
    covers,
)
from hannan.mathematics.smoothing import Smoothing
from hannan.saving.result import Shown, as_html

if TYPE_CHECKING:
    #: A number of arms, or their names.
    Count = int | Sequence[str]

    class Arms:
        """Type of the field `n` of a bandit for type checkers: assigned a number or names, read as a number."""

        def __get__(self, learner: object, owner: type | None = None) -> int: ...
        def __set__(self, learner: object, value: Count) -> None: ...


def how_many(n: Any) -> Any:
    """Return the number of arms from a number or a list of names.

    >>> how_many(3), how_many(["red", "blue"])
    (3, 2)
    """
    return len(n) if isinstance(n, (list, tuple)) else n


def name_arms(learner: Any) -> None:
    """Replace a list of names given as n by n and `arms`; names are distinct non-empty strings, one per arm."""
    if isinstance(learner.n, (list, tuple)):
        if learner.arms is not None:
            raise ValueError(
                f"pass names of arms as n or as arms=, not both; got {list(learner.n)!r} and arms={learner.arms!r}"
            )
        object.__setattr__(learner, "arms", tuple(learner.n))
        object.__setattr__(learner, "n", len(learner.n))
    if learner.arms is None:
        return
    names = tuple(learner.arms)
    if not (names and all(isinstance(name, str) and name for name in names)):
        raise ValueError(f"arm names must be non-empty strings; got {list(names)!r}")
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"arm names must be unique; got {twice!r} twice")
    if len(names) != learner.n:
        raise ValueError(f"arms must have {learner.n} names, one per arm; got {len(names)}")
    object.__setattr__(learner, "arms", names)


#: Reasons for the missing privacy statement: for learners that observe all losses, and for bandits.
EVERY = (
    "its stability is proved for one step in one direction, and its tuning may depend on the losses, so one loss may "
    "affect every later move"
)
OWN = (
    "a loss is divided by the probability of its move, so one loss can change the play by more than any level "
    "fixed in advance"
)


class NotPrivate:
    """Methods `privacy` and `scale_for` of learners without a proved privacy statement."""

    def privacy(self, *_: Any, **__: Any) -> NoReturn:
        """Raise Withheld, because no two-sided statement over rounds is proved; the message names an alternative."""
        setup: Any = getattr(self, "setup")()  # noqa: B009, a method of the learner
        n: int = getattr(self, "n", 0) or getattr(self, "experts", 2)
        if setup.setting == "experts":
            exposed, instead = (
                EVERY,
                (
                    f"hn.PrivateExperts({n}, epsilon=1.0, rounds=...) has one epsilon for all of its moves. Or publish "
                    f"sampled moves of Hedge: hn.Experts({n}, hn.Entropy(), hn.Horizon(...)).privacy()"
                ),
            )
        else:
            exposed, instead = (
                OWN,
                (
                    "hn.LocallyPrivate(learner, epsilon=1.0) randomizes every loss before the learner receives it, and "
                    "has one epsilon for any number of rounds"
                ),
            )
        raise Withheld(
            f"no privacy is proved for {type(self).__name__}: {exposed}. Alternative: {instead}. hn.audit measures the "
            "stability of one step"
        )

    def scale_for(self, *_: Any, **__: Any) -> NoReturn:
        """Raise Withheld, like `privacy`."""
        self.privacy()


if TYPE_CHECKING:
    from hannan.players.player import Player


class Constants(NamedTuple):
    """Constants of a smoothing that bounds use: rate = h/scale, range = G scale, and the cost of a comparator
    that keeps a positive probability on every arm.
    """

    rate: float
    range: float
    bias: float

    @property
    def c(self) -> float:
        """c' = rate * range, which does not depend on the scale."""
        return self.rate * self.range


class Proof(NamedTuple):
    """Terms of a bound for losses in [0, 1], with theorem, extent of the proof, adversary, sense and covers.

    `against` and `sense` are None if they are those of the learner's bounds. `supposes` is the best loss, of losses in
    [0, 1], at which the terms were evaluated; it is None if they hold for every best loss.
    """

    terms: Terms
    source: str
    proof: Proved = "whole"
    against: Against | None = None
    sense: Sense | None = None
    covers: tuple[Cover, ...] = ()
    supposes: float | None = None

    @property
    def value(self) -> float:
        """Sum of the terms."""
        return math.fsum(self.terms.values())


class Weigher(NamedTuple):
    """Rule that computes weights from losses: a smoothing, or the kernel of a learner with a memory and its parameters.
    `gamma` is the order of the divergence in which the level is measured.
    """

    kernel: str | Smoothing
    kernel_parameters: tuple[float, ...] = ()
    gamma: float = 1.0

    def part(self) -> Any:
        """Return the part of the engine's setup."""
        from hannan import _engine

        numbers = self.kernel_parameters
        made: str | Smoothing = self.kernel
        if isinstance(made, Smoothing):
            if not made.kernel:
                from hannan.mathematics.potentials import weigher

                return weigher(made, self.gamma)
            numbers = made.kernel_parameters
            made = made.kernel
        kinds = (_engine.Smoothing, _engine.Memory, _engine.Counter)
        kind = next(kind.__members__[made] for kind in kinds if made in kind.__members__)
        return _engine.Weigher(kind, [float(x) for x in numbers], self.gamma)


class Learner(NotPrivate, saving.Described):
    """Base class of learners: validation, bounds in the user's units, JSON, `repr` and `start`."""

    smoothing: Smoothing
    tuning: Tuning
    loss_range: tuple[float, float]
    gains: bool

    #: Values that `repr` omits, in addition to the defaults of the fields.
    _unsaid: ClassVar[dict[str, Any]] = {}
    #: True if games step its players in Python.
    stepped: ClassVar[bool] = False
    #: Largest absolute value in a loss range.
    _largest: ClassVar[float] = validation.LARGEST_LOSS
    #: Adversary and sense of its bounds, unless a proof states others.
    _against: ClassVar[Against] = "oblivious"
    _sense: ClassVar[Sense | None] = None

    def _repr_html_(self) -> str:
        """Return the learner for a notebook, with its bound for 10,000 rounds."""
        try:
            found = str(self.bound(rounds=10_000)).splitlines()[0]
        except ValueError as reason:
            found = f"no bound: {reason}"
        return as_html(Shown(repr(self), [("10,000 rounds", found)]))

    def start(self, seed: int | None = None, name: str | None = None) -> Player:
        """Return a live player.

        Parameters
        ----------
        seed : int, optional
            Seed for experiments: the moves are those of run 0 of `hn.play(seed=seed)`. An adversary that knows the seed
            can predict the moves and exceed the bound, so the certificate reports it. Default: randomness of the
            operating system.
        name : str, optional
            Id of the player in its tickets. Default: a new id, so that tickets of other players are rejected.

        Returns
        -------
        Player
            Running learner.
        """
        raise NotImplementedError

    def setup(self) -> Any:
        """Return the learner as the engine plays it, an `_engine.Setup`."""
        raise NotImplementedError

    def _weigher(self) -> Weigher:
        """Return the part of the setup that computes weights from losses."""
        return Weigher(self.smoothing)

    def _setup(self, setting: str, n: int, schedule: Schedule, **parts: Any) -> Any:
        """Assemble the setup; `parts` are `actions`, `estimate`, `clip` and `log_prior`."""
        from hannan import _engine

        low, high = self.loss_range
        return _engine.Setup(
            getattr(_engine.Setting, setting), n, self._weigher().part(), _engine.Schedule(*map(float, schedule)),
            _engine.Units(float(low), float(high), self.gains), **parts,
        )  # fmt: skip

    def schedule(self) -> Schedule | ClippedSchedule:
        """Return the rule that sets the scale."""
        raise NotImplementedError

    # Description

    def __repr__(self) -> str:
        """Return the positional arguments of `repr`, and the options that differ from their defaults."""
        parts = []
        for field in dataclasses.fields(self):  # type: ignore[arg-type]
            value = self._said(field.name)
            if not field.repr:
                continue
            if field.default is dataclasses.MISSING:
                parts.append(repr(value))
            elif field.name in ("smoothing", "tuning") or value != self._unsaid.get(field.name, field.default):
                parts.append(f"{field.name}={value!r}")
        return f"{type(self).__name__}({', '.join(parts)})"

    def _said(self, name: str) -> Any:
        """Return a field as `repr` prints it."""
        return getattr(self, name)

    def _check(self) -> None:
        """Validate the fields that every learner has."""
        if not isinstance(self.smoothing, Smoothing):
            raise ValueError(f"smoothing must be a Law or Regularizer such as hn.Tsallis(0.5); got {self.smoothing!r}")
        self.smoothing.check_compiled("smoothing")
        self.smoothing.assumptions()  # Raises ValueError if a stated constant is contradicted by the definition.
        check_tuning(self.tuning)
        self._check_units()

    def _check_units(self) -> None:
        """Validate loss_range and gains."""
        object.__setattr__(self, "loss_range", validation.loss_range(self.loss_range, self._largest))
        if not isinstance(self.gains, bool):
            raise ValueError(f"gains must be True or False; got {self.gains!r}")

    # Units

    @property
    def units(self) -> Units:
        """Conversion between the user's losses (or gains) and losses in [0, 1]."""
        return Units.of(self.loss_range, self.gains)

    @property
    def width(self) -> float:
        """Width of the loss range, high - low."""
        return self.loss_range[1] - self.loss_range[0]

    def in_units(self, total: float, rounds: int) -> float:
        """Return a cumulative loss of losses in [0, 1] as a loss (or gain) in the user's units."""
        return float(self.units.total(total, rounds))

    def _normalised(self, total: float, rounds: int | None, name: str) -> float:
        """Return a cumulative loss (or gain) in the user's units as a loss of losses in [0, 1]."""
        if self.units.zero != 0.0 and rounds is None:
            word = "gain" if self.gains else "loss"
            raise ValueError(
                f"rounds is required with {name}, because a {word} of 0 is not the best value of loss_range "
                f"{self.loss_range}; got {name}={total!r} without rounds"
            )
        best = float(self.units.normal(total, rounds or 0))
        most = math.inf if rounds is None else float(rounds)
        slack = 1e-9 * (1.0 + abs(total) / self.width)
        if not -slack <= best <= most + slack:
            raise ValueError(f"{name} must be a possible total of {rounds} rounds in {self.loss_range}; got {total!r}")
        return min(max(best, 0.0), most)

    def tuned_best(self) -> float:
        """Return the best loss of the tuning, for losses in [0, 1]; for a Horizon the number of its rounds."""
        told, rounds = self.tuning.told_best, self.tuning.told_rounds
        if told is None:
            return float(needed(rounds, "the number of rounds is the default of the best loss"))
        best = self._normalised(told, rounds, "the bound of BestLoss")
        if best <= 0.0:
            raise ValueError(f"the bound of BestLoss must be worse than the best possible total; got {self.tuning!r}")
        return best

    # Bounds

    def bound(
        self, rounds: int | None = None, best_loss: float | None = None, *, printed: bool = False, against: Whom = None
    ) -> Bound:
        """Return the smallest proved bound on the expected regret, in the units of the losses.

        Parameters
        ----------
        rounds : int, optional
            Number of rounds. Required unless the tuning states it, or the bound does not depend on it.
        best_loss : float, optional
            Best cumulative loss in hindsight, or an upper bound on it; for gains, a lower bound. A bound that uses it
            states the condition "if the best loss L* <= best_loss on every run". Default: `rounds`.
        printed : bool, default False
            If True, the result also has the bound with the constants of the paper.
        against : {"adaptive", "oblivious", "iid"}, optional
            Adversary that the bound must hold against. Default: the smallest bound that is proved; `Bound.against`
            reports its adversary.

        Returns
        -------
        Bound
            Value, terms, theorem and adversary. It is at most the trivial bound, rounds * range, which holds on every
            run and is returned if no smaller bound is proved.

        Raises
        ------
        Withheld
            If no such bound is proved.
        """
        return self._bounded(rounds, best_loss, printed, 0, against)

    def _bounded(
        self, rounds: int | None, best_loss: float | None, printed: bool, delay: int, against: str | None = None
    ) -> Bound:
        if against is not None:
            checked(against)
        rounds = None if rounds is None else validation.count(rounds, "rounds", least=0)
        horizon = self._horizon
        if horizon is not None:
            if rounds is not None and rounds > horizon:
                raise Withheld(f"{self.tuning!r} is tuned for {horizon} rounds; no bound is proved for {rounds}")
            rounds = horizon if rounds is None else rounds
        if rounds is None and self.tuning.told_best is not None and self.units.zero != 0.0:
            rounds = self.tuning.told_rounds  # The best loss of the tuning refers to this number.
        best = None if rounds is None else float(rounds)
        if best_loss is not None:
            best = self._normalised(validation.real(best_loss, "best_loss"), rounds, "best_loss")
        if self.tuning.told_best is not None:
            tuned = self.tuned_best()
            if best_loss is not None and best is not None and best > tuned * (1.0 + 1e-12):
                raise Withheld(f"{self.tuning!r} has no bound for a worse best loss; got best_loss={best_loss!r}")
            best = tuned if best is None else min(best, tuned)
        if self._trivial or rounds == 0:
            none = bounds.nothing()
            proof = Proof(none.terms, none.source, none.proof, none.against, none.sense)
        else:
            proof = self._least(self._proofs(rounds, best, best_loss is not None, delay), against)
        bound = self._conditioned(self._in_units(proof, rounds), rounds, proof.supposes, best_loss).asked(against)
        if printed:
            bound = dataclasses.replace(bound, printed=self._as_printed(rounds, best).times(self.width))
        return bound

    def _proofs(self, rounds: int | None, best: float | None, known: bool, delay: int) -> list[Proof]:
        """Return all bounds that are proved for the learner; at least one."""
        return [self._proof(rounds, best, known, delay)]

    def _proof(self, rounds: int | None, best: float | None, known: bool, delay: int) -> Proof:
        """Return the bound for losses in [0, 1]; `best` is L*, or the number of rounds if L* is not `known`."""
        raise NotImplementedError

    def _least(self, proofs: list[Proof], against: str | None) -> Proof:
        """Return the smallest bound that holds against an adversary; without one, the smallest of all bounds."""
        held = [p for p in proofs if against is None or covers(p.against or self._against, against)]
        return min(held or proofs, key=lambda proof: proof.value)

    def _as_printed(self, rounds: int | None, best: float | None) -> Bound:
        """Return the bound as printed in the paper."""
        raise NotImplementedError

    @property
    def _trivial(self) -> bool:
        """True if there is only one choice."""
        raise NotImplementedError

    @property
    def _horizon(self) -> int | None:
        """Number of rounds that the tuning assumes: that of Horizon, or that in the range of LogBarrier."""
        return self.tuning.told_rounds if self.smoothing.needs_rounds else self.tuning.last_round

    def _in_units(self, proof: Proof, rounds: int | None) -> Bound:
        """Return the bound in the user's units, rounded up, and at most rounds x loss range."""
        terms = {name: term * self.width for name, term in proof.terms.items()}
        bound = Bound(
            bounds.rounded_up(math.fsum(terms.values())), terms, proof.source, proof=proof.proof,
            sense=proof.sense or self._sense, against=proof.against or self._against, covers=proof.covers,
        )  # fmt: skip
        if rounds is not None and bound.value >= rounds * self.width:
            bound = bounds.trivial(rounds * self.width)
        schedule = self.schedule()
        scale = schedule.scale(1, 0.0) if schedule.is_constant else None
        return dataclasses.replace(bound, scale=scale, schedule=str(schedule))

    def _conditioned(self, bound: Bound, rounds: int | None, supposes: float | None, best_loss: float | None) -> Bound:
        """Return the bound with the assumptions of its proof about the losses that cannot be verified.

        `supposes` is the best loss that the terms suppose, `best_loss` the one that the caller gave in the user's
        units.
        """
        if bound.sense == "run":
            return bound
        bound = dataclasses.replace(bound, condition=self.smoothing.assumptions())
        if supposes is None or (rounds is not None and supposes >= rounds):
            return bound  # The best loss is at most the number of rounds.
        told = self.tuning.told_best is not None and supposes == self.tuned_best()
        if told or best_loss is None:
            at_most = self._supposed(supposes, rounds)
        else:
            at_most = float(best_loss)
        return bound.supposing(at_most, self.gains)

    def _supposed(self, best: float, rounds: int | None) -> float:
        """Return the best loss of losses in [0, 1] in the user's units, after a number of rounds.

        If 0 is not the best loss of a round, the number in the user's units grows with the rounds.
        """
        if self.units.zero == 0.0 and self.tuning.told_best is not None:
            return self.tuning.told_best
        return self.in_units(best, needed(rounds, "the best loss in these units depends on the number of rounds"))

    def _constants(self, n: int, rounds: int | None) -> Constants:
        """Return rate and range of the smoothing; raise Withheld if one of them is infinite or unknown."""
        if self.smoothing.hedge:  # Entropy and Gumbel have the same distributions and the same constants.
            return Constants(1.0, math.log(n), 0.0)
        try:
            rate = self.smoothing.rate
        except ValueError as reason:
            raise Withheld(f"the smoothing has no rate: {reason}") from None
        if not math.isfinite(rate) and self._needs_rate:
            raise Withheld(f"{self.smoothing!r} has an unbounded hazard and so no rate; {self._unrated}")
        if self.smoothing.needs_rounds and rounds is None:
            name = type(self.smoothing).__name__
            raise Withheld(f"rounds is required: the range of {name} depends on the number of rounds")
        spread = self.smoothing.range_constant(n, rounds)
        if not math.isfinite(spread):
            raise Withheld(f"no bound is proved for {self.smoothing!r}, because its mean is infinite")
        return Constants(rate, spread, self.smoothing.comparator_cost(n))

    #: Consequence for a smoothing without a rate.
    _unrated: ClassVar[str] = "only Fixed tuning is possible, without a regret bound"

    @property
    def _needs_rate(self) -> bool:
        """True if the bound of this tuning depends on the rate."""
        return True

    def _tuned_constants(self, n: int, rounds: int | None) -> Constants:
        """Return the constants at construction; raise ValueError if the tuning needs one that does not exist."""
        try:
            return self._constants(n, rounds)
        except ValueError as reason:
            raise ValueError(f"{self.tuning!r} cannot tune {type(self).__name__}: {reason}") from None

    def _refuse_tuning(self, given: str) -> ValueError:
        """Return an error for a pair that no theorem covers; `given` lists the possible tunings."""
        return ValueError(
            f"tuning of {type(self).__name__} with {self.smoothing!r} must be {given}, for which bounds are "
            f"proved; got {self.tuning!r}"
        )


def asked_rounds(rounds: int | None, horizon: int | None, tuned: object) -> int:
    """Return the number of rounds of a bound: those that were asked for, or else the horizon.

    `tuned` has the horizon (a tuning or a learner); the error for more rounds names it.

    >>> asked_rounds(None, 100, "Horizon(100)"), asked_rounds(7, None, "")
    (100, 7)
    """
    if rounds is None:
        return needed(horizon, "the bound depends on the number of rounds")
    rounds = validation.count(rounds, "rounds", least=0)
    if horizon is not None and rounds > horizon:
        raise Withheld(f"{tuned!r} is tuned for {horizon} rounds; no bound is proved for {rounds}")
    return rounds


def needed(rounds: int | None, what: str) -> int:
    """Return the number of rounds; raise ValueError with the reason if it is missing."""
    if rounds is None:
        raise ValueError(f"rounds is required: {what}")
    return rounds
