"""What a fleet may say of itself: of one learner as its player would, and of all, against the best map key -> arm."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from hannan.mathematics.bounds import Bound, covers, restricted, trivial
from hannan.players.certificate import Certificate, certified, of_rounds, randomness, unavailable, untenable
from hannan.players.player import BanditPlayer
from hannan.players.tickets import LOST, move_of
from hannan.saving.formatting import counted, figure
from hannan.saving.result import Result, Shown
from hannan.validation import Array

#: Assumption of a sum of bounds in expectation: keys that are kept because of their results are no fair sample.
CHOICE_OF_KEYS = (
    "which keys are in the fleet must not depend on their moves or losses: the sum does not hold for the keys that are "
    "left if keys were retired or split off because of their results"
)
APART = (
    "losses of a key may depend on the moves of other keys, as long as those do not depend on its own: keys that react "
    "to each other make losses that depend on moves"
)
TRAFFIC = "how often a key comes must not depend on its moves"


@dataclass(frozen=True)
class FleetCertificate(Result):
    """What a fleet may say of all its learners together: a bound against the best arm for each key.

    The sum of the keys' bounds: E[own loss - loss of the best map key -> arm] <= bound.

    A key whose own bound is withheld (late or forgotten moves, a condition that its play refuted) counts with its
    rounds times the range, which no regret exceeds; so does one that has played too little for its bound to say more.
    `vacuous` says how many keys those are. Where it is all of them, so is the sum.

    >>> import hannan as hn
    >>> fleet = hn.Fleet(hn.Bandit(3), seed=0)
    >>> fleet.observe(fleet.act([1, 2, 2]), [0.0, 1.0, 0.5])
    >>> told = fleet.certificate()
    >>> told.keys, told.rounds, told.bound.value
    (2, 3, 3.0)
    """

    learner: str
    keys: int
    rounds: int
    open_moves: int
    forgotten: int
    bound: Bound
    vacuous: int
    #: Why bounds of keys are withheld, and of how many.
    withheld: dict[str, int] = dataclasses.field(hash=False)
    own_loss: float
    seeded: bool = False
    #: Whether the streams are those of a file: whoever resumed it too foresees the moves.
    resumed: bool = False
    #: What else has to be known to read it, (name, text), as of a player's.
    notes: tuple[tuple[str, str], ...] = ()
    #: Whether `own_loss` is a gain.
    gains: bool = False

    @property
    def says_nothing(self) -> bool:
        """Whether the bound is no less than the rounds times the range."""
        return self.vacuous == self.keys

    def rows(self) -> list[tuple[str, str]]:
        """The certificate as (name, value) rows."""
        settled = f"{self.rounds} settled, {self.open_moves} open"
        rows = [
            ("keys", f"{self.keys}"),
            ("rounds", settled + (f", {self.forgotten} forgotten" if self.forgotten else "")),
            ("bound", f"{self.bound.says} against the best map key -> arm"),
            ("  source", self.bound.source),
        ]
        if self.vacuous:
            all_of = "all " if self.says_nothing else ""
            some = counted(self.vacuous, "key")
            rows.append(("  vacuous", f"{all_of}{some} counted with the number of rounds times the loss range"))
        rows += [("  withheld", f"of {counted(count, 'key')}: {why}") for why, count in self.withheld.items()]
        if self.bound.condition:
            rows.append(("  condition", self.bound.condition))
        rows.append(("  against", self.bound.holds))
        if self.bound.sense != "run":
            rows.append(("  choice of keys", CHOICE_OF_KEYS))
        if not covers(self.bound.against, "any"):
            rows += [("  of keys", APART), ("  of rounds", TRAFFIC)]
        rows += of_rounds(self.bound, self.open_moves)
        rows.append(("own gain" if self.gains else "own loss", figure(self.own_loss)))
        rows += randomness(self.seeded, self.resumed)
        rows += self.notes
        return rows

    def shown(self) -> Shown:
        """The rows, under the learner's short name."""
        return certified("certificate of a fleet of", self.learner, self.rows())


_NO_ROOM = (
    "realised stability",
    "withheld: a learner with a key has a row of few numbers, and what it realised is not among them",
)


def of_one(certificate: Certificate, prior: Array, width: float, diagnosed: bool) -> Certificate:
    """A player's certificate without what a row does not keep, and with what a prior costs."""
    bound, withheld = certificate.bound, certificate.withheld
    if prior.size:
        if bound is not None:
            bound, withheld = with_prior(bound, prior, certificate.rounds, width)
        # min Lhat counts the prior; what is said of one run, and the estimate, do not.
        line = "new learners begin with a parent's losses" if certificate.delta is not None else ""
        certificate = dataclasses.replace(certificate, estimated_regret=None, on_this_run=None, on_this_run_says=line)
    certificate = dataclasses.replace(certificate, bound=bound, withheld=withheld)
    if diagnosed or certificate.realised_level is None:
        return certificate
    return dataclasses.replace(certificate, realised_level=None, notes=(*certificate.notes, _NO_ROOM))


def with_prior(bound: Bound, prior: Array, rounds: int, width: float) -> tuple[Bound | None, str]:
    """The bound of a learner that began at L = prior, or why there is none.

    Phi(h + L) <= h_i + L_i + ..., and -Phi_1(h) <= -min h + ...: the master identity gives the bound of L_0 = 0 and
    h_i - min h, whatever h is; the drift is bounded at every L. That is of the zero-order bounds proved here, not of
    those that solve an inequality in the own loss, and not of published ones.
    """
    if bound.sense == "run":
        return bound, ""
    if "prior" not in bound.covers:
        return None, f"new learners begin with a parent's losses, which {bound.source} does not cover"
    more = float(prior.max() - prior.min()) * width
    if bound.value + more >= rounds * width:
        return trivial(rounds * width), ""
    return dataclasses.replace(bound, value=bound.value + more, terms={**bound.terms, "prior": more}), ""


def player(fleet: Any, number: int) -> BanditPlayer:
    """A player in the state of one learner, its open moves included."""
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
    """The certificate of all keys: one bound for all that have played as many rounds."""
    learner: Any = fleet.learner
    told = fleet._counts(fleet._numbers())
    settled = told["drawn"] - told["open"] - told["forgotten"]
    width = float(learner.width)
    vacuous, withheld, seen = 0, dict[str, int](), list[Bound]()
    values = []
    for rounds in np.unique(settled).tolist():
        here = settled == rounds
        sound = here & (told["forgotten"] == 0) & (told["delay"] == 0)
        for why, which in (
            (f"moves were forgotten: {LOST}", here & (told["forgotten"] > 0)),
            ("a move was open while another was drawn", here & (told["forgotten"] == 0) & (told["delay"] > 0)),
        ):
            _count(withheld, why, int(which.sum()))
        bound, why = _standing(learner, rounds, fleet.prior, width)
        good = sound.copy()
        if bound is not None and bound.proof != "whole" and bound.sense != "run":
            unavailable_arms = sound & (told["slept"] > 0)
            _count(withheld, f"arms slept, which {bound.source} does not cover", int(unavailable_arms.sum()))
            good &= ~unavailable_arms
        if bound is not None and bound.at_most is not None:
            refuted = good & _refuted(bound, told["own"], learner, width)
            _count(withheld, "their own loss refutes what the tuning supposes", int(refuted.sum()))
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
            *learner.start(0, fleet.id)._own_law(),
            *unavailable("arm", f"in some rounds of {counted(slept, 'key')}" if slept else ""),
        ),
    )


def _count(withheld: dict[str, int], why: str, many: int) -> None:
    if many:
        withheld[why] = withheld.get(why, 0) + many


def _standing(learner: Any, rounds: int, prior: Array, width: float) -> tuple[Bound | None, str]:
    """The bound of so many prompt rounds, as a player states it."""
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
    """One bound for all: against the fewest that any of them holds against."""
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
