"""Who a player is: its name, where its randomness came from, and which copy of it this one is.

A file can be loaded twice. Two players from one file must neither draw the same moves nor take each other's tickets,
so each load is a new incarnation: streams of its own, and an id of its own, "name.incarnation". Moves that were open
when the file was written keep the id they were drawn under, and each copy honours them once. Who asks for the file's
own streams may have a twin, and says so (`resumed`), as does who was saved and goes on. A fork is a load too: the
child's copies are new incarnations.
"""

from __future__ import annotations

import os
from typing import Any

from hannan import refusals
from hannan.players import forks, seeds
from hannan.saving import fields

#: A player that is loaded again and again keeps so many of the ids that it had.
MOST_EARLIER = 256


class Incarnate:
    """What all live players share: `id`, `name`, `incarnation` and `seed` (None: of the operating system)."""

    id: str
    name: str
    incarnation: str
    seed: int | None
    round: Any
    #: The ids that it had before it was loaded, each with the last round that it drew under it.
    earlier: tuple[tuple[str, int], ...] = ()
    #: Whether its streams are in a file, from which others may go on alike: it was saved, or loaded exactly. Not in the
    #: file: every load says anew whether they are.
    resumed: bool = False

    def _take_name(self, seed: Any, name: Any) -> int:
        """Take a name, fresh where none is given; what the streams start from is returned, and not kept."""
        self.seed, entropy = seeds.origin(seed)
        self._called(named(name), "")
        return entropy

    def _called(self, name: str, incarnation: str) -> None:
        forks.watch(self)
        self.name, self.incarnation = name, incarnation
        self.id = f"{name}.{incarnation}" if incarnation else name

    def _renew(self) -> None:
        """Let every random stream go on from where it is and from fresh entropy."""
        raise NotImplementedError

    def _reincarnate(self) -> None:
        self._renew()
        if self.round > (self.earlier[-1][1] if self.earlier else 0):
            self.earlier = (*self.earlier, (self.id, self.round))[-MOST_EARLIER:]
        self._called(self.name, os.urandom(6).hex())
        self.resumed = False

    def _who(self) -> dict[str, Any]:
        """What a file says of it."""
        seed = None if self.seed is None else str(self.seed)
        earlier = [list(pair) for pair in self.earlier]
        return {"seed": seed, "name": self.name, "incarnation": self.incarnation, "earlier": earlier}

    def _is(self, content: dict[str, Any]) -> None:
        """Be who a file says."""
        _, name, incarnation = told(content)
        earlier, last = [], 0
        for pair in fields.items(content["earlier"], "earlier ids")[-MOST_EARLIER:]:
            before, drawn = fields.items(pair, "earlier id", 2)
            last = fields.whole(drawn, "rounds under an earlier id", last + 1)
            earlier.append((fields.text(before, "earlier id"), last))
        self.earlier = tuple(earlier)
        self._called(name, incarnation)


def named(name: Any) -> str:
    """A name: the one given, or a fresh one."""
    return os.urandom(8).hex() if name is None else str(name)


def told(content: dict[str, Any]) -> tuple[int | None, str, str]:
    """(seed, name, incarnation) of a file."""
    seed, name, incarnation = content["seed"], content["name"], content["incarnation"]
    if seed is not None:
        # A numeral of many digits takes quadratic time to read.
        if not (isinstance(seed, str) and seed.isascii() and seed.isdigit() and len(seed) <= 4000):
            raise ValueError(f"its seed must be a whole number >= 0, as text; got {refusals.brief(seed)}")
        seed = int(seed)
    for what, text in (("name", name), ("incarnation", incarnation)):
        if not isinstance(text, str):
            raise ValueError(f"its {what} must be text; got {refusals.brief(text)}")
    return seed, name, incarnation
