"""Learners side by side on a user's table."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

import hannan as hn
from hannan.cli.route import command
from hannan.learners.names import SMOOTHINGS, Numbers, learner, smoothing, tuning
from hannan.tables.learner import parse_range
from hannan.tables.route import LEARNERS


def table(rows=800, seed=0):
    return (np.random.default_rng(seed).random((rows, 3)) < [0.3, 0.5, 0.7]).astype(float)


def test_route_equals_play_for_each_learner():
    losses = table()
    told = hn.route(losses, runs=4, seed=3)
    assert {one.name for one in told.routes} == set(LEARNERS)
    assert (told.best, told.rounds) == (int(losses.sum(axis=0).argmin()), 800)
    np.testing.assert_allclose(told.losses, losses.sum(axis=0))
    for one in told.routes:
        record = hn.play(one.learner, losses, runs=4, seed=3)
        assert (record.regret == one.record.regret).all()
        assert one.regret <= one.record.bound.value
    by_sight = [one.sees for one in told.routes]
    assert by_sight == sorted(by_sight)
    for sees in set(by_sight):
        regrets = [one.regret for one in told.routes if one.sees == sees]
        assert regrets == sorted(regrets)
    assert told.routes[0].name in told.advice()
    assert "best arm" in str(told)


def test_frames_ranges_and_gains():
    pandas = pytest.importorskip("pandas")
    losses = table(200)
    frame = pandas.DataFrame(5.0 - 4.0 * losses, columns=["x", "y", "z"])
    told = hn.route(frame, ["exp3", "hedge", "adahedge"], loss_range=(1.0, 5.0), gains=True, runs=3)
    plain = hn.route(losses, ["exp3", "hedge", "adahedge"], runs=3)
    assert told.arms[told.best] == "x"
    for a, b in zip(told.routes, plain.routes, strict=True):
        assert a.name == b.name
        assert a.regret == pytest.approx(4.0 * b.regret)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"value": 1.5}, r"row 6, column '2': loss must be in 0:1; got 1.5.*--range"),
        ({"value": np.nan}, "row 6, column '2': a loss is required"),
        ({"value": np.inf}, "row 6, column '2': expected a finite number"),
        ({"learners": ["nobody"]}, "learner must be one of experts, bandit, adahedge, .*, hedge, exp3, or"),
        ({"runs": 0}, "runs"),
    ],
)
def test_invalid_arguments_are_rejected(change, match):
    losses = table(20)
    if "value" in change:
        losses[5, 2] = change.pop("value")
    with pytest.raises(ValueError, match=match):
        hn.route(losses, **change)


def test_names():
    assert repr(learner("exp3", 3)) == repr(hn.Bandit(3, hn.Entropy()))
    assert learner("bandit:log-barrier", 3, numbers=Numbers(50)).tuning == hn.SelfConfident(50)
    assert learner("exp4", 3, actions=2) == hn.ExpertBandit(2, 3, hn.Entropy())
    assert learner("expert-bandit:log-barrier", 3, actions=2, numbers=Numbers(50)).tuning == hn.Horizon(50)
    assert learner("Experts:Tsallis:0.25@Fixed:3", 4) == hn.Experts(4, hn.Tsallis(0.25), hn.Fixed(3.0))
    assert learner("experts@best-loss:7", 4).tuning == hn.BestLoss(7.0)
    assert smoothing("pareto:3") == hn.Pareto(3.0)
    assert tuning("anytime:2") == hn.Anytime(2.0)
    bad_names = ("adahedge:2", "adahedge@fixed:2", "experts:nothing", "experts:frechet:x", "bandit:log-barrier", "",
                 "experts:", "experts@", "experts@magic", "experts@fixed", "experts@horizon:2.5", "hedge:tsallis",
                 "entropy", "experts:entropy:2", "expert-bandit")  # fmt: skip
    for bad in bad_names:
        with pytest.raises(ValueError, match=r"; got|needs|required"):
            learner(bad, 3)


@pytest.mark.parametrize("shape", [*SMOOTHINGS, "weibull:0.5", "tsallis:0.25"])
def test_every_command_accepts_every_smoothing(shape):
    """One grammar: `play`, `route`, `replay` and `combine` accept the same descriptions."""
    from hannan.cli.options import LearnerOptions, build_learner
    from hannan.tables.combine.losses import Absolute
    from hannan.tables.learner import for_decisions, for_forecasts
    from hannan.tables.route import _learner

    # A scale, because a Gaussian has no other tuning.
    name = f"bandit:{shape}@fixed:2"
    played = build_learner(LearnerOptions("bandit", 3, smooth=shape, tuned="fixed", scale=2.0))
    assert played == build_learner(LearnerOptions(name, 3))
    assert played == _learner(name, 3, (0.0, 1.0), False, 50)
    assert for_decisions(name, 3, 0, (0.0, 1.0), False, 50) == [played]
    experts = build_learner(LearnerOptions("experts", 3, smooth=shape, scale=2.0))
    assert for_forecasts(f"experts:{shape}@fixed:2", 3, Absolute(), (0.0, 1.0), 50) == experts


def test_ranges():
    for bad in ("1", "2:1", "a:b", ":", "1:1"):
        with pytest.raises(ValueError):
            parse_range(bad)


def test_command(tmp_path):
    losses = table(300)
    lines = ["t,<i>a</i>,b,c"] + [f"day {t},{a},{b},{c}" for t, (a, b, c) in enumerate(losses)]
    (tmp_path / "table.csv").write_text("\n".join(lines) + "\n")
    options = ["--skip", "t", "--learner", "exp3", "--learner", "hedge", "--runs", "3", "--json"]
    result = CliRunner().invoke(
        command, [str(tmp_path / "table.csv"), *options, "--out", str(tmp_path / "out")], catch_exceptions=False
    )
    told = json.loads(result.stdout)
    same = hn.route(losses, ["exp3", "hedge"], runs=3)
    assert [one["regret"] for one in told["learners"]] == [one.regret for one in same.routes]
    assert told["best_arm"] == "<i>a</i>"
    page = (tmp_path / "out" / "index.html").read_text()
    assert "<i>a</i>" not in page
    assert "&lt;i&gt;a&lt;/i&gt;" in page
    piped = CliRunner().invoke(command, ["-", *options], input=(tmp_path / "table.csv").read_text())
    assert [one["regret"] for one in json.loads(piped.stdout)["learners"]] == [one.regret for one in same.routes]
    wrong = CliRunner().invoke(command, [str(tmp_path / "table.csv"), "--out", str(tmp_path / "no")])
    assert "row 1, column 't'" in str(wrong.exception)
    assert not (tmp_path / "no").exists()


@pytest.mark.parametrize(
    ("text", "options", "match"),
    [
        ("a,b\n0,1\n", ["--skip", "a,b"], "no column of losses: --skip a,b"),
        ("a;b\n0;1\n", [], "got '0;1'. Is the delimiter ';'?"),
        ("a;b\n0,5;1\n", [], "got 2. Is the delimiter ';'?"),
        (
            ",b\n0,1\n",
            [],
            "must have names; the name of column 1 is empty. Ignore columns that are not arms with --skip",
        ),
    ],
)
def test_files_without_a_table_of_arms_are_rejected(tmp_path, text, options, match):
    (tmp_path / "table.csv").write_text(text)
    wrong = CliRunner().invoke(command, [str(tmp_path / "table.csv"), *options])
    assert match in str(wrong.exception)
