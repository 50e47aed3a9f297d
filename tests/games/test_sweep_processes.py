"""Worker processes: scripts without a main guard, output of user-defined code, deaths, and early ends."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("cloudpickle")

from hannan.games.sweep import workers

SCRIPT = """
import sys
import hannan as hn

class Loud:
    n = 2
    def start(self, seed):
        print("user-defined output")
        sys.stdin.read()
        return hn.Bandit(2).start(seed)

learners = {"loud": Loud(), "exp3": "exp3"}
plan = {"learners": learners, "environments": {"c": {"means": [0.1, 0.2]}}, "rounds": 5, "runs": 1}
print("cells", hn.sweep(plan, "out", workers=2, progress=False).status["done"])
"""


def test_a_script_needs_no_main_guard_and_user_code_may_print_and_read(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    done = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "cells 2\n"), done.stderr
    assert "user-defined output" in done.stderr


class Square:
    """A function that worker processes can import without this file."""

    def __reduce__(self) -> tuple[object, ...]:
        die, wait = "__import__('os').kill(__import__('os').getpid(), 9)", "__import__('time').sleep(x > 50)"
        return eval, (f"lambda x: {die} if x == 3 else {wait} or x * x",)


def test_every_question_has_one_answer_and_a_death_is_reported() -> None:
    found = [pair for ready in workers.answers(Square(), [(x,) for x in range(9)], 2) for pair in ready]
    assert sorted(i for i, _ in found) == list(range(9))
    assert {i: answer for i, answer in found if i != 3} == {i: i * i for i in range(9) if i != 3}
    assert isinstance(dict(found)[3], workers.Died)
    assert "-9" in str(dict(found)[3])
    assert not workers.running


def test_an_early_end_kills_the_processes() -> None:
    asked = workers.answers(Square(), [(0,), *((99,),) * 20], 2)
    next(asked)
    assert workers.running
    began = time.monotonic()
    asked.close()
    assert not workers.running
    assert time.monotonic() - began < 15.0  # 20 answers of one second each are not awaited


def test_workers_that_cannot_start_raise_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "_PROGRAM", "raise SystemExit(7)")
    with pytest.raises(RuntimeError, match=r"worker.*\b7\b"):
        list(workers.answers(Square(), [(1,)], 2))
    assert not workers.running


def test_kill_all_ends_every_process() -> None:
    code = (
        "import threading, time; from hannan.games.sweep import workers\n"
        "def ask(): list(workers.answers(time.sleep, [(60,)] * 4, 2))\n"
        "threading.Thread(target=ask, daemon=True).start()\n"
        "while len(workers.running) < 2: time.sleep(0.01)\n"
        "pids = [p.pid for p in workers.running]\n"
        "workers.kill_all(); print(*pids)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    for pid in map(int, done.stdout.split()):
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
