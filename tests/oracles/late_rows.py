"""Rows whose targets come late and out of order, for tests of combinations."""

from __future__ import annotations

from typing import Any

import numpy as np


def schedule(rng: Any, rows: int, delay: int) -> list[int]:
    """Events: rows are answered in order, each is settled after its own delay, so out of order; some never."""
    waits = np.arange(rows) + (rng.integers(0, delay + 1, rows) if delay else np.zeros(rows, dtype=int))
    keys = [(t, 0, t) for t in range(rows)] + [(waits[t], 1, t) for t in range(rows) if rng.random() < 0.97]
    return [(~t if settle else t) for _, settle, t in sorted(keys)]
