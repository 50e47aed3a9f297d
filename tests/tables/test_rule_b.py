"""Rule B and the two layers: engine against a plain oracle, theorem on hostile games, effect of the safeguards."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from late_rows import schedule
from naive_combine import RuleB, TwoLayers, potential

from hannan import _engine
from hannan.tables.combine.losses import point_loss

LOSSES = ["absolute", "squared", "pinball:0.9", "huber:0.5", "log"]
KINDS = [name for name in _engine.Mixing.__members__ if name not in ("adahedge", "mean", "median")]


def mixer(kind, n, loss="absolute", prior=None):
    rule = _engine.MixRule(getattr(_engine.Mixing, kind), point_loss(loss).price(), -1e150, 1e150)
    return _engine.Mixer(rule, n, prior)


def game(rng, rows, n, *, scale="plain", holes=0.0, loss="absolute", orders=12):
    """Forecasts and targets; nearly copies: columns that are sometimes equal, exactly or up to the last bits."""
    if loss == "log":
        forecasts, targets = rng.uniform(0.02, 0.98, (rows, n)), (rng.random(rows) < 0.4).astype(float)
    else:
        targets = rng.standard_cauchy(rows) if scale == "cauchy" else rng.normal(size=rows)
        noise = rng.standard_cauchy((rows, n)) if scale == "cauchy" else rng.normal(size=(rows, n))
        forecasts = targets[:, None] + noise * rng.uniform(0.1, 3.0, n)
        if scale == "exploding":
            size = (
                10.0 ** np.linspace(-orders, orders, rows)
                if rng.random() < 0.5
                else 10.0 ** rng.uniform(-orders, orders, rows)
            )
            forecasts, targets = forecasts * size[:, None], targets * size
        if scale in ("copies", "nearly"):
            alike = rng.random(rows) < 0.4
            bits = rng.integers(-2, 3, (int(alike.sum()), n)) if scale == "nearly" else 0
            forecasts[alike] = forecasts[alike, :1] * (1.0 + 1e-16 * bits)
    if holes:
        slept = rng.random((rows, n)) < holes
        slept[np.arange(rows), rng.integers(n, size=rows)] = False
        forecasts[slept] = np.nan
    return forecasts, targets


def play(engine, forecasts, targets, events):
    order, answers = np.array(events), np.full(len(targets), np.nan)
    told = np.where(order < 0, targets[np.where(order < 0, ~order, 0)], np.nan)
    weights = np.full(forecasts.shape, np.nan)
    done, trouble, _ = engine.events(forecasts, order, told, 0, answers, weights)
    assert (done, trouble) == (len(order), _engine.Trouble.none)
    return answers, weights


def by_oracle(oracle, forecasts, targets, events, loss):
    cost, rows, answers = point_loss(loss), {}, np.full(len(targets), np.nan)
    for e in events:
        if e >= 0:
            rows[e] = oracle.answer(forecasts[e])
            answers[e] = rows[e]["x"]
        else:
            row, y = rows.pop(~e), targets[~e]
            losses = np.asarray(cost.value(row["f"], y), dtype=float)
            told = (lambda x, y=y: float(cost.slope(x, y)),)
            oracle.settle(row, *told, *((losses,) if isinstance(oracle, TwoLayers) else ()))
    return answers


@pytest.mark.parametrize("delay", [0, 7])
@pytest.mark.parametrize("holes", [0.0, 0.4])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("n", [1, 2, 5, 14])
def test_engine_equals_the_oracle(n, loss, holes, delay):
    rng = np.random.default_rng([n, LOSSES.index(loss), int(10 * holes), delay])
    for scale in ("plain", "cauchy", "exploding", "copies"):
        # If r spans more orders of magnitude, the sums keep fewer than nine digits; with squared loss r is quadratic.
        orders = 2 if loss == "squared" else 3
        forecasts, targets = game(rng, 60, n, scale=scale, holes=holes, loss=loss, orders=orders)
        events = schedule(rng, 60, delay)
        for kind, oracle in (("rule_b", RuleB(n)), ("two_layers", TwoLayers(n))):
            engine = mixer(kind, n, loss)
            answers, weights = play(engine, forecasts, targets, events)
            np.testing.assert_allclose(answers, by_oracle(oracle, forecasts, targets, events, loss), rtol=1e-9, atol=0)
            np.testing.assert_allclose(weights.sum(axis=1), 1.0, rtol=1e-12)
            np.testing.assert_allclose(np.nansum(weights * forecasts, axis=1), answers, rtol=1e-9)
            pairs = [("b", oracle)] if kind == "rule_b" else [("b", oracle.b), ("top", oracle.top)]
            for name, slow in pairs:
                layer = engine.layer(name)
                assert layer["grown"] == pytest.approx(slow.P, rel=1e-9)
                sure = 1e-9 * (1e-300 + slow.sizes.max() + abs(slow.C) + abs(slow.drift) + abs(slow.bounds()))
                assert (abs(layer["bound"] - slow.bounds()) <= sure).all()
            if kind == "two_layers":
                assert engine.gap == pytest.approx(oracle.own.gaps, rel=1e-9, abs=1e-12 * abs(oracle.own.L).max())


def holds(engine, n, two):
    """The theorem and its terms; rounding is about 1e-16 of the summed values."""
    for name in ("b", "top") if two else ("b",):
        layer = engine.layer(name)
        seen = layer["rate"] > 0.0
        # A late row separates x and z by at most the span of the columns: sums of |g (x - f)| are of this size.
        size = layer["sizes"] + abs(layer["drift"]) + abs(layer["lead"]) + layer["spent"]
        assert (layer["lead"] <= layer["bound"] + 1e-9 * size).all()
        root = np.sqrt(layer["squares"][seen])
        assert (layer["spent"][seen] <= 2.0 * root * (1 + 1e-9)).all()
        assert (1.0 / layer["rate"][seen] <= (root + 2.0 * layer["largest"][seen]) * (1 + 1e-9)).all()
        assert potential(layer) <= layer["grown"] * (1 + 1e-9)


@pytest.mark.parametrize("delay", [0, 1, 12])
@pytest.mark.parametrize("scale", ["plain", "cauchy", "exploding", "copies", "nearly"])
def test_the_theorem_holds_on_hostile_games(scale, delay):
    """Three thousand games: every loss, one to twelve columns, missing forecasts, targets late and out of order."""
    rng = np.random.default_rng([len(scale), delay])
    for _ in range(125):
        n, loss = int(rng.integers(1, 13)), LOSSES[rng.integers(5)]
        forecasts, targets = game(rng, 40, n, scale=scale, holes=rng.choice([0.0, 0.5]), loss=loss)
        events = schedule(rng, 40, delay)
        prior = rng.dirichlet(np.ones(n)) + 1e-3
        for kind in ("rule_b", "two_layers"):
            engine = mixer(kind, n, loss, prior / prior.sum())
            answers, _ = play(engine, forecasts, targets, events)
            holds(engine, n, kind == "two_layers")
            check_losses(engine, kind, forecasts, targets, events, answers, point_loss(loss), rng)


def check_losses(engine, kind, forecasts, targets, events, answers, cost, rng):
    """The theorem for the losses themselves: the mean, every column, combinations of the available columns."""
    settled = np.array([~e for e in events if e < 0], dtype=int)
    f, y, x = forecasts[settled], targets[settled], answers[settled]
    own = np.asarray(cost.value(x, y))
    awake = ~np.isnan(f)
    slack = 1e-9 * (1.0 + abs(own).sum())
    b = engine.layer("b")["bound"]
    if kind == "rule_b":
        for _ in range(3):
            q = rng.dirichlet(np.ones(f.shape[1]))
            mass = awake @ q
            mix = np.where(awake, f, 0.0) @ q / mass
            assert (mass * (own - cost.value(mix, y))).sum() <= q @ b + slack + 1e-9 * abs(b).max()
        return
    top = engine.layer("top")["bound"]
    mean = np.nanmean(f, axis=1)
    assert own.sum() - cost.value(mean, y).sum() <= top[3] + slack
    if awake.all():
        losses = np.asarray(cost.value(f, y[:, None])).sum(axis=0)
        # By B, and by AdaHedge, whose own term is 2 Delta for any delays.
        slack += 1e-9 * abs(losses).max()
        assert (own.sum() - losses <= top[0] + b + slack).all()
        assert (own.sum() - losses <= top[2] + 2.0 * engine.gap + slack).all()


@settings(deadline=None, max_examples=150)
@given(st.data())
def test_theorem_holds_for_random_forecasts(data):
    """Forecasts, targets, order and missing values generated by hypothesis."""
    n, rows = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 12))
    numbers = st.one_of(st.floats(-1e6, 1e6), st.sampled_from([0.0, 1.0, 1e-9, -1e9, 1e12]), st.just(float("nan")))
    forecasts = np.array(data.draw(st.lists(st.lists(numbers, min_size=n, max_size=n), min_size=rows, max_size=rows)))
    forecasts[np.isnan(forecasts).all(axis=1), 0] = 1.0
    targets = np.array(data.draw(st.lists(st.floats(-1e6, 1e6), min_size=rows, max_size=rows)))
    later = [data.draw(st.integers(t, rows)) for t in range(rows)]
    events = [e for _, _, e in sorted([(t, 0, t) for t in range(rows)] + [(later[t], 1, ~t) for t in range(rows)])]
    for kind in ("rule_b", "two_layers"):
        engine = mixer(kind, n, data.draw(st.sampled_from(["absolute", "squared", "pinball:0.2", "huber:3"])))
        play(engine, forecasts, targets, events)
        holds(engine, n, kind == "two_layers")


def twins():
    """All columns are equal up to rounding in the first row; then column 0 is missing.

    Then it is available, and far off.
    """
    rng = np.random.default_rng(0)
    targets = rng.normal(size=60)
    forecasts = targets[:, None] + 0.1 * rng.normal(size=(60, 3))
    forecasts[0] = 3e-7, 3e-7 * (1 + 2e-16), 3e-7
    forecasts[1:6, 0] = np.nan
    forecasts[6:, 0] = targets[6:] + 9.0
    return forecasts, targets


def middle():
    """In the first row a column equals the forecast to the last bit; from then on it is far off."""
    rng = np.random.default_rng(1)
    targets = rng.normal(size=60)
    forecasts = targets[:, None] + 0.1 * rng.normal(size=(60, 3))
    forecasts[0], targets[0] = (0.0, 1.0, 0.5), 2.0
    forecasts[1:, 2] = targets[1:] + 9.0
    return forecasts, targets


@pytest.mark.parametrize(("make", "without"), [(twins, {"still": False}), (middle, {"start": 0.0})])
def test_control_each_guard_is_needed(make, without):
    """Without one of the two safeguards, the weight is fixed on a column that is off by 9 in every row.

    With both, it is not.
    """
    forecasts, targets = make()
    events = [e for t in range(60) for e in (t, ~t)]
    last = {}
    for name, guards in (("both", {}), ("without", without)):
        answers = by_oracle(RuleB(3, **guards), forecasts, targets, events, "absolute")
        last[name] = abs(answers - targets)[-20:].mean()
    answers, _ = play(mixer("rule_b", 3), forecasts, targets, events)
    assert abs(answers - targets)[-20:].mean() == pytest.approx(last["both"])
    assert last["both"] < 0.2
    assert last["without"] > 8.0


def test_row_without_an_update_is_part_of_the_bound():
    engine = mixer("rule_b", 2)
    play(engine, np.array([[1.0, 1.0], [2.0, 2.0]]), np.array([5.0, 2.0]), [0, ~0, 1, ~1])
    layer = engine.layer("b")
    assert (layer["rate"] == 0.0).all()
    assert (layer["lead"] <= layer["bound"]).all()
    assert engine.weights(np.array([1.0, 3.0])).tolist() == [0.5, 0.5]


def test_prior_gives_the_initial_weights():
    engine = mixer("two_layers", 3, prior=np.array([0.7, 0.2, 0.1]))
    told = engine.weights(np.array([1.0, 2.0, 4.0]))
    # B and B .99 have the prior; AdaHedge and the mean are uniform.
    np.testing.assert_allclose(told, (np.array([0.7, 0.2, 0.1]) + 1 / 3) / 2)
    for bad in ([0.5, 0.5], [0.5, 0.5, 0.0], [0.5, 0.5, 0.5]):
        with pytest.raises(ValueError, match="prior"):
            mixer("rule_b", 3, prior=np.array(bad))


@pytest.mark.parametrize("loss", ["absolute", "squared"])
@pytest.mark.parametrize("kind", KINDS)
def test_weights_do_not_depend_on_units(kind, loss):
    """Forecasts in other units, shifted, with permuted columns: the same weights, permuted."""
    rng = np.random.default_rng(4)
    forecasts, targets = game(rng, 80, 5, holes=0.3)
    events = schedule(rng, 80, 5)
    _, weights = play(mixer(kind, 5, loss), forecasts, targets, events)
    turned = np.array([3, 0, 4, 1, 2])
    _, again = play(mixer(kind, 5, loss), np.ascontiguousarray(forecasts[:, turned]) * 1024.0, targets * 1024.0, events)
    np.testing.assert_allclose(again, weights[:, turned], rtol=1e-6, atol=1e-9)
    _, moved = play(mixer(kind, 5, loss), forecasts + 7.0, targets + 7.0, events)
    np.testing.assert_allclose(moved, weights, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("kind", [*KINDS, "adahedge", "mean", "median"])
def test_rows_and_events_equal_single_steps(kind):
    rng = np.random.default_rng(5)
    forecasts, targets = game(rng, 50, 3, holes=0.3)
    targets[7] = np.nan
    table, single = mixer(kind, 3), mixer(kind, 3)
    mixed, weights, p = np.empty(50), np.empty((50, 3)), np.empty(3)
    assert table.rows(forecasts, targets, mixed, weights) == (50, _engine.Trouble.none, -1)
    for t in range(50):
        looked = single.weights(forecasts[t])
        assert single.answer(t, forecasts[t], p) == mixed[t]
        assert (p == weights[t]).all()
        assert (looked == p).all()
        if np.isnan(targets[t]):
            assert single.forget(t)
        else:
            assert single.settle(t, targets[t]) == (_engine.Trouble.none, -1)
    assert (single.answered, single.settled, single.mixture) == (table.answered, table.settled, table.mixture)
    assert (single.losses == table.losses).all()
    awake = ~np.isnan(forecasts)
    if kind == "mean":
        np.testing.assert_allclose(mixed, np.nanmean(forecasts, axis=1))
        assert table.mean_loss == table.mixture
    if kind == "median":
        np.testing.assert_allclose(mixed, np.nanmedian(forecasts, axis=1))
    assert (weights[~awake] == 0.0).all()


@pytest.mark.parametrize("kind", [*KINDS, "adahedge"])
def test_saved_state_includes_pending_rows(kind):
    """Saved and loaded with open rows: every later answer is the same to the last bit."""
    rng = np.random.default_rng(6)
    forecasts, targets = game(rng, 60, 4, holes=0.2)
    events = schedule(rng, 60, 9)
    first = mixer(kind, 4)
    answers, _ = play(first, forecasts, targets, events)
    half = mixer(kind, 4)
    play_part(half, forecasts, targets, events[:50])
    other = mixer(kind, 4)
    other.restore(half.fields())
    assert other.open_rows == half.open_rows > 0
    again = play_part(other, forecasts, targets, events[50:])
    late = [e for e in events[50:] if e >= 0]
    assert (again[late] == answers[late]).all()
    assert other.mixture == first.mixture


def play_part(engine, forecasts, targets, events):
    answers = np.full(len(targets), np.nan)
    order = np.array(events)
    told = np.where(order < 0, targets[np.where(order < 0, ~order, 0)], np.nan)
    assert engine.events(forecasts, order, told, 0, answers, None)[0] == len(order)
    return answers


def test_inconsistent_state_is_rejected():
    engine = mixer("two_layers", 3)
    forecasts, targets = game(np.random.default_rng(7), 20, 3)
    play_part(engine, forecasts, targets, [e for t in range(19) for e in (t, ~t)] + [19])
    good = engine.fields()
    mixer("two_layers", 3).restore(good)
    broken = []
    for name, value in good.items():
        if name in ("numbers", "open"):
            continue
        broken.append({**good, name: value[:-1]})
        broken.append({**good, name: np.full(len(value), np.nan)})
        broken.append({key: kept for key, kept in good.items() if key != name})
    for name in good["numbers"]:
        if name != "level":
            broken.append({**good, "numbers": {**good["numbers"], name: float("nan")}})
        broken.append({**good, "numbers": {key: x for key, x in good["numbers"].items() if key != name}})
    broken.append({**good, "numbers": {**good["numbers"], "answered": 3.0}})
    broken.append({**good, "b_rate": np.full(3, 1e300)})
    broken.append({**good, "b_gain": np.full(3, 1e6)})
    broken.append({**good, "b_prior": np.full(3, 1.5)})
    broken.append({**good, "b_cap": np.full(3, 1e-301)})
    broken.append({**good, "numbers": {**good["numbers"], "spread": -1.0}})
    broken.append({**good, "numbers": {**good["numbers"], "spread_rows": 20.0}})
    ticket = good["open"][19]
    for place in (0, 9, 12, 13, 16, 20):
        bad = ticket.copy()
        bad[place] = 1e9
        broken.append({**good, "open": {19: bad}})
    broken.append({**good, "open": {"x": ticket}})
    broken.append({**good, "open": {19: ticket[:-1]}})
    for fields in broken:
        with pytest.raises(ValueError, match=r"corrupt file|must"):
            mixer("two_layers", 3).restore(fields)


def test_errors_change_nothing():
    engine = mixer("two_layers", 2, "squared")
    assert engine.answer(0, np.array([np.nan, np.nan])) is None
    engine.answer(1, np.array([1e100, 0.0]))
    before = engine.fields()
    assert engine.settle(1, 0.0) == (_engine.Trouble.outside, 0)
    other = mixer("two_layers", 2)
    other.answer(1, np.array([1e145, -1e145]))
    assert other.settle(1, 1.0) == (_engine.Trouble.extreme, -1)
    after = engine.fields()
    assert before["numbers"] == after["numbers"]
    assert all((before[name] == after[name]).all() for name in before if name not in ("numbers", "open"))
    log = mixer("rule_b", 2, "log")
    log.answer(0, np.array([0.0, 0.5]))
    assert log.settle(0, 1.0) == (_engine.Trouble.infinite, 0)
