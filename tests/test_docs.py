"""docs/paper.md has every label of the claims once, and says of each what `hannan reproduce` says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hannan.paper import claims

PAGE = Path(__file__).parents[1] / "docs" / "paper.md"
LABELS = sorted({claim.label for claim in claims()})


def _rows() -> list[tuple[str, str]]:
    cells = [line.strip("| ").split(" | ") for line in PAGE.read_text(encoding="utf-8").splitlines() if ":" in line]
    return [(label, row[-1]) for row in cells if len(row) == 4 for label in row[0].split(", ")]


def test_the_page_has_the_labels_of_the_claims() -> None:
    assert sorted(label for label, _ in _rows()) == LABELS


@pytest.mark.parametrize("label", LABELS)
def test_the_page_says_what_reproduce_says(label: str) -> None:
    verdict = dict(_rows())[label]
    of_label = claims(label)
    printed = any("printed" in claim.conditions or claim.name.endswith("printed") for claim in of_label)
    assert bool(re.search("fails? as printed", verdict)) == printed
    if any(claim.corrects for claim in of_label):
        assert "corrected" in verdict
