"""Section 3.2 and Appendix B.2: be the leader in convex games, the bound that follows, and noise drawn once."""

from __future__ import annotations

import math

import numpy as np

from hannan.games.play import play
from hannan.learners.convex.learner import Convex
from hannan.learners.tuning import Fixed
from hannan.mathematics.convex.domains import Ball, Box, Simplex
from hannan.mathematics.convex.losses import Linear, Logistic
from hannan.mathematics.convex.noise import GammaNoise
from hannan.paper.claim import Chapter, Effort, Verdict, at_most, holds
from hannan.paper.corrections import CORRECTIONS, correct, form
from hannan.paper.growth import upper
from hannan.refusals import Array

CHAPTER = Chapter(
    "Be the leader",
    "The fictitious learner plays x_{t+1} at t: its regret is what the noise and the ridge cost, whatever the losses.",
)


def _head(losses: Linear | Logistic, count: int) -> Linear | Logistic:
    """The first losses of a sequence."""
    if isinstance(losses, Linear):
        return Linear(losses.z[:count])
    return Logistic(losses.z[:count], losses.y[:count])


def _games(effort: Effort) -> list[tuple[Convex, Linear | Logistic, float]]:
    """Learners, losses, and how far the argmin found may be off."""
    rng, T = effort.rng("be-the-leader"), effort.pick(12, 40)
    z = rng.standard_normal((T, 2))
    z /= np.linalg.norm(z, axis=1, keepdims=True)
    turns = np.eye(2)[np.arange(T) % 2]
    turns[0] *= 0.5
    labels, box, bound = np.where(rng.random(T) < 0.5, 1.0, -1.0), Box([0.0] * 2, [1.0] * 2), math.log1p(math.e)
    simplex, tuning = Simplex(2), Fixed(0.3)
    return [
        (Convex(simplex, 1.0, tuning=tuning, loss_bound=1.0, smooth=0), Linear(turns), 1e-9),
        (Convex(box, 1.0, tuning=tuning, loss_bound=1.5, smooth=0), Linear(np.abs(z)), 1e-9),
        (Convex(Ball(2), 1.0, tuning=tuning, loss_bound=bound, smooth=0.25), Logistic(z, labels), 1e-4),
    ]


@CHAPTER.claim("be-the-leader")
def _leader(effort: Effort) -> Verdict:
    """⟨b, x_{2}⟩ + Σ ℓ_{s}(x_{s+1}) ≤ min over X of ⟨b, x⟩ + Σ ℓ_{s}(x): path by path, for linear and for curved
    losses."""
    worst, runs, rng = -math.inf, 0, effort.rng("leader-noise")
    for learner, losses, slack in _games(effort):
        T = len(losses.z)
        for _ in range(effort.pick(4, 20)):
            b: Array = 0.3 * learner.noise.sample(rng, learner.domain.d)
            leaders = [learner.leader(_head(losses, t), b)[0] for t in range(1, T + 1)]
            first = np.asarray(learner.domain.center)
            played = effort.turn(leaders, [first, *leaders[:-1]])
            ahead = math.fsum(float(losses.value(x)[t]) for t, x in enumerate(played))
            left = float(b @ leaders[0]) + ahead
            right = float(b @ leaders[-1]) + float(np.sum(losses.value(leaders[-1])))
            worst, runs = max(worst, left - right - slack), runs + 1
    return holds(worst <= 0.0, worst, 0.0, runs=runs, what="largest left − right")


correct(
    "oco-bound", "eq:oco1", "(ε'/(1 − e^{−ε'}))(L* + C) − L* with ε' = ε/2 and C half the mean width times E‖b‖",
    corrected=lambda learner, best: learner.bound(best_loss=best).value, printed=lambda learner,
    best: learner.bound(best_loss=best, printed=True).printed.value,
)  # fmt: skip


@CHAPTER.claim("oco-bound")
def _bound(effort: Effort) -> Verdict:
    """At ε = 1 the printed bound 2εL* + 6D E‖b‖ is 12, and is kept; the bound from the rate is 1.27, and attained."""
    T, runs = 60, effort.pick(4000, 40_000)
    learner = Convex(Box([0.0], [1.0]), 1.0, GammaNoise("paper"), Fixed(2.0), loss_bound=1.0, smooth=0)
    record = play(learner, Linear(np.ones((T, 1))), runs=runs, seed=effort.seed, threads=1)
    mean, spread = float(record.mean_regret[-1]), upper(record) - float(record.mean_regret[-1])
    bound = form("oco-bound")(learner, 0.0)
    # Attained: the mean is within its own error of the bound, on either side.
    return holds(
        abs(mean - bound) <= 1.5 * spread, mean, bound, runs=runs,
        numbers={"printed": CORRECTIONS["oco-bound"].printed(learner, 0.0),
        "exactly": sum(0.5 * math.exp(-0.5 * t) for t in range(T)), }, what="mean regret",
    )  # fmt: skip


@CHAPTER.claim("drawn-once")
def _once(effort: Effort) -> Verdict:
    """Noise drawn once has the expected regret of fresh noise, if the losses do not follow the moves."""
    T, runs, scale = 60, effort.pick(2000, 20_000), 6.0
    fresh = Convex(Simplex(2), 1.0, GammaNoise(), Fixed(scale), loss_bound=1.0, smooth=0)
    kept = Convex(Simplex(2), 1.0, GammaNoise(), Fixed(scale), loss_bound=1.0, smooth=0, fresh=False)
    if effort.broken:
        first, second = (np.array([_chased(one, T, k) for k in range(40)]) for one in (fresh, kept))
    else:
        losses = np.eye(2)[np.arange(T) % 3 % 2]
        first, second = (
            play(one, Linear(losses), runs=runs, seed=effort.seed + k, threads=1).regret[:, -1]
            for k, one in enumerate((fresh, kept))
        )
    error = math.sqrt(first.var(ddof=1) / first.size + second.var(ddof=1) / second.size)
    # 4.9 standard errors: a false alarm in a million.
    gap = abs(float(first.mean() - second.mean()))
    return holds(
        at_most(gap, 4.9 * error), gap, 4.9 * error, runs=first.size + second.size,
        numbers={"fresh": float(first.mean()), "kept": float(second.mean())}, what="difference of the mean regrets",
    )  # fmt: skip


def _chased(learner: Convex, rounds: int, seed: int) -> float:
    """The regret where losses follow the moves: one draw of b is narrowed down, until the next move is known."""
    player, low, high = learner.start(seed), -math.inf, math.inf
    total, own = np.zeros(2), 0.0
    for _ in range(rounds):
        move = player.act()
        gap = float(total[1] - total[0])
        # The first corner is played where b_0 - b_1 <= L_1 - L_0.
        x = np.asarray(move.action)
        corner = int(x[1] > x[0])
        guess = 0 if gap >= high else 1 if gap <= low else int(gap < 0.5 * (max(low, -20.0) + min(high, 20.0)))
        if corner == 0:
            high = min(high, gap)
        else:
            low = max(low, gap)
        loss = np.eye(2)[guess]
        own += float(loss @ x)
        player.observe(move, Linear(loss))
        total += loss
    return own - float(total.min())
