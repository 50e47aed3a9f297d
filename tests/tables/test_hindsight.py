"""The best fixed combination in hindsight."""

from __future__ import annotations

import numpy as np
import pytest
from forecasts import table

from hannan.tables.combine.hindsight import best_combination, improvement
from hannan.tables.combine.losses import Absolute, Huber, Log, Pinball, Squared, point_loss


@pytest.mark.parametrize("loss", [Absolute(), Squared(), Pinball(0.8), Huber(0.2), Log()])
def test_search_brackets_the_best_combination(loss):
    """Against a fine grid over the simplex of three experts."""
    forecasts, targets = table(120, 3, seed=6)
    found = best_combination(loss, forecasts, targets)
    grid = [(a, b, 1 - a - b) for a in np.linspace(0, 1, 41) for b in np.linspace(0, 1, 41) if a + b <= 1 + 1e-12]
    best = min(loss.value(forecasts @ np.clip(q, 0, 1), targets).sum() for q in grid)
    assert found.least <= best + 1e-9
    assert found.loss <= best * (1 + 1e-4)
    assert found.least <= found.loss <= found.least * (1 + 2e-5) + 1e-9
    assert loss.value(forecasts @ found.weights, targets).sum() == pytest.approx(found.loss)
    assert found.weights.sum() == pytest.approx(1.0)


def test_search_states_why_there_is_no_result():
    forecasts, targets = table(50, holes=0.5)
    forecasts[:, 1] = 0.5
    assert best_combination(Absolute(), forecasts, targets).experts == (1,)
    forecasts[3] = [0.2, np.nan, np.nan, np.nan]
    forecasts[4, 0] = np.nan
    assert "missing forecasts" in best_combination(Absolute(), forecasts, targets).withheld
    assert "convex" in best_combination(point_loss("absolute", 2.0), forecasts, targets).withheld
    assert "target" in best_combination(Absolute(), table()[0], np.full(300, np.nan)).withheld
    assert "2001 models" in best_combination(Absolute(), np.zeros((2, 2001)), np.zeros(2)).withheld


def intervals(correlation, rows, games, seed=0):
    """Return the improvements of games whose true improvement is 0, with autocorrelated differences of the losses."""
    from scipy.signal import lfilter

    rng = np.random.default_rng(seed)
    noise = lfilter([1.0], [1.0, -correlation], rng.normal(size=(games, rows + 500)), axis=1)[:, 500:]
    noise *= 0.1 * np.sqrt(1.0 - correlation**2)
    return [improvement(1.0 + each, np.ones(rows)) for each in noise]


@pytest.mark.parametrize(
    ("correlation", "rows"), [(0.0, 20), (0.0, 300), (0.5, 40), (0.9, 100), (0.9, 1000), (0.99, 100)]
)
def test_intervals_of_improvements_are_not_overconfident(correlation, rows):
    """A verdict is wrong in at most 8% of 300 games (measured: 1% to 6%); the false-alarm rate is about 1e-6 in total.

    The control: an interval that ignores the correlation is wrong far more often.
    """
    games = 300
    found = intervals(correlation, rows, games)
    wrong = sum(one.low is not None and not one.low <= 0.0 <= one.high for one in found)
    assert wrong <= 0.08 * games + 5.0 * np.sqrt(0.08 * 0.92 * games)
    if correlation >= 0.9:
        assert sum(abs(one.percent) > 100.0 * 1.96 * 0.1 / np.sqrt(rows) for one in found) > 0.5 * games
    if correlation == 0.99:
        assert sum(bool(one.early) for one in found) > 0.5 * games


def test_intervals_of_improvements_detect_a_difference():
    rng = np.random.default_rng(1)
    other = rng.exponential(size=500)
    found = improvement(0.9 * other * rng.uniform(0.8, 1.2, size=500), other)
    assert 0.0 < found.low < found.percent < found.high < 20.0
    assert improvement(other, 0.9 * other * rng.uniform(0.8, 1.2, size=500)).high < 0.0
    assert improvement(np.zeros(30), np.ones(30)) is None
    assert "after 4 rows" in improvement(np.ones(4), 2.0 * np.ones(4)).early
