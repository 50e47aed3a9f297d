"""`hn.compare`: several learners on several environments, with intervals and a table."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hannan import validation
from hannan.games.compare.environments import Environment, environment
from hannan.games.compare.numbers import Cell, Compared, Entrant, Shows, chosen_from, distinct, entrants, play_cell
from hannan.games.driver import Progress
from hannan.games.play import is_factory, label
from hannan.mathematics.intervals import T_INTERVAL
from hannan.saving.formatting import ceiling, figure
from hannan.saving.result import Result, Shown, frame_of


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Compared, Result):
    """Result of `hn.compare`: every learner in every environment, as rows, frames, text, LaTeX or a chart.

    Parameters
    ----------
    cells : tuple of Cell
        One entry per learner and environment, in the order given.
    seed : int
        The seed.
    baseline : str, optional
        Learner that differences refer to. Default: the first one.
    title : str, optional
        Title of the text and the page.

    Examples
    --------
    >>> import hannan as hn
    >>> result = hn.compare({"a": "bandit", "b": "exp3"}, {"clicks": {"means": [0.2, 0.6]}}, runs=4, rounds=200)
    >>> len(result.cells), [row["learner"] for row in result.rows()]
    (2, ['a', 'b'])
    """

    def to_frame(self) -> Any:
        """Return all curves as a tidy frame.

        Returns
        -------
        pandas.DataFrame or polars.DataFrame
            Columns learner, environment, run, round, regret, loss, bound, against and seconds (per run). `regret` and
            `loss` are cumulative up to `round`.
        """
        return frame_of(self.columns())

    def summary(self, level: float = 0.95) -> Any:
        """Return the regret of every learner in every environment as a frame.

        Parameters
        ----------
        level : float, optional
            Confidence level of the intervals.

        Returns
        -------
        pandas.DataFrame or polars.DataFrame
            One row per learner and environment, as `rows` returns them.
        """
        return frame_of(_transposed(self.rows(level)))

    def differences(self, baseline: str | None = None, level: float = 0.95, together: bool = False) -> Any:
        """Return the differences to the baseline as a frame.

        Parameters
        ----------
        baseline : str, optional
            Learner that differences refer to. Default: that of the comparison.
        level : float, optional
            Confidence level of the intervals.
        together : bool, optional
            Widen the intervals so that all hold simultaneously (Bonferroni).

        Returns
        -------
        pandas.DataFrame or polars.DataFrame
            One row per learner and environment, as `difference_rows` returns them.
        """
        return frame_of(_transposed(self.difference_rows(baseline, level, together)))

    def plot(self, *, show: Shows = "mean", log: bool = False, level: float = 0.95, columns: int = 2) -> Any:
        """Return an Altair chart with one panel per environment: regrets over the rounds.

        Parameters
        ----------
        show : {"mean", "quantiles", "largest"}, optional
            Mean with its t interval, median with a band from the 5% to the 95% quantile over the runs, or the largest
            regret of any run.
        log : bool, optional
            Use logarithmic axes, and draw the bounds as dashed lines. Default: bounds are printed under the titles.
        level : float, optional
            Confidence level of the intervals.
        columns : int, optional
            Panels per row.

        Returns
        -------
        altair.ConcatChart
            The chart.
        """
        from hannan.games.compare.page import chart

        return chart(self, show=show, log=log, level=level, columns=columns)

    def figure(self, *, show: Shows = "mean", log: bool = False, level: float = 0.95, columns: int = 2) -> Any:
        """Return a matplotlib figure with one panel per environment, to restyle before printing.

        Colors and dashes are those of `plot` and of the page.

        Parameters
        ----------
        show : {"mean", "quantiles", "largest"}, optional
            As in `plot`.
        log : bool, optional
            Use logarithmic axes.
        level : float, optional
            Confidence level of the intervals.
        columns : int, optional
            Panels per row.

        Returns
        -------
        matplotlib.figure.Figure
            The figure; `figure.axes` has one axes object per environment.
        """
        from hannan.games.compare.page import figure_for_print

        return figure_for_print(self, show=show, log=log, level=level, columns=columns)

    def to_latex(self, level: float = 0.95, caption: str = "", label: str = "", *, show: Shows = "mean") -> str:
        r"""Return a LaTeX table (booktabs) of regrets, learners by environments.

        Parameters
        ----------
        level : float, optional
            Confidence level of the intervals.
        caption : str, optional
            Caption. Default: a description of the numbers.
        label : str, optional
            LaTeX label.
        show : {"mean", "quantiles", "largest"}, optional
            Mean with half the width of its t interval, median with the 95% quantile over the runs, or the largest
            regret of any run.

        Returns
        -------
        str
            The table. Bold are the smallest value per environment and, for means, all values that are not
            significantly larger.
        """
        from hannan.games.compare.numbers import shows, table

        return table(self, level, caption, label, shows(show))

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Write comparison.parquet, summary.json, table.tex, figure.{svg,pdf,png} and index.html, atomically.

        Parameters
        ----------
        folder : str or os.PathLike
            The folder.

        Returns
        -------
        Path
            The folder.
        """
        from hannan.games.compare.page import save

        return save(self, Path(folder))

    def shown(self) -> Shown:
        place = {name: k for k, name in enumerate(self.environments)}
        rows = sorted(self.rows(), key=lambda row: (place[row["environment"]], row["regret"]))
        heads = ("environment", "learner", "regret", T_INTERVAL, "largest run", "bound", "against")
        title = f"{self.title}: {len(self.learners)} learners, {len(self.environments)} environments, seed {self.seed}"
        return Shown(title, (("smallest", self.headline()),), heads, [_told(row) for row in rows])

    def __str__(self) -> str:
        from hannan.games.compare.numbers import text

        return text(self)

    __repr__ = __str__


def _told(row: dict[str, Any]) -> tuple[Any, ...]:
    between = f"{figure(row['low'])} .. {figure(row['high'])}" if row["runs"] > 1 else "one run"
    bound = "withheld" if row["bound"] is None else ceiling(row["bound"])
    return row["environment"], row["learner"], row["regret"], between, row["largest"], bound, row["against"]


def _transposed(rows: Sequence[dict[str, Any]]) -> dict[str, list[Any]]:
    return {name: [row[name] for row in rows] for name in rows[0]} if rows else {}


def compare(
    learners: Any, environments: Any, runs: int = 100, rounds: int | None = None, seed: int = 0, *,
    n: int | None = None, baseline: str | None = None, share_streams: bool = False, threads: int | None = None,
) -> Comparison:  # fmt: skip
    """Play every learner in every environment, and compare regrets with intervals and bounds.

    In run r of an environment all learners meet the same losses, drawn from `seed`. Every learner has its own random
    stream, derived from its name.

    Parameters
    ----------
    learners : dict or list
        Names and learners. A learner is an instance, its text ("bandit:tsallis", "exp3"), a user-defined class with
        `act` and `observe`, or a factory: a function that returns a learner or a player, called with those of n, rounds
        and seed that it accepts. A dict is a grid over parameters: ``{"class": Mine, "gamma": [0.5, 1]}`` or
        ``{"learner": "exp3", "scale": [5, 10]}`` plays one learner per value. Items of a list are named by their
        text, repr or function name. All learners choose one arm, or all choose from the same set, such as slates of
        one size.
    environments : dict or list
        Names and environments; see Notes. Or a list of names.
    runs : int, optional
        Number of runs per pair; runs are the unit of every interval.
    rounds : int, optional
        Number of rounds. It shortens longer environments, and is required for those of any length.
    seed : int, optional
        Seed of losses and learners.
    n : int, optional
        Number of arms, for environments of any size if the learners do not fix it.
    baseline : str, optional
        Learner that differences refer to. Default: the first one.
    share_streams : bool, optional
        Give all learners the same random stream in a run.
    threads : int, optional
        Number of threads. The result does not depend on it.

    Returns
    -------
    Comparison
        Regrets of all runs. A bound is shown if it holds in the environment: a bound for i.i.d. losses only if the
        losses are drawn independently from one distribution.

    Raises
    ------
    ValueError
        If a learner does not fit an environment. No game is played then.

    Notes
    -----
    An environment is one of::

        losses                          an array (T, n), one per run (runs, T, n), a frame with one column per arm
        hn.adversaries.Bernoulli(m, T)  or {"means": m}: Bernoulli arms; regret is against the best mean, or the
                                        slate with the best sum of means
        "drifting"                      an adversary of hn.adversaries by name, or
                                        {"adversary": "switching", "phases": 20} with its parameters
        f(rounds, n, seed)              a function that returns the losses of one run
        f(t, past)                      a user-defined adversary that observes past moves; losses differ per learner
        "losses.parquet"                a file (.parquet, .csv, .npy), or {"file": ..., "columns": [...]}
        {"losses": ..., "advice": ...}  for learners that take advice

    Examples
    --------
    >>> import hannan as hn
    >>> result = hn.compare(
    ...     {"ours": "bandit", "Exp3": "exp3"}, {"clicks": {"means": [0.2, 0.4, 0.5]}}, runs=20, rounds=2000)
    >>> [row["learner"] for row in result.rows() if row["regret"] <= row["bound"]]
    ['ours', 'Exp3']
    >>> ours, exp3 = (row["regret"] for row in result.rows())
    >>> ours < exp3
    True
    """
    runs, seed = validation.count(runs, "runs"), validation.count(seed, "seed", least=0)
    rounds = None if rounds is None else validation.count(rounds, "rounds")
    n = None if n is None else validation.count(n, "n")
    who = distinct([one for name, given in _named(learners, "learners") for one in entrants(name, given)])
    where = [environment(name, given) for name, given in _named(environments, "environments")]
    if baseline is not None and baseline not in [e.name for e in who]:
        hint = validation.meant(baseline, [e.name for e in who])
        raise ValueError(f"baseline must be one of {', '.join(e.name for e in who)}; got {baseline!r}{hint}")
    cells: list[Cell] = []
    progress = Progress(len(who) * len(where))
    try:
        for cell in play_all(who, where, runs, rounds, seed, n=n, shared=share_streams, threads=threads):
            cells.append(cell)
            progress.update(len(cells))
    finally:
        progress.close()
    return Comparison(tuple(cells), seed=seed, baseline=baseline)


def play_all(
    who: Sequence[Entrant], where: Sequence[Environment], runs: int, rounds: int | None, seed: int, *,
    n: int | None = None, shared: bool = False, threads: int | None = None,
) -> Iterator[Cell]:  # fmt: skip
    """Yield every learner in every environment when it is ready; raise before any game if a pair cannot be played."""
    for player, place, columns, length in list(_games(who, where, n, rounds, runs)):
        yield play_cell(player, place, columns, length, runs, seed, shared=shared, threads=threads)


Game = tuple[Entrant, Environment, int, int]


def _games(
    who: Sequence[Entrant], where: Sequence[Environment], n: int | None, rounds: int | None, runs: int
) -> Iterator[Game]:
    """Return every pair with its sizes; raise if one cannot be played."""
    for place in where:
        columns, length = _sizes(place, who, where, n, rounds)
        check(place, columns, length, runs)
        alike(place, [(player, fits(player, place, columns, length)) for player in who])
        for player in who:
            yield player, place, columns, length


def check(place: Environment, n: int, rounds: int, runs: int) -> None:
    """Raise if an environment cannot have these sizes."""
    if place.n is not None and n != place.n:
        raise ValueError(f"environment {place.name!r} has {place.n} arms; got n = {n}")
    if place.rounds is not None and rounds > place.rounds:
        raise ValueError(f"environment {place.name!r} has {place.rounds} rounds; got rounds = {rounds}")
    if place.runs is not None and runs != place.runs:
        raise ValueError(f"environment {place.name!r} has losses for {place.runs} runs; got runs = {runs}")
    if place.check is not None:
        try:
            place.check(n, rounds)
        except ValueError as reason:
            raise ValueError(f"environment {place.name!r}: {reason}") from None


def fits(player: Entrant, place: Environment, n: int, rounds: int) -> Any:
    """Build the learner once, so that an invalid one raises before any game. Returns the learner."""
    learner = player.built(place, n, rounds)
    own = getattr(learner, "actions", None) or getattr(learner, "n", None)
    if isinstance(own, int) and own != n and place.n is not None and place.answers is None:
        raise ValueError(f"learner {player.name!r} has {own} arms; environment {place.name!r} has {n}")
    if hasattr(learner, "experts") and place.advice is None and place.answers is None:
        raise ValueError(f"learner {player.name!r} takes advice; environment {place.name!r} has no advice")
    return learner


def alike(place: Environment, built: Sequence[tuple[Entrant, Any]]) -> None:
    """Raise if learners choose from different sets: their regrets would be against different choices in hindsight."""
    if place.answers is not None:
        return
    first, one = built[0]
    for player, learner in built[1:]:
        sets = chosen_from(one), chosen_from(learner)
        if sets[0] != sets[1]:
            told = ["one arm" if chosen is None else repr(chosen) for chosen in sets]
            raise ValueError(
                f"learners of one comparison must choose from the same set; got {told[0]} for {first.name!r} and "
                f"{told[1]} for {player.name!r} in environment {place.name!r}. Compare them separately"
            )


def _sizes(
    place: Environment, who: Sequence[Entrant], where: Sequence[Environment], n: int | None, rounds: int | None
) -> tuple[int, int]:
    length = rounds if rounds is not None else place.rounds
    if length is None:
        raise ValueError(f"rounds is required: environment {place.name!r} has losses for any number of rounds")
    columns = place.n if place.n is not None else n if n is not None else common_arms(place, who, where)
    return columns, length


def common_arms(place: Environment, who: Iterable[Entrant], where: Iterable[Environment]) -> int:
    """Return the number of arms of an environment of any size: that of the learners, or of the other environments."""
    found = {player.n for player in who if player.n is not None} or {other.n for other in where if other.n is not None}
    if len(found) != 1:
        numbers = " and ".join(map(str, sorted(found))) or "no number of arms"
        raise ValueError(
            f"n is required for environment {place.name!r}, which can have any number of arms; learners and "
            f"environments have {numbers}"
        )
    return found.pop()


def _named(given: Any, what: str) -> list[tuple[str, Any]]:
    """Return (name, thing) pairs of a mapping, or of a list, whose things are named by their text."""
    if isinstance(given, Mapping):
        pairs = list(given.items())
    elif isinstance(given, str) or not isinstance(given, Iterable):
        raise ValueError(f"{what} must be a dict from names to {what}, or a list; got {given!r}")
    else:
        pairs = _numbered([(_name(thing, what), thing) for thing in given])
    if not pairs:
        raise ValueError(f"{what} must not be empty; got {given!r}")
    names = [name for name, _ in pairs]
    for name in names:
        if not isinstance(name, str) or not name.strip():
            raise ValueError(f"names of {what} must be non-empty strings; got {name!r}")
        if names.count(name) > 1:
            raise ValueError(f"names of {what} must be unique; got {name!r} twice. Pass a dict with other names")
    return pairs


def _name(thing: Any, what: str) -> str:
    if isinstance(thing, str):
        return thing
    if what == "learners" and isinstance(thing, Mapping):
        made = thing.get("class", thing.get("learner"))
        return made.rpartition(":")[2] if isinstance(made, str) and "class" in thing else _name(made, what)
    if what == "environments" and not callable(thing):
        raise ValueError(f"a list of environments must contain names only; got {type(thing).__name__}. Pass a dict")
    return label(thing)


def _numbered(pairs: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """Return the pairs with a number after each name that earlier callables have: <lambda>, <lambda> 2."""
    seen: dict[str, int] = {}
    found = []
    for name, thing in pairs:
        if is_factory(thing):
            seen[name] = seen.get(name, 0) + 1
            name = name if seen[name] == 1 else f"{name} {seen[name]}"
        found.append((name, thing))
    return found
