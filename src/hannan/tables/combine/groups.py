"""Groups of rows of a table: columns, or parts of the times such as the hour and the weekday."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hannan.tables.read.table import BadTable, clipped, shown
from hannan.tables.read.times import instant
from hannan.validation import meant

#: Kinds of groups that are computed from times if the table has no column of the name.
PARTS: dict[str, Callable[[datetime], str]] = {
    "hour": lambda when: str(when.hour),
    "weekday": lambda when: when.strftime("%A"),
    "month": lambda when: str(when.month),
    "quarter": lambda when: str((when.month + 2) // 3),
}


def columns_of(groups: Iterable[str] | None, names: Sequence[str], time: str | None) -> tuple[str, ...]:
    """Return the groups that are columns; the others are parts of the times.

    >>> columns_of(["hour", "shop"], ["shop", "y"], "day")
    ('shop',)
    """
    told = []
    for name in groups or ():
        if name in names:
            told.append(name)
        elif name not in PARTS:
            raise BadTable(f"groups need a column {name!r}; columns are {shown(list(names))}{meant(name, names)}")
        elif time is None:
            raise BadTable(f"the group {name!r} is a part of the times; name their column with time= (--time)")
    return tuple(told)


def codes_of(values: Sequence[Any], name: str, place: Callable[[int], str]) -> tuple[NDArray[np.int64], list[str]]:
    """Return (code of each row, values of the codes); raise BadTable for the first row without a value."""
    texts = np.asarray([str(value) for value in values], dtype=object)
    found, codes = np.unique(texts.astype(str), return_inverse=True)
    for k, text in enumerate(found.tolist()):
        if text.strip() in ("", "nan", "None", "NaT", "<NA>"):
            row = int(np.argmax(codes == k))
            raise BadTable(f"{place(row)}: the group {name!r} needs a value; got {clipped(text)}")
    return codes.astype(np.int64).reshape(-1), found.tolist()


def parts_of(times: Sequence[str], name: str, place: Callable[[int], str]) -> list[str]:
    """Return a part of each time.

    >>> parts_of(["2026-03-02T17:30:00", "2026-03-03"], "weekday", str)
    ['Monday', 'Tuesday']
    """
    part, told, known = PARTS[name], [], {}
    for row, text in enumerate(times):
        if text not in known:
            try:
                kind, when = instant(text)
            except ValueError as error:
                raise BadTable(f"{place(row)}: {error}") from None
            if kind == "number":
                raise BadTable(f"{place(row)}: the group {name!r} needs dates; got the time {clipped(text)}")
            known[text] = part(when)
        told.append(known[text])
    return told
