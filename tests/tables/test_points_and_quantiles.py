"""Point forecasts and quantiles of the same models in one run, and in one frame."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from click.testing import CliRunner
from rejections import rejected

import hannan as hn
from hannan.cli.combine import command

ROWS = 150


def table_of(seed=0):
    rng = np.random.default_rng(seed)
    y = rng.normal(size=ROWS).cumsum()
    table = {}
    for name, off in (("AutoARIMA", 0.2), ("AutoETS", 1.5)):
        point = y + off * rng.normal(size=ROWS)
        table |= {name: point, f"{name}-lo-80": point - 1.0 - off, f"{name}-hi-80": point + 1.0 + off}
    y[-2:] = np.nan
    return {**table, "y": y}


def alone(table):
    """The table without quantiles, and without point forecasts."""
    quantiles = [name for name in table if "-lo-" in name or "-hi-" in name]
    points = [name for name in table if name not in quantiles]
    return {name: table[name] for name in points}, {name: table[name] for name in [*quantiles, "y"]}


def test_one_frame_has_what_two_runs_have(tmp_path):
    pytest.importorskip("altair")
    table = table_of()
    points, quantiles = (hn.combine(part) for part in alone(table))
    both = hn.combine(table, coverage=0.8, horizon=1)
    assert (both.points == points.forecast).all()
    assert (both.forecast == quantiles.forecast).all()
    frame = both.to_frame()
    assert list(frame.columns[:5]) == ["forecast", "forecast-lo-80", "forecast-hi-80", "low", "high"]
    assert (frame["forecast"] == points.forecast).all()
    # The loss of each, and the next values: the point forecast with its interval.
    told = both.summary
    assert told.points.total == pytest.approx(points.summary.mix_loss)
    assert told.points.best == "AutoARIMA"
    assert "point forecasts" in str(told)
    assert "ignored" not in str(told)
    assert [one.forecast for one in told.forecasts] == points.forecast[-2:].tolist()
    assert told.recent.named == "forecast"
    saved = both.save(tmp_path / "out")
    head, *rows = csv.reader((saved / "combined.csv").open())
    assert head == ["row", "forecast", "forecast-lo-80", "forecast-hi-80", "low", "high"]
    assert [float(row[1]) for row in rows] == points.forecast.tolist()
    assert json.loads((saved / "summary.json").read_text())["points"]["best_expert"] == "AutoARIMA"
    # Control: a point forecast is not a quantile.
    assert not np.isclose(both.points, both.forecast.mean(axis=1)).all()


def test_panels_and_files_have_points_and_quantiles(tmp_path):
    pandas = pytest.importorskip("pandas")
    parts = []
    for name in "ab":
        table = table_of(ord(name))
        parts.append(pandas.DataFrame({"unique_id": name, "ds": np.arange(ROWS), **table}))
    frame = pandas.concat(parts)
    both = hn.combine(frame, coverage=0.8)
    columns = ["unique_id", "ds", "AutoARIMA", "AutoETS", "y"]
    points, quantiles = hn.combine(frame[columns]), hn.combine(frame.drop(columns=["AutoARIMA", "AutoETS"]))
    told = both.to_frame()
    assert list(told.columns) == ["unique_id", "ds", "forecast", "forecast-lo-80", "forecast-hi-80", "low", "high"]
    assert (told["forecast"] == points.forecast).all()
    assert (told["forecast-lo-80"] == quantiles.forecast[:, 0]).all()
    assert "point forecasts" in str(both)
    assert both.summary.forecasts[-1][1].forecast == points.forecast[-1]
    one = frame[frame["unique_id"] == "a"].drop(columns=["unique_id"])
    for path, table, same in (("one.csv", one, hn.combine(one).points), ("many.csv", frame, points.forecast)):
        table.to_csv(tmp_path / path, index=False)
        run = CliRunner().invoke(command, [str(tmp_path / path), "--out", str(tmp_path / "o"), "--coverage", "0.8"])
        assert run.exit_code == 0, run.output
        head, *rows = csv.reader((tmp_path / "o" / "combined.csv").open())
        place = head.index("forecast")
        assert head[place:] == ["forecast", "forecast-lo-80", "forecast-hi-80", "low", "high"]
        assert [float(row[place]) for row in rows] == pytest.approx(same.tolist(), rel=1e-12)
    live = CliRunner().invoke(command, ["-", "--time", "ds", "--json"], input=one.to_csv(index=False))
    assert json.loads(live.stdout.splitlines()[0])["point"] == pytest.approx(told["forecast"].iloc[0])
    live = CliRunner().invoke(command, ["-", "--time", "ds"], input=one.to_csv(index=False))
    assert live.stdout.splitlines()[0].startswith("ds,forecast,forecast-lo-80,forecast-hi-80,AutoARIMA")


def test_next_value_of_quantiles_alone_is_in_the_middle():
    _, quantiles = alone(table_of())
    both = hn.combine(quantiles)
    assert both.points is None
    assert both.summary.points is None
    assert [one.forecast for one in both.summary.forecasts] == pytest.approx(both.forecast[-2:].mean(axis=1).tolist())


def test_row_without_a_point_forecast_is_an_error():
    table = table_of()
    for name in ("AutoARIMA", "AutoETS"):
        table[name][7] = np.nan
    rejected(lambda: hn.combine(table), "row 8")
    chosen = [name for name in table if "-" in name]
    assert hn.combine(table, experts=chosen).points is None
