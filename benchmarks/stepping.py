"""Single steps from Python: act, then observe, as in an application.

river and pymab are stepped the same way on the same losses, alternately.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import peers
from timing import Contestant, growth, interleave, ratio, shown, table

import hannan as hn


def run(quick: bool = False) -> str:
    """Markdown tables: steps at N = 10 against other packages, experts, and cost by N."""
    rounds = 2000 if quick else 20_000
    repeats = 3 if quick else 7
    return "\n\n".join(
        [
            _small(rounds, repeats),
            _experts(rounds, repeats),
            _private(rounds, repeats),
            _evidence(rounds, repeats),
            _late(repeats),
            _sum_tree(quick, repeats),
        ]
    )


def _steps(player: Any, rows: Sequence[Sequence[float]]) -> None:
    act, observe = player.act, player.observe
    for row in rows:
        move = act()
        observe(move, row[move.action])


def _small(rounds: int, repeats: int) -> str:
    rows = np.random.default_rng(7).random((rounds, 10)).tolist()
    learners = {
        "Entropy, Horizon": hn.Bandit(10, hn.Entropy(), tuning=hn.Horizon(10**6)),
        "Entropy, Anytime": hn.Bandit(10, hn.Entropy(), tuning=hn.Anytime()),
        "Tsallis 1/2": hn.Bandit(10, hn.Tsallis(0.5), tuning=hn.Anytime()),
        "log-barrier": hn.Bandit(10, hn.LogBarrier(), tuning=hn.SelfConfident(10**6)),
        "Exponential": hn.Bandit(10, hn.Exponential(), tuning=hn.Anytime()),
    }
    contestants = []
    for name, learner in learners.items():
        play = lambda learner=learner: _steps(learner.start(0), rows)  # noqa: E731
        contestants.append(Contestant(f"hannan {name}", play, rounds))
    contestants.append(Contestant("pymab EXP3", lambda: peers.pymab_exp3(rows), rounds))
    contestants.append(Contestant("river Exp3", lambda: peers.river_exp3(rows), rounds))
    interleave(contestants, repeats)
    pymab, river = contestants[-2].cost, contestants[-1].cost
    shown_rows = []
    for contestant in contestants:
        cost, reach = contestant.cost, ""
        if contestant.name.startswith(("hannan Entropy", "hannan Tsallis")):
            good = cost < 3e-6 and min(pymab, river) / cost >= 2.0
            reach = "under 3 us, 2x both: " + ("reached" if good else "not reached")
        shown_rows.append([contestant.name, shown(cost), ratio(pymab / cost), ratio(river / cost), reach])
    return "### act + observe, N = 10, ticket and checks included\n\n" + table(
        ["", "a step", "faster than pymab", "faster than river", "reach"], shown_rows
    )


def _evidence(rounds: int, repeats: int) -> str:
    """Time of act and observe with evidence, relative to the same player without evidence."""
    rows = []
    for n in (2, 10):
        losses = np.random.default_rng(7).random((rounds, n)).tolist()
        contestants = []
        for evidence in (False, True):
            play = lambda n=n, losses=losses, on=evidence: _steps(hn.Bandit(n).start(0, evidence=on), losses)  # noqa: E731
            contestants.append(Contestant(f"evidence={evidence}", play, rounds))
        interleave(contestants, repeats)
        plain, watched = contestants
        rows.append([n, shown(plain.cost), shown(watched.cost), ratio(watched.cost / plain.cost)])
    return "### act + observe with evidence\n\n" + table(["arms", "without", "with", "ratio"], rows)


def _experts(rounds: int, repeats: int) -> str:
    contestants = []
    for n in (10, 1000):
        losses = np.random.default_rng(n).random((rounds // 10, n))
        learner = hn.Experts(n, hn.Entropy(), tuning=hn.Horizon(10**6))

        def play(learner: Any = learner, losses: Any = losses) -> None:
            player = learner.start(0)
            for row in losses:
                player.observe(player.act(), row)

        contestants.append(Contestant(f"{n:,}", play, len(losses)))
    interleave(contestants, min(repeats, 5))
    return "### act + observe, experts, Hedge\n\n" + table(
        ["N", "a step"], [[c.name, shown(c.cost)] for c in contestants]
    )


def _private(rounds: int, repeats: int) -> str:
    """Private experts without a seed, live and in a game, compared with Hedge without privacy."""
    losses = np.random.default_rng(10).random((rounds, 10))
    contestants = []
    for name, learner in {
        "known rounds": hn.PrivateExperts(10, 1.0, rounds=rounds),
        "without end": hn.PrivateExperts(10, 1.0),
        "Hedge, no privacy": hn.Experts(10, hn.Entropy(), tuning=hn.Horizon(rounds)),
    }.items():

        def live(learner: Any = learner) -> None:
            player = learner.start()
            for row in losses:
                player.observe(player.act(), row)

        game = lambda learner=learner: hn.play(learner, losses, runs=1, threads=1)  # noqa: E731
        contestants += [Contestant(f"{name}, live", live, rounds), Contestant(f"{name}, game", game, rounds)]
    interleave(contestants, repeats)
    rows = []
    for contestant in contestants:
        reach = "" if "Hedge" in contestant.name else "reached" if contestant.cost < 2e-6 else "not reached"
        rows.append([contestant.name, shown(contestant.cost), reach])
    return "### act + observe, private experts, N = 10\n\n" + table(["", "a round", "under 2 us"], rows)


def _late(repeats: int) -> str:
    """Experts whose losses come after all moves are drawn: the cost per move must not grow with their number."""
    learner, row = hn.Experts(3, hn.Entropy(), tuning=hn.Anytime()), np.array([0.5, 0.1, 0.9])
    contestants = []
    for count in (2000, 20_000):

        def play(count: int = count) -> None:
            player = learner.start(0)
            for move in [player.act() for _ in range(count)]:
                player.observe(move, row)

        contestants.append(Contestant(f"{count:,}", play, count))
    interleave(contestants, min(repeats, 5))
    first = contestants[0].cost
    return "### act, then observe after all moves are drawn, experts\n\n" + table(
        ["open moves", "per move", "ratio to the first row"],
        [[c.name, shown(c.cost), ratio(c.cost / first)] for c in contestants],
    )


def _sum_tree(quick: bool, repeats: int) -> str:
    sizes = [1000, 10_000, 100_000] if quick else [1000, 10_000, 100_000, 1_000_000]
    steps = 2000
    losses = np.random.default_rng(8).random(steps).tolist()
    contestants = []
    for n in sizes:
        player = hn.Bandit(n, hn.Entropy(), tuning=hn.Horizon(10**6)).start(0)

        def play(player: Any = player) -> None:
            act, observe = player.act, player.observe
            for loss in losses:
                observe(act(), loss)

        contestants.append(Contestant(f"{n:,}", play, steps))
    interleave(contestants, repeats)
    costs = [c.cost for c in contestants]
    return (
        "### act + observe by sum tree, softmax bandit under Horizon\n\n"
        + table(["N", "a step"], [[c.name, shown(c.cost)] for c in contestants])
        + f"\n\nCost grows like N^{growth(sizes, costs):.2f} (reach: like log N, not N)."
    )
