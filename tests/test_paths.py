"""The first 1,000 moves of every learner are those that were written down before the engine was."""

from __future__ import annotations

import json

import paths
import pytest

WRITTEN = json.loads(paths.FILE.read_text())
TABLES = paths.tables()


@pytest.mark.parametrize("name", WRITTEN["paths"])
def test_the_moves_are_those_written_down(name: str) -> None:
    learner, given = TABLES[name]
    for seed, moves in WRITTEN["paths"][name].items():
        played = paths.path(learner, given, int(seed))
        first = next((t for t, (a, b) in enumerate(zip(played, moves, strict=True)) if a != b), None)
        assert first is None, f"seed {seed}: round {first}"
