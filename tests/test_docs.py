"""docs/paper.md has every label of the claims once, and says of each what `hannan reproduce` says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hannan.paper import claims
from hannan.paper.statements import STATEMENTS

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
