"""The events of a fleet replayed by the engine: equal bit for bit, and the first different event is named."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hannan as hn
from hannan import _engine
from hannan.serving.journal import ACT, EXPIRE, OBSERVE, RECORD, SLOT

LEARNERS = {
    "default": hn.Bandit(4),
    "gains": hn.Bandit(["a", "b", "c"], gains=True, loss_range=(-1.0, 2.0)),
    "hedge": hn.Bandit(5, hn.Entropy(), hn.Horizon(1000)),
    "exponential": hn.Bandit(4, hn.Exponential()),
    "resampled": hn.Bandit(4, hn.Entropy(), hn.Horizon(1000), hn.GeometricResampling(20)),
    "delayed": hn.TsallisShannon(3),
}


def journal_of(fleet: Any, keys: int, luck: int, events: int = 60, awake: Any = None) -> Any:
    """A fleet during play, and its events."""
    rng, rows, open_now = np.random.default_rng(luck), [], []
    low, high = fleet.learner.loss_range
    while len(rows) < events:
        if open_now and rng.random() < 0.5:
            moves = open_now.pop(int(rng.integers(len(open_now))))
            value = float(rng.uniform(low, high))
            fleet.observe(moves, [value])
            event = (OBSERVE if rng.random() < 0.9 else EXPIRE, 0, value)
        else:
            moves = fleet.act([int(rng.integers(keys))], awake)
            open_now.append(moves)
            event = (ACT, int(moves.action[0]), float(moves.probability[0]))
        ticket = int(fleet.number(moves.key)[0]) << 32 | int(moves.round[0])
        rows.append((event[0], 0, event[1], 0, ticket, event[2]))
    return np.array(rows, RECORD)


def replayed(fleet: Any, journal: Any, awake: Any = None) -> int:
    slots, sequences = journal.view(np.uint8).reshape(len(journal), SLOT), np.arange(len(journal), dtype=np.uint64)
    return int(_engine.replay_journal(fleet, None, slots, awake, None, sequences))


def twin_of(fleet: Any, seed: int) -> Any:
    twin = hn.Fleet(fleet.learner, seed=seed, name=fleet.id)
    twin.number(fleet.keys, touch=True)
    return twin


@pytest.mark.parametrize("name", LEARNERS)
@settings(max_examples=8, deadline=None)
@given(keys=st.integers(1, 4), luck=st.integers(0, 2**32), cut=st.integers(0, 60))
def test_replayed_fleet_equals_the_fleet(name: str, keys: int, luck: int, cut: int) -> None:
    fleet = hn.Fleet(LEARNERS[name], seed=luck, name="f")
    journal = journal_of(fleet, keys, luck)
    twin = twin_of(fleet, luck)
    assert replayed(twin, journal[:cut]) == -1
    twin = hn.Fleet.from_bytes(twin.to_bytes(), "exact")  # a snapshot in between
    assert replayed(twin, journal[cut:]) == -1
    assert twin.to_bytes() == fleet.to_bytes()


def test_unavailable_arms_are_replayed_and_epochs_restart_streams() -> None:
    fleet, awake = hn.Fleet(hn.Bandit(4, hn.Tsallis(0.5)), seed=1, name="f"), np.array([True, False, True, True])
    twin = hn.Fleet(fleet.learner, seed=1, name="f")
    parts = []
    for epoch in (None, 10**30, 77):
        if epoch is not None:
            fleet.restart(epoch)
        parts += [(epoch, mask, journal_of(fleet, 3, 2, 20, mask)) for mask in (awake, None)]
    twin.number(fleet.keys, touch=True)
    for epoch, mask, journal in parts:
        if epoch is not None and mask is not None:
            twin.restart(epoch)
        assert replayed(twin, journal, mask) == -1
    assert twin.to_bytes() == fleet.to_bytes()
    text = hn.Fleet(hn.Bandit(3), seed=1)
    text.act(["a", "b"])
    text.restart(5)
    assert text._fields(1)["stream"] == hn.Fleet(hn.Bandit(3), seed=5)._player("b").state()["stream"]


@pytest.mark.parametrize(
    ("kind", "field", "value"),
    [
        *((ACT, *change) for change in [("kind", 0), ("kind", 9), ("arm", None), ("value", None), ("value", np.nan)]),
        *((ACT, "round", value) for value in (0, 10**6, 2**40, 2**63, 2**64 - 1)),
        *((OBSERVE, "round", value) for value in (0, 999, 2**40, 2**64 - 1)),
        *((OBSERVE, "value", value) for value in (1.5, -0.1, np.nan)),
    ],
)
def test_one_wrong_field_is_detected(kind: int, field: str, value: Any) -> None:
    fleet = hn.Fleet(hn.Bandit(4), seed=3, name="f")
    journal = journal_of(fleet, 1, 5)
    at = int(np.flatnonzero(journal["kind"] == kind)[8])
    if value is None:
        value = (int(journal["arm"][at]) + 1) % 4 if field == "arm" else np.nextafter(journal["value"][at], 2.0)
    journal[field][at] = value
    assert replayed(twin_of(fleet, 3), journal) == at


def test_repeated_feedback_is_detected() -> None:
    fleet = hn.Fleet(hn.Bandit(4), seed=3, name="f")
    journal = journal_of(fleet, 1, 5)
    at = int(np.flatnonzero(journal["kind"] == OBSERVE)[5])
    assert replayed(twin_of(fleet, 3), np.insert(journal, at, journal[at])) == at + 1
