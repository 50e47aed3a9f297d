"""Pages of `combine`, `replay` and `route`. What comes from a user's table is shown as it is, never as markup."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from hannan.report import Badge, Facts, Figure, Layer, Page, Picture, Section, Table, Text, Tile, Tiles
from hannan.report.markup import number

if TYPE_CHECKING:
    from hannan.tables.combine.summary import Summary
    from hannan.tables.replay.function import Replay
    from hannan.tables.route.function import Routes

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


def _shown(summary: Summary) -> list[int]:
    """The experts worth a line: least mean loss, and largest weight at the end."""
    means = [e.loss / e.rows if e.rows else np.inf for e in summary.experts]
    weights = [-e.weight for e in summary.experts]
    order = [i for pair in zip(np.argsort(means), np.argsort(weights), strict=True) for i in pair]
    return list(dict.fromkeys(int(i) for i in order))[:LINES]


def combined_page(summary: Summary) -> Page:
    """The page of a combination."""
    best, bound, settled = summary.best, summary.bound, max(1, summary.settled)
    tiles = [Tile(number(summary.mix_loss / settled), "mean loss of the mixture", "good")]
    if summary.forecasts:
        last = summary.forecasts[-1]
        tiles.insert(0, Tile(f"{last.forecast:.6g}", f"forecast for {last.name}", "good"))
    if best is not None:
        tiles.append(Tile(number(best.loss / best.rows), f"mean loss of {best.name}, the best expert"))
    tiles.append(Tile(number(summary.regret), "regret of the mixture"))
    tiles.append(Tile(number(bound.value) if bound else "withheld", "proved bound on the expected regret"))
    # Forecasts have a table of their own; as facts they would all have the same name.
    facts = {name: Name(text) for name, text in summary.rows() if name != "forecast"}
    sections = [Section("Summary", (Facts(facts),))]
    if summary.forecasts:
        sections.insert(0, Section("Forecasts", (_forecasts(summary),)))
    if summary.curves.experts.size:
        sections.append(Section("Weights", (_weights(summary),)))
        sections.append(Section("Cumulative losses", (_ahead(summary), _losses(summary))))
    sections.append(Section("Regret", (_regret(summary),)))
    sections.append(Section("Experts", (_experts(summary),)))
    sections.append(Section("Certificate", (Facts({a.strip(): Name(b) for a, b in summary.certificate.rows()}),)))
    lead = (
        f"{summary.answered} rows answered, {summary.settled} settled, {summary.n} experts. Each answer "
        f"was made before its target was seen. Guarantee: {summary.guarantee}."
    )
    return Page("Combined forecasts", lead, (Tiles(tuple(tiles)),), tuple(sections), _facts())


def _forecasts(summary: Summary) -> Table:
    told = summary.forecasts
    timed = told[-1].time is not None
    # As text: the four digits of a number in a table are too few for what was asked for.
    cells = [(str(one.row), one.time or "", f"{one.forecast:.6g}") for one in told]
    rows = tuple(tuple(Name(text) for text in (row if timed else row[::2])) for row in cells)
    more = f" The last {len(told)} of {summary.waiting}." if summary.waiting > len(told) else ""
    heads = ("row", "time", "forecast") if timed else ("row", "forecast")
    return Table(heads, rows, f"Rows that wait for their target.{more}", sortable=False)


def _weights(summary: Summary) -> Figure:
    curves, rows = summary.curves, []
    for i in _shown(summary):
        rows += curve(curves.rows, curves.weights[:, i], summary.experts[i].name)
    top = max(summary.experts, key=lambda e: e.weight)
    alt = f"The weight of each expert, row by row; at the end the largest is {top.weight:.3g}, of {top.name}."
    return lines("Weights over time", "weight", rows, alt)


def _losses(summary: Summary) -> Figure:
    curves, rows = summary.curves, curve(summary.curves.rows, summary.curves.mix, "mixture")
    for i in _shown(summary)[: LINES - 1]:
        rows += curve(curves.rows, curves.experts[:, i], summary.experts[i].name)
    alt = f"Cumulative {summary.loss} loss of the mixture ({summary.mix_loss:.6g} at the end) and of the best experts."
    return lines("Cumulative loss", "loss", rows, alt)


def _ahead(summary: Summary) -> Figure:
    curves, rows = summary.curves, []
    for i in _shown(summary)[:3]:
        rows += curve(curves.rows, curves.experts[:, i] - curves.beside[:, i], summary.experts[i].name)
    alt = "Cumulative loss of three experts less the mixture's in the same rows: below zero an expert is ahead."
    return lines("Ahead of the mixture (below 0) or behind it", "loss less the mixture's", rows, alt)


def _regret(summary: Summary) -> Figure:
    curves = summary.curves
    rows = curve(curves.rows, curves.regret, "mixture") + curve(curves.rows, curves.own_regret, "<p, l>")
    bound = curve(curves.rows, curves.bound, "bound")
    proved = (
        f"; the bound, against {summary.bound.against} losses, ends at {summary.bound.value:.6g}"
        if summary.bound
        else "; the bound is withheld"
    )
    alt = f"Regret of the mixture ({summary.regret:.6g} at the end) and of <p, l> ({summary.own_regret:.6g}){proved}."
    return lines("Regret (solid) and its proved bound (dashed)", "regret", rows, alt, bound)


def _experts(summary: Summary) -> Table:
    ranked = sorted(summary.experts, key=lambda e: e.loss / e.rows if e.rows else np.inf)
    rows = tuple(
        (Name(e.name), e.rows, e.loss if e.rows else None, e.loss / e.rows if e.rows else None,
         e.mix_loss if e.rows else None, e.weight)
        for e in ranked[:ROWS]
    )  # fmt: skip
    more = f" The first {ROWS} of {summary.n}." if summary.n > ROWS else ""
    caption = f"Losses over the rows in which the expert was awake; the mixture's in the same rows.{more}"
    heads = ("expert", "rows awake", "loss", "mean loss", "mixture's loss there", "weight at the end")
    return Table(heads, rows, caption)


def replay_page(told: Replay) -> Page:
    """The page of a replay: estimates with their intervals, and how they settled."""
    word = "gain" if told.gains else "loss"
    best = told.best_action
    tiles = [Tile(number(told.logged.value), f"mean {word} of the logged policy")]
    for one in told.learners[:2]:
        tiles.append(Tile(number(one.estimates["dr"].value), f"{one.name}, doubly robust", "good"))
    tiles.append(Tile(number(best.value), f"always {best.name}, the best action in hindsight"))
    rows, lines_ = [], []
    for one in told.learners:
        for estimate in one.estimates.values():
            low, high = estimate.interval
            rows.append((Name(one.name), estimate.name, estimate.value, low, high, one.accepted, one.effective))
        if one.curve.size:
            lines_ += curve(one.rows, one.curve[:, 0], one.name)
    heads = ("learner", "estimate", f"mean {word}", "95% from", "to", "rows accepted", "effective rows")
    blocks: tuple[Any, ...] = (Table(heads, tuple(rows), "Each estimate is of the mean a row; intervals are normal."),)
    if lines_:
        alt = f"The doubly robust estimate of the mean {word}, as the log is read (first run)."
        blocks += (lines("How the estimates settle", f"mean {word}", lines_, alt),)
    played = {one.name: Name(one.learner) for one in told.learners}
    single = tuple((Name(e.name), e.value, *e.interval) for e in told.single[:ROWS])
    sections = (
        Section("Estimates", (*blocks, Facts(played))),
        Section("Single actions", (Table(("action", f"mean {word}", "95% from", "to"), single),)),
        Section("What the words mean", tuple(Text(text) for text in _MEANINGS)),
    )
    kind = "logged propensities" if told.propensities else "a uniform log"
    lead = f"{told.rows} rows, {len(told.actions)} actions, {kind}, {told.runs} runs of each learner."
    return Page("Replay of a log", lead, (Tiles(tuple(tiles)),), sections, _facts(seed=str(told.seed)))


_MEANINGS = (
    "*replay*: rows are accepted so that their actions have the learner's own distribution; the mean of those rows.",
    "*ips*: every row, weighted by q/p, the learner's probability of the logged action over the log's.",
    "*snips*: the same, divided by the sum of the weights: steadier, a little biased in short logs.",
    "*dr*: doubly robust: the mean losses of the rows before, corrected by the weighted error. The one to read.",
)


def route_page(told: Routes) -> Page:
    """The page of learners side by side."""
    word = "gain" if told.gains else "loss"
    tiles = [
        Tile(
            number(float(told.losses[told.best]) / told.rounds), f"mean {word} of {told.arms[told.best]}, the best arm"
        )
    ]
    for sees in ("one loss", "every loss"):
        found = [one for one in told.routes if one.sees == sees]
        if found:
            tiles.append(Tile(number(found[0].regret), f"least regret, {found[0].name}, sees {sees}", "good"))
    rows = []
    for one in told.routes:
        interval = one.interval or (None, None)
        bound = one.record.bound
        rows.append((
            one.name, one.sees, one.regret, *interval, None if bound is None else bound.value,
            "" if bound is None else bound.against, one.record.bound_withheld if bound is None else bound.source,
            one.record.learner,
        ))  # fmt: skip
    heads = ("learner", "sees", "regret", "95% from", "to", "bound", "against", "source", "description")
    sections = [Section("Side by side", (Table(heads, tuple(rows), "Regret against the best arm in hindsight."),))]
    for sees in ("one loss", "every loss"):
        drawn: list[dict[str, Any]] = []
        for one in told.routes:
            if one.sees == sees:
                record = one.record
                regret = record.mean_regret if record.expected_regret is None else np.asarray(record.expected_regret)
                regret = regret if regret.ndim == 1 else regret.mean(axis=0)
                drawn += curve(record.checkpoints, regret, one.name)
        if drawn:
            alt = f"Mean regret of each learner that sees {sees}, over the rounds."
            title = "Bandits: they see only what they played" if sees == "one loss" else "Experts: they see every loss"
            sections.append(Section(title, (lines("Regret", "regret", drawn, alt, x_title="round"),)))
    arms = tuple(
        (Name(name), total, total / told.rounds) for name, total in zip(told.arms, told.losses.tolist(), strict=True)
    )
    sections.append(Section("Arms", (Table(("arm", word, f"mean {word}"), arms[:ROWS]),)))
    lead = f"{told.rounds} rounds, {len(told.arms)} arms, {told.runs} runs. {told.advice().capitalize()}."
    return Page("Which learner", lead, (Tiles(tuple(tiles)),), tuple(sections), _facts(seed=str(told.seed)))


def _facts(**more: str) -> dict[str, str]:
    from hannan import __version__

    return {"made by": f"hannan {__version__}", **more}
