"""Searches for sequences that exceed a bound.

Exact worst cases, by dynamic programming and by enumeration of all sequences.

A learner with full information plays a function of the losses, so the worst 0/1 sequence for two or three experts is
found exactly, backwards from the end: the state is the gap of the cumulative losses. A bandit that resamples plays a
function of integers (0/1 losses times integer weights), so its expected regret is computed exactly as well.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator

import numpy as np

import hannan as hn


def potential(smoothing, scale):
    """FTPL or FTRL, depending on the smoothing."""
    return hn.FTPL(smoothing, scale) if isinstance(smoothing, hn.Law) else hn.FTRL(smoothing, scale)


def play_of_first(smoothing, scale, gaps):
    """p_1 of two experts with L_1 - L_2 in `gaps`."""
    gaps = np.asarray(gaps, dtype=float)
    rows = np.stack([np.abs(gaps), np.zeros_like(gaps)], axis=-1)
    behind = potential(smoothing, scale).gradient(rows)[..., 0]
    return np.where(gaps >= 0.0, behind, 1.0 - behind)


def worst_of_two(learner, rounds):
    """The largest regret of the mean play over all 0/1 sequences of two experts: max over (1,0), (0,1), (1,1)."""
    schedule, smoothing = learner.schedule(), learner.smoothing
    gaps = np.arange(-rounds - 1, rounds + 2)
    ahead = np.zeros(gaps.size)  # the largest further gain, by gap
    p, last = None, None
    for t in range(rounds, 0, -1):
        scale = schedule.scale(t, 0.0)
        if scale != last:
            p, last = play_of_first(smoothing, scale, gaps), scale
        first = np.concatenate([p[:-1] - (gaps[:-1] < 0) + ahead[1:], [-math.inf]])
        second = np.concatenate([[-math.inf], (1.0 - p[1:]) - (gaps[1:] > 0) + ahead[:-1]])
        ahead = np.maximum(ahead, np.maximum(first, second))  # (1,1) uses one round and has no other effect
    return float(ahead[rounds + 1])


def worst_of_two_within(learner, rounds, best):
    """As `worst_of_two`, over the sequences with L* <= best: the state is the gap and the least loss so far."""
    scale = learner.schedule().scale(1, 0.0)
    gaps = np.arange(-rounds - 1, rounds + 2)
    p = play_of_first(learner.smoothing, scale, gaps)[:, None]
    behind, before = (gaps > 0)[:, None], (gaps < 0)[:, None]
    never = -math.inf
    ahead = np.zeros((gaps.size, best + 1))
    for _ in range(rounds):
        up = np.vstack([ahead[1:], np.full((1, best + 1), never)])  # the first expert has a loss
        down = np.vstack([np.full((1, best + 1), never), ahead[:-1]])
        shift = lambda a: np.hstack([a[:, 1:], np.full((a.shape[0], 1), never)])  # noqa: E731  L* one more
        first = np.where(before, p - 1.0 + shift(up), p + up)
        second = np.where(behind, -p + shift(down), 1.0 - p + down)
        both = shift(ahead)
        ahead = np.maximum.reduce([ahead, first, second, both])
    return float(ahead[rounds + 1, 0])


def worst_of_three(learner, rounds):
    """The largest regret over all 0/1 sequences of three experts; the scale may depend on the round only."""
    schedule, smoothing = learner.schedule(), learner.smoothing
    size = 2 * rounds + 1
    one, two = np.meshgrid(np.arange(size) - rounds, np.arange(size) - rounds, indexing="ij")  # L_1 - L_3, L_2 - L_3
    L = np.stack([one, two, np.zeros_like(one)], axis=-1).astype(float)
    L -= L.min(axis=-1, keepdims=True)
    ahead = np.zeros((size, size))
    p, last = None, None
    losses = [np.array(row) for row in itertools.product((0, 1), repeat=3) if 0 < sum(row) < 3]
    for t in range(rounds, 0, -1):
        scale = schedule.scale(t, 0.0)
        if scale != last:
            p, last = potential(smoothing, scale).gradient(L.reshape(-1, 3)).reshape(L.shape), scale
        best = ahead.copy()
        for loss in losses:
            rise = (L + loss).min(axis=-1)
            i, j = one + loss[0] - loss[2] + rounds, two + loss[1] - loss[2] + rounds
            inside = (i >= 0) & (i < size) & (j >= 0) & (j < size)
            later = ahead[np.clip(i, 0, size - 1), np.clip(j, 0, size - 1)]
            value = np.where(inside, p @ loss - rise + later, -math.inf)
            best = np.maximum(best, value)
        ahead = best
    return float(ahead[rounds, rounds])


def resampled_games(
    arms_play: Callable, weights: Callable, rounds: int, sequence: list[tuple[int, int]] | None = None
) -> Iterator[tuple[float, float]]:
    """(expected regret, L*) of every 0/1 sequence of a bandit with two arms, integer weights and a constant scale.

    Or of one `sequence`. `arms_play(gaps)` is p_1 at Lhat_1 - Lhat_2, `weights(gap, arm, p)` the (weight, probability)
    of the drawn arm. The law of the gap is propagated along the tree of sequences, so nothing is sampled.
    """
    play: dict[int, float] = {}

    def p_at(gap: int) -> float:
        if gap not in play:
            play[gap] = float(arms_play(np.array([gap]))[0])
        return play[gap]

    def moves(law: dict[int, float], loss: tuple[int, int]) -> tuple[dict[int, float], float]:
        after: dict[int, float] = {}
        own = 0.0
        for gap, mass in law.items():
            p = p_at(gap)
            for arm, probability in ((0, p), (1, 1.0 - p)):
                if not loss[arm]:
                    after[gap] = after.get(gap, 0.0) + mass * probability
                    continue
                own += mass * probability
                for weight, share in weights(gap, arm, probability):
                    to = gap + (weight if arm == 0 else -weight)
                    after[to] = after.get(to, 0.0) + mass * probability * share
        return after, own

    def walk(law, own, total, left):
        if left == 0:
            yield own - min(total), min(total)
            return
        for loss in sequence[-left:][:1] if sequence else itertools.product((0, 1), repeat=2):
            after, cost = moves(law, loss)
            yield from walk(after, own + cost, (total[0] + loss[0], total[1] + loss[1]), left - 1)

    yield from walk({0: 1.0}, 0.0, (0, 0), rounds)


def geometric(cap):
    """min(K, cap), K geometric(p): its law."""

    def weights(gap, arm, p):
        del gap, arm
        for k in range(1, cap):
            yield k, p * (1.0 - p) ** (k - 1)
        yield cap, (1.0 - p) ** (cap - 1)

    return weights


def conditional(cap):
    """Law of sigma min(K, cap), K geometric(sigma p), where sigma is the number of arms not behind the drawn arm."""

    def weights(gap, arm, p):
        sigma = 2 if (gap >= 0 if arm == 0 else gap <= 0) else 1
        for weight, share in geometric(cap)(gap, arm, min(1.0, sigma * p)):
            yield sigma * weight, share

    return weights


def barrier_games(learner, rounds, sequence=None):
    """The games of a log-barrier bandit with two arms and resampling."""
    estimator, scale = learner.estimator, learner.schedule().scale(1, 0.0)
    weights = (geometric if isinstance(estimator, hn.GeometricResampling) else conditional)(estimator.cap)
    return list(resampled_games(lambda gaps: play_of_first(hn.LogBarrier(), scale, gaps), weights, rounds, sequence))


def worst_resampled(learner, rounds, share=1.0):
    """The largest regret/bound(L*) of a log-barrier bandit with two arms over all 0/1 sequences within its tuning."""
    most = getattr(learner.tuning, "bound", rounds)
    games = [game for game in barrier_games(learner, rounds) if game[1] <= most]
    return max(regret / (share * untrimmed(learner, rounds, best)) for regret, best in games)


def untrimmed(learner, rounds, best):
    """The bound before the minimum with the number of rounds is taken."""
    return math.fsum(learner._barrier(rounds, best).terms.values())


def climbed(learner, n, rounds, seed, steps):
    """Hill climbing on 0/1 sequences: the largest regret/bound found, for tunings that depend on the own loss."""
    rng = np.random.default_rng(seed)

    def ratio(losses):
        own, L, schedule = 0.0, np.zeros(n), learner.schedule()
        for t, row in enumerate(losses):
            p = potential(learner.smoothing, schedule.scale(t + 1, own)).gradient(L - L.min())
            own, L = own + float(p @ row), L + row
        best = float(L.min())
        return (own - best) / learner.bound(rounds, best).value

    losses = np.zeros((rounds, n))
    losses[:, 1:] = 1.0
    value = ratio(losses)
    for _ in range(steps):
        tried = losses.copy()
        tried[rng.integers(rounds), rng.integers(n)] += 1.0
        tried %= 2.0
        new = ratio(tried)
        if new >= value:
            losses, value = tried, new
    return value
