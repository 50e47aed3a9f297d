"""The page of learners side by side."""

from __future__ import annotations

from typing import Any

import numpy as np

from hannan.report import Figure, Fold, Page, Picture, Section, Table, Tile, Tiles
from hannan.report.ends import ends, how
from hannan.report.markup import number
from hannan.saving.words import AtMost
from hannan.tables.figures import ROWS, Name, curve, lines, made_by
from hannan.tables.route.routed import Routed


def route_page(told: Routed) -> Page:
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
            one.name, one.sees, one.regret, *interval, None if bound is None else AtMost(bound.value),
            "" if bound is None else bound.against, one.record.bound_withheld if bound is None else bound.source,
        ))  # fmt: skip
    heads = ("learner", "sees", "regret", "95% t from", "to (approx.)", "bound", "against", "source")
    played = tuple((one.name, Name(one.record.learner)) for one in told.routes)
    who = Fold("Who they are", (Table(("name", "description"), played, sortable=False),))
    table = Table(heads, tuple(rows), "Regret against the best arm in hindsight.")
    sections = [Section("Side by side", (Figure(spans(told)), table, who))]
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
    lead = f"{told.size}. {told.advice().capitalize()}."
    return Page("Which learner", lead, (Tiles(tuple(tiles)),), tuple(sections), made_by(seed=str(told.seed)))


def spans(told: Routed) -> Picture:
    """The regret of each learner, the least first, with its interval over the runs as whiskers."""
    order = sorted(told.routes, key=lambda one: one.regret)
    rows = []
    for one in order:
        low, high = one.interval or (one.regret, one.regret)
        rows.append({"learner": one.name, "regret": one.regret, "low": low, "high": high, "sees": one.sees})
    alt = "Regret, smaller is better: " + ", ".join(f"{one.name} {number(one.regret)}" for one in order) + "."
    names = tuple(one.name for one in order)
    return Picture(
        f"Regret{how(rows)}", "regret", "", ends(rows, "learner", "sees"), alt, order=names, height=30 * len(rows)
    )
