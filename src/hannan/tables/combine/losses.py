"""Losses of point forecasts: loss(f, y), convex in the forecast f unless it is capped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np

from hannan import validation
from hannan.learners.adahedge import ANY
from hannan.validation import Array


@dataclass(frozen=True)
class PointLoss:
    """Loss loss(f, y) >= 0 of a forecast f; `kernel` is its name in the engine."""

    kernel: ClassVar[str] = ""
    #: True if another unit of forecasts and targets multiplies every loss by the same number.
    scale_free: ClassVar[bool] = False

    @property
    def parameter(self) -> float:
        """Number that the engine needs: the field of the loss, or 0."""
        return next((float(getattr(self, field.name)) for field in fields(self)), 0.0)

    @property
    def depth(self) -> int:
        """Number of values of a forecast: one, or one per quantile level."""
        return 1

    def columns(self, table: Array) -> Array:
        """Return forecasts with shape (rows, columns); for quantiles (rows, columns, levels)."""
        return table

    def parts(self) -> tuple[PointLoss, ...]:
        """Return the losses of the quantile levels; this loss is their mean."""
        return (self,)

    def price(self) -> Any:
        """Return the loss as an object of the engine."""
        from hannan import _engine

        return _engine.Price(getattr(_engine.PointLoss, kernel_of(self)), self.parameter, self.cap)

    @property
    def cap(self) -> float:
        """Largest possible value."""
        return float("inf")

    @property
    def convex(self) -> bool:
        """True if the loss of a weighted mean of forecasts is at most the weighted mean of their losses."""
        return True

    @property
    def name(self) -> str:
        """Name that `point_loss` accepts."""
        name = type(self).__name__.lower()
        return f"{name}:{self.parameter:g}" if fields(self) else name

    def value(self, f: Any, y: Any) -> Any:
        """Return the loss of forecasts f for targets y."""
        raise NotImplementedError

    def slope(self, f: Any, y: Any) -> Any:
        """Return a subgradient in f."""
        raise NotImplementedError

    def refuse_target(self, y: float) -> str:
        """Return the reason why y is an invalid target, or an empty string."""
        return ""


@dataclass(frozen=True)
class Absolute(PointLoss):
    """Absolute loss |f - y|; the best constant forecast is the median.

    >>> Absolute().value(3.0, 1.0)
    2.0
    """

    kernel: ClassVar[str] = "absolute"
    scale_free: ClassVar[bool] = True

    def value(self, f: Any, y: Any) -> Any:
        return abs(f - y)

    def slope(self, f: Any, y: Any) -> Any:
        return np.sign(f - y)


@dataclass(frozen=True)
class Squared(PointLoss):
    """Squared loss (f - y)^2; the best constant forecast is the mean."""

    kernel: ClassVar[str] = "squared"
    scale_free: ClassVar[bool] = True

    def value(self, f: Any, y: Any) -> Any:
        return (f - y) * (f - y)

    def slope(self, f: Any, y: Any) -> Any:
        return 2.0 * (f - y)


@dataclass(frozen=True)
class Pinball(PointLoss):
    """Pinball loss q (y - f) if y > f, else (1 - q)(f - y); the best constant forecast is the q-quantile.

    >>> Pinball(0.9).value(np.array([0.0, 1.0]), np.array([1.0, 0.0])).round(6).tolist()
    [0.9, 0.1]
    """

    quantile: float
    kernel: ClassVar[str] = "pinball"
    scale_free: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "quantile", validation.between(self.quantile, 0.0, 1.0, "the quantile", "()"))

    def value(self, f: Any, y: Any) -> Any:
        return np.maximum(self.quantile * (y - f), (self.quantile - 1.0) * (y - f))

    def slope(self, f: Any, y: Any) -> Any:
        return np.where(y > f, -self.quantile, np.where(y < f, 1.0 - self.quantile, 0.0))


@dataclass(frozen=True)
class Huber(PointLoss):
    """Huber loss of e = |f - y|: e^2/2 up to e = width, then width (e - width/2).

    >>> Huber(2.0).value(np.array([1.0, 5.0]), 0.0).tolist()
    [0.5, 8.0]
    """

    width: float
    kernel: ClassVar[str] = "huber"

    def __post_init__(self) -> None:
        object.__setattr__(self, "width", validation.positive(self.width, "the width of the Huber loss"))

    def value(self, f: Any, y: Any) -> Any:
        away = np.abs(f - y)
        near = np.minimum(away, self.width)
        return near * (away - 0.5 * near)

    def slope(self, f: Any, y: Any) -> Any:
        return np.clip(f - y, -self.width, self.width)


@dataclass(frozen=True)
class Log(PointLoss):
    """Log loss of a probability f: -log f if y = 1, -log(1 - f) if y = 0."""

    kernel: ClassVar[str] = "log"

    def value(self, f: Any, y: Any) -> Any:
        with np.errstate(divide="ignore", invalid="ignore"):
            loss = -np.log(np.where(np.asarray(y) == 1.0, f, 1.0 - np.asarray(f)))
        return np.where((np.asarray(f) < 0.0) | (np.asarray(f) > 1.0), np.nan, loss)[()]

    def slope(self, f: Any, y: Any) -> Any:
        # A correct forecast of exactly 0 or 1 has a one-sided slope; the tiny number keeps it finite.
        f, tiny = np.asarray(f), 1e-300
        return np.where(np.asarray(y) == 1.0, -1.0 / np.maximum(f, tiny), 1.0 / np.maximum(1.0 - f, tiny))

    def refuse_target(self, y: float) -> str:
        return "" if y in (0.0, 1.0) else "a target of the log loss must be 0 or 1"


@dataclass(frozen=True)
class Capped(PointLoss):
    """Capped loss min(loss, cap). It is not convex, so bounds are about a drawn expert.

    >>> float(point_loss("absolute", cap=2.0).value(9.0, 1.0))
    2.0
    """

    loss: PointLoss
    most: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "most", validation.positive(self.most, "cap"))

    @property
    def parameter(self) -> float:
        return self.loss.parameter

    @property
    def cap(self) -> float:
        return self.most

    @property
    def convex(self) -> bool:
        return False

    @property
    def name(self) -> str:
        return f"{self.loss.name}, capped at {self.most:g}"

    def value(self, f: Any, y: Any) -> Any:
        return np.minimum(self.loss.value(f, y), self.most)

    def refuse_target(self, y: float) -> str:
        return self.loss.refuse_target(y)


def kernel_of(loss: PointLoss) -> str:
    """Return the name of the loss in the engine, without its cap; empty if the engine has no such loss."""
    return loss.loss.kernel if isinstance(loss, Capped) else loss.kernel


#: Other names of losses. The RMSE is minimized by minimizing the squared loss, so RMSE and MSE are the same loss.
SYNONYMS = {
    "mae": "absolute", "l1": "absolute", "mean-absolute-error": "absolute",
    "mse": "squared", "rmse": "squared", "l2": "squared", "mean-squared-error": "squared", "brier": "squared",
    "quantile": "pinball", "quantile-loss": "pinball", "pinball-loss": "pinball",
    "log-loss": "log", "logloss": "log", "cross-entropy": "log", "huber-loss": "huber",
}  # fmt: skip
#: The losses, as messages list them.
LOSSES = "absolute (MAE), squared (MSE, RMSE), pinball:q, huber:w or log"


def canonical(spec: str) -> str:
    """Return a loss by its usual name, in lower case.

    >>> canonical("MAE"), canonical(" RMSE "), canonical("quantile:0.9"), canonical("Absolut")
    ('absolute', 'squared', 'pinball:0.9', 'absolut')
    >>> canonical("mean_absolute_error")
    'absolute'
    """
    head, colon, rest = spec.strip().lower().partition(":")
    head = head.strip().replace("_", "-").replace(" ", "-")
    return f"{SYNONYMS.get(head, head)}{colon}{rest}"


def point_loss(spec: str | PointLoss, cap: float | None = None) -> PointLoss:
    """Return the loss of a name, absolute (MAE), squared (MSE, RMSE), pinball:q, huber:w or log, with a cap if given.

    >>> point_loss("pinball:0.9"), point_loss("RMSE")
    (Pinball(quantile=0.9), Squared())
    """
    loss = spec if isinstance(spec, PointLoss) else _named(spec)
    if not kernel_of(loss):
        raise ValueError(f"loss must be {LOSSES}; got {loss!r}")
    return loss if cap is None else Capped(loss, cap)


def _named(spec: Any) -> PointLoss:
    plain: dict[str, PointLoss] = {"absolute": Absolute(), "squared": Squared(), "log": Log()}
    if isinstance(spec, str):
        head, _, rest = canonical(spec).partition(":")
        if head in plain and not rest:
            return plain[head]
        if head == "pinball" and rest:
            try:
                return Pinball(float(rest))
            except ValueError:
                raise ValueError(f"the quantile of pinball:q must be a number in (0, 1); got {rest!r}") from None
        if head == "huber" and rest:
            try:
                return Huber(float(rest))
            except ValueError:
                raise ValueError(f"the width of huber:w must be a number above 0; got {rest!r}") from None
    hint = ""
    if isinstance(spec, str):
        head = spec.partition(":")[0].strip()
        if canonical(head) in ("mape", "smape", "mean-absolute-percentage-error"):
            raise ValueError(f"percentage errors are not supported; got {spec!r}. Use the logarithms of all columns")
        needs = {"pinball": "pinball:0.5", "huber": "huber:1"}.get(canonical(head))
        known = [*plain, "pinball", "huber", *SYNONYMS]
        hint = f". Give its number, as in {needs!r}" if needs else validation.meant(head, known)
    raise ValueError(f"loss must be {LOSSES}; got {spec!r}{hint}")


def losses_of(loss: PointLoss, forecasts: Array, targets: Array) -> Array:
    """Return loss(f_ti, y_t) for a table of forecasts: the reference implementation of the engine."""
    table: Array = np.asarray(loss.value(loss.columns(forecasts), targets[:, None]), dtype=np.float64)
    return table


#: Error of a row without forecasts.
ASLEEP = "all forecasts are missing. Remove the row"


def trouble_of(
    loss_range: tuple[float, float], loss: PointLoss, row: Array, target: float, losses: Array
) -> tuple[Any, int]:
    """Return (error_code, column), or (None, -1); write the losses, NaN for missing forecasts."""
    from hannan._engine import Trouble

    awake = ~np.isnan(row)
    losses[:] = np.nan
    if not awake.any():
        return Trouble.asleep, -1
    if np.isnan(target):
        return None, -1
    with np.errstate(over="ignore", invalid="ignore"):  # overflow is rejected below, with its column
        losses[awake] = loss.value(row[awake], target)
    bad = awake & ~np.isfinite(losses)
    if bad.any():
        return Trouble.infinite, int(np.argmax(bad))
    low, high = loss_range
    bad = awake & ~((losses >= low) & (losses <= high))
    return (Trouble.outside, int(np.argmax(bad))) if bad.any() else (None, -1)


def refusal(
    trouble: Any, column: int, names: Sequence[str], loss: PointLoss, span: tuple[float, float], *,
    row: Array | None, target: float,
) -> str:  # fmt: skip
    """Return the error message that follows the place of a row; empty if there is no error.

    `span` is the range that was stated for the loss.
    """
    from hannan._engine import Trouble

    if trouble == Trouble.none:
        return ""
    assert row is not None
    if trouble == Trouble.extreme:
        return (
            ": the slope of the loss times the spread of the forecasts must be at most 1e140 to avoid overflow; got "
            f"forecasts of {np.nanmin(row):g} to {np.nanmax(row):g} at target {target:g}"
        )
    where, f = f", column {names[column]!r}", loss.columns(row[None, :])[0, column]
    with np.errstate(over="ignore", invalid="ignore"):  # only for the message
        cost = float(loss.value(f, target))
    told = f"forecast {f:g}" if np.ndim(f) == 0 else f"quantiles of {f.min():g} to {f.max():g}"
    low, high = span
    if trouble == Trouble.outside or kernel_of(loss) != "log":
        stated = (low, high) != ANY
        rule = f"in the stated range {low:g}:{high:g}" if stated else f"at most {high:g} to avoid overflow"
        return f"{where}: a loss must be {rule}; got {cost:g} ({loss.name}, {told}, target {target:g})"
    return (
        f"{where}: the {loss.name} loss of {told} at "
        f"target {target:g} must be finite; a probability must be in [0, 1], and may be 0 or 1 only if it is correct"
    )
