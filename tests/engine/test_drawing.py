"""A draw at the edge of a sum.

The last partial sum of the weights (x, y, 1, 0) may exceed the one before by an ulp, because of the order of the
additions. The largest uniform number falls into this gap. An arm of weight zero must not be drawn then: its loss
estimate would be infinite, or not a number for a loss of zero.
"""

from __future__ import annotations

import numpy as np
import pytest
from naive_games import MASK, Xoshiro

import hannan as hn
from hannan.mathematics import streams
from hannan.players import player as live

N, SCALE, CASES = 4, 3e-3, 8
ARMS = (0, 1, 3)  # drawn first, in this order: two small losses, then a loss after which the weight is e^-1000 = 0


def before(a: int, b: int, c: int, d: int) -> tuple[int, int, int, int]:
    """Return the words of xoshiro256++ one step earlier."""
    d = Xoshiro.rotate(d, 64 - 45)
    a ^= d
    x = b ^ c
    old = (x ^ x << 17 ^ x << 34 ^ x << 51) & MASK
    return a, old, b ^ old ^ a, d ^ old


def weights_after(losses: np.ndarray) -> list[np.ndarray]:
    """Return the weights before each draw if ARMS are drawn."""
    found = [np.ones(N)]
    for t, arm in enumerate(ARMS):
        weights = found[-1].copy()
        weights[arm] = np.exp(-losses[t, arm] * weights.sum() / weights[arm] / SCALE)
        found.append(weights)
    return found


def at_an_edge(rng: np.random.Generator) -> np.ndarray:
    """Return losses after which the sum of four weights, one of them zero, exceeds the sum of the other three."""
    while True:
        losses = np.zeros((len(ARMS) + 1, N))
        losses[[0, 1], [0, 1]], losses[2, 3] = rng.uniform(1e-4, 1e-3, 2), 1.0
        x, y, z, zero = weights_after(losses)[-1]
        assert zero == 0.0
        if z + (y + x) > (z + y) + x:
            return losses


def stream(losses: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return a stream that draws ARMS and then the largest possible uniform number."""
    while True:
        a, b, c, rest = (int(word) for word in rng.integers(0, 1 << 64, 4, dtype=np.uint64))
        greatest = MASK & ~2047 | rest & 2047  # a uniform number is the top 53 bits
        words = a, b, c, (Xoshiro.rotate(greatest - a & MASK, 64 - 23) - a) & MASK
        for _ in ARMS:
            words = before(*words)
        played = Xoshiro(words)
        drawn = tuple(
            int(np.searchsorted(np.cumsum(weights), played.uniform() * weights.sum(), side="right"))
            for weights in weights_after(losses)[:-1]
        )
        assert played.uniform() == 1 - 2.0**-53
        if drawn == ARMS:
            return np.array(words, dtype=np.uint64)


@pytest.mark.parametrize("kind", ["a player", "one run", "four runs"])
def test_weight_of_zero_is_not_drawn_by_rounding(kind, monkeypatch):
    """The fourth draw is the last arm with a positive weight, the third arm. (The controls are mutants of each
    kind.)
    """
    rng = np.random.default_rng(1)
    learner = hn.Bandit(N, hn.Entropy(), hn.Fixed(SCALE), hn.ImportanceWeighted())
    for _ in range(CASES):
        losses = at_an_edge(rng)
        words = stream(losses, rng)
        if kind == "a player":
            monkeypatch.setattr(live, "words", lambda *_, words=words: words)
            player, counts = learner.start(0), np.zeros(N)
            for row in losses:
                move = player.act()
                player.observe(move, row[move.action])
                counts[move.action] += 1
        else:
            runs = 1 if kind == "one run" else 4
            monkeypatch.setattr(streams, "words_of_runs", lambda *_, words=words, runs=runs: np.tile(words, (runs, 1)))
            counts = hn.play(learner, losses, runs=runs).counts
        assert (counts == 1).all()
