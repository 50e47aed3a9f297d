"""The worst regret/bound that searches find, by family: the table of docs/search.md. Some minutes on one core.

    python benchmarks/search.py            # prints the table
    python benchmarks/search.py --quick    # shorter games

The searches are those of tests/oracles/searches.py. Two experts: the exact maximum over all 0/1 sequences. Three: the
same, fewer rounds. The log-barrier with resampling: every 0/1 sequence, exact expectations. Reduced variance: games of
the adversaries, sampled, and the exact cost of one round over a grid of plays.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "oracles"))

import convex_searches
import searches

import hannan as hn
from hannan import adversaries

Row = tuple[str, str, float]


def experts(rounds: int) -> Iterator[Row]:
    """All 0/1 sequences of two experts."""
    hedge = ("same play as 0.1.0", hn.Entropy(), hn.Anytime(1.0 / np.sqrt(np.log(2.0))))
    families = [
        (type(tuning).__name__, smoothing, tuning)
        for smoothing in (
            hn.Entropy(), hn.Exponential(), hn.Laplace(), hn.Gamma(2.0), hn.Gaussian(), hn.Weibull(2.0),
            hn.Tsallis(0.5), hn.Tsallis(0.9), hn.Frechet(3.0),
        )
        for tuning in (hn.Horizon(rounds), hn.Anytime())
    ]  # fmt: skip
    for name, smoothing, tuning in [*families, hedge]:
        learner = hn.Experts(2, smoothing, tuning)
        worst = searches.worst_of_two(learner, rounds) / learner.bound(rounds).value
        yield f"{smoothing!r}, {name}", f"all 0/1 sequences, N = 2, T = {rounds}", worst
    learner = hn.Experts(2, hn.LogBarrier(), hn.Horizon(rounds))
    worst = searches.worst_of_two(learner, rounds) / learner.bound(rounds).value
    yield "LogBarrier(), Horizon", f"all 0/1 sequences, N = 2, T = {rounds}", worst


def three_experts(rounds: int) -> Iterator[Row]:
    """All 0/1 sequences of three experts."""
    for smoothing in (hn.Entropy(), hn.Exponential(), hn.Gaussian(), hn.Tsallis(0.5)):
        for tuning in (hn.Horizon(rounds), hn.Anytime()):
            learner = hn.Experts(3, smoothing, tuning)
            worst = searches.worst_of_three(learner, rounds) / learner.bound(rounds).value
            yield f"{smoothing!r}, {type(tuning).__name__}", f"all 0/1 sequences, N = 3, T = {rounds}", worst


def first_order(steps: int) -> Iterator[Row]:
    """Fixed and BestLoss by dynamic programming, SelfConfident by climbing."""
    for smoothing in (hn.Entropy(), hn.Exponential(), hn.Tsallis(0.5)):
        worst = 0.0
        for best in (1, 4, 20, 100):
            learner = hn.Experts(2, smoothing, hn.BestLoss(best))
            worst = max(worst, searches.worst_of_two_within(learner, 60 + 6 * best, best) / learner.bound(10**9).value)
        yield f"{smoothing!r}, BestLoss", "all 0/1 sequences with L* <= 1, 4, 20, 100, N = 2", worst
        worst = max(
            searches.worst_of_two_within(fixed, 80, best) / fixed.bound(best_loss=best).value
            for fixed in (hn.Experts(2, smoothing, hn.Fixed(scale)) for scale in (1.0, 5.0, 20.0))
            for best in (0, 3, 10)
        )
        yield f"{smoothing!r}, Fixed", "all 0/1 sequences with L* <= 0, 3, 10, N = 2", worst
        worst = max(searches.climbed(hn.Experts(2, smoothing), 2, rounds, 0, steps) for rounds in (8, 40))
        yield f"{smoothing!r}, SelfConfident", "local search on 0/1 sequences, N = 2, T = 8, 40", worst


def barrier(most: int) -> Iterator[Row]:
    """The log-barrier bandit with resampling."""
    for kind in (hn.GeometricResampling, hn.ConditionalResampling):
        worst = 0.0
        for rounds in range(2, most + 1):
            tunings = [hn.Fixed(x) for x in (0.05, 0.2, 0.5, 1.0, 2.0, 5.0)]
            tunings += [hn.Horizon(rounds), hn.BestLoss(1, rounds=rounds)]
            for tuning in tunings:
                for cap in range(1, 6):
                    learner = hn.Bandit(2, hn.LogBarrier(), tuning, kind(cap))
                    worst = max(worst, searches.worst_resampled(learner, rounds))
        where = f"every game, exact expectations, N = 2, T <= {most}, cap <= 5"
        yield f"LogBarrier() bandit, {kind.__name__}", where, worst


def reduced_variance(rounds: int, runs: int) -> Iterator[Row]:
    """Tsallis-INF with reduced variance: sampled games."""
    worst = 0.0
    for n in (2, 4, 8):
        learner = hn.Bandit(n)
        late = np.ones((rounds, n))
        late[rounds * 3 // 4 :, -1] = 0.0
        stairs = np.zeros((rounds, n))
        stairs[np.arange(rounds), np.arange(rounds) * n // rounds] = 1.0
        games = {
            "late": late,
            "stairs": stairs,
            "lower bound": adversaries.bandits_lower_bound(rounds, n),
            "coins": adversaries.experts_lower_bound(rounds, n),
            "switching": adversaries.switching(rounds, n),
            "alternating": adversaries.alternating_leader(rounds, n),
            "stochastic": adversaries.stochastic(rounds, n),
        }
        for losses in games.values():
            record = hn.play(learner, losses, runs=runs, seed=0)
            worst = max(worst, float(record.mean_regret[-1]) / learner.bound(rounds).value)
    yield "Bandit(n), reduced variance", f"21 games, n = 2, 4, 8, T = {rounds}, {runs} runs", worst


def balls(rounds: int) -> Iterator[Row]:
    """Linear losses on the unit ball: every adversary, by dynamic programming over ||L||."""
    where = f"every adversary, angles and lengths on a grid, d = 1, 2, 3, 20, T = {rounds}"
    for noise in (hn.GaussianNoise(), hn.GammaNoise()):
        for tuning in (hn.Horizon(rounds), hn.Anytime()):
            learners = [hn.Convex(hn.Ball(d), 1.0, noise, tuning, smooth=0) for d in (1, 2, 3, 20)]
            worst = max(convex_searches.worst_of_learner(learner, rounds) for learner in learners)
            yield f"Convex(Ball(d)), {type(noise).__name__}, {type(tuning).__name__}", where, worst


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="shorter games")
    quick = parser.parse_args().quick
    print("| family | search | largest regret/bound |\n|---|---|---|")
    for rows in (
        experts(100 if quick else 500),
        three_experts(8 if quick else 30),
        first_order(60 if quick else 400),
        barrier(3 if quick else 5),
        balls(20 if quick else 60),
        reduced_variance(1000 if quick else 4000, 50 if quick else 200),
    ):
        for family, where, worst in rows:
            print(f"| `{family}` | {where} | {worst:.3f} |", flush=True)
            if worst > 1.0 + 1e-9:
                sys.exit(f"{family}: a regret above its bound")


if __name__ == "__main__":
    main()
