"""Many keyed learners of one description, in one array of the engine: batches of tickets out, batches of losses in."""

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
from hannan.players import fleet_certificate, fleet_file, identity
from hannan.players.certificate import Certificate
from hannan.players.identity import Incarnate
from hannan.players.player import BanditPlayer, Player
from hannan.players.sleeping import SleepingArmsPlayer
from hannan.players.tickets import Move, move_of
from hannan.saving import files
from hannan.validation import Array


@dataclass(frozen=True, eq=False)
class Moves:
    """A batch of decisions of a fleet, as arrays.

    A batch of decisions of a fleet, as arrays: whose, which round of its learner, the action, its probability, the
    ticket to settle it with.

    `moves[mask]`, `moves[2:5]` and `moves[[3, 1]]` are some of them, which may be settled apart; `list(moves)` are
    single `Move`s. `arm` has the names of the actions where the learner has any.

    >>> import hannan as hn
    >>> moves = hn.Fleet(hn.Bandit(3), seed=0).act([7, 8, 7])
    >>> moves.key.tolist(), moves.round.tolist(), len(moves[:2])
    ([7, 8, 7], [1, 1, 2], 2)
    """

    #: The id of the fleet that drew them.
    fleet: str
    key: Any
    round: NDArray[np.int64]
    action: NDArray[np.int64]
    probability: Array
    ticket: NDArray[np.int64]
    arms: tuple[str, ...] = ()

    @property
    def arm(self) -> Any:
        """The actions by their names."""
        return np.array(self.arms, dtype=object)[self.action] if self.arms else self.action

    def __len__(self) -> int:
        return len(self.ticket)

    def __getitem__(self, chosen: Any) -> Moves:
        places = np.arange(len(self))[chosen]
        if places.ndim != 1:
            raise IndexError(f"moves must be chosen by a slice, a mask or a list of places; got {chosen!r}")
        key = [self.key[k] for k in places.tolist()] if isinstance(self.key, list) else self.key[places]
        return Moves(
            self.fleet,
            key,
            self.round[places],
            self.action[places],
            self.probability[places],
            self.ticket[places],
            self.arms,
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
    """The class of the learner's players, if a round of theirs sees one number."""
    program: Any = learner.program() if hasattr(learner, "program") else None
    if getattr(program, "setting", None) != "bandit" or program.stepped:
        raise ValueError(
            "a fleet must be of learners whose round sees one number, such as Bandit(9); "
            f"got {validation.brief(learner)}"
        )
    if program.own_noise:
        raise ValueError(
            f"a fleet must be of learners that draw moves and nothing else; got {validation.brief(learner)}, "
            "which tosses coins too"
        )
    if program.calls_python:
        raise ValueError(
            "learner must have compiled rules, because a fleet and a store settle batches without calling Python; got "
            f"{validation.brief(learner)} with a user-defined regularizer or estimator. Use learner.start() or hn.play"
        )
    found = type(learner.start(0))
    if not issubclass(found, BanditPlayer):
        raise ValueError(f"a fleet must be of learners that a bandit's player plays; got {validation.brief(learner)}")
    return found


def checked_losses(learner: Any, values: Any, named: Any, reward: Any) -> Array:
    """The losses (or rewards) of a batch, as numbers; their range is the engine's to check."""
    if sum(one is not None for one in (values, named, reward)) > 1:
        raise ValueError("decisions must be settled with losses or with reward=, not with both; got both")
    if reward is not None and not learner.gains:
        raise ValueError("reward= is for learners of gains (gains=True), and this one takes losses; got reward=")
    if named is not None and learner.gains:
        raise ValueError(
            f"losses= is for learners of losses, and this one plays gains (gains=True); got "
            f"losses={validation.brief(named)}. Pass reward="
        )
    given = next((one for one in (values, named, reward) if one is not None), None)
    if given is None:
        raise ValueError("decisions must be settled with their losses; got none")
    array = np.asarray(validation.unmasked(given, "losses"))
    if array.dtype.kind == "b":  # a click that came or did not
        array = array.astype(np.float64)
    if array.ndim != 1:
        raise ValueError(f"losses must be a list or an array, one for each decision; got shape {array.shape}")
    if array.dtype.kind == "O" and all(isinstance(x, (bool, int, float, np.number, np.bool_)) for x in array):
        array = array.astype(np.float64)
    if array.dtype.kind not in "fiu" and array.size:
        raise ValueError(f"losses must be real numbers; got {array.dtype.name} values such as {array[0]!r}")
    return np.ascontiguousarray(array, dtype=np.float64)


def bad_loss(learner: Any, values: Array, place: int) -> ValueError:
    """A loss out of its range."""
    low, high = learner.loss_range
    return ValueError(
        f"losses must be finite and in [{low:g}, {high:g}]; got {float(values[place])!r} at index {place}"
    )


def tickets(given: Any) -> NDArray[np.int64]:
    """Tickets without their moves."""
    rule = "moves must be those of act(), or their tickets, whole numbers of 63 bits"
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
    """Who is awake: n booleans for all, or n for each decision."""
    if not sleeps:
        raise ValueError(
            f"arms may sleep where a proof covers it, as of Bandit({learner.n}, Tsallis(0.5)), which is to be played "
            f"instead; got awake= for {learner!r}"
        )
    mask = np.asarray(validation.unmasked(awake, "awake"))
    if mask.dtype.kind != "b" or mask.shape not in ((learner.n,), (count, learner.n)):
        raise ValueError(
            f"awake must be {learner.n} booleans, one for each arm, or {count} rows of them; "
            f"got {mask.dtype.name} values of shape {mask.shape}"
        )
    if mask.size and not mask.any(axis=-1).all():
        place = "" if mask.ndim == 1 else f" at index {int(np.argmin(mask.any(axis=-1)))}"
        raise ValueError(f"at least one arm must be awake; got none{place}")
    return np.ascontiguousarray(mask)


def refusal(why: _engine.Refusal, place: int, whose: str, fleet: str) -> ValueError:
    """A decision that cannot be settled."""
    at = f"at index {place}, {whose}"
    kinds = _engine.Refusal
    if why == kinds.twice:
        return ValueError(f"a decision must come once in a batch; that {at}, comes again")
    if why == kinds.closed:
        return ValueError(f"a decision must be open; that {at}, is settled or forgotten already")
    if why == kinds.other_move:
        return ValueError(f"moves must be as act() returned them; that {at}, has another action or probability")
    return ValueError(f"a decision must be one that this fleet, {fleet!r}, drew; that {at}, is not")


def prior_of(learner: Any, parent: Any, trust: float) -> Array:
    """trust (L - min L) of the parent's losses, estimated: what new learners begin with."""
    trust = validation.between(trust, 0.0, 1.0, "trust", "(]")
    if not isinstance(parent, BanditPlayer):
        raise ValueError(f"parent must be a player of a bandit; got {parent!r}")
    if not hasattr(learner, "smoothing") or not hasattr(parent.learner, "smoothing"):
        raise ValueError(f"a parent must play, and bring up, learners without a memory; got {parent.learner!r}")
    described: tuple[Any, ...] = (learner, parent.learner)
    mine, theirs = ((x.n, x.loss_range, x.gains) for x in described)
    if mine != theirs:
        raise ValueError(f"a parent must have the arms, the range and the gains of the learner, {mine}; got {theirs}")
    losses: Array = parent._losses
    begun: Array = trust * (losses - losses.min())
    return begun


_NO_PRIOR: Array = np.empty(0)
_UNTOLD: tuple[NDArray[np.int64], Array] = (np.empty(0, dtype=np.int64), np.empty(0))


class Fleet(_engine.Fleet, Incarnate):
    """A learner for each user, page or device: millions of them in one array, drawn and settled in batches.

    A learner for each key, all of one description: a row of numbers each, 168 bytes for ten arms.

    `act(keys)` draws a batch, a new learner for each new key; `observe(moves, losses)` settles one, late and in any
    order, all of it or (a bad loss or ticket) nothing. A key that comes twice in a batch plays two rounds. Keys are
    whole numbers of 64 bits or text. A learner must be one whose round sees one number: a bandit.

    Key k draws from the stream of run k of `hn.play(seed=seed)`, SeedSequence(seed, spawn_key=(k,)), text from the four
    words of its BLAKE2b-128, and no key's moves depend on another's: key 0 is `learner.start(seed)`, bit for bit.
    Nothing is kept of the realised stability: `certificate(key)` has the bound without it (`Fleet.diagnosed` keeps it).

    `parent`: a player whose estimated losses, times `trust`, each new learner begins with; the bound grows by their
    span. Not thread-safe: guard it with a lock of your own.

    `learner`: the description of each. `seed`: left out, the operating system's. `name`: its id; left out, a fresh one.

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
    ValueError: a decision must be open; that at index 0, round 1 of 'anna', is settled or forgotten already
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
        """A fleet whose learners keep what their players would tell of their stability: larger and slower."""
        made = cls.__new__(cls)
        made._begin(learner, _NO_PRIOR, diagnosed=True)
        made._start(seed, name)
        return made

    def _start(self, seed: int | None, name: str | None) -> None:
        self.seed, entropy = identity.origin(seed)
        self._spawn(spawning(entropy))
        #: The ids under which it drew what is open, and its own.
        self._ids: list[str] = []
        self._named(identity.named(name), "")

    def _begin(self, learner: Any, prior: Array, diagnosed: bool = False) -> None:
        self._player_class = one_number(learner)
        self._sleeps = issubclass(self._player_class, SleepingArmsPlayer)
        super().__init__(learner.program().setup(), self._sleeps, prior, diagnosed)
        self.learner, self.prior = learner, prior
        #: Of text: key -> number, and back; None as long as there is no key.
        self._text: bool | None = None
        self._number: dict[str, int] = {}
        self._name: dict[int, str] = {}

    def _named(self, name: str, incarnation: str) -> None:
        """Draw under this id from now on."""
        self._called(name, incarnation)
        if self.id not in self._ids:
            self._ids.append(self.id)
        if len(self._ids) > 1 << 16:
            raise ValueError("a fleet must have at most 65536 ids; save and load it, which drops those not in use")
        self._origin, self._origins = self._ids.index(self.id), len(self._ids)
        self._salt = int.from_bytes(hashlib.blake2b(self.id.encode(), digest_size=8).digest(), "little")

    def _spawn(self, words: list[int]) -> None:
        """Where the streams of keys begin: the pool of a SeedSequence, and how far it is."""
        self._spawning = words
        self._set_seed(np.array(words[:4], dtype=np.uint32), words[4])

    def restart(self, seed: int) -> None:
        """Let every stream begin again from (seed, key), as an epoch of a journal does."""
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
        """The keys, in the order in which they came."""
        return list(self._number) if self._text else self._keys(self._numbers())

    def __contains__(self, key: Any) -> bool:
        try:
            return bool(self.number([key])[0] >= 0)
        except ValueError:
            return False

    def number(self, keys: Any, touch: bool = False) -> NDArray[np.int64]:
        """The numbers of keys, counted from 0 as they came, never given twice; -1 where a key is new.

        `touch`: a new key gets its learner, and its number, at once.
        """
        plain = self._of_one_kind(fleet_file.plain(keys), touch)
        if isinstance(plain, list):
            return self._numbers_of(self._touched(plain) if touch else plain)
        found: NDArray[np.int64] = self._touch(plain) if touch else self._find(plain)
        return found

    def _of_one_kind(self, keys: fleet_file.Keys, touch: bool) -> fleet_file.Keys:
        text = isinstance(keys, list)
        if self._text is not None and text != self._text and len(keys):
            kinds = ("text", "whole numbers") if self._text else ("whole numbers", "text")
            raise ValueError(f"keys of this fleet must be {kinds[0]}; got {kinds[1]} such as {keys[0]!r}")
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
        """The number of a key that there is."""
        number = int(self.number([key])[0])
        if number < 0:
            raise ValueError(f"key must be one that act() was asked for; got {validation.brief(key)}")
        return number

    # Rounds

    def act(self, keys: Any, awake: Any = None) -> Moves:
        """Draw for each key. `awake`: booleans, one per arm for all, or one row per key, where arms may sleep."""
        plain = fleet_file.plain(keys)
        mask = None if awake is None else masks(self.learner, self._sleeps, awake, len(plain))
        self._of_one_kind(plain, touch=True)
        if isinstance(plain, list):
            drawn = self._act_on_numbers(self._numbers_of(self._touched(plain)), mask)
        else:
            drawn = self._act_on_keys(plain, mask)
        tickets, rounds, actions, probabilities = drawn
        arms = getattr(self.learner, "arms", None) or ()
        return Moves(self.id, plain, rounds, actions, probabilities, tickets, arms)

    def observe(self, moves: Any, values: Any = None, *, losses: Any = None, reward: Any = None) -> None:
        """Settle decisions atomically, each with its loss, or its reward if gains are played.

        `values` are in the units of the learner. `losses=` is for learners of losses, `reward=` for learners of gains.
        `moves` are those of `act`, or some of them, or their tickets alone. Tickets are good for this very fleet; moves
        also after `load` and `join`, where the decisions that were open came along.
        """
        values = checked_losses(self.learner, values, losses, reward)
        tickets, sealed, actions, probabilities, origin = self._handed(moves)
        if len(values) != len(tickets):
            raise ValueError(f"losses must be {len(tickets)}, one for each decision; got {len(values)}")
        refused = self._settle(tickets, sealed, values, actions, probabilities, origin)
        self._refuse(moves, tickets, refused, values)

    def forget(self, moves: Any) -> None:
        """Close decisions whose losses will never come. The bounds of their keys are withheld from then on."""
        handed = self._handed(moves)
        self._refuse(moves, handed[0], self._forget(*handed))

    def _handed(self, moves: Any) -> tuple[NDArray[np.int64], bool, NDArray[np.int64], Array, int]:
        """(tickets, whether they are sealed, actions, probabilities, which of its ids drew them)."""
        if not isinstance(moves, Moves):
            return tickets(moves), True, *_UNTOLD, -1
        if moves.fleet not in self._ids:
            raise ValueError(f"moves must be of this fleet, {self.id!r}; got some of {moves.fleet!r}")
        told = moves.action, moves.probability
        if moves.fleet == self.id:
            return moves.ticket, True, *told, self._origin
        # Drawn before a load or a join: learners may have other numbers here.
        numbers = self.number(moves.key) if len(moves) else np.empty(0, dtype=np.int64)
        plain = (np.where(numbers < 0, (1 << 31) - 1, numbers) << 32) | moves.round
        return plain, False, *told, self._ids.index(moves.fleet)

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

    # What it says of itself

    def distribution(self, key: Any, awake: Any = None) -> Array:
        """p of the next act() for this key; changes nothing."""
        player: Any = self._player(key)
        p: Array = player.distribution() if awake is None else player.distribution(awake)
        return p

    @overload
    def certificate(self, key: None = None, delta: float | None = None) -> fleet_certificate.FleetCertificate: ...
    @overload
    def certificate(self, key: Any, delta: float | None = None) -> Certificate: ...
    def certificate(self, key: Any = None, delta: float | None = None) -> Any:
        """Of one key, what its player would say, but for the realised stability; of all, the sum of their bounds."""
        if key is None:
            return fleet_certificate.whole(self)
        certificate: Certificate = self._player(key).certificate(delta)
        return fleet_certificate.of_one(certificate, self.prior, self.learner.width, self._diagnosed)

    def _player(self, key: Any) -> BanditPlayer:
        """A player in the state of this key's learner; of a new key, of one that has played nothing."""
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

    # Moving and saving

    def retire(self, low: Any = None, high: Any = None) -> int:
        """Let the learners with low <= key < high go, all where nothing is said; how many they were.

        Their open decisions go with them, and are refused from then on.
        """
        numbers = fleet_file.between(self, low, high)
        self._drop(numbers)
        return len(numbers)

    def split(self, low: Any = None, high: Any = None) -> Fleet:
        """Move the learners with low <= key < high, and their open decisions, into a fleet of their own.

        Each goes on as it would have here, bit for bit. The new fleet settles moves that were drawn here (not tickets
        alone, which are good for one fleet).
        """
        apart: Fleet = fleet_file.split(self, type(self).__new__(type(self)), fleet_file.between(self, low, high))
        return apart

    def join(self, other: Fleet) -> None:
        """Take in all learners of another fleet of the same description, which is empty then; no key may be in both."""
        fleet_file.join(self, other)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fleet to one file, whole or not at all; `Fleet.load(path)` goes on from it.

        Whoever reads the file knows the streams, and with them the moves to come: certificates say so from then on.
        """
        data = self.to_bytes()
        files.write_whole(path, lambda file: file.write(data), private=True)
        self.resumed = True

    def to_bytes(self) -> bytes:
        """The fleet as `save` writes it."""
        return fleet_file.written(self)

    @classmethod
    def load(cls, path: str | os.PathLike[str], resume: str | None = None) -> Fleet:
        """The fleet that `save` wrote, in a new incarnation: fresh streams, an id of its own, open moves honoured.

        `resume="exact"` goes on bit for bit, with the id, the tickets and the streams of the file; certificates say so,
        because two such fleets are twins. Nothing of the file is run; every number is checked. A torn, edited or
        foreign file is refused by name.
        """
        return cls.from_bytes(files.read_ordinary(path, "a saved fleet"), resume, str(path))

    @classmethod
    def from_bytes(cls, data: bytes, resume: str | None = None, where: str = "the data") -> Fleet:
        """The fleet of `to_bytes`, as `load` makes it."""
        fleet: Fleet = fleet_file.loaded(cls.__new__(cls), data, resume, where)
        return fleet

    def _drop(self, numbers: NDArray[np.int64]) -> None:
        self._retire(numbers, not self._text)
        if self._text:
            for number in numbers.tolist():
                del self._number[self._name.pop(number)]

    def _renew(self) -> None:
        """Streams from where they all are and from fresh entropy, and from the key."""
        streams = np.ascontiguousarray(self._photo(self._numbers()).columns()["stream"])
        self.restart(int.from_bytes(identity.renewed(streams).tobytes(), "little"))

    def _reincarnate(self) -> None:
        self._renew()
        self._named(self.name, secrets.token_hex(6))
        self.resumed = False

    @property
    def nbytes(self) -> dict[str, int]:
        """Bytes held by the rows of the learners, by the table of keys (text apart), by open decisions."""
        return dict(self._bytes)
