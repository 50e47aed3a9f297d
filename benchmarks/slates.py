"""Slates: time per round, relative to the default bandit, and regret next to Vowpal Wabbit.

    python benchmarks/run.py --only slates
    python benchmarks/slates.py [runs]        # regret; with Vowpal Wabbit if vowpalwabbit is installed

Vowpal Wabbit's conditional contextual bandits (CCB) fill the slots of a slate one after the other. Each item has one
feature, its number.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import hannan as hn
from hannan.mathematics.streams import words

#: Sizes that are timed: n items, m per slate.
SIZES = ((8, 2), (100, 10), (1000, 10))
ENGINE = "SlateBandit(n, m), engine alone"
#: Microseconds per round that the engine is to reach on a quiet machine.
AIMS = {8: 1.0, 100: 5.0, 1000: 20.0}
LEARNERS: dict[str, Callable[[int, int], Any]] = {
    "SlateBandit(n, m)": hn.SlateBandit,
    'draw="conditional"': lambda n, m: hn.SlateBandit(n, m, draw="conditional"),
    "smoothing=Exponential()": lambda n, m: hn.SlateBandit(n, m, smoothing=hn.Exponential()),
    "SlateExperts(n, m)": hn.SlateExperts,
}
VOWPAL = {
    "VW CCB, epsilon 0.05": "--ccb_explore_adf --epsilon 0.05",
    "VW CCB, squarecb": "--ccb_explore_adf --squarecb",
    "VW CCB, cover 4": "--ccb_explore_adf --cover 4",
    "VW CCB, epsilon 0.05, ips": "--ccb_explore_adf --epsilon 0.05 --cb_type ips",
}
N, M, ROUNDS = 8, 2, 10_000


def run(quick: bool = False) -> str:
    """Return a Markdown table of the time per round in games and of act and observe, and ratios to the bandit."""
    from timing import Contestant, interleave, ratio, shown, table

    rows = []
    for n, m in SIZES:
        rounds = (20_000 if n == 8 else 5000 if n == 100 else 1500) // (5 if quick else 1)
        losses = np.random.default_rng(n).random((rounds, n))

        def contestant(name: str, learner: Any, losses: Any = losses, rounds: int = rounds) -> Contestant:
            return Contestant(name, lambda: hn.play(learner, losses, seed=1), rounds)

        contestants = [contestant("Bandit(n)", hn.Bandit(n))]
        contestants += [contestant(name, build(n, m)) for name, build in LEARNERS.items()]
        learner, stream = hn.SlateBandit(n, m), words(1, 0)
        contestants.append(
            Contestant(ENGINE, lambda r=learner, w=stream, x=losses: r.run(w).play(x), rounds)  # without the record
        )
        contestants.append(Contestant("act + observe", lambda l=learner, x=losses: _steps(l, x), rounds))  # noqa: E741
        interleave(contestants, 2 if quick else 5)
        base = contestants[0].cost
        for one in contestants:
            aim = f"{AIMS[n]:g} us" if one.name == ENGINE else ""
            rows.append([f"{n}, {m}", one.name, shown(one.cost), ratio(one.cost / base), aim])
    return table(["n, m", "", "a round", "relative to Bandit(n)", "aim on a quiet machine"], rows)


def _steps(learner: Any, losses: Any) -> None:
    player = learner.start(0)
    for row in losses:
        move = player.act()
        player.observe(move, row[list(move.actions)])


# Regret.


def games(rng: np.random.Generator) -> dict[str, Any]:
    """Return the mean losses of three games: one distribution, alternating levels, and a change of the best items."""
    t, good = np.arange(ROUNDS)[:, None], np.arange(N) < M
    ends = np.cumsum([int(20 * 1.6**k) for k in range(20)])
    level = np.where(np.searchsorted(ends, t, side="right") % 2 == 0, 0.05, 0.85)
    second = (np.arange(N) >= M) & (np.arange(N) < 2 * M)
    late = t >= ROUNDS / 3
    turn = np.where(good, 0.5, np.where(second, np.where(late, 0.7, 0.3), np.where(late, 0.75, 0.6)))
    return {
        "stochastic": np.broadcast_to(np.where(good, 0.4, 0.6), (ROUNDS, N)),
        "constrained adversary": level + np.where(good, 0.0, 0.1),
        "turn": turn,
    }


def ours(learner: Any, losses: Any, seed: int) -> float:
    """Return the regret of one run."""
    return float(hn.play(learner, losses, seed=seed).regret[0, -1])


def vowpal(arguments: str, losses: Any, seed: int) -> float:
    """Return the regret of one run of Vowpal Wabbit."""
    import vowpalwabbit

    model, rng = vowpalwabbit.Workspace(f"{arguments} --quiet --random_seed {seed + 1}"), np.random.default_rng(seed)
    actions = [f"ccb action | i{k}" for k in range(N)]
    head = ["ccb shared | bias", *actions]
    own = 0.0
    for row in losses:
        slots = model.predict([*head, *["ccb slot | "] * M])
        taken: list[tuple[int, float]] = []
        for slot in slots:
            # The probabilities of the actions that earlier slots left over.
            left = [(action, p) for action, p in slot if action not in [one for one, _ in taken]]
            weights = np.array([p for _, p in left])
            k = int(rng.choice(len(left), p=weights / weights.sum()))
            taken.append((left[k][0], float(weights[k] / weights.sum())))
        own += float(sum(row[action] for action, _ in taken))
        model.learn([*head, *(f"ccb slot {action}:{row[action]:g}:{p:g} | " for action, p in taken)])
    model.finish()
    return own - float(np.sort(losses.sum(axis=0))[:M].sum())


def main() -> None:
    """Print regret and time per round."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    field: dict[str, Callable[[Any, int], float]] = {
        "SlateBandit(n, m)": lambda x, s: ours(hn.SlateBandit(N, M), x, s),
        "SlateBandit, Horizon": lambda x, s: ours(hn.SlateBandit(N, M, hn.Horizon(ROUNDS)), x, s),
        "SlateBandit.robust": lambda x, s: ours(hn.SlateBandit.robust(N, M, ROUNDS), x, s),
        "SlateBandit, leaders, Horizon": lambda x, s: ours(
            hn.SlateBandit(N, M, hn.Horizon(ROUNDS), smoothing=hn.Exponential()), x, s
        ),
        "FPLTrix": lambda x, s: ours(hn.FPLTrix(hn.MSets(N, M)), x, s),
    }
    try:
        import vowpalwabbit  # noqa: F401
    except ImportError:
        print("vowpalwabbit is not installed")
    else:
        field |= {name: lambda x, s, a=text: vowpal(a, x, s) for name, text in VOWPAL.items()}
    for name, means in games(np.random.default_rng(0)).items():
        print(f"{name}: n = {N}, m = {M}, T = {ROUNDS}")
        for who, play in field.items():
            few = runs if not who.startswith(("VW", "FPL")) else max(runs // 3, 2)
            start, found = time.perf_counter(), []
            for seed in range(few):
                losses = (np.random.default_rng([seed, 3]).random((ROUNDS, N)) < means).astype(float)
                found.append(play(losses, seed))
            cost = 1e6 * (time.perf_counter() - start) / few / ROUNDS
            error = np.std(found, ddof=1) / np.sqrt(few)
            print(
                f"  {who:<30} {np.mean(found):8.1f} +- {error:<6.1f} {cost:8.1f} us per round, {few} runs", flush=True
            )


if __name__ == "__main__":
    main()
