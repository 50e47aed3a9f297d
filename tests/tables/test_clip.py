"""`clip=`: models that fail in single rows, live and in tables, panels and quantiles, against an oracle in NumPy."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner
from rejections import rejected

import hannan as hn
from hannan import _engine, saving
from hannan.cli.combine import command
from hannan.players.load import packed
from hannan.tables.combine.clip import AFTER

ROWS, N = 120, 5
NAMES = tuple("abcde")


def oracle(forecasts, factor=10.0, depth=1):
    """Rows after clipping: forecasts (rows, depth x columns), level by level."""
    sums, rows = np.zeros(forecasts.shape[1] // depth), np.zeros(forecasts.shape[1] // depth)
    out = forecasts.copy()
    for t, row in enumerate(forecasts):
        cube = row.reshape(depth, -1)
        there = ~np.isnan(cube[0])
        if there.sum() < 3:
            continue
        middle = np.median(cube[:, there], axis=1)[:, None]
        distance = np.abs(cube - middle).mean(axis=0)
        old = rows >= 20
        usual = np.divide(sums, rows, out=np.zeros_like(sums), where=rows > 0)
        limit = np.where(old, np.maximum(factor * usual, usual[old].mean() if old.any() else 0.0), 0.0)
        far = there & (limit > 0.0) & (distance > limit)
        cube = np.where(far, middle + limit / np.where(far, distance, 1.0) * (cube - middle), cube)
        out[t] = cube.reshape(-1)
        sums[there] += np.where(far, limit, distance)[there]
        rows[there] += 1
    return out


def table_of(seed=0, failures=8):
    """Forecasts with missing values and single rows in which a model fails, and targets."""
    rng = np.random.default_rng(seed)
    targets = rng.normal(size=ROWS).cumsum()
    forecasts = targets[:, None] + rng.normal(size=(ROWS, N)) * np.array([1.0, 2.0, 0.5, 1.5, 0.7])
    forecasts[rng.random((ROWS, N)) < 0.1] = np.nan
    forecasts[np.arange(ROWS), rng.integers(0, N, ROWS)] = targets + rng.normal(size=ROWS)
    for t in rng.integers(25, ROWS, failures):
        forecasts[t, rng.integers(0, N)] = (-1) ** t * 10.0 ** rng.uniform(2, 6)
    return forecasts, targets


def frame_of(forecasts, targets, names=NAMES):
    return {**dict(zip(names, forecasts.T, strict=True)), "y": targets}


@pytest.mark.parametrize("depth", [1, 3])
def test_engine_equals_the_oracle(depth):
    forecasts, _ = table_of()
    if depth > 1:
        forecasts = np.concatenate([forecasts - 1.0, forecasts, forecasts + 2.0], axis=1)
    clip, expected = _engine.ForecastClip(N, depth, 10.0), oracle(forecasts, depth=depth)
    given = forecasts.copy()
    assert (
        clip.rows(given, np.arange(ROWS), True)
        == (np.nan_to_num(expected) != np.nan_to_num(forecasts)).any(axis=1).sum()
    )
    np.testing.assert_allclose(given, expected, rtol=1e-12)
    # Quantiles that did not cross do not cross afterwards.
    cube = given.reshape(ROWS, depth, N)
    assert (np.nan_to_num(np.diff(cube, axis=1)) >= -1e-9).all()
    # Control: another limit gives other rows.
    assert abs(np.nan_to_num(oracle(forecasts, 9.0, depth) - expected)).max() > 0.1


@pytest.mark.parametrize("loss", ["absolute", "squared"])
@pytest.mark.parametrize("horizon", [1, 4])
def test_table_equals_the_combination_of_clipped_columns(loss, horizon):
    forecasts, targets = table_of()
    clipped = oracle(forecasts)
    told = hn.combine(frame_of(forecasts, targets), "y", loss, horizon=horizon, clip=10)
    same = hn.combine(frame_of(clipped, targets), "y", loss, horizon=horizon)
    np.testing.assert_allclose(told.forecast, same.forecast, rtol=1e-9)
    assert told.summary.mix_loss == pytest.approx(same.summary.mix_loss)
    assert told.summary.bound.value == pytest.approx(same.summary.bound.value)
    # The excess losses over the columns as given follow from the printed changes, and so do their bounds.
    cost = np.abs if loss == "absolute" else np.square
    raw, after = (np.nan_to_num(cost(f - targets[:, None])).sum(axis=0) for f in (forecasts, clipped))
    told_clip = told.summary.clipped
    np.testing.assert_allclose(told_clip.changes, after - raw, rtol=1e-9, atol=1e-9)
    assert told_clip.counts.tolist() == (np.nan_to_num(forecasts - clipped) != 0.0).sum(axis=0).tolist()
    assert (told_clip.changes < 0.0).any()
    # Control: without clipping the forecasts differ, and one failure costs more.
    plain = hn.combine(frame_of(forecasts, targets), "y", loss, horizon=horizon)
    assert plain.summary.mix_loss > told.summary.mix_loss
    assert plain.summary.clipped is None


@pytest.mark.parametrize("rule", [None, "b", "mean", "median"])
def test_live_rows_equal_those_of_the_table(rule, tmp_path):
    forecasts, targets = table_of()
    told = hn.combine(frame_of(forecasts, targets), "y", learner=rule, horizon=4, clip=10)
    combiner, answers = hn.Combiner(NAMES, learner=rule, clip=10), []
    for t in range(ROWS):
        if t == 60:
            combiner.save(tmp_path / "combiner.json")
            combiner = hn.load(tmp_path / "combiner.json")
        row = [None if np.isnan(f) else f for f in forecasts[t]]
        peeked = combiner.forecast(row)
        answers.append(combiner.answer(t, row))
        assert answers[-1] == pytest.approx(peeked, rel=1e-12)
        if t >= 3:
            combiner.settle(t - 3, targets[t - 3])
    assert (np.array(answers) == told.forecast).all()
    for row in combiner.open:
        combiner.settle(row, targets[row])
    one, other = combiner.certificate().clipped, told.summary.clipped
    assert (one.counts == other.counts).all()
    np.testing.assert_allclose(one.changes, other.changes, rtol=1e-12)
    text = " ".join(str(combiner.certificate()).split())
    assert f"{int(one.counts.sum())} forecasts to 10 times" in text
    assert AFTER in text


def test_rows_that_bring_targets_repeat_the_forecasts_as_given():
    """A later row of the same time may repeat the forecasts: those that were given, not the clipped ones."""
    forecasts, targets = table_of()
    bad = int(np.flatnonzero(np.nan_to_num(oracle(forecasts) - forecasts).any(axis=1))[0])
    order = [*range(bad + 2), bad, *range(bad + 2, ROWS)]
    known = targets[order].copy()
    known[bad] = np.nan
    frame = frame_of(forecasts[order], known) | {"day": np.array(order)}
    told = hn.combine(frame, "y", time="day", clip=10)
    assert told.summary.settled == ROWS
    expected = hn.combine(frame_of(oracle(forecasts)[order], known) | {"day": np.array(order)}, "y", time="day")
    np.testing.assert_allclose(told.forecast, expected.forecast, rtol=1e-9)
    assert told.summary.clipped.counts.sum() == (np.nan_to_num(oracle(forecasts) - forecasts) != 0.0).sum()
    assert (told.summary.clipped.changes < 0.0).any()


def test_panel_and_quantiles_are_clipped_series_by_series():
    parts = [table_of(seed) for seed in range(3)]
    frame = {name: np.concatenate([f[:, i] for f, _ in parts]) for i, name in enumerate(NAMES)}
    frame |= {"y": np.concatenate([y for _, y in parts]), "unique_id": np.repeat(["x", "y", "z"], ROWS)}
    frame["ds"] = np.tile(np.arange(ROWS), 3)
    clipped = {name: np.concatenate([oracle(f)[:, i] for f, _ in parts]) for i, name in enumerate(NAMES)}
    told = hn.combine(frame, "y", by="unique_id", clip=10)
    expected = hn.combine({**frame, **clipped}, "y", by="unique_id")
    np.testing.assert_allclose(told.forecast, expected.forecast, rtol=1e-9)
    assert told.summary.as_dict()["clipped"]["forecasts"] == sum(
        int((np.nan_to_num(oracle(f) - f) != 0.0).sum()) for f, _ in parts
    )
    assert "clipped" in str(told)
    assert told.clipped.changes.sum() < 0.0
    forecasts, targets = parts[0]
    wide = np.concatenate([forecasts - 1.0, forecasts + 1.0], axis=1)
    names = [f"{name}-{end}-80" for end in ("lo", "hi") for name in NAMES]
    after = hn.combine(frame_of(oracle(wide, depth=2), targets, names), "y")
    both = hn.combine(frame_of(wide, targets, names), "y", clip=10)
    np.testing.assert_allclose(both.forecast, after.forecast, rtol=1e-9)


def test_failures_of_one_night_cost_less():
    """Ratio of the losses with and without clipping over 20 tables; control: without failures nothing changes much."""
    ratios = {}
    for failures in (0, 8):
        each = []
        for seed in range(20):
            frame = frame_of(*table_of(seed, failures))
            with_clip, without = (hn.combine(frame, "y", clip=clip).summary.mix_loss for clip in (10, None))
            each.append(np.log(with_clip / without))
        ratios[failures] = np.exp(np.mean(each))
    assert ratios[8] < 0.5
    assert ratios[0] == pytest.approx(1.0, abs=0.001)


def test_a_column_that_was_the_median_is_not_fixed_to_it():
    """Its usual distance is 0: the limit is then the mean of the usual distances, and identical columns have none."""
    clip, table = _engine.ForecastClip(3, 1, 10.0), np.array([[-1.0, 0.0, 1.0]])
    for _ in range(30):
        clip.rows(table, np.zeros(1, dtype=np.int64), True)
    moved = np.array([[-1.0, 5.0, 1.0]])
    assert clip.rows(moved, np.zeros(1, dtype=np.int64), True) == 1
    assert moved.tolist() == [[-1.0, pytest.approx(1.0 + 2.0 / 3.0), 1.0]]
    same, clip = np.full((30, 3), 7.0), _engine.ForecastClip(3, 1, 10.0)
    clip.rows(same, np.arange(30), True)
    jump = np.array([[7.0, 7.0, 8.0]])
    assert clip.rows(jump, np.zeros(1, dtype=np.int64), True) == 0


def test_huge_forecasts_stay_finite():
    rng, clip = np.random.default_rng(0), _engine.ForecastClip(4, 1, 10.0)
    table = rng.normal(size=(200, 4))
    table[rng.random((200, 4)) < 0.1] = 1.7e308
    table[rng.random((200, 4)) < 0.05] *= -1.0
    clip.rows(table, np.arange(200), True)
    assert np.isfinite(table).all()


def test_new_columns_are_clipped_after_twenty_rows(tmp_path):
    forecasts, targets = table_of()
    forecasts[:40, 4] = np.nan
    told = hn.combine(frame_of(forecasts, targets), "y", learner="b", clip=10)
    combiner, answers = hn.Combiner(NAMES[:4], learner="b", clip=10), []
    for t in range(ROWS):
        if t == 40:
            combiner.add_columns("e")
        row = {name: None if np.isnan(f) else f for name, f in zip(NAMES, forecasts[t], strict=True)}
        answers.append(combiner.answer(t, {name: row[name] for name in combiner.columns}))
        combiner.settle(t, targets[t])
    np.testing.assert_allclose(answers, told.forecast, rtol=1e-9)


def test_command_and_intervals(tmp_path):
    forecasts, targets = table_of()
    lines = [",".join([*NAMES, "y"])]
    lines += [
        ",".join("" if np.isnan(x) else f"{x:.17g}" for x in (*f, y)) for f, y in zip(forecasts, targets, strict=True)
    ]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    told = CliRunner().invoke(command, [str(tmp_path / "t.csv"), "--target", "y", "--clip", "10", "--json"])
    assert told.exit_code == 0, told.output
    found = json.loads(told.stdout)["clipped"]
    expected = hn.combine(frame_of(forecasts, targets), "y", clip=10).summary
    assert found == json.loads(expected.to_json())["clipped"]
    bad = CliRunner().invoke(command, [str(tmp_path / "t.csv"), "--target", "y", "--clip", "0.5"])
    assert bad.exit_code != 0
    assert "0.5" in f"{bad.output} {bad.exception}"
    ours = hn.combine(frame_of(forecasts, targets), "y", clip=10, coverage=0.8)
    live = hn.Conformal(NAMES, coverage=0.8, clip=10)
    ends = []
    for t in range(ROWS):
        ends.append(live.answer(t, [None if np.isnan(f) else f for f in forecasts[t]]))
        live.settle(t, targets[t])
    assert np.array_equal(np.array(ends), ours.interval)
    assert "clipped" in str(ours)


def test_invalid_and_crafted_limits(tmp_path):
    for clip in (0.0, 0.99, -3.0, np.nan, np.inf, "ten", True):
        rejected(lambda clip=clip: hn.Combiner(3, clip=clip), "clip")
    combiner, (forecasts, _) = hn.Combiner(NAMES, clip=10), table_of()
    for t in range(ROWS):
        combiner.answer(t, [None if np.isnan(f) else f for f in forecasts[t]])
    assert combiner.certificate().clipped.counts.sum() > 3
    combiner.save(tmp_path / "c.json")
    assert hn.load(tmp_path / "c.json").open == combiner.open

    def crafted(change):
        content = saving.read(tmp_path / "c.json")
        change(content["clip"])
        saving.write(tmp_path / "crafted.json", content)
        hn.load(tmp_path / "crafted.json")

    def of(name, value):
        return lambda clip: clip["state"].update({name: value})

    attacks = [
        lambda clip: clip.update(factor=packed(0.5)), lambda clip: clip.pop("factor"), lambda clip: clip.pop("state"),
        of("sums", packed(np.full(N, -1.0))), of("rows", packed(np.full(N, 0.5))), of("counts", packed(np.zeros(3))),
        of("counts", packed(np.full(N, -1.0))), of("changes", packed(np.full(N, np.nan))),
        of("changes", packed(np.full(N, np.inf))), of("open", {"7": packed(np.zeros((2, N)))}),
        of("open", {"-1": packed(np.zeros((2, N)))}), of("open", []),
    ]  # fmt: skip
    for change in attacks:
        rejected(lambda change=change: crafted(change), "crafted.json")
