"""docs/paper.md lists every label with the verdict of `hannan reproduce`; other pages name the current formats."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hannan import saving
from hannan.paper import claims
from hannan.paper.claim import STATEMENTS
from hannan.serving.backend import FORMAT

PAGE = Path(__file__).parents[1] / "docs" / "paper.md"
LABELS = sorted({claim.label for claim in claims()})
#: Words of the page for each outcome.
WORDS = {"improved": "improved", "holds as corrected": "corrected", "fails as printed": "fails? as printed"}


def _rows() -> dict[str, list[str]]:
    cells = [line.strip("| ").split(" | ") for line in PAGE.read_text(encoding="utf-8").splitlines() if ":" in line]
    return {row[0]: row[1:] for row in cells if len(row) == 5}


def test_the_page_has_every_label_of_the_paper_with_its_number() -> None:
    outline = Path(__file__).with_name("oracles").joinpath("paper_outline.tex").read_text(encoding="utf-8")
    assert sorted(_rows()) == sorted(re.findall(r"\\label\{(.*?)\}", outline))
    assert {label: _rows()[label][0] for label in LABELS} == {label: STATEMENTS[label].number for label in LABELS}


def test_labels_without_a_claim_are_marked_and_name_existing_claims() -> None:
    names = {claim.name for claim in claims()}
    for label, row in _rows().items():
        assert (label in LABELS) != row[-1].startswith("no claim"), label
        named = re.findall(r"`([a-z0-9-]+)`", row[2])
        assert set(named) <= names, label
        assert named or not label.startswith("lem"), label


@pytest.mark.parametrize("label", LABELS)
def test_the_page_has_the_verdict_of_reproduce(label: str) -> None:
    verdict = _rows()[label][-1]
    expected = {claim.expected for claim in claims(label)}
    for outcome, word in WORDS.items():
        assert bool(re.search(word, verdict)) == (outcome in expected), (label, outcome)
    assert "holds" not in expected or "hold" in verdict


def formats(text: str, word: str) -> list[str]:
    """Return what the sentence with a word names as the current format ("now ...")."""
    (found,) = [part for part in re.split(r"[.;]\s", text) if word in part and "now " in part]
    return re.findall(r"\bnow `?([\w/]+)", found)


def test_pages_name_the_current_formats() -> None:
    versions, serving = (PAGE.with_name(name).read_text(encoding="utf-8") for name in ("versions.md", "serving.md"))
    assert formats(versions, "**Stores**") == [str(FORMAT)]
    assert formats(serving, "`PRAGMA user_version`") == [str(FORMAT)]
    assert formats(versions, "**Saved players**") == [saving.FORMAT]
    assert formats("- **Stores** have a format, now 99.", "**Stores**") == ["99"] != [str(FORMAT)]  # control
