"""Numbers of a running service: metrics in the format of Prometheus, and weights and decisions over time.

Decisions of every arm over time are read once from the journal, and counted from then on. The number of bins per
learner is bounded: when their time span grows, the bins become twice as wide.
"""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hannan.serving import evidence, log, schemas
from hannan.serving.arms import colors
from hannan.serving.decisions import DecisionQueue
from hannan.serving.journal import ACT
from hannan.serving.stored_learner import StoredLearner

#: Name, type, help text, and samples (suffix with labels, value) of a family of metrics.
Family = tuple[str, str, str, list[tuple[str, Any]]]


class Metrics:
    """Answers of a service by status; all other numbers are read from the store."""

    def __init__(self) -> None:
        self.answers: Counter[int] = Counter()

    def text(self, queue: DecisionQueue) -> bytes:
        """Return all metrics as text."""
        with queue.lock:
            families = [*self._families(queue), *_per_arm(queue)]
        lines = []
        for name, kind, says, samples in families:
            lines += [f"# HELP hannan_{name} {says}", f"# TYPE hannan_{name} {kind}"]
            lines += [f"hannan_{name}{labels} {value}" for labels, value in samples]
        return ("\n".join(lines) + "\n").encode("utf-8", "replace")

    def _families(self, queue: DecisionQueue) -> list[Family]:
        journal, learners, counts = queue.journal, list(queue.contents.by_name.values()), queue.counts
        return [
            ("decisions_total", "counter", "Decisions drawn since the store was opened.", [("", counts.decisions)]),
            ("feedback_total", "counter", "Feedback that counted.", [("", counts.counted)]),
            ("repeats_total", "counter", "Feedback that was counted before.", [("", counts.repeats)]),
            ("answers_total", "counter", "Answers by status.", [
                (_labels(status=status), count) for status, count in sorted(self.answers.items())]),
            ("events_total", "counter", "Events of the journal in this process.", [
                ("", journal.committed - journal.opened_at)]),
            ("groups_total", "counter", "Groups written to the disk.", [("", journal.groups)]),
            ("commit_seconds_total", "counter", "Seconds spent writing them.", [("", journal.busy)]),
            ("commit_seconds_last", "gauge", "Seconds that the last group took.", [("", journal.last)]),
            ("commit_seconds_most", "gauge", "Seconds that the slowest group took.", [("", journal.most)]),
            ("queue", "gauge", "Events that wait for the disk.", [("", journal.waiting)]),
            ("replay_seconds", "gauge", "Seconds that recovery took at the opening.", [("", journal.replayed)]),
            ("snapshot_age_seconds", "gauge", "Seconds since the last snapshot.", [("", journal.age)]),
            ("open_decisions", "gauge", "Decisions without feedback.", [
                (_labels(learner=one.name), sum(stage.open for stage in one.stages)) for one in learners]),
            ("keys", "gauge", "Keys of learners.", [
                (_labels(learner=one.name), one.keys) for one in learners]),
            ("by_default_total", "counter", "Decisions settled by default.", [
                (_labels(learner=one.name), sum(stage.expiry.count for stage in one.stages if stage.expiry))
                for one in learners if one.expiry is not None]),
        ]  # fmt: skip


def _per_arm(queue: DecisionQueue) -> list[Family]:
    """Return the metrics of every arm; the number of samples grows with learners and arms, and not with keys."""
    learners = queue.contents.by_name
    for stored in learners.values():
        for action in stored.arms.available:  # The counts of an arm that was never drawn are 0.
            queue.counts.tally(stored.name, stored.arms.label(action))
    draws: list[tuple[str, Any]] = []
    settled: dict[bool, list[tuple[str, Any]]] = {True: [], False: []}
    for (name, label), tally in queue.counts.arms.items():
        labels = _labels(learner=name, arm=label)
        draws.append((labels, tally.draws))
        settled[learners[name].learner.gains] += [(f"_sum{labels}", tally.sum), (f"_count{labels}", tally.settled)]
    kinds = [(name, settled[gains]) for name, gains in (("reward", True), ("loss", False)) if settled[gains]]
    return [
        ("draws_total", "counter", "Decisions drawn, by arm.", draws),
        *((name, "summary", f"Settled decisions and the sum of their {name}, defaults included, by arm.", samples)
          for name, samples in kinds),
    ]  # fmt: skip


def _labels(**values: Any) -> str:
    r"""Return labels, with backslash, quote and newline escaped.

    >>> print(_labels(learner="banner", arm='say "hi"'))
    {learner="banner",arm="say \"hi\""}
    """
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in values.items()) + "}"


def _escaped(value: Any) -> str:
    return str(value).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


#: Number of samples kept per learner; when there are twice as many, every second one is deleted.
KEPT = 256


class Histories:
    """Samples of the weights of every learner since the start of this process."""

    def __init__(self, queue: DecisionQueue) -> None:
        self._queue = queue
        #: Samples by number of the stage, because stages have different arms.
        self._kept: dict[int, list[tuple[float, int, list[float]]]] = {}

    def sample(self) -> None:
        """Sample the weights of every learner that was played since its last sample."""
        for name in list(self._queue.contents.by_name):
            seen = self._kept.setdefault(self._queue.contents.by_name[name].number, [])
            now, rounds, weights = self._now(name)
            if not seen or seen[-1][1] != rounds:
                seen.append((now, rounds, weights))
            if len(seen) >= 2 * KEPT:
                del seen[1:-1:2]

    def _now(self, name: str) -> tuple[float, int, list[float]]:
        with self._queue.lock:
            stored = self._queue.contents.find(name)
            return self._queue.journal.clock.now(), stored.drawn, stored.weights()

    def of(self, name: str) -> schemas.History:
        """Return the samples of a learner, the last one taken now."""
        with self._queue.lock:
            stored = self._queue.contents.find(name)
            seen = [*self._kept.get(stored.number, []), self._now(name)]
        arms: list[Any] = stored.arms.labels
        times, rounds, weights = (list(column) for column in zip(*seen, strict=True))
        return schemas.History(arms, times, rounds, weights)


#: Largest number of bins per learner.
MAX_BINS = 120
#: Width of the first bins, in seconds.
FIRST_WIDTH = 2.0


class Bins:
    """Numbers of decisions per arm, in bins of equal width in time.

    >>> bins = Bins()
    >>> bins.add(np.array([0.5, 1.0, 100.0]), np.array([0, 1, 1]))
    >>> bins.width, [(time, counts.tolist()) for time, counts in bins.rows(2)]
    (2.0, [(0.0, [1, 1]), (100.0, [0, 1])])
    >>> bins.add(np.array([300.0]), np.array([0]))
    >>> bins.width, [(time, counts.tolist()) for time, counts in bins.rows(2)]
    (4.0, [(0.0, [1, 1]), (100.0, [0, 1]), (300.0, [1, 0])])
    """

    def __init__(self) -> None:
        self.width = FIRST_WIDTH
        self._counts: dict[int, NDArray[np.int64]] = {}

    def add(self, times: NDArray[np.float64], arms: NDArray[Any], counts: NDArray[Any] | None = None) -> None:
        """Count decisions (or `counts` of them each), given their times and arms."""
        if not len(times):
            return
        first, last = (int(time // self.width) for time in (times.min(), times.max()))
        while max([last, *self._counts]) - min([first, *self._counts]) >= MAX_BINS:
            self._widen()
            first, last = (int(time // self.width) for time in (times.min(), times.max()))
        places = (times // self.width).astype(np.int64)
        for place in np.unique(places).tolist():
            here = places == place
            self._add(place, np.bincount(arms[here], None if counts is None else counts[here]).astype(np.int64))

    def _add(self, place: int, counts: NDArray[np.int64]) -> None:
        old = self._counts.get(place, np.zeros(0, dtype=np.int64))
        longer, shorter = (old, counts) if len(old) >= len(counts) else (counts, old)
        longer = longer.copy()
        longer[: len(shorter)] += shorter
        self._counts[place] = longer

    def _widen(self) -> None:
        self.width *= 2.0
        old, self._counts = self._counts, {}
        for place, counts in old.items():
            self._add(place // 2, counts)

    def merge(self, other: Bins) -> None:
        """Add the decisions of other bins, at the beginning of each bin."""
        for place, counts in other._counts.items():
            arms = np.flatnonzero(counts)
            self.add(np.full(len(arms), place * other.width), arms, counts[arms])

    def rows(self, arms: int) -> list[tuple[float, NDArray[np.int64]]]:
        """Return (time at which the bin begins, decisions per arm) of all bins with decisions, oldest first."""
        found = []
        for place in sorted(self._counts):
            counts = np.zeros(arms, dtype=np.int64)
            counts[: len(self._counts[place])] = self._counts[place]
            found.append((place * self.width, counts))
        return found


class Shares:
    """Decisions over time of the learners of a store, all stages of a learner together."""

    def __init__(self, queue: DecisionQueue) -> None:
        self._queue, self._lock, self._reading = queue, threading.Lock(), threading.Lock()
        #: By number of the first stage: bins, and decisions per arm that were counted since the store was opened.
        self._bins: dict[int, Bins] = {}
        self._seen: dict[int, dict[int, int]] = {}
        #: By name: number of decisions at the last sample.
        self._totals: dict[str, int] = {}
        self._is_read = False

    def sample(self) -> None:
        """Count the decisions since the last sample."""
        with self._queue.lock:
            now = self._queue.journal.clock.now()
            tallies: dict[str, dict[str, int]] = {}
            for (name, arm), tally in self._queue.counts.arms.items():
                tallies.setdefault(name, {})[str(arm)] = tally.draws
            counted = []
            for name, found in tallies.items():
                stored, total = self._queue.contents.by_name[name], sum(found.values())
                if total != self._totals.get(name, 0) and stored.n <= evidence.MAX_ARMS:
                    self._totals[name], index = total, _index(stored)
                    counted.append((stored.root, {index[arm]: draws for arm, draws in found.items()}))
        with self._lock:
            for root, draws in counted:
                seen = self._seen.setdefault(root, {})
                new = {arm: count - seen.get(arm, 0) for arm, count in draws.items() if count > seen.get(arm, 0)}
                if new:
                    seen.update(draws)
                    arms, counts = (np.array(list(column)) for column in (new.keys(), new.values()))
                    self._bins.setdefault(root, Bins()).add(np.full(len(arms), now), arms, counts)

    def of(self, name: str) -> schemas.Shares:
        """Return the decisions of a learner over time. The first call reads the journal, which takes a while."""
        self.sample()
        with self._reading:
            if not self._is_read:
                self._read_journal()
                self._is_read = True
        with self._queue.lock:
            stored = self._queue.contents.find(name)
            groups = stored.all_arms if stored.n <= evidence.MAX_ARMS else []
            changes = [schemas.Change(stage.began, stage.change) for stage in stored.stages[1:]]
            available = {str(stored.arms.label(arm)) for arm in stored.arms.available}
        arms = [names[0] for group in groups for names in group]
        with self._lock:
            bins = self._bins.get(stored.root, Bins())
            rows, width = bins.rows(len(arms)), bins.width
        return schemas.Shares(
            name=name,
            arms=arms,
            colors=colors(groups),
            available=[arm in available for arm in arms],
            width=width,
            time=[time for time, _ in rows],
            decisions=[counts.tolist() for _, counts in rows],
            changes=changes,
        )

    def _read_journal(self) -> None:
        """Count the decisions from before this process, in the last part of the journal."""
        queue, end, past = self._queue, self._queue.journal.opened_at, dict[int, Bins]()
        with queue.lock:
            stages = [stage for stage in queue.contents.learners if stage.n <= evidence.MAX_ARMS]
            places = {stage.number: (stage.root, _places(stage)) for stage in stages}
        for events, times in log.batches(queue.backend, max(0, end - log.READ), end):
            drawn = events["kind"] == ACT
            for number in np.unique(events["learner"][drawn]).tolist():
                if number in places:
                    root, index = places[number]
                    own = drawn & (events["learner"] == number)
                    past.setdefault(root, Bins()).add(times[own], index[events["arm"][own]])
        with self._lock:
            for root, bins in past.items():
                if root in self._bins:
                    bins.merge(self._bins[root])
                self._bins[root] = bins


def _index(stored: StoredLearner) -> dict[str, int]:
    """Return the place of each arm among all that the learner has had, by its present name."""
    return {names[0]: place for place, names in enumerate(names for group in stored.all_arms for names in group)}


def _places(stage: StoredLearner) -> NDArray[np.int64]:
    """Return the place of each arm of a stage among all arms that the learner has had."""
    index, found = _index(stage), np.zeros(stage.n, dtype=np.int64)
    for arm, names in stage.arms.histories:
        found[arm] = index[names[0]]
    return found
