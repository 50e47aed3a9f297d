"""Tables of forecasts for the tests of combinations, and a live player as a reference."""

from __future__ import annotations

import numpy as np

import hannan as hn

LOSSES = ["absolute", "squared", "pinball:0.9", "huber:0.3", "log"]


def table(rows=300, n=4, seed=0, holes=0.0):
    rng = np.random.default_rng(seed)
    forecasts = rng.uniform(0.05, 0.95, (rows, n))
    if holes:
        forecasts[rng.random((rows, n)) < holes] = np.nan
        forecasts[np.arange(rows), rng.integers(n, size=rows)] = rng.uniform(0.05, 0.95, rows)
    targets = (rng.random(rows) < 0.4).astype(float)
    return forecasts, targets


def by_player(forecasts, targets, loss, learner, seed=0):
    """Row by row with the live player; the losses are computed from their definitions."""
    player, weights, mixed, played = learner.start(seed), [], [], []
    for row, y in zip(forecasts, targets, strict=True):
        awake = ~np.isnan(row)
        p = player.distribution(awake)
        weights.append(p)
        mixed.append(p[awake] @ row[awake])
        move = player.act(awake)
        played.append(move.action)
        losses = np.full(len(row), np.nan)
        losses[awake] = loss.value(row[awake], y)
        player.observe(move, losses)
    return np.array(weights), np.array(mixed), played, player


LEARNERS = {
    "adahedge": hn.AdaHedge(4),
    "experts": hn.Experts(4, loss_range=(0.0, 3.0)),
    "hedge": hn.Experts(4, hn.Entropy(), loss_range=(0.0, 3.0)),
    "tsallis": hn.Experts(4, hn.Tsallis(), hn.Anytime(), loss_range=(0.0, 3.0)),
    "fixed": hn.Experts(4, hn.Entropy(), hn.Fixed(2.0), loss_range=(0.0, 3.0)),
}
