"""Conversion of descriptions to JSON and back, and files with checksums.

A description is a frozen dataclass, saved by its class name and fields. Nothing in a text is executed: names are looked
up among the public classes of the package and registered ones, and constructors check the fields.
"""

from __future__ import annotations

import dataclasses
import importlib
import json
import math
import os
from collections.abc import Callable
from typing import Any, Self, TypeVar, dataclass_transform, overload
from weakref import ref

import numpy as np
from numpy.typing import NDArray

from hannan.saving import files

FORMAT = "hannan/2"
#: Largest depth of a description: a learner has a smoothing, which has numbers.
DEEPEST = 32
_registered: dict[str, type[Any]] = {}

C = TypeVar("C", bound=type[Any])


def register(cls: C) -> C:
    """Register a user-defined description, so that `hannan.load` and JSON can restore it by its name.

    Parameters
    ----------
    cls : type
        A frozen dataclass, such as a perturbation distribution.

    Returns
    -------
    type
        The class, so that `register` can be used as a decorator.

    Raises
    ------
    ValueError
        If `cls` is not a dataclass, or has the name of a class of this package.

    Examples
    --------
    >>> @register
    ... @dataclasses.dataclass(frozen=True)
    ... class Mine:
    ...     width: float
    >>> from_json(to_json(Mine(2.0)))
    Mine(width=2.0)
    """
    if not dataclasses.is_dataclass(cls):
        raise ValueError(f"cls must be a frozen dataclass; got {cls!r}")
    if _public(cls.__name__) not in (None, cls):
        raise ValueError(f"cls must not have the name of a built-in class of hannan; got {cls.__name__}")
    _registered[cls.__name__] = cls
    return cls


def describe(thing: Any) -> Any:
    """Return a frozen dataclass as data for JSON: {"class": name, field: value, ...}."""
    if dataclasses.is_dataclass(thing) and not isinstance(thing, type):
        name = type(thing).__name__
        # The name would be read back as the built-in class.
        if _public(name) not in (None, type(thing)):
            raise ValueError(f"a user-defined class must not have the name of a built-in class of hannan; got {name}")
        # Fields that earlier versions do not have are omitted at their default, so that descriptions stay the same.
        later = getattr(thing, "_later_fields", ())
        fields = {
            field.name: describe(getattr(thing, field.name))
            for field in dataclasses.fields(thing)
            if field.name not in later or getattr(thing, field.name) != field.default
        }
        # A class with stored values that its constructor does not accept has `_from_stored`, which reads them.
        pinned = thing._pinned() if hasattr(thing, "_pinned") else {}
        return {"class": type(thing).__name__, **fields, **pinned}
    if isinstance(thing, (tuple, list)):
        return [describe(item) for item in thing]
    if thing is None or isinstance(thing, (bool, int, str)) or (isinstance(thing, float) and math.isfinite(thing)):
        return thing
    raise ValueError(f"a description must consist of numbers, strings, tuples and dataclasses; got {thing!r}")


def build(data: Any, depth: int = 0) -> Any:
    """Return the object of the data that `describe` returned."""
    if depth > DEEPEST:
        raise ValueError(f"corrupt description: nesting must be at most {DEEPEST} levels deep")
    if isinstance(data, float) and not math.isfinite(data):
        raise ValueError(f"corrupt description: numbers must be finite; found {data!r}")
    # Larger integers overflow when they are converted to floats.
    if isinstance(data, int) and data.bit_length() > 1000:
        raise ValueError(f"corrupt description: integers must have at most 1000 bits; found {data.bit_length()} bits")
    if isinstance(data, dict):
        fields = {key: build(value, depth + 1) for key, value in data.items() if key != "class"}
        cls = _class(data.get("class"))
        known = {field.name for field in dataclasses.fields(cls)}.union(getattr(cls, "_stored_keys", ()))
        stored = getattr(cls, "_from_stored", None)
        if not fields.keys() <= known:
            raise ValueError(f"fields of {cls.__name__} must be in {sorted(known)}; got {sorted(fields)}")
        try:
            return cls(**fields) if stored is None else stored(fields)
        except (TypeError, AttributeError, IndexError, KeyError, ArithmeticError, RecursionError) as error:
            raise ValueError(f"invalid fields of {cls.__name__}: {error}") from None
    if isinstance(data, list):
        return tuple(build(item, depth + 1) for item in data)
    return data


def to_json(thing: Any) -> str:
    """Return a description as JSON text, with exact floats."""
    return json.dumps(describe(thing))


def from_json(text: str) -> Any:
    """Return the object that a JSON text describes."""
    try:
        data = plain_json(text)
    except _NotPlain as error:
        raise ValueError(f"a description must be valid JSON: {error}") from None
    return build(data)


class Described:
    """Mixin: conversion of a description to JSON and back."""

    def to_json(self) -> str:
        """Return the description as JSON text.

        Returns
        -------
        str
            JSON text for `from_json`.
        """
        return to_json(self)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the description of a JSON text.

        Parameters
        ----------
        text : str
            JSON text that `to_json` returned.

        Returns
        -------
        object
            An instance of this class.

        Raises
        ------
        ValueError
            If the text does not describe an instance of this class.
        """
        built = from_json(text)
        if not isinstance(built, cls):
            raise ValueError(f"the text must describe a {cls.__name__}; got a {type(built).__name__}")
        return built


def write(path: str | os.PathLike[str], content: dict[str, Any]) -> None:
    """Write a JSON file with format and checksum, atomically."""
    body = json.dumps(content, sort_keys=True, separators=(",", ":"))
    text = json.dumps({"format": FORMAT, "sha256": digest(body), "content": body})
    # The file contains the random state, so only its owner may read it.
    files.write_whole(path, lambda file: file.write(f"{text}\n".encode()), private=True)


def read(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the content of a file that `write` wrote; raise for any other file."""
    try:
        outer = plain_json(files.read_ordinary(path, "a saved player").decode())
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not a saved player (not UTF-8 text)") from None
    except _NotPlain as error:
        raise ValueError(f"{path} is not a saved player, or is incomplete ({error})") from None
    if not (isinstance(outer, dict) and {"format", "sha256", "content"} == outer.keys()):
        raise ValueError(f"{path} is not a saved player (fields format, sha256 and content are missing)")
    if outer["format"] == "hannan/1":
        raise ValueError(
            f"{path} has format 'hannan/1' of version 0.1.0; this version reads {FORMAT}. "
            "Load the file with version 0.1.0, settle its pending moves, and start a new player here"
        )
    if outer["format"] != FORMAT:
        raise ValueError(f"{path} has format {outer['format']!r}; this version reads {FORMAT}")
    body = outer["content"]
    if not isinstance(body, str) or digest(body) != outer["sha256"]:
        raise ValueError(f"{path} is corrupt or was edited: its content does not match its checksum")
    try:
        content = plain_json(body)
    except _NotPlain as error:
        raise ValueError(f"{path} is not a saved player (its content is not valid JSON: {error})") from None
    if not isinstance(content, dict):
        raise ValueError(f"{path} is not a saved player (its content is not a JSON object)")
    return content


class _NotPlain(ValueError):
    """Raised for text that is not JSON in the form that the package writes."""


def plain_json(text: Any) -> Any:
    """Return the data of a JSON text; raise an error for NaN, infinities and deep nesting."""

    def refused(word: str) -> Any:
        raise _NotPlain(f"{word} is not a JSON number")

    try:
        return json.loads(text, parse_constant=refused)
    except _NotPlain:
        raise
    except RecursionError:
        raise _NotPlain("nested too deeply") from None
    except (TypeError, ValueError) as error:
        raise _NotPlain(f"invalid JSON: {error}") from None


def to_hex(array: NDArray[Any]) -> str:
    """Return the bits of 8-byte numbers as hexadecimal digits, little-endian, for numbers that may be NaN patterns."""
    return array.astype(array.dtype.newbyteorder("<")).tobytes().hex()


def from_hex(text: str, kind: str = "f") -> Any:
    """Return the numbers of `to_hex`; `kind` is "f" for floats and "i" for integers."""
    return np.frombuffer(bytes.fromhex(text), dtype=f"<{kind}8").astype(f"{kind}8")


def digest(body: str) -> str:
    """Return the checksum of the content of a file."""
    import hashlib  # Imported here, because games that save nothing do not need it.

    return hashlib.sha256(f"{FORMAT}\n{body}".encode()).hexdigest()


def _public(name: str) -> type[Any] | None:
    """Return a class of the package by its public name, if it is a description."""
    found = getattr(importlib.import_module("hannan"), name, None) if name.isidentifier() else None
    named = isinstance(found, type) and dataclasses.is_dataclass(found) and found.__name__ == name
    return found if named else None


def _class(name: Any) -> type[Any]:
    found = (_registered.get(name) or _public(name)) if isinstance(name, str) else None
    if found is None:
        raise ValueError(
            f"unknown class {name!r} in a description. If it is user-defined, import it and call "
            "hannan.register(it) first"
        )
    return found


T = TypeVar("T")
_PLAIN = frozenset({int, float, bool, str, type(None)})


@overload
def frozen(cls: type[T], /) -> type[T]: ...
@overload
def frozen(*, eq: bool = True, repr: bool = True) -> Callable[[type[T]], type[T]]: ...
@dataclass_transform(frozen_default=True, field_specifiers=(dataclasses.field,))
def frozen(cls: type[Any] | None = None, /, *, eq: bool = True, repr: bool = True) -> Any:
    """Apply `dataclasses.dataclass(frozen=True)`.

    Type checkers treat a class marked with `dataclass_transform` differently in one respect, which `Learner` needs: a
    field may be annotated with a descriptor that converts its value.

    >>> @frozen
    ... class Point:
    ...     x: float
    ...     y: float = 2.0
    >>> Point(1.0), Point(1.0) == Point(1.0, 2.0), hash(Point(1.0)) == hash(Point(1.0)), Point(1.0) == (1.0, 2.0)
    (Point(x=1.0, y=2.0), True, True, False)
    """

    made = dataclasses.dataclass(frozen=True, eq=eq, repr=repr)
    return made if cls is None else made(cls)


def unchanging(value: Any) -> bool:
    """Return whether a value is immutable: a number, a string, None, or a tuple or frozen dataclass of these.

    >>> unchanging((1, "two", None)), unchanging([1]), unchanging((1, [2]))
    (True, False, False)
    """
    kind = type(value)
    if kind in _PLAIN:
        return True
    if kind is tuple:
        return all(map(unchanging, value))
    rules = getattr(kind, "__dataclass_params__", None)
    if rules is None or not rules.frozen or not hasattr(value, "__dict__"):
        return False
    return all(map(unchanging, vars(value).values()))


def once(function: Callable[[Any], T]) -> Callable[[Any], T]:
    """Cache the values of a function for objects that are `unchanging`, as long as the objects exist.

    >>> @frozen
    ... class Square:
    ...     side: float
    >>> area = once(lambda square: print("computed") or square.side**2)
    >>> square = Square(3.0)
    >>> area(square), area(square)
    computed
    (9.0, 9.0)

    >>> length, numbers = once(len), [1.0]
    >>> length(numbers), numbers.append(2.0), length(numbers)
    (1, None, 2)
    """
    kept: dict[int, tuple[ref[Any], T]] = {}

    def cached(given: Any) -> T:
        key = id(given)
        found = kept.get(key)
        if found is not None:
            return found[1]
        value = function(given)
        if dataclasses.is_dataclass(given) and unchanging(given):
            kept[key] = ref(given, lambda _: kept.pop(key, None)), value
        return value

    return cached
