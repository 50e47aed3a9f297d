"""The job of docs/nightly.md over 30 nights: models that appear, stop and fail, late targets, and repeated starts."""

from __future__ import annotations

import csv
import json
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import hannan as hn

NIGHTS = range(120, 150)
PAGE = Path(__file__).parents[1].joinpath("docs", "nightly.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"^```python (\S+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))


def write(path, head, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([head, *rows])


def name(night):
    return f"day {night:03}"


class World:
    """Forecasts and targets of all nights; `late` is the number of nights until each target is known."""

    def __init__(self, seed=0):
        rng = np.random.default_rng(seed)
        self.y = 100.0 + rng.normal(size=200).cumsum()
        self.noise = {model: scale * rng.normal(size=200) for model, scale in (("arima", 1.0), ("ets", 2.0))}
        self.late = rng.integers(1, 5, size=200)
        self.new = 0.2 * rng.normal(size=200)

    def backtest(self):
        rows = [[name(t), *(self.y[t] + noise[t] for noise in self.noise.values()), self.y[t - 1], self.y[t]]
                for t in range(1, NIGHTS[0])]  # fmt: skip
        write(Path("backtest.csv"), ["ds", "arima", "ets", "naive", "y"], rows)

    def forecasts(self, t):
        """The forecasts of a night: ets stops, naive fails twice, and a good model appears."""
        told = {"arima": self.y[t] + self.noise["arima"][t], "naive": self.y[t - 1]}
        if t < NIGHTS[20]:
            told["ets"] = self.y[t] + self.noise["ets"][t]
        if t >= NIGHTS[8]:
            told["new"] = self.y[t] + self.new[t]
        if t == NIGHTS[12]:
            told["naive"] = 1e6
        if t == NIGHTS[14]:
            told["naive"] = "timeout"
        return told

    def deliver(self, t):
        for model, value in self.forecasts(t).items():
            write(Path("forecasts", name(t), f"{model}.csv"), ["ds", "forecast"], [[name(t), value]])
        known = [s for s in NIGHTS if s + self.late[s] <= t]
        write(Path("targets.csv"), ["ds", "y"], [[name(s), self.y[s]] for s in known[::-1]])


def start(monkeypatch, *night):
    """Run a script of the page in this process, and return its exit code."""
    script = "nightly.py" if night else "start.py"
    monkeypatch.setattr(sys, "argv", [script, *night])
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as end:
        return end.code
    return 0


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for file, text in FILES.items():
        Path(file).write_text(text)
    return tmp_path


def recount(world, nights):
    """Return (rows, below, above) over the nights whose targets were used, judged by the intervals that were issued."""
    below = above = 0
    for t in nights:
        told = json.loads(Path("issued", f"{name(t)}.json").read_text())
        below, above = below + (world.y[t] < told["low"]), above + (world.y[t] > told["high"])
    return len(nights), below, above


def test_thirty_nights(folder, monkeypatch, capsys):
    world = World()
    world.backtest()
    assert start(monkeypatch) == 0
    before = hn.load("intervals.json").certificate().groups[0]
    assert before.rows == 99
    shares, errors = {}, {"arima": [], "job": []}
    for t in NIGHTS:
        world.deliver(t)
        assert start(monkeypatch, name(t)) == 0
        told, state = Path("issued", f"{name(t)}.json").read_text(), Path("intervals.json").read_bytes()
        assert start(monkeypatch, name(t)) == 0  # again: nothing changes
        assert (Path("issued", f"{name(t)}.json").read_text(), Path("intervals.json").read_bytes()) == (told, state)
        told = json.loads(told)
        assert told["low"] < told["forecast"] < told["high"] < 200.0
        errors["job"].append(abs(told["forecast"] - world.y[t]))
        errors["arima"].append(abs(world.noise["arima"][t]))
        live = hn.load("intervals.json")
        shares[t] = dict(zip(live.columns, live.combiner.weights().tolist(), strict=True))
    assert "naive.csv: no forecast" in capsys.readouterr().err
    # The new model enters with a small weight and takes over; the failing night moved the forecast by little.
    assert "new" not in shares[NIGHTS[7]]
    assert shares[NIGHTS[9]]["new"] < 0.35
    assert shares[NIGHTS[-1]]["new"] > shares[NIGHTS[9]]["new"]
    assert errors["job"][12] < 3.0
    assert np.mean(errors["job"]) < np.mean(errors["arima"])
    # Late targets settle the intervals that were issued; the counts are those of a recount.
    live = hn.load("intervals.json")
    waiting = [t for t in NIGHTS if t + world.late[t] > NIGHTS[-1]]
    assert sorted(live.open) == [name(t) for t in waiting]
    now = live.certificate().groups[0]
    counted = recount(world, [t for t in NIGHTS if t not in waiting])
    assert (now.rows - before.rows, now.below[0] - before.below[0], now.above[0] - before.above[0]) == counted
    assert str(live.certificate()) + "\n" == Path("certificate.txt").read_text()
    # Control: if every target is known in the next night, the intervals differ.
    prompt = hn.Conformal(["arima", "ets", "naive"], 0.9, clip=10)
    with open("backtest.csv", newline="") as file:
        for row in csv.DictReader(file):
            prompt.answer(row["ds"], [float(row[column]) for column in prompt.columns])
            prompt.settle(row["ds"], float(row["y"]))
    differ = 0
    for t in NIGHTS[:8]:
        low, _ = prompt.answer(name(t), [world.forecasts(t)[column] for column in prompt.columns])
        differ += low != json.loads(Path("issued", f"{name(t)}.json").read_text())["low"]
        prompt.settle(name(t), world.y[t])
    assert 3 < differ < 8  # the first ones are equal


def test_a_failing_night_without_clipping_is_noticed(folder, monkeypatch):
    """Control of the night in which a model delivers 1e6."""
    Path("start.py").write_text(FILES["start.py"].replace(", clip=10", ""))
    world = World()
    world.backtest()
    start(monkeypatch)
    world.deliver(NIGHTS[12])
    assert start(monkeypatch, name(NIGHTS[12])) == 0
    assert json.loads(Path("issued", f"{name(NIGHTS[12])}.json").read_text())["forecast"] > 1000.0


def test_exit_codes_and_unchanged_files(folder, monkeypatch):
    """In a process of its own; after each error the night can be repeated, and a stopped job too."""
    world = World()
    world.backtest()
    start(monkeypatch)
    world.deliver(120)
    state = Path("intervals.json").read_bytes()

    def job():
        run = subprocess.run([sys.executable, "nightly.py", name(120)], capture_output=True, text=True, check=False)
        return run.returncode, run.stderr

    os.rename("forecasts", "elsewhere")
    code, said = job()
    assert (code, Path("intervals.json").read_bytes()) == (1, state)
    assert "no model delivered a forecast" in said
    os.rename("elsewhere", "forecasts")
    write(Path("targets.csv"), ["ds", "y"], [["day 119", "abc"]])
    code, said = job()
    assert (code, Path("intervals.json").read_bytes()) == (2, state)
    assert "abc" in said
    assert "Traceback" not in said
    world.deliver(120)
    monkeypatch.setattr(hn.Conformal, "save", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):  # the machine stops before the state is saved
        start(monkeypatch, name(120))
    first = Path("issued", f"{name(120)}.json").read_text()
    assert Path("intervals.json").read_bytes() == state
    assert job()[0] == 0
    assert Path("issued", f"{name(120)}.json").read_text() == first
    assert hn.load("intervals.json").open == (name(120),)
    Path("intervals.json").write_text(Path("intervals.json").read_text()[:-20])
    os.remove(Path("issued", f"{name(120)}.json"))
    code, said = job()
    assert code == 2
    assert "intervals.json" in said
