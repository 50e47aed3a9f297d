"""A combiner in a file: columns, loss and rule in words, the state to the last bit, and the rows that wait."""

from __future__ import annotations

from typing import Any

import numpy as np

from hannan import refusals
from hannan.learners.forecasts import Rule
from hannan.players.packed import packed, unpacked
from hannan.saving import fields


def content_of(combiner: Any) -> dict[str, Any]:
    """What a file has of it, and a copy."""
    learner, loss, calibration = combiner.learner, combiner.loss, combiner.calibration
    if not isinstance(learner, Rule):
        raise ValueError(f"a combiner that is saved must play a rule of the package, by its name; got {learner!r}")
    bad = next((row for row in combiner.open if type(row) not in (str, int)), None)
    if bad is not None:
        raise ValueError(f"rows that are saved must be named by text or whole numbers; got {bad!r}")
    state = combiner.mixer.fields()
    state["open"] = {str(row): ticket for row, ticket in state["open"].items()}
    content: dict[str, Any] = {
        "kind": "combiner", "columns": list(combiner.columns), "rule": learner.name,
        "loss": "absolute" if combiner.levels else loss.name.split(",")[0],
        "cap": None if loss.convex else loss.cap, "range": packed(list(learner.loss_range)), "next": combiner._next,
        "open": [[row, number] for row, number in combiner._numbers.items()], "state": packed(state),
    }  # fmt: skip
    if calibration is not None:
        content["quantiles"] = {
            "names": combiner._quantiles, "apart": loss.apart, "sorts": combiner.grid.sorts,
            "sums": packed({"rows": calibration.rows, "sums": calibration.sums.ravel()}),
        }  # fmt: skip
    elif combiner._quantiles is not None:
        content["quantiles"] = False
    return content


def made_of(cls: Any, content: dict[str, Any]) -> Any:
    """The combiner of a file's content; every field is checked."""
    if content.get("kind") != "combiner":
        raise ValueError(f"it must be a saved combiner; got a saved {refusals.brief(content.get('kind'))}")
    names = [fields.text(name, "columns") for name in fields.items(content.get("columns"), "columns")]
    low, high = unpacked(fields.items(content.get("range"), "range", 2))
    rule = Rule(fields.text(content.get("rule"), "rule"), (low, high))
    loss = fields.text(content.get("loss"), "loss")
    made = cls(names, loss, rule, cap=content.get("cap"), **_quantiles(content.get("quantiles")))
    made._next = fields.whole(content.get("next"), "next row")
    for pair in fields.items(content.get("open"), "open rows"):
        row, number = fields.items(pair, "open row", 2)
        if type(row) not in (str, int) or row in made._numbers:
            raise ValueError(f"its open rows must be named by text or whole numbers, once; got {row!r}")
        made._numbers[row] = fields.whole(number, "open row", 0, made._next)
    state = unpacked(content.get("state"))
    if not isinstance(state, dict) or not isinstance(state.get("open"), dict):
        raise ValueError("its state must be fields by name")
    if sorted(state["open"]) != sorted(str(number) for number in made._numbers.values()):
        raise ValueError("its open rows must be those of its state")
    state["open"] = {int(row): ticket for row, ticket in state["open"].items()}
    made.mixer.restore(state)
    if made.calibration is not None:
        _calibrate(made, unpacked(content["quantiles"]["sums"]))
    return made


def _quantiles(told: Any) -> dict[str, Any]:
    """How the columns were named, as the combiner takes it."""
    if not isinstance(told, dict):
        return {"quantiles": told if told is False else None}
    names, apart, sorts = told["names"], told["apart"], told["sorts"]
    if (
        not (names is None or names is True or isinstance(names, str))
        or type(apart) is not bool
        or type(sorts) is not bool
    ):
        raise ValueError(f"its quantiles must be named by a pattern; got {refusals.brief(told)}")
    return {"quantiles": names, "per_quantile": apart, "crossing": "sort" if sorts else "refuse"}


def _calibrate(made: Any, told: Any) -> None:
    """The sums of the calibration: finite numbers in their places."""
    rows, sums = np.asarray(told["rows"], dtype=np.float64), np.asarray(told["sums"], dtype=np.float64)
    kept = made.calibration
    if rows.shape != kept.rows.shape or sums.size != kept.sums.size or not np.isfinite([rows.sum(), sums.sum()]).all():
        raise ValueError("its sums of quantiles must be finite, a number for each model and level")
    if rows[0] != made.mixer.settled:
        raise ValueError("its sums of quantiles must be of the rows that are settled")
    kept.rows, kept.sums = rows.copy(), sums.reshape(kept.sums.shape).copy()
