"""Stores for tests: a learner, rejected requests, a crash."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from rejections import rejected

import hannan as hn
from hannan.serving import Refused
from hannan.serving.store import Store

GAINS = hn.Bandit(["red", "blue", "green"], gains=True)


def refused(status: int, call: Callable[[], Any], *words: object) -> None:
    """Check that a call is rejected with a status and a message that contains every word."""
    found: list[int] = []

    def noted() -> Any:
        try:
            return call()
        except Refused as error:
            found.append(error.status)
            raise

    rejected(noted, *words, kind=Refused)
    assert found == [status]


def played(path: Path, learner: Any, rounds: int, **options: Any) -> list[Any]:
    """Return the decisions of a store with one learner; some feedback is late, some is missing."""
    moves = []
    with Store(path, **options) as store:
        store.add("a", learner)
        for t in range(rounds):
            moves.append(store.act("a"))
            if t % 3:
                store.observe(moves[t - t % 2].ticket, reward=0.25 + 0.5 * (moves[t].action == 0))
    return moves


def crash(store: Store) -> None:
    """Stop the store as if its process had been killed: nothing more is written, and the lock is released."""
    with store.queue.lock:
        store.queue.journal.fail(RuntimeError("crashed"))
        store.queue.journal._ready.notify()
    store.queue.journal._thread.join()
    store.queue.backend.close()
