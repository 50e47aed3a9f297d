"""A class of your own as a learner: it has `act` and `observe`, and nothing else is asked of it."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class OwnClass:
    """Builds the class anew for every run, with those of `n`, `rounds` and `seed` that its `__init__` takes.

    What the class says of itself stands: `sees_all` (its loss is the whole row), `gains`, `loss_range`.

    >>> class Stays:
    ...     def __init__(self, n): self.arm = n - 1
    ...     def act(self): return self.arm
    ...     def observe(self, move, loss): pass
    >>> OwnClass(Stays, 3, 100).start(seed=0).act()
    2
    """

    cls: type
    n: int
    rounds: int | None = None

    @property
    def gains(self) -> bool:
        """Whether its losses are gains."""
        return bool(getattr(self.cls, "gains", False))

    @property
    def loss_range(self) -> Any:
        """Where its losses lie."""
        return getattr(self.cls, "loss_range", (0.0, 1.0))

    def start(self, seed: int | None = None) -> Any:
        """A player of its own for one run."""
        known = {"n": self.n, "rounds": self.rounds, "seed": seed}
        taken = inspect.signature(self.cls).parameters
        return self.cls(**{name: value for name, value in known.items() if name in taken})

    def __repr__(self) -> str:
        return self.cls.__name__


def own_class(learner: Any, losses: Any, rounds: int | None) -> Any:
    """A class that plays as a learner for these losses; whatever else it is given, as it is."""
    if not is_class(learner):
        return learner
    n = getattr(learner, "n", None)
    if n is None:
        shape = np.shape(losses.means if hasattr(losses, "means") else losses)
        if len(shape) < 2 and not hasattr(losses, "means"):
            raise ValueError(
                f"{learner.__name__} must have n, the number of its choices, to meet these losses; got none"
            )
        n = int(shape[-1])
        rounds = int(getattr(losses, "rounds", None) or shape[-2]) if rounds is None else rounds
    return OwnClass(learner, n, rounds)


def is_class(learner: Any) -> bool:
    """Whether it is a class that plays.

    >>> is_class(OwnClass)
    False
    """
    return isinstance(learner, type) and hasattr(learner, "act") and hasattr(learner, "observe")
