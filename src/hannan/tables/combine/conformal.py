"""`hn.Conformal`: prediction intervals as rows arrive, with certified coverage and late targets."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np

from hannan import saving, validation
from hannan.players.load import packed, unpacked
from hannan.saving import fields
from hannan.tables.combine import combiner as combining
from hannan.tables.combine.combiner import Combiner
from hannan.tables.combine.coverage import LARGEST, CertifiedIntervals, Coverage
from hannan.tables.combine.coverage_certificate import CoverageCertificate

#: Description of the base ends of point columns and of quantile columns.
BASES = ("combined quantiles of residuals of the combined forecast", "combined quantile columns")


class Conformal:
    """Prediction intervals as rows arrive: answer a row now, settle it when its target is known.

    The share of targets in the intervals of settled rows is certified on every sequence of targets, for any delays and
    order of the targets, and per group of rows. Not thread-safe: use a lock.

    Parameters
    ----------
    columns : iterable of str or int
        Names of the columns of forecasts, or their number. Columns named as quantiles, such as `model-lo-90`, must
        contain the levels of the ends.
    coverage : float or sequence of float, default 0.9
        Requested coverage. Intervals of several coverages are nested.
    side : {"both", "lower", "upper"}, default "both"
        Ends of the intervals: both, or one with probability `coverage` on its side.
    groups : sequence of str, optional
        Kinds of groups, such as `["hour", "weekday"]`; every answer then needs one value per kind. Default: rows may
        have any labels.
    within : float, optional
        Limit of the distances of targets from the base ends, in units, that is assumed before play. The certificate
        then has a bound before play.
    loss : str, default "absolute"
        Loss of the combined forecast, as for `hn.Combiner`.
    learner : str, learner or object, optional
        Weighting rule of the combined forecast, as for `hn.Combiner`.
    quantiles : str or bool, optional
        Pattern of the names of quantile columns, as for `hn.Combiner`.
    clip : float, optional
        Limit of the distances of forecasts from their median, as for `hn.combine`.

    Raises
    ------
    ValueError
        If a parameter is invalid.

    See Also
    --------
    combine : Combine a whole table, with intervals.

    Notes
    -----
    An end is `base -+ unit * sinh(theta)`. Settling a row adds `step * (miss - rate)` to theta, where miss is 1 if the
    end that was issued missed the target. Hence the miss rate of the settled rows minus the target rate equals
    `(theta - start) / (step * rows)` (docs/proofs/coverage.md). A state may be negative, so intervals may be empty.
    The first 20 rows of point columns are answered with the interval (-inf, inf), and are not counted.

    References
    ----------
    Gibbs, I., & Candes, E. (2021). Adaptive conformal inference under distribution shift. NeurIPS.
    Angelopoulos, A., Candes, E., & Tibshirani, R. (2023). Conformal PID control for time series prediction. NeurIPS.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> live = Conformal(["anna", "ben"], coverage=0.9)
    >>> for t in range(500):
    ...     low, high = live.answer(t, {"anna": 100.0, "ben": 101.0})
    ...     live.settle(t, 100.0 + rng.normal())
    >>> round(low), round(high)
    (98, 102)
    >>> live.certificate().groups[0].rows, round(live.certificate().coverage, 2)
    (480, 0.91)
    """

    def __init__(
        self,
        columns: Iterable[str] | int,
        coverage: float | Iterable[float] = 0.9,
        *,
        side: str = "both",
        groups: Iterable[str] | None = None,
        within: float | None = None,
        loss: str = "absolute",
        learner: Any = None,
        quantiles: str | bool | None = None,
        clip: float | None = None,
    ) -> None:
        self.requested = Coverage.of(coverage, side, groups, within)
        #: Combiner of the forecasts; it has the same open rows.
        self.combiner = Combiner(columns, loss, learner, quantiles=quantiles, clip=clip)
        self._certified = CertifiedIntervals(self.requested, self.combiner.levels)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns of forecasts."""
        return self.combiner.columns

    @property
    def open(self) -> tuple[Hashable, ...]:
        """Ids of the rows that wait for their targets, oldest first."""
        return self.combiner.open

    def answer(self, row_id: Hashable, forecasts: Any, groups: Any = ()) -> Any:
        """Return the interval of a row, which then waits for its target.

        Parameters
        ----------
        row_id : hashable
            Name of the row. It must not be waiting already.
        forecasts : sequence or mapping
            One forecast per column; None and NaN mark missing forecasts.
        groups : sequence of str, or mapping
            Groups of the row: labels, or one value per kind of groups.

        Returns
        -------
        tuple of float, or array
            (low, high); with several coverages, one such pair per coverage, from the smallest. An end that is not
            requested is infinite, and so are the ends of the first 20 rows. An interval with low > high is empty.

        Raises
        ------
        ValueError
            If the row is waiting already, if no forecast is available, or if a forecast or the groups are invalid.
        """
        labels: tuple[str, ...] = ()
        if groups or self.requested.groups:
            labels = self.requested.labels(groups)
            self._certified.check_room(labels)
        combiner = self.combiner
        combiner._closed(row_id)
        row = combiner._row(forecasts, row_id)
        if (np.abs(row) > LARGEST).any():
            largest = float(np.nanmax(np.abs(row)))
            raise ValueError(f"forecasts must be at most {LARGEST:g} in absolute value; got {largest:g}")
        combined = combiner._answer(row_id, row)
        number = combiner._numbers[row_id]
        if combiner.clipping is not None:
            row = combiner.mixer.waiting(number)
        ends = self._certified.answer(number, combined, row, labels)
        if len(ends) == 2 and self.requested.sides == 2:
            low, high = ends.tolist()
            return low, high
        pairs = self.requested.pairs(ends[None, :])[0]
        return pairs if len(pairs) > 1 else (float(pairs[0, 0]), float(pairs[0, 1]))

    def point(self, row_id: Hashable) -> Any:
        """Return the combined forecast of a pending row; with quantile columns, one number per level.

        Parameters
        ----------
        row_id : hashable
            Name of the row, as in `answer`.

        Returns
        -------
        float or array
            Combined forecast.
        """
        told = self.combiner.mixer.told(self.combiner._open(row_id))
        return told if self.combiner.levels else float(told[0])

    def settle(self, row_id: Hashable, y: float) -> None:
        """Settle a pending row with its target.

        Parameters
        ----------
        row_id : hashable
            Name of the row, as in `answer`.
        y : float
            Target. A target that equals an end is covered.

        Raises
        ------
        ValueError
            If no such row waits, or if the target is invalid.
        """
        number, target = self.combiner._open(row_id), validation.real(y, "a target")
        if abs(target) > LARGEST:
            raise ValueError(f"a target must be at most {LARGEST:g} in absolute value; got {target:g}")
        self.combiner.settle(row_id, target)
        self._certified.settle(number, target)

    def forget(self, row_id: Hashable) -> None:
        """Close a row whose target will not arrive; no state changes.

        Parameters
        ----------
        row_id : hashable
            Name of the row, as in `answer`.
        """
        number = self.combiner._open(row_id)
        self.combiner.forget(row_id)
        self._certified.forget(number)

    def add_columns(self, columns: Iterable[str] | str) -> None:
        """Add columns of new models, from the next row on, as `hn.Combiner.add_columns`; the certificate continues.

        Parameters
        ----------
        columns : iterable of str
            Names of the new columns. Columns of quantiles must have the same levels.

        Raises
        ------
        ValueError
            If a name is not new, or if levels differ.
        """
        self.combiner.add_columns(columns)

    def certificate(self) -> CoverageCertificate:
        """Return the coverage of the settled rows, per group, with its bounds and its cost.

        Returns
        -------
        CoverageCertificate
            Exact counts, bounds before play, and the cost in pinball loss.
        """
        return self._certified.certificate(BASES[bool(self.combiner.levels)])

    # Files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the intervals with their open rows to a file, atomically; `hn.load` resumes from it.

        Parameters
        ----------
        path : path
            File to write.
        """
        saving.write(path, self._content())

    def _content(self) -> dict[str, Any]:
        asked = self.requested
        return {
            "kind": "conformal", "combiner": combining.content_of(self.combiner),
            "coverage": packed(list(asked.levels)), "side": asked.side,
            "groups": None if asked.groups is None else list(asked.groups), "within": packed(asked.within),
            "state": packed(self._certified.fields()),
        }  # fmt: skip

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self)._of, (self._content(),)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Conformal:
        """Return the intervals that `save` wrote; later answers are the same to the last bit.

        Parameters
        ----------
        path : path
            File to read. No code of the file is executed.

        Returns
        -------
        Conformal
            The intervals.

        Raises
        ------
        ValueError
            If the file has other content, or is corrupt.
        """
        content = saving.read(path)
        try:
            return cls._of(content)
        except (TypeError, KeyError, AttributeError, OverflowError) as error:
            raise ValueError(f"{path} must be saved intervals: {error}") from None
        except (ValueError, RuntimeError) as error:
            raise ValueError(f"{path}: {error}") from None

    @classmethod
    def _of(cls, content: dict[str, Any]) -> Conformal:
        if content.get("kind") != "conformal":
            raise ValueError(f"expected saved intervals; found a saved {validation.brief(content.get('kind'))}")
        groups = content.get("groups")
        if groups is not None:
            groups = [fields.text(name, "groups") for name in fields.items(groups, "groups")]
        levels = unpacked(fields.items(content.get("coverage"), "coverage"))
        made: Conformal = cls.__new__(cls)
        side, within = fields.text(content.get("side"), "side"), unpacked(content.get("within"))
        made.requested = Coverage.of(levels, side, groups, within)
        made.combiner = combining.made_of(Combiner, content["combiner"])
        made._certified = CertifiedIntervals(made.requested, made.combiner.levels)
        made._certified.restore(unpacked(content.get("state")), made.combiner)
        return made
