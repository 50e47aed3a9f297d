"""Certificates: the bound of a player, its regret as far as it is known, and its stability."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field, fields
from typing import Any, Literal, Self

from hannan.mathematics.bounds import FIXED_ADVICE, FIXED_LOSSES, FIXED_SETS, Bound
from hannan.mathematics.smoothing import divergence_name
from hannan.saving import frozen
from hannan.saving.formatting import ceiling, counted, figure, short
from hannan.saving.result import Result, Shown, as_text

# Sentences of certificates, each with one golden test. docs/certificate.md explains them, a heading for each label.

#: Kinds of a regret that was observed.
KINDS = {"mean": "mean play", "realized": "realized on this run"}
#: Difference between a realized regret and a bound that holds in expectation.
IN_EXPECTATION = "; the bound is on its expectation"
#: Kind of a regret that was estimated from importance-weighted losses.
ESTIMATE = "estimate; not a bound on this run"
#: Meaning of the estimated regret, to be formatted with its assumption and its comparator.
ESTIMATED = (
    "learner's loss - min_i of the importance-weighted losses; its expectation is at least the expected regret "
    "{assumption}, otherwise at least the pseudo-regret max_i E[learner's loss - loss of {comparator} i]"
)
#: Assumption of a bound for sampled moves if some moves are pending.
SETTLED = (
    "the bound covers settled rounds only; for sampled moves it assumes that which rounds are settled does not depend "
    "on the moves"
)
#: Scope of a bound whose proof covers pending moves.
ALL_MOVES = "the bound covers all moves, those included whose losses are pending"
#: Assumption of an estimated regret if some moves are pending or dropped: reporting only some losses would bias it.
SETTLED_ESTIMATE = (
    "the estimate covers settled rounds only, and assumes that which rounds are settled does not depend on the moves "
    "or their losses"
)
#: Meaning of a bound for sampled moves if it was computed from the observed losses, or is printed because of them.
FROM_LOSSES = (
    "the bound was computed from the observed losses, so for sampled moves it holds on average: E[regret] <= E[bound] "
    "over runs"
)
#: Meaning of a regret if some arms or experts were unavailable in some rounds, to be formatted with `who`.
AVAILABLE = "the regret against each {who} covers only the rounds in which that {who} was available"
#: Who can predict the moves of a player with a given seed.
SEEDED = "a seed was given: bound and estimate do not hold against an adversary that knows it"
#: Who can predict the moves of a player whose random state is in a file.
RESUMED = (
    'the random state is in a file, from which a copy can continue with the same moves (resume="exact"): bound and '
    "estimate do not hold against an adversary that runs such a copy"
)
#: Sense of the high-probability bound of implicit exploration.
EVERY_TIME = (
    "uniformly over time, even against an adaptive adversary, if each loss is fixed before the move of its round is "
    "drawn"
)
#: The line about this run if no high-probability bound is needed, or none is proved.
MEAN_PLAY = "no high-probability bound; the mean play has the regret below"
THIS_RUN_ONLY = "the regret below is that of this run; no high-probability bound on other runs is proved"
KEPT_NOISE = "no high-probability bound is proved for noise that is kept"
NOT_RANDOM = "the moves are not random: the regret below is that of every run"
#: Where every printed line is explained.
HELP = "docs/certificate.md explains each line under a heading of its name"


class Certified(Result):
    """Layout of the certificates of players and fleets: headline, rows, assumptions, details."""

    def summary(self) -> str:
        """Return the certificate as text without its details: headline, regret, stability, privacy and assumptions.

        Returns
        -------
        str
            The lines of `str(certificate)` up to the heading "Details".
        """
        return as_text(self.shown(), details=False)

    def rows(self) -> list[tuple[str, str]]:
        """Return all lines as (label, text) pairs with unique labels: rounds, bound, and every other row.

        Returns
        -------
        list of (str, str)
            Labels, which are headings of docs/certificate.md, and texts.
        """
        shown = self.shown()
        return [("rounds", self._counts()), ("bound", self._says()), *shown.rows, *shown.assumptions, *shown.details]

    def _counts(self) -> str:
        """Return the number of rounds, and of pending and dropped moves."""
        raise NotImplementedError

    def _says(self) -> str:
        """Return the bound in one line, or "no bound"."""
        raise NotImplementedError


@frozen
class Certificate(Certified):
    """What is proved about a player now: its bound, its regret as far as it is known, and its stability.

    Printing a certificate gives one line with the bound, then regret, stability and privacy, the assumptions that
    apply, and the details. `summary()` leaves out the details. docs/certificate.md explains every line.

    Parameters
    ----------
    learner : str
        Description of the learner.
    rounds, open_moves, forgotten : int
        Numbers of settled, pending and dropped moves.
    largest_delay : int
        Largest number of other moves that were drawn before a move was settled.
    bound : Bound or None
        Bound on the expected regret of the settled rounds.
    withheld : str
        The reason if there is no bound.
    own_loss : float
        Cumulative loss of the learner, in the user's units, as all losses and regrets here.
    best_loss, regret : float or None
        Loss of the best choice in hindsight and regret against it. None for a bandit, which does not see the other
        arms.
    identity : dict
        Exact terms of the regret: start -Phi_1(0), end Phi_T(L_T) - min L_T, drift sum D_t, and the changes of scale
        sum Phi_t(L_t) - Phi_{t+1}(L_t).
    estimated_regret : float or None
        Learner's loss - min Lhat for bandits, where Lhat are the importance-weighted losses.
    gamma : float
        Parameter of the divergence D_inf,gamma that measures stability.
    realised_level : float or None
        Largest divergence of one step at one scale, over the range of the loss. None if not measured.
    claimed_rate : float or None
        Stability that the bound relies on, at the first and smallest scale. None if no claim is made.
    seeded : bool, optional
        Whether a seed was given, which makes the moves predictable.
    delta : float, optional
        Probability with which `on_this_run` may fail.
    on_this_run : float or None, optional
        Bound on the regret of this run, with probability 1 - delta.
    on_this_run_says : str, optional
        In which sense, or the reason if there is no such bound.
    resumed : bool, optional
        Whether the random state is in a file, which makes the moves predictable.
    notes : tuple of (str, str), optional
        Further assumptions, as (label, text).
    kind : {"mean", "realized"}, optional
        Kind of `regret`: of the mean play, or realized.
    comparator : str, optional
        Noun for what `estimated_regret` compares with.
    restricted : bool, optional
        Whether some arms were unavailable in some rounds.

    Examples
    --------
    >>> import hannan as hn
    >>> player = hn.Experts(2).start(seed=0)
    >>> for _ in range(100):
    ...     player.observe(player.act(), [0.0, 1.0])
    >>> certificate = player.certificate()
    >>> certificate.rounds, certificate.regret <= certificate.bound.value, certificate.seeded
    (100, True, True)
    >>> print(certificate.summary())
    Experts(2), 100 rounds: expected regret <= 2.733, even against an adaptive adversary
      regret     1.254 (mean play)
      stability  0.7071 measured, at most 0.7072 claimed (D_inf)
    <BLANKLINE>
    Assumptions
      valid      for the mean play on every loss sequence; for sampled moves in expectation, even if losses depend
                 on past moves
      seed       a seed was given: bound and estimate do not hold against an adversary that knows it
      data       the bound was computed from the observed losses, so for sampled moves it holds on average:
                 E[regret] <= E[bound] over runs
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
    seeded: bool = False
    _: KW_ONLY
    delta: float | None = None
    on_this_run: float | None = None
    on_this_run_says: str = ""
    resumed: bool = False
    notes: tuple[tuple[str, str], ...] = ()
    kind: Literal["mean", "realized"] = "mean"
    comparator: str = "arm"
    restricted: bool = False

    def shown(self) -> Shown:
        counts = in_headline(self.rounds, self.open_moves, self.forgotten)
        headline = f"{short(self.learner)}, {counts}: {self._says()}"
        return Shown(headline, self._rows(), assumptions=self._assumptions(), details=self._details())

    def _counts(self) -> str:
        return settled(self.rounds, self.open_moves, self.forgotten)

    def _says(self) -> str:
        if self.bound is None:
            return "no bound"
        return NOT_USEFUL if self.bound.is_trivial else self.bound.headline

    def _rows(self) -> list[tuple[str, str]]:
        rows = [("why", self.withheld)] if self.bound is None else trivial_row(self.bound)
        if self.on_this_run is not None:
            rows.append(("this run", f"regret <= {ceiling(self.on_this_run)} {self.on_this_run_says}"))
        elif self.delta is not None:
            rows.append(("this run", self.on_this_run_says))
        if self.regret is not None:
            in_expectation = (
                self.kind == "realized" and self.bound is not None and self.bound.sense in {"draws", "kept"}
            )
            kind = KINDS[self.kind] + (IN_EXPECTATION if in_expectation else "")
            rows.append(("regret", f"{figure(self.regret)} ({kind})"))
        if self.estimated_regret is not None:
            rows.append(("regret", f"{figure(self.estimated_regret)} ({ESTIMATE})"))
        if (self.realised_level, self.claimed_rate) != (None, None):
            rows.append(("stability", self._stability()))
        return rows

    def _stability(self) -> str:
        """Return the measured stability and the claim."""
        name = divergence_name(self.gamma)
        if self.realised_level is None:
            assert self.claimed_rate is not None
            return f"at most {ceiling(self.claimed_rate)} claimed, not measured ({name})"
        claim = "no claim" if self.claimed_rate is None else f"at most {ceiling(self.claimed_rate)} claimed"
        return f"{figure(self.realised_level)} measured, {claim} ({name})"

    def _assumptions(self) -> list[tuple[str, str]]:
        rows = [] if self.bound is None or self.bound.sense == "run" else self.bound.validity()
        covered = []
        if self.bound is not None:
            covered += of_settled(self.bound, self.open_moves)
        if self.estimated_regret is not None:
            covered += [SETTLED_ESTIMATE] if self.open_moves or self.forgotten else []
            fixed = FIXED_ADVICE if self.comparator == "expert" else FIXED_LOSSES
            assumption = FIXED_SETS if self.restricted else fixed
            rows.append(("estimate", ESTIMATED.format(assumption=assumption, comparator=self.comparator)))
        if covered:
            rows.append(("settled", "\n".join(covered)))
        return [*rows, *randomness(self.seeded, self.resumed), *self.notes]

    def _details(self) -> list[tuple[str, str]]:
        rows = [] if self.bound is None else [("theorem", self.bound.theorem)]
        if self.identity:
            rows.append(("regret is", " + ".join(f"{name} {figure(term)}" for name, term in self.identity.items())))
        return [*rows, ("learner", self.learner), ("help", HELP)]


def no_run_bound(name: str) -> str:
    """Return the reason why there is no high-probability bound for a class of learners.

    >>> no_run_bound("Bandit")
    'no high-probability bound is proved for Bandit'
    """
    return f"no high-probability bound is proved for {name}"


#: Verdict about a bound that is no more than rounds x loss range.
NOT_USEFUL = "no useful bound yet"


def trivial_row(bound: Bound) -> list[tuple[str, str]]:
    """Return the row of a trivial bound; no row for any other."""
    always = " on every run" if bound.sense == "run" else ""
    return [("trivial", f"{bound.says}{always}: {bound.source}")] if bound.is_trivial else []


def in_headline(rounds: int, pending: int, dropped: int) -> str:
    """Return the number of rounds for a headline.

    >>> in_headline(500, 0, 0), in_headline(2000, 2, 1)
    ('500 rounds', '2000 settled rounds (2 pending, 1 dropped)')
    """
    if not (pending or dropped):
        return counted(rounds, "round")
    others = [f"{count} {what}" for count, what in ((pending, "pending"), (dropped, "dropped")) if count]
    return f"{counted(rounds, 'settled round')} ({', '.join(others)})"


def settled(rounds: int, pending: int, dropped: int) -> str:
    """Return the numbers of settled, pending and dropped moves.

    >>> settled(500, 0, 0), settled(2000, 2, 1)
    ('500 settled, 0 pending', '2000 settled, 2 pending, 1 dropped')
    """
    return f"{rounds} settled, {pending} pending" + (f", {dropped} dropped" if dropped else "")


def of_settled(bound: Bound, pending: int) -> list[str]:
    """Return the assumption about which rounds are settled, or that pending ones are covered, if moves are pending."""
    if pending and "pending" in bound.covers:
        return [ALL_MOVES]
    return [SETTLED] if pending and bound.sense not in ("run", "moves") else []


def unavailable(who: str, where: str) -> tuple[tuple[str, str], ...]:
    """Return the row of a certificate about arms (or experts) that were unavailable; no row if `where` is empty.

    >>> unavailable("arm", "")
    ()
    """
    return (("available", f"{who}s were unavailable {where}: {AVAILABLE.format(who=who)}"),) if where else ()


def in_rounds(count: int) -> str:
    """Return "in n rounds"; an empty string for 0.

    >>> in_rounds(1), in_rounds(0)
    ('in 1 round', '')
    """
    return f"in {counted(count, 'round')}" if count else ""


def randomness(seeded: bool, resumed: bool) -> list[tuple[str, str]]:
    """Return the rows that state who can predict the moves.

    >>> randomness(seeded=False, resumed=False)
    []
    """
    return [row for row, holds in ((("seed", SEEDED), seeded), (("copy", RESUMED), resumed)) if holds]


#: Probability with which the test of a supposed best loss withholds a bound whose condition is true.
ERROR_RATE = 0.05
#: Tolerance for rounding errors in sums of floats, relative and absolute.
ROUNDING = 1e-6


def contradicted(
    bound: Bound, regret: float | None, level: float, claimed: float | None, rounds: int, width: float
) -> str:
    """Return what the observations disprove: a claimed stability, or a bound that holds on every sequence."""
    if bound.sense == "run":
        return ""
    if claimed is not None and level > claimed * (1.0 + ROUNDING) + ROUNDING:
        return (
            f"the observations contradict the claimed stability: one step had level {level:.6g}, and at most "
            f"{claimed:.6g} is claimed, so the hazard that the smoothing states is wrong"
        )
    pathwise = bound.against == "any" and bound.sense == "mean"
    if regret is not None and pathwise and regret > bound.value * (1.0 + ROUNDING) + 1e-15 * rounds * width:
        return (
            f"the observations contradict the bound: the regret is {regret:.6g}, above {ceiling(bound.value, 6)}, "
            "which holds on every loss sequence if the constants that the smoothing states are right"
        )
    return ""


def untenable(bound: Bound, own: float, supposed: float, width: float) -> str:
    """Return the reason if a bandit's own loss refutes the supposed best loss Lt; an empty string otherwise.

    E[own] <= Lt + bound, so P(own > (Lt + bound)/e) <= e by Markov's inequality. The own loss, in losses of [0, 1],
    never decreases: the test errs with probability at most e at all times together.
    """
    most = (supposed + bound.value / width) / ERROR_RATE
    if bound.at_most is None or own <= most:
        return ""
    return (
        f"the learner's loss, {own:.6g} in losses of [0, 1], is above {most:.6g}, which has probability at most "
        f"{ERROR_RATE} under the condition of the bound: {bound.condition}"
    )


@dataclass(frozen=True)
class PrivateCertificate(Certificate):
    """Certificate of a private learner: as `Certificate`, with the privacy of all moves together.

    Parameters
    ----------
    privacy : str, optional
        Privacy of all moves together, or the reason why none is stated.
    private_if : str, optional
        Assumptions of the privacy statement.
    private_by : str, optional
        Theorem of the privacy statement.
    parameters : tuple of (str, str), optional
        Parameters of the mechanism, as (label, text).
    """

    privacy: str = ""
    private_if: str = ""
    private_by: str = ""
    parameters: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, plain: Certificate, **more: Any) -> Self:
        """Return a certificate with its privacy; `more` replaces fields."""
        return cls(**{**{field.name: getattr(plain, field.name) for field in fields(plain)}, **more})

    def _rows(self) -> list[tuple[str, str]]:
        return [("privacy", self.privacy), *super()._rows()]

    def _assumptions(self) -> list[tuple[str, str]]:
        return [*super()._assumptions(), *([("private if", self.private_if)] if self.private_if else [])]

    def _details(self) -> list[tuple[str, str]]:
        rows = super()._details()
        more = [("private by", self.private_by)] if self.private_by else []
        return [*rows[:-2], *more, *self.parameters, *rows[-2:]]
