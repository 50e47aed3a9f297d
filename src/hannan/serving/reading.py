"""The certificate of a learner of a fleet, without touching its open decisions one by one: there may be many."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from hannan.players import fleet_certificate
from hannan.players.fleet import Fleet


@functools.lru_cache(maxsize=64)
def _reader(kind: Any) -> Any:
    """A player that is told how many of its moves are open, and has none of them."""

    def settled(self: Any) -> int:
        return int(self.round - self.told_open - self._forgotten)

    parts = {"_open_count": property(lambda self: self.told_open), "_settled": property(settled), "told_open": 0}
    return type("Reader", (kind,), parts)


def certificate(fleet: Fleet, number: int, delta: float | None) -> Any:
    """As `fleet.certificate(key, delta)` says it."""
    kind: Any = fleet._player_class
    made = _reader(kind)(fleet.learner, 0, fleet.id)
    made.seed, made.resumed = fleet.seed, fleet.resumed
    if number >= 0:
        made._restore({**fleet._fields(number), "open": []})
        counts = fleet._counts(np.array([number]))
        made.told_open = int(counts["open"][0])
        if hasattr(made, "_slept"):
            made._slept, made._slept_is_counted = int(counts["slept"][0]), False
    return fleet_certificate.of_one(made.certificate(delta), fleet.prior, fleet.learner.width, fleet._diagnosed)
