"""A draw at the edge of a sum: of the weights (x, y, 1, 0) the last partial sum may exceed the one before by an ulp, by
the order of the additions alone. The greatest uniform falls into it. A weight of zero is not drawn for that: its
estimate would be infinite, and a loss of zero not a number."""

from __future__ import annotations

import numpy as np
import pytest

import hannan as hn
from hannan.mathematics import streams
from hannan.players import player as live

N, SCALE, CASES = 4, 3e-3, 8
ARMS = (0, 1, 3)  # drawn first, in this order: two small losses, then one after which the weight is e^-1000 = 0
MASK = (1 << 64) - 1


def turned(x: int, by: int) -> int:
    return (x << by | x >> (64 - by)) & MASK


def before(a: int, b: int, c: int, d: int) -> tuple[int, int, int, int]:
    """The state of xoshiro256++ a step earlier."""
    d = turned(d, 64 - 45)
    a ^= d
    x = b ^ c
    old = (x ^ x << 17 ^ x << 34 ^ x << 51) & MASK
    c = b ^ old ^ a
    return a, old, c, d ^ old


def uniform(a: int, d: int) -> float:
    return ((turned((a + d) & MASK, 23) + a & MASK) >> 11) * 2.0**-53


def after(a: int, b: int, c: int, d: int) -> tuple[int, int, int, int]:
    shifted = b << 17 & MASK
    c, d = c ^ a, d ^ b
    b, a = b ^ c, a ^ d
    return a, b, c ^ shifted, turned(d, 45)


def weights_after(losses: np.ndarray) -> list[np.ndarray]:
    """The weights before each draw, when ARMS are drawn."""
    found = [np.ones(N)]
    for t, arm in enumerate(ARMS):
        weights = found[-1].copy()
        weights[arm] = np.exp(-losses[t, arm] * weights.sum() / weights[arm] / SCALE)
        found.append(weights)
    return found


def at_an_edge(rng: np.random.Generator) -> np.ndarray:
    """Losses after which the sum of four weights, one of them zero, exceeds the sum of the other three."""
    while True:
        losses = np.zeros((len(ARMS) + 1, N))
        losses[[0, 1], [0, 1]], losses[2, 3] = rng.uniform(1e-4, 1e-3, 2), 1.0
        x, y, z, zero = weights_after(losses)[-1]
        assert zero == 0.0
        if z + (y + x) > (z + y) + x:
            return losses


def stream(losses: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A stream that draws ARMS and then the greatest uniform there is."""
    while True:
        a, b, c, rest = (int(word) for word in rng.integers(0, 1 << 64, 4, dtype=np.uint64))
        last = MASK & ~2047 | rest & 2047
        state = a, b, c, (turned(last - a & MASK, 64 - 23) - a) & MASK
        assert uniform(state[0], state[3]) == 1 - 2.0**-53
        for _ in ARMS:
            state = before(*state)
        found, drawn = state, []
        for weights in weights_after(losses)[:-1]:
            u = uniform(state[0], state[3])
            drawn.append(int(np.searchsorted(np.cumsum(weights), u * weights.sum(), side="right")))
            state = after(*state)
        if tuple(drawn) == ARMS:
            return np.array(found, dtype=np.uint64)


@pytest.mark.parametrize("kind", ["a player", "one run", "four runs"])
def test_a_weight_of_zero_is_not_drawn_for_an_ulp(kind, monkeypatch):
    """The fourth draw is the last arm that has a weight, the third. (The control is a mutant of each kind.)"""
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
