"""Tickets of formats 1 and 2: layout, signature, and rejection of everything that the store did not sign."""

from __future__ import annotations

import base64
import hashlib
import math
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hannan as hn
from hannan.client import shard_of_ticket
from hannan.serving import TICKET, Refused
from hannan.serving.sqlite import SQLiteBackend
from hannan.serving.store import Store
from hannan.serving.tickets import ARM, MAX_SECRETS, SLATE, Slate, Stage, TicketSigner, key_bytes, varint

SECRET, JOURNAL, EPOCH = b"s" * 32, b"journal1", b"epoch--1"


def signer(secrets: dict[int, bytes] | None = None, shard: int = 5) -> TicketSigner:
    return TicketSigner({1: SECRET} if secrets is None else secrets, JOURNAL, EPOCH, shard)


def encoded(body: bytes, secret: bytes = SECRET) -> str:
    """Sign and encode the bytes of a ticket, independently of the engine."""
    raw = body + hashlib.blake2b(body, key=secret, digest_size=16).digest()
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


@pytest.mark.parametrize("key", [None, -3, 1 << 62, "anna", "Zoë"])
@pytest.mark.parametrize("secret", [1, 127, 128, 300, MAX_SECRETS])
def test_layout_of_a_ticket_of_one_arm(key: Any, secret: int) -> None:
    text = signer({secret: SECRET}).ticket(Stage(7, 2), 300, 123_456, 4 << 32 | 99, 0.25, key_bytes(key))
    head = struct.pack("<BB8s8sIH", 2, ARM, JOURNAL, EPOCH, 7, 5)
    numbers = b"".join(map(varint, (secret, 2, 123_456, 4, 99, 300)))
    assert text == encoded(head + numbers + struct.pack("<d", 0.25) + key_bytes(key))
    found = signer({secret: SECRET}).parse(text)
    assert (found.kind, found.learner, found.shard, found.secret, found.stage) == (ARM, 7, 5, secret, 2)
    assert (found.sequence, found.round, found.arms, found.key) == (123_456, 4 << 32 | 99, (300,), key)
    assert (found.probabilities, found.probability) == ((0.25,), 0.25)
    assert shard_of_ticket(text) == 5


@pytest.mark.parametrize("p", [0.125, math.nan])
@pytest.mark.parametrize("items", [1, 2, 10, 256])
def test_layout_of_a_ticket_of_a_slate(items: int, p: float) -> None:
    arms, odds = list(range(items)), [1.0 / (1 + k) for k in range(items)]
    text = signer().slate(Stage(7, 1), Slate(tuple(arms), tuple(odds), p), 9, 3, key_bytes("anna"))
    head = struct.pack("<BB8s8sIH", 2, SLATE, JOURNAL, EPOCH, 7, 5) + b"".join(map(varint, (1, 1, 9, 0, 3, items)))
    per_item = b"".join(varint(arm) + struct.pack("<d", x) for arm, x in zip(arms, odds, strict=True))
    assert text == encoded(head + struct.pack("<d", p) + per_item + b"\2anna")
    found = signer().parse(text)
    assert (found.kind, found.arms, found.probabilities, found.key) == (SLATE, tuple(arms), tuple(odds), "anna")
    assert found.probability == p or (math.isnan(found.probability) and math.isnan(p))
    assert shard_of_ticket(text) == 5


def test_slates_of_invalid_size_are_rejected() -> None:
    for arms, odds in (((), ()), ((0,) * 257, (0.5,) * 257), ((0, 1), (0.5,))):
        with pytest.raises(ValueError, match="1 to 256 items"):
            signer().slate(Stage(0, 1), Slate(arms, odds, 0.5), 0, 1, b"\0")


def test_a_ticket_of_one_arm_is_no_longer_than_in_format_1() -> None:
    text = signer().ticket(Stage(3, 1), 1, 10**9, 10**6, 0.25, b"\0")
    assert len(text) <= 90  # the length of format 1


def format_1(secret: int = 1, key: bytes = b"\0", arm: int = 2) -> bytes:
    return struct.pack("<BB8s8sIHHQQd", 1, secret, JOURNAL, EPOCH, 7, 5, arm, 10, 3, 0.25) + key


def test_format_1_is_read() -> None:
    for key in (None, 17, "anna"):
        found = signer({1: b"x" * 32, 9: SECRET}).parse(encoded(format_1(9, key_bytes(key))))
        assert (found.kind, found.secret, found.stage, found.arms, found.probabilities) == (ARM, 9, 1, (2,), (0.25,))
        assert (found.learner, found.sequence, found.round, found.key) == (7, 10, 3, key)


def test_malformed_tickets_are_rejected() -> None:
    """Truncation with a valid signature, every flipped bit, unknown formats and kinds, slates of invalid size."""
    slate = signer().slate(Stage(7, 1), Slate((4, 2), (0.5, 0.25), 0.125), 9, 3, key_bytes(17))
    single = signer().ticket(Stage(7, 1), 2, 10, 3, 0.25, key_bytes(17))
    for text in (slate, single, encoded(format_1(1, key_bytes(17)))):
        raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        for cut in range(len(raw) - 16):
            with pytest.raises(Refused) as caught:
                signer().parse(encoded(raw[:cut]))
            assert caught.value.status == TICKET
        for place in range(8 * len(raw)):
            flipped = bytearray(raw)
            flipped[place >> 3] ^= 1 << (place & 7)
            with pytest.raises(Refused):
                signer().parse(base64.urlsafe_b64encode(flipped).decode().rstrip("="))
    for form in (0, 3, 255):
        with pytest.raises(Refused, match=f"has format {form}"):
            signer().parse(encoded(bytes([form]) + bytes(60)))
    head = struct.pack("<BB8s8sIH", 2, 2, JOURNAL, EPOCH, 7, 5)
    with pytest.raises(Refused, match="invalid ticket"):
        signer().parse(encoded(head + bytes(40)))  # an unknown kind of decision
    for items in (0, 257):
        body = struct.pack("<BB8s8sIH", 2, SLATE, JOURNAL, EPOCH, 7, 5) + b"\1\1\1\0\1" + varint(items) + bytes(2600)
        with pytest.raises(Refused):
            signer().parse(encoded(body))


def test_random_texts_are_rejected() -> None:
    rng = np.random.default_rng(0)
    for size in range(300):
        raw = bytes([int(rng.integers(1, 3)), int(rng.integers(0, 3))]) + rng.bytes(size)
        with pytest.raises(Refused):
            signer().parse(base64.urlsafe_b64encode(raw).decode().rstrip("="))


def test_control_a_signature_under_the_same_secret_is_accepted() -> None:
    """Negative control of the rejections above: the same bytes, signed with the secret of the store, are accepted."""
    assert signer().parse(encoded(format_1())).arm == 2


def test_three_hundred_secrets(tmp_path: Path) -> None:
    """The number of a secret has 31 bits: 300 rotations leave a store that opens, acts and settles."""
    path = tmp_path / "decisions.db"
    with Store(path) as store:
        store.add("a", hn.Bandit(["x", "y"], gains=True))
        first = store.act("a")
        assert [store.rotate_secret() for _ in range(300)] == list(range(2, 302))
        last = store.act("a")
    with Store(path) as store:
        assert store.secrets == list(range(1, 302))
        assert store.observe(first.ticket, reward=1) is True
        assert store.observe(last.ticket, reward=1) is True
        assert store.observe(store.act("a").ticket, reward=1) is True


def test_a_slate_is_rejected_by_a_learner_of_one_arm(tmp_path: Path) -> None:
    with Store(tmp_path / "decisions.db") as store:
        store.add("a", hn.Bandit(["x", "y"], gains=True))
        store.act("a")
        slate, sequence = Slate((0, 1), (0.5, 0.5), 1.0), store.queue.contents.sequence - 1
        text = store.queue.signer.slate(Stage(0, 1), slate, sequence, 1, b"\0")
        with pytest.raises(Refused, match="ticket of 2 arms"):
            store.observe(text, reward=1)


def test_the_last_number_of_a_secret_is_checked_before_it_is_stored(tmp_path: Path) -> None:
    path = tmp_path / "decisions.db"
    with Store(path) as store:
        store.add("a", hn.Bandit(["x", "y"], gains=True))
        store.rotate_secret()
    backend = SQLiteBackend(path, 0, 1)
    backend._connection.execute("UPDATE sqlite_sequence SET seq = ? WHERE name = 'secrets'", (MAX_SECRETS - 1,))
    backend.close()
    with Store(path) as store:
        assert store.rotate_secret() == MAX_SECRETS
        move = store.act("a")
        with pytest.raises(Refused, match=f"{MAX_SECRETS} secrets"):
            store.rotate_secret()
        assert store.secrets[-1] == MAX_SECRETS
    with Store(path) as store:
        assert store.observe(move.ticket, reward=1) is True
        assert store.act("a").probability > 0
