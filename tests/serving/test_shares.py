"""Decisions of every arm over time: from the journal and live, in a bounded number of bins."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from asking import ask

import hannan as hn
from hannan.serving.app import App
from hannan.serving.metrics import MAX_BINS, Bins
from hannan.serving.store import Store

SHARES = "/v1/learners/banner/shares"


def counted(found: dict[str, Any]) -> dict[str, int]:
    """Return the number of decisions per arm in all bins."""
    totals = np.array(found["decisions"], dtype=int).reshape(-1, len(found["arms"])).sum(axis=0)
    return {arm: count for arm, count in zip(found["arms"], totals.tolist(), strict=True) if count}


def test_decisions_are_counted_before_and_after_a_restart(tmp_path: Path) -> None:
    path, drawn = tmp_path / "decisions.db", Counter[str]()
    with Store(path) as store:
        store.add("banner", hn.Bandit(["red", "blue"], gains=True))
        drawn.update(store.act("banner").arm for _ in range(20))
        drawn.update(store.act("banner", key=key).arm for key in ("anna", "ben", "anna"))
        assert counted(ask(App(store), "GET", SHARES)[1]) == drawn
    with Store(path) as store:
        app = App(store)
        drawn.update(store.act("banner").arm for _ in range(5))
        app.service.shares.sample()  # before the journal is read
        drawn.update(store.act("banner").arm for _ in range(5))
        found = ask(app, "GET", SHARES)[1]
        assert counted(found) == drawn
        assert found["changes"] == []
        assert found["colors"] == ["red", "blue"]
        assert abs(found["time"][-1] - time.time()) < found["width"] + 60
        # Each decision is counted once, however often the shares are read.
        assert counted(ask(app, "GET", SHARES)[1]) == drawn


def test_stages_and_names_keep_the_counts_of_an_arm(tmp_path: Path) -> None:
    path, drawn = tmp_path / "decisions.db", Counter[str]()
    with Store(path) as store:
        app = App(store)
        store.add("banner", hn.Bandit(["red", "blue"], gains=True))
        drawn.update(store.act("banner").arm for _ in range(10))
        ask(app, "GET", SHARES)
        store.add_arm("banner", "green")
        drawn.update(store.act("banner").arm for _ in range(10))
        store.retire_arm("banner", "red")
        drawn.update(store.act("banner").arm for _ in range(10))
        store.rename_arm("banner", "green", "lime")
        drawn["lime"] = drawn.pop("green")
        drawn.update(store.act("banner").arm for _ in range(10))
        live = ask(app, "GET", SHARES)[1]
    with Store(path) as store:
        again = ask(App(store), "GET", SHARES)[1]
    for found in (live, again):
        assert found["arms"] == ["red", "blue", "lime"]
        assert found["available"] == [False, True, True]
        assert counted(found) == drawn
        assert [change["text"] for change in found["changes"]] == ["lime was added", "red was retired"]
        assert found["changes"][0]["time"] <= found["changes"][1]["time"]


def test_evidence_states_why_it_begins_again(tmp_path: Path) -> None:
    with Store(tmp_path / "decisions.db") as store:
        store.add("banner", hn.Bandit(["red", "blue"], gains=True))
        store.act("banner")
        assert "start" not in store.evidence("banner").to_dict()["assumed"]
        store.add_arm("banner", "green")
        assert store.evidence("banner").decisions == 0
        assert store.evidence("banner").to_dict()["assumed"]["start"] == (
            "green was added at the start; each such change begins new statements with a new error probability"
        )


@pytest.mark.parametrize("span", [10.0, 1e4, 1e9])
def test_the_number_of_bins_is_bounded(span: float) -> None:
    rng, bins = np.random.default_rng(0), Bins()
    for _ in range(50):
        times = 1.7e9 + rng.uniform(0.0, span, 100)
        bins.add(times, rng.integers(0, 3, 100))
    rows = bins.rows(3)
    assert len(rows) <= MAX_BINS
    assert sum(int(counts.sum()) for _, counts in rows) == 5000
    assert rows[-1][0] - rows[0][0] < MAX_BINS * bins.width
    assert span / MAX_BINS <= bins.width or bins.width == 2.0


def test_long_journals_are_read_in_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "decisions.db"
    with Store(path) as store:
        store.add("banner", hn.Bandit(["red", "blue"], gains=True))
        for _ in range(50):
            store.act("banner")
    monkeypatch.setattr("hannan.serving.log.READ", 20)
    with Store(path) as store:
        end = store.queue.journal.opened_at
        last = [first for first, _ in store.queue.backend.groups(end - 20) if first < end]
        found = sum(counted(ask(App(store), "GET", SHARES)[1]).values())
        assert 0 < found <= len(last) <= 20
