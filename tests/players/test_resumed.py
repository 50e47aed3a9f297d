"""Two exact loads of one file are twins: their certificates say so, and those of plain loads do not."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hannan as hn
from hannan.learners.fpl import MSets
from hannan.players.certificate import RESUMED, SEEDED

CONVEX = hn.Convex(hn.Ball(2), 1.0, loss_bound=2.0)
LEARNERS = (
    hn.Bandit(3), hn.Bandit(3, hn.Tsallis(0.5)), hn.Experts(3), hn.AdaHedge(3), hn.Thompson(3), hn.ExpertBandit(3, 5),
    hn.FPL(MSets(6, 2), 2.0), hn.FPLTrix(MSets(6, 2)), CONVEX,
)  # fmt: skip


def said(told: Any) -> str:
    """The line of a certificate about its randomness; "" if there is none."""
    rows = dict(told.rows())
    return "; ".join(rows[name] for name in ("seed", "copy") if name in rows)


def charged(player: Any, twin: Any, rounds: int) -> float:
    """The regret if the arm that another player draws next has loss 1."""
    own, lost = 0.0, np.zeros(player.learner.n)
    for _ in range(rounds):
        foreseen, move = twin.act(), player.act()
        row = np.zeros(player.learner.n)
        row[foreseen.action] = 1.0
        player.observe(move, float(row[move.action]))
        twin.observe(foreseen, 1.0)
        own, lost = own + float(row[move.action]), lost + row
    return float(own - lost.min())


def test_exact_copy_breaks_the_bound_and_the_certificate_states_it(tmp_path: Path) -> None:
    """The control is a plain load, whose moves the other copy does not predict."""
    path = tmp_path / "player.json"
    hn.exp3_ix(2, 1000).start().save(path)
    one, two = (hn.load(path, resume="exact") for _ in range(2))
    told = one.certificate(delta=0.05)
    assert charged(one, two, 1000) > 3 * one.certificate().bound.value
    assert said(one.certificate()) == said(told) == RESUMED
    plain, other = hn.load(path), hn.load(path, resume="exact")
    # In this run with probability 1 - 1e-9, whatever the losses.
    assert charged(plain, other, 1000) <= plain.certificate(delta=1e-9).on_this_run
    assert said(plain.certificate()) == ""


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: type(learner).__name__)
def test_certificate_states_whether_the_stream_is_in_a_file(learner: Any, tmp_path: Path) -> None:
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    player = learner.start()
    player.save(first)
    exact = hn.load(first, resume="exact")
    assert said(player.certificate()) == RESUMED  # it continues from the state of the file
    assert said(learner.start().certificate()) == ""
    assert said(exact.certificate()) == RESUMED
    assert exact.certificate().resumed
    assert exact.content() == player.content()  # bit for bit in its file as well
    exact.save(second)
    assert said(hn.load(second).certificate()) == ""
    assert said(hn.load(second, resume="exact").certificate()) == RESUMED
    learner.start(seed=1).save(first)
    assert said(hn.load(first).certificate()) == SEEDED
    assert said(hn.load(first, resume="exact").certificate()) == f"{SEEDED}; {RESUMED}"


@pytest.mark.parametrize(
    "learner",
    [
        hn.OnlineGradientDescent(hn.Ball(2), 1.0),
        hn.Convex(hn.Ball(2), 1.0, tuning=hn.Fixed(5.0), smooth=0.0, guarantee="privacy"),
    ],
    ids=["draws nothing", "of the operating system's noise"],
)
def test_learners_without_randomness_have_no_warning_about_copies(learner: Any, tmp_path: Path) -> None:
    learner.start().save(tmp_path / "player.json")
    assert said(hn.load(tmp_path / "player.json", resume="exact").certificate()) == ""


def test_copy_of_a_convex_player_draws_the_same_moves() -> None:
    player = CONVEX.start()
    twin = copy.deepcopy(player)
    assert twin.act() == player.act()
    assert (said(player.certificate()), said(twin.certificate())) == ("", RESUMED)


@pytest.mark.parametrize("keys", [[1, 2, 3], ["a", "b", "c"]], ids=["numbers", "text"])
def test_fleets_state_whether_their_streams_are_in_a_file(keys: Any) -> None:
    """All keys, single keys and keys that come later; parts, and their join."""
    fleet = hn.Fleet(hn.Bandit(3))
    fleet.observe(fleet.act(keys), [0.5, 0.0, 1.0])
    new = "new" if isinstance(keys[0], str) else 77
    exact, plain = hn.Fleet.from_bytes(fleet.to_bytes(), "exact"), hn.Fleet.from_bytes(fleet.to_bytes())
    for key in (None, keys[0], new):
        assert said(exact.certificate(key)) == RESUMED
        assert said(plain.certificate(key)) == said(fleet.certificate(key)) == ""
    data = exact.to_bytes()
    assert data == fleet.to_bytes()
    assert said(hn.Fleet.from_bytes(data).certificate()) == ""
    assert said(hn.Fleet.from_bytes(data, "exact").certificate()) == RESUMED
    part = exact.split(keys[2])
    assert said(part.certificate()) == said(exact.certificate()) == RESUMED
    plain.retire(keys[2])
    plain.join(part)
    assert said(plain.certificate()) == RESUMED
