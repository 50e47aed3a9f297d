"""Privacy statements of a convex learner: one move, and its composition over rounds.

One loss more or less moves the law of the exact argmin by epsilon_1, forward and backward:

    Gamma noise     beta/scale + J, delta = 0              J = log(1 + smooth/ridge), 0 for linear losses
    Gaussian        e + J at delta(e), the exact linear formula delta_0 for linear losses and for phi' of one sign,
                    2 delta_0 for phi(<z, x>)

The argmin of linear losses is exact. Of curved ones the solver finds a point within `accuracy` r, always, and the
move is that point plus noise of density exp(-epsilon_2 ||w||/(2r)), projected: epsilon = epsilon_1 + epsilon_2,
epsilon_2 = output_share * epsilon, and delta as it was. Ridge, r and both scales are public constants.
Proofs in docs/proofs/convex.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from hannan import extras, refusals
from hannan.learners.convex.majorant import composed_epsilon
from hannan.mathematics.bounds import Withheld
from hannan.mathematics.convex.noise import GaussianNoise, Shape
from hannan.saving.result import Result, Shown
from hannan.saving.words import ceiling, chance, figure

CONDITION = (
    "for real-valued noise that nobody can compute (a player started without a seed), of the moves alone: own loss, "
    "regret and certificate are not covered"
)
#: What a smaller epsilon rests on besides, which nobody checks of the losses that are played.
WORDS = {"linear": "every loss is linear", "one-signed": "phi' of every loss is of one sign"}


#: Of which two games a statement compares the moves.
BETWEEN = "with and without one observation, both ways"


@dataclass(frozen=True)
class Privacy(Result):
    """A statement of differential privacy of a convex learner's moves, both ways.

    D_inf^delta <= epsilon both ways, between the moves with and without one observation (def:OSDS, two-sided).

    `rounds` is how many moves in a row the statement is about; `condition` is what it rests on.

    `epsilon` and `delta`: the statement. `source`: where it is proved.

    >>> import hannan as hn
    >>> learner = hn.Convex(hn.Ball(3), 1.0, tuning=hn.Fixed(2.0), smooth=0, guarantee="privacy")
    >>> said = learner.privacy()
    >>> said.epsilon, said.delta, said.rounds
    (0.5, 0.0, 1)
    """

    epsilon: float
    delta: float
    rounds: int
    source: str
    condition: str = CONDITION

    @property
    def says(self) -> str:
        """The statement as a line."""
        moves = "one move" if self.rounds == 1 else f"{self.rounds} moves in a row"
        return f"epsilon = {ceiling(self.epsilon)}, delta = {chance(self.delta)}, of {moves}"

    def shown(self) -> Shown:
        """The statement, where it comes from, and what it rests on."""
        return Shown(self.says, [("between", BETWEEN), ("source", self.source), ("condition", self.condition)])


class Levels(NamedTuple):
    """What makes up epsilon: the density's level, the Jacobian's J, and epsilon_2 of the output noise."""

    density: float
    jacobian: float
    output: float

    @property
    def epsilon(self) -> float:
        return self.density + self.jacobian + self.output


def ridge_of(learner: Any) -> float:
    """The fixed ridge of curved losses: as given, or smooth/level, which makes J at most the density's level."""
    if learner.guarantee == "regret" or not learner.smooth:
        return 0.0
    return float(learner.ridge or learner.smooth / _density(learner, "rank-one"))


def levels(learner: Any, shape: Shape) -> Levels:
    """The parts of epsilon for losses of a shape."""
    density = _density(learner, shape)
    if not learner.smooth:
        return Levels(density, 0.0, 0.0)
    jacobian = math.log1p(learner.smooth / ridge_of(learner))
    # The share of the widest shape: the output noise is drawn before the losses are known.
    widest = _density(learner, "rank-one") + jacobian
    return Levels(density, jacobian, widest * learner.output_share / (1.0 - learner.output_share))


def output_scale(learner: Any) -> float:
    """2r/epsilon_2: the scale of the output noise, 0 where the argmin is exact or nothing is promised."""
    if learner.accuracy is None:
        return 0.0
    return float(2.0 * learner.accuracy / levels(learner, "rank-one").output)


def _density(learner: Any, shape: Shape) -> float:
    scale, beta = learner.schedule().scale(1, 0.0), learner.lipschitz
    if isinstance(learner.noise, GaussianNoise):
        return learner.noise.epsilon_of(beta, scale, shape, learner.domain.d)
    return float(beta / scale)


def statement(learner: Any, rounds: int, delta: float | None, shape: Shape | None) -> Privacy:
    """`Convex.privacy`."""
    said = _said(learner, rounds, delta, shape)
    # Of Gamma noise epsilon is the same for every shape, and of a learner of linear losses the shape is its own.
    if shape in WORDS and learner.smooth and isinstance(learner.noise, GaussianNoise):
        return replace(said, condition=f"{said.condition}; on your word that {WORDS[shape]}")
    return said


def _said(learner: Any, rounds: int, delta: float | None, shape: Shape | None) -> Privacy:
    rounds = refusals.count(rounds, "rounds")
    if learner.guarantee != "privacy":
        raise Withheld("a privacy statement must be asked for, by guarantee='privacy': the other is one-sided")
    gaussian = learner.noise if isinstance(learner.noise, GaussianNoise) else None
    if gaussian is not None and gaussian.calibration == "paper":
        raise Withheld("the printed covariance carries no claim: its level is above the one printed")
    if learner.smooth and learner.accuracy is None:
        raise Withheld(
            "the argmin of curved losses is numerical, and a privacy statement needs noise added to the move: give "
            "accuracy, the largest distance from the argmin that the solver may leave"
        )
    if rounds > 1 and not learner.fresh:
        raise Withheld("one draw of noise used in many rounds hides no single loss: no statement over rounds")
    parts = levels(learner, _stated(learner, shape))
    what = "the perturbed argmin" if learner.smooth else "cor:olo: the law of the perturbed sum of linear losses"
    own = 0.0 if gaussian is None else gaussian.delta or 0.0
    if rounds == 1 and (delta is None or delta == own):
        source = what if not learner.smooth else f"{what}, J = {figure(parts.jacobian)}, output {figure(parts.output)}"
        return Privacy(parts.epsilon, own, 1, source)
    if gaussian is None and delta is None:
        return Privacy(rounds * parts.epsilon, 0.0, rounds, "basic composition of pure levels")
    target = refusals.between(own if delta is None else delta, 0.0, 1.0, "delta", "()")
    if gaussian is None:
        accounting = _accounting()
        pure = accounting.common.DifferentialPrivacyParameters(parts.epsilon, 0.0)
        one = accounting.privacy_loss_distribution.from_privacy_parameters(pure)
    elif learner.smooth:
        mu = learner.lipschitz / learner.schedule().scale(1, 0.0)
        spent = rounds * (parts.jacobian + parts.output)
        total = spent + composed_epsilon(mu, _stated(learner, shape), rounds, target)
        return Privacy(total, target, rounds, "privacy loss of curved losses, majorised and convolved")
    else:
        # T moves with fresh noise are one of sqrt(T) times the size, exactly; for linear losses alone: curved ones
        # exceed it.
        size = learner.lipschitz * math.sqrt(rounds)
        total = GaussianNoise(target).epsilon_of(size, learner.schedule().scale(1, 0.0))
        return Privacy(
            total, target, rounds, "Gaussian mechanisms, composed exactly: one of sqrt(rounds) times the size"
        )
    composed = float(one.self_compose(rounds).get_epsilon_for_delta(target))
    return Privacy(composed, target, rounds, "privacy loss distribution, composed by dp-accounting")


def _stated(learner: Any, shape: Shape | None) -> Shape:
    """The shape that a statement is for; narrower than the learner's only on the caller's word."""
    if shape not in (None, "linear", "one-signed", "rank-one"):
        raise ValueError(f"shape must be 'linear', 'one-signed' or 'rank-one'; got {shape!r}")
    if not learner.smooth:
        return "linear"
    return "rank-one" if shape is None else shape


def _accounting() -> Any:
    try:
        from dp_accounting import pld
    except ImportError:
        raise Withheld(f"composition over rounds needs dp-accounting: {extras.command('privacy')}") from None
    return pld
