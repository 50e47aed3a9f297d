"""What a panel came to: over all series first, then the best and the worst of them; its page and its files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from hannan.report import Facts, Figure, Fold, Layer, Page, Picture, Section, Table, Tile, Tiles
from hannan.report.markup import number
from hannan.saving.output import Outbox, write
from hannan.tables.combine.panel import PanelSums
from hannan.tables.figures import Name, made_by
from hannan.tables.write import RowWriter, plain

#: Series that are told at each end.
ENDS = 10
#: Bars of experts.
BARS = 12


class PanelSummary:
    """Losses summed over the series, and of each series its loss beside the average's."""

    def __init__(self, panel: PanelSums) -> None:
        self.panel = panel
        self.settled = int(panel.settled.sum())
        self.total, self.mean, self.median = (float(x.sum()) for x in (panel.mixture, panel.mean, panel.median))
        self.losses, self.beside = panel.losses.sum(axis=0), panel.beside.sum(axis=0)
        self.awake = not bool((panel.beside.sum(axis=1) < panel.mixture * len(panel.experts) * (1 - 1e-12)).any())
        self.best = int(np.argmax(self.beside - self.losses))
        spoken = (panel.settled > 0) & (panel.mean > 0.0)
        self.ratio = np.where(spoken, panel.mixture / np.where(spoken, panel.mean, 1.0), np.nan)

    @property
    def typical(self) -> float:
        """The geometric mean over the series of loss / loss of the average."""
        kept = self.ratio[np.isfinite(self.ratio) & (self.ratio > 0.0)]
        return float(np.exp(np.log(kept).mean())) if len(kept) else float("nan")

    @property
    def headline(self) -> str:
        """The answer, in a sentence."""
        if not self.settled:
            return "no row has a target"
        best, loss = self.panel.experts[self.best], self.losses[self.best]
        ahead = 100.0 * (1.0 - self.beside[self.best] / loss) if loss > 0.0 else 0.0
        mean = 100.0 * (1.0 - self.total / self.mean) if self.mean > 0.0 else 0.0
        words = [f"{abs(x):.1f}% {'better' if x >= 0.0 else 'worse'}" for x in (ahead, mean)]
        many = f"over {self.panel.table.series} series"
        return f"{words[0]} than your best model ({best}), {words[1]} than the average, {many}"

    def rows(self) -> list[tuple[str, str]]:
        """(name, value) for a terminal."""
        panel, table = self.panel, self.panel.table
        rows = [("answer", self.headline), ("series", f"{table.series}, by {', '.join(table.by)}")]
        rows.append(("rows", f"{self.settled} settled of {len(table.order)} answered"))
        rows += [
            ("loss", panel.loss.name),
            ("learner", panel.learner + (", one for all series" if panel.pooled else "")),
        ]
        if not self.settled:
            return rows
        rows.append(("combination", self._loss(self.total)))
        rows.append(("mean", f"{self._loss(self.mean)}: the average of the experts"))
        rows.append(("median", f"{self._loss(self.median)}: of the experts, row by row"))
        rows.append(("best expert", f"{self.losses[self.best]:.6g} in all: {panel.experts[self.best]}"))
        rows.append(("series by series", f"{self.typical:.4g} of the average's loss (geometric mean); {self._won()}"))
        for whom, more, bound, why in self.comparisons():
            proved = f"withheld: {why}" if bound is None else f"at most {bound:.6g} is proved"
            rows.append((f"to {whom}", f"{more:.6g} more; {proved}"))
        return rows

    def _won(self) -> str:
        told = self.ratio[np.isfinite(self.ratio)]
        return (
            f"better than it in {int((told < 1.0).sum())} of {len(told)}, at worst {told.max():.3g} of it"
            if len(told)
            else ""
        )

    def comparisons(self) -> list[tuple[str, float, float | None, str]]:
        """(whom, loss more than theirs, its bound, why none), summed over the series."""
        panel = self.panel
        mean = None if panel.to_mean is None else float(panel.to_mean.sum())
        rows = [("the mean", self.total - self.mean, mean, panel.withheld)]
        bound, why = None, panel.withheld
        if panel.bounds is not None:
            bound = float(panel.bounds[:, self.best].sum()) if self.awake else None
            why = "" if self.awake else "columns slept: of a series alone, hn.Combiner says what is proved"
        rows.append(("the best column", float(self.beside[self.best] - self.losses[self.best]), bound, why))
        return rows

    def ends(self) -> list[int]:
        """The series, the best first; of very many those at both ends."""
        order = [int(s) for s in np.argsort(self.ratio, kind="stable") if np.isfinite(self.ratio[s])]
        return order if len(order) <= 2 * ENDS else [*order[:ENDS], *order[-ENDS:]]

    def as_dict(self) -> dict[str, Any]:
        """For JSON, in the order of the terminal."""
        panel, table = self.panel, self.panel.table
        return dict(plain({
            "answer": self.headline, "series": table.series, "by": list(table.by),
            "rows": {"answered": len(table.order), "settled": self.settled},
            "loss": panel.loss.name, "learner": panel.learner, "pooled": panel.pooled,
            "combination": {"total": self.total}, "mean_of_experts": {"total": self.mean},
            "median_of_experts": {"total": self.median},
            "best_expert": {"name": panel.experts[self.best], "total": self.losses[self.best]},
            "ratio_to_mean": {"geometric_mean": self.typical, "worst": float(np.nanmax(self.ratio, initial=-np.inf))},
            "experts": [{"name": name, "total": loss, "combination_in_those_rows": beside, "weight": w}
                        for name, loss, beside, w in zip(panel.experts, self.losses.tolist(), self.beside.tolist(),
                                                         panel.weights.mean(axis=0).tolist(), strict=True)],
            "promises": [{"whom": whom, "realised": more, "bound": bound, "withheld": why or None}
                         for whom, more, bound, why in self.comparisons()],
            "best_and_worst": [self._series(s) for s in self.ends()],
        }))  # fmt: skip

    def _series(self, s: int) -> dict[str, Any]:
        panel = self.panel
        best = int(np.argmin(np.where(panel.beside[s] != 0.0, panel.losses[s], np.inf)))
        return {
            "series": panel.table.name(s), "rows": int(panel.settled[s]), "ratio_to_mean": float(self.ratio[s]),
            "combination": float(panel.mixture[s]), "mean": float(panel.mean[s]), "best_expert": panel.experts[best],
            "best_expert_loss": float(panel.losses[s, best]),
            "largest_weight": panel.experts[int(np.argmax(panel.weights[s]))],
        }  # fmt: skip

    def _loss(self, total: float) -> str:
        return f"{total:.6g} in all, {total / self.settled:.6g} a row"

    def __str__(self) -> str:
        rows = self.rows()
        width = max(len(name) for name, _ in rows)
        return "\n".join(f"{name:<{width}}  {text}" for name, text in rows)


def panel_page(summary: PanelSummary) -> Page:
    """One page for all series."""
    panel = summary.panel
    title = summary.headline[:1].upper() + summary.headline[1:]
    tiles = [
        Tile(
            f"{summary.typical:.3g}",
            "of the average's loss, a typical series",
            "good" if summary.typical < 1 else "plain",
        )
    ]
    tiles.append(Tile(str(panel.table.series), "series"))
    tiles.append(Tile(number(summary.total / max(1, summary.settled)), "mean loss of the combination"))
    sections = [Section("Losses", (_bars(summary),)), Section("Weights", (_weights(summary),))]
    sections.append(Section("Series", (_series_table(summary),)))
    facts = {name: Name(text) for name, text in summary.rows() if name != "answer"}
    sections.append(Section("Proof", (Fold("What is proved, and every number", (Facts(facts),)),)))
    lead = (
        f"{len(panel.table.order)} rows of {panel.table.series} series, {len(panel.experts)} experts. Each answer was "
        "made before its target was known."
    )
    return Page(title, lead, (Tiles(tuple(tiles)),), tuple(sections), made_by())


def _bars(summary: PanelSummary) -> Figure:
    rows = [("combination", summary.total, "combination"), ("mean of the experts", summary.mean, "simple")]
    rows.append(("median of the experts", summary.median, "simple"))
    order = np.argsort(summary.losses - summary.beside)[:BARS]
    # Where an expert slept its loss is over fewer rows: beside the combination's in the same rows, over all of them.
    share = np.where(summary.beside > 0.0, summary.losses / np.where(summary.beside > 0.0, summary.beside, 1.0), np.nan)
    rows += [(summary.panel.experts[i], summary.total * share[i], "expert") for i in order if np.isfinite(share[i])]
    rows.sort(key=lambda row: row[1])
    drawn = tuple({"name": n, "loss a row": x / max(1, summary.settled), "kind": k} for n, x, k in rows)
    alt = (
        "Loss a row over all series: "
        + ", ".join(f"{n} {x / max(1, summary.settled):.4g}" for n, x, _ in rows[:4])
        + "."
    )
    layer = Layer("across", drawn, x="loss a row", y="name", series="kind")
    names = tuple(n for n, _, _ in rows)
    return Figure(
        Picture(
            "Loss a row", f"{summary.panel.loss.name} loss a row", "", (layer,), alt, order=names, height=24 * len(rows)
        )
    )


def _weights(summary: PanelSummary) -> Figure:
    mean = summary.panel.weights.mean(axis=0)
    order = np.argsort(-mean)[:BARS]
    drawn = [{"name": summary.panel.experts[i], "weight": float(mean[i]), "kind": "expert"} for i in order]
    if len(mean) > BARS:
        drawn.append({"name": "others", "weight": float(1.0 - mean[order].sum()), "kind": "others"})
    first = summary.panel.experts[order[0]]
    alt = f"The weights at the end, averaged over the series; the largest is {mean[order[0]]:.3g}, of {first}."
    layer = Layer("across", tuple(drawn), x="weight", y="name", series="kind")
    names = tuple(row["name"] for row in drawn)
    return Figure(
        Picture(
            "Weights at the end, averaged over the series",
            "weight",
            "",
            (layer,),
            alt,
            order=names,
            height=24 * len(drawn),
        )
    )


def _series_table(summary: PanelSummary) -> Table:
    chosen = summary.ends()
    told = [summary._series(s) for s in chosen]
    rows = tuple(
        (Name(one["series"]), one["rows"], one["ratio_to_mean"], one["combination"], one["mean"],
         Name(one["best_expert"]), one["best_expert_loss"], Name(one["largest_weight"]))
        for one in told
    )  # fmt: skip
    more = (
        f" The best {ENDS} and the worst {ENDS} of {summary.panel.table.series}."
        if len(chosen) < summary.panel.table.series
        else ""
    )
    heads = (
        "series",
        "rows",
        "loss / average's",
        "loss",
        "average's loss",
        "best expert",
        "its loss",
        "largest weight at the end",
    )
    return Table(heads, rows, f"Losses of each series.{more}")


def weights_long(panel: PanelSums) -> dict[str, Any]:
    """The weights at the end: the series, model_id, weight."""
    n = len(panel.experts)
    told: dict[str, Any] = {
        name: np.repeat(np.array([key[k] for key in panel.table.keys], dtype=object), n)
        for k, name in enumerate(panel.table.by)
    }
    told["model_id"] = np.tile(np.array(panel.experts, dtype=object), panel.table.series)
    told["weight"] = panel.weights.ravel()
    return told


def save(panel: PanelSums, summary: PanelSummary, folder: Path, parquet: bool) -> Path:
    """All or nothing."""
    from hannan.report.page import drawable

    with Outbox(folder) as out:
        combined = {**panel.labels, "forecast": panel.forecast}
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
            panel_page(summary).write(out.path("report.html"))
    return folder


def _cells(column: Any) -> Any:
    if isinstance(column, np.ndarray) and column.dtype.kind in "fiu":
        return column
    values = column.to_pylist() if hasattr(column, "to_pylist") else list(column)
    return [value.isoformat() if hasattr(value, "isoformat") else str(value) for value in values]
