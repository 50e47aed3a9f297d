"""Every learner, smoothing and tuning of the package, held to the properties of `contract.py`."""

from __future__ import annotations

import importlib.util
import inspect
from pathlib import Path

import pytest

import hannan as hn

_spec = importlib.util.spec_from_file_location("contract", Path(__file__).with_name("contract.py"))
contract = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(contract)

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
    hn.Squint(70), hn.Squint(3, (-2.0, 6.0)), hn.MLPoly(3, (0.0, 10.0), True), hn.Dropout(3, 0.3, (-2.0, 6.0), True),
    hn.FixedShare(4, 3.0, 0.01), hn.FixedShare(1, 3.0, 0.01), hn.FixedShare(3, 2.0, 0.1, (-2.0, 6.0), True),
    hn.Exp3S(4, 20.0, 0.01), hn.Exp3S(1, 20.0, 0.01), hn.LBInf(4, 400), hn.LBInf(1, 400), hn.LBInf(3, 400, (-1.0, 3.0)),
    hn.TsallisShannon(4), hn.TsallisShannon(1), hn.TsallisShannon(3, (0.0, 4.0), True),
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
]  # fmt: skip


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
@pytest.mark.parametrize("property", contract.PROPERTIES, ids=lambda f: f.__name__)
def test_contract(learner, property, tmp_path):
    property(learner, tmp_path / "player.json")


def test_no_exported_learner_is_missing():
    """What the package exports with a `start` and a `bound`, and plays vectors or numbers, has rows above."""
    exported = {
        value for name in hn.__all__
        if inspect.isclass(value := getattr(hn, name)) and hasattr(value, "start") and hasattr(value, "bound")
    }  # fmt: skip
    held = {type(learner) for learner in LEARNERS}
    # Losses of another kind, and a contract of their own.
    assert {cls.__name__ for cls in exported - held} <= {"Convex", "FPL", "FPLTrix"}
