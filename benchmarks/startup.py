"""Start-up: time of `import hannan`, and of a first game in a new process with a warm cache."""

from __future__ import annotations

import statistics

from timing import new_process, ratio, shown, table

FIRST_GAME = """
import time; start = time.perf_counter()
import numpy as np
import hannan as hn
record = hn.play(hn.Bandit(10{smoothing}), np.random.default_rng(0).random((1000, 10)), runs=10, seed=0)
print(time.perf_counter() - start)
"""

LONG_GAME = """
import time
import hannan as hn
losses = hn.adversaries.Bernoulli([0.4] + [0.5] * 9, rounds=10_000_000)
start = time.perf_counter()
record = hn.play(hn.Bandit(10, hn.Entropy(), tuning=hn.Horizon(10_000_000)), losses, runs=1, seed=0)
# VmHWM, not ru_maxrss: that one keeps the peak of the process that started this one.
peak = next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(time.perf_counter() - start, int(peak) / 1024)
"""


def run(quick: bool = False) -> str:
    """Three Markdown tables."""
    return "\n\n".join([_imports(3 if quick else 11), _first_games(2 if quick else 5), _memory()])


def _imports(repeats: int) -> str:
    programs = {"python alone": "pass", "import numpy": "import numpy", "import hannan": "import hannan"}
    taken: dict[str, list[float]] = {name: [] for name in programs}
    for _ in range(repeats + 1):  # the first turn fills the disk cache of bytecode
        for name, code in programs.items():
            taken[name].append(new_process(code)[0])
    cost = {name: statistics.median(seconds[1:]) for name, seconds in taken.items()}
    rows = [[name, shown(seconds), ratio(seconds / cost["import numpy"])] for name, seconds in cost.items()]
    return "A new process, start to end (reach: under 1.5x `import numpy`).\n\n" + table(
        ["process", "wall", "over numpy"], rows
    )


def _first_games(repeats: int) -> str:
    rows = []
    for name, smoothing in (
        ("Entropy", ", hn.Entropy()"),
        ("the default", ""),
        ("Exponential", ", hn.Exponential()"),
    ):
        code = FIRST_GAME.format(smoothing=smoothing)
        new_process(code)  # compiles, where nobody has yet
        found = [new_process(code) for _ in range(repeats)]
        whole = statistics.median(wall for wall, _ in found)
        inside = statistics.median(float(text) for _, text in found)
        rows.append([name, shown(inside), shown(whole)])
    return (
        "A second process, warm cache, plays its first game, 10 runs of 1,000 rounds (reach: under 1 s).\n\n"
        + table(["bandit, N = 10", "imports and game", "whole process"], rows)
    )


def _memory() -> str:
    seconds, megabytes = (float(x) for x in new_process(LONG_GAME)[1].split())
    return "One game of 10,000,000 rounds, N = 10, losses drawn inside (reach: under 300 MB).\n\n" + table(
        ["seconds", "a round", "peak memory"],
        [[f"{seconds:.2f}", shown(seconds / 1e7), f"{megabytes:.0f} MB"]],
    )
