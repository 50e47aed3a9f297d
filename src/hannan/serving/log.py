"""The journal as a table: one row a settled decision, as `hannan replay` takes it."""

from __future__ import annotations

from typing import Any

import numpy as np

from hannan.serving import records
from hannan.serving.records import ACT, EXPIRE, OBSERVE
from hannan.serving.resident import Resident
from hannan.serving.shelf import Shelf, damaged


def opened(shelf: Shelf, first: int, blob: bytes) -> tuple[bytes, float]:
    """Return (records, time) of a group; raise Damaged with the name of the store."""
    try:
        return records.opened(blob, first)
    except records.Damaged as error:
        raise records.Damaged(damaged(shelf.name, str(error))) from None


def rows_of(shelf: Shelf, resident: Resident, end: int) -> dict[str, Any]:
    """Columns of the decisions before sequence `end` that have their feedback.

    key (where there are any), round, time (of the draw, seconds since 1970), arm, probability, reward (or loss),
    settled (when the feedback came), expired (whether it was the default) and stage (of the learner, from 1). The round
    counts from the beginning of the stage. Decisions that were pruned are not there.
    """
    stages = resident.stages
    numbers = [one.number for one in stages]
    acts, ends, times, settled = [], [], [], []
    for first, blob in shelf.groups(0):
        if first >= end:
            break
        body, time = opened(shelf, first, blob)
        for _, part in records.parts(body):
            if not isinstance(part, np.ndarray):
                continue
            own = part[np.isin(part["learner"], numbers)]
            drawn, told = own[own["kind"] == ACT], own[(own["kind"] == OBSERVE) | (own["kind"] == EXPIRE)]
            acts.append(drawn)
            ends.append(told)
            times.append(np.full(len(drawn), time))
            settled.append(np.full(len(told), time))
    act, told = _joined(acts), _joined(ends)
    when, done = np.concatenate([*times, np.empty(0)]), np.concatenate([*settled, np.empty(0)])
    keyed, found = any(one.keys for one in stages), []
    for one in stages:
        drawn, ended = act["learner"] == one.number, told["learner"] == one.number
        found.append(_of_stage(one, keyed, act[drawn], when[drawn], told[ended], done[ended]))
    return {name: np.concatenate([columns[name] for columns in found]) for name in found[0]}


def _of_stage(resident: Resident, keyed: bool, act: Any, when: Any, told: Any, done: Any) -> dict[str, Any]:
    # Every act has a ticket of its own; by it feedback finds its act. Rows are in the order of the acts.
    code, other = _code(act), _code(told)
    order = np.argsort(code)
    place = np.append(order, -1)[np.searchsorted(code, other, sorter=order)]
    # Feedback whose act is not there: it was pruned.
    known = np.flatnonzero((place >= 0) & (np.append(code, np.uint64(0))[place] == other))
    rows = known[np.argsort(place[known])]
    place, told, done = place[rows], told[rows], done[rows]
    labels = np.array([str(label) for label in resident.arms.labels], dtype=object)
    return {
        **(_keys(resident, act[place]) if keyed else {}),
        "round": (told["round"] & np.uint64(0xFFFFFFFF)).astype(np.int64),
        "time": when[place],
        "arm": labels[act["arm"][place]],
        "probability": act["value"][place].astype(float),
        "reward" if resident.learner.gains else "loss": told["value"].astype(float),
        "settled": done,
        "expired": told["kind"] == EXPIRE,
        "stage": np.full(len(place), resident.stage.ordinal),
    }


def _code(events: Any) -> Any:
    return events["round"] | events["keyed"].astype(np.uint64) << np.uint64(63)


def _keys(resident: Resident, acts: Any) -> dict[str, Any]:
    """Return the column of the keys, with an empty text for the learner without a key."""
    numbers = (acts["round"] >> np.uint64(32)).astype(np.int64)
    known = {number: str(resident.keyed._key_of(number)) for number in np.unique(numbers[acts["keyed"] == 1]).tolist()}
    text = [known[n] if keyed else "" for n, keyed in zip(numbers.tolist(), acts["keyed"].tolist(), strict=True)]
    return {"key": np.array(text, dtype=object)}


def _joined(parts: list[Any]) -> Any:
    return np.concatenate([*parts, np.empty(0, records.RECORD)])
