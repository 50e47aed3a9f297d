"""The keys of a fleet: whole numbers of 64 bits, or text; all of one kind."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hannan import refusals

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
    refusals.unmasked(keys, "keys")
    if isinstance(keys, (str, bytes, int, np.generic)) or (isinstance(keys, np.ndarray) and keys.ndim != 1):
        shape = f" of shape {keys.shape}" if isinstance(keys, np.ndarray) else ""
        raise ValueError(
            f"keys must be a list or an array of keys, also where there is one; got {refusals.brief(keys)}{shape}"
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
            raise ValueError(f"keys must be {what}; got {refusals.brief(key)} at index {k}")
        if not _LEAST <= key <= _MOST:
            raise _out_of_range(int(key))
    return np.array(found, dtype=np.int64)


def one(key: Any) -> Keys:
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
        raise ValueError(f"keys of text must be what UTF-8 can say; got {refusals.brief(key)}") from None
    return str(key)


def _out_of_range(key: int) -> ValueError:
    return ValueError(f"keys must be whole numbers of 64 bits, -2^63 to 2^63 - 1; got {refusals.brief(key)}")
