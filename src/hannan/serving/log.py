"""The journal as a table: one row a settled decision, as `hannan replay` takes it."""

from __future__ import annotations

from typing import Any

import numpy as np

from hannan.serving import records
from hannan.serving.records import ACT, EXPIRE, OBSERVE
from hannan.serving.resident import Resident
from hannan.serving.shelf import Shelf


def rows_of(shelf: Shelf, resident: Resident, end: int) -> dict[str, Any]:
    """Columns of the decisions before sequence `end` that have their feedback.

    round, time (of the draw, seconds since 1970), arm, probability, reward (or loss), settled (when the feedback came)
    and expired (whether it was the default).
    """
    acts, ends, times, settled = [], [], [], []
    for first, blob in shelf.groups(0):
        if first >= end:
            break
        body, time = records.opened(blob, first)
        for _, part in records.parts(body):
            if isinstance(part, dict):
                continue
            own = part[part["learner"] == resident.number]
            drawn, told = own[own["kind"] == ACT], own[(own["kind"] == OBSERVE) | (own["kind"] == EXPIRE)]
            acts.append(drawn)
            ends.append(told)
            times.append(np.full(len(drawn), time))
            settled.append(np.full(len(told), time))
    act, told = _joined(acts), _joined(ends)
    when, done = np.concatenate([*times, np.empty(0)]), np.concatenate([*settled, np.empty(0)])
    order = np.argsort(told["round"], kind="stable")
    told, done = told[order], done[order]
    # Rounds of a learner are 1, 2, ...: the act of a round is in its place.
    place = told["round"].astype(np.int64) - 1
    labels = np.array([str(resident.label(arm)) for arm in range(resident.n)], dtype=object)
    return {
        "round": told["round"].astype(np.int64),
        "time": when[place],
        "arm": labels[act["arm"][place]],
        "probability": act["value"][place].astype(float),
        "reward" if resident.learner.gains else "loss": told["value"].astype(float),
        "settled": done,
        "expired": told["kind"] == EXPIRE,
    }


def _joined(parts: list[Any]) -> Any:
    return np.concatenate([*parts, np.empty(0, records.RECORD)])
