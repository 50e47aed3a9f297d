"""What is said of decisions that were drawn: to a caller as Python's objects, over HTTP as JSON."""

from __future__ import annotations

import math
import secrets
import threading
import time
import warnings
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from hannan import _engine, validation
from hannan.client import shard_of
from hannan.serving import BODY, CONFLICT, ELSEWHERE, TICKET, Refused, journal
from hannan.serving.backend import Asked, Shelf, damaged
from hannan.serving.contents import Contents, Newer
from hannan.serving.journal import ACT, EXPIRE, OBSERVE, Damaged, Journal
from hannan.serving.stored_learner import Resident
from hannan.serving.tickets import Key, Seal, checked_id, checked_key, key_bytes

_NO_KEY = key_bytes(None)


class Decision(NamedTuple):
    """What `act` answers: the ticket to hand back with the feedback, the arm, its number, and its probability."""

    ticket: str
    arm: Any
    action: int
    probability: float


class Decisions(NamedTuple):
    """Many of them, by columns."""

    ticket: list[str]
    arm: list[Any]
    action: list[int]
    probability: list[float]


class Drawn(NamedTuple):
    """Decisions from sequence `first` on: arms, a fleet's tickets, probabilities, and the bytes of keys, if any."""

    first: int
    arms: NDArray[Any]
    tickets: NDArray[Any]
    probabilities: NDArray[Any]
    keys: list[bytes] | None


Told = TypeVar("Told")
Telling = Callable[[Seal, Resident, Drawn], Told]


def listed(seal: Seal, resident: Resident, drawn: Drawn) -> Decisions:
    """Columns of objects."""
    first, arms, tickets, p, keys = drawn
    texts = seal.tickets(resident.stage, arms, first, tickets, p, keys or _NO_KEY)
    actions, names = arms.tolist(), resident.arms.names
    labels = actions if names is None else [names[a] for a in actions]
    return Decisions(texts, labels, actions, p.tolist())


def as_json(seal: Seal, resident: Resident, drawn: Drawn) -> tuple[bytes, list[float]]:
    """The same columns as JSON, up to the probabilities, and those: no ticket becomes an object."""
    first, arms, tickets, p, keys = drawn
    head = seal.answer(resident.stage, resident.arms.json, arms, first, tickets, p, keys or _NO_KEY)
    return head, p.tolist()


class Tally:
    """Counts of one arm of one learner: draws, settled decisions, and the sum of their rewards or losses."""

    __slots__ = ("draws", "settled", "sum")

    def __init__(self) -> None:
        self.draws = self.settled = 0
        self.sum = 0.0


class Counts:
    """Counts of a store. An arm is identified by its learner and its name, never by a key.

    Examples
    --------
    >>> counts = Counts()
    >>> counts.draw("banner", "red"); counts.draw_many("banner", ("red", "blue").__getitem__, np.array([1, 0, 1]))
    >>> counts.settle("banner", "red", 0.5); counts.feedback([True, False])
    >>> counts.decisions, counts.counted, counts.repeats
    (4, 1, 1)
    >>> [(*place, tally.draws, tally.sum) for place, tally in counts.arms.items()]
    [('banner', 'red', 2, 0.5), ('banner', 'blue', 2, 0.0)]
    """

    def __init__(self) -> None:
        self.decisions = self.counted = self.repeats = 0
        self.arms: dict[tuple[str, Any], Tally] = {}

    def tally(self, learner: str, arm: Any) -> Tally:
        """Return the counts of an arm."""
        found = self.arms.get((learner, arm))
        if found is None:
            found = self.arms[learner, arm] = Tally()
        return found

    def draw(self, learner: str, arm: Any) -> None:
        """Count one decision."""
        self.decisions += 1
        self.tally(learner, arm).draws += 1

    def draw_many(self, learner: str, label: Callable[[int], Any], arms: NDArray[Any]) -> None:
        """Count decisions, given the indices of their arms."""
        self.decisions += len(arms)
        for arm, count in enumerate(np.bincount(arms).tolist()):
            if count:
                self.tally(learner, label(arm)).draws += count

    def feedback(self, counted: list[bool]) -> None:
        """Count feedback: new (True) or repeated (False)."""
        new = sum(counted)
        self.counted += new
        self.repeats += len(counted) - new

    def settle(self, learner: str, arm: Any, value: float) -> None:
        """Count the reward or loss of one decision."""
        tally = self.tally(learner, arm)
        tally.settled += 1
        tally.sum += value

    def settle_many(self, learner: str, label: Callable[[int], Any], arms: NDArray[Any], values: NDArray[Any]) -> None:
        """Count rewards or losses, given the indices of their arms."""
        sums = np.bincount(arms, values).tolist()
        for arm, count in enumerate(np.bincount(arms).tolist()):
            if count:
                tally = self.tally(learner, label(arm))
                tally.settled += count
                tally.sum += sums[arm]


#: What is left of the decision that feedback names, in the engine's codes.
CLOSED, OPEN, ALTERED = (getattr(_engine.Standing, name).value for name in ("closed", "open", "altered"))
#: Decisions that are settled by default in one breath: others wait for so long.
BREATH = 2000
#: Where a decision that was asked for with an id is kept: its learner, its key, its id.
Place = tuple[int, bytes, str]


_OTHERWISE = "a ticket must say what was drawn; arm and probability are not those of the journal"


class Desk:
    """The learners of a shelf, played; opening it begins a new epoch."""

    def __init__(
        self, shelf: Shelf, shards: int, often: tuple[int, float], remember: float, max_keys: int | None = None
    ) -> None:
        self.shelf, self._shards, self._max_keys = shelf, shards, max_keys
        self.counts = Counts()
        began = time.monotonic()
        self.contents = contents = _recovered(shelf)
        replayed = time.monotonic() - began
        self.lock = threading.RLock()
        self._fresh: dict[Place, str] = {}
        self.journal = Journal(
            shelf, contents.sequence, contents.time, self.lock, self._photograph, often, self._tick, remember
        )
        self.journal.replayed, self.journal.photographed_slots = replayed, contents.restored_from // journal.SLOT
        self.journal.listeners.append(self._forget_fresh)
        entropy, epoch = secrets.token_bytes(32), secrets.token_bytes(8)
        contents.open(entropy, epoch)
        self.seal = Seal(shelf.secrets(), shelf.journal, epoch, shelf.shard)
        self._append(journal.note({"epoch": epoch.hex(), "entropy": entropy.hex()}))
        self.journal.start()
        self.journal.wait(contents.sequence)

    def _append(self, body: bytes, asked: Asked | None = None) -> int:
        self.contents.sequence = self.journal.append(body, asked)
        return self.contents.sequence

    # Learners

    def add(self, name: str, learner: Any, arms: Any, wait: Any, default: Any) -> tuple[bool, int]:
        """Return (whether a learner or a stage is new, sequence)."""
        with self.lock:
            there = self.contents.by_name.get(name)
            number, former = len(self.contents.residents), getattr(learner, "_formerly", None)
            # Code that added its learner under an earlier version, with a default of that version, adds it again.
            resident = None if there is None or former is None else Resident(number, name, former, arms, wait, default)
            if resident is None or there is None or not resident.differs_in_arms_only(there):
                resident = Resident(number, name, learner, arms, wait, default)
            if there is not None and not there.changes(resident):
                return False, self.contents.sequence
            if there is not None:
                return True, self._begin(resident, resident.description())
            sequence = self._append(journal.note({"add": resident.description()}))
            self.contents.add(resident)
            return True, sequence

    def _begin(self, resident: Resident, declared: dict[str, Any]) -> int:
        """Begin the next stage of a learner, whose arms have changed."""
        began = self.journal.clock.now()
        note = {"stage": resident.description(), "declared": declared, "began": began}
        sequence = self._append(journal.note(note))
        self.contents.begin(resident, declared, began)
        return sequence

    def add_arm(self, name: str, arm: str) -> int:
        """Add an arm: in a place that sleeps, or in a new stage of the learner."""
        with self.lock:
            resident = self.contents.find(name)
            place = resident.arms.free(arm)
            if place is None:
                names = [*resident.arms.awake_names, arm]
                return self._begin(resident.with_arms(len(self.contents.residents), names), resident.declared)
            sequence = self._append(journal.note({"arm": arm, "learner": resident.number, "place": place}))
            resident.arms.add(place, arm, resident.so_far)
            return sequence

    def retire_arm(self, name: str, arm: Any) -> int:
        """Retire an arm: it sleeps from now on, or a new stage of the learner begins without it."""
        with self.lock:
            resident = self.contents.find(name)
            place = resident.arms.leaving(arm)
            if not resident.arms.sleeps:
                names = [one for one in resident.arms.awake_names if one != arm]
                return self._begin(resident.with_arms(len(self.contents.residents), names), resident.declared)
            sequence = self._append(journal.note({"retire": place, "learner": resident.number}))
            resident.arms.retire(place, resident.so_far)
            return sequence

    def look(self, name: str) -> tuple[Resident, int]:
        """A learner to be looked at, under the lock, and up to which sequence it has played."""
        return self.contents.find(name), self.contents.sequence

    # Decisions

    def _here(self, name: str, keys: Iterable[Key]) -> None:
        """Refuse what lives in another shard."""
        for key in keys if self._shards > 1 else ():
            shard = shard_of(name, key, self._shards)
            if shard != self.shelf.shard:
                whose = f"{name!r}" if key is None else f"key {key!r} of {name!r}"
                raise Refused(ELSEWHERE, f"{whose} lives in shard {shard}; this is shard {self.shelf.shard}")

    def draw(self, name: str, key: Any = None, id: str | None = None) -> tuple[Decision, int]:
        """(a decision, sequence)"""
        key = checked_key(key)
        self._here(name, (key,))
        id = checked_id(id)
        with self.lock:
            resident, place = self.contents.find(name), None
            if id is not None:
                place = (resident.root, key_bytes(key), id)
                before = self._fresh.get(place) or self.journal.read(partial(self.shelf.asked, *place))
                if before is not None:
                    said = self.seal.opened(before)
                    label = self.contents.residents[said.learner].arms.label(said.arm)
                    return Decision(before, label, said.arm, said.probability), self.contents.sequence
            return self._draw_one(resident, key, place)

    def draws(self, name: str, count: int, told: Telling[Any] = listed) -> tuple[Any, int]:
        """(so many decisions of the learner without a key, sequence): all or none."""
        self._here(name, (None,))
        with self.lock:
            return self._draw(name, None, validation.count(count, "count"), told)

    def draws_for(self, name: str, keys: list[Any], told: Telling[Any] = listed) -> tuple[Any, int]:
        """(a decision for each key, sequence): all or none."""
        keys = [checked_key(key) for key in keys]
        if not keys or None in keys:
            raise Refused(BODY, "keys must be a list of at least one key, and none of them empty")
        self._here(name, keys)
        with self.lock:
            return self._draw(name, keys, len(keys), told)

    def _check_keys(self, resident: Resident, keys: list[Any]) -> None:
        """Raise before anything changes if keys are of the wrong kind, or new ones exceed the limit."""
        numbers = resident.keyed.number(keys)
        if self._max_keys is None or resident.keys + len(keys) <= self._max_keys:
            return
        new = len({key for key, number in zip(keys, numbers.tolist(), strict=True) if number < 0})
        if new and resident.keys + new > self._max_keys:
            raise Refused(
                CONFLICT,
                f"{resident.name!r} must have at most max_keys={self._max_keys} keys; got {new} new and "
                f"{resident.keys} existing ones",
                "too_many_keys",
            )

    def _draw_one(self, resident: Resident, key: Key, place: Place | None) -> tuple[Decision, int]:
        """As `_draw`, of one decision: without arrays."""
        self.journal.alive()
        keyed, number, body = int(key is not None), 0, b""
        if key is not None:
            self._check_keys(resident, [key])
        try:
            if key is not None:
                numbers, body = resident.touch([key])
                number = int(numbers[0])
            ticket, arm, p = _engine.draw_one(resident.fleets[keyed], number, resident.arms.mask)
            sequence = self.contents.sequence + len(body) // journal.SLOT
            text = self.seal.ticket(resident.stage, arm, sequence, ticket, p, key_bytes(key))
        except BaseException as error:  # drawn and not written: what is in memory is no longer what is on the disk
            self.journal.fail(error)
            raise
        if resident.expiry is not None:
            resident.expiry.drawn_one(keyed, ticket, self.journal.clock.now())
        asked = None
        if place is not None:
            asked = Asked(*place, text, self.journal.clock.now())
            self._fresh[place] = text
        body += journal.record(ACT, arm, resident.number, ticket, p, keyed)
        label = resident.arms.label(arm)
        self.counts.draw(resident.name, label)
        return Decision(text, label, arm, p), self._append(body, asked)

    def _draw(self, name: str, keys: list[Any] | None, count: int, told: Telling[Any]) -> tuple[Any, int]:
        resident = self.contents.find(name)
        self.journal.alive()
        if keys is None:
            numbers, body, whose = np.zeros(count, dtype=np.int64), b"", None
        else:
            self._check_keys(resident, keys)
        keyed = int(keys is not None)
        try:
            if keys is not None:
                numbers, body = resident.touch(keys)
                whose = [key_bytes(key) for key in keys]
            tickets, arms, p, drawn = resident.draw(keyed, numbers)
            first = self.contents.sequence + len(body) // journal.SLOT
            answer = told(self.seal, resident, Drawn(first, arms, tickets, p, whose))
        except BaseException as error:  # drawn and not written: what is in memory is no longer what is on the disk
            self.journal.fail(error)
            raise
        body += drawn
        if resident.expiry is not None:
            resident.expiry.drawn(keyed, tickets, self.journal.clock.now())
        self.counts.draw_many(resident.name, resident.arms.label, arms)
        return answer, self._append(body)

    def settle(self, feedback: Iterable[tuple[Any, Any, Any]]) -> tuple[list[bool], int]:
        """(counted now?, sequence) for (ticket, reward, loss) each: all of them, or none."""
        feedback = list(feedback)
        with self.lock:
            if len(feedback) == 1:
                return self._settle_one(*feedback[0])
            told: dict[tuple[int, int], list[tuple[int, int, int, float, float]]] = {}
            seen: set[tuple[int, int, int]] = set()
            counted: list[bool] = []
            for ticket, reward, loss in feedback:
                said = self.seal.opened(ticket)
                value = self.contents.owner(said).value(reward, loss)
                whose = (said.learner, int(said.key is not None))
                if (*whose, said.round) not in seen:
                    seen.add((*whose, said.round))
                    told.setdefault(whose, []).append((len(counted), said.round, said.arm, said.probability, value))
                counted.append(False)
            plan = [self._open(number, keyed, rows, counted) for (number, keyed), rows in told.items()]
            self.journal.alive()
            body = b""
            try:
                for resident, keyed, rounds, arms, values in plan:
                    if len(rounds):
                        resident.settle(keyed, rounds, values)
                        body += journal.many(OBSERVE, keyed, resident.number, arms, rounds, values)
                        self.counts.settle_many(resident.name, resident.arms.label, arms, values)
            except BaseException as error:
                self.journal.fail(error)
                raise
            self.counts.feedback(counted)
            # A repeat waits for the original, which may be on its way to the disk.
            return counted, self._append(body) if body else self.contents.sequence

    def _settle_one(self, ticket: Any, reward: Any, loss: Any) -> tuple[list[bool], int]:
        """As `settle`, of one feedback: without arrays."""
        said = self.seal.opened(ticket)
        resident, keyed = self.contents.owner(said), int(said.key is not None)
        value, fleet = resident.value(reward, loss), resident.fleets[keyed]
        self.journal.alive()
        try:
            arm, p = said.arm, said.probability
            state = CLOSED if fleet is None else _engine.settle_one(fleet, said.round, arm, p, value)
        except BaseException as error:
            self.journal.fail(error)
            raise
        if state == ALTERED:
            raise Refused(TICKET, _OTHERWISE)
        self.counts.feedback([state == OPEN])
        if state == CLOSED:
            return [False], self.contents.sequence  # a repeat waits for the original, which may be on its way
        self.counts.settle(resident.name, resident.arms.label(arm), value)
        return [True], self._append(journal.record(OBSERVE, arm, said.learner, said.round, value, keyed))

    def _open(self, number: int, keyed: int, rows: list[Any], counted: list[bool]) -> Any:
        """Those that are open, (learner, keyed, tickets, arms, values); they count."""
        resident = self.contents.residents[number]
        places, rounds, arms, p, values = zip(*rows, strict=True)
        tickets, drawn = np.array(rounds, dtype=np.uint64), np.array(arms, dtype=np.int64)
        fleet = resident.fleets[keyed]
        found = np.full(len(rows), CLOSED, dtype=np.uint8)
        if fleet is not None:
            found = _engine.open_decisions(fleet, tickets, drawn, np.array(p))
        if (found == ALTERED).any():
            raise Refused(TICKET, _OTHERWISE)
        for place, state in zip(places, found.tolist(), strict=True):
            counted[place] = state == OPEN
        good = found == OPEN
        return resident, keyed, tickets[good], drawn[good], np.array(values)[good]

    # Called by the journal

    def _photograph(self) -> Callable[[], list[bytes]]:
        return self.contents.snapshot(self.contents.sequence, self.journal.clock.now())

    def _tick(self, now: float) -> float:
        """Settle what is due by default; seconds until the next is due."""
        pause = math.inf
        if self.journal.closing:
            return pause
        for resident, expiry in self.contents.expiring:
            for keyed, due in enumerate(expiry.due(now, BREATH)):
                fleet = resident.fleets[keyed]
                if fleet is None or not len(due):
                    continue
                tickets, arms = _engine.still_open(fleet, due)
                if len(tickets):
                    values = np.full(len(tickets), expiry.default)
                    resident.settle(keyed, tickets, values)
                    self._append(journal.many(EXPIRE, keyed, resident.number, arms, tickets, values))
                    expiry.count += len(tickets)
                    self.counts.settle_many(resident.name, resident.arms.label, arms, values)
            pause = min(pause, expiry.pause(now))
        return pause

    def _forget_fresh(self) -> None:
        """Ids that are on the disk are asked for there."""
        if self._fresh:
            with self.lock:
                if self.journal.waiting == 0:
                    self._fresh.clear()

    # Secrets

    def rotate_secret(self) -> int:
        """A fresh secret signs from now on."""
        with self.lock:
            self.journal.alive()
            number, secret = self.journal.between(self.shelf.add_secret)
            self.seal.add(number, secret)
            return number

    def retire_secret(self, number: int) -> None:
        """What it signed is refused from now on."""
        with self.lock:
            self.journal.alive()
            self.seal.retire(number)
            self.journal.between(lambda: self.shelf.drop_secret(number))


def _recovered(shelf: Shelf) -> Contents:
    """Return the contents of the newest snapshot, after replay of the journal from there.

    If that snapshot is damaged, the next older one is used, and in the end the whole journal. Each gives the same
    contents, or (if the journal does not reach back so far) an error.
    """
    contents, damages, last = Contents(), dict[int, Damaged](), 0
    for sequence, whole in shelf.snapshots():
        last = max(last, sequence)
        if not whole:
            continue
        try:
            contents = Contents.restored(shelf.snapshot(sequence))
            if contents.sequence != sequence:
                raise Damaged(f"it must be of sequence {sequence}; got {contents.sequence}")
            break
        except Newer as error:
            raise Newer(
                f"the snapshot of {shelf.name} at sequence {sequence} was written by a newer version: {error}"
            ) from error
        except Damaged as error:
            contents, damages[sequence] = Contents(), error
    since = contents.sequence
    told = "".join(f" The snapshot at sequence {at} is damaged: {error}." for at, error in damages.items())
    try:
        contents.replay(shelf.groups(since))
        if contents.sequence < last:
            raise Damaged(f"the journal must reach sequence {last}, that of a snapshot; it ends at {contents.sequence}")
    except Damaged as error:
        raise Damaged(damaged(shelf.name, f"{error}.{told.rstrip('.')}".rstrip("."))) from error
    if damages:
        used = f"the snapshot at sequence {since}" if since else "the whole journal"
        warnings.warn(f"{shelf.name} was recovered from {used}.{told} It is deleted.", RuntimeWarning, stacklevel=4)
        for sequence in damages:
            shelf.drop_snapshot(sequence)
    return contents
