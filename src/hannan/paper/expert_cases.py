"""Claims on experts beyond Section 3.3.2: worst sequences, delayed feedback and sleeping experts."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from hannan.games.play import play
from hannan.learners.experts import Experts
from hannan.learners.tuning import Fixed, Horizon
from hannan.mathematics.laws.heavy import Frechet
from hannan.mathematics.laws.light import Exponential
from hannan.mathematics.potentials import FTRL, potential
from hannan.mathematics.regularizers import Entropy, LogBarrier, Tsallis
from hannan.mathematics.smoothing import Smoothing
from hannan.paper.claim import Chapter, Effort, Verdict, at_most, holds
from hannan.report import Layer, Picture
from hannan.validation import Array


def first(smoothing: Smoothing, scale: float, gaps: Array) -> Array:
    """Return p of the first of two experts for each gap in cumulative loss; an infinite scale is uniform play."""
    if np.isinf(scale):
        return np.full(gaps.size, 0.5)
    return np.asarray(potential(smoothing, scale).gradient(np.stack([gaps, np.zeros_like(gaps)], axis=1))[:, 0])


def zero_order(smoothing: Smoothing, scales: list[float]) -> tuple[float, Array]:
    """Return the largest regret with the given scale of each round, and losses that cause it."""
    rounds = len(scales)
    gaps = np.arange(-rounds - 1, rounds + 2, dtype=float)
    plays = {scale: first(smoothing, scale, gaps) for scale in set(scales)}
    # The regret is the learner's loss minus that of the first expert, plus max(0, gap) at the end.
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
    """Return the largest regret over any number of rounds with L* <= best, and losses that cause it."""
    reach = int(40.0 * scale) + 4
    gaps = np.arange(reach, dtype=float)
    behind = first(smoothing, scale, gaps)
    # Up: the expert that is behind by g loses again. Down: the leader loses, which uses one unit of `best`.
    climbed = np.concatenate([[0.0], np.cumsum(behind)])[:reach]
    value, peaks = np.zeros(reach), []
    for left in range(best + 1):
        # At gap h: stop, or go down once, with the loss 1 - behind(h) against one unit of the best loss.
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
    """Return the expected regret of the learner, computed from the distributions of its moves."""
    record = play(learner, losses, seed=seed, threads=1)
    assert record.expected_regret is not None
    return float(record.expected_regret[-1])


CHAPTER = Chapter(
    "Experts, case by case",
    "Games in which bounds are attained, the worst of all sequences, delayed feedback, and sleeping experts.",
)


@CHAPTER.claim("experts-algorithm")
def _algorithm(effort: Effort) -> Verdict:
    """The implementation is the algorithm of the paper: it draws from ∇Φ(L_{t−1}), reports the probability of the draw,
    and adds the losses."""
    rng, worst, rounds, n = effort.rng("experts-algorithm"), 0.0, effort.pick(60, 600), 4
    for smoothing in (Entropy(), Exponential(), Frechet(7.0), Tsallis(0.5), LogBarrier()):
        player, phi = Experts(n, smoothing, Fixed(3.0)).start(effort.seed), potential(smoothing, 3.0)
        totals = np.vstack([np.zeros((2, n)), np.cumsum(rng.random((rounds, n)), axis=0)])
        for t in range(rounds):
            p = phi.gradient(totals[t + effort.turn(1, 0)])
            move = player.act()
            worst = max(worst, abs(move.probability - p[move.action]) / p[move.action])
            player.observe(move, totals[t + 2] - totals[t + 1])
    return holds(worst <= 1e-8, worst, 1e-8, runs=5 * rounds, what="largest relative error of a reported probability")


@CHAPTER.claim("experts-attained")
def _attained(effort: Effort) -> Verdict:
    """Exponential perturbations attain the bound for a fixed scale with equality, so no smaller bound is true."""
    ratios = {}
    for scale in (1.0, 3.0, 10.0):
        rounds = int(60 * scale)
        losses = np.tile([0.0, 1.0], (rounds, 1))
        learner = Experts(2, effort.turn(Exponential(), Entropy()), Fixed(scale))
        ratios[f"scale {scale:g}"] = regret(learner, losses, effort.seed) / learner.bound(best_loss=0.0).value
    worst = max(ratios.values())
    return holds(
        at_most(worst, 1.0, slack=1e-7) and min(ratios.values()) > 0.999999,
        worst,
        1.0,
        numbers=ratios,
        what="largest regret/bound",
    )


def _late(learner: Experts, losses: Array, late: int, seed: int) -> float:
    """Return the expected loss of a player that receives each loss `late` rounds later."""
    player, waiting, own = learner.start(seed), [], 0.0
    for t, loss in enumerate(losses):
        own += float(player.distribution() @ loss)
        waiting.append(player.act())
        if len(waiting) > late:
            player.observe(waiting.pop(0), losses[t - late])
    return own


@CHAPTER.claim("experts-delay")
def _delay(effort: Effort) -> Verdict:
    """If feedback is delayed by d rounds, the regret is at most e^{εd}(ε/(1 − e^{−ε}))(L* + C) − L*."""
    worst, rows, runs, T = -math.inf, [], 0, effort.pick(120, 1200)
    # Either one expert never loses, or the two best experts lose alternately.
    never, turns = np.ones((T, 4)), np.ones((T, 4))
    never[:, 0] = 0.0
    turns[:, :2] = np.eye(2)[np.arange(T) // 4 % 2]
    for name, smoothing in (("Exponential", Exponential()), ("Hedge", Entropy())):
        for scale in (4.0, 20.0):
            learner = Experts(4, smoothing, Fixed(scale))
            for late in (0, 1, 3, 10):
                for losses in (never, turns):
                    best = float(losses.sum(axis=0).min())
                    bound = learner.bound(T, best_loss=best, delay=effort.turn(late, 0)).value
                    ratio = (_late(learner, losses, late, effort.seed) - best) / bound
                    worst, runs = max(worst, ratio), runs + 1
                    if scale == 20.0:
                        rows.append({"x": late, "y": ratio, "learner": name})
    picture = Picture(
        "Regret/bound with delayed feedback, scale 20",
        "delay (rounds)",
        "regret / bound",
        (Layer("points", tuple(rows), series="learner"),),
        alt="The regret stays below the bound for every delay.",
    )
    return holds(
        at_most(worst, 1.0, slack=1e-7), worst, 1.0, runs=runs, pictures=(picture,), what="largest regret/bound"
    )


@CHAPTER.claim("experts-sleeping")
def _sleeping(effort: Effort) -> Verdict:
    """If p is restricted to the available experts, and unavailable experts are charged the learner's loss, the bound
    holds for each expert over the rounds in which it is available."""
    rng, worst, runs, n = effort.rng("sleeping"), -math.inf, 0, 5
    for smoothing in (Entropy(), Exponential()):
        for scale in (1.0, 3.0, 15.0):
            learner = Experts(n, smoothing, Fixed(scale))
            for _ in range(effort.pick(3, 20)):
                player, own, theirs, charged = learner.start(effort.seed), np.zeros(n), np.zeros(n), np.zeros(n)
                means = np.sort(rng.random(n))
                for _t in range(effort.pick(200, 2000)):
                    awake = rng.random(n) < 1.0 - 0.9 * means
                    awake[rng.integers(n)] = True
                    loss = (rng.random(n) < means).astype(float)
                    p = player.distribution() * awake if effort.broken else player.distribution(awake)
                    mine = float(p @ loss / p.sum())
                    own, theirs = own + awake * mine, theirs + awake * loss
                    charged += np.where(awake, loss, mine)
                    if effort.broken:
                        player.observe(player.act(), np.where(awake, loss, 0.0))
                    else:
                        player.observe(player.act(awake), loss)
                # The bound uses the total loss of an expert, charged the learner's loss while it is unavailable.
                bounds = [learner.bound(best_loss=float(c)).value for c in charged]
                worst, runs = max(worst, float(((own - theirs) / bounds).max())), runs + 1
    return holds(at_most(worst, 1.0), worst, 1.0, runs=runs, what="largest regret/bound of any expert")


@CHAPTER.claim("experts-barrier")
def _barrier(effort: Effort) -> Verdict:
    """The log-barrier has a bound for experts with the terms range, drift and c = (N − 1)τT. The term c is needed
    because the range is finite only on a smaller simplex."""
    learner = Experts(2, LogBarrier(), Horizon(2))
    found, stated = regret(learner, np.tile([1.0, 0.0], (2, 1)), effort.seed), learner.bound()
    bound = stated.value - effort.turn(0.0, stated.terms["bias"])
    return holds(at_most(found, bound), found, bound, numbers={"c": stated.terms["bias"]}, what="regret")


@CHAPTER.claim("experts-worst-case")
def _worst_case(effort: Effort) -> Verdict:
    """Against the worst of all loss sequences, the regret of two experts stays below the horizon bound and comes near
    it. The sequence is found by dynamic programming and then played."""
    rows, worst, gap = [], -math.inf, 0.0
    smoothings: tuple[tuple[str, Smoothing], ...] = (
        ("Exponential", Exponential()),
        ("Hedge", Entropy()),
        ("Fréchet(7)", Frechet(7.0)),
        ("Tsallis(½)", Tsallis(0.5)),
    )
    for name, smoothing in smoothings:
        for rounds in effort.pick((4, 16, 64, 200), (4, 16, 64, 256, 1000)):
            learner = Experts(2, smoothing, Horizon(rounds))
            scale = effort.turn(1.0, 0.5) * learner.schedule().scale(1, 0.0)
            value, losses = zero_order(smoothing, [scale] * rounds)
            gap = max(gap, abs(regret(Experts(2, smoothing, Fixed(scale)), losses, effort.seed) - value))
            ratio = value / learner.bound().value
            worst = max(worst, ratio)
            rows.append({"x": rounds, "y": ratio, "smoothing": name})
    picture = Picture(
        "Worst regret over all sequences, divided by the bound",
        "T",
        "worst regret / bound",
        (Layer("line", tuple(rows), series="smoothing"), Layer("rule", ({"y": 1.0, "label": "the bound"},))),
        alt=f"The worst regret is at most {worst:.2f} times the bound.",
        x_log=True,
    )
    return holds(
        at_most(worst, 1.0) and worst > 0.9 and gap < 1e-8,
        worst,
        1.0,
        numbers={"played − computed": gap},
        pictures=(picture,),
        what="largest regret/bound",
    )


@CHAPTER.claim("experts-hedge-horizon")
def _hedge(effort: Effort) -> Verdict:
    """Hedge has its own horizon bound, √(T ln N/2), with ε = √(8 ln N/T). With the general ε the bound fails."""
    rounds = 120
    learner = Experts(2, Entropy(), Horizon(rounds))
    general = math.sqrt(rounds / math.log(2.0)) / 2.0
    bound = math.sqrt(rounds * math.log(2.0) / 2.0)
    value = zero_order(Entropy(), [effort.turn(learner.schedule().scale(1, 0.0), general)] * rounds)[0]
    return holds(
        at_most(value, bound) and at_most(bound, learner.bound().value),
        value,
        bound,
        numbers={"the learner's own bound": learner.bound().value},
        what="worst regret over all sequences",
    )


@CHAPTER.claim("leader-unstable")
def _leader(effort: Effort) -> Verdict:
    """Follow-the-leader is unstable: one loss moves its whole distribution, and its regret is T/2."""
    T = 200
    losses = np.eye(2)[np.arange(T) % 2]
    losses[0] *= 0.5
    # Hedge with a scale near zero is follow-the-leader.
    learner = Experts(2, Entropy(), effort.turn(Fixed(1e-3), Horizon(T)))
    record = play(learner, losses, seed=effort.seed, threads=1)
    assert record.expected_regret is not None
    phi, moved = FTRL(Entropy(), learner.schedule().scale(1, 0.0)), 0.0
    totals = np.cumsum(losses, axis=0)
    for before, after in pairwise(totals):
        moved = max(moved, 0.5 * float(np.abs(phi.gradient(before) - phi.gradient(after)).sum()))
    regret_ = float(record.expected_regret[-1])
    return holds(
        moved > 0.999 and regret_ > 0.49 * T,
        regret_,
        T / 2,
        runs=T,
        numbers={"largest move in total variation": moved},
        what="regret",
    )
