"""The arms of a learner of a store: their names, and which of them are awake."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hannan import refusals
from hannan.serving.errors import CONFLICT, Refused


class Arms:
    """Names and places. A place without a name sleeps until an arm takes it; an arm that retires sleeps from then on.

    >>> arms = Arms("banner", 3, None, ["red", "blue"], sleeps=True)
    >>> arms.add(arms.free("green"), "green", "7 decisions"); arms.retire(0, "9 decisions")
    >>> arms.labels, arms.awake, arms.says
    (['red', 'blue', 'green'], [1, 2], 'green came after 7 decisions, red left after 9 decisions')
    """

    def __init__(self, owner: str, n: int, own: Any, given: Any, sleeps: bool) -> None:
        self.owner, self.n, self.sleeps = owner, n, sleeps
        #: Whether the learner itself has names: arms then come in new stages if no place is left.
        self._named = own is not None
        self.names: list[str | None] | None = _names(n, own, given)
        #: None where all are awake.
        self.mask: NDArray[np.bool_] | None = None
        self._json: list[bytes] = []
        #: What came and went, and when.
        self.changes: list[str] = []
        if self.names is not None and None in self.names:
            self.wake([i for i, name in enumerate(self.names) if name is not None])

    @property
    def labels(self) -> list[Any]:
        """The arms as their user calls them; those that have no name yet, by their number."""
        names = self.names
        return list(range(self.n)) if names is None else [i if name is None else name for i, name in enumerate(names)]

    @property
    def json(self) -> list[bytes]:
        """The same as JSON, one by one."""
        if not self._json:
            self._json = [json.dumps(label).encode() for label in self.labels]
        return self._json

    def label(self, action: int) -> Any:
        """One of them."""
        return action if self.names is None else self.names[action]

    @property
    def awake(self) -> list[int]:
        """Those that can be drawn."""
        return list(range(self.n)) if self.mask is None else np.flatnonzero(self.mask).tolist()

    @property
    def says(self) -> str:
        """The changes in words."""
        return ", ".join(self.changes)

    def wake(self, awake: list[int]) -> None:
        """Let these be awake, and no other."""
        self.may_sleep()
        mask = np.zeros(self.n, dtype=bool)
        mask[awake] = True
        self.mask = None if mask.all() else mask

    def may_sleep(self) -> None:
        """Refuse arms that come and go where no proof covers it."""
        if not self.sleeps:
            raise ValueError(
                f"arms without names can be added and retired only if a proof covers arms that sleep, as of "
                f"Bandit({self.n}, Tsallis(0.5)); {self.owner!r} is not of that kind. Name the arms, or add the "
                "learner again with another number of arms"
            )

    @property
    def awake_names(self) -> list[str]:
        """Names of the arms that can be drawn."""
        return [str(self.label(i)) for i in self.awake]

    def free(self, arm: Any) -> int | None:
        """Return the first place that no arm has had, or None if the arm needs a new stage of the learner."""
        if self.names is None or not isinstance(arm, str) or not arm:
            raise ValueError(f"an arm to add must be a name, where arms have names; got {refusals.brief(arm)}")
        if None in self.names and arm not in self.names:
            return self.names.index(None)
        if arm in (self.awake_names if self._named else self.names):
            raise Refused(CONFLICT, f"the arms of {self.owner!r} must have names of their own; {arm!r} was one before")
        if not self._named:
            raise Refused(
                CONFLICT,
                f"{self.owner!r} must have a place left for an arm; all {self.n} are taken. Add the learner again with "
                "more arms, which begins a new stage",
            )
        return None

    def leaving(self, arm: Any) -> int:
        """Return the place of an arm that may retire."""
        if self.names is None:
            self.may_sleep()
        found: int | None = None
        if self.names is not None:
            found = self.names.index(arm) if isinstance(arm, str) and arm in self.names else None
        elif isinstance(arm, int) and not isinstance(arm, bool) and 0 <= arm < self.n:
            found = arm
        if found is None or found not in self.awake:
            raise ValueError(f"an arm of {self.owner!r} must be one that is awake; got {refusals.brief(arm)}")
        if len(self.awake) == 1:
            raise Refused(CONFLICT, f"{self.owner!r} must keep an arm that is awake; {arm!r} is the last")
        return found

    def add(self, place: int, arm: str, after: str) -> None:
        """From now on it can be drawn."""
        assert self.names is not None
        self.wake([*self.awake, place])
        self.names[place], self._json = arm, []
        self.changes.append(f"{arm} came after {after}")

    def retire(self, place: int, after: str) -> None:
        """From now on it is not drawn."""
        self.wake([i for i in self.awake if i != place])
        self.changes.append(f"{self.label(place)} left after {after}")

    def state(self) -> dict[str, Any]:
        """For a snapshot."""
        return {"names": self.names, "awake": self.awake, "changes": self.changes}

    def restore(self, state: dict[str, Any]) -> None:
        """From a snapshot."""
        self.names, self.changes, self._json = state["names"], state["changes"], []
        if len(state["awake"]) < self.n:
            self.wake(state["awake"])
        else:
            self.mask = None


def _names(n: int, own: Any, given: Any) -> list[str | None] | None:
    """The names of the arms; None for a place that is still free."""
    if given is None:
        return None if own is None else list(own)
    if own is not None:
        raise ValueError(f"arms must be named once; got {list(own)!r} and arms={refusals.brief(given)}")
    names = list(given) if isinstance(given, (list, tuple)) else []
    if not (names and all(isinstance(name, str) and name for name in names) and len(set(names)) == len(names)):
        raise ValueError(f"arms must be a list of different names; got {refusals.brief(given)}")
    if len(names) > n:
        raise ValueError(f"arms must be at most {n}, as many as the learner has; got {len(names)}")
    return [*names, *(None for _ in range(n - len(names)))]
