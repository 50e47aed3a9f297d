"""Sentences of privacy statements: their assumptions, and numbers that are rounded in the safe direction."""

from __future__ import annotations

import numpy as np
import pytest

import hannan as hn
from hannan.audits.sampling import SampledFinding
from hannan.saving.formatting import chance, sure


def learner(noise=None, smooth=0.25, **options):
    given = {"accuracy": 1e-3, "loss_bound": 5.0, "ridge": 0.5} if smooth else {}
    noise = noise or hn.GaussianNoise(1e-5)
    return hn.Convex(hn.Ball(2), 1.0, noise, hn.Fixed(5.0), smooth=smooth, guarantee="privacy", **{**given, **options})


@pytest.mark.parametrize(
    ("shape", "word"), [("one-signed", "phi' of every loss is of one sign"), ("linear", "every loss is linear")]
)
@pytest.mark.parametrize("rounds", [1, 20])
def test_assumed_shape_is_printed_as_an_assumption(shape, word, rounds):
    own, stated = learner().privacy(rounds), learner().privacy(rounds, shape=shape)
    assert stated.epsilon < own.epsilon
    assert stated.condition == f"{own.condition}; assumes, without checking, that {word}"
    assert f"assumes, without checking, that {word}" in " ".join(str(stated).split())


def test_no_assumption_is_printed_if_none_is_made():
    assert learner().privacy(shape="rank-one") == learner().privacy()
    assert learner(hn.GammaNoise()).privacy(shape="one-signed") == learner(hn.GammaNoise()).privacy()
    assert learner(smooth=0.0).privacy(shape="one-signed") == learner(smooth=0.0).privacy()


def test_printed_delta_is_rounded_up():
    said = learner(smooth=0.0).privacy(1000, delta=1.00000049e-6)
    assert ", 1.00001e-06) " in said.says
    # The control: six digits, rounded to nearest, would state less.
    assert f"{said.delta:g}" == "1e-06"
    assert ", 1e-06) " in learner(smooth=0.0).privacy(1000, delta=1e-6).says
    assert "delta = 1.00001e-06" in str(learner(smooth=0.0).privacy_curve(10, delta=1.00000049e-6))


def test_error_probabilities_are_rounded_up_and_confidences_down():
    rng = np.random.default_rng(0)
    for miss in 10.0 ** rng.uniform(-15, 0, 300):
        # 1e-11 is the tolerance of the formatting, below the last printed digit.
        assert miss * (1.0 - 1e-11) <= float(chance(miss)) <= miss * (1.0 + 1.1e-5)
        whole, _, lacks = sure(miss).partition(" - ")
        assert float(whole) - float(lacks or 0.0) <= (1.0 - miss) * (1.0 + 1e-11)


@pytest.mark.parametrize(
    ("confidence", "words"), [(0.999, "0.999"), (0.99999999, "1 - 1e-08"), (1.0 - 1e-6, "1 - 1e-06")]
)
def test_printed_confidence_of_an_audit_is_below_1(confidence, words):
    witness = (np.zeros((0, 2)), np.eye(2)[0], (0,))
    found = SampledFinding(None, 0.5, 0.6, confidence, 400, 0.0, witness, "measured", 1, "one trial")
    assert f"at least 0.5, with probability {words}" in str(found)


def test_printed_confidence_of_a_bound_is_below_1():
    assert hn.exp3_ix(3, 100_000).bound(delta=1e-8).condition == "with probability 1 - 1e-08"
    assert hn.exp3_ix(3, 100_000).bound(delta=0.05).condition == "with probability 0.95"
