"""`hn.Store`: players whose every acknowledged act and observe is on disk."""

from __future__ import annotations

import _thread
import os
import weakref
from collections.abc import Callable
from typing import Any, Self

import numpy as np

from hannan import _engine, extras, validation
from hannan.players.certificate import Certificate
from hannan.players.fleet_certificate import FleetCertificate
from hannan.serving import Ended, journal, log
from hannan.serving.backend import Backend, complete_snapshots
from hannan.serving.decisions import Decision, DecisionQueue
from hannan.serving.journal import ACT
from hannan.serving.log import rows_of
from hannan.serving.stored_learner import StoredLearner
from hannan.serving.tickets import checked_key

#: Groups that go at once: others wait for so long.
BATCH = 200


def prune(queue: DecisionQueue, age: float) -> int:
    """Let events go that are older than `age` seconds; how many slots."""
    end, before = queue.journal.read(lambda: _end(queue, queue.journal.clock.now() - age))
    gone = BATCH
    while gone == BATCH:
        gone = queue.journal.between(lambda: queue.backend.drop(end, BATCH))
    return end - before


def _end(queue: DecisionQueue, youngest: float) -> tuple[int, int]:
    """(up to which sequence events may go, the first that is there)"""
    # The oldest snapshot that is kept is used if newer ones are damaged: the journal must reach back to it.
    whole, begin, end = min(complete_snapshots(queue.backend), default=0), -1, 0
    for first, blob in queue.backend.groups(0):
        body, time = log.opened(queue.backend, first, blob)
        begin = first if begin < 0 else begin
        end = first
        after = first + len(body) // journal.SLOT
        if after > whole or time > youngest or _needed(queue, body):
            break
        end = after
    return end, max(begin, 0)


def _needed(queue: DecisionQueue, body: bytes) -> bool:
    """Whether a decision that was drawn here is open."""
    for _, part in journal.decode_group(body):
        if not isinstance(part, np.ndarray):
            continue
        acts = part[part["kind"] == ACT]
        whose = acts["learner"].astype(np.int64) << 1 | acts["keyed"]
        for code in np.unique(whose).tolist():
            tickets: Any = np.ascontiguousarray(acts["round"][whose == code])
            with queue.lock:
                fleet = queue.contents.learners[code >> 1].fleets[code & 1]
                if fleet is not None and len(_engine.still_open(fleet, tickets)[0]):
                    return True
    return False


#: A ticket has 16 bits for its shard.
MAX_SHARDS = 1 << 16


class Store:
    """Learners on disk for an application: decisions that survive a crash, feedback that counts once.

    Learners on disk: when `act` or `observe` returns, it is there, whatever happens next.

    A decision is drawn, written to a journal, and answered when it is on the disk; many at once share one write. After
    a crash the journal is played again, and comes out bit for bit. Tickets are text, signed, with the exact
    probability of the draw; feedback for them counts once, in any order, after a restart, after days. One process has
    the store at a time; its threads may share it.

    `path` is a file (SQLite), or `postgresql://...`. Every so many events or seconds (`snapshot_events`,
    `snapshot_seconds`) a snapshot is kept in the same place; a large one, by events, not before the journal has grown
    by as much. Ids of `act` are remembered for `remember` seconds. With `shards`, this is the one owner of shard
    `shard`: a learner, or a key of one, lives in the shard that its name hashes to, and is refused by the others.
    `patience`: seconds to wait for another owner to let go of it. `max_keys` limits the number of keys per learner
    (default: no limit): a decision for one more key raises an error, and existing keys are served as before.

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
        remember: float = 7 * 86400.0, shard: int = 0, shards: int = 1, patience: float = 0.0,
        max_keys: int | None = None,
    ) -> None:  # fmt: skip
        snapshot_every = (
            validation.count(snapshot_events, "snapshot_events"),
            validation.between(snapshot_seconds, 0.0, 1e9, "snapshot_seconds", "(]"),
        )
        remember = validation.between(remember, 0.0, 1e12, "remember")
        max_keys = None if max_keys is None else validation.count(max_keys, "max_keys", least=0)
        shards = validation.count(shards, "shards")
        shard = validation.count(shard, "shard", least=0)
        if shard >= shards or shards > MAX_SHARDS:
            raise ValueError(
                f"shard must be one of 0..shards - 1, at most {MAX_SHARDS} shards; got {shard} of {shards}"
            )
        backend = _backend(path, shard, shards, validation.between(patience, 0.0, 1e9, "patience"))
        try:
            #: What a service works at: the same, without waiting for the disk.
            self.queue = DecisionQueue(backend, shards, snapshot_every, remember, max_keys)
        except BaseException:
            backend.close()
            raise
        self._closing = weakref.finalize(self, _close, self.queue)
        _end_in_children(self.queue)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *reason: object) -> None:
        self.close()

    def close(self) -> None:
        """Write what waits, and a snapshot; then another may open it."""
        self._closing.detach()
        _close(self.queue)

    def __repr__(self) -> str:
        return f"<store {self.queue.backend.name}, {len(self.learners)} learners>"

    # Learners

    def add(self, name: str, learner: Any, *, arms: Any = None, wait: Any = None, default: Any = None) -> None:
        """Add a learner that sees one number. The same again does nothing.

        If the arms differ from those of the last `add`, and nothing else does, a new *stage* of the learner begins: a
        fresh learner with the new arms. Tickets of earlier stages still settle, and count in their own stage. Any
        other difference raises `Refused`.

        `arms` names the first arms of a learner whose arms have no names; the places left sleep until `add_arm`.
        With `wait` and `default`, a decision without feedback for `wait` seconds is settled with `default`.
        """
        self.queue.journal.wait(self.queue.add(name, learner, arms, wait, default)[1])

    def add_arm(self, name: str, arm: str) -> None:
        """Add an arm. It takes a place that has slept until now, or begins a new stage of the learner.

        Learners whose proof covers arms that sleep, as `Bandit(8, Tsallis(0.5))` with `arms=` of fewer names, keep what
        they have learned. Any other learner whose arms have names begins a fresh stage.
        """
        self.queue.journal.wait(self.queue.add_arm(name, arm))

    def retire_arm(self, name: str, arm: Any) -> None:
        """Never draw this arm again: it sleeps, or a new stage of the learner begins without it.

        Open decisions can still be settled.
        """
        self.queue.journal.wait(self.queue.retire_arm(name, arm))

    @property
    def learners(self) -> tuple[str, ...]:
        """The names of its learners."""
        return tuple(self.queue.contents.by_name)

    def certificate(
        self, name: str, key: Any = None, delta: float | None = None, *, stage: int | None = None
    ) -> Certificate | FleetCertificate:
        """Return the certificate of a learner, or of a key; of all keys if only keys were played.

        It covers one stage of the learner: the current one, or number `stage`, counted from 1.
        """
        key = checked_key(key)
        with self.queue.lock:
            stored, sequence = self.queue.look(name)
            if stage is not None:
                stored = _stage(stored, stage)
            told: Certificate | FleetCertificate = stored.certificate(key, delta)
        self.queue.journal.wait(sequence)
        return told

    def log(self, name: str, *, stage: int | None = None, since: float | None = None) -> Any:
        """Return the decisions of a learner as a table for `hn.replay` and `hannan replay`.

        Columns: key (if there are any), round, time, arm, probability, reward (or loss), settled, expired, stage and
        smallest_probability. Reward (or loss) and settled are NaN for pending decisions; `hn.replay(missing=...)`
        states what that means. A pandas frame if pandas is installed, else a mapping of columns.

        The smallest probability of any arm of the table at the time of each draw is computed by replaying the journal,
        for `hn.replay(smallest=...)`. It is 0 if one of the arms could not be drawn, and NaN if the state at the draw
        cannot be rebuilt because events were pruned. `stage` selects one stage of the learner, and `since` the
        decisions drawn at or after a time (seconds since 1970); arms that have no decision there do not count.
        """
        columns = self._columns(name, stage, since)
        try:
            import pandas
        except ImportError:
            return columns
        return pandas.DataFrame(columns)

    def _columns(self, name: str, stage: Any = None, since: Any = None) -> dict[str, Any]:
        return self._exporting(name, stage, since)()

    def _exporting(self, name: str, stage: Any = None, since: Any = None) -> Callable[[], dict[str, Any]]:
        """Validate the arguments of `log`; return the function that waits for the disk and reads the columns."""
        since = None if since is None else validation.between(since, 0.0, 1e12, "since")
        with self.queue.lock:
            stored, sequence = self.queue.look(name)
            stage = None if stage is None else _stage(stored, stage).stage.ordinal

        def columns() -> dict[str, Any]:
            self.queue.journal.wait(sequence)
            return self.queue.journal.read(lambda: rows_of(self.queue.backend, stored, sequence, stage, since))

        return columns

    # Decisions

    def act(self, name: str, key: Any = None, id: str | None = None) -> Decision:
        """Draw an arm. With `key`, a whole number or a text, that of a learner of its own, of the same description.

        With `id`, a text of your own, asking again gives the same decision.
        """
        decision, sequence = self.queue.draw(name, key, id)
        self.queue.journal.wait(sequence)
        return decision

    def observe(self, ticket: str, reward: Any = None, *, loss: Any = None) -> bool:
        """Settle a decision with its reward (or loss): True if it counts now, False if it was counted before."""
        counted, sequence = self.queue.settle([(ticket, reward, loss)])
        self.queue.journal.wait(sequence)
        return counted[0]

    def prune(self, age: float) -> int:
        """Let go of events that are older than `age` seconds, and of how many; the log then begins after them.

        Nothing goes that recovery needs, and nothing from the draw of a decision that is still open on.
        """
        return prune(self.queue, validation.between(age, 0.0, 1e12, "age"))

    # Secrets

    def rotate_secret(self) -> int:
        """Sign tickets with a fresh secret from now on; its number. Tickets of the old ones stay good."""
        return self.queue.rotate_secret()

    def retire_secret(self, number: int) -> None:
        """Refuse what this secret signed from now on."""
        self.queue.retire_secret(number)

    @property
    def secrets(self) -> list[int]:
        """The numbers of the secrets that open tickets; the last one signs."""
        return self.queue.signer.numbers


def _stage(stored: StoredLearner, stage: Any) -> StoredLearner:
    """Return stage number `stage` of a learner."""
    stages, number = stored.stages, validation.count(stage, "stage")
    if number > len(stages):
        raise ValueError(f"stage must be at most {len(stages)}, the stages of {stored.name!r}; got {stage}")
    return stages[number - 1]


def _backend(path: str | os.PathLike[str], shard: int, shards: int, patience: float) -> Backend:
    given: Any = path
    if not isinstance(given, (str, os.PathLike)) or not os.fspath(given):
        raise ValueError(f"a store must be a path, or postgresql://...; got {path!r}")
    if str(given).startswith(("postgresql://", "postgres://")):
        try:
            from hannan.serving.postgres import PostgresBackend
        except ModuleNotFoundError:
            raise ValueError(f"a store in PostgreSQL needs psycopg: {extras.command('serve', 'psycopg')}") from None
        return PostgresBackend(str(given), shard, shards, patience)
    from hannan.serving.sqlite import SQLiteBackend

    return SQLiteBackend(path, shard, shards)


def _close(queue: DecisionQueue) -> None:
    """Close the journal and release the lock: on request, at garbage collection, or at the interpreter's end."""
    if queue.journal.closed:
        return
    if queue.journal.is_own_thread():
        # The collector can run in any thread. This one cannot wait for itself.
        _thread.start_new_thread(_close, (queue,))
        return
    queue.journal.close()
    queue.backend.close()


def _end_in_children(queue: DecisionQueue) -> None:
    """End the store in forked children: the writer's thread is not there, and the file is the parent's."""
    if not hasattr(os, "register_at_fork"):
        return
    kept = weakref.ref(queue)

    def ended() -> None:
        found = kept()
        if found is not None and not found.journal.closed:
            found.journal.failure = Ended("a store belongs to the process that opened it")
            found.journal.closed = True
            found.backend.abandon()

    os.register_at_fork(after_in_child=ended)
