"""Fleets: many learners of one description, one per key, stored in one array and played in batches."""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self, overload

import numpy as np
from numpy.typing import NDArray

from hannan import _engine, validation
from hannan.mathematics.streams import spawning
from hannan.players import fleet_certificate, fleet_file, identity, reporting
from hannan.players.certificate import Certificate
from hannan.players.identity import Incarnate
from hannan.players.player import BanditPlayer, Player
from hannan.players.sleeping import SleepingArmsPlayer
from hannan.players.tickets import Move, move_of
from hannan.saving import Described, files
from hannan.validation import Array


@dataclass(frozen=True, eq=False)
class Moves:
    """A batch of decisions of a fleet, as arrays with one entry per decision.

    `moves[mask]`, `moves[2:5]` and `moves[[3, 1]]` select decisions, which can be settled separately. `list(moves)`
    gives single `Move` objects.

    Parameters
    ----------
    fleet : str
        Id of the fleet that drew the decisions.
    key : numpy.ndarray or list of str
        Keys.
    round : numpy.ndarray
        Rounds of the learner of the key, from 1.
    action : numpy.ndarray
        Actions drawn.
    probability : numpy.ndarray
        Probabilities with which the actions were drawn.
    ticket : numpy.ndarray
        Integers with which decisions can be settled later.
    arms : tuple of str, optional
        Names of the actions.

    Examples
    --------
    >>> import hannan as hn
    >>> moves = hn.Fleet(hn.Bandit(3), seed=0).act([7, 8, 7])
    >>> moves.key.tolist(), moves.round.tolist(), len(moves[:2])
    ([7, 8, 7], [1, 1, 2], 2)
    """

    fleet: str
    key: Any
    round: NDArray[np.int64]
    action: NDArray[np.int64]
    probability: Array
    ticket: NDArray[np.int64]
    arms: tuple[str, ...] = ()

    @property
    def arm(self) -> Any:
        """Names of the actions; the actions themselves if they have no names."""
        return np.array(self.arms, dtype=object)[self.action] if self.arms else self.action

    def __len__(self) -> int:
        return len(self.ticket)

    def __getitem__(self, chosen: Any) -> Moves:
        places = np.arange(len(self))[chosen]
        if places.ndim != 1:
            raise IndexError(f"moves must be indexed by a slice, a mask or a list of integers; got {chosen!r}")
        key = [self.key[k] for k in places.tolist()] if isinstance(self.key, list) else self.key[places]
        return Moves(
            fleet=self.fleet,
            key=key,
            round=self.round[places],
            action=self.action[places],
            probability=self.probability[places],
            ticket=self.ticket[places],
            arms=self.arms,
        )

    def __iter__(self) -> Iterator[Move]:
        made = move_of(self.arms)
        keys = self.key if isinstance(self.key, list) else self.key.tolist()
        columns = (keys, self.round.tolist(), self.action.tolist(), self.probability.tolist())
        for key, number, action, probability in zip(*columns, strict=True):
            yield made(f"{self.fleet}/{key}", number, action, probability)

    def __repr__(self) -> str:
        return f"<{len(self)} moves of fleet {self.fleet}>"


def one_number(learner: Any) -> type[BanditPlayer]:
    """Return the class of the learner's players if it observes one number per round; otherwise raise."""
    if reason := getattr(learner, "live_only", ""):
        raise ValueError(reason)
    setup: Any = learner.setup() if isinstance(learner, Described) and hasattr(learner, "setup") else None
    played = getattr(learner, "learner", learner)
    if getattr(setup, "setting", None) != "bandit" or getattr(played, "stepped", False):
        raise ValueError(
            "learner must be a bandit, which observes one number per round, such as Bandit(9); "
            f"got {validation.brief(learner)}"
        )
    if setup.own_noise:
        raise ValueError(
            "learner must not use randomness other than the draw of its move; got "
            f"{validation.brief(learner)}, which draws coins too"
        )
    parts = (getattr(learner, "smoothing", None), getattr(learner, "estimator", None))
    if any(part is not None and not part.kernel and getattr(part, "perturbation", None) is None for part in parts):
        raise ValueError(
            "learner must have compiled rules, because a fleet and a store settle batches without calling Python; got "
            f"{validation.brief(learner)} with a user-defined regularizer or estimator. Use learner.start() or hn.play"
        )
    found = type(learner.start(0))
    if not issubclass(found, BanditPlayer):
        raise ValueError(f"learner must be played by a BanditPlayer; got {validation.brief(learner)}")
    return found


def checked_losses(learner: Any, values: Any, named: Any, reward: Any) -> Array:
    """Return the losses (or rewards) of a batch as numbers; the engine checks their range."""
    if sum(one is not None for one in (values, named, reward)) > 1:
        raise ValueError("pass losses or reward=, not both")
    if reward is not None and not learner.gains:
        raise ValueError(
            "this learner takes losses; pass losses=, or create it with gains=True; got reward="
            f"{validation.brief(reward)}"
        )
    if named is not None and learner.gains:
        raise ValueError(f"this learner takes rewards (gains=True); pass reward=; got losses={validation.brief(named)}")
    given = next((one for one in (values, named, reward) if one is not None), None)
    if given is None:
        raise ValueError("losses is required: one number per decision")
    array = np.asarray(validation.unmasked(given, "losses"))
    if array.dtype.kind == "b":  # clicks
        array = array.astype(np.float64)
    if array.ndim != 1:
        raise ValueError(f"losses must be a list or an array, one per decision; got shape {array.shape}")
    if array.dtype.kind == "O" and all(isinstance(x, (bool, int, float, np.number, np.bool_)) for x in array):
        array = array.astype(np.float64)
    if array.dtype.kind not in "fiu" and array.size:
        raise ValueError(f"losses must be real numbers; got {array.dtype.name} values such as {array[0]!r}")
    return np.ascontiguousarray(array, dtype=np.float64)


def bad_loss(learner: Any, values: Array, place: int) -> ValueError:
    """Return the error for a loss outside the range of the learner."""
    low, high = learner.loss_range
    return ValueError(
        f"losses must be finite and in [{low:g}, {high:g}]; got {float(values[place])!r} at index {place}"
    )


def tickets(given: Any) -> NDArray[np.int64]:
    """Return tickets, given without their moves, as an array."""
    rule = "moves must be the object returned by act(), or its tickets (integers in [0, 2**63))"
    array = np.asarray(validation.unmasked(given, "tickets"))
    if array.ndim != 1:
        raise ValueError(f"{rule}; got {validation.brief(given)}")
    if array.size and array.dtype.kind not in "iu":
        raise ValueError(f"{rule}; got {array.dtype.name} values such as {validation.brief(array[0])}")
    bad = (array < 0) | (array > np.iinfo(np.int64).max)
    if bad.any():
        raise ValueError(f"{rule}; got {array[np.argmax(bad)]} at index {np.argmax(bad)}")
    return np.ascontiguousarray(array, dtype=np.int64)


def masks(learner: Any, sleeps: bool, awake: Any, count: int) -> NDArray[np.bool_]:
    """Return the available arms: n booleans for all decisions, or n per decision."""
    if not sleeps:
        raise ValueError(
            f"awake= is not supported by {learner!r}: no proof covers it; use hn.Bandit({learner.n}, hn.Tsallis(0.5))"
        )
    mask = np.asarray(validation.unmasked(awake, "awake"))
    if mask.dtype.kind != "b" or mask.shape not in ((learner.n,), (count, learner.n)):
        raise ValueError(
            f"awake must be {learner.n} booleans, one per arm, or {count} rows of them; "
            f"got {mask.dtype.name} values of shape {mask.shape}"
        )
    if mask.size and not mask.any(axis=-1).all():
        place = "" if mask.ndim == 1 else f" at index {int(np.argmin(mask.any(axis=-1)))}"
        raise ValueError(f"awake must have at least one True{place}; got only False")
    return np.ascontiguousarray(mask)


def refusal(why: _engine.Refusal, place: int, whose: str, fleet: str) -> ValueError:
    """Return the error for a decision that cannot be settled."""
    decision = f"decision at index {place} ({whose})"
    kinds = _engine.Refusal
    if why == kinds.twice:
        return ValueError(f"{decision} is in this batch twice")
    if why == kinds.closed:
        return ValueError(f"{decision} has already been settled or dropped")
    if why == kinds.other_move:
        return ValueError(f"the action or probability of {decision} differs from the one that act() returned")
    return ValueError(f"{decision} was not drawn by this fleet, {fleet!r}")


def prior_of(learner: Any, parent: Any, trust: float) -> Array:
    """Return trust (L - min L) for the parent's estimated losses L, from which new learners start."""
    trust = validation.between(trust, 0.0, 1.0, "trust", "(]")
    if not isinstance(parent, BanditPlayer):
        raise ValueError(f"parent must be a player of a bandit; got {parent!r}")
    if not hasattr(learner, "smoothing") or not hasattr(parent.learner, "smoothing"):
        raise ValueError(f"parent and learner must have a smoothing, as Bandit has; got {parent.learner!r}")
    described: tuple[Any, ...] = (learner, parent.learner)
    mine, theirs = ((x.n, x.loss_range, x.gains) for x in described)
    if mine != theirs:
        raise ValueError(f"parent must have the arms, loss_range and gains of the learner, {mine}; got {theirs}")
    losses: Array = parent._losses
    begun: Array = trust * (losses - losses.min())
    return begun


_NO_PRIOR: Array = np.empty(0)
_UNTOLD: tuple[NDArray[np.int64], Array] = (np.empty(0, dtype=np.int64), np.empty(0))


class Fleet(_engine.Fleet, Incarnate):
    """Many learners of one description, one per key (user, page or device), played in batches.

    `act(keys)` draws a batch and creates a learner for each new key. `observe(moves, losses)` settles decisions,
    delayed and in any order. A learner takes 168 bytes with ten arms.

    Parameters
    ----------
    learner : learner
        Description of every learner: a bandit, which observes one number per round.
    seed : int, optional
        Seed of all random streams. Default: randomness of the operating system.
    name : str, optional
        Id of the fleet. Default: a new one.
    parent : Player, optional
        Player of a bandit from whose estimated losses new learners start. The bound increases by the range of these
        losses.
    trust : float, optional
        Factor in (0, 1] for the losses of the parent.

    Raises
    ------
    ValueError
        If the learner is not a bandit, or does not match its parent.

    Notes
    -----
    Keys are 64-bit integers or strings, one kind per fleet. A key that occurs twice in a batch plays two rounds.

    Key k draws from the stream of run k of `hn.play(seed=seed)`, SeedSequence(seed, spawn_key=(k,)), and a string from
    the four words of its BLAKE2b-128 digest. Moves of a key do not depend on other keys: key 0 draws as
    `learner.start(seed)`, bit for bit. Stability is not measured per key; `Fleet.diagnosed` measures it.

    A fleet is not thread-safe: guard it with a lock.

    Examples
    --------
    >>> import hannan as hn
    >>> fleet = hn.Fleet(hn.Bandit(["red", "blue"], gains=True), seed=0)
    >>> moves = fleet.act(["anna", "ben", "anna"])
    >>> list(moves.arm), moves.round.tolist(), moves.probability.tolist()
    (['red', 'red', 'red'], [1, 1, 2], [0.5, 0.5, 0.5])
    >>> fleet.observe(moves, reward=[1, 0, 1])
    >>> len(fleet), "ben" in fleet, fleet.certificate("ben").rounds
    (2, True, 1)
    >>> fleet.observe(moves[:1], reward=[1])
    Traceback (most recent call last):
    ...
    ValueError: decision at index 0 (round 1 of 'anna') has already been settled or dropped
    """

    def __init__(
        self, learner: Any, seed: int | None = None, name: str | None = None, *, parent: Player | None = None,
        trust: float = 1.0,
    ) -> None:  # fmt: skip
        prior = _NO_PRIOR if parent is None else prior_of(learner, parent, trust)
        self._begin(learner, prior)
        self._start(seed, name)

    @classmethod
    def diagnosed(cls, learner: Any, seed: int | None = None, name: str | None = None) -> Self:
        """Return a fleet that measures the stability of every learner; it is larger and slower.

        Parameters
        ----------
        learner : learner
            Description of every learner.
        seed : int, optional
            Seed of all random streams. Default: randomness of the operating system.
        name : str, optional
            Id of the fleet. Default: a new one.

        Returns
        -------
        Fleet
            An empty fleet.
        """
        made = cls.__new__(cls)
        made._begin(learner, _NO_PRIOR, diagnosed=True)
        made._start(seed, name)
        return made

    def _start(self, seed: int | None, name: str | None) -> None:
        self.seed, entropy = identity.origin(seed)
        self._spawn(spawning(entropy))
        #: Ids under which pending decisions were drawn, and the fleet's current id.
        self._ids: list[str] = []
        self._named(identity.named(name), "")

    def _begin(self, learner: Any, prior: Array, diagnosed: bool = False) -> None:
        self._player_class = one_number(learner)
        self._sleeps = issubclass(self._player_class, SleepingArmsPlayer)
        super().__init__(learner.setup(), self._sleeps, prior, diagnosed)
        self.learner, self.prior = learner, prior
        #: Whether keys are strings (None without keys); maps from strings to numbers and back.
        self._text: bool | None = None
        self._number: dict[str, int] = {}
        self._name: dict[int, str] = {}

    def _named(self, name: str, incarnation: str) -> None:
        """Take an id for the moves to come."""
        self._called(name, incarnation)
        if self.id not in self._ids:
            self._ids.append(self.id)
        if len(self._ids) > 1 << 16:
            raise ValueError("a fleet has at most 65536 ids; save and load it to drop the unused ones")
        self._origin, self._origins = self._ids.index(self.id), len(self._ids)
        self._salt = int.from_bytes(hashlib.blake2b(self.id.encode(), digest_size=8).digest(), "little")

    def _spawn(self, words: list[int]) -> None:
        """Set the pool of a SeedSequence, and its position, from which the streams of keys start."""
        self._spawning = words
        self._set_seed(np.array(words[:4], dtype=np.uint32), words[4])

    def restart(self, seed: int) -> None:
        """Restart every random stream from (seed, key).

        Parameters
        ----------
        seed : int
            The new seed.
        """
        self._spawn(spawning(validation.count(seed, "seed", least=0)))
        if self._text:
            names = list(self._number)
            self._reseed_words(self._numbers_of(names), fleet_file.stream_words(names))
        else:
            self._reseed()

    def __repr__(self) -> str:
        return f"<fleet {self.id} of {len(self)} x {self.learner!r}, {self._open_count} open>"

    # Keys

    @property
    def keys(self) -> Any:
        """Keys in the order of their first decision."""
        return list(self._number) if self._text else self._keys(self._numbers())

    def __contains__(self, key: Any) -> bool:
        try:
            return bool(self.number([key])[0] >= 0)
        except ValueError:
            return False

    def number(self, keys: Any, touch: bool = False) -> NDArray[np.int64]:
        """Return the numbers of keys, counted from 0 in the order of arrival and never reused; -1 for new keys.

        Parameters
        ----------
        keys : array-like
            Keys.
        touch : bool, optional
            Create learners for new keys.

        Returns
        -------
        numpy.ndarray
            One number per key.
        """
        plain = self._of_one_kind(fleet_file.plain(keys), touch)
        if isinstance(plain, list):
            return self._numbers_of(self._touched(plain) if touch else plain)
        found: NDArray[np.int64] = self._touch(plain) if touch else self._find(plain)
        return found

    def _of_one_kind(self, keys: fleet_file.Keys, touch: bool) -> fleet_file.Keys:
        text = isinstance(keys, list)
        if self._text is not None and text != self._text and len(keys):
            kinds = ("strings", "integers") if self._text else ("integers", "strings")
            raise ValueError(f"keys of this fleet are {kinds[0]}; got {kinds[1]} such as {keys[0]!r}")
        if touch and len(keys):
            self._text = text
        return keys

    def _touched(self, names: list[str]) -> list[str]:
        new = [name for name in dict.fromkeys(names) if name not in self._number]
        if new:
            for name, number in zip(new, self._touch_words(fleet_file.stream_words(new)).tolist(), strict=True):
                self._number[name], self._name[number] = number, name
        return names

    def _numbers_of(self, names: list[str]) -> NDArray[np.int64]:
        return np.array([self._number.get(name, -1) for name in names], dtype=np.int64)

    def _key_of(self, number: int) -> Any:
        return self._name[number] if self._text else int(self._keys(np.array([number]))[0])

    def _known(self, key: Any) -> int:
        """Return the number of an existing key."""
        number = int(self.number([key])[0])
        if number < 0:
            raise ValueError(f"no key {validation.brief(key)} in this fleet")
        return number

    # Rounds

    def act(self, keys: Any, awake: Any = None) -> Moves:
        """Draw one decision per key; a new key gets a new learner.

        Parameters
        ----------
        keys : array-like
            Integers or strings.
        awake : array-like of bool, optional
            Available arms: one boolean per arm for all keys, or one row per key.

        Returns
        -------
        Moves
            The decisions.

        Raises
        ------
        ValueError
            If the keys are of the wrong kind, or no proof of the learner covers unavailable arms.
        """
        plain = fleet_file.plain(keys)
        mask = None if awake is None else masks(self.learner, self._sleeps, awake, len(plain))
        self._of_one_kind(plain, touch=True)
        if isinstance(plain, list):
            drawn = self._act_on_numbers(self._numbers_of(self._touched(plain)), mask)
        else:
            drawn = self._act_on_keys(plain, mask)
        tickets, rounds, actions, probabilities = drawn
        arms = getattr(self.learner, "arms", None) or ()
        return Moves(
            fleet=self.id, key=plain, round=rounds, action=actions, probability=probabilities, ticket=tickets, arms=arms
        )

    def observe(self, moves: Any, values: Any = None, *, losses: Any = None, reward: Any = None) -> None:
        """Settle decisions atomically: either all of them, or none if a loss or a move is invalid.

        Parameters
        ----------
        moves : Moves or array-like of int
            Decisions returned by `act`, or some of them, or their tickets. Tickets are valid for this fleet only; moves
            are also valid after `load`, `split` and `join`.
        values : array-like of float, optional
            Losses, or rewards of a learner with `gains=True`, in the units of the learner, one per decision.
        losses : array-like of float, optional
            Losses; an error for a learner with `gains=True`.
        reward : array-like of float, optional
            Rewards; an error for a learner of losses.

        Raises
        ------
        ValueError
            If a loss is out of range, or a decision is not pending. The fleet is then unchanged.
        """
        values = checked_losses(self.learner, values, losses, reward)
        tickets, sealed, actions, probabilities, origin = self._handed(moves)
        if len(values) != len(tickets):
            raise ValueError(f"losses must be {len(tickets)}, one for each decision; got {len(values)}")
        if getattr(self.learner, "reported", False):
            values = reporting.reports_of(self.learner, values, self._coins(moves, tickets))
        refused = self._settle(tickets, sealed, values, actions, probabilities, origin)
        self._refuse(moves, tickets, refused, values)

    def _coins(self, moves: Any, tickets: NDArray[np.int64]) -> NDArray[np.uint64] | None:
        """Return pseudorandom bits for the reports of a fleet with a seed; None for bits of the operating system."""
        if self.seed is None:
            return None
        if not isinstance(moves, Moves):
            return reporting.coins_of(self.seed, [0] * len(tickets), tickets.tolist())
        if self._text:
            keys = [int.from_bytes(words.tobytes(), "little") for words in fleet_file.stream_words(moves.key)]
        else:
            keys = np.asarray(moves.key).astype(np.int64).view(np.uint64).tolist()
        return reporting.coins_of(self.seed, keys, moves.round.tolist())

    def forget(self, moves: Any) -> None:
        """Drop pending decisions whose losses will never be known; the bounds of their keys are withheld afterwards.

        Parameters
        ----------
        moves : Moves or array-like of int
            Decisions, or their tickets.
        """
        handed = self._handed(moves)
        self._refuse(moves, handed[0], self._forget(*handed))

    def _handed(self, moves: Any) -> tuple[NDArray[np.int64], bool, NDArray[np.int64], Array, int]:
        """Return (tickets, whether they are sealed, actions, probabilities, position of the id that drew them)."""
        if not isinstance(moves, Moves):
            return tickets(moves), True, *_UNTOLD, -1
        if moves.fleet not in self._ids:
            raise ValueError(f"these moves belong to another fleet ({moves.fleet!r}; this is {self.id!r})")
        drawn = moves.action, moves.probability
        if moves.fleet == self.id:
            return moves.ticket, True, *drawn, self._origin
        # The moves were drawn before a load or a join, so that their learners may have other numbers here.
        numbers = self.number(moves.key) if len(moves) else np.empty(0, dtype=np.int64)
        plain = (np.where(numbers < 0, (1 << 31) - 1, numbers) << 32) | moves.round
        return plain, False, *drawn, self._ids.index(moves.fleet)

    def _refuse(self, moves: Any, tickets: NDArray[np.int64], refused: Any, values: Array | None = None) -> None:
        why, place = refused
        if why == _engine.Refusal.none:
            return
        if why == _engine.Refusal.bad_loss:
            assert values is not None
            raise bad_loss(self.learner, values, place)
        if isinstance(moves, Moves):
            key = moves.key[place]
            whose = (
                f"round {moves.round[place]} of {key!r}"
                if isinstance(key, str)
                else f"round {moves.round[place]} of {key}"
            )
        else:
            whose = f"ticket {tickets[place]}"
        raise refusal(why, place, whose, self.id)

    # Distributions and certificates

    def distribution(self, key: Any, awake: Any = None) -> Array:
        """Return the probabilities of the next move of a key; the state is unchanged.

        Parameters
        ----------
        key : int or str
            A key, which may be new.
        awake : array-like of bool, optional
            Available arms.

        Returns
        -------
        numpy.ndarray
            One probability per arm.
        """
        player: Any = self._player(key)
        p: Array = player.distribution() if awake is None else player.distribution(awake)
        return p

    @overload
    def certificate(self, key: None = None, delta: float | None = None) -> fleet_certificate.FleetCertificate: ...
    @overload
    def certificate(self, key: Any, delta: float | None = None) -> Certificate: ...
    def certificate(self, key: Any = None, delta: float | None = None) -> Any:
        """Return the certificate of one key, or of all keys together.

        Parameters
        ----------
        key : int or str, optional
            A key. Default: all keys.
        delta : float, optional
            For one key: also bound the regret of this run, with probability 1 - delta.

        Returns
        -------
        Certificate or FleetCertificate
            For one key, the certificate of its player without measured stability. For all keys, the sum of the bounds.
        """
        if key is None:
            return fleet_certificate.whole(self)
        certificate: Certificate = self._player(key).certificate(delta)
        return fleet_certificate.of_one(certificate, self.prior, self.learner.width, self._diagnosed)

    def _player(self, key: Any) -> BanditPlayer:
        """Return a player in the state of the learner of a key; a new key has played no round."""
        number = int(self.number([key])[0])
        if number < 0:
            apart = Fleet.__new__(Fleet)
            apart._begin(self.learner, self.prior, self._diagnosed)
            apart.seed, apart.resumed, apart._ids = self.seed, self.resumed, []
            apart._spawn(self._spawning)
            apart._named(self.name, self.incarnation)
            number = int(apart.number([key], touch=True)[0])
            return fleet_certificate.player(apart, number)
        return fleet_certificate.player(self, number)

    # Moving and saving keys

    def retire(self, low: Any = None, high: Any = None) -> int:
        """Delete the learners with low <= key < high, and their pending decisions.

        Parameters
        ----------
        low, high : int or str, optional
            Range of keys. Default: no limit.

        Returns
        -------
        int
            Number of deleted learners.
        """
        numbers = fleet_file.between(self, low, high)
        self._drop(numbers)
        return len(numbers)

    def split(self, low: Any = None, high: Any = None) -> Fleet:
        """Move the learners with low <= key < high, and their pending decisions, into a new fleet.

        Every learner continues as before, bit for bit. The new fleet settles moves drawn by this one, but not tickets
        without their moves.

        Parameters
        ----------
        low, high : int or str, optional
            Range of keys. Default: no limit.

        Returns
        -------
        Fleet
            The new fleet.
        """
        apart: Fleet = fleet_file.split(self, type(self).__new__(type(self)), fleet_file.between(self, low, high))
        return apart

    def join(self, other: Fleet) -> None:
        """Move all learners of another fleet of the same description into this one; the other is empty afterwards.

        Parameters
        ----------
        other : Fleet
            A fleet without a key of this one.

        Raises
        ------
        ValueError
            If the descriptions differ, or a key is in both fleets.
        """
        fleet_file.join(self, other)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fleet to one file, atomically; `Fleet.load(path)` resumes it.

        The file contains the random state, from which the moves to come can be computed; certificates state this
        afterwards.

        Parameters
        ----------
        path : str or os.PathLike
            The file.
        """
        data = self.to_bytes()
        files.write_whole(path, lambda file: file.write(data), private=True)
        self.resumed = True

    def to_bytes(self) -> bytes:
        """Return the fleet as bytes, as `save` writes them.

        Returns
        -------
        bytes
            The content of the file.
        """
        return fleet_file.written(self)

    @classmethod
    def load(cls, path: str | os.PathLike[str], resume: str | None = None) -> Fleet:
        """Load a fleet that `save` wrote. It has new random streams and a new id, and settles the pending moves.

        Parameters
        ----------
        path : str or os.PathLike
            The file. Every number in it is checked, and nothing in it is executed.
        resume : {"exact"}, optional
            Continue bit for bit, with the id, the tickets and the random streams of the file. Certificates state this,
            because two such fleets draw the same moves.

        Returns
        -------
        Fleet
            The fleet.

        Raises
        ------
        ValueError
            If the file is incomplete, was edited, or is not a saved fleet.
        """
        return cls.from_bytes(files.read_ordinary(path, "a saved fleet"), resume, str(path))

    @classmethod
    def from_bytes(cls, data: bytes, resume: str | None = None, where: str = "the data") -> Fleet:
        """Return the fleet of `to_bytes`, as `load` returns it.

        Parameters
        ----------
        data : bytes
            The content of a file.
        resume : {"exact"}, optional
            As for `load`.
        where : str, optional
            Name of the data in error messages.

        Returns
        -------
        Fleet
            The fleet.
        """
        fleet: Fleet = fleet_file.loaded(cls.__new__(cls), data, resume, where)
        return fleet

    def _drop(self, numbers: NDArray[np.int64]) -> None:
        self._retire(numbers, not self._text)
        if self._text:
            for number in numbers.tolist():
                del self._number[self._name.pop(number)]

    def _renew(self) -> None:
        """Derive new streams from the current ones, from new entropy, and from the keys."""
        streams = np.ascontiguousarray(self._snapshot(self._numbers()).columns()["stream"])
        self.restart(int.from_bytes(identity.renewed(streams).tobytes(), "little"))

    def _reincarnate(self) -> None:
        self._renew()
        self._named(self.name, secrets.token_hex(6))
        self.resumed = False

    @property
    def nbytes(self) -> dict[str, int]:
        """Memory in bytes: of learners, of the table of keys (without strings), and of pending decisions."""
        return dict(self._bytes)
