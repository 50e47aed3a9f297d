"""Clipping of forecasts that are far from the median of their row, and its effect on the losses of the columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hannan import _engine, validation
from hannan.saving import fields
from hannan.saving.formatting import counted, figure
from hannan.tables.combine.losses import PointLoss
from hannan.validation import Array

#: Number of columns that are printed.
SHOWN = 5

# Fixed sentence of results; covered by tests/tables/test_clip.py.
#: Scope of losses and bounds with clipped forecasts.
AFTER = "losses, weights and bounds are those of the forecasts after clipping, and are proved for these"


@dataclass(frozen=True)
class Clipped:
    """Effect of clipping: number of forecasts per column, and change of the loss of each column.

    The excess loss over a column as it was given is the excess loss over the clipped column plus `changes` of the
    column, and so is its bound.
    """

    factor: float
    columns: tuple[str, ...]
    counts: Array = field(hash=False)
    #: Loss of the clipped forecasts minus that of the forecasts as given, over the settled rows.
    changes: Array = field(hash=False)

    def lines(self) -> list[tuple[str, str]]:
        """Return (name, text) pairs for a terminal."""
        limit = f"{self.factor:g} times the usual distance of the column from the median"
        total = int(self.counts.sum())
        if not total:
            return [("clipped", f"no forecast; the limit is {limit}")]
        return [("clipped", f"{counted(total, 'forecast')} to {limit}: {self._each(self.counts, 'd')}")]

    def assumptions(self) -> list[tuple[str, str]]:
        """Return the scope of the bounds, if a forecast was clipped."""
        if not self.counts.any():
            return []
        told = f"{AFTER}; for a column as it was given, add its change: {self._each(self.changes)}"
        return [("clipped forecasts", told)]

    def _each(self, values: Array, kind: str = "") -> str:
        order = [int(i) for i in np.argsort(-self.counts, kind="stable") if self.counts[i]]
        parts = [f"{self.columns[i]} {int(values[i]) if kind else figure(float(values[i]))}" for i in order[:SHOWN]]
        more = len(order) - SHOWN
        return ", ".join([*parts, *([f"{more} more columns"] if more > 0 else [])])

    def as_dict(self) -> dict[str, Any]:
        """Return the numbers for JSON, without the columns that have no clipped forecast."""
        return {
            "factor": self.factor, "forecasts": int(self.counts.sum()), "note": AFTER,
            "columns": [{"name": self.columns[i], "forecasts": int(self.counts[i]),
                         "change_of_loss": float(self.changes[i])} for i in np.flatnonzero(self.counts).tolist()],
        }  # fmt: skip


def factor_of(clip: Any) -> float:
    """Return the limit of the distances as a factor, after validation."""
    factor = validation.real(clip, "clip")
    if factor < 1.0:
        raise ValueError(f"clip must be a number of at least 1, such as 10; got {clip!r}")
    return factor


class Clipping:
    """Clips rows of forecasts, and remembers the forecasts as given until their targets arrive.

    A forecast is moved to `factor` times the usual distance of its column from the median of the available columns, if
    it is farther. This needs three available columns and 20 earlier rows with a forecast of the column.
    """

    def __init__(self, factor: float, loss: PointLoss, columns: Sequence[str]) -> None:
        self.factor, self.loss, self.columns = factor, loss, tuple(columns)
        self._engine = _engine.ForecastClip(len(self.columns), loss.depth, factor)
        self.counts, self.changes = np.zeros(len(self.columns)), np.zeros(len(self.columns))
        #: (forecasts as given, clipped forecasts) of the open rows that were clipped.
        self._open: dict[int, tuple[Array, Array]] = {}

    def clip(self, row: Array) -> Array:
        """Return a row after clipping; the state is unchanged."""
        return self._clipped(row, False)

    def answer(self, number: int, row: Array) -> None:
        """Add the distances of a row that was answered after clipping."""
        clipped = self._clipped(row, True)
        self._keep(number, row, clipped)

    def rows(self, table: Array, which: NDArray[np.int64], first: int) -> None:
        """Clip some rows of a table in place; row k has the number first + k."""
        given = table[which]
        if not self._engine.rows(table, which, True):
            return
        changed = ((table[which] != given) & ~np.isnan(given)).any(axis=1)
        for k in np.flatnonzero(changed).tolist():
            self._keep(first + int(which[k]), given[k], table[which[k]].copy())

    def given(self, number: int) -> Array | None:
        """Return the forecasts of an open row as they were given; None if they were not clipped."""
        kept = self._open.get(number)
        return None if kept is None else kept[0]

    def settle(self, number: int, target: float) -> None:
        """Add the change of the losses of a row that is settled."""
        kept = self._open.pop(number, None)
        if kept is not None:
            self.changes += self.change(*kept, target)

    def settle_all(self, order: NDArray[np.int64], told: Array) -> None:
        """Settle rows: an event e < 0 settles row ~e with its target; rows without a target are forgotten."""
        if not self._open:
            return
        settles = order < 0
        for number, target in zip((~order[settles]).tolist(), told[settles].tolist(), strict=True):
            if number in self._open:
                if target == target:
                    self.settle(number, target)
                else:
                    self.forget(number)

    def forget(self, number: int) -> None:
        """Close a row whose target will not arrive."""
        self._open.pop(number, None)

    def add_columns(self, columns: Sequence[str], loss: PointLoss) -> None:
        """Add columns that had no forecast so far."""
        more, depth, n = len(columns), loss.depth, len(self.columns)
        self._engine.add_columns(more)
        self.columns, self.loss = (*self.columns, *columns), loss
        self.counts, self.changes = (np.append(x, np.zeros(more)) for x in (self.counts, self.changes))

        def wider(row: Array) -> Array:
            cells = np.full((depth, n + more), np.nan)
            cells[:, :n] = row.reshape(depth, n)
            return cells.reshape(-1)

        self._open = {number: (wider(raw), wider(clipped)) for number, (raw, clipped) in self._open.items()}

    def result(self) -> Clipped:
        """Return the effect of clipping so far."""
        return Clipped(self.factor, self.columns, self.counts.copy(), self.changes.copy())

    def change(self, given: Array, clipped: Array, target: float) -> Array:
        """Return, per column, the loss of the clipped forecast minus that of the forecast as given; 0 if missing."""
        before, after = (self.loss.columns(x[None, :])[0] for x in (given, clipped))
        missing = np.isnan(before)
        with np.errstate(over="ignore", invalid="ignore"):
            told = self.loss.value(np.where(missing, 0.5, after), target)
            told = told - self.loss.value(np.where(missing, 0.5, before), target)
        missing = missing if missing.ndim == 1 else missing.any(axis=1)
        return np.asarray(np.where(missing, 0.0, told))

    def _clipped(self, row: Array, learn: bool) -> Array:
        told = row[None, :].copy()
        self._engine.rows(told, np.zeros(1, dtype=np.int64), learn)
        clipped: Array = told[0]
        return clipped

    def _keep(self, number: int, given: Array, clipped: Array) -> None:
        changed = (given != clipped) & ~np.isnan(given)
        if changed.any():
            self.counts += changed.reshape(self.loss.depth, -1).any(axis=0)
            self._open[number] = (given.copy(), clipped)

    # Files

    def fields(self) -> dict[str, Any]:
        """Return the state as a dict."""
        rows = {str(number): np.stack(pair) for number, pair in self._open.items()}
        return {**self._engine.fields(), "counts": self.counts, "changes": self.changes, "open": rows}

    def restore(self, state: dict[str, Any], mixer: Any) -> None:
        """Restore the state that `fields` returned, after validation; `mixer` has the open rows."""
        n = len(self.columns)
        self._engine.restore({name: np.asarray(state[name], dtype=np.float64) for name in ("sums", "rows")})
        counts, changes = (np.asarray(state[name], dtype=np.float64) for name in ("counts", "changes"))
        if counts.shape != (n,) or changes.shape != (n,) or np.isnan(changes).any() or not (changes < np.inf).all():
            raise ValueError(
                f"corrupt file: expected counts and finite changes of {n} clipped columns; found "
                f"shapes {counts.shape} and {changes.shape}"
            )
        if not ((counts >= 0.0) & (counts < fields.MOST) & (counts == np.floor(counts))).all():
            raise ValueError("corrupt file: counts of clipped forecasts must be integers")
        self.counts, self.changes = counts.copy(), changes.copy()
        for text, pair in state["open"].items():
            rows = np.asarray(pair, dtype=np.float64).reshape(2, -1)
            waiting = mixer.waiting(int(text))
            same = waiting is not None and waiting.shape == rows[1].shape and np.array_equal(
                waiting, rows[1], equal_nan=True
            )  # fmt: skip
            if not same or not np.array_equal(np.isnan(rows[0]), np.isnan(rows[1])) or np.isinf(rows[0]).any():
                raise ValueError("corrupt file: clipped rows differ from the open rows of the combiner")
            self._open[int(text)] = (rows[0].copy(), rows[1].copy())
