"""Counts for Prometheus, in its text format."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hannan.serving.desk import Desk


class Metrics:
    """What a service counts itself; the rest it asks of the store."""

    def __init__(self) -> None:
        self.answers: Counter[int] = Counter()
        self.decisions = self.counted = self.repeats = 0

    def text(self, desk: Desk) -> bytes:
        """All of it."""
        journal, residents = desk.journal, list(desk.contents.residents)
        rows: list[tuple[str, str, str, list[tuple[str, Any]]]] = [
            ("decisions_total", "counter", "Decisions drawn.", [("", self.decisions)]),
            ("feedback_total", "counter", "Feedback that counted.", [("", self.counted)]),
            ("repeats_total", "counter", "Feedback that was counted before.", [("", self.repeats)]),
            ("answers_total", "counter", "Answers by status.", [
                (f'{{status="{status}"}}', count) for status, count in sorted(self.answers.items())]),
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
                (f'{{learner="{one.name}"}}', one.open) for one in residents]),
            ("keys", "gauge", "Keys of learners.", [
                (f'{{learner="{one.name}"}}', one.keys) for one in residents]),
            ("by_default_total", "counter", "Decisions settled by default.", [
                (f'{{learner="{one.name}"}}', one.expiry.count) for one in residents if one.expiry is not None]),
        ]  # fmt: skip
        lines = []
        for name, kind, says, values in rows:
            lines += [f"# HELP hannan_{name} {says}", f"# TYPE hannan_{name} {kind}"]
            lines += [f"hannan_{name}{labels} {value}" for labels, value in values]
        return ("\n".join(lines) + "\n").encode()
