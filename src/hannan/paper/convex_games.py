"""Games on convex sets that are hard for a leader without noise, and how a bound is held against them."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from hannan.games.play import play
from hannan.learners.convex.learner import Convex
from hannan.learners.tuning import Fixed
from hannan.mathematics.convex.losses import Linear, Logistic, SmoothedHinge
from hannan.paper.claim import Effort
from hannan.paper.growth import upper


def corner(rounds: int) -> Linear:
    """l(x) = x on [0, 1]: the point 0 never loses, and what is lost is the whole range of the noise."""
    return Linear(np.ones((rounds, 1)))


def by_turns(rounds: int) -> Linear:
    """The two corners of a simplex lose by turns, the first by half: the leader without noise is always wrong."""
    losses = np.eye(2)[np.arange(rounds) % 2]
    losses[0] *= 0.5
    return Linear(losses)


def hinges(rounds: int) -> SmoothedHinge:
    """Hinges that pull to both sides by turns."""
    return SmoothedHinge(np.ones((rounds, 1)), np.where(np.arange(rounds) % 2 == 0, 1.0, -1.0), width=0.1)


def one_hinge(rounds: int) -> SmoothedHinge:
    """1 - x on [0, 1], curved at its end: the corner again, by the solver."""
    return SmoothedHinge(np.ones((rounds, 1)), np.ones(rounds), width=0.01)


def logistic(d: int, rounds: int, effort: Effort) -> Logistic:
    rng = effort.rng(f"logistic-{d}-{rounds}")
    z = rng.standard_normal((rounds, d))
    z /= np.linalg.norm(z, axis=1, keepdims=True)
    truth = rng.standard_normal(d)
    return Logistic(z, np.where(z @ truth + 0.3 * rng.standard_normal(rounds) > 0.0, 1.0, -1.0))


QUIET = "the noise made a thousandth: follow the leader"


def measured(
    cases: list[tuple[str, Convex, Any]], effort: Effort, runs: int
) -> tuple[float, float, list[dict[str, Any]]]:
    """Largest upper end/bound over games, the same of the means, a row for each; the control takes the noise away."""
    worst, sharp, rows = -math.inf, -math.inf, []
    for name, learner, losses in cases:
        played = replace(learner, tuning=Fixed(1e-3)) if effort.broken else learner
        record = play(played, losses, runs=runs, seed=effort.seed, threads=1)
        rounds = int(record.checkpoints[-1])
        best = None if learner.loss_bound is None else float(record.best_loss)
        bound = learner.bound(rounds=rounds, best_loss=best).value
        worst = max(worst, upper(record) / bound)
        sharp = max(sharp, float(record.mean_regret[-1]) / bound)
        rows += [
            {"x": name, "y": float(record.mean_regret[-1]), "what": "regret"},
            {"x": name, "y": bound, "what": "bound"},
        ]
    return worst, sharp, rows
