"""No call of the package has more than six positional arguments; arguments that travel together have a named type."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "hannan"
MOST = 6

#: Public functions whose signature is older than the rule; the package itself passes keywords.
PUBLIC = {"play", "stochastically_constrained"}


def long_calls(text: str) -> list[tuple[int, str]]:
    """Return (line, callee) of each call with more than six positional arguments."""
    return [
        (node.lineno, ast.unparse(node.func))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and len(node.args) > MOST
    ]


def is_command(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Return True for commands: click passes their options by name."""
    return any(ast.unparse(decorator).startswith("click.") for decorator in node.decorator_list)


def long_signatures(text: str) -> list[tuple[int, str]]:
    """Return (line, name) of each function that accepts more than six positional arguments, besides `self`.

    Calls with `*arguments` cannot pass more than six arguments to any other function of the package.
    """
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and not is_command(node):
            names = [a.arg for a in (*node.args.posonlyargs, *node.args.args) if a.arg not in ("self", "cls")]
            if len(names) > MOST:
                found.append((node.lineno, node.name))
    return found


def test_calls_have_at_most_six_positional_arguments():
    found = {str(path.relative_to(SOURCE)): long_calls(path.read_text()) for path in SOURCE.rglob("*.py")}
    assert len(found) > 100
    assert {path: calls for path, calls in found.items() if calls} == {}


def test_functions_accept_at_most_six_positional_arguments():
    """The stubs describe the functions of the engine, whose other parameters are keyword-only as well."""
    files = [*(path for path in SOURCE.rglob("*.py") if "serving" not in path.parts), SOURCE / "_engine.pyi"]
    found = [(path.name, name) for path in files for _, name in long_signatures(path.read_text())]
    assert [(path, name) for path, name in found if name not in PUBLIC] == []
    assert {name for _, name in found} == PUBLIC


@pytest.mark.parametrize(("text", "expected"), [("f(1, 2, 3, 4, 5, 6)", 0), ("f(1, 2, 3, 4, 5, 6, 7)", 1)])
def test_control_of_long_calls(text, expected):
    assert len(long_calls(text)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def f(self, a, b, c, d, e, f): ...", 0),
        ("def f(a, b, c, d, e, f, *, g): ...", 0),
        ("def f(a, b, c, d, e, f, g): ...", 1),
        ("@click.option('--a')\ndef f(a, b, c, d, e, f, g): ...", 0),
    ],
)
def test_control_of_long_signatures(text, expected):
    assert len(long_signatures(text)) == expected
