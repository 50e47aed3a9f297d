"""Claims beyond the paper: Exp3, Green and Exp3Light in the loss of the best arm, and the random playout of experts."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from hannan.learners.bandits import Bandit
from hannan.learners.first_order import Exp3Light, Green
from hannan.learners.noisy import RandomPlayout
from hannan.learners.tuning import Fixed
from hannan.mathematics.regularizers import Entropy
from hannan.paper.claim import Chapter, Effort, Verdict, at_most, holds
from hannan.validation import Array

CHAPTER = Chapter(
    "First-order bounds of cited systems",
    "The paper cites several systems whose regret follows the loss of the best arm, and perturbations that shrink with "
    "the rounds that remain. Their bounds here have explicit constants (docs/proofs).",
)


def _expected_regret(losses: Array, scale: Callable[[Array], float], cutoff: float = 0.0) -> float:
    """Return the expected regret of exponential weights, exactly, over all draws."""

    def rest(t: int, total: Array) -> float:
        if t == len(losses):
            return 0.0
        p = np.exp((total.min() - total) / scale(total))
        p /= p.sum()
        q = np.where(p < cutoff, 0.0, p)
        q /= q.sum()
        lost = 0.0
        for i in np.flatnonzero(q > 1e-12):
            after = total.copy()
            after[i] += losses[t, i] / q[i]
            lost += q[i] * (losses[t, i] + rest(t + 1, after))
        return lost

    return rest(0, np.zeros(losses.shape[1])) - float(losses.sum(axis=0).min())


def _games(effort: Effort, name: str) -> list[tuple[Array, float]]:
    """Return small games, each with a scale; in the first of each size the best arm never loses."""
    rng, found = effort.rng(name), []
    for n, rounds in ((2, effort.pick(7, 9)), (3, effort.pick(5, 6))):
        found.append((np.tile(np.arange(n) > 0, (rounds, 1)).astype(float), 0.05))
        for k in range(effort.pick(12, 60)):
            coins = (rng.random((rounds, n)) < rng.random(n)).astype(float)
            found.append((coins if k % 2 else rng.random((rounds, n)) ** 2, float(10.0 ** rng.uniform(-1.5, 0.8))))
    return found


@CHAPTER.claim("exp3-first-order")
def _exp3(effort: Effort) -> Verdict:
    """Exp3 at a constant scale s and Green with a threshold τ have expected regret at most s ln n + nL*/(2s) + (n − 1)
    (ln(2T) + 3)/2, and the form of Green with ln(1/τ), for oblivious losses."""
    worst, games = 0.0, _games(effort, "exp3-first-order")
    for losses, s in games:
        rounds, n = losses.shape
        best, cutoff = float(losses.sum(axis=0).min()), 0.4 / n
        for learner, dropped in ((Bandit(n, Entropy(), Fixed(s)), 0.0), (Green(n, s, cutoff), cutoff)):
            found = _expected_regret(losses, lambda _, s=s: s, dropped)  # type: ignore[misc]
            bound = learner.bound(rounds, best_loss=best)
            first_two = sum(list(bound.terms.values())[:2])
            worst = max(worst, found / effort.turn(bound.value, first_two))
    return holds(at_most(worst, 1.0), worst, 1.0, runs=2 * len(games), what="largest regret, divided by the bound")


@CHAPTER.claim("exp3-light-first-order")
def _light(effort: Effort) -> Verdict:
    """Exp3Light has expected regret at most √(6nL* ln n) + c ln n + n/(2c) + n(b ln(T/b) + b + a + 1) for oblivious
    losses, without any number known in advance."""
    worst, games = 0.0, _games(effort, "exp3-light-first-order")
    for losses, _ in games:
        rounds, n = losses.shape
        first = math.sqrt(3.0 * n / (8.0 * math.log(n)))

        def scale(total: Array, first: float = first) -> float:
            low = float(total.min())
            return first * 2.0 ** (math.ceil(math.log(low, 4.0)) if low > 1.0 else 0)

        bound = Exp3Light(n).bound(rounds, best_loss=float(losses.sum(axis=0).min()))
        # The bound of one round is trivial; the terms are compared.
        most = effort.turn(sum(bound.terms.values()), bound.terms.get("sqrt(6 n L* ln n)", 0.1))
        worst = max(worst, _expected_regret(losses, scale) / max(most, 0.1))
    return holds(at_most(worst, 1.0), worst, 1.0, runs=len(games), what="largest regret, divided by the bound")


@CHAPTER.claim("random-playout")
def _playout(effort: Effort) -> Verdict:
    """The mean play of the random playout of two experts has regret at most m_{2}√(2T) on every sequence of losses in
    {0, 1}, where m_{2} is the mean of the larger of two standard normal numbers."""
    worst, rounds = 0.0, effort.pick((20, 100), (20, 100, 400, 1000))
    for T in rounds:
        worst = max(worst, _worst_of_two(T, effort.turn(0.5, 5e-4)) / RandomPlayout(2, T).bound().value)
    return holds(at_most(worst, 1.0), worst, 1.0, runs=len(rounds), what="largest regret, divided by the bound")


def _worst_of_two(rounds: int, variance: float) -> float:
    """Return the largest regret over all losses in {0, 1}, by dynamic programming over the difference of the sums."""
    gap = np.arange(-rounds, rounds + 1)
    left = np.zeros(2 * rounds + 1)
    for remain in range(1, rounds + 1):
        p = np.array([0.5 * math.erfc(d / (2.0 * math.sqrt(variance * remain))) for d in gap])
        up, down = left.copy(), left.copy()
        up[:-1], down[1:] = left[1:], left[:-1]
        first = p - 0.5 * (1 - (np.abs(gap + 1) - np.abs(gap))) + up
        second = (1 - p) - 0.5 * (1 - (np.abs(gap - 1) - np.abs(gap))) + down
        left = np.maximum(left, np.maximum(first, second))
    return float(left[rounds])
