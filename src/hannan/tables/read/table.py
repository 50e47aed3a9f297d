"""CSV, row by row or in chunks: what is wrong is named by row and column, and nothing is guessed.

Rows are counted from 1, the header not among them. Empty cells, NA, NaN and null are missing; any other cell
of a numeric column must be a finite number.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hannan.validation import Array, meant

MISSING = frozenset(("", "na", "n/a", "nan", "null", "none"))
#: A chunk has about so many cells.
CHUNK_CELLS = 1 << 19


#: What a table without a file is called.
UNNAMED = "the table"


class BadTable(ValueError):
    """A file that cannot be read, with the row and the column that say why."""


@contextmanager
def named(source: str) -> Iterator[None]:
    """A file that was read whole has a name: what is refused of "the table" is refused of that file."""
    try:
        yield
    except BadTable as error:
        text = str(error)
        raise BadTable(source + text.removeprefix(UNNAMED) if text.startswith(UNNAMED) else text) from None


@dataclass(frozen=True)
class Chunk:
    """Some rows: `numbers` (rows, numeric columns) with NaN where missing, `texts` as they stand in the file.

    `first` is the number of its first row.
    """

    first: int
    numbers: Array = field(hash=False)
    texts: dict[str, list[str]] = field(hash=False)

    def __len__(self) -> int:
        return len(self.numbers)


@dataclass
class Columns:
    """What to take from a file: the numeric columns, all but the text ones where `numeric` is None."""

    texts: tuple[str, ...] = ()
    numeric: tuple[str, ...] | None = None
    #: Columns that must be there, whatever else is.
    needs: tuple[str, ...] = ()
    #: Numeric columns in which a missing value is refused.
    complete: frozenset[str] = frozenset()
    #: What to do about a column that holds no numbers at all.
    hint: str = ""

    def chosen(self, names: Sequence[str], source: str) -> tuple[list[int], list[int]]:
        """Positions of the numeric and of the text columns; a missing or double name is refused."""
        seen: dict[str, int] = {}
        for i, name in enumerate(names):
            if not name and self._takes(name):
                raise BadTable(
                    f"columns of {source} must have a name; that of column {i + 1} is empty{_and(self.hint)}"
                )
            if name in seen:
                raise BadTable(
                    f"column names of {source} must differ; got {name!r} in columns {seen[name] + 1} and {i + 1}"
                )
            seen[name] = i
        for name in (*self.needs, *self.texts, *(self.numeric or ())):
            if name not in seen:
                raise BadTable(f"{source} must have a column {name!r}; got {shown(names)}{meant(name, names)}")
        texts = [seen[name] for name in self.texts]
        taken = set(texts)
        if self.numeric is not None:
            return [seen[name] for name in self.numeric], texts
        return [i for i in range(len(names)) if i not in taken], texts

    def _takes(self, name: str) -> bool:
        """Whether a column is read as numbers; one that is named as text, or left out, is not."""
        return name not in self.texts if self.numeric is None else name in self.numeric


class Table:
    """A source of rows: `names` of its numeric columns, and `chunks()` of them.

    `position()` is how much of `size` has been read, for a progress bar.
    """

    names: list[str]
    source: str
    size: int | None = None

    def chunks(self, rows: int | None = None) -> Iterator[Chunk]:
        """The rows, about `rows` at a time."""
        raise NotImplementedError

    def position(self) -> int:
        return 0

    def close(self) -> None:
        """Let go of the file."""


def checked(table: Array, first: int, names: list[str], complete: Sequence[int], source: str) -> None:
    """Refuse what is infinite, and what is missing where it must not be."""
    bad = np.isinf(table)
    if bad.any():
        row, column = (int(i) for i in np.argwhere(bad)[0])
        raise BadTable(
            f"{source}, row {first + row}, column {names[column]!r}: a number must be finite; got {table[row, column]}"
        )
    for column in complete:
        missing = np.isnan(table[:, column])
        if missing.any():
            row = int(np.argmax(missing))
            raise BadTable(f"{source}, row {first + row}, column {names[column]!r}: a value must be given; it is empty")


def _and(hint: str) -> str:
    return f". {hint}" if hint else ""


def shown(names: Sequence[str], most: int = 8) -> str:
    """The first few names, for a message."""
    few = ", ".join(clipped(name) for name in names[:most])
    return few if len(names) <= most else f"{few}, ... ({len(names)} columns)"


def clipped(text: Any, most: int = 40) -> str:
    """A value as a message may quote it."""
    quoted = repr(text)
    return quoted if len(quoted) <= most else quoted[: most - 3] + "..."


def one_role(roles: Iterable[tuple[str, str]]) -> None:
    """Refuse a column that is asked for twice: (role, column) of every column that was named.

    A target among the experts would forecast itself without error; a column twice is no second opinion.

    >>> one_role([("the target", "y"), ("an expert", "a"), ("an expert", "y")])
    Traceback (most recent call last):
    hannan.tables.read.table.BadTable: a column must have one role; got 'y' as the target and as an expert
    """
    seen: dict[str, str] = {}
    for role, column in roles:
        if column in seen:
            again = f"{role} twice" if seen[column] == role else f"{seen[column]} and as {role}"
            raise BadTable(f"a column must have one role; got {clipped(column)} as {again}")
        seen[column] = role


def forecast_roles(target: str | None, time: str | None, experts: Iterable[str], issued: str | None = None) -> None:
    """Target, times, issue times and experts of a table of forecasts must be different columns."""
    named = [("the target", target), ("the times", time), ("the issue times", issued)]
    named += [("an expert", name) for name in experts]
    one_role((role, name) for role, name in named if name is not None)


def log_roles(
    action: str, loss: str, propensity: str | None, advice: Iterable[str], contexts: Iterable[str] = (),
    smallest: str | None = None,
) -> None:  # fmt: skip
    """Raise BadTable unless action, loss, propensity, advice, contexts and smallest are different columns."""
    if smallest is not None and propensity is None:
        raise BadTable(f"smallest needs propensity too, the probability of the action; got {smallest!r} alone")
    named = [("the action", action), ("the loss", loss), ("the propensity", propensity)]
    named.append(("the smallest probability", smallest))
    named += [*(("advice", name) for name in advice), *(("a context", name) for name in contexts)]
    one_role((role, name) for role, name in named if name is not None)
