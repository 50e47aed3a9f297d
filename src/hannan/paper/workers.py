"""Processes that answer one question after another, and that never outlive who asked.

A worker does not hear Ctrl-C, which a terminal sends to everybody: the program that started it decides. It ends when
that program does, however that ends.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from typing import Any

from hannan.games.deaf import deaf

#: Held while a process is started: who wants to kill them all waits for it, or one would be missed.
_starting = threading.Lock()


class Died(Exception):
    """A worker ended without an answer."""


def answers(ask: Callable[..., Any], questions: Sequence[tuple[Any, ...]], jobs: int) -> Iterator[tuple[int, Any]]:
    """(i, ask(*questions[i])) as they are ready, asked in order, by `jobs` fresh interpreters.

    An answer is `Died` where the process ended instead. Fresh interpreters: a fork would copy the threads of
    compiled code in whatever state they are.
    """
    left = iter(range(len(questions)))
    busy: dict[Any, tuple[Any, int]] = {}
    started: list[Any] = []
    try:
        for _ in range(min(jobs, len(questions))):
            _hand(left, questions, busy, _start(ask, started))
        while busy:
            ready: list[Any] = wait(list(busy))
            for connection in ready:
                process, i = busy.pop(connection)
                try:
                    answer = connection.recv()
                except (EOFError, OSError):
                    process.join(5)
                    answer = Died(f"its process ended with exit code {process.exitcode}")
                    connection, process = _start(ask, started)
                _hand(left, questions, busy, (connection, process))
                yield i, answer
    finally:
        for process in started:
            process.kill()
            process.join()


def kill_all() -> None:
    """End every process that was started here, from whatever thread, for a program that leaves: none can follow."""
    _starting.acquire(timeout=0.5)
    killed = multiprocessing.active_children()
    for process in killed:
        process.kill()
    # multiprocessing's own helper: it has nothing to clean up, and would take its time to see that.
    helper = getattr(getattr(resource_tracker, "_resource_tracker", None), "_pid", None)
    if helper:
        os.kill(helper, signal.SIGKILL)
        os.waitpid(helper, 0)
    for process in killed:
        process.join(0.2)


def _hand(left: Iterator[int], questions: Sequence[Any], busy: dict[Any, Any], worker: tuple[Any, Any]) -> None:
    """The next question, or the word that there is none."""
    connection, process = worker
    i = next(left, None)
    if i is None:
        connection.close()
        return
    connection.send(questions[i])
    busy[connection] = process, i


def _start(ask: Callable[..., Any], started: list[Any]) -> tuple[Connection, Any]:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(ask, theirs), daemon=True)
    with _starting, deaf():
        process.start()
    started.append(process)
    theirs.close()
    return ours, process


def _serve(ask: Callable[..., Any], connection: Any) -> None:
    threading.Thread(target=_follow, daemon=True).start()
    while True:
        try:
            question = connection.recv()
        except EOFError:
            return
        connection.send(ask(*question))


def _follow() -> None:
    """End with the program that started this one."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
