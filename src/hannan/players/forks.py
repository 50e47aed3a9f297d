"""A process that is forked has a copy of every player: the child's go on with streams and ids of their own.

Else each would foresee the other's moves, and no bound would hold of either. A player with a seed is for experiments,
and stays what the seed makes it.
"""

from __future__ import annotations

import contextlib
import os
from typing import Any
from weakref import WeakValueDictionary

_living: WeakValueDictionary[int, Any] = WeakValueDictionary()


def watch(player: Any) -> None:
    """From now on it is renewed in every child."""
    _living[id(player)] = player


def _renew() -> None:
    for player in list(_living.values()):
        if getattr(player, "seed", None) is None:
            # Refused by a player that another thread was at work with: it refuses everyone in this process.
            with contextlib.suppress(Exception):
                player._reincarnate()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)
