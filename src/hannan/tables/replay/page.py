"""The page of a replay: estimates with their intervals, and how they settled."""

from __future__ import annotations

from typing import Any

from hannan.report import Figure, Fold, Layer, Page, Picture, Section, Table, Text, Tile, Tiles
from hannan.saving.formatting import clipped, counted, number
from hannan.tables.replay.evaluated import Evaluated
from hannan.tables.replay.log import LOGGED
from hannan.tables.write import ROWS, Name, curve, lines, made_by


def replay_page(told: Evaluated) -> Page:
    """The page of a replay: who does best first, then every estimate, and how they settled."""
    word, level = "gain" if told.gains else "loss", f"{told.logged.level:.0%}"
    best = told.best_action
    tiles = [Tile(number(told.logged.value), f"mean {word} of the logged policy")]
    for one in told.learners[:2]:
        tiles.append(Tile(number(one.estimates["dr"].value), f"{clipped(one.name, 40)}, doubly robust", "good"))
    name = clipped(best.name, 40)
    tiles.append(Tile(number(best.value), f"always {name}, the best of {len(told.single)} in hindsight"))
    rows, lines_ = [], []
    for one in told.learners:
        for estimate in one.estimates.values():
            low, high = estimate.interval
            accepted = None if one.fixed else one.accepted
            rows.append((Name(one.name), estimate.name, estimate.value, low, high, accepted, one.effective))
        if one.curve.size:
            lines_ += curve(one.rows, one.curve[:, 0], one.name)
    heads = ("learner", "estimate", f"mean {word}", f"{level} from", "to", "rows accepted", "effective rows")
    caption = "Each estimate is of the mean a row; the intervals hold for rare events too."
    fixed = any(one.fixed for one in told.learners)
    caption += " A policy of your own is fixed: it learns nothing, so no rows are accepted for it." if fixed else ""
    blocks: tuple[Any, ...] = (Table(heads, tuple(rows), caption),)
    if lines_:
        alt = f"The doubly robust estimate of the mean {word}, as the log is read (first run)."
        alt += " Policies of your own are not drawn: they are fixed, and learn nothing." if fixed else ""
        blocks += (lines("How the estimates settle", f"mean {word}", lines_, alt),)
    played = Table(
        ("name", "description"), tuple((Name(o.name), Name(o.learner)) for o in told.learners), sortable=False
    )
    ranked = sorted(told.single, key=lambda e: -e.value if told.gains else e.value)
    single = tuple((Name(e.name), e.value, *e.interval) for e in ranked[:ROWS])
    many = f" The first {ROWS} of {len(ranked)}." if len(ranked) > ROWS else ""
    sections = (
        Section("Who does best", (Figure(spans(told)), Text(f"{_together(told)}{many}"))),
        Section("Estimates", (*blocks, Fold("Who they are", (played,)))),
        Section("Single actions", (Table(("action", f"mean {word}", f"{level} from", "to"), single),)),
        Section(
            "What the words mean",
            (Fold("The four estimates, and where their intervals come from", _meanings(told)),),
        ),
    )
    held = f" Condition: {told.condition}." if told.condition else ""
    kind = "logged propensities" if told.propensities else "a uniform log"
    size = f"{counted(told.rows, 'row')}, {counted(len(told.actions), 'action')}, {kind}"
    lead = f"{size}, {counted(told.runs, 'run')} of each learner.{held}"
    return Page("Replay of a log", lead, (Tiles(tuple(tiles)),), sections, made_by(seed=str(told.seed)))


def _together(told: Evaluated) -> str:
    """What may be said of the best of many actions."""
    ranked = sorted(told.single, key=lambda e: -e.value if told.gains else e.value)
    best = ranked[0]
    # All intervals hold at once, so an action whose interval lies apart from that of the best is worse.
    as_good = [
        e for e in ranked if (e.interval[1] >= best.interval[0] if told.gains else e.interval[0] <= best.interval[1])
    ]
    says = f"The {told.logged.level:.0%} intervals of the single actions hold all at once"
    if len(as_good) == 1:
        return (
            f"{says}, so that the best of {len(ranked)} is no lucky one: no other action can be as good as the first."
        )
    return f"{says}: {len(as_good)} of {len(ranked)} actions may be the best, as far as this log can tell."


def _meanings(told: Evaluated) -> tuple[Text, ...]:
    """Return the explanations, in the units of the log."""
    word = "gain" if told.gains else "loss"
    return tuple(Text(text.replace("{word}", word)) for text in _MEANINGS)


_MEANINGS = (
    "*replay*: rows are accepted so that their actions have the learner's own distribution; the mean of those rows.",
    "*ips*: every row, weighted by q/p, the learner's probability of the logged action over the log's.",
    "*snips*: the same, divided by the sum of the weights: steadier, a little biased in short logs.",
    "*dr*: doubly robust: the mean losses of the rows before, corrected by the weighted error. The one to read.",
    f"*The logged policy*: {LOGGED}.",
    "If propensities never change and losses are 0 or 1, the intervals of the logged policy and of single actions are "
    "Clopper and Pearson's, exact for independent rows of one distribution. All others are empirical Bernstein "
    "intervals, which hold for any losses in their range, if no action ever had a smaller probability than the "
    "smallest propensity in the log. A column with the smallest probability of any action in each row verifies this "
    "condition. All intervals need a number of rows that was fixed in advance.",
)


def spans(told: Evaluated, most: int = 30) -> Picture:
    """Every learner and single action as a dot, the best first, with its interval as whiskers.

    Of very many actions the best ones; learners, policies and the log are always there.
    """
    word = "gain" if told.gains else "loss"
    found = [("the logged policy", told.logged, "logged")]
    for one in told.learners:
        kept = one.estimates.get("dr") or next(iter(one.estimates.values()))
        found.append((one.name, kept, "learner"))
    found += [(f"always {e.name}", e, "one action") for e in told.single]
    found.sort(key=lambda row: -row[1].value if told.gains else row[1].value)
    room = most - sum(kind != "one action" for _, _, kind in found)
    kept_actions = {id(row) for row in [row for row in found if row[2] == "one action"][: max(room, 1)]}
    drawn = [row for row in found if row[2] != "one action" or id(row) in kept_actions]
    rows = [
        {"who": name, "mean": e.value, "low": e.interval[0], "high": e.interval[1], "kind": kind}
        for name, e, kind in drawn
    ]
    more = f"; the best {len(kept_actions)} of {len(told.single)} actions" if len(drawn) < len(found) else ""
    alt = f"Mean {word} a row with its interval, the best first{more}."
    layer = Layer("spans", tuple(rows), x="mean", y="who", series="kind")
    order = tuple(name for name, _, _ in drawn)
    return Picture(f"Mean {word} a row", f"mean {word}", "", (layer,), alt, order=order, height=22 * len(rows) + 20)
