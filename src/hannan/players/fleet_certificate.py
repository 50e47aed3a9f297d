"""Certificates of fleets: of one key, as of its player, and of all keys together."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from hannan.mathematics.bounds import Bound, adversary_after, covers, restricted, trivial
from hannan.players.certificate import (
    HELP,
    NOT_USEFUL,
    Certificate,
    Certified,
    in_headline,
    of_settled,
    randomness,
    settled,
    unavailable,
    untenable,
)  # fmt: skip
from hannan.players.player import BanditPlayer
from hannan.players.tickets import DELAYED, LOST, move_of
from hannan.saving.formatting import ceiling, counted, figure, short
from hannan.saving.result import Shown
from hannan.validation import Array

#: Assumption of a sum of bounds in expectation: keys that are kept because of their results are a biased sample.
CHOICE_OF_KEYS = (
    "which keys are in the fleet does not depend on their moves or losses; the sum does not hold for the remaining "
    "keys if keys were retired or split off because of their results"
)
#: Meaning of the oblivious adversary for the losses of several keys.
APART = (
    "losses of a key may depend on the moves of other keys if those do not depend on its own moves; keys that react to "
    "each other make losses that depend on moves"
)
#: Assumption about the number of rounds of a key.
TRAFFIC = "the number of rounds of a key does not depend on its moves"
#: Reason why some bounds and estimates are not given.
PRIOR = "new learners start from the losses of a parent"


@dataclass(frozen=True)
class FleetCertificate(Certified):
    """What is proved about all learners of a fleet together: a bound on the total regret against the best arm per key.

    The bound is the sum of the bounds of the keys: E[learner's loss - loss of the best map from keys to arms] <= bound.
    A key whose own bound is withheld (delayed or dropped moves, or a condition that its losses refute) counts with its
    rounds times the loss range, which no regret exceeds. So does a key with too few rounds for a smaller bound.

    Parameters
    ----------
    learner : str
        Description of the learner that every key has.
    keys, rounds, open_moves, forgotten : int
        Numbers of keys, and of settled, pending and dropped moves.
    bound : Bound
        Bound on the total regret.
    vacuous : int
        Number of keys that count with their rounds times the loss range.
    withheld : dict
        Reasons why bounds of keys are withheld, with the number of keys.
    own_loss : float
        Cumulative loss (or reward) of all keys.
    seeded, resumed : bool, optional
        Whether a seed was given, and whether the random state is in a file: both make the moves predictable.
    notes : tuple of (str, str), optional
        Further assumptions, as (label, text).
    gains : bool, optional
        Whether `own_loss` is a reward.

    Examples
    --------
    >>> import hannan as hn
    >>> fleet = hn.Fleet(hn.Bandit(3), seed=0)
    >>> fleet.observe(fleet.act([1, 2, 2]), [0.0, 1.0, 0.5])
    >>> certificate = fleet.certificate()
    >>> certificate.keys, certificate.rounds, certificate.bound.value
    (2, 3, 3.0)
    >>> print(certificate.summary())
    Fleet of Bandit(3), 2 keys, 3 rounds: no useful bound yet
      bound       total expected regret <= 3
      comparator  the best arm of each key
      trivial     for 2 of 2 keys, counted with their rounds x loss range, which holds on every run
      why         1 key: feedback was delayed (a move was drawn while another was pending)
      loss        1.5
    <BLANKLINE>
    Assumptions
      seed        a seed was given: bound and estimate do not hold against an adversary that knows it
    """

    learner: str
    keys: int
    rounds: int
    open_moves: int
    forgotten: int
    bound: Bound
    vacuous: int
    withheld: dict[str, int] = dataclasses.field(hash=False)
    own_loss: float
    seeded: bool = False
    resumed: bool = False
    notes: tuple[tuple[str, str], ...] = ()
    gains: bool = False

    @property
    def says_nothing(self) -> bool:
        """True if the bound is no less than the rounds times the loss range."""
        return self.vacuous == self.keys

    def shown(self) -> Shown:
        counts = in_headline(self.rounds, self.open_moves, self.forgotten)
        headline = f"Fleet of {short(self.learner)}, {counted(self.keys, 'key')}, {counts}: {self._says()}"
        details = [("theorem", self.bound.theorem), ("learner", self.learner), ("help", HELP)]
        return Shown(headline, self._rows(), assumptions=self._assumptions(), details=details)

    def rows(self) -> list[tuple[str, str]]:
        """Return all lines as (label, text) pairs with unique labels: keys, rounds, bound, and every other row.

        Returns
        -------
        list of (str, str)
            Labels, which are headings of docs/certificate.md, and texts.
        """
        shown = self.shown()
        first = [("keys", f"{self.keys}"), ("rounds", self._counts())]
        first += [] if self.says_nothing else [("bound", self._says())]
        return [*first, *shown.rows, *shown.assumptions, *shown.details]

    def _counts(self) -> str:
        return settled(self.rounds, self.open_moves, self.forgotten)

    def _says(self) -> str:
        if self.says_nothing:
            return NOT_USEFUL
        condition = " under the condition below" if self.bound.condition else ""
        return adversary_after(f"{self._total()}{condition}", self.bound)

    def _total(self) -> str:
        return f"total expected regret <= {ceiling(self.bound.value)}"

    def _rows(self) -> list[tuple[str, str]]:
        rows = [("bound", self._total())] if self.says_nothing else []
        rows.append(("comparator", "the best arm of each key"))
        if self.vacuous:
            which = f"for {self.vacuous} of {counted(self.keys, 'key')}"
            rows.append(("trivial", f"{which}, counted with their rounds x loss range, which holds on every run"))
        if self.withheld:
            rows.append(("why", "\n".join(f"{counted(count, 'key')}: {why}" for why, count in self.withheld.items())))
        rows.append(("reward" if self.gains else "loss", figure(self.own_loss)))
        return rows

    def _assumptions(self) -> list[tuple[str, str]]:
        rows = [] if self.bound.sense == "run" else [*self.bound.validity(), ("choice of keys", CHOICE_OF_KEYS)]
        if not covers(self.bound.against, "any"):
            rows += [("interaction", APART), ("traffic", TRAFFIC)]
        rows += [("settled", text) for text in of_settled(self.bound, self.open_moves)]
        return [*rows, *randomness(self.seeded, self.resumed), *self.notes]


def of_one(certificate: Certificate, prior: Array, width: float, diagnosed: bool) -> Certificate:
    """Return a player's certificate without what a fleet does not store, and with the cost of a prior."""
    bound, withheld = certificate.bound, certificate.withheld
    if prior.size:
        if bound is not None:
            bound, withheld = with_prior(bound, prior, certificate.rounds, width)
        # min Lhat includes the prior; bounds on one run, and the estimate, do not.
        line = f"no high-probability bound: {PRIOR}" if certificate.delta is not None else ""
        certificate = dataclasses.replace(certificate, estimated_regret=None, on_this_run=None, on_this_run_says=line)
    certificate = dataclasses.replace(certificate, bound=bound, withheld=withheld)
    return certificate if diagnosed else dataclasses.replace(certificate, realised_level=None)


def with_prior(bound: Bound, prior: Array, rounds: int, width: float) -> tuple[Bound | None, str]:
    """Return (bound of a learner that starts at L = prior or None, reason if None).

    Phi(h + L) <= h_i + L_i + ..., and -Phi_1(h) <= -min h + ...: for every h the master identity gives the bound for
    L_0 = 0 plus h_i - min h, because the drift is bounded at every L. This covers the zero-order bounds proved here. It
    does not cover bounds that solve an inequality in the learner's loss, or published ones.
    """
    if bound.sense == "run":
        return bound, ""
    if "prior" not in bound.covers:
        return None, f"{PRIOR}, which {bound.source} does not cover"
    more = float(prior.max() - prior.min()) * width
    if bound.value + more >= rounds * width:
        return trivial(rounds * width), ""
    return dataclasses.replace(bound, value=bound.value + more, terms={**bound.terms, "prior": more}), ""


def player(fleet: Any, number: int) -> BanditPlayer:
    """Return a player in the state of one learner of a fleet, with its pending moves."""
    made: Any = fleet.learner.start(0, fleet.id)
    state = fleet._fields(number)
    state["open"] = _open_moves(fleet, number)
    made._restore(state)
    if hasattr(made, "_slept"):
        made._slept, made._slept_is_counted = int(fleet._counts(np.array([number]))["slept"][0]), False
    made.seed, made.resumed = fleet.seed, fleet.resumed
    return made  # type: ignore[no-any-return]


def _open_moves(fleet: Any, number: int) -> list[dict[str, Any]]:
    found = fleet._open_of(number)
    n, words = int(fleet.learner.n), -1
    count = len(found["round"])
    bits = np.unpackbits(found["marks"].view(np.uint8), bitorder="little").reshape(count, words) if count else None
    made, tickets = move_of(getattr(fleet.learner, "arms", None) or ()), []
    for k in np.argsort(found["round"]).tolist():
        slept = bool(found["slept"][k])
        marked = bits[k, :n].astype(bool) if bits is not None and bits.size else None
        plain = None if marked is None or slept else np.where(marked, 0.5, 0.0)
        reduced = plain is not None and not fleet._sleeps
        move = made(fleet.id, int(found["round"][k]), int(found["action"][k]), float(found["probability"][k]))
        tickets.append(
            {
                "move": move,
                "weight": float(found["weight"][k]),
                "plain": not slept,
                "numbers": plain if reduced else None,
                "kept": (marked,) if slept else None,
            }
        )
    return tickets


def whole(fleet: Any) -> FleetCertificate:
    """Return the certificate of all keys. Keys with the same number of rounds share one bound."""
    learner: Any = fleet.learner
    told = fleet._counts(fleet._numbers())
    settled = told["drawn"] - told["open"] - told["forgotten"]
    # Largest number of pending moves that the bound of the learner covers; the bound then is for all moves.
    covered = getattr(learner, "delay", None) or 0
    played = told["drawn"] if covered else settled
    width = float(learner.width)
    vacuous, withheld, seen = 0, dict[str, int](), list[Bound]()
    values = []
    for rounds in np.unique(played).tolist():
        here = played == rounds
        sound = here & (told["forgotten"] == 0) & (told["delay"] <= covered)
        for why, which in (
            (f"moves were dropped: {LOST}", here & (told["forgotten"] > 0)),
            (DELAYED, here & (told["forgotten"] == 0) & (told["delay"] > covered)),
        ):
            _count(withheld, why, int(which.sum()))
        bound, why = _standing(learner, rounds, fleet.prior, width)
        good = sound.copy()
        if bound is not None and bound.proof != "whole" and bound.sense != "run":
            unavailable_arms = sound & (told["slept"] > 0)
            _count(withheld, f"arms were unavailable, which {bound.source} does not cover", int(unavailable_arms.sum()))
            good &= ~unavailable_arms
        if bound is not None and bound.at_most is not None:
            refuted = good & _refuted(bound, told["own"], learner, width)
            _count(withheld, "the learner's loss refutes the best loss that the tuning supposes", int(refuted.sum()))
            good &= ~refuted
        if bound is None:
            _count(withheld, why, int(good.sum()))
            good[:] = False
        kept = int(good.sum())
        says_less = bound is None or bound.value >= rounds * width > 0.0
        vacuous += int(here.sum()) if says_less else int(here.sum()) - kept
        values += [kept * (0.0 if bound is None else bound.value), (int(here.sum()) - kept) * rounds * width]
        if bound is not None and kept and not says_less:
            seen.append(bound)
    slept = int(told["slept"].sum())
    return FleetCertificate(
        learner=repr(learner),
        keys=len(settled),
        rounds=int(settled.sum()),
        open_moves=int(told["open"].sum()),
        forgotten=int(told["forgotten"].sum()),
        bound=_summed(seen, math.fsum(values), slept > 0),
        vacuous=vacuous,
        withheld=withheld,
        own_loss=learner.in_units(math.fsum(told["own"].tolist()), int(settled.sum())),
        seeded=fleet.seed is not None,
        resumed=fleet.resumed,
        gains=learner.gains,
        notes=(
            *_started(fleet)._of_learner(),
            *unavailable("arm", f"in some rounds of {counted(slept, 'key')}" if slept else ""),
        ),
    )


def _started(fleet: Any) -> Any:
    """Return a player of the learner with the seed of the fleet."""
    made = fleet.learner.start(0, fleet.id)
    made.seed = fleet.seed
    return made


def _count(withheld: dict[str, int], why: str, many: int) -> None:
    if many:
        withheld[why] = withheld.get(why, 0) + many


def _standing(learner: Any, rounds: int, prior: Array, width: float) -> tuple[Bound | None, str]:
    """Return (bound of a player after this number of rounds without delays or None, reason if None)."""
    for against in ("any", None):
        try:
            bound = learner.bound(rounds, None, against=against)
        except ValueError as reason:
            why = str(reason)
        else:
            return with_prior(bound, prior, rounds, width) if prior.size else (bound, "")
    return None, why


def _refuted(bound: Bound, own: Array, learner: Any, width: float) -> Any:
    supposed = learner.tuned_best()
    return np.array([bool(untenable(bound, x, supposed, width)) for x in own.tolist()])


def _summed(seen: list[Bound], value: float, slept: bool) -> Bound:
    """Return one bound for all keys: it holds against the weakest adversary among their bounds."""
    if not seen:
        return trivial(value)
    worst = max(seen, key=lambda bound: ("any", "oblivious", "iid").index(bound.against))
    sources = ", ".join(dict.fromkeys(bound.source for bound in seen))
    sense = "map" if worst.sense == "arm" else worst.sense
    supposed = {bound.at_most for bound in seen if bound.at_most is not None}
    return Bound(
        value,
        {"sum of the keys' bounds": value},
        f"the sum of the keys' bounds: {sources}",
        proof="whole" if all(bound.proof == "whole" for bound in seen) else worst.proof,
        sense=restricted(sense) if slept else sense,
        condition=_each(list(dict.fromkeys(bound.condition for bound in seen if bound.condition))),
        covers=("pending",) if all("pending" in bound.covers for bound in seen) else (),
        at_most=supposed.pop() if len(supposed) == 1 else None,
        against=worst.against,
    )


def _each(conditions: list[str]) -> str:
    """Return one condition for all keys; in other units the number in it depends on the rounds of a key.

    >>> _each(["if the best loss L* <= 5 on every run"]), _each([])
    ('for each key: if the best loss L* <= 5 on every run', '')
    """
    if len(conditions) <= 1:
        return "".join(f"for each key: {condition}" for condition in conditions)
    return f"for each key, the condition in the certificate of the key, such as: {conditions[0]}"
