"""The keywords of `hn.combine` that are the same for one series and for many, for type checkers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypedDict


class Options(TypedDict, total=False):
    """What `hn.combine` takes by name besides `by`, which says what comes back."""

    loss_range: tuple[float, float] | None
    cap: float | None
    experts: Sequence[str] | None
    time: str | None
    horizon: int
    issued: str | None
    target_time: str | None
    pooled: bool
    prior: Any
    quantiles: str | bool | None
    per_quantile: bool
    crossing: str
    seed: int
