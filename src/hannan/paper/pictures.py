"""Pictures that many claims are shown by."""

from __future__ import annotations

from typing import Any

from hannan.report import Layer, Picture


def bars(
    title: str, rows: list[dict[str, Any]], alt: str, *, x: str = "", y: str = "regret", series: str = "what",
    rules: dict[str, float] | None = None, order: tuple[str, ...] = (),
) -> Picture:  # fmt: skip
    """Bars `y` beside each other for each name `x`, coloured by the column `series`; `rules` are lines across."""
    lines = tuple({"y": height, "label": label} for label, height in (rules or {}).items())
    layers = (Layer("bars", tuple(rows), series=series), *((Layer("rule", lines),) if lines else ()))
    return Picture(title, x, y, layers, alt=alt, x_kind="nominal", order=order)
