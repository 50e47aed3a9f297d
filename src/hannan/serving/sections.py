"""Sections of a snapshot: named parts, each with its length and its checksum.

    4s "HNS2", u32 length of the table, u32 crc32 of the table, the table, then the sections one after another
    table    JSON: [[name, length, crc32], ...] in the order of the sections

A flipped bit is detected anywhere: in the table by its own checksum, in a section by the checksum in the table. A
version of the package rejects sections that it does not know, because the next snapshot that it writes would lose them.
"""

from __future__ import annotations

import itertools
import json
import struct
import zlib
from collections.abc import Iterable

from hannan.serving.records import Damaged

MAGIC = b"HNS2"
_HEAD = struct.Struct("<4sII")


class Newer(ValueError):
    """A snapshot that a newer version of the package has written."""


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
    return [_HEAD.pack(MAGIC, len(text), zlib.crc32(text)) + text, *pieces]


def read(blob: bytes) -> dict[str, bytes]:
    """Return the sections of a snapshot by name; raise Damaged if one bit differs from what was written."""
    if len(blob) < _HEAD.size or blob[:4] != MAGIC:
        raise Damaged(f"a snapshot must begin with {MAGIC!r}; got {bytes(blob[:4])!r}")
    _, size, check = _HEAD.unpack_from(blob)
    at = _HEAD.size + size
    text = blob[_HEAD.size : at]
    if len(text) != size or zlib.crc32(text) != check:
        raise Damaged("the checksum of the table of sections does not match")
    table = json.loads(text)
    ends = list(itertools.accumulate((length for _, length, _ in table), initial=at))
    if ends[-1] != len(blob):
        raise Damaged(f"the sections must have {ends[-1] - at} bytes; got {len(blob) - at}")
    found = dict[str, bytes]()
    for (name, _, expected), (begin, end) in zip(table, itertools.pairwise(ends), strict=True):
        content = blob[begin:end]
        if zlib.crc32(content) != expected:
            raise Damaged(f"the checksum of section {name!r} does not match")
        found[name] = content
    return found
