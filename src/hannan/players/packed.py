"""The state of a player as JSON takes it, field by field, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from hannan import refusals, saving
from hannan.saving import fields


def packed(item: Any) -> Any:
    """As JSON takes it: arrays and numbers to the last bit, by name."""
    if isinstance(item, np.ndarray):
        if item.dtype == bool:
            return {"mask": "".join("1" if x else "0" for x in item)}
        return {"hex": saving.to_hex(item), "kind": item.dtype.kind}
    if isinstance(item, dict):
        return {key: packed(value) for key, value in item.items()}
    if isinstance(item, float):
        return {"number": item.hex()}
    if isinstance(item, (tuple, list)):
        return [packed(value) for value in item]
    return item


def unpacked(item: Any) -> Any:
    """What `packed` packed."""
    if isinstance(item, dict):
        if item.keys() == {"mask"}:
            letters = fields.text(item["mask"], "mask of the awake")
            if not set(letters) <= {"0", "1"}:
                raise ValueError(f"its mask of the awake must be 0s and 1s; got {refusals.brief(letters)}")
            return np.array([letter == "1" for letter in letters], dtype=bool)
        if item.keys() == {"hex", "kind"}:
            if item["kind"] not in ("f", "i"):
                raise ValueError(f"its arrays must be of kind f or i; got {refusals.brief(item['kind'])}")
            digits = fields.text(item["hex"], "array")
            return fields.bits(digits, len(digits) // 16, "array", item["kind"])
        if item.keys() == {"number"}:
            return float.fromhex(fields.text(item["number"], "number"))
        return {key: unpacked(value) for key, value in item.items()}
    if isinstance(item, list):
        return [unpacked(value) for value in item]
    return item
