"""Learners of a store: their arms, stages, fleets and certificates."""

from __future__ import annotations

import copy
import dataclasses
import functools
import hashlib
import json
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hannan import _engine, saving, validation
from hannan.mathematics.bounds import Units
from hannan.mathematics.mechanisms import RandomizedResponse
from hannan.players import fleet_certificate, fleet_file, reporting
from hannan.players.evidence import Evidence, Means, read
from hannan.players.fleet import Fleet
from hannan.serving import CONFLICT, REWARD, Refused, evidence, journal
from hannan.serving.evidence import EvidenceTable
from hannan.serving.expiry import Expiry
from hannan.serving.expiry import checked as checked_expiry
from hannan.serving.journal import ACT, BORN, EXPIRE
from hannan.serving.tickets import Key, Stage

#: Effects of added and retired arms.
NEW_STAGE = "A new stage begins: the learner and its evidence begin again, with equal probabilities"
FREE_PLACE = "The arm takes a free place: what was learned is kept, and the evidence begins again"
UNAVAILABLE = "The arm is never drawn again: what was learned is kept, and so is the evidence"


class Renaming(NamedTuple):
    """Sequence and time (seconds since 1970) at which an arm lost the name `old`."""

    sequence: int
    time: float
    place: int
    old: str


class Arms:
    """Names and places of arms. A place without a name, or of a retired arm, is unavailable.

    >>> arms = Arms("banner", 3, None, ["red", "blue"], allows_unavailable=True)
    >>> arms.add(arms.free("green"), "green", "7 decisions"); arms.retire(0, "9 decisions")
    >>> arms.labels, arms.available, arms.says
    (['red', 'blue', 'green'], [1, 2], 'green came after 7 decisions, red left after 9 decisions')
    """

    def __init__(self, owner: str, n: int, own: Any, given: Any, allows_unavailable: bool) -> None:
        self.owner, self.n, self.allows_unavailable = owner, n, allows_unavailable
        #: Whether the learner itself has arm names: an arm without a free place then begins a new stage.
        self._named = own is not None
        self.names: list[str | None] | None = _names(n, own, given)
        #: None if all arms are available.
        self.mask: NDArray[np.bool_] | None = None
        self._json: list[bytes] = []
        #: Descriptions of added and retired arms, for certificates.
        self.changes: list[str] = []
        #: Earlier names, in the order of their ends.
        self.renamings: list[Renaming] = []
        if self.names is not None and None in self.names:
            self.set_available([i for i, name in enumerate(self.names) if name is not None])

    @property
    def labels(self) -> list[Any]:
        """Names of the arms, or numbers of arms without a name."""
        names = self.names
        return list(range(self.n)) if names is None else [i if name is None else name for i, name in enumerate(names)]

    @property
    def json(self) -> list[bytes]:
        """Labels as JSON, one text per arm."""
        if not self._json:
            self._json = [json.dumps(label).encode() for label in self.labels]
        return self._json

    def label(self, action: int) -> Any:
        """Return the name of an arm, or its number if the arms have no names."""
        return action if self.names is None else self.names[action]

    def label_at(self, action: int, sequence: int) -> Any:
        """Return the name that an arm had at a sequence of the journal."""
        for ended, _, place, old in self.renamings:
            if place == action and sequence < ended:
                return old
        return self.label(action)

    @property
    def available(self) -> list[int]:
        """Numbers of the arms that can be drawn."""
        return list(range(self.n)) if self.mask is None else np.flatnonzero(self.mask).tolist()

    @property
    def says(self) -> str:
        """Changes in words."""
        return ", ".join(self.changes)

    def set_available(self, available: list[int]) -> None:
        """Make these arms available, and no others."""
        self.require_unavailable_arms()
        mask = np.zeros(self.n, dtype=bool)
        mask[available] = True
        self.mask = None if mask.all() else mask

    def require_unavailable_arms(self) -> None:
        """Raise ValueError if no proof covers unavailable arms."""
        if not self.allows_unavailable:
            raise ValueError(
                f"arms without names can be added and retired only if a proof covers unavailable arms, as for "
                f"Bandit({self.n}, Tsallis(0.5)); got {self.owner!r}. Name the arms, or add the learner again with "
                "another number of arms"
            )

    @property
    def compared(self) -> list[int]:
        """Numbers of the arms that are or were available."""
        names = self.names
        return list(range(self.n)) if names is None else [i for i, name in enumerate(names) if name is not None]

    @property
    def histories(self) -> list[tuple[int, list[str]]]:
        """Place and names of each arm that is or was available, the present name first."""
        earlier: dict[int, list[str]] = {}
        for _, _, place, old in self.renamings:
            earlier.setdefault(place, []).append(old)
        return [(place, [str(self.label(place)), *reversed(earlier.get(place, []))]) for place in self.compared]

    @property
    def available_names(self) -> list[str]:
        """Names of the arms that can be drawn."""
        return [str(self.label(i)) for i in self.available]

    @property
    def on_add(self) -> str | None:
        """Effect of another arm, in words; None if it would be rejected."""
        if self.names is not None and None in self.names:
            return FREE_PLACE
        return NEW_STAGE if self._named else None

    @property
    def on_retire(self) -> str | None:
        """Effect of the retirement of an arm, in words; None if it would be rejected."""
        if len(self.available) == 1:
            return None
        if self.allows_unavailable:
            return UNAVAILABLE
        return None if self.names is None else NEW_STAGE

    def free(self, arm: Any) -> int | None:
        """Return the first free place, or None if the arm requires a new stage of the learner."""
        if self.names is None or not isinstance(arm, str) or not arm:
            raise ValueError(
                f"arm must be a non-empty string, and the learner must have named arms; got {validation.brief(arm)}"
            )
        if None in self.names and arm not in self.names:
            return self.names.index(None)
        if arm in (self.available_names if self._named else self.names):
            raise Refused(CONFLICT, f"{self.owner!r} already has or had an arm {arm!r}; choose another name")
        if not self._named:
            raise Refused(
                CONFLICT,
                f"{self.owner!r} has no free place: all {self.n} are taken. Add the learner again with more arms, "
                "which begins a new stage",
            )
        return None

    def leaving(self, arm: Any) -> int:
        """Return the place of an arm that may retire."""
        if self.names is None:
            self.require_unavailable_arms()
        found: int | None = None
        if self.names is not None:
            found = self.names.index(arm) if isinstance(arm, str) and arm in self.names else None
        elif isinstance(arm, int) and not isinstance(arm, bool) and 0 <= arm < self.n:
            found = arm
        if found is None or found not in self.available:
            raise ValueError(
                f"{self.owner!r} has no available arm {validation.brief(arm)}; arms are {self.available_names}"
            )
        if len(self.available) == 1:
            raise Refused(CONFLICT, f"{arm!r} is the last available arm of {self.owner!r} and cannot be retired")
        return found

    def add(self, place: int, arm: str, after: str) -> None:
        """Make a new arm available."""
        assert self.names is not None
        self.set_available([*self.available, place])
        self.names[place], self._json = arm, []
        self.changes.append(f"{arm} came after {after}")

    def retire(self, place: int, after: str) -> None:
        """Make an arm unavailable."""
        self.set_available([i for i in self.available if i != place])
        self.changes.append(f"{self.label(place)} left after {after}")

    def rename(self, place: int, name: str, sequence: int, time: float) -> None:
        """Give an arm another name; everything else about the arm stays as it is."""
        assert self.names is not None
        self.renamings.append(Renaming(sequence, time, place, str(self.names[place])))
        self.names[place], self._json = name, []

    @property
    def renamed(self) -> str:
        """Earlier names in words."""
        return ", ".join(
            f"{self.label(place)} was called {old} until {_date(time)}" for _, time, place, old in self.renamings
        )

    def state(self) -> dict[str, Any]:
        """Return the state for a snapshot."""
        return {"names": self.names, "awake": self.available, "changes": self.changes}

    def restore(self, state: dict[str, Any]) -> None:
        """Restore the state of a snapshot."""
        self.names, self.changes, self._json = state["names"], state["changes"], []
        if len(state["awake"]) < self.n:
            self.set_available(state["awake"])
        else:
            self.mask = None


def _names(n: int, own: Any, given: Any) -> list[str | None] | None:
    """Return the names of the arms, with None for a free place."""
    if given is None:
        return None if own is None else list(own)
    if own is not None:
        raise ValueError(
            f"the learner already has arm names {list(own)!r}; got arms={validation.brief(given)}. Omit arms="
        )
    names = list(given) if isinstance(given, (list, tuple)) else []
    if not (names and all(isinstance(name, str) and name for name in names) and len(set(names)) == len(names)):
        raise ValueError(f"arms must be a list of unique non-empty strings; got {validation.brief(given)}")
    if len(names) > n:
        raise ValueError(f"arms must have at most {n} names, one per arm of the learner; got {len(names)}")
    return [*names, *(None for _ in range(n - len(names)))]


@functools.lru_cache(maxsize=64)
def _reader(kind: Any) -> Any:
    """Return a class of players with a number of pending moves instead of the moves themselves."""

    def settled(self: Any) -> int:
        return int(self.round - self.told_open - self._forgotten)

    parts = {"_open_count": property(lambda self: self.told_open), "_settled": property(settled), "told_open": 0}
    return type("Reader", (kind,), parts)


def certificate(fleet: Fleet, number: int, delta: float | None) -> Any:
    """Return the certificate of one learner of a fleet."""
    kind: Any = fleet._player_class
    made = _reader(kind)(fleet.learner, 0, fleet.id)
    made.seed, made.resumed = fleet.seed, fleet.resumed
    if number >= 0:
        made._restore({**fleet._fields(number), "open": []})
        counts = fleet._counts(np.array([number]))
        made.told_open = int(counts["open"][0])
        if hasattr(made, "_slept"):
            made._slept, made._slept_is_counted = int(counts["slept"][0]), False
    return fleet_certificate.of_one(made.certificate(delta), fleet.prior, fleet.learner.width, fleet._diagnosed)


#: The record of an event has 16 bits for the arm.
MAX_ARMS = 1 << 16
MAX_NAME_LENGTH = 100
#: Binary parts of the state in a snapshot, and fields of its JSON text.
PARTS = ("alone", "keyed", "expiry", "evidence", "slates")
STATE = {
    "name", "learner", "arms", "wait", "default", "names", "expiry", "stage", "evidence", "renamings", "declared"
}  # fmt: skip
#: Number of the learner in the fleet without keys.
UNKEYED = np.zeros(1, dtype=np.int64)
_PLURAL = {"reward": "rewards", "loss": "losses"}
#: Meaning of a bound if arms were added or retired.
CHANGED_ARMS = (
    "the regret against an arm covers only the rounds in which that arm was available; an arm that was added or "
    "retired because of earlier results makes the set of available arms depend on your moves"
)
#: Number and share of pending decisions from which on a learner without `wait` has a warning.
PENDING_LEAST, PENDING_SHARE = 50, 0.2
#: What the evidence of a learner with randomized feedback is computed from.
REPORTS = (
    "means and differences are computed from randomized reports and mapped by 1/2 + (mean - 1/2)/tanh(epsilon/2); the "
    "realized regret is withheld, because the realized losses are not stored"
)
#: What the privacy of a learner with randomized feedback does not cover in a store.
ARRIVAL = (
    "the journal contains the times of draws and of feedback, and which decisions were settled by default: privacy "
    "does not cover whether and when feedback arrived. If a missing answer has a meaning, report every decision, at a "
    "time that does not depend on the answer"
)
NO_ARMS, NO_ODDS = np.empty(0, dtype=np.int64), np.empty(0)


class StoredLearner:
    """One stage of a learner of a store. All its changes are in the journal, which reproduces it.

    A learner has one stage until its arms change; then the next stage begins, and this one only settles what is open.
    `earlier` and `later` are the stages before and after it. `declared` is the description of the last `add`. `began`
    is the time of the change, in seconds since 1970, and 0 for the first stage.

    `fleets[0]` has the learner without a key, `fleets[1]` (None before the first) those with one. A *ticket* is
    that of a fleet: the number of the learner, and its round in the lower 32 bits.
    """

    #: Subclasses for learners whose decisions are not one arm, by class of the learner.
    kinds: ClassVar[dict[type, type[StoredLearner]]] = {}

    def __init_subclass__(cls, of: type) -> None:
        StoredLearner.kinds[of] = cls

    def __init__(
        self, number: int, name: str, learner: Any, arms: Any = None, wait: Any = None, default: Any = None
    ) -> None:
        self.number, self.name, self.learner = number, checked_name(name), learner
        self.stage, self.began = Stage(number, 1), 0.0
        #: Number of the first stage.
        self.root = number
        self.earlier: StoredLearner | None = None
        self.later: StoredLearner | None = None
        self.fleets, sleeps = self._open_fleets(learner, wait)
        self.n, self._entropy = int(learner.n), 0
        self.arms = Arms(name, self.n, getattr(learner, "arms", None), arms, sleeps)
        low, high = learner.loss_range
        self.expiry: Expiry | None = checked_expiry(wait, default, low, high)
        self._told = {"learner": saving.describe(learner), "arms": arms, "wait": wait, "default": default}
        self.declared = self.description()
        #: None for earlier stages, learners with very many arms, and contents that are replayed without evidence.
        self.evidence: EvidenceTable | None = None

    @staticmethod
    def of(
        number: int, name: str, learner: Any, arms: Any = None, *, wait: Any = None, default: Any = None
    ) -> StoredLearner:
        """Return the first stage of a learner, of the class for its kind of decisions."""
        kind = StoredLearner.kinds.get(type(learner), StoredLearner)
        return kind(number, name, learner, arms, wait, default)

    def _open_fleets(self, learner: Any, wait: Any) -> tuple[list[Fleet | None], bool]:
        """Return (fleets without and with keys, whether unavailable arms are covered by a proof)."""
        # A single learner also records its realized stability.
        unkeyed = _fleet(learner, self.name, diagnosed=True)
        unkeyed.number([0], touch=True)
        return [unkeyed, None], unkeyed._sleeps

    # Description

    def description(self) -> dict[str, Any]:
        """Return the arguments of `add` as JSON."""
        return {"name": self.name, **self._told}

    @property
    def words(self) -> str:
        """Arguments of `add` as text."""
        more = [f"{name}={self._told[name]!r}" for name in ("arms", "wait", "default") if self._told[name] is not None]
        return ", ".join([repr(self.learner), *more])

    # Stages

    @property
    def stages(self) -> list[StoredLearner]:
        """All stages of this learner, the first one first."""
        first = self
        while first.earlier is not None:
            first = first.earlier
        found = [first]
        while found[-1].later is not None:
            found.append(found[-1].later)
        return found

    def follow(self, earlier: StoredLearner, declared: dict[str, Any], began: float) -> None:
        """Make this the stage after another one."""
        self.earlier, earlier.later, self.root = earlier, self, earlier.root
        self.stage, self.began = Stage(self.number, earlier.stage.ordinal + 1), began
        self.declare(declared)
        earlier.drop_evidence()

    @property
    def change(self) -> str:
        """Arms that were added or retired at the beginning of the stage, in words; empty for the first stage."""
        if self.earlier is None:
            return ""
        mine, there = self.arms.histories, self.earlier.arms
        names = [own[0] for place, own in mine if place < self.began_with]
        before = [str(there.label(arm)) for arm in there.available]
        parts = (("added", [name for name in names if name not in before]),
                 ("retired", [name for name in before if name not in names]))  # fmt: skip
        return ", ".join(
            f"{' and '.join(found)} {'was' if len(found) == 1 else 'were'} {word}" for word, found in parts if found
        )

    def changes(self, new: StoredLearner) -> bool:
        """Return whether the arms of a description differ from those of the declared one; raise Refused if more
        differs.
        """
        if not new.differs_in_arms_only(self):
            raise Refused(
                CONFLICT,
                f"{self.name!r} exists with another description, {self.described(0, self.declared).words}; got "
                f"{new.words}. Only the arms may differ",
            )
        if self.declared == new.description():
            return False
        old, given = self.described(0, self.declared).arms.labels, new.arms.labels
        if old != given and new.has_arms_of(self):
            return False
        if old != given and set(old) == set(given):
            raise Refused(CONFLICT, f"{self.name!r} exists with its arms in another order, {old}; got {given}")
        return old != given

    def has_arms_of(self, there: StoredLearner) -> bool:
        """Return whether the arms of this description are those that another stage has now."""
        mine, other = self.arms, there.arms
        return self.n == there.n and mine.labels == other.labels and mine.available == other.available

    def declare(self, declared: dict[str, Any]) -> None:
        """Replace the description of the last `add`."""
        # Build and describe the learner again, because another version may have described it differently.
        self.declared = self.described(0, declared).description()

    def differs_in_arms_only(self, there: StoredLearner) -> bool:
        """Return whether this description equals the declared one of another stage, except for its arms."""
        return _without_arms(self.description()) == _without_arms(there.declared)

    def with_arms(self, number: int, names: list[str]) -> StoredLearner:
        """Return a stage of the same learner with these arms."""
        # The stored description is not used, because it may state a scale that was tuned for the number of arms.
        learner = _with_arms(self.learner, names)
        return StoredLearner.of(number, self.name, learner, wait=self._told["wait"], default=self._told["default"])

    @property
    def all_arms(self) -> list[list[list[str]]]:
        """Names of all arms that the learner has had, the present name of an arm first.

        The arms are in the order in which they appeared; arms of the same list appeared together. The place of an arm
        never changes: neither a new name, nor a retirement, nor another stage moves it.
        """
        seen, groups = set[str](), list[list[list[str]]]()
        for stage in self.stages:
            new = [(place, names) for place, names in stage.arms.histories if names[0] not in seen]
            seen.update(names[0] for _, names in new)
            together = [names for place, names in new if place < stage.began_with]
            groups += [
                group for group in (together, *([names] for place, names in new if place >= stage.began_with)) if group
            ]
        return groups

    @property
    def began_with(self) -> int:
        """Number of arms at the beginning of the stage."""
        given = self._told["arms"]
        return self.n if given is None else len(given)

    @property
    def unkeyed(self) -> Fleet:
        """Fleet with the learner without a key."""
        found = self.fleets[0]
        assert found is not None
        return found

    @property
    def keyed(self) -> Fleet:
        """Fleet with the learners of keys, created at its first use."""
        found = self.fleets[1]
        if found is None:
            found = self.fleets[1] = _fleet(self.learner, self.name)
            found.restart(self._seed(1))
            if self.evidence is not None:
                self.evidence.attach(found, fresh=True)
        return found

    @property
    def open(self) -> int:
        """Number of pending decisions."""
        return sum(int(fleet._open_count) for fleet in self.fleets if fleet is not None)

    def pending_warning(self) -> str:
        """Return a warning if many decisions are pending and no `wait` will settle them, or an empty string."""
        pending = self.open
        if self.expiry is not None or pending < PENDING_LEAST:
            return ""
        decisions = self.decisions
        if pending < PENDING_SHARE * decisions:
            return ""
        word = "reward" if self.learner.gains else "loss"
        return (
            f"{pending:,} of {decisions:,} decisions have no feedback, and the learner has no wait: they stay pending. "
            f"If missing feedback means a {word}, such as 0 for no click, add the learner with wait and default"
        )

    @property
    def keys(self) -> int:
        """Number of keys."""
        return 0 if self.fleets[1] is None else len(self.fleets[1])

    @property
    def drawn(self) -> int:
        """Number of decisions of the learner without a key."""
        return int(self.unkeyed._counts(UNKEYED)["drawn"][0])

    @property
    def so_far(self) -> str:
        """Number of decisions in words, with and without a key: changes of arms affect both."""
        return f"{self.decisions} decisions{self._whose}"

    @property
    def decisions(self) -> int:
        """Number of decisions, with and without a key."""
        keyed = self.fleets[1]
        return self.drawn + (0 if keyed is None else int(keyed._counts(keyed._numbers())["drawn"].sum()))

    @property
    def _whose(self) -> str:
        """Words for the keys that a number of decisions covers."""
        return "" if not self.keys else " with and without a key" if self.drawn else " of all keys"

    def weights(self, key: Key = None) -> list[float]:
        """Return the probabilities of the next draw."""
        fleet, number = self._fleet_of(key)
        if number < 0:  # an unknown key has the probabilities of a fresh learner
            return [float(x) for x in _fleet(self.learner, self.name).distribution(0, self.arms.mask)]
        p: NDArray[np.float64] = _engine.next_weights(fleet, number, self.arms.mask)
        return [float(x) for x in p]

    def _fleet_of(self, key: Key) -> tuple[Fleet, int]:
        """Return (fleet, number in the fleet) of a key, with number -1 if the key is new."""
        if key is None:
            return self.unkeyed, 0
        return self.keyed, int(self.keyed.number([key])[0])

    def number_of(self, key: Key) -> int:
        """Return the number of a key in its fleet, or -1 if it is new; the state is unchanged."""
        keyed = self.fleets[1]
        return -1 if keyed is None else int(keyed.number([key])[0])

    # Evidence

    def count_evidence(self, start: str = "") -> None:
        """Begin a table of evidence; decisions that are pending now are not counted."""
        if self.n > evidence.MAX_ARMS:
            return
        self.evidence = EvidenceTable(self.arms.compared, start)
        self.evidence.leave_out(self.arms.available)
        for fleet in self.fleets:
            self.evidence.attach(fleet, fresh=True)

    def retire(self, place: int) -> None:
        """Make an arm unavailable; it is then omitted from the comparison of the best arm."""
        self.arms.retire(place, self.so_far)
        if self.evidence is not None:
            self.evidence.leave_out(self.arms.available)

    def drop_evidence(self) -> None:
        """Stop counting: the next stage compares other arms."""
        self.evidence = None
        for fleet in self.fleets:
            if fleet is not None:
                fleet._count_in(None, NO_ARMS, True)

    def stating(self, alpha: float, means: Means, assumed: Iterable[tuple[str, str]]) -> Callable[[], Evidence]:
        """Copy the evidence; return the function that computes the panel when the copy is on the disk."""
        table = self.evidence
        if table is None or len(table.arms) < 2:
            raise Refused(
                CONFLICT,
                f"evidence compares 2 to {evidence.MAX_ARMS} arms; {self.name!r} has {len(self.arms.compared)}",
                "no_evidence",
            )
        copied, names = table.copy(), [str(self.arms.label(arm)) for arm in table.arms]
        units, retired = Units.of(self.learner.loss_range, self.learner.gains), frozenset(table.retired)
        weights, response = None if self.keys else self.weights(), self.response
        start = evidence.STARTS[table.start]
        if self.earlier is not None and not start:
            start = f"{self.change} at the start; {evidence.RESTARTED}"
        rows = [*assumed, *([("start", start)] if start else [])]
        if response is not None:
            rows.append(("reports", REPORTS))

        def found() -> Evidence:
            return read(
                copied.engine, names, units, alpha=alpha, means=means,
                probabilities=None if weights is None else [weights[arm] for arm in table.arms],
                since=copied.since(), sure_since=copied.sure_since(), assumed=rows, response=response,
                retired=retired,
            )  # fmt: skip

        return found

    @property
    def lacks_evidence(self) -> bool:
        """True if a snapshot of an earlier version omits the table of the current stage."""
        return self.evidence is None and self.later is None and self.n <= evidence.MAX_ARMS

    def add_arm(self, place: int, arm: str) -> None:
        """Make a new arm available; all arms are compared over the same decisions, so the evidence begins again."""
        self.arms.add(place, arm, self.so_far)
        if self.evidence is not None:
            self.count_evidence("added")

    def renaming(self, arm: Any, name: Any) -> int:
        """Return the place of an arm that may get another name."""
        if self.arms.names is None:
            raise ValueError(f"the arms of {self.name!r} have no names; add the learner again with named arms")
        if not isinstance(name, str) or not name:
            raise ValueError(f"name must be a non-empty string; got {validation.brief(name)}")
        if arm not in self.arms.available_names:
            raise ValueError(
                f"{self.name!r} has no available arm {validation.brief(arm)}; arms are {self.arms.available_names}"
            )
        if any(name in (stage.arms.names or ()) for stage in self.stages):
            raise Refused(CONFLICT, f"{self.name!r} already has or had an arm {name!r}; choose another name")
        return self.arms.names.index(arm)

    def rename_arm(self, place: int, name: str, sequence: int, time: float) -> None:
        """Rename an arm from a sequence of the journal on, in this stage and in the earlier ones that have the arm."""
        old = self.arms.label(place)
        for stage in self.stages:
            if stage.arms.names is not None and old in stage.arms.names:
                stage.arms.rename(stage.arms.names.index(old), name, sequence, time)

    # Play

    def renew(self, entropy: int) -> None:
        """Start the random streams from the entropy of an epoch."""
        self._entropy = entropy
        for keyed, fleet in enumerate(self.fleets):
            if fleet is not None:
                fleet.restart(self._seed(keyed))

    def _seed(self, keyed: int) -> int:
        text = f"{self._entropy}/{self.number}/{keyed}".encode()
        return int.from_bytes(hashlib.blake2b(text, digest_size=32).digest(), "little")

    def touch(self, keys: list[Any]) -> tuple[NDArray[np.int64], bytes]:
        """Return (numbers of keys, records of the new keys)."""
        fleet = self.keyed
        numbers = fleet.number(keys)
        if (numbers >= 0).all():
            return numbers, b""
        new = list(dict.fromkeys(key for key, number in zip(keys, numbers.tolist(), strict=True) if number < 0))
        body = b"".join(
            journal.note({"key": key, "learner": self.number})
            if isinstance(key, str)
            else journal.record(BORN, 0, self.number, key & (1 << 64) - 1, 0.0, 1)
            for key in new
        )
        fleet.number(new, touch=True)
        return fleet.number(keys), body

    def draw(self, keyed: int, numbers: NDArray[np.int64]) -> tuple[NDArray[np.uint64], NDArray[np.int64], Any, bytes]:
        """Draw the next rounds of learners; return (tickets, arms, probabilities, records)."""
        drawn: Any = _engine.draw_many(self.fleets[keyed], numbers, self.arms.mask, self.number, bool(keyed))
        tickets, arms, p, body = drawn
        return tickets, arms, p, body

    def settle(self, keyed: int, tickets: NDArray[np.uint64], values: NDArray[np.float64]) -> None:
        """Settle pending decisions with values in their range."""
        fleet = self.fleets[keyed]
        assert fleet is not None
        why, place = fleet._settle(tickets.view(np.int64), False, values, NO_ARMS, NO_ODDS, -1)
        if why != _engine.Refusal.none:
            raise RuntimeError(f"a pending decision could not be settled: {why} at {place}")

    @property
    def response(self) -> RandomizedResponse | None:
        """Mechanism that randomizes feedback before it is counted, None if the learner receives feedback as it is."""
        return self.learner.response if getattr(self.learner, "reported", False) else None

    def defaults(self, count: int) -> NDArray[np.float64]:
        """Return the values with which expired decisions are settled; they are randomized as any other feedback."""
        assert self.expiry is not None
        values = np.full(count, self.expiry.default)
        return values if self.response is None else reporting.reports_of(self.learner, values, None)

    def value(self, reward: Any, loss: Any) -> float:
        """Return the feedback as a number, or its randomized report; raise Refused if it is outside of the range.

        No error repeats feedback that is to be randomized.
        """
        private = self.response is not None
        if (reward is None) == (loss is None):
            if private:
                raise Refused(REWARD, "exactly one of reward and loss is required; got both or none of them")
            raise Refused(REWARD, f"exactly one of reward and loss is required; got reward={reward!r}, loss={loss!r}")
        given, gains = ("reward", True) if loss is None else ("loss", False)
        if gains != self.learner.gains:
            expected = "reward" if self.learner.gains else "loss"
            raise Refused(REWARD, f"{self.name!r} is a learner of {_PLURAL[expected]}; pass {expected}=, not {given}=")
        told, (low, high) = reward if gains else loss, self.learner.loss_range
        if private:
            try:
                return reporting.report_of(self.learner, told, given)
            except ValueError as error:
                raise Refused(REWARD, str(error)) from None
        if type(told) is float and low <= told <= high:
            return told
        try:
            return validation.between(float(told) if isinstance(told, (bool, np.bool_)) else told, low, high, given)
        except ValueError as error:
            raise Refused(REWARD, str(error)) from None

    def replay(self, events: NDArray[Any], sequences: NDArray[np.uint64], time: float) -> int:
        """Replay events in their order, given their sequences; return the index of the first that differs, or -1."""
        has_key = events["keyed"] == 1
        keyed, slots = None, _slots(events)
        if has_key.any():
            keyed, slots = self._replaying(events, 1)
        table = None if self.evidence is None else self.evidence.engine
        wrong = _engine.replay_journal(self.unkeyed, keyed, slots, self.arms.mask, table, sequences)
        if wrong < 0 and self.expiry is not None:
            for code, mine in enumerate((~has_key, has_key)):
                acts = events["round"][(events["kind"] == ACT) & mine]
                if len(acts):
                    self.expiry.drawn(code, acts, time)
            self.expiry.count += int((events["kind"] == EXPIRE).sum())
        return int(wrong)

    def places_of(self, known: set[str]) -> tuple[NDArray[np.bool_], bool]:
        """Return (whether each arm is one of `known`, whether this stage has all of them)."""
        names = self.arms.names or [str(i) for i in range(self.n)]
        return np.array([name in known for name in names]), known <= set(names)

    def replay_probabilities(self, events: NDArray[Any], keyed: int) -> tuple[int, NDArray[np.float64]]:
        """Replay events; return (place of the first event that is not reproduced or -1, probabilities at each draw)."""
        fleet, slots = self._replaying(events, keyed)
        wrong, p = _engine.replay_probabilities(fleet, slots, self.arms.mask)
        return int(wrong), p

    def _replaying(self, events: NDArray[Any], keyed: int) -> tuple[Fleet, NDArray[np.uint8]]:
        """Return the fleet that events belong to, ready for keys that are integers, and the bytes of the events."""
        fleet = self.keyed if keyed else self.unkeyed
        if keyed and (events["kind"] == BORN).any():
            fleet._of_one_kind(NO_ARMS + 0, touch=True)
            fleet._text = False
        return fleet, _slots(events)

    def certificate(self, key: Key, delta: float | None) -> Any:
        """Return the certificate of a key, of the learner without a key, or of all keys if only keys were played.

        Notes describe the keys that are not included, expired decisions, stages and changes of arms.
        """
        if key is None and self.keys and not self.drawn:
            told: Any = self.keyed.certificate()
        else:
            told = certificate(*self._fleet_of(key), delta)
        notes = list(told.notes)
        if key is None and self.keys and self.drawn:
            notes.append(("keys", f"{self.keys} learners with a key are not included; each has its own certificate"))
        if self.expiry is not None and self.expiry.count:
            notes.append(("expiry", self.expiry.says(self.learner.gains, self._whose)))
        if self.response is not None:
            notes.append(("arrival", ARRIVAL))
        if self.earlier is not None or self.later is not None:
            notes.append(("stage", self._stage_words()))
        if self.arms.changes:
            notes.append(("arms", f"{self.arms.says}; {CHANGED_ARMS}"))
        if self.arms.renamings:
            notes.append(("names", self.arms.renamed))
        return dataclasses.replace(told, notes=tuple(notes))

    def _stage_words(self) -> str:
        """Return which rounds a certificate counts; docs/proofs/bandits.md has the proof."""
        stages, here = self.stages, f"{self.stage.ordinal} of "
        here += f"{len(stages)}, with {len(self.arms.available)} arms"
        if self.earlier is not None:
            drawn = sum(one.decisions for one in stages[: self.stage.ordinal - 1])
            here += f", since {_date(self.began)}, after {drawn} decisions of earlier stages"
        if self.later is None:
            return f"{here}. Bound and regret count its own rounds only; the bound holds given all that came before it"
        return (
            f"{here}, ended {_date(self.later.began)}, after {self.decisions} decisions. Its bound holds if the time "
            "of its end depends on neither moves nor losses; otherwise no bound is proved"
        )

    # Snapshots

    def state(self) -> tuple[dict[str, Any], dict[str, Callable[[], list[bytes]]]]:
        """Return the state for a snapshot as JSON, and functions that make its binary parts in pieces, by name."""
        fleets = dict(zip(PARTS, self.fleets, strict=False))
        blobs = {name: fleet_file.gathered(fleet) for name, fleet in fleets.items() if fleet is not None}
        blobs |= self._blobs()
        expiry = None
        if self.expiry is not None:
            expiry, more = self.expiry.state()
            blobs["expiry"] = lambda: [more]
        told = {**self.description(), "names": copy.deepcopy(self.arms.state()), "expiry": expiry}
        if self.evidence is not None:
            told["evidence"], table = self.evidence.state()
            blobs["evidence"] = lambda: [table]
        if self.earlier is not None:
            told["stage"] = {"of": self.earlier.number, "declared": self.declared, "began": self.began}
        elif self.declared != self.description():
            told["declared"] = self.declared
        if self.arms.renamings:
            told["renamings"] = list(self.arms.renamings)
        return told, blobs

    @classmethod
    def restored(cls, number: int, told: dict[str, Any], blobs: dict[str, bytes]) -> StoredLearner:
        """Return the learner of a snapshot."""
        found = cls.described(number, told)
        found.arms.restore(told["names"])
        found.arms.renamings = [Renaming(*one) for one in told.get("renamings", [])]
        if "declared" in told:
            found.declare(told["declared"])
        found._recover(blobs)
        if found.expiry is not None:
            found.expiry.restore(told["expiry"], blobs["expiry"])
        if "evidence" in told:
            found.evidence = EvidenceTable.restored(told["evidence"], blobs["evidence"])
            found.evidence.leave_out(found.arms.available)
            for fleet in found.fleets:
                found.evidence.attach(fleet, fresh=False)
            counted = sum(fleet._counted for fleet in found.fleets if fleet is not None)
            if counted != found.evidence.engine.pending:
                raise ValueError(f"corrupt evidence: expected {found.evidence.engine.pending} pending; found {counted}")
        return found

    @classmethod
    def described(cls, number: int, told: dict[str, Any]) -> StoredLearner:
        """Return the learner of a note of the journal."""
        learner = saving.build(told["learner"])
        return StoredLearner.of(number, told["name"], learner, told["arms"], wait=told["wait"], default=told["default"])

    def _blobs(self) -> dict[str, Callable[[], list[bytes]]]:
        """Return functions that make the parts of a snapshot that no fleet has."""
        return {}

    def _recover(self, blobs: dict[str, bytes]) -> None:
        """Restore the decisions of a snapshot."""
        self.fleets = [_recovered(blobs["alone"]), _recovered(blobs["keyed"]) if "keyed" in blobs else None]

    def digest(self) -> bytes:
        """Return bytes that change with the state of the learner, for comparisons."""
        return b"".join(b"" if fleet is None else fleet.to_bytes() for fleet in self.fleets)


#: Fields of the stored description of a learner that depend on its arms.
_OF_ARMS = ("n", "arms", "tuned_scale")


def _slots(events: NDArray[Any]) -> NDArray[np.uint8]:
    return np.ascontiguousarray(events).view(np.uint8).reshape(len(events), journal.SLOT)


def _without_arms(description: dict[str, Any]) -> dict[str, Any]:
    learner = {name: value for name, value in description["learner"].items() if name not in _OF_ARMS}
    if isinstance(learner.get("learner"), dict):  # a wrapped learner
        learner = _without_arms(learner)
    return {**description, "learner": learner, "arms": None}


def _with_arms(learner: Any, names: list[str]) -> Any:
    """Return the same learner with these arms."""
    if getattr(learner, "reported", False):
        return dataclasses.replace(learner, learner=_with_arms(learner.learner, names))
    return dataclasses.replace(learner, n=len(names), arms=tuple(names))


def _date(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, tz=UTC).strftime("%Y-%m-%d %H:%M UTC")


def checked_name(name: Any) -> str:
    """Return the name of a learner, which is part of a path; raise ValueError if it is invalid.

    >>> checked_name("banner")
    'banner'
    """
    good = isinstance(name, str) and 0 < len(name) <= MAX_NAME_LENGTH and name.isascii()
    if not (good and all(c.isalnum() or c in "-_." for c in name) and name[0].isalnum()):
        raise ValueError(
            f"the name of a learner must have 1 to {MAX_NAME_LENGTH} letters, digits, '-', '_' or '.', and begin with "
            f"a letter or digit; got {validation.brief(name)}"
        )
    return str(name)


def _recovered(blob: bytes) -> Fleet:
    """Return a fleet of a snapshot, from which the journal is replayed.

    It is not marked as resumed: opening a store begins an epoch with fresh entropy, and the lock allows one writer.
    """
    fleet = Fleet.from_bytes(blob, "exact")
    fleet.resumed = False
    return fleet


def _fleet(learner: Any, name: str, diagnosed: bool = False) -> Fleet:
    """Return a fleet of a learner; raise ValueError if the learner is not a bandit."""
    if not hasattr(learner, "start") or isinstance(learner, type):
        raise ValueError(f"learner must be an instance such as hn.Bandit(3); got {validation.brief(learner)}")
    if getattr(learner, "n", 0) > MAX_ARMS:  # before memory is allocated
        raise ValueError(f"a store supports learners with at most {MAX_ARMS} arms; got {learner.n}")
    try:
        return Fleet.diagnosed(learner, None, name) if diagnosed else Fleet(learner, None, name)
    except ValueError as error:
        raise ValueError(
            f"a store supports bandit learners only (one observed loss per decision); got {type(learner).__name__}: "
            f"{error}"
        ) from None
