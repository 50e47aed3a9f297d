"""A learner at play: tickets out, losses in, in any order; certificates; saved and resumed bit for bit."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np

from hannan import _engine, refusals, saving
from hannan.mathematics.bounds import Bound
from hannan.mathematics.stability import stability
from hannan.mathematics.streams import NO_WORDS, words
from hannan.players import incarnations, seeds
from hannan.players.certificate import Certificate
from hannan.players.conditions import contradicted, untenable
from hannan.players.incarnations import Incarnate
from hannan.players.tickets import Move, move_of
from hannan.refusals import Array
from hannan.saving import fields


class Player(_engine.Player, Incarnate):
    """A learner at play. Not thread-safe: guard it with a lock of your own.

    `act()` draws a move; `observe(move, loss)` settles it, whenever the loss comes and in whatever order;
    `forget(move)` if it never does. A ticket that is not open here is refused, and nothing changes.
    """

    #: Whether every loss is seen, so that the regret itself is known.
    sees_all = False

    def __init__(self, learner: Any, seed: int | None, name: str | None = None) -> None:
        self.learner = learner
        self._program: Any = learner.program()
        self._n = int(self._program.n)
        given, entropy = seeds.origin(seed)
        noise = words(entropy, 0, 2) if self._program.own_noise else NO_WORDS
        #: The class of its moves: with the names of the actions, where there are any.
        self._move = move_of(getattr(learner, "arms", None) or ())
        super().__init__(self._program.setup(), words(entropy, 0), noise, "", self._move)
        self.seed = given
        self._called(incarnations.named(name), "")

    def __repr__(self) -> str:
        return f"<player {self.id} of {self.learner!r}, {self._settled} rounds settled, {self._open_count} open>"

    def distribution(self) -> Array:
        """p of the next act() (over the experts, for `ExpertBandit`); changes nothing."""
        p: Array = self._distribution(None)
        return p

    def observe(self, move: Move, loss: Any) -> None:
        """Settle a move with its loss. A bad loss or ticket is refused and changes nothing."""
        raise NotImplementedError

    def _observe_reward(self, move: Move, loss: Any, reward: Any) -> None:
        """Settle a move with its reward, where gains are played."""
        if loss is not None:
            raise ValueError(
                f"a move must be settled with its loss or its reward, not with both; got {loss!r}, {reward!r}"
            )
        if not self.learner.gains:
            raise ValueError(
                f"reward= is for learners of gains (gains=True), and this one takes losses; got {reward!r}"
            )
        self.observe(move, reward)

    def forget(self, move: Move) -> None:
        """Close a move whose loss will never come. The bound is withheld from then on."""
        self._forget(self._ticket(move))

    def _ticket(self, move: Any) -> int:
        """The round of an open move; anything else is refused."""
        try:
            player, number = move[0], move[1]
            found = self._open_move(number) if type(number) is int and abs(number) < 1 << 62 else None
        except (TypeError, IndexError, KeyError):
            raise ValueError(f"a move must be a Move that act() returned; got {move!r}") from None
        if found is not None and found == move:
            return int(found[1])
        if player != self.id:
            raise ValueError(f"a move must be of this player, {self.id!r}; got one of {player!r}")
        if found is not None:
            raise ValueError(f"a move must be as act() returned it, {found}; got {move}")
        if isinstance(number, int) and 1 <= number <= self.round:
            raise ValueError(f"a move must be open; that of round {number} is settled or forgotten already")
        raise ValueError(f"a move must be of a round that was played; got round {number!r}")

    def _failed(self) -> ArithmeticError:
        return ArithmeticError(f"the smoothing of {self.learner!r} failed at these losses")

    def _scalar(self, loss: Any) -> float:
        """A loss that is not a Python float; a click that came or did not is 1 or 0."""
        if isinstance(loss, (bool, np.bool_)):
            loss = float(loss)
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
        learner, own, least = self.learner, self._own, float(self._losses.min())
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
            open_moves=self._open_count,
            forgotten=self._forgotten,
            largest_delay=self._largest_delay,
            bound=bound,
            withheld=withheld,
            own_loss=learner.in_units(own, self._settled),
            best_loss=best,
            regret=regret if self.sees_all else None,
            identity=self._identity(least) if self.sees_all else {},
            estimated_regret=None if self.sees_all or not self._program.estimates else regret,
            gamma=gamma,
            realised_level=self._level,
            seeded=self.seed is not None,
            claimed_rate=claim,
            delta=delta,
            on_this_run=line,
            on_this_run_says=says,
        )

    def _refuted(self, bound: Bound, own: float, regret: float | None, claim: float | None) -> str:
        """Why what was seen contradicts what the bound supposes; empty where it does not."""
        learner = self.learner
        reason = contradicted(bound, regret, self._level, claim, self._settled, learner.width)
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
        count = self._open_count
        return f"{count} moves are open: it is for rounds whose losses have all come" if count else ""

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
        terms = {
            "start": -self._start,
            "end": self._value - least,
            "drift": self._drift,
            "scale changes": self._change,
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
            "state": packed(self._saved()),
        }

    def _renew(self) -> None:
        stream, noise = self._words
        self._set_words(seeds.renewed(stream), seeds.renewed(noise) if self._program.own_noise else noise)

    def _resume(self, content: dict[str, Any]) -> None:
        """Take in a file, every field of it checked."""
        state = unpacked(content["state"])
        if not isinstance(state, dict):
            raise ValueError(f"its state must be fields by name; got {refusals.brief(state)}")
        for ticket in fields.items(state["open"], "open moves"):
            player, number, action, probability = fields.items(ticket["move"], "open move", 4)
            fields.text(player, "player")
            fields.whole(number, "round of an open move", 1)
            fields.whole(action, "action", 0, self._choices - 1)
            move = self._move(player, number, action, fields.number(probability, "probability", 1e-30, 1.0))
            ticket["move"], ticket["kept"] = move, self._told(move, ticket["plain"], ticket["kept"])
            fields.number(ticket["weight"], "weight", 0.0, 1e30)
        self._restore(state)

    @property
    def _choices(self) -> int:
        """How many actions a move may have."""
        return self._n

    def _told(self, move: Move, plain: Any, kept: Any) -> Any:
        """What else a file tells of an open move, checked."""
        if plain is not True or kept is not None:
            raise ValueError(f"its open moves must be plain ones; got {refusals.brief(kept)}")
        return None


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
    # RuntimeError: what the engine cannot read as a number, an array or a list.
    except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError, MemoryError, RuntimeError) as error:
        raise ValueError(f"{path} cannot be resumed: {error}") from error
    return player


def _fits(learner: Any, content: dict[str, Any]) -> None:
    """Refuse a small file of a large learner before anything is made for it: every expert takes 16 digits at least."""
    if not hasattr(learner, "start"):
        raise ValueError(f"it must describe a learner; got {refusals.brief(learner)}")
    leader, state = content.get("leader"), content.get("state")
    if isinstance(state, dict):
        digits = state["losses"]["hex"]
    else:
        digits = leader["move"] if leader is not None else content.get("state", content.get("numbers"))
    kept = fields.text(digits, "state")
    domain = getattr(learner, "domain", None)
    sizes = [getattr(learner, name, 0) for name in ("n", "experts", "thresholds")]
    if not hasattr(learner, "thresholds"):
        sizes.append(getattr(learner, "actions", 0) if not isinstance(state, dict) else 0)
    largest = max([*sizes, domain.d if domain is not None else 0])
    if len(kept) < 16 * largest:
        raise ValueError(f"its state must have a number for each of {largest}; got {len(kept) // 16}")


def packed(item: Any) -> Any:
    """As JSON takes it: arrays and numbers to the last bit, by name."""
    if isinstance(item, np.ndarray):
        if item.dtype == bool:
            return {"mask": "".join("1" if x else "0" for x in item)}
        return {"hex": saving.to_hex(item), "kind": item.dtype.kind}
    if isinstance(item, dict):
        return {key: packed(value) for key, value in item.items()}
    if isinstance(item, float):
        return {"number": item.hex()}
    if isinstance(item, Move):
        return [*item]
    if isinstance(item, (tuple, list)):
        return [packed(value) for value in item]
    return item


def unpacked(item: Any) -> Any:
    """What `packed` packed."""
    if isinstance(item, dict):
        if item.keys() == {"mask"}:
            letters = fields.text(item["mask"], "mask of the awake")
            if not set(letters) <= {"0", "1"}:
                raise ValueError(f"its mask of the awake must be 0s and 1s; got {refusals.brief(letters)}")
            return np.array([letter == "1" for letter in letters], dtype=bool)
        if item.keys() == {"hex", "kind"}:
            if item["kind"] not in ("f", "i"):
                raise ValueError(f"its arrays must be of kind f or i; got {refusals.brief(item['kind'])}")
            digits = fields.text(item["hex"], "array")
            return fields.bits(digits, len(digits) // 16, "array", item["kind"])
        if item.keys() == {"number"}:
            return float.fromhex(fields.text(item["number"], "number"))
        return {key: unpacked(value) for key, value in item.items()}
    if isinstance(item, list):
        return [unpacked(value) for value in item]
    return item
