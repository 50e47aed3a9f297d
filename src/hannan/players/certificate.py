"""What a player may say of itself now."""

from __future__ import annotations

from dataclasses import KW_ONLY, field
from typing import Any, Literal

from hannan.mathematics.bounds import FIXED_ADVICE, FIXED_LOSSES, FIXED_SETS, Bound
from hannan.mathematics.stability import divergence_name
from hannan.saving import frozen
from hannan.saving.formatting import ceiling, counted, figure, short
from hannan.saving.result import Result, Shown

#: Meaning of the estimated regret, to be formatted with its assumption and its comparator.
ESTIMATED = (
    "own loss - min Lhat: its expectation is at least the expected regret {assumption}, else at least the regret "
    "against any one {comparator} named in advance; it is no bound on this run"
)
#: Kinds of a regret that was observed.
KINDS = {"mean": "of the mean play", "realized": "realized, of the moves of this run"}
#: Difference between a realized regret and a bound that holds in expectation.
IN_EXPECTATION = "; the bound is on its expectation"
#: What it supposes besides where some rounds are not in it: losses that are told of some moves only would bias it.
UNTOLD = "; it is of the settled rounds, and that holds if which those are does not depend on the moves or their losses"

#: What a bound on moves that are drawn supposes where some of them are open.
OF_THE_SETTLED = "those settled; of moves drawn it holds if which those are does not depend on the moves"
#: What a bound says of moves that are drawn where the losses seen are in it, or decide whether it is printed.
MADE_OF_LOSSES = "in expectation over all runs, of this number too, which the losses seen have made"

#: Meaning of a regret if some arms or experts were unavailable in some rounds, to be formatted with `who`.
AVAILABLE = "the regret against each {who} covers only the rounds in which that {who} was available"

SEEDED = "of a seed that was given, for experiments: the bound does not hold against losses of one who knows it"
RESUMED = (
    'in a file, from which another copy may go on alike (resume="exact"): the bound does not hold against losses of '
    "one who plays it"
)


@frozen
class Certificate(Result):
    """What a player may say of itself now: its bound, what is known of its regret, and its stability.

    The bound, what the regret is known to be, and the stability, claimed and realised, so far.

    `bound` is on the expected regret of the settled rounds; where it is None, `withheld` says why.

    Experts see every loss, so `regret` is the regret itself, and `identity` its exact terms:
    start -Phi_1(0), end Phi_T(L_T) - min L_T, drift sum D_t, and sum Phi_t(L_t) - Phi_{t+1}(L_t) for the
    changes of scale. A bandit never sees the other arms; its `estimated_regret` is own loss - min Lhat,
    and E min Lhat <= L* where losses do not depend on the moves, so its expectation then bounds the expected
    regret (else that against any one arm named in advance). It is no bound on this run.

    `realised_level` is the largest divergence D_inf,gamma of one step at one scale, over the span of the
    loss (None: not kept, in a fleet, or not measured); `claimed_rate` is what the bounds rely on, at the first and
    smallest scale (None: no claim). All but the stability is in the user's units.

    With `delta`, `on_this_run` bounds the regret of this very run with probability 1 - delta, where that is proved;
    `on_this_run_says` in which sense, or why there is none.

    >>> import hannan as hn
    >>> player = hn.Experts(2).start(seed=0)
    >>> for _ in range(100):
    ...     player.observe(player.act(), [0.0, 1.0])
    >>> now = player.certificate()
    >>> now.rounds, now.regret <= now.bound.value, now.seeded
    (100, True, True)
    """

    learner: str
    rounds: int
    open_moves: int
    forgotten: int
    largest_delay: int
    bound: Bound | None
    withheld: str
    own_loss: float
    best_loss: float | None
    regret: float | None
    identity: dict[str, float] = field(hash=False)
    estimated_regret: float | None
    gamma: float
    realised_level: float | None
    claimed_rate: float | None
    #: Whether a seed was given: whoever knows it foresees the moves.
    seeded: bool = False
    _: KW_ONLY
    delta: float | None = None
    on_this_run: float | None = None
    on_this_run_says: str = ""
    #: Whether its streams are those of a file: whoever resumed it too foresees the moves.
    resumed: bool = False
    #: What else has to be known to read it, (name, text): rounds settled by default, arms that came and went.
    notes: tuple[tuple[str, str], ...] = ()
    #: Kind of `regret`: of the mean play, or realized.
    kind: Literal["mean", "realized"] = "mean"
    #: Noun for what `estimated_regret` compares with.
    comparator: str = "arm"
    #: Whether some arms were unavailable in some rounds.
    restricted: bool = False

    def rows(self) -> list[tuple[str, str]]:
        """The certificate as (name, value) rows."""
        settled = f"{self.rounds} settled, {self.open_moves} open"
        rows = [("rounds", settled + (f", {self.forgotten} forgotten" if self.forgotten else ""))]
        if self.bound is None:
            rows.append(("bound", f"withheld: {self.withheld}"))
        else:
            rows.append(("bound", f"{self.bound.says}  ({self.bound.source})"))
            if self.bound.condition:
                rows.append(("  condition", self.bound.condition))
            rows.append(("  against", self.bound.holds))
            rows += of_rounds(self.bound, self.open_moves)
        if self.on_this_run is not None:
            rows.append(("on this run", f"regret <= {ceiling(self.on_this_run)} {self.on_this_run_says}"))
        elif self.delta is not None:
            rows.append(("on this run", f"withheld: {self.on_this_run_says}"))
        if self.regret is not None:
            drawn = self.kind == "realized" and self.bound is not None and self.bound.sense in ("draws", "kept")
            kind = KINDS[self.kind] + (IN_EXPECTATION if drawn else "")
            rows.append(("regret", f"{figure(self.regret)}  ({kind})"))
            rows += [(f"  {name}", _signed(value)) for name, value in self.identity.items()]
        if self.estimated_regret is not None:
            more = UNTOLD if self.open_moves or self.forgotten else ""
            fixed = FIXED_ADVICE if self.comparator == "expert" else FIXED_LOSSES
            assumption = FIXED_SETS if self.restricted else fixed
            says = ESTIMATED.format(assumption=assumption, comparator=self.comparator)
            rows.append(("estimated regret", f"{figure(self.estimated_regret)}  ({says}{more})"))
        claim = "no claim" if self.claimed_rate is None else f"claimed at most {ceiling(self.claimed_rate)}"
        name = divergence_name(self.gamma)
        realised = "not kept" if self.realised_level is None else f"{figure(self.realised_level)} in {name} realised"
        if (self.realised_level, self.claimed_rate) != (None, None):
            rows.append(("stability", f"{realised}, {claim}"))
        rows += randomness(self.seeded, self.resumed)
        rows += self.notes
        return rows

    def shown(self) -> Shown:
        """The rows, under the learner's short name."""
        return certified("certificate of", self.learner, self.rows())


def of_rounds(bound: Bound, open_moves: int) -> list[tuple[str, str]]:
    """Of which rounds a bound is, where some are open: who tells only the losses of some moves has chosen by them."""
    if not open_moves or bound.sense in ("run", "moves"):
        return []
    return [("  of rounds", OF_THE_SETTLED)]


def unavailable(who: str, where: str) -> tuple[tuple[str, str], ...]:
    """Return the row of a certificate about arms (or experts) that were unavailable; no row if `where` is empty.

    >>> unavailable("arm", "")
    ()
    """
    return ((f"{who}s slept", f"{where}: {AVAILABLE.format(who=who)}"),) if where else ()


def in_rounds(count: int) -> str:
    """Return "in n rounds"; an empty string for 0.

    >>> in_rounds(1), in_rounds(0)
    ('in 1 round', '')
    """
    return f"in {counted(count, 'round')}" if count else ""


def randomness(seeded: bool, resumed: bool) -> list[tuple[str, str]]:
    """Where the moves came from, if somebody may know them: one row, or none.

    >>> randomness(seeded=False, resumed=False)
    []
    """
    said = [text for text, holds in ((SEEDED, seeded), (RESUMED, resumed)) if holds]
    return [("randomness", "; ".join(said))] if said else []


def certified(title: str, learner: str, rows: list[tuple[str, str]]) -> Shown:
    """Rows under the short name of a learner; the whole description is the first of them, where it is longer."""
    name = short(learner)
    return Shown(f"{title} {name}", rows if name == learner else [("learner", learner), *rows])


def _signed(value: float) -> str:
    return figure(value) if value < 0.0 else f"+{figure(value)}"


#: How often a test of `BestLoss` may withhold a bound whose hypothesis is true.
ERROR_RATE = 0.05
#: Levels and regrets are sums of floats; beyond so much, relative and absolute, it is no rounding.
ROUNDING = 1e-6


def at_observed(learner: Any, bound: Bound, best: float | None) -> Bound:
    """Return a bound at an observed best loss: the condition remains only if the tuning supposes a best loss."""
    described = getattr(learner, "learner", learner)  # a game's bound may be asked of a learner and what was observed
    told = getattr(getattr(described, "tuning", None), "told_best", None)
    return bound if best is None or told is not None else bound.observed()


def contradicted(
    bound: Bound, regret: float | None, level: float, claimed: float | None, rounds: int, width: float
) -> str:
    """What the play shows to be false: a level above its claim, or a regret above a bound of every sequence."""
    if bound.sense == "run":
        return ""
    if claimed is not None and level > claimed * (1.0 + ROUNDING) + ROUNDING:
        return (
            f"the play contradicts the claim: a step had a level of {level:.6g}, and at most {claimed:.6g} is claimed, "
            "so what the smoothing states of itself (its hazard) is false"
        )
    pathwise = bound.against == "any" and bound.sense == "mean"
    if regret is not None and pathwise and regret > bound.value * (1.0 + ROUNDING) + 1e-15 * rounds * width:
        return (
            f"the play contradicts the bound: the regret is {regret:.6g}, above {ceiling(bound.value, 6)}, which holds "
            "on every sequence of losses if the smoothing is what it states of itself"
        )
    return ""


def untenable(bound: Bound, own: float, supposed: float, width: float) -> str:
    """Whether a bandit's own loss refutes L* <= Lt: E own <= Lt + bound, so P(own > (Lt + bound)/e) <= e (Markov).

    Own loss, in losses of [0, 1], never falls: the test errs with probability at most e at all times together.
    """
    most = (supposed + bound.value / width) / ERROR_RATE
    if bound.at_most is None or own <= most:
        return ""
    return (
        f"the own loss, {own:.6g} in losses of [0, 1], is above {most:.6g}, which has probability at most {ERROR_RATE} "
        f"under the condition of the bound: {bound.condition}"
    )
