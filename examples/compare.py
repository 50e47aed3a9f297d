"""Six bandits in five environments, in one call: a figure with bands, a table for a paper, and a test of which learner
is better.

Index rules are designed for i.i.d. losses such as rare clicks; without i.i.d. losses they have no bound, and the output
reports it. The bound of the default holds in all environments. A user-defined algorithm is a class with `act` and
`observe`; a user-defined environment is a function of the past moves.

    python examples/compare.py [folder] [--quick]
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

import hannan as hn


class Softmax:
    """User-defined algorithm: probabilities proportional to e^(-20 mean loss), without tuning or proof."""

    def __init__(self, n: int, seed: int) -> None:
        self._n, self._rng = n, random.Random(seed)
        self._sums, self._counts = [0.0] * n, [1e-9] * n

    def act(self) -> int:
        """Draw an arm."""
        means = [total / count for total, count in zip(self._sums, self._counts, strict=True)]
        weights = [2.718281828 ** (-20.0 * mean) for mean in means]
        return self._rng.choices(range(self._n), weights)[0]

    def observe(self, move: int, loss: float) -> None:
        """Record the loss of a move."""
        self._sums[move] += loss
        self._counts[move] += 1.0


def charge_the_last(t: int, past: hn.adversaries.Past) -> list[float]:
    """User-defined environment: the arm that was played last and the next arm have the loss 1."""
    last = int(past.moves[-1]) if t > 1 else 0
    return [float(arm in (last, (last + 1) % 10)) for arm in range(10)]


LEARNERS = {
    "default (Tsallis-INF)": "bandit",
    "log-barrier": "bandit:log-barrier",
    "Exp3": "exp3",
    "UCB1": "ucb1",
    "KL-UCB": "kl-ucb",
    "user-defined softmax": Softmax,
}
ENVIRONMENTS = {
    "clicks at 2% to 12%": {"means": [0.88, 0.92, 0.93, 0.94, 0.95, 0.95, 0.96, 0.97, 0.97, 0.98]},
    "stochastically constrained": "stochastically_constrained",
    "switching": {"adversary": "switching", "phases": 5},
    "drifting": "drifting",
    "charges the last arm": charge_the_last,
}


def main(arguments: list[str]) -> hn.Comparison:
    """Play all games, print the comparison, and save it in a folder."""
    quick = "--quick" in arguments
    folders = [word for word in arguments if not word.startswith("-")]
    runs, rounds = (8, 400) if quick else (20, 2000)
    comparison = hn.compare(LEARNERS, ENVIRONMENTS, runs=runs, rounds=rounds, seed=0, n=10)
    print(comparison)
    print(comparison.to_latex())
    if folders:
        print(f"saved in {comparison.save(Path(folders[0]))}")
    return comparison


if __name__ == "__main__":
    main(sys.argv[1:])
