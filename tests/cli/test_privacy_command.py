"""`hannan privacy` for all learners that state privacy: epsilon, bound, inverse, page, and wrong options."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

import hannan as hn
from hannan.cli.privacy import LEARNERS, command

SIZES = {"--n": "10", "--d": "3"}


def asked(*arguments, name=None, rounds=1000):
    given = [] if name is None else ["--learner", name, LEARNERS[name], SIZES[LEARNERS[name]]]
    return CliRunner().invoke(command, [*given, "--rounds", str(rounds), *map(str, arguments)])


def told(*arguments, **given):
    done = asked(*arguments, "--json", **given)
    assert done.exit_code == 0, done.exception
    return json.loads(done.stdout)


def hedge(epsilon, **pairs):
    plain = hn.Experts(10, hn.Entropy())
    return hn.Experts(10, hn.Entropy(), hn.Fixed(plain.scale_for(epsilon, rounds=1000, **pairs)))


def local(epsilon):
    return hn.LocallyPrivate(hn.Bandit(10, tuning=hn.Horizon(1000)), epsilon)


@pytest.mark.parametrize(
    ("name", "learner"),
    [
        ("private-experts", lambda epsilon: hn.PrivateExperts(10, epsilon, rounds=1000)),
        ("private-ball", lambda epsilon: hn.PrivateBall(hn.Ball(3), 1.0, epsilon, rounds=1000)),
        ("experts", hedge),
        ("locally-private", local),
    ],
)
def test_numbers_are_those_of_the_learner(name, learner):
    found = told("--epsilon", 2, "--curve", name=name)
    right = learner(2.0)
    assert found["epsilon"] == pytest.approx(2.0, rel=1e-6)
    assert found["epsilon"] <= 2.0
    assert found["bound"]["value"] == right.bound(1000).value
    curve = found["curve"]
    at = curve["epsilons"].index(1.0)
    assert curve["bounds"][at] == pytest.approx(learner(1.0).bound(1000).value, rel=1e-9)
    inverse = curve["epsilon_at_ten_percent"]
    assert told("--epsilon", inverse, name=name)["bound"]["value"] <= 1.1 * curve["free"]
    # The control: half of that epsilon costs more.
    assert told("--epsilon", inverse / 2.0, name=name)["bound"]["value"] > 1.1 * curve["free"]
    text = asked("--epsilon", 2, name=name).stdout
    assert f"at most 10% more regret  for epsilon >= {inverse:.4g}"[:40] in text
    assert "neighbors" in text
    assert "private if" in text


def test_inverse_of_fresh_noise_costs_ten_percent():
    curve = hn.Convex(hn.Ball(3), 1.0, hn.GaussianNoise(1e-6), hn.Horizon(1000), smooth=0.0).privacy_curve(1000)
    found = curve.epsilon_at_ten_percent
    learner = hn.Convex(hn.Ball(3), 1.0, hn.GaussianNoise(1e-6), hn.Horizon(1000), smooth=0.0)
    less, more = learner.privacy_curve(1000, epsilons=[0.999 * found, 1.0001 * found]).bounds
    assert more <= 1.1 * curve.free < less
    # Curved losses pay for the ridge that privacy needs at every scale.
    curved = hn.Convex(
        hn.Ball(3), 1.0, hn.GaussianNoise(1e-6), hn.Fixed(1.0), 2.0, 0.25, guarantee="privacy", accuracy=1e-3
    )
    assert curved.privacy_curve(1000, epsilons=[1.0]).epsilon_at_ten_percent is None


@pytest.mark.parametrize("name", ["private-experts", "private-ball", "experts", "locally-private"])
def test_rounds_per_person_and_shared_budgets_cost_regret(name):
    one, group, shared = (
        told("--epsilon", 1, *more, name=name, rounds=10**5) for more in ((), ("--per-person", 3), ("--share", 3))
    )
    for found in (group, shared):
        assert found["epsilon"] == pytest.approx(1.0, rel=1e-6)
        assert found["epsilon"] <= 1.0
        assert found["bound"]["value"] > one["bound"]["value"]
    assert "up to 3 loss" in group["between"]
    assert "losss" not in group["between"]
    assert "of each learner" in shared["between"]
    assert shared["learners"] == 3
    assert 1 / 3 * 0.999 < shared["each"]["epsilon"] < 1 / 3**0.5
    assert "of each learner" in asked("--epsilon", 1, "--share", 3, name=name).stdout


def test_games_without_end():
    found = told("--epsilon", 1, "--without-end", name="private-experts")
    assert found["rounds"] is None
    assert found["bound"]["value"] == hn.PrivateExperts(10, 1.0).bound(1000).value
    local = told("--epsilon", 1, "--without-end", name="locally-private", rounds=10**5)
    assert local["bound"]["value"] == hn.LocallyPrivate(hn.Bandit(10), 1.0).bound(10**5).value


def test_hedge_at_a_given_scale():
    found = told("--scale", 60, name="experts")
    assert found["epsilon"] == hn.Experts(10, hn.Entropy(), hn.Fixed(60.0)).privacy(1000).epsilon
    assert "scale                    60\n" in asked("--scale", 60, name="experts").stdout


def test_learners_are_compared_in_one_table(tmp_path):
    names = ("private-experts", "experts", "locally-private")
    arguments = [f"--learner={name}" for name in names] + ["--n", "10", "--epsilon", "1"]
    done = asked(*arguments, "--out", tmp_path / "out", rounds=10**6)
    assert done.exit_code == 0, done.exception
    rows = [line.split() for line in done.stdout.splitlines()]
    assert ["epsilon", *names] in rows
    (at_one,) = [row for row in rows if row[:1] == ["1"]]
    assert at_one[1:] == ["1076", "5272", "8099"]
    assert "even against an adaptive adversary" in done.stdout
    data = json.loads((tmp_path / "out" / "privacy.json").read_text())
    assert [len(one["curve"]["bounds"]) for one in data["learners"]] == [7, 7, 7]
    pytest.importorskip("altair")
    page = (tmp_path / "out" / "index.html").read_text()
    assert all(f"Conditions of {name}" in page for name in names)
    assert "epsilon at 10% more regret" in page
    assert "even against an adaptive adversary" in page


def test_page_of_one_learner(tmp_path):
    done = asked("--epsilon", 1, "--out", tmp_path / "out", name="private-experts")
    assert done.exit_code == 0, done.exception
    assert np.diff(json.loads((tmp_path / "out" / "privacy.json").read_text())["curve"]["bounds"]).max() < 0.0
    pytest.importorskip("altair")
    page = (tmp_path / "out" / "index.html").read_text()
    assert "epsilon at 10% more regret" in page
    assert "against an oblivious adversary" in page


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        (("--learner", "private-experts", "--epsilon", "1"), r"--n is required for --learner private-experts"),
        (("--learner", "private-ball", "--epsilon", "1"), r"--d is required for --learner private-ball"),
        (("--learner", "private-experts", "--n", "3"), r"--epsilon is required for --learner private-experts"),
        (("--learner", "private-experts", "--n", "3", "--scale", "2"), r"--scale applies to .*convex and experts"),
        (("--learner", "experts", "--n", "3", "--epsilon", "1", "--smooth", "1"), r"--smooth applies .*got --smooth 1"),
        (("--learner", "experts", "--n", "3", "--epsilon", "1", "--without-end"), r"got --without-end with"),
        (("--learner", "locally-private", "--n", "3", "--epsilon", "1", "--delta", "1e-6"), r"--delta applies to"),
        (("--learner", "experts", "--n", "3", "--epsilon", "0"), r"epsilon must be .*got 0"),
        (("--learner", "private-experts", "--n", "3", "--epsilon", "1", "--delta", "0"), r"delta must be .*got 0"),
        (("--learner", "experts", "--n", "3", "--scale", "9", "--share", "2"), r"--share divides --epsilon"),
        (("--d", "3", "--epsilon", "1", "--per-person", "2"), r"--per-person applies to"),
        (("--d", "3", "--scale", "0"), r"scale must be .*got 0"),
        (("--learner", "convex", "--learner", "experts", "--n", "2", "--d", "3", "--scale", "3"), r"compare learners"),
    ],
)
def test_wrong_options_are_rejected(arguments, match):
    done = asked(*arguments)
    assert done.stdout == ""
    with pytest.raises(ValueError, match=match):
        raise done.exception
