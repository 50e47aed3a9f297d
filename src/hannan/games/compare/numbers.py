"""Results of a comparison: one cell per learner and environment, statistics over runs, and tables."""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import inspect
import itertools
import linecache
import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hannan import validation
from hannan.games.compare.environments import Asked, Environment
from hannan.games.driver import derived
from hannan.games.feeds import best_means
from hannan.games.play import built, driven, is_class, is_factory, is_player, label, stated_n
from hannan.games.record import Record
from hannan.games.runners import Request
from hannan.learners.names import Numbers, parse
from hannan.learners.names import learner as named
from hannan.mathematics.intervals import T_INTERVAL, t_interval, t_quantile
from hannan.saving.formatting import ceiling, counted, figure
from hannan.saving.result import plain
from hannan.validation import Array


@dataclass(frozen=True, eq=False)
class Entrant:
    """A learner by name: `given` is a learner, a text of `hannan.learners.names`, a class with act and observe, or a
    factory that returns one of these or a player. `most_runs` limits the runs of learners that take milliseconds per
    round."""

    name: str
    given: Any
    most_runs: int | None = None
    #: Parameters of a learner that is given as text.
    parameters: Mapping[str, Any] = field(default_factory=dict)
    #: Name of the description, without the parameters of a grid; "" if it is the name of the learner.
    described: str = ""

    def built(self, where: Environment, n: int, rounds: int) -> Any:
        """Return the learner for n arms (or actions) and a number of rounds."""
        try:
            return self._built(where, n, rounds)
        except (ValueError, TypeError) as reason:
            raise ValueError(f"learner {self.name!r} in environment {where.name!r}: {reason}") from None

    def _built(self, where: Environment, n: int, rounds: int) -> Any:
        given = self.given
        if isinstance(given, type) or is_factory(given):
            given = built(given, n, rounds)
        if isinstance(given, str):
            settings = dict(self.parameters)
            numbers = Numbers(rounds=rounds, **{key: settings.pop(key) for key in _NUMBERS if key in settings})
            if parse(given).kind == "expert-bandit":
                if where.experts is None:
                    raise ValueError(f"{given!r} needs advice; environment {where.name!r} has no advice")
                return named(given, where.experts, actions=n, numbers=numbers, **settings)
            return named(given, n, numbers=numbers, **settings)
        return given

    @property
    def n(self) -> int | None:
        """Number of arms that the learner fixes; None if it fits any number."""
        if isinstance(self.given, (str, type)):
            return None
        return stated_n(self.given)


def entrant(name: str, given: Any) -> Entrant:
    """Return the entrant for a description; an unknown name raises ValueError.

    >>> entrant("ours", "bandit:tsallis").given
    'bandit:tsallis'
    """
    if isinstance(given, Entrant):
        return given
    if isinstance(given, str):
        try:
            parse(given)
        except ValueError as reason:
            raise ValueError(f"learner {name!r}: {reason}") from None
    elif isinstance(given, type):
        if not is_class(given):
            raise ValueError(f"learner {name!r}: a class must have methods act and observe; got {given.__name__}")
    elif not (hasattr(given, "start") or is_factory(given)):
        hint = ". Pass its class, or a function that returns a new player for each run" * is_player(given)
        raise ValueError(
            f"learner {name!r} must be a learner, its name such as 'bandit:tsallis', a class with act and observe, or "
            f"a function of (n, rounds); got {given!r}{hint}"
        )
    return Entrant(name, given)


#: Parameters of a learner that is given as text which are numbers of its tuning.
_NUMBERS = ("scale", "best_loss")


def entrants(name: str, given: Any, folder: Path | None = None) -> list[Entrant]:
    """Return the entrants of a description: one per point of the grid if it is a dict with lists of parameters.

    A dict has `class` (a class, a factory, or text such as "mine.py:Mine" or "package.module:Mine") or `learner` (a
    learner or its text), and parameters. A parameter with a list of values is an axis of the grid.

    >>> [who.name for who in entrants("Exp3", {"learner": "exp3", "scale": [5, 10]})]
    ['Exp3(scale=5)', 'Exp3(scale=10)']
    """
    if not isinstance(given, Mapping):
        return [entrant(name, given)]
    made, parameters = _described(name, given, folder)
    axes = [key for key, values in parameters.items() if isinstance(values, (list, tuple, range))]
    for key in axes:
        if not len(parameters[key]):
            raise ValueError(f"learner {name!r}: {key} must have at least one value; got {parameters[key]!r}")
    rest = {key: value for key, value in parameters.items() if key not in axes}
    found = []
    for values in itertools.product(*(parameters[key] for key in axes)):
        point = dict(zip(axes, values, strict=True))
        shown = ", ".join(f"{key}={value if isinstance(value, str) else label(value)}" for key, value in point.items())
        one = _at(f"{name}({shown})" if axes else name, made, {**rest, **point})
        found.append(replace(one, described=name))
    return found


def distinct(who: list[Entrant]) -> list[Entrant]:
    """Return the entrants; raise if two have the same name."""
    names = [one.name for one in who]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"names of learners must be unique; got {name!r} twice")
    return who


def _described(name: str, given: Mapping[str, Any], folder: Path | None) -> tuple[Any, dict[str, Any]]:
    """Return the class, factory, learner or text of a dict, and its parameters."""
    heads = [key for key in ("class", "learner") if key in given]
    if len(heads) != 1:
        raise ValueError(
            f"learner {name!r}: a dict must have either 'class' or 'learner', and parameters; got {sorted(given)}"
        )
    made = given[heads[0]]
    if heads == ["class"] and isinstance(made, str):
        made = loaded(made, folder)
    if heads == ["class"] and not callable(made):
        raise ValueError(f"learner {name!r}: class must be a class or a function; got {made!r}")
    if heads == ["learner"] and not isinstance(made, str) and not is_dataclass(made):
        raise ValueError(
            f"learner {name!r}: learner must be a learner of the package or its text; got {made!r}. Use class for a "
            "class or a function"
        )
    parameters = {key: value for key, value in given.items() if key != heads[0]}
    known = _parameters(made)
    for key in parameters:
        if known is not None and key not in known:
            hint = validation.meant(key, known)
            raise ValueError(f"learner {name!r}: parameters are {', '.join(known) or 'none'}; got {key!r}{hint}")
    return made, parameters


def _parameters(made: Any) -> list[str] | None:
    """Return the names of the parameters that a grid may set; None if any name may be one."""
    if isinstance(made, str):
        return None  # the learner is not built yet
    if not callable(made):
        return [part.name for part in fields(made) if part.init]
    try:
        taken = inspect.signature(made).parameters.values()
    except (TypeError, ValueError):
        return None
    if any(one.kind is one.VAR_KEYWORD for one in taken):
        return None
    return [one.name for one in taken if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)]


def _at(name: str, made: Any, point: dict[str, Any]) -> Entrant:
    """Return the entrant at one point of a grid."""
    if isinstance(made, str):
        return replace(entrant(name, made), parameters=point)
    if callable(made):
        return entrant(name, functools.partial(made, **point))
    try:
        return entrant(name, replace(made, **point))
    except (ValueError, TypeError) as reason:
        raise ValueError(f"learner {name!r}: {reason}") from None


def loaded(text: str, folder: Path | None = None) -> Any:
    """Return the class or function of "file.py:name", relative to a folder, or of "package.module:name".

    >>> loaded("functools:partial").__name__
    'partial'
    """
    place, _, name = text.rpartition(":")
    if not place or not name.isidentifier():
        raise ValueError(f"class must be 'file.py:Name' or 'package.module:Name'; got {text!r}")
    if place.endswith(".py"):
        module = _module((folder or Path.cwd()) / place)
    else:
        try:
            module = importlib.import_module(place)
        except ImportError as reason:
            raise ValueError(f"class: cannot import {place!r}; {reason}") from None
    if not hasattr(module, name):
        raise ValueError(f"class: {place!r} has no {name!r}")
    return getattr(module, name)


#: Between the stem and the hash of the path, in the name of a module that `loaded` executed.
_OF_A_FILE = "@"


def module_name(thing: Any) -> str:
    """Return the name of the module of a class or function; it does not depend on the folder of a loaded file."""
    return str(getattr(thing, "__module__", "")).partition(_OF_A_FILE)[0]


def _module(path: Path) -> Any:
    """Return the module of a file, executed anew. Its name in `sys.modules` is specific to the path."""
    path = path.resolve()
    if not path.is_file():
        raise ValueError(f"class: no such file: {str(path)!r}")
    name = f"{path.stem}{_OF_A_FILE}{hashlib.sha256(str(path).encode()).hexdigest()[:16]}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ValueError(f"class: cannot read {str(path)!r}")
    module = importlib.util.module_from_spec(spec)
    linecache.checkcache(str(path))
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as reason:
        del sys.modules[name]
        raise ValueError(f"class: {path.name} raised {type(reason).__name__}: {reason}") from None
    return module


#: Numbers of checkpoints that a cell keeps, evenly spaced and evenly spaced on a logarithmic scale.
EVEN, EARLY = 24, 12


@dataclass(frozen=True, eq=False)
class Cell:
    """Result of one learner in one environment.

    `regret` and `loss` are cumulative, with shape (runs, len(at)); `bound` has shape (len(at),) and is NaN if it is
    withheld. `exact` is the expected regret at the end if it is known exactly, as one number or one per run. `seed` is
    the seed of the learner's streams: `hn.play(learner, losses, runs, seed=seed)` makes the same moves.
    """

    learner: str
    environment: str
    n: int
    rounds: int
    runs: int
    seed: int
    at: NDArray[np.int64]
    regret: Array
    loss: Array
    bound: Array
    against: str
    source: str
    withheld: str
    seconds: float
    exact: Array | None = None
    note: str = ""
    #: True if all learners receive the same losses in the same run.
    paired: bool = True

    @property
    def final(self) -> Array:
        """Regret of every run at the end."""
        return np.asarray(self.regret[:, -1])

    @property
    def last_bound(self) -> float | None:
        """Bound at the end; None if it is withheld."""
        value = float(self.bound[-1])
        return None if np.isnan(value) else value


def interval(values: Array, level: float = 0.95) -> tuple[float, float]:
    """Return mean -+ t sd/sqrt(runs), for independent runs; both ends are the mean if there is only one run.

    >>> [round(x, 3) for x in interval(np.array([1.0, 2.0, 3.0]))]
    [-0.484, 4.484]
    """
    low, high = bands(np.asarray(values)[:, None], level)
    return float(low[0]), float(high[0])


def bands(values: Array, level: float = 0.95) -> tuple[Array, Array]:
    """Return `interval` of every column."""
    if len(values) < 2:
        return values.mean(axis=0), values.mean(axis=0)
    return t_interval(values, level)


#: What a figure or a table shows of the runs.
Shows = Literal["mean", "quantiles", "largest"]


def shows(value: Any) -> Shows:
    """Return the validated name of the quantity to show."""
    if value not in ("mean", "quantiles", "largest"):
        raise ValueError(f"show must be 'mean', 'quantiles' or 'largest'; got {value!r}")
    return value  # type: ignore[no-any-return]


def curve(cell: Cell, show: Shows, level: float = 0.95) -> tuple[Array, Array, Array]:
    """Return the drawn value at each checkpoint, and the lower and upper ends of its band.

    The band of "mean" is a t interval; that of "quantiles" reaches from the 5% to the 95% quantile over the runs,
    around the median; "largest" has no band.
    """
    if show == "mean":
        return cell.regret.mean(axis=0), *bands(cell.regret, level)
    if show == "quantiles":
        low, middle, high = np.quantile(cell.regret, [0.05, 0.5, 0.95], axis=0)
        return middle, low, high
    largest = cell.regret.max(axis=0)
    return largest, largest, largest


#: Intervals of a lead, which hold for all pairs of learners of an environment.
SIMULTANEOUS = "simultaneous intervals"


@dataclass(frozen=True)
class Lead:
    """Learner with the smallest mean regret in an environment, and how far it is ahead of the others.

    `gaps` has (mean difference, low, high) per other learner. The intervals hold simultaneously for all pairs of
    learners of the environment (Bonferroni), because the best learner is chosen by its results.
    """

    environment: str
    best: str
    regret: float
    gaps: Mapping[str, tuple[float, float, float]]

    @property
    def level_with(self) -> list[str]:
        """Names of the other learners that are not significantly worse than the best."""
        return [name for name, gap in self.gaps.items() if not gap[1] > 0.0]

    def __str__(self) -> str:
        if not self.gaps:
            return f"{self.best} has mean regret {figure(self.regret)}"
        if tied := self.level_with:
            others = ", ".join(tied[:3]) + (f" and {len(tied) - 3} more" if len(tied) > 3 else "")
            return f"{self.best} has the smallest mean regret, but not beyond noise: {others} may be as good"
        least = min(gap[1] for gap in self.gaps.values())
        return f"{self.best} has the smallest mean regret, by at least {figure(least)} beyond noise ({SIMULTANEOUS})"


def lead(cells: list[Cell], level: float = 0.95) -> Lead:
    """Return the learner that leads among the cells of one environment.

    Differences are taken per run if all learners received the same losses. Otherwise runs are independent samples, and
    the interval is Welch's with the smaller number of degrees of freedom.
    """
    best = min(cells, key=lambda cell: float(cell.final.mean()))
    others = [cell for cell in cells if cell is not best]
    each = 1.0 - (1.0 - level) / max(1, len(cells) * (len(cells) - 1) // 2)
    gaps = {cell.learner: _gap(cell, best, each) for cell in others}
    return Lead(best.environment, best.learner, float(best.final.mean()), gaps)


def _gap(cell: Cell, best: Cell, level: float) -> tuple[float, float, float]:
    """Return the mean of the regret minus that of the best learner, with its interval; infinite for a single run."""
    runs = min(cell.runs, best.runs)
    mean = float(cell.final.mean() - best.final.mean())
    if runs < 2:
        return mean, -np.inf, np.inf
    if cell.paired and best.paired:
        low, high = interval(cell.final[:runs] - best.final[:runs], level)
        return mean, low, high
    error = math.sqrt(cell.final.var(ddof=1) / cell.runs + best.final.var(ddof=1) / best.runs)
    half = t_quantile(runs - 1, 0.5 + level / 2) * error
    return mean, mean - half, mean + half


def play_cell(
    who: Entrant, where: Environment, n: int, rounds: int, runs: int, seed: int, *, shared: bool = False,
    threads: int | None = None,
) -> Cell:  # fmt: skip
    """Play one learner in one environment.

    The losses are drawn from (seed, environment, n, rounds), and the learner's streams from these and its name.
    """
    learner = who.built(where, n, rounds)
    runs = min(runs, who.most_runs or runs)
    place = (where.name, n, rounds)
    asked = Asked(n, rounds, runs, derived(seed, "losses", *place))
    own = derived(seed, "moves", *place) if shared else derived(seed, "moves", *place, who.name)
    losses = where.losses(asked) if where.answers is None else where.answers(learner)
    if isinstance(losses, np.ndarray) and losses.ndim == 3:
        losses = losses[:runs]
    length = rounds if where.kind == "adaptive" else None
    request = Request.checked(
        runs=runs, seed=own, advice=where.advice, threads=threads, keep="checkpoints", rounds=length, fictitious=False
    )
    record = driven(learner, losses, request._replace(at_most=True))
    # Losses that were drawn in advance, so that all learners receive the same, are still i.i.d.
    record = replace(record, iid=where.kind == "iid")
    return _cell(who, where, record, asked, bool(getattr(learner, "gains", False)), chosen_from(learner))


def chosen_from(learner: Any) -> Any:
    """Return the set of decisions that a learner chooses from; None if it chooses one arm.

    >>> import hannan as hn
    >>> chosen_from(hn.SlateBandit(4, 2)), chosen_from(hn.Bandit(4))
    (MSets(components=4, m=2), None)
    """
    return learner.decisions if getattr(learner, "setting", None) == "decisions" else None


def _cell(who: Entrant, where: Environment, record: Record, asked: Asked, gains: bool, decisions: Any) -> Cell:
    kept = _chosen(record.checkpoints)
    at, regret = record.checkpoints[kept], record.regret[:, kept]
    sign = -1.0 if gains else 1.0
    loss = np.full_like(regret, np.nan) if record.loss is None else record.loss[:, kept]
    best = loss - sign * regret
    exact = None if record.expected_regret is None else np.atleast_1d(record.expected_regret[..., -1])
    if where.bernoulli is not None:
        best = np.broadcast_to(best_means(where.bernoulli(asked), at, gains, decisions), regret.shape)
        pseudo = sign * (loss - best)
        exact = None if exact is None else exact + (pseudo - regret)[:, -1]
        regret = pseudo
    bound, against, source, withheld = _bounds(record, at, best, gains)
    return Cell(
        learner=who.name,
        environment=where.name,
        n=asked.n,
        rounds=record.rounds,
        runs=record.runs,
        seed=record.seed,
        at=at,
        regret=regret,
        loss=loss,
        bound=bound,
        against=against,
        source=source,
        withheld=withheld,
        seconds=record.seconds,
        exact=exact,
        note=record.note,
        paired=where.kind != "adaptive" and where.answers is None,
    )


def _bounds(record: Record, at: Any, best: Array, gains: bool) -> tuple[Array, str, str, str]:
    """Return the bounds at the rounds `at`, with their adversary and source, or the reason why there is no bound."""
    values = np.full(len(at), np.nan)
    worst = best.min(axis=0) if gains else best.max(axis=0)
    against, source, withheld = "", "", record.bound_withheld
    for k, t in enumerate(at):
        bound, reason = record.bound_at(int(t), float(worst[k]))
        if k + 1 == len(at):
            withheld = reason
        if bound is None:
            continue
        values[k], against, source = bound.value, bound.against, bound.source
    if np.isnan(values[-1]):
        against, source = "", ""
        values[:] = np.nan
    return values, against, source, withheld


def _chosen(checkpoints: NDArray[np.int64]) -> NDArray[np.intp]:
    """Return the indices of the checkpoints to keep; the last one is always kept."""
    rounds = int(checkpoints[-1])
    wanted = np.concatenate([np.linspace(rounds / EVEN, rounds, EVEN), np.geomspace(1, rounds, EARLY)])
    return np.unique(np.searchsorted(checkpoints, np.rint(wanted).astype(np.int64)).clip(0, len(checkpoints) - 1))


#: Columns of the tidy frame.
COLUMNS = ("learner", "environment", "run", "round", "regret", "loss", "bound", "against", "seconds")


@dataclass(frozen=True, eq=False, repr=False)
class Compared:
    """Learners x environments x runs; `cells` has one entry per pair, in the given order.

    `baseline` is the name of the learner that is subtracted in differences (default: the first one).
    """

    cells: tuple[Cell, ...]
    seed: int = 0
    baseline: str | None = None
    title: str = "Comparison"

    @property
    def learners(self) -> list[str]:
        """Names of the learners, in order."""
        return list(dict.fromkeys(cell.learner for cell in self.cells))

    @property
    def environments(self) -> list[str]:
        """Names of the environments, in order."""
        return list(dict.fromkeys(cell.environment for cell in self.cells))

    def cell(self, learner: str, environment: str) -> Cell:
        """Return the cell of a learner and an environment."""
        for cell in self.cells:
            if (cell.learner, cell.environment) == (learner, environment):
                return cell
        raise ValueError(
            f"no such pair: {learner!r}, {environment!r}; learners are {', '.join(self.learners)}, environments are "
            f"{', '.join(self.environments)}"
        )

    def among(self, environment: str) -> list[Cell]:
        """Return the cells of an environment."""
        return [cell for cell in self.cells if cell.environment == environment]

    def lead(self, environment: str, level: float = 0.95) -> Lead:
        """Return the learner with the smallest mean regret in an environment, and its distance from the others.

        Parameters
        ----------
        environment : str
            Name of the environment.
        level : float, optional
            Confidence level of all intervals together.

        Returns
        -------
        Lead
            `best`, `regret`, `gaps` (mean difference, low, high) and `level_with`, the learners that are not
            significantly worse.

        Examples
        --------
        >>> import hannan as hn
        >>> result = hn.compare(
        ...     {"ours": "bandit", "Exp3": "exp3"}, {"clicks": {"means": [0.2, 0.4]}}, runs=20, rounds=2000)
        >>> print(result.lead("clicks"))
        ours has the smallest mean regret, by at least 11.85 beyond noise (simultaneous intervals)
        """
        if environment not in self.environments:
            raise ValueError(f"environment must be one of {', '.join(self.environments)}; got {environment!r}")
        level = validation.between(level, 0.0, 1.0, "level", "()")
        return lead(self.among(environment), level)

    def headline(self) -> str:
        """Return one sentence: the learner that leads, and by how much beyond noise.

        Returns
        -------
        str
            The sentence; with several environments, in how many of them each learner leads beyond noise.
        """
        leads = [self.lead(name) for name in self.environments]
        if len(leads) == 1:
            return str(leads[0])
        wins: dict[str, int] = {}
        for one in leads:
            if one.gaps and not one.level_with:
                wins[one.best] = wins.get(one.best, 0) + 1
        if not wins:
            return "no learner has the smallest mean regret beyond noise in any environment"
        order = sorted(wins.items(), key=lambda pair: -pair[1])
        first, *rest = [f"{name} in {count} of {len(leads)} environments" for name, count in order]
        return f"smallest mean regret beyond noise: {', '.join([first, *rest])}"

    # Numbers

    def shown_gaps(self, environment: str) -> tuple[str, list[dict[str, Any]]]:
        """Return (learner that is subtracted, rows of differences) as results print them.

        A given baseline is subtracted, with one interval per pair. Without one the leader of the environment is, with
        the simultaneous intervals of the headline. One run has no differences.
        """
        if self.baseline is not None:
            rows = [row for row in self.difference_rows() if row["environment"] == environment]
            return self.baseline, rows
        found = self.lead(environment)
        rows = [
            {"learner": name, "difference": mean, "low": low, "high": high, "better": _verdict(low, high)}
            for name, (mean, low, high) in found.gaps.items()
            if math.isfinite(low)
        ]
        return found.best, rows

    def columns(self) -> dict[str, Any]:
        """Return the columns of `to_frame`, as arrays."""
        parts = [tidy(cell) for cell in self.cells]
        return {name: np.concatenate([part[name] for part in parts]) for name in COLUMNS}

    def to_dict(self) -> dict[str, Any]:
        """Return the results of all pairs at the end, and the differences to the baseline, as a dict for JSON."""
        return dict(plain({"seed": self.seed, "pairs": self.rows(), "differences": self.difference_rows()}))

    def rows(self, level: float = 0.95) -> list[dict[str, Any]]:
        """Return one row per pair: mean regret at the end, its t interval, median, 95% quantile, largest run, bound.

        The t interval over the runs is approximate: if large regrets are rare, the true mean lies outside it far more
        often than `level` suggests, so look at the largest run too.
        """
        level = validation.between(level, 0.0, 1.0, "level", "()")
        found = []
        for cell in self.cells:
            low, high = interval(cell.final, level)
            found.append(
                {
                    "environment": cell.environment,
                    "learner": cell.learner,
                    "n": cell.n,
                    "rounds": cell.rounds,
                    "runs": cell.runs,
                    "regret": float(cell.final.mean()),
                    "low": low,
                    "high": high,
                    "median": float(np.median(cell.final)),
                    "q95": float(np.quantile(cell.final, 0.95)),
                    "largest": float(cell.final.max()),
                    "bound": cell.last_bound,
                    "against": cell.against,
                    "withheld": cell.withheld,
                    "source": cell.source,
                    "seconds": cell.seconds,
                }
            )
        return found

    def difference_rows(
        self, baseline: str | None = None, level: float = 0.95, together: bool = False
    ) -> list[dict[str, Any]]:
        """Return the mean differences of losses to the baseline, with their t intervals (approximate).

        The difference is taken per run, on the same losses; a negative difference is better than the baseline, also
        for gains. Each interval has confidence `level`; with `together=True` the intervals are wider, so that all of
        them hold simultaneously (Bonferroni). Pairs with an adaptive adversary are omitted, because their losses
        differ between learners.
        """
        baseline = baseline or self.baseline or self.learners[0]
        level = validation.between(level, 0.0, 1.0, "level", "()")
        if baseline not in self.learners:
            raise ValueError(f"baseline must be one of {', '.join(self.learners)}; got {baseline!r}")
        pairs = [
            (cell, self.cell(baseline, cell.environment))
            for cell in self.cells
            if cell.learner != baseline and cell.paired
        ]
        pairs = [(cell, mate) for cell, mate in pairs if min(cell.runs, mate.runs) > 1]
        if together and pairs:
            level = 1.0 - (1.0 - level) / len(pairs)
        found = []
        for cell, mate in pairs:
            runs = min(cell.runs, mate.runs)
            gap = cell.final[:runs] - mate.final[:runs]
            low, high = interval(gap, level)
            found.append(
                {
                    "environment": cell.environment,
                    "learner": cell.learner,
                    "baseline": baseline,
                    "difference": float(gap.mean()),
                    "low": low,
                    "high": high,
                    "runs": runs,
                    "better": _verdict(low, high),
                }
            )
        return found


def tidy(cell: Cell) -> dict[str, Any]:
    """Return the columns of one cell, one row per run and checkpoint."""
    runs, marks = cell.regret.shape
    many = runs * marks
    return {
        "learner": np.full(many, cell.learner, dtype=object),
        "environment": np.full(many, cell.environment, dtype=object),
        "run": np.repeat(np.arange(runs), marks),
        "round": np.tile(cell.at, runs),
        "regret": cell.regret.reshape(-1),
        "loss": cell.loss.reshape(-1),
        "bound": np.tile(cell.bound, runs),
        "against": np.full(many, cell.against, dtype=object),
        "seconds": np.full(many, cell.seconds / runs),
    }


def _verdict(low: float, high: float) -> str:
    """Return "learner", "baseline" or "open", depending on the side of 0 on which the interval is."""
    if high < 0.0:
        return "learner"
    return "baseline" if low > 0.0 else "open"


#: Heading of the bounds, which are on the expected regret and not on the largest run.
ON_THE_MEAN = "bound on the mean"


def text(comparison: Compared) -> str:
    """Return one block per environment: regret with its interval, largest run, bound, difference to the leader."""
    rows = comparison.rows()
    width = max(len(name) for name in comparison.learners)
    lines = [_head(comparison, rows)]
    for environment in comparison.environments:
        here = sorted((row for row in rows if row["environment"] == environment), key=lambda row: float(row["regret"]))
        size = ", ".join(
            counted(here[0][of], what) for of, what in (("n", "arm"), ("rounds", "round"), ("runs", "run"))
        )
        lines.append(f"\n{environment}: {size}")
        lines.append(f"  {comparison.lead(environment)}")
        subtracted, found = comparison.shown_gaps(environment)
        gaps = {row["learner"]: row for row in found}
        less = f"minus {subtracted}" if gaps else ""
        heads = f"{'regret':>9}  {T_INTERVAL:>19}  {'largest':>9}  {ON_THE_MEAN}  {'against':<9}  {less}"
        lines.append(f"  {'':<{width}}  {heads}".rstrip())
        lines += [_line(row, gaps.get(row["learner"]), width) for row in here]
        lines += [f"  – {row['learner']}: no bound: {row['withheld']}" for row in here if row["bound"] is None]
    return "\n".join(lines)


def _head(comparison: Compared, rows: list[dict[str, Any]]) -> str:
    seconds = sum(row["seconds"] for row in rows)
    where, who = counted(len(comparison.environments), "environment"), counted(len(comparison.learners), "learner")
    return f"{comparison.title}: {who}, {where}, seed {comparison.seed}, {figure(seconds, 3)} s"


def _signed(value: float) -> str:
    return f"{'+' if value > 0.0 else ''}{figure(value)}"


def _line(row: dict[str, Any], gap: dict[str, Any] | None, width: int) -> str:
    between = f"{figure(row['low'])} .. {figure(row['high'])}" if row["runs"] > 1 else "one run"
    bound = ("–" if row["bound"] is None else ceiling(row["bound"])).rjust(len(ON_THE_MEAN))
    less = "" if gap is None else f"{_signed(gap['difference'])} ({_signed(gap['low'])} .. {_signed(gap['high'])})"
    mean, largest = figure(row["regret"]), figure(row["largest"])
    line = f"  {row['learner']:<{width}}  {mean:>9}  {between:>19}  {largest:>9}  {bound}  {row['against']:<9}  {less}"
    return line.rstrip()


_SPECIAL = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "√": r"$\surd$",
}  # fmt: skip


def escaped(text: str) -> str:
    r"""Return text with the special characters of LaTeX escaped.

    >>> escaped("a_b & 95%")
    'a\\_b \\& 95\\%'
    """
    return "".join(_SPECIAL.get(letter, letter) for letter in text)


def table(comparison: Compared, level: float = 0.95, caption: str = "", label: str = "", show: Shows = "mean") -> str:
    """Return a LaTeX table; the best learner of an environment is bold, and so are those not significantly worse."""
    environments = comparison.environments
    lines = [r"\begin{table}", r"\centering", rf"\begin{{tabular}}{{l{'r' * len(environments)}}}", r"\toprule"]
    lines.append(" & ".join(["", *map(escaped, environments)]) + r" \\")
    lines.append(r"\midrule")
    bold = {name: _bold(comparison.among(name), level, show) for name in environments}
    for learner in comparison.learners:
        cells = [c for name in environments for c in comparison.among(name) if c.learner == learner]
        found = {cell.environment: _entry(cell, level, show, learner in bold[cell.environment]) for cell in cells}
        lines.append(" & ".join([escaped(learner), *(found.get(name, "--") for name in environments)]) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}"]
    runs = sorted({cell.runs for cell in comparison.cells})
    many = f"{runs[0]}" if len(runs) == 1 else f"{runs[0]} to {runs[-1]}"
    percent = f"{level * 100:g}\\%"
    words = {
        "mean": f"Regret: mean of {many} runs $\\pm$ half the {percent} $t$ interval (approximate). Bold: the smallest "
        f"mean, and means that are not significantly larger (simultaneous {percent} $t$ intervals of differences).",
        "quantiles": f"Regret: median over {many} runs (95\\% quantile). Bold: the smallest median.",
        "largest": f"Regret: largest of {many} runs. Bold: the smallest.",
    }
    lines.append(rf"\caption{{{caption or words[show]}}}")
    if label:
        lines.append(rf"\label{{{label}}}")
    return "\n".join([*lines, r"\end{table}"]) + "\n"


def _bold(cells: list[Cell], level: float, show: Shows) -> set[str]:
    if show == "mean":
        found = lead(cells, level)
        return {found.best, *(found.level_with if all(cell.runs > 1 for cell in cells) else ())}
    values = {cell.learner: float(curve(cell, show)[0][-1]) for cell in cells}
    return {name for name, value in values.items() if value <= min(values.values())}


def _entry(cell: Cell, level: float, show: Shows, bold: bool) -> str:
    value, low, high = (float(ends[-1]) for ends in curve(cell, show, level))
    body = f"{value:.4g}"
    if show == "quantiles":
        body += f"\\ ({high:.4g})"
    elif high > low:
        body += rf" \pm {(high - low) / 2:.2g}"
    return rf"$\mathbf{{{body}}}$" if bold else f"${body}$"
