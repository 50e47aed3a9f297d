"""Contexts as advice: a column of contexts becomes an expert, who advises what did best in the same context so far."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hannan.refusals import Array


class ContextExpert:
    """Advises, for each row, the action with the best mean in the rows before with the same context.

    Means are weighted by 1/propensity, so that they are not the logged policy's taste. A context that is new gets what
    did best in all rows; the first row gets the first action. Only rows before are used, as in a game.

    >>> expert = ContextExpert(gains=False)
    >>> actions, losses = np.array([0, 1, 1, 0, 0]), np.array([1.0, 0.0, 0.0, 0.0, 1.0])
    >>> expert.advise(["tv", "pc", "tv", "pc", "tv"], actions, losses, None).tolist()
    [0, 0, 0, 1, 1]
    """

    def __init__(self, gains: bool) -> None:
        self._sign = -1.0 if gains else 1.0
        #: Of each context, of all rows under None: by action the sums of w and of w l.
        self._seen: dict[str | None, dict[int, tuple[float, float]]] = {None: {}}

    def advise(
        self, contexts: Sequence[str], actions: NDArray[np.int64], losses: Array, odds: Array | None
    ) -> NDArray[np.int64]:
        """The advice for some rows, which are then known."""
        told = np.empty(len(actions), dtype=np.int64)
        weights = np.ones(len(actions)) if odds is None else 1.0 / odds
        rows = zip(contexts, actions.tolist(), losses.tolist(), weights.tolist(), strict=True)
        for t, (context, action, loss, weight) in enumerate(rows):
            here = self._seen.setdefault(context, {})
            told[t] = self._best(here or self._seen[None])
            for sums in (here, self._seen[None]):
                w, wl = sums.get(action, (0.0, 0.0))
                sums[action] = w + weight, wl + weight * loss
        return told

    def _best(self, sums: dict[int, tuple[float, float]]) -> int:
        """The action with the best mean; the first there is where nothing is known."""
        return min(sums, key=lambda action: (self._sign * sums[action][1] / sums[action][0], action), default=0)
