"""Conversion of privacy budgets to scales and back, the cost in regret, and messages of learners without privacy."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
from against_rows import ROWS
from click.testing import CliRunner

import hannan as hn
from hannan.cli.privacy import command
from hannan.learners.learner import Learner
from hannan.saving.formatting import figure


def learner(noise=None, rounds=100, **more):
    noise = hn.GammaNoise() if noise is None else noise
    return hn.Convex(hn.Ball(3), 2.0, noise, hn.Horizon(rounds), smooth=0, **more)


def curved(noise=None, **more):
    noise = hn.GammaNoise() if noise is None else noise
    told = {"smooth": 0.25, "guarantee": "privacy", "accuracy": 1e-3, **more}
    return hn.Convex(hn.Ball(3), 1.0, noise, hn.Fixed(2.0), **told)


def spent(one, scale, rounds, delta=None):
    private = dataclasses.replace(one, tuning=hn.Fixed(scale), guarantee="privacy")
    return private.privacy(rounds, delta).epsilon


GAUSSIAN = hn.GaussianNoise(1e-6)


@pytest.mark.parametrize("one", [learner(), learner(GAUSSIAN), curved(), curved(GAUSSIAN)], ids=repr)
@pytest.mark.parametrize(("epsilon", "rounds"), [(1.0, 1), (0.3, 5), (8.0, 5)])
def test_scale_for_a_budget_spends_exactly_the_budget(one, epsilon, rounds):
    scale = one.scale_for(epsilon, rounds=rounds)
    assert epsilon * (1.0 - 1e-6) < spent(one, scale, rounds) <= epsilon
    # The control: slightly less noise exceeds the budget.
    assert spent(one, scale * 0.999, rounds) > epsilon


def test_more_privacy_is_more_noise():
    for one in (learner(), learner(GAUSSIAN), curved()):
        scales = [one.scale_for(epsilon, rounds=10) for epsilon in (0.1, 0.3, 1.0, 3.0, 10.0)]
        assert (np.diff(scales) < 0.0).all()
        scales = [one.scale_for(1.0, rounds=rounds) for rounds in (1, 2, 10, 100)]
        assert (np.diff(scales) > 0.0).all()
    scales = [learner(GAUSSIAN).scale_for(1.0, delta, 10) for delta in (1e-9, 1e-6, 1e-3)]
    assert (np.diff(scales) < 0.0).all()
    # Levels with delta = 0 add up: in closed form lipschitz rounds/epsilon. The output states delta = 0.
    assert learner().scale_for(0.5, rounds=10) == pytest.approx(40.0, rel=1e-9)
    assert learner().scale_for(0.5, 0.0, 10) == pytest.approx(40.0, rel=1e-9)


def test_a_delta_lets_gamma_noise_compose_better():
    pytest.importorskip("dp_accounting")
    scale = learner().scale_for(1.0, 1e-6, 100)
    assert spent(learner(), scale, 100, 1e-6) <= 1.0
    assert scale < 0.6 * learner().scale_for(1.0, rounds=100)


def test_gaussian_moves_compose_exactly():
    """T moves are one mechanism with sqrt(T) times the sensitivity; dp-accounting, which rounds up, is above by less
    than a thousandth.
    """
    pld = pytest.importorskip("dp_accounting.pld").privacy_loss_distribution
    one = hn.Convex(hn.Ball(3), 2.0, GAUSSIAN, hn.Fixed(60.0), smooth=0, guarantee="privacy")
    for rounds in (2, 25, 400):
        exact = one.privacy(rounds).epsilon
        above = pld.from_gaussian_mechanism(30.0).self_compose(rounds).get_epsilon_for_delta(1e-6)
        assert exact <= above <= 1.002 * exact


@pytest.mark.parametrize(
    ("asked", "match"),
    [
        (lambda: learner().scale_for(0.0), "epsilon must be"),
        (lambda: learner().scale_for(1.0, rounds=0), "rounds must be"),
        (lambda: learner(GAUSSIAN).scale_for(1.0, 0.0, 5), "delta must be"),
        (lambda: curved(ridge=0.25).scale_for(0.5), "epsilon must be above 0.77"),
        (lambda: hn.Convex(hn.Ball(3), 2.0, tuning=hn.Fixed(1.0)).scale_for(1.0), "smooth is required"),
        (lambda: learner().privacy_curve(10, epsilons=[]), "epsilons must have at least one number"),
    ],
)
def test_impossible_budgets_are_rejected(asked, match):
    with pytest.raises(ValueError, match=match):
        asked()


def test_the_curve_is_the_bound_by_epsilon():
    one = learner(GAUSSIAN, 1000)
    curve = one.privacy_curve(1000)
    assert isinstance(curve, hn.PrivacyCurve)
    assert (np.diff(curve.bounds) < 0.0).all()
    assert curve.free < min(curve.bounds)
    for epsilon, scale, bound in zip(curve.epsilons, curve.scales, curve.bounds, strict=True):
        private = dataclasses.replace(one, tuning=hn.Fixed(scale), guarantee="privacy")
        assert private.privacy(1000).epsilon <= epsilon
        assert private.bound(1000).value == bound
    assert json.loads(json.dumps(curve.to_dict()))["rounds"] == 1000
    assert list(curve.to_frame().columns) == ["epsilon", "scale", "bound"]
    assert "epsilon" in str(curve)
    assert "<table" in curve._repr_html_()
    pytest.importorskip("altair")
    assert curve.plot().to_dict()["layer"]


def test_the_caption_of_the_curve_rounds_bounds_up_as_its_table_does():
    curve = hn.PrivacyCurve("x", 10, 0.0, (0.1, 1.0), (9.0, 1.0), (1832.2, 12.3401), 5.0)
    assert "falls from 1833 at epsilon 0.1 to 12.35 at 1;" in curve.picture().alt
    assert [figure(row[2]) for row in curve.shown().table] == ["1833", "12.35"]


def states_privacy(one):
    hedge = isinstance(one, hn.Experts) and one.smoothing.hedge
    return hedge or isinstance(one, (hn.PrivateExperts, hn.LocallyPrivate))


WITHOUT_PRIVACY = [row[0] for row in ROWS if isinstance(row[0], Learner) and not states_privacy(row[0])]


@pytest.mark.parametrize("one", WITHOUT_PRIVACY, ids=lambda x: repr(x)[:50])
def test_learners_without_privacy_state_the_reason_and_an_alternative(one):
    for asked in (one.privacy, lambda: one.scale_for(1.0)):
        with pytest.raises(hn.Withheld, match=r"no privacy is proved for .* Alternative: hn\.(Priv|Loc)"):
            asked()


def test_named_alternatives_exist():
    """The calls that the messages name, with arguments filled in, state privacy."""
    with pytest.raises(hn.Withheld) as told:
        hn.Experts(5).privacy()
    message = str(told.value).replace("...", "9")
    whole, sampled = (message.split(before)[1].split(after)[0] for before, after in
                      (("Alternative: ", " has one"), ("moves of Hedge: ", ". hn.audit")))  # fmt: skip
    assert eval(whole, {"hn": hn}).privacy().epsilon == 1.0
    assert eval(sampled, {"hn": hn}).epsilon > 1.0
    with pytest.raises(hn.Withheld) as told:
        hn.Bandit(5).privacy()
    call = str(told.value).split("Alternative: ")[1].split(" randomizes")[0]
    assert eval(call, {"hn": hn, "learner": hn.Bandit(5)}).privacy().epsilon == 1.0


def asked(*more):
    return CliRunner().invoke(command, ["--d", "3", "--rounds", "50", *more])


def test_command_prints_the_numbers_of_the_learner(tmp_path):
    gaussian = ("--noise", "gaussian", "--delta", "1e-6")
    told = json.loads(asked(*gaussian, "--epsilon", "1", "--json").stdout)
    assert told["scale"] == pytest.approx(learner(GAUSSIAN, 50).scale_for(1.0, rounds=50) / 2.0)
    back = json.loads(asked(*gaussian, "--scale", str(told["scale"]), "--json").stdout)
    assert back["epsilon"] == pytest.approx(1.0, rel=1e-6)
    assert back["bound"]["value"] == told["bound"]["value"]
    text = asked("--epsilon", "5", "--curve").stdout
    assert "(epsilon, delta) = (5, 0) for 50 moves together" in text
    assert "bound on the regret" in text
    done = asked(*gaussian, "--epsilon", "1", "--out", str(tmp_path / "out"))
    assert done.exit_code == 0, done.exception
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["index.html", "privacy.json"]
    assert json.loads((tmp_path / "out" / "privacy.json").read_text())["curve"]["epsilons"]
    for wrong, match in [
        ((), "one of --epsilon and --scale"),
        (("--epsilon", "1", "--scale", "2"), "one of --epsilon and --scale"),
        (("--epsilon", "1", "--noise", "gaussian"), "--delta is required"),
        (("--epsilon", "-1"), "epsilon must be"),
        (("--epsilon", "1", "--smooth", "0.5"), "--accuracy is required"),
    ]:
        assert match in str(asked(*wrong).exception)
