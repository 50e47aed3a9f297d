"""Write src/hannan/_engine.pyi, the stub of the compiled module.

python engine/tools/stubs.py [file]

The stub is made by nanobind and shortened: one statement per enum, one line per read-only attribute, and only the
number type of array parameters. Returned arrays have type Any.
"""

import inspect
import re
import sys
import textwrap
from itertools import pairwise
from pathlib import Path

from nanobind.stubgen import StubGen

import hannan._engine as engine

HEAD = '''"""Written by engine/tools/stubs.py."""

import enum
from collections.abc import Sequence
from typing import Any, Generic, Never, Self, TypeVar, overload

import numpy
from numpy.typing import NDArray

T_co = TypeVar("T_co", covariant=True)

class Read(Generic[T_co]):
    """Read-only attribute."""

    @overload
    def __get__(self, instance: None, owner: Any) -> Self: ...
    @overload
    def __get__(self, instance: Any, owner: Any) -> T_co: ...
    def __set__(self, instance: Any, value: Never) -> None: ...

'''
PROPERTY = re.compile(r"    @property\n    def (\w+)\(self\) -> (.+): \.\.\.\n")
SETTER = re.compile(r"    @(\w+)\.setter\n    def \1\(self, arg: (.+), /\) -> None: \.\.\.\n")
ENUM = re.compile(r"class (\w+)\(enum\.Enum\):\n((?:    \w+ = \d+\n)+)")


def enumeration(found: re.Match[str]) -> str:
    """Return an enum as one statement."""
    rows = re.findall(r"(\w+) = (\d+)", found[2])
    members = ", ".join(f'"{name}":~{value}' for name, value in rows)  # ~ prevents line breaks within a member
    body = textwrap.fill(members, 118, initial_indent="    ", subsequent_indent="    ").replace("~", " ")
    return f'{found[1]} = enum.Enum("{found[1]}", {{\n{body},\n}})\n'


def compact(body: str) -> str:
    """Return the same stub in fewer lines."""
    body = re.sub(r"Annotated\[(NDArray(?:\[[\w.]+\])?), dict\([^]]*?\)\]", r"\1", body)
    body = re.sub(r"\n{2,}(?=    )", "\n", body)
    written = dict(SETTER.findall(body))
    body = SETTER.sub("", body)
    body = PROPERTY.sub(lambda m: f"    {m[1]}: {m[2]}\n" if m[1] in written else f"    {m[1]}: Read[{m[2]}]\n", body)
    body = ENUM.sub(enumeration, body)
    lines = [line for line in body.splitlines() if line]
    # Blank lines before and after a class.
    apart = [
        line[0] not in " }" and (line.startswith("class ") or before[0] == " ") for before, line in pairwise(lines)
    ]
    return "\n".join([lines[0], *("\n" * free + line for free, line in zip(apart, lines[1:], strict=True))])


def signature(found: re.Match[str]) -> str:
    """Return the signature of a CPython method, taken from its docstring."""
    name = found[1]
    given = inspect.signature(getattr(engine.Player, name)).parameters.values()
    anything = [p if p.name == "self" else p.replace(annotation="Any") for p in given]
    said = ", ".join("self" if p.name == "self" else str(p).replace("'Any'", "Any") for p in anything)
    said = said.replace(", reward", ", *, reward") if anything[-1].kind is inspect.Parameter.KEYWORD_ONLY else said
    return f"def {name}({said}) -> {'None' if 'observe' in name else 'Any'}: ..."


def text() -> str:
    """Return the text of the stub."""
    stub = StubGen(engine, include_private=True, include_docstrings=False)
    stub.put(engine)
    body = re.sub(r"\bobject\b", "Any", stub.get())
    body = re.sub(r"\bdict\b(?![\[(])", "dict[Any, Any]", body)
    body = re.sub(r"\blist\b(?!\[)", "list[Any]", body)
    body = re.sub(r"\btuple\b(?!\[)", "tuple[Any, ...]", body)
    body = re.sub(r"(\w+): types\.MethodDescriptorType = \.\.\.", signature, body)
    body = re.sub(r"(?m)^(?:import|from) .*\n", "", body)
    body = compact(body)
    return HEAD + re.sub(r"\bNDArray\b(?!\[)", "NDArray[Any]", body).strip() + "\n"


if __name__ == "__main__":
    target = Path(__file__).resolve().parents[2] / "src" / "hannan" / "_engine.pyi"
    Path(sys.argv[1] if len(sys.argv) > 1 else target).write_text(text(), encoding="utf-8")
