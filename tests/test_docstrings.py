"""Every public name has an example in its docstring; pytest runs them as doctests."""

import inspect

import pytest

import hannan as hn

NAMES = [name for name in hn.__all__ if callable(getattr(hn, name))]


@pytest.mark.parametrize("name", NAMES)
def test_docstring_has_an_example(name: str) -> None:
    assert ">>> " in (inspect.getdoc(getattr(hn, name)) or "")
