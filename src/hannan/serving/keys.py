"""Keys of a learner: a list with search and pages, and the decisions of one key by arm."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hannan import _engine
from hannan.serving import log
from hannan.serving.backend import Backend
from hannan.serving.decisions import DecisionQueue
from hannan.serving.journal import ACT, EXPIRE, OBSERVE
from hannan.serving.stored_learner import StoredLearner

#: Largest number of keys per page.
MAX_PAGE = 200
#: Keys whose counts are read while the lock is held.
CHUNK = 20_000


class KeySummary(NamedTuple):
    """One key of a learner.

    Attributes
    ----------
    key : int or str
        The key.
    decisions, pending : int
        Number of decisions, and of those without feedback.
    mean : float or None
        Average reward (or loss) of the decisions with feedback.
    arm : str or int
        Arm that the next decision draws with the largest probability.
    probability : float
        That probability.
    """

    key: int | str
    decisions: int
    pending: int
    mean: float | None
    arm: str | int
    probability: float


class KeyList(NamedTuple):
    """Page of the keys of a learner.

    Attributes
    ----------
    total, found : int
        Number of keys, and of those that match the search.
    keys : list of KeySummary
        Keys of the page, those with the most decisions first.
    """

    total: int
    found: int
    keys: list[KeySummary]


class _Counts(NamedTuple):
    numbers: NDArray[np.int64]
    drawn: NDArray[np.int64]
    open: NDArray[np.int64]
    settled: NDArray[np.int64]
    own: NDArray[np.float64]


def listed(queue: DecisionQueue, stored: StoredLearner, search: str, start: int, limit: int) -> KeyList:
    """Return keys whose text contains `search` in lower or upper case, from place `start` on, at most `limit`."""
    with queue.lock:
        fleet = stored.fleets[1]
        numbers = np.empty(0, dtype=np.int64) if fleet is None else fleet._numbers()
        names: Any = dict(fleet._name) if fleet is not None and fleet._text and search else None
    total = len(numbers)
    if fleet is None or not total:
        return KeyList(0, 0, [])
    if search:
        if names is None:
            with queue.lock:
                integers = fleet._keys(numbers)
            matching = [search in str(key) for key in integers.tolist()]
        else:
            wanted = search.casefold()
            matching = [wanted in names[number].casefold() for number in numbers.tolist()]
        numbers = numbers[np.array(matching, dtype=bool)]
    counts = _counts(queue, fleet, numbers)
    page = _most(counts.drawn, min(start + limit, len(numbers)))[start:]
    with queue.lock:
        found = [_summary(stored, fleet, counts, place) for place in page.tolist()]
    return KeyList(total, len(numbers), found)


def _counts(queue: DecisionQueue, fleet: Any, numbers: NDArray[np.int64]) -> _Counts:
    """Read the counts in chunks, so that decisions do not wait for the counts of very many keys."""
    parts = []
    for first in range(0, len(numbers), CHUNK):
        with queue.lock:
            parts.append(fleet._counts(numbers[first : first + CHUNK]))
    drawn, pending, forgotten, own = (
        np.concatenate([np.empty(0, dtype=np.int64 if name != "own" else np.float64), *(part[name] for part in parts)])
        for name in ("drawn", "open", "forgotten", "own")
    )
    return _Counts(numbers, drawn, pending, drawn - pending - forgotten, own)


def _most(drawn: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Return the places of the `count` largest numbers, in their order; the earlier one of two equal numbers first.

    >>> _most(np.array([3, 9, 3, 5]), 3).tolist()
    [1, 3, 0]
    """
    ranks = np.arange(len(drawn)) - drawn * len(drawn)  # all different
    places = np.arange(len(drawn)) if count >= len(drawn) else np.argpartition(ranks, count)[:count]
    return places[np.argsort(ranks[places])]


def _summary(stored: StoredLearner, fleet: Any, counts: _Counts, place: int) -> KeySummary:
    number, settled = int(counts.numbers[place]), int(counts.settled[place])
    p = _engine.next_weights(fleet, number, stored.arms.mask)
    best = int(np.argmax(p))
    label = stored.arms.label(best)
    total = stored.learner.in_units(float(counts.own[place]), settled)
    return KeySummary(
        key=fleet._key_of(number),
        decisions=int(counts.drawn[place]),
        pending=int(counts.open[place]),
        mean=float(total) / settled if settled else None,
        arm=best if label is None else label,
        probability=float(p[best]),
    )


class ArmCounts(NamedTuple):
    """Decisions of one arm for one key: number, those with feedback, and the sum of their rewards (or losses)."""

    shown: int
    settled: int
    total: float


def arms_of(backend: Backend, stored: StoredLearner, number: int, end: int) -> tuple[list[ArmCounts], float | None]:
    """Return (counts per arm, time of the first event read) of a key, from the last `log.READ` slots before `end`.

    `number` is that of the key in its fleet. The time is None if the journal was read from its beginning.
    """
    counts, since = np.zeros((3, stored.n)), None
    start = max(0, end - log.READ)
    for events, times in log.batches(backend, start, end):
        if since is None:
            since = float(times[0])
        whose = (events["round"] >> np.uint64(32)).astype(np.int64)
        own = events[(events["learner"] == stored.number) & (events["keyed"] == 1) & (whose == number)]
        kind = own["kind"]
        told = own[(kind == OBSERVE) | (kind == EXPIRE)]
        counts[0] += np.bincount(own["arm"][kind == ACT], minlength=stored.n)
        counts[1] += np.bincount(told["arm"], minlength=stored.n)
        counts[2] += np.bincount(told["arm"], told["value"], minlength=stored.n)
    found = [ArmCounts(int(shown), int(settled), float(total)) for shown, settled, total in counts.T.tolist()]
    return found, since if start else None
