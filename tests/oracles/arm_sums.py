"""Slow transcriptions of the learners for i.i.d. losses: scores and plays from the losses of each arm, as lists."""

from __future__ import annotations

import math

#: A score smaller than all others: the arm was never played.
FIRST = -math.inf


def kl(m: float, q: float) -> float:
    """m log(m/q) + (1 - m) log((1 - m)/(1 - q))."""
    total = 0.0
    for a, b in ((m, q), (1.0 - m, 1.0 - q)):
        if a > 0.0:
            total += a * math.log(a / b) if b > 0.0 else math.inf
    return total


def least_mean(m: float, room: float) -> float:
    """min{q <= m : kl(m, q) <= room}, by bisection."""
    low, high = 0.0, m
    for _ in range(200):
        middle = (low + high) / 2.0
        low, high = (low, middle) if kl(m, middle) <= room else (middle, high)
    return high


def ucb1(losses, t):
    return [sum(x) / len(x) - math.sqrt(2.0 * math.log(t) / len(x)) if x else FIRST for x in losses]


def moss(losses, t, rounds):
    n = len(losses)
    return [
        sum(x) / len(x) - math.sqrt(max(0.0, math.log(rounds / (n * len(x)))) / len(x)) if x else FIRST for x in losses
    ]


def kl_ucb(losses, t, c):
    f = math.log(t) + (c * math.log(math.log(t)) if math.log(t) > 1.0 else 0.0) if t else 0.0
    return [least_mean(sum(x) / len(x), f / len(x)) if x else FIRST for x in losses]


def means(losses):
    return [sum(x) / len(x) if x else FIRST for x in losses]


def even(scores):
    """Uniform among the arms of the least score.

    A difference within 1e-12 is a tie, which an oracle cannot distinguish.
    """
    low = min(scores)
    leaders = [s == low or abs(s - low) < 1e-12 for s in scores]
    return [1.0 / sum(leaders) if lead else 0.0 for lead in leaders]


def epsilon_greedy(losses, t, epsilon):
    n = len(losses)
    e = min(1.0, (n * math.log(t + 1) / (t + 1)) ** (1 / 3)) if epsilon is None else epsilon
    return [e / n + (1.0 - e) * p for p in even(means(losses))]


def explore_then_commit(losses, explore):
    """`losses` are those of the exploring rounds."""
    counts = [len(x) for x in losses]
    return even([float(c) for c in counts]) if min(counts) < explore else even(means(losses))
