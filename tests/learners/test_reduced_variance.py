"""Tsallis(1/2) with reduced variance at a constant scale: the proof step by step, exact games, and descriptions."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest

import hannan as hn
from hannan import saving
from hannan.cli import main
from hannan.mathematics import bounds
from hannan.saving.formatting import ceiling

TUNED = hn.Bandit(8, tuning=hn.Horizon(10_000))


def formula(n, scale, rounds):
    """R <= 2 s (sqrt n - 1) + T sqrt n/(4 s) + n T (5/6 + 2/(s^2 - 1))/s^2, written a second time."""
    more = n * rounds * (5 / 6 + 2 / (scale**2 - 1)) / scale**2
    return 2 * scale * (n**0.5 - 1) + rounds * n**0.5 / (4 * scale) + more


def plays(L, scale):
    """Return the play p_i = (scale/(L_i - lambda))^2 of each row, by Newton's method from the left of the root."""
    gaps = (L - L.min(axis=1, keepdims=True)) / scale
    shift = np.ones(len(L))
    for _ in range(40):
        x = 1.0 / (gaps + shift[:, None])
        squares = (x**2).sum(axis=1)
        shift = shift + (1.0 - squares**-0.5) * squares**1.5 / (x**3).sum(axis=1)
    return 1.0 / (gaps + shift[:, None]) ** 2


def values(L, scale):
    """Return min over p of <L, p> + 2 scale (1 - sum sqrt p), per row."""
    p = plays(L, scale)
    return (p * L).sum(axis=1) + 2.0 * scale * (1.0 - np.sqrt(p).sum(axis=1))


def estimates(p, scale, losses):
    """Return the estimate for each arm that may be drawn: row a is the one after move a."""
    baseline = np.where(p >= 4.0 / scale**2, 0.5, 0.0)
    return baseline + np.diag((losses - baseline) / p)


def drift(L, scale, losses):
    """Return E D of one round, over the exact distribution of the move."""
    p = plays(L[None], scale)[0]
    z = estimates(p, scale, losses)
    return float(p @ (z @ p - (values(L + z, scale) - values(L[None], scale))))


def expected_regret(losses, scale):
    """Return the expected regret against a fixed sequence, over all sequences of moves."""
    n = losses.shape[1]
    L, weight, own = np.zeros((1, n)), np.ones(1), 0.0
    for row in losses:
        p = plays(L, scale)
        own += float(weight @ (p @ row))
        baseline = np.where(p >= 4.0 / scale**2, 0.5, 0.0)
        grown = []
        for arm in range(n):
            z = baseline.copy()
            z[:, arm] += (row[arm] - baseline[:, arm]) / p[:, arm]
            grown.append(L + z)
        L, weight = np.concatenate(grown), np.concatenate([weight * p[:, arm] for arm in range(n)])
    return own - losses.sum(axis=0).min()


def spared(rounds, n, since):
    """Return the losses of arms that lose 1 each round; from a round on arm 0 loses nothing."""
    losses = np.ones((rounds, n))
    losses[since:, 0] = 0.0
    return losses


# Numbers


@pytest.mark.parametrize(("n", "rounds", "value"), [(8, 10_000, "350.8"), (100, 10_000, "1720.2"), (2, 1000, "37.6")])
def test_bound_and_scale_in_numbers(n, rounds, value):
    learner = hn.Bandit(n, tuning=hn.Horizon(rounds))
    bound = learner.bound()
    scale = bound.scale
    assert f"{math.ceil(10 * bound.value) / 10:.1f}" == value
    assert formula(n, scale, rounds) <= bound.value <= formula(n, scale, rounds) * (1 + 1e-12)
    assert (bound.against, bound.sense, bound.proof, bound.condition) == ("oblivious", "arm", "whole", "")
    assert learner.schedule().scale(rounds, 5.0) == scale
    # No other scale is better, and the floats beside the minimum are as good.
    assert min(formula(n, scale * f, rounds) for f in (0.5, 0.9, 0.99, 1.01, 1.1, 2.0)) > formula(n, scale, rounds)
    assert formula(n, scale * 1.0001, rounds) < formula(n, scale, rounds) * (1 + 1e-7)


def test_bound_in_other_units_and_at_other_rounds():
    other = hn.Bandit(8, tuning=hn.Horizon(10_000), loss_range=(-1.0, 4.0), gains=True)
    assert other.bound().value == pytest.approx(5 * TUNED.bound().value, rel=1e-12)
    assert TUNED.bound(5000).value == pytest.approx(formula(8, TUNED.bound().scale, 5000), rel=1e-12)
    assert TUNED.bound(20).sense == "run"  # at least the number of rounds
    with pytest.raises(hn.Withheld, match="10000"):
        TUNED.bound(10_001)
    assert hn.Bandit(1, tuning=hn.Horizon(10)).bound().value == 0.0
    fixed = hn.Bandit(8, hn.Tsallis(0.5), hn.Fixed(40.0), hn.ReducedVariance())
    assert fixed.bound(10_000).value == pytest.approx(formula(8, 40.0, 10_000), rel=1e-12)
    for smoothing, tuning in ((hn.Tsallis(0.5), hn.Fixed(1.0)), (hn.Tsallis(0.4), hn.Horizon(100)),
                              (hn.Exponential(), hn.Horizon(100)), (hn.Tsallis(0.5), hn.Anytime(0.6))):  # fmt: skip
        with pytest.raises(hn.Withheld, match="ReducedVariance"):
            hn.Bandit(8, smoothing, tuning, hn.ReducedVariance()).bound(100)
    with pytest.raises(hn.Withheld, match=r"350\.8"):
        TUNED.bound(against="any")


def test_games_comparisons_and_commands_print_the_bound(capsys):
    losses = np.random.default_rng(0).random((10_000, 8))
    record = hn.play(TUNED, losses, runs=2, seed=0)
    assert ceiling(record.bound.value) == "350.8"
    compared = hn.compare([TUNED], {"coins": losses}, runs=2, rounds=10_000, seed=0)
    assert "350.8" in str(compared)
    with pytest.raises(SystemExit):
        main(["bound", "--learner", "bandit", "--tuning", "horizon", "--n", "8", "--rounds", "10000"])
    assert "expected regret <= 350.8" in capsys.readouterr().out


# The proof


def drift_share(n, scale, L, losses):
    """Return E D divided by the bound that the package uses for it."""
    terms = bounds.reduced_variance(n, scale, 1)
    return drift(L, scale, losses) / (terms["drift"] + terms["unlikely arms"])


def test_drift_of_one_round_is_below_its_bound():
    """E D over the exact distribution of the move, from random L."""
    rng = np.random.default_rng(0)
    for _ in range(300):
        n, scale = int(rng.integers(2, 7)), float(rng.choice([1.05, 1.5, 2.0, 2.5, 4.0, 10.0, 50.0]))
        L = rng.exponential(size=n) * scale * rng.choice([0.01, 1.0, 5.0, 50.0])
        for losses in (np.ones(n), np.zeros(n), rng.integers(0, 2, n).astype(float), rng.random(n)):
            assert drift_share(n, scale, L, losses) <= 1.0


def test_drift_of_one_round_is_nearly_attained():
    """The controls: a drift 6% smaller, or a term of unlikely arms 2% smaller, is exceeded at the uniform play."""
    assert 0.94 < drift_share(100, 1000.0, np.zeros(100), np.ones(100)) <= 1.0
    # p = 1/n is just below 4/s^2.
    assert 0.995 < drift_share(401, 40.0, np.zeros(401), np.ones(401)) <= 1.0


@pytest.mark.parametrize(("n", "rounds", "scale"), [(2, 4, None), (2, 4, 4.0), (2, 4, 1.2), (3, 2, None)])
def test_exact_regret_of_every_sequence(n, rounds, scale):
    """All sequences of losses in {0, 1}, and some sequences of losses in between."""
    scale = scale or bounds.reduced_variance_scale(n, rounds)
    bound = sum(bounds.reduced_variance(n, scale, rounds).values())
    rows = list(itertools.product((0.0, 1.0), repeat=n))
    found = [expected_regret(np.array(sequence), scale) for sequence in itertools.product(rows, repeat=rounds)]
    rng = np.random.default_rng(1)
    found += [expected_regret(rng.random((rounds, n)), scale) for _ in range(50)]
    assert max(found) <= bound
    if (n, scale) == (2, 4.0):
        assert max(found) > 0.35 * bound  # the control: a smaller constant is exceeded


def test_exact_regret_of_longer_games():
    """Twelve rounds, all 4,096 sequences of moves: from some round on, one arm has no loss."""
    scale = bounds.reduced_variance_scale(2, 12)
    bound = sum(bounds.reduced_variance(2, scale, 12).values())
    worst = max(expected_regret(spared(12, 2, since), scale) for since in range(12))
    assert 0.4 * bound < worst <= bound  # the control: two fifths of the bound are exceeded


def test_simulated_regret_is_near_its_bound():
    """From half of the rounds on, one arm has no loss; 1,000 runs, five standard errors (3e-7)."""
    learner = hn.Bandit(8, tuning=hn.Horizon(4000))
    regrets = hn.play(learner, spared(4000, 8, 2000), runs=1000, seed=1).regret[:, -1]
    error = 5 * regrets.std() / math.sqrt(len(regrets))
    bound = learner.bound().value
    assert regrets.mean() + error < bound
    assert regrets.mean() - error > 0.6 * bound  # the control: three fifths of the bound are exceeded


def test_player_plays_the_definition():
    """The player's distribution is that of the definition on a path, in [0, 1] and for gains of another range."""
    rng = np.random.default_rng(2)
    for learner in (hn.Bandit(5, tuning=hn.Horizon(300)),
                    hn.Bandit(5, tuning=hn.Horizon(300), loss_range=(-2.0, 2.0), gains=True)):  # fmt: skip
        player, L, scale = learner.start(seed=3), np.zeros(5), bounds.reduced_variance_scale(5, 300)
        for row in rng.random((300, 5)) ** 3:
            p = plays(L[None], scale)[0]
            np.testing.assert_allclose(player.distribution(), p, rtol=1e-9)
            move = player.act()
            loss = row[move.action]
            player.observe(move, float(2.0 - 4.0 * loss if learner.gains else loss))
            L = L + estimates(p, scale, row)[move.action]
        assert ceiling(player.certificate().bound.value) == ceiling(learner.bound().value)


# Conditions


def test_late_feedback_withholds_the_bound():
    player = hn.Bandit(4, tuning=hn.Horizon(1000)).start(seed=0)
    for _ in range(600):
        player.observe(player.act(), 0.5)
    assert player.certificate().bound is not None
    first, second = player.act(), player.act()
    player.observe(first, 0.5), player.observe(second, 0.5)
    certificate = player.certificate()
    assert certificate.bound is None
    assert "TsallisShannon(4)" in certificate.withheld


def test_sleeping_arms_are_rejected():
    with pytest.raises(ValueError, match=r"awake= .*Bandit\(4, hn\.Tsallis\(0\.5\)\)"):
        hn.Bandit(4, tuning=hn.Horizon(100)).start(seed=0).act(awake=[True, True, False, True])
    explicit = hn.Bandit(4, hn.Tsallis(0.5), hn.Horizon(100)).start(seed=0)  # same moves as version 0.2
    assert explicit.act(awake=[True, True, False, True]).action != 2


def test_prior_losses_cost_their_spread():
    """A fleet whose learners start from the losses of a parent.

    Exact games from every L satisfy the bound and the spread.
    """
    scale = bounds.reduced_variance_scale(2, 6)
    bound = sum(bounds.reduced_variance(2, scale, 6).values())
    rng = np.random.default_rng(4)
    for prior in ([0.0, 3.0], [2.0, 0.5]):
        for losses in (spared(6, 2, 3), 1.0 - spared(6, 2, 2), rng.random((6, 2))):
            L, weight, own = np.array([prior]), np.ones(1), 0.0
            for row in losses:
                p = plays(L, scale)
                own += float(weight @ (p @ row))
                moved = [np.array([estimates(q, scale, row)[arm] for q in p]) for arm in range(2)]
                L, weight = np.concatenate([L + z for z in moved]), np.concatenate([weight * p[:, a] for a in range(2)])
            regret = own - losses.sum(axis=0)
            assert (regret <= bound + np.array(prior) - min(prior)).all()


# Descriptions

OLD = {
    "class": "Bandit", "n": 8, "smoothing": {"class": "Tsallis", "alpha": 0.5},
    "tuning": {"class": "Horizon", "rounds": 10000}, "estimator": {"class": "ImportanceWeighted"},
    "loss_range": [0.0, 1.0], "gains": False, "arms": None,
}  # fmt: skip


def test_defaults_are_resolved_as_documented():
    explicit = hn.Bandit(8, hn.Tsallis(0.5), hn.Horizon(10_000), hn.ReducedVariance())
    assert explicit == TUNED
    assert hash(explicit) == hash(TUNED)
    exact = hn.ImportanceWeighted()
    for learner in (hn.Bandit(8, hn.Tsallis(0.5), hn.Horizon(10_000)), hn.Bandit(8, None, hn.Horizon(10_000), exact),
                    hn.Bandit(8, tuning=hn.Fixed(3.0)), hn.Bandit(8, tuning=hn.Anytime())):  # fmt: skip
        assert learner.estimator == exact
    assert hn.tsallis_inf(8) == hn.Bandit(8)


def test_description_of_version_0_2_keeps_its_play():
    """The description written by 0.2 for Bandit(8, tuning=Horizon(10000)) has every field: no default applies."""
    old = hn.Bandit.from_json(json.dumps(OLD))
    assert old == hn.Bandit(8, hn.Tsallis(0.5), hn.Horizon(10_000))
    assert old.schedule().scale(1, 0.0) == pytest.approx(math.sqrt(10_000 * 8**0.5 / (2 * (8**0.5 - 1))), rel=1e-12)
    # Version 0.2 used the same scale with reduced variance, and had no bound for it.
    reduced = hn.Bandit.from_json(json.dumps(OLD | {"estimator": {"class": "ReducedVariance"}}))
    assert reduced.tuning == hn.Fixed(old.schedule().scale(1, 0.0))
    assert reduced.bound(10_000).value == pytest.approx(formula(8, reduced.tuning.scale, 10_000), rel=1e-12)
    assert hn.Bandit.from_json(reduced.to_json()) == reduced
    # Omitted fields are those of this version, as in code.
    short = {name: OLD[name] for name in ("class", "n", "tuning")}
    assert hn.Bandit.from_json(json.dumps(short)) == TUNED


def test_description_states_the_tuned_scale():
    data = json.loads(TUNED.to_json())
    assert data["tuned_scale"] == TUNED.bound().scale
    assert saving.build(data) == TUNED
    other = saving.build(data | {"tuned_scale": 60.0})
    assert other.tuning == hn.Fixed(60.0)
    for wrong in ({"tuned_scale": -1.0}, {"tuned_scale": "51"}, {"estimator": {"class": "ImportanceWeighted"}},
                  {"tuning": {"class": "Fixed", "scale": 3.0}}, {"scale": 3.0}):  # fmt: skip
        with pytest.raises(ValueError, match="scale"):
            saving.build(data | wrong)
    assert "tuned_scale" not in json.loads(hn.Bandit(8).to_json())


def test_saved_player_resumes(tmp_path):
    player = hn.Bandit(4, tuning=hn.Horizon(200)).start(seed=5)
    for t in range(50):
        player.observe(player.act(), (t % 3) / 2)
    player.save(tmp_path / "player.json")
    again = hn.load(tmp_path / "player.json", resume="exact")
    assert again.learner == player.learner
    for _ in range(50):
        one, two = player.act(), again.act()
        assert (one.action, one.probability) == (two.action, two.probability)
        player.observe(one, 0.25), again.observe(two, 0.25)
