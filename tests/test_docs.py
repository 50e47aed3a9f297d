"""docs/paper.md has every label of the claims once, and says of each what `hannan reproduce` says; pages that name a
format name the one there is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hannan import saving
from hannan.paper import claims
from hannan.paper.statements import STATEMENTS
from hannan.serving.shelf import FORMAT

PAGE = Path(__file__).parents[1] / "docs" / "paper.md"
LABELS = sorted({claim.label for claim in claims()})
#: How the page says each outcome.
WORDS = {"improved": "improved", "holds as corrected": "corrected", "fails as printed": "fails? as printed"}


def _rows() -> dict[str, list[str]]:
    cells = [line.strip("| ").split(" | ") for line in PAGE.read_text(encoding="utf-8").splitlines() if ":" in line]
    return {row[0]: row[1:] for row in cells if len(row) == 5}


def test_the_page_has_the_labels_of_the_claims_with_their_numbers() -> None:
    assert sorted(_rows()) == LABELS
    assert {label: row[0] for label, row in _rows().items()} == {label: STATEMENTS[label].number for label in LABELS}


@pytest.mark.parametrize("label", LABELS)
def test_the_page_says_what_reproduce_says(label: str) -> None:
    verdict = _rows()[label][-1]
    expected = {claim.expected for claim in claims(label)}
    for outcome, word in WORDS.items():
        assert bool(re.search(word, verdict)) == (outcome in expected), (label, outcome)
    assert "holds" not in expected or "hold" in verdict


def test_pages_name_the_formats_there_are() -> None:
    versions, serving = (PAGE.with_name(name).read_text(encoding="utf-8") for name in ("versions.md", "serving.md"))
    assert re.findall(r"\*\*Stores\*\* have a format number of their own, now (\d+)", versions) == [str(FORMAT)]
    assert re.findall(r"`PRAGMA user_version`, now (\d+)", serving) == [str(FORMAT)]
    assert re.findall(r"\*\*Saved players\*\* have a format, now `(.*?)`", versions) == [saving.FORMAT]
