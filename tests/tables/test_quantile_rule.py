"""Quantiles in the engine: the rules on vectors against a plain oracle, the theorem on hostile games, single levels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from late_rows import schedule
from naive_combine import potential
from naive_quantiles import VectorB, VectorTwoLayers, pinball, slope

from hannan import _engine
from hannan.learners.adahedge import Rule
from hannan.tables.combine.losses import Pinball
from hannan.tables.combine.quantiles import QuantileLoss
from hannan.tables.combine.rules import ByRule, mixer_of

LEVELS = (0.05, 0.1, 0.5, 0.7, 0.95)


def grid(rng, rows, n, levels, *, scale="plain", holes=0.0):
    """Forecasts (rows, levels, n), ascending in the level, and targets."""
    depth = len(levels)
    targets = rng.standard_cauchy(rows) if scale == "cauchy" else rng.normal(size=rows)
    noise = rng.standard_cauchy((rows, depth, n)) if scale == "cauchy" else rng.normal(size=(rows, depth, n))
    table = np.sort(targets[:, None, None] + noise * rng.uniform(0.1, 3.0, n), axis=1)
    if scale == "exploding":
        size = 10.0 ** rng.uniform(-3, 3, rows)
        table, targets = table * size[:, None, None], targets * size
    if scale in ("copies", "nearly"):
        alike = rng.random(rows) < 0.4
        # For columns that differ in their last bits, AdaHedge's first leader depends on rounding.
        bits = rng.integers(-2, 3, (int(alike.sum()), 1, n)) if scale == "nearly" else 0
        table[alike] = table[alike, :, :1] * (1.0 + 1e-16 * bits)
    if holes:
        slept = rng.random((rows, n)) < holes
        slept[np.arange(rows), rng.integers(n, size=rows)] = False
        table = np.where(slept[:, None, :], np.nan, table)
    return table, targets


def play(mixer, table, targets, events):
    rows, depth, n = table.shape
    order, answers, weights = np.array(events), np.full((rows, depth), np.nan), np.full((rows, n), np.nan)
    told = np.where(order < 0, targets[np.where(order < 0, ~order, 0)], np.nan)
    flat = np.ascontiguousarray(table.reshape(rows, depth * n))
    done, trouble, _ = mixer.events(flat, order, told, 0, answers, weights)
    assert (done, trouble) == (len(order), _engine.Trouble.none)
    return answers, weights


def by_oracle(oracle, table, targets, events, levels):
    rows, answers = {}, np.full(table.shape[:2], np.nan)
    for e in events:
        if e >= 0:
            rows[e] = oracle.answer(table[e])
            answers[e] = rows[e]["x"]
            continue
        row, y = rows.pop(~e), targets[~e]
        oracle.settle(row, y if isinstance(oracle, VectorTwoLayers) else slope(levels, row["x"], y))
    return answers


@pytest.mark.parametrize("delay", [0, 7])
@pytest.mark.parametrize("holes", [0.0, 0.4])
@pytest.mark.parametrize("depth", [1, 2, 5])
@pytest.mark.parametrize("n", [1, 3, 9])
def test_engine_equals_the_oracle(n, depth, holes, delay):
    rng, levels = np.random.default_rng([n, depth, int(10 * holes), delay]), LEVELS[:depth]
    loss = QuantileLoss(levels)
    for scale in ("plain", "cauchy", "exploding", "copies"):
        table, targets = grid(rng, 50, n, levels, scale=scale, holes=holes)
        events = schedule(rng, 50, delay)
        prior = rng.dirichlet(np.ones(n)) * 0.9 + 0.1 / n
        for name, oracle in (("b", VectorB(n, 1.0, prior)), ("two-layers", VectorTwoLayers(n, levels, prior))):
            mixer = ByRule(Rule(name), n, loss, prior)
            answers, weights = play(mixer, table, targets, events)
            np.testing.assert_allclose(
                answers, by_oracle(oracle, table, targets, events, levels), rtol=1e-9, atol=1e-12
            )
            mixed = np.nansum(weights[:, None, :] * table, axis=2)
            np.testing.assert_allclose(mixed, answers, rtol=1e-9, atol=1e-12)
            # Weights are common to the levels, and the models do not cross: then the combination does not cross either.
            assert (np.diff(answers, axis=1) >= 0.0).all()
            pairs = [("b", oracle)] if name == "b" else [("b", oracle.b), ("top", oracle.top)]
            for layer, slow in pairs:
                told = mixer.layer(layer)
                assert told["grown"] == pytest.approx(slow.P, rel=1e-9)
                sure = 1e-9 * (1e-300 + slow.sizes.max() + abs(slow.C) + abs(slow.drift) + abs(slow.bounds()))
                assert (abs(told["bound"] - slow.bounds()) <= sure).all()
            if name == "two-layers":
                assert mixer.gap == pytest.approx(oracle.own.gaps, rel=1e-9, abs=1e-12 * abs(oracle.own.L).max())


def test_sums_of_losses():
    rng = np.random.default_rng(0)
    table, targets = grid(rng, 40, 4, LEVELS, holes=0.3)
    mixer = ByRule(Rule(), 4, QuantileLoss(LEVELS))
    answers, _ = play(mixer, table, targets, [e for t in range(40) for e in (t, ~t)])
    own = np.array([pinball(LEVELS, x, y).mean() for x, y in zip(answers, targets, strict=True)])
    each = np.array([pinball(LEVELS, f, y).mean(axis=0) for f, y in zip(table, targets, strict=True)])
    awake = ~np.isnan(table[:, 0])
    assert mixer.mixture == pytest.approx(own.sum())
    np.testing.assert_allclose(mixer.losses, np.nansum(each, axis=0))
    np.testing.assert_allclose(mixer.beside, own @ awake)
    means = np.nanmean(table, axis=2)
    assert mixer.mean_loss == pytest.approx(
        sum(pinball(LEVELS, x, y).mean() for x, y in zip(means, targets, strict=True))
    )


@pytest.mark.parametrize("name", ["b", "two-layers"])
@pytest.mark.parametrize("depth", [1, 5])
def test_one_level_equals_the_pinball_loss(name, depth):
    """Quantiles of one level are point forecasts with that pinball loss.

    If all levels have the same forecasts, their slopes add up.
    """
    rng = np.random.default_rng(2)
    table, targets = grid(rng, 60, 3, LEVELS[:depth])
    events = schedule(rng, 60, 5)
    if depth == 1:
        answers, _ = play(ByRule(Rule(name), 3, QuantileLoss((0.05,))), table, targets, events)
        plain = ByRule(Rule(name), 3, Pinball(0.05))
        alone, _ = play(plain, table, targets, events)
    else:
        # Levels q and 1 - q with the same forecasts: half the absolute loss at each, whatever q.
        flat = np.repeat(table[:, 2:3], 2, axis=1)
        answers, _ = play(ByRule(Rule(name), 3, QuantileLoss((0.3, 0.7))), flat, targets, events)
        alone, _ = play(ByRule(Rule(name), 3, Pinball(0.5)), flat[:, :1], targets, events)
    np.testing.assert_allclose(answers[:, :1], alone, rtol=1e-9)


def holds(mixer, two):
    """The theorem of each layer on vectors; rounding is about 1e-16 of the summed values."""
    for name in ("b", "top") if two else ("b",):
        layer = mixer.layer(name)
        size = layer["sizes"] + abs(layer["drift"]) + abs(layer["lead"]) + layer["spent"]
        assert (layer["lead"] <= layer["bound"] + 1e-9 * size).all()
        assert potential(layer) <= layer["grown"] * (1 + 1e-9)


@pytest.mark.parametrize("delay", [0, 1, 12])
@pytest.mark.parametrize("scale", ["plain", "cauchy", "exploding", "copies", "nearly"])
def test_the_theorem_holds_on_hostile_games(scale, delay):
    """Twelve hundred games: one to nine levels, one to eight models, missing forecasts, targets late and out of order.

    Comparators: the mean, every model, and combinations of the available models, common weights and per quantile.
    """
    rng = np.random.default_rng([len(scale), delay])
    for _ in range(20):
        n, depth = int(rng.integers(1, 9)), int(rng.integers(1, 10))
        levels = tuple(np.sort(rng.choice(np.arange(1, 100), depth, replace=False)) / 100.0)
        table, targets = grid(rng, 40, n, levels, scale=scale, holes=rng.choice([0.0, 0.5]))
        events = schedule(rng, 40, delay)
        settled = np.array([~e for e in events if e < 0], dtype=int)
        for name, apart in (("b", False), ("two-layers", False), ("b", True), ("two-layers", True)):
            mixer = mixer_of(Rule(name), n, QuantileLoss(levels, apart))
            answers, _ = play(mixer, table, targets, events)
            if not apart:
                holds(mixer, name == "two-layers")
            check_losses(mixer, name, table[settled], targets[settled], answers[settled], levels, rng)


def check_losses(mixer, name, table, targets, answers, levels, rng):
    own = np.array([pinball(levels, x, y).mean() for x, y in zip(answers, targets, strict=True)])
    awake, told = ~np.isnan(table[:, 0]), mixer.promises()
    slack = 1e-9 * (1.0 + own.sum() + np.nanmax(abs(table), initial=0.0) * len(own))
    assert mixer.mixture == pytest.approx(own.sum(), rel=1e-9)
    assert (told.realised <= told.columns + slack).all()
    if name == "two-layers":
        assert told.mean_realised <= told.mean + slack
    if awake.all():
        losses = np.array([pinball(levels, f, y).mean(axis=0) for f, y in zip(table, targets, strict=True)]).sum(axis=0)
        np.testing.assert_allclose(told.realised, own.sum() - losses, rtol=1e-6, atol=slack)
        q = rng.dirichlet(np.ones(table.shape[2]))
        mix = np.array([pinball(levels, f @ q, y).mean() for f, y in zip(table, targets, strict=True)])
        assert own.sum() - mix.sum() <= told.combination(q) + slack


def test_control_half_of_the_bound_is_exceeded():
    """The control: some of the same games attain more than half of the bound."""
    rng, broken = np.random.default_rng(5), 0
    for _ in range(60):
        table, targets = grid(rng, 12, 2, (0.2, 0.8))
        mixer = ByRule(Rule("b"), 2, QuantileLoss((0.2, 0.8)))
        play(mixer, table, targets, [e for t in range(12) for e in (t, ~t)])
        layer = mixer.layer("b")
        broken += (layer["lead"] > 0.5 * layer["bound"]).any()
    assert broken > 0


@settings(deadline=None, max_examples=80)
@given(st.data())
def test_theorem_holds_for_random_forecasts(data):
    n, depth, rows = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 3)), data.draw(st.integers(1, 8))
    numbers = st.one_of(st.floats(-1e6, 1e6), st.sampled_from([0.0, 1.0, 1e-9, -1e9, 1e12]))
    values = data.draw(st.lists(numbers, min_size=n * depth * rows, max_size=n * depth * rows))
    table = np.sort(np.array(values).reshape(rows, depth, n), axis=1)
    targets = np.array(data.draw(st.lists(st.floats(-1e6, 1e6), min_size=rows, max_size=rows)))
    later = [data.draw(st.integers(t, rows)) for t in range(rows)]
    events = [e for _, _, e in sorted([(t, 0, t) for t in range(rows)] + [(later[t], 1, ~t) for t in range(rows)])]
    for name in ("b", "two-layers"):
        mixer = ByRule(Rule(name), n, QuantileLoss((0.1, 0.4, 0.9)[:depth]))
        play(mixer, table, targets, events)
        holds(mixer, name == "two-layers")


def test_large_offsets_do_not_change_the_weights():
    """Columns that are equal up to rounding around 1e9, with slopes that cancel in <g, f>: the row causes no update.

    If the size of the sums were used instead of the size of the terms, the weights would be fixed from then on.
    """
    levels, rng = (0.5 - 0.25, 0.5 + 0.25), np.random.default_rng(0)
    mixer = ByRule(Rule("b"), 3, QuantileLoss(levels))
    first = np.full((1, 2, 3), 1e9)
    first[0, 1] += 1.0
    first[0, :, 1] *= 1.0 + 2e-16
    targets = np.concatenate([[1e9 + 0.5], rng.normal(size=60)])
    rest = np.sort(targets[1:, None, None] + 0.1 * rng.normal(size=(60, 2, 3)), axis=1)
    rest[:, :, 1] += 9.0
    table = np.concatenate([first, rest])
    _, weights = play(mixer, table, targets, [e for t in range(61) for e in (t, ~t)])
    assert weights[-1, 1] < 0.01


@pytest.mark.parametrize("name", ["two-layers", "b", "boa", "ml-poly", "squint", "adanormalhedge", "fixed-share",
                                  "adahedge:slopes", "mean", "median"])  # fmt: skip
def test_every_rule_supports_quantiles(name):
    """Rows at once, one by one and by events give the same result; missing columns have no weight."""
    rng = np.random.default_rng(3)
    table, targets = grid(rng, 50, 4, LEVELS, holes=0.3)
    flat = np.ascontiguousarray(table.reshape(50, -1))
    for apart in (False, True):
        one, many = (mixer_of(Rule(name), 4, QuantileLoss(LEVELS, apart)) for _ in range(2))
        mixed, weights = np.empty((50, 5)), np.empty((50, 4))
        assert many.rows(flat, targets, mixed, weights)[0] == 50
        for t in range(50):
            np.testing.assert_allclose(one.answer(t, flat[t]), mixed[t], rtol=1e-12)
            assert (one.told(t) == mixed[t]).all()
            assert one.settle(t, targets[t]) == (_engine.Trouble.none, -1)
        assert one.mixture == pytest.approx(many.mixture)
        np.testing.assert_allclose(one.beside, many.beside)
        assert (weights[np.isnan(table[:, 0])] == 0.0).all()
        np.testing.assert_allclose(weights.sum(axis=1), 1.0)
        assert (np.diff(mixed, axis=1) >= 0.0).all()
        if name in ("mean", "median"):
            middle = np.nanmean if name == "mean" else np.nanmedian
            np.testing.assert_allclose(mixed, middle(table, axis=2))


@pytest.mark.parametrize("delay", [0, 6])
def test_per_quantile_equals_one_rule_per_level_sorted(delay):
    rng = np.random.default_rng(4)
    table, targets = grid(rng, 60, 3, LEVELS, holes=0.2)
    events = schedule(rng, 60, delay)
    mixer = mixer_of(Rule(), 3, QuantileLoss(LEVELS, True))
    answers, weights = play(mixer, table, targets, events)
    alone, shares = zip(*(
        play(ByRule(Rule(), 3, Pinball(q)), np.ascontiguousarray(table[:, k : k + 1]), targets, events)
        for k, q in enumerate(LEVELS)
    ), strict=True)  # fmt: skip
    unsorted = np.concatenate(alone, axis=1)
    assert (np.diff(unsorted, axis=1) < 0.0).any()
    np.testing.assert_allclose(answers, np.sort(unsorted, axis=1), rtol=1e-12)
    np.testing.assert_allclose(weights, np.mean(shares, axis=0), rtol=1e-9)
    assert mixer.by_level().shape == (5, 3)


def test_sorting_reduces_the_loss_by_gap_times_levels():
    """Sorting two crossed quantiles decreases the loss by (q - p)(a - b), whatever the target."""
    rng = np.random.default_rng(6)
    for _ in range(500):
        p, q = np.sort(rng.uniform(0.01, 0.99, 2))
        a, b = np.sort(rng.normal(size=2))[::-1] * 10.0 ** rng.uniform(-2, 2)
        y = rng.normal() * 10.0 ** rng.uniform(-2, 2)
        gain = pinball([p, q], np.array([a, b]), y).sum() - pinball([p, q], np.array([b, a]), y).sum()
        assert gain == pytest.approx((q - p) * (a - b), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("apart", [False, True])
def test_saved_state_includes_pending_rows(apart):
    rng = np.random.default_rng(7)
    table, targets = grid(rng, 60, 4, LEVELS, holes=0.2)
    events = schedule(rng, 60, 9)
    first, half, other = (mixer_of(Rule(), 4, QuantileLoss(LEVELS, apart)) for _ in range(3))
    answers, _ = play(first, table, targets, events)
    play(half, table, targets, events[:50])
    other.restore(half.fields())
    assert other.open_rows == half.open_rows > 0
    again, _ = play(other, table, targets, events[50:])
    late = [e for e in events[50:] if e >= 0]
    assert (again[late] == answers[late]).all()
    assert other.mixture == pytest.approx(first.mixture, rel=1e-12)
    good, broken = half.fields(), []
    if apart:
        broken += [{**good, "levels": {"0": good["levels"]["0"]}}, {**good, "beside": np.full(4, np.nan)},
                   {**good, "open": {row: x[::-1] for row, x in good["open"].items()}}]  # fmt: skip
    else:
        row, ticket = next(iter(good["open"].items()))
        for place in (12, 33, 40, 50, 68):
            bad = ticket.copy()
            bad[place] = 1e99
            broken.append({**good, "open": {**good["open"], row: bad}})
    for fields in broken:
        with pytest.raises(ValueError, match=r"corrupt file|must"):
            mixer_of(Rule(), 4, QuantileLoss(LEVELS, apart)).restore(fields)


@pytest.mark.parametrize("apart", [False, True])
def test_errors_change_nothing(apart):
    mixer = mixer_of(Rule(), 2, QuantileLoss((0.1, 0.9), apart))
    assert mixer.answer(0, np.full(4, np.nan)) is None
    mixer.answer(1, np.array([-1e145, 0.0, 1e145, 1.0]))
    assert mixer.settle(1, 0.0) == (_engine.Trouble.extreme, -1)
    mixer.answer(2, np.array([-1e160, 0.0, 1.0, 1.0]))
    assert mixer.settle(2, 0.0) == (_engine.Trouble.outside, 0)
    assert mixer.settled == 0
    assert mixer.mixture == 0.0
    assert mixer.open_rows == 2
