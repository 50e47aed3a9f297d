"""Decisions of a store: drawing, feedback, counts and recovery."""

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
from hannan.client import SlateDecision, shard_of
from hannan.serving import BODY, CONFLICT, ELSEWHERE, TICKET, Refused, journal
from hannan.serving.backend import Backend, IdRecord, complete_snapshots, damaged
from hannan.serving.contents import Contents, NewerVersion
from hannan.serving.journal import ACT, EXPIRE, OBSERVE, Damaged, Journal, SlateFeedback
from hannan.serving.stored_learner import StoredLearner
from hannan.serving.stored_slates import StoredSlates, slate_act
from hannan.serving.tickets import ARM, Key, Ticket, TicketSigner, checked_id, checked_key, key_bytes

_NO_KEY = key_bytes(None)


class Decision(NamedTuple):
    """Decision of a store.

    Attributes
    ----------
    ticket : str
        Ticket to pass to `Store.observe` with the feedback.
    arm : str or int
        Name of the arm, or its number if the arms have no names.
    action : int
        Number of the arm, from 0.
    probability : float
        Probability with which the arm was drawn.
    """

    ticket: str
    arm: Any
    action: int
    probability: float


class Decisions(NamedTuple):
    """Several decisions as columns."""

    ticket: list[str]
    arm: list[Any]
    action: list[int]
    probability: list[float]


class Drawn(NamedTuple):
    """Decisions from sequence `first` on: arms, tickets of the fleet, probabilities, and the bytes of their keys."""

    first: int
    arms: NDArray[Any]
    tickets: NDArray[Any]
    probabilities: NDArray[Any]
    keys: list[bytes] | None


Told = TypeVar("Told")
Telling = Callable[[TicketSigner, StoredLearner, Drawn], Told]


def listed(signer: TicketSigner, stored: StoredLearner, drawn: Drawn) -> Decisions:
    """Return decisions as Python objects."""
    first, arms, tickets, p, keys = drawn
    texts = signer.tickets(stored.stage, arms, first, tickets, p, keys or _NO_KEY)
    actions, names = arms.tolist(), stored.arms.names
    labels = actions if names is None else [names[a] for a in actions]
    return Decisions(texts, labels, actions, p.tolist())


def as_json(signer: TicketSigner, stored: StoredLearner, drawn: Drawn) -> tuple[bytes, list[float]]:
    """Return (JSON of the decisions up to the probabilities, probabilities), without an object per ticket."""
    first, arms, tickets, p, keys = drawn
    head = signer.answer(stored.stage, stored.arms.json, arms, first=first, rounds=tickets, p=p, keys=keys or _NO_KEY)
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

    def rename(self, learner: str, old: Any, new: Any) -> None:
        """Keep the counts of an arm that gets another name."""
        found = self.arms.pop((learner, old), None)
        if found is not None:
            self.arms[learner, new] = found

    def draw(self, learner: str, *arms: Any) -> None:
        """Count one decision, which has one arm or the items of a slate."""
        self.decisions += 1
        for arm in arms:
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


def _slate(ticket: str, stored: StoredLearner, items: Any, inclusion: Any, probability: float) -> SlateDecision:
    """Return a slate with the present names of its items."""
    whole = None if math.isnan(probability) else probability
    labels = stored.arms.labels
    return SlateDecision(ticket, [labels[item] for item in items], list(items), list(inclusion), whole)


def _checked_feedback(stored: StoredSlates, said: Ticket, reward: Any, loss: Any) -> tuple[float, ...] | None:
    """Return the feedback for a pending slate, None for a slate that is settled; raise Refused if it is invalid."""
    values = stored.values(reward, loss, len(said.arms))
    move, same = stored.found(said)
    if not same:
        raise Refused(TICKET, _ALTERED_TICKET)
    return None if move is None else values


#: State of a decision, in the codes of the engine.
CLOSED, OPEN, ALTERED = (getattr(_engine.Standing, name).value for name in ("closed", "open", "altered"))
#: Decisions settled by default while the lock is held.
EXPIRY_BATCH = 2000
#: Key of a decision with an id: number of the learner, bytes of its key, id.
IdKey = tuple[int, bytes, str]


_ALTERED_TICKET = "the arm or probability of the ticket differs from the journal"


class DecisionQueue:
    """Learners of a store: draws decisions, settles feedback, and queues both for the disk.

    Opening the store begins a new epoch. Methods return the sequence that must be on the disk before the result
    may be acknowledged; they do not wait for the disk.
    """

    def __init__(
        self,
        backend: Backend,
        shards: int,
        snapshot_every: tuple[int, float],
        remember: float,
        max_keys: int | None = None,
    ) -> None:
        self.backend, self.shards, self._max_keys = backend, shards, max_keys
        self.counts = Counts()
        began = time.monotonic()
        self.contents = contents = recovered(backend)
        replayed = time.monotonic() - began
        self.lock = threading.RLock()
        self._recent_ids: dict[IdKey, str] = {}
        self.journal = Journal(
            backend,
            contents.sequence,
            contents.time,
            self.lock,
            take_snapshot=self._take_snapshot,
            snapshot_every=snapshot_every,
            tick=self._tick,
            remember=remember,
        )
        self.journal.replayed, self.journal.snapshot_slots = replayed, contents.restored_from // journal.SLOT
        self.journal.listeners.append(self._clear_recent_ids)
        self.journal.completed = self._complete
        entropy, epoch = secrets.token_bytes(32), secrets.token_bytes(8)
        contents.open(entropy, epoch)
        self.signer = TicketSigner(backend.secrets(), backend.journal, epoch, backend.shard)
        self._append(journal.note({"epoch": epoch.hex(), "entropy": entropy.hex()}))
        self.journal.start()
        self.journal.wait(contents.sequence)

    def _append(self, body: bytes, asked: IdRecord | None = None) -> int:
        self.contents.sequence = self.journal.append(body, asked)
        return self.contents.sequence

    # Learners

    def add(self, name: str, learner: Any, arms: Any, wait: Any, default: Any) -> tuple[bool, int]:
        """Return (whether a learner or a stage is new, sequence)."""
        with self.lock:
            there = self.contents.by_name.get(name)
            number, former = len(self.contents.learners), getattr(learner, "_formerly", None)
            # A program may add its learner again with a default that an earlier version had.
            stored = (
                None
                if there is None or former is None
                else StoredLearner.of(number, name, former, arms, wait=wait, default=default)
            )
            if stored is None or there is None or not stored.differs_in_arms_only(there):
                stored = StoredLearner.of(number, name, learner, arms, wait=wait, default=default)
            if there is not None and not there.changes(stored):
                return False, self._declare(there, stored)
            if there is not None:
                return True, self._begin(stored, stored.description())
            sequence = self._append(journal.note({"add": stored.description()}))
            self.contents.add(stored)
            return True, sequence

    def _declare(self, there: StoredLearner, stored: StoredLearner) -> int:
        """Remember a description with the arms that the learner has now, so that a repetition changes nothing."""
        declared = stored.description()
        if there.declared == declared or not stored.has_arms_of(there):
            return self.contents.sequence
        sequence = self._append(journal.note({"declare": declared, "learner": there.number}))
        there.declare(declared)
        return sequence

    def _begin(self, stored: StoredLearner, declared: dict[str, Any]) -> int:
        """Begin the next stage of a learner, whose arms have changed."""
        began = self.journal.clock.now()
        note = {"stage": stored.description(), "declared": declared, "began": began}
        sequence = self._append(journal.note(note))
        self.contents.begin(stored, declared, began)
        return sequence

    def add_arm(self, name: str, arm: str) -> int:
        """Add an arm, in a free place or in a new stage of the learner."""
        with self.lock:
            stored = self.contents.find(name)
            place = stored.arms.free(arm)
            if place is None:
                names = [*stored.arms.available_names, arm]
                return self._begin(stored.with_arms(len(self.contents.learners), names), stored.declared)
            sequence = self._append(journal.note({"arm": arm, "learner": stored.number, "place": place}))
            stored.add_arm(place, arm)
            return sequence

    def retire_arm(self, name: str, arm: Any) -> int:
        """Retire an arm, which becomes unavailable or is omitted from a new stage of the learner."""
        with self.lock:
            stored = self.contents.find(name)
            place = stored.arms.leaving(arm)
            if not stored.arms.allows_unavailable:
                names = [one for one in stored.arms.available_names if one != arm]
                return self._begin(stored.with_arms(len(self.contents.learners), names), stored.declared)
            sequence = self._append(journal.note({"retire": place, "learner": stored.number}))
            stored.retire(place)
            return sequence

    def rename_arm(self, name: str, arm: Any, new: Any) -> int:
        """Give an arm another name; the learner and its evidence do not change."""
        with self.lock:
            stored = self.contents.find(name)
            place = stored.renaming(arm, new)
            begin, now = self.contents.sequence, self.journal.clock.now()
            note = {"rename": place, "learner": stored.number, "name": new, "time": now}
            sequence = self._append(journal.note(note))
            stored.rename_arm(place, new, begin, now)
            self.counts.rename(name, arm, new)
            return sequence

    def look(self, name: str) -> tuple[StoredLearner, int]:
        """Return (learner, sequence of its state). The caller holds the lock."""
        return self.contents.find(name), self.contents.sequence

    # Decisions

    def _here(self, name: str, keys: Iterable[Key]) -> None:
        """Raise Refused if a key belongs to another shard."""
        for key in keys if self.shards > 1 else ():
            shard = shard_of(name, key, self.shards)
            if shard != self.backend.shard:
                whose = f"{name!r}" if key is None else f"key {key!r} of {name!r}"
                raise Refused(ELSEWHERE, f"{whose} belongs to shard {shard}; this is shard {self.backend.shard}")

    def draw(self, name: str, key: Any = None, id: str | None = None) -> tuple[Any, int]:
        """Return (decision or slate, sequence)."""
        key = checked_key(key)
        self._here(name, (key,))
        id = checked_id(id)
        with self.lock:
            stored, place = self.contents.find(name), None
            if id is not None:
                place = (stored.root, key_bytes(key), id)
                before = self._recent_ids.get(place) or self.journal.read(partial(self.backend.asked, *place))
                if before is not None:
                    return self._drawn_before(before), self.contents.sequence
            if isinstance(stored, StoredSlates):
                return self._show(stored, key, place)
            return self._draw_one(stored, key, place)

    def _drawn_before(self, ticket: str) -> Decision | SlateDecision:
        """Return the decision of a ticket."""
        fields = self.signer.parse(ticket)
        stored = self.contents.learners[fields.learner]
        if fields.kind == ARM:
            return Decision(ticket, stored.arms.label(fields.arm), fields.arm, fields.probability)
        return _slate(ticket, stored, fields.arms, fields.probabilities, fields.probability)

    def _show(self, stored: StoredSlates, key: Key, place: IdKey | None) -> tuple[SlateDecision, int]:
        """Draw one slate."""
        stored.require_no_key(key)
        self.journal.alive()
        try:
            shown = slate_act(stored, stored.show())
            slate, sequence = shown.slate, self.contents.sequence
            text = self.signer.slate(stored.stage, slate, sequence, shown.round, _NO_KEY)
            body = journal.slate(shown)
        except BaseException as error:  # drawn but not written: memory and disk differ
            self.journal.fail(error)
            raise
        asked = None
        if place is not None:
            asked = IdRecord(*place, text, self.journal.clock.now())
            self._recent_ids[place] = text
        found = _slate(text, stored, slate.arms, slate.inclusion, slate.probability)
        self.counts.draw(stored.name, *found.arms)
        return found, self._append(body, asked)

    def draws(self, name: str, count: int, told: Telling[Any] = listed) -> tuple[Any, int]:
        """Return (`count` decisions of the learner without a key, sequence), drawn atomically."""
        self._here(name, (None,))
        with self.lock:
            return self._draw(name, None, validation.count(count, "count"), told)

    def draws_for(self, name: str, keys: list[Any], told: Telling[Any] = listed) -> tuple[Any, int]:
        """Return (one decision per key, sequence), drawn atomically."""
        keys = [checked_key(key) for key in keys]
        if not keys or None in keys:
            raise Refused(BODY, "keys must be a non-empty list of integers and strings")
        self._here(name, keys)
        with self.lock:
            return self._draw(name, keys, len(keys), told)

    def _check_keys(self, stored: StoredLearner, keys: list[Any]) -> None:
        """Raise before anything changes if keys are of the wrong kind, or new ones exceed the limit."""
        numbers = stored.keyed.number(keys)
        if self._max_keys is None or stored.keys + len(keys) <= self._max_keys:
            return
        new = len({key for key, number in zip(keys, numbers.tolist(), strict=True) if number < 0})
        if new and stored.keys + new > self._max_keys:
            raise Refused(
                CONFLICT,
                f"{stored.name!r} can have at most max_keys={self._max_keys} keys; got {new} new and "
                f"{stored.keys} existing keys",
                "too_many_keys",
            )

    def _draw_one(self, stored: StoredLearner, key: Key, place: IdKey | None) -> tuple[Decision, int]:
        """Draw one decision; a fast path without arrays."""
        self.journal.alive()
        keyed, number, body = int(key is not None), 0, b""
        if key is not None:
            self._check_keys(stored, [key])
        try:
            if key is not None:
                numbers, body = stored.touch([key])
                number = int(numbers[0])
            sequence = self.contents.sequence + len(body) // journal.SLOT
            self._counting(stored, sequence)
            ticket, arm, p = _engine.draw_one(stored.fleets[keyed], number, stored.arms.mask)
            text = self.signer.ticket(stored.stage, arm, sequence, ticket, p, key_bytes(key))
        except BaseException as error:  # drawn but not written: memory and disk differ
            self.journal.fail(error)
            raise
        if stored.expiry is not None:
            stored.expiry.drawn_one(keyed, ticket, self.journal.clock.now())
        asked = None
        if place is not None:
            asked = IdRecord(*place, text, self.journal.clock.now())
            self._recent_ids[place] = text
        body += journal.record(ACT, arm, stored.number, ticket, p, keyed)
        label = stored.arms.label(arm)
        self.counts.draw(stored.name, label)
        return Decision(text, label, arm, p), self._append(body, asked)

    def _draw(self, name: str, keys: list[Any] | None, count: int, told: Telling[Any]) -> tuple[Any, int]:
        stored = self.contents.find(name)
        if isinstance(stored, StoredSlates):
            raise Refused(BODY, f"{name!r} shows slates, one per request; omit count and keys")
        self.journal.alive()
        if keys is None:
            numbers, body, whose = np.zeros(count, dtype=np.int64), b"", None
        else:
            self._check_keys(stored, keys)
        keyed = int(keys is not None)
        try:
            if keys is not None:
                numbers, body = stored.touch(keys)
                whose = [key_bytes(key) for key in keys]
            first = self.contents.sequence + len(body) // journal.SLOT
            self._counting(stored, first)
            tickets, arms, p, drawn = stored.draw(keyed, numbers)
            answer = told(self.signer, stored, Drawn(first, arms, tickets, p, whose))
        except BaseException as error:  # drawn but not written: memory and disk differ
            self.journal.fail(error)
            raise
        body += drawn
        if stored.expiry is not None:
            stored.expiry.drawn(keyed, tickets, self.journal.clock.now())
        self.counts.draw_many(stored.name, stored.arms.label, arms)
        return answer, self._append(body)

    def settle(self, feedback: Iterable[tuple[Any, Any, Any]]) -> tuple[list[bool], int]:
        """Settle triples (ticket, reward, loss) atomically; return (whether each counts now, sequence)."""
        feedback = list(feedback)
        with self.lock:
            if len(feedback) == 1:
                return self._settle_one(*feedback[0])
            told: dict[tuple[int, int], list[tuple[int, int, int, float, float]]] = {}
            slates: list[tuple[StoredSlates, int, tuple[float, ...]]] = []
            seen: set[tuple[int, int, int]] = set()
            counted: list[bool] = []
            for ticket, reward, loss in feedback:
                said = self.signer.parse(ticket)
                owner = self.contents.owner(said)
                whose = (said.learner, int(said.key is not None))
                if isinstance(owner, StoredSlates):
                    values = _checked_feedback(owner, said, reward, loss)
                    counted.append(values is not None and (*whose, said.round) not in seen)
                    if values is not None and counted[-1]:
                        slates.append((owner, said.round, values))
                    seen.add((*whose, said.round))
                    continue
                value = owner.value(reward, loss)
                if (*whose, said.round) not in seen:
                    seen.add((*whose, said.round))
                    told.setdefault(whose, []).append((len(counted), said.round, said.arm, said.probability, value))
                counted.append(False)
            plan = [self._open(number, keyed, rows, counted) for (number, keyed), rows in told.items()]
            self.journal.alive()
            body = b""
            try:
                for owner, round, values in slates:
                    body += self._settle_slate(owner, round, values)
                for stored, keyed, rounds, arms, values in plan:
                    if len(rounds):
                        self._counting(stored, self.contents.sequence + len(body) // journal.SLOT)
                        stored.settle(keyed, rounds, values)
                        body += journal.many(OBSERVE, keyed, stored.number, arms, rounds, values)
                        self.counts.settle_many(stored.name, stored.arms.label, arms, values)
            except BaseException as error:
                self.journal.fail(error)
                raise
            self.counts.feedback(counted)
            # A repeat waits for the original feedback, which may not be on the disk yet.
            return counted, self._append(body) if body else self.contents.sequence

    def _settle_one(self, ticket: Any, reward: Any, loss: Any) -> tuple[list[bool], int]:
        """Settle one decision; a fast path without arrays."""
        said = self.signer.parse(ticket)
        stored, keyed = self.contents.owner(said), int(said.key is not None)
        if isinstance(stored, StoredSlates):
            return self._settle_one_slate(stored, said, reward, loss)
        value, fleet = stored.value(reward, loss), stored.fleets[keyed]
        self.journal.alive()
        try:
            arm, p = said.arm, said.probability
            self._counting(stored, self.contents.sequence)
            state = CLOSED if fleet is None else _engine.settle_one(fleet, said.round, arm, p, value)
        except BaseException as error:
            self.journal.fail(error)
            raise
        if state == ALTERED:
            raise Refused(TICKET, _ALTERED_TICKET)
        self.counts.feedback([state == OPEN])
        if state == CLOSED:
            return [False], self.contents.sequence  # a repeat waits for the original feedback
        self.counts.settle(stored.name, stored.arms.label(arm), value)
        return [True], self._append(journal.record(OBSERVE, arm, said.learner, said.round, value, keyed))

    def _settle_one_slate(
        self, stored: StoredSlates, said: Ticket, reward: Any, loss: Any
    ) -> tuple[list[bool], int]:  # fmt: skip
        values = _checked_feedback(stored, said, reward, loss)
        self.journal.alive()
        self.counts.feedback([values is not None])
        if values is None:
            return [False], self.contents.sequence  # a repeat waits for the original feedback
        try:
            body = self._settle_slate(stored, said.round, values)
        except BaseException as error:
            self.journal.fail(error)
            raise
        return [True], self._append(body)

    def _settle_slate(self, stored: StoredSlates, round: int, values: tuple[float, ...]) -> bytes:
        """Settle a pending slate; return the record."""
        items = stored.pending[round].action
        body = journal.slate_feedback(SlateFeedback(journal.SLATE_OBSERVE, stored.number, 0, round, values))
        stored.settle_slate(round, values)
        for item, value in zip(items, values, strict=True):
            self.counts.settle(stored.name, stored.arms.label(item), value)
        return body

    def _open(self, number: int, keyed: int, rows: list[Any], counted: list[bool]) -> Any:
        """Return (learner, keyed, tickets, arms, values) of the pending decisions, and mark them as counted."""
        stored = self.contents.learners[number]
        places, rounds, arms, p, values = zip(*rows, strict=True)
        tickets, drawn = np.array(rounds, dtype=np.uint64), np.array(arms, dtype=np.int64)
        fleet = stored.fleets[keyed]
        found = np.full(len(rows), CLOSED, dtype=np.uint8)
        if fleet is not None:
            found = _engine.open_decisions(fleet, tickets, drawn, np.array(p))
        if (found == ALTERED).any():
            raise Refused(TICKET, _ALTERED_TICKET)
        for place, state in zip(places, found.tolist(), strict=True):
            counted[place] = state == OPEN
        good = found == OPEN
        return stored, keyed, tickets[good], drawn[good], np.array(values)[good]

    def _counting(self, stored: StoredLearner, sequence: int) -> None:
        """Pass the sequence of the next event to the evidence of a learner."""
        if stored.evidence is not None:
            stored.evidence.engine.sequence = sequence
            self.contents.counting.add(stored)

    # Called by the journal

    def _complete(self, time: float) -> None:
        """Record the time of the group that is about to be written."""
        if self.contents.counting:
            self.contents.stamp(lambda sequence: time)

    def _take_snapshot(self) -> Callable[[], list[bytes]]:
        return self.contents.snapshot(self.contents.sequence, self.journal.clock.now())

    def _tick(self, now: float) -> float:
        """Settle expired decisions with their default; return the seconds until the next one expires."""
        pause = math.inf
        if self.journal.closing:
            return pause
        for stored, expiry in self.contents.expiring:
            for keyed, due in enumerate(expiry.due(now, EXPIRY_BATCH)):
                fleet = stored.fleets[keyed]
                if fleet is None or not len(due):
                    continue
                tickets, arms = _engine.still_open(fleet, due)
                if len(tickets):
                    values = stored.defaults(len(tickets))
                    self._counting(stored, self.contents.sequence)
                    stored.settle(keyed, tickets, values)
                    self._append(journal.many(EXPIRE, keyed, stored.number, arms, tickets, values))
                    expiry.count += len(tickets)
                    self.counts.settle_many(stored.name, stored.arms.label, arms, values)
            pause = min(pause, expiry.pause(now))
        return pause

    def _clear_recent_ids(self) -> None:
        """Clear the cache of ids if all of them are on the disk."""
        if self._recent_ids:
            with self.lock:
                if self.journal.waiting == 0:
                    self._recent_ids.clear()

    # Secrets

    def rotate_secret(self) -> int:
        """Sign with a fresh secret from now on; return its number."""
        with self.lock:
            self.journal.alive()
            number, secret = self.journal.between(self.backend.add_secret)
            self.signer.add(number, secret)
            return number

    def retire_secret(self, number: int) -> None:
        """Reject tickets of this secret from now on."""
        with self.lock:
            self.journal.alive()
            self.signer.retire(number)
            self.journal.between(lambda: self.backend.drop_secret(number))


def recovered(backend: Backend) -> Contents:
    """Return the contents of the newest snapshot, after replay of the journal from there.

    If that snapshot is damaged, the next older one is used, and in the end the whole journal. Each gives the same
    contents, or (if the journal does not reach back so far) an error.
    """
    contents, damages, last = Contents(), dict[int, Damaged](), 0
    for sequence, whole in backend.snapshots():
        last = max(last, sequence)
        if not whole:
            continue
        try:
            contents = Contents.restored(backend.snapshot(sequence))
            if contents.sequence != sequence:
                raise Damaged(f"corrupt snapshot: expected sequence {sequence}; found {contents.sequence}")
            break
        except NewerVersion as error:
            raise NewerVersion(
                f"the snapshot of {backend.name} at sequence {sequence} was written by a newer version: {error}"
            ) from error
        except Damaged as error:
            contents, damages[sequence] = Contents(), error
    since = contents.sequence
    told = "".join(f" The snapshot at sequence {at} is damaged: {error}." for at, error in damages.items())
    try:
        contents.replay(backend.groups(since))
        if contents.sequence < last:
            raise Damaged(
                f"corrupt journal: expected events up to sequence {last} of a snapshot; found {contents.sequence}"
            )
    except Damaged as error:
        raise Damaged(damaged(backend.name, f"{error}.{told.rstrip('.')}".rstrip("."))) from error
    if damages:
        used = f"the snapshot at sequence {since}" if since else "the whole journal"
        warnings.warn(f"{backend.name} was recovered from {used}.{told} It is deleted.", RuntimeWarning, stacklevel=4)
        for sequence in damages:
            backend.drop_snapshot(sequence)
    return with_evidence(backend, contents)


def with_evidence(backend: Backend, contents: Contents) -> Contents:
    """Return the same contents with the tables of evidence that the snapshots of earlier versions omit.

    The journal is replayed from its beginning. If its first events were deleted, or if another version wrote them and
    this version does not reproduce them, it is replayed from the oldest snapshot from which that is possible.
    """
    if not any(stored.lacks_evidence for stored in contents.learners):
        return contents
    first = next((first for first, _ in backend.groups(0)), contents.sequence)
    start = "deleted"
    for sequence in (0, *reversed(complete_snapshots(backend))):
        try:
            found = Contents.restored(backend.snapshot(sequence)) if sequence else Contents()
            for stored in found.learners:
                if stored.lacks_evidence:
                    stored.count_evidence(start)
            found.replay(backend.groups(found.sequence))
        except (ValueError, LookupError):
            if sequence >= first:  # the events are there, and are not reproduced
                start = "version"
            continue
        if found.sequence == contents.sequence and not any(stored.lacks_evidence for stored in found.learners):
            found.restored_from = contents.restored_from
            return found
    for stored in contents.learners:
        if stored.lacks_evidence:
            stored.count_evidence(start)
    return contents
