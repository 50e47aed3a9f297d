"""Tickets as text: the learner, the decision, its round and its probabilities, signed.

Format 2, in base64url, little-endian; a varint has 7 bits per byte:

    u8 2, u8 kind, 8s journal, 8s epoch, u32 learner, u16 shard,
    varints: number of the secret, stage, sequence, number of the key, round,
    decision, key, 16s MAC                          MAC = BLAKE2b of all bytes before it, under a secret of the store

    decision of one arm (kind 0)   varint arm, f64 probability
    decision of a slate (kind 1)   varint items, f64 probability of the slate (NaN: not known),
                                   per item: varint arm, f64 probability that the slate contains the arm

The key of a keyed learner is a byte that states its type (none, integer, string) and the value. The *epoch* is a
random name of each opening of the store. Epoch and sequence distinguish a decision of this journal from a decision that
another copy of the file made (a restored backup). Format 1, written by version 0.2, has an 8-bit number of the secret
and one arm; its tickets still settle. engine/bindings/signing.cpp writes and parses both.
"""

from __future__ import annotations

import re
import struct
from typing import Any, NamedTuple

import numpy as np

from hannan import _engine, validation
from hannan.serving import BODY, CONFLICT, TICKET, Refused

#: Format of the tickets that are written; formats 1 and 2 are read.
FORMAT = 2
#: Kinds of decisions.
ARM, SLATE = 0, 1
#: Largest number of a secret: a number of 31 bits, as an integer of PostgreSQL.
MAX_SECRETS = (1 << 31) - 1
_HEAD = struct.Struct("<BB8s8sIH")
#: Limit on the length of keys, which tickets contain.
MAX_KEY_BYTES = 200
MAX_ID_LENGTH = 200
#: Characters that a backend cannot store: PostgreSQL has no NUL in text, and UTF-8 no lone surrogates.
_NO_TEXT = re.compile("[\0\ud800-\udfff]")

Key = int | str | None


class Ticket(NamedTuple):
    """Fields of a ticket. `learner` is the number of one stage of a learner, and `stage` counts the stages from 1.

    `arms` and `probabilities` have one entry per chosen arm: one arm, or the items of a slate with their inclusion
    probabilities. `probability` is that of the whole decision; NaN if the probability of a slate is not known.
    """

    kind: int
    journal: bytes
    epoch: bytes
    learner: int
    shard: int
    secret: int
    stage: int
    sequence: int
    round: int
    arms: tuple[int, ...]
    probabilities: tuple[float, ...]
    probability: float
    key: Key

    @property
    def arm(self) -> int:
        """The arm, or the first item of a slate."""
        return self.arms[0]


def varint(value: int) -> bytes:
    """Encode a number >= 0 with 7 bits per byte, the lowest first.

    >>> varint(5), varint(300)
    (b'\\x05', b'\\xac\\x02')
    """
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def checked_key(key: Any) -> Key:
    """Return the key of a learner; raise ValueError unless it is an integer of 64 bits or a string.

    >>> checked_key(17), checked_key("anna"), checked_key(None)
    (17, 'anna', None)
    """
    if key is None:
        return None
    if isinstance(key, str) and 0 < len(key.encode("utf-8", "surrogatepass")) <= MAX_KEY_BYTES and key.isprintable():
        return key
    if isinstance(key, int) and not isinstance(key, bool) and -(1 << 63) <= key < 1 << 63:
        return key
    raise ValueError(
        f"key must be an integer of 64 bits, or a printable string of 1 to {MAX_KEY_BYTES} bytes; "
        f"got {validation.brief(key)}"
    )


def checked_id(id: Any) -> str | None:
    """Return the id of a decision, or raise Refused if it is not one that every backend can store.

    >>> checked_id("order-17")
    'order-17'
    """
    if id is None:
        return None
    if isinstance(id, str) and 0 < len(id) <= MAX_ID_LENGTH and not _NO_TEXT.search(id):
        return id
    raise Refused(
        BODY,
        f"id must be a string of 1 to {MAX_ID_LENGTH} characters without NUL and lone surrogates; "
        f"got {validation.brief(id)}",
    )


def checked_secret(number: int) -> int:
    """Return the number of a new secret; raise Refused if the store has had as many as it can."""
    if number > MAX_SECRETS:
        raise Refused(CONFLICT, f"a store can have at most {MAX_SECRETS} secrets; start a new store")
    return number


def key_bytes(key: Key) -> bytes:
    """Return a key as bytes, which begin with its type."""
    if key is None:
        return b"\0"
    if isinstance(key, int):
        return b"\1" + key.to_bytes(8, "little", signed=True)
    return b"\2" + key.encode()


class Slate(NamedTuple):
    """Several arms shown together: their inclusion probabilities, and the probability of the slate.

    The inclusion probability of an arm is the probability that the slate contains the arm. The probability of the slate
    is NaN if it is not known.
    """

    arms: tuple[int, ...]
    inclusion: tuple[float, ...]
    probability: float


class Stage(NamedTuple):
    """A stage of a learner: a number that is unique in the store, and its ordinal among the stages, from 1."""

    number: int
    ordinal: int


class TicketSigner:
    """Signs tickets with the newest secret, and verifies tickets of all secrets that are not retired.

    >>> signer = TicketSigner({1: b"s" * 32}, b"journal1", b"epoch--1", 0)
    >>> text = signer.ticket(Stage(0, 1), 2, 10, 3, 0.25, key_bytes("anna"))
    >>> signer.parse(text).arm, signer.parse(text).probability, signer.parse(text).key
    (2, 0.25, 'anna')
    >>> signer.parse(text[:-10] + "AAAAAAAA" + text[-2:])
    Traceback (most recent call last):
    ...
    hannan.serving.Refused: invalid signature: the ticket was edited...
    >>> text = signer.slate(Stage(0, 1), Slate((4, 2), (0.5, 0.25), 0.125), 10, 3, key_bytes(None))
    >>> signer.parse(text).arms, signer.parse(text).probabilities, signer.parse(text).probability
    ((4, 2), (0.5, 0.25), 0.125)
    """

    def __init__(self, secrets: dict[int, bytes], journal: bytes, epoch: bytes, shard: int) -> None:
        self._signers = {number: _engine.Signer(secret) for number, secret in secrets.items()}
        self.journal, self.epoch, self.shard = journal, epoch, shard
        self._use(max(secrets))

    def _use(self, number: int) -> None:
        self._number, self._signer = number, self._signers[number]
        #: First bytes of the tickets of each stage: of one arm, and of slates.
        self._heads: tuple[dict[int, bytes], dict[int, bytes]] = ({}, {})

    def add(self, number: int, secret: bytes) -> None:
        """Sign with this secret from now on. Tickets of the other secrets remain valid."""
        self._signers[number] = _engine.Signer(secret)
        self._use(number)

    def retire(self, number: int) -> None:
        """Reject tickets of this secret from now on."""
        if number == self._number:
            raise ValueError(f"secret {number} signs new tickets; call rotate_secret() before you retire it")
        if self._signers.pop(number, None) is None:
            raise ValueError(f"no secret {number} in this store; secrets are {sorted(self._signers)}")

    @property
    def numbers(self) -> list[int]:
        """Numbers of the secrets whose tickets are valid, oldest first; the last one signs."""
        return sorted(self._signers)

    def _head(self, stage: Stage, kind: int = ARM) -> bytes:
        head = self._heads[kind].get(stage.number)
        if head is None:
            head = _HEAD.pack(FORMAT, kind, self.journal, self.epoch, stage.number, self.shard)
            head += varint(self._number) + varint(stage.ordinal)
            self._heads[kind][stage.number] = head
        return head

    def ticket(self, stage: Stage, arm: int, sequence: int, number: int, p: float, key: bytes) -> str:
        """Return one signed ticket."""
        text: str = self._signer.ticket(self._head(stage), arm, sequence, number, p, key)
        return text

    def slate(self, stage: Stage, slate: Slate, sequence: int, number: int, key: bytes) -> str:
        """Return the signed ticket of a slate."""
        arms, inclusion = np.array(slate.arms, dtype=np.int64), np.array(slate.inclusion, dtype=np.float64)
        head = self._head(stage, SLATE)
        text: str = self._signer.slate(
            head, arms, inclusion, probability=slate.probability, sequence=sequence, round=number, key=key
        )
        return text

    def tickets(self, stage: Stage, arms: Any, first: int, rounds: Any, p: Any, keys: Any = b"\0") -> list[str]:
        """Return signed tickets of consecutive decisions; `keys` is the bytes of one key, or a list of them."""
        signed: list[str] = self._signer.tickets(self._head(stage), arms, first, rounds, p, keys)
        return signed

    def answer(self, stage: Stage, labels: list[bytes], arms: Any, first: int, rounds: Any, p: Any, keys: Any) -> bytes:
        """Return the same as the JSON of an answer, up to its probabilities; `labels` are the arms as JSON."""
        text: bytes = self._signer.answer(
            self._head(stage), arms, first, rounds=rounds, probabilities=p, keys=keys, labels=labels
        )
        return text

    def parse(self, text: Any) -> Ticket:
        """Return the fields of a ticket; raise Refused if this store did not sign it."""
        parts: Any = _engine.ticket_fields(text)
        if parts is None:
            raise Refused(TICKET, f"invalid ticket {validation.brief(text)}: pass the string returned by act()")
        if len(parts) == 1:
            raise Refused(TICKET, f"the ticket has format {parts[0]}; this version reads formats 1 and {FORMAT}")
        raw, _, *fields = parts
        ticket = Ticket(*fields)
        if ticket.journal != self.journal and ticket.shard == self.shard:
            raise Refused(TICKET, f"the ticket belongs to another store ({ticket.journal.hex()})")
        if ticket.shard != self.shard:
            raise Refused(TICKET, f"the ticket belongs to shard {ticket.shard}; this is shard {self.shard}")
        signer = self._signers.get(ticket.secret)
        if signer is None:
            raise Refused(
                TICKET,
                f"the ticket was signed with secret {ticket.secret}, which is retired or unknown",
            )
        if not signer.signs(raw):
            raise Refused(
                TICKET,
                "invalid signature: the ticket was edited or signed by another store. Pass the string of act()",
            )
        return ticket
