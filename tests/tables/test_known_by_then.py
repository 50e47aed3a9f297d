"""No target is used before it is known: issue and target times without series, and series that start from the pool."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from click.testing import CliRunner
from naive_combine import TwoLayers

import hannan as hn
from hannan.cli.combine import command
from hannan.tables.read.table import BadTable

pandas = pytest.importorskip("pandas")


def horizons(days=40, seed=3):
    """Three steps ahead from each issue day: several horizons in one table, targets known on their own day."""
    rng, rows = np.random.default_rng(seed), []
    y = rng.normal(size=days).cumsum()
    stamps = pandas.date_range("2024-01-01", periods=days)
    for c in range(5, days - 4, 2):
        for h in (1, 2, 3):
            rows.append({"made": stamps[c], "day": stamps[c + h], "y": y[c + h], "naive": y[c] + rng.normal(),
                         "drift": y[c] + h * (y[c] - y[0]) / c})  # fmt: skip
    return pandas.DataFrame(rows)


def by_hand(frame, loss="absolute"):
    """The combiner with every target given on its own day, in the order of the rows."""
    combiner, waiting, told = hn.Combiner(["naive", "drift"], loss), [], []
    for t, row in enumerate(frame.itertuples()):
        for k in [k for k in waiting if frame.day[k] <= row.made and not np.isnan(frame.y[k])]:
            combiner.settle(k, frame.y[k])
            waiting.remove(k)
        told.append(combiner.answer(t, [row.naive, row.drift]))
        waiting.append(t)
    return np.array(told)


def test_issue_and_target_times_without_series(tmp_path):
    frame = horizons()
    frame.loc[[4, len(frame) - 1], "y"] = np.nan
    told = hn.combine(frame, "y", issued="made", target_time="day")
    np.testing.assert_allclose(told.forecast, by_hand(frame), rtol=1e-12)
    # As one series of a long table.
    one = hn.combine(frame.assign(id="a"), "y", by="id", issued="made", target_time="day")
    np.testing.assert_allclose(told.forecast, one.forecast, rtol=1e-12)
    assert told.summary.settled == len(frame) - 2
    assert told.summary.forecasts[-1].time == str(frame.day.iloc[-1].isoformat())
    # A target that is given earlier would have been used: the control.
    assert abs(told.forecast - hn.combine(frame[["naive", "drift", "y"]], "y").forecast).max() > 1e-3
    frame.to_csv(tmp_path / "f.csv", index=False)
    arguments = [str(tmp_path / "f.csv"), "--target", "y", "--issued", "made", "--target-time", "day", "--json"]
    said = json.loads(CliRunner().invoke(command, arguments, catch_exceptions=False).stdout)
    assert said["mixture"]["total"] == pytest.approx(told.summary.mix_loss)
    assert said["promises"][0]["realised"] <= said["promises"][0]["bound"]


@pytest.mark.parametrize("row", [0, 10, 30])
def test_a_forecast_never_depends_on_a_target_that_was_not_known(row):
    frame = horizons()
    other = frame.copy()
    other.loc[frame.day == frame.day[row], "y"] += 50.0
    told = [hn.combine(f, "y", issued="made", target_time="day").forecast for f in (frame, other)]
    known = frame.made >= frame.day[row]
    assert (told[0][~known] == told[1][~known]).all()
    assert (told[0][known] != told[1][known]).any()


@pytest.mark.parametrize(
    ("change", "options", "match"),
    [
        (lambda f: pandas.concat([f, f.iloc[-1:]]), {}, r"row \d+: .*unique within an issue time"),
        (lambda f: f.assign(day=f.made), {}, r"row 1: .*'day'.*later than the issue time"),
        (lambda f: f.assign(day=range(len(f))), {}, "'made' and 'day' must have times of the same kind"),
        (lambda f: f.assign(made=["", *map(str, f.made[1:])]), {}, "column 'made': a time is required"),
        (
            lambda f: f.assign(y=[f.y[0], f.y[1], 77.0, *f.y[3:]]),
            {},
            r"row 4: .*'day'.*got -?[0-9.]+, and 77 in row 3",
        ),
        (lambda f: f, {"experts": ["naive", "made"]}, "'made' as the issue times and as an expert"),
        (lambda f: f, {"target_time": None}, "issued and target_time are required together"),
        (lambda f: f, {"issued": None}, "issued and target_time are required together"),
        (lambda f: f, {"time": "made"}, "got 'made' and 'day'"),
        (lambda f: f, {"horizon": 2}, "got horizon=2"),
    ],
)
def test_invalid_times_are_rejected(change, options, match):
    with pytest.raises(ValueError, match=match):
        hn.combine(change(horizons()), "y", **{"issued": "made", "target_time": "day", **options})


# Series that start from the pool


def launches(late=False):
    """Old series from the first day; new ones begin later, each on a different day."""
    rng, parts = np.random.default_rng(1), []
    for s in range(6):
        first, rows = (0 if s < 3 else 10 + 3 * s), 40
        y = rng.normal(size=rows).cumsum()
        part = {"unique_id": f"s{s}", "ds": pandas.date_range("2024-01-01", periods=rows + first)[first:], "y": y}
        parts.append(pandas.DataFrame({**part, **{f"m{k}": y + rng.normal(size=rows) * (k + 1) for k in range(3)}}))
    return pandas.concat(parts, ignore_index=True)


@pytest.mark.parametrize("horizon", [1, 3])
def test_new_series_start_from_the_pool_of_their_first_day(horizon):
    """The prior of a series is .9 of the pool's weights from targets known on its first day, and .1 uniform.

    The pool combines forecasts and targets in units of the mean spread of their series so far.
    """
    frame = launches()
    columns = frame[["m0", "m1", "m2"]]
    spread = (columns.sub(columns.mean(axis=1), axis=0)).abs().mean(axis=1)
    scale = spread.groupby(frame.unique_id).cumsum() / (frame.groupby("unique_id").cumcount() + 1)
    told = hn.combine(frame, "y", by="unique_id", prior="pool", pooled=False, horizon=horizon)
    days = sorted(set(frame.ds))
    for s in range(6):
        first = frame.ds[frame.unique_id == f"s{s}"].iloc[0]
        pool, names = hn.Combiner(3), ["m0", "m1", "m2"]
        for d, day in enumerate(days[: days.index(first) + 1]):
            for t in frame.index[frame.ds == days[d - horizon]] if d >= horizon else []:
                pool.settle(int(t), frame.y[t] / scale[t])
            if day < first:
                for t in frame.index[frame.ds == day]:
                    pool.answer(int(t), frame.loc[t, names].to_numpy(dtype=float) / scale[t])
        prior = 0.9 * pool.weights() + 0.1 / 3
        np.testing.assert_allclose(told.started[s], prior, rtol=1e-9)
        # The series is a combiner with that prior, and its bound has ln(P/pi).
        alone, rows = TwoLayers(3, prior), frame[frame.unique_id == f"s{s}"].reset_index()
        waiting = {}
        for t, row in enumerate(rows.itertuples()):
            if t - horizon in waiting:
                open_row, y = waiting.pop(t - horizon)
                alone.settle(open_row, lambda x, y=y: float(np.sign(x - y)), abs(open_row["f"] - y))
            waiting[t] = alone.answer(np.array([row.m0, row.m1, row.m2])), row.y
            assert told.forecast[row.index] == pytest.approx(waiting[t][0]["x"], rel=1e-9)
    assert (told.started[3] != told.started[4]).any()
    assert "of the pool of all series when each series began" in str(told)


def test_the_bound_of_a_prior_is_ln_p_over_pi():
    frame = launches()
    told = hn.combine(frame, "y", learner="b", by="unique_id", prior="pool")
    even = hn.combine(frame, "y", learner="b", by="unique_id", pooled=False)
    realised = told.mixture[:, None] - told.losses
    assert (realised <= told.bounds).all()
    prior = told.started[5]
    b = hn.Combiner(3, learner="b", prior=prior)
    for t, row in enumerate(frame[frame.unique_id == "s5"].itertuples()):
        b.answer(t, [row.m0, row.m1, row.m2])
        b.settle(t, row.y)
    layer = b.mixer.layer("b")
    rest = layer["spent"] + layer["drift"] + layer["still"]
    np.testing.assert_allclose(told.bounds[5], np.log(layer["grown"] / prior) / layer["rate"] + rest, rtol=1e-9)
    # The bound for the column with the largest initial weight is smaller than with uniform initial weights.
    best = int(np.argmax(prior))
    assert math.log(1.0 / prior[best]) < math.log(3.0)
    assert even.bounds is not None


def test_initial_weights_use_no_later_target():
    """Targets of the day on which a series begins, or later, do not change its initial weights."""
    frame = launches()
    first = frame.ds[frame.unique_id == "s3"].iloc[0]
    other = frame.copy()
    other.loc[other.ds >= first, "y"] += 100.0
    earlier = frame.copy()
    earlier.loc[frame.index[frame.ds < first][-1], "y"] += 100.0
    told = [hn.combine(f, "y", by="unique_id").started[3] for f in (frame, other, earlier)]
    assert (told[0] == told[1]).all()
    assert (told[0] != told[2]).any()


def test_pool_as_a_prior_in_the_command_and_invalid_options(tmp_path):
    frame = launches()
    frame.to_parquet(tmp_path / "f.parquet")
    arguments = [str(tmp_path / "f.parquet"), "--target", "y", "--by", "unique_id", "--prior", "pool", "--json"]
    said = json.loads(CliRunner().invoke(command, arguments, catch_exceptions=False).stdout)
    assert said["combination"]["total"] == pytest.approx(
        hn.combine(frame, "y", by="unique_id", prior="pool").mixture.sum()
    )
    for options, match in [
        ({"by": "unique_id", "prior": "poool"}, "weights of the columns or 'pool'; got 'poool'"),
        ({"by": "unique_id", "prior": "pool", "pooled": True}, "prior='pool' and pooled"),
        ({"by": "unique_id", "prior": "pool", "learner": "boa"}, "prior is for .*two-layers and b"),
        ({"prior": "pool", "time": "ds"}, "name their column with by="),
    ]:
        with pytest.raises(ValueError, match=match):
            hn.combine(frame if "by" in options else frame.drop(columns="unique_id"), "y", **options)
    with pytest.raises(BadTable):
        hn.combine(frame, "y", by="nobody", prior="pool")
