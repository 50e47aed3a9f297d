"""A frozen dataclass whose equality, hash and text are not compiled anew for each class: half the time to define it.

A first game defines some forty descriptions; in Python 3.11 and 3.12 they took longer than the rest of its imports.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from operator import attrgetter
from reprlib import recursive_repr
from typing import Any, TypeVar, dataclass_transform, overload
from weakref import ref

T = TypeVar("T")
_PLAIN = frozenset({int, float, bool, str, type(None)})


@overload
def frozen(cls: type[T], /) -> type[T]: ...
@overload
def frozen(*, eq: bool = True, repr: bool = True) -> Callable[[type[T]], type[T]]: ...
@dataclass_transform(frozen_default=True, field_specifiers=(dataclasses.field,))
def frozen(cls: type[Any] | None = None, /, *, eq: bool = True, repr: bool = True) -> Any:
    """`dataclasses.dataclass(frozen=True)`.

    >>> @frozen
    ... class Point:
    ...     x: float
    ...     y: float = 2.0
    >>> Point(1.0), Point(1.0) == Point(1.0, 2.0), hash(Point(1.0)) == hash(Point(1.0)), Point(1.0) == (1.0, 2.0)
    (Point(x=1.0, y=2.0), True, True, False)
    """

    def made(cls: type[Any]) -> type[Any]:
        own = cls.__dict__
        # A class that says what is equal and not how to hash has None here, put there by Python.
        hashes = "__hash__" in own and not (own["__hash__"] is None and "__eq__" in own)
        dataclasses.dataclass(frozen=True, eq=False, repr=False)(cls)
        fields = dataclasses.fields(cls)
        if repr and "__repr__" not in own:
            cls.__repr__ = _text(tuple(f.name for f in fields if f.repr))  # type: ignore[assignment]
        if eq and "__eq__" not in own:
            cls.__eq__ = _equal(_values(tuple(f.name for f in fields if f.compare)))  # type: ignore[assignment]
        if eq and not hashes:
            hashed = tuple(f.name for f in fields if (f.compare if f.hash is None else f.hash))
            cls.__hash__ = _hash(_values(hashed))  # type: ignore[assignment]
        return cls

    return made if cls is None else made(cls)


def _values(names: tuple[str, ...]) -> Callable[[Any], Any]:
    """The fields of an object, as a tuple."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda self: tuple(getattr(self, name) for name in names)


def _equal(values: Callable[[Any], Any]) -> Callable[[Any, object], bool]:
    def equal(self: Any, other: object) -> bool:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    return equal


def _hash(values: Callable[[Any], Any]) -> Callable[[Any], int]:
    def hashed(self: Any) -> int:
        return hash(values(self))

    return hashed


def _text(names: tuple[str, ...]) -> Callable[[Any], str]:
    @recursive_repr()
    def text(self: Any) -> str:
        return f"{self.__class__.__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    return text


def unchanging(value: Any) -> bool:
    """Whether a value can only be what it is: a number, a text, None, or a tuple or frozen dataclass of such.

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
    """What a function says of an object, asked once where the object is `unchanging`; kept as long as the object is.

    >>> @frozen
    ... class Square:
    ...     side: float
    >>> said = once(lambda square: print("asked") or square.side**2)
    >>> square = Square(3.0)
    >>> said(square), said(square)
    asked
    (9.0, 9.0)

    >>> length, numbers = once(len), [1.0]
    >>> length(numbers), numbers.append(2.0), length(numbers)
    (1, None, 2)
    """
    kept: dict[int, tuple[ref[Any], T]] = {}

    def said(given: Any) -> T:
        key = id(given)
        found = kept.get(key)
        if found is not None:
            return found[1]
        value = function(given)
        if dataclasses.is_dataclass(given) and unchanging(given):
            kept[key] = ref(given, lambda _: kept.pop(key, None)), value
        return value

    return said
