"""Run claims and their controls, on one core or several, and say how long each took."""

from __future__ import annotations

import math
import multiprocessing
import os
import platform
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from typing import Any

from hannan import __version__
from hannan.games.sweep.local import deaf
from hannan.paper.claim import Claim, Effort, Verdict, as_printed
from hannan.saving.result import plain


@dataclass(frozen=True)
class Result:
    """A claim, its verdict, that of its control if it has one, and the seconds that both took."""

    claim: Claim
    verdict: Verdict
    seconds: float
    control: Verdict | None = None

    @property
    def as_expected(self) -> bool:
        """The verdict is the one expected, and the control failed: by its numbers, not by an error."""
        return self.verdict.outcome == self.claim.expected and self.control_failed is not False

    @property
    def control_failed(self) -> bool | None:
        """Whether the control came out as it must; None without a control."""
        if self.control is None:
            return None
        return self.control.outcome == "fails" and not self.control.raised

    def as_json(self) -> dict[str, Any]:
        """The result as plain data; numbers that are not finite are null."""
        claim, verdict = self.claim, self.verdict
        return {
            "name": claim.name,
            "label": claim.label,
            "number": claim.number,
            "section": claim.section,
            "statement": claim.statement,
            "printed": None if claim.ours else claim.printed,
            "ours": claim.ours,
            "conditions": claim.conditions,
            "method": claim.method,
            "corrects": claim.corrects or None,
            "verdict": verdict.outcome,
            "expected": claim.expected,
            "as_expected": self.as_expected,
            "control": self._control(),
            "what": verdict.what,
            "value": plain(float(verdict.value)),
            "bound": plain(float(verdict.bound)),
            "runs": verdict.runs,
            "seconds": round(self.seconds, 3),
            "numbers": plain(dict(verdict.numbers)),
            "note": verdict.note,
        }

    def _control(self) -> dict[str, Any] | None:
        if self.control is None:
            return None
        return {
            "turned": self.claim.turned,
            "failed": self.control_failed,
            "value": plain(float(self.control.value)),
            "bound": plain(float(self.control.bound)),
            "note": self.control.note if self.control.raised else "",
        }


def run(
    claims: Iterable[Claim], effort: Effort | None = None, jobs: int = 1, printed: tuple[str, ...] = ()
) -> Iterator[Result]:
    """Check every claim; results come as they are ready. `printed` names corrections to turn back."""
    effort = effort or Effort()
    claims = tuple(claims)
    with as_printed(*printed):
        if jobs <= 1 or len(claims) == 1:
            for claim in claims:
                yield _check(claim, effort)
            return
    yield from _in_processes(claims, effort, jobs, printed)


def _check(claim: Claim, effort: Effort) -> Result:
    start = time.perf_counter()
    verdict = _judged(lambda: claim.judged(effort))
    control = _judged(lambda: claim.run_control(effort.quick, effort.seed)) if claim.turned else None
    return Result(claim, verdict, time.perf_counter() - start, control)


def _judged(run: Callable[[], Verdict]) -> Verdict:
    try:
        return run()
    except Exception as error:  # a claim that cannot be checked has failed, and the others still count
        return Verdict("fails", math.nan, math.nan, note=f"{type(error).__name__}: {error}", raised=True)


def _in_processes(claims: tuple[Claim, ...], effort: Effort, jobs: int, printed: tuple[str, ...]) -> Iterator[Result]:

    # The slow ones before the quick, so that no core is left waiting for the last.
    order = sorted(claims, key=lambda claim: claim.method != "simulation")
    for i, answer in answers(_remote, [(claim.name, effort, printed) for claim in order], jobs):
        if isinstance(answer, Died):
            answer = Verdict("fails", math.nan, math.nan, note=str(answer), raised=True), math.nan, None
        verdict, seconds, control = answer
        yield Result(order[i], verdict, seconds, control)


def _remote(name: str, effort: Effort, printed: tuple[str, ...]) -> tuple[Verdict, float, Verdict | None]:
    from hannan.paper import claims

    claim = claims(name)[0]  # this also enters the corrections, in a fresh process
    with as_printed(*printed):
        result = _check(claim, effort)
    return result.verdict, result.seconds, result.control


def versions() -> dict[str, str]:
    """What the numbers were made with."""
    found = {"python": platform.python_version(), "hannan": __version__}
    for name in ("numpy", "scipy"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


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
