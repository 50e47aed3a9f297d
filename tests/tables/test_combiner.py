"""`hn.Combiner`: rows answered and settled one at a time, errors, saved and resumed to the last bit."""

from __future__ import annotations

import json

import numpy as np
import pytest
from naive_combine import TwoLayers

import hannan as hn
from hannan import saving
from hannan.learners.names import FORECASTS


def feed(combiner, rng, rows, first=0, late=3):
    """Rows of Gaussian forecasts, settled up to `late` rows later, in any order; return the answers."""
    told = []
    for t in range(first, first + rows):
        y = rng.normal()
        forecasts = y + rng.normal(size=len(combiner.columns)) * np.arange(1, len(combiner.columns) + 1)
        told.append(combiner.answer(t, forecasts))
        while len(combiner.open) > late:
            waits = combiner.open
            combiner.settle(waits[rng.integers(len(waits))], rng.normal())
    return told


def test_combiner_equals_the_oracle():
    rng, combiner, oracle = np.random.default_rng(0), hn.Combiner(["a", "b", "c"], "squared"), TwoLayers(3)
    waiting = {}
    for t in range(80):
        f, y = rng.normal(size=3), rng.normal()
        waiting[t] = oracle.answer(f), f, y
        assert combiner.answer(t, f) == pytest.approx(waiting[t][0]["x"], rel=1e-9)
        if len(waiting) > 4:
            key = list(waiting)[rng.integers(len(waiting))]
            row, f, y = waiting.pop(key)
            combiner.settle(key, y)
            oracle.settle(row, lambda x, y=y: 2.0 * (x - y), (f - y) ** 2)
    np.testing.assert_allclose(combiner.weights(), oracle.weights(np.ones(3, dtype=bool)), rtol=1e-9)
    told = combiner.certificate()
    assert (told.answered, told.settled) == (80, 76)
    assert told.promises.mean_realised <= told.promises.mean
    assert (told.promises.realised <= told.promises.columns).all()
    for text in ("76 settled of 80 answered", "proved bound", "two layers of rule B"):
        assert text in str(told)


@pytest.mark.parametrize("name", [*FORECASTS, "adahedge", None])
def test_every_named_rule_plays(name):
    combiner = hn.Combiner(4, "absolute", name)
    feed(combiner, np.random.default_rng(1), 40)
    weights = combiner.weights([True, True, False, True])
    assert weights[2] == 0.0
    assert weights.sum() == pytest.approx(1.0)
    told = combiner.certificate()
    assert told.settled == 37
    proved = name in (None, "two-layers", "b", "adahedge:slopes", "adahedge")
    assert (told.promises.columns is not None) == proved
    if proved:
        assert (told.promises.realised <= told.promises.columns).all()
        q = np.full(4, 0.25)
        if name != "adahedge":
            assert told.promises.mean_realised <= told.promises.mean
            assert told.promises.combination(q) is not None
        else:
            assert told.promises.combination(q) is None
    else:
        assert "no bound is proved" in str(told)


class Last:
    """Follows the column that was best in the last row."""

    def __init__(self):
        self.best = None

    def weights(self, awake):
        p = awake / awake.sum()
        if self.best is not None and awake[self.best]:
            p = np.eye(len(awake))[self.best]
        return p

    def settle(self, forecasts, weights, target):
        assert weights.sum() == pytest.approx(1.0)
        self.best = int(np.nanargmin(abs(forecasts - target)))


def test_user_defined_rule_plays():
    combiner = hn.Combiner(["a", "b"], learner=Last())
    assert combiner.answer(1, [1.0, 3.0]) == 2.0
    combiner.settle(1, 2.9)
    assert combiner.answer(2, [1.0, 3.0]) == 3.0
    assert combiner.answer(3, [1.0, None]) == 1.0
    combiner.settle(2, 1.0)
    assert "no bound is known for a user-defined rule" in str(combiner.certificate())
    frame = {"a": [1.0, 1.0, 1.0], "b": [3.0, 3.0, 3.0], "y": [2.9, 1.1, 1.0]}
    told = hn.combine(frame, "y", learner=Last())
    assert told.forecast.tolist() == [2.0, 3.0, 1.0]
    assert told.played is None

    class Wrong(Last):
        def weights(self, awake):
            return [0.7, 0.7]

    with pytest.raises(ValueError, match="weights\\(awake\\) must"):
        hn.Combiner(2, learner=Wrong()).answer(0, [1.0, 2.0])
    with pytest.raises(ValueError, match="only combiners with a named rule"):
        combiner.save("nowhere")


def test_rejected_calls_change_nothing():
    combiner = hn.Combiner(["a", "b"], "squared", loss_range=(0.0, 100.0))
    combiner.answer("r", {"a": 1.0})
    weights = combiner.weights()
    for call, match in [
        (lambda: combiner.answer("r", [1.0, 2.0]), "'r' was answered already"),
        (
            lambda: combiner.answer("s", [None, np.nan]),
            "row 's': all forecasts are missing",
        ),
        (lambda: combiner.answer("s", [1.0]), "must have 2 values"),
        (lambda: combiner.answer("s", [1.0, np.inf]), "must have 2 values, finite or missing"),
        (lambda: combiner.answer("s", {"a": 1.0, "z": 2.0}), r"no column 'z'; columns are \['a', 'b'\]"),
        (lambda: combiner.settle("s", 1.0), "no row 's' waits"),
        (lambda: combiner.settle("r", np.nan), "target"),
        (
            lambda: combiner.settle("r", 50.0),
            r"row 'r', column 'a': a loss must be in the stated range 0:100; got 2401",
        ),
        (lambda: combiner.forget("s"), "waits for a target"),
        (lambda: combiner.weights([False, False]), "at least one of them true"),
    ]:
        with pytest.raises(ValueError, match=match):
            call()
    assert combiner.open == ("r",)
    assert (combiner.weights() == weights).all()
    combiner.settle("r", 2.0)
    combiner.answer("s", [1.0, 2.0])
    combiner.forget("s")
    assert combiner.open == ()
    assert combiner.certificate().settled == 1
    for bad in ([], 0, "abc", True, ["a", "a"]):
        with pytest.raises(ValueError, match=r"columns must be|one role"):
            hn.Combiner(bad)
    for prior in ([1.0, 0.0], [0.2, 0.2], {"a": 1.0}):
        with pytest.raises(ValueError, match="prior"):
            hn.Combiner(["a", "b"], prior=prior)
    with pytest.raises(ValueError, match="learner must be"):
        hn.Combiner(2, learner=3)
    with pytest.raises(ValueError, match="loss_range"):
        hn.Combiner(2, learner="hedge")
    with pytest.raises(ValueError, match="to combine forecasts"):
        hn.Combiner(2, learner="bandit")
    log = hn.Combiner(2, "log")
    log.answer(0, [0.0, 0.5])
    with pytest.raises(ValueError, match="must be 0 or 1"):
        log.settle(0, 0.3)
    with pytest.raises(ValueError, match="must be finite"):
        log.settle(0, 1.0)
    wide = hn.Combiner(2)
    wide.answer(0, [1e149, -1e149])
    with pytest.raises(ValueError, match="times the spread of the forecasts must be at most 1e140"):
        wide.settle(0, 1.0)


def test_capped_loss_states_what_its_bound_covers():
    """Not convex: by default AdaHedge plays, whose drawn expert has the bound.

    An error says that slopes have no bound.
    """
    combiner = hn.Combiner(2, cap=1.0)
    assert repr(combiner.learner) == "AdaHedge(2, loss_range=(0.0, 1.0))"
    slopes = hn.Combiner(2, learner="two-layers", cap=1.0)
    for one in (combiner, slopes):
        one.answer(0, [1.0, 5.0])
        one.settle(0, 1.0)
    assert "not convex" in combiner.certificate().promises.withheld
    assert "not convex" in slopes.certificate().promises.withheld


def test_prior_gives_the_initial_weights():
    combiner = hn.Combiner(["a", "b"], learner="b", prior={"b": 0.9, "a": 0.1})
    assert combiner.answer(0, [0.0, 1.0]) == pytest.approx(0.9)


@pytest.mark.parametrize("name", FORECASTS)
def test_saved_and_resumed_to_the_last_bit(name, tmp_path):
    first = hn.Combiner(["a", "b", "c"], "huber:2", name, loss_range=(0.0, 1e6))
    feed(first, np.random.default_rng(2), 30)
    first.save(tmp_path / "c.json")
    second = hn.Combiner.load(tmp_path / "c.json")
    assert second.open == first.open
    assert second.columns == ("a", "b", "c")
    assert repr(second.learner) == repr(first.learner)
    one, two = (feed(c, np.random.default_rng(3), 30, 30) for c in (first, second))
    assert one == two
    assert (first.weights() == second.weights()).all()
    assert str(first.certificate()) == str(second.certificate())


def test_file_of_another_kind_is_rejected(tmp_path):
    hn.Bandit(2).start(0).save(tmp_path / "p.json")
    with pytest.raises(ValueError, match="not a saved combiner"):
        hn.Combiner.load(tmp_path / "p.json")
    combiner = hn.Combiner(2)
    feed(combiner, np.random.default_rng(0), 10)
    combiner.save(tmp_path / "c.json")
    assert hn.load(tmp_path / "c.json").weights().tolist() == combiner.weights().tolist()
    content = saving.read(tmp_path / "c.json")
    changes = [
        {"columns": ["a"]}, {"columns": ["a", "a"]}, {"columns": [1, 2]}, {"rule": "boa2"}, {"loss": "x"},
        {"loss": 3}, {"range": [1]},
        {"next": -1}, {"open": [[1, 1]]}, {"open": "x"}, {"open": content["open"][:-1]}, {"state": []},
        {"state": {}}, {"cap": -1.0},
        {"state": {**content["state"], "b_gain": content["state"]["b_rate"], "b_rate": content["state"]["b_gain"]}},
    ]  # fmt: skip
    for change in changes:
        saving.write(tmp_path / "bad.json", {**content, **change})
        with pytest.raises(ValueError, match=str(tmp_path / "bad.json")):
            hn.Combiner.load(tmp_path / "bad.json")
    text = (tmp_path / "c.json").read_text()
    (tmp_path / "torn.json").write_text(text[:-40])
    with pytest.raises(ValueError, match="torn"):
        hn.Combiner.load(tmp_path / "torn.json")
    assert json.loads(text)["format"]
    odd = hn.Combiner(1)
    odd.answer((1, 2), [1.0])
    with pytest.raises(ValueError, match="must be strings or integers"):
        odd.save(tmp_path / "odd.json")
