"""A log of decisions, kept on disk: for each row the action, its loss, its propensity, and what was advised."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from hannan import refusals
from hannan.refusals import Array
from hannan.tables.read.table import BadTable, Chunk, clipped
from hannan.tables.replay.contexts import ContextExpert
from hannan.tables.replay.estimates import NoSupport, refuse_overlap, refuse_uniform
from hannan.tables.replay.missing import Missing
from hannan.tables.replay.policies import Policy, refuse_improbable
from hannan.tables.replay.smallest import Smallest
from hannan.tables.write import Spool, release

BLOCK = 1 << 15
#: Squares of 1/propensity, times the squares of losses, are summed: with smaller ones they would overflow.
LEAST = 1e-100


class Log:
    """A log on disk: for each row the action's number, its loss, its propensity, and the actions advised."""

    def __init__(self, experts: Sequence[str] = (), actions: Sequence[str] = (), source: str = "the log",
                 contexts: Sequence[str] = (), policies: Sequence[Policy] = (), gains: bool = False,
                 missing: float | str | None = None, smallest: str | None = None) -> None:  # fmt: skip
        #: Experts: the columns of advice, then one expert per column of contexts.
        self.experts, self.source = [*experts, *(f"best so far by {name}" for name in contexts)], source
        self.policies = tuple(policies)
        #: Columns that say what another rule would have done.
        self.told = (*experts, *dict.fromkeys(column for policy in policies for column in policy.columns))
        self.learns = bool(contexts)
        self._advisers = [ContextExpert(gains) for _ in contexts]
        self._fixed = bool(actions)
        self._number: dict[str, int] = {}
        refusals.once(map(str, actions), "actions")
        for label in actions:
            self._number[str(label)] = len(self._number)
        self._rows = Spool(3 + len(self.experts) + sum(len(policy.actions) for policy in self.policies))
        self.counts: Array = np.zeros(len(self._number))
        self.inverse: Array = np.zeros(len(self._number))
        self.inverse2: Array = np.zeros(len(self._number))
        self.losses: Array = np.zeros(len(self._number))
        self.floor = 1.0
        self.has_propensities = True
        self.missing = Missing(missing, "reward" if gains else "loss")
        self.smallest = None if smallest is None else Smallest(smallest)

    @property
    def labels(self) -> list[str]:
        """The actions, in the order of the learner's numbers."""
        return list(self._number)

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, actions: Sequence[str], losses: Array, propensities: Array | None, advice: Sequence[Sequence[str]],
            first: int, contexts: Sequence[Sequence[str]] = (), probabilities: Sequence[Array] = (),
            smallest: Array | None = None) -> None:  # fmt: skip
        """Add rows to the log; raise BadTable with the row of an invalid one.

        `probabilities` has one array (rows, actions) per policy, `smallest` the smallest probability of any action.
        """
        T = len(actions)
        rows = np.empty((T, self._rows.width))
        rows[:, 0] = [self._code(label, first + t, "the action") for t, label in enumerate(actions)]
        losses, kept = self.missing.filled(losses, first)
        rows[:, 1] = losses
        self.has_propensities = propensities is not None
        rows[:, 2] = np.nan if propensities is None else propensities
        for i, column in enumerate(advice):
            rows[:, 3 + i] = [self._code(label, first + t, self.experts[i]) for t, label in enumerate(column)]
        self._grow()
        if propensities is not None:
            bad = ~((propensities >= LEAST) & (propensities <= 1.0))
            if bad.any():
                t = int(np.argmax(bad))
                raise BadTable(
                    f"{self.source}, row {first + t}: a propensity must be in [{LEAST:g}, 1]; got {propensities[t]:g}"
                )
        at = 3 + len(self.experts)
        for policy, q in zip(self.policies, probabilities, strict=True):
            refuse_improbable(policy, q, self.source, first)
            rows[:, at : at + q.shape[1]] = q
            at += q.shape[1]
        # Every row is validated; rows that are left out count nowhere from here on.
        here = np.flatnonzero(kept)
        rows, losses = rows[here], losses[here]
        codes = rows[:, 0].astype(np.int64)
        if propensities is not None:
            propensities = propensities[here]
            self.floor = min(self.floor, float(propensities.min(initial=1.0)))
            np.add.at(self.inverse, codes, 1.0 / propensities)
            np.add.at(self.inverse2, codes, 1.0 / propensities**2)
            if self.smallest is not None and smallest is not None:
                self.smallest.add(smallest[here], propensities, codes, first + here, self.source)
        at = 3 + len(advice)
        for adviser, values in zip(self._advisers, contexts, strict=True):
            rows[:, at] = adviser.advise([values[t] for t in here.tolist()], codes, losses, propensities)
            at += 1
        np.add.at(self.counts, codes, 1.0)
        np.add.at(self.losses, codes, losses)
        self._rows.add(rows)

    def _code(self, label: str, row: int, column: str) -> int:
        if label == "":
            raise BadTable(f"{self.source}, row {row}: {column} must be given; it is empty")
        found = self._number.get(label)
        if found is None:
            if self._fixed:
                raise BadTable(
                    f"{self.source}, row {row}: {column} must be one of the stated actions; got {clipped(label)}"
                )
            found = self._number[label] = len(self._number)
        return found

    def _grow(self) -> None:
        more = len(self._number) - len(self.counts)
        for name in ("counts", "inverse", "inverse2", "losses"):
            setattr(self, name, np.concatenate([getattr(self, name), np.zeros(more)]))

    def check(self, span: tuple[float, float] = (-np.inf, np.inf)) -> None:
        """Raise an error if the log cannot support an estimate of losses in the range `span`."""
        self.missing.check(self.source, span)
        if len(self) == 0:
            raise BadTable(f"{self.source} must have rows; it has none")
        if self.smallest is not None:
            self.smallest.check(self.labels, LEAST)
            self.floor = self.smallest.floor
        if self.has_propensities:
            refuse_overlap(self.counts, self.inverse, self.inverse2, self.labels)
        else:
            refuse_uniform(self.counts, self.labels)
            self.floor = 1.0 / len(self.labels)

    def blocks(self) -> Iterable[tuple[Any, Array, Array, Any]]:
        """(actions, losses, propensities, advice) of some rows at a time."""
        rows = self._rows.array()
        for first in range(0, len(rows), BLOCK):
            part = np.array(rows[first : first + BLOCK])
            release(rows)
            odds = part[:, 2].copy() if self.has_propensities else np.full(len(part), self.floor)
            said = part[:, 3 : 3 + len(self.experts)]
            advice = said.astype(np.int64) if self.experts else np.zeros((1, 1), dtype=np.int64)
            yield part[:, 0].astype(np.int64), part[:, 1].copy(), odds, np.ascontiguousarray(advice)

    def played_by(self, policy: Policy) -> Iterator[tuple[Any, Array, Array, Array]]:
        """(actions, losses, propensities, q) of some rows at a time, q over the log's actions."""
        rows, labels = self._rows.array(), self.labels
        before = self.policies[: self.policies.index(policy)]
        at = 3 + len(self.experts) + sum(len(one.actions) for one in before)
        for first, (actions, losses, odds, _) in zip(range(0, len(rows), BLOCK), self.blocks(), strict=True):
            said = np.array(rows[first : first + BLOCK, at : at + len(policy.actions)])
            q = np.zeros((len(said), len(labels)))
            for i, label in enumerate(policy.actions):
                if label in self._number:
                    q[:, self._number[label]] = said[:, i]
                elif said[:, i].any():
                    raise NoSupport(
                        f"a log must have every action that policy {policy.name!r} plays; {clipped(label)} is not there"
                    )
            yield actions, losses, odds, q

    def close(self) -> None:
        """Let the disk go."""
        self._rows.close()


def read_log(chunks: Iterable[Chunk], names: Sequence[str], action: str, loss: str, propensity: str | None,
             advice: Sequence[str], log: Log, contexts: Sequence[str] = ()) -> Log:  # fmt: skip
    """Read the chunks of a file into a log."""
    at = {name: i for i, name in enumerate(names)}
    for chunk in chunks:
        odds = None if propensity is None else chunk.numbers[:, at[propensity]]
        log.add(
            chunk.texts[action], chunk.numbers[:, at[loss]], odds, [chunk.texts[name] for name in advice], chunk.first,
            [chunk.texts[name] for name in contexts],
            [chunk.numbers[:, [at[column] for column in policy.columns]] for policy in log.policies],
            None if log.smallest is None else chunk.numbers[:, at[log.smallest.column]],
        )  # fmt: skip
    return log
