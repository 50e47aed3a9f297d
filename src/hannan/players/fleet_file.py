"""A fleet as bytes, learners by columns that have names; every value is checked on the way back. And parts of fleets.

hannan-fleet/1
{"learner": ..., "name": ..., "learners": 3, "open": 1, "columns": [["losses", "f", 10], ...], "sha256": ...}
the columns, one after another, 8 bytes a number, little-endian
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hannan import saving, validation
from hannan.players import identity
from hannan.saving import fields

Keys = NDArray[np.int64] | list[str]
_LEAST, _MOST = -(1 << 63), (1 << 63) - 1


def plain(keys: Any) -> Keys:
    """Keys as an array of whole numbers, or as a list of text.

    >>> plain([3, -1]), plain(["anna", "ben"])
    (array([ 3, -1]), ['anna', 'ben'])
    >>> plain("anna")
    Traceback (most recent call last):
    ...
    ValueError: keys must be a list or an array of keys, also where there is one; got 'anna'
    """
    validation.unmasked(keys, "keys")
    if isinstance(keys, (str, bytes, int, np.generic)) or (isinstance(keys, np.ndarray) and keys.ndim != 1):
        shape = f" of shape {keys.shape}" if isinstance(keys, np.ndarray) else ""
        raise ValueError(
            f"keys must be a list or an array of keys, also where there is one; got {validation.brief(keys)}{shape}"
        )
    if isinstance(keys, np.ndarray) or hasattr(keys, "__array__"):
        array = np.asarray(keys)
        if array.dtype.kind == "i":
            return np.ascontiguousarray(array, dtype=np.int64)
        if array.dtype.kind == "u":
            if array.size and int(array.max()) > _MOST:
                raise _out_of_range(int(array.max()))
            return np.ascontiguousarray(array, dtype=np.int64)
        if array.dtype.kind not in "UO" and array.size:
            raise ValueError(f"keys must be whole numbers or text; got {array.dtype.name} values")
        keys = array.tolist()
    found = list(keys)
    if all(isinstance(key, str) for key in found) and found:
        return [_text(key) for key in found]
    for k, key in enumerate(found):
        if not isinstance(key, (int, np.integer)) or isinstance(key, bool):
            what = "all whole numbers or all text" if isinstance(key, str) else "whole numbers or text"
            raise ValueError(f"keys must be {what}; got {validation.brief(key)} at index {k}")
        if not _LEAST <= key <= _MOST:
            raise _out_of_range(int(key))
    return np.array(found, dtype=np.int64)


def one_key(key: Any) -> Keys:
    """One key, as `plain` makes a list of it."""
    return plain([key])


def stream_words(names: list[str]) -> NDArray[np.uint32]:
    """What the stream of a text begins with besides the seed: the four words of its BLAKE2b-128."""
    digests = b"".join(hashlib.blake2b(name.encode(), digest_size=16).digest() for name in names)
    return np.frombuffer(digests, dtype="<u4").astype(np.uint32).reshape(len(names), 4)


def _text(key: str) -> str:
    try:
        key.encode()
    except UnicodeEncodeError:
        raise ValueError(f"keys of text must be what UTF-8 can say; got {validation.brief(key)}") from None
    return str(key)


def _out_of_range(key: int) -> ValueError:
    return ValueError(f"keys must be whole numbers of 64 bits, -2^63 to 2^63 - 1; got {validation.brief(key)}")


FORMAT = b"hannan-fleet/1\n"
_NONE = np.empty(0, dtype=np.int64)
_FIELDS = {
    "learner", "seed", "name", "incarnation", "ids", "spawning", "prior", "text", "names", "born", "learners", "open",
    "columns", "sha256",
}  # fmt: skip
#: Pages of learners that are copied in one breath; names that are written in one.
_PAGES, _SOME = 64, 5000
#: How far apart the numbers of learners may lie, on average, for them to be kept: memory is taken up to the last.
_SPARSEST = 64
#: Of a learner that nobody plays yet: more are not made for a file that has nothing else to show.
_MOST_ARMS = 1 << 20


def between(fleet: Any, low: Any, high: Any) -> NDArray[np.int64]:
    """The numbers of the learners with low <= key < high."""
    for name, edge in (("low", low), ("high", high)):
        if edge is not None and len(fleet) and isinstance(one_key(edge), list) != bool(fleet._text):
            kind = "text" if fleet._text else "a whole number"
            raise ValueError(f"{name} must be {kind}, as the keys of this fleet are; got {validation.brief(edge)}")
    if fleet._text:
        return np.array(
            [k for key, k in fleet._number.items() if (low is None or key >= low) and (high is None or key < high)],
            dtype=np.int64,
        )
    numbers: NDArray[np.int64] = fleet._numbers()
    keys = fleet._keys(numbers)
    good = np.ones(len(keys), dtype=bool)
    if low is not None:
        good &= keys >= low
    if high is not None:
        good &= keys < high
    return numbers[good]


def split(fleet: Any, apart: Any, numbers: NDArray[np.int64]) -> Any:
    """Those learners, into a fleet that is not begun."""
    apart._begin(fleet.learner, fleet.prior, fleet._diagnosed)
    apart.seed, apart.resumed, apart._ids = fleet.seed, fleet.resumed, list(fleet._ids)
    apart._spawn(fleet._spawning)  # new keys of two parts draw from streams that differ, because keys do
    apart._named(identity.named(None), "")
    _move(fleet, apart, numbers)
    return apart


def join(fleet: Any, other: Any) -> None:
    """All learners of another fleet, into this one."""
    if other is fleet or not isinstance(other, type(fleet)):
        raise ValueError(f"a fleet must be joined with another fleet; got {other!r}")
    if saving.describe(other.learner) != saving.describe(fleet.learner) or not np.array_equal(other.prior, fleet.prior):
        raise ValueError(
            f"fleets that join must be of one learner and one prior, {fleet.learner!r}; got {other.learner!r}"
        )
    if len(fleet) and len(other) and fleet._text != other._text:
        raise ValueError("fleets that join must have keys of one kind; got whole numbers and text")
    twice = np.flatnonzero(fleet.number(other.keys) >= 0) if len(fleet) and len(other) else _NONE
    if len(twice):
        key = other._key_of(int(other._numbers()[twice[0]]))
        raise ValueError(f"fleets that join must have no key in both; got {validation.brief(key)}")
    fleet._ids += [name for name in other._ids if name not in fleet._ids]
    fleet._named(fleet.name, fleet.incarnation)
    _move(other, fleet, other._numbers())
    fleet.seed = fleet.seed if other.seed is None else other.seed
    fleet.resumed = fleet.resumed or other.resumed


def _move(fleet: Any, to: Any, numbers: NDArray[np.int64]) -> None:
    columns = fleet._snapshot(numbers).columns()
    columns["origin"] = np.array([to._ids.index(name) for name in fleet._ids], dtype=np.uint64)[columns["origin"]]
    text = bool(fleet._text)
    keys = np.zeros(len(numbers), dtype=np.int64) if text else fleet._keys(numbers)
    given = to._put(columns, keys, not text, _NONE)
    if len(numbers):
        to._text = text
    if text:
        for old, new in zip(numbers.tolist(), given.tolist(), strict=True):
            to._number[fleet._name[old]], to._name[new] = new, fleet._name[old]
    fleet._drop(numbers)


def written(fleet: Any) -> bytes:
    """All of a fleet."""
    return b"".join(gathered(fleet)())


def gathered(fleet: Any) -> Callable[[], list[bytes]]:
    """All of a fleet as it is now, copied; its bytes are made when they are asked for, while it may go on playing."""
    snapshot = fleet._snapshot_of_all()
    ids, origin, plan = list(fleet._ids), fleet._origin, fleet._columns()
    # Numbers are given once and grow, so names are in the order of their numbers.
    header = {
        "learner": saving.describe(fleet.learner),
        **{name: told for name, told in fleet._who().items() if name in _FIELDS},
        "spawning": list(fleet._spawning),
        "prior": saving.to_hex(fleet.prior),
        "text": fleet._text,
        "names": [],
        "born": fleet._born,
        "learners": snapshot.learners,
        "columns": [list(column) for column in plan[0] + plan[1]],
    }

    names = list(fleet._number) if fleet._text else []

    def made() -> list[bytes]:
        while snapshot.expose(_PAGES):
            time.sleep(0.001)  # not 0: whoever waits for the interpreter could be passed by again and again
        # Of its ids, those that open decisions were drawn under, and its own.
        used = np.unique(np.append(snapshot.origins(), np.uint64(origin)))
        told = {**header, "open": snapshot.open, "ids": [ids[k] for k in used.tolist()]}
        body, text = snapshot.body(used), _names(names)
        told["sha256"] = _sha256(_spliced(told, text), body)
        return [FORMAT + _spliced(told, text) + b"\n", body]

    return made


def _names(names: list[str]) -> bytes:
    """A list as JSON, some of it at a time: a million names at once would hold up every other thread."""
    some = (json.dumps(names[k : k + _SOME])[1:-1] for k in range(0, len(names), _SOME))
    return b"[" + ", ".join(some).encode() + b"]"


def _spliced(header: dict[str, Any], names: bytes) -> bytes:
    """A header as JSON, with these names."""
    before, here, after = json.dumps(header, sort_keys=True).rpartition('"names": []')
    return before.encode() + here[:-2].encode() + names + after.encode()


def _digest(header: dict[str, Any], body: bytes) -> str:
    text = json.dumps({name: value for name, value in header.items() if name != "sha256"}, sort_keys=True)
    return _sha256(text.encode(), body)


def _sha256(head: bytes, body: bytes) -> str:
    digest = hashlib.sha256(FORMAT + head + b"\n")
    digest.update(body)
    return digest.hexdigest()


def loaded(fleet: Any, data: bytes, resume: str | None, where: str) -> Any:
    """A fleet of `written`, every value checked, into one that is not begun."""
    if resume not in (None, "exact"):
        raise ValueError(f'resume must be "exact" or None; got {resume!r}')
    try:
        header, body = _parts(data)
        _read(fleet, header, body, exact=resume == "exact")
        fleet.resumed = True
        if resume is None:
            fleet._reincarnate()
    except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError, MemoryError, RuntimeError) as error:
        raise ValueError(f"{where} cannot be resumed as a fleet: {error}") from error
    return fleet


def _parts(data: bytes) -> tuple[dict[str, Any], bytes]:
    if not data.startswith(FORMAT):
        raise ValueError(f"it must begin with {FORMAT.decode().strip()}; got {validation.brief(data[:20])}")
    line, _, body = data[len(FORMAT) :].partition(b"\n")
    header = saving.plain_json(line.decode())
    if not isinstance(header, dict) or header.keys() != _FIELDS:
        raise ValueError(f"its head must have the fields {', '.join(sorted(_FIELDS))}; it has not")
    if _digest(header, body) != header["sha256"]:
        raise ValueError("it was edited or damaged: its content does not match its checksum")
    return header, body


def _read(fleet: Any, header: dict[str, Any], body: bytes, exact: bool) -> None:
    learner = saving.build(header["learner"])
    seed, name, incarnation = identity.told(header)
    n = fields.whole(getattr(learner, "n", None), "number of arms", 1)
    digits = fields.text(header["prior"], "prior")
    m, k = (
        fields.whole(header["learners"], "number of learners"),
        fields.whole(header["open"], "number of open decisions"),
    )
    # A small file of a large learner is refused before anything is made for it.
    if m and len(body) < 8 * n * m:
        raise ValueError(f"its learners must have a number for each of {n} arms; they have not")
    if not m and n > _MOST_ARMS:
        raise ValueError(f"a file of no learners must be of at most {_MOST_ARMS} arms; got {n}")
    prior = fields.numbers(digits, n, "prior", 0.0) if digits else np.empty(0)
    fleet._begin(learner, prior, ["diagnosed", "u", 0] in fields.items(header["columns"], "columns"))
    fleet.seed = seed
    fleet._ids = [fields.text(one, "id") for one in fields.items(header["ids"], "ids")]
    fleet._named(name, incarnation)
    if len(set(fleet._ids)) != len(fleet._ids) or len(fleet._ids) != len(header["ids"]):
        raise ValueError("its ids must be those that it drew under, once each, its own among them; they are not")
    spawning = fields.items(header["spawning"], "spawning", 5)
    fleet._spawn([fields.whole(word, "spawning", 0, (1 << 32) - 1) for word in spawning])
    plan = fleet._columns()
    if header["columns"] != [list(column) for column in plan[0] + plan[1]]:
        raise ValueError(f"its columns must be those of its learner; got {validation.brief(header['columns'])}")
    columns = _columns(plan, m, k, body)
    numbers, keys = columns.pop("number"), columns.pop("key").view(np.int64)
    born = fields.whole(header["born"], "learners born", 0, 1 << 31)
    text, names = header["text"], fields.items(header["names"], "names", m if header["text"] is True else 0)
    if text not in (None, True, False) or (m and text is None):
        raise ValueError(f"its text must say whether keys are text; got {validation.brief(text)}")
    kept = numbers.astype(np.int64) if exact else _NONE
    if exact and m and (int(numbers.max()) >= born or born > _SPARSEST * (m + 64)):
        raise ValueError(
            f"its learners must have numbers below {born}, and be one in {_SPARSEST} of those born "
            "(load it without resume, which numbers them anew)"
        )
    given = fleet._put(columns, keys, text is False, kept)
    fleet._text = text
    if exact:
        fleet._born_up_to(born)
    for number, one in zip(given.tolist(), names, strict=False):
        (key,) = one_key(fields.text(one, "key"))
        if key in fleet._number:
            raise ValueError(f"its keys must be there once; got {validation.brief(key)} again")
        fleet._number[key], fleet._name[number] = number, key


def _columns(plan: Any, m: int, k: int, body: bytes) -> dict[str, Any]:
    sizes = [m * width for _, _, width in plan[0]] + [k * width for _, _, width in plan[1]]
    if len(body) != 8 * sum(sizes):
        raise ValueError(f"its columns must have {sum(sizes)} numbers; got {len(body) / 8:g}")
    found, at = {}, 0
    for (name, kind, _), size in zip(plan[0] + plan[1], sizes, strict=True):
        found[name] = np.frombuffer(body, f"<{kind}8", size, at).astype(f"{kind}8")
        at += 8 * size
    return found
