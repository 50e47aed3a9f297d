"""A learner that lives in a store: its player, the names of its arms, who of them is awake, and its expiry."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hannan import refusals, saving
from hannan.mathematics.streams import words
from hannan.players.certificate import Certificate
from hannan.players.settings import BanditPlayer
from hannan.players.sleeping_arms import SleepingArmsPlayer
from hannan.players.tickets import Move
from hannan.serving.errors import CONFLICT, REWARD, Refused
from hannan.serving.expiry import Expiry
from hannan.serving.expiry import checked as checked_expiry
from hannan.serving.records import ACT, EXPIRE

#: The record of an event has 16 bits for the arm.
MOST_ARMS = 1 << 16
LONGEST_NAME = 100


class Resident:
    """One learner of a store. What changes it is in the journal, so that the journal makes it again."""

    def __init__(
        self, number: int, name: str, learner: Any, arms: Any = None, wait: Any = None, default: Any = None
    ) -> None:
        self.number, self.name, self.learner = number, checked_name(name), learner
        self.player = _player(learner, name)
        self.n = int(learner.n)
        self.arms: list[str | None] | None = _arms(learner, arms)
        self._mask: NDArray[np.bool_] | None = None
        if self.arms is not None and None in self.arms:
            self._sleep([arm is not None for arm in self.arms])
        low, high = learner.loss_range
        self.expiry: Expiry | None = checked_expiry(wait, default, low, high)
        #: The arms that were added or retired, and after how many rounds.
        self.changes: list[str] = []
        self._told = {"learner": saving.describe(learner), "arms": arms, "wait": wait, "default": default}

    # Description

    def description(self) -> dict[str, Any]:
        """What `add` was given, as JSON."""
        return {"name": self.name, **self._told}

    def same(self, other: Resident) -> bool:
        """Whether both were added with the same words."""
        return self.description() == other.description()

    def label(self, action: int) -> Any:
        """An arm as its user calls it."""
        return action if self.arms is None else self.arms[action]

    @property
    def labels(self) -> list[Any]:
        """Its arms as their user calls them; those that have no name yet, by their number."""
        return [i if self.arms is None or self.arms[i] is None else self.arms[i] for i in range(self.n)]

    @property
    def weights(self) -> list[float]:
        """The probabilities of the next draw."""
        p = self.player.distribution() if self._mask is None else self.player.distribution(self._mask)
        return [float(x) for x in p]

    @property
    def awake(self) -> list[int]:
        """The arms that can be drawn."""
        return list(range(self.n)) if self._mask is None else np.flatnonzero(self._mask).tolist()

    # Arms

    def may_sleep(self) -> None:
        """Refuse arms that come and go where no proof covers it."""
        if not isinstance(self.player, SleepingArmsPlayer):
            raise ValueError(
                f"arms may be added and retired where a proof covers arms that sleep, as of "
                f"Bandit({self.n}, Tsallis(0.5)); got {self.learner!r}"
            )

    def _sleep(self, awake: Any) -> None:
        self.may_sleep()
        mask = np.array(awake, dtype=bool)
        self._mask = None if mask.all() else mask

    def place_of(self, arm: Any) -> int:
        """The number of an arm that is awake, or a refusal."""
        found: int | None = None
        if self.arms is not None:
            found = self.arms.index(arm) if isinstance(arm, str) and arm in self.arms else None
        elif isinstance(arm, int) and not isinstance(arm, bool) and 0 <= arm < self.n:
            found = arm
        if found is None or found not in self.awake:
            raise ValueError(f"an arm of {self.name!r} must be one that is awake; got {refusals.brief(arm)}")
        return found

    def free_place(self, arm: Any) -> int:
        """Where a new arm goes: the first place that nobody had."""
        if self.arms is None or not isinstance(arm, str) or not arm:
            raise ValueError(f"an arm to add must be a name, where arms have names; got {refusals.brief(arm)}")
        if arm in self.arms:
            raise Refused(CONFLICT, f"the arms of {self.name!r} must have names of their own; {arm!r} was one before")
        if None not in self.arms:
            raise Refused(CONFLICT, f"{self.name!r} must have a place left for an arm; all {self.n} are taken")
        return self.arms.index(None)

    def add_arm(self, place: int, arm: str) -> None:
        """From now on it can be drawn; until now it slept."""
        assert self.arms is not None
        awake = {*self.awake, place}
        self._sleep([i in awake for i in range(self.n)])
        self.arms[place] = arm
        self.changes.append(f"{arm} came after round {self.player.round}")

    def retire(self, place: int) -> None:
        """From now on it is not drawn; what is open can still be settled."""
        awake = set(self.awake) - {place}
        self._sleep([i in awake for i in range(self.n)])
        self.changes.append(f"{self.label(place)} left after round {self.player.round}")

    # Play

    def renew(self, entropy: int) -> None:
        """Let its stream start from this epoch's entropy."""
        noise = words(entropy, self.number, 2) if self.player._program.own_noise else self.player._words[1]
        self.player._set_words(words(entropy, self.number), noise)

    def draw(self) -> Move:
        """The next move."""
        move: Move = self.player.act() if self._mask is None else self.player.act(self._mask)
        return move

    def open_move(self, number: int) -> Move | None:
        """The move of a round, while it waits for its feedback."""
        found: Move | None = self.player._open_move(number)
        return found

    def value(self, reward: Any, loss: Any) -> float:
        """The feedback as a number of the learner's range."""
        if (reward is None) == (loss is None):
            raise Refused(REWARD, f"feedback must be a reward or a loss; got reward={reward!r}, loss={loss!r}")
        given, gains = ("reward", True) if loss is None else ("loss", False)
        if gains != self.learner.gains:
            other = "a reward, because it plays for gains" if self.learner.gains else "a loss, because it plays losses"
            raise Refused(REWARD, f"feedback for {self.name!r} must be {other}; got a {given}")
        try:
            low, high = self.learner.loss_range
            told = reward if gains else loss
            return refusals.between(float(told) if isinstance(told, (bool, np.bool_)) else told, low, high, given)
        except ValueError as error:
            raise Refused(REWARD, str(error)) from None

    def replay(self, events: NDArray[Any], time: float) -> int:
        """Play its events again; the index of the first that comes out otherwise, or -1."""
        player, expiry = self.player, self.expiry
        fields = (events[name].tolist() for name in ("kind", "arm", "round", "value"))
        for at, (kind, arm, number, value) in enumerate(zip(*fields, strict=True)):
            if kind == ACT:
                move = self.draw()
                if move[1] != number or move[2] != arm or move[3] != value:
                    return at
                if expiry is not None:
                    expiry.drawn(number, time)
                continue
            found = player._open_move(number)
            if found is None:
                return at
            player.observe(found, value)
            if kind == EXPIRE and expiry is not None:
                expiry.count += 1
        return -1

    def certificate(self, delta: float | None) -> Certificate:
        """Its player's, with what the store did to it."""
        told: Certificate = self.player.certificate(delta)
        notes = list(told.notes)
        if self.expiry is not None:
            notes.append(("by default", self.expiry.says(told.rounds, self.learner.gains)))
        if self.changes:
            says = "; regret against an arm is over the rounds in which it was awake"
            notes.append(("arms", ", ".join(self.changes) + says))
        return dataclasses.replace(told, notes=tuple(notes))

    # Snapshots

    def state(self) -> dict[str, Any]:
        """All that a snapshot needs."""
        return {
            "number": self.number, **self.description(), "names": self.arms, "awake": self.awake,
            "changes": self.changes, "player": self.player._content(),
            "expiry": None if self.expiry is None else self.expiry.state(),
        }  # fmt: skip

    @classmethod
    def restored(cls, state: dict[str, Any]) -> Resident:
        """As a snapshot has it."""
        found = cls.described(state["number"], state)
        found.arms, found.changes = state["names"], state["changes"]
        if len(state["awake"]) < found.n:
            awake = set(state["awake"])
            found._sleep([i in awake for i in range(found.n)])
        found.player._resume(state["player"])
        if found.expiry is not None:
            found.expiry.restore(state["expiry"])
        return found

    @classmethod
    def described(cls, number: int, told: dict[str, Any]) -> Resident:
        """As a note of the journal has it."""
        return cls(
            number, told["name"], saving.build(told["learner"]), told["arms"], told["wait"], told["default"]
        )  # fmt: skip


def checked_name(name: Any) -> str:
    """A name of a learner: it is part of a path.

    >>> checked_name("banner")
    'banner'
    """
    good = isinstance(name, str) and 0 < len(name) <= LONGEST_NAME and name.isascii()
    if not (good and all(c.isalnum() or c in "-_." for c in name) and name[0].isalnum()):
        raise ValueError(
            f"the name of a learner must be 1 to {LONGEST_NAME} letters, digits, '-', '_' or '.', a letter or digit "
            f"first; got {refusals.brief(name)}"
        )
    return str(name)


def _player(learner: Any, name: str) -> Any:
    """A player that sees one number; the others are refused by name."""
    start = getattr(learner, "start", None)
    if start is None or isinstance(learner, type):
        raise ValueError(f"a store must be given a learner, such as Bandit(3); got {refusals.brief(learner)}")
    if getattr(learner, "n", 0) > MOST_ARMS:  # before any room is made for them
        raise ValueError(f"a learner of a store must have at most {MOST_ARMS} arms; got {learner.n}")
    player = start(None, name)
    if not isinstance(player, BanditPlayer):
        raise ValueError(
            f"a store takes learners that draw an arm and see one number, its loss, as Bandit does; got "
            f"{type(learner).__name__}"
        )
    return player


def _arms(learner: Any, arms: Any) -> list[str | None] | None:
    """The names of the arms; None for a place that is still free."""
    named = getattr(learner, "arms", None)
    if arms is None:
        return None if named is None else list(named)
    if named is not None:
        raise ValueError(f"arms must be named once; got {list(named)!r} and arms={refusals.brief(arms)}")
    names = list(arms) if isinstance(arms, (list, tuple)) else []
    if not (names and all(isinstance(name, str) and name for name in names) and len(set(names)) == len(names)):
        raise ValueError(f"arms must be a list of different names; got {refusals.brief(arms)}")
    if len(names) > learner.n:
        raise ValueError(f"arms must be at most {learner.n}, as many as the learner has; got {len(names)}")
    return [*names, *(None for _ in range(learner.n - len(names)))]
