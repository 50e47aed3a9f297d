"""The journal as a table: one row per decision, as `hannan replay` takes it."""

from __future__ import annotations

from typing import Any

import numpy as np

from hannan.serving import records
from hannan.serving.probabilities import code_of, smallest_of
from hannan.serving.records import ACT, EXPIRE, OBSERVE
from hannan.serving.resident import Resident
from hannan.serving.shelf import Shelf, damaged


def opened(shelf: Shelf, first: int, blob: bytes) -> tuple[bytes, float]:
    """Return (records, time) of a group; raise Damaged with the name of the store."""
    try:
        return records.opened(blob, first)
    except records.Damaged as error:
        raise records.Damaged(damaged(shelf.name, str(error))) from None


def rows_of(
    shelf: Shelf, resident: Resident, end: int, stage: int | None = None, since: float | None = None
) -> dict[str, Any]:
    """Return the columns of the decisions before sequence `end`, in the order of their draws.

    key (if there are any), round, time (of the draw, seconds since 1970), arm, probability, reward (or loss), settled
    (time of the feedback), expired (whether the feedback was the default), stage (of the learner, from 1) and
    smallest_probability. Reward and settled are NaN while a decision is pending. The round counts from the beginning of
    the stage. The smallest probability is that of the arms in these rows, 0 if one of the arms could not be drawn, and
    NaN if the state at the draw cannot be rebuilt. Pruned decisions are left out, as are those of other stages than
    `stage` and those drawn before the time `since`.
    """
    stages = [one for one in resident.stages if stage is None or one.stage.ordinal == stage]
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
            if since is None or time >= since:
                acts.append(drawn)
                times.append(np.full(len(drawn), time))
            ends.append(told)
            settled.append(np.full(len(told), time))
    act, told = _joined(acts), _joined(ends)
    when, done = np.concatenate([*times, np.empty(0)]), np.concatenate([*settled, np.empty(0)])
    mine = {one.number: act["learner"] == one.number for one in stages}
    known = {str(one.arms.label(arm)) for one in stages for arm in np.unique(act["arm"][mine[one.number]]).tolist()}
    draws = smallest_of(shelf, numbers, known, end)
    keyed, found = any(one.keys for one in stages), []
    for one in stages:
        drawn, ended = mine[one.number], told["learner"] == one.number
        smallest = draws[draws["learner"] == one.number]
        found.append(_of_stage(one, keyed, act[drawn], when[drawn], told[ended], done[ended], smallest))
    return {name: np.concatenate([columns[name] for columns in found]) for name in found[0]}


def _of_stage(resident: Resident, keyed: bool, act: Any, when: Any, told: Any, done: Any, draws: Any) -> dict[str, Any]:
    # Each act has its own ticket, by which its feedback is found. Feedback of pruned acts finds none.
    code = code_of(act)
    feedback, rebuilt = _places(code, code_of(told)), _places(code, draws["code"])
    labels = np.array([str(label) for label in resident.arms.labels], dtype=object)
    return {
        **(_keys(resident, act) if keyed else {}),
        "round": (act["round"] & np.uint64(0xFFFFFFFF)).astype(np.int64),
        "time": when,
        "arm": labels[act["arm"]],
        "probability": act["value"].astype(float),
        "reward" if resident.learner.gains else "loss": np.append(told["value"].astype(float), np.nan)[feedback],
        "settled": np.append(done, np.nan)[feedback],
        "expired": np.append(told["kind"] == EXPIRE, False)[feedback],
        "stage": np.full(len(act), resident.stage.ordinal),
        "smallest_probability": np.append(draws["smallest"], np.nan)[rebuilt],
    }


def _places(codes: Any, among: Any) -> Any:
    """Return the place of each code among others, -1 for a code that is not among them."""
    order = np.argsort(among, kind="stable")
    place = np.append(order, -1)[np.searchsorted(among, codes, sorter=order)]
    return np.where(np.append(among, np.uint64(0))[place] == codes, place, -1)


def _keys(resident: Resident, acts: Any) -> dict[str, Any]:
    """Return the column of the keys, with an empty text for the learner without a key."""
    numbers = (acts["round"] >> np.uint64(32)).astype(np.int64)
    known = {number: str(resident.keyed._key_of(number)) for number in np.unique(numbers[acts["keyed"] == 1]).tolist()}
    text = [known[n] if keyed else "" for n, keyed in zip(numbers.tolist(), acts["keyed"].tolist(), strict=True)]
    return {"key": np.array(text, dtype=object)}


def _joined(parts: list[Any]) -> Any:
    return np.concatenate([*parts, np.empty(0, records.RECORD)])
