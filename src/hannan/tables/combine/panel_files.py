"""The files of a panel: combined rows, weights at the end as model_id and weight, the summary and the page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from hannan.saving.output import Outbox, write
from hannan.tables.combine.panel import PanelSums
from hannan.tables.combine.panel_page import panel_page
from hannan.tables.combine.panel_summary import PanelSummary
from hannan.tables.write import RowWriter


def weights_long(panel: PanelSums) -> dict[str, Any]:
    """The weights at the end: the series, model_id, weight; where levels have weights of their own, quantile too."""
    n, levels = len(panel.experts), panel.loss.depth if panel.by_level is not None else 1
    told: dict[str, Any] = {
        name: np.repeat(np.array([key[k] for key in panel.table.keys], dtype=object), n * levels)
        for k, name in enumerate(panel.table.by)
    }
    if panel.by_level is not None and panel.quantiles is not None:
        told["quantile"] = np.tile(np.repeat(panel.quantiles.calibration.levels, n), panel.table.series)
    told["model_id"] = np.tile(np.array(panel.experts, dtype=object), panel.table.series * levels)
    told["weight"] = (panel.weights if panel.by_level is None else panel.by_level).ravel()
    return told


def save(panel: PanelSums, summary: PanelSummary, folder: Path, parquet: bool) -> Path:
    """All or nothing."""
    from hannan.report.page import PAGE, drawable

    with Outbox(folder) as out:
        combined = {**panel.labels, **panel.answers()}
        for name, columns in (("combined", combined), ("weights", weights_long(panel))):
            if parquet:
                import pyarrow
                from pyarrow import parquet as files

                kinds = (pyarrow.Array, pyarrow.ChunkedArray)
                arrays = {key: one if isinstance(one, kinds) else pyarrow.array(one) for key, one in columns.items()}
                files.write_table(pyarrow.table(arrays), out.path(f"{name}.parquet"))
            else:
                sheet = RowWriter(out.path(f"{name}.csv"), list(columns))
                sheet.write([_cells(value) for value in columns.values()])
                sheet.close()
        write(out.path("summary.json"), json.dumps(summary.as_dict(), indent=1, ensure_ascii=False) + "\n")
        if drawable():
            panel_page(summary).write(out.path(PAGE))
    return folder


def _cells(column: Any) -> Any:
    if isinstance(column, np.ndarray) and column.dtype.kind in "fiu":
        return column
    values = column.to_pylist() if hasattr(column, "to_pylist") else list(column)
    return [value.isoformat() if hasattr(value, "isoformat") else str(value) for value in values]
