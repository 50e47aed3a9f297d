"""After Ctrl-C, every command exits within a second, prints one line, and leaves no process and no file behind."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

#: Start a program as `nohup PROGRAM &` in a script does: SIGINT is ignored.
BACKGROUND = ("sh", "-c", "trap '' INT; exec \"$@\"", "sh")
#: Run the command, and write to a file descriptor once its signal handler is installed.
IN_BACKGROUND = """
import os, sys
from hannan.cli import commands, main
handle, run = int(sys.argv.pop(1)), commands.run
commands.run = lambda arguments: (os.write(handle, b"."), os.close(handle), run(arguments))[-1]
main()
"""
#: The same in the foreground, even if these tests run as a background job.
READY = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)" + IN_BACKGROUND
IGNORES_SIGNALS = """
import os, signal, sys, time
signal.signal(signal.SIGINT, signal.SIG_IGN)
os.write(int(sys.argv[1]), b".")
time.sleep(20)
"""
AUDITED = "def play(losses, rng):\n    return int(rng.integers(3))\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    here: Path = tmp_path_factory.mktemp("stopping")
    (here / "audited.py").write_text(AUDITED)
    rng = random.Random(0)
    rows = [",".join(f"{rng.random():.3f}" for _ in range(6)) for _ in range(20_000)]
    (here / "table.csv").write_text("a,b,c,d,e,y\n" + "\n".join(rows) + "\n")
    log = [f"{rng.randrange(3)},{rng.random():.3f}" for _ in range(30_000)]
    (here / "log.csv").write_text("a,l\n" + "\n".join(log) + "\n")
    (here / "plan.toml").write_text(
        'rounds = [200000, 300000, 400000]\nruns = 400\n[learners]\na = "bandit:gamma:1.5"\nb = "bandit:pareto:3"\n'
        "[environments]\nc = {means = [0.1, 0.2, 0.3, 0.4, 0.5]}\n"
    )
    return here


#: Each except `bound` runs for many seconds.
COMMANDS = {
    "reproduce": ("reproduce", "--quick", "--jobs", "2", "--out", "out"),
    "play": ("play", "--n", "20", "--rounds", "200000", "--runs", "400", "--smoothing", "gamma:1.5", "--out", "out"),
    "audit": ("audit", "audited:play", "--n", "3", "--samples", "100000000", "--out", "out"),
    "bound": ("bound", "--n", "9", "--rounds", "1000", "--out", "out"),
    "combine": ("combine", "table.csv", "--target", "y", "--out", "out"),
    "combine -": ("combine", "-", "--target", "y", "--out", "out"),
    "replay": ("replay", "log.csv", "--action", "a", "--loss", "l", "--runs", "5000", "--out", "out"),
    "route": ("route", "table.csv", "--runs", "5000", "--out", "out"),
    "sweep": ("sweep", "plan.toml", "--workers", "2", "--out", "out"),
}


def stopped(
    program: str, arguments: tuple[str, ...], folder: Path, after: float, number: int = signal.SIGINT
) -> tuple[float, int | None, str]:
    """Return (seconds from the signal to the exit, exit code, standard error), code None without a signal."""
    read, write = os.pipe()
    command = [*BACKGROUND, sys.executable, "-c", program, str(write), *arguments]
    process = subprocess.Popen(
        command, cwd=folder, pass_fds=(write,), start_new_session=True, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    )  # fmt: skip
    os.close(write)
    try:
        os.read(read, 1)
        time.sleep(after)
        over = process.poll() is not None
        begun = time.monotonic()
        if not over:
            # Signal the whole process group, as a terminal does.
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(3.0)
        taken = time.monotonic() - begun
        while time.monotonic() - begun < 3.0 and _is_alive(process.pid):
            time.sleep(0.01)
            taken = time.monotonic() - begun
    finally:
        os.close(read)
        if _is_alive(process.pid):
            os.killpg(process.pid, signal.SIGKILL)
        _, error = process.communicate()
    return taken, None if over else process.returncode, error


def _is_alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def test_control_a_program_that_ignores_signals_is_noticed(tmp_path: Path) -> None:
    taken, code, _ = stopped(IGNORES_SIGNALS, (), tmp_path, 0.0)
    assert taken >= 3.0
    assert code == -signal.SIGKILL


@pytest.mark.parametrize("name", COMMANDS)
def test_ctrl_c_stops(name: str, folder: Path) -> None:
    moments = [random.Random(name).uniform(0.0, 0.3), *(random.Random(f"{name} {k}").uniform(0.3, 2.0) for k in "ab")]
    before = sorted(path.name for path in folder.iterdir())
    with ThreadPoolExecutor(len(moments)) as pool:
        found = list(pool.map(lambda after: stopped(READY, COMMANDS[name], folder, after), moments))
    for after, (taken, code, error) in zip(moments, found, strict=True):
        if taken >= 1.0:  # repeat alone: three at once may be slow on a busy machine
            taken, code, error = stopped(READY, COMMANDS[name], folder, after)
        if code is None or (name in ("bound", "combine") and code == 0):
            assert name in ("bound", "combine"), error  # the quick commands may have ended before
            continue
        assert (code, error) == (130, "hannan: stopped\n")
        assert taken < 1.0
    left = {path.name for path in folder.iterdir()} - {"out", "__pycache__"}
    assert left <= set(before)


@pytest.mark.parametrize("name", ["reproduce", "play", "sweep"])
def test_background_job_ignores_sigint_and_stops_on_sigterm(name: str, folder: Path) -> None:
    """`stopped` kills the processes that are still running after 3 seconds."""
    _, code, error = stopped(IN_BACKGROUND, COMMANDS[name], folder, 0.3)
    assert (code, error) == (-signal.SIGKILL, "")
    taken, code, error = stopped(IN_BACKGROUND, COMMANDS[name], folder, 0.3, signal.SIGTERM)
    assert (code, error) == (143, "hannan: stopped\n")
    assert taken < 1.0
