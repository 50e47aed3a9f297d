"""Games of slates: losses per run, Bernoulli losses, adversaries, comparisons and sweeps."""

from __future__ import annotations

import numpy as np
import pytest

import hannan as hn
from tests.oracles.rejections import rejected

LEARNERS = [hn.FPL(hn.MSets(5, 2), 5.0), hn.FPLTrix(hn.MSets(5, 2)), hn.SlateBandit(5, 2)]


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_losses_per_run_play_as_one_table_if_they_are_equal(learner):
    rows = np.random.default_rng(0).random((1500, 5))
    shared = hn.play(learner, rows, runs=3, seed=4, keep="all")
    apart = hn.play(learner, np.stack([rows] * 3), runs=3, seed=4, keep="all")
    assert np.array_equal(shared.actions, apart.actions)
    assert np.array_equal(shared.regret, apart.regret)
    assert apart.best_loss.tolist() == [shared.best_loss] * 3


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_each_run_has_its_own_losses_and_best_decision(learner):
    tables = np.random.default_rng(1).random((3, 400, 5)) ** np.arange(1, 4)[:, None, None]
    record = hn.play(learner, tables, runs=3, seed=2, keep="all")
    assert hn.play(learner, tables, runs=3, seed=2, threads=1).regret[:, -1].tolist() == record.regret[:, -1].tolist()
    for run, rows in enumerate(tables):
        best = np.sort(rows.sum(axis=0))[:2].sum()
        own = (record.actions[run] * rows).sum()
        assert record.regret[run, -1] == pytest.approx(own - best, abs=1e-9)
        assert record.best_loss[run] == pytest.approx(best)
    assert np.array_equal(record.actions[0], hn.play(learner, tables[0], seed=2, keep="all").actions[0])
    bad = tables.copy()
    bad[2, 7, 3] = 1.5
    rejected(lambda: hn.play(learner, bad, runs=3), "losses", "1.5", "run 2", "round 7", "component 3")


def test_bernoulli_losses_are_drawn_per_run():
    learner = hn.SlateBandit(4, 2, gains=True)
    record = hn.play(learner, hn.adversaries.Bernoulli([0.1, 0.2, 0.8, 0.9], 4000), runs=4, seed=0, keep="all")
    assert record.iid
    assert len(set(record.best_loss)) > 1
    assert np.abs(record.best_loss / 4000 - 1.7).max() < 0.05  # 6 standard errors: 2e-9
    assert 0.0 < record.mean_regret[-1] < record.bound.value
    narrow = hn.SlateBandit(4, 2, loss_range=(0.0, 0.5))
    rejected(lambda: hn.play(narrow, hn.adversaries.Bernoulli([0.1] * 4, 9)), "loss_range", "[0, 0.5]")


def test_adversaries_receive_inclusion_probabilities():
    learner, seen = hn.SlateBandit(4, 2, loss_range=(-2.0, 3.0), gains=True), []

    def adversary(t, past):
        seen.append(past.distribution.copy())
        return [0.0, 3.0, 0.5, -2.0]

    record = hn.play(learner, adversary, rounds=300, keep="all")
    assert np.array(seen).sum(axis=1) == pytest.approx(2.0)
    assert record.best_loss.tolist() == [300 * 3.5]
    assert record.regret[0, -1] == pytest.approx(300 * 3.5 - (record.actions[0] @ [0.0, 3.0, 0.5, -2.0]).sum())
    rejected(lambda: hn.play(learner, lambda t, past: [0, 4, 0, 0], rounds=5), "losses", "[-2, 3]", "4.0")


def test_compare_measures_slates_against_the_best_slate():
    means, slates = [0.3, 0.1, 0.9, 0.5, 0.2], hn.MSets(5, 2)
    who = {"slates": hn.SlateBandit(5, 2), "fpl": hn.FPL.tuned(slates, 2000), "trix": hn.FPLTrix(slates)}
    result = hn.compare(who, {"coins": {"means": means}}, runs=6, rounds=2000, seed=1)
    for name in who:
        cell = result.cell(name, "coins")
        assert cell.final == pytest.approx(cell.loss[:, -1] - 2000 * 0.3)  # the two best means are 0.1 and 0.2
    assert result.cell("slates", "coins").last_bound == hn.SlateBandit(5, 2).bound(2000).value
    assert result.cell("slates", "coins").final.mean() < result.cell("trix", "coins").final.mean()
    gains = hn.compare({"s": hn.SlateBandit(5, 2, gains=True)}, {"coins": {"means": means}}, runs=6, rounds=2000)
    assert gains.cell("s", "coins").final == pytest.approx(2000 * 1.4 - gains.cell("s", "coins").loss[:, -1])


@pytest.mark.parametrize("environment", ["drifting", "switching", "spare_the_unlikely", "all_ones"])
def test_slates_play_against_the_adversaries_of_bandits(environment):
    result = hn.compare({"s": lambda n, rounds: hn.SlateBandit(n, 2, hn.Horizon(rounds))}, [environment], 3, 300, n=6)
    assert result.cell("s", environment).regret.shape[0] == 3


def test_compare_rejects_learners_of_different_sets():
    arms, pairs, triples = "bandit", hn.SlateBandit(5, 2), hn.SlateBandit(5, 3)
    coins = {"coins": {"means": [0.1] * 5}}
    rejected(lambda: hn.compare({"a": pairs, "b": arms}, coins, 2, 50), "'a'", "'b'", "one arm", "same set")
    rejected(lambda: hn.compare({"a": pairs, "b": triples}, coins, 2, 50), "m=2", "m=3", "same set")
    rejected(lambda: hn.compare({"a": pairs}, {"c": {"means": [0.1] * 4}}, 2, 50), "5 arms", "'c'")
    advised = {"losses": np.zeros((9, 5)), "advice": np.zeros((9, 3), dtype=int)}
    rejected(lambda: hn.compare({"a": pairs}, {"advised": advised}, 2), "advice", "SlateBandit")


def test_sweep_of_slates_equals_compare(tmp_path):
    learners = {"small": hn.SlateBandit(6, 2), "trix": hn.FPLTrix(hn.MSets(6, 2))}
    plan = {"learners": learners, "environments": {"d": "drifting"}, "rounds": [100, 300], "runs": 3, "seed": 5}
    swept = hn.sweep(plan, tmp_path / "grid", workers=1, progress=False)
    played = hn.compare(learners, {"d": "drifting"}, runs=3, rounds=300, seed=5)
    for name in learners:
        found = swept.comparison.cell(name, "d, T = 300")
        assert np.array_equal(found.regret, played.cell(name, "d").regret)
    mixed = plan | {"learners": learners | {"arm": "bandit"}}
    rejected(lambda: hn.sweep(mixed, tmp_path / "mixed", progress=False), "'arm'", "one arm", "same set")
