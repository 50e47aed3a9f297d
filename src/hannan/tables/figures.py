"""What the pages of tables share: lines over rows, and text of the user's as it is, never as markup."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from hannan.report import Badge, Figure, Layer, Page, Picture
from hannan.report.page import PAGE, drawable
from hannan.saving.output import Outbox
from hannan.tables.write import write_json

#: Lines in one picture, and rows of a table of experts.
LINES = 7
ROWS = 200
#: Points of a line.
POINTS = 120


@dataclass(frozen=True)
class Name(Badge):
    """Text of the user's, as it is: a name such as `=1+1` or `*x*` is no markup here."""

    def html(self) -> str:
        return f"<span>{escape(self.text)}</span>"


def curve(xs: Any, ys: Any, name: str) -> list[dict[str, Any]]:
    """Rows of a line, points without a value left out, and no more of them than a line needs."""
    xs, ys = np.asarray(xs), np.asarray(ys)
    kept = np.unique(np.linspace(0, len(xs) - 1, POINTS).astype(int)) if len(xs) > POINTS else slice(None)
    pairs = zip(xs[kept].tolist(), ys[kept].tolist(), strict=True)
    return [{"row": x, "y": y, "series": name} for x, y in pairs if y == y]


def lines(title: str, y: str, rows: Sequence[dict[str, Any]], alt: str, bound: Sequence[dict[str, Any]] = (),
          **more: Any) -> Figure:  # fmt: skip
    """A picture of lines over rows, and a dashed one for what is proved."""
    layers = [Layer("line", tuple(rows), x="row", series="series")]
    if bound:
        layers.append(Layer("bound", tuple(bound), x="row", series="series"))
    return Figure(Picture(title, more.pop("x_title", "row"), y, tuple(layers), alt=alt, **more))


def kept(folder: str | os.PathLike[str], summary: dict[str, Any], page: Callable[[], Page]) -> Path:
    """summary.json and, where pictures can be drawn, index.html: all or nothing."""
    with Outbox(folder) as out:
        write_json(out.path("summary.json"), summary)
        if drawable():
            page().write(out.path(PAGE))
    return Path(folder)


def made_by(**more: str) -> dict[str, str]:
    """What stands at the foot of a page."""
    from hannan import __version__

    return {"made by": f"hannan {__version__}", **more}
