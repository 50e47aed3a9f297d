"""Quantiles in tables, files, panels and live: names, crossing, CRPS and coverage by an oracle, rejected input."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner
from naive_quantiles import VectorTwoLayers, pinball

import hannan as hn
from hannan.cli.combine import command
from hannan.saving.formatting import figure
from hannan.tables.combine.quantiles import grid_of
from hannan.tables.read.table import BadTable

pandas = pytest.importorskip("pandas")

LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
WIDTHS = np.array([-1.645, -0.674, 0.0, 0.674, 1.645])
NAMES = ("lo-90", "lo-50", "median", "hi-50", "hi-90")


def table(rows=80, models=3, seed=0, holes=0.0):
    """Models with different bias and width, with column names of statsforecast; forecasts may be missing."""
    rng = np.random.default_rng(seed)
    y = rng.normal(size=rows).cumsum()
    frame = {"day": pandas.date_range("2024-01-01", periods=rows).strftime("%Y-%m-%d"), "y": y}
    for k in range(models):
        middle = y + rng.normal(size=rows) + 0.5 * k
        middle[rng.random(rows) < (holes if k else 0.0)] = np.nan
        for width, name in zip(WIDTHS, NAMES, strict=True):
            frame[f"m{k}-{name}"] = middle + width * (1.0 + k)
    return pandas.DataFrame(frame)


def cube(frame, models=3):
    """(rows, levels, models)."""
    return np.stack([[frame[f"m{k}-{name}"] for k in range(models)] for name in NAMES]).transpose(2, 0, 1)


def oracle(frame, horizon=1, models=3):
    slow, rows, told = VectorTwoLayers(models, LEVELS), {}, []
    f, y = cube(frame, models), frame.y.to_numpy()
    for t in range(len(frame)):
        if t - horizon in rows and not np.isnan(y[t - horizon]):
            slow.settle(rows.pop(t - horizon), y[t - horizon])
        rows[t] = slow.answer(f[t])
        told.append(rows[t]["x"])
    return np.array(told)


@pytest.mark.parametrize("horizon", [1, 3])
@pytest.mark.parametrize("holes", [0.0, 0.3])
def test_table_equals_the_oracle(holes, horizon):
    frame = table(holes=holes)
    frame.loc[[10, 79], "y"] = np.nan
    told = hn.combine(frame.drop(columns="day"), "y", horizon=horizon)
    np.testing.assert_allclose(told.forecast, oracle(frame, horizon), rtol=1e-9, atol=1e-12)
    assert told.levels == LEVELS
    assert told.experts == ("m0", "m1", "m2")
    assert list(told.to_frame())[:5] == [f"forecast-{name}" for name in NAMES]
    known = ~frame.y.isna().to_numpy()
    costs = [pinball(LEVELS, x, y).mean() for x, y in zip(told.forecast[known], frame.y[known], strict=True)]
    assert told.summary.mix_loss == pytest.approx(sum(costs))
    assert told.summary.promises.mean_realised <= told.summary.promises.mean
    # With the command, chunk by chunk.
    assert told.summary.settled == 78


def covered(low, high, y):
    return float(((low <= y) & (y <= high)).mean())


@pytest.mark.parametrize("per_quantile", [False, True])
def test_crps_coverage_and_width(per_quantile):
    """By NumPy; the control: shifted by one row, the numbers differ."""
    frame = table(holes=0.3)
    frame.loc[5, "y"] = np.nan
    told = hn.combine(frame, "y", time="day", per_quantile=per_quantile)
    summary, x, f = told.summary.quantiles.calibration, told.forecast, cube(frame)
    known = ~frame.y.isna().to_numpy()
    y = frame.y.to_numpy()
    who = {"combination": x, "average of models": np.nanmean(f, axis=2), **{f"m{k}": f[:, :, k] for k in range(3)}}
    for k, (name, quantiles) in enumerate(who.items()):
        rows = known & ~np.isnan(quantiles[:, 0])
        losses = np.array([pinball(LEVELS, a, b) for a, b in zip(quantiles[rows], y[rows], strict=True)])
        assert summary.names[k] == name
        assert summary.crps(k) == pytest.approx(2.0 * losses.mean())
        wide, narrow = summary.intervals(k)
        assert (wide.low, wide.high, narrow.low, narrow.high) == (0.05, 0.95, 0.25, 0.75)
        assert wide.coverage == pytest.approx(covered(quantiles[rows, 0], quantiles[rows, 4], y[rows]))
        assert narrow.width == pytest.approx((quantiles[rows, 3] - quantiles[rows, 1]).mean())
        assert (wide.coverage, narrow.width) != (covered(quantiles[rows, 0], quantiles[rows, 4], np.roll(y[rows], 1)),
                                                 (quantiles[rows, 4] - quantiles[rows, 1]).mean())  # fmt: skip
    assert (np.diff(x, axis=1) >= 0.0).all()
    text = str(told.summary)
    assert f"{figure(summary.crps())} (combination)" in text
    assert "an approximation on 5 levels" in text
    assert "90% interval" in text
    assert "50% interval" in text


@pytest.mark.parametrize("per_quantile", [False, True])
def test_command_equals_the_function(per_quantile, tmp_path):
    frame, file, out = table(holes=0.2), tmp_path / "q.csv", tmp_path / "out"
    frame.loc[78:, "y"] = np.nan
    frame.to_csv(file, index=False)
    told = hn.combine(frame, "y", time="day", per_quantile=per_quantile)
    options = ["--per-quantile"] if per_quantile else []
    arguments = [str(file), "--target", "y", "--time", "day", *options]
    said = json.loads(
        CliRunner().invoke(command, [*arguments, "--out", str(out), "--json"], catch_exceptions=False).stdout
    )
    expected = told.summary.as_dict()
    assert {**said, "out": None} == {**json.loads(json.dumps(expected)), "out": None}
    assert said["quantiles"]["weights"] == ("per quantile" if per_quantile else "common")
    assert (said["quantiles"]["weights_by_level"] is not None) == per_quantile
    assert said["quantiles"]["who"][0]["name"] == "combination"
    assert said["forecasts"][-1]["quantiles"]["0.05"] == pytest.approx(told.forecast[-1, 0])
    combined = pandas.read_csv(out / "combined.csv")
    np.testing.assert_allclose(combined[[f"forecast-{name}" for name in NAMES]], told.forecast, rtol=1e-12)
    page = (out / "index.html").read_text()
    for text in ("intervals of 90%, 50%", "targets are in the widest interval", "twice the mean pinball loss"):
        assert text in page
    lines = CliRunner().invoke(command, ["-", *arguments[1:]], input=file.read_text(), catch_exceptions=False)
    assert (
        lines.stdout.splitlines()[0]
        == "day,forecast-lo-90,forecast-lo-50,forecast-median,forecast-hi-50,forecast-hi-90,m0,m1,m2"
    )
    assert float(lines.stdout.splitlines()[-1].split(",")[1]) == pytest.approx(told.forecast[-1, 0])
    live = CliRunner().invoke(command, ["-", *arguments[1:], "--json"], input=file.read_text(), catch_exceptions=False)
    assert json.loads(live.stdout.splitlines()[0])["forecast"]["0.5"] == pytest.approx(told.forecast[0, 2])


def test_best_combination_has_common_weights():
    frame = table()
    told, f, y = hn.combine(frame, "y", time="day").summary.oracle, cube(table()), table().y.to_numpy()
    rng = np.random.default_rng(0)

    def loss(q):
        return sum(pinball(LEVELS, f[t] @ q, y[t]).mean() for t in range(len(y)))

    assert told.loss == pytest.approx(loss(told.weights))
    assert min(loss(rng.dirichlet(np.ones(3))) for _ in range(300)) >= told.least - 1e-9
    assert told.loss - told.least <= 1e-4 * told.loss


# Names


def test_levels_by_name():
    grid = grid_of(["b-hi-80", "a-q-0.1", "b-q-.1", "a-q-0.9", "a-median", "b-median"], None)
    assert (grid.models, grid.levels) == (("b", "a"), (0.1, 0.5, 0.9))
    assert grid.columns == ("b-q-.1", "a-q-0.1", "b-median", "a-median", "b-hi-80", "a-q-0.9")
    assert grid_of(["a", "b"], None) is None
    assert grid_of(["a-q-0.1"], None, plain=False) is None
    assert grid_of(["a-q-0.1"], False) is None
    for pattern, names, levels in [
        ("{model}_p{percent}", ["x_p10", "y_p10", "x_p97.5", "y_p97.5"], (0.1, 0.975)),
        ("q{quantile} {model}", ["q0.3 a b", "q.5 a b"], (0.3, 0.5)),
        ("{model}.lower{lo}, {model}.upper{hi}, {model}", ["a.lower90", "a.upper90", "a"], (0.05, 0.5, 0.95)),
    ]:
        assert grid_of(names, pattern).levels == levels
    left = grid_of(["arima", "arima-lo-95", "arima-hi-95"], None)
    assert left.left == ("arima",)


@pytest.mark.parametrize(
    ("names", "quantiles", "match"),
    [
        (["a-lo-90", "a-hi-90", "b-lo-90"], None, "'b' has no level 0.95"),
        (["a-lo-90", "a-q-0.05"], None, "in one column; got 0.05 of 'a' in 'a-lo-90'"),
        (["a-q-0", "a-q-0.5"], None, r"the level of a quantile must be in \(0, 1\); got 0 of column 'a-q-0'"),
        (["a-hi-100"], None, r"must be in \(0, 1\); got 1"),
        (["a-q-0.5", "extra"], None, "column 'extra' is not named as a quantile"),
        (["a", "b"], True, r"\{model\}-lo-\{lo\}.*; columns are 'a', 'b'"),
        (["a_1", "b"], "{model}_{percent}", "column 'b'"),
        (["a"], "{quantile}", r"must contain \{model\} once"),
        (["a"], "{model}{lo}{hi}", r"at most one of"),
        (["a"], "{model}{what}", r"must contain \{model\} once"),
        (["a"], 3, "quantiles must be a pattern"),
    ],
)  # fmt: skip
def test_invalid_names_are_rejected(names, quantiles, match):
    with pytest.raises(ValueError, match=match):
        grid_of(names, quantiles)


def test_crossing_quantiles_are_rejected_or_sorted():
    frame = table()
    frame.loc[7, "m1-lo-50"] += 100.0
    with pytest.raises(BadTable, match=r"row 8: .*must not decrease from level to level; got 1\d\d.* in "
                                       r"'m1-lo-50' and .* in 'm1-median' \(crossing='sort' sorts them\)"):  # fmt: skip
        hn.combine(frame, "y", time="day")
    told = hn.combine(frame, "y", time="day", crossing="sort")
    by_hand = frame.copy()
    by_hand.loc[7, [f"m1-{name}" for name in NAMES]] = np.sort(
        frame.loc[7, [f"m1-{name}" for name in NAMES]].to_numpy(dtype=float)
    )
    np.testing.assert_array_equal(told.forecast, hn.combine(by_hand, "y", time="day").forecast)
    assert "quantiles of a model were sorted in 1 places" in str(told)
    assert told.summary.as_dict()["quantiles"]["sorted_where_crossed"] == 1
    with pytest.raises(ValueError, match="crossing must be 'refuse' or 'sort'; got 'drop'"):
        hn.combine(frame, "y", time="day", crossing="drop")


def test_other_invalid_input_is_rejected():
    frame = table().drop(columns="day")
    torn = frame.copy()
    torn.loc[3, "m2-hi-90"] = np.nan
    with pytest.raises(BadTable, match=r"row 4: 'm2' needs all of its quantiles.*'m2-hi-90'"):  # fmt: skip
        hn.combine(torn, "y")
    for options, match in [
        ({"loss": "squared", "quantiles": True}, "pinball losses of their levels, without a cap; got loss 'squared'"),
        ({"cap": 1.0, "quantiles": True}, "got cap 1.0"),
        ({"quantiles": False, "per_quantile": True}, "per_quantile needs columns of quantiles"),
        ({"learner": "adahedge"}, "quantiles need a named rule"),
        ({"learner": hn.AdaHedge(3)}, "quantiles need a named rule"),
        ({"per_quantile": True, "loss_range": (0.0, 9.0)}, "loss_range is not supported with per_quantile"),
        ({"loss_range": (0.0, 1e-6)}, r"row 1, column 'm0': a loss must be in the stated range 0:1e-06; .*quantiles"),
        ({"learner": "boa", "prior": [0.2, 0.3, 0.5]}, "prior is for .*two-layers and b"),
    ]:  # fmt: skip
        with pytest.raises(ValueError, match=match):
            hn.combine(frame, "y", **options)
    # The same columns as point forecasts, on request.
    assert hn.combine(frame, "y", quantiles=False).forecast.ndim == 1
    assert hn.combine(frame[["m0-lo-90", "m1-lo-90", "y"]], "y", "pinball:0.05").forecast.ndim == 1


def test_point_forecasts_of_models_with_quantiles_are_combined_too():
    frame = table().drop(columns=["day", *(f"m{k}-median" for k in range(3))])
    for k in range(3):
        frame[f"m{k}"] = frame[f"m{k}-lo-50"]
    told = hn.combine(frame, "y")
    assert told.levels == (0.05, 0.25, 0.75, 0.95)
    assert "point forecasts" in str(told)
    assert (told.points == hn.combine(frame[["m0", "m1", "m2", "y"]], "y").forecast).all()


def test_very_many_levels():
    """Of 99 levels the terminal shows common intervals, and says what it omits; JSON and page have every pair."""
    levels, rng = [(k + 1) / 100 for k in range(99)], np.random.default_rng(0)
    y = rng.normal(size=60)
    frame = {
        f"{m}-q-{q:g}": y * w + x
        for m, w in (("a", 0.3), ("b", 0.9))
        for q, x in zip(levels, np.linspace(-2, 2, 99), strict=True)
    }
    told = hn.combine({**frame, "y": y}, "y")
    for text in ("80% interval", "50% interval", "20% interval", "45 more"):
        assert text in str(told)
    assert len(told.to_dict()["quantiles"]["who"][0]["intervals"]) == 49
    from hannan.tables.combine.page import combined_page

    assert "Every pair of levels" in combined_page(told.summary).html()
    assert "in the widest interval" in told.plot("fan").to_dict()["description"]
    assert "combined forecast as a line" in hn.combine({"a": y, "y": y}, "y").plot("fan").to_dict()["description"]


# Many series


def long(series=4, holes=0.2):
    parts = [table(30 + 5 * s, seed=s, holes=holes).assign(unique_id=f"s{s}") for s in range(series)]
    whole = pandas.concat(parts, ignore_index=True).rename(columns={"day": "ds"})
    return whole.sort_values("ds", kind="stable").reset_index(drop=True)


@pytest.mark.parametrize("per_quantile", [False, True])
@pytest.mark.parametrize("horizon", [1, 4])
def test_each_series_equals_a_single_combination(horizon, per_quantile):
    frame = long()
    frame.loc[[3, 40], "y"] = np.nan
    told = hn.combine(frame, "y", by="unique_id", horizon=horizon, per_quantile=per_quantile, pooled=False)
    assert told.forecast.shape == (len(frame), 5)
    known = ~frame.y.isna().to_numpy()
    for s, (_, part) in enumerate(frame.groupby("unique_id", sort=False)):
        alone = hn.combine(part.drop(columns=["unique_id"]), "y", time="ds", horizon=horizon, per_quantile=per_quantile)
        np.testing.assert_allclose(told.forecast[part.index], alone.forecast, rtol=1e-12)
        summary = alone.summary
        assert told.mixture[s] == pytest.approx(summary.mix_loss)
        assert told.mean[s] == pytest.approx(summary.mean_loss)
        assert told.median[s] == pytest.approx(summary.median_loss)
        np.testing.assert_allclose(told.bounds[s], summary.promises.columns)
        np.testing.assert_allclose(told.beside[s], [e.mix_loss for e in summary.experts])
        np.testing.assert_allclose(told.weights[s], [e.weight for e in summary.experts], rtol=1e-9, atol=1e-15)
    calibration = told.quantiles.calibration
    y = frame.y.to_numpy()[known]
    x = told.forecast[known]
    assert calibration.crps() == pytest.approx(
        2.0 * np.mean([pinball(LEVELS, a, b) for a, b in zip(x, y, strict=True)])
    )
    assert calibration.intervals()[0].coverage == pytest.approx(covered(x[:, 0], x[:, 4], y))
    columns = ["unique_id", "quantile", "model_id", "weight"] if per_quantile else ["unique_id", "model_id", "weight"]
    weights = told.weights_frame()
    assert list(weights) == columns
    np.testing.assert_allclose(weights.groupby(columns[:-2]).weight.sum(), 1.0)


@pytest.mark.parametrize("per_quantile", [False, True])
def test_pool_equals_one_combiner(per_quantile):
    frame = long(3, holes=0.0)
    told = hn.combine(frame, "y", by="unique_id", pooled=True, per_quantile=per_quantile)
    names = [f"m{k}-{name}" for k in range(3) for name in NAMES]
    combiner, days = hn.Combiner(names, per_quantile=per_quantile), sorted(set(frame.ds))
    for d, day in enumerate(days):
        for t in frame.index[frame.ds == days[d - 1]] if d else []:
            combiner.settle(int(t), frame.y[t])
        for t in frame.index[frame.ds == day]:
            answer = combiner.answer(int(t), frame.loc[t, names].to_dict())
            np.testing.assert_allclose(answer, told.forecast[t], rtol=1e-9)
    for rest in combiner.open:
        combiner.settle(rest, frame.y[rest])
    promises = combiner.certificate().promises
    assert told.to_mean.sum() == pytest.approx(promises.mean)
    np.testing.assert_allclose(told.bounds.sum(axis=0), promises.columns)
    assert told.mixture.sum() == pytest.approx(combiner.certificate().total)
    # The counts of the combiner, row by row, equal those of the panel.
    np.testing.assert_allclose(combiner.calibration.sums, told.quantiles.calibration.sums)
    assert "CRPS" in str(combiner.certificate())


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_files_of_many_series(kind, tmp_path):
    frame, file, out = long(), tmp_path / f"f.{kind}", tmp_path / "out"
    frame.to_csv(file, index=False) if kind == "csv" else frame.to_parquet(file)
    arguments = [str(file), "--target", "y", "--by", "unique_id", "--out", str(out), "--json"]
    told = json.loads(CliRunner().invoke(command, arguments, catch_exceptions=False).stdout)
    expected = hn.combine(frame, "y", by="unique_id")
    assert told["quantiles"]["who"][0]["crps"] == pytest.approx(expected.quantiles.calibration.crps())
    read = pandas.read_csv if kind == "csv" else pandas.read_parquet
    combined = read(out / f"combined.{kind}")
    assert list(combined) == ["unique_id", "ds", *(f"forecast-{name}" for name in NAMES)]
    np.testing.assert_allclose(combined.iloc[:, 2:], expected.forecast, rtol=1e-12)
    assert "the best series relative to its average" in (out / "index.html").read_text()


# Live


@pytest.mark.parametrize("per_quantile", [False, True])
def test_live_and_saved(per_quantile, tmp_path):
    frame = table(40, holes=0.2)
    names = [name for name in frame if name not in ("day", "y")]
    expected = hn.combine(frame, "y", time="day", per_quantile=per_quantile)
    first = hn.Combiner(names, per_quantile=per_quantile)
    assert (first.models, first.levels) == (("m0", "m1", "m2"), LEVELS)
    for t in range(20):
        row = frame.loc[t, names].to_numpy(dtype=float)
        np.testing.assert_allclose(first.forecast(row), expected.forecast[t], rtol=1e-9)
        np.testing.assert_allclose(first.answer(t, row), expected.forecast[t], rtol=1e-12)
        if t < 19:
            first.settle(t, frame.y[t])
    first.save(tmp_path / "c.json")
    second = hn.load(tmp_path / "c.json")
    assert second.open == (19,)
    for combiner in (first, second):
        combiner.settle(19, frame.y[19])
        for t in range(20, 40):
            np.testing.assert_allclose(combiner.answer(t, frame.loc[t, names]), expected.forecast[t], rtol=1e-12)
            combiner.settle(t, frame.y[t])
    assert str(first.certificate()) == str(second.certificate())
    assert first.calibration.crps() == pytest.approx(expected.summary.quantiles.calibration.crps())
    assert (first.weights() == second.weights()).all()


def test_rejected_live_rows_change_nothing():
    combiner = hn.Combiner(["a-lo-80", "a-hi-80", "b-lo-80", "b-hi-80"])
    for row, match in [
        ([2.0, 1.0, 0.0, 1.0], "row 'r': quantiles of a model must not decrease"),
        ([2.0, None, 0.0, 1.0], "row 'r': .*needs all of its quantiles"),
        ([None] * 4, "row 'r': all forecasts are missing"),
        ([1.0, 2.0], "forecasts must have 4 values"),
    ]:
        with pytest.raises(ValueError, match=match):
            combiner.answer("r", row)
    assert combiner.answer("r", {"a-lo-80": 1.0, "a-hi-80": 3.0}).tolist() == [1.0, 3.0]
    with pytest.raises(ValueError, match="needs a model and a level in its name; got 'a'"):
        hn.Combiner(["a-lo-80", "a-hi-80", "a"])


@pytest.mark.parametrize("per_quantile", [False, True])
def test_targets_at_an_end_of_an_interval_are_covered(per_quantile):
    """Count data: most targets equal a quantile. A target at either end is inside, and at or below that level.

    Control: without the ends fewer targets are covered.
    """
    rng = np.random.default_rng(6)
    y = rng.poisson(2.0, size=200).astype(float)
    frame = {"y": y}
    for k in range(2):
        low = rng.poisson(0.8 + k, size=200).astype(float)
        frame |= {f"m{k}-lo-80": low, f"m{k}-median": low + 1.0, f"m{k}-hi-80": low + 2.0}
    told = hn.combine(pandas.DataFrame(frame), "y", per_quantile=per_quantile)
    calibration, names = told.summary.quantiles.calibration, ("lo-80", "median", "hi-80")
    mean = np.mean([[frame[f"m{k}-{name}"] for name in names] for k in range(2)], axis=0).T
    who = [told.forecast, mean, *(np.array([frame[f"m{k}-{name}"] for name in names]).T for k in range(2))]
    printed = calibration.as_dict()["who"]
    for k, quantiles in enumerate(who):
        (interval,) = calibration.intervals(k)
        assert (interval.low, interval.high) == (0.1, 0.9)
        assert interval.coverage == covered(quantiles[:, 0], quantiles[:, 2], y)
        below = [one["targets_at_or_below"] for one in printed[k]["levels"]]
        assert below == [float((y <= quantiles[:, q]).mean()) for q in range(3)]
        if k > 1:
            inside = ((quantiles[:, 0] < y) & (y < quantiles[:, 2])).mean()
            assert inside < interval.coverage - 0.2
