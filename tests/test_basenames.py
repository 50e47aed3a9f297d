"""A learner, its engine header, page and test have one name; what has another or none is said with a reason."""

import re
from pathlib import Path

import pytest

import hannan as hn

ROOT = Path(__file__).parents[1]
#: The module of each learner that is public: whatever `start` makes a player of.
MODULES = sorted({getattr(hn, name).__module__ for name in hn.__all__ if hasattr(getattr(hn, name), "start")})
#: Modules whose room has the name.
ROOMS = {"hannan.learners.convex.learner": "convex"}
#: No header of their own, and why.
NO_HEADER = {
    "gradient": "a step is one projection, or one softmax: it plays in Python",
    "fpl": "a decision is found by the solver of its set (networkx, SciPy): it plays in Python",
    "fpl_trix": "as fpl",
}


def name_of(module: str) -> str:
    """The name that the four share."""
    return ROOMS.get(module, module.rpartition(".")[2])


NAMES = [name_of(module) for module in MODULES]


def found(folder: str, file: str) -> list[Path]:
    """The files of this name anywhere below a folder."""
    return sorted((ROOT / folder).rglob(file))


def test_there_are_learners():
    assert len(NAMES) == len(set(NAMES)) >= 17


@pytest.mark.parametrize("name", NAMES)
def test_the_four_have_one_name(name):
    assert found("docs/learners", f"{name}.md"), f"docs/learners/{name}.md must be written"
    assert found("tests", f"test_{name}.py"), f"tests/learners/test_{name}.py must be written"
    assert bool(found("engine", f"{name}.hpp")) != (name in NO_HEADER), f"engine/**/{name}.hpp, or a row of NO_HEADER"


def test_no_page_is_left_over():
    assert {page.stem for page in (ROOT / "docs" / "learners").glob("*.md")} == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_page_is_short_and_has_an_example_that_runs(name):
    """pytest runs every `>>>` of docs/; a block without one would not be run."""
    text = (ROOT / "docs" / "learners" / f"{name}.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```(\w*)\n(.*?)```", text, flags=re.DOTALL)
    assert text.startswith("# ")
    assert len(text.splitlines()) <= 40
    assert blocks
    assert all(kind == "python" and ">>> " in body for kind, body in blocks)
    assert "**Sees each round:**" in text
    assert "**Bound:**" in text
    assert "**Proof:**" in text


@pytest.mark.parametrize("name", NAMES)
def test_links_of_a_page_lead_somewhere(name):
    page = ROOT / "docs" / "learners" / f"{name}.md"
    for link in re.findall(r"\]\(([^)#]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / link).is_file(), link


def test_the_checks_can_fail():
    assert name_of("hannan.learners.no_such_learner") == "no_such_learner"
    assert found("docs/learners", "no_such_learner.md") == found("engine", "no_such_learner.hpp") == []
