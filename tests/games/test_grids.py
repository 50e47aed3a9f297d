"""Grids over parameters of learners, in comparisons, sweeps and TOML plans, also with user-defined learners."""

from __future__ import annotations

import dataclasses
import functools
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hannan as hn
from hannan.games.compare.numbers import entrants, loaded
from tests.oracles.rejections import rejected

MINE = '''
import numpy as np


class Exponential:
    """Exponential weights over estimated losses, with a learning rate."""

    def __init__(self, n, seed, gamma=1.0, shift=0.0):
        self.n, self.gamma, self.shift = n, gamma, shift
        self.rng, self.sums = np.random.default_rng(seed), np.zeros(n)

    def act(self):
        weights = np.exp(-self.gamma * (self.sums - self.sums.min()))
        self.p = weights / weights.sum()
        return int(self.rng.choice(self.n, p=self.p))

    def observe(self, action, loss):
        self.sums[action] += loss / self.p[action] + self.shift


def uniform(n, seed, gamma=1.0):
    return Exponential(n, seed, 0.0)
'''
CLICKS = {"clicks": {"means": [0.2, 0.5, 0.8]}}


@pytest.fixture
def mine(tmp_path: Path) -> Any:
    (tmp_path / "mine.py").write_text(MINE)
    return loaded("mine.py:Exponential", tmp_path)


def regrets(comparison: hn.Comparison) -> dict[str, list[float]]:
    return {cell.learner: cell.final.tolist() for cell in comparison.cells}


def test_a_grid_plays_one_learner_per_value(mine: Any) -> None:
    grid = hn.compare({"mine": {"class": mine, "gamma": [0.0, 0.5, 1.0]}}, CLICKS, runs=5, rounds=200)
    names = [f"mine(gamma={value})" for value in (0.0, 0.5, 1.0)]
    single = {name: functools.partial(mine, gamma=value) for name, value in zip(names, (0.0, 0.5, 1.0), strict=True)}
    assert grid.learners == names
    assert regrets(grid) == regrets(hn.compare(single, CLICKS, runs=5, rounds=200))
    # Control: another value plays other moves.
    other = hn.compare({names[1]: functools.partial(mine, gamma=0.4)}, CLICKS, runs=5, rounds=200)
    assert regrets(other)[names[1]] != regrets(grid)[names[1]]


def test_a_grid_has_one_axis_per_list(mine: Any) -> None:
    found = entrants("a", {"class": mine, "gamma": [1, 2], "shift": (0.0, 0.1)})
    assert [one.name for one in found] == [f"a(gamma={g}, shift={s})" for g in (1, 2) for s in (0.0, 0.1)]
    [one] = entrants("a", {"class": mine, "gamma": 2})
    assert (one.name, one.given.keywords) == ("a", {"gamma": 2})
    in_a_list = hn.compare([{"class": mine, "gamma": [1, 2]}, "exp3"], CLICKS, runs=2, rounds=20)
    assert in_a_list.learners == ["Exponential(gamma=1)", "Exponential(gamma=2)", "exp3"]


@pytest.mark.parametrize(
    ("given", "built"),
    [
        ({"learner": "exp3", "scale": [5.0]}, hn.Bandit(3, hn.Entropy(), hn.Fixed(5.0))),
        ({"learner": "bandit", "smoothing": ["pareto:3"]}, hn.Bandit(3, hn.Pareto(3.0))),
        ({"learner": "bandit:tsallis", "tuning": ["horizon"]}, hn.Bandit(3, hn.Tsallis(0.5), hn.Horizon(100))),
        ({"learner": "bandit", "estimator": ["implicit-exploration:0.1"]},
         hn.Bandit(3, estimator=hn.ImplicitExploration(0.1))),
        ({"learner": "bandit", "floor": [0.05]}, hn.Bandit(3, floor=0.05)),
        ({"learner": "experts", "best_loss": [20]}, hn.Experts(3, tuning=hn.BestLoss(20.0, 100))),
        ({"learner": "kl-ucb", "c": [3.0]}, hn.KLUCB(3, c=3.0)),
        ({"learner": hn.Bandit(3), "tuning": [hn.Horizon(9)]}, dataclasses.replace(hn.Bandit(3), tuning=hn.Horizon(9))),
        ({"class": hn.Bandit, "smoothing": [hn.Entropy()]}, hn.Bandit(3, hn.Entropy())),
    ],
)  # fmt: skip
def test_parameters_of_the_learners_of_the_package(given: dict[str, Any], built: Any) -> None:
    from hannan.games.compare.environments import environment

    [one] = entrants("a", given)
    assert one.built(environment("clicks", CLICKS["clicks"]), 3, 100) == built


def test_invalid_grids_are_rejected_before_any_game(mine: Any, tmp_path: Path) -> None:
    def compared(given: Any) -> None:
        hn.compare({"a": given}, CLICKS, runs=2, rounds=20)

    rejected(lambda: compared({"class": mine, "gama": [1]}), "gamma", "gama")
    rejected(lambda: compared({"class": mine, "gamma": []}), "gamma", "[]")
    rejected(lambda: compared({"gamma": [1]}), "class", "learner")
    rejected(lambda: compared({"class": mine, "learner": "exp3"}), "class", "learner")
    rejected(lambda: compared({"class": "exp3", "gamma": [1]}), "class", "exp3")
    rejected(lambda: compared({"class": "no_such_module:Mine"}), "class", "no_such_module")
    rejected(lambda: compared({"class": "hannan:NoSuchName"}), "class", "NoSuchName")
    rejected(lambda: compared({"learner": "bandit", "flor": [0.1]}), "floor", "flor")
    rejected(lambda: compared({"learner": "bandit:tsallis", "smoothing": ["entropy"]}), "smoothing", "entropy")
    rejected(lambda: compared({"learner": "bandit@anytime", "tuning": ["horizon"]}), "tuning", "horizon")
    rejected(lambda: compared({"learner": "bandit", "estimator": ["exact"]}), "estimator", "exact")
    rejected(lambda: compared({"learner": "bandit", "tuning": "anytime", "scale": [2]}), "scale", "2")
    rejected(lambda: compared({"learner": hn.Bandit(3), "flor": [0.1]}), "floor", "flor")
    rejected(lambda: compared({"class": mine, "gamma": [1, 1]}), "learners", "a(gamma=1)")
    (tmp_path / "broken.py").write_text("raise KeyError('x')")
    rejected(lambda: loaded("broken.py:Mine", tmp_path), "class", "KeyError")
    rejected(lambda: loaded("absent.py:Mine", tmp_path), "class", "absent.py")
    assert not any(name.startswith("broken") for name in sys.modules)


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "changes.py"
    found = []
    for value in (1, 2):
        file.write_text(f"class Mine:\n    value = {value}\n")
        found.append(loaded("changes.py:Mine", tmp_path).value)
    assert found == [1, 2]


PLAN = """
rounds = [50, 80]
runs = 3

[learners]
mine = {class = "mine.py:Exponential", gamma = [0.5, 1.0, 2.0]}
Exp3 = {learner = "exp3", scale = [5, 10]}

[environments]
clicks = {means = [0.1, 0.3, 0.5]}
"""


def exported(folder: Path, **more: Any) -> bytes:
    hn.sweep(folder / "plan.toml", folder / "out", progress=False, **more).export(folder / "table.csv")
    return (folder / "table.csv").read_bytes()


def test_a_plan_has_the_same_bytes_on_one_process_and_on_two(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    found = []
    for workers in (1, 2):
        folder = tmp_path / str(workers)
        folder.mkdir()
        (folder / "plan.toml").write_text(PLAN)
        (folder / "mine.py").write_text(MINE)
        found.append(exported(folder, workers=workers))
    assert found[0] == found[1]
    text = found[0].decode()
    for name in ("mine(gamma=0.5)", "mine(gamma=2.0)", "Exp3(scale=5)", "Exp3(scale=10)"):
        assert name in text
    # Control: other code of the class gives other cells.
    (folder / "mine.py").write_text(MINE.replace("loss / self.p[action]", "2 * loss / self.p[action]"))
    assert exported(folder, workers=2) != found[0]


def test_errors_of_a_plan_name_the_line_of_the_learner(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "plan.toml").write_text(PLAN.replace("gamma", "gama"))
    rejected(lambda: hn.sweep(tmp_path / "plan.toml", tmp_path / "out"), "line 6", "gama")
    (tmp_path / "plan.toml").write_text(PLAN.replace("scale = [5, 10]", "scale = [-5]"))
    rejected(lambda: hn.sweep(tmp_path / "plan.toml", tmp_path / "out"), "line 7", "-5")


def test_the_folder_of_a_sweep_lists_the_parameters(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    (tmp_path / "plan.toml").write_text(PLAN)
    (tmp_path / "mine.py").write_text(MINE)
    exported(tmp_path, workers=1)
    texts = [json.loads(file.read_text()) for file in (tmp_path / "out").glob("plan*.json")]
    learners = {name: text for one in texts for name, text in one["learners"].items()}
    assert learners["Exp3(scale=5)"] == "exp3(scale=5)"
    assert "gamma=0.5" in learners["mine(gamma=0.5)"]
    assert np.isfinite(hn.compare({"a": "exp3"}, CLICKS, runs=2, rounds=20).cells[0].final).all()
