"""Expiry of decisions: after the wait, never before it."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
from stores import GAINS, crash

from hannan.serving.expiry import Expiry
from hannan.serving.store import Store


def test_decisions_expire(path: Path) -> None:
    with Store(path) as store:
        store.add("a", GAINS, wait=0.2, default=0.25)
        kept, left = store.act("a"), [store.act("a") for _ in range(5)]
        store.observe(kept.ticket, reward=1)
        assert store.certificate("a").rounds == 1
    with Store(path) as store:
        until = time.monotonic() + 10
        while store.certificate("a").rounds < 6 and time.monotonic() < until:
            time.sleep(0.02)
        told = store.certificate("a")
        assert told.rounds == 6
        assert told.own_loss == 1 + 5 * 0.25
        assert "5 decisions without feedback after 0.2 s counted with reward 0.25" in dict(told.rows())["expiry"]
        assert store.observe(left[0].ticket, reward=1) is False
        assert store.log("a")["expired"].sum() == 5
        crash(store)
    with Store(path) as store:
        assert "5 decisions without feedback" in str(store.certificate("a"))
        for wait, default in ((1.0, None), (None, 0.5), (0.0, 0.5), (1.0, 7.0)):
            with pytest.raises(ValueError, match=r"wait|default"):
                store.add("b", GAINS, wait=wait, default=default)


@pytest.mark.parametrize("seed", range(20))
def test_no_decision_expires_before_its_own_wait(seed: int) -> None:
    """Draws in one bundle expire together: none before its wait.

    With an odd seed, which expires decisions as soon as possible, none expires later than a hundredth of the wait after
    it.
    """
    rng, wait = np.random.default_rng(seed), 10.0
    expiry, drawn, found = Expiry(wait, 0.0), dict[int, float](), dict[int, float]()
    now = 100.0
    for ticket in range(1, 200):
        now += float(rng.exponential(0.04))
        keyed = ticket % 2
        if ticket % 3:
            expiry.drawn_one(keyed, ticket, now)
        else:
            expiry.drawn(keyed, np.array([ticket], dtype=np.uint64), now)
        drawn[ticket] = now
        if ticket % 50 == 0:
            saved, expiry = expiry.state(), Expiry(wait, 0.0)
            expiry.restore(*saved)
    while len(found) < len(drawn):
        now += max(expiry.pause(now), 1e-9) if seed % 2 else float(rng.uniform(0.0, 0.05))
        for keyed, tickets in enumerate(expiry.due(now, 500 if seed % 2 else int(rng.integers(1, 9)))):
            assert all(ticket % 2 == keyed for ticket in tickets.tolist())
            found |= dict.fromkeys(tickets.tolist(), now)
    late = [found[ticket] - drawn[ticket] - wait for ticket in drawn]
    assert min(late) >= -1e-9
    if seed % 2:
        assert max(late) <= wait / 100.0 + 1e-6
        # Control: bundles hold several draws, so that expiry by the first draw of a bundle would be early.
        assert len(set(found.values())) < 0.7 * len(drawn)


def test_the_last_draw_of_a_bundle_decides_when_it_expires() -> None:
    expiry = Expiry(10.0, 0.0)
    for ticket, now in ((1, 100.0), (2, 100.03), (3, 100.09)):
        expiry.drawn_one(0, ticket, now)
    for now in (110.0, 110.03, 110.08):
        assert [len(tickets) for tickets in expiry.due(now, 9)] == [0, 0]
        assert expiry.pause(now) == pytest.approx(110.09 - now, abs=1e-9)
    assert expiry.due(110.09, 9)[0].tolist() == [1, 2, 3]
