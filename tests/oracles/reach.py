"""Measure the size of the structure, as JSON: files crossed by a call, modules, lines of code, isinstance.

    python tests/oracles/reach.py [root]

`root` is a checkout; default: this one. A file is crossed if one of its functions runs during the call in a fresh
process; code that runs because a module is imported does not count. Lines of code are lines of Python in src without
blank lines, comments, docstrings and imports. Counted are the isinstance calls of mathematics/ and learners/ with a
smoothing or an estimator.
"""

from __future__ import annotations

import ast
import io
import json
import os
import subprocess
import sys
import tokenize
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
CALLS = ("hannan combine", "hn.play(Bandit(10))", "start", "certificate", "store.act")


def prepared(name: str, folder: Path) -> Callable[[], Any]:
    """Return the call of a product; its preparation is complete."""
    import numpy as np

    import hannan as hn

    losses = np.random.default_rng(0).random((200, 10))
    if name == "hannan combine":
        from hannan.cli.commands import run

        table = folder / "table.csv"
        rows = (f"{0.1 * (t % 9):.1f},{0.1 * (t % 7):.1f},{0.1 * (t % 5):.1f}\n" for t in range(60))
        table.write_text("a,b,y\n" + "".join(rows), encoding="utf-8")
        return lambda: run(["combine", str(table), "--target", "y"])
    if name == "store.act":
        store = hn.Store(folder / "decisions.db")
        store.add("a", hn.Bandit(3))
        return lambda: store.act("a")
    if name == "start":
        return lambda: hn.Bandit(10).start(seed=0)
    if name == "certificate":
        player = hn.Bandit(10).start(seed=0)
        for _ in range(20):
            player.observe(player.act(), 0.5)
        return player.certificate
    return lambda: hn.play(hn.Bandit(10), losses, seed=0)


def crossed(call: Callable[[], Any], source: str) -> list[str]:
    """Return the files below `source` whose functions run in a call."""
    found: set[str] = set()

    def imported(frame: FrameType | None) -> bool:
        while frame is not None:
            if frame.f_code.co_name == "<module>" and frame.f_code.co_filename.startswith(source):
                return True
            frame = frame.f_back
        return False

    def watch(frame: FrameType, event: str, _: Any) -> None:
        file = frame.f_code.co_filename
        if event == "call" and file not in found and file.startswith(source) and not imported(frame):
            found.add(file)

    sys.setprofile(watch)
    try:
        call()
    finally:
        sys.setprofile(None)
    return sorted(os.path.relpath(file, source) for file in found)


def reach(name: str, root: Path) -> list[str]:
    """Return the files that a product crosses, measured in a fresh process."""
    done = subprocess.run(
        [sys.executable, str(Path(__file__).resolve()), str(root), name],
        capture_output=True, text=True, check=True, env=os.environ | {"PYTHONPATH": ""},
    )  # fmt: skip
    return list(json.loads(done.stdout.splitlines()[-1]))


def code_lines(text: str) -> int:
    """Return the number of lines of code.

    >>> code_lines('\"\"\"Title.\"\"\"\\nimport os  # why\\n\\nx = (\\n    1,\\n)  # one\\n# nothing\\n')
    3
    """
    dropped: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        body = getattr(node, "body", None)
        documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
        if isinstance(node, documented) and body and isinstance(body[0], ast.Expr):
            value = body[0].value
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                dropped.update(range(body[0].lineno, (body[0].end_lineno or 0) + 1))
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            dropped.update(range(node.lineno, (node.end_lineno or 0) + 1))
    empty = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in empty:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - dropped)


def isinstances(text: str, classes: set[str]) -> Iterator[int]:
    """Yield the lines of isinstance with one of the classes.

    >>> list(isinstances("isinstance(x, (Law, int)), isinstance(x, int)", {"Law"}))
    [1]
    """
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "isinstance" and len(node.args) == 2:
            names = {n.id for n in ast.walk(node.args[1]) if isinstance(n, ast.Name)}
            names |= {n.attr for n in ast.walk(node.args[1]) if isinstance(n, ast.Attribute)}
            if names & classes:
                yield node.lineno


def facts(texts: dict[Path, str]) -> set[str]:
    """Return the names of smoothings and estimators: classes that derive from one of the bases."""
    found = {"Smoothing", "Law", "Regularizer", "Estimator"}
    bases = {
        node.name: {getattr(base, "id", getattr(base, "attr", "")) for base in node.bases}
        for text in texts.values()
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ClassDef)
    }
    while more := {name for name, parents in bases.items() if parents & found} - found:
        found |= more
    return found


def main(root: Path) -> None:
    """Print the numbers."""
    source = root / "src" / "hannan"
    texts = {path: path.read_text(encoding="utf-8") for path in sorted(source.rglob("*.py"))}
    engine = [p for p in (root / "engine").rglob("*.[ch]pp") if "tools" not in p.relative_to(root).parts]
    nouns = [path for path in texts if path.relative_to(source).parts[0] in ("mathematics", "learners")]
    classes = facts({path: texts[path] for path in nouns})
    files = {name: reach(name, root) for name in CALLS}
    numbers = {
        "files crossed": {name: len(found) for name, found in files.items()},
        "modules": len(texts),
        "C++ files": len(engine),
        "lines of Python": sum(text.count("\n") for text in texts.values()),
        "lines of code": sum(map(code_lines, texts.values())),
        "isinstance of smoothings and estimators": sum(len(list(isinstances(texts[path], classes))) for path in nouns),
        "files": files,
    }
    print(json.dumps(numbers, indent=1))


if __name__ == "__main__":
    if len(sys.argv) > 2:
        with TemporaryDirectory() as place:
            prepare = prepared(sys.argv[2], Path(place))
            print(json.dumps(crossed(prepare, str(Path(sys.argv[1]) / "src" / "hannan") + os.sep)))
    else:
        main(Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else ROOT)
