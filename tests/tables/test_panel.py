"""Many series in one long table: each as if alone, no target used early, unreadable cells rejected by name."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys

import numpy as np
import pytest
from click.testing import CliRunner

import hannan as hn
from hannan.cli.combine import command
from hannan.saving.formatting import figure
from hannan.tables.read.table import BadTable

pandas = pytest.importorskip("pandas")


def panel(series=5, rows=30, seed=0, holes=0.2, mixed=True):
    """Series of different lengths, as a long frame; rows of different series interleave."""
    rng = np.random.default_rng(seed)
    parts = []
    for s in range(series):
        count = rows - 3 * s if s < series - 1 else 1
        y = rng.normal(size=count).cumsum() * 10.0**s
        frame = pandas.DataFrame({"unique_id": f"s{s}", "ds": pandas.date_range("2024-01-01", periods=count), "y": y})
        for k in range(3):
            frame[f"m{k}"] = y + rng.normal(size=count) * (k + 1) * 10.0**s
        frame.loc[rng.random(count) < holes, "m1"] = np.nan
        parts.append(frame)
    whole = pandas.concat(parts, ignore_index=True)
    if mixed:
        whole = whole.sort_values("ds", kind="stable").reset_index(drop=True)
    return whole


@pytest.mark.parametrize("horizon", [1, 4])
@pytest.mark.parametrize("learner", [None, "b", "boa", "median"])
def test_each_series_equals_a_single_combination(learner, horizon):
    frame = panel()
    frame.loc[[3, 20], "y"] = np.nan
    told = hn.combine(frame, "y", learner=learner, by="unique_id", time="ds", horizon=horizon, pooled=False)
    for s, (name, part) in enumerate(frame.groupby("unique_id", sort=False)):
        alone = hn.combine(part.drop(columns="unique_id"), "y", learner=learner, time="ds", horizon=horizon)
        np.testing.assert_allclose(told.forecast[part.index], alone.forecast, rtol=1e-12)
        summary = alone.summary
        assert told.table.name(s) == name
        assert told.mixture[s] == pytest.approx(summary.mix_loss)
        assert told.mean[s] == pytest.approx(summary.mean_loss)
        assert told.median[s] == pytest.approx(summary.median_loss, nan_ok=True)
        np.testing.assert_allclose(told.losses[s], [e.loss for e in summary.experts])
        np.testing.assert_allclose(told.weights[s], [e.weight for e in summary.experts], rtol=1e-9, atol=1e-15)
        if learner is None:
            np.testing.assert_allclose(told.bounds[s], summary.promises.columns)
            assert told.to_mean[s] == pytest.approx(summary.promises.mean)
    assert told.to_frame()["forecast"].tolist() == told.forecast.tolist()
    assert told.weights_frame().shape == (5 * 3, 3)
    assert "over 5 series" in str(told)


def test_results_do_not_depend_on_the_number_of_cores(monkeypatch):
    frame = panel(12)
    told = [hn.combine(frame, "y", by="unique_id").forecast]
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    told.append(hn.combine(frame, "y", by="unique_id").forecast)
    assert (told[0] == told[1]).all()


def cross_validated(every=2):
    """In the format of cross_validation of statsforecast: three steps ahead from each cutoff, every two days."""
    rng, rows = np.random.default_rng(3), []
    y = rng.normal(size=40).cumsum()
    days = pandas.date_range("2024-01-01", periods=40)
    for c in range(5, 36, every):
        for h in (1, 2, 3):
            rows.append({"unique_id": "a", "ds": days[c + h], "cutoff": days[c], "y": y[c + h], "naive": y[c],
                         "drift": y[c] + h * (y[c] - y[0]) / c, "step": h})  # fmt: skip
    return pandas.DataFrame(rows)


def test_no_target_is_used_before_it_was_known():
    """With a column of cutoffs: the combiner with every target given on its own day has the same results."""
    frame = cross_validated()
    options = {"experts": ["naive", "drift"], "pooled": False}
    told = hn.combine(frame, "y", by="unique_id", **options)
    combiner, waiting = hn.Combiner(["naive", "drift"]), []
    for t, row in enumerate(frame.itertuples()):
        for k in [k for k in waiting if frame.ds[k] <= row.cutoff]:
            combiner.settle(k, frame.y[k])
            waiting.remove(k)
        assert combiner.answer(t, [row.naive, row.drift]) == pytest.approx(told.forecast[t], rel=1e-12)
        waiting.append(t)
    # Several horizons in one table, each with its own weights.
    steps = hn.combine(frame, "y", by=["unique_id", "step"], **options)
    assert steps.table.series == 3
    one = frame[frame.step == 1]
    alone = hn.combine(one, "y", by="unique_id", **options)
    np.testing.assert_allclose(steps.forecast[one.index], alone.forecast)
    assert steps.table.name(2) == "a / 3"


@pytest.mark.parametrize("unsorted", [False, True])
@pytest.mark.parametrize("late", [1, 2])
def test_pool_equals_one_combiner_in_the_order_of_time(late, unsorted):
    frame = shuffled(panel(4, holes=0.0)).reset_index(drop=True) if unsorted else panel(4, holes=0.0)
    told = hn.combine(frame, "y", by="unique_id", time="ds", pooled=True, horizon=late)
    # Rows of one time are sorted by the names of their series, whatever their order in the table.
    frame = frame.sort_values("unique_id", kind="stable")
    combiner, days = hn.Combiner(["m0", "m1", "m2"]), sorted(set(frame.ds))
    for d, day in enumerate(days):
        if d >= late:
            for t in frame.index[frame.ds == days[d - late]]:
                combiner.settle(int(t), frame.y[t])
        for t in frame.index[frame.ds == day]:
            row = frame.loc[t, ["m0", "m1", "m2"]].to_numpy(dtype=float)
            assert combiner.answer(int(t), row) == pytest.approx(told.forecast[t], rel=1e-9)
    for rest in combiner.open:
        combiner.settle(rest, frame.y[rest])
    promises = combiner.certificate().promises
    assert told.to_mean.sum() == pytest.approx(promises.mean)
    np.testing.assert_allclose(told.bounds.sum(axis=0), promises.columns)
    assert told.mixture.sum() == pytest.approx(combiner.certificate().total)
    assert told.mean.sum() == pytest.approx(combiner.certificate().mean)
    np.testing.assert_allclose(told.losses.sum(axis=0), combiner.certificate().losses)


def test_new_series_start_from_the_pool():
    old = hn.combine(panel(6), "y", by="unique_id")
    prior = old.prior()
    assert sum(prior.values()) == pytest.approx(1.0)
    assert min(prior.values()) >= 0.1 / 3 - 1e-12
    fresh = panel(2, seed=9, holes=0.0)
    told = hn.combine(fresh, "y", learner="b", by="unique_id", prior=prior)
    first = fresh.iloc[0]
    assert told.forecast[0] == pytest.approx(sum(prior[m] * first[m] for m in prior))


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda f: pandas.concat([f, f.iloc[-1:]], ignore_index=True),
         r"row \d+ .series 's0'.*times of a series must be unique; got '2024-01-30.*as in row \d+"),
        (lambda f: f.assign(m0=np.nan, m1=np.nan, m2=np.nan), "row 1.*all forecasts are missing. Remove the row"),
        (lambda f: f.assign(unique_id=[None, *f.unique_id[1:]]), "'unique_id': the name of a series is missing"),
        (lambda f: f.assign(m0=[np.inf, *f.m0[1:]]), "row 1, column 'm0': expected a finite number"),
        (lambda f: f.assign(ds=["x", *map(str, f.ds[1:])]), "a number or a date"),
        (lambda f: f.assign(cutoff=f.ds), "must be later than the issue time"),
        (lambda f: f.assign(ds="2024-02-01", cutoff=f.ds), "must have the same target"),
        (lambda f: f.iloc[:0], "no rows"),
        (lambda f: f[["unique_id", "ds", "y"]], "no column of forecasts"),
        (lambda f: f.drop(columns="y"), "no column 'y'"),
    ],
)  # fmt: skip
def test_invalid_panels_are_rejected(change, match):
    with pytest.raises(BadTable, match=match):
        hn.combine(change(panel()), "y", by="unique_id")


@pytest.mark.parametrize(
    ("column", "cell", "match"),
    [
        ("unique_id", "", "row 11, column 'unique_id': the name of a series is missing"),
        ("ds", "", "row 11, column 'ds': a time is missing"),
        ("ds", "2024-01-10", "row 11 (series 's0'), column 'ds': times of a series must be unique"),
        ("m0", "1e9", "row 11 (series 's0'), column 'm0': a loss must be in the stated range 0:1e+06"),
        ("m0,m1,m2", "", "row 11 (series 's0'): all forecasts are missing"),
    ],
)
def test_invalid_file_is_rejected_with_its_name_and_row(column, cell, match, tmp_path):
    frame, file = panel(2, 20, holes=0.0, mixed=False).astype(object), tmp_path / "f.csv"
    frame.iloc[10, [frame.columns.get_loc(name) for name in column.split(",")]] = cell
    frame.to_csv(file, index=False)
    arguments = [str(file), "--target", "y", "--by", "unique_id", "--range", "0:1e6"]
    bad = CliRunner().invoke(command, arguments)
    assert str(bad.exception).startswith(f"{file}, {match}")
    if column == "unique_id":
        with pytest.raises(BadTable, match="the table, row 11, column 'unique_id': the name of a series is missing"):
            hn.combine(frame.replace({"unique_id": {"": None}}), "y", by="unique_id")


def test_invalid_roles_and_options_are_rejected():
    frame = panel()
    for options, match in [
        ({"by": "unique_id", "experts": ["m0", "y"]}, "'y' as the target and as an expert"),
        ({"by": "unique_id", "experts": ["m0", "m0"]}, "'m0' as an expert twice"),
        ({"by": "unique_id", "time": "unique_id"}, "'unique_id' as a series and as the times"),
        ({"by": ["unique_id", "unique_id"]}, "as a series twice"),
        ({"by": "unique_id", "learner": hn.AdaHedge(3)}, "named rule"),
        ({"by": "unique_id", "cap": 2.0}, r"cap .*named rule.*--learner"),
        ({"by": "unique_id", "prior": [1.0, 0.0, 0.0]}, "prior"),
    ]:
        with pytest.raises(ValueError, match=match):
            hn.combine(frame, "y", **options)
    with pytest.raises(ValueError, match="name their column with by="):
        hn.combine(frame.rename(columns={"unique_id": "shop"}), "y", pooled=True)
    assert "a capped loss is not convex" in str(hn.combine(frame, "y", by="unique_id", cap=2.0, learner="b"))
    with pytest.raises(BadTable, match="horizon is for tables without issue times"):
        hn.combine(cross_validated(), "y", by="unique_id", horizon=2)
    with pytest.raises(
        BadTable, match=r"row 1 \(series 's0'\), column 'm0': a loss must be in the stated range 0:0.001"
    ):
        hn.combine(panel(1, 1, holes=0.0), "y", by="unique_id", loss_range=(0.0, 1e-3))


def test_a_series_of_one_row_is_answered_with_the_average():
    frame = panel(1)
    told = hn.combine(frame, "y", by="unique_id")
    assert len(frame) == 1
    assert told.forecast[0] == pytest.approx(np.nanmean(frame[["m0", "m1", "m2"]].to_numpy()))


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_files_are_read_and_written(kind, tmp_path):
    frame, file = panel(), tmp_path / f"f.{kind}"
    if kind == "csv":
        frame.to_csv(file, index=False)
    else:
        frame.to_parquet(file)
    out = tmp_path / "out"
    arguments = [str(file), "--target", "y", "--by", "unique_id", "--out", str(out), "--json"]
    told = json.loads(CliRunner().invoke(command, arguments, catch_exceptions=False).stdout)
    expected = hn.combine(frame, "y", by="unique_id")
    assert told["combination"]["total"] == pytest.approx(expected.mixture.sum())
    read = pandas.read_csv if kind == "csv" else pandas.read_parquet
    combined, weights = read(out / f"combined.{kind}"), read(out / f"weights.{kind}")
    assert list(combined.columns) == ["unique_id", "ds", "forecast"]
    np.testing.assert_allclose(combined.forecast, expected.forecast, rtol=1e-12)
    assert list(weights.columns) == ["unique_id", "model_id", "weight"]
    np.testing.assert_allclose(weights.weight.to_numpy().reshape(5, 3), expected.weights, rtol=1e-12)
    assert (out / "index.html").read_text().count("over 5 series") >= 1
    # The weights are a prior for other series.
    weights.to_csv(tmp_path / "w.csv", index=False)
    plain = CliRunner().invoke(command, [*arguments[:5], "--prior", str(tmp_path / "w.csv")], catch_exceptions=False)
    assert "series by series" in plain.stdout
    renamed = tmp_path / f"shops.{kind}"
    shops = frame.rename(columns={"unique_id": "shop"})
    shops.to_csv(renamed, index=False) if kind == "csv" else shops.to_parquet(renamed)
    for table, more, match in [(file, ["--issued", "ds"], "required together"), (renamed, ["--pooled"], "--by")]:
        bad = CliRunner().invoke(command, [str(table), "--target", "y", *more])
        assert match in str(bad.exception)
    assert "--by needs a file" in str(CliRunner().invoke(command, ["-", "--target", "y", "--by", "a"]).exception)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_named_experts_omit_columns_of_text(kind, tmp_path):
    frame, file = panel(), tmp_path / f"f.{kind}"
    told = frame.assign(region="north")
    told.to_csv(file, index=False) if kind == "csv" else told.to_parquet(file)
    arguments = [str(file), "--target", "y", "--by", "unique_id", "--json", "--experts"]
    told = json.loads(CliRunner().invoke(command, [*arguments, "m0,m2"], catch_exceptions=False).stdout)
    expected = hn.combine(frame, "y", by="unique_id", experts=["m0", "m2"])
    assert [one["name"] for one in told["experts"]] == ["m0", "m2"]
    assert told["combination"]["total"] == pytest.approx(expected.mixture.sum())
    bad = CliRunner().invoke(command, [*arguments, "m0,unique_id"])
    assert "'unique_id' as a series and as an expert" in str(bad.exception)


def test_summary_lists_experts_and_pending_rows(tmp_path):
    frame = panel(3, 30, holes=0.0).assign(step=1.0)
    open_ = [5, 40, len(frame) - 2]
    frame.loc[open_, "y"] = np.nan
    told = hn.combine(frame, "y", by="unique_id")
    rows = told.summary.rows()
    assert dict(rows)["models"] == "4: m0, m1, m2, step"
    texts = [text for name, text in rows if name == "forecast"]
    assert len(texts) == 3
    last = frame.iloc[open_[-1]]
    assert texts[-1].endswith(f"for {last.unique_id}, {last.ds.isoformat()} (row {open_[-1] + 1})")
    assert texts[-1].startswith(figure(told.forecast[open_[-1]]))
    known = told.to_dict()
    assert known["rows"] == {"answered": len(frame), "settled": len(frame) - 3, "waiting": 3}
    assert [(one["row"], one["forecast"]) for one in known["forecasts"]] == [(t + 1, told.forecast[t]) for t in open_]
    assert (
        "Next values: forecasts of rows that wait for their targets."
        in (told.save(tmp_path / "out") / "index.html").read_text()
    )
    frame.loc[:9, "y"] = np.nan
    assert dict(hn.combine(frame, "y", by="unique_id").summary.rows())["rows"].endswith(
        ", 12 waiting for their targets"
    )


def nixtla(quantiles=False):
    """A frame in the format of cross_validation of statsforecast and mlforecast; the last days are not known."""
    rng, rows = np.random.default_rng(5), []
    days = pandas.date_range("2024-01-01", periods=60)
    for s in ("a", "b", "c"):
        y = rng.normal(size=60).cumsum() + 50.0
        for c in range(20, 56, 3):
            for h in (1, 2, 3):
                known = c + h < 55
                row = {"unique_id": s, "ds": days[c + h], "cutoff": days[c], "y": y[c + h] if known else np.nan}
                for k, model in enumerate(("Naive", "AutoARIMA")):
                    row[model] = y[c] + rng.normal() * (1 + k)
                    for level in (80, 95) if quantiles else ():
                        row[f"{model}-lo-{level}"] = row[model] - level / 40.0
                        row[f"{model}-hi-{level}"] = row[model] + level / 40.0
                rows.append(row)
    return pandas.DataFrame(rows)


@pytest.mark.parametrize("quantiles", [False, True])
@pytest.mark.parametrize("indexed", [False, True])
def test_frames_of_statsforecast_and_mlforecast(quantiles, indexed):
    """Frames are accepted unchanged, with the series as a column or as the index.

    Results have the same keys, for a merge.
    """
    frame = nixtla(quantiles)
    told = hn.combine(frame.set_index("unique_id") if indexed else frame, "y", by="unique_id")
    out = told.to_frame()
    levels = ["forecast-lo-95", "forecast-lo-80", "forecast-hi-80", "forecast-hi-95"] if quantiles else []
    names = ["forecast", *levels]
    assert list(out) == ["unique_id", "cutoff", "ds", *names]
    merged = frame.merge(out, on=["unique_id", "ds", "cutoff"], validate="one_to_one")
    assert len(merged) == len(frame)
    assert not merged[names].isna().to_numpy().any()
    known = merged.y.notna()
    assert told.settled.sum() == known.sum() < len(frame)
    if not quantiles:
        assert abs(merged.forecast - merged.y)[known].sum() == pytest.approx(told.mixture.sum())
        low, high = merged[["Naive", "AutoARIMA"]].min(axis=1), merged[["Naive", "AutoARIMA"]].max(axis=1)
        assert ((low - 1e-12 <= merged.forecast) & (merged.forecast <= high + 1e-12)).all()
    else:
        assert "point forecasts  " in str(told)


def test_weights_have_the_format_of_forecast_hubs(tmp_path):
    """model_id and weight, the weights of each unit sum to 1; of one series, of many, and from the command."""
    frame = panel(3, holes=0.0)
    one = hn.combine(frame[frame.unique_id == "s0"].drop(columns="unique_id"), "y", time="ds")
    told = one.weights_frame()
    assert list(told) == ["model_id", "weight"]
    assert told.model_id.tolist() == ["m0", "m1", "m2"]
    assert told.weight.sum() == pytest.approx(1.0)
    assert told.weight.tolist() == pytest.approx([e.weight for e in one.summary.experts])
    many = hn.combine(frame, "y", by="unique_id").weights_frame()
    assert list(many) == ["unique_id", "model_id", "weight"]
    np.testing.assert_allclose(many.groupby("unique_id").weight.sum(), 1.0)
    alone = hn.combine(frame, "y", by="unique_id", pooled=False).weights_frame()
    np.testing.assert_allclose(alone[alone.unique_id == "s0"].weight, told.weight, rtol=1e-9)
    frame.to_csv(tmp_path / "f.csv", index=False)
    arguments = [str(tmp_path / "f.csv"), "--target", "y", "--by", "unique_id", "--out", str(tmp_path / "out")]
    CliRunner().invoke(command, arguments, catch_exceptions=False)
    pandas.testing.assert_frame_equal(pandas.read_csv(tmp_path / "out" / "weights.csv"), many, check_dtype=False)


def test_polars_and_arrow_frames_agree():
    polars, pyarrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    frame = panel()
    told = hn.combine(frame, "y", by="unique_id").forecast
    assert (hn.combine(polars.from_pandas(frame), "y", by="unique_id").forecast == told).all()
    table = pyarrow.Table.from_pandas(frame)
    assert (
        hn.combine(dict(zip(table.column_names, table.columns, strict=True)), "y", by="unique_id").forecast == told
    ).all()
    plain = {name: frame[name].tolist() for name in frame}
    plain["ds"] = [str(day.date()) for day in frame.ds]
    assert (hn.combine(plain, "y", by="unique_id").forecast == told).all()


@pytest.mark.parametrize("delimiter", ["tab", "\\t", "\t"])
def test_tab_delimiter_works_with_by(delimiter, tmp_path):
    file = tmp_path / "series.tsv"
    file.write_text("id\ta\tb\ty\nu\t1\t2\t1\nu\t1\t2\t3\n")
    done = CliRunner().invoke(command, [str(file), "--target", "y", "--by", "id", "--delimiter", delimiter])
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        (["--by", "id", "--delimiter", "xx"], "delimiter"),
        (["--by", "id", "--delimiter", ""], "delimiter"),
        (["--by", ""], "names"),
        (["--experts", " "], "names"),
    ],
)
def test_option_without_effect_is_rejected(options, rule, tmp_path):
    file = tmp_path / "series.csv"
    file.write_text("id,a,b,y\nu,1,2,1\nu,1,2,3\n")
    done = CliRunner().invoke(command, [str(file), "--target", "y", *options])
    assert isinstance(done.exception, ValueError), done.exception
    assert rule in str(done.exception)


@pytest.mark.parametrize("by", [[], ["--by", "id"]])
def test_model_with_zero_loss_has_no_percentage(by, tmp_path):
    """The control: if a row were lost, there would be a message."""
    file = tmp_path / "series.csv"
    for first, said in ((1, "more than your best model (a), whose loss is 0"), (9, "% ")):
        file.write_text(f"id,a,b,y\nu,{first},7,1\nu,2,3,2\n")
        experts = ["--experts", "a,b"]
        done = CliRunner().invoke(command, [str(file), "--target", "y", *experts, *by, "--json"])
        assert said in json.loads(done.output)["answer"]


def shuffled(frame, seed=4):
    return frame.sample(frac=1.0, random_state=seed)


@pytest.mark.parametrize("kind", ["panel", "cross-validation", "overlapping", "quantiles"])
def test_unsorted_rows_give_the_forecasts_of_sorted_rows_in_the_order_of_the_input(kind):
    frame = nixtla(kind == "quantiles") if kind != "panel" else panel()
    frame = cross_validated(every=1).drop(columns="step") if kind == "overlapping" else frame
    keys = ["unique_id", "ds", *(["cutoff"] if "cutoff" in frame else [])]
    mixed = shuffled(frame)
    told, other = hn.combine(frame, "y", by="unique_id"), hn.combine(mixed, "y", by="unique_id")
    assert not other.to_frame()[keys].reset_index(drop=True).equals(told.to_frame()[keys])  # the control: not sorted
    assert other.to_frame()[keys].reset_index(drop=True).equals(mixed[keys].reset_index(drop=True))
    expected, found = (one.to_frame().set_index(keys).sort_index() for one in (told, other))
    pandas.testing.assert_frame_equal(found, expected, check_exact=True)
    assert told.table.sorted_by == ()
    assert other.table.sorted_by == (("unique_id", "cutoff", "ds") if "cutoff" in frame else ("unique_id", "ds"))
    assert "sorted by unique_id" in str(other)
    assert "sorted by" not in str(told)
    assert sorted(told.table.keys) == sorted(other.table.keys)


def test_unsorted_rows_never_see_a_target_early():
    """Each target changes only forecasts that were issued at its time or later, in whatever order the rows come."""
    frame = shuffled(nixtla())
    told = [hn.combine(frame, "y", by="unique_id", pooled=pooled).forecast for pooled in (False, None)]
    row = 17
    assert np.isfinite(frame.y.iloc[row])
    changed = frame.copy()
    same = (frame.unique_id == frame.unique_id.iloc[row]) & (frame.ds == frame.ds.iloc[row])
    changed.loc[same, "y"] += 1000.0
    for pooled, before in zip((False, None), told, strict=True):
        moved = hn.combine(changed, "y", by="unique_id", pooled=pooled).forecast != before
        assert moved.any()
        assert (frame.cutoff[moved] >= frame.ds.iloc[row]).all()
        # On their own, only rows of the same series move; by default, rows of other series move too.
        assert (frame.unique_id[moved] == frame.unique_id.iloc[row]).all() == (pooled is False)


def test_duplicates_in_unsorted_rows_are_errors():
    frame = panel()
    double = shuffled(pandas.concat([frame, frame.iloc[[7]]], ignore_index=True))
    places = sorted(int(k) + 1 for k in np.flatnonzero(double.index.isin([7, len(frame)])))
    with pytest.raises(BadTable, match=rf"row {places[1]} .*times of a series must be unique.*as in row {places[0]}$"):
        hn.combine(double, "y", by="unique_id")
    crossed = shuffled(nixtla())
    with pytest.raises(BadTable, match=r"times of a series must be unique for one 'cutoff'"):
        hn.combine(pandas.concat([crossed, crossed.iloc[:1]]), "y", by="unique_id")


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_unsorted_files_are_written_in_their_own_order(kind, tmp_path):
    frame, file = shuffled(nixtla()), tmp_path / f"f.{kind}"
    frame.to_csv(file, index=False) if kind == "csv" else frame.to_parquet(file, index=False)
    arguments = [str(file), "--target", "y", "--by", "unique_id", "--out", str(tmp_path / "out"), "--json"]
    said = CliRunner().invoke(command, arguments, catch_exceptions=False)
    assert json.loads(said.stdout)["sorted_by"] == ["unique_id", "cutoff", "ds"]
    written = tmp_path / "out" / f"combined.{kind}"
    out = pandas.read_parquet(written) if kind == "parquet" else pandas.read_csv(written, float_precision="round_trip")
    assert out.unique_id.tolist() == frame.unique_id.tolist()
    assert pandas.to_datetime(out.ds).tolist() == frame.ds.tolist()
    assert out.forecast.tolist() == hn.combine(frame, "y", by="unique_id").forecast.tolist()


@pytest.mark.parametrize("options", [{"quantiles": False}, {"loss": "squared"}, {"loss": "MAE", "quantiles": False}])
def test_interval_columns_are_not_point_forecasts(options, tmp_path):
    frame = nixtla(quantiles=True)
    plain = frame[["unique_id", "ds", "cutoff", "y", "Naive", "AutoARIMA"]]
    told = hn.combine(frame, "y", by="unique_id", **options)
    assert told.experts == ("Naive", "AutoARIMA")
    assert (told.forecast == hn.combine(plain, "y", by="unique_id", **options).forecast).all()
    assert len(told.left_out) == 8
    assert "ignored" in str(told)
    assert "8 columns of quantiles: 'Naive-lo-80'" in str(told)
    assert told.to_dict()["left_out"] == [name for name in frame if "-lo-" in name or "-hi-" in name]
    one = frame[frame.unique_id == "a"].drop(columns="unique_id")
    alone = hn.combine(one, "y", time="ds", issued="cutoff", **options)
    assert alone.experts == ("Naive", "AutoARIMA")
    assert alone.summary.left_out == told.left_out
    assert "8 columns of quantiles" in str(alone)
    # The control: named columns are combined, whatever their names are.
    named = hn.combine(frame, "y", by="unique_id", experts=["Naive", "Naive-lo-80", "AutoARIMA-lo-80"], **options)
    assert named.experts == ("Naive", "Naive-lo-80", "AutoARIMA-lo-80")
    assert named.left_out == ()
    one.to_csv(tmp_path / "one.csv", index=False)
    frame.to_csv(tmp_path / "many.csv", index=False)
    said = ["--loss", options.get("loss", "absolute"), *(["--quantiles", "none"] if "quantiles" in options else [])]
    for file, more in (("one.csv", ["--time", "ds", "--issued", "cutoff"]), ("many.csv", ["--by", "unique_id"])):
        arguments = [str(tmp_path / file), "--target", "y", *more, *said, "--json"]
        read = json.loads(CliRunner().invoke(command, arguments, catch_exceptions=False).stdout)
        assert [one["name"] for one in read["experts"]] == ["Naive", "AutoARIMA"]
        assert read["left_out"] == list(told.left_out)


def test_medians_are_point_forecasts_and_other_quantiles_are_not():
    frame = nixtla(quantiles=True).drop(columns=["Naive", "AutoARIMA"])
    with pytest.raises(BadTable, match=r"point forecasts.*only quantiles, 'Naive-lo-80'.*experts="):
        hn.combine(frame, "y", by="unique_id", quantiles=False)
    medians = frame.assign(**{f"{name}-median": frame[f"{name}-lo-80"] + 2.0 for name in ("Naive", "AutoARIMA")})
    told = hn.combine(medians, "y", by="unique_id", quantiles=False)
    assert told.experts == ("Naive-median", "AutoARIMA-median")
    one_level = frame[["unique_id", "ds", "cutoff", "y", "Naive-hi-80", "AutoARIMA-hi-80"]]
    assert hn.combine(one_level, "y", "pinball:0.9", by="unique_id").experts == ("Naive-hi-80", "AutoARIMA-hi-80")


@pytest.mark.parametrize("quantiles", [False, True])
def test_results_have_the_type_of_the_input_frame(quantiles):
    polars, pyarrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    frame = nixtla(quantiles)
    expected = hn.combine(frame, "y", by="unique_id")
    one = frame[(frame.unique_id == "a") & (frame.ds - frame.cutoff == pandas.Timedelta(days=1))]
    alone = hn.combine(one.drop(columns=["unique_id", "cutoff"]), "y", time="ds")
    for make, kind in (
        (polars.from_pandas, polars.DataFrame), (lambda f: polars.from_pandas(f).lazy(), polars.DataFrame),
        (lambda f: pyarrow.Table.from_pandas(f, preserve_index=False), pyarrow.Table), (lambda f: f, pandas.DataFrame),
    ):  # fmt: skip
        told = hn.combine(make(frame), "y", by="unique_id")
        single = hn.combine(make(one.drop(columns=["unique_id", "cutoff"])), "y", time="ds")
        for found, wanted in (
            (told.to_frame(), expected.to_frame()), (told.weights_frame(), expected.weights_frame()),
            (single.to_frame(), alone.to_frame().reset_index(drop=True)),
            (single.weights_frame(), alone.weights_frame()),
        ):  # fmt: skip
            assert type(found) is kind
            as_pandas = found if kind is pandas.DataFrame else found.to_pandas()
            pandas.testing.assert_frame_equal(as_pandas.reset_index(drop=True), wanted, check_dtype=False)
    joined = polars.from_pandas(frame).join(
        hn.combine(polars.from_pandas(frame), "y", by="unique_id").to_frame(), on=["unique_id", "ds", "cutoff"]
    )
    assert joined.height == len(frame)


def test_one_expert_is_nothing_to_combine(tmp_path):
    frame = panel(3, holes=0.0)[["unique_id", "ds", "y", "m0"]]
    told = hn.combine(frame, "y", by="unique_id")
    one = hn.combine(frame[frame.unique_id == "s0"].drop(columns="unique_id"), "y", time="ds")
    assert (told.forecast == frame.m0).all()
    for result in (told, one):
        assert "nothing to combine: 'm0' is the only model" in str(result)
        assert result.to_dict()["answer"] == "nothing to combine: 'm0' is the only model"
    assert "nothing to combine" not in str(hn.combine(panel(3), "y", by="unique_id"))
    waiting = frame.assign(y=np.nan)
    assert "nothing to combine" in str(hn.combine(waiting, "y", by="unique_id"))
    frame.to_csv(tmp_path / "f.csv", index=False)
    said = CliRunner().invoke(command, [str(tmp_path / "f.csv"), "--target", "y", "--by", "unique_id"])
    assert "nothing to combine: 'm0' is the only model" in said.stdout


#: Without the delay of a second, so that a small panel has a progress bar.
EAGER = "import hannan.games.driver as p; p.DELAY = 0.0; from hannan.cli import main; main()"


@pytest.mark.parametrize(
    ("options", "seen"), [([], True), (["--pooled"], True), (["--prior", "pool"], True), (["--json"], False)]
)
def test_progress_bar_is_shown_on_a_terminal_without_json(options, seen, tmp_path):
    panel(8).to_csv(tmp_path / "f.csv", index=False)
    arguments = [sys.executable, "-c", EAGER, "combine", str(tmp_path / "f.csv"), "--target", "y", "--by", "unique_id"]
    screen, terminal = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    with subprocess.Popen([*arguments, *options], stdout=subprocess.PIPE, stderr=terminal, env=environment) as running:
        os.close(terminal)
        out, shown = running.stdout.read(), b""
        try:
            while part := os.read(screen, 4096):
                shown += part
        except OSError:  # the other end is closed
            pass
    os.close(screen)
    assert running.returncode == 0
    assert (b"reading" in shown and b"combining" in shown) == seen
    assert shown == b"" or seen
    assert b"combining" not in out
    quiet = subprocess.run([*arguments, *options], capture_output=True, check=True)
    assert quiet.stderr == b""  # the control: no terminal, no bar
    assert quiet.stdout == out


def test_progress_bar_counts_every_row_of_every_pass(monkeypatch):
    from hannan.tables.combine import panel as passes

    seen = []

    class Counted(passes.Progress):
        def __init__(self, rounds, task="playing", show=True):
            super().__init__(rounds, task, show)
            seen.append([rounds, 0])

        def update(self, played):
            assert seen[-1][1] <= played <= seen[-1][0]
            seen[-1][1] = played

    monkeypatch.setattr(passes, "Progress", Counted)
    monkeypatch.setattr("hannan.tables.combine.panel.STRETCH", 7)
    frame, quantiled = panel(), nixtla(quantiles=True).drop(columns=["Naive", "AutoARIMA"])
    whole = hn.combine(frame, "y", by="unique_id", pooled=True).forecast
    hn.combine(frame, "y", by="unique_id")
    hn.combine(quantiled, "y", by="unique_id", per_quantile=True)
    hn.combine(quantiled, "y", by="unique_id", per_quantile=True, pooled=True)
    rows, more = len(frame), len(quantiled)
    assert seen == [[2 * rows] * 2, [3 * rows] * 2, [6 * more] * 2, [2 * more] * 2]
    monkeypatch.undo()
    assert (hn.combine(frame, "y", by="unique_id", pooled=True).forecast == whole).all()


def several(series=3):
    """Series in the format of cross_validation, with errors of different sizes."""
    parts = []
    for k in range(series):
        part, rng = cross_validated().drop(columns="step"), np.random.default_rng(k)
        for name in ("naive", "drift"):
            part[name] += rng.normal(size=len(part)) * (1 + k)
        parts.append(part.assign(unique_id=f"s{k}"))
    return pandas.concat(parts, ignore_index=True)


def test_columns_of_nixtla_are_found_by_their_names(tmp_path):
    """`unique_id`, `ds`, `cutoff` and `y` need no arguments; the control: other names are not found."""
    frame = several()
    named = hn.combine(frame, "y", by="unique_id", time="ds", issued="cutoff")
    assert (hn.combine(frame).forecast == named.forecast).all()
    assert (hn.combine(frame.set_index("unique_id")).forecast == named.forecast).all()
    frame.to_csv(tmp_path / "cv.csv", index=False)
    told = json.loads(CliRunner().invoke(command, [str(tmp_path / "cv.csv"), "--json"], catch_exceptions=False).stdout)
    assert told["by"] == ["unique_id"]
    assert told["scaled_loss"]["combination"] == pytest.approx(named.summary.scaled.combined)
    with pytest.raises(BadTable, match="ids"):
        hn.combine(frame.rename(columns={"unique_id": "ids"}))
    # A frame of one series without its name has times and issue times.
    one = frame[frame.unique_id == frame.unique_id.iloc[0]].drop(columns="unique_id").sort_values(["cutoff", "ds"])
    assert hn.combine(one).time == "ds"
    assert hn.combine(one, experts=[c for c in one if c not in ("ds", "cutoff", "y")]).time == "ds"


def test_scaled_losses_do_not_depend_on_the_units_of_a_series():
    """The control: sums of losses are, and a series with large numbers decides them."""
    frame = several(4)
    large = frame.copy()
    rows = large.unique_id == large.unique_id.iloc[0]
    large.loc[rows, [c for c in large if c not in ("unique_id", "ds", "cutoff")]] *= 1024.0
    told, other = (hn.combine(x, pooled=False).summary for x in (frame, large))
    assert other.scaled.combined == pytest.approx(told.scaled.combined, rel=1e-9)
    assert other.headline == told.headline
    assert [one.combined for one in other.steps] == pytest.approx([one.combined for one in told.steps], rel=1e-9)
    assert other.total > 10.0 * told.total


def test_scaled_losses_equal_a_second_computation():
    """By series and by horizon, with missing forecasts, from the rows of the frame."""
    frame = several()
    models = [c for c in frame if c not in ("unique_id", "ds", "cutoff", "y")]
    frame.loc[frame.index[::7], models[0]] = np.nan
    panel = hn.combine(frame)
    frame["ours"] = np.abs(panel.forecast - frame.y)
    frame["mean"] = np.abs(frame[models].mean(axis=1) - frame.y)
    frame["scale"] = frame.groupby("unique_id")["mean"].transform("sum")
    ours, mean = frame.ours / frame.scale, frame["mean"] / frame.scale
    assert panel.summary.scaled.combined == pytest.approx(ours.groupby(frame.unique_id).sum().mean())
    frame["lead"] = frame.groupby(["unique_id", "cutoff"]).ds.rank().astype(int)
    for one in panel.summary.steps:
        rows = frame.lead == one.horizon
        assert (one.rows, one.combined) == (rows.sum(), pytest.approx(ours[rows].sum() / mean[rows].sum()))
    first = np.abs(frame[models[0]] - frame.y) / frame.scale
    seen = first.notna()
    share = panel.summary.scaled.models[0] / panel.summary.scaled.means[0]
    assert share == pytest.approx(first[seen].sum() / mean[seen].sum())
