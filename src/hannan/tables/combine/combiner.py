"""`hn.Combiner`: combine rows of forecasts as they arrive, with late targets and bounds."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hannan import _engine, saving, validation
from hannan.learners.adahedge import ANY, Rule
from hannan.learners.names import FORECASTS
from hannan.players.load import packed, unpacked
from hannan.saving import fields
from hannan.saving.formatting import ceiling, counted, figure
from hannan.saving.result import Result, Shown
from hannan.tables.combine.calibration import Calibration
from hannan.tables.combine.clip import Clipped, Clipping, factor_of
from hannan.tables.combine.guarantees import ANY_ROWS, COMBINATION, EXCESS, Course, Promises
from hannan.tables.combine.losses import ASLEEP, PointLoss, refusal
from hannan.tables.combine.quantiles import Pricing, QuantileLoss
from hannan.tables.combine.rules import PerLevel, mixer_of
from hannan.tables.combine.timing import Block, Events, Work
from hannan.tables.learner import for_forecasts
from hannan.tables.read.table import BadTable, one_role
from hannan.validation import Array


def content_of(combiner: Any) -> dict[str, Any]:
    """Return the content of a saved combiner."""
    learner, loss, calibration = combiner.learner, combiner.loss, combiner.calibration
    if not isinstance(learner, Rule):
        raise ValueError(f"only combiners with a named rule can be saved; got {learner!r}")
    if combiner._taken:
        raise ValueError("a combiner that took a table cannot be saved: its rows have no ids; use a new Combiner")
    bad = next((row for row in combiner.open if type(row) not in (str, int)), None)
    if bad is not None:
        raise ValueError(f"row ids of a saved combiner must be strings or integers; got {bad!r}")
    state = combiner.mixer.fields()
    state["open"] = {str(row): ticket for row, ticket in state["open"].items()}
    content: dict[str, Any] = {
        "kind": "combiner", "columns": list(combiner.columns), "rule": learner.name,
        "loss": "absolute" if combiner.levels else loss.name.split(",")[0],
        "cap": None if loss.convex else loss.cap, "range": packed(list(learner.loss_range)), "next": combiner._next,
        "open": [[row, number] for row, number in combiner._numbers.items()], "state": packed(state),
    }  # fmt: skip
    if combiner.clipping is not None:
        content["clip"] = {"factor": packed(combiner.clipping.factor), "state": packed(combiner.clipping.fields())}
    if combiner.added:
        content["added"] = [[name, rows] for name, rows in combiner.added]
    if calibration is not None:
        content["quantiles"] = {
            "names": combiner._quantiles, "apart": loss.apart, "sorts": combiner.grid.sorts,
            "sums": packed({"rows": calibration.rows, "sums": calibration.sums.ravel()}),
        }  # fmt: skip
    elif combiner._quantiles is not None:
        content["quantiles"] = False
    return content


def made_of(cls: Any, content: dict[str, Any]) -> Any:
    """Return the combiner of a file's content; every field is validated."""
    if content.get("kind") != "combiner":
        raise ValueError(f"not a saved combiner, but a saved {validation.brief(content.get('kind'))}")
    names = [fields.text(name, "columns") for name in fields.items(content.get("columns"), "columns")]
    low, high = unpacked(fields.items(content.get("range"), "range", 2))
    rule = Rule(fields.text(content.get("rule"), "rule"), (low, high))
    loss = fields.text(content.get("loss"), "loss")
    clip = content.get("clip")
    factor = None if clip is None else unpacked(clip["factor"])
    made = cls(names, loss, rule, cap=content.get("cap"), clip=factor, **_quantiles(content.get("quantiles")))
    made._next = fields.whole(content.get("next"), "next row")
    for pair in fields.items(content.get("added", []), "new columns"):
        name, rows = fields.items(pair, "new column", 2)
        made.added.append((fields.text(name, "new columns"), fields.whole(rows, "new columns", 0, made._next)))
    if len({name for name, _ in made.added} & set(made.models)) != len(made.added):
        raise ValueError("corrupt file: new columns must be unique columns of the combiner")
    for pair in fields.items(content.get("open"), "open rows"):
        row, number = fields.items(pair, "open row", 2)
        if type(row) not in (str, int) or row in made._numbers:
            raise ValueError(f"corrupt file: ids of open rows must be unique strings or integers; got {row!r}")
        made._numbers[row] = fields.whole(number, "open row", 0, made._next)
    state = unpacked(content.get("state"))
    if not isinstance(state, dict) or not isinstance(state.get("open"), dict):
        raise ValueError("corrupt file: the state must be an object")
    if sorted(state["open"]) != sorted(str(number) for number in made._numbers.values()):
        raise ValueError("corrupt file: open rows differ from those of the state")
    state["open"] = {int(row): ticket for row, ticket in state["open"].items()}
    made.mixer.restore(state)
    if clip is not None:
        made.clipping.restore(unpacked(clip["state"]), made.mixer)
    if made.calibration is not None:
        _calibrate(made, unpacked(content["quantiles"]["sums"]))
    return made


def _quantiles(told: Any) -> dict[str, Any]:
    """Return the options about quantiles."""
    if not isinstance(told, dict):
        return {"quantiles": told if told is False else None}
    names, apart, sorts = told["names"], told["apart"], told["sorts"]
    if (
        not (names is None or names is True or isinstance(names, str))
        or type(apart) is not bool
        or type(sorts) is not bool
    ):
        raise ValueError(f"corrupt file: invalid options of quantiles {validation.brief(told)}")
    return {"quantiles": names, "per_quantile": apart, "crossing": "sort" if sorts else "refuse"}


def _calibrate(made: Any, told: Any) -> None:
    """Restore the sums of the calibration after validation."""
    rows, sums = np.asarray(told["rows"], dtype=np.float64), np.asarray(told["sums"], dtype=np.float64)
    kept = made.calibration
    if rows.shape != kept.rows.shape or sums.size != kept.sums.size or not np.isfinite([rows.sum(), sums.sum()]).all():
        raise ValueError("corrupt file: sums of quantiles must be finite, one number per model and level")
    if rows[0] != made.mixer.settled:
        raise ValueError("corrupt file: sums of quantiles differ from the number of settled rows")
    kept.rows, kept.sums = rows.copy(), sums.reshape(kept.sums.shape).copy()


@dataclass(frozen=True)
class Told(Result):
    """Losses of a combiner over the settled rows, and its excess losses with their bounds."""

    learner: str
    loss: str
    columns: tuple[str, ...]
    answered: int
    settled: int
    total: float
    mean: float
    losses: Array = field(hash=False)
    promises: Promises
    #: CRPS, coverage and sharpness of quantiles.
    calibration: Calibration | None = field(default=None, hash=False, repr=False)
    #: Columns that were added while the combiner ran, with the number of rows answered before.
    added: tuple[tuple[str, int], ...] = ()
    #: Effect of clipping, if forecasts are clipped.
    clipped: Clipped | None = field(default=None, hash=False, repr=False)

    def shown(self) -> Shown:
        """Return the losses, the excess losses with their bounds, and the assumptions."""
        told, best = self.promises, int(np.argmax(self.promises.realised))
        rows = [("rows", f"{self.settled} settled of {self.answered} answered")]
        rows.append(("loss", f"{figure(self.total)} in total ({self.loss})"))
        rows += [("new column", f"{name}, after {counted(answered, 'answered row')}") for name, answered in self.added]
        rows += [] if self.clipped is None else self.clipped.lines()
        rows += [] if self.calibration is None else self.calibration.lines()
        excesses = [("average of columns", told.mean_realised, told.mean, told.mean_withheld)]
        assumptions: list[tuple[str, str]] = []
        if self.settled:
            name = f"best column ({self.columns[best]})"
            excesses.append((name, float(told.realised[best]), told.column(best), told.withheld))
            if told.filled:
                assumptions.append(("best column", told.filled))
        if told.base is None:
            assumptions.append(("fixed weights", f"no bound: {told.combination_withheld}"))
        else:
            assumptions.append(("fixed weights", COMBINATION))
        assumptions += [] if self.clipped is None else self.clipped.assumptions()
        assumptions += [("no bound over", f"{whom}: {why}") for whom, _, bound, why in excesses if bound is None]
        table = [(whom, more, "none" if bound is None else ceiling(bound)) for whom, more, bound, _ in excesses]
        details = [("bounds", ANY_ROWS), ("theorem", told.source)] if told.source else []
        title = f"Combiner ({self.learner}), {self.settled} settled rows: total loss {figure(self.total)}"
        return Shown(title, rows, EXCESS, table, assumptions, details)

    def rows(self) -> list[tuple[str, str]]:
        """Return the printed rows, assumptions and details as (name, text) pairs."""
        shown = self.shown()
        return [*shown.rows, *shown.assumptions, *shown.details]


class _Stop(NamedTuple):
    """Position at which the engine stopped: error code (none if all rows are done), column, and number of rows or
    events done.
    """

    trouble: Any
    column: int
    done: int


class Combiner:
    """Combine forecasts as they arrive: answer a row now, settle it when its target is known.

    The combined forecast is sum_i p_i f_i; the weights p are learned from the slopes of the loss. Targets may arrive
    late and in any order. An error leaves the state unchanged. Not thread-safe: use a lock.

    Parameters
    ----------
    columns : iterable of str or int
        Names of the columns of forecasts, or their number.
    loss : str, default "absolute"
        "absolute" (MAE), "squared" (MSE, RMSE), "pinball:q", "huber:w" or "log".
    learner : str, learner or object, optional
        Weighting rule: two-layers, b, adahedge, adahedge:slopes, ml-poly, boa, squint, adanormalhedge, fixed-share,
        mean or median; a learner of experts; or an object with the methods `weights(awake)` and
        `settle(forecasts, weights, target)`. Default: two-layers (with `cap`: adahedge).
    loss_range : tuple of float, optional
        Smallest and largest loss. A loss outside the range raises an error.
    cap : float, optional
        Clip losses at this value.
    prior : mapping or sequence, optional
        Initial weights of the rules two-layers and b.
    quantiles : str or bool, optional
        Pattern of the names of quantile columns, as for `hn.combine`. A row of quantiles is answered with an array, one
        number per level.
    per_quantile : bool, default False
        Use separate weights per quantile; forecasts are sorted to avoid crossing.
    crossing : {"refuse", "sort"}, default "refuse"
        What to do if the quantiles of a model cross: raise an error or sort them.
    clip : float, optional
        Move a forecast to `clip` times the usual distance of its column from the median, as for `hn.combine`.
    seed : int, default 0
        Random seed of a learner that draws an expert.

    Raises
    ------
    ValueError
        If a parameter is invalid.

    See Also
    --------
    combine : Combine a whole table.

    Notes
    -----
    The default rule is rule B over {B, B with forgetting, AdaHedge, the mean}. It is scale-free. Its bounds relative
    to the mean, to every column and to the best combination hold for any delays (docs/proofs/combine.md).

    Examples
    --------
    >>> combiner = Combiner(["anna", "ben"])
    >>> combiner.answer("monday", {"anna": 102.0, "ben": 98.0})
    100.0
    >>> combiner.answer("tuesday", [104.0, None])
    104.0
    >>> combiner.settle("monday", 101.0)
    >>> combiner.weights().round(3).tolist()
    [0.691, 0.309]
    """

    def __init__(
        self,
        columns: Iterable[str] | int,
        loss: str | PointLoss = "absolute",
        learner: Any = None,
        *,
        loss_range: tuple[float, float] | None = None,
        cap: float | None = None,
        prior: Any = None,
        quantiles: str | bool | None = None,
        per_quantile: bool = False,
        crossing: str = "refuse",
        clip: float | None = None,
        seed: int = 0,
    ) -> None:
        if isinstance(columns, int) and not isinstance(columns, bool):
            columns = [str(i) for i in range(validation.count(columns, "columns"))]
        names = [str(name) for name in columns] if not isinstance(columns, (str, bool)) else []
        if not names:
            raise ValueError(f"columns must be names or their number; got {columns!r}")
        one_role(("an expert", name) for name in names)
        self.columns = tuple(names)
        self._pricing = Pricing(loss, cap, quantiles, per_quantile, crossing)
        self.loss, self.grid = self._pricing.loss_of(names)
        if self.grid is not None and self.grid.left:
            raise ValueError(
                f"each column of quantiles needs a model and a level in its name; got {self.grid.left[0]!r}"
            )
        #: Names that have weights: the columns, or the models whose quantiles they are.
        self.models = self.columns if self.grid is None else self.grid.models
        self.levels = () if self.grid is None else self.grid.levels
        self.learner = for_forecasts(learner, len(self.models), self.loss, loss_range, None)
        self._prior = None if prior is None else shares(prior, self.models)
        self.mixer: Any = mixer_of(
            self.learner, len(self.models), self.loss, self._prior, validation.count(seed, "seed", least=0)
        )
        #: Limit of the distances of forecasts from their median, if forecasts are clipped.
        self.clipping = None if clip is None else Clipping(factor_of(clip), self.loss, self.models)
        #: CRPS, coverage and sharpness of quantiles so far.
        self.calibration = Calibration.of(self.loss, self.models) if isinstance(self.loss, QuantileLoss) else None
        self._quantiles = quantiles
        #: Columns that were added by `add_columns`, with the number of rows answered before.
        self.added: list[tuple[str, int]] = []
        self._numbers: dict[Hashable, int] = {}
        self._next = 0
        self._taken = False

    @property
    def open(self) -> tuple[Hashable, ...]:
        """Ids of the rows that wait for their targets, oldest first."""
        return tuple(self._numbers)

    def answer(self, row_id: Hashable, forecasts: Any) -> Any:
        """Return the combined forecast of a row, which then waits for its target.

        Parameters
        ----------
        row_id : hashable
            Name of the row. It must not be waiting already.
        forecasts : sequence or mapping
            One forecast per column; None and NaN mark missing forecasts.

        Returns
        -------
        float or array
            Combined forecast; with quantiles, one number per level.

        Raises
        ------
        ValueError
            If the row is waiting already, or if no forecast is available.
        """
        self._closed(row_id)
        return self._answer(row_id, self._row(forecasts, row_id))

    def _answer(self, row_id: Hashable, row: Array) -> Any:
        """Return the combined forecast of a validated row, which then waits for its target."""
        told = self.mixer.answer(self._next, row if self.clipping is None else self.clipping.clip(row))
        if told is None:
            raise ValueError(f"row {row_id!r}: all forecasts are missing")
        if self.clipping is not None:
            self.clipping.answer(self._next, row)
        self._numbers[row_id] = self._next
        self._next += 1
        return told if self.levels else float(told)

    def forecast(self, forecasts: Any) -> Any:
        """Return the forecast that `answer` would return, without opening a row.

        Parameters
        ----------
        forecasts : sequence or mapping
            One forecast per column; None and NaN mark missing forecasts.

        Returns
        -------
        float, array or None
            Combined forecast; None if no forecast is available.
        """
        row = self._row(forecasts, "asked for")
        row = row if self.clipping is None else self.clipping.clip(row)
        if isinstance(self.mixer, PerLevel):
            return self.mixer.peek(row)
        p = self.mixer.weights(row)
        if p is None:
            return None
        told = p @ np.nan_to_num(self.loss.columns(row[None, :])[0])
        return told if self.levels else float(told)

    def settle(self, row_id: Hashable, y: float) -> None:
        """Settle a pending row with its target.

        Parameters
        ----------
        row_id : hashable
            Name of the row, as in `answer`.
        y : float
            Target.

        Raises
        ------
        ValueError
            If no such row waits, or if the target or its losses are invalid.
        """
        number = self._open(row_id)
        target = validation.real(y, "a target")
        reason = self.loss.refuse_target(target)
        if reason:
            raise ValueError(f"row {row_id!r}: {reason}; got {target:g}")
        forecasts = self.mixer.waiting(number)
        answer: Any = self.mixer.told(number) if self.calibration is not None else None
        trouble, column = self.mixer.settle(number, target)
        why = self._why(trouble, column, forecasts, target)
        if why:
            raise ValueError(f"row {row_id!r}{why}")
        if self.calibration is not None and isinstance(self.loss, QuantileLoss):
            self.calibration.add(self.loss, answer[None, :], forecasts[None, :], np.array([target]))
        if self.clipping is not None:
            self.clipping.settle(number, target)
        del self._numbers[row_id]

    def forget(self, row_id: Hashable) -> None:
        """Close a row whose target will not arrive; the weights do not change.

        Parameters
        ----------
        row_id : hashable
            Name of the row, as in `answer`.
        """
        number = self._open(row_id)
        self.mixer.forget(number)
        if self.clipping is not None:
            self.clipping.forget(number)
        del self._numbers[row_id]

    def add_columns(self, columns: Iterable[str] | str) -> None:
        """Add columns of new models, from the next row on; pending rows have no forecast of them.

        A new column starts as one that was empty in all rows so far: it has no weight before its first settled target,
        and then at most the weight of an average old column, divided by its distance from the forecast (rule B).

        Parameters
        ----------
        columns : iterable of str
            Names of the new columns, which follow the other columns. Columns of quantiles must have the same levels.

        Raises
        ------
        ValueError
            If a name is not new, if levels differ, or if the learner is not a named rule.

        Notes
        -----
        Initial weights become n/(n + new) of those of the n old columns, and 1/(n + new) for a new column. Bounds of
        two-layers, b and adahedge:slopes cover the new columns (docs/proofs/combine.md). Rules whose learning rates
        depend on the number of columns (two-layers, adahedge, boa, fixed-share) use the new number from now on.

        Examples
        --------
        >>> combiner = Combiner(["anna", "ben"])
        >>> combiner.answer("monday", [102.0, 98.0])
        100.0
        >>> combiner.add_columns(["cleo"])
        >>> combiner.answer("tuesday", {"anna": 104.0, "ben": 100.0, "cleo": 101.0}) > 100.0
        True
        """
        names = [columns] if isinstance(columns, str) else [str(name) for name in columns]
        if not names:
            raise ValueError(f"columns must have at least one name; got {columns!r}")
        if self._taken:
            raise ValueError("a combiner that took a table has no new columns; combine a table with an empty column")
        if not isinstance(self.learner, Rule):
            raise ValueError(f"new columns need a named rule ({', '.join(FORECASTS)}); got {self.learner!r}")
        every = (*self.columns, *names)
        one_role(("an expert", name) for name in every)
        _, own = self._pricing.loss_of(names)
        if (own is None) != (self.grid is None) or (own is not None and (own.levels != self.levels or own.left)):
            wanted = f"columns of the quantile levels {', '.join(f'{q:g}' for q in self.levels)}"
            raise ValueError(f"new columns must be {wanted if self.levels else 'point forecasts'}; got {names}")
        loss, grid = self._pricing.loss_of(every)
        models = every if grid is None else grid.models
        new = models[len(self.models) :]
        self.mixer.add_columns(len(new))
        if self.calibration is not None:
            self.calibration.add_models(new)
        if self.clipping is not None:
            self.clipping.add_columns(new, loss)
        self.columns, self.models, self.loss, self.grid = every, models, loss, grid
        self.added += [(name, self._next) for name in new]

    def weights(self, awake: Any = None) -> Array:
        """Return the weights of the next row.

        Parameters
        ----------
        awake : sequence of bool, optional
            Available columns (default: all).

        Returns
        -------
        array
            One weight per column, or per model of quantiles (with `per_quantile`, the mean over the levels).
        """
        up = np.ones(len(self.models), dtype=bool) if awake is None else np.asarray(awake, dtype=bool)
        if up.shape != (len(self.models),) or not up.any():
            raise ValueError(f"awake must have {len(self.models)} values, at least one of them true; got {awake!r}")
        told: Array = self.mixer.weights(np.tile(np.where(up, 0.5, np.nan), self.loss.depth))
        return told

    def certificate(self) -> Told:
        """Return the losses so far, with the excess losses over mean, columns and combinations and their bounds.

        Returns
        -------
        Told
            Losses and bounds over the settled rows.
        """
        mixer = self.mixer
        return Told(
            learner=repr(self.learner), loss=self.loss.name, columns=self.models, answered=int(mixer.answered),
            settled=int(mixer.settled), total=float(mixer.mixture), mean=float(mixer.mean_loss),
            losses=np.asarray(mixer.losses), promises=mixer.promises(), calibration=self.calibration,
            added=tuple(self.added), clipped=None if self.clipping is None else self.clipping.result(),
        )  # fmt: skip

    # Tables

    def take(self, block: Block, course: Course | None = None) -> Work:
        """Answer and settle the rows of a block; points of the curves are added to `course`.

        Rows are numbered by the table, not by `answer`: a combiner either takes blocks or answers single rows.

        Parameters
        ----------
        block : Block
            Rows of a table.
        course : Course, optional
            Curves of the losses, to which points are added.

        Returns
        -------
        Work
            Weights and forecasts of the block, one row per row.
        """
        if self._next:
            raise ValueError("a combiner that answered single rows takes no table; use a new Combiner")
        self._taken = True
        self._check_targets(block)
        if self.clipping is not None:
            self.clipping.rows(block.forecasts, block.fresh, block.first)
        mixer, before, n = self.mixer, int(self.mixer.answered), None if course is None else len(self.models)
        work = Work.room(len(block.targets), n, mixer.draws, len(getattr(self.loss, "levels", ())))
        due: NDArray[np.int64] = np.empty(0, dtype=np.int64)
        if course is not None:
            at = course.due(before, block.answered)
            due = block.fresh[at - before - 1] + 1 if block.brings else at - before
            if getattr(mixer, "notes", False):
                self._take_noted(block, at, due, work, course)
            else:
                self._take_stretches(block, due.tolist(), work, course)
        else:
            self._stretch(block, slice(0, len(block.targets)), work)
        for number in block.dropped:
            mixer.forget(number)
        if self.clipping is not None:
            history = block.history()
            self.clipping.settle_all(history.order, history.told)
            for number in block.dropped:
                self.clipping.forget(number)
        return work

    def finish(self, rest: Iterable[tuple[int, float]], place: Callable[[int], str]) -> None:
        """Settle the rows whose targets are due after the last row of a table.

        Parameters
        ----------
        rest : iterable of (int, float)
            Rows and their targets.
        place : callable
            Function of a row that describes its place in error messages.
        """
        for row, target in rest:
            trouble, column = self.mixer.settle(row, target)
            if why := self._why(trouble, column, self.mixer.waiting(row), target):
                raise BadTable(f"{place(row)}{why}")
            if self.clipping is not None:
                self.clipping.settle(row, target)

    def waiting(self, number: int) -> Array | None:
        """Return the forecasts of a pending row, as they were given.

        Parameters
        ----------
        number : int
            Number of the row.

        Returns
        -------
        numpy.ndarray or None
            Forecasts, or None if the row is not pending.
        """
        given = None if self.clipping is None else self.clipping.given(number)
        told: Array | None = self.mixer.waiting(number) if given is None else given
        return told

    def _take_noted(
        self, block: Block, at: NDArray[np.int64], due: NDArray[np.int64], work: Work, course: Course
    ) -> None:
        """Process all rows in one call; the engine records the points of the curves."""
        table, answers, every = block.forecasts, (work.mixed, work.weights), slice(0, len(block.targets))
        if block.in_order(every):
            events = block.events(every)
            done, trouble, column, moments = self.mixer.noted_events(table, events, block.first, *answers, due)
            self._check_event(_Stop(trouble, column, done), events, block, block.first)
        else:
            done, trouble, column, moments = self.mixer.noted(table, block.targets, *answers, due)
            self._check_row(_Stop(trouble, column, done), block)
        work.played = self.mixer.played
        reached, ends = at[: len(moments)].tolist(), due[: len(moments)].tolist()
        course.extend(reached, moments, [block.times[end - 1] if block.times else "" for end in ends])
        if block.answered:
            self._reach(int(block.fresh[-1]) if block.brings else -1, block, work, course)

    def _take_stretches(self, block: Block, due: list[int], work: Work, course: Course) -> None:
        """Process the rows between two points of the curves in one call."""
        fresh, start = block.fresh, 0
        for end in [*due, len(block.targets)]:
            if end > start:
                self._stretch(block, slice(start, end), work.part(slice(start, end)))
            if last := int(np.searchsorted(fresh, end)):
                self._reach(int(fresh[last - 1]), block, work, course)
            if end in due and end > start:
                course.add(self.mixer)
            start = end

    def _reach(self, row: int, block: Block, work: Work, course: Course) -> None:
        assert work.weights is not None
        course.reach(work.weights[row], block.times[row] if block.times else "")

    def _stretch(self, block: Block, rows: slice, work: Work) -> None:
        forecasts, first = block.forecasts[rows], block.first + rows.start
        if block.in_order(rows):
            events = block.events(rows)
            done, trouble, column = self.mixer.events(
                forecasts, events.order, events.told, first, work.mixed, work.weights
            )
            self._check_event(_Stop(trouble, column, done), events, block, first)
        else:
            done, trouble, column = self.mixer.rows(forecasts, block.targets[rows], work.mixed, work.weights)
            self._check_row(_Stop(trouble, column, rows.start + done), block)
        if work.played is not None:
            work.played[:] = self.mixer.played

    def _check_targets(self, block: Block) -> None:
        if not self.loss.refuse_target(0.5):
            return
        for t in [*block.fresh.tolist(), *block.brings]:
            y = block.target[t]
            reason = self.loss.refuse_target(y) if y == y else ""
            if reason:
                raise BadTable(f"{block.place(block.first + t)}: {reason}; got {y:g}")

    def _check_row(self, stop: _Stop, block: Block) -> None:
        """Raise the error of a row whose target is used immediately."""
        if stop.trouble == _engine.Trouble.none:
            return
        number = block.first + stop.done
        self._check_answer(stop, number, block)
        why = self._why(stop.trouble, stop.column, block.forecasts[stop.done], float(block.targets[stop.done]))
        raise BadTable(f"{block.place(number)}{why}")

    def _check_event(self, stop: _Stop, events: Events, block: Block, first: int) -> None:
        """Raise the error of an event; rows of the events are counted from row `first`."""
        if stop.done == len(events.order):
            return
        event = int(events.order[stop.done])
        self._check_answer(stop, first + event, block)
        why = self._why(stop.trouble, stop.column, self.mixer.waiting(~event), float(events.told[stop.done]))
        raise BadTable(f"{block.place(block.happens(~event))}{why}")

    def _check_answer(self, stop: _Stop, number: int, block: Block) -> None:
        if stop.trouble == _engine.Trouble.asleep:
            raise BadTable(f"{block.place(number)}: {ASLEEP}{block.hint}")
        if stop.trouble == _engine.Trouble.failed:
            raise self.mixer.player._failed()

    def _why(self, trouble: Any, column: int, row: Array | None, target: float) -> str:
        span = getattr(self.mixer.rule, "loss_range", ANY)
        return refusal(trouble, column, self.models, self.loss, span, row=row, target=target)

    # Files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the combiner with its open rows to a file, atomically; `hn.load` resumes from it.

        Parameters
        ----------
        path : path
            File to write.
        """
        saving.write(path, content_of(self))

    def __reduce__(self) -> tuple[Any, ...]:
        # For copies, which sktime makes; `load` reads files.
        return type(self)._of, (content_of(self),)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Combiner:
        """Return the combiner that `save` wrote; later answers are the same to the last bit.

        Parameters
        ----------
        path : path
            File to read. No code of the file is executed.

        Returns
        -------
        Combiner
            The combiner.

        Raises
        ------
        ValueError
            If the file is not a saved combiner, or is corrupt.
        """
        content = saving.read(path)
        try:
            return cls._of(content)
        except (TypeError, KeyError, AttributeError) as error:
            raise ValueError(f"{path} must be a saved combiner: {error}") from None
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None

    @classmethod
    def _of(cls, content: dict[str, Any]) -> Combiner:
        made: Combiner = made_of(cls, content)
        return made

    # Rows

    def _closed(self, row_id: Hashable) -> None:
        """Raise ValueError if a row cannot be answered now."""
        if row_id in self._numbers:
            raise ValueError(f"row {row_id!r} was answered already and waits for its target")
        if self._taken:
            raise ValueError("a combiner that took a table answers no single rows; use a new Combiner")

    def _open(self, row_id: Hashable) -> int:
        if row_id not in self._numbers:
            raise ValueError(f"no row {row_id!r} waits for a target")
        return self._numbers[row_id]

    def _row(self, forecasts: Any, row_id: Hashable) -> Array:
        n = len(self.columns)
        if isinstance(forecasts, Mapping):
            unknown = next((name for name in forecasts if str(name) not in self.columns), None)
            if unknown is not None:
                raise ValueError(
                    f"no column {unknown!r}; columns are {list(self.columns)}. add_columns() adds columns of new models"
                )
            forecasts = [forecasts.get(name) for name in self.columns]
        values = [np.nan if value is None else value for value in validation.unmasked(forecasts, "forecasts")]
        row: Array = np.array(values, dtype=np.float64)
        if row.shape != (n,) or np.isinf(row).any():
            raise ValueError(f"forecasts must have {n} values, finite or missing; got {validation.brief(forecasts)}")
        return row if self.grid is None else self.grid.take(row[None, :], lambda t: f"row {row_id!r}")[0][0]


def shares(prior: Any, columns: tuple[str, ...]) -> Array:
    """Return a prior, a mapping by name or one number per column, as positive weights that sum to 1."""
    if isinstance(prior, Mapping):
        strange = next((name for name in columns if name not in prior), None)
        if strange is not None:
            raise ValueError(f"prior has no weight for column {strange!r}{validation.meant(strange, prior)}")
        prior = [prior.get(name, 0.0) for name in columns]
    p = validation.distribution(prior, "prior")
    if p.shape != (len(columns),) or not (p > 0.0).all():
        raise ValueError(
            f"prior must have {len(columns)} positive weights, one per column; got {validation.brief(prior)}"
        )
    told: Array = p / p.sum()
    return told
