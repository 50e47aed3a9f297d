"""`hannan combine`, chunk by chunk: rows answered as they are read, and printed at once where they come live."""

from __future__ import annotations

import json
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from hannan.cli.tables import watched

if TYPE_CHECKING:
    from hannan.tables.combine.answers import Answers
    from hannan.tables.combine.levels import Grid
    from hannan.tables.combine.rows import Rows
    from hannan.tables.combine.summary import Summary


class Stream:
    """Rows of a table, through rows at play, to sheets and standard output."""

    def __init__(
        self, rows: Rows, grid: Grid | None, time: str | None, issued: str | None, live: bool, as_json: bool
    ) -> None:
        self.rows, self.grid, self.time, self.issued, self.live, self.as_json = rows, grid, time, issued, live, as_json
        self.written = ("forecast",) if grid is None else grid.written
        self.crossed = 0

    def run(self, table: Any, goal: int, columns: list[int], sheets: Any) -> Summary:
        """Read, answer, keep and print; then look at all of it a second time."""
        from hannan.tables.combine.function import close_books
        from hannan.tables.write import Spool

        rows, head = self.rows, self.live and not self.as_json
        # The second look needs the rows: they wait on disk, not in memory. Of quantiles, the answers too.
        width = len(rows.names) * rows.loss.depth
        kept, goals, told = Spool(width), Spool(1), Spool(1 + len(rows.levels))
        try:
            for forecasts, targets, times, issued, first in self._parts(table, goal, columns):
                answers = rows.answer(forecasts, targets, times, first, issued)
                kept.add(forecasts)
                goals.add(targets[:, None])
                if self.grid is not None:
                    told.add(_numbered(answers))
                if sheets is not None:
                    sheets.write(answers.rows, answers.times, answers.forecast, answers.played, answers.weights)
                if self.live:
                    self._print(answers, head)
                    head = False
            targets, answered = rows.rejoin(goals.array()[:, 0]), told.array()
            return close_books(rows, kept.array(), targets, self.grid, self.crossed, (answered[:, 0], answered[:, 1:]))
        finally:
            for spool in (kept, goals, told):
                spool.close()

    def _parts(self, table: Any, goal: int, columns: list[int]) -> Any:
        """(forecasts, targets, times, issue times, first row) of each chunk."""
        import numpy as np

        for chunk in watched(table, 1 if self.live else None, not self.as_json):
            times, issued = (chunk.texts.get(name, []) if name else [] for name in (self.time, self.issued))
            forecasts, first = np.take(chunk.numbers, columns, axis=1), chunk.first
            if self.grid is not None:
                forecasts, crossed = self.grid.take(forecasts, partial(_place, table.source, first))
                self.crossed += crossed
            yield forecasts, chunk.numbers[:, goal], times, issued, first

    def _print(self, answers: Answers, head: bool) -> None:
        """One line for each answer, at once."""
        from hannan.tables.combine.function import key_of
        from hannan.tables.write import line

        rows, time = self.rows, self.time
        # The names of the JSON are ours, whatever the table calls its times.
        key = "row" if time is None else "time"
        if head:
            drawn = ["played"] if rows.mixer.draws else []
            first = key_of(time, [*rows.names, *self.written])
            click.echo(line([first, *self.written, *drawn, *rows.names]), nl=False)
        for t in range(len(answers)):
            at = answers.times[t] if answers.times else int(answers.rows[t])
            played = [] if answers.played is None else [rows.names[answers.played[t]]]
            weights, mixed = answers.weights[t].tolist(), answers.forecast[t].tolist()
            if self.as_json:
                named = dict(zip(rows.names, weights, strict=True))
                also = {"played": played[0]} if played else {}
                forecast = (
                    mixed if self.grid is None else {f"{q:g}": x for q, x in zip(rows.levels, mixed, strict=True)}
                )
                told = {key: at, "forecast": forecast, **also, "weights": named}
                click.echo(json.dumps(told, ensure_ascii=False))
            else:
                click.echo(line([at, *(mixed if self.grid is not None else [mixed]), *played, *weights]), nl=False)
        sys.stdout.flush()


def _place(source: str, first: int, t: int) -> str:
    return f"{source}, row {first + t}"


def _numbered(answers: Answers) -> Any:
    """Answers behind the numbers of their rows."""
    import numpy as np

    return np.column_stack([answers.rows, answers.forecast])
