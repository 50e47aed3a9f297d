"""`hn.Conformal`: live intervals, late targets, groups, saved files, and rejected input."""

from __future__ import annotations

import math

import numpy as np
import pytest
from naive_coverage import NaiveProposals
from rejections import rejected

import hannan as hn
from hannan import _engine, saving
from hannan.players.load import packed, unpacked
from hannan.tables.combine.coverage_certificate import SETTLED_ONLY


def play(live, rows, seed=0, late=0, first=0, groups=None, scale=1.0, shift=0.0, forget=0.0):
    """Rows of three forecasts; return (intervals, targets, settled rows, groups by row)."""
    rng, told, targets, settled, labels = np.random.default_rng(seed), {}, {}, [], {}
    for t in range(first, first + rows):
        mean = math.sin(t / 20)
        labels[t] = () if groups is None else groups(t)
        forecasts = scale * (mean + 0.2 * rng.normal(size=3)) + shift
        targets[t] = float(scale * (mean + rng.normal() * (1.0 if t < first + rows // 2 else 2.0)) + shift)
        told[t] = live.answer(t, forecasts, labels[t])
        while len(live.open) > late:
            row = live.open[int(rng.integers(len(live.open)))]
            if row >= first:
                if rng.random() < forget:
                    live.forget(row)
                    continue
                settled.append(row)
            live.settle(row, targets.get(row, 0.0))
    return told, targets, settled, labels


def recount(told, targets, settled, labels=None, group=None):
    """Return (rows, below, above, both) of the settled rows whose interval was not the whole line."""
    rows = [t for t in settled if math.isfinite(told[t][0]) and (group is None or group in labels[t])]
    below, above = [targets[t] < told[t][0] for t in rows], [targets[t] > told[t][1] for t in rows]
    return len(rows), sum(below), sum(above), sum(a and b for a, b in zip(below, above, strict=True))


def counts_of(one):
    return one.rows, one.below[0], one.above[0], one.both[0]


@pytest.mark.parametrize(("late", "forget"), [(0, 0.0), (25, 0.0), (25, 0.2)])
def test_certificate_equals_a_recount(late, forget):
    live = hn.Conformal(3, 0.8)
    told, targets, settled, labels = play(
        live, 500, late=late, forget=forget, groups=lambda t: (f"hour {t % 5}", "odd" if t % 2 else "even")
    )
    certificate = live.certificate()
    assert counts_of(certificate.groups[0]) == recount(told, targets, settled)
    for one in certificate.groups[1:]:
        assert counts_of(one) == recount(told, targets, settled, labels, one.name)
        for end in ("below", "above"):
            left, right = certificate.identity(one, end)
            assert left == pytest.approx(right, abs=1e-14)
    assert certificate.warm_up + certificate.rows == len(settled)
    # Control: ends other than those issued give other counts.
    moved = {t: (low + 0.3, high + 0.3) for t, (low, high) in told.items()}
    assert counts_of(certificate.groups[0]) != recount(moved, targets, settled)


def test_proposals_equal_the_oracle():
    rng, oracle, engine = np.random.default_rng(3), NaiveProposals(), _engine.Intervals(np.array([0.05, 0.95]))
    waiting = []
    for t in range(700):
        forecasts = rng.normal(size=4)
        forecasts[rng.random(4) < 0.1] = np.nan
        if np.isnan(forecasts).all():
            continue
        center = float(np.nanmean(forecasts))
        told, unit = engine.propose(t, center, forecasts)
        ticket, expected, scale = oracle.answer(center, forecasts)
        assert (told is None) == (expected is None)
        if told is not None:
            np.testing.assert_allclose(told.reshape(2, 14), expected, rtol=1e-9, atol=1e-12)
            assert unit == pytest.approx(scale)
        waiting.append((t, ticket))
        if len(waiting) > 3:
            row, ticket = waiting.pop(int(rng.integers(len(waiting))))
            y = float(rng.normal() * (1 + row % 7))
            engine.settle(row, y)
            oracle.settle(ticket, y)


def test_intervals_are_causal():
    """A target changes no interval that is issued before the row is settled."""
    both = []
    for y in (0.0, 50.0):
        live, told = hn.Conformal(2), []
        rng = np.random.default_rng(0)
        for t in range(80):
            told.append(live.answer(t, rng.normal(size=2)))
            if t >= 10:
                live.settle(t - 10, y if t - 10 == 50 else float(np.sin(t)))
        both.append(told)
    assert both[0][:61] == both[1][:61]
    assert both[0][61:] != both[1][61:]  # control


@pytest.mark.parametrize(("scale", "shift"), [(1000.0, 0.0), (1e-3, 0.0), (1.0, 64.0)])
def test_intervals_are_equivariant(scale, shift):
    plain, *_ = play(hn.Conformal(3), 200)
    moved, *_ = play(hn.Conformal(3), 200, scale=scale, shift=shift)
    ends = np.array(list(plain.values()))[20:]
    np.testing.assert_allclose(np.array(list(moved.values()))[20:], scale * ends + shift, rtol=1e-6, atol=1e-9 * scale)
    # Control: states that shift ends by fixed amounts.
    fixed = _engine.CoverageTracker(np.array([0.05]), True, True, 0.03, 0.1, 0.1)
    none = np.empty(0, dtype=np.int64)
    low = [fixed.issue(k, s * np.array([-1.0, 1.0]), 1.0, none)[0] for k, s in enumerate((1.0, 1000.0))]
    assert low[1] != pytest.approx(1000.0 * low[0])


def test_narrow_models_are_corrected():
    """All models are too narrow: the tracker covers, and its base does not (control)."""
    rng, rows = np.random.default_rng(0), 3000
    live = hn.Conformal(["a-lo-90", "a-hi-90", "b-lo-90", "b-hi-90"])
    inside, base = [], []
    for t in range(rows):
        noise = 1.0 if t < rows // 2 else 2.0
        low, high = live.answer(t, [-0.82, 0.82, -1.645, 1.645])
        points, y = live.point(t), float(noise * rng.normal())
        inside.append(low <= y <= high)
        base.append(points[0] <= y <= points[-1])
        live.settle(t, y)
    assert np.mean(base[rows // 2 :]) < 0.62
    assert abs(np.mean(inside[rows // 2 + 200 :]) - 0.9) < 0.02


def test_nested_and_one_sided_intervals():
    live = hn.Conformal(3, [0.95, 0.5])
    told, targets, settled, _ = play(live, 400, late=5)
    for pairs in told.values():
        assert pairs.shape == (2, 2)
        assert pairs[1, 0] <= pairs[0, 0]
        assert pairs[0, 1] <= pairs[1, 1]
    for k in range(2):
        of = {t: tuple(pairs[k]) for t, pairs in told.items()}
        group = live.certificate().groups[0]
        assert (group.rows, group.below[k], group.above[k], group.both[k]) == recount(of, targets, settled)
    assert list(live.certificate().levels) == [0.5, 0.95]
    for side, place in (("lower", 0), ("upper", 1)):
        live = hn.Conformal(3, 0.9, side=side)
        told, targets, settled, _ = play(live, 400)
        other = {row: ends[1 - place] for row, ends in told.items()}
        assert set(other.values()) == {math.inf if side == "lower" else -math.inf}
        kept = [t for t in settled if t >= 20]
        misses = sum(targets[t] < told[t][0] if side == "lower" else targets[t] > told[t][1] for t in kept)
        group = live.certificate().groups[0]
        assert (group.rows, group.below[0] + group.above[0]) == (len(kept), misses)
        assert abs(live.certificate().coverage - 0.9) < 0.04


@pytest.mark.parametrize("kind", ["points", "quantiles", "nested"])
def test_saved_intervals_resume_to_the_last_bit(kind, tmp_path):
    columns = ["a-lo-90", "a-hi-90", "b-lo-90", "b-hi-90"] if kind == "quantiles" else ["a", "b", "c"]
    live = hn.Conformal(columns, [0.8, 0.9] if kind == "nested" else 0.9, groups=["hour"], within=30.0)
    for rows in (5, 300):
        rng = np.random.default_rng(0)
        for t in range(rows, rows + rows):
            forecasts = np.sort(rng.normal(size=len(columns)))
            forecasts = forecasts if kind != "quantiles" else forecasts[[0, 2, 1, 3]]
            live.answer(t, forecasts, {"hour": t % 3})
            if t >= rows + 3:
                live.settle(t - 3, float(rng.normal()))
        live.save(tmp_path / "live.json")
        again = hn.load(tmp_path / "live.json")
        assert str(again.certificate()) == str(live.certificate())
        for t in range(1000, 1030):
            forecasts = [-1.0, 1.0, -2.0, 2.0] if kind == "quantiles" else [0.1 * (t % 7), 0.2, 0.3]
            assert np.array_equal(live.answer(t, forecasts, ["x"]), again.answer(t, forecasts, ["x"]))
            for one in (live, again):
                one.settle(t, 0.01 * (t % 11))
        for row in again.open:
            assert np.array_equal(live.point(row), again.point(row))
            for one in (live, again):
                one.settle(row, 0.0)
        assert str(again.certificate()) == str(live.certificate())
        assert not again.open


def test_crafted_files_are_rejected(tmp_path):
    live = hn.Conformal(["a", "b"], groups=["hour"])
    rng = np.random.default_rng(0)
    for t in range(60):
        live.answer(t, rng.normal(size=2), [t % 2])
        if t >= 2:
            live.settle(t - 2, float(rng.normal()))
    live.save(tmp_path / "live.json")

    def crafted(change):
        content = saving.read(tmp_path / "live.json")
        change(content)
        saving.write(tmp_path / "crafted.json", content)
        return tmp_path / "crafted.json"

    def numbers(place, at, value):
        def change(content):
            state = content["state"][place[0]]
            array = unpacked(state[place[1]])
            array[at] = value
            state[place[1]] = packed(array)

        return change

    attacks = [
        numbers(("tracker", "counts"), 1, 1e6), numbers(("tracker", "counts"), 0, 0.5),
        numbers(("tracker", "counts"), 0, -1.0), numbers(("tracker", "counts"), 3, 38.0),
        numbers(("tracker", "counts"), 0, 45.0), numbers(("tracker", "sums"), 0, math.nan),
        numbers(("intervals", "sums"), 1, 57.0), numbers(("intervals", "recent"), 0, -1.0),
        numbers(("intervals", "weight"), 0, 0.0),
        lambda content: content["state"].update(groups=["hour 0", "all"]),
        lambda content: content["state"].update(warming=[3]),
        lambda content: content["state"]["tracker"].update(open={}),
        lambda content: content["state"]["intervals"].update(windows=[]),
        lambda content: content["state"].update(counts=[-1, 0, 1]),
        lambda content: content.update(coverage=packed([1.5])),
        lambda content: content.update(kind="combiner"),
        lambda content: content["state"].pop("band"),
    ]  # fmt: skip
    assert hn.load(crafted(lambda content: None)).open == live.open  # control: an unchanged file loads
    for change in attacks:
        path = crafted(change)
        with pytest.raises(ValueError, match="crafted"):
            hn.load(path)


def test_errors_leave_the_state_unchanged():
    live = hn.Conformal(["a", "b"], groups=["hour"])
    play_rows(live, 40)
    before = str(live.certificate()), live.open
    live.answer("open", [0.0, 1.0], [1])
    rejected(lambda: live.answer("open", [0.0, 1.0], [1]), "open")
    rejected(lambda: live.answer("new", [0.0, 1.0]), "groups")
    rejected(lambda: live.answer("new", [0.0, 1.0], [1, 2]), "groups")
    rejected(lambda: live.answer("new", [0.0, math.inf], [1]), "forecasts")
    rejected(lambda: live.answer("new", [math.nan, math.nan], [1]), "'new'")
    rejected(lambda: live.answer("new", [0.0, 1e101], [1]), "forecasts")
    rejected(lambda: live.settle("open", math.nan), "target", "nan")
    rejected(lambda: live.settle("open", math.inf), "target", "inf")
    rejected(lambda: live.settle("open", -1e101), "target")
    rejected(lambda: live.settle("unknown", 0.0), "'unknown'")
    rejected(lambda: live.forget("unknown"), "'unknown'")
    live.forget("open")
    told = live.certificate()
    assert (told.open, told.forgotten) == (0, 1)
    assert [line for line in str(told).splitlines() if "no target" not in line] == before[0].splitlines()


def play_rows(live, rows):
    rng = np.random.default_rng(0)
    for t in range(rows):
        live.answer(t, rng.normal(size=2), [t % 2])
        live.settle(t, float(rng.normal()))


def test_parameters_are_validated():
    for call, words in (
        (lambda: hn.Conformal(2, 1.0), ("coverage", "1.0")),
        (lambda: hn.Conformal(2, [0.8, 0.8]), ("coverage", "0.8")),
        (lambda: hn.Conformal(2, []), ("coverage",)),
        (lambda: hn.Conformal(2, 0.4, side="upper"), ("coverage", "0.4")),
        (lambda: hn.Conformal(2, side="up"), ("side", "'up'")),
        (lambda: hn.Conformal(2, groups=["a", "a"]), ("groups", "'a'")),
        (lambda: hn.Conformal(2, within=0.0), ("within", "0.0")),
        (lambda: hn.Conformal(["a-lo-80", "a-hi-80"]), ("coverage", "0.05")),
        (lambda: hn.Conformal(2).answer(0, [1.0, 2.0], "hour"), ("groups", "'hour'")),
        (lambda: hn.Conformal(2).answer(0, [1.0, 2.0], ["all"]), ("'all'",)),
        (lambda: hn.Conformal(2).answer(0, [1.0, 2.0], ["a", "a"]), ("groups", "'a'")),
    ):
        rejected(call, *words)


def test_constant_series_ties_and_tiny_values():
    for value in (0.0, 1e-300, -7.5):
        live = hn.Conformal(2)
        for t in range(60):
            low, high = live.answer(t, [value, value])
            live.settle(t, value)
        assert live.certificate().rows == 40
        assert low <= value <= high
        live.answer("jump", [value, value])
        live.settle("jump", 1.0)  # the unit is close to 0
        for t in range(60):
            ends = live.answer(t, [value, value])
            assert all(math.isfinite(end) for end in ends)
            live.settle(t, value)
        assert live.certificate().rows == 101
    # A target that equals an end is covered.
    tracker = _engine.CoverageTracker(np.array([0.05]), True, True, 0.03, 0.0, 0.1)
    ends = tracker.issue(0, np.array([-1.0, 1.0]), 1.0, np.empty(0, dtype=np.int64))
    assert ends.tolist() == [-1.0, 1.0]
    tracker.settle(0, 1.0)
    assert tracker.counts[0].tolist() == [1, 0, 0, 0]


def test_certificate_covers_settled_rows_only():
    """Half of the misses are never reported: the certificate is right about settled rows, and refers to them only."""
    live, rng = hn.Conformal(1), np.random.default_rng(0)
    all_rows, missed = 0, 0
    for t in range(4000):
        low, high = live.answer(t, [0.0])
        y = float(rng.normal())
        miss = not low <= y <= high
        all_rows, missed = all_rows + 1, missed + miss
        if miss and rng.random() < 0.5:
            live.forget(t)
        else:
            live.settle(t, y)
    told = live.certificate()
    assert abs(told.coverage - 0.9) < 0.01
    assert missed / all_rows > 0.15  # rows that were never settled are covered less often
    assert SETTLED_ONLY in " ".join(str(told).split())
    assert "settled rows" in told.shown().title


def test_a_group_that_appears_once():
    live = hn.Conformal(2)
    for t in range(30):
        live.answer(t, [0.0, 1.0], ["once"] if t == 25 else ["many"])
        live.settle(t, 100.0 if t == 25 else 0.5)
    one = next(group for group in live.certificate().groups if group.name == "once")
    assert (one.rows, one.covered()) == (1, 0)
    assert one.coverage() == 0.0
    assert "once" in str(live.certificate())


def test_bound_before_play_needs_a_stated_limit():
    live = hn.Conformal(2)
    play_two(live, 60)
    told = live.certificate()
    with pytest.raises(hn.Withheld, match="within"):
        told.bound()
    assert "no bound: no limit" in " ".join(str(told).split())
    assert told.bound(10_000, within=10.0, open_rows=1) == pytest.approx(0.0103324, abs=1e-7)
    with pytest.raises(hn.Withheld, match="units"):
        told.bound(within=told.beyond * 0.9)


def play_two(live, rows):
    rng = np.random.default_rng(0)
    for t in range(rows):
        live.answer(t, rng.normal(size=2))
        live.settle(t, float(rng.normal()))
