"""Log of a store: one row per decision, in the format of `hannan replay`."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from hannan.serving import BODY, Refused, journal
from hannan.serving.backend import Backend, complete_snapshots, damaged
from hannan.serving.contents import Contents
from hannan.serving.journal import ACT, EXPIRE, OBSERVE, Damaged, SlateAct, SlateFeedback
from hannan.serving.stored_learner import StoredLearner
from hannan.serving.stored_slates import StoredSlates
from hannan.serving.tickets import Slate
from hannan.tables.write import guarded


def exported(columns: dict[str, Any], form: str) -> bytes:
    """Return the log as the bytes of a CSV or Parquet file."""
    if form == "parquet":
        return _parquet(columns)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    plain = [column.tolist() for column in columns.values()]
    for row in zip(*plain, strict=True):
        writer.writerow([_cell(value) for value in row])
    return text.getvalue().encode()


def _cell(value: Any) -> Any:
    if isinstance(value, str):
        return guarded(value)
    return "" if isinstance(value, float) and math.isnan(value) else value


def _parquet(columns: dict[str, Any]) -> bytes:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise Refused(
            BODY, "format=parquet requires pyarrow, which is not installed on the server; use format=csv"
        ) from None
    out = io.BytesIO()
    table = {name: pyarrow.array(column, from_pandas=True) for name, column in columns.items()}
    pyarrow.parquet.write_table(pyarrow.table(table), out)
    return out.getvalue()


#: Prefix of the columns with the probabilities of all arms.
PROBABILITY = "probability_"
#: Events per call of the engine, which holds the interpreter lock meanwhile.
BATCH = 4096
#: Draw: stage, ticket with the flag of keys in its highest bit, smallest probability of any arm.
DRAW = np.dtype([("learner", "<u4"), ("code", "<u8"), ("smallest", "<f8")])


class Rebuilt(Contents):
    """Contents that replay the stages of one learner alone and record the probabilities at each draw."""

    counts_evidence = False

    def __init__(self) -> None:
        super().__init__()
        #: Numbers of the stages, and for each: whether the probability of each arm counts, and whether no other does.
        self.numbers: list[int] = []
        self.known: dict[int, tuple[Any, bool]] = {}
        self.draws: list[Any] = []
        #: Probabilities of all arms at the draws of each stage, by its number; None if they are not kept.
        self.weights: dict[int, list[Any]] | None = None

    def noted(self, note: dict[str, Any]) -> None:
        """Apply a note, unless it is a key of another learner."""
        if "key" not in note or note["learner"] in self.numbers:
            super().noted(note)

    def _play(self, events: Any, time: float) -> None:
        events = events[np.isin(events["learner"], self.numbers)]
        whose = events["learner"].astype(np.int64) << 1 | events["keyed"]
        for code in np.unique(whose).tolist():
            own = events[whose == code]
            for first in range(0, len(own), BATCH):
                self._piece(code >> 1, code & 1, own[first : first + BATCH])

    def _piece(self, number: int, keyed: int, events: Any) -> None:
        if number >= len(self.learners):
            raise Damaged(f"corrupt journal: expected a learner number below {len(self.learners)}; found {number}")
        stored = self.learners[number]
        wrong, p = stored.replay_probabilities(events, keyed)
        counted, complete = self.known[number]
        # An arm of another stage has probability 0.
        smallest = (
            p.min(axis=1, where=counted, initial=np.inf) if complete else np.where(np.isnan(p[:, 0]), np.nan, 0.0)
        )
        played = (events["kind"] == ACT) & ~np.isnan(p[:, 0])
        if self.weights is not None:
            self.weights[number].append(p[played])
        draws = np.empty(int(played.sum()), DRAW)
        draws["learner"], draws["code"], draws["smallest"] = number, code_of(events[played]), smallest[played]
        self.draws.append(draws)
        if wrong >= 0:
            raise Damaged(f"replay differs from an event of {stored.name!r}")


def draws_of(
    backend: Backend, stages: list[StoredLearner], known: set[str], end: int, weights: dict[int, list[Any]] | None
) -> Any:
    """Return the draws of stages before sequence `end` whose state can be rebuilt, as an array of DRAW.

    The probabilities of all arms at these draws are added to `weights`, if given, by the number of the stage.

    The state is rebuilt from the beginning of the journal. If its first events were deleted, or if another version
    wrote them and this version does not reproduce them, it is rebuilt from the snapshots instead.
    """
    found: list[Any] = [np.empty(0, DRAW)]
    # By place: an arm may have had another name at the draw.
    places = {one.number: one.places_of(known) for one in stages}
    for sequence in (0, *reversed(complete_snapshots(backend))):
        try:
            contents = Rebuilt.restored(backend.snapshot(sequence)) if sequence else Rebuilt()
        except ValueError:
            continue
        contents.numbers, contents.known, contents.draws = list(places), places, found
        contents.weights = weights
        try:
            contents.replay(before(backend, contents.sequence, end))
            break
        except (ValueError, LookupError):
            continue
    return np.concatenate(found)


def code_of(events: Any) -> Any:
    """Return the tickets of events, with the flag of keys in the highest bit."""
    return events["round"] | events["keyed"].astype(np.uint64) << np.uint64(63)


def before(backend: Backend, start: int, end: int) -> Iterator[tuple[int, bytes]]:
    """Return the groups from sequence `start` on that begin before `end`."""
    for first, blob in backend.groups(start):
        if first >= end:
            return
        yield first, blob


#: Slots of the journal that `batches` is asked for at most: 2 million, 48 MB.
READ = 2_000_000
#: Slots per array of `batches`.
SLOTS_AT_ONCE = 1 << 16


def batches(backend: Backend, start: int, end: int) -> Iterator[tuple[Any, Any]]:
    """Yield (records, their times) of the groups from sequence `start` on that begin before `end`.

    Several groups come as one array, so that many small groups are read quickly.
    """
    bodies, times, slots, count = list[bytes](), list[float](), list[int](), 0
    for first, blob in before(backend, start, end):
        body, time = opened(backend, first, blob)
        bodies.append(body)
        times.append(time)
        slots.append(len(body) // journal.SLOT)
        count += slots[-1]
        if count >= SLOTS_AT_ONCE:
            yield from _records(bodies, times, slots)
            bodies, times, slots, count = [], [], [], 0
    yield from _records(bodies, times, slots)


def _records(bodies: list[bytes], times: list[float], slots: list[int]) -> Iterator[tuple[Any, Any]]:
    when = np.repeat(np.array(times, dtype=np.float64), slots)
    for at, part in journal.decode_group(b"".join(bodies)):
        if isinstance(part, np.ndarray):
            yield part, when[at : at + len(part)]


def opened(backend: Backend, first: int, blob: bytes) -> tuple[bytes, float]:
    """Return (records, time) of a group; raise Damaged with the name of the store."""
    try:
        return journal.opened(blob, first)
    except journal.Damaged as error:
        raise journal.Damaged(damaged(backend.name, str(error))) from None


def rows_of(
    backend: Backend,
    stored: StoredLearner,
    end: int,
    stage: int | None = None,
    since: float | None = None,
    *,
    weights: bool = False,
) -> dict[str, Any]:
    """Return the columns of the decisions before sequence `end`, in the order of their draws.

    key (if there are any), round, time (of the draw, seconds since 1970), arm, probability, reward (or loss), settled
    (time of the feedback), expired (whether the feedback was the default), stage (of the learner, from 1),
    smallest_probability, and shown_as (name of the arm at the draw, if arms were renamed). Reward and settled are NaN
    while a decision is pending. The round counts from the beginning of the stage. The smallest probability is that of
    the arms in these rows, 0 if one of the arms could not be drawn, and NaN if the state at the draw cannot be rebuilt.
    With `weights`, a column probability_<arm> per arm has its probability at the draw, under its name of today.
    Pruned decisions are omitted, as are those of other stages than
    `stage` and those drawn before the time `since`.
    """
    stages = [one for one in stored.stages if stage is None or one.stage.ordinal == stage]
    if isinstance(stored, StoredSlates):
        return _slate_rows(backend, stages, end, since, stored.learner.gains)
    numbers = [one.number for one in stages]
    acts, ends, times, settled, places = [], [], [], [], []
    for first, blob in backend.groups(0):
        if first >= end:
            break
        body, time = opened(backend, first, blob)
        for at, part in journal.decode_group(body):
            if not isinstance(part, np.ndarray):
                continue
            mine = np.isin(part["learner"], numbers)
            own, place = part[mine], first + at + np.flatnonzero(mine)
            drawn, told = own[own["kind"] == ACT], own[(own["kind"] == OBSERVE) | (own["kind"] == EXPIRE)]
            if since is None or time >= since:
                acts.append(drawn)
                places.append(place[own["kind"] == ACT])
                times.append(np.full(len(drawn), time))
            ends.append(told)
            settled.append(np.full(len(told), time))
    act, told = _joined(acts), _joined(ends)
    when, done = np.concatenate([*times, np.empty(0)]), np.concatenate([*settled, np.empty(0)])
    place = np.concatenate([*places, np.empty(0, dtype=np.int64)])
    whose = {one.number: act["learner"] == one.number for one in stages}
    known = {str(one.arms.label(arm)) for one in stages for arm in np.unique(act["arm"][whose[one.number]]).tolist()}
    rebuilt: dict[int, list[Any]] | None = {one.number: [] for one in stages} if weights else None
    draws = draws_of(backend, stages, known, end, rebuilt)
    keyed, renamed, found = any(one.keys for one in stages), any(one.arms.renamings for one in stages), []
    for one in stages:
        drawn, ended = whose[one.number], told["learner"] == one.number
        smallest = draws[draws["learner"] == one.number]
        columns = _of_stage(
            one, keyed, act=act[drawn], when=when[drawn], told=told[ended], done=done[ended], draws=smallest
        )
        if rebuilt is not None:
            columns.update(_weights(stages, one, act[drawn], smallest, rebuilt[one.number]))
        found.append(_named(columns, one, act[drawn]["arm"], place[drawn]) if renamed else columns)
    return {name: np.concatenate([columns[name] for columns in found]) for name in found[0]}


def _slate_rows(
    backend: Backend, stages: list[StoredLearner], end: int, since: float | None, gains: bool
) -> dict[str, Any]:
    """Return the columns of the slates before sequence `end`, one row per shown item.

    slate (round of the stage), time (of the draw), arm, probability (that the slate contains the item),
    slate_probability (NaN if it is not known), reward (or loss), settled (time of the feedback), and stage.
    """
    mine = {one.number: one for one in stages}
    shown: dict[tuple[int, int], tuple[float, Slate]] = {}
    told: dict[tuple[int, int], tuple[float, tuple[float, ...]]] = {}
    for first, blob in before(backend, 0, end):
        body, time = opened(backend, first, blob)
        for _, part in journal.decode_group(body) if journal.has_tails(body) else ():
            if isinstance(part, SlateAct) and part.learner in mine and (since is None or time >= since):
                shown[part.learner, part.round] = time, part.slate
            elif isinstance(part, SlateFeedback) and part.learner in mine:
                told[part.learner, part.round] = time, part.values
    rows = []
    for (number, round), (time, slate) in shown.items():
        done, values = told.get((number, round), (math.nan, (math.nan,) * len(slate.arms)))
        labels, ordinal = mine[number].arms.labels, mine[number].stage.ordinal
        for arm, p, value in zip(slate.arms, slate.inclusion, values, strict=True):
            rows.append((round, time, str(labels[arm]), p, slate.probability, value, done, ordinal))
    names = (
        "slate",
        "time",
        "arm",
        "probability",
        "slate_probability",
        "reward" if gains else "loss",
        "settled",
        "stage",
    )
    columns = zip(*rows, strict=True) if rows else [()] * len(names)
    kinds = (np.int64, float, object, float, float, float, float, np.int64)
    return {name: np.array(column, dtype=kind) for name, column, kind in zip(names, columns, kinds, strict=True)}


def _of_stage(
    stored: StoredLearner, keyed: bool, act: Any, when: Any, told: Any, done: Any, draws: Any
) -> dict[str, Any]:
    # Each act has its own ticket, by which its feedback is found. The feedback of pruned acts is in no row.
    code = code_of(act)
    feedback, rebuilt = _places(code, code_of(told)), _places(code, draws["code"])
    labels = np.array([str(label) for label in stored.arms.labels], dtype=object)
    values = told["value"].astype(float)
    if stored.response is not None:  # a report becomes a number whose mean is the feedback
        middle = 0.5 * sum(stored.learner.loss_range)
        values = middle + (values - middle) * stored.response.factor
    return {
        **(_keys(stored, act) if keyed else {}),
        "round": (act["round"] & np.uint64(0xFFFFFFFF)).astype(np.int64),
        "time": when,
        "arm": labels[act["arm"]],
        "probability": act["value"].astype(float),
        "reward" if stored.learner.gains else "loss": np.append(values, np.nan)[feedback],
        "settled": np.append(done, np.nan)[feedback],
        "expired": np.append(told["kind"] == EXPIRE, False)[feedback],
        "stage": np.full(len(act), stored.stage.ordinal),
        "smallest_probability": np.append(draws["smallest"], np.nan)[rebuilt],
    }


def _weights(
    stages: list[StoredLearner], stored: StoredLearner, act: Any, draws: Any, rebuilt: list[Any]
) -> dict[str, Any]:
    """Return the columns with the probabilities of all arms of the stages: 0 for arms that this stage does not have."""
    place = _places(code_of(act), draws["code"])
    p = np.concatenate([*rebuilt, np.full((1, stored.n), np.nan)])[place]
    own = {str(label): arm for arm, label in enumerate(stored.arms.labels)}
    known = ~np.isnan(p[:, 0])
    labels = dict.fromkeys(str(label) for one in stages for label in one.arms.labels)
    return {
        f"{PROBABILITY}{label}": p[:, own[label]] if label in own else np.where(known, 0.0, np.nan) for label in labels
    }


def _named(columns: dict[str, Any], stored: StoredLearner, arms: Any, places: Any) -> dict[str, Any]:
    """Return the columns with the names that the arms had at the draws."""
    shown = columns["arm"].copy()
    for sequence, _, place, old in reversed(stored.arms.renamings):
        shown[(arms == place) & (places < sequence)] = old
    return {**columns, "shown_as": shown}


def _places(codes: Any, among: Any) -> Any:
    """Return the place of each code among others, -1 for a code that is not among them."""
    order = np.argsort(among, kind="stable")
    place = np.append(order, -1)[np.searchsorted(among, codes, sorter=order)]
    return np.where(np.append(among, np.uint64(0))[place] == codes, place, -1)


def _keys(stored: StoredLearner, acts: Any) -> dict[str, Any]:
    """Return the column of the keys, with an empty text for the learner without a key."""
    numbers = (acts["round"] >> np.uint64(32)).astype(np.int64)
    known = {number: str(stored.keyed._key_of(number)) for number in np.unique(numbers[acts["keyed"] == 1]).tolist()}
    text = [known[n] if keyed else "" for n, keyed in zip(numbers.tolist(), acts["keyed"].tolist(), strict=True)]
    return {"key": np.array(text, dtype=object)}


def _joined(parts: list[Any]) -> Any:
    return np.concatenate([*parts, np.empty(0, journal.RECORD)])
