"""kill -9 and power cuts under load: nothing acknowledged is lost or counted twice; the controls are caught."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from kills import Campaign, compiler

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux") or compiler() is None, reason="needs Linux and a C compiler, for LD_PRELOAD"
)


def campaign(folder: Path, kills: int, mode: str = "sound", seed: int = 0) -> Campaign:
    told = Campaign(folder, mode, seed=seed)
    told.run(kills)
    told.end()
    print(f"{mode}: {told.tally}")
    return told


def test_nothing_is_lost(tmp_path: Path) -> None:
    tally = campaign(tmp_path, 8).tally
    assert tally.faults == 0, f"{tally} {tally.failures}"
    assert tally.kills == 8
    assert len(tally.counted) > 50
    assert tally.repeats > 10


@pytest.mark.parametrize("mode", ["early", "unsynced"])
def test_the_controls_are_caught(tmp_path: Path, mode: str) -> None:
    # Replies before the sync, or no sync at all: a kill or a cut loses something in nearly every round.
    assert campaign(tmp_path, 4, mode).tally.faults > 0


@pytest.mark.slow
def test_a_thousand_kills(tmp_path: Path) -> None:
    tally = campaign(tmp_path, 1000, seed=1).tally
    assert tally.faults == 0, f"{tally} {tally.failures}"
    assert tally.kills == 1000
