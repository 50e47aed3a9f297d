"""Every public name is explained where it stands: what it is for in words, its parameters, an example that runs.

The examples are run by pytest's doctests; here is that there is one.
"""

import inspect
import re

import pytest

import hannan as hn

NAMES = [name for name in hn.__all__ if callable(getattr(hn, name))]
#: What a user is given and never makes: its fields are explained, but not each as a parameter.
GIVEN = {
    "Bound", "Certificate", "Combined", "Comparison", "FleetCertificate", "Moves", "PrivacyCurve", "Record", "Replay",
    "Routes", "Withheld",
}  # fmt: skip
#: Signs of a formula, which comes after the words.
FORMULA = re.compile(r" = |<=|>=| ~ |\^|_\{|\bargm(?:in|ax)\b|->")


def first(text: str) -> str:
    """The first paragraph, on one line."""
    return " ".join(text.split("\n\n")[0].split())


def unnamed(thing: object, text: str) -> list[str]:
    """Parameters that the text never names between backticks."""
    told = " ".join(re.findall(r"`([^`]*)`", text))
    known = inspect.signature(thing).parameters.values()
    return [
        p.name
        for p in known
        if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL) and not re.search(rf"\b{p.name}\b", told)
    ]


@pytest.mark.parametrize("name", NAMES)
def test_it_begins_with_what_it_is_for(name):
    words = first(inspect.getdoc(getattr(hn, name)) or "")
    assert len(words.split()) >= 5, words
    assert not FORMULA.search(words), words
    assert words.endswith("."), words


@pytest.mark.parametrize("name", NAMES)
def test_it_has_an_example(name):
    assert ">>> " in (inspect.getdoc(getattr(hn, name)) or "")


@pytest.mark.parametrize("name", [name for name in NAMES if name not in GIVEN])
def test_it_names_its_parameters(name):
    thing = getattr(hn, name)
    assert unnamed(thing, inspect.getdoc(thing) or "") == []


def test_the_checks_can_fail():
    assert FORMULA.search("p_t = grad Phi(L_{t-1}): choose one of n experts.")
    assert unnamed(hn.Experts, "`n`: how many. `smoothing`, `tuning`, `gains` and `prior`.") == ["loss_range"]
