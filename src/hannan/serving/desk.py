"""Where decisions are made: drawn and settled under one lock, put into the journal. Nothing waits for the disk here.

Whatever changes something gives a *sequence*: when the journal has that on the disk, the answer may be told.
"""

from __future__ import annotations

import math
import secrets
import threading
import time
from collections.abc import Iterable
from typing import Any, NamedTuple

from hannan import refusals
from hannan.client import shard_of
from hannan.serving import records
from hannan.serving.contents import Contents
from hannan.serving.errors import BODY, CONFLICT, ELSEWHERE, TICKET, Refused
from hannan.serving.journal import Journal
from hannan.serving.records import ACT, EXPIRE, OBSERVE
from hannan.serving.resident import Resident
from hannan.serving.shelf import Asked, Shelf
from hannan.serving.tickets import Seal, Ticket

#: Decisions that are settled by default in one breath: others wait for so long.
BREATH = 2000
LONGEST_ID = 200


class Decision(NamedTuple):
    """What `act` answers: the ticket to hand back with the feedback, the arm, its number, and its probability."""

    ticket: str
    arm: Any
    action: int
    probability: float


class Desk:
    """The learners of a shelf, played; opening it begins a new epoch."""

    def __init__(self, shelf: Shelf, shards: int, often: tuple[int, float], remember: float) -> None:
        self.shelf, self._shards = shelf, shards
        began = time.monotonic()
        self.contents = contents = _recovered(shelf)
        replayed = time.monotonic() - began
        self.lock = threading.RLock()
        self._fresh: dict[tuple[int, bytes, str], str] = {}
        self.journal = Journal(
            shelf, contents.sequence, contents.time, self.lock, self._photograph, often, self._tick, remember
        )
        self.journal.replayed = replayed
        self.journal.listeners.append(self._forget_fresh)
        entropy, epoch = secrets.token_bytes(32), secrets.token_bytes(8)
        contents.open(entropy, epoch)
        self.seal = Seal(shelf.secrets(), shelf.journal, epoch, shelf.shard)
        self._append(records.note({"epoch": epoch.hex(), "entropy": entropy.hex()}))
        self.journal.start()
        self.journal.wait(contents.sequence)

    def _append(self, body: bytes, asked: Asked | None = None) -> int:
        self.contents.sequence = self.journal.append(body, asked)
        return self.contents.sequence

    # Learners

    def add(self, name: str, learner: Any, arms: Any, wait: Any, default: Any) -> tuple[bool, int]:
        """(whether it is new, sequence)"""
        with self.lock:
            resident = Resident(len(self.contents.residents), name, learner, arms, wait, default)
            there = self.contents.by_name.get(name)
            if there is not None and not there.same(resident):
                raise Refused(CONFLICT, f"{name!r} must be added as before, {there.learner!r}; got {learner!r}")
            if there is not None:
                return False, self.contents.sequence
            sequence = self._append(records.note({"add": resident.description()}))
            self.contents.add(resident)
            return True, sequence

    def add_arm(self, name: str, arm: str) -> int:
        """A new arm in the first free place."""
        with self.lock:
            resident = self.contents.find(name)
            place = resident.free_place(arm)
            sequence = self._append(records.note({"arm": arm, "learner": resident.number, "place": place}))
            resident.add_arm(place, arm)
            return sequence

    def retire_arm(self, name: str, arm: Any) -> int:
        """An arm that is never drawn again."""
        with self.lock:
            resident = self.contents.find(name)
            place = resident.place_of(arm)
            resident.may_sleep()
            if len(resident.awake) == 1:
                raise Refused(CONFLICT, f"{name!r} must keep an arm that is awake; {arm!r} is the last")
            sequence = self._append(records.note({"retire": place, "learner": resident.number}))
            resident.retire(place)
            return sequence

    def look(self, name: str) -> tuple[Resident, int]:
        """A learner to be looked at, under the lock, and up to which sequence it has played."""
        return self.contents.find(name), self.contents.sequence

    # Decisions

    def _here(self, name: str, key: Any) -> None:
        """Refuse what lives in another shard."""
        if self._shards > 1:
            shard = shard_of(name, key, self._shards)
            if shard != self.shelf.shard:
                whose = f"{name!r}" if key is None else f"key {key!r} of {name!r}"
                raise Refused(ELSEWHERE, f"{whose} lives in shard {shard}; this is shard {self.shelf.shard}")

    def draw(self, name: str, key: Any = None, id: str | None = None) -> tuple[Decision, int]:
        """(a decision, sequence)"""
        self._here(name, key)
        if id is None:
            with self.lock:
                (decision,), sequence = self._draw(name, 1)
            return decision, sequence
        given: Any = id
        if not (isinstance(given, str) and 0 < len(given) <= LONGEST_ID):
            raise Refused(BODY, f"id must be a text of 1 to {LONGEST_ID} characters; got {refusals.brief(id)}")
        with self.lock:
            resident = self.contents.find(name)
            place = (resident.number, b"\0", id)
            before = self._fresh.get(place) or self.shelf.asked(*place)
            if before is not None:
                said = self.seal.opened(before)
                again = Decision(before, resident.label(said.arm), said.arm, said.probability)
                return again, self.contents.sequence
            (decision,), sequence = self._draw(name, 1, place)
            return decision, sequence

    def draws(self, name: str, count: int) -> tuple[list[Decision], int]:
        """(so many decisions, sequence): all or none."""
        self._here(name, None)
        with self.lock:
            return self._draw(name, refusals.count(count, "count"))

    def _draw(self, name: str, count: int, place: tuple[int, bytes, str] | None = None) -> tuple[list[Decision], int]:
        resident = self.contents.find(name)
        self.journal.alive()
        number, ticket, sequence = resident.number, self.seal.ticket, self.contents.sequence
        drawn, body, round_ = [], b"", 0
        try:
            for _ in range(count):
                _, round_, action, p = resident.draw()
                body += records.record(ACT, action, number, round_, p)
                text = ticket(number, action, sequence, round_, p)
                drawn.append(Decision(text, resident.label(action), action, p))
                sequence += 1
        except BaseException as error:  # drawn and not written: what is in memory is no longer what is on the disk
            self.journal.fail(error)
            raise
        if resident.expiry is not None:
            resident.expiry.drawn(round_, self.journal.clock.now())
        asked = None
        if place is not None:
            asked = Asked(*place, drawn[0].ticket, self.journal.clock.now())
            self._fresh[place] = drawn[0].ticket
        return drawn, self._append(body, asked)

    def settle(self, feedback: Iterable[tuple[Any, Any, Any]]) -> tuple[list[bool], int]:
        """(counted now?, sequence) for (ticket, reward, loss) each: all of them, or none."""
        with self.lock:
            plan: list[tuple[Resident, Any, float] | None] = []
            taken: set[tuple[int, int]] = set()
            for ticket, reward, loss in feedback:
                said = self.seal.opened(ticket)
                resident = self.contents.owner(said)
                value = resident.value(reward, loss)
                move, place = _open(resident, said), (said.learner, said.round)
                plan.append(None if move is None or place in taken else (resident, move, value))
                taken.add(place)
            self.journal.alive()
            body = b""
            try:
                for item in plan:
                    if item is not None:
                        resident, move, value = item
                        resident.player.observe(move, value)
                        body += records.record(OBSERVE, move[2], resident.number, move[1], value)
            except BaseException as error:
                self.journal.fail(error)
                raise
            # A repeat waits for the original, which may be on its way to the disk.
            return [item is not None for item in plan], self._append(body) if body else self.contents.sequence

    # Called by the journal

    def _photograph(self) -> bytes:
        return self.contents.snapshot(self.contents.sequence, self.journal.clock.now())

    def _tick(self, now: float) -> float:
        """Settle what is due by default; seconds until the next is due."""
        pause = math.inf
        if self.journal.closing:
            return pause
        for resident, expiry in self.contents.expiring:
            body, settled = b"", 0
            for number in expiry.due(now, BREATH):
                move = resident.open_move(number)
                if move is not None:
                    resident.player.observe(move, expiry.default)
                    body += records.record(EXPIRE, move[2], resident.number, number, expiry.default)
                    settled += 1
            expiry.count += settled
            if body:
                self._append(body)
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
            number, secret = self.journal.paused(self.shelf.add_secret)
            self.seal.add(number, secret)
            return number

    def retire_secret(self, number: int) -> None:
        """What it signed is refused from now on."""
        with self.lock:
            self.journal.alive()
            self.seal.retire(number)
            self.journal.paused(lambda: self.shelf.drop_secret(number))


def _open(resident: Resident, said: Ticket) -> Any:
    """The open move of a ticket, or None where it was settled before."""
    move = resident.open_move(said.round)
    if move is not None and (move[2] != said.arm or move[3] != said.probability):
        raise Refused(TICKET, "a ticket must say what was drawn; arm and probability are not those of the journal")
    return move


def _recovered(shelf: Shelf) -> Contents:
    """Snapshot and journal, played."""
    found = shelf.snapshot()
    try:
        contents = Contents() if found is None else Contents.restored(found[1])
    except (LookupError, TypeError, ValueError) as error:
        raise ValueError(f"{shelf.name} has a snapshot that cannot be read: {error}") from error
    contents.replay(shelf.groups(contents.sequence))
    return contents
