"""Changes by the store are stated for all keys together too: defaults, added and retired arms."""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import Any

import pytest

import hannan as hn
from hannan.serving.store import Store

LEARNER = hn.Bandit(3, hn.Tsallis(0.5), gains=True)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "decisions.db"


def expired(store: Any, name: str, rounds: int) -> None:
    """Wait until so many decisions of all keys are settled."""
    until = time.monotonic() + 10
    while store.certificate(name).rounds < rounds and time.monotonic() < until:
        time.sleep(0.02)


def play(store: Any, name: str, keys: list[str | None]) -> None:
    for key in keys:
        store.observe(store.act(name, key=key).ticket, reward=1)


def test_certificate_of_all_keys_has_the_assumptions_of_each(path: Path) -> None:
    """The control: for an unchanged learner there is no such line."""
    with Store(path) as store:
        store.add("a", LEARNER, arms=["red", "blue"], wait=1.0, default=0.25)
        store.add("plain", LEARNER)
        for name in ("a", "plain"):
            play(store, name, ["anna", "ben", "ben"])
        store.act("a", key="anna")
        store.add_arm("a", "green"), store.retire_arm("a", "red")
        expired(store, "a", 4)
        whole, one = dict(store.certificate("a").rows()), dict(store.certificate("a", key="anna").rows())
        assert whole["comparator"] == "the best arm of each key"
        for row in ("expiry", "arms"):
            assert whole[row] == one[row]
            assert row not in dict(store.certificate("plain").rows())
        assert "1 decision of all keys without feedback after 1 s counted with reward 0.25" in whole["expiry"]
        came = "green came after 4 decisions of all keys, red left after 4 decisions of all keys; the regret against"
        assert whole["arms"].startswith(came)
    with Store(path) as store:  # from the journal again
        assert dict(store.certificate("a").rows()) == whole


def test_arms_come_after_decisions_with_and_without_a_key(path: Path) -> None:
    with Store(path) as store:
        store.add("a", LEARNER, arms=["red", "blue"])
        play(store, "a", [None, None, "anna", "ben", "ben"])
        store.add_arm("a", "green")
        play(store, "a", ["anna", None])
        store.retire_arm("a", "red")
        for key in (None, "anna"):
            says = dict(store.certificate("a", key=key).rows())["arms"]
            assert "green came after 5 decisions with and without a key, red left after 7 decisions" in says


def test_arms_of_keys_become_unavailable_only_if_a_proof_covers_it(path: Path) -> None:
    """As without keys: a bound whose proof does not cover unavailable arms is not in a certificate."""
    with Store(path) as store:
        store.add("a", hn.Bandit(3, gains=True))
        play(store, "a", ["anna"])
        with pytest.raises(ValueError, match="a proof covers unavailable arms"):
            store.retire_arm("a", 0)
        store.add("b", LEARNER, arms=["red", "blue"])
        play(store, "b", ["anna"] * 200)
        store.retire_arm("b", "red")
        play(store, "b", ["anna"] * 100)
        whole = store.certificate("b")
        assert whole.withheld == {}
        assert whole.bound.value == store.certificate("b", key="anna").bound.value < 300.0


def test_reopened_store_draws_other_moves(path: Path) -> None:
    """After a snapshot the store continues exactly, and then with streams of a new epoch: two copies draw differently.

    The control is the snapshot's own fleet, whose certificate says that it may have a twin.
    """
    keys = range(60)
    with Store(path) as store:
        store.add("a", LEARNER)
        play(store, "a", [None])
        for key in keys:
            store.act("a", key=key)
        blob = store.queue.contents.find("a").keyed.to_bytes()
    assert "the random state is in a file" in str(hn.Fleet.from_bytes(blob, "exact").certificate(7))
    drawn = []
    for copy in (path.with_name("one.db"), path.with_name("two.db")):
        shutil.copy(path, copy)
        with Store(copy) as store:
            assert store.queue.contents.restored_from > 0
            for key in (None, 7):
                assert "the random state is in a file" not in str(store.certificate("a", key=key))
            assert "the random state is in a file" not in str(store.queue.contents.find("a").keyed.certificate())
            drawn.append([store.act("a", key=key).action for key in keys])
    assert drawn[0] != drawn[1]  # equal with a probability of 3^-60


def test_certificate_without_key_names_keys_that_are_not_included(path: Path) -> None:
    """The control: as long as there are only draws with keys, it is that of all keys."""
    with Store(path) as store:
        store.add("plain", LEARNER)
        play(store, "plain", ["x", "y", "x"])
        assert store.certificate("plain").keys == 2
        play(store, "plain", [None])
        told = store.certificate("plain")
        assert told.rounds == 1
        assert "2 learners with a key" in dict(told.rows())["keys"]
        assert "keys" not in dict(store.certificate("plain", key="x").rows())


def test_retiring_an_arm_adds_the_assumption_on_available_arms(path: Path) -> None:
    """The control: before an arm is retired, the bound has no condition on the available arms."""
    assumption = "neither losses nor the set of available arms depends on your moves"
    with Store(path) as store:
        store.add("a", hn.Bandit(3, hn.Tsallis(0.5), gains=True), wait=600.0, default=0.0)
        play(store, "a", [None] * 200)
        play(store, "a", ["anna"] * 200)
        before = [dict(store.certificate("a", key=key).rows()) for key in (None, "anna")]
        store.retire_arm("a", 2)
        play(store, "a", [None, "anna"])
        after = [dict(store.certificate("a", key=key).rows()) for key in (None, "anna")]
    for row in ("valid", "estimate"):
        assert [assumption in rows[row] for rows in (*before, *after)] == [False, False, True, True]
    assert "retired because of earlier results" in after[0]["arms"]
    assert "expiry" not in after[0]  # no decision has expired
    assert after[0]["available"].startswith("arms were unavailable in some rounds: ")


def test_all_keys_state_the_assumption_on_available_arms(path: Path) -> None:
    """The row counts keys, for which one bit is stored, and no rounds. The control: no arm was retired."""
    with Store(path) as store:
        store.add("a", hn.Bandit(3, hn.Tsallis(0.5), gains=True))
        play(store, "a", ["anna", "ben"] * 200)
        before = dict(store.certificate("a").rows())
        store.retire_arm("a", 2)
        play(store, "a", ["anna"] * 50)
        after = dict(store.certificate("a").rows())
    assert [("set of available arms" in rows["valid"]) for rows in (before, after)] == [False, True]
    assert "available" not in before
    assert after["available"].startswith("arms were unavailable in some rounds of 1 key: ")
