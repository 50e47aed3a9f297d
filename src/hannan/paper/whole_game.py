"""Claims that the paper does not make: privacy of all moves together, and its price in regret.

Proofs are in docs/proofs/private.md.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping

import numpy as np
from scipy.special import ndtr

from hannan.games.play import play
from hannan.learners.experts import Experts
from hannan.learners.private_experts import PrivateExperts
from hannan.learners.tuning import Horizon
from hannan.mathematics.convex.noise import GaussianNoise
from hannan.mathematics.divergences import max_divergence
from hannan.mathematics.mechanisms import CorrelatedNoise
from hannan.mathematics.potentials import potential
from hannan.mathematics.regularizers import Entropy
from hannan.paper.claim import Chapter, Effort, Verdict, at_most, bars, holds
from hannan.report import Layer, Picture
from hannan.validation import Array

CHAPTER = Chapter(
    "Whole-game privacy",
    "Statements about all moves together, which the paper does not make. The key lemma compares the distributions of "
    "single moves. Noise that is kept and correlated over rounds leaves them as they are, and makes all moves together "
    "one Gaussian mechanism.",
)
NOISE = CorrelatedNoise()
HERMITE, SHARES = np.polynomial.hermite_e.hermegauss(96)
SHARES = SHARES / SHARES.sum()
LEGENDRE, WEIGHTS = np.polynomial.legendre.leggauss(32)


def _mean_play(gap: Array, level: float, scale: float) -> Array:
    """Return the expected weight of the first of two experts, whose loss is larger by `gap`, if each sum has noise."""
    noisy = (gap[..., None] + math.sqrt(2.0) * level * HERMITE) / scale
    return np.asarray((1.0 / (1.0 + np.exp(np.clip(noisy, -700.0, 700.0)))) @ SHARES)


@CHAPTER.claim("private-marginals")
def _marginals(effort: Effort) -> Verdict:
    """Hedge on cumulative losses with Gaussian noise has the same level 1/s in D_{∞} as without noise, and its expected
    regret depends on the noise of single moves only. Correlation over rounds changes neither."""
    worst, runs, rng = 0.0, 0, effort.rng("levels")
    for scale in (1.0, 3.0):
        level = potential(Entropy(), scale).stability(2).level
        for noise in (0.3, 1.0, 2.0):
            after = effort.turn(noise, 0.9 * noise)
            for gap in (*np.linspace(-12.0, 12.0, 13), *rng.uniform(-6.0, 6.0, effort.pick(10, 200))):
                for loss in (-1.0, 1.0):
                    p = float(_mean_play(np.array(gap), noise, scale))
                    q = float(_mean_play(np.array(gap + loss), after, scale))
                    worst = max(worst, float(max_divergence([p, 1.0 - p], [q, 1.0 - q])) / level)
                    runs += 1
    # The regret of a game with kept noise, and the regret computed from the noise of single moves.
    rounds, games = 60, effort.pick(2000, 20_000)
    learner = PrivateExperts(2, 1.0)
    losses = np.tile([1.0, 0.0], (rounds, 1))
    gaps = np.concatenate([[0.0], np.cumsum(losses[:, 0] - losses[:, 1])[:-1]])
    scales = learner.scales(np.arange(1, rounds + 1))
    plays = [_mean_play(np.array(gap), learner.noise_level(t + 1), scales[t]) for t, gap in enumerate(gaps)]
    exact = float(np.sum(np.stack([plays, 1.0 - np.array(plays)], axis=1) * losses) - losses.sum(0).min())
    regrets = play(learner, losses, runs=games, seed=effort.seed).regret[:, -1]
    error = abs(float(regrets.mean()) - exact) / (float(regrets.std()) / math.sqrt(games))
    return holds(
        at_most(worst, 1.0, slack=1e-6) and worst > 0.99 and error <= 5.0,
        worst,
        1.0,
        runs=runs,
        numbers={
            "expected regret from single moves": exact,
            "mean regret with kept noise": float(regrets.mean()),
            "distance in standard errors (at most 5)": error,
        },
        what="largest level·s",
    )


def _probability(factor: Array, mean: Array, signs: tuple[int, ...]) -> float:
    """Return P(sign of (mean + factor z)_t = signs_t for all t), z standard normal, for a lower triangular factor."""
    z, weight = np.zeros((1, 0)), np.ones(1)
    for t, sign in enumerate(signs):
        edge = np.clip(-(mean[t] + z @ factor[t, :t]) / factor[t, t], -9.0, 9.0)
        if t + 1 == len(signs):
            return float(weight @ ndtr(-sign * edge))
        low, high = (edge, np.full_like(edge, 9.0)) if sign > 0 else (np.full_like(edge, -9.0), edge)
        nodes = 0.5 * (low + high)[:, None] + 0.5 * (high - low)[:, None] * LEGENDRE
        density = np.exp(-0.5 * nodes * nodes) / math.sqrt(2.0 * math.pi)
        weight = (weight[:, None] * 0.5 * (high - low)[:, None] * WEIGHTS * density).ravel()
        z = np.hstack([np.repeat(z, len(LEGENDRE), 0), nodes.reshape(-1, 1)])
    raise AssertionError


def _transcripts(factor: Array, tree: Mapping[tuple[int, ...], float], first: float) -> Array:
    """Return the probability of each transcript of the leader; `tree` has the losses after the first one."""
    n = len(factor)
    found = []
    for signs in itertools.product((1, -1), repeat=n):
        seen = [first, *(tree[signs[:t]] for t in range(1, n))]
        found.append(_probability(factor, np.cumsum(seen), signs))
    return np.array(found)


@CHAPTER.claim("private-transcripts")
def _exact_transcripts(effort: Effort) -> Verdict:
    """All moves of the leader of cumulative losses with correlated Gaussian noise are one Gaussian mechanism: the exact
    δ of two transcripts is at most Φ(μ/2 − ε/μ) − e^{ε} Φ(−μ/2 − ε/μ), also if the losses depend on past moves."""
    rng, worst, runs = effort.rng("trees"), 0.0, 0
    most: dict[tuple[int, str], float] = {}
    for n in effort.pick((1, 2, 3), (1, 2, 3, 4)):
        # The probability of two moves (one gap) has twice the variance of the noise of one expert.
        learner = PrivateExperts(2, 0.5, rounds=n + 1)
        white, levels = learner.sigma, learner.sigma * NOISE.row_norms(np.arange(1, n + 1))
        kept = NOISE.rows(n)
        factor = (
            math.sqrt(2.0) * white * np.array([[kept[i - j] if i >= j else 0.0 for j in range(n)] for i in range(n)])
        )
        fresh = math.sqrt(2.0) * np.diag(levels)
        mu = learner.privacy().mu or 0.0
        nodes = [moves for t in range(1, n) for moves in itertools.product((1, -1), repeat=t)]
        trees = [dict.fromkeys(nodes, 0.0)]
        trees += [
            dict(zip(nodes, rng.choice([-1.0, 0.0, 1.0], len(nodes)), strict=True)) for _ in range(effort.pick(2, 20))
        ]
        for tree in trees:
            ratios: dict[str, float] = {}
            for name, noise in (("correlated", factor), ("fresh", fresh)):
                p, q = (_transcripts(noise, tree, first) for first in (1.0, 0.0))
                for epsilon in (0.0, 0.1):
                    claimed = GaussianNoise().delta_of(epsilon, mu, 1.0)
                    lost = max(float(np.maximum(a - math.exp(epsilon) * b, 0.0).sum()) for a, b in ((p, q), (q, p)))
                    ratios[name] = max(ratios.get(name, 0.0), lost / claimed)
            worst, runs = max(worst, ratios[effort.turn("correlated", "fresh")]), runs + 1
            for name, ratio in ratios.items():
                most[n, f"{name} noise"] = max(most.get((n, f"{name} noise"), 0.0), ratio)
    rows = tuple({"x": f"{n}", "y": ratio, "what": name} for (n, name), ratio in most.items())
    picture = Picture(
        "Exact δ of all moves, divided by the δ that is stated",
        "moves after the first",
        "ratio",
        (Layer("bars", rows, x="x", y="y", series="what"), Layer("rule", ({"y": 1.0, "label": "stated"},))),
        alt="Correlated noise stays below 1 for every number of moves. Fresh noise of the same levels exceeds 1.",
        x_kind="nominal",
    )
    return holds(
        at_most(worst, 1.0) and worst > 0.9, worst, 1.0, runs=runs, pictures=(picture,), what="largest δ/(stated δ)"
    )


def _worst_case(learner: PrivateExperts, rounds: int) -> float:
    """Return the largest expected regret over all sequences of losses in {0, 1}^2, by recursion over the gap."""
    gaps = np.arange(-rounds, rounds + 1, dtype=np.float64)
    value = -np.minimum(gaps, 0.0)  # own loss - L_2 at the end, compared with the smaller of the two
    for t in range(rounds, 0, -1):
        if learner.form.kind == "leader":
            first = ndtr(-gaps / (math.sqrt(2.0) * learner.form.padded))
        else:
            first = _mean_play(gaps, learner.noise_level(t), float(learner.scales(np.array([t]))[0]))
        up, down = np.full_like(value, -np.inf), np.full_like(value, -np.inf)
        up[:-1], down[1:] = first[:-1] + value[1:], -first[1:] + value[:-1]
        value = np.maximum(np.maximum(up, down), value)
    return float(value[rounds])


@CHAPTER.claim("private-worst-case")
def _worst_cases(effort: Effort) -> Verdict:
    """The largest expected regret of private experts over all sequences of losses, computed by dynamic programming, is
    at most their bound, for a known number of rounds and for any number of rounds."""
    rounds, worst, cases, rows = effort.pick(100, 500), 0.0, 0, []
    for epsilon in (0.1, 0.3, 1.0, 3.0, 10.0):
        for horizon, name in ((rounds, "known T"), (None, "without end")):
            learner = PrivateExperts(2, epsilon, rounds=horizon)
            free = PrivateExperts(2, 1e6, rounds=horizon)
            regret, bound = _worst_case(learner, rounds), effort.turn(learner, free).bound(rounds).value
            worst, cases = max(worst, regret / bound), cases + 1
            rows += [
                {"x": epsilon, "y": regret, "what": f"worst case, {name}"},
                {"x": epsilon, "y": bound, "what": f"bound, {name}"},
            ]
    picture = Picture(
        f"Two experts, {rounds} rounds: largest expected regret and bound",
        "ε of all moves together",
        "regret",
        (Layer("line", tuple(rows), series="what"),),
        alt="Each worst case is below its bound for every ε, and close to it for a known number of rounds.",
        x_log=True,
    )
    return holds(
        at_most(worst, 1.0) and worst > 0.9, worst, 1.0, runs=cases, pictures=(picture,), what="largest regret/bound"
    )


def _punished(learner: PrivateExperts | Experts, rounds: int, seed: int) -> tuple[float, Array]:
    """Return (realized regret, losses) if the loss of each round is 1 for the move of the round before."""
    player, own, last, losses = learner.start(seed=seed), 0.0, 0, np.zeros((rounds, learner.n))
    for t in range(rounds):
        losses[t, last] = 1.0
        move = player.act()
        own, last = own + losses[t, move.action], move.action
        player.observe(move, losses[t])
    return own - float(losses.sum(0).min()), losses


@CHAPTER.claim("private-oblivious")
def _oblivious(effort: Effort) -> Verdict:
    """The regret bound of private experts needs losses that are fixed in advance: past moves reveal noise that is kept.
    An adversary that punishes the last move exceeds it. Hedge with fresh draws keeps its bound."""
    rounds, runs = effort.pick((2000, 4), (4000, 20))
    seeds = range(1000 * effort.seed, 1000 * effort.seed + runs)
    found: dict[str, tuple[float, float]] = {}
    for name, learner in (
        ("private experts", PrivateExperts(10, 1.0, rounds=rounds)),
        ("Hedge with fresh draws", Experts(10, Entropy(), Horizon(rounds))),
    ):
        games = [_punished(learner, rounds, seed) for seed in seeds]
        regret = float(np.mean([regret for regret, _ in games]))
        if effort.broken:
            fixed = [play(learner, losses, runs=1, seed=10**6 + k).regret[0, -1] for k, (_, losses) in enumerate(games)]
            regret = float(np.mean(fixed))
        found[name] = regret, learner.bound(rounds).value
    (kept, bound), (fresh, limit) = found.values()
    picture = bars(
        "Mean realized regret against an adversary that punishes the last move",
        [{"x": name, "y": y, "what": what} for name, pair in found.items()
         for what, y in zip(("regret", "bound for losses fixed in advance"), pair, strict=True)],
        "Private experts exceed their bound several times. Hedge with fresh draws is below its bound.",
        x="",
    )  # fmt: skip
    return holds(
        kept > 2.0 * bound and fresh <= limit,
        kept,
        bound,
        runs=runs,
        numbers={"Hedge with fresh draws": fresh, "its bound": limit},
        pictures=(picture,),
        what="regret",
        note="A regret above the bound is expected here: the bound does not cover this adversary.",
    )
