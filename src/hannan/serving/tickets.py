"""Tickets as text: who drew what, when and with which probability, signed.

    u8 format, u8 key id, 8s journal, 8s epoch, u32 learner, u16 shard, u16 arm, u64 sequence, u64 round, f64 p, key,
    16s MAC, in base64url.            MAC = BLAKE2b of all before it, under a secret of the store's

The key of a keyed learner is a byte that says what it is (none, a number, a text) and the thing itself. The *epoch* is
a name drawn at each opening of the store: together with the sequence it tells a decision of this journal from one that
another copy of the file drew (a restored backup).
"""

from __future__ import annotations

import re
import struct
from typing import Any, NamedTuple

from hannan import _engine, refusals
from hannan.serving.errors import BODY, TICKET, Refused

_FORMAT, _MAC = 1, 16
_HEAD, _FIELDS = struct.Struct("<BB8s8sIH"), struct.Struct("<BB8s8sIHHQQd")
#: Longer keys of learners are refused, so that tickets stay short.
LONGEST_KEY = 200
LONGEST_ID = 200
#: Characters that a backend cannot store: PostgreSQL has no NUL in text, and UTF-8 no lone surrogates.
_NO_TEXT = re.compile("[\0\ud800-\udfff]")

Key = int | str | None


class Ticket(NamedTuple):
    """What a signed ticket says."""

    journal: bytes
    epoch: bytes
    learner: int
    shard: int
    arm: int
    sequence: int
    round: int
    probability: float
    key: Key


def checked_key(key: Any) -> Key:
    """The key of a learner: a whole number of 64 bits, or a text.

    >>> checked_key(17), checked_key("anna"), checked_key(None)
    (17, 'anna', None)
    """
    if key is None:
        return None
    if isinstance(key, str) and 0 < len(key.encode("utf-8", "surrogatepass")) <= LONGEST_KEY and key.isprintable():
        return key
    if isinstance(key, int) and not isinstance(key, bool) and -(1 << 63) <= key < 1 << 63:
        return key
    raise ValueError(
        f"key must be a whole number of 64 bits, or printable text of 1 to {LONGEST_KEY} bytes; "
        f"got {refusals.brief(key)}"
    )


def checked_id(id: Any) -> str | None:
    """Return the id of a decision, or raise Refused if it is not one that every backend can store.

    >>> checked_id("order-17")
    'order-17'
    """
    if id is None:
        return None
    if isinstance(id, str) and 0 < len(id) <= LONGEST_ID and not _NO_TEXT.search(id):
        return id
    raise Refused(
        BODY,
        f"id must be a string of 1 to {LONGEST_ID} characters without NUL and lone surrogates; "
        f"got {refusals.brief(id)}",
    )


def key_bytes(key: Key) -> bytes:
    """A key as bytes, each kind apart."""
    if key is None:
        return b"\0"
    if isinstance(key, int):
        return b"\1" + key.to_bytes(8, "little", signed=True)
    return b"\2" + key.encode()


def _key(data: bytes) -> Key:
    if data[:1] == b"\1":
        return int.from_bytes(data[1:], "little", signed=True)
    return data[1:].decode() if data[:1] == b"\2" else None


class Seal:
    """Signs tickets with the newest secret, and knows those of all that were not retired.

    >>> import numpy as np
    >>> seal = Seal({1: b"s" * 32}, b"journal1", b"epoch--1", 0)
    >>> (text,) = seal.tickets(0, np.array([2]), 10, np.array([3], dtype=np.uint64), np.array([0.25]))
    >>> seal.opened(text).arm, seal.opened(text).probability
    (2, 0.25)
    >>> seal.opened(text[:-10] + "AAAAAAAA" + text[-2:])
    Traceback (most recent call last):
    ...
    hannan.serving.errors.Refused: a ticket must be as act() returned it; this one was edited...
    """

    def __init__(self, secrets: dict[int, bytes], journal: bytes, epoch: bytes, shard: int) -> None:
        self._signers = {number: _engine.Signer(secret) for number, secret in secrets.items()}
        self.journal, self.epoch, self.shard = journal, epoch, shard
        self._use(max(secrets))

    def _use(self, number: int) -> None:
        self._number, self._signer = number, self._signers[number]
        #: What the tickets of a learner begin with.
        self._heads: dict[int, bytes] = {}

    def add(self, number: int, secret: bytes) -> None:
        """Sign with this secret from now on; the others still open what they signed."""
        self._signers[number] = _engine.Signer(secret)
        self._use(number)

    def retire(self, number: int) -> None:
        """What this secret signed is refused from now on."""
        if number == self._number:
            raise ValueError(f"the secret that signs now must be replaced before it is retired; got {number}")
        if self._signers.pop(number, None) is None:
            raise ValueError(f"a secret to retire must be one of {sorted(self._signers)}; got {number}")

    @property
    def numbers(self) -> list[int]:
        """The secrets that open tickets, oldest first; the last one signs."""
        return sorted(self._signers)

    def _head(self, learner: int) -> bytes:
        head = self._heads.get(learner)
        if head is None:
            head = _HEAD.pack(_FORMAT, self._number, self.journal, self.epoch, learner, self.shard)
            self._heads[learner] = head
        return head

    def ticket(self, learner: int, arm: int, sequence: int, number: int, p: float, key: bytes) -> str:
        """One signed ticket."""
        text: str = self._signer.ticket(self._head(learner), arm, sequence, number, p, key)
        return text

    def tickets(self, learner: int, arms: Any, first: int, rounds: Any, p: Any, keys: Any = b"\0") -> list[str]:
        """Signed tickets of decisions in a row; `keys` is the bytes of the key, or a list of them."""
        signed: list[str] = self._signer.tickets(self._head(learner), arms, first, rounds, p, keys)
        return signed

    def answer(self, learner: int, labels: list[bytes], arms: Any, first: int, rounds: Any, p: Any, keys: Any) -> bytes:
        """The same as the JSON of an answer, up to its probabilities; `labels` are the arms, as JSON each."""
        text: bytes = self._signer.answer(self._head(learner), arms, first, rounds, p, keys, labels)
        return text

    def opened(self, text: Any) -> Ticket:
        """What a ticket says, if this store signed it."""
        raw = _engine.ticket_bytes(text)
        if raw is None or len(raw) < _FIELDS.size + 1 + _MAC:
            raise Refused(TICKET, f"a ticket must be the text that act() returned; got {refusals.brief(text)}")
        form, number, journal, epoch, learner, shard, arm, sequence, round_, p = _FIELDS.unpack_from(raw)
        if form != _FORMAT:
            raise Refused(TICKET, f"a ticket must be of format {_FORMAT}; got format {form}")
        if journal != self.journal and shard == self.shard:
            raise Refused(TICKET, f"a ticket must be of this store; got one of another store, {journal.hex()}")
        if shard != self.shard:
            raise Refused(
                TICKET, f"a ticket must be of shard {self.shard}, which this store is; got one of shard {shard}"
            )
        signer = self._signers.get(number)
        if signer is None:
            raise Refused(
                TICKET, f"a ticket must be signed with a secret that this store has; {number} is retired or another's"
            )
        if not signer.signs(raw):
            raise Refused(
                TICKET, "a ticket must be as act() returned it; this one was edited, or signed by another store"
            )
        return Ticket(journal, epoch, learner, shard, arm, sequence, round_, p, _key(raw[_FIELDS.size : -_MAC]))
