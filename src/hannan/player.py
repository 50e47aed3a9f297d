"""A learner at play: tickets out, losses in, in any order; certificates; saved and resumed bit for bit."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from hannan import incarnations, refusals, resuming, saving, seeds, told
from hannan.bounds import Bound
from hannan.certificate import Certificate
from hannan.conditions import contradicted, untenable
from hannan.incarnations import Incarnate
from hannan.kernels.state import CHANGE, DRIFT, FINE, HEADER, LEVEL, MEMORY, OWN, START, STREAM, TOTAL, VALUE
from hannan.moves import Move
from hannan.refusals import Array
from hannan.stability import stability

if TYPE_CHECKING:
    from hannan.learners.learner import Learner


class Player(Incarnate):
    """A learner at play. Not thread-safe: guard it with a lock of your own.

    `act()` draws a move; `observe(move, loss)` settles it, whenever the loss comes and in whatever order;
    `forget(move)` if it never does. A ticket that is not open here is refused, and nothing changes.
    """

    __slots__ = (
        "_forgotten", "_largest_delay", "_n", "_numbers", "_open", "_pointer", "_program", "_round",
        "_state", "_steps", "learner",
    )  # fmt: skip

    #: Whether every loss is seen, so that the regret itself is known.
    sees_all = False

    def __init__(self, learner: Learner, seed: int | None, name: str | None = None) -> None:
        self.learner = learner
        entropy = self._christen(seed, name)
        self._program: Any = learner.program()
        self._n = int(self._program.n)
        self._steps, self._pointer, self._state = _begin(learner, self._program, entropy)
        self._numbers: Any = memoryview(self._state)  # type: ignore[arg-type]
        #: round -> (move, and what else settling it needs)
        self._open: dict[int, tuple[Any, ...]] = {}
        self._round = self._forgotten = self._largest_delay = 0
        self._bind()

    def _bind(self) -> None:
        """Keep the step functions of the setting at hand."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"<player {self.id} of {self.learner!r}, {self._settled} rounds settled, {len(self._open)} open>"

    @property
    def open_moves(self) -> tuple[Move, ...]:
        """The tickets whose loss has not come yet."""
        return tuple(ticket[0] for ticket in self._open.values())

    @property
    def round(self) -> int:
        """How many moves were drawn."""
        return self._round

    @property
    def _settled(self) -> int:
        return self._round - len(self._open) - self._forgotten

    def distribution(self) -> Array:
        """p of the next act() (over the experts, for `ExpertBandit`); changes nothing."""
        state = self._state.copy()
        # Open moves may have left the weights a scale behind: the next act() brings them up.
        if self._open and self._steps.make_ready(state, self._pointer, False) != FINE:
            raise self._failed()
        p: Array = state[HEADER + self._n : HEADER + 2 * self._n] / state[TOTAL]
        return p

    def observe(self, move: Move, loss: Any) -> None:
        """Settle a move with its loss. A bad loss or ticket is refused and changes nothing."""
        raise NotImplementedError

    def forget(self, move: Move) -> None:
        """Close a move whose loss will never come. The bound is withheld from then on."""
        self._ticket(move)
        del self._open[move[1]]
        self._forgotten += 1

    def _ticket(self, move: Any) -> tuple[Any, ...]:
        """The open entry of a move; anything else is refused."""
        try:
            player, number = move[0], move[1]
            found = self._open.get(number)
        except (TypeError, IndexError, KeyError):
            raise ValueError(f"a move must be a Move that act() returned; got {move!r}") from None
        if found is not None and found[0] == move:
            return found
        if player != self.id:
            raise ValueError(f"a move must be of this player, {self.id!r}; got one of {player!r}")
        if found is not None:
            raise ValueError(f"a move must be as act() returned it, {found[0]}; got {move}")
        if isinstance(number, int) and 1 <= number <= self._round:
            raise ValueError(f"a move must be open; that of round {number} is settled or forgotten already")
        raise ValueError(f"a move must be of a round that was played; got round {number!r}")

    def _failed(self) -> ArithmeticError:
        return ArithmeticError(f"the smoothing of {self.learner!r} failed at these losses")

    def _scalar(self, loss: Any) -> float:
        """A loss that is not a Python float."""
        if isinstance(loss, np.ndarray) and loss.ndim != 0:
            raise ValueError(f"the loss of a bandit must be one number; got shape {loss.shape}")
        low, high = self.learner.loss_range
        return refusals.between(loss, low, high, "loss")

    def _bad_loss(self, loss: float) -> ValueError:
        low, high = self.learner.loss_range
        return ValueError(f"loss must be finite and in [{low:g}, {high:g}]; got {loss!r}")

    # Certificates

    def certificate(self, delta: float | None = None) -> Certificate:
        """What the player may say of itself now; with `delta`, of this very run with probability 1 - delta too."""
        delta = None if delta is None else refusals.between(delta, 0.0, 1.0, "delta", "()")
        numbers, learner = self._numbers, self.learner
        own, least = numbers[OWN], float(self._state[HEADER : HEADER + self._n].min())
        regret = (own - least) * learner.width
        best = learner.in_units(least, self._settled) if self.sees_all else None
        bound, withheld = self._bound(best)
        gamma = float(self._program.gamma)
        claim = self._claim(gamma)
        if bound is not None:
            withheld = self._refuted(bound, own, regret if self.sees_all else None, claim)
            bound = None if withheld else bound
        line, says = (None, "") if delta is None else self._on_this_run(delta, regret)
        return Certificate(
            learner=repr(learner),
            rounds=self._settled,
            open_moves=len(self._open),
            forgotten=self._forgotten,
            largest_delay=self._largest_delay,
            bound=bound,
            withheld=withheld,
            own_loss=learner.in_units(own, self._settled),
            best_loss=best,
            regret=regret if self.sees_all else None,
            identity=self._identity(least) if self.sees_all else {},
            estimated_regret=None if self.sees_all else regret,
            gamma=gamma,
            realised_level=numbers[LEVEL],
            seeded=self.seed is not None,
            claimed_rate=claim,
            delta=delta,
            on_this_run=line,
            on_this_run_says=says,
        )

    def _refuted(self, bound: Bound, own: float, regret: float | None, claim: float | None) -> str:
        """Why what was seen contradicts what the bound supposes; empty where it does not."""
        learner = self.learner
        reason = contradicted(bound, regret, self._numbers[LEVEL], claim, self._settled, learner.width)
        if reason or self.sees_all or bound.at_most is None:
            return reason
        return untenable(bound, own, learner._tuned_best(), learner.width)

    def _on_this_run(self, delta: float, regret: float) -> tuple[float | None, str]:
        """A bound on the regret of this run and its sentence, or None and why there is none."""
        return None, f"nothing is proved of one run of {type(self.learner).__name__}"

    def _unsettled(self) -> str:
        """Why nothing is said of this run yet; empty where every move has its loss."""
        if self._forgotten:
            return f"{self._forgotten} moves were forgotten, perhaps for what they were"
        return f"{len(self._open)} moves are open: it is for rounds whose losses have all come" if self._open else ""

    def _claim(self, gamma: float) -> float | None:
        """The rate that the bounds rely on, at the first and smallest scale; None where there is none."""
        learner = self.learner
        try:
            rate = stability(learner.smoothing, learner.schedule().scale(1, 0.0), self._n, gamma, 0.0).rate
        except ValueError:
            return None  # a law of one's own that states no hazard
        return rate if math.isfinite(rate) else None

    def _late(self) -> str:
        """Why there is no bound after late feedback."""
        return "a move was open while another was drawn, and no delay bound applies"

    def _identity(self, least: float) -> dict[str, float]:
        """The terms of the master identity; none where a potential is infinite (a law without a mean)."""
        numbers = self._numbers
        terms = {
            "start": -numbers[START],
            "end": numbers[VALUE] - least,
            "drift": numbers[DRIFT],
            "scale changes": numbers[CHANGE],
        }
        if not all(map(math.isfinite, terms.values())):
            return {}
        return {name: term * self.learner.width for name, term in terms.items()}

    def _bound(self, best: float | None) -> tuple[Bound | None, str]:
        """The bound now, or why it is withheld."""
        if self._forgotten:
            return None, f"{self._forgotten} moves were forgotten, perhaps for what they were"
        if self._largest_delay:
            return None, self._late()
        try:
            return self.learner.bound(self._settled, best, against="any"), ""
        except ValueError:
            pass  # whoever sets the losses of a live player may look at its moves; what is left is said to be less
        try:
            return self.learner.bound(self._settled, best), ""
        except ValueError as reason:
            return None, str(reason)

    # Saving

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the player to one file, whole or not at all; `hannan.load(path)` goes on from it.

        Whoever reads the file knows the stream, and with it the moves that this player will draw.
        """
        saving.write(path, self._content())

    def _content(self) -> dict[str, Any]:
        return {
            "kind": "player",
            "learner": saving.describe(self.learner),
            **self._who(),
            "counts": [self._round, self._forgotten, self._largest_delay],
            "state": saving.to_hex(self._state),
            "open": [[list(move), *map(_pack, rest)] for move, *rest in self._open.values()],
        }

    def _streams(self) -> tuple[int, ...]:
        """Where in the state its random streams are, four words each."""
        own_noise = getattr(self.learner, "own_noise", False)
        return (STREAM, int(self._state[MEMORY]) + 1) if own_noise else (STREAM,)

    def _renew(self) -> None:
        words = self._state.view(np.uint64)
        for first in self._streams():
            words[first : first + 4] = seeds.renewed(words[first : first + 4])

    def _resume(self, content: dict[str, Any]) -> None:
        """Take in a file, every field of it checked."""
        state = told.bits(content["state"], self._state.size, "state")
        counts = told.items(content["counts"], "counts", 3)
        rounds = told.whole(counts[0], "rounds")
        entries = told.items(content["open"], "open moves")
        forgotten = told.whole(counts[1], "forgotten moves", 0, rounds)
        told.whole(len(entries) + forgotten, "open and forgotten moves", 0, rounds)
        settled = rounds - len(entries) - forgotten
        state = resuming.checked(self, state, rounds, settled, self._determined)
        self._state.view(np.uint64)[:] = state.view(np.uint64)
        self._round, self._forgotten = rounds, forgotten
        self._largest_delay = told.whole(counts[2], "largest delay", 0, rounds)
        for entry in entries:
            fields, *rest = told.items(entry, "open move")
            player, number, action, probability = told.items(fields, "open move", 4)
            told.text(player, "player")
            told.whole(number, "round of an open move", 1, rounds)
            told.whole(action, "action", 0, self._choices - 1)
            move = Move(player, number, action, told.number(probability, "probability", 1e-30, 1.0))
            if number in self._open:
                raise ValueError(f"its open moves must be of different rounds; got {number} twice")
            self._open[number] = (move, *self._told(move, rest))

    #: Places of the state that the learner determines.
    _determined: ClassVar[tuple[int, ...]] = resuming.LEARNERS

    @property
    def _choices(self) -> int:
        """How many actions a move may have."""
        return self._n

    def _anew(self, state: Array) -> Array:
        """The distribution that the losses of a state make, evaluated once more."""
        if self._steps.begin(state, self._pointer) != FINE:
            raise self._failed()
        p: Array = state[HEADER + self._n : HEADER + 2 * self._n] / state[TOTAL]
        return p

    def _told(self, move: Move, rest: list[Any]) -> tuple[Any, ...]:
        """What else a file tells of an open move, checked."""
        raise NotImplementedError


def load(path: str | os.PathLike[str], resume: str | None = None) -> Player:
    """The player that `save` wrote, open moves and warm starts as they were, in a new incarnation.

    It draws with randomness of its own, made from the saved stream and fresh entropy, and its moves carry an id of its
    own: two players from one file draw different moves and refuse each other's. Moves that were open are honoured once
    by each copy. `resume="exact"` goes on bit for bit, with the id and the stream of the file.

    Nothing of the file is run. A torn, edited or foreign file is refused by name. A learner with a law of
    your own needs `hannan.register(TheLaw)` first.
    """
    if resume not in (None, "exact"):
        raise ValueError(f'resume must be "exact" or None; got {resume!r}')
    content = saving.read(path)
    try:
        if content.get("kind") != "player":
            raise ValueError(f"it must hold a player; got {content.get('kind')!r}")
        learner = saving.build(content["learner"])
        seed, name, incarnation = incarnations.told(content)
        _fits(learner, content)
        player: Player = learner.start(seed, name)
        player._called(name, incarnation)
        player._resume(content)
        if resume is None:
            player._reincarnate()
    except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError, RecursionError, MemoryError) as error:
        raise ValueError(f"{path} cannot be resumed: {error}") from error
    return player


def _fits(learner: Any, content: dict[str, Any]) -> None:
    """Refuse a small file of a large learner before anything is made for it: every expert takes 16 digits at least."""
    if not hasattr(learner, "start"):
        raise ValueError(f"it must describe a learner; got {refusals.brief(learner)}")
    leader = content.get("leader")
    digits = leader["arrays"]["state"] if leader is not None else content.get("state", content.get("numbers"))
    kept = told.text(digits, "state")
    domain = getattr(learner, "domain", None)
    sizes = [getattr(learner, name, 0) for name in ("n", "experts", "thresholds")]
    if not hasattr(learner, "thresholds"):
        sizes.append(getattr(learner, "actions", 0))
    largest = max([*sizes, domain.d if domain is not None else 0])
    if len(kept) < 16 * largest:
        raise ValueError(f"its state must have a number for each of {largest}; got {len(kept) // 16}")


def _begin(learner: Learner, program: Any, seed: int) -> tuple[Any, Any, Array]:
    """(step functions, smoothing, state): compiled, or by the gradient for a smoothing without a kernel."""
    if program.code < 0:
        from hannan.stepping import GradientSteps

        by_gradient = GradientSteps(learner)
        return by_gradient, None, by_gradient.new_state(seed)
    from hannan.kernels import steps

    return steps, steps.pointer(program), steps.new_state(program, seed)


def _pack(item: Any) -> Any:
    return {"hex": saving.to_hex(item), "kind": item.dtype.kind} if isinstance(item, np.ndarray) else item
