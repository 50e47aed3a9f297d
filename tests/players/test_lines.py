"""Every line that a result can print has a heading in docs/certificate.md."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "certificate.md"
#: Functions and methods that make (label, text) rows, by file.
SOURCES = {
    "mathematics/bounds.py": ("validity", "shown"),
    "players/certificate.py": ("rows", "_rows", "_assumptions", "_details", "trivial_row", "unavailable", "randomness"),
    "players/fleet_certificate.py": ("rows", "_rows", "_assumptions", "shown"),
    "players/convex.py": ("_rows", "_assumptions", "_details"),
    "players/player.py": ("_of_moves", "_own_law"),
    "serving/stored_learner.py": ("certificate",),
    "games/record.py": ("shown",),
    "learners/convex/privacy.py": ("shown",),
    "learners/game_privacy.py": ("shown", "parameters"),
    "learners/private_experts.py": ("certificate",),
    "players/private_ball.py": ("certificate",),
    "players/reporting.py": ("_of_learner", "_notes"),
}


def words(node: ast.expr) -> Iterator[str]:
    """Yield the strings that an expression can be: a literal, or either side of a conditional."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.IfExp):
        yield from words(node.body)
        yield from words(node.orelse)


def labels(source: str, functions: tuple[str, ...]) -> set[str]:
    """Return the first members of all pairs in these functions, which must all exist."""
    found: dict[str, set[str]] = {}
    for function in ast.walk(ast.parse(source)):
        if isinstance(function, ast.FunctionDef) and function.name in functions:
            pairs = [node for node in ast.walk(function) if isinstance(node, ast.Tuple) and len(node.elts) == 2]
            found.setdefault(function.name, set()).update(word for pair in pairs for word in words(pair.elts[0]))
    assert set(found) == set(functions), set(functions) - set(found)
    return {word for some in found.values() for word in some if word}


def headings(text: str) -> set[str]:
    return set(re.findall(r"^#+ (.+)$", text, re.MULTILINE))


def printed() -> set[str]:
    package = ROOT / "src" / "hannan"
    every = [labels((package / name).read_text(encoding="utf-8"), which) for name, which in SOURCES.items()]
    return set().union(*every)


def test_every_label_has_a_heading() -> None:
    missing = printed() - headings(PAGE.read_text(encoding="utf-8"))
    assert not missing, f"docs/certificate.md has no heading for {sorted(missing)}"


def test_every_heading_of_a_line_is_a_label() -> None:
    text = PAGE.read_text(encoding="utf-8")
    stale = set(re.findall(r"^### (.+)$", text, re.MULTILINE)) - printed()
    assert not stale, f"no result prints {sorted(stale)}"


@pytest.mark.parametrize("line", ["valid", "seed", "theorem", "expiry", "private if"])
def test_control_missing_heading_is_found(line: str) -> None:
    """Control: a page without one heading."""
    text = PAGE.read_text(encoding="utf-8").replace(f"### {line}\n", f"### {line}s\n")
    assert line in printed() - headings(text)


def test_control_new_label_is_found() -> None:
    """Control: code that prints another line, also on one side of a conditional."""
    source = "def _rows(self):\n    rows = [('regret', x)]\n    rows.append(('speed' if x else 'haste', y))\n"
    assert labels(source, ("_rows",)) == {"regret", "speed", "haste"}
