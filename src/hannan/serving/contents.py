"""Contents of a store, restored from snapshots and the journal: learners and epochs."""

from __future__ import annotations

import bisect
import itertools
import json
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Self

import numpy as np

from hannan import validation
from hannan.saving.formatting import counted
from hannan.serving import CONFLICT, TICKET, UNKNOWN, Refused, journal
from hannan.serving.expiry import Expiry
from hannan.serving.journal import Damaged, SlateAct, SlateFeedback
from hannan.serving.stored_learner import PARTS, STATE, StoredLearner
from hannan.serving.stored_slates import StoredSlates
from hannan.serving.tickets import ARM, Ticket

MAGIC = b"HNS2"
_SECTION_HEAD = struct.Struct("<4sII")


class NewerVersion(ValueError):
    """Snapshot that a newer version of the package has written."""


def written(sections: Iterable[tuple[str, list[bytes]]]) -> list[bytes]:
    """Return the bytes of a snapshot, in pieces; the content of each section is a list of pieces, too.

    >>> read(b"".join(written([("head", [b"x", b"yz"]), ("empty", [])])))
    {'head': b'xyz', 'empty': b''}
    """
    table, pieces = [], list[bytes]()
    for name, content in sections:
        check = 0
        for piece in content:
            check = zlib.crc32(piece, check)
        table.append([name, sum(map(len, content)), check])
        pieces += content
    text = json.dumps(table, separators=(",", ":")).encode()
    return [_SECTION_HEAD.pack(MAGIC, len(text), zlib.crc32(text)) + text, *pieces]


def read(blob: bytes) -> dict[str, bytes]:
    """Return the sections of a snapshot by name; raise Damaged if one bit differs from what was written."""
    if len(blob) < _SECTION_HEAD.size or blob[:4] != MAGIC:
        raise Damaged(f"corrupt snapshot: expected {MAGIC!r} at the beginning; found {bytes(blob[:4])!r}")
    _, size, check = _SECTION_HEAD.unpack_from(blob)
    at = _SECTION_HEAD.size + size
    text = blob[_SECTION_HEAD.size : at]
    if len(text) != size or zlib.crc32(text) != check:
        raise Damaged("the checksum of the table of sections does not match")
    table = json.loads(text)
    ends = list(itertools.accumulate((length for _, length, _ in table), initial=at))
    if ends[-1] != len(blob):
        raise Damaged(f"corrupt snapshot: expected {ends[-1] - at} bytes of sections; found {len(blob) - at}")
    found = dict[str, bytes]()
    for (name, _, expected), (begin, end) in zip(table, itertools.pairwise(ends), strict=True):
        content = blob[begin:end]
        if zlib.crc32(content) != expected:
            raise Damaged(f"the checksum of section {name!r} does not match")
        found[name] = content
    return found


#: Groups of the journal that are replayed in one call.
GROUPS_AT_ONCE = 500
#: Head of a snapshot of version 0.2: magic, and length of the JSON text, which has no checksum.
_HEAD = struct.Struct("<4sI")
#: Errors that damaged bytes can lead to.
_FAULTS = (LookupError, TypeError, ValueError, ArithmeticError, AttributeError, RuntimeError, struct.error)
_FIELDS = {"sequence", "time", "entropy", "epochs", "learners"}


class Contents:
    """State after the first `sequence` slots of the journal; `replay` advances it."""

    #: Whether evidence about the arms is counted.
    counts_evidence = True

    def __init__(self) -> None:
        self.learners: list[StoredLearner] = []
        self.by_name: dict[str, StoredLearner] = {}
        self.expiring: list[tuple[StoredLearner, Expiry]] = []
        #: First sequence of each epoch.
        self.epochs: dict[bytes, int] = {}
        self.sequence, self.time, self.entropy, self.epoch = 0, 0.0, 0, b""
        #: Learners with events in the group that is not complete yet.
        self.counting: set[StoredLearner] = set()
        #: Size in bytes of the snapshot that this was restored from.
        self.restored_from = 0

    def find(self, name: Any) -> StoredLearner:
        """Return the current stage of a learner; raise Refused if the name is unknown."""
        found = self.by_name.get(name) if isinstance(name, str) else None
        if found is None:
            known = ", ".join(list(self.by_name)[:10]) or "none"
            raise Refused(UNKNOWN, f"no learner {validation.brief(name)} in this store; known: {known}")
        return found

    def owner(self, ticket: Ticket) -> StoredLearner:
        """Return the learner of a ticket; raise Refused if the journal does not contain its decision.

        The journal contains a decision if it knows the epoch and the sequence is before the end of the epoch. Otherwise
        another copy of the store has drawn the decision after a backup.
        """
        begin, end = self.span(ticket.epoch)
        if not begin <= ticket.sequence < end or ticket.learner >= len(self.learners):
            raise Refused(
                CONFLICT,
                "the decision of this ticket is not in the journal: it was drawn by another copy of the store, after "
                "the backup that this one was restored from",
            )
        found = self.learners[ticket.learner]
        if (ticket.kind == ARM) is isinstance(found, StoredSlates):
            raise Refused(
                TICKET, f"{found.name!r} takes no feedback for a ticket of {counted(len(ticket.arms), 'arm')}"
            )
        return found

    def span(self, epoch: bytes) -> tuple[int, int]:
        """Return (first sequence of an epoch, sequence after the last one)."""
        if epoch == self.epoch:
            return self.epochs[epoch], self.sequence
        names = list(self.epochs)
        if epoch not in self.epochs:
            return 0, 0
        return self.epochs[epoch], self.epochs[names[names.index(epoch) + 1]]

    def _keep(self, stored: StoredLearner) -> None:
        self.learners.append(stored)
        self.by_name[stored.name] = stored
        if stored.expiry is not None:
            self.expiring.append((stored, stored.expiry))

    # Notes of the journal

    def open(self, entropy: bytes, epoch: bytes) -> None:
        """Begin a new epoch, in which every random stream starts from fresh entropy."""
        self.entropy = int.from_bytes(entropy, "little")
        self.epochs[epoch], self.epoch = self.sequence, epoch
        for stored in self.learners:
            stored.renew(self.entropy)

    def add(self, stored: StoredLearner) -> None:
        """Add a learner."""
        stored.renew(self.entropy)
        if self.counts_evidence:
            stored.count_evidence()
        self._keep(stored)

    def begin(self, stored: StoredLearner, declared: dict[str, Any], began: float) -> None:
        """Begin the next stage of a learner."""
        stored.follow(self.by_name[stored.name], declared, began)
        self.add(stored)

    def noted(self, note: dict[str, Any]) -> None:
        """Apply a note of the journal."""
        if "stage" in note:
            stage = StoredLearner.described(len(self.learners), note["stage"])
            self.begin(stage, note["declared"], note["began"])
        elif "key" in note:
            self.learners[note["learner"]].keyed.number([note["key"]], touch=True)
        elif "epoch" in note:
            self.open(bytes.fromhex(note["entropy"]), bytes.fromhex(note["epoch"]))
        elif "add" in note:
            self.add(StoredLearner.described(len(self.learners), note["add"]))
        elif "arm" in note:
            stored = self.learners[note["learner"]]
            stored.add_arm(note["place"], note["arm"])
        elif "retire" in note:
            stored = self.learners[note["learner"]]
            stored.retire(note["retire"])
        elif "rename" in note:
            self.learners[note["learner"]].rename_arm(note["rename"], note["name"], self.sequence, note["time"])
        elif "erased" in note:
            pass  # the journal before this note has other keys than those that its draws depend on
        elif "declare" in note:
            self.learners[note["learner"]].declare(note["declare"])
        else:
            raise Damaged(
                f"the journal has a note of an unknown kind: {sorted(note)}. Open the store with the version that "
                "wrote it"
            )

    # From the disk

    def replay(self, groups: Iterator[tuple[int, bytes]]) -> None:
        """Replay the journal from the current sequence; raise Damaged unless it is reproduced bit for bit."""
        plain, end = list[tuple[float, bytes]](), self.sequence
        for first, blob in groups:
            body, time = journal.opened(blob, first)
            if first != end:
                raise Damaged(f"corrupt journal: expected sequence {end}; found {first}")
            end, self.time = first + len(body) // journal.SLOT, max(self.time, time)
            # Groups without notes are replayed together, unless the times of draws matter for expiry.
            together = not self.expiring and not journal.has_tails(body)
            if together:
                plain.append((time, body))
            if not together or len(plain) == GROUPS_AT_ONCE:
                self._plain(plain)
                plain = []
            if not together:
                self._group(first, body, time)
        self._plain(plain)
        self.sequence = end

    def _plain(self, groups: list[tuple[float, bytes]]) -> None:
        if groups:
            ends = list(itertools.accumulate((len(body) // journal.SLOT for _, body in groups), initial=self.sequence))
            events = np.frombuffer(b"".join(body for _, body in groups), journal.RECORD)
            self._play(events, self.time)
            self.stamp(lambda sequence: groups[bisect.bisect_right(ends, sequence) - 1][0])
            self.sequence += len(events)

    def stamp(self, time_of: Callable[[int], float]) -> None:
        """Record the times of events that evidence refers to, when their groups are complete."""
        for stored in self.counting:
            if stored.evidence is not None:
                stored.evidence.stamp(time_of)
        self.counting.clear()

    def _group(self, first: int, body: bytes, time: float) -> None:
        for at, part in journal.decode_group(body):
            self.sequence = first + at
            if isinstance(part, dict):
                self.noted(part)
            elif isinstance(part, np.ndarray):
                self._play(part, time)
            else:
                self._slate(part)
        self.stamp(lambda sequence: time)
        self.sequence = first + len(body) // journal.SLOT

    def _slate(self, part: SlateAct | SlateFeedback) -> None:
        """Replay a slate or its feedback."""
        stored = self.learners[part.learner] if part.learner < len(self.learners) else None
        if not isinstance(stored, StoredSlates):
            raise Damaged(f"the journal has a slate at sequence {self.sequence}; its learner does not show slates")
        if not stored.replays(part):
            raise Damaged(
                f"replay differs from the journal at sequence {self.sequence}, learner {stored.name!r}: expected {part}"
            )

    def _play(self, events: Any, time: float) -> None:
        """Replay events by learner: learners are independent of each other."""
        for number in np.unique(events["learner"]).tolist():
            own = np.flatnonzero(events["learner"] == number)
            if number >= len(self.learners):
                raise Damaged(f"corrupt journal: expected a learner number below {len(self.learners)}; found {number}")
            stored = self.learners[number]
            wrong = stored.replay(events[own], own.astype(np.uint64) + np.uint64(self.sequence), time)
            self.counting.add(stored)
            if wrong >= 0:
                at, found = self.sequence + int(own[wrong]), events[own[wrong]]
                raise Damaged(
                    f"replay differs from the journal at sequence {at}, learner {self.learners[number].name!r}: "
                    f"expected {found}. If another version wrote the journal, open and close the store with it first"
                )

    def snapshot(self, sequence: int, time: float) -> Callable[[], list[bytes]]:
        """Copy the current state; return a function that encodes the copy as the pieces of a snapshot."""
        states = [stored.state() for stored in self.learners]
        content: dict[str, Any] = {
            "sequence": sequence, "time": time, "entropy": str(self.entropy),
            "epochs": [[epoch.hex(), first] for epoch, first in self.epochs.items()], "learners": len(states),
        }  # fmt: skip

        def encode() -> list[bytes]:
            parts: list[tuple[str, list[bytes]]] = [("head", [_json(content)])]
            for number, (told, blobs) in enumerate(states):
                parts.append((f"learner {number}", [_json(told)]))
                parts += [(f"learner {number} {name}", blob()) for name, blob in blobs.items()]
            return written(parts)

        return encode

    @classmethod
    def restored(cls, blob: bytes) -> Self:
        """Return the contents of a snapshot; raise Damaged if its bytes changed, NewerVersion if it is unknown."""
        old = blob[:4] == b"HNS1"
        try:
            contents = cls._of_sections(_of_version_0_2(blob) if old else read(blob))
        except _FAULTS as error:
            if isinstance(error, NewerVersion) and not old:
                raise
            raise Damaged(str(error)) from error
        contents.restored_from = len(blob)
        return contents

    @classmethod
    def _of_sections(cls, given: dict[str, bytes]) -> Self:
        found, told = cls(), json.loads(given.pop("head"))
        _known(told, _FIELDS, "field")
        found.sequence, found.time, found.entropy = told["sequence"], told["time"], int(told["entropy"])
        found.epochs = {bytes.fromhex(epoch): first for epoch, first in told["epochs"]}
        found.epoch = next(reversed(found.epochs), b"")
        for number in range(told["learners"]):
            name = f"learner {number}"
            state = json.loads(given.pop(name))
            blobs = {part: given.pop(f"{name} {part}") for part in PARTS if f"{name} {part}" in given}
            _known(state, STATE, "field")
            stored = StoredLearner.restored(number, state, blobs)
            if "stage" in state:
                stage = state["stage"]
                stored.follow(found.learners[stage["of"]], stage["declared"], stage["began"])
            stored._entropy = found.entropy
            found._keep(stored)
        _known(given, set(), "section")
        return found


def _json(content: Any) -> bytes:
    return json.dumps(content, separators=(",", ":")).encode()


def _known(given: dict[str, Any], names: set[str], kind: str) -> None:
    """Raise NewerVersion if there are other names than these."""
    unknown = sorted(given.keys() - names)
    if unknown:
        raise NewerVersion(f"unknown {kind} {unknown[0]!r}. Open the store with the version that wrote it")


def _of_version_0_2(blob: bytes) -> dict[str, bytes]:
    """Return the sections of a snapshot of version 0.2: one JSON text, then the blobs of each learner."""
    _, size = _HEAD.unpack_from(blob)
    at = _HEAD.size + size
    told = json.loads(blob[_HEAD.size : at])
    found = dict[str, bytes]()
    for number, state in enumerate(told["learners"]):
        names = ["alone", *(["keyed"] if state.pop("keyed") else []), *(["expiry"] if state["expiry"] else [])]
        for name, length in zip(names, state.pop("sizes"), strict=True):
            found[f"learner {number} {name}"] = blob[at : at + length]
            at += length
        found[f"learner {number}"] = _json(state)
    return {**found, "head": _json({**told, "learners": len(told["learners"])})}
