"""A million keyed learners of ten arms: batches of decisions, bytes, open tickets, replay of a journal.

A decision is an act and its settlement, keys drawn at random, so that hardly any row is in a cache. Beside it in the
same run: the rounds of a whole game, which has one row and no tickets, and a dict of players.
"""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import timing
from timing import Contestant, interleave, ratio, shown, table

import hannan as hn
from hannan import _engine
from hannan.serving.journal import ACT, OBSERVE, RECORD, SLOT


def run(quick: bool = False) -> str:
    """Markdown tables."""
    learners = 100_000 if quick else 1_000_000
    return "\n\n".join([_decisions(learners, 3 if quick else 9), _open(quick), _journal(quick)])


def grown(learner: Any, learners: int, batch: int) -> Any:
    """A fleet in which every learner has played three rounds."""
    fleet, rng = hn.Fleet(learner, seed=1), np.random.default_rng(0)
    for _ in range(3):
        for keys in np.array_split(rng.permutation(learners), learners // batch):
            fleet.observe(fleet.act(keys), rng.random(len(keys)))
    return fleet


def _decisions(learners: int, repeats: int) -> str:
    batch, rng = 2000, np.random.default_rng(1)
    kinds = {
        "default": hn.Bandit(10),
        "Tsallis 1/2": hn.Bandit(10, hn.Tsallis(0.5)),
        "Hedge (Exp3)": hn.Bandit(10, hn.Entropy(), hn.Horizon(10**6)),
    }
    keys = [rng.integers(0, learners, batch) for _ in range(20)]
    losses = rng.random((20, batch))
    contestants, sizes = [], []
    for name, learner in kinds.items():
        fleet = grown(learner, learners, batch)

        def play(fleet: Any = fleet) -> None:
            for asked, loss in zip(keys, losses, strict=True):
                fleet.observe(fleet.act(asked), loss)

        contestants.append(Contestant(f"fleet, {name}", play, 20 * batch))
        sizes.append(f"{fleet.nbytes['learners'] / len(fleet):.0f} (keys {fleet.nbytes['keys'] / len(fleet):.0f})")
    rows = rng.random((50_000, 10))
    contestants.append(Contestant("one game, default", lambda: hn.play(kinds["default"], rows, runs=1, seed=0), 50_000))
    players = {key: kinds["default"].start(key) for key in range(2000)}

    def step() -> None:
        for player in players.values():
            player.observe(player.act(), 0.5)

    contestants.append(Contestant("a dict of 2,000 players, default", step, 2000))
    interleave(contestants, repeats)
    game = contestants[len(kinds)].cost
    shown_rows = []
    for k, contestant in enumerate(contestants):
        millions, size, reach = f"{1e-6 / contestant.cost:.2f}", sizes[k] if k < len(sizes) else "", ""
        if contestant.name == "fleet, default":
            good = contestant.cost <= 1.0 / 4e6 and int(size.split()[0]) <= 170
            reach = "4 million, 170 bytes: " + ("reached" if good else "not reached")
        shown_rows.append(
            [contestant.name, shown(contestant.cost), millions, ratio(contestant.cost / game), size, reach]
        )
    return f"### {learners:,} learners of 10 arms, act + observe, batches of {batch:,}, one core\n\n" + table(
        ["", "a decision", "millions a second", "to a round of a game", "bytes a learner", "reach"], shown_rows
    )


def _open(quick: bool) -> str:
    """Longest call of batches of 100 while 300,000 decisions are pending."""
    fleet, rng = hn.Fleet(hn.Bandit(10), seed=1), np.random.default_rng(2)
    calls, waiting, before = [], [], _collected()
    for _ in range(4000):
        asked = rng.integers(0, 100_000, 100)
        start = timing._clock()
        waiting.append(fleet.act(asked))
        calls.append(timing._clock() - start)
        if len(waiting) > 3000:
            moves, loss = waiting.pop(int(rng.integers(len(waiting)))), rng.random(100)
            start = timing._clock()
            fleet.observe(moves, loss)
            calls.append(timing._clock() - start)
    each = fleet.nbytes["open"] / fleet._open_count
    # The collector walks 3,000 batches and no decision.
    collected = _collected() - before
    good = each <= 100 and max(calls) <= 0.02 and collected <= 0.02
    cells = [
        f"{fleet._open_count:,}",
        f"{each:.0f}",
        shown(float(np.median(calls))),
        shown(max(calls)),
        shown(max(collected, 0.0)),
    ]
    head = ["open", "bytes each", "a batch of 100, median", "longest", "more garbage collection", "reach"]
    reach = "100 bytes, 20 ms: " + ("reached" if good else "not reached")
    return "### Open decisions\n\n" + table(head, [[*cells, reach]])


def _collected() -> float:
    """Seconds of a full garbage collection: the minimum of three."""
    taken = []
    for _ in range(3):
        start = timing._clock()
        gc.collect()
        taken.append(timing._clock() - start)
    return min(taken)


def _journal(quick: bool) -> str:
    """Replay of 1e6 events; each act is compared bit for bit."""
    rows = []
    for keys in (1, 100_000):
        learner, rng, parts = hn.Bandit(10), np.random.default_rng(3), []
        fleet = hn.Fleet(learner, seed=1)
        for _ in range(50 if quick else 500):
            moves, loss = fleet.act(rng.integers(0, keys, 1000)), rng.random(1000)
            fleet.observe(moves, loss)
            both = np.zeros((2, 1000), RECORD)
            both["kind"], both["round"] = [[ACT], [OBSERVE]], fleet.number(moves.key) << 32 | moves.round
            both["arm"][0], both["value"] = moves.action, [moves.probability, loss]
            parts.append(both.ravel())
        journal = np.concatenate(parts)
        twin = hn.Fleet(learner, seed=1)
        twin.number(fleet.keys, touch=True)
        start = timing._clock()
        wrong = _engine.replay_journal(twin, journal.view(np.uint8).reshape(-1, SLOT), None)
        cost = (timing._clock() - start) / len(journal)
        assert wrong == -1, wrong
        reach = "1.5 s a million: " + ("reached" if cost * 1e6 <= 1.5 else "not reached")
        rows.append([f"fleet of {keys:,}", f"{len(journal):,}", shown(cost), f"{cost * 1e6:.2f} s", reach])
    return "### A journal played again, checked\n\n" + table(["", "events", "an event", "a million", "reach"], rows)
