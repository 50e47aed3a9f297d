"""Writes src/hannan/_engine.pyi: nanobind's stub of the compiled module, private names too, arrays given back as Any.

python engine/tools/stubs.py [file]
"""

import inspect
import re
import sys
from pathlib import Path

from nanobind.stubgen import StubGen

import hannan._engine as engine

HEAD = "# Written by engine/tools/stubs.py.\nfrom typing import Any\n"


def signature(found: re.Match[str]) -> str:
    """A method of Python's own, as its text says it: whatever it takes."""
    name = found[1]
    given = inspect.signature(getattr(engine.Player, name)).parameters.values()
    anything = [p if p.name == "self" else p.replace(annotation="Any") for p in given]
    said = ", ".join("self" if p.name == "self" else str(p).replace("'Any'", "Any") for p in anything)
    said = said.replace(", reward", ", *, reward") if anything[-1].kind is inspect.Parameter.KEYWORD_ONLY else said
    return f"def {name}({said}) -> {'None' if 'observe' in name else 'Any'}: ..."


def text() -> str:
    """The stub."""
    stub = StubGen(engine, include_private=True, include_docstrings=False)
    stub.put(engine)
    body = re.sub(r"\bobject\b", "Any", stub.get())
    body = re.sub(r"\bdict\b(?![\[(])", "dict[Any, Any]", body)
    body = re.sub(r"\blist\b(?!\[)", "list[Any]", body)
    body = re.sub(r"\btuple\b(?!\[)", "tuple[Any, ...]", body)
    body = re.sub(r"(?<!import )\bNDArray\b(?!\[)", "NDArray[Any]", body)
    body = re.sub(r"(\w+): types\.MethodDescriptorType = \.\.\.", signature, body)
    return HEAD + body.replace("import types\n", "")


if __name__ == "__main__":
    target = Path(__file__).resolve().parents[2] / "src" / "hannan" / "_engine.pyi"
    Path(sys.argv[1] if len(sys.argv) > 1 else target).write_text(text())
