"""List of keys and decisions per arm: by the store, the service and its client."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pytest
from asking import ask
from rejections import rejected

import hannan as hn
from hannan.serving import Refused
from hannan.serving.app import App
from hannan.serving.keys import listed
from hannan.serving.log import batches
from hannan.serving.store import Store

BANNERS = hn.Bandit(["red", "blue"], gains=True)


def played(store: Store, keys: list[int | str]) -> None:
    """Draw one decision per key, and give every second one a reward of 1 for red and 0 for blue."""
    for count, key in enumerate(keys):
        move = store.act("banner", key=key)
        if count % 2 == 0:
            store.observe(move.ticket, reward=float(move.arm == "red"))


def test_keys_with_the_most_decisions_come_first(tmp_path: Path) -> None:
    with Store(tmp_path / "decisions.db") as store:
        store.add("banner", BANNERS)
        assert store.keys("banner") == (0, 0, [])
        keys = ["anna", "ben", "carl", "anna", "Anna-Lena", "ben", "anna"]
        played(store, keys)
        found = store.keys("banner")
        assert [(one.key, one.decisions) for one in found.keys] == [
            ("anna", 3),
            ("ben", 2),
            ("carl", 1),
            ("Anna-Lena", 1),
        ]
        assert [one.pending for one in found.keys] == [1, 2, 0, 0]
        assert (found.total, found.found) == (4, 4)
        assert found.keys[1].mean is None
        log = store.log("banner").dropna(subset=["reward"])
        assert found.keys[0].mean == log[log["key"] == "anna"]["reward"].mean()
        for one in found.keys:
            assert (one.arm, one.probability) == (
                ["red", "blue"][int(np.argmax(weights := store.queue.contents.find("banner").weights(one.key)))],
                max(weights),
            )
        assert [one.key for one in store.keys("banner", "ANNA").keys] == ["anna", "Anna-Lena"]
        assert store.keys("banner", "nn")[:2] == (4, 2)
        assert store.keys("banner", "<b>") == (4, 0, [])
        assert [one.key for one in store.keys("banner", start=1, limit=2).keys] == ["ben", "carl"]
        assert store.keys("banner", start=4).keys == []
        for bad in ({"limit": 0}, {"limit": 201}, {"start": -1}, {"search": 7}):
            rejected(lambda bad=bad: store.keys("banner", **bad), next(iter(bad)))
        with pytest.raises(Refused, match="no learner"):
            store.keys("other")


def test_keys_that_are_integers_are_found_by_their_digits(tmp_path: Path) -> None:
    with Store(tmp_path / "decisions.db") as store:
        store.add("banner", BANNERS)
        played(store, [7, 17, 170, 7])
        assert [one.key for one in store.keys("banner").keys] == [7, 17, 170]
        assert [one.key for one in store.keys("banner", "17").keys] == [17, 170]


def test_the_service_lists_keys_and_the_arms_of_a_key(tmp_path: Path) -> None:
    with Store(tmp_path / "decisions.db") as store:
        store.add("banner", BANNERS)
        played(store, ["a/b&c=<d>", "ben"] * 40)
        app = App(store)
        status, found = ask(app, "GET", "/v1/learners/banner/keys", query="limit=1&search=" + quote("&C="))
        assert (status, found["total"], found["found"]) == (200, 2, 1)
        assert found["keys"][0]["key"] == "a/b&c=<d>"
        status, arms = ask(app, "GET", "/v1/learners/banner/arms", query="key=" + quote("a/b&c=<d>"))
        log = store.log("banner")
        own = log[log["key"] == "a/b&c=<d>"]
        assert status == 200
        assert {one["arm"]: one["shown"] for one in arms["arms"]} == dict(Counter(own["arm"]))
        assert {one["arm"]: one["total"] for one in arms["arms"]} == own.groupby("arm")["reward"].sum().to_dict()
        assert {one["arm"]: one["settled"] for one in arms["arms"]} == own.groupby("arm")["reward"].count().to_dict()
        assert sum(one["probability"] for one in arms["arms"]) == pytest.approx(1.0)
        # The counts over all keys are those of the evidence.
        status, arms = ask(app, "GET", "/v1/learners/banner/arms")
        assert {one["arm"]: one["shown"] for one in arms["arms"]} == dict(Counter(log["arm"]))
        assert [one["probability"] for one in arms["arms"]] == [None, None]
        assert (arms["keys"], arms["unkeyed"], arms["pending"]) == (2, 0, 40)
        assert ask(app, "GET", "/v1/learners/banner/arms", query="key=zoe")[1]["code"] == "unknown_key"
        assert store.keys("banner").total == 2  # the query created no key
        for bad in ("start=-1", "limit=0", "limit=1000", "start=x"):
            assert ask(app, "GET", "/v1/learners/banner/keys", query=bad)[0] == 400
        assert ask(app, "GET", "/v1/learners/other/keys")[0] == 404


def test_arms_keep_their_place_and_color(tmp_path: Path) -> None:
    with Store(tmp_path / "decisions.db") as store:
        store.add("banner", hn.Bandit(["A", "red", "B"], gains=True))

        def looks() -> dict[str, tuple[int, str]]:
            arms = ask(App(store), "GET", "/v1/learners/banner/arms")[1]["arms"]
            return {one["arm"]: (one["index"], one["color"]) for one in arms}

        assert looks() == {"A": (0, "blue"), "red": (1, "red"), "B": (2, "orange")}
        store.retire_arm("banner", "A")
        assert looks() == {"red": (1, "red"), "B": (2, "orange")}
        store.rename_arm("banner", "B", "hero")
        store.rename_arm("banner", "red", "first")
        assert looks() == {"first": (1, "red"), "hero": (2, "orange")}
        store.add_arm("banner", "blue")
        store.add_arm("banner", "A")  # the same arm again
        assert looks() == {"first": (1, "red"), "hero": (2, "orange"), "blue": (3, "blue2"), "A": (0, "blue")}
    with Store(tmp_path / "decisions.db") as store:
        assert looks() == {"first": (1, "red"), "hero": (2, "orange"), "blue": (3, "blue2"), "A": (0, "blue")}


def test_small_groups_are_read_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Store(tmp_path / "decisions.db") as store:
        store.add("banner", BANNERS)
        played(store, ["anna", "ben"] * 20)
        end = store.queue.contents.sequence
        whole = list(batches(store.queue.backend, 0, end))
        monkeypatch.setattr("hannan.serving.log.SLOTS_AT_ONCE", 7)
        parts = list(batches(store.queue.backend, 0, end))
        assert len(parts) > len(whole)
        for column in (0, 1):
            joined = [np.concatenate([part[column] for part in found]) for found in (whole, parts)]
            assert joined[0].tobytes() == joined[1].tobytes()


def test_ten_thousand_keys_are_listed_quickly(tmp_path: Path) -> None:
    with Store(tmp_path / "decisions.db") as store:
        store.add("banner", BANNERS)
        names = [f"user-{number}" for number in range(10_000)]
        store.queue.draws_for("banner", names)
        _, end = store.queue.draws_for("banner", names[5_000:5_100])
        store.queue.journal.wait(end)
        stored, began = store.queue.contents.find("banner"), time.perf_counter()
        for _ in range(10):
            found = listed(store.queue, stored, "user-5", 50, 50)
        assert (time.perf_counter() - began) / 10 < 0.2
        assert (found.total, found.found) == (10_000, 1_111)
        assert found.keys[0].key == "user-5050"
