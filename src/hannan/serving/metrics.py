"""Numbers of a running service: metrics in the format of Prometheus, and weights of learners over time."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hannan.serving.decisions import DecisionQueue
from hannan.serving.schemas import History

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

    def of(self, name: str) -> History:
        """Return the samples of a learner, the last one taken now."""
        with self._queue.lock:
            stored = self._queue.contents.find(name)
            seen = [*self._kept.get(stored.number, []), self._now(name)]
        arms: list[Any] = stored.arms.labels
        times, rounds, weights = (list(column) for column in zip(*seen, strict=True))
        return History(arms, times, rounds, weights)
