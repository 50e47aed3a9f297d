"""`Combiner.add_columns`: a new model while the combiner runs equals a column that was empty before."""

from __future__ import annotations

import numpy as np
import pytest
from hostile_games import Hostile
from naive_combine import potential
from rejections import rejected

import hannan as hn
from hannan import saving

#: Rules whose learning rates do not depend on the number of columns: equal to the combined table up to rounding.
SAME = ["b", "ml-poly", "squint", "adanormalhedge", "mean", "median"]
ROWS, BORN = 200, (0, 0, 0, 60, 90)
NAMES = tuple("abcde")


def table_of(seed=0, levels=()):
    """Rows of five columns (times levels) of which two appear late, disappear and return; and the targets."""
    rng = np.random.default_rng(seed)
    targets = rng.normal(size=ROWS).cumsum()
    models = targets[:, None] + rng.normal(size=(ROWS, 5)) * [1.0, 2.0, 1.5, 0.4, 3.0]
    models[np.arange(ROWS)[:, None] < np.array(BORN)] = np.nan
    models[120:140, 3] = models[150:160, 0] = np.nan
    if not levels:
        return models, targets, NAMES
    wide = np.repeat(models, len(levels), axis=1) + np.tile(levels, 5)
    return wide, targets, tuple(f"{name}-q-{0.5 + 0.1 * level:g}" for name in NAMES for level in levels)


def live(rule, forecasts, targets, names, late=0, first=3, at=None, path=None, **options):
    """Answer and settle rows one by one; columns are added when they appear. `at`: save and load before this row."""
    depth = len(names) // 5
    combiner, answers, have = hn.Combiner(names[: first * depth], learner=rule, **options), [], first
    for t in range(ROWS):
        while have < 5 and t >= BORN[have]:
            combiner.add_columns(names[have * depth : (have + 1) * depth])
            have += 1
        if t == at:
            combiner.save(path)
            combiner = hn.load(path)
        row = {name: None if np.isnan(f) else f for name, f in zip(names, forecasts[t], strict=True)}
        answers.append(combiner.answer(t, {name: row[name] for name in combiner.columns}))
        if t >= late:
            combiner.settle(t - late, targets[t - late])
    return np.array(answers), combiner


@pytest.mark.parametrize("rule", SAME)
@pytest.mark.parametrize("late", [0, 6])
def test_new_column_equals_an_empty_column(rule, late):
    forecasts, targets, names = table_of()
    answers, combiner = live(rule, forecasts, targets, names, late)
    batch, whole = live(rule, forecasts, targets, names, late, first=5)
    np.testing.assert_allclose(answers, batch, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(combiner.weights(), whole.weights(), rtol=1e-7, atol=1e-12)
    told, expected = combiner.certificate(), whole.certificate()
    np.testing.assert_allclose(told.losses, expected.losses)
    np.testing.assert_allclose(told.promises.realised, expected.promises.realised, atol=1e-8)
    if rule == "b":
        np.testing.assert_allclose(told.promises.columns, expected.promises.columns, rtol=1e-9)
        table = {**dict(zip(names, forecasts.T, strict=True)), "y": targets}
        if late == 0:
            np.testing.assert_allclose(answers, hn.combine(table, "y", learner="b").forecast, rtol=1e-9, atol=1e-9)
    if rule not in ("mean", "median"):
        # Control: a new column with the forecasts of another one gives other answers.
        changed, _ = live(rule, np.where(np.arange(5) == 3, forecasts[:, [1]], forecasts), targets, names, late)
        assert abs(changed - answers)[: BORN[3]].max() < 1e-9 < abs(changed - answers)[BORN[3] :].max()


@pytest.mark.parametrize("apart", [False, True])
def test_new_model_of_quantiles_equals_empty_columns(apart):
    forecasts, targets, names = table_of(levels=(-1.0, 0.0, 1.0))
    answers, combiner = live("b", forecasts, targets, names, 2, per_quantile=apart)
    batch, whole = live("b", forecasts, targets, names, 2, first=5, per_quantile=apart)
    np.testing.assert_allclose(answers, batch, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(combiner.certificate().promises.columns, whole.certificate().promises.columns)
    np.testing.assert_allclose(combiner.calibration.sums, whole.calibration.sums, atol=1e-9)
    assert combiner.calibration.names == whole.calibration.names


def test_default_differs_by_the_rate_of_one_member_only():
    """In two layers AdaHedge used ln 3 before; its members B, B with forgetting and the mean are the same."""
    forecasts, targets, names = table_of()
    answers, combiner = live(None, forecasts, targets, names)
    batch, whole = live(None, forecasts, targets, names, first=5)
    for layer in ("b", "quick"):
        for name in ("rate", "gain", "cap", "prior", "sizes"):
            np.testing.assert_allclose(combiner.mixer.layer(layer)[name], whole.mixer.layer(layer)[name], rtol=1e-9)
    told = combiner.certificate().promises
    assert (told.realised <= told.columns).all()
    assert abs(answers - batch).max() > 1e-3  # control: AdaHedge has other rates
    ratios = []
    for seed in range(10):
        forecasts, targets, names = table_of(seed)
        answers, batch = (live(None, forecasts, targets, names, first=first)[0] for first in (3, 5))
        ratios.append(np.log(abs(answers - targets).mean() / abs(batch - targets).mean()))
    assert abs(np.mean(ratios)) < 0.01


def grown(seed, rule):
    """A hostile game in which every column is added in its first row."""
    game = Hostile(seed)
    there = ~np.isnan(game.forecasts)
    first = np.where(there.any(axis=0), there.argmax(axis=0), len(there))
    order = np.argsort(first, kind="stable")
    game.forecasts, first = game.forecasts[:, order], first[order]
    have = max(1, int((first == 0).sum()))
    combiner = hn.Combiner([str(i) for i in range(have)], game.loss, rule)
    for e in game.events:
        if e >= 0:
            while have < game.n and first[have] <= e:
                combiner.add_columns(str(have))
                have += 1
            combiner.answer(e, [None if np.isnan(f) else f for f in game.forecasts[e, :have]])
            continue
        game.forecasts, full = game.forecasts[:, :have], game.forecasts
        lead = combiner.mixer.layer("b")["lead"] if rule != "adahedge:slopes" else np.zeros(have)
        y = game.target(~e, combiner.mixer.told(~e)[0], lead)
        game.forecasts = full
        combiner.settle(~e, float(y))
        yield combiner


@pytest.mark.parametrize("rule", ["b", "two-layers", "adahedge:slopes"])
def test_bounds_hold_in_hostile_games_with_new_columns(rule):
    added = 0
    for seed in range(60):
        combiner = None
        for combiner in grown(seed, rule):
            told = combiner.mixer.promises()
            slack = 1e-9 * (1.0 + combiner.mixer.mixture + combiner.mixer.losses)
            assert (told.realised <= told.columns + slack).all()
            if rule != "adahedge:slopes":
                layer = combiner.mixer.layer("b")
                assert potential(layer) <= layer["grown"] * (1 + 1e-9)
        added += len(combiner.added)
    assert added > 60


def lost_to_new_column(scaled):
    """Excess loss of AdaHedge over a new column divided by 2 Delta; `scaled`: Delta grows with ln n, as it should."""
    worst = 0.0
    for late in (40, 200, 1000):
        combiner = hn.Combiner(2, learner="adahedge:slopes")
        for t in range(late):
            combiner.answer(t, [1.0, -1.0])
            combiner.settle(t, 1.0 if t % 2 else -1.0)
        gap = combiner.mixer.gap
        combiner.add_columns([f"new {k}" for k in range(60)])
        control = gap / combiner.mixer.gap
        for t in range(late, late + 60):
            combiner.answer(t, [1.0, -1.0, *[1.0] * 59, 0.99])
            combiner.settle(t, -1.0)
        told = combiner.mixer.promises()
        worst = max(worst, float((told.realised / (told.columns * (1.0 if scaled else control))).max()))
    return worst


def test_gap_of_adahedge_grows_with_the_number_of_columns():
    assert lost_to_new_column(True) <= 1.0
    assert lost_to_new_column(False) > 2.0  # control: the bound with the Delta of two columns
    combiner = hn.Combiner(2, learner="adahedge:slopes")
    for t in range(20):
        combiner.answer(t, [1.0, -1.0])
        combiner.settle(t, 1.0 if t % 2 else -1.0)
    gap = combiner.mixer.gap
    combiner.add_columns(["x", "y"])
    assert combiner.mixer.gap == pytest.approx(2.0 * gap)  # ln 4 / ln 2: the scale is unchanged


@pytest.mark.parametrize("rule", ["two-layers", *SAME, "boa", "fixed-share", "adahedge:slopes"])
def test_saved_combiner_with_new_columns_resumes_to_the_last_bit(rule, tmp_path):
    forecasts, targets, names = table_of()
    answers, combiner = live(rule, forecasts, targets, names, 6)
    for at in (65, 100):
        again, loaded = live(rule, forecasts, targets, names, 6, at=at, path=tmp_path / "c.json")
        assert (again == answers).all()
        assert str(loaded.certificate()) == str(combiner.certificate())
    assert loaded.added == [("d", 60), ("e", 90)]
    assert "'d'" not in str(loaded.certificate())
    assert "d, after 60 answered rows" in str(loaded.certificate())
    loaded.save(tmp_path / "c.json")
    for crafted in ([["d", 60], ["d", 61]], [["z", 1]], [["d", -1]], [["d", 10**6]], "d", [["d"]]):
        content = saving.read(tmp_path / "c.json")
        content["added"] = crafted
        saving.write(tmp_path / "crafted.json", content)
        rejected(lambda: hn.load(tmp_path / "crafted.json"), "crafted.json")


def test_rows_that_wait_have_no_forecast_of_a_new_column():
    """Open rows of any number of columns are settled after 1, 4 and 5 columns (the engine aligns rows in fours)."""
    combiner, rng = hn.Combiner(["m0"], learner="b"), np.random.default_rng(0)
    for k in range(1, 9):
        for t in range(20):
            combiner.answer(f"{k} {t}", rng.normal(size=k))
        waits = combiner.open
        combiner.add_columns([f"m{k}"])
        assert combiner.open == waits
        for row in rng.permutation(len(waits))[: len(waits) // 2]:
            combiner.settle(waits[row], rng.normal())
    for row in combiner.open:
        combiner.settle(row, rng.normal())
    assert combiner.mixer.awake.tolist() == [160, 140, 120, 100, 80, 60, 40, 20, 0]
    told = combiner.certificate().promises
    assert (told.realised <= told.columns + 1e-9).all()


def test_invalid_new_columns_change_nothing():
    combiner = hn.Combiner(["a", "b"])
    combiner.answer(0, [1.0, 2.0])
    before = str(combiner.certificate()), combiner.weights().tolist()
    rejected(lambda: combiner.add_columns([]), "columns")
    rejected(lambda: combiner.add_columns(["a"]), "'a'")
    rejected(lambda: combiner.add_columns(["c", "c"]), "'c'")
    rejected(lambda: combiner.add_columns(["c-lo-90", "c-hi-90"]), "c-lo-90")
    rejected(lambda: combiner.answer(1, {"a": 1.0, "c": 2.0}), "'c'", "add_columns")
    assert (str(combiner.certificate()), combiner.weights().tolist()) == before
    quantiles = hn.Combiner(["a-lo-90", "a-hi-90"])
    rejected(lambda: quantiles.add_columns(["b-lo-80", "b-hi-80"]), "b")
    rejected(lambda: quantiles.add_columns(["b"]), "'b'")
    rejected(lambda: quantiles.add_columns(["b-lo-90"]), "b", "0.95")
    assert quantiles.columns == ("a-lo-90", "a-hi-90")
    drawn = hn.Combiner(2, learner=hn.Experts(2, hn.Entropy(), hn.Fixed(1.0)), loss_range=None)
    rejected(lambda: drawn.add_columns(["c"]), "rule")


def test_intervals_continue_with_a_new_model(tmp_path):
    rng, live_intervals = np.random.default_rng(0), hn.Conformal(["a", "b"], groups=["day"])
    for t in range(400):
        if t == 100:
            live_intervals.add_columns("c")
            live_intervals.save(tmp_path / "live.json")
            live_intervals = hn.load(tmp_path / "live.json")
        forecasts = rng.normal(size=2 if t < 100 else 3) * 0.3
        live_intervals.answer(t, forecasts, [t % 7])
        if t >= 5:
            live_intervals.settle(t - 5, rng.normal())
    told = live_intervals.certificate()
    assert (told.rows, told.open, told.warm_up + told.warming) == (400 - 5 - told.warm_up, 5, told.warm_up)
    assert abs(told.coverage - 0.9) < 0.03
