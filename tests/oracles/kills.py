"""Kills of a store under load, and what was acknowledged before: nothing may be lost, nothing counted twice."""

from __future__ import annotations

import json
import os
import random
import select
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from power.cut import cut

from hannan.serving import journal
from hannan.serving.backend import Backend
from hannan.serving.store import Store

HERE = Path(__file__).parent
POWER = HERE / "power"


def compiler() -> list[str] | None:
    """A C compiler, or None."""
    for name in ("cc", "gcc", "clang"):
        if shutil.which(name):
            return [name]
    try:
        import ziglang  # noqa: F401
    except ImportError:
        return None
    return [sys.executable, "-m", "ziglang", "cc"]


def preloading(folder: Path) -> dict[str, str]:
    """Build the library that records synced bytes in `folder`, and return an environment that preloads it.

    LD_PRELOAD separates names at spaces, so it has the name only, and the path is in LD_LIBRARY_PATH.
    """
    name = "power.so"
    command = compiler()
    assert command is not None
    flags = ["-O1", "-shared", "-fPIC", "-o", str(folder / name), str(POWER / "power.c"), "-ldl", "-lpthread"]
    subprocess.run([*command, *flags], check=True)
    paths = [str(folder), *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]
    return {**os.environ, "LD_PRELOAD": name, "LD_LIBRARY_PATH": os.pathsep.join(paths)}


@dataclass
class Tally:
    """Acknowledged decisions, and their state afterwards."""

    kills: int = 0
    acts: set[str] = field(default_factory=set)
    counted: set[str] = field(default_factory=set)
    repeats: int = 0
    retried: int = 0
    lost_acts: int = 0
    lost_feedback: int = 0
    failures: list[str] = field(default_factory=list)
    twice: int = 0
    unsure_bytes: int = 0
    unsure_cuts: int = 0

    @property
    def faults(self) -> int:
        """Number of violations of any kind."""
        return self.lost_acts + self.lost_feedback + self.twice + len(self.failures)

    def __str__(self) -> str:
        return (
            f"{self.kills} kills ({self.unsure_cuts} with {self.unsure_bytes} bytes in doubt), acknowledged "
            f"{len(self.acts)} acts / {len(self.counted)} feedbacks, {self.repeats} repeats, lost {self.lost_acts} + "
            f"{self.lost_feedback}, counted twice {self.twice}, failed openings {len(self.failures)}"
        )


class Campaign:
    """A process that serves stores and is killed repeatedly."""

    def __init__(
        self, folder: Path, mode: str = "sound", power: bool = True, seed: int = 0, address: str | None = None
    ) -> None:
        self.folder, self.mode, self.power, self.rng = folder, mode, power, random.Random(seed)
        self.path, self.retry = address or str(folder / "decisions.db"), folder / "retry"
        environment = preloading(folder) if power else dict(os.environ)
        self.process = subprocess.Popen(
            [sys.executable, str(POWER / "served.py")],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment,
        )  # fmt: skip
        self._left = b""
        self.tally = Tally()
        #: Return the tickets to check after the next opening.
        self._new_acts: set[str] = set()
        self._new_counted: set[str] = set()

    def run(self, kills: int, load: float = 0.06) -> Tally:
        """Kill the process this many times, each after about `load` seconds of load."""
        for _ in range(kills):
            self._once(self.rng.uniform(0.2, 1.8) * load)
            self.tally.kills += 1
            if self.power:
                unsure = cut(self.folder, self.rng)
                self.tally.unsure_bytes += unsure
                self.tally.unsure_cuts += unsure > 0
            if self.tally.failures:
                break
        return self.tally

    def end(self) -> Tally:
        """Ask about the remaining decisions, and read the journal itself."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(20)
        tally = self.tally
        if not tally.failures:
            with Store(self.path, patience=10.0) as store:
                for ticket in tally.counted:
                    tally.lost_feedback += _settles(store, ticket) is True
                for ticket in tally.acts - tally.counted:
                    tally.lost_acts += _settles(store, ticket) is None
                tally.twice = counted_twice(store.queue.backend)
        return tally

    def _once(self, seconds: float) -> None:
        asked_acts, asked_counted = self._new_acts, self._new_counted
        self._new_acts, self._new_counted = set(), set()
        self.retry.write_text("\n".join(asked_acts | asked_counted))
        assert self.process.stdin is not None
        request = [self.path, self.mode, str(self.retry), self.rng.randrange(1 << 30)]
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        self.process.stdin.flush()
        pid, end, gone, checked = 0, float("inf"), False, False
        while not gone:
            for words in self._lines(end):
                what, rest = words[0], words[1:]
                if what == "pid":
                    pid = int(rest[0])
                elif what == "checked":
                    checked, end = True, time.monotonic() + seconds
                elif what == "failed":
                    self.tally.failures.append(" ".join(rest))
                elif what == "gone":
                    gone = True
                elif what != "opened":
                    self._acknowledged(what, rest, asked_acts, asked_counted, checked)
            if time.monotonic() >= end and pid:
                os.kill(pid, signal.SIGKILL)
                end = float("inf")

    def _acknowledged(
        self, what: str, rest: list[str], asked_acts: set[str], asked_counted: set[str], checked: bool
    ) -> None:
        tally, ticket = self.tally, rest[0]
        tally.retried += not checked
        if what == "act":
            tally.acts.add(ticket)
            self._new_acts.add(ticket)
        elif what == "counted":
            tally.lost_feedback += ticket in tally.counted
            tally.counted.add(ticket)
            self._new_counted.add(ticket)
        elif what == "before":
            tally.repeats += 1
        elif what == "refused":
            tally.lost_acts += 1
            for known in (tally.acts, tally.counted, self._new_acts, self._new_counted, asked_acts, asked_counted):
                known.discard(ticket)

    def _lines(self, end: float) -> list[list[str]]:
        assert self.process.stdout is not None
        handle = self.process.stdout.fileno()
        wait = max(0.0, min(end - time.monotonic(), 120.0))
        if not select.select([handle], [], [], wait)[0]:
            assert end < float("inf"), "the store under load says nothing"
            return []
        data = os.read(handle, 1 << 20)
        assert data, "the process that serves stores has ended"
        *lines, self._left = (self._left + data).split(b"\n")
        return [line.decode().split() for line in lines]


def _settles(store: Store, ticket: str) -> bool | None:
    """Return whether feedback counts now; None if the ticket is rejected."""
    try:
        return store.observe(ticket, reward=0.5)
    except ValueError:
        return None


def counted_twice(backend: Backend) -> int:
    """Rounds of a learner that were settled more than once in the journal."""
    seen = Counter[tuple[int, int, int]]()
    for first, blob in backend.groups(0):
        for _, part in journal.decode_group(journal.opened(blob, first)[0]):
            if not isinstance(part, dict):
                ends = part[np.isin(part["kind"], (journal.OBSERVE, journal.EXPIRE))]
                seen.update(zip(*(ends[name].tolist() for name in ("learner", "keyed", "round")), strict=True))
    return sum(count > 1 for count in seen.values())
