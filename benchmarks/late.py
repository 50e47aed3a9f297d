"""Losses that arrive 100 rounds late, for docs/defaults.md: python benchmarks/late.py [runs]

No table of losses has delays, so live players are stepped: each move is settled 100 rounds after it was drawn.
"""

from __future__ import annotations

import sys
from collections import deque
from typing import Any

import numpy as np

import hannan as hn

ROUNDS, LATE = 5000, 100
GAMES = {
    "clicks, .02 to .12": 1.0 - np.array([0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08, 0.09, 0.10, 0.12]),
    "stochastic, gap 1/8": np.array([0.5625] * 7 + [0.4375]),
}


def field(n: int) -> dict[str, Any]:
    return {
        "Bandit(n)": hn.Bandit(n),
        "LBInf(n)": hn.LBInf(n),
        "TsallisShannon(n)": hn.TsallisShannon(n),
        "Thompson(n)": hn.Thompson(n),
        "KLUCB(n, c=0)": hn.KLUCB(n, c=0.0),
        "UCB1(n)": hn.UCB1(n),
    }


def regret(learner: Any, means: np.ndarray, run: int) -> float:
    """Mean loss of the learner minus the smallest, on coin flips drawn for this run."""
    player, coins = learner.start(seed=run), np.random.default_rng([run, 7]).random((ROUNDS, len(means))) < means
    waiting: deque[tuple[Any, float]] = deque()
    paid = 0.0
    for row in coins:
        move = player.act()
        paid += float(means[move.action])
        waiting.append((move, float(row[move.action])))
        if len(waiting) > LATE:
            player.observe(*waiting.popleft())
    return paid - ROUNDS * float(means.min())


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 8
    for name, means in GAMES.items():
        print(f"{name}: {ROUNDS} rounds, {LATE} late, {runs} runs")
        for who, learner in field(len(means)).items():
            found = np.array([regret(learner, means, run) for run in range(runs)])
            print(f"  {who:<16} {found.mean():7.1f} +- {found.std(ddof=1) / np.sqrt(runs):.1f}")


if __name__ == "__main__":
    main()
