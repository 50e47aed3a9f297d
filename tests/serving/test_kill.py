"""kill -9 and power cuts under load: nothing acknowledged is lost or counted twice; the controls are caught."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from kills import Campaign, compiler, preloading

from hannan.serving.store import Store

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux") or compiler() is None, reason="needs Linux and a C compiler, for LD_PRELOAD"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a space in its name, as TMPDIR may have one."""
    made = tmp_path / "two words"
    made.mkdir()
    return made


def campaign(folder: Path, kills: int, mode: str = "sound", seed: int = 0) -> Campaign:
    told = Campaign(folder, mode, seed=seed)
    told.run(kills)
    told.end()
    print(f"{mode}: {told.tally}")
    return told


def test_no_acknowledged_event_is_lost(folder: Path) -> None:
    tally = campaign(folder, 8).tally
    assert tally.faults == 0, f"{tally} {tally.failures}"
    assert tally.kills == 8
    assert len(tally.counted) > 50
    assert tally.repeats > 10


@pytest.mark.parametrize("mode", ["early", "unsynced"])
def test_control_modes_lose_events(folder: Path, mode: str) -> None:
    # Replies before the sync, or no sync at all: a kill or a cut loses something in nearly every round.
    assert campaign(folder, 4, mode).tally.faults > 0


EIO = """
import hannan as hn, os
store = hn.Store("decisions.db")
store.add("a", hn.Bandit(2))
for k in range(20):
    print(store.act("a").ticket, flush=True)
os.environ["POWER_FAIL"] = "1"
import ctypes
ctypes.CDLL(None).setenv(b"POWER_FAIL", b"1", 1)
for what in range(3):
    try:
        store.act("a")
    except RuntimeError as error:
        print("ended", type(error).__name__, error)
store.close()
"""


def test_a_failed_sync_ends_the_store(folder: Path) -> None:
    """EIO: waiting callers get an error, nothing is drawn or repeated, and acknowledged events are in the store."""
    done = subprocess.run(
        [sys.executable, "-c", EIO],
        cwd=folder,
        env=preloading(folder),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    lines = done.stdout.splitlines()
    tickets, ended = lines[:20], lines[20:]
    assert len(ended) == 3
    assert all(line.startswith("ended Ended decisions.db has ended: disk I/O error") for line in ended), ended
    with Store(folder / "decisions.db") as store:
        assert all(store.observe(ticket, loss=0.5) for ticket in tickets)


SECRETS = """
import ctypes, os, sys
import hannan as hn
store = hn.Store("decisions.db")
store.add("a", hn.Bandit(2))
store.rotate_secret()
print(store.act("a").ticket, flush=True)
ctypes.CDLL(None).setenv(b"POWER_FAIL", sys.argv[2].encode(), 1)
try:
    store.rotate_secret() if sys.argv[1] == "rotate" else store.retire_secret(store.secrets[0])
    print("done")
except RuntimeError as error:
    print(type(error).__name__, error)
try:
    store.act("a")
    print("goes on")
except RuntimeError as error:
    print(type(error).__name__, error)
store.close()
"""


@pytest.mark.parametrize("use", ["rotate", "retire"])
def test_a_failed_sync_of_a_secret_ends_the_store(folder: Path, use: str) -> None:
    """The store does not continue with secrets that may not be on the disk. The control: a later sync fails."""
    environment = preloading(folder)

    def told(failing: str) -> list[str]:
        command = [sys.executable, "-c", SECRETS, use, failing]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    ticket, *ended = told("1")
    assert len(ended) == 2
    assert all(line.startswith("Ended decisions.db has ended: disk I/O error") for line in ended), ended
    with Store(folder / "decisions.db") as store:
        assert store.observe(ticket, loss=0.5)
    assert told("1000")[1:] == ["done", "goes on"]


@pytest.mark.slow
def test_a_thousand_kills(folder: Path) -> None:
    tally = campaign(folder, 1000, seed=1).tally
    assert tally.faults == 0, f"{tally} {tally.failures}"
    assert tally.kills == 1000
