"""`hn.combine(coverage=)`: intervals of tables, panels and files, equal to the live ones, with exact counts."""

from __future__ import annotations

import csv
import json
import math

import numpy as np
import pytest
from click.testing import CliRunner
from rejections import rejected

import hannan as hn
from hannan.cli.combine import command

ROWS = 300


def table_of(seed=0, rows=ROWS, missing=()):
    rng = np.random.default_rng(seed)
    y = 10.0 + np.cumsum(rng.normal(scale=0.3, size=rows))
    table = {name: y + rng.normal(scale=scale, size=rows) for name, scale in (("a", 1.0), ("b", 1.5), ("c", 0.5))}
    y = y + rng.normal(size=rows)
    y[list(missing)] = np.nan
    return {**table, "y": y}


def forecasts_of(table):
    return np.stack([table[name] for name in table if name not in ("y", "hour", "ds")], axis=1)


def counted(intervals, targets, rows=slice(None)):
    """Return (rows, below, above) of the rows with a target and a finite interval."""
    low, high = intervals[rows].T
    y = np.asarray(targets)[rows]
    kept = np.isfinite(low) & ~np.isnan(y)
    return int(kept.sum()), int((y < low)[kept].sum()), int((y > high)[kept].sum())


def of(one, k=-1):
    return one.rows, one.below[k], one.above[k]


@pytest.mark.parametrize("horizon", [1, 7])
@pytest.mark.parametrize("missing", [(), (40, 41, 120, ROWS - 1)])
def test_table_is_live_to_the_last_bit(horizon, missing, monkeypatch):
    monkeypatch.setattr("hannan.tables.combine.run.CHUNK", 64)
    table = table_of(missing=missing)
    combined = hn.combine(table, "y", coverage=0.8, horizon=horizon)
    live, ends, forecasts = hn.Conformal(["a", "b", "c"], 0.8), [], forecasts_of(table)
    for t in range(ROWS):
        if t >= horizon and t - horizon in live.open:
            live.settle(t - horizon, table["y"][t - horizon])
        ends.append(live.answer(t, forecasts[t]))
        if math.isnan(table["y"][t]):
            live.forget(t)
    for t in live.open:
        live.settle(t, table["y"][t])
    assert (np.array(ends) == combined.interval).all()
    told, expected = combined.certificate, live.certificate()
    assert of(told.groups[0]) == of(expected.groups[0]) == counted(combined.interval, table["y"])
    assert (told.cost, told.cost_bound, told.beyond) == (expected.cost, expected.cost_bound, expected.beyond)
    assert (told.open, told.most_open) == (expected.open, expected.most_open) == (0, horizon)
    # Control: the intervals of another horizon have other counts.
    other = hn.combine(table, "y", coverage=0.8, horizon=horizon + 5)
    assert (other.interval != combined.interval).any()


def test_point_forecasts_do_not_depend_on_intervals():
    table = table_of()
    plain, covered = hn.combine(table, "y"), hn.combine(table, "y", coverage=[0.5, 0.9])
    assert (plain.forecast == covered.forecast).all()
    frame = covered.to_frame()
    assert list(frame.columns[:5]) == ["forecast", "low-50", "high-50", "low-90", "high-90"]
    assert (frame["low-90"] <= frame["low-50"]).all()
    assert covered.intervals.shape == (ROWS, 2, 2)
    with pytest.raises(ValueError, match="coverage"):
        plain.interval  # noqa: B018
    with pytest.raises(ValueError, match="coverage"):
        plain.certificate  # noqa: B018


def test_groups_are_columns_or_parts_of_the_times():
    table = table_of()
    days = np.datetime64("2026-01-01T00") + np.arange(ROWS).astype("timedelta64[h]")
    shop = np.where(np.arange(ROWS) % 3 == 0, "north", "south")
    combined = hn.combine(
        {**table, "ds": days, "shop": shop}, "y", time="ds", coverage=0.8, groups=["hour", "shop"]
    )  # fmt: skip
    assert combined.experts == ("a", "b", "c")
    groups = {one.name: one for one in combined.certificate.groups}
    assert len(groups) == 1 + 24 + 2
    for name, rows in (("shop north", shop == "north"), ("hour 7", np.arange(ROWS) % 24 == 7)):
        assert of(groups[name]) == counted(combined.interval, table["y"], rows)
        assert of(groups[name]) != counted(combined.interval, table["y"], ~rows)  # control
    with pytest.raises(hn.Withheld, match="within"):
        combined.certificate.bound()


def test_quantile_columns_are_the_base():
    rng = np.random.default_rng(1)
    center = rng.normal(size=ROWS)
    table = {}
    for name, width in (("narrow", 0.4), ("wide", 0.8)):
        for level, reach in ((80, 1.28), (90, 1.64)):
            table[f"{name}-lo-{level}"], table[f"{name}-hi-{level}"] = center - width * reach, center + width * reach
    table["y"] = center + rng.normal(size=ROWS)
    combined = hn.combine(table, "y", coverage=0.9)
    inside = (combined.forecast[:, 0] <= table["y"]) & (table["y"] <= combined.forecast[:, -1])
    assert combined.certificate.coverage > inside.mean() + 0.03
    assert combined.certificate.warm_up == 0
    assert np.isfinite(combined.interval).all()
    assert of(combined.certificate.groups[0]) == counted(combined.interval, table["y"])
    live = hn.Conformal([name for name in table if name != "y"], 0.9)
    for t in range(ROWS):
        assert live.answer(t, {name: table[name][t] for name in live.columns}) == tuple(combined.interval[t])
        live.settle(t, table["y"][t])
    rejected(lambda: hn.combine(table, "y", coverage=0.7), "coverage", "0.15")


def test_late_rows_that_supply_targets(monkeypatch):
    monkeypatch.setattr("hannan.tables.combine.run.CHUNK", 32)
    table, rows = table_of(rows=120), []
    for t in range(120):
        late = t % 3 == 0
        cells = [float(table[name][t]) for name in ("a", "b", "c")]
        rows.append((f"2026-01-01T00:{t // 60:02d}:{t % 60:02d}", *cells, math.nan if late else float(table["y"][t])))
        if t % 3 == 2 and t > 40:
            was = t - 41 - (t - 41) % 3
            rows.append((f"2026-01-01T00:{was // 60:02d}:{was % 60:02d}", *[math.nan] * 3, float(table["y"][was])))
    columns = dict(zip(("day", "a", "b", "c", "y"), map(list, zip(*rows, strict=True)), strict=True))
    combined = hn.combine(columns, "y", time="day", coverage=0.8)
    live, ends, ids = hn.Conformal(["a", "b", "c"], 0.8), [], {}
    for when, *cells, y in rows:
        if not math.isnan(cells[0]):
            ends.append(live.answer(when, cells))
            ids[when] = len(ids)
        if not math.isnan(y):
            live.settle(when, y)
    assert (np.array(ends) == combined.interval).all()
    assert of(combined.certificate.groups[0]) == of(live.certificate().groups[0])
    assert combined.certificate.open == len(live.open) - combined.certificate.warming > 0


def panel_of(series=3, rows=80):
    parts = [table_of(seed, rows) for seed in range(series)]
    table = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    table["unique_id"] = np.repeat([f"s{k}" for k in range(series)], rows)
    table["ds"] = np.tile(np.arange(rows, dtype=float), series)
    return table


@pytest.mark.parametrize("horizon", [1, 5])
def test_panel_has_one_certificate_per_series(horizon):
    table = panel_of()
    order = np.random.default_rng(0).permutation(len(table["y"]))
    panel = hn.combine({name: column[order] for name, column in table.items()}, "y", by="unique_id", coverage=0.8,
                       horizon=horizon, pooled=False)  # fmt: skip
    back = np.argsort(order)
    for k in range(3):
        rows = table["unique_id"] == f"s{k}"
        alone = hn.combine({name: table[name][rows] for name in ("a", "b", "c", "y")}, "y", coverage=0.8,
                           horizon=horizon)  # fmt: skip
        place = [key[0] for key in panel.table.keys].index(f"s{k}")
        assert (panel.interval[back][rows] == alone.interval).all()
        assert panel.coverage.series[place].groups == alone.certificate.groups
    assert of(panel.certificate.groups[0]) == counted(panel.interval, table["y"][order])
    assert panel.certificate.series == 3
    assert list(panel.to_frame().columns) == ["unique_id", "ds", "forecast", "low", "high"]
    bound = panel.certificate.bound(within=50.0)
    alone = panel.coverage.series[0].bound(within=50.0)
    assert bound == pytest.approx(alone)


def test_panel_with_cutoffs_and_groups():
    table = panel_of(2, 90)
    leads = np.tile(np.arange(180) % 3 + 1.0, 1)
    table["cutoff"] = table["ds"] - leads
    table["lead"] = leads.astype(int)
    panel = hn.combine(table, "y", by="unique_id", coverage=0.8, groups=["lead"])
    groups = {one.name: one for one in panel.certificate.groups}
    assert panel.experts == ("a", "b", "c")
    for lead in (1, 2, 3):
        assert of(groups[f"lead {lead}"]) == counted(panel.interval, table["y"], table["lead"] == lead)


def test_summary_page_and_files(tmp_path):
    table = table_of()
    combined = hn.combine(table, "y", coverage=[0.5, 0.9])
    told = combined.to_dict()["coverage"]
    assert told["coverages"][1]["coverage"] == combined.certificate.coverage
    assert told["mean_width"][0] < told["mean_width"][1]
    low, high = combined.interval.T
    kept = np.isfinite(low)
    assert told["mean_width"][1] == pytest.approx((high - low)[kept].mean())
    score = high - low + 20.0 * (np.maximum(low - table["y"], 0.0) + np.maximum(table["y"] - high, 0.0))
    assert told["mean_winkler_score"][1] == pytest.approx(score[kept].mean())
    assert told["over_time"]["rows"][-1] == ROWS
    assert len(told["over_time"]["rows"]) == len(told["over_time"]["coverage"])
    assert "Intervals" in str(combined)
    combined.save(tmp_path / "out")
    with (tmp_path / "out" / "combined.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert float(rows[-1]["high-90"]) == combined.intervals[-1, 1, 1]
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["coverage"]["settled"] == ROWS - 20


@pytest.mark.parametrize("side", ["lower", "upper"])
def test_one_sided_intervals_are_those_of_conformal(side, tmp_path):
    """One column per coverage, with the rates of one end; the control has two ends."""
    pytest.importorskip("altair")
    table = table_of(missing=(ROWS - 1,))
    combined, live = hn.combine(table, coverage=[0.6, 0.9], side=side), hn.Conformal(3, [0.6, 0.9], side=side)
    ends, forecasts = [], forecasts_of(table)
    for t in range(ROWS):
        ends.append(live.answer(t, forecasts[t]))
        if t < ROWS - 1:
            live.settle(t, table["y"][t])
    assert (np.array(ends) == combined.intervals).all()
    end = {"lower": "low", "upper": "high"}[side]
    assert list(combined.to_frame().columns[:3]) == ["forecast", f"{end}-60", f"{end}-90"]
    assert combined.certificate.rates == (0.4, 0.1)
    assert hn.combine(table, coverage=[0.6, 0.9]).certificate.rates == (0.2, 0.05)
    told = combined.summary.forecasts[-1].text
    assert ("at least" in told, "at most" in told) == (side == "lower", side == "upper")
    layers = combined.plot("fan").to_dict()["layer"]
    assert len(layers) >= 4  # two ends, the forecast and the targets
    combined.save(tmp_path / "one")
    panel = hn.combine({**table, "unique_id": ["s"] * ROWS, "ds": np.arange(ROWS)}, coverage=0.9, side=side)
    assert list(panel.to_frame().columns[2:]) == ["forecast", end]
    path = tmp_path / "t.csv"
    path.write_text("a,b,y\n" + "".join(f"{t},{t + 1},{t + 2}\n" for t in range(30)))
    told = CliRunner().invoke(command, [str(path), "--coverage", "0.9", "--side", side, "--out", str(tmp_path / "o")])
    assert told.exit_code == 0, told.output
    assert (tmp_path / "o" / "combined.csv").read_text().splitlines()[0] == f"row,forecast,{end}"
    rejected(lambda: hn.combine(table, side=side), "side", "coverage")
    rejected(lambda: hn.combine(table, coverage=0.3, side=side), "coverage", "0.5", "0.3")


@pytest.mark.parametrize("by", [False, True])
def test_command_writes_low_and_high(by, tmp_path):
    table = panel_of(1, 120) if by else {**table_of(rows=120), "ds": np.arange(120.0)}
    table["shop"] = np.where(np.arange(120) % 2 == 0, "north", "south")
    with (tmp_path / "t.csv").open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(table)
        out.writerows(zip(*table.values(), strict=True))
    options = ["--by", "unique_id"] if by else ["--time", "ds"]
    options += ["--coverage", "0.8", "--groups", "shop", "--out", str(tmp_path / "out"), "--json"]
    ran = CliRunner().invoke(command, [str(tmp_path / "t.csv"), "--target", "y", *options])
    assert ran.exit_code == 0, ran.output
    summary = json.loads(ran.stdout)
    expected = hn.combine(
        table, "y", by="unique_id" if by else None, time="ds", coverage=0.8, groups=["shop"],
    )  # fmt: skip
    assert summary["coverage"]["coverages"][0]["below"] == expected.certificate.groups[0].below[0]
    assert {one["group"] for one in summary["coverage"]["groups"]} == {"shop north", "shop south"}
    with (tmp_path / "out" / "combined.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [float(rows[-1]["low"]), float(rows[-1]["high"])] == expected.interval[-1].tolist()


def test_lines_of_standard_input_have_intervals():
    table = table_of(rows=60)
    names = ["a", "b", "c", "y"]
    text = "\n".join([",".join(names), *(",".join(repr(float(table[n][t])) for n in names) for t in range(60))]) + "\n"
    ran = CliRunner().invoke(command, ["-", "--target", "y", "--coverage", "0.8"], input=text)
    assert ran.exit_code == 0, ran.output
    head, *lines = ran.stdout.splitlines()
    assert head.startswith("row,forecast,low,high,a")
    expected = hn.combine(table, "y", coverage=0.8)
    assert [float(x) for x in lines[-1].split(",")[2:4]] == expected.interval[-1].tolist()
    ran = CliRunner().invoke(command, ["-", "--target", "y", "--coverage", "0.8", "--json"], input=text)
    first, *_, last = (json.loads(line) for line in ran.stdout.splitlines()[:60])
    assert (first["low"], first["high"]) == (None, None)
    assert [last["low"], last["high"]] == expected.interval[-1].tolist()


def test_invalid_requests_are_rejected():
    table = table_of(rows=30)
    times = np.arange(30.0)
    for call, words in (
        (lambda: hn.combine(table, "y", coverage=1.5), ("coverage", "1.5")),
        (lambda: hn.combine(table, "y", groups=["a"]), ("groups", "coverage")),
        (lambda: hn.combine(table, "y", within=3.0), ("within", "coverage")),
        (lambda: hn.combine(table, "y", coverage=0.9, groups=["z"]), ("groups", "'z'")),
        (lambda: hn.combine(table, "y", coverage=0.9, groups=["hour"]), ("'hour'", "time")),
        (lambda: hn.combine(table, "y", coverage=0.9, groups=["y"]), ("'y'",)),
        (lambda: hn.combine(table, "y", coverage=0.9, experts=["a", "b"], groups=["a"]), ("'a'",)),
        (lambda: hn.combine({**table, "t": times}, "y", time="t", coverage=0.9, groups=["hour"]), ("'hour'", "row 1")),
        (lambda: hn.combine({**table, "g": [""] * 30}, "y", coverage=0.9, groups=["g"]), ("'g'", "row 1")),
        (lambda: hn.combine({**table, "a": np.full(30, 1e101)}, "y", coverage=0.9), ("forecasts", "row 1")),
        (lambda: hn.combine({**table, "y": np.full(30, 1e101)}, "y", coverage=0.9), ("targets", "row 1")),
    ):
        rejected(call, *words)
