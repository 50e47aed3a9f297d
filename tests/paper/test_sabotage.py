"""Claims notice a package that is wrong: a claim is run while one fact of the package is sabotaged, and must fail.

The control of a claim shows that its check can fail; these tests show that the check depends on the package.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from hannan.games.play import play
from hannan.learners.convex.learner import Convex
from hannan.learners.expert_bandits import ExpertBandit
from hannan.learners.experts import Experts
from hannan.learners.private_experts import PrivateExperts
from hannan.learners.slates import SlateExperts
from hannan.learners.tuning import Fixed, Horizon
from hannan.mathematics import slates as slate_bounds
from hannan.mathematics.convex.noise import GaussianNoise
from hannan.mathematics.laws.law import Law
from hannan.mathematics.mechanisms import CorrelatedNoise
from hannan.mathematics.potentials import Potential
from hannan.mathematics.regularizers import Entropy
from hannan.paper import claims, expert_bandits, experts, key_lemma, slates, stability, table, whole_game


def scaled(monkeypatch, owner, name, change):
    """Replace a function or method by one whose result is changed."""
    sound = getattr(owner, name)
    monkeypatch.setattr(owner, name, lambda *args, **options: change(sound(*args, **options)))


def levels_too_small(monkeypatch):
    scaled(monkeypatch, Potential, "stability", lambda s: replace(s, level=0.9 * s.level, rate=0.9 * s.rate))


def clipping_off(monkeypatch):
    def unclipped(*args, clip=0.0, **options):
        learner = ExpertBandit(*args, clip=clip, **options)
        return ExpertBandit(*args[:3], Fixed(learner.schedule().scale(1, 0.0))) if clip else learner

    class Both:
        """The valid bound with the play before clipping."""

        def __new__(cls, *args, clip=0.0, **options):
            sound, off = ExpertBandit(*args, clip=clip, **options), unclipped(*args, clip=clip, **options)
            object.__setattr__(off, "bound", sound.bound)
            return off

    monkeypatch.setattr(expert_bandits, "ExpertBandit", Both)


def barrier_range_too_small(monkeypatch):
    from hannan.mathematics.regularizers import LogBarrier

    scaled(monkeypatch, LogBarrier, "range_constant", lambda value: value * 2.0 / 3.0)


def experts_at(module, factor):
    """Experts with a wrong scale, in one module of claims."""

    def sabotage(monkeypatch):
        def wrong(n, smoothing, tuning, **options):
            return Experts(n, smoothing, Fixed(factor * tuning.scale), **options)

        monkeypatch.setattr(module, "Experts", wrong)

    return sabotage


def games_at_half_the_scale(monkeypatch):
    def wrong(learner, losses, **options):
        return play(Experts(2, learner.smoothing, Fixed(0.5 * learner.schedule().scale(1, 0.0))), losses, **options)

    monkeypatch.setattr(experts, "play", wrong)


def advised_at_a_tenth_of_the_scale(monkeypatch):
    def wrong(actions, n, smoothing, tuning):
        return ExpertBandit(actions, n, smoothing, Fixed(0.1 * tuning.scale))

    monkeypatch.setattr(expert_bandits, "ExpertBandit", wrong)


def expected_max_too_small(monkeypatch):
    scaled(monkeypatch, Law, "expected_max", lambda value: 0.99 * value)


def experts_bound_too_small(monkeypatch):
    scaled(monkeypatch, Experts, "bound", lambda bound: replace(bound, value=0.95 * bound.value))


def gaussian_noise_too_small(monkeypatch):
    scaled(monkeypatch, GaussianNoise, "sample", lambda draws: 0.9 * draws)


def gaussian_delta_too_small(monkeypatch):
    scaled(monkeypatch, GaussianNoise, "delta_of", lambda delta: 0.5 * delta)


def convex_bound_too_small(monkeypatch):
    scaled(monkeypatch, Convex, "bound", lambda bound: replace(bound, value=0.95 * bound.value))


def consistency_too_small(monkeypatch):
    scaled(monkeypatch, Potential, "consistency", lambda value: 0.9 * value)


def kept_noise_too_small(monkeypatch):
    monkeypatch.setattr(PrivateExperts, "sigma", property(lambda learner: 0.9 * learner.sensitivity / learner.mu))


def sensitivity_of_kept_noise_too_small(monkeypatch):
    scaled(monkeypatch, CorrelatedNoise, "column_norm", lambda norm: 0.9 * norm)


def levels_of_kept_noise_too_small(monkeypatch):
    scaled(monkeypatch, CorrelatedNoise, "row_norm", lambda norm: 0.5 * norm)


def private_bound_too_small(monkeypatch):
    scaled(monkeypatch, PrivateExperts, "bound", lambda bound: replace(bound, value=0.95 * bound.value))


def private_experts_draw_afresh(monkeypatch):
    monkeypatch.setattr(whole_game, "PrivateExperts", lambda n, _, rounds: Experts(n, Entropy(), Horizon(rounds)))


def slates_at_half_the_scale(monkeypatch):
    def wrong(n, size, smoothing, tuning, **options):
        return SlateExperts(n, size, smoothing, Fixed(0.5 * tuning.scale), **options)

    monkeypatch.setattr(slates, "SlateExperts", wrong)


def slate_bound_too_small(monkeypatch):
    scaled(monkeypatch, SlateExperts, "bound", lambda bound: replace(bound, value=0.45 * bound.value))


def slate_range_too_small(monkeypatch):
    scaled(monkeypatch, slate_bounds, "ranked_leaders", lambda value: 0.9 * value)


def clip_is_identity(monkeypatch):
    monkeypatch.setattr(expert_bandits, "clip", lambda q, rho: np.asarray(q))


def late_targets_judged_shifted(monkeypatch):
    from hannan.tables.combine.coverage import CertifiedIntervals

    settle = CertifiedIntervals.settle
    monkeypatch.setattr(CertifiedIntervals, "settle", lambda self, row, y: settle(self, row, 1.01 * y))


def coverage_bound_too_small(monkeypatch):
    from hannan.tables.combine.coverage_certificate import CoverageCertificate

    scaled(monkeypatch, CoverageCertificate, "bound", lambda bound: 0.95 * bound)


def cost_bound_too_small(monkeypatch):
    from hannan.tables.combine.coverage import CertifiedIntervals

    scaled(monkeypatch, CertifiedIntervals, "_cost_bounds", lambda bounds: [bound - 0.05 for bound in bounds])


def first_order_bound_too_small(monkeypatch):
    from hannan.mathematics import bounds

    scaled(monkeypatch, bounds, "exp3_first_order", lambda terms: {name: 0.3 * term for name, term in terms.items()})


def light_bound_too_small(monkeypatch):
    from hannan.learners.first_order import Exp3Light

    shrunk = lambda found: ({name: 0.1 * term for name, term in found[0].items()}, found[1])  # noqa: E731
    scaled(monkeypatch, Exp3Light, "_published", shrunk)


def playout_bound_too_small(monkeypatch):
    from hannan.learners.noisy import RandomPlayout

    scaled(monkeypatch, RandomPlayout, "bound", lambda bound: replace(bound, value=0.45 * bound.value))


def intervals_too_narrow(monkeypatch):
    from hannan.players.evidence import _Capitals

    scaled(monkeypatch, _Capitals, "interval", lambda ends: (ends[0], 0.7 * ends[0] + 0.3 * ends[1]))


def realized_regret_too_small(monkeypatch):
    from hannan.players.evidence import _Capitals

    scaled(monkeypatch, _Capitals, "regret", lambda bound: 0.3 * bound)


SABOTAGE = [
    ("exp3-first-order", first_order_bound_too_small),
    ("exp3-light-first-order", light_bound_too_small),
    ("random-playout", playout_bound_too_small),
    ("evidence-worst-case", intervals_too_narrow),
    ("evidence-late", intervals_too_narrow),
    ("evidence-regret", realized_regret_too_small),
    ("coverage-identity", late_targets_judged_shifted),
    ("coverage-before-play", coverage_bound_too_small),
    ("coverage-cost", cost_bound_too_small),
    ("exact-levels", levels_too_small),
    ("diffstable", levels_too_small),
    ("diffstable", experts_at(stability, 0.5)),
    ("stability-surface", levels_too_small),
    ("stability-surface", consistency_too_small),
    ("expert-bandits-growth", clipping_off),
    ("bandits-part-3", barrier_range_too_small),
    ("clipped-sum", clip_is_identity),
    ("clipped-sum", clipping_off),
    ("advice-lemma", advised_at_a_tenth_of_the_scale),
    ("range", experts_bound_too_small),
    ("range", experts_at(table, 2.0)),
    ("table-gamma", expected_max_too_small),
    ("rate-form", experts_bound_too_small),
    ("rate-form", experts_at(key_lemma, 2.0)),
    ("oco-gaussian", gaussian_noise_too_small),
    ("oco-gaussian", gaussian_delta_too_small),
    ("oco-gaussian", convex_bound_too_small),
    ("experts-growth-rounds", games_at_half_the_scale),
    ("slates-rate", slates_at_half_the_scale),
    ("slates-experts", slate_bound_too_small),
    ("slates-bandit", slate_range_too_small),
    ("private-marginals", levels_too_small),
    ("private-marginals", levels_of_kept_noise_too_small),
    ("private-transcripts", sensitivity_of_kept_noise_too_small),
    ("private-transcripts", kept_noise_too_small),
    ("private-worst-case", private_bound_too_small),
    ("private-oblivious", private_experts_draw_afresh),
]


@pytest.mark.parametrize(("name", "sabotage"), SABOTAGE, ids=lambda value: getattr(value, "__qualname__", value))
def test_claim_fails_if_the_package_is_sabotaged(name, sabotage, monkeypatch):
    (claim,) = claims(name)
    sabotage(monkeypatch)
    assert claim.run().outcome == "fails"


@pytest.mark.parametrize("name", sorted({name for name, _ in SABOTAGE}))
def test_control_claim_holds_on_the_sound_package(name):
    (claim,) = claims(name)
    assert claim.run().outcome == claim.expected


@pytest.mark.parametrize("name", ["experts-optimal", "bandits-optimal"])
def test_claims_of_optimality_state_their_grid(name):
    (claim,) = claims(name)
    assert "1,000" in claim.statement
    assert "1,000" in claim.conditions


def test_ridge_does_not_claim_that_the_rank_condition_is_needed():
    (claim,) = claims("ridge")
    assert "Without the rank condition the level is larger" in claim.statement
    assert math.isfinite(claim.run().numbers["full rank, with the ridge"])
