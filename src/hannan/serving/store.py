"""`hn.Store`: players whose every acknowledged act and observe is on disk."""

from __future__ import annotations

import atexit
import math
import os
import secrets
import threading
import time
import weakref
from collections.abc import Iterable
from typing import Any, NamedTuple, Self

from hannan import refusals
from hannan.players.certificate import Certificate
from hannan.serving import records
from hannan.serving.contents import Contents
from hannan.serving.errors import BODY, CONFLICT, TICKET, Ended, Refused
from hannan.serving.journal import Journal
from hannan.serving.log import rows_of
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


class Store:
    """Learners on disk: when `act` or `observe` returns, it is there, whatever happens next.

    A decision is drawn, written to a journal, and answered when it is on the disk; many at once share one write. After
    a crash the journal is played again, and comes out bit for bit. Tickets are text, signed, with the exact
    probability of the draw; feedback for them counts once, in any order, after a restart, after days. One process has
    the store at a time; its threads may share it.

    `path` is a file (SQLite) or `postgresql://...`. Every so many events or seconds (`snapshot_events`,
    `snapshot_seconds`) a snapshot is kept in the same place. Ids of `act` are remembered for `remember` seconds.

    >>> import hannan as hn, tempfile, os
    >>> folder = tempfile.TemporaryDirectory()
    >>> with Store(os.path.join(folder.name, "decisions.db")) as store:
    ...     store.add("banner", hn.Bandit(["red", "blue"], gains=True))
    ...     move = store.act("banner")
    ...     store.observe(move.ticket, reward=1), store.observe(move.ticket, reward=1)
    (True, False)
    >>> with Store(os.path.join(folder.name, "decisions.db")) as store:
    ...     store.observe(move.ticket, reward=1), store.certificate("banner").rounds
    (False, 1)
    >>> folder.cleanup()
    """

    def __init__(
        self, path: str | os.PathLike[str], *, snapshot_events: int = 1_000_000, snapshot_seconds: float = 60.0,
        remember: float = 7 * 86400.0,
    ) -> None:  # fmt: skip
        often = (
            refusals.count(snapshot_events, "snapshot_events"),
            refusals.between(snapshot_seconds, 0.0, 1e9, "snapshot_seconds", "(]"),
        )
        remember = refusals.between(remember, 0.0, 1e12, "remember")
        self._shelf = _shelf(path)
        try:
            began = time.monotonic()
            self._contents = self._recovered()
            self._begin(often, remember, time.monotonic() - began)
        except BaseException:
            self._shelf.close()
            raise

    def _recovered(self) -> Contents:
        """Snapshot and journal, played."""
        found = self._shelf.snapshot()
        try:
            contents = Contents() if found is None else Contents.restored(found[1])
        except (LookupError, TypeError, ValueError) as error:
            raise ValueError(f"{self._shelf.name} has a snapshot that cannot be read: {error}") from error
        contents.replay(self._shelf.groups(contents.sequence))
        return contents

    def _begin(self, often: tuple[int, float], remember: float, replayed: float) -> None:
        """A new epoch, on the disk before anything is drawn."""
        self._lock = threading.RLock()
        contents, self._fresh = self._contents, dict[tuple[int, bytes, str], str]()
        self._journal = Journal(
            self._shelf, contents.sequence, contents.time, self._lock, self._photograph, often, self._tick, remember
        )
        self._journal.replayed = replayed
        self._journal.listeners.append(self._forget_fresh)
        entropy, epoch = secrets.token_bytes(32), secrets.token_bytes(8)
        contents.open(entropy, epoch)
        self._seal = Seal(self._shelf.secrets(), self._shelf.journal, epoch, self._shelf.shard)
        self._append(records.note({"epoch": epoch.hex(), "entropy": entropy.hex()}))
        _to_the_end(self)
        self._journal.start()
        self._journal.wait(contents.sequence)

    def _append(self, body: bytes, asked: Asked | None = None) -> int:
        self._contents.sequence = self._journal.append(body, asked)
        return self._contents.sequence

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *reason: object) -> None:
        self.close()

    def close(self) -> None:
        """Write what waits, and a snapshot; then another may open it."""
        if not self._journal.closed:
            self._journal.close()
            self._shelf.close()

    def __repr__(self) -> str:
        return (
            f"<store {self._shelf.name}, {len(self._contents.residents)} learners, sequence {self._contents.sequence}>"
        )

    # Learners

    def add(self, name: str, learner: Any, *, arms: Any = None, wait: Any = None, default: Any = None) -> None:
        """Add a learner that sees one number. The same again does nothing; another one of this name is refused.

        `arms` names the first arms of a learner whose arms have no names; the places left sleep until `add_arm`.
        With `wait` and `default`, a decision without feedback for `wait` seconds is settled with `default`.
        """
        with self._lock:
            resident = Resident(len(self._contents.residents), name, learner, arms, wait, default)
            there = self._contents.by_name.get(name)
            if there is not None and not there.same(resident):
                raise Refused(CONFLICT, f"{name!r} must be added as it was before, {there.learner!r}; got {learner!r}")
            if there is None:
                sequence = self._append(records.note({"add": resident.description()}))
                self._contents.add(resident)
            else:
                sequence = self._contents.sequence
        self._journal.wait(sequence)

    def add_arm(self, name: str, arm: str) -> None:
        """Let a new arm take a place that is free; until now it slept, and regret against it counts from here."""
        with self._lock:
            resident = self._contents.find(name)
            place = resident.free_place(arm)
            sequence = self._append(records.note({"arm": arm, "learner": resident.number, "place": place}))
            resident.add_arm(place, arm)
        self._journal.wait(sequence)

    def retire_arm(self, name: str, arm: Any) -> None:
        """Never draw this arm again; what is open can still be settled."""
        with self._lock:
            resident = self._contents.find(name)
            place = resident.place_of(arm)
            if len(resident.awake) == 1:
                raise Refused(CONFLICT, f"{name!r} must keep an arm that is awake; {arm!r} is the last")
            resident.may_sleep()
            sequence = self._append(records.note({"retire": place, "learner": resident.number}))
            resident.retire(place)
        self._journal.wait(sequence)

    @property
    def learners(self) -> tuple[str, ...]:
        """The names of its learners."""
        return tuple(self._contents.by_name)

    def certificate(self, name: str, key: Any = None, delta: float | None = None) -> Certificate:
        """What the learner may say of itself now."""
        with self._lock:
            told = self._contents.find(name).certificate(delta)
            sequence = self._contents.sequence
        self._journal.wait(sequence)
        return told

    def log(self, name: str) -> Any:
        """The decisions that have their feedback, as a table for `hn.replay` and `hannan replay`.

        Columns: round, time, arm, probability, reward (or loss), settled, expired. A pandas frame where pandas is
        installed, else a mapping of columns. Decisions that are still open are left out: they have no reward yet.
        """
        with self._lock:
            resident, sequence = self._contents.find(name), self._contents.sequence
        self._journal.wait(sequence)
        columns = rows_of(self._shelf, resident, sequence)
        try:
            import pandas
        except ImportError:
            return columns
        return pandas.DataFrame(columns)

    # Decisions

    def act(self, name: str, key: Any = None, id: str | None = None) -> Decision:
        """Draw an arm. With `id`, a text of your own, asking again gives the same decision."""
        decision, sequence = self.draw(name, key, id)
        self._journal.wait(sequence)
        return decision

    def observe(self, ticket: str, reward: Any = None, *, loss: Any = None) -> bool:
        """Settle a decision with its reward (or loss): True if it counts now, False if it was counted before."""
        counted, sequence = self.settle([(ticket, reward, loss)])
        self._journal.wait(sequence)
        return counted[0]

    def draw(self, name: str, key: Any = None, id: str | None = None) -> tuple[Decision, int]:
        """(a decision, the sequence to wait for before it may be told): nothing here waits for the disk."""
        if id is None:
            with self._lock:
                (decision,), sequence = self._draw(name, 1)
            return decision, sequence
        given: Any = id
        if not (isinstance(given, str) and 0 < len(given) <= LONGEST_ID):
            raise Refused(BODY, f"id must be a text of 1 to {LONGEST_ID} characters; got {refusals.brief(id)}")
        with self._lock:
            resident = self._contents.find(name)
            place = (resident.number, b"\0", id)
            before = self._fresh.get(place) or self._shelf.asked(*place)
            if before is not None:
                said = self._seal.opened(before)
                again = Decision(before, resident.label(said.arm), said.arm, said.probability)
                return again, self._contents.sequence
            (decision,), sequence = self._draw(name, 1, place)
            return decision, sequence

    def draws(self, name: str, count: int) -> tuple[list[Decision], int]:
        """As `draw`, so many at once; all or none."""
        with self._lock:
            return self._draw(name, refusals.count(count, "count"))

    def _draw(self, name: str, count: int, place: tuple[int, bytes, str] | None = None) -> tuple[list[Decision], int]:
        resident = self._contents.find(name)
        self._journal.alive()
        number, ticket, sequence = resident.number, self._seal.ticket, self._contents.sequence
        drawn, body, expiry = [], b"", resident.expiry
        try:
            for _ in range(count):
                _, round_, action, p = resident.draw()
                body += records.record(ACT, action, number, round_, p)
                text = ticket(number, action, sequence, round_, p)
                drawn.append(Decision(text, resident.label(action), action, p))
                sequence += 1
        except BaseException as error:  # drawn and not written: what is in memory is no longer what is on the disk
            self._journal.fail(error)
            raise
        now = 0.0
        if expiry is not None:
            now = self._journal.clock.now()
            expiry.drawn(round_, now)
        asked = None
        if place is not None:
            asked = Asked(*place, drawn[0].ticket, now or self._journal.clock.now())
            self._fresh[place] = drawn[0].ticket
        return drawn, self._append(body, asked)

    def settle(self, feedback: Iterable[tuple[Any, Any, Any]]) -> tuple[list[bool], int]:
        """(counted now?, the sequence to wait for) for (ticket, reward, loss) each: all of them, or none."""
        with self._lock:
            plan: list[tuple[Resident, Any, float] | None] = []
            taken: set[tuple[int, int]] = set()
            for ticket, reward, loss in feedback:
                said = self._seal.opened(ticket)
                resident = self._contents.owner(said)
                value = resident.value(reward, loss)
                move = _open(resident, said)
                place = (said.learner, said.round)
                plan.append(None if move is None or place in taken else (resident, move, value))
                taken.add(place)
            self._journal.alive()
            body = b""
            try:
                for item in plan:
                    if item is not None:
                        resident, move, value = item
                        resident.player.observe(move, value)
                        body += records.record(OBSERVE, move[2], resident.number, move[1], value)
            except BaseException as error:
                self._journal.fail(error)
                raise
            # A repeat waits for the original, which may be on its way to the disk.
            return [item is not None for item in plan], self._append(body) if body else self._contents.sequence

    # Called by the journal

    def _photograph(self) -> bytes:
        return self._contents.snapshot(self._contents.sequence, self._journal.clock.now())

    def _tick(self, now: float) -> float:
        """Settle what is due by default; seconds until the next is due."""
        pause = math.inf
        if self._journal.closing:
            return pause
        for resident, expiry in self._contents.expiring:
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
            with self._lock:
                if self._journal.waiting == 0:
                    self._fresh.clear()

    # Secrets

    def rotate_secret(self) -> int:
        """Sign tickets with a fresh secret from now on; its number. Tickets of the old ones stay good."""
        with self._lock:
            self._journal.alive()
            number, secret = self._journal.paused(self._shelf.add_secret)
            self._seal.add(number, secret)
            return number

    def retire_secret(self, number: int) -> None:
        """Refuse what this secret signed from now on."""
        with self._lock:
            self._journal.alive()
            self._seal.retire(number)
            self._journal.paused(lambda: self._shelf.drop_secret(number))

    @property
    def secrets(self) -> list[int]:
        """The numbers of the secrets that open tickets; the last one signs."""
        return self._seal.numbers


def _open(resident: Resident, said: Ticket) -> Any:
    """The open move of a ticket, or None where it was settled before."""
    move = resident.open_move(said.round)
    if move is not None and (move[2] != said.arm or move[3] != said.probability):
        raise Refused(TICKET, "a ticket must say what was drawn; arm and probability are not those of the journal")
    return move


def _shelf(path: str | os.PathLike[str]) -> Shelf:
    from hannan.serving.sqlite import SQLiteShelf

    given: Any = path
    if not isinstance(given, (str, os.PathLike)) or not os.fspath(given):
        raise ValueError(f"a store must be a path; got {path!r}")
    return SQLiteShelf(path)


def _to_the_end(store: Store) -> None:
    """Closed at the latest when the interpreter ends; in a child that was forked, which has no writer, at once."""
    kept = weakref.ref(store)

    def close() -> None:
        found = kept()
        if found is not None:
            found.close()

    atexit.register(close)
    if not hasattr(os, "register_at_fork"):
        return

    def ended() -> None:
        found = kept()
        if found is not None:
            found._journal.failure = Ended("a store belongs to the process that opened it")

    os.register_at_fork(after_in_child=ended)
