"""A comparison as a folder: the numbers, the figure, the table, and one page that shows them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hannan import extras
from hannan.games.cells import bands
from hannan.games.compared import Compared
from hannan.games.comparison_chart import chart
from hannan.games.latex import table
from hannan.report import Figure, Layer, Page, Picture, Section, Table, Text, Tile, Tiles
from hannan.report.ends import ends, how
from hannan.report.page import PAGE, drawable
from hannan.saving.output import Outbox
from hannan.saving.result import to_text
from hannan.saving.words import AtMost, figure, number


def save(comparison: Compared, folder: Path) -> Path:
    """comparison.parquet, summary.json, table.tex; where [report] is there also figure.svg, figure.png, index.html."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise ModuleNotFoundError(f"save needs pyarrow: {extras.command('sweep', 'pyarrow')}") from None
    with Outbox(folder) as outbox:
        parquet.write_table(pyarrow.table(comparison.columns()), outbox.path("comparison.parquet"))
        outbox.path("summary.json").write_text(to_text(comparison.to_dict()) + "\n", "utf-8")
        outbox.path("table.tex").write_text(table(comparison), "utf-8")
        if drawable():
            whole = chart(comparison)
            for kind in ("svg", "png"):
                whole.save(str(outbox.path(f"figure.{kind}")), **({"ppi": 150} if kind == "png" else {}))
            page(comparison).write(outbox.path(PAGE))
    return folder


def page(comparison: Compared) -> Page:
    """One section an environment: its picture, its table, and the differences to the baseline."""
    rows, gaps = comparison.rows(), comparison.difference_rows()
    sections, tiles = [], []
    for name in comparison.environments:
        here = sorted((row for row in rows if row["environment"] == name), key=lambda row: float(row["regret"]))
        blocks: list[Any] = [Figure(_ends(here)), Figure(_picture(comparison, name)), _table(here)]
        paired = [row for row in gaps if row["environment"] == name]
        if paired:
            blocks.append(_differences(paired))
        sections.append(Section(name, tuple(blocks)))
        tiles.append(Tile(number(here[0]["regret"]), f"{name}: the least mean regret, of {here[0]['learner']}"))
    lead = (
        f"{len(comparison.learners)} learners in {len(comparison.environments)} environments. In a run all meet the "
        "same losses; intervals are 95% t intervals over the runs, each "
        "by itself, and approximate: rare large regrets make them too narrow, so the largest run is listed too."
    )
    head: tuple[Any, ...] = (Tiles(tuple(tiles)),)
    if not gaps:
        head += (Text("No differences are shown: they need two runs and losses that nobody's moves change."),)
    return Page(comparison.title, lead, head, tuple(sections), {"seed": str(comparison.seed)})


def _ends(rows: list[dict[str, Any]]) -> Picture:
    """The regret at the end with its interval, the least first: told apart where curves coincide."""
    drawn = tuple({name: row[name] for name in ("learner", "regret", "low", "high")} for row in rows)
    names = tuple(row["learner"] for row in rows)
    alt = (
        "Regret at the end, the least first: "
        + ", ".join(f"{row['learner']} {figure(row['regret'])}" for row in rows)
        + "."
    )
    return Picture(
        f"Regret at the end{how(drawn)}",
        "regret",
        "",
        ends(drawn, "learner"),
        alt,
        order=names,
        height=26 * len(rows) + 10,
    )


def _picture(comparison: Compared, name: str) -> Picture:
    rows = []
    for cell in comparison.among(name):
        low, high = bands(cell.regret)
        for t, mean, a, b in zip(cell.at, cell.regret.mean(axis=0), low, high, strict=True):
            rows.append(
                {"learner": cell.learner, "round": int(t), "regret": float(mean), "low": float(a), "high": float(b)}
            )
    layers = (
        Layer("band", tuple(rows), x="round", series="learner"),
        Layer("line", tuple(rows), x="round", y="regret", series="learner"),
    )
    ends = ", ".join(f"{cell.learner} {figure(cell.final.mean())}" for cell in comparison.among(name))
    return Picture(f"Regret, {name}", "round", "regret", layers, alt=f"Regret at the end: {ends}.", height=320)


def _table(rows: list[dict[str, Any]]) -> Table:
    heads = (
        "learner",
        "regret",
        "low",
        "high",
        "median",
        "95% quantile",
        "largest run",
        "bound",
        "against",
        "source",
        "seconds",
    )
    cells = tuple(
        (
            row["learner"], row["regret"], row["low"], row["high"], row["median"], row["q95"], row["largest"],
            None if row["bound"] is None else AtMost(row["bound"]),
            row["against"], row["source"] or row["withheld"], row["seconds"],
        )
        for row in rows
    )  # fmt: skip
    return Table(
        heads, cells, caption="At the end: mean over the runs, its 95% t interval (approximate), and the bound"
    )


def _differences(rows: list[dict[str, Any]]) -> Table:
    cells = tuple((row["learner"], row["difference"], row["low"], row["high"], row["better"]) for row in rows)
    caption = f"Less {rows[0]['baseline']}, run by run on the same losses; negative is better"
    return Table(("learner", "difference", "low", "high", "better"), cells, caption=caption)
