"""Method of the timings: interleaved runs, medians, and ratios.

The speed of a machine changes from minute to minute. Therefore the contestants of one job take turns in one process,
and what is compared is their medians; a ratio of medians holds where an absolute time does not.
"""

from __future__ import annotations

import math
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version

_clock = time.perf_counter


def use_cpu_time() -> None:
    """Use processor time, summed over threads, instead of wall time: for a busy machine."""
    global _clock
    _clock = time.process_time


PACKAGES = ("hannan", "numpy", "scipy", "river", "pymab")


@dataclass
class Contestant:
    """`play()` takes `rounds` rounds (or calls); its cost is in seconds per round."""

    name: str
    play: Callable[[], object]
    rounds: float = 1.0
    seconds: list[float] = field(default_factory=list)
    clock: Callable[[], float] | None = None  # another one than all have

    @property
    def cost(self) -> float:
        """Median seconds per round."""
        return statistics.median(self.seconds) / self.rounds


def interleave(contestants: Sequence[Contestant], repeats: int, warm: bool = True, turn: float = 0.0) -> None:
    """Time each contestant `repeats` times, taking turns; a first untimed turn compiles and warms caches.

    Who is quick plays again and again until `turn` seconds are over, and the mean of these plays is one time: a
    machine that others use too is quick for moments, and whoever plays for moments would find them more often.
    """
    if warm:
        for contestant in contestants:
            contestant.play()
    for _ in range(repeats):
        for contestant in contestants:
            clock = contestant.clock or _clock
            plays, end = 0, time.perf_counter() + turn
            start = clock()
            while plays == 0 or time.perf_counter() < end:
                contestant.play()
                plays += 1
            contestant.seconds.append((clock() - start) / plays)


def seconds_a_call(call: Callable[[], object], budget: float = 0.2, least: int = 3, warm: bool = True) -> float:
    """Median seconds of one call, from as many calls as fit in `budget` seconds (at least `least`)."""
    if warm:
        call()
    taken: list[float] = []
    stop = time.perf_counter() + budget
    while len(taken) < least or (time.perf_counter() < stop and len(taken) < 1000):
        start = _clock()
        call()
        taken.append(_clock() - start)
    return statistics.median(taken)


def growth(sizes: Sequence[float], costs: Sequence[float]) -> float:
    """The exponent b of cost = a size^b, by least squares on logarithms."""
    x = [math.log(size) for size in sizes]
    y = [math.log(cost) for cost in costs]
    middle_x, middle_y = statistics.fmean(x), statistics.fmean(y)
    return sum((a - middle_x) * (b - middle_y) for a, b in zip(x, y, strict=True)) / sum((a - middle_x) ** 2 for a in x)


def shown(seconds: float) -> str:
    """Return seconds with a suitable unit.

    >>> shown(2.5e-8), shown(1.25e-5), shown(0.5)
    ('25.0 ns', '12.5 us', '500 ms')
    """
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.1f} ns"


def ratio(value: float) -> str:
    """A ratio, to three digits."""
    return f"{value:,.0f}x" if value >= 100 else f"{value:.3g}x"


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table; every column but the first is right-aligned."""
    lines = ["| " + " | ".join(header) + " |", "|---|" + "---:|" * (len(header) - 1)]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def machine() -> str:
    """The processor, the versions and the date, as Markdown."""
    found = []
    for package in PACKAGES:
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            found.append(f"{package} not installed")
    threads = os.environ.get("OPENBLAS_NUM_THREADS", "not set")
    clock = "CPU time, summed over threads" if _clock is time.process_time else "wall time"
    load = f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"
    lines = [
        f"- machine: {_processor()}, {os.cpu_count()} cores, {platform.system()} {platform.machine()}",
        f"- Python {platform.python_version()}, " + ", ".join(found),
        f"- {datetime.now(UTC):%Y-%m-%d %H:%M} UTC, OPENBLAS_NUM_THREADS={threads}",
        f"- {clock}; load average at the start {load} (near 0 on a quiet machine)",
    ]
    return "\n".join(lines)


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            for line in lines:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or "unknown processor"


def new_process(code: str) -> tuple[float, str]:
    """Wall seconds and output of a fresh interpreter that runs `code`; bytecode may be cached."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, env=kept)
    return time.perf_counter() - start, done.stdout.strip()
