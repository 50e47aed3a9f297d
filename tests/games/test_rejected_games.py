"""Games reject bad losses and bad arguments."""

import numpy as np
import pytest
from naive_games import losses_of

import hannan as hn
from hannan.games.play import play
from hannan.learners.bandits import Bandit
from hannan.learners.expert_bandits import ExpertBandit
from hannan.learners.experts import Experts
from hannan.learners.tuning import Fixed
from hannan.mathematics.regularizers import Entropy

BAD = [
    (np.zeros((10, 4)), "columns"),
    (np.zeros((0, 3)), "at least one round"),
    (np.zeros(10), "shape"),
    (np.full((10, 3), 1.5), "round 0, arm 0"),
    ([["a", "b", "c"]], "real numbers"),
    (np.zeros((4, 10, 3)), "runs"),
    (iter([]), "at least one round"),
    (iter([np.zeros((5, 2))]), r"\(rounds, 3\)"),
]


@pytest.mark.parametrize(("losses", "words"), BAD)
def test_bad_losses_are_rejected(losses, words):
    with pytest.raises(ValueError, match=words):
        play(Bandit(3, Entropy(), Fixed(1.0)), losses, runs=2)


def test_error_names_round_and_column_of_a_bad_loss():
    losses = losses_of(5000, 6)
    losses[17, 3] = np.nan
    words = r"losses must be finite and in \[0, 1\]; got nan at round 17, "
    with pytest.raises(ValueError, match=words + "arm 3"):
        play(Bandit(6, Entropy(), Fixed(1.0)), losses)
    with pytest.raises(ValueError, match=words + "expert 3"):
        play(Experts(6, Entropy(), Fixed(1.0)), losses, runs=20)
    with pytest.raises(ValueError, match=words + "action 3"):
        play(ExpertBandit(6, 2, Entropy(), Fixed(1.0)), losses, advice=np.zeros((5000, 2), dtype=int))
    tall = np.tile(losses_of(400, 6), (3, 1, 1))
    tall[2, 399, 5] = 7.0
    for learner in (Bandit(6, Entropy(), Fixed(1.0)), Experts(6, Entropy(), Fixed(1.0))):
        with pytest.raises(ValueError, match=r"got 7\.0 at run 2, round 399"):
            play(learner, tall, runs=3)
    with pytest.raises(ValueError, match="got nan at round 117, arm 3"):
        play(Bandit(6, Entropy(), Fixed(1.0)), iter([losses_of(100, 6), losses]))


def test_bad_arguments_are_rejected():
    learner, losses = Bandit(3, Entropy(), Fixed(1.0)), losses_of(10, 3)
    for given in ({"runs": 0}, {"seed": -1}, {"threads": 0}, {"keep": "some"}, {"rounds": 0}, {"advice": losses}):
        with pytest.raises(ValueError):
            play(learner, losses, **given)
    with pytest.raises(ValueError, match="fictitious"):
        play(learner, losses, fictitious=True)
    with pytest.raises(ValueError, match="learner"):
        play("no learner", losses)
    advised = ExpertBandit(3, 2, Entropy(), Fixed(1.0))
    for advice, words in [
        (None, "advice is required"),
        (np.zeros((9, 2), dtype=int), "10 rounds"),
        (np.zeros((10, 3), dtype=int), "shape"),
        (np.full((10, 2), 3), "got 3 at round 0, expert 0"),
        (np.zeros((10, 2)), "integers; got float64"),
        (np.full((10, 2, 3), 0.4), "distributions"),
    ]:
        with pytest.raises(ValueError, match=words):
            play(advised, losses, advice=advice)


OWN_GAMES = [
    (hn.AdaHedge(3), np.random.default_rng(5).random((40, 3))),
    (hn.AdaHedge(3, gains=True), np.random.default_rng(6).random((2, 40, 3))),
    (hn.FPL(hn.MSets(3, 1), 5.0), np.random.default_rng(5).random((40, 3))),
    (hn.FPLTrix(hn.MSets(3, 1)), np.random.default_rng(5).random((40, 3))),
    (hn.Convex(hn.Ball(2), 1.0, loss_bound=2.0), hn.Logistic(np.full((40, 2), 0.5), np.ones(40))),
    (hn.Convex(hn.Ball(2), 1.0, hn.GaussianNoise(), hn.Horizon(40)), hn.Linear(np.full((40, 2), 0.5))),
    (hn.OnlineGradientDescent(hn.Ball(2), 1.0), hn.Linear(np.full((40, 2), 0.5))),
    (hn.ExponentiatedGradient(hn.Simplex(2), 1.0), hn.Linear(np.full((40, 2), 0.5))),
]


@pytest.mark.parametrize(("learner", "losses"), OWN_GAMES, ids=lambda x: type(x).__name__)
def test_every_setting_takes_rounds_and_rejects_other_arguments(learner, losses):
    """Regression: `rounds`, `advice` and `fictitious` were once ignored."""
    short = play(learner, losses, runs=2, rounds=12)
    cut = losses[:, :12] if getattr(losses, "ndim", 2) == 3 else losses[:12]
    same = play(learner, cut, runs=2)
    assert short.rounds == 12
    assert short.note == ""
    assert (short.regret == same.regret).all()
    longer = play(learner, losses, runs=2, rounds=50)
    assert longer.rounds == 40
    assert longer.note == "50 rounds were requested, but the losses ended after round 40"
    with pytest.raises(ValueError, match=f"advice must be None for {type(learner).__name__}"):
        play(learner, losses, runs=2, advice=[[0, 1]])
    with pytest.raises(ValueError, match=r"fictitious must be False.*got "):
        play(learner, losses, runs=2, fictitious=True)
    with pytest.raises(ValueError, match="rounds must be an integer"):
        play(learner, losses, runs=2, rounds=0)
