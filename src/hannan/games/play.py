"""Whole games: `play(learner, losses, runs)` -> `Record`, in blocks of rounds, on any number of threads.

Every setting goes this way: its runner begins (`settings`), the driver advances it, and the record is built here.
"""

from __future__ import annotations

import time
from typing import Any

from hannan.frozen import once
from hannan.games import driver, settings
from hannan.games.asked import Asked, asked
from hannan.games.own import own_learner
from hannan.games.record import Record

_said = once(repr)


def play(
    learner: Any,
    losses: Any,
    runs: int = 1,
    seed: int = 0,
    advice: Any = None,
    threads: int | None = None,
    keep: str = "checkpoints",
    *,
    rounds: int | None = None,
    fictitious: bool = False,
) -> Record:
    """Play a learner against losses, many times, and keep the record beside its bound.

    Play a learner against losses, `runs` times, and keep the record.

    `losses`: (T, n), one sequence per run (runs, T, n), a memory map, `hn.adversaries.Bernoulli(means, T)` (drawn
    inside), an iterator of blocks (t, n), or an adversary that looks at past moves (`hn.adversaries.adaptive`), which
    needs `rounds` and is stepped; for `ExpertBandit`, n is the number of actions, and `advice` is
    (T, experts) of whole numbers (uint8 is fastest) or (T, experts, actions) of distributions. Run r has the
    stream (seed, r), so the record does not depend on `threads`; run 0 makes the moves of
    `learner.start(seed)`. `keep="all"` keeps every round and the actions. `rounds` plays no more than so many.
    `fictitious=True` (full information) plays at t what the learner plays at t + 1, the A+ of the key lemma.
    For `Convex` and the gradient learners `losses` is a sequence such as `Linear(l)`, l of shape (T, d); for `FPL` and
    `FPLTrix` a table, one column per component. What a setting cannot honour is refused by name.
    A user-defined learner is a class with `act` and `observe`, an object whose `start(seed)` returns a new player for
    every run, or a factory: a function, lambda or `functools.partial` that returns a learner or a player. Classes and
    factories are called with those of n, rounds and seed that they take; players are built for every run.

    `learner`: a description, or a user-defined learner. `runs`: how often. `seed`: starts every stream.

    >>> import numpy as np, hannan as hn
    >>> losses = np.tile([0.25, 0.75], (1000, 1))
    >>> record = play(hn.Experts(2, hn.Entropy(), hn.Horizon(1000)), losses, runs=4, seed=1)
    >>> record.best_loss, record.regret.shape[0], bool(record.expected_regret[-1] < record.bound.value)
    (250.0, 4, True)
    """
    return driven(learner, losses, asked(runs, seed, advice, threads, keep, rounds, fictitious))


def driven(learner: Any, losses: Any, given: Asked) -> Record:
    """The game that was asked for: begun, advanced to its end, and its record."""
    began = time.perf_counter()
    learner = own_learner(learner, losses, given.rounds)
    runner = settings.begin(learner, losses, given)
    used = runner.threads(given)
    driver.run(runner, used)
    if runner.taken == 0:
        raise ValueError("losses must have at least one round; got none")
    seconds = time.perf_counter() - began
    outcome = runner.outcome()
    note = [part for part in (outcome.note, ended(outcome.rounds, given.rounds)) if part]
    return Record(
        learner=_said(learner),
        setting=runner.setting,
        runs=given.runs,
        seed=given.seed,
        seconds=seconds,
        threads=used,
        **outcome._replace(note="; ".join(note))._asdict(),
    )


def ended(played: int, rounds: int | None) -> str:
    """The note of a game whose losses ended before the rounds that were asked for; else nothing.

    >>> ended(10, 10), ended(10, 12)
    ('', '12 rounds were asked for and the losses ended after 10')
    """
    if rounds is None or played >= rounds:
        return ""
    return f"{rounds} rounds were asked for and the losses ended after {played}"
