"""Blocks of plain CSV by pyarrow: ten times as fast, and silent about what it does not like."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow
from pyarrow import csv

from hannan.refusals import Array
from hannan.tables.write import unguarded

_NULLS = ["", *(form(word) for word in ("na", "n/a", "nan", "null", "none") for form in (str, str.upper, str.title))]
_NULLS.append("NaN")


class Quick:
    """Reads a block of whole rows without quotes; None where anything at all is odd."""

    def __init__(self, width: int, numeric: Sequence[int], texts: Sequence[int], delimiter: str) -> None:
        names = [f"c{i}" for i in range(width)]
        self._numeric, self._texts = [names[i] for i in numeric], [names[i] for i in texts]
        kinds: dict[str, Any] = dict.fromkeys(self._numeric, pyarrow.float64())
        kinds |= dict.fromkeys(self._texts, pyarrow.string())
        self._read = csv.ReadOptions(column_names=names, use_threads=False, block_size=1 << 24)
        self._parse = csv.ParseOptions(delimiter=delimiter, quote_char=False)
        self._convert = csv.ConvertOptions(
            column_types=kinds, null_values=_NULLS, include_columns=[*self._numeric, *self._texts],
            strings_can_be_null=False,
        )  # fmt: skip

    def read(self, text: str) -> tuple[Array, list[list[str]]] | None:
        """(numbers, texts by column)."""
        try:
            table = csv.read_csv(io.BytesIO(text.encode()), self._read, self._parse, self._convert)
        except pyarrow.ArrowInvalid:
            return None
        numbers = np.empty((table.num_rows, len(self._numeric)))
        for i, name in enumerate(self._numeric):
            numbers[:, i] = table.column(name).to_numpy()
        return numbers, [[unguarded(cell.strip()) for cell in table.column(name).to_pylist()] for name in self._texts]
