"""What the engine is to reach, as ratios in one run, beside the figures of the engine by numba that it replaced.

Contestants of a row take turns of at least 25 ms, and the least time of each counts, CPU time of one thread:
what else runs on the machine only adds. The base is of another day; a Python loop that was timed then and is timed now
says how much of a ratio is the machine's.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import convex
import loops
import numpy as np
import peers
from timing import Contestant, interleave, new_process, ratio, shown, table

import hannan as hn

#: Seconds a round (a step, a row, a process) of the engine by numba, hannan 0.1.0 on the same machine.
BASE = {
    "README's ten lines": 31.0, "first game": 1.06, "memory": 159.0, "Python loop": 675.8e-9,
    "step, default": 4.35e-6, "step, softmax": 2.29e-6, "step, log-barrier": 3.37e-6, "step, Exponential": 4.04e-6,
    "step, Hedge": 3.64e-6, "job 1": 51.7e-9, "job 2": 23.4e-9, "default": 111e-9, "job 3": 1.3e-6, "job 4": 731.9e-9,
    "log-barrier": 354e-9, "Exponential": 486e-9, "Tsallis 0.7": 1.15e-6, "Frechet(2)": 8.5e-6, "Pareto(2)": 20e-6,
    "logistic step": 195e-6, "combine": 0.2059e-6, "late": 180.0,
}  # fmt: skip
#: Two threads: by the clock on the wall.
TOGETHER = ("job 2, two threads", "job 4")
README = Path(__file__).resolve().parent.parent / "README.md"
FIRST_GAME = "import numpy as np, hannan as hn; hn.play(hn.Bandit(10), np.full((100, 10), 0.5))"
PEAK = "; print(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))"


@dataclass(frozen=True)
class Row:
    """One row of the table: measurement, target, and whether the target is reached."""

    what: str
    measured: str
    aim: str
    good: bool
    base: str = ""


def run(quick: bool = False) -> str:
    """The table of targets."""
    repeats = 3 if quick else 15
    rows = [*_processes(3 if quick else 15), *_steps(repeats), *_games(repeats), *_laws(repeats), *_others(repeats)]
    header = ["", "measured", "reach", "", "by numba"]
    lines = [[row.what, row.measured, row.aim, "reached" if row.good else "**not reached**", row.base] for row in rows]
    missed = sum(not row.good for row in rows)
    return table(header, lines) + f"\n\n{len(rows) - missed} of {len(rows)} reached."


def _cost(contestants: Sequence[Contestant], repeats: int) -> dict[str, float]:
    """Smallest seconds per round of each contestant, by name; processor time if one thread plays."""
    for contestant in contestants:
        contestant.clock = time.perf_counter if contestant.name in TOGETHER else time.process_time
    interleave(contestants, repeats, turn=0.025)
    return {c.name: min(c.seconds) / c.rounds for c in contestants}


def _times(what: str, ours: float, theirs: dict[str, tuple[float, float]], base: float | None) -> Row:
    """A row whose target is a ratio to other packages: name -> (their seconds, target ratio)."""
    told = ", ".join(f"{ratio(seconds / ours)} {name}" for name, (seconds, _) in theirs.items())
    aim = ", ".join(f"{aimed:,g}x {name}" for name, (_, aimed) in theirs.items())
    good = all(seconds / ours >= aimed for seconds, aimed in theirs.values())
    return Row(what, f"{shown(ours)}: {told}", aim, good, "" if base is None else shown(base))


def _below(what: str, seconds: float, most: float, base: float | None = None, note: str = "") -> Row:
    good = seconds < most
    return Row(what, shown(seconds) + note, f"under {shown(most)}", good, "" if base is None else shown(base))


def _since(what: str, seconds: float, name: str, same: float, aimed: float) -> Row:
    """Row with the earlier figure of numba in present seconds; `same`: present time of a Python loop/its time then."""
    times = BASE[name] * same / seconds
    return Row(what, f"{shown(seconds)}: {ratio(times)} numba", f"{aimed:g}x numba", times >= aimed, shown(BASE[name]))


def _cpu(code: str) -> float:
    """CPU seconds of a new process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    new_process(code)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _processes(repeats: int) -> list[Row]:
    lines = README.read_text(encoding="utf-8").split("```python\n")[1].split("```")[0]
    if not lines.startswith("import hannan as hn\n"):
        raise ValueError("README's first lines must begin with the import")
    start = "import time, hannan as hn; began = time.perf_counter(), time.process_time()\n"
    ten = start + lines + "\nprint(time.perf_counter() - began[0], time.process_time() - began[1])"
    cost: dict[str, list[float]] = {"ten": [], "ten, CPU": [], "numpy": [], "game": [], "peak": []}
    for _ in range(repeats + 1):
        wall, processor = map(float, new_process(ten)[1].splitlines()[-1].split())
        cost["ten"].append(wall)
        cost["ten, CPU"].append(processor)
        cost["numpy"].append(_cpu("import numpy"))
        cost["game"].append(_cpu(FIRST_GAME))
        cost["peak"].append(int(new_process(FIRST_GAME + PEAK)[1]) / 1024)
    least = {name: min(values[1:]) for name, values in cost.items()}
    times, peak = least["game"] / least["numpy"], least["peak"]
    first = f"{ratio(times)} ({shown(least['game'])})"
    of_cpu = f" ({shown(least['ten, CPU'])} CPU)"
    what, base = "README's ten lines in a new process, after the import", BASE["README's ten lines"]
    return [
        _below(what, least["ten"], 0.3, base, of_cpu),
        Row("import and first game, CPU, over `import numpy`", first, "under 1.6x", times < 1.6,
            shown(BASE["first game"])),
        Row("peak memory of a process that played a game", f"{peak:.0f} MB", "under 80 MB", peak < 80.0,
            f"{BASE['memory']:.0f} MB"),
    ]  # fmt: skip


def _stepped(learner: Any, rows: Any) -> Callable[[], None]:
    def play() -> None:
        player = learner.start(0)
        act, observe = player.act, player.observe
        for row in rows:
            move = act()
            observe(move, row[move.action])

    return play


def _steps(repeats: int) -> list[Row]:
    rounds = 20_000
    losses = np.random.default_rng(7).random((rounds, 10))
    rows = losses.tolist()
    learners = {
        "default": hn.Bandit(10),
        "softmax": hn.Bandit(10, hn.Entropy(), hn.Horizon(10**6)),
        "log-barrier": hn.Bandit(10, hn.LogBarrier(), hn.SelfConfident(10**6)),
        "Exponential": hn.Bandit(10, hn.Exponential(), hn.Anytime()),
    }
    contestants = [Contestant(name, _stepped(learner, rows), rounds) for name, learner in learners.items()]
    hedge = hn.Experts(10, hn.Entropy(), hn.Horizon(10**6))

    def experts() -> None:
        player = hedge.start(0)
        act, observe = player.act, player.observe
        for row in losses:
            observe(act(), row)

    contestants.append(Contestant("Hedge", experts, rounds))
    part = rows[: rounds // 5]
    contestants.append(Contestant("pymab", lambda: peers.pymab_exp3(part), len(part)))
    contestants.append(Contestant("river", lambda: peers.river_exp3(part), len(part)))
    cost = _cost(contestants, repeats)
    told = []
    for name in learners:
        ours = cost[name]
        over = min(cost["pymab"], cost["river"]) / ours
        measured = f"{shown(ours)}: {ratio(over)} pymab and river"
        what, base = f"act + observe, N = 10, {name}", shown(BASE[f"step, {name}"])
        told.append(Row(what, measured, "under 500 ns, 13x both", ours < 0.5e-6 and over >= 13.0, base))
    return [*told, _below("act + observe, experts, Hedge, N = 10", cost["Hedge"], 0.6e-6, BASE["step, Hedge"])]


def _game(name: str, learner: Any, losses: Any, rounds: float, **given: Any) -> Contestant:
    return Contestant(name, lambda: hn.play(learner, losses, seed=0, **given), rounds)


def _games(repeats: int) -> list[Row]:
    long, short = 100_000, 10_000
    losses = np.random.default_rng(1).random((long, 10))
    rows = losses.tolist()
    wide = np.random.default_rng(3).random((short, 1000))
    rng = np.random.default_rng(4)
    few, advice = rng.random((short, 10)), rng.integers(0, 10, (short, 1000), dtype=np.uint8)
    softmax = hn.Bandit(10, hn.Entropy(), hn.Horizon(long))
    many = hn.Bandit(10, hn.Entropy(), hn.Horizon(short))
    hedge = hn.Experts(1000, hn.Entropy(), hn.Horizon(short))
    advised = hn.ExpertBandit(10, 1000, hn.Entropy(), hn.Horizon(short))
    scales = [learner.schedule().scale(1, 0.0) for learner in (softmax, hedge, advised)]
    part = short // 10
    contestants = [
        _game("job 1", softmax, losses, long, threads=1),
        Contestant("lists", lambda: loops.bandit_lists(rows[:short], scales[0]), short),
        Contestant("pymab", lambda: peers.pymab_exp3(rows[:part]), part),
        Contestant("river", lambda: peers.river_exp3(rows[:part]), part),
        _game("job 2", many, losses[:short], 200 * short, runs=200, threads=1),
        _game("job 2, two threads", many, losses[:short], 200 * short, runs=200, threads=2),
        Contestant("pymab's runs", lambda: peers.pymab_experiment(np.full(10, 0.5), part, 4), 4 * part),
        _game("default", hn.Bandit(10), losses[:short], 100 * short, runs=100, threads=1),
        _game("job 3", hedge, wide, short, threads=1),
        Contestant("NumPy 3", lambda: loops.hedge_numpy(wide[:part], scales[1]), part),
        _game("job 4", advised, few, short, advice=advice, threads=2),
        Contestant("NumPy 4", lambda: loops.expert_bandit_numpy(few[:part], advice[:part], scales[2]), part),
        _game("log-barrier", hn.Bandit(10, hn.LogBarrier(), hn.SelfConfident(long)), losses, long, threads=1),
        _game("Exponential", hn.Bandit(10, hn.Exponential(), hn.Anytime()), losses, long, threads=1),
    ]
    cost = _cost(contestants, repeats)
    lists, then = cost["lists"], BASE["Python loop"]
    same = lists / then  # what the machine of today takes for a second of then

    peer = {"Python lists": (lists, 20.0), "pymab": (cost["pymab"], 220.0), "river": (cost["river"], 220.0)}
    two = {"pymab": (cost["pymab's runs"], 1000.0)}
    base = BASE["job 4"]
    return [
        Row("a loop of Python lists, beside which numba's figures are read", f"{shown(lists)}: {ratio(same)} of then",
            "", True, shown(then)),
        _times("job 1: softmax bandit, N = 10, one game", cost["job 1"], peer, BASE["job 1"]),
        _times("job 2: 200 runs of it, one thread", cost["job 2"], {"Python lists": (lists, 50.0)}, BASE["job 2"]),
        _times("job 2, two threads", cost["job 2, two threads"], two, 13.8e-9),
        _since("default bandit, 100 runs of 10,000 rounds", cost["default"], "default", same, 2.5),
        _times("job 3: Hedge, N = 1,000", cost["job 3"], {"NumPy": (cost["NumPy 3"], 20.0)}, BASE["job 3"]),
        _times("job 4: K = 10, N = 1,000, two threads", cost["job 4"], {"NumPy": (cost["NumPy 4"], 45.0)}, base),
        _since("log-barrier bandit, SelfConfident, one game", cost["log-barrier"], "log-barrier", same, 3.0),
        _since("Exponential law, exact, one game", cost["Exponential"], "Exponential", same, 4.0),
    ]  # fmt: skip


def _laws(repeats: int) -> list[Row]:
    losses = np.random.default_rng(5).random((20_000, 10))
    learners = {
        "Tsallis 0.7": (hn.Bandit(10, hn.Tsallis(0.7), hn.Anytime()), 300e-9),
        "Frechet(2)": (hn.Bandit(10, hn.Frechet(2.0), hn.Fixed(10.0)), 2e-6),
        "Pareto(2)": (hn.Bandit(10, hn.Pareto(2.0), hn.Fixed(10.0)), 2e-6),
    }
    cost = _cost([_game(name, learner, losses, len(losses), threads=1) for name, (learner, _) in learners.items()],
                 repeats)  # fmt: skip
    told = [_below(f"{name} bandit, N = 10", cost[name], most, BASE[name]) for name, (_, most) in learners.items()]
    phi = hn.FTPL(_Logistic(), 2.0)
    L, rng = np.linspace(0.0, 5.0, 10), np.random.default_rng(6)
    player = hn.Bandit(10, _Logistic(), hn.Fixed(2.0))
    rounds = losses[:2000]
    own = _cost([_game("own", player, rounds, len(rounds), threads=1),
                 Contestant("sampling", lambda: phi.sample(L, rng, 10_000))], repeats)  # fmt: skip
    return [*told, _times("a law of your own, N = 10", own["own"], {"sampling 10,000": (own["sampling"], 10.0)}, None)]


@dataclass(frozen=True)
class _Logistic(hn.Law):
    """F(z) = 1/(1 + e^-z)."""

    hazard = 1.0

    def density(self, z: Any) -> Any:
        return 0.25 / np.cosh(np.asarray(z) / 2) ** 2

    def cdf(self, z: Any) -> Any:
        return 0.5 + 0.5 * np.tanh(np.asarray(z) / 2)


def _others(repeats: int) -> list[Row]:
    seconds, _ = convex.step(1000, 10, repeats)
    solvers = {"SLSQP": (seconds["SLSQP"], 20.0), "cvxpy": (seconds["cvxpy"], 400.0)}
    count, behind = 17_184, 20
    rng = np.random.default_rng(9)
    y = rng.random(count)
    nine = y[:, None] + 0.2 * rng.standard_normal((count, 9))
    untimed = {f"f{i}": nine[:, i] for i in range(9)} | {"y": y}
    prompt = untimed | {"t": np.arange(count)}  # where no column is said to be the time, it would be a forecast
    # Each row is answered without its target, which comes twenty rows later, in a row of the same time.
    order = np.argsort(np.concatenate([np.arange(count), np.arange(count) + behind + 0.5]))
    late = {name: np.concatenate([column, column])[order] for name, column in prompt.items()}
    late["y"] = np.concatenate([np.full(count, np.nan), y])[order]
    rows = np.random.default_rng(1).random((10_000, 10)).tolist()
    scale = hn.Bandit(10, hn.Entropy(), hn.Horizon(100_000)).schedule().scale(1, 0.0)
    contestants = [
        Contestant("lists", lambda: loops.bandit_lists(rows, scale), len(rows)),
        # The base is of AdaHedge, which was what `combine` played then.
        Contestant("prompt", lambda: hn.combine(untimed, "y", learner="adahedge"), count),
    ]
    for who in ("two-layers", "adahedge"):
        contestants += [
            Contestant(f"timed, {who}", partial(hn.combine, prompt, "y", learner=who, time="t"), count),
            Contestant(f"late, {who}", partial(hn.combine, late, "y", learner=who, time="t"), count),
        ]
    cost = _cost(contestants, repeats)
    same = cost["lists"] / BASE["Python loop"]
    told = [
        _times("a step of logistic objective perturbation, d = 10, t = 1,000", seconds["hannan"], solvers,
               BASE["logistic step"]),
        _since("combine by AdaHedge, a row of nine forecasts", cost["prompt"], "combine", same, 0.8),
    ]  # fmt: skip
    for who in ("two-layers", "adahedge"):
        timed, after = cost[f"timed, {who}"], cost[f"late, {who}"]
        line = f"{shown(after)}: {ratio(after / timed)} of {shown(timed)}"
        told.append(Row(f"combine by {who}, a row whose target comes late, over a prompt one", line, "within 5x",
                        after <= 5.0 * timed, ratio(BASE["late"])))  # fmt: skip
    return told


if __name__ == "__main__":
    print(run())
