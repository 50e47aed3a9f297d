"""Records of games: regret over time with its uncertainty, counts, bound and duration; saving and charts."""

from __future__ import annotations

import inspect
import io
import json
import math
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hannan import saving, validation
from hannan.mathematics.bounds import Bound, Withheld, adversary_after, at_observed, covers
from hannan.mathematics.intervals import t_interval
from hannan.saving import fields, files
from hannan.saving.formatting import apart, ceiling, counted, figure, per_second, short
from hannan.saving.result import Result, Shown
from hannan.validation import Array

if TYPE_CHECKING:
    import zipfile
    from pathlib import Path

    from hannan.report.pictures import Picture


def arrays_of(path: str | os.PathLike[str], known: tuple[str, ...]) -> dict[str, Any]:
    """Return the arrays of an .npz file by name; the size in each header is checked before memory is allocated."""
    import zipfile  # not for a game

    found: dict[str, Any] = {}
    with zipfile.ZipFile(io.BytesIO(files.read_ordinary(path, "a record"))) as archive:
        for member in archive.infolist():
            name = member.filename.removesuffix(".npy")
            if name not in known or name in found:
                raise ValueError(
                    f"corrupt file: arrays must be {', '.join(known)}, at most once each; found {name[:80]!r}"
                )
            found[name] = _array(archive, member, name)
    return found


def _array(archive: zipfile.ZipFile, member: zipfile.ZipInfo, name: str) -> Any:
    with archive.open(member) as file:
        if np.lib.format.read_magic(file) != (1, 0):
            raise ValueError(f"corrupt file: {name} must be an array in NumPy's format 1.0")
        shape, columns_first, dtype = np.lib.format.read_array_header_1_0(file)
        if dtype.hasobject or dtype.kind not in "iufb":
            raise ValueError(f"corrupt file: {name} must be numeric; found {dtype}")
        size = math.prod(shape) * dtype.itemsize
        if min((0, *shape)) < 0 or file.tell() + size != member.file_size or size > files.LARGEST:
            raise ValueError(f"corrupt file: {name} must have the shape of its header, {shape}; found another size")
        data = file.read(size)
    if len(data) != size:
        raise ValueError(f"corrupt file: {name} must have the shape of its header, {shape}; found fewer numbers")
    return np.frombuffer(data, dtype=dtype).reshape(shape, order="F" if columns_first else "C").copy()


if TYPE_CHECKING:
    from pathlib import Path

FORMAT = 1


@dataclass(frozen=True, eq=False, repr=False)
class Record(Result):
    """Result of `hn.play`: regret over time with its uncertainty, counts of actions, bound and duration.

    Parameters
    ----------
    learner : str
        Description of the learner.
    setting : str
        Feedback: experts, bandit, expert_bandit, ...
    rounds, runs, seed : int
        Size of the game, and its seed.
    checkpoints : numpy.ndarray
        Rounds at which the regret is recorded.
    regret : numpy.ndarray
        Realized regret, shape (runs, checkpoints), in the units of the losses: the learner's loss minus that of the
        best arm or expert of the rounds so far. For Bernoulli means the comparator is the best mean.
    best_loss : float or numpy.ndarray
        Loss of the best choice in hindsight; one per run if it differs.
    counts : numpy.ndarray
        How often each action was played, shape (runs, n).
    seconds : float
        Duration.
    threads : int
        Number of threads.
    actions : numpy.ndarray, optional
        Actions of all rounds, if they were recorded.
    expected_regret : numpy.ndarray, optional
        Regret of the mean play, with <p_t, l_t> instead of the sampled loss (full information).
    estimated_regret : numpy.ndarray, optional
        Learner's loss minus the smallest importance-weighted loss at the end of each run (bandits). Its expectation is
        at least the expected regret if losses do not depend on the moves. It is not a bound on a run.
    loss : numpy.ndarray, optional
        Cumulative loss or reward of every run at the checkpoints.
    note : str, optional
        Remark about how the game was played.
    adaptive : bool, optional
        Whether the losses were chosen by an adversary that observes past moves.
    iid : bool, optional
        Whether the losses are known to be drawn independently from one distribution.
    fictitious : bool, optional
        Whether the player observes the losses of a round before it plays; the learner's bound then does not hold.
    source : learner, optional
        The learner, for its bound.
    written : dict, optional
        The bound of a loaded record.

    Examples
    --------
    >>> import hannan as hn
    >>> record = hn.play(hn.Bandit(2), hn.adversaries.Bernoulli([0.2, 0.6], 1000), runs=20, seed=0)
    >>> record.regret.shape[0], int(record.checkpoints[-1]), bool(record.mean_regret[-1] < record.bound.value)
    (20, 1000, True)
    """

    learner: str
    setting: str
    rounds: int
    runs: int
    seed: int
    checkpoints: NDArray[np.int64]
    regret: Array
    best_loss: float | Array
    counts: NDArray[np.int64]
    seconds: float
    threads: int
    actions: NDArray[np.int32] | None = None
    expected_regret: Array | None = None
    estimated_regret: Array | None = None
    loss: Array | None = None
    note: str = ""
    adaptive: bool = False
    iid: bool = False
    fictitious: bool = False
    source: Any = field(default=None, compare=False)
    written: dict[str, Any] | None = field(default=None, compare=False)

    @property
    def mean_regret(self) -> Array:
        """Mean of the regret over the runs, at each checkpoint."""
        return np.asarray(self.regret.mean(axis=0))

    @property
    def rounds_per_second(self) -> float:
        """Rounds per second, over all runs."""
        return self.rounds * self.runs / self.seconds if self.seconds > 0.0 else math.inf

    def interval(self, level: float = 0.95, method: str = "t") -> tuple[Array, Array]:
        """Return an approximate confidence interval (low, high) of the mean regret at each checkpoint.

        Parameters
        ----------
        level : float, optional
            Confidence level in (0, 1).
        method : {"t", "bootstrap"}, optional
            "t": mean +- t_{runs-1} sd/sqrt(runs), exact for normal regrets. "bootstrap": percentiles of 2,000 resampled
            means, drawn with the seed of the record.

        Returns
        -------
        tuple of (numpy.ndarray, numpy.ndarray)
            Lower and upper ends.

        Raises
        ------
        ValueError
            If there are fewer than 2 runs.

        Notes
        -----
        Both methods are approximate: if large regrets are rare, a few runs may contain none of them, and the interval
        is too narrow.
        """
        level = validation.between(level, 0.0, 1.0, "level", "()")
        if self.runs < 2:
            raise ValueError(f"an interval needs at least 2 runs; got {self.runs}")
        if method == "t":
            return t_interval(self.regret, level)
        if method == "bootstrap":
            rng = np.random.default_rng(self.seed)
            weights = rng.multinomial(self.runs, np.full(self.runs, 1.0 / self.runs), size=2000) / self.runs
            means = weights @ self.regret
            low, high = np.quantile(means, [0.5 - level / 2, 0.5 + level / 2], axis=0)
            return low, high
        raise ValueError(f'method must be "t" or "bootstrap"; got {method!r}')

    # The bound

    @cached_property
    def _bound(self) -> tuple[Bound | None, str]:
        if self.written is not None:
            told = self.written["bound"]
            return (None if told is None else Bound(**told)), self.written["withheld"]
        return self._bound_at(self.rounds, float(np.max(self.best_loss)), float(np.min(self.best_loss)))

    def _bound_at(self, rounds: int, most: float, least: float) -> tuple[Bound | None, str]:
        asked = getattr(self.source, "bound", None)
        if asked is None:
            return None, f"{self.learner} has no method bound"
        if self.fictitious:
            return (
                None,
                "the fictitious player sees the losses before it plays: the learner's bound does not cover it",
            )
        best = least if getattr(self.source, "gains", False) else most
        try:
            bound = self._holding(rounds=rounds, best_loss=best)
        except ValueError as reason:
            return None, str(reason)
        if self.adaptive or np.ndim(self.best_loss):
            return bound, ""  # the best loss of other runs may be larger
        return at_observed(self.source, bound, best), ""

    def bound_at(self, rounds: int, best_loss: float) -> tuple[Bound | None, str]:
        """Return the learner's bound on a game of this length and best loss, or the reason why there is none.

        Parameters
        ----------
        rounds : int
            Number of rounds.
        best_loss : float
            Cumulative loss of the best choice in hindsight.

        Returns
        -------
        tuple of (Bound or None, str)
            The bound and an empty string, or None and the reason.
        """
        return self._bound_at(rounds, best_loss, best_loss)

    def _holding(self, **given: Any) -> Bound:
        """Return the learner's bound if it holds in this game; otherwise raise `Withheld`.

        It must hold against an adaptive adversary if the game is adaptive, against an oblivious one otherwise, and for
        i.i.d. losses if the losses are.
        """
        asked = self.source.bound
        if self.adaptive and "against" in inspect.signature(asked).parameters:
            given["against"] = "any"
        try:
            bound: Bound = asked(**given)
            if self.adaptive:
                return bound.asked("any")
        except Withheld as reason:
            raise Withheld(f"this game is adaptive, and {reason}" if self.adaptive else str(reason)) from None
        if not (self.iid or covers(bound.against, "oblivious")):
            raise Withheld(
                f"{ceiling(bound.value)} is proved for i.i.d. losses only, and these losses are not known to be: use "
                "adversaries.Bernoulli(means, rounds)"
            )
        return bound

    @property
    def bound(self) -> Bound | None:
        """The learner's bound on the expected regret of the whole game; None if it is withheld."""
        return self._bound[0]

    @property
    def bound_withheld(self) -> str:
        """Reason why there is no bound; an empty string if there is one."""
        return self._bound[1]

    # Export

    def shown(self) -> Shown:
        bound = self.bound
        rows = [("regret", self._regret())]
        if self.expected_regret is not None:
            mean_play = figure(float(self.expected_regret[..., -1].mean()))
            rows.append(("mean play", f"{mean_play} (regret of the mean play)"))
        if bound is None:
            rows.append(("bound", f"none: {self.bound_withheld}"))
        elif bound.is_trivial:
            rows.append(("bound", f"{ceiling(bound.value)} (trivial: {next(iter(bound.terms))})"))
        else:
            briefly = "" if not bound.condition else ", under the condition below"
            on_what = "regret" if bound.sense == "likely" else "expected regret"
            rows.append(("bound", adversary_after(f"{ceiling(bound.value)} on the {on_what}{briefly}", bound)))
        gains = getattr(self.source, "gains", False) or "gains=True" in self.learner  # a loaded record has its repr
        best = figure(float(np.mean(self.best_loss))) + (" (mean over the runs)" if np.ndim(self.best_loss) else "")
        rows.append(("best gain" if gains else "best loss", best))
        if self.estimated_regret is not None:
            estimate = figure(float(self.estimated_regret.mean()))
            rows.append(("estimate", f"{estimate} (importance-weighted estimate of the regret; not a bound)"))
        if self.note:
            rows.append(("note", self.note))
        details = [] if bound is None else [("theorem", bound.theorem)]
        speed = per_second(self.rounds_per_second, "rounds")
        details += [("learner", self.learner), ("time", f"{figure(self.seconds, 3)} s, {speed}")]
        size = f"{counted(self.runs, 'run')} x {counted(self.rounds, 'round')}"
        title = f"{short(self.learner)}, {size}, seed {self.seed}"
        assumptions = [] if bound is None or bound.sense == "run" else bound.validity()
        return Shown(title, rows, assumptions=assumptions, details=details)

    def _regret(self) -> str:
        """Return the regret at the end, with its interval if there are several runs."""
        last = figure(float(self.mean_regret[-1]))
        if self.runs == 1:
            return f"{last} (realized)"
        low, high = (figure(float(end[-1])) for end in self.interval())
        largest = figure(float(self.regret[:, -1].max()))
        return f"{last} mean, 95% t-interval [{low}, {high}] (approximate), largest run {largest}"

    __repr__ = Result.__str__

    def to_frame(self) -> Any:
        """Return the regret as a frame.

        Returns
        -------
        pandas.DataFrame or polars.DataFrame
            Columns run, round and regret; pandas if it is installed.
        """
        columns = {
            "run": np.repeat(np.arange(self.runs), len(self.checkpoints)),
            "round": np.tile(self.checkpoints, self.runs),
            "regret": self.regret.reshape(-1),
        }
        from hannan.saving.result import frame_of

        return frame_of(columns)

    def plot(self, *others: Record, log: bool = False, level: float = 0.95) -> Any:
        """Return an Altair chart of the mean regret, its interval and the bound.

        Parameters
        ----------
        *others : Record
            Further records, each drawn in its own color.
        log : bool, optional
            Use logarithmic axes.
        level : float, optional
            Confidence level of the intervals.

        Returns
        -------
        altair.LayerChart
            The chart. A bound far above the regret is printed under the title instead of drawn, except with `log`.
        """

        for other in others:
            if not isinstance(other, Record):
                raise ValueError(f"others must be records (pass log= and level= by name); got {other!r}")
        if not isinstance(log, bool):
            raise ValueError(f"log must be True or False; got {log!r}")
        return regret_chart((self, *others), log, level)

    def bound_curve(self, points: int = 40) -> tuple[NDArray[np.int64], Array]:
        """Return the bound for games of t rounds, for some checkpoints t, without knowledge of the best loss.

        Parameters
        ----------
        points : int, optional
            Maximum number of checkpoints.

        Returns
        -------
        tuple of (numpy.ndarray, numpy.ndarray)
            Rounds, and the bounds for them.
        """
        if self.source is None or self.bound is None:
            value = [] if self.bound is None else [self.bound.value]
            return self.checkpoints[-1:][: len(value)], np.array(value)
        chosen = np.unique(np.linspace(0, len(self.checkpoints) - 1, points).astype(int))
        kept, values = [], []
        for t in self.checkpoints[chosen]:
            try:
                values.append(float(self._holding(rounds=int(t)).value))
            except ValueError:
                continue
            kept.append(int(t))
        return np.array(kept, dtype=np.int64), np.array(values)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the record to one .npz file, atomically.

        Parameters
        ----------
        path : str or os.PathLike
            The file: arrays, and JSON for all other fields.

        Returns
        -------
        Path
            The file.
        """
        arrays = {name: getattr(self, name) for name in _ARRAYS if getattr(self, name) is not None}
        about = {name: getattr(self, name) for name in _PLAIN}
        about["format"] = FORMAT
        about["scalar_best"] = np.ndim(self.best_loss) == 0
        about["withheld"] = self.bound_withheld
        about["bound"] = None if self.bound is None else asdict(self.bound)
        text = np.frombuffer(json.dumps(about).encode(), dtype=np.uint8)
        files.write_whole(path, lambda file: np.savez_compressed(file, about=text, **arrays))
        from pathlib import Path

        return Path(path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Record:
        """Load a record that `save` wrote.

        Parameters
        ----------
        path : str or os.PathLike
            The file. Nothing in it is executed.

        Returns
        -------
        Record
            The record, with the bound that was saved.

        Raises
        ------
        ValueError
            If the file is not a record.
        """
        try:
            arrays = arrays_of(path, ("about", *_ARRAYS))
            about = saving.plain_json(bytes(arrays.pop("about")).decode())
            if about["format"] != FORMAT:
                raise ValueError(f"format must be {FORMAT}; got {about['format']!r}")
            _agree(about, arrays)
            fields: dict[str, Any] = {name: (_BEFORE | about)[name] for name in _PLAIN} | arrays
            if about["scalar_best"]:
                fields["best_loss"] = float(fields["best_loss"])
            return cls(**fields, written={"bound": about["bound"], "withheld": about["withheld"]})
        except (FileNotFoundError, PermissionError):
            raise
        except Exception as error:
            raise ValueError(f"{os.fspath(path)} is not a record written by Record.save: {error}") from error


_PLAIN = ("learner", "setting", "rounds", "runs", "seed", "seconds", "threads", "note", "adaptive", "iid", "fictitious")
#: Values of fields that older files do not have.
_BEFORE = {"adaptive": False, "iid": False, "fictitious": False}
_ARRAYS = (
    "checkpoints", "regret", "best_loss", "counts", "actions", "expected_regret", "estimated_regret", "loss",
)  # fmt: skip


def _agree(about: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Raise if the arrays of a file have the wrong shapes."""
    rounds, runs = fields.whole(about["rounds"], "rounds", 1), fields.whole(about["runs"], "runs", 1)
    for name in ("learner", "setting", "note"):
        fields.text(about[name], name)
    at = arrays["checkpoints"]
    if at.ndim != 1 or at.dtype.kind != "i" or not len(at) or at[0] < 1 or at[-1] > rounds or (np.diff(at) <= 0).any():
        raise ValueError(f"corrupt file: checkpoints must be increasing rounds in 1..{rounds}")
    if arrays["regret"].shape != (runs, len(at)) or arrays["regret"].dtype != np.float64:
        raise ValueError(f"corrupt file: regret must have shape {runs, len(at)}; found {arrays['regret'].shape}")
    if "loss" in arrays and arrays["loss"].shape != arrays["regret"].shape:
        raise ValueError(f"corrupt file: loss must have shape {runs, len(at)}; found {arrays['loss'].shape}")
    if arrays["counts"].shape[:1] != (runs,) or arrays["counts"].ndim != 2:
        raise ValueError(
            f"corrupt file: counts must have {runs} rows, one per run; found shape {arrays['counts'].shape}"
        )


#: Largest ratio of a bound to the largest regret for which the bound is drawn; above it, curves would be flat.
ROOM = 2.5


def regret_chart(records: Sequence[Any], log: bool = False, level: float = 0.95) -> Any:
    """Return an Altair chart of records: mean regrets with t-intervals at `level`, and bounds as dashed lines."""
    from hannan.report.pictures import PALETTE, altair, offline

    alt = altair()
    if len(records) > len(PALETTE):
        raise ValueError(f"a chart has at most {len(PALETTE)} records, so that colors differ; got {len(records)}")
    names = apart([record.learner for record in records])
    top = max(float(np.max(record.mean_regret)) for record in records)
    scale = alt.Scale(type="log") if log else alt.Scale()
    layers: list[Any] = []
    for record, name, colour in zip(records, names, PALETTE, strict=False):
        shade: dict[str, Any] = {}
        if len(records) > 1:
            known = alt.Scale(domain=names, range=list(PALETTE[: len(names)]))
            shade = {
                "color": alt.Color(
                    "record:N", scale=known, title="learner", legend=alt.Legend(labelLimit=500, symbolOpacity=1.0)
                )
            }
        layers += _curve(alt, record, name, scale, shade=shade, log=log, level=level)
        if _drawn(record, log, top):
            layers += _bound(alt, record, scale, colour if len(records) > 1 else "gray")
    runs = {record.runs for record in records}
    told = f"mean of {min(runs)} runs, {level:.0%} t interval" if runs != {1} else "one run"
    if len(runs) > 1:
        told = f"means of {min(runs)} to {max(runs)} runs, {level:.0%} t intervals"
    lines = [told, *_told(records, names, [_drawn(record, log, top) for record in records])]
    title = names[0] if len(records) == 1 else "regret"
    return offline(alt.layer(*layers).properties(title=alt.Title(title, subtitle=lines), width=460, height=300))


def _drawn(record: Any, log: bool, top: float) -> bool:
    """Return whether the bound is drawn, and not only stated under the title."""
    return record.bound is not None and (log or float(max(record.bound_curve()[1])) <= ROOM * top)


def _told(records: Sequence[Any], names: list[str], drawn: list[bool]) -> list[str]:
    """Return the lines about the bounds under the title of a chart."""
    lines = []
    for phrase in dict.fromkeys(r.bound.adversary for r, seen in zip(records, drawn, strict=True) if seen):
        lines.append(f"dashed: bound, before the best loss is known, {phrase}")
    for record, name, seen in zip(records, names, drawn, strict=True):
        whose = f"{name}: " if len(records) > 1 else ""
        if record.bound is None:
            lines.append(f"{whose}no bound")
        elif not seen:
            lines.append(f"{whose}bound {ceiling(record.bound.value)}, {record.bound.adversary}")
    return lines


def _curve(alt: Any, record: Any, name: str, scale: Any, *, shade: Any, log: bool, level: float) -> list[Any]:
    mean = record.mean_regret
    low, high = record.interval(level) if record.runs > 1 else (mean, mean)
    kept = (low > 0.0) & (mean > 0.0) if log else np.ones(len(mean), dtype=bool)
    rows = [
        {"round": int(t), "regret": float(m), "low": float(a), "high": float(b), "record": name}
        for t, m, a, b in zip(record.checkpoints[kept], mean[kept], low[kept], high[kept], strict=True)
    ]
    base = alt.Chart(alt.Data(values=rows)).encode(x=alt.X("round:Q", scale=scale, title="round"), **shade)
    line = base.mark_line().encode(y=alt.Y("regret:Q", scale=scale, title="regret"))
    if record.runs == 1:
        return [line]
    return [base.mark_area(opacity=0.25).encode(y=alt.Y("low:Q", scale=scale), y2="high:Q"), line]


def _bound(alt: Any, record: Any, scale: Any, colour: str) -> list[Any]:
    rounds, values = record.bound_curve()
    if len(rounds) > 1:
        told = [{"round": int(t), "bound": float(v)} for t, v in zip(rounds, values, strict=True)]
        line = alt.Chart(alt.Data(values=told)).mark_line(strokeDash=[6, 3], color=colour)
        return [line.encode(x=alt.X("round:Q", scale=scale), y=alt.Y("bound:Q", scale=scale))]
    if len(rounds) == 1:
        rule = alt.Chart(alt.Data(values=[{"bound": float(values[0])}])).mark_rule(strokeDash=[6, 3], color=colour)
        return [rule.encode(y=alt.Y("bound:Q", scale=scale))]
    return []


def regret_picture(record: Record, title: str, points: int = 60) -> Picture:
    """Return the picture of the mean regret with its 95% t interval (approximate), and the bound as a dashed line."""
    from hannan.report.pictures import Layer, Picture

    mean = record.mean_regret
    low, high = record.interval(0.95) if record.runs > 1 else (mean, mean)
    at = record.checkpoints
    chosen = np.unique(np.linspace(0, len(at) - 1, points).astype(int))
    rows = tuple(
        {"round": int(at[i]), "regret": float(mean[i]), "low": float(low[i]), "high": float(high[i])} for i in chosen
    )
    layers = [Layer("band", rows, x="round")] if record.runs > 1 else []
    layers.append(Layer("line", rows, x="round", y="regret"))
    rounds, values = record.bound_curve(30)
    if len(values) and float(max(values)) > ROOM * float(np.max(mean)):
        rounds, values = rounds[:0], values[:0]  # stated in the text; drawn, it would flatten the curve
    bound = tuple({"round": int(t), "bound": float(v)} for t, v in zip(rounds, values, strict=True))
    if len(bound) > 1:
        layers.append(Layer("bound", bound, x="round", y="bound"))
    elif bound:
        layers.append(Layer("rule", ({"y": bound[0]["bound"], "label": f"bound {ceiling(bound[0]['bound'])}"},)))
    runs = f"mean of {record.runs} runs" if record.runs > 1 else "one run"
    end = f"The regret after {record.rounds} rounds is {figure(mean[-1])} ({runs})"
    alt = f"{end}; no bound is proved."
    if record.bound is not None:
        stated = f"the bound is {ceiling(record.bound.value)}, {record.bound.adversary}"
        alt = f"{end}; {stated}."
        if len(values) > 1 and values[-1] > 1.001 * record.bound.value:
            # The curve does not use the best loss of each t.
            alt = f"{end}; {stated}. Dashed: the bound before the best loss is known."
    return Picture(title, "round", "regret", tuple(layers), alt=alt, height=320)
