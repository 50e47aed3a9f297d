"""`hn.Store`: learners on disk."""

from __future__ import annotations

import _thread
import os
import weakref
from collections.abc import Callable
from typing import Any, Self

import numpy as np

from hannan import _engine, extras, validation
from hannan.players.certificate import Certificate
from hannan.players.evidence import Evidence, Means
from hannan.players.fleet_certificate import FleetCertificate
from hannan.serving import Ended, journal, log
from hannan.serving.backend import Backend, complete_snapshots
from hannan.serving.decisions import DecisionQueue
from hannan.serving.evidence import of_shard
from hannan.serving.journal import ACT, SlateAct
from hannan.serving.keys import MAX_PAGE, KeyList, listed
from hannan.serving.log import rows_of
from hannan.serving.stored_learner import StoredLearner
from hannan.serving.stored_slates import StoredSlates
from hannan.serving.tickets import checked_key

#: Groups deleted in one transaction: other writes wait meanwhile.
BATCH = 200


def prune(queue: DecisionQueue, age: float) -> int:
    """Delete events that are older than `age` seconds; return the number of slots deleted."""
    end, before = queue.journal.read(lambda: _end(queue, queue.journal.clock.now() - age))
    gone = BATCH
    while gone == BATCH:
        gone = queue.journal.between(lambda: queue.backend.drop(end, BATCH))
    return end - before


def _end(queue: DecisionQueue, youngest: float) -> tuple[int, int]:
    """Return (sequence up to which events may be deleted, sequence of the first event)."""
    # The journal must reach back to the oldest snapshot, which is used if newer ones are damaged.
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
    """Return whether a decision of this group is pending."""
    for _, part in journal.decode_group(body):
        if isinstance(part, SlateAct):
            stored = queue.contents.learners[part.learner]
            with queue.lock:
                if isinstance(stored, StoredSlates) and part.round in stored.pending:
                    return True
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


#: Limit of the ticket, which has 16 bits for the shard.
MAX_SHARDS = 1 << 16


class Store:
    """Learners on disk: every acknowledged decision survives a crash, and feedback counts once.

    Parameters
    ----------
    path : str or path-like
        SQLite file, created if it does not exist, or a `postgresql://` URL.
    snapshot_events, snapshot_seconds : int, float
        Number of events and time in seconds after which a snapshot is written. A snapshot of more than 4 MiB is written
        by events only when the journal has grown by the size of the previous one.
    remember : float
        Time in seconds for which the ids of `act` are remembered. Default: one week.
    shard, shards : int
        Number of the shard that this process owns, from 0, and number of shards. A learner, or one of its keys, belongs
        to the shard `hannan.client.shard_of(name, key, shards)`.
    patience : float
        Time in seconds to wait for another owner of the shard to exit. Only PostgreSQL waits.
    max_keys : int, optional
        Largest number of keys per learner. Default: no limit.

    Raises
    ------
    ValueError
        If an argument is invalid, the file is not a store, or another process has it open.

    Notes
    -----
    A decision is drawn, written to a journal, and returned when it is on the disk; simultaneous decisions share one
    write. After a crash the journal is replayed, and must reproduce every decision bit for bit. Tickets are signed
    strings that contain the exact probability of the draw. One process has the store open at a time, and its threads
    may share it.

    Examples
    --------
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
                f"shard must be in 0..shards - 1 with shards <= {MAX_SHARDS}; got shard {shard} and shards {shards}"
            )
        backend = opened_backend(path, shard, shards, validation.between(patience, 0.0, 1e9, "patience"))
        try:
            #: The same operations without waiting for the disk, for a service.
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
        """Write all pending events and a snapshot, and release the lock of the store.

        A store that was closed raises `Ended` at every further call. A `with` statement closes the store.

        Examples
        --------
        >>> import hannan as hn, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> store = hn.Store(folder.name + "/decisions.db")
        >>> store.close()
        >>> folder.cleanup()
        """
        self._closing.detach()
        _close(self.queue)

    def __repr__(self) -> str:
        return f"<store {self.queue.backend.name}, {len(self.learners)} learners>"

    # Learners

    def add(self, name: str, learner: Any, *, arms: Any = None, wait: Any = None, default: Any = None) -> None:
        """Add a learner, or a new stage of a learner whose arms have changed.

        The same learner added again has no effect. If only its arms differ from those of the last `add`, a new *stage*
        begins: a fresh learner with the new arms. Tickets of earlier stages still settle in their own stage.

        Parameters
        ----------
        name : str
            Name of 1 to 100 ASCII letters, digits, "-", "_" and "."; the first character is a letter or digit.
        learner : learner
            Learner that observes one loss or reward per round, such as `hn.Bandit(["red", "blue"], gains=True)`.
        arms : list of str, optional
            Names of the first arms of a learner whose arms have no names. The other places are free for `add_arm`.
        wait, default : float, optional
            A decision without feedback after `wait` seconds is settled with the loss or reward `default`.

        Raises
        ------
        Refused
            If a learner of this name exists and differs in more than its arms.
        ValueError
            If an argument is invalid, or the learner is not a bandit.

        Examples
        --------
        >>> import hannan as hn, tempfile
        >>> with tempfile.TemporaryDirectory() as folder, hn.Store(folder + "/decisions.db") as store:
        ...     store.add("banner", hn.Bandit(["red", "blue"], gains=True))
        ...     store.learners
        ('banner',)
        """
        self.queue.journal.wait(self.queue.add(name, learner, arms, wait, default)[1])

    def add_arm(self, name: str, arm: str) -> None:
        """Add an arm to a learner.

        The arm takes a free place, if the learner has one (see `arms` of `add`), and what was learned is kept.
        Otherwise a new stage of the learner begins.

        Parameters
        ----------
        name : str
            Name of the learner, whose arms have names.
        arm : str
            Name of the new arm.

        Raises
        ------
        Refused
            If the learner is unknown, the arm exists, or a learner without named arms has no free place.

        Examples
        --------
        >>> import hannan as hn, tempfile
        >>> with tempfile.TemporaryDirectory() as folder, hn.Store(folder + "/decisions.db") as store:
        ...     store.add("banner", hn.Bandit(["red", "blue"], gains=True))
        ...     store.add_arm("banner", "green")
        ...     round(store.act("banner").probability, 3)
        0.333
        """
        self.queue.journal.wait(self.queue.add_arm(name, arm))

    def retire_arm(self, name: str, arm: Any) -> None:
        """Retire an arm, so that it is never drawn again.

        The arm becomes unavailable if the proof of the learner covers that. Otherwise a new stage of the learner begins
        without the arm. Pending decisions can still be settled.

        Parameters
        ----------
        name : str
            Name of the learner.
        arm : str or int
            Name of the arm, or its number if the arms have no names.

        Raises
        ------
        Refused
            If the learner is unknown, or the arm is the last one that is available.
        ValueError
            If the learner has no such available arm.

        Examples
        --------
        >>> import hannan as hn, tempfile
        >>> with tempfile.TemporaryDirectory() as folder, hn.Store(folder + "/decisions.db") as store:
        ...     store.add("banner", hn.Bandit(["red", "blue"], gains=True))
        ...     store.retire_arm("banner", "red")
        ...     store.act("banner").arm
        'blue'
        """
        self.queue.journal.wait(self.queue.retire_arm(name, arm))

    def rename_arm(self, name: str, arm: str, new: str) -> None:
        """Give an arm another name.

        The arm stays the same: its decisions, evidence and probability are kept, and pending decisions can be settled.
        The log has the new name in the column `arm`, and the name at the draw in the column `shown_as`.

        Parameters
        ----------
        name : str
            Name of the learner, whose arms have names.
        arm : str
            Present name of an available arm.
        new : str
            New name, which no arm of the learner has or had, except for earlier names of renamed arms.

        Raises
        ------
        Refused
            If the learner is unknown, or the new name is taken.
        ValueError
            If the learner has no such available arm.

        Examples
        --------
        >>> import hannan as hn, tempfile
        >>> with tempfile.TemporaryDirectory() as folder, hn.Store(folder + "/decisions.db") as store:
        ...     store.add("banner", hn.Bandit(["red", "blue"], gains=True))
        ...     store.rename_arm("banner", "red", "crimson")
        ...     store.act("banner").arm in ("crimson", "blue")
        True
        """
        self.queue.journal.wait(self.queue.rename_arm(name, arm, new))

    @property
    def learners(self) -> tuple[str, ...]:
        """Names of the learners."""
        return tuple(self.queue.contents.by_name)

    def certificate(
        self, name: str, key: Any = None, delta: float | None = None, *, stage: int | None = None
    ) -> Certificate | FleetCertificate:
        """Return the certificate of a learner, or of one of its keys.

        Parameters
        ----------
        name : str
            Name of the learner.
        key : int or str, optional
            Key of the learner. Default: the learner without a key, or all keys if only keys were played.
        delta : float, optional
            Error probability of high-probability bounds and intervals.
        stage : int, optional
            Number of the stage, from 1. Default: the current stage.

        Returns
        -------
        Certificate or FleetCertificate
            Bound, regret and assumptions of this stage.

        Raises
        ------
        Refused
            If there is no such learner.

        Examples
        --------
        >>> import hannan as hn, tempfile
        >>> with tempfile.TemporaryDirectory() as folder, hn.Store(folder + "/decisions.db") as store:
        ...     store.add("banner", hn.Bandit(["red", "blue"], gains=True))
        ...     store.observe(store.act("banner").ticket, reward=1)
        ...     store.certificate("banner").rounds
        True
        1
        """
        key = checked_key(key)
        with self.queue.lock:
            stored, sequence = self.queue.look(name)
            if stage is not None:
                stored = _stage(stored, stage)
            told: Certificate | FleetCertificate = stored.certificate(key, delta)
        self.queue.journal.wait(sequence)
        return told

    def evidence(self, name: str, alpha: float = 0.05, means: Means = "any") -> Evidence:
        """Return statements about the arms of a learner that are valid at all times, however often they are read.

        Parameters
        ----------
        name : str
            Name of the learner. Its keys are pooled.
        alpha : float
            Probability that any statement is ever wrong.
        means : {"any", "fixed"}
            "any" for averages over all decisions so far, which may change in any way; "fixed" assumes constant means,
            which is not verified. Choose one of them, and alpha, before the first look.

        Returns
        -------
        Evidence
            Intervals, differences, the arm that has been the best so far, and a bound on the realized regret, of the
            current stage.

        Raises
        ------
        Refused
            If there is no such learner, or it has too many arms.

        Notes
        -----
        The evidence is counted at each decision and stored with the snapshots, so that it is the same bit for bit
        after a crash, and a query takes the same time for every length of the journal. It begins again when an arm is
        added. A store of several shards has one panel per shard, about the decisions of the shard. Learners with
        more than 1,024 arms have no evidence.

        Examples
        --------
        >>> import hannan as hn, tempfile
        >>> with tempfile.TemporaryDirectory() as folder, hn.Store(folder + "/decisions.db") as store:
        ...     store.add("banner", hn.Bandit(["red", "blue"], gains=True))
        ...     _ = store.act("banner")
        ...     found = store.evidence("banner")
        ...     found.decisions, found.pending, found.best
        (1, 1, None)
        """
        return self._stating(name, alpha, means)()

    def _stating(self, name: str, alpha: float, means: Means) -> Callable[[], Evidence]:
        """Validate the arguments of `evidence`; return the function that waits for the disk and computes it."""
        from hannan.players.evidence import checked

        alpha = checked(alpha, means)
        with self.queue.lock:
            stored, sequence = self.queue.look(name)
            found = stored.stating(alpha, means, of_shard(self.queue.backend.shard, self.queue.shards))

        def told() -> Evidence:
            self.queue.journal.wait(sequence)
            return found()

        return told

    def keys(self, name: str, search: str = "", start: int = 0, limit: int = 50) -> KeyList:
        """Return keys of a learner, those with the most decisions first.

        Parameters
        ----------
        name : str
            Name of the learner.
        search : str
            Part of the key, in lower or upper case. Default: all keys.
        start : int
            Number of keys to skip.
        limit : int
            Largest number of keys to return, at most 200.

        Returns
        -------
        KeyList
            Number of keys, number of keys found, and a summary of each key of the page: decisions, pending decisions,
            average reward (or loss), and the most likely arm of its next decision with its probability.

        Raises
        ------
        Refused
            If there is no such learner.
        ValueError
            If an argument is invalid.

        Notes
        -----
        The keys are those of the current stage. The counts of very many keys are read in parts, between decisions.

        Examples
        --------
        >>> import hannan as hn, tempfile
        >>> with tempfile.TemporaryDirectory() as folder, hn.Store(folder + "/decisions.db") as store:
        ...     store.add("banner", hn.Bandit(["red", "blue"], gains=True))
        ...     for key in ("anna", "ben", "anna"):
        ...         _ = store.act("banner", key=key)
        ...     found = store.keys("banner")
        ...     found.total, [(one.key, one.decisions) for one in found.keys]
        (2, [('anna', 2), ('ben', 1)])
        """
        return self._listing(name, search, start, limit)()

    def _listing(self, name: str, search: str, start: int, limit: int) -> Callable[[], KeyList]:
        """Validate the arguments of `keys`; return the function that waits for the disk and reads the counts."""
        start, limit = validation.count(start, "start", least=0), validation.count(limit, "limit")
        if limit > MAX_PAGE:
            raise ValueError(f"limit must be at most {MAX_PAGE}; got {limit}. Read further keys with start")
        if not isinstance(search, str):
            raise ValueError(f"search must be a string; got {validation.brief(search)}")
        with self.queue.lock:
            stored, sequence = self.queue.look(name)

        def found() -> KeyList:
            self.queue.journal.wait(sequence)
            return listed(self.queue, stored, search, start, limit)

        return found

    def log(self, name: str, *, stage: int | None = None, since: float | None = None, weights: bool = False) -> Any:
        """Return the decisions of a learner as a table for `hn.replay` and `hannan replay`.

        Parameters
        ----------
        name : str
            Name of the learner.
        stage : int, optional
            Number of the stage, from 1. Default: all stages.
        since : float, optional
            Time in seconds since 1970. Earlier decisions are omitted. Default: all decisions.
        weights : bool, default False
            Add a column probability_<arm> per arm with its probability at the draw, for `hn.replay(probabilities=...)`.

        Returns
        -------
        DataFrame or dict of str to array
            One row per decision, or per shown item of a slate, as a pandas frame if pandas is installed. Columns: key
            (if there are keys), round, time, arm, probability, reward (or loss), settled, expired, stage and
            smallest_probability. Reward (or loss) and settled are NaN for pending decisions.

        Raises
        ------
        Refused
            If there is no such learner.

        Notes
        -----
        The columns of a log of slates are slate (its round), time, arm, probability (that the slate contains the
        item), slate_probability, reward (or loss), settled and stage. Pass them to `hn.replay` with by="items".

        The smallest probability, at each draw, of any arm in the table is computed by replaying the journal. It is 0 if
        one of these arms could not be drawn, and NaN if the state at the draw cannot be rebuilt because events were
        pruned. Arms without a decision in the selected rows do not count.

        Examples
        --------
        >>> import hannan as hn, tempfile
        >>> with tempfile.TemporaryDirectory() as folder, hn.Store(folder + "/decisions.db") as store:
        ...     store.add("banner", hn.Bandit(["red", "blue"], gains=True))
        ...     _ = store.act("banner")
        ...     store.log("banner")["probability"].tolist()
        [0.5]
        """
        if not isinstance(weights, bool):
            raise ValueError(f"weights must be True or False; got {weights!r}")
        columns = self._exporting(name, stage, since, weights)()
        try:
            import pandas
        except ImportError:
            return columns
        return pandas.DataFrame(columns)

    def _exporting(
        self, name: str, stage: Any = None, since: Any = None, weights: bool = False
    ) -> Callable[[], dict[str, Any]]:
        """Validate the arguments of `log`; return the function that waits for the disk and reads the columns."""
        since = None if since is None else validation.between(since, 0.0, 1e12, "since")
        with self.queue.lock:
            stored, sequence = self.queue.look(name)
            if weights and isinstance(stored, StoredSlates):
                raise ValueError(f"weights is not available for slates: {name!r} shows slates; got weights=True")
            stage = None if stage is None else _stage(stored, stage).stage.ordinal

        def columns() -> dict[str, Any]:
            self.queue.journal.wait(sequence)
            return self.queue.journal.read(
                lambda: rows_of(self.queue.backend, stored, sequence, stage, since, weights=weights)
            )

        return columns

    # Decisions

    def act(self, name: str, key: Any = None, id: str | None = None) -> Any:
        """Draw an arm, or a slate. Return when the decision is on the disk.

        Parameters
        ----------
        name : str
            Name of the learner.
        key : int or str, optional
            Key: an integer of 64 bits, or a printable string of 1 to 200 bytes. Each key has a separate learner with
            the same description. Default: the learner without a key.
        id : str, optional
            Id of the decision, of 1 to 200 characters. A repeated call with the same id returns the same decision.

        Returns
        -------
        Decision or SlateDecision
            Ticket, arm, action (number of the arm) and probability. For a learner of slates: ticket, arms, actions,
            probabilities (that the slate contains the item), and the probability of the slate or None.

        Raises
        ------
        Refused
            If the learner is unknown, the id is invalid, another shard owns the key, or the key would exceed
            `max_keys`.
        Ended
            If the store is closed or its disk has failed.

        Examples
        --------
        >>> import hannan as hn, tempfile
        >>> with tempfile.TemporaryDirectory() as folder, hn.Store(folder + "/decisions.db") as store:
        ...     store.add("banner", hn.Bandit(["red", "blue"], gains=True))
        ...     first, again = store.act("banner", id="order-17"), store.act("banner", id="order-17")
        ...     first == again
        True
        """
        decision, sequence = self.queue.draw(name, key, id)
        self.queue.journal.wait(sequence)
        return decision

    def observe(self, ticket: str, reward: Any = None, *, loss: Any = None) -> bool:
        """Settle a decision with its reward or loss. Return when the feedback is on the disk.

        Parameters
        ----------
        ticket : str
            Ticket that `act` returned.
        reward : float or list of float, optional
            Reward, for a learner of rewards. For a slate, one number per shown item.
        loss : float or list of float, optional
            Loss, for a learner of losses. For a slate, one number per shown item.

        Returns
        -------
        bool
            True if the feedback counts now, False if the decision was settled before.

        Raises
        ------
        Refused
            If the ticket is invalid, or the value is missing, out of range or of the wrong kind.
        Ended
            If the store is closed or its disk has failed.

        Examples
        --------
        >>> import hannan as hn, tempfile
        >>> with tempfile.TemporaryDirectory() as folder, hn.Store(folder + "/decisions.db") as store:
        ...     store.add("banner", hn.Bandit(["red", "blue"], gains=True))
        ...     ticket = store.act("banner").ticket
        ...     store.observe(ticket, reward=1), store.observe(ticket, reward=1)
        (True, False)
        """
        counted, sequence = self.queue.settle([(ticket, reward, loss)])
        self.queue.journal.wait(sequence)
        return counted[0]

    def prune(self, age: float) -> int:
        """Delete events that are older than `age` seconds. The log then begins after them.

        Events that recovery needs are kept, as are all events from the draw of the oldest pending decision on.

        Parameters
        ----------
        age : float
            Smallest age of deleted events, in seconds.

        Returns
        -------
        int
            Number of deleted records of 24 bytes.

        Examples
        --------
        >>> import hannan as hn, tempfile
        >>> with tempfile.TemporaryDirectory() as folder, hn.Store(folder + "/decisions.db") as store:
        ...     store.add("banner", hn.Bandit(["red", "blue"], gains=True))
        ...     store.prune(86400.0)
        0
        """
        return prune(self.queue, validation.between(age, 0.0, 1e12, "age"))

    # Secrets

    def rotate_secret(self) -> int:
        """Sign new tickets with a fresh secret. Tickets of older secrets remain valid.

        Returns
        -------
        int
            Number of the new secret.

        Examples
        --------
        >>> import hannan as hn, tempfile
        >>> with tempfile.TemporaryDirectory() as folder, hn.Store(folder + "/decisions.db") as store:
        ...     store.rotate_secret(), store.secrets
        (2, [1, 2])
        """
        return self.queue.rotate_secret()

    def retire_secret(self, number: int) -> None:
        """Reject all tickets that were signed with a secret.

        Parameters
        ----------
        number : int
            Number of the secret. The newest secret, which signs, cannot be retired.

        Raises
        ------
        ValueError
            If there is no such secret, or if it is the newest one.

        Examples
        --------
        >>> import hannan as hn, tempfile
        >>> with tempfile.TemporaryDirectory() as folder, hn.Store(folder + "/decisions.db") as store:
        ...     number = store.rotate_secret()
        ...     store.retire_secret(1)
        ...     store.secrets == [number]
        True
        """
        self.queue.retire_secret(number)

    @property
    def secrets(self) -> list[int]:
        """Numbers of the secrets whose tickets are valid; the last one signs."""
        return self.queue.signer.numbers


def _stage(stored: StoredLearner, stage: Any) -> StoredLearner:
    """Return stage number `stage` of a learner."""
    stages, number = stored.stages, validation.count(stage, "stage")
    if number > len(stages):
        raise ValueError(f"{stored.name!r} has stages 1 to {len(stages)}; got stage {stage}")
    return stages[number - 1]


def opened_backend(path: str | os.PathLike[str], shard: int, shards: int, patience: float) -> Backend:
    """Return the backend of a file name or a URL, which holds the lock of the store."""
    given: Any = path
    if not isinstance(given, (str, os.PathLike)) or not os.fspath(given):
        raise ValueError(f"path must be a file name or a postgresql:// URL; got {path!r}")
    if str(given).startswith(("postgresql://", "postgres://")):
        try:
            from hannan.serving.postgres import PostgresBackend
        except ModuleNotFoundError:
            raise ValueError(f"a store in PostgreSQL requires psycopg: {extras.command('serve', 'psycopg')}") from None
        return PostgresBackend(str(given), shard, shards, patience)
    from hannan.serving.sqlite import SQLiteBackend

    return SQLiteBackend(path, shard, shards)


def _close(queue: DecisionQueue) -> None:
    """Close the journal and release the lock, on request, at garbage collection or at exit."""
    if queue.journal.closed:
        return
    if queue.journal.is_own_thread():
        # The garbage collector may run in the thread of the journal, which cannot wait for itself.
        _thread.start_new_thread(_close, (queue,))
        return
    queue.journal.close()
    queue.backend.close()


def _end_in_children(queue: DecisionQueue) -> None:
    """End the store in forked children, which have no writer thread and share the file of the parent."""
    if not hasattr(os, "register_at_fork"):
        return
    kept = weakref.ref(queue)

    def ended() -> None:
        found = kept()
        if found is not None and not found.journal.closed:
            found.journal.failure = Ended(
                "a store can be used only in the process that opened it; open it after the fork"
            )
            found.journal.closed = True
            found.backend.abandon()

    os.register_at_fork(after_in_child=ended)
