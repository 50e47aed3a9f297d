"""Identity of a player: name, source of randomness, copies and forked processes."""

from __future__ import annotations

import contextlib
import os
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from hannan import validation
from hannan.saving import fields

_living: WeakValueDictionary[int, Any] = WeakValueDictionary()


def watch(player: Any) -> None:
    """Give the player new random streams in every forked process."""
    _living[id(player)] = player


def _renew() -> None:
    for player in list(_living.values()):
        if getattr(player, "seed", None) is None:
            # A player that another thread used during the fork raises here, and at every later call in this process.
            with contextlib.suppress(Exception):
                player._reincarnate()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)


#: Bits of entropy of a player without a seed; NumPy's SeedSequence uses 128 of them.
BITS = 256


def origin(seed: Any) -> tuple[int | None, int]:
    """Return (seed as given or None, entropy of the random streams); without a seed, bits of the operating system.

    >>> origin(7)
    (7, 7)
    >>> origin(None)[0] is None, origin(None)[1] != origin(None)[1]
    (True, True)
    """
    if seed is None:
        return None, int.from_bytes(os.urandom(BITS // 8), "little")
    given = validation.count(seed, "seed", least=0)
    return given, given


def renewed(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return four words of a new random stream: a hash of the current stream and of new entropy."""
    import hashlib  # not for a game

    digest = hashlib.sha256(words.astype("<u8").tobytes() + os.urandom(BITS // 8)).digest()
    return np.frombuffer(digest, dtype="<u8").astype(np.uint64)


def run_seed(seed: int, run: int) -> int:
    """Return the seed of a run for a player that is seeded by one number; run 0 has the seed itself."""
    if run == 0:
        return seed
    return int(np.random.SeedSequence(seed, spawn_key=(run,)).generate_state(1, np.uint64)[0])


#: Number of earlier ids that a player stores if it is loaded repeatedly.
MOST_EARLIER = 256


class Incarnate:
    """Identity of a running player: `id`, `name`, `incarnation` and `seed` (None: from the operating system)."""

    id: str
    name: str
    incarnation: str
    seed: int | None
    round: Any
    #: Ids from before the player was loaded, each with the last round drawn under it.
    earlier: tuple[tuple[str, int], ...] = ()
    #: Whether the random streams are in a file, because the player was saved or resumed exactly. Not saved itself.
    resumed: bool = False

    def _take_name(self, seed: Any, name: Any) -> int:
        """Set the name, a new one if none is given, and return the entropy of the streams, which is not stored."""
        self.seed, entropy = origin(seed)
        self._called(named(name), "")
        return entropy

    def _called(self, name: str, incarnation: str) -> None:
        watch(self)
        self.name, self.incarnation = name, incarnation
        self.id = f"{name}.{incarnation}" if incarnation else name

    def _renew(self) -> None:
        """Derive every random stream from its current state and from new entropy."""
        raise NotImplementedError

    def _reincarnate(self) -> None:
        self._renew()
        if self.round > (self.earlier[-1][1] if self.earlier else 0):
            self.earlier = (*self.earlier, (self.id, self.round))[-MOST_EARLIER:]
        self._called(self.name, os.urandom(6).hex())
        self.resumed = False

    def _who(self) -> dict[str, Any]:
        """Return the identity as it is saved."""
        seed = None if self.seed is None else str(self.seed)
        earlier = [list(pair) for pair in self.earlier]
        return {"seed": seed, "name": self.name, "incarnation": self.incarnation, "earlier": earlier}

    def _is(self, content: dict[str, Any]) -> None:
        """Restore the identity from the content of a file."""
        _, name, incarnation = told(content)
        earlier, last = [], 0
        for pair in fields.items(content["earlier"], "earlier ids")[-MOST_EARLIER:]:
            before, drawn = fields.items(pair, "earlier id", 2)
            last = fields.whole(drawn, "rounds under an earlier id", last + 1)
            earlier.append((fields.text(before, "earlier id"), last))
        self.earlier = tuple(earlier)
        self._called(name, incarnation)


def named(name: Any) -> str:
    """Return the given name, or a new one."""
    return os.urandom(8).hex() if name is None else str(name)


def told(content: dict[str, Any]) -> tuple[int | None, str, str]:
    """Return (seed, name, incarnation) from the content of a file."""
    seed, name, incarnation = content["seed"], content["name"], content["incarnation"]
    if seed is not None:
        # Reading a numeral with many digits takes quadratic time.
        if not (isinstance(seed, str) and seed.isascii() and seed.isdigit() and len(seed) <= 4000):
            raise ValueError(f"corrupt file: seed must be an integer >= 0, as a string; found {validation.brief(seed)}")
        seed = int(seed)
    for what, text in (("name", name), ("incarnation", incarnation)):
        if not isinstance(text, str):
            raise ValueError(f"corrupt file: {what} must be a string; found {validation.brief(text)}")
    return seed, name, incarnation
