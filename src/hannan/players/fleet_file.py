"""Files of fleets, with one named column per number of a learner, and splitting and joining of fleets.

hannan-fleet/1
{"learner": ..., "name": ..., "learners": 3, "open": 1, "columns": [["losses", "f", 10], ...], "sha256": ...}
the columns, one after another, 8 bytes per number, little-endian

Every value is validated when a file is read.
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
    """Return keys as an array of integers, or as a list of strings.

    >>> plain([3, -1]), plain(["anna", "ben"])
    (array([ 3, -1]), ['anna', 'ben'])
    >>> plain("anna")
    Traceback (most recent call last):
    ...
    ValueError: keys must be a list or an array, also for a single key; got 'anna'
    """
    validation.unmasked(keys, "keys")
    if isinstance(keys, (str, bytes, int, np.generic)) or (isinstance(keys, np.ndarray) and keys.ndim != 1):
        shape = f" of shape {keys.shape}" if isinstance(keys, np.ndarray) else ""
        raise ValueError(f"keys must be a list or an array, also for a single key; got {validation.brief(keys)}{shape}")
    if isinstance(keys, np.ndarray) or hasattr(keys, "__array__"):
        array = np.asarray(keys)
        if array.dtype.kind == "i":
            return np.ascontiguousarray(array, dtype=np.int64)
        if array.dtype.kind == "u":
            if array.size and int(array.max()) > _MOST:
                raise _out_of_range(int(array.max()))
            return np.ascontiguousarray(array, dtype=np.int64)
        if array.dtype.kind not in "UO" and array.size:
            raise ValueError(f"keys must be integers or strings; got {array.dtype.name} values")
        keys = array.tolist()
    found = list(keys)
    if all(isinstance(key, str) for key in found) and found:
        return [_text(key) for key in found]
    for k, key in enumerate(found):
        if not isinstance(key, (int, np.integer)) or isinstance(key, bool):
            what = "all integers or all strings" if isinstance(key, str) else "integers or strings"
            raise ValueError(f"keys must be {what}; got {validation.brief(key)} at index {k}")
        if not _LEAST <= key <= _MOST:
            raise _out_of_range(int(key))
    return np.array(found, dtype=np.int64)


def one_key(key: Any) -> Keys:
    """Return one key in the form of `plain`."""
    return plain([key])


def stream_words(names: list[str]) -> NDArray[np.uint32]:
    """Return the four words of the BLAKE2b-128 digest of each string, which seed its stream together with the seed."""
    digests = b"".join(hashlib.blake2b(name.encode(), digest_size=16).digest() for name in names)
    return np.frombuffer(digests, dtype="<u4").astype(np.uint32).reshape(len(names), 4)


def _text(key: str) -> str:
    try:
        key.encode()
    except UnicodeEncodeError:
        raise ValueError(f"keys must be strings that can be encoded in UTF-8; got {validation.brief(key)}") from None
    return str(key)


def _out_of_range(key: int) -> ValueError:
    return ValueError(f"keys must be integers from -2^63 to 2^63 - 1; got {validation.brief(key)}")


FORMAT = b"hannan-fleet/1\n"
_NONE = np.empty(0, dtype=np.int64)
_FIELDS = {
    "learner", "seed", "name", "incarnation", "ids", "spawning", "prior", "text", "names", "born", "learners", "open",
    "columns", "sha256",
}  # fmt: skip
#: Pages of learners copied without a pause, and names written without a pause.
_PAGES, _SOME = 64, 5000
#: Largest ratio of learner numbers to learners for which a file keeps its numbers, because memory grows with them.
_SPARSEST = 64
#: Largest number of arms for a file without learners, so that a small file cannot allocate much memory.
_MOST_ARMS = 1 << 20


def between(fleet: Any, low: Any, high: Any) -> NDArray[np.int64]:
    """Return the numbers of the learners with low <= key < high."""
    for name, edge in (("low", low), ("high", high)):
        if edge is not None and len(fleet) and isinstance(one_key(edge), list) != bool(fleet._text):
            kind = "a string" if fleet._text else "an integer"
            raise ValueError(f"{name} must be {kind}, like the keys of this fleet; got {validation.brief(edge)}")
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
    """Move learners by their numbers into an empty fleet."""
    apart._begin(fleet.learner, fleet.prior, fleet._diagnosed)
    apart.seed, apart.resumed, apart._ids = fleet.seed, fleet.resumed, list(fleet._ids)
    apart._spawn(fleet._spawning)  # New keys of both fleets draw from different streams, because the keys differ.
    apart._named(identity.named(None), "")
    _move(fleet, apart, numbers)
    return apart


def join(fleet: Any, other: Any) -> None:
    """Move all learners of another fleet into this fleet."""
    if other is fleet or not isinstance(other, type(fleet)):
        raise ValueError(f"other must be a different Fleet; got {other!r}")
    if saving.describe(other.learner) != saving.describe(fleet.learner) or not np.array_equal(other.prior, fleet.prior):
        raise ValueError(
            f"fleets to join must have the same learner and prior, {fleet.learner!r}; got {other.learner!r}"
        )
    if len(fleet) and len(other) and fleet._text != other._text:
        raise ValueError("fleets to join must have keys of the same kind; got integers and strings")
    twice = np.flatnonzero(fleet.number(other.keys) >= 0) if len(fleet) and len(other) else _NONE
    if len(twice):
        key = other._key_of(int(other._numbers()[twice[0]]))
        raise ValueError(f"fleets to join must have no common key; got {validation.brief(key)} in both")
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
    """Return the file of a fleet as bytes."""
    return b"".join(gathered(fleet)())


def gathered(fleet: Any) -> Callable[[], list[bytes]]:
    """Copy a fleet and return a function that returns the file of this copy; the fleet can play on meanwhile."""
    snapshot = fleet._snapshot_of_all()
    ids, origin, plan = list(fleet._ids), fleet._origin, fleet._columns()
    # Numbers of learners increase, so names are in the order of the numbers.
    header = {
        "learner": saving.describe(fleet.learner),
        **{name: value for name, value in fleet._who().items() if name in _FIELDS},
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
            time.sleep(0.001)  # With 0, threads that wait for the interpreter lock can starve.
        # Keep only the ids of open decisions and the id of the fleet.
        used = np.unique(np.append(snapshot.origins(), np.uint64(origin)))
        head = {**header, "open": snapshot.open, "ids": [ids[k] for k in used.tolist()]}
        body, text = snapshot.body(used), _names(names)
        head["sha256"] = _sha256(_spliced(head, text), body)
        return [FORMAT + _spliced(head, text) + b"\n", body]

    return made


def _names(names: list[str]) -> bytes:
    """Return a list as JSON, written in parts, because encoding a million names together would block other threads."""
    some = (json.dumps(names[k : k + _SOME])[1:-1] for k in range(0, len(names), _SOME))
    return b"[" + ", ".join(some).encode() + b"]"


def _spliced(header: dict[str, Any], names: bytes) -> bytes:
    """Return a header as JSON, with these names."""
    before, here, after = json.dumps(header, sort_keys=True).rpartition('"names": []')
    return before.encode() + here[:-2].encode() + names + after.encode()


def _digest(header: dict[str, Any], body: bytes) -> str:
    text = json.dumps({name: value for name, value in header.items() if name != "sha256"}, sort_keys=True)
    return _sha256(text.encode(), body)


def _sha256(head: bytes, body: bytes) -> str:
    digest = hashlib.sha256(FORMAT + head + b"\n")
    digest.update(body)
    return digest.hexdigest()


def with_keys(data: bytes, new: dict[Any, Any]) -> bytes:
    """Return the file of a fleet in which keys have new names.

    The random stream of a key depends on its name: the moves are reproduced only up to a restart of the streams.
    """
    header, body = _parts(data)
    header["names"] = [new.get(name, name) for name in header["names"]]
    if header["text"] is False:
        columns, at = np.frombuffer(body, "<i8").copy(), 0
        for name, _, width in header["columns"]:
            size = header["learners"] * width
            if name == "key":
                keys = columns[at : at + size]
                keys[:] = [new.get(key, key) for key in keys.tolist()]
                break
            at += size
        body = columns.tobytes()
    text = _names(header.pop("names"))
    head = {**{name: value for name, value in header.items() if name != "sha256"}, "names": []}
    head["sha256"] = _sha256(_spliced(head, text), body)
    return FORMAT + _spliced(head, text) + b"\n" + body


def loaded(fleet: Any, data: bytes, resume: str | None, where: str) -> Any:
    """Read a file of `written` into an empty fleet, with validation of every value."""
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
        raise ValueError(f"corrupt file: expected {FORMAT.decode().strip()} first; found {validation.brief(data[:20])}")
    line, _, body = data[len(FORMAT) :].partition(b"\n")
    header = saving.plain_json(line.decode())
    if not isinstance(header, dict) or header.keys() != _FIELDS:
        raise ValueError(f"corrupt file: expected a header with the fields {', '.join(sorted(_FIELDS))}")
    if _digest(header, body) != header["sha256"]:
        raise ValueError("corrupt or edited file: the content does not match the checksum")
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
    # Check the size before memory is allocated for a learner with many arms.
    if m and len(body) < 8 * n * m:
        raise ValueError(f"corrupt file: expected at least {n} numbers per learner; found {len(body) // 8} in total")
    if not m and n > _MOST_ARMS:
        raise ValueError(f"corrupt file: expected at most {_MOST_ARMS} arms without learners; found {n}")
    prior = fields.numbers(digits, n, "prior", 0.0) if digits else np.empty(0)
    fleet._begin(learner, prior, ["diagnosed", "u", 0] in fields.items(header["columns"], "columns"))
    fleet.seed = seed
    fleet._ids = [fields.text(one, "id") for one in fields.items(header["ids"], "ids")]
    fleet._named(name, incarnation)
    if len(set(fleet._ids)) != len(fleet._ids) or len(fleet._ids) != len(header["ids"]):
        raise ValueError("corrupt file: expected distinct ids of the fleet, its current id included")
    spawning = fields.items(header["spawning"], "spawning", 5)
    fleet._spawn([fields.whole(word, "spawning", 0, (1 << 32) - 1) for word in spawning])
    plan = fleet._columns()
    if header["columns"] != [list(column) for column in plan[0] + plan[1]]:
        found = validation.brief(header["columns"])
        raise ValueError(f"corrupt file: expected the columns of the learner; found {found}")
    columns = _columns(plan, m, k, body)
    numbers, keys = columns.pop("number"), columns.pop("key").view(np.int64)
    born = fields.whole(header["born"], "learners born", 0, 1 << 31)
    text, names = header["text"], fields.items(header["names"], "names", m if header["text"] is True else 0)
    if text not in (None, True, False) or (m and text is None):
        raise ValueError(f"corrupt file: expected true, false or null for text; found {validation.brief(text)}")
    kept = numbers.astype(np.int64) if exact else _NONE
    if exact and m and (int(numbers.max()) >= born or born > _SPARSEST * (m + 64)):
        raise ValueError(
            f"corrupt file: expected learner numbers below {born}, at most {_SPARSEST} per learner "
            "(load it without resume to assign new numbers)"
        )
    given = fleet._put(columns, keys, text is False, kept)
    fleet._text = text
    if exact:
        fleet._born_up_to(born)
    for number, one in zip(given.tolist(), names, strict=False):
        (key,) = one_key(fields.text(one, "key"))
        if key in fleet._number:
            raise ValueError(f"corrupt file: expected distinct keys; found {validation.brief(key)} twice")
        fleet._number[key], fleet._name[number] = number, key


def _columns(plan: Any, m: int, k: int, body: bytes) -> dict[str, Any]:
    sizes = [m * width for _, _, width in plan[0]] + [k * width for _, _, width in plan[1]]
    if len(body) != 8 * sum(sizes):
        raise ValueError(f"corrupt file: expected {sum(sizes)} numbers in the columns; found {len(body) / 8:g}")
    found, at = {}, 0
    for (name, kind, _), size in zip(plan[0] + plan[1], sizes, strict=True):
        found[name] = np.frombuffer(body, f"<{kind}8", size, at).astype(f"{kind}8")
        at += 8 * size
    return found
