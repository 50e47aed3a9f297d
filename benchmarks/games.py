"""Whole games: `hn.play` against other packages and plain loops, on the same losses, alternately.

The time of `hn.play` includes range checks, best loss and record. Losses are uniform on [0, 1] (no arm is
better, so all are drawn all the time) and each contestant receives them in its fastest format: arrays for
hannan and NumPy, lists of lists for pure Python, river and pymab, prepared in advance.
"""

from __future__ import annotations

import loops
import numpy as np
import peers
from timing import Contestant, growth, interleave, ratio, shown, table

import hannan as hn

ROUNDS = 100_000


def run(quick: bool = False) -> str:
    """Markdown tables: the four jobs, the other learners, growth."""
    repeats = 3 if quick else 7
    shrink = 10 if quick else 1
    parts = [
        _job_1(ROUNDS // shrink, repeats),
        _job_2(10_000 // shrink, 200 // shrink, repeats),
        _job_3(10_000 // shrink, 1000, repeats),
        _job_4(10_000 // shrink, 1000, 10, repeats),
        _others(ROUNDS // shrink, repeats),
        _perturbed(repeats),
        _sum_tree(quick, repeats),
        _growth_in_rounds(quick, repeats),
        _growth_in_experts(quick, repeats),
        _over_softmax(repeats),
    ]
    return "\n\n".join(parts)


def _against(title: str, contestants: list[Contestant], repeats: int, reach: dict[str, float]) -> str:
    """Return the table of one job; the first contestant is this package, and `reach` has the target ratios."""
    interleave(contestants, repeats)
    ours = contestants[0].cost
    rows = []
    for contestant in contestants:
        times = contestant.cost / ours
        aim = reach.get(contestant.name)
        standing = "" if aim is None else f"{aim:g}x: {'reached' if times >= aim else 'not reached'}"
        rows.append([contestant.name, shown(contestant.cost), ratio(times), standing])
    return f"### {title}\n\n" + table(["", "a round", "over hannan", "reach"], rows)


def _job_1(rounds: int, repeats: int) -> str:
    losses = np.random.default_rng(1).random((rounds, 10))
    rows = losses.tolist()
    learner = hn.Bandit(10, hn.Entropy(), tuning=hn.Horizon(rounds))
    scale = learner.schedule().scale(1, 0.0)
    part = rounds // 10  # the peers are slow: a tenth of the rounds
    contestants = [
        Contestant("hannan", lambda: hn.play(learner, losses, runs=1, seed=0), rounds),
        Contestant("hannan, 1 thread", lambda: hn.play(learner, losses, runs=1, seed=0, threads=1), rounds),
        Contestant("Python lists", lambda: loops.bandit_lists(rows, scale), rounds),
        Contestant("NumPy", lambda: loops.bandit_numpy(losses[:part], scale), part),
        Contestant("pymab EXP3", lambda: peers.pymab_exp3(rows[:part]), part),
        Contestant("river Exp3", lambda: peers.river_exp3(rows[:part]), part),
    ]
    reach = {"Python lists": 12.0, "pymab EXP3": 120.0, "river Exp3": 120.0}
    title = f"Job 1: one softmax bandit game, N = 10, {rounds:,} rounds"
    return _against(title, contestants, repeats, reach)


def _job_2(rounds: int, runs: int, repeats: int) -> str:
    losses = np.random.default_rng(2).random((rounds, 10))
    learner = hn.Bandit(10, hn.Entropy(), tuning=hn.Horizon(rounds))
    means = np.full(10, 0.5)
    bernoulli = hn.adversaries.Bernoulli(means, rounds)
    steps = rounds * runs
    few = max(2, runs // 50)
    contestants = [
        Contestant("hannan", lambda: hn.play(learner, losses, runs=runs, seed=0), steps),
        Contestant("hannan, 1 thread", lambda: hn.play(learner, losses, runs=runs, seed=0, threads=1), steps),
        Contestant("hannan, losses drawn inside", lambda: hn.play(learner, bernoulli, runs=runs, seed=0), steps),
        Contestant(
            f"pymab Experiment ({few} runs, scaled)",
            lambda: peers.pymab_experiment(means, rounds, few),
            rounds * few,
        ),
    ]
    reach = {contestants[-1].name: 500.0}
    title = f"Job 2: the same, {runs} runs of {rounds:,} rounds (cost of a run and round)"
    return _against(title, contestants, repeats, reach)


def _job_3(rounds: int, n: int, repeats: int) -> str:
    losses = np.random.default_rng(3).random((rounds, n))
    learner = hn.Experts(n, hn.Entropy(), tuning=hn.Horizon(rounds))
    scale = learner.schedule().scale(1, 0.0)
    part = rounds // 10
    targets = losses[:20, 0].tolist()
    contestants = [
        Contestant("hannan", lambda: hn.play(learner, losses, runs=1, seed=0), rounds),
        Contestant("NumPy", lambda: loops.hedge_numpy(losses[:part], scale), part),
        Contestant("river EWARegressor (20 rounds)", lambda: peers.river_hedge(n, targets), len(targets)),
    ]
    title = f"Job 3: experts, Hedge, N = {n:,}, {rounds:,} rounds"
    return _against(title, contestants, repeats, {"NumPy": 15.0})


def _job_4(rounds: int, n: int, actions: int, repeats: int) -> str:
    rng = np.random.default_rng(4)
    losses = rng.random((rounds, actions))
    advice = rng.integers(0, actions, (rounds, n), dtype=np.uint8)
    learner = hn.ExpertBandit(actions, n, hn.Entropy(), tuning=hn.Horizon(rounds))
    scale = learner.schedule().scale(1, 0.0)
    part = rounds // 10
    contestants = [
        Contestant("hannan", lambda: hn.play(learner, losses, runs=1, seed=0, advice=advice), rounds),
        Contestant("hannan, 1 thread", lambda: hn.play(learner, losses, advice=advice, threads=1), rounds),
        Contestant("NumPy", lambda: loops.expert_bandit_numpy(losses[:part], advice[:part], scale), part),
    ]
    title = f"Job 4: bandits with experts, K = {actions}, N = {n:,}, {rounds:,} rounds, uint8 advice"
    return _against(title, contestants, repeats, {"NumPy": 30.0})


def _others(rounds: int, repeats: int) -> str:
    losses = np.random.default_rng(5).random((rounds, 10))
    rows = losses.tolist()
    entropy = hn.Bandit(10, hn.Entropy(), tuning=hn.Horizon(rounds))
    scale = entropy.schedule().scale(1, 0.0)
    learners = {
        "Tsallis 1/2": hn.Bandit(10, hn.Tsallis(0.5), tuning=hn.Anytime()),
        "Tsallis 1/2, Horizon": hn.Bandit(10, hn.Tsallis(0.5), tuning=hn.Horizon(rounds)),
        "Tsallis 1/4": hn.Bandit(10, hn.Tsallis(0.25), tuning=hn.Anytime()),
        "Entropy, Anytime": hn.Bandit(10, hn.Entropy(), tuning=hn.Anytime()),
        "log-barrier": hn.Bandit(10, hn.LogBarrier(), tuning=hn.SelfConfident(rounds)),
        "Exponential, exact": hn.Bandit(10, hn.Exponential(), tuning=hn.Anytime()),
    }
    contestants = [Contestant("Python lists, Entropy", lambda: loops.bandit_lists(rows, scale), rounds)]
    for name, learner in learners.items():
        play = lambda learner=learner: hn.play(learner, losses, runs=1, seed=0)  # noqa: E731
        contestants.append(Contestant(name, play, rounds))
    interleave(contestants, min(repeats, 5))
    python = contestants[0].cost
    rows_shown = []
    for contestant in contestants:
        aim = "5x: " + ("reached" if python / contestant.cost >= 5 else "not reached")
        reach = aim if contestant.name == "Tsallis 1/2" else ""
        rows_shown.append([contestant.name, shown(contestant.cost), ratio(python / contestant.cost), reach])
    return f"### Other bandits, N = 10, {rounds:,} rounds\n\n" + table(
        ["", "a round", "faster than the Entropy loop in Python", "reach"], rows_shown
    )


def _perturbed(repeats: int) -> str:
    contestants = []
    for n, rounds in ((10, 5000), (100, 2000), (1000, 500)):
        losses = np.random.default_rng(n).random((rounds, n))
        for law in (hn.Exponential(), hn.Frechet(2.0), hn.Pareto(2.0)):
            cap = max(100, n)
            for estimator in (
                hn.ImportanceWeighted(),
                hn.GeometricResampling(cap),
                hn.ConditionalResampling(cap),
            ):
                learner = hn.Bandit(n, law, tuning=hn.Fixed(10.0), estimator=estimator)
                play = lambda learner=learner, losses=losses: hn.play(learner, losses, runs=1)  # noqa: E731
                contestants.append(Contestant(f"{law!r}|{n}|{estimator!r}", play, rounds))
    interleave(contestants, min(repeats, 3))
    rows = []
    for k in range(0, len(contestants), 3):
        law, n, _ = contestants[k].name.split("|")
        costs = [c.cost for c in contestants[k : k + 3]]
        over_exact = [ratio(c / costs[0]) for c in costs[1:]]
        rows.append([law, n, *(shown(c) for c in costs), *over_exact])
    columns = ["law", "N", "exact", "geometric", "conditional", "geometric / exact", "conditional / exact"]
    return (
        "### FTPL bandits, exact probabilities and resampled weights, a round\n\n"
        "The probability of each move is exact in all three; the weight is not. Cap: max(100, N).\n\n"
        + table(columns, rows)
    )


def _sum_tree(quick: bool, repeats: int) -> str:
    sizes = [1000, 10_000, 100_000] if quick else [1000, 10_000, 100_000, 1_000_000]
    rounds = 100_000 if quick else 1_000_000
    contestants = []
    for n in sizes:
        learner = hn.Bandit(n, hn.Entropy(), tuning=hn.Horizon(rounds))
        losses = hn.adversaries.Bernoulli(np.full(n, 0.5), rounds)
        play = lambda learner=learner, losses=losses: hn.play(learner, losses, runs=1)  # noqa: E731
        contestants.append(Contestant(f"{n:,}", play, rounds))
    interleave(contestants, min(repeats, 5))
    costs = [c.cost for c in contestants]
    rows = [[c.name, shown(c.cost), ratio(c.cost / costs[0])] for c in contestants]
    return (
        f"### Softmax bandit by sum tree, {rounds:,} rounds, losses drawn inside\n\n"
        + table(["N", "a round", "over N = 1,000"], rows)
        + f"\n\nCost grows like N^{growth(sizes, costs):.2f}."
    )


def _growth_in_rounds(quick: bool, repeats: int) -> str:
    sizes = [10_000, 30_000, 100_000] if quick else [10_000, 100_000, 1_000_000]
    rows = []
    losses = np.random.default_rng(6).random((sizes[-1], 10))
    for name, smoothing, tuning in (
        ("Entropy", hn.Entropy(), hn.Anytime()),
        ("Tsallis 1/2", hn.Tsallis(0.5), hn.Anytime()),
    ):
        learner = hn.Bandit(10, smoothing, tuning=tuning)
        contestants = []
        for rounds in sizes:
            play = lambda rounds=rounds: hn.play(learner, losses[:rounds], runs=1)  # noqa: B023, E731
            contestants.append(Contestant(f"{rounds:,}", play, 1))
        interleave(contestants, min(repeats, 3))
        costs = [c.cost for c in contestants]
        rows.append([name, *(shown(c) for c in costs), f"T^{growth(sizes, costs):.2f}"])
    header = ["bandit, N = 10", *(f"T = {size:,}" for size in sizes), "growth"]
    return "### Cost of a whole game against its length\n\n" + table(header, rows)


def _over_softmax(repeats: int) -> str:
    """Return the cost of exact perturbed leaders with many arms, as multiples of a softmax round."""
    columns, rows = (100, 1000), []
    laws = [kind(a) for kind in (hn.Frechet, hn.Pareto) for a in (2.0, 3.0, 5.0)]
    learners = [("softmax", lambda n: hn.exp3(n)), *((repr(law), lambda n, law=law: hn.Bandit(n, law)) for law in laws)]
    costs: dict[str, list[float]] = {name: [] for name, _ in learners}
    for n in columns:
        losses = np.random.default_rng(n).random((400_000 // n, n))
        contestants = []
        for name, make in learners:
            play = lambda learner=make(n), losses=losses: hn.play(learner, losses, runs=1, threads=1)  # noqa: E731
            contestants.append(Contestant(name, play, len(losses)))
        interleave(contestants, min(repeats, 5))
        for contestant in contestants:
            costs[contestant.name].append(contestant.cost)
    for name, found in costs.items():
        over = [a / b for a, b in zip(found, costs["softmax"], strict=True)]
        aim = "" if name == "softmax" else "reached" if over[-1] <= 5.0 else "not reached"
        rows.append([name, *(shown(c) for c in found), *(ratio(x) for x in over), aim])
    header = ["Bandit, Anytime", *(f"N = {n:,}" for n in columns), *(f"over softmax, N = {n:,}" for n in columns)]
    return "### Exact perturbed leaders with many arms\n\n" + table([*header, "at most 5x"], rows)


def _growth_in_experts(quick: bool, repeats: int) -> str:
    sizes = [10, 100, 1000] if quick else [10, 100, 1000, 10_000]
    rows = []
    for name, make in (
        ("Experts, Entropy", lambda n: hn.Experts(n, hn.Entropy(), tuning=hn.Horizon(1000))),
        ("Experts, Exponential", lambda n: hn.Experts(n, hn.Exponential(), tuning=hn.Horizon(1000))),
        ("Bandit, Entropy, Anytime", lambda n: hn.Bandit(n, hn.Entropy(), tuning=hn.Anytime())),
        ("Bandit, Tsallis 1/2", lambda n: hn.Bandit(n, hn.Tsallis(0.5), tuning=hn.Anytime())),
        ("Bandit, log-barrier", lambda n: hn.Bandit(n, hn.LogBarrier(), tuning=hn.SelfConfident(1000))),
    ):
        contestants = []
        for n in sizes:
            learner, rounds = make(n), max(200, 1_000_000 // n)
            losses = np.random.default_rng(n).random((rounds, n))
            play = lambda learner=learner, losses=losses: hn.play(learner, losses, runs=1)  # noqa: E731
            contestants.append(Contestant(f"{n:,}", play, rounds))
        interleave(contestants, min(repeats, 3))
        costs = [c.cost for c in contestants]
        rows.append([name, *(shown(c) for c in costs), f"N^{growth(sizes, costs):.2f}"])
    header = ["a round", *(f"N = {size:,}" for size in sizes), "growth"]
    return "### Cost of a round against the number of arms\n\n" + table(header, rows)
