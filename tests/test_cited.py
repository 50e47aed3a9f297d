"""docs/cited.md has a row for every cited work, and every learner that it names plays with its verdict."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import hannan as hn

ROOT = Path(__file__).parents[1]
#: Keys of the bibliography of the paper, in the order of the alphabet.
KEYS = [
    "Bassily:2016",
    "abernethy2014online",
    "abernethy2015fighting",
    "agarwal2017open",
    "agarwal2017price",
    "allen2018make",
    "allenberg2006hannan",
    "alon2018private",
    "amari2016information",
    "auer2002nonstochastic",
    "bousquet2002stability",
    "cesa-bianchi2006prediction",
    "cummings2016adaptive",
    "devroye2013prediction",
    "dwork2010boosting",
    "dwork2014algorithmic",
    "dwork2015preserving",
    "freund1997decision",
    "hardt2016train",
    "hazan2016introduction",
    "jain2012differentially",
    "kalai2005efficient",
    "kifer2012private",
    "littlestone1994weighted",
    "mcsherry2007mechanism",
    "neu2013efficient",
    "neu2015first",
    "nissim2015generalization",
    "orabona2012beyond",
    "penot1994sub",
    "poggio2004general",
    "poggio2011online",
    "rakhlin2012relax",
    "rakhlin2013online",
    "ross2011stability",
    "saha2012interplay",
    "srebro2010smoothness",
    "stoltz2005incomplete",
    "thakurta2013nearly",
    "tossou2017achieving",
    "vanerven2014follow",
    "yu2013stability",
]
VERDICTS = ("present, with a choice", "present", "other system", "bound only in order", "no system")
ROUNDS = 60
LINEAR, ARMS = hn.Linear(np.full((ROUNDS, 2), 0.2)), np.random.default_rng(0).random((ROUNDS, 4))
TARGETS = hn.Squared(np.full((ROUNDS, 2), 0.5), np.linspace(0, 0.4, ROUNDS))
ADVICE = np.random.default_rng(1).integers(0, 4, (ROUNDS, 5))
#: Game of every learner that the page names: learner, losses, advice.
GAMES = {
    "hedge": (hn.hedge(4, ROUNDS), ARMS),
    "Experts": (hn.Experts(4), ARMS),
    "FixedShare": (hn.FixedShare(4, 3.0, 0.01), ARMS),
    "FPL": (hn.FPL(hn.MSets(4, 2), 5.0), ARMS),
    "FPLTrix": (hn.FPLTrix(hn.MSets(4, 2)), ARMS),
    "Dropout": (hn.Dropout(4), ARMS),
    "RandomWalk": (hn.RandomWalk(4), ARMS),
    "RandomPlayout": (hn.RandomPlayout(4, ROUNDS), ARMS),
    "gaussian_ftpl": (hn.gaussian_ftpl(hn.Ball(2), ROUNDS), LINEAR),
    "Bandit": (hn.Bandit(4, hn.Gumbel()), ARMS),
    "exp3": (hn.exp3(4), ARMS),
    "exp3_s": (hn.exp3_s(4, ROUNDS), ARMS),
    "GeometricResampling": (hn.Bandit(4, hn.Exponential(), hn.Horizon(ROUNDS), hn.GeometricResampling(50)), ARMS),
    "exp4": (hn.exp4(4, 5), ARMS, ADVICE),
    "exp4_clipped": (hn.exp4_clipped(4, 5), ARMS, ADVICE),
    "MYGA": (hn.MYGA(4, 5, ROUNDS), ARMS, ADVICE),
    "Green": (hn.Green(4, rounds=ROUNDS), ARMS),
    "Exp3Light": (hn.Exp3Light(4), ARMS),
    "OptimisticDescent": (hn.OptimisticDescent(hn.Ball(2), 1.0), LINEAR),
    "BarrierBandit": (hn.BarrierBandit(hn.Ball(2), 1.0, ROUNDS), LINEAR),
    "Convex": (
        hn.Convex(hn.Ball(2), 1.0, loss_bound=4.0),
        hn.Logistic(np.full((ROUNDS, 2), 0.5), np.arange(ROUNDS) % 2),
    ),
    "OnlineGradientDescent": (hn.OnlineGradientDescent(hn.Ball(2), 1.0), LINEAR),
    "ExponentiatedGradient": (hn.ExponentiatedGradient(hn.Simplex(2), 1.0), LINEAR),
    "SmoothDescent": (hn.SmoothDescent(hn.Ball(2), 1.0, 0.5), TARGETS),
    "OnlineNewton": (hn.OnlineNewton(hn.Ball(2), 1.0, 0.5, 0.5), TARGETS),
    "PrivateBall": (hn.PrivateBall(hn.Ball(2), 1.0, 1.0, rounds=ROUNDS), LINEAR),
    "PrivateExperts": (hn.PrivateExperts(4, 1.0, rounds=ROUNDS), ARMS),
    "LocallyPrivate": (hn.LocallyPrivate(hn.Bandit(4), 1.0), ARMS),
}
FUNCTIONS = {"hockey_stick", "max_divergence", "tsallis_log"}


def rows() -> dict[str, list[str]]:
    lines = (ROOT / "docs" / "cited.md").read_text(encoding="utf-8").splitlines()
    cells = [line.strip("| ").split(" | ") for line in lines]
    return {row[0]: row[1:] for row in cells if len(row) == 5 and row[0] in KEYS}


def quoted(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def test_every_cited_work_has_a_row():
    assert sorted(rows()) == sorted(KEYS)
    assert len(KEYS) == 42
    for key, (_, names, tests, verdict) in rows().items():
        assert verdict.startswith(VERDICTS), key
        assert all(hasattr(hn, name) for name in quoted(names)), key
        assert all((ROOT / test).is_file() for test in quoted(tests)), key
        assert verdict.startswith("no system") or quoted(names), key
        assert bool(quoted(names)) == bool(quoted(tests)), key


def test_the_games_are_those_of_the_page():
    named = {name for row in rows().values() for name in quoted(row[1])}
    assert named == set(GAMES) | FUNCTIONS


@pytest.mark.parametrize("name", GAMES)
def test_every_system_plays_with_its_verdict(name):
    learner, losses, *advice = GAMES[name]
    record = hn.play(learner, losses, runs=2, seed=0, **({"advice": advice[0]} if advice else {}))
    assert np.isfinite(record.mean_regret).all()
    verdicts = [row[3] for row in rows().values() if name in quoted(row[1]) and not row[3].startswith("no system")]
    if verdicts and all(verdict == "bound only in order" for verdict in verdicts):
        with pytest.raises(hn.Withheld, match="constants"):
            learner.bound(ROUNDS)
    else:
        assert learner.bound(ROUNDS).value > 0.0


def test_learners_with_a_choice_state_it_on_their_page():
    pages = {path: path.read_text(encoding="utf-8") for path in (ROOT / "docs" / "learners").glob("*.md")}
    for key, (_, names, _, verdict) in rows().items():
        if verdict == "present, with a choice":
            for name in quoted(names):
                page = next(text for text in pages.values() if f"hn.{name}(" in text and "What was chosen here" in text)
                assert re.search(rf"{name}", page), (key, name)
