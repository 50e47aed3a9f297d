"""The first 1,000 moves of every learner equal the recorded moves of the implementation before the engine."""

from __future__ import annotations

import json

import numpy as np
import paths
import pytest

from hannan import saving
from hannan.players.load import resumed

WRITTEN = json.loads(paths.FILE.read_text())
TABLES = paths.tables()
POINTS = paths.points()
#: With a small scale a bandit is chaotic: an ulp in its first weights leads to another arm about 650 rounds later.
CHAOTIC = {"bandit, log-barrier, self-confident": 600}


@pytest.mark.parametrize("name", WRITTEN["paths"])
def test_moves_equal_the_recorded_ones(name: str) -> None:
    learner, given = TABLES[name]
    for seed, moves in WRITTEN["paths"][name].items():
        played = paths.path(learner, given, int(seed))
        differ = (t for t, (a, b) in enumerate(zip(played, moves, strict=True)) if a != b)
        first = next((t for t in differ if t < CHAOTIC.get(name, paths.ROUNDS)), None)
        assert first is None, f"seed {seed}: round {first}"


@pytest.mark.parametrize("name", CHAOTIC)
def test_one_ulp_leads_to_other_moves(name: str) -> None:
    """Reason for the tolerance at small scales: after one ulp in one loss of round 5 the engine differs from itself.

    The difference of p is 1e-13 at round 200 and 1e-6 at round 600, and then another arm is drawn. The control: at
    other scales this does not happen.
    """

    def apart(name: str, rounds: int) -> list[float]:
        learner, given = TABLES[name]
        one = learner.start(1)
        for row in given["losses"][:5]:
            move = one.act()
            one.observe(move, float(row[move.action]))
        content = one.content()
        losses = saving.from_hex(content["state"]["losses"]["hex"])
        losses[losses.argmax()] = np.nextafter(losses.max(), np.inf)
        content["state"]["losses"]["hex"] = saving.to_hex(losses)
        two, gaps = resumed(content), []
        for row in given["losses"][5:rounds]:
            gaps.append(float(np.abs(one.distribution() - two.distribution()).max()))
            for player in (one, two):
                move = player.act()
                player.observe(move, float(row[move.action]))
        return gaps

    gaps = apart(name, CHAOTIC[name] + 50)
    assert gaps[195] < 1e-10
    assert gaps[-1] > 1e-7
    assert max(apart("bandit, entropy, fixed", CHAOTIC[name] + 50)) < 1e-11


@pytest.mark.parametrize("name", WRITTEN["regrets"])
def test_regrets_of_convex_games_equal_the_recorded_ones(name: str) -> None:
    make, table = POINTS[name]
    written = {int(seed): np.array(regrets) for seed, regrets in WRITTEN["regrets"][name].items()}
    off = np.array([paths.regrets(make, table, seed) - kept for seed, kept in written.items()])
    if "simplex" in name and "logistic" in name:
        # The recorded L* is too low by 1e-5, because that solver drifted off the simplex, for all seeds equally.
        assert -2e-5 < off.min() <= off.max() <= 0.0
        off = off - off[0]
    np.testing.assert_allclose(off, 0.0, atol=1e-9)


@pytest.mark.parametrize("seed", WRITTEN["sets"])
def test_decisions_equal_the_recorded_ones(seed: str) -> None:
    assert paths.sets(int(seed)) == WRITTEN["sets"][seed]
