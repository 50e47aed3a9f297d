"""No call of the package has more than six positional arguments; arguments that travel together have a named type."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "hannan"
MOST = 6


def long_calls(text: str) -> list[tuple[int, str]]:
    """Return (line, callee) of each call with more than six positional arguments."""
    return [
        (node.lineno, ast.unparse(node.func))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and len(node.args) > MOST
    ]


def test_calls_have_at_most_six_positional_arguments():
    found = {str(path.relative_to(SOURCE)): long_calls(path.read_text()) for path in SOURCE.rglob("*.py")}
    assert len(found) > 100
    assert {path: calls for path, calls in found.items() if calls} == {}


@pytest.mark.parametrize(("text", "expected"), [("f(1, 2, 3, 4, 5, 6)", 0), ("f(1, 2, 3, 4, 5, 6, 7)", 1)])
def test_control_of_long_calls(text, expected):
    assert len(long_calls(text)) == expected
