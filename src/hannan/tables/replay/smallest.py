"""The smallest probability of any action in each row of a log, which bounds the weights of every policy.

The interval of `mathematics.intervals` needs a bound b on the weights that is fixed in advance; the minimum of the
column depends on the rows. For each fixed b = 2^j the interval holds with probability 1 - alpha_j in every log whose
weights stay below b: stop the supermartingale before the first row with a smaller probability than 1/b, which is known
before the action is drawn. With alpha_j = alpha/(j (j + 1)), which sum to alpha over j = 1, 2, ..., all of these hold
simultaneously, so that the smallest 2^j that fits the column may be chosen in hindsight.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from hannan.refusals import Array
from hannan.saving.words import counted
from hannan.tables.read.table import BadTable, clipped
from hannan.tables.replay.estimates import VERIFIED, NoSupport

#: Tolerance for rounding errors of probabilities.
ROUNDING = 1e-9


class Smallest:
    """The column of smallest probabilities: its minimum, and the rows in which an action had no chance."""

    def __init__(self, column: str) -> None:
        #: The smallest and the largest number of the column.
        self.column, self.minimum, self.maximum = column, 1.0, 0.0
        self._rows = self._empty = self._zeros = 0
        #: The first and the last row with a zero.
        self._first = self._last = 0
        #: Actions that were drawn in a row with a zero.
        self._drawn: set[int] = set()

    def add(self, smallest: Array, propensities: Array, actions: NDArray[np.int64], rows: NDArray[np.int64],
            source: str) -> None:  # fmt: skip
        """Read some rows, whose numbers are `rows`; raise BadTable with the row of an invalid value."""
        known = ~np.isnan(smallest)
        bad = known & ~((smallest >= 0.0) & (smallest <= propensities * (1.0 + ROUNDING)))
        if bad.any():
            t = int(np.argmax(bad))
            raise BadTable(
                f"{source}, row {rows[t]}, column {self.column!r}: the smallest probability must be in [0, "
                f"{propensities[t]:g}], at most the propensity of the row; got {smallest[t]:g}"
            )
        self._rows, self._empty = self._rows + len(rows), self._empty + int((~known).sum())
        zeros = np.flatnonzero(smallest == 0.0)
        if len(zeros):
            self._first, self._last = self._first or int(rows[zeros[0]]), int(rows[zeros[-1]])
            self._zeros += len(zeros)
            self._drawn |= set(actions[zeros].tolist())
        self.minimum = min(self.minimum, float(smallest[known].min(initial=1.0)))
        self.maximum = max(self.maximum, float(smallest[known].max(initial=0.0)))

    def check(self, labels: list[str], least: float) -> None:
        """Raise NoSupport if the column does not show that every action could be drawn in every row."""
        name = repr(self.column)
        if self._empty:
            raise NoSupport(
                f"column {name} must have a number in every row; got {counted(self._empty, 'empty row')} of "
                f"{self._rows}: events of these decisions were deleted. Leave these rows out, or omit smallest="
            )
        if self._zeros:
            never = [clipped(label) for i, label in enumerate(labels) if i not in self._drawn]
            which = f", never drawn there: {', '.join(never[:8])}" if never else ""
            raise NoSupport(
                f"every action must have a positive probability in every row; column {name} is 0 in {self._zeros} of "
                f"{counted(self._rows, 'row')}, between row {self._first} and row {self._last}{which}. "
                f"Evaluate the rows in which {name} is above 0, or the decisions since the last change of the arms "
                "(stage= or since= of store.log)"
            )
        if self.maximum > (1.0 + ROUNDING) / len(labels):
            raise NoSupport(
                f"column {name} must be at most 1/{len(labels)}, because the log has {len(labels)} actions; got "
                f"{self.maximum:g}. The column is of a log with fewer actions"
            )
        if self.minimum < least:
            raise NoSupport(f"column {name} must be at least {least:g}; got {self.minimum:g}, whose weights overflow")

    @property
    def _exponent(self) -> int:
        """The smallest j >= 1 with 2^-j <= minimum."""
        return max(1, 1 - math.frexp(self.minimum)[1])

    @property
    def floor(self) -> float:
        """Power of two below the minimum, which bounds the weights."""
        return 0.5**self._exponent

    @property
    def share(self) -> float:
        """Share of the probability of a miss for this power of two; the shares of all powers sum to 1."""
        return 1.0 / (self._exponent * (self._exponent + 1))

    @property
    def method(self) -> str:
        """Method of the intervals, with the verified condition."""
        return VERIFIED.format(floor=f"2^-{self._exponent}", column=repr(self.column))
