"""BLAKE2b of the engine equals hashlib, and tickets of the engine equal those written by Python."""

from __future__ import annotations

import base64
import hashlib
import struct

import numpy as np
import pytest

from hannan import _engine
from hannan.serving.tickets import varint

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("size", [0, 1, 50, 66, 127, 128, 129, 255, 256, 257, 1000])
@pytest.mark.parametrize("key", [0, 1, 32, 64])
@pytest.mark.parametrize("digest", [1, 16, 64])
def test_digests(size: int, key: int, digest: int) -> None:
    data, secret = RNG.bytes(size), RNG.bytes(key)
    assert _engine.blake2b(data, secret, digest) == hashlib.blake2b(data, key=secret, digest_size=digest).digest()


@pytest.mark.parametrize("keys", [b"\0", [b"\1" + bytes(8), b"\2anna", b"\2b"]])
def test_tickets(keys: bytes | list[bytes]) -> None:
    arms, p = np.array([0, 7, 65535]), np.array([0.25, 1e-9, 1.0])
    rounds = np.array([1, 5 << 32 | 3, (1 << 63) - 1], dtype=np.uint64)
    secret, head = RNG.bytes(32), RNG.bytes(26)
    signer = _engine.Signer(secret)
    for k, text in enumerate(signer.tickets(head, arms, 2**40, rounds, p, keys)):
        numbers = (2**40 + k, int(rounds[k]) >> 32, int(rounds[k]) & 0xFFFFFFFF, int(arms[k]))
        body = head + b"".join(map(varint, numbers)) + struct.pack("<d", p[k])
        body += keys if isinstance(keys, bytes) else keys[k]
        whole = body + hashlib.blake2b(body, key=secret, digest_size=16).digest()
        assert text == base64.urlsafe_b64encode(whole).decode().rstrip("=")
        assert _engine.ticket_bytes(text) == whole
        assert signer.signs(whole)
        for place in range(len(whole)):
            assert not signer.signs(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
    assert not signer.signs(b"")
    assert not _engine.Signer(RNG.bytes(32)).signs(whole)


@pytest.mark.parametrize("size", [0, 1, 2, 3, 67, 68, 69])
def test_only_canonical_texts_are_decoded(size: int) -> None:
    raw = RNG.bytes(size)
    text = base64.urlsafe_b64encode(raw).decode().rstrip("=")
    assert _engine.ticket_bytes(text) == raw
    for bad in (text + "=", text + "!", " " + text, text + "\n", text[:-1] + "\u00e9", "+/" + text, "\ud800", 7, None):
        assert _engine.ticket_bytes(bad) is None
    if size % 3:  # bits that do not belong to a byte
        other = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
        assert _engine.ticket_bytes(text[:-1] + other[other.index(text[-1]) ^ 1]) is None
    assert _engine.ticket_bytes("A" * 4097) is None
