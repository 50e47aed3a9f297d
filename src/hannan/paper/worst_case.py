"""The worst of all losses in {0, 1}² for two experts, found by dynamic programming, and played.

With two experts a learner of full information plays a function of the gap L_1 - L_2 (and of the round, where its
scale grows): so the largest regret over *all* sequences is exact, and the sequence that has it can be played.
"""

from __future__ import annotations

import numpy as np

from hannan.games.play import play
from hannan.learners.experts import Experts
from hannan.mathematics.potentials import potential
from hannan.mathematics.stability import Smoothing
from hannan.refusals import Array


def first(smoothing: Smoothing, scale: float, gaps: Array) -> Array:
    """p of the first expert when it is that far behind; an infinite scale is uniform play."""
    if np.isinf(scale):
        return np.full(gaps.size, 0.5)
    return np.asarray(potential(smoothing, scale).gradient(np.stack([gaps, np.zeros_like(gaps)], axis=1))[:, 0])


def zero_order(smoothing: Smoothing, scales: list[float]) -> tuple[float, Array]:
    """The largest regret after so many rounds, at these scales, and losses that cause it."""
    rounds = len(scales)
    gaps = np.arange(-rounds - 1, rounds + 2, dtype=float)
    plays = {scale: first(smoothing, scale, gaps) for scale in set(scales)}
    # The regret against the first is own - l_1, plus max(0, gap) at the end.
    value, choices = np.maximum(gaps, 0.0), np.zeros((rounds, gaps.size), dtype=np.int8)
    for t in range(rounds - 1, -1, -1):
        p = plays[scales[t]]
        each = np.stack([value, np.roll(value, -1) + p - 1.0, np.roll(value, 1) + 1.0 - p])
        each[1:, [0, -1]] = -np.inf
        choices[t] = each.argmax(axis=0)
        value = each.max(axis=0)
    losses, at = np.zeros((rounds, 2)), rounds + 1
    for t in range(rounds):
        choice = choices[t, at]
        if choice:
            losses[t, choice - 1] = 1.0
            at += 1 if choice == 1 else -1
    return float(value[rounds + 1]), losses


def first_order(smoothing: Smoothing, scale: float, best: int) -> tuple[float, Array]:
    """The largest regret of any number of rounds with a best loss of at most `best`, and losses that cause it."""
    reach = int(40.0 * scale) + 4
    gaps = np.arange(reach, dtype=float)
    behind = first(smoothing, scale, gaps)
    # Up: the expert that is behind by g loses again. Down: the leader loses, which costs one of `best`.
    climbed = np.concatenate([[0.0], np.cumsum(behind)])[:reach]
    value, peaks = np.zeros(reach), []
    for left in range(best + 1):
        # Having gone up to h: stop there, or come down once, own loss 1 - behind(h) against one more of the best.
        down = np.full(reach, -np.inf)
        if left > 0:
            down[1:] = value[:-1] - behind[1:]
        top = climbed + np.maximum(down, 0.0)
        value = np.maximum.accumulate(top[::-1])[::-1] - climbed
        peaks.append((top, down))
    losses: list[tuple[float, float]] = []
    at = 0
    for left in range(best, -1, -1):
        top, down = peaks[left]
        high = at + int(top[at:].argmax())
        losses += [(1.0, 0.0)] * (high - at)
        if not down[high] > 0.0:
            break
        losses.append((0.0, 1.0))
        at = high - 1
    return float(value[0]), np.array(losses or [(0.0, 0.0)])


def regret(learner: Experts, losses: Array, seed: int = 0) -> float:
    """The expected regret of the learner itself: its plays are computed, and ⟨p, l⟩ is charged."""
    record = play(learner, losses, seed=seed, threads=1)
    assert record.expected_regret is not None
    return float(record.expected_regret[-1])
