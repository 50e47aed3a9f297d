"""Every learner, smoothing and tuning of the package satisfies the public contract; skipped checks are expected."""

from __future__ import annotations

import inspect

import pytest

import hannan as hn
from hannan.checks.learners import CHECKS

LAWS = [
    hn.Exponential(), hn.Gamma(2.0), hn.Gumbel(), hn.Weibull(0.5, conditioned=True), hn.Frechet(3.0),
    hn.Pareto(4.0), hn.Laplace(),
]  # fmt: skip
NO_RATE = [hn.Gaussian(), hn.Weibull(2.0), hn.Gamma(0.5)]
REGULARIZERS = [hn.Entropy(), hn.Tsallis(0.5), hn.Tsallis(0.25)]

LEARNERS = [
    hn.Experts(4), hn.Experts(1), hn.Experts(70, hn.Entropy()),
    *(hn.Experts(4, s) for s in (*LAWS[1:], *REGULARIZERS)),
    *(hn.Experts(4, s, hn.Fixed(2.0)) for s in NO_RATE),
    hn.Experts(4, hn.LogBarrier(), hn.SelfConfident(400)),
    hn.Experts(4, hn.LogBarrier(), hn.BestLoss(30, rounds=400)),
    hn.Experts(4, hn.LogBarrier(), hn.Horizon(400)),
    *(hn.Experts(4, s, t) for s in (hn.Entropy(), hn.Exponential(), hn.Tsallis())
      for t in (hn.Fixed(3.0), hn.Horizon(400), hn.BestLoss(30), hn.Anytime(), hn.Anytime(0.5))),
    hn.Experts(3, hn.Entropy(), prior=(0.5, 0.3, 0.2)),
    hn.Experts(3, hn.Entropy(), hn.Fixed(20.0), prior=(0.5, 0.3, 0.2)),
    hn.Experts(3, loss_range=(-2.0, 6.0)), hn.Experts(3, loss_range=(0.0, 10.0), gains=True),
    *(hn.AdaHedge(n, (0.0, 1.0)) for n in (1, 4, 70)), hn.AdaHedge(3, (-2.0, 6.0)), hn.AdaHedge(3, (0.0, 9.0), True),
    *(rival(n) for rival in (hn.Squint, hn.AdaNormalHedge, hn.MLPoly, hn.Dropout, hn.RandomWalk) for n in (1, 4)),
    hn.RandomPlayout(4, 400), hn.RandomPlayout(1, 400), hn.RandomPlayout(3, 400, (-2.0, 6.0), True),
    hn.Squint(70), hn.Squint(3, (-2.0, 6.0)), hn.MLPoly(3, (0.0, 10.0), True), hn.Dropout(3, 0.3, (-2.0, 6.0), True),
    hn.FixedShare(4, 3.0, 0.01), hn.FixedShare(1, 3.0, 0.01), hn.FixedShare(3, 2.0, 0.1, (-2.0, 6.0), True),
    hn.Exp3S(4, 20.0, 0.01), hn.Exp3S(1, 20.0, 0.01), hn.LBInf(4, 400), hn.LBInf(1, 400), hn.LBInf(3, 400, (-1.0, 3.0)),
    hn.TsallisShannon(4), hn.TsallisShannon(1), hn.TsallisShannon(3, (0.0, 4.0), True),
    *(rival(n) for rival in (hn.UCB1, hn.KLUCB, hn.EpsilonGreedy) for n in (1, 4)), hn.KLUCB(4, 0.0),
    hn.UCB1(["a", "b", "c"], loss_range=(-2.0, 6.0), gains=True), hn.MOSS(4, 400), hn.MOSS(1, 400),
    hn.Thompson(4), hn.Thompson(1), hn.Thompson(["a", "b", "c"], "gaussian", loss_range=(-2.0, 6.0), gains=True),
    hn.LBInf(4), hn.LBInf(1), hn.LBInf(["a", "b"], gains=True),
    hn.Green(4, 5.0, 0.01), hn.Green(4, rounds=400), hn.Green(1, rounds=400),
    hn.Green(["a", "b"], 3.0, 0.1, gains=True),
    hn.Exp3Light(4), hn.Exp3Light(1), hn.Exp3Light(["a", "b", "c"], (-2.0, 6.0), True),
    hn.Bandit(4, hn.Entropy(), hn.BestLoss(30, rounds=400)),
    hn.EpsilonGreedy(4, 0.1, gains=True), hn.ExploreThenCommit(4, 400), hn.ExploreThenCommit(1, 400, 3),
    hn.MYGA(3, 5, 200), hn.MYGA(1, 5, 200), hn.MYGA(5, 1, 200), hn.MYGA(3, 5, 200, 10.0, (0.0, 4.0), True),
    hn.tsallis_inf(4), hn.tsallis_inf(1), hn.tsallis_inf(4, loss_range=(-2.0, 6.0), gains=True),
    hn.tsallis_inf(4, False), hn.frechet_ftpl(5), hn.frechet_ftpl(5, 2.0, hn.ReducedVariance()), hn.exp3_ix(4, 400),
    hn.Bandit(4, hn.Entropy(), hn.Fixed(8.0), hn.ReducedVariance()),
    hn.Bandit(4), hn.Bandit(1), hn.Bandit(70, hn.Entropy(), hn.Horizon(400)),
    *(hn.Bandit(4, s) for s in (*LAWS, *REGULARIZERS)),
    *(hn.Bandit(4, s, hn.Fixed(5.0)) for s in NO_RATE),
    *(hn.Bandit(4, s, hn.Horizon(400)) for s in (hn.Entropy(), hn.Exponential(), hn.Tsallis(), hn.LogBarrier())),
    hn.Bandit(4, hn.Entropy(), hn.Fixed(8.0)),
    hn.Bandit(4, hn.LogBarrier(), hn.SelfConfident(400)),
    hn.Bandit(4, hn.LogBarrier(), hn.BestLoss(30, rounds=400)),
    hn.Bandit(4, hn.Exponential(), hn.Horizon(400), hn.GeometricResampling(50)),
    hn.Bandit(4, hn.Exponential(), hn.Anytime(), hn.ConditionalResampling(50)),
    hn.Bandit(3, loss_range=(-2.0, 6.0), gains=True),
    hn.ExpertBandit(3, 5), hn.ExpertBandit(1, 5), hn.ExpertBandit(5, 1), hn.ExpertBandit(3, 5, clip="tuned"),
    *(hn.ExpertBandit(3, 5, s, hn.Fixed(6.0), clip=0.1) for s in (hn.Entropy(), hn.Tsallis(), hn.LogBarrier())),
    hn.ExpertBandit(3, 5, hn.Entropy(), hn.Horizon(400)),
    hn.ExpertBandit(3, 5, hn.Entropy(), hn.BestLoss(30), clip="tuned"),
    hn.ExpertBandit(3, 5, hn.Exponential(), clip=1 / 3),
    hn.ExpertBandit(3, 5, hn.Entropy(), loss_range=(0.0, 4.0), gains=True),
    *(hn.Convex(domain, 1.0, smooth=0.0, tuning=hn.Horizon(400)) for domain in (hn.Ball(2), hn.Box([0.0], [1.0]))),
    hn.Convex(hn.Ball(3), 1.0, loss_bound=2.0),
    hn.Convex(hn.Simplex(3), 1.0, hn.GaussianNoise(), hn.Anytime(), smooth=0.0),
    hn.OnlineGradientDescent(hn.Ball(2), 1.0), hn.ExponentiatedGradient(hn.Simplex(3), 1.0),
    hn.PrivateExperts(4, 1.0, rounds=900), hn.PrivateExperts(3, 0.2), hn.PrivateExperts(1, 1.0, rounds=900),
    hn.PrivateExperts(3, 1.0, rounds=900, best_loss=30.0, loss_range=(0.0, 2.0)),
    hn.LocallyPrivate(hn.Bandit(4), 1.0), hn.LocallyPrivate(hn.exp3_ix(4, 400), 2.0),
    hn.LocallyPrivate(hn.ExpertBandit(3, 5), 1.0), hn.LocallyPrivate(hn.TsallisShannon(3, (0.0, 4.0), True), 0.5),
    hn.LocallyPrivate(hn.UCB1(["a", "b", "c"], loss_range=(-2.0, 6.0), gains=True), 1.0),
    hn.LocallyPrivate(hn.LBInf(4), 3.0), hn.LocallyPrivate(hn.Bandit(1), 1.0),
    hn.PrivateBall(hn.Ball(2), 1.0, 1.0, rounds=900),
    hn.OptimisticDescent(hn.Ball(2), 1.0), hn.OptimisticDescent(hn.Box([0.0, 0.0], [1.0, 2.0]), 1.0, "mean"),
    hn.SmoothDescent(hn.Ball(2), 1.0, 0.25), hn.SmoothDescent(hn.Simplex(3), 1.0, 0.25, 9.0),
    hn.OnlineNewton(hn.Ball(2), 1.0, 0.3, 0.25), hn.BarrierBandit(hn.Ball(2), 1.0, 900),
    hn.BarrierBandit(hn.Box([0.1, 0.1], [0.6, 0.6]), 1.0, 900, 1.0),
    hn.PrivateBall(hn.Ball(1, 2.0, (5.0,)), 3.0, 0.5, 1e-5, 900, 2, "replace"),
    hn.SlateBandit(4, 2), hn.SlateBandit(3, 3), hn.SlateBandit(4, 1), hn.SlateBandit(4, 2, hn.Horizon(400)),
    hn.SlateBandit.robust(4, 2, 400), hn.SlateBandit(4, 2, draw="conditional"),
    hn.SlateBandit(["a", "b", "c"], 2, loss_range=(-2.0, 6.0), gains=True),
    hn.SlateBandit(4, 2, smoothing=hn.Exponential()),
    hn.SlateBandit(4, 2, smoothing=hn.Exponential(), positions=[1.0, 0.5]),
    hn.SlateExperts(4, 2), hn.SlateExperts(4, 3), hn.SlateExperts(3, 3), hn.SlateExperts(4, 1, hn.Exponential()),
    hn.SlateExperts(["a", "b", "c"], 2, loss_range=(-2.0, 6.0), gains=True, over="slates"),
    hn.SlateExperts(4, 2, tuning=hn.SelfConfident()), hn.SlateExperts(4, 2, tuning=hn.BestLoss(30.0)),
    hn.FPL(hn.MSets(4, 2), 5.0), hn.FPL(hn.Assignments(2), 5.0, "exponential"), hn.FPLTrix(hn.MSets(4, 2)),
]  # fmt: skip


def convex(learner):
    return hasattr(learner, "domain")


def decides(learner):
    return hasattr(learner, "decisions")


def advised(learner):
    return hasattr(learner, "experts")


def one_choice(learner):
    return 1 in (getattr(learner, "n", 2), getattr(learner, "actions", 2), getattr(learner, "experts", 2))


def silent(learner):
    """No bound is proved for the learner, or no bound is needed."""
    try:
        return learner.bound(rounds=80).value == 0.0
    except ValueError:
        return True


def no_arms(learner):
    return convex(learner) or decides(learner)


def tells_arms_apart(learner):
    drawn = getattr(getattr(learner, "estimator", None), "draws", False)
    noisy = getattr(learner, "own_noise", False) or getattr(learner, "reported", False)
    return (
        advised(learner)
        or no_arms(learner)
        or one_choice(learner)
        or drawn
        or noisy
        or bool(getattr(learner, "prior", None))
    )


def draws_nothing(learner):
    return getattr(learner, "draws", True) is False


#: Checks, with the learners to which they do not apply. A learner that is skipped elsewhere fails.
EXCUSED = {
    "bound_is_valid_or_withheld": silent,
    "move_probability_matches_distribution": no_arms,
    "moves_follow_the_distribution": lambda learner: no_arms(learner) or advised(learner),
    "distribution_keeps_the_state": no_arms,
    "losses_are_not_modified_or_kept": convex,
    "invalid_advice_is_rejected": lambda learner: not advised(learner),
    "equal_losses_keep_the_distribution": no_arms,
    "worst_arm_is_least_likely": no_arms,
    "unseeded_players_make_different_moves": lambda learner: (
        one_choice(learner) or draws_nothing(learner) or getattr(learner, "own_noise", False)
    ),
    "certificate_reports_a_seed": draws_nothing,
    "relabeled_arms_relabel_the_distribution": tells_arms_apart,
}


def expected(learner):
    return {name for name, excuses in EXCUSED.items() if excuses(learner)}


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_contract(learner):
    """All checks pass, except those that are known not to apply and state the reason."""
    report = hn.checks.check_learner(learner)
    assert set(report.skipped) == expected(learner), report
    assert all(report.skipped.values())
    assert len(report.passed) + len(report.skipped) == len(CHECKS)


def test_no_exported_learner_is_missing():
    """Every exported learner with a bound and a player has rows above."""
    exported = {
        value for name in hn.__all__
        if inspect.isclass(value := getattr(hn, name))
        and hasattr(value, "bound") and hasattr(value, "start")
    }  # fmt: skip
    assert exported <= {type(learner) for learner in LEARNERS}
