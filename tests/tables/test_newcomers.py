"""New columns in rule B: a bounded first weight, the theorem, saved state, and the same bits without newcomers."""

from __future__ import annotations

import json
from pathlib import Path

import corpus
import numpy as np
import pytest
from hostile_games import LOSSES, Hostile
from naive_combine import RuleB, potential

import hannan as hn
from hannan import _engine
from hannan.learners.adahedge import Rule
from hannan.tables.combine.losses import point_loss
from hannan.tables.combine.quantiles import QuantileLoss
from hannan.tables.combine.rules import ByRule

FOLDER = Path(__file__).parent.parent / "corpus" / "0.2"
#: The newcomer is the last of six columns; its first row is row 500. The noise of a column is 0.5 in these units.
FIRST, N, NOISE = 500, 6, 0.5


def mixer(n, loss="absolute", kind="rule_b", prior=None):
    rule = _engine.MixRule(getattr(_engine.Mixing, kind), point_loss(loss).price(), -1e150, 1e150)
    return _engine.Mixer(rule, n, prior)


def with_newcomer(seed, rows=FIRST + 2, off=0.0, exact=False):
    """Columns of equal quality; the last one appears in row FIRST, and is too large by `off`, or exact."""
    rng = np.random.default_rng(seed)
    targets = rng.normal(size=rows)
    forecasts = targets[:, None] + NOISE * rng.normal(size=(rows, N))
    forecasts[:, -1] = targets if exact else forecasts[:, -1] + off
    forecasts[:FIRST, -1] = np.nan
    return forecasts, targets


def play(engine, forecasts, targets, settled):
    """Answers and weights of the first rows, of which `settled` are settled and one more is answered."""
    answers, weights = np.empty(settled + 1), np.empty((settled + 1, forecasts.shape[1]))
    told = np.append(targets[:settled], np.nan)
    done = engine.rows(forecasts[: settled + 1], told, answers, weights)
    assert done == (settled + 1, _engine.Trouble.none, -1)
    return answers, weights


def slow_play(oracle, forecasts, targets, rows, loss="absolute"):
    cost = point_loss(loss)
    for f, y in zip(forecasts[:rows], targets[:rows], strict=True):
        oracle.settle(oracle.answer(f), lambda x, y=y: float(cost.slope(x, y)))
    return oracle


# 1. The same bits without newcomers


def test_full_rows_are_the_same_as_in_version_0_2():
    """Forecasts and weights of forty games equal those of the previous release bit for bit."""
    recorded = json.loads((FOLDER / "facts.json").read_text())["rule_b"]
    assert corpus.rule_b_games(False) == recorded["full"]
    # Control: the same games with a column that begins in row 10 all differ.
    changed = corpus.rule_b_games(True)
    assert all(changed[name] != recorded["missing"][name] for name in changed)
    assert len(changed) == 40


# 2 and 3. The first weight of a newcomer


@pytest.mark.parametrize("loss", LOSSES)
def test_newcomer_starts_with_at_most_an_average_weight(loss):
    uncapped = []
    for seed in range(10):
        forecasts, targets = with_newcomer(seed)
        _, weights = play(mixer(N, loss), forecasts, targets, FIRST + 1)
        assert weights[FIRST, -1] == 0.0  # no settled target yet
        assert 0.05 < weights[FIRST + 1, -1] <= 1 / 5
        control = slow_play(RuleB(N, without=("caps",)), forecasts, targets, FIRST + 1, loss)
        uncapped.append(control.weights(np.ones(N, dtype=bool))[-1])
        forecasts, targets = with_newcomer(seed, off=30 * NOISE)
        _, weights = play(mixer(N, loss), forecasts, targets, FIRST + 1)
        assert 0.0 < weights[FIRST + 1, -1] <= 0.02
    assert min(uncapped) > 0.4
    assert np.mean(uncapped) > 0.7


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("off", [5.0, 500.0])
def test_newcomer_moves_the_answer_by_little_however_wrong_it_is(off, loss):
    moved, uncapped = [], []
    for seed in range(10):
        forecasts, targets = with_newcomer(seed, off=off)
        answers, _ = play(mixer(N, loss), forecasts, targets, FIRST + 1)
        alone = forecasts.copy()
        alone[:, -1] = np.nan
        without, _ = play(mixer(N, loss), alone, targets, FIRST + 1)
        moved.append(abs(answers[-1] - without[-1]))
        if seed < 4:
            control = slow_play(RuleB(N, without=("distance",)), forecasts, targets, FIRST + 1, loss)
            uncapped.append(abs(control.forecast(forecasts[FIRST + 1]) - without[-1]))
    assert max(moved) <= 0.15
    assert max(uncapped) > 0.5


def test_distance_is_measured_in_forecasts():
    """With squared loss r is small if the answer happens to be right; the weight is small all the same."""
    forecasts, targets = with_newcomer(0, off=30 * NOISE)
    engine = mixer(N, "squared")
    play(engine, forecasts, targets, FIRST - 1)
    engine.answer(FIRST, forecasts[FIRST])
    answer = engine.told(FIRST)[0]
    assert engine.settle(FIRST, answer + 1e-6)[0] == _engine.Trouble.none
    assert 0.0 < engine.weights(forecasts[FIRST + 1])[-1] <= 0.02


@pytest.mark.parametrize("name", ["b", "two-layers"])
def test_newcomer_among_quantiles_is_capped(name):
    """One level far off is enough: the distance is the mean over the levels. Control: a newcomer of equal quality."""
    levels, rng = (0.1, 0.5, 0.9), np.random.default_rng(0)
    targets = rng.normal(size=302)
    table = np.sort(targets[:, None, None] + NOISE * rng.normal(size=(302, 3, N)), axis=1)
    table[:300, :, -1] = np.nan
    shares = []
    for off in (0.0, 90 * NOISE):
        table[300:, 2, -1] += off
        engine = ByRule(Rule(name), N, QuantileLoss(levels))
        answers, weights = np.empty((302, 3)), np.empty((302, N))
        told = np.append(targets[:301], np.nan)
        engine.rows(np.ascontiguousarray(table.reshape(302, -1)), told, answers, weights)
        shares.append(engine.layer("b")["weight"][-1] / engine.layer("b")["weight"].sum())
    assert 0.05 < shares[0] <= 1 / 5
    assert 0.0 < shares[1] <= 0.02


# 4. Uptake


def test_exact_newcomer_takes_over():
    reached = []
    for seed in range(20):
        forecasts, targets = with_newcomer(seed, FIRST + 200, exact=True)
        _, weights = play(mixer(N), forecasts, targets, FIRST + 100)
        reached.append(int(np.argmax(weights[FIRST:, -1] >= 0.9)))
    assert min(reached) > 0
    assert max(reached) <= 80
    # Control: a share of 1/(n rows) that is not refilled does not take over in 200 rows.
    forecasts, targets = with_newcomer(0, FIRST + 200, exact=True)
    control = slow_play(RuleB(N, without=("fade", "distance")), forecasts, targets, FIRST + 200)
    assert control.weights(np.ones(N, dtype=bool))[-1] < 0.9


# 5 and 6. The theorem


def play_hostile(seed, kind):
    """Play the engine; yield after every settled row."""
    game = Hostile(seed)
    engine = mixer(game.n, game.loss, kind)
    for e in game.events:
        if e >= 0:
            engine.answer(e, game.forecasts[e])
            continue
        y = game.target(~e, engine.told(~e)[0], engine.layer("b")["lead"])
        assert engine.settle(~e, float(y)) == (_engine.Trouble.none, -1)
        yield engine


def check_theorem(seeds):
    capped = 0
    for seed in seeds:
        engine = None
        for engine in play_hostile(seed, ("rule_b", "two_layers")[seed // 2 % 2]):
            layer = engine.layer("b")
            assert potential(layer) <= layer["grown"] * (1 + 1e-9)
            size = layer["sizes"] + abs(layer["drift"]) + abs(layer["lead"]) + layer["spent"]
            assert (layer["lead"] <= layer["bound"] + 1e-9 * size).all()
        capped += np.isfinite(engine.layer("b")["cap"]).any()
    return capped


def test_theorem_holds_in_hostile_games_with_newcomers():
    """sum pi_i E_i <= P and regret <= bound after every row, for every column. Most games have a finite cap."""
    assert check_theorem(range(180)) > 90


@pytest.mark.slow
def test_theorem_holds_in_many_hostile_games_with_newcomers():
    assert check_theorem(range(180, 2100)) > 960


def exceeded(seeds, broken, without=()):
    """Number of games in which a row exists after which `broken(oracle)` is true."""
    count = 0
    for seed in seeds:
        game, rows = Hostile(seed), {}
        oracle = RuleB(game.n, without=without)
        for e in game.events:
            if e >= 0:
                rows[e] = oracle.answer(game.forecasts[e])
                continue
            row = rows.pop(~e)
            y = game.target(~e, row["x"], oracle.G)
            oracle.settle(row, lambda x, y=y, cost=game.cost: float(cost.slope(x, y)))
            if broken(oracle):
                count += 1
                break
    return count


def over_potential(oracle):
    return oracle.potential() > oracle.P * (1 + 1e-9)


def over_bound(P=None, prior=False, drift=1.0):
    def broken(o):
        mass, lead = o.prior if prior else o.mass, np.zeros(o.n)
        lead[o.old] = np.log((P or o.P) / mass[o.old]) / o.eta[o.old]
        size = o.sizes + abs(o.drift) + abs(o.G) + o.C
        return (lead + o.C + drift * o.drift + o.rest + 1e-9 * size < o.G).any()

    return broken


@pytest.mark.parametrize(
    ("broken", "without"),
    [(over_potential, ("refill",)), (over_potential, ("births",)), (over_bound(prior=True), ()),
     (over_bound(drift=0.0), ()), (over_bound(P=1.0), ())],
    ids=["P without refill", "P without first updates", "prior for the capped prior", "no drift", "P = 1"],
)  # fmt: skip
def test_control_each_term_of_the_bound_is_needed(broken, without):
    """Negative controls: without the term, a game of the same family exceeds the bound; with all terms none does."""
    seeds = range(100)
    assert exceeded(seeds, broken, without) >= 1
    assert exceeded(range(20), over_potential) == exceeded(range(20), over_bound()) == 0


@pytest.mark.parametrize("name", ["b", "two-layers"])
def test_printed_bounds_hold_in_losses_with_newcomers(name):
    """Bounds as they are printed, for games in which columns appear late: never below the realized difference."""
    for seed in range(60):
        game = Hostile(seed)
        engine = ByRule(Rule(name), game.n, game.cost)
        for e in game.events:
            if e >= 0:
                engine.answer(e, game.forecasts[e])
                continue
            y = game.target(~e, engine.told(~e)[0], engine.layer("b")["lead"])
            engine.settle(~e, float(y))
        told = engine.promises()
        slack = 1e-9 * (1.0 + engine.mixture + engine.losses)
        assert (told.realised <= told.columns + slack).all()


# 7. Saved state


NAMES = ("a", "b", "c", "late", "later")


def answer(combiner, t, forecasts):
    return combiner.answer(int(t), [None if np.isnan(f) else float(f) for f in forecasts])


def continued(combiner, table, targets, rows):
    """Answers of the rows from now on, settled 2 rows late, and the bounds at the end."""
    answers = []
    for t in rows:
        answers.append(answer(combiner, t, table[t]))
        if t >= 2:
            combiner.settle(int(t) - 2, float(targets[t - 2]))
    return np.array(answers), combiner.certificate().promises.columns


def two_newcomers():
    rng = np.random.default_rng(3)
    targets = rng.normal(size=100)
    table = targets[:, None] + rng.normal(size=(100, 5))
    table[:40, 3], table[:70, 4], table[70:, 4] = np.nan, np.nan, table[70:, 4] + 4.0
    return table, targets


def saved_and_loaded(combiner, folder, change=None):
    combiner.save(folder / "combiner.json")
    if change is None:
        return hn.Combiner.load(folder / "combiner.json")
    fields = combiner.mixer.fields()
    change(fields)
    loaded = hn.Combiner.load(folder / "combiner.json")
    loaded.mixer.restore(fields)
    return loaded


def drop_caps(fields):
    fields["b_cap"], fields["quick_cap"] = np.zeros(5), np.zeros(5)


def drop_spreads(fields):
    fields["numbers"] = {k: 0.0 if "spread" in k else v for k, v in fields["numbers"].items()}


@pytest.mark.parametrize("learner", ["b", "two-layers"])
def test_saved_combiner_continues_between_birth_and_end_of_the_cap(learner, tmp_path):
    table, targets = two_newcomers()
    answers, bounds = continued(hn.Combiner(NAMES, learner=learner), table, targets, range(100))

    def halfway():
        combiner = hn.Combiner(NAMES, learner=learner)
        continued(combiner, table, targets, range(50))
        return combiner

    layer = halfway().mixer.layer("b")
    assert np.isfinite(layer["cap"][3])
    assert layer["prior"][3] * layer["rate"][3] > layer["cap"][3] > 0.0  # the cap is active
    assert np.isinf(layer["cap"][:3]).all()
    again, ends = continued(saved_and_loaded(halfway(), tmp_path), table, targets, range(50, 100))
    assert (again == answers[50:]).all()
    assert (ends == bounds).all()
    # Controls: without the caps, or without Q and n, a later forecast differs.
    for change in (drop_caps, drop_spreads):
        again, _ = continued(saved_and_loaded(halfway(), tmp_path, change), table, targets, range(50, 100))
        assert (again != answers[50:]).any(), change


def test_state_with_small_p_is_kept(tmp_path):
    """P is below 1 while columns have no update."""
    combiner = hn.Combiner(NAMES, learner="b")
    table, targets = two_newcomers()
    continued(combiner, table, targets, range(5))
    grown = combiner.mixer.layer("b")["grown"]
    assert 0.0 < grown < 1.0
    assert saved_and_loaded(combiner, tmp_path).mixer.layer("b")["grown"] == grown


@pytest.mark.parametrize("learner", ["b", "two-layers"])
def test_file_of_version_0_2_with_an_unseen_column_loads(learner):
    """No column has a cap, P loses the prior mass of the unseen column, and a newcomer is capped from then on."""
    combiner = hn.Combiner.load(FOLDER / "combiners" / f"{learner}-unseen.json")
    fresh = hn.Combiner(["anna", "ben", "naive", "new"], learner=learner)
    for t, (forecasts, y) in enumerate(corpus.forecast_rows(50, 3)):
        fresh.answer(t, [*forecasts, None])
        fresh.settle(t, y)
    layer, now = combiner.mixer.layer("b"), fresh.mixer.layer("b")
    assert layer["cap"].tolist() == now["cap"].tolist() == [np.inf] * 3 + [0.0]
    assert now["grown"] <= layer["grown"] <= now["grown"] + 0.2  # 0.25 more with the prior of the unseen column
    assert (now["bound"] <= layer["bound"] + 1e-9).all()
    for each in (combiner, fresh):
        each.answer("next", [5.0, 5.1, 4.9, 5.0])
        each.settle("next", 5.2)
    assert np.isfinite(combiner.mixer.layer("b")["cap"]).tolist() == [False] * 3 + [True]
    # The file has no Q: the spread is that of the single row since, so the caps differ.
    assert combiner.mixer.layer("b")["spread_rows"] == 1
    assert fresh.mixer.layer("b")["spread_rows"] == 51


def test_crafted_p_cannot_lower_the_bound():
    """A file whose P is smaller than the sum that it bounds: P becomes the sum, and the bound still holds."""
    table, targets = two_newcomers()
    combiner = hn.Combiner(NAMES, learner="b")
    continued(combiner, table, targets, range(60))
    fields = combiner.mixer.fields()
    fields["numbers"] = {**fields["numbers"], "grown": 0.0}
    other = hn.Combiner(NAMES, learner="b")
    other.mixer.restore(fields)
    layer = other.mixer.layer("b")
    assert layer["grown"] == pytest.approx(potential(layer))
    assert (layer["lead"] <= layer["bound"] + 1e-9 * layer["sizes"]).all()


# 8. Symmetry


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kind", ["rule_b", "two_layers"])
def test_order_of_columns_and_units_do_not_matter(kind, loss):
    """Two newcomers in one row, of different distance; control: another distance gives other weights."""
    rng = np.random.default_rng(8)
    targets = rng.normal(size=80)
    forecasts = targets[:, None] + rng.normal(size=(80, 6))
    forecasts[:50, 4:] = np.nan
    forecasts[50:, 5] += 4.0
    _, weights = play(mixer(6, loss, kind), forecasts, targets, 79)
    assert (weights[60, 4:] > 0.0).all()
    turned = np.array([5, 2, 4, 0, 3, 1])
    _, permuted = play(mixer(6, loss, kind), np.ascontiguousarray(forecasts[:, turned]), targets, 79)
    np.testing.assert_allclose(permuted, weights[:, turned], rtol=1e-9)
    _, scaled = play(mixer(6, loss, kind), forecasts * 1000.0, targets * 1000.0, 79)
    np.testing.assert_allclose(scaled, weights, rtol=1e-9)
    forecasts[50:, 5] += 1.0
    _, other = play(mixer(6, loss, kind), forecasts, targets, 79)
    assert (abs(other - weights) > 1e-3).any()


# 9. Edge cases


def settle_rows(engine, rows, loss="absolute"):
    """Play rows (forecasts, target) in the engine and in the reference, which agree and stay finite."""
    oracle, cost = RuleB(len(rows[0][0]), prior=engine.layer("b")["prior"]), point_loss(loss)
    for t, (f, y) in enumerate(rows):
        f = np.array(f)
        engine.answer(t, f)
        assert engine.settle(t, y)[0] == _engine.Trouble.none
        oracle.settle(oracle.answer(f), lambda x, y=y: float(cost.slope(x, y)))
        check_finite(engine)
    layer = engine.layer("b")
    np.testing.assert_allclose(np.where(layer["cap"] > 0.0, layer["cap"], np.inf), oracle.c, rtol=1e-9)
    np.testing.assert_allclose(layer["grown"], oracle.P, rtol=1e-9)
    np.testing.assert_allclose(layer["bound"], oracle.bounds(), rtol=1e-9, atol=1e-9)
    return layer, oracle


def check_finite(engine):
    layer, n = engine.layer("b"), len(engine.losses)
    assert np.isfinite(layer["bound"]).all()
    for i in range(n):  # every subset of one column, and all of them
        alone = np.full(n, np.nan)
        alone[i] = 1.0
        assert engine.weights(alone)[i] == 1.0
    weights = engine.weights(np.arange(n, dtype=float))
    assert np.isfinite(weights).all()
    assert weights.sum() == pytest.approx(1.0)


NAN = float("nan")


def test_first_update_while_no_old_column_is_available():
    """D is then all old columns, and the distance does not count."""
    rows = [([-50.0, 40.0, NAN, NAN], 0.5), ([-60.0, 50.0, NAN, NAN], 0.0), ([NAN, NAN, 1.0, 1.4], 3.0)]
    layer, oracle = settle_rows(mixer(4), rows)
    assert np.isfinite(layer["cap"][2:]).all()
    assert layer["spread_rows"] == oracle.spread_rows == 2


@pytest.mark.parametrize("seed", range(20))
def test_one_old_column_has_no_spread(seed):
    """A single old column equals the forecast, up to rounding: the distance of the newcomer does not count.

    Control: with two old columns that differ it does.
    """
    a, b = np.random.default_rng(seed).uniform(0.1, 3.0, 2).tolist()
    layer, _ = settle_rows(mixer(3), [([a, a + 1e3, NAN], 0.0), ([b, NAN, b + 1.0], 0.0)])
    assert layer["spread"] == 0.0
    assert 1e-5 < layer["cap"][2] < 1e-2
    layer, _ = settle_rows(mixer(4), [([a, a + 1e3, a, NAN], 0.0), ([b, NAN, b * (1 + 1e-6), b + 1.0], 0.0)])
    assert layer["spread"] > 0.0
    assert layer["cap"][3] < 1e-7


def test_reference_weight_has_a_floor():
    """E_j = 0 for the only available old column: the second argument of W still gives the newcomer a weight."""
    rows = [([0.0, 1.0, NAN], -1.0), ([0.1, 1.3, NAN], -1.0)]
    last = np.array([NAN, 1.0, 3.0])
    engine = mixer(3)
    settle_rows(engine, rows)
    fields = engine.fields()
    fields["b_gain"] = np.array([fields["b_gain"][0], -1e9, 0.0])
    engine = mixer(3)
    engine.restore(fields)
    engine.answer(2, last)
    engine.settle(2, 0.0)
    check_finite(engine)
    caps = [engine.layer("b")["cap"][2]]
    for without in ((), ("second",)):
        oracle = slow_play(RuleB(3, without=without), *map(np.array, zip(*rows, strict=True)), 2)
        oracle.S[1] = -1e9
        caps.append(slow_play(oracle, [last], [0.0], 1).c[2])
    assert caps[0] == pytest.approx(caps[1])
    full = oracle.prior[2] * oracle.eta[2]
    assert caps[0] > 1e-9 * full
    assert caps[2] <= 1.01e-200 * full  # the control falls to the limit


def test_prior_masses_need_not_sum_to_one():
    """A state whose prior masses sum to 1.4: bounds hold and stay finite, with a newcomer."""
    fields = mixer(4).fields()
    fields["b_prior"] = np.array([0.25, 0.25, 0.5, 0.4])
    engine = mixer(4)
    engine.restore(fields)
    rng = np.random.default_rng(1)
    rows = [([*(rng.normal(size=3)), NAN if t < 20 else float(rng.normal())], float(rng.normal())) for t in range(40)]
    layer, _ = settle_rows(engine, rows)
    assert potential(layer) <= layer["grown"] * (1 + 1e-9)
    assert (layer["lead"] <= layer["bound"] + 1e-9).all()
    with pytest.raises(ValueError, match="prior"):
        mixer(4).restore({**fields, "b_prior": np.array([0.25, 0.25, 0.5, 0.0])})
    for bad in ([0.25, 0.25, 0.25, 0.4], [0.5, 0.5, 0.0, 0.0]):  # a prior of the user must sum to 1 and be positive
        with pytest.raises(ValueError, match="prior"):
            mixer(4, prior=np.array(bad))


@pytest.mark.parametrize("first", [2, 3])
def test_two_targets_settled_in_both_orders(first):
    """Two newcomers in two open rows: the one settled first is old for the other."""
    engine = mixer(4)
    rng = np.random.default_rng(2)
    for t in range(2):
        engine.answer(t, np.array([*rng.normal(size=2), NAN, NAN]))
        engine.settle(t, 0.3)
    engine.answer(2, np.array([0.1, -0.4, 0.9, NAN]))
    engine.answer(3, np.array([NAN, NAN, 0.8, 5.0]))
    engine.settle(first, 0.2)
    engine.settle(5 - first, 0.2)
    check_finite(engine)
    layer = engine.layer("b")
    assert potential(layer) <= layer["grown"] * (1 + 1e-9)
    assert (layer["lead"] <= layer["bound"] + 1e-9).all()
    # In this order, column 2 is old when column 3 appears; in the other order no old column is available at either
    # time.
    assert layer["spread_rows"] == (4 if first == 2 else 3)


@pytest.mark.parametrize("tiny", [1e-60, 1e-300])
def test_tiny_priors_and_units_stay_finite(tiny):
    """Prior masses down to 1e-300 and units from 1e-130 to 1e130: caps, weights and bounds stay finite."""
    for unit in (1e-130, 1.0, 1e130):
        engine = mixer(3, prior=np.array([0.5, 0.5 - tiny, tiny]))
        rng = np.random.default_rng(0)
        for t in range(60):
            y = float(rng.normal())
            f = np.array([y + rng.normal(), y + rng.normal(), NAN if t < 20 else y]) * unit
            engine.answer(t, f)
            assert engine.settle(t, y * unit)[0] == _engine.Trouble.none
            layer = engine.layer("b")
            assert np.isfinite(layer["bound"] / unit).all()
            assert np.isfinite(engine.weights(np.ones(3))).all()
            assert (layer["lead"] <= layer["bound"] + 1e-9 * layer["sizes"]).all()
        other = mixer(3)
        other.restore(engine.fields())
        assert (other.layer("b")["bound"] == engine.layer("b")["bound"]).all()


def test_column_without_settled_target_waits_for_one():
    """While no column is old, the prior covers the columns with a settled target."""
    engine = mixer(3)
    assert engine.weights(np.array([1.0, 2.0, 3.0])).tolist() == pytest.approx([1 / 3] * 3)
    engine.answer(0, np.array([1.0, NAN, NAN]))
    engine.settle(0, 2.0)
    assert engine.weights(np.array([1.0, 2.0, 3.0])).tolist() == [1.0, 0.0, 0.0]
    assert engine.weights(np.array([NAN, 2.0, 3.0])).tolist() == [0.0, 0.5, 0.5]
