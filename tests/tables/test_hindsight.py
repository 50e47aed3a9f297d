"""The best fixed combination in hindsight."""

from __future__ import annotations

import numpy as np
import pytest
from forecasts import table

from hannan.tables.combine.hindsight import best_combination
from hannan.tables.combine.losses import Absolute, Huber, Log, Pinball, Squared, point_loss


@pytest.mark.parametrize("loss", [Absolute(), Squared(), Pinball(0.8), Huber(0.2), Log()])
def test_the_oracle_brackets_the_best_combination(loss):
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


def test_the_oracle_says_when_it_cannot():
    forecasts, targets = table(50, holes=0.5)
    forecasts[:, 1] = 0.5
    assert best_combination(Absolute(), forecasts, targets).experts == (1,)
    forecasts[3] = [0.2, np.nan, np.nan, np.nan]
    forecasts[4, 0] = np.nan
    assert "missing forecasts" in best_combination(Absolute(), forecasts, targets).withheld
    assert "convex" in best_combination(point_loss("absolute", 2.0), forecasts, targets).withheld
    assert "target" in best_combination(Absolute(), table()[0], np.full(300, np.nan)).withheld
    assert "2001 models" in best_combination(Absolute(), np.zeros((2, 2001)), np.zeros(2)).withheld
