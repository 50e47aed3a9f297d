"""The page of a replay: estimates with their intervals, and how they settled."""

from __future__ import annotations

from typing import Any

from hannan.report import Facts, Page, Section, Table, Text, Tile, Tiles
from hannan.report.markup import number
from hannan.tables.figures import ROWS, Name, curve, lines, made_by
from hannan.tables.replay.function import Replay


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
    return Page("Replay of a log", lead, (Tiles(tuple(tiles)),), sections, made_by(seed=str(told.seed)))


_MEANINGS = (
    "*replay*: rows are accepted so that their actions have the learner's own distribution; the mean of those rows.",
    "*ips*: every row, weighted by q/p, the learner's probability of the logged action over the log's.",
    "*snips*: the same, divided by the sum of the weights: steadier, a little biased in short logs.",
    "*dr*: doubly robust: the mean losses of the rows before, corrected by the weighted error. The one to read.",
)
