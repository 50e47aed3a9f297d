"""A store under load, to be killed: forked from a process that has imported everything already.

Standard input has lines of JSON, `[path, mode, retry, seed]`. For each line a child is forked, which opens the store,
settles the tickets of the file `retry` again, and draws and settles from several threads. It writes every
acknowledgement to standard output:
`pid N`, `opened`, `act TICKET`, `counted TICKET`, `before TICKET`, `refused TICKET why`.
"""

from __future__ import annotations

import json
import os
import random
import sys
import threading
from pathlib import Path

import hannan as hn
from hannan.serving import journal
from hannan.serving.store import Store


def say(*words: str) -> None:
    os.write(1, (" ".join(words) + "\n").encode())


def hand_back(store: Store, ticket: str) -> None:
    try:
        say("counted" if store.observe(ticket, reward=0.5) else "before", ticket)
    except ValueError as error:
        say("refused", ticket, str(error))


def load(store: Store, seed: int) -> None:
    rng = random.Random(seed)
    while True:
        move = store.act(rng.choice(("banner", "price")), key=rng.choice((None, rng.randrange(50))))
        say("act", move.ticket)
        if rng.random() < 0.9:
            hand_back(store, move.ticket)
        if rng.random() < 0.2:
            hand_back(store, move.ticket)


def add_banner(store: Store, rng: random.Random) -> None:
    """Add the learner; if its arms have changed, a new stage begins."""
    names = ["red", "blue", "green"]
    store.add("banner", hn.Bandit(names if rng.random() < 0.9 else [*names, "white"], gains=True))


def child(path: str, mode: str, retry: str, seed: int) -> None:
    rng = rng_of(seed)
    store = Store(path, snapshot_events=rng.choice((50, 1_000_000)), patience=20.0)
    journal.PART_SIZE = rng.choice((1500, journal.PART_SIZE))  # with many parts, or with one
    if mode == "early":  # the control: answers before the bytes are on the disk
        store.queue.journal.wait = lambda sequence: None  # type: ignore[method-assign]
    if mode == "unsynced":  # the other control: SQLite does not wait for the disk
        store.queue.backend._connection.execute("PRAGMA synchronous=OFF")  # type: ignore[attr-defined]
    add_banner(store, rng)
    store.add("price", hn.Bandit(5, hn.Tsallis(0.5), gains=True), wait=0.02, default=0.0)
    say("opened")
    for ticket in Path(retry).read_text().split():
        hand_back(store, ticket)
    say("checked")
    if rng.random() < 0.1:  # a change of arms during the decisions
        threading.Timer(rng.uniform(0.0, 0.05), add_banner, (store, rng)).start()
    threads = [threading.Thread(target=load, args=(store, 100 * seed + k), daemon=True) for k in range(6)]
    for thread in threads:
        thread.start()
    threading.Event().wait(20.0)


def rng_of(seed: int) -> random.Random:
    return random.Random(seed)


def main() -> None:
    while line := sys.stdin.readline():
        path, mode, retry, seed = json.loads(line)
        pid = os.fork()
        if pid == 0:
            try:
                child(path, mode, retry, seed)
            except BaseException as error:
                say("failed", type(error).__name__, " ".join(str(error).split()))
            finally:
                os._exit(0)
        say("pid", str(pid))
        os.waitpid(pid, 0)
        say("gone")


if __name__ == "__main__":
    main()
