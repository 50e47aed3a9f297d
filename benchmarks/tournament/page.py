"""Report of the tournament: one table of standings per setting, all games, and pictures."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from benchmarks.tournament.rules import Outcome, Setting
from hannan.games.compare.numbers import interval
from hannan.mathematics.intervals import T_INTERVAL
from hannan.report import Badge, Figure, Layer, Page, Picture, Section, Table, Text, Tile, Tiles
from hannan.saving.formatting import AtMost, figure

TITLES: dict[Setting, str] = {
    "experts": "Experts (full information)",
    "bandit": "Bandits (only the loss of the chosen arm is observed)",
    "expert_bandit": "Bandits with expert advice",
    "combinatorial": "Combinatorial decisions: pairs out of n, and paths in a grid",
}
_INTRO: dict[Setting, str] = {
    "experts": "The expected regret is exact; for Dropout and RandomWalk, which keep noise over the rounds, it is "
    "the mean "
    "over the runs. The *greedy* adversary depends on the learner: it counts only for the column *worst*.",
    "bandit": "Mean regret over the runs, with an approximate 95% t-interval.",
    "expert_bandit": "Regret relative to the best expert: mean over the runs, with an approximate 95% t-interval.",
    "combinatorial": "Regret relative to the best pair or path; the cost of a decision is the sum over its m "
    "components. "
    "FPL and Hedge observe every loss, FPL-TRIX those of the chosen components, and Tsallis-INF only their sum. "
    "Hedge and "
    "Tsallis-INF use a list of all decisions, which is possible only for small sets.",
}


def standings(outcomes: Iterable[Outcome], promises: dict[str, str]) -> list[dict[str, Any]]:
    """Return one row per learner, ordered by `share`, with its mean regret and its guarantee.

    `share` is the mean over the games of regret/sqrt(rounds), so that long games do not dominate. `worst` is the
    largest regret/bound. Losses that depend on the learner differ between learners and count only for `worst`.
    """
    grouped: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        grouped.setdefault(outcome.learner, []).append(outcome)
    best: dict[str, float] = {}
    for games in grouped.values():
        for game in filter(lambda game: not game.answered, games):
            best[game.adversary] = min(best.get(game.adversary, np.inf), game.regret)
    rows = []
    for name, games in grouped.items():
        met = [game for game in games if not game.answered]
        runs = max(game.regrets.size for game in met)
        shares = np.mean([np.broadcast_to(g.regrets, runs) / np.sqrt(g.rounds) for g in met], axis=0)
        low, high = interval(shares) if runs > 1 else (float(shares[0]), float(shares[0]))
        bounded = [game for game in games if game.bound is not None]
        rows.append(
            {
                "learner": name,
                "promise": promises.get(name, ""),
                "regret": float(np.mean([g.regret for g in met])),
                "share": float(shares.mean()),
                "low": low,
                "high": high,
                "bound": float(np.mean([g.bound for g in bounded if not g.answered])) if bounded else None,
                "worst": max((g.regret / g.bound for g in bounded if g.bound), default=None),
                "kept": all(g.kept is not False for g in games) if bounded else None,
                "wins": sum(g.regret <= best[g.adversary] + 1e-9 for g in met),
                "microseconds": games[0].microseconds,
                "games": len(games),
            }
        )
    return sorted(rows, key=lambda row: float(row["share"]))


def page(
    outcomes: list[Outcome], promises: dict[Setting, dict[str, str]], facts: dict[str, str], notes: list[str]
) -> Page:
    """Return the report."""
    kept = sum(o.kept is True for o in outcomes)
    broken = sum(o.kept is False for o in outcomes)
    tiles = (
        Tile(str(len({(o.setting, o.learner) for o in outcomes})), "learners"),
        Tile(str(len({o.adversary for o in outcomes})), "loss sequences"),
        Tile(str(len(outcomes)), "games"),
        Tile(str(kept), "bounds satisfied", "good"),
        Tile(str(broken), "bounds exceeded", "bad" if broken else "plain"),
    )
    sections = []
    for setting, title in TITLES.items():
        games = [o for o in outcomes if o.setting == setting]
        if games:
            rows = standings(games, promises[setting])
            blocks = (_standings(rows), Figure(_map(games, [r["learner"] for r in rows])), _games(games))
            sections.append(Section(title, blocks, anchor=setting.replace("_", "-"), intro=_INTRO[setting]))
    head = (Tiles(tiles), *(Text(note, "note") for note in notes))
    return Page("The tournament", _LEAD, head, tuple(sections), facts)


_LEAD = (
    "Regret of every learner against every adversary of the library and on the given tables, with its guarantee. "
    "Learners "
    "are sorted by the mean over the games of regret/√T (smaller is better); click a column heading to sort by it."
)


def _badge(kept: bool | None) -> Badge:
    if kept is None:
        return Badge("no bound", "plain")
    return Badge("satisfied", "good", "✓") if kept else Badge("exceeded", "bad", "!")


def _between(low: float, high: float) -> str:
    return "exact" if low == high else f"{figure(low)} .. {figure(high)}"


def _up(bound: float | None) -> float | None:
    return None if bound is None else AtMost(bound)


def _standings(rows: list[dict[str, Any]]) -> Table:
    columns = (
        "learner",
        "guarantee",
        "regret/√T",
        T_INTERVAL,
        "regret",
        "bound",
        "worst",
        "bounds",
        "µs per round",
    )
    cells = tuple(
        (
            row["learner"],
            row["promise"],
            row["share"],
            _between(row["low"], row["high"]),
            row["regret"],
            _up(row["bound"]),
            row["worst"],
            _badge(row["kept"]),
            row["microseconds"],
        )
        for row in rows
    )
    caption = "Standings. Regret and bound are means over the games; *worst* is the largest regret/bound."
    return Table(columns, cells, caption=caption)


def _games(games: list[Outcome]) -> Table:
    columns = (
        "losses",
        "learner",
        "rounds",
        "mean regret",
        T_INTERVAL,
        "largest run",
        "bound",
        "against",
        "regret/bound",
        "source",
    )
    ordered = sorted(games, key=lambda o: (o.real, o.adversary, o.regret))
    cells = []
    for o in ordered:
        low, high = o.interval()
        between = _between(low, high)
        ratio = None if not o.bound else o.regret / o.bound
        cells.append(
            (
                o.adversary,
                o.learner,
                o.rounds,
                o.regret,
                between,
                float(o.regrets.max()),
                _up(o.bound),
                o.against,
                ratio,
                o.source or o.withheld,
            )
        )
    return Table(columns, tuple(cells), caption="All games")


def _map(games: list[Outcome], order: list[str]) -> Picture:
    """Return a picture of regret/sqrt(T) on each loss sequence, for the five best learners and the defaults."""
    chosen = [name for k, name in enumerate(order) if k < 5 or "default" in name][:8]
    rows = tuple(
        {"losses": o.adversary, "learner": o.learner, "regret/√T": o.regret / float(np.sqrt(o.rounds))}
        for o in games
        if o.learner in chosen and not o.answered
    )
    drawn = len({row["losses"] for row in rows})
    alt = f"Regret over the root of the rounds, for {', '.join(chosen)}, on {drawn} loss sequences."
    layer = Layer("points", rows, x="losses", y="regret/√T", series="learner")
    return Picture(
        "Regret on each loss sequence", "losses", "regret/√T", (layer,), alt=alt, x_kind="nominal", height=320
    )
