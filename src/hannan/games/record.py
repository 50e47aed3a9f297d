"""What a game left behind: curves of regret with their uncertainty, counts, bound, time; saved and plotted."""

from __future__ import annotations

import inspect
import json
import math
import os
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hannan import refusals, saving
from hannan.games.record_file import arrays_of
from hannan.mathematics.against import covers
from hannan.mathematics.bounds import Bound, Withheld
from hannan.mathematics.student import T_INTERVAL, t_interval
from hannan.players.conditions import at_observed
from hannan.refusals import Array
from hannan.saving import fields, files
from hannan.saving.result import Result, Shown
from hannan.saving.words import ceiling, counted, figure, short

if TYPE_CHECKING:
    from pathlib import Path

FORMAT = 1


@dataclass(frozen=True, eq=False, repr=False)
class Record(Result):
    """What a game left behind: curves of regret with their uncertainty, counts, the bound, the time.

    Regret_t = own loss - loss of the best arm (expert) of the first t rounds, in the units of the losses.

    `regret` has shape (runs, checkpoints), `checkpoints` the rounds they stand at. The comparator of Bernoulli
    means is the best mean. `expected_regret` (full information) charges <p_t, l_t> in place of the draw;
    `estimated_regret` (bandits) is own loss - min Lhat at the end of each run: its expectation is at least the
    expected regret if losses do not depend on the moves; it is no bound on a run.

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
    #: The cumulative loss (or gain) of every run at the checkpoints, in the units of the losses.
    loss: Array | None = None
    note: str = ""
    #: Whether the losses were set by an adversary that sees past moves; the regret is against the losses realised.
    adaptive: bool = False
    #: Whether the losses are known to be drawn independently from one law, as Bernoulli means that do not change are.
    iid: bool = False
    #: Whether each round was played as the learner plays the next one: no learner can, so that its bound is not shown.
    fictitious: bool = False
    #: The learner itself, for its bound; a loaded record has what was written down instead.
    source: Any = field(default=None, compare=False)
    written: dict[str, Any] | None = field(default=None, compare=False)

    @property
    def mean_regret(self) -> Array:
        """The mean over runs, at each checkpoint."""
        return np.asarray(self.regret.mean(axis=0))

    @property
    def rounds_per_second(self) -> float:
        """Rounds of all runs together, a second."""
        return self.rounds * self.runs / self.seconds if self.seconds > 0.0 else math.inf

    def interval(self, level: float = 0.95, method: str = "t") -> tuple[Array, Array]:
        """Return an approximate confidence interval (low, high) of the mean regret at each checkpoint.

        method="t": mean -+ t_{runs-1} sd/sqrt(runs), exact for normal runs; "bootstrap": percentiles of 2,000
        resampled means, drawn with the record's seed. Both are approximate: if large regrets are rare, few runs may
        show none of them, and the interval is too narrow. Needs two runs.
        """
        level = refusals.between(level, 0.0, 1.0, "level", "()")
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
            return None, f"{self.learner} gives no bound"
        if self.fictitious:
            return None, "the fictitious player sees the losses before it plays: the learner's bound is not its own"
        best = least if getattr(self.source, "gains", False) else most
        try:
            bound = self._holding(rounds=rounds, best_loss=best)
        except ValueError as reason:
            return None, str(reason)
        if self.adaptive or np.ndim(self.best_loss):
            return bound, ""  # the best loss of other runs may be larger
        return at_observed(self.source, bound, best), ""

    def bound_at(self, rounds: int, best_loss: float) -> tuple[Bound | None, str]:
        """(the learner's bound on a game of so many rounds with this best loss, ""), or (None, why it is withheld)."""
        return self._bound_at(rounds, best_loss, best_loss)

    def _holding(self, **given: Any) -> Bound:
        """The learner's bound, where it holds of this game: against any losses in an adaptive one, else against
        oblivious ones, or i.i.d. ones where these are."""
        asked = self.source.bound
        if self.adaptive and "against" in inspect.signature(asked).parameters:
            given["against"] = "any"
        bound: Bound = asked(**given)
        if self.adaptive:
            return bound.asked("any")
        if not (self.iid or covers(bound.against, "oblivious")):
            raise Withheld(
                f"{ceiling(bound.value)} is for losses drawn independently from one law, which nobody said of these: "
                "adversaries.Bernoulli(means, rounds) says it"
            )
        return bound

    @property
    def bound(self) -> Bound | None:
        """The learner's bound on the expected regret of the whole game; None where it is withheld."""
        return self._bound[0]

    @property
    def bound_withheld(self) -> str:
        """Why there is no bound; empty where there is one."""
        return self._bound[1]

    # Out

    def shown(self) -> Shown:
        """The regret at the end with its interval, the bound, and how long it took."""
        last = figure(float(self.mean_regret[-1]))
        if self.runs > 1:
            low, high = self.interval()
            between = f"{figure(float(low[-1]))} .. {figure(float(high[-1]))}"
            last += f"  ({T_INTERVAL}: {between}; largest run {figure(float(self.regret[:, -1].max()))})"
        name = short(self.learner)
        rows = [] if name == self.learner else [("learner", self.learner)]
        rows.append(("regret", last))
        if self.expected_regret is not None:
            rows.append(("expected", figure(float(self.expected_regret[..., -1].mean()))))
        if self.estimated_regret is not None:
            rows.append(("estimated", f"{figure(float(self.estimated_regret.mean()))}  (own loss - min Lhat)"))
        gains = getattr(self.source, "gains", False) or "gains=True" in self.learner  # a loaded record has its repr
        rows.append(("best gain" if gains else "best loss", figure(float(np.mean(self.best_loss)))))
        if self.bound is not None:
            rows.append(("bound", f"{ceiling(self.bound.value)}  ({self.bound.source})"))
            if self.bound.condition:
                rows.append(("  condition", self.bound.condition))
            rows.append(("  against", self.bound.holds))
        else:
            rows.append(("bound", f"withheld: {self.bound_withheld}"))
        rows.append(("time", f"{figure(self.seconds, 3)} s, {figure(self.rounds_per_second, 3)} rounds a second"))
        if self.note:
            rows.append(("note", self.note))
        size = f"{counted(self.runs, 'run')} of {counted(self.rounds, 'round')}"
        return Shown(f"{name}: {size}, seed {self.seed}", rows)

    __repr__ = Result.__str__

    def to_frame(self) -> Any:
        """A pandas (else polars) frame with columns run, round, regret."""
        columns = {
            "run": np.repeat(np.arange(self.runs), len(self.checkpoints)),
            "round": np.tile(self.checkpoints, self.runs),
            "regret": self.regret.reshape(-1),
        }
        from hannan.report.frames import frame_of

        return frame_of(columns)

    def plot(self, *others: Record, log: bool = False, level: float = 0.95) -> Any:
        """An Altair chart: the mean, its interval and the bound; `log=True` for logarithmic axes.

        A bound that would press the curve to the floor stands as a number under the title; on logarithmic axes it is
        drawn. `others` are laid over it, each in its colour, with a legend.
        """
        from hannan.games.regret_chart import regret_chart

        for other in others:
            if not isinstance(other, Record):
                raise ValueError(f"plot takes records, and its options by name; got {other!r}")
        if not isinstance(log, bool):
            raise ValueError(f"log must be True or False; got {log!r}")
        return regret_chart((self, *others), log, level)

    def bound_curve(self, points: int = 40) -> tuple[NDArray[np.int64], Array]:
        """The bound for games of t rounds, t among the checkpoints; as if the best loss were all of t."""
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
        """Write one .npz file, whole or not at all: arrays, and JSON for the rest; nothing in it is ever run."""
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
        """The record that `save` wrote."""
        try:
            arrays = arrays_of(path, ("about", *_ARRAYS))
            about = saving.plain_json(bytes(arrays.pop("about")).decode())
            if about["format"] != FORMAT:
                raise ValueError(f"its format must be {FORMAT}; got {about['format']!r}")
            _agree(about, arrays)
            fields: dict[str, Any] = {name: (_BEFORE | about)[name] for name in _PLAIN} | arrays
            if about["scalar_best"]:
                fields["best_loss"] = float(fields["best_loss"])
            return cls(**fields, written={"bound": about["bound"], "withheld": about["withheld"]})
        except (FileNotFoundError, PermissionError):
            raise
        except Exception as error:
            raise ValueError(f"{os.fspath(path)} must be a record written by Record.save; got {error}") from error


_PLAIN = ("learner", "setting", "rounds", "runs", "seed", "seconds", "threads", "note", "adaptive", "iid", "fictitious")
#: What records written before these fields came say of them.
_BEFORE = {"adaptive": False, "iid": False, "fictitious": False}
_ARRAYS = (
    "checkpoints", "regret", "best_loss", "counts", "actions", "expected_regret", "estimated_regret", "loss",
)  # fmt: skip


def _agree(about: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Refuse a file whose parts do not fit each other."""
    rounds, runs = fields.whole(about["rounds"], "rounds", 1), fields.whole(about["runs"], "runs", 1)
    for name in ("learner", "setting", "note"):
        fields.text(about[name], name)
    at = arrays["checkpoints"]
    if at.ndim != 1 or at.dtype.kind != "i" or not len(at) or at[0] < 1 or at[-1] > rounds or (np.diff(at) <= 0).any():
        raise ValueError(f"its checkpoints must be rounds of 1..{rounds}, in order")
    if arrays["regret"].shape != (runs, len(at)) or arrays["regret"].dtype != np.float64:
        raise ValueError(f"its regret must be numbers of shape {runs, len(at)}; got shape {arrays['regret'].shape}")
    if "loss" in arrays and arrays["loss"].shape != arrays["regret"].shape:
        raise ValueError(f"its loss must have the shape of its regret, {runs, len(at)}; got {arrays['loss'].shape}")
    if arrays["counts"].shape[:1] != (runs,) or arrays["counts"].ndim != 2:
        raise ValueError(f"its counts must have a row for each of {runs} runs; got shape {arrays['counts'].shape}")
