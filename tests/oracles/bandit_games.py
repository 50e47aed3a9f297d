"""Bandit games in NumPy, many at once, with known means: what every statement of evidence is compared with."""

from __future__ import annotations

import math

import numpy as np
from capitals import Capitals, total
from scipy.special import ndtr

ALPHA = 0.05
#: Statements, and methods that are wrong if one looks at them often.
STATEMENTS = ("arms", "pairs", "best", "regret")
CONTROLS = ("wald", "sample mean", "fixed")
NODES, NODE_WEIGHTS = np.polynomial.hermite_e.hermegauss(24)


# Policies: probabilities (games, arms) from what has been learned


def uniform(seen):
    return np.full_like(seen.count, 1.0 / seen.count.shape[1])


def greedy(seen):
    n = seen.count.shape[1]
    mean = (seen.sum + 0.5) / (seen.count + 1.0)
    return 0.1 / n + 0.9 * (np.arange(n) == mean.argmin(axis=1)[:, None])


def tsallis(seen):
    """Tsallis(1/2) at scale sqrt(t), by Newton's method."""
    scale = math.sqrt(seen.t + 1)
    L = seen.weighted - seen.weighted.min(axis=1, keepdims=True)
    x = np.full((len(L), 1), -scale)
    for _ in range(30):
        root = scale / (L - x)
        x = x - ((root**2).sum(axis=1, keepdims=True) - 1.0) / (2.0 * root**3 / scale).sum(axis=1, keepdims=True)
    p = (scale / (L - x)) ** 2
    return p / p.sum(axis=1, keepdims=True)


def hedge(seen):
    """Exp3 at scale sqrt(n t/ln n)."""
    n = seen.count.shape[1]
    L = seen.weighted - seen.weighted.min(axis=1, keepdims=True)
    w = np.exp(-L * math.sqrt(math.log(n) / (n * (seen.t + 1))))
    return w / w.sum(axis=1, keepdims=True)


def thompson(seen):
    """Gaussian Thompson sampling; the probabilities are integrals, computed with 24 nodes and normalized."""
    mean, deviation = (seen.sum + 0.5) / (seen.count + 1.0), 0.5 / np.sqrt(seen.count + 1.0)
    n, p = mean.shape[1], np.empty_like(mean)
    for a in range(n):
        x = mean[:, a, None] + deviation[:, a, None] * NODES
        others = [ndtr((mean[:, b, None] - x) / deviation[:, b, None]) for b in range(n) if b != a]
        p[:, a] = (NODE_WEIGHTS * math.prod(others)).sum(axis=1)
    p = np.maximum(p, 1e-9)
    return p / p.sum(axis=1, keepdims=True)


POLICIES = {"uniform": uniform, "greedy": greedy, "tsallis": tsallis, "hedge": hedge, "thompson": thompson}


# Worlds: mean losses (games, arms) of the next round


def stationary(seen, rounds):
    return np.broadcast_to([0.4, 0.5, 0.6], seen.count.shape)


def rare(seen, rounds):
    return np.broadcast_to([0.95, 0.96, 0.97], seen.count.shape)


def drifting(seen, rounds):
    s = seen.t / rounds
    return np.broadcast_to([0.2 + 0.6 * s, 0.5, 0.8 - 0.6 * s], seen.count.shape)


def adaptive(seen, rounds):
    """The arm that was drawn most often becomes bad, and the others good."""
    most = seen.drawn == seen.drawn.max(axis=1, keepdims=True)
    return np.where(most, 0.8, 0.3)


def seeking(seen, rounds):
    """An adversary that knows all capitals, and pushes each toward the threshold at which the interval misses."""
    found = np.stack([seen.capitals.arm(a, 0, seen.means[:, a]) for a in range(seen.count.shape[1])], axis=1)
    return np.where((found > math.log(2 / ALPHA)) | (found < -6.0), 0.1, 0.9)


WORLDS = {
    "stationary": stationary, "rare clicks": rare, "drifting": drifting, "adaptive": adaptive, "seeking": seeking,
}  # fmt: skip


class Seen:
    """What a policy or a world may look at."""

    def __init__(self, games, arms, capitals):
        self.t, self.capitals = 0, capitals
        self.sum, self.count, self.drawn, self.weighted, self.means = (np.zeros((games, arms)) for _ in range(5))


def draw(p, rng):
    """Return one arm per game."""
    return np.minimum((rng.random((len(p), 1)) >= p.cumsum(axis=1)).sum(axis=1), p.shape[1] - 1)


def misses(policy, world, games, rounds, seed, late=30):
    """Play games in which every round is inspected; return the share in which a statement was ever wrong.

    The best arm is inspected in every tenth round. Losses of 0 are reported immediately, and losses of 1 `late` rounds
    later, to the policy too. The bound on the regret is wrong only if the lower bound on the realized losses of an arm
    is.
    """
    n, rng, g = 3, np.random.default_rng(seed), np.arange(games)
    table = Capitals(games, n)
    seen, realized = Seen(games, n, table), np.zeros((games, n))
    wrong = {name: np.zeros(games, dtype=bool) for name in (*STATEMENTS, *CONTROLS, "declared")}
    first, second, waiting = np.zeros((games, n)), np.zeros((games, n)), []
    arm_level, pair_level = math.log(2 * n / ALPHA), math.log(n * (n - 1) / ALPHA)
    for t in range(1, rounds + 1):
        means, p = WORLDS[world](seen, rounds), POLICIES[policy](seen)
        x, arm = (rng.random((games, n)) < means).astype(float), draw(p, rng)
        table.act(p, arm)
        seen.drawn[g, arm] += 1
        waiting.append((t, arm, p[g, arm], x[g, arm]))
        for at, told in [(waiting[-1], 0.0), (waiting[-1 - late], 1.0)] if t > late else [(waiting[-1], 0.0)]:
            s, a, q, loss = at
            here = np.flatnonzero(loss == told)
            if len(here):
                table.settle(here, s, a[here], q[here], loss[here])
                seen.sum[here, a[here]] += loss[here]
                seen.count[here, a[here]] += 1
                seen.weighted[here, a[here]] += loss[here] / q[here]
        seen.t, seen.means = t, seen.means + means
        realized = realized + x
        first[g, arm] += x[g, arm] / p[g, arm]
        second[g, arm] += (x[g, arm] / p[g, arm]) ** 2
        for a in range(n):
            wrong["arms"] |= table.arm(a, 0, seen.means[:, a]) > arm_level
            wrong["arms"] |= table.arm(a, 1, t - seen.means[:, a]) > arm_level
            for b in range(n):
                if b != a:
                    truth = seen.means[:, b] - seen.means[:, a]
                    wrong["pairs"] |= table.pair(b, a, t + truth) > pair_level
            wrong["regret"] |= table.regret(a, realized[:, a]) > math.log(n / ALPHA)
        if t % 10 == 0:
            declarations(table, seen, wrong, arm_level, pair_level)
        if t >= 100:
            z = first[:, 0] / t
            error = np.sqrt(np.maximum(second[:, 0] / t - z * z, 0.0) / t)
            wrong["wald"] |= np.abs(z - seen.means[:, 0] / t) > 1.96 * error
            many = seen.count[:, 0] >= 10
            m = seen.sum[:, 0] / np.maximum(seen.count[:, 0], 1.0)
            error = np.sqrt(np.maximum(m * (1 - m), 1e-9) / np.maximum(seen.count[:, 0], 1.0))
            wrong["sample mean"] |= many & (np.abs(m - seen.means[:, 0] / t) > 1.96 * error)
    return {name: float(found.mean()) for name, found in wrong.items()}


def declarations(table, seen, wrong, arm_level, pair_level):
    """Record who declares a best arm, who declares a wrong one, and who misses by assuming constant means."""
    n, at = table.arms, np.full(len(table.games), float(seen.t))
    for a in range(n):
        best = np.all([table.pair(b, a, at) > pair_level for b in range(n) if b != a], axis=0)
        others = np.delete(seen.means, a, axis=1).min(axis=1)
        wrong["declared"] |= best
        wrong["best"] |= best & (others <= seen.means[:, a])
        mean = seen.means[:, a] / seen.t
        wrong["fixed"] |= table.fixed(a, 0, mean) > arm_level
        wrong["fixed"] |= table.fixed(a, 1, 1.0 - mean) > arm_level


def settled_only(games, rounds, seed, late=200):
    """Return the shares of games missed by counting settled rows in the order of settlement, and by the table."""
    rng, p = np.random.default_rng(seed), np.full((games, 2), 0.5)
    table, wrong = Capitals(games, 2), {name: np.zeros(games, dtype=bool) for name in ("settled only", "table")}
    level, rows = math.log(4 / ALPHA), []
    # Capital of the rows that are settled, per game and bet, for arm 0 and side 1, with the center 1/2.
    W, C, seen = np.zeros((games, 16)), np.zeros((games, 16)), np.zeros(games)
    bets = 2.0 ** -np.arange(16)
    center = np.minimum(0.5, 0.5 * 0.5 / bets)
    for t in range(1, rounds + 1):
        arm, x = draw(p, rng), (rng.random(games) < 0.7).astype(float)
        table.act(p, arm)
        rows.append((t, arm, x))
        for at, told in [(rows[-1], 0.0), (rows[-1 - late], 1.0)] if t > late else [(rows[-1], 0.0)]:
            s, a, loss = at
            here = np.flatnonzero(loss == told)
            table.settle(here, s, a[here], p[here, 0], loss[here])
            factor = 1.0 + bets * (1.0 - told - center) / 0.5
            W[here] += np.where(a[here, None] == 0, np.log(factor), 0.0)
            C[here] += center
            seen[here] += 1
        wrong["settled only"] |= total(W + bets * (C - 0.3 * seen[:, None])) > level
        for a in range(2):
            wrong["table"] |= table.arm(a, 0, np.full(games, 0.7 * t)) > level
            wrong["table"] |= table.arm(a, 1, np.full(games, 0.3 * t)) > level
    return {name: float(found.mean()) for name, found in wrong.items()}
