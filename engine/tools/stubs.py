"""Writes src/hannan/_engine.pyi: nanobind's stub of the compiled module, private names too, arrays given back as Any.

python engine/tools/stubs.py [file]
"""

import re
import sys
from pathlib import Path

from nanobind.stubgen import StubGen

import hannan._engine as engine

HEAD = "# Written by engine/tools/stubs.py.\nfrom typing import Any\n"


def text() -> str:
    """The stub."""
    stub = StubGen(engine, include_private=True, include_docstrings=False)
    stub.put(engine)
    body = re.sub(r"\bobject\b", "Any", stub.get())
    body = re.sub(r"\bdict\b(?![\[(])", "dict[Any, Any]", body)
    body = re.sub(r"\blist\b(?!\[)", "list[Any]", body)
    body = re.sub(r"\btuple\b(?!\[)", "tuple[Any, ...]", body)
    body = re.sub(r"(?<!import )\bNDArray\b(?!\[)", "NDArray[Any]", body)
    return HEAD + body


if __name__ == "__main__":
    target = Path(__file__).resolve().parents[2] / "src" / "hannan" / "_engine.pyi"
    Path(sys.argv[1] if len(sys.argv) > 1 else target).write_text(text())
