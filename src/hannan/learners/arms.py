"""Arms by name: `Bandit(["red", "blue"])`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    #: A count of arms, or their names.
    Count = int | Sequence[str]

    class Arms:
        """To type checkers, the field `n` of a bandit: a count or names go in, a count comes out."""

        def __get__(self, learner: object, owner: type | None = None) -> int: ...
        def __set__(self, learner: object, value: Count) -> None: ...


def how_many(n: Any) -> Any:
    """The count of a count or of names.

    >>> how_many(3), how_many(["red", "blue"])
    (3, 2)
    """
    return len(n) if isinstance(n, (list, tuple)) else n


def name_arms(learner: Any) -> None:
    """Turn a list in the place of n into n and `arms`; names are text, each once, one for each arm."""
    if isinstance(learner.n, (list, tuple)):
        if learner.arms is not None:
            raise ValueError(f"arms must be named once; got {list(learner.n)!r} and arms={learner.arms!r}")
        object.__setattr__(learner, "arms", tuple(learner.n))
        object.__setattr__(learner, "n", len(learner.n))
    if learner.arms is None:
        return
    names = tuple(learner.arms)
    if not (names and all(isinstance(name, str) and name for name in names)):
        raise ValueError(f"names of arms must be text, one for each arm; got {list(names)!r}")
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"names of arms must differ; got {twice!r} twice")
    if len(names) != learner.n:
        raise ValueError(f"names of arms must be {learner.n}, one for each; got {len(names)}")
    object.__setattr__(learner, "arms", names)
