"""Every learner of the package, one run of a whole game: time per round compared with the fastest of its kind.

A kind is a setting, a smoothing and an estimator. The goal is 3x; MYGA, whose rounds cost a hundred times as much, is
listed separately.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from timing import Contestant, interleave, ratio, seconds_a_call, shown, table

import hannan as hn
from benchmarks.tournament.arenas import advised, grid

N, ACTIONS, EXPERTS, GOAL = 8, 4, 16, 3.0


class Entry(NamedTuple):
    """A learner, its kind, and the game it plays."""

    kind: str
    name: str
    learner: Any
    advised: bool = False


def run(quick: bool = False) -> str:
    """Return the table and the learners that miss the goal."""
    rounds, repeats = (10_000, 3) if quick else (50_000, 5)
    rows, beyond = [], []
    for kind, entries in itertools.groupby(_entries(rounds), key=lambda entry: entry.kind):
        timed = [_contestant(entry, rounds) for entry in entries]
        interleave(timed, repeats, warm=False)
        fastest = min(contestant.cost for contestant in timed)
        for contestant in timed:
            share = contestant.cost / fastest
            rows.append((kind, contestant.name, shown(contestant.cost), ratio(share) if len(timed) > 1 else "alone"))
            if share > GOAL:
                beyond.append(f"{contestant.name} ({kind}, {ratio(share)})")
    verdict = f"Beyond {GOAL:g}x of the fastest of its kind: {'; '.join(beyond) or 'none'}."
    head = ("kind: setting, smoothing, estimator", "learner", "a round", "to the fastest")
    return "\n\n".join([f"n = {N}, T = {rounds:,}, one run, one thread.", table(head, rows), verdict, _myga(quick)])


def _contestant(entry: Entry, rounds: int) -> Contestant:
    """Return its game, shorter for slow learners; the first call warms up, the second measures the time."""
    width = ACTIONS if entry.advised else entry.learner.n
    losses = np.random.default_rng(0).random((rounds, width))
    play: Callable[[int], object]
    if entry.advised:
        advice = advised(losses, EXPERTS, 0)
        play = lambda t: hn.play(entry.learner, losses[:t], advice=advice[:t], threads=1)  # noqa: E731
    else:
        play = lambda t: hn.play(entry.learner, losses[:t], threads=1)  # noqa: E731
    few = max(100, min(rounds, int(0.04 / (seconds_a_call(lambda: play(2000), 0.0, 1) / 2000))))
    return Contestant(entry.name, lambda: play(few), few)


def _entries(t: int) -> Iterator[Entry]:
    """All learners, grouped by kind."""
    exact = "importance weighted"
    for kind, learners in {
        "experts, exponential": {
            "Experts (the default)": hn.Experts(N), "Horizon": hn.Experts(N, tuning=hn.Horizon(t)),
        },
        "experts, entropy": {
            "Hedge": hn.hedge(N), "Hedge, Horizon": hn.hedge(N, t), "AdaHedge": hn.AdaHedge(N, (0.0, 1.0)),
            "fixed share": hn.fixed_share(N, t, 9),
        },
        "experts, Tsallis 1/2": {"Tsallis 1/2": hn.Experts(N, hn.Tsallis())},
        "experts, Squint's potential": {"Squint": hn.Squint(N)},
        "experts, AdaNormalHedge's potential": {"AdaNormalHedge": hn.AdaNormalHedge(N)},
        "experts, polynomial potential": {"ML-Poly": hn.MLPoly(N)},
        "experts, noisy sums": {"dropout": hn.Dropout(N), "random walk": hn.RandomWalk(N)},
        "bandit, Tsallis 1/2, reduced variance": {"Tsallis-INF (the default)": hn.Bandit(N)},
        f"bandit, Tsallis 1/2, {exact}": {
            "least bound": hn.Bandit(N, hn.Tsallis(0.5)), "Tsallis-INF, IW": hn.tsallis_inf(N, False),
            "Horizon": hn.Bandit(N, tuning=hn.Horizon(t)), "Tsallis-Shannon": hn.TsallisShannon(N),
        },
        f"bandit, entropy, {exact}": {
            "Exp3": hn.exp3(N), "Exp3, Horizon": hn.exp3(N, t), "Exp3.S": hn.exp3_s(N, t, 9),
        },
        "bandit, entropy, implicit exploration": {"Exp3-IX": hn.exp3_ix(N, t)},
        "bandit, log-barrier": {
            "SelfConfident": hn.Bandit(N, hn.LogBarrier(), hn.SelfConfident(t)),
            "Horizon": hn.Bandit(N, hn.LogBarrier(), hn.Horizon(t)), "LB-INF": hn.LBInf(N, t),
        },
        f"bandit, exponential, {exact}": {
            "Anytime": hn.Bandit(N, hn.Exponential()), "Horizon": hn.Bandit(N, hn.Exponential(), hn.Horizon(t)),
        },
        f"bandit, Frechet(2), {exact}": {"Frechet FTPL": hn.frechet_ftpl(N)},
        "bandit, Frechet(2), reduced variance": {"Frechet FTPL, RV": hn.frechet_ftpl(N, 2.0, hn.ReducedVariance())},
        "bandit, Frechet(2), resampled": {
            "geometric": hn.frechet_ftpl(N, 2.0, hn.GeometricResampling(100 * N)),
            "conditional": hn.frechet_ftpl(N, 2.0, hn.ConditionalResampling(100 * N)),
        },
    }.items():  # fmt: skip
        for name, learner in learners.items():
            yield Entry(kind, name, learner)
    for kind, learners in {
        "advice, exponential": {
            "ExpertBandit (the default)": hn.ExpertBandit(ACTIONS, EXPERTS),
            "Horizon": hn.ExpertBandit(ACTIONS, EXPERTS, tuning=hn.Horizon(t)),
            "clipped": hn.ExpertBandit(ACTIONS, EXPERTS, clip="tuned"),
        },
        "advice, entropy": {
            "Exp4": hn.exp4(ACTIONS, EXPERTS), "Exp4, Horizon": hn.exp4(ACTIONS, EXPERTS, t),
            "Exp4, clipped": hn.exp4_clipped(ACTIONS, EXPERTS),
        },
        "advice, Tsallis 1/2": {"Tsallis 1/2": hn.ExpertBandit(ACTIONS, EXPERTS, hn.Tsallis(), hn.Anytime())},
    }.items():  # fmt: skip
        for name, learner in learners.items():
            yield Entry(kind, name, learner, advised=True)
    for title, decisions in (("pairs", hn.MSets(N, 2)), ("paths", grid(4))):
        for noise in ("uniform", "exponential"):
            yield Entry(f"decisions, {title}", f"FPL, {noise}", hn.FPL.tuned(decisions, t, noise))
        yield Entry(f"decisions, {title}, semi-bandit", "FPL-TRIX", hn.FPLTrix(decisions))


def _myga(quick: bool) -> str:
    """Listed separately: a round solves a fixed point over as many threshold experts as the number of rounds allows."""
    parts = []
    for t in (250, 500) if quick else (500, 1000, 4000):
        losses = np.random.default_rng(0).random((t, ACTIONS))
        advice, learner = advised(losses, EXPERTS, 0), hn.MYGA(ACTIONS, EXPERTS, t)
        seconds = seconds_a_call(lambda: hn.play(learner, losses, advice=advice, threads=1), 0.2)  # noqa: B023
        parts.append(f"{shown(seconds / t)} at T = {t}")
    return f"MYGA, apart: {', '.join(parts)} a round."
