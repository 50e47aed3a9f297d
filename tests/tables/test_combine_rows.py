"""The fast rows of AdaHedge against the live player and the definitions: every length, every loss, missing values."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import hannan as hn
from hannan.tables.combine.losses import PointLoss, losses_of, point_loss
from hannan.tables.combine.run import Run, Task
from hannan.tables.combine.timing import Chunk
from hannan.tables.read import frames
from hannan.tables.read.frames import frame_of
from hannan.tables.read.table import BadTable

LENGTHS = [1, 2, 3, 4, 5, 8, 9, 10, 12, 13, 16, 17, 20, 33, 40]


def table(n, rows=150, seed=0, unknown=0.0):
    rng = np.random.default_rng([seed, n])
    forecasts, targets = rng.uniform(0.05, 0.95, (rows, n)), (rng.random(rows) < 0.4).astype(float)
    targets[rng.random(rows) < unknown] = np.nan
    return forecasts, targets


@pytest.mark.parametrize("unknown", [0.0, 0.2])
@pytest.mark.parametrize("loss", ["absolute", "squared", "pinball:0.9", "log"])
@pytest.mark.parametrize("n", LENGTHS)
def test_rows_equal_rounds_of_the_player(n, loss, unknown):
    """Weights, draws and state of a live player with the same losses: equal bit for bit except for the logarithm."""
    forecasts, targets = table(n, unknown=unknown)
    cost = point_loss(loss)
    told = hn.combine(forecasts, targets, loss, "adahedge", seed=3)
    losses, player = losses_of(cost, forecasts, targets), hn.AdaHedge(n).start(3)
    exact = loss != "log"
    for t, row in enumerate(losses):
        p = player.distribution()
        move = player.act()
        if exact:
            assert (told.weights[t] == p).all()
            assert told.played[t] == move.action
        else:
            np.testing.assert_allclose(told.weights[t], p, rtol=1e-9, atol=1e-13)
        assert told.forecast[t] == pytest.approx(p @ forecasts[t], rel=1e-9)
        if np.isnan(targets[t]):
            player.forget(move)
        else:
            player.observe(move, row)
    known = ~np.isnan(targets)
    summary, seen = told.summary, player.certificate()
    assert (summary.answered, summary.settled) == (len(targets), int(known.sum()))
    assert summary.certificate.regret == pytest.approx(seen.regret, rel=1e-9, abs=1e-12)
    assert summary.certificate.realised_level == pytest.approx(seen.realised_level, rel=1e-9)
    assert summary.mix_loss == pytest.approx(cost.value(told.forecast[known], targets[known]).sum())
    np.testing.assert_allclose([e.loss for e in summary.experts], losses[known].sum(axis=0))


@pytest.mark.parametrize("n", [1, 4, 9, 20])
def test_game_equals_rounds_of_the_player(n):
    losses = np.random.default_rng(n).random((200, n))
    record, player = hn.play(hn.AdaHedge(n), losses, runs=1, seed=5, keep="all"), hn.AdaHedge(n).start(5)
    moves = []
    for row in losses:
        move = player.act()
        moves.append(move.action)
        player.observe(move, row)
    assert record.actions[0].tolist() == moves
    assert player.certificate().best_loss == losses.cumsum(axis=0)[-1].min()


@pytest.mark.parametrize("cells", [1, 1000, frames.CHUNK_CELLS])
def test_columns_of_any_memory_layout(cells, monkeypatch):
    """Arrays that are strided, reversed, of other types, big-endian, unaligned, broadcast, or read-only.

    They are copied unchanged, however many at a time, and stay copies.
    """
    wide = np.random.default_rng(0).random((700, 6))
    packed = np.zeros(700, dtype=[("k", "i4"), ("x", "f8")])
    packed["x"], guarded = wide[:, 2], wide[:, 4].copy()
    guarded.flags.writeable = False
    frame = {
        "a": wide[:, 1], "b": wide[::-1, 4], "c": np.arange(700), "d": wide[:, 2].astype(np.float32),
        "e": wide[:, 0].astype(">f8"), "f": wide[:, 3].tolist(), "y": wide[:, 5],
        "packed": packed["x"], "once": np.broadcast_to(0.25, 700), "guarded": guarded,
    }  # fmt: skip
    monkeypatch.setattr(frames, "CHUNK_CELLS", cells)
    data = frame_of(frame, "y")
    for i, name in enumerate(data.experts):
        assert (data.forecasts[:, i] == np.asarray(frame[name], dtype=np.float64)).all()
    assert (data.targets == wide[:, 5]).all()
    wide[:] = 7.0
    assert (data.targets != 7.0).all()
    assert (data.forecasts[:, 0] != 7.0).all()


def test_infinite_values_are_reported_with_row_and_column():
    wide = np.zeros((600, 3))
    wide[511, 1] = -np.inf
    with pytest.raises(BadTable, match=r"row 512, column '1': expected a finite number; got -inf"):
        hn.combine(wide, 2)
    with pytest.raises(BadTable, match="column 'b' must have 3 rows"):
        hn.combine({"a": [1, 2, 3], "b": [1, 2], "y": [1, 2, 3]}, "y")


def test_user_defined_loss_is_rejected():
    class Mine(PointLoss):
        def value(self, f, y):
            return 0.0 * f

    with pytest.raises(ValueError, match=r"loss must be absolute.*Mine"):
        hn.combine({"a": [1.0], "y": [1.0]}, "y", Mine())


def test_range_is_checked_and_gives_a_bound_before_play():
    forecasts, targets = table(3)
    told = hn.combine(forecasts, targets, learner="adahedge", loss_range=(0.0, 1.0))
    assert (told.forecast == hn.combine(forecasts, targets, learner="adahedge").forecast).all()
    assert told.summary.learner == "AdaHedge(3, loss_range=(0.0, 1.0))"
    layers = hn.combine(forecasts, targets, loss_range=(0.0, 1.0))
    assert (layers.forecast == hn.combine(forecasts, targets).forecast).all()
    assert layers.summary.learner == "two-layers, losses in 0:1"
    with pytest.raises(BadTable, match=r"row 1, column '\d': a loss must be in the stated range 0:0\.1; got"):
        hn.combine(forecasts, targets, loss_range=(0.0, 0.1))


def test_rows_of_a_table_leave_the_state_of_single_rounds():
    forecasts, targets = table(9)
    run, player = Run(Task(tuple("abcdefghi"), learner="adahedge")), hn.AdaHedge(9).start(0)
    run.take(Chunk(forecasts, targets))
    for row in np.abs(forecasts - targets[:, None]):
        player.observe(player.act(), row)
    mixer = run.combiner.mixer
    assert (mixer.player.distribution() == player.distribution()).all()
    assert dataclasses.replace(mixer.certificate(), seeded=True) == player.certificate()
