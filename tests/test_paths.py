"""The first 1,000 moves of every learner are those that were written down before the engine was."""

from __future__ import annotations

import json

import paths
import pytest

WRITTEN = json.loads(paths.FILE.read_text())
TABLES = paths.tables()
#: Where the scale is small a bandit is chaotic: one ulp of its first weights is another arm some 650 rounds later.
CHAOTIC = {"bandit, log-barrier, self-confident": 600}


@pytest.mark.parametrize("name", WRITTEN["paths"])
def test_the_moves_are_those_written_down(name: str) -> None:
    learner, given = TABLES[name]
    for seed, moves in WRITTEN["paths"][name].items():
        played = paths.path(learner, given, int(seed))
        differ = (t for t, (a, b) in enumerate(zip(played, moves, strict=True)) if a != b)
        first = next((t for t in differ if t < CHAOTIC.get(name, paths.ROUNDS)), None)
        assert first is None, f"seed {seed}: round {first}"
