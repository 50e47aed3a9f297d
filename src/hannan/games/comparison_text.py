"""A comparison to be read in a terminal: environment by environment, the best first."""

from __future__ import annotations

from typing import Any

from hannan.games.compared import Compared
from hannan.mathematics.student import T_INTERVAL
from hannan.saving.words import ceiling, counted, figure


def text(comparison: Compared) -> str:
    """Return one block per environment: regret with its interval, largest run, bound, difference to the baseline."""
    rows = comparison.rows()
    gaps = {(row["learner"], row["environment"]): row for row in comparison.difference_rows()}
    baseline = comparison.baseline or comparison.learners[0]
    width = max(len(name) for name in comparison.learners)
    lines = [_head(comparison, rows)]
    for environment in comparison.environments:
        here = sorted((row for row in rows if row["environment"] == environment), key=lambda row: float(row["regret"]))
        size = ", ".join(
            counted(here[0][of], what) for of, what in (("n", "arm"), ("rounds", "round"), ("runs", "run"))
        )
        lines.append(f"\n{environment}: {size}")
        less = f"less {baseline}" if gaps else ""
        heads = f"{'regret':>9}  {T_INTERVAL:>19}  {'largest':>9}  {'bound':>9}  {'against':<9}  {less}"
        lines.append(f"  {'':<{width}}  {heads}".rstrip())
        for row in here:
            gap = gaps.get((row["learner"], environment))
            lines.append(_line(row, gap, width))
    return "\n".join(lines)


def _head(comparison: Compared, rows: list[dict[str, Any]]) -> str:
    seconds = sum(row["seconds"] for row in rows)
    where, who = counted(len(comparison.environments), "environment"), counted(len(comparison.learners), "learner")
    return f"{comparison.title}: {who}, {where}, seed {comparison.seed}, {figure(seconds, 3)} s"


def _signed(value: float) -> str:
    return f"{'+' if value > 0.0 else ''}{figure(value)}"


def _line(row: dict[str, Any], gap: dict[str, Any] | None, width: int) -> str:
    between = f"{figure(row['low'])} .. {figure(row['high'])}" if row["runs"] > 1 else "one run"
    bound = "–" if row["bound"] is None else ceiling(row["bound"])
    told = "" if gap is None else f"{_signed(gap['difference'])} ({_signed(gap['low'])} .. {_signed(gap['high'])})"
    mean, largest = figure(row["regret"]), figure(row["largest"])
    line = (
        f"  {row['learner']:<{width}}  {mean:>9}  {between:>19}  {largest:>9}  {bound:>9}  {row['against']:<9}  {told}"
    )
    return line.rstrip()
