"""Learners and arms of a store: names, descriptions, and arms that are added and retired."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from rejections import rejected
from stores import GAINS, crash, refused

import hannan as hn
from hannan.serving import CONFLICT, UNKNOWN
from hannan.serving.store import Store


def test_adding_a_learner_again(path: Path) -> None:
    with Store(path) as store:
        store.add("a", GAINS)
        store.add("a", GAINS)
        refused(CONFLICT, lambda: store.add("a", hn.Bandit(3)), "'a'")
        refused(CONFLICT, lambda: store.add("a", GAINS, wait=3.0, default=0.0))
        assert store.learners == ("a",)
    with Store(path) as store:
        store.add("a", GAINS)
        refused(UNKNOWN, lambda: store.act("b"), "'b'", "a")


@pytest.mark.parametrize(
    ("learner", "named"),
    [
        (hn.Experts(3), "Experts"),
        (hn.AdaHedge(3), "AdaHedge"),
        (hn.ExpertBandit(3, 2), "ExpertBandit"),
        (hn.Convex(hn.Ball(2, 1.0), 1.0, loss_bound=1.0), "Convex"),
        (hn.Squint(3), "Squint"),
        ("bandit", "bandit"),
        (hn.Bandit, "Bandit"),
    ],
)
def test_learners_without_bandit_feedback_are_rejected(path: Path, learner: Any, named: str) -> None:
    with Store(path) as store:
        rejected(lambda: store.add("a", learner), named)
        assert store.learners == ()


@pytest.mark.parametrize("name", ["", "a b", "../x", "x" * 101, "-x", None, "é"])
def test_invalid_names_are_rejected(path: Path, name: Any) -> None:
    with Store(path) as store:
        message = rejected(lambda: store.add(name, GAINS), "name")
        assert repr(name)[:80] in message


def test_arms_are_added_and_retired(path: Path) -> None:
    learner = hn.Bandit(4, hn.Tsallis(0.5), gains=True)
    with Store(path) as store:
        store.add("a", learner, arms=["red", "blue"])
        rejected(lambda: store.add("b", hn.Bandit(4, gains=True), arms=["red"]), "Tsallis")
        before = [store.act("a") for _ in range(50)]
        assert {move.arm for move in before} == {"red", "blue"}
        refused(CONFLICT, lambda: store.add_arm("a", "red"), "'red'")
        store.add_arm("a", "green")
        store.retire_arm("a", "red")
        rejected(lambda: store.retire_arm("a", "red"), "'red'")
        assert {store.act("a").arm for _ in range(50)} == {"blue", "green"}
        assert store.observe(next(move for move in before if move.arm == "red").ticket, reward=1)
    with Store(path) as store:
        assert {store.act("a").arm for _ in range(50)} == {"blue", "green"}
        store.add_arm("a", "white")
        refused(CONFLICT, lambda: store.add_arm("a", "black"), 4)
        store.retire_arm("a", "blue"), store.retire_arm("a", "green")
        refused(CONFLICT, lambda: store.retire_arm("a", "white"), "'white'")
        says = dict(store.certificate("a").rows())["arms"]
        assert "green came after 50 decisions, red left after 50 decisions" in says
        crash(store)
    with Store(path) as store:
        assert {store.act("a").arm for _ in range(20)} == {"white"}
