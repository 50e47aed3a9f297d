"""Tables in memory: libraries, times, roles of columns."""

from __future__ import annotations

import numpy as np
import pytest
from click.testing import CliRunner
from forecasts import table

import hannan as hn
from hannan.cli.combine import command
from hannan.tables.read.table import BadTable


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
        ({"a": [1.0]}, "y", "no column 'y'"),
        ({"y": [1.0]}, "y", "no column of forecasts"),
        ({}, "y", "no columns"),
        ({"a": [1.0, "x"], "y": [1.0, 2.0]}, "y", "row 2, column 'a': expected a number or a missing value; got 'x'"),
        ({"a": [1.0, np.inf], "y": [1.0, 2.0]}, "y", "row 2, column 'a': expected a finite number"),
        ({"a": [1.0], "y": ["3"]}, "y", "row 1, column 'y'"),
        ({"a": [], "y": []}, "y", "no rows"),
        (np.zeros((3, 2)), np.zeros(4), "one number per row, 3"),
        (np.zeros(3), "y", "rows and columns"),
    ],
)
def test_invalid_frames_are_rejected(frame, target, match):
    with pytest.raises(ValueError, match=match):
        hn.combine(frame, target)


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
    """If the target were among the experts, it would be its own forecast."""
    text = "t,a,b,y\n" + "".join(f"{t},{t + 1}.5,{t},{t + 0.25}\n" for t in range(9))
    (tmp_path / "t.csv").write_text(text)
    frame = {name: np.arange(9.0) + k for k, name in enumerate("taby")}
    with pytest.raises(ValueError, match=f"a column must have only one role; got {says}"):
        hn.combine(frame, "y", **columns)
    options = [x for name, value in columns.items() for x in (f"--{name}", ",".join(value))]
    for file, typed in ((str(tmp_path / "t.csv"), None), ("-", text)):
        done = CliRunner().invoke(command, [file, "--target", "y", *options], input=typed)
        assert done.stdout == ""
        assert says in str(done.exception)


@pytest.mark.parametrize("issued", [False, True])
def test_unsorted_rows_of_one_series_are_answered_in_the_order_of_their_times(issued):
    """The answers are in the order of the input; the control takes the rows as they come."""
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(2)
    y = rng.normal(size=90).cumsum()
    days = pandas.date_range("2026-01-01", periods=90)
    frame = pandas.DataFrame({"ds": days, "a": y + rng.normal(size=90), "b": y + 0.5, "shop": ["n", "s"] * 45, "y": y})
    frame.loc[88:, "y"] = np.nan
    if issued:
        frame["cutoff"] = frame["ds"] - pandas.Timedelta(days=2)
    options = {"coverage": 0.8, "groups": ["shop"]}
    straight = hn.combine(frame, **options)
    order = rng.permutation(90)
    mixed = frame.iloc[order].reset_index(drop=True)
    told = hn.combine(mixed, **options)
    assert told.rows.tolist() == list(range(90))
    assert (told.forecast == straight.forecast[order]).all()
    assert (told.intervals == straight.intervals[order]).all()
    assert (told.weights == straight.weights[order]).all()
    assert told.times == [straight.times[k] for k in order]
    assert (told.to_frame()["forecast"] == told.forecast).all()
    assert told.summary.mix_loss == straight.summary.mix_loss
    assert {(one.row, one.time) for one in told.summary.forecasts} == {
        (int(np.flatnonzero(order == k)[0]) + 1, days[k].isoformat()) for k in (88, 89)
    }
    assert "sorted by" in str(told)
    assert "sorted by" not in str(straight)
    assert (
        hn.combine(mixed.drop(columns=["ds", "cutoff"], errors="ignore"), **options).forecast != told.forecast
    ).any()
    # An error names the order in which rows are numbered; times that repeat are not sorted.
    mixed.loc[5, ["a", "b"]] = np.nan
    with pytest.raises(BadTable, match="sorted by 'ds'"):
        hn.combine(mixed, **options)
    if not issued:
        twice = frame.iloc[[1, 0, 0]]
        with pytest.raises(ValueError, match="increasing"):
            hn.combine(twice, experts=["a", "b"])


@pytest.mark.parametrize("by", [False, True])
@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_frames_of_narwhals_give_frames_of_narwhals_with_the_same_backend(library, by):
    """The control is the frame inside, which gives a frame of its library."""
    narwhals = pytest.importorskip("narwhals")
    pytest.importorskip(library)
    rng = np.random.default_rng(3)
    y = rng.normal(size=40)
    columns = {"unique_id": ["s", "t"] * 20, "ds": np.arange(40)} if by else {}
    columns |= {"a": y + 1.0, "b": y + rng.normal(size=40), "y": y}
    frame = narwhals.from_dict(columns, backend=library)
    told, native = hn.combine(frame, coverage=0.8), hn.combine(frame.to_native(), coverage=0.8)
    out = told.to_frame()
    assert isinstance(out, narwhals.DataFrame)
    assert type(out.to_native()) is type(frame.to_native()) is type(native.to_frame())
    assert (told.forecast == native.forecast).all()
    assert out.columns == narwhals.from_native(native.to_frame()).columns
    assert isinstance(told.weights_frame(), narwhals.DataFrame)
    if library == "polars":
        lazy = hn.combine(frame.lazy(), coverage=0.8).to_frame()
        assert isinstance(lazy, narwhals.DataFrame)
        assert (lazy["forecast"].to_numpy() == told.to_frame()["forecast"].to_numpy()).all()
