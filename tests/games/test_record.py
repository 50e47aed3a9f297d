"""Records: intervals, bounds in the user's units, frames, files, pictures."""

import builtins
import dataclasses
import json
import math
import zipfile

import numpy as np
import pytest
from scipy import stats

from hannan.games.checkpoints import Checkpoints, spread
from hannan.games.play import play
from hannan.games.record import Record
from hannan.learners.bandits import Bandit
from hannan.learners.experts import Experts
from hannan.learners.tuning import Anytime, BestLoss, Fixed, Horizon
from hannan.mathematics.regularizers import Entropy


def losses_of(rounds, n, seed=0):
    rng = np.random.default_rng(seed)
    return (rng.random((rounds, n)) < np.linspace(0.3, 0.7, n)).astype(float)


@pytest.fixture(scope="module")
def record():
    return play(Bandit(4, Entropy(), Horizon(2000)), losses_of(2000, 4), runs=20, seed=1)


def test_arrays_of_a_record_have_shapes_and_means(record):
    assert record.regret.shape == (20, len(record.checkpoints))
    assert record.mean_regret.shape == record.checkpoints.shape
    assert np.array_equal(record.mean_regret, record.regret.mean(axis=0))
    assert record.counts.shape == (20, 4)
    assert (record.counts.sum(axis=1) == 2000).all()
    assert record.best_loss == losses_of(2000, 4).sum(axis=0).min()
    assert record.actions is None
    assert record.rounds_per_second > 0
    assert record.estimated_regret.shape == (20,)


def test_t_interval_equals_scipy(record):
    low, high = record.interval(0.9)
    for k in (0, 10, len(low) - 1):
        sample = record.regret[:, k]
        if sample.std() == 0.0:
            continue
        expected = stats.t.interval(0.9, 19, sample.mean(), stats.sem(sample))
        np.testing.assert_allclose((low[k], high[k]), expected)
    below, above = record.interval(0.9, method="bootstrap")
    assert abs(below[-1] - low[-1]) < 0.35 * (high[-1] - low[-1])
    assert (below <= above).all()


def test_invalid_intervals_are_rejected(record):
    for level in (0.0, 1.0, math.nan):
        with pytest.raises(ValueError, match="level"):
            record.interval(level)
    with pytest.raises(ValueError, match="method"):
        record.interval(method="guess")
    with pytest.raises(ValueError, match="at least 2 runs"):
        play(Bandit(4, Entropy(), Fixed(3.0)), losses_of(50, 4)).interval()


def test_bound_equals_that_of_the_learner(record):
    learner = Bandit(4, Entropy(), Horizon(2000))
    # The best loss of these losses is known, so the bound of the record has no condition on it.
    asked = learner.bound(rounds=2000, best_loss=record.best_loss)
    assert asked.condition.startswith("if the best loss L* <= ")
    assert record.bound == dataclasses.replace(asked, condition="", at_most=None)
    assert record.mean_regret[-1] < record.bound.value
    over = play(learner, losses_of(2500, 4))
    assert over.bound is None
    assert "2000" in over.bound_withheld
    assert "bound      none: " in repr(over)
    rounds, values = record.bound_curve()
    assert rounds[-1] == 2000
    assert (np.diff(values) >= 0).all()


def test_units_of_the_user():
    losses = losses_of(1000, 3)
    plain = play(Experts(3, Entropy(), Horizon(1000)), losses, runs=3, seed=5)
    money = play(Experts(3, Entropy(), Horizon(1000), loss_range=(-10.0, 30.0)), -10 + 40 * losses, runs=3, seed=5)
    gains = play(Experts(3, Entropy(), Horizon(1000), gains=True), 1.0 - losses, runs=3, seed=5)
    np.testing.assert_allclose(money.regret, 40 * plain.regret, atol=1e-8)
    np.testing.assert_allclose(gains.regret, plain.regret, atol=1e-9)
    assert money.best_loss == pytest.approx(-10 * 1000 + 40 * plain.best_loss)
    assert gains.best_loss == pytest.approx(1000 - plain.best_loss)
    assert money.bound.value == pytest.approx(40 * plain.bound.value)
    assert gains.bound.value == pytest.approx(plain.bound.value)
    first = play(Experts(3, Entropy(), BestLoss(500.0)), losses)
    assert first.bound.value > 0


def test_saved_record_is_complete(record, tmp_path):
    path = tmp_path / "game.npz"
    record.save(path)
    again = Record.load(path)
    for name in ("regret", "counts", "checkpoints", "estimated_regret"):
        assert np.array_equal(getattr(again, name), getattr(record, name))
    for name in ("learner", "rounds", "runs", "seed", "seconds", "best_loss", "note", "setting", "threads"):
        assert getattr(again, name) == getattr(record, name)
    assert again.bound == record.bound
    assert repr(again) == repr(record)
    again.save(tmp_path / "twice.npz")
    assert Record.load(tmp_path / "twice.npz").bound == record.bound
    full = play(Experts(2, Entropy(), Anytime()), np.random.default_rng(0).random((3, 40, 2)), runs=3, keep="all")
    full.save(tmp_path / "full.npz")
    loaded = Record.load(tmp_path / "full.npz")
    assert np.array_equal(loaded.actions, full.actions)
    assert np.array_equal(loaded.best_loss, full.best_loss)
    assert np.array_equal(loaded.expected_regret, full.expected_regret)


def test_invalid_files_are_rejected_by_name(record, tmp_path):
    path = tmp_path / "game.npz"
    record.save(path)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(ValueError, match=r"game\.npz"):
        Record.load(path)
    path.write_text("nothing")
    with pytest.raises(ValueError, match=r"game\.npz"):
        Record.load(path)
    np.savez(path, about=np.frombuffer(json.dumps({"format": 99}).encode(), dtype=np.uint8))
    with pytest.raises(ValueError, match="format"):
        Record.load(path)
    np.savez(path, about=np.array([{"code": "runs"}], dtype=object))
    with pytest.raises(ValueError, match=r"game\.npz"):
        Record.load(path)
    with pytest.raises(FileNotFoundError):
        Record.load(tmp_path / "none.npz")
    record.save(path)
    with zipfile.ZipFile(path) as file:
        assert all(name.endswith(".npy") for name in file.namelist())


def test_repr_names_learner_size_and_regret(record):
    text = repr(record)
    for words in (
        "Bandit(4",
        "20 runs x 2000 rounds",
        "95% t-interval",
        "(approximate)",
        "largest run",
        "bound",
        "rounds/s",
        "estimate",
    ):
        assert words in text


def test_frames(record, monkeypatch):
    pandas = pytest.importorskip("pandas")
    frame = record.to_frame()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame.columns) == ["run", "round", "regret"]
    assert len(frame) == record.regret.size
    last = frame[(frame["run"] == 19) & (frame["round"] == 2000)]["regret"].item()
    assert last == record.regret[19, -1]
    real = builtins.__import__

    def without(*names):
        def fake(name, *rest):
            if name.split(".")[0] in names:
                raise ImportError(name)
            return real(name, *rest)

        return fake

    monkeypatch.setattr(builtins, "__import__", without("pandas"))
    polars = pytest.importorskip("polars")
    assert isinstance(record.to_frame(), polars.DataFrame)
    monkeypatch.setattr(builtins, "__import__", without("pandas", "polars"))
    with pytest.raises(ModuleNotFoundError, match="pandas or polars"):
        record.to_frame()


@pytest.mark.parametrize("log", [False, True])
def test_pictures_of_a_record(record, log):
    pytest.importorskip("altair")
    chart = record.plot(log=log).to_dict()
    marks = [layer["mark"]["type"] for layer in chart["layer"]]
    assert marks == ["area", "line", "line"]
    kinds = {layer["encoding"]["y"].get("scale", {}).get("type") for layer in chart["layer"]}
    assert kinds == ({"log"} if log else {None})
    alone = play(Bandit(4, Entropy(), Anytime()), losses_of(60, 4)).plot(log=log).to_dict()
    assert alone["layer"][0]["mark"]["type"] == "line"


def test_chart_of_several_records(record):
    pytest.importorskip("altair")
    other = play(Bandit(4, Entropy(), Anytime()), losses_of(60, 4))
    chart = record.plot(other, other).to_dict()
    names = chart["layer"][0]["encoding"]["color"]["scale"]["domain"]
    assert names == [
        "Bandit(4, Horizon(rounds=2000))",
        "Bandit(4, Anytime(factor=None)) (1)",
        "Bandit(4, Anytime(factor=None)) (2)",
    ]
    assert len(set(chart["layer"][0]["encoding"]["color"]["scale"]["range"])) == 3
    drawn = [layer["mark"] for layer in chart["layer"]]
    assert [mark["type"] for mark in drawn] == ["area", "line", "line", "line", "line", "line", "line"]
    assert len({mark["color"] for mark in drawn if "strokeDash" in mark}) == 3
    # A single record has neither colors nor a legend.
    assert "color" not in record.plot().to_dict()["layer"][0]["encoding"]


@pytest.mark.parametrize("other", [True, 0.9, None, "log"], ids=repr)
def test_a_chart_takes_records_only(record, other):
    """`record.plot(other)` once took `other` for `log=True`."""
    pytest.importorskip("altair")
    with pytest.raises(ValueError, match="others must be records"):
        record.plot(other)
    with pytest.raises(ValueError, match="at most 8 records"):
        record.plot(*[record] * 8)
    with pytest.raises(ValueError, match="log must be True or False"):
        record.plot(log=record)


@pytest.mark.parametrize("rounds", [1, 2, 499, 500, 501, 10**4, 10**7])
def test_about_500_checkpoints_are_stored(rounds):
    at = spread(rounds)
    assert at[0] == 1
    assert at[-1] == rounds
    assert (np.diff(at) > 0).all()
    assert len(at) == rounds or 350 < len(at) <= 500
    marks = Checkpoints(rounds, False)
    seen = []
    for first in range(0, min(rounds, 2000), 7):
        ends, columns = marks.within(first, 7)
        seen += (first + ends).tolist()
        assert (at[columns] == first + ends).all()
    assert seen == at[at <= first + 7].tolist()
