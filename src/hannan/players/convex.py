"""A convex learner at play: points out, losses in."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from hannan import refusals, saving
from hannan.mathematics.bounds import Bound
from hannan.mathematics.convex.hindsight import best_in_hindsight
from hannan.mathematics.convex.leader import Leader, NotConverged
from hannan.mathematics.convex.loss import Loss, RankOne
from hannan.mathematics.convex.noise import SHAPES, GammaNoise, Shape
from hannan.mathematics.convex.own_phi import ON_YOUR_WORD, refuse_at, steepest_at
from hannan.mathematics.convex.system_noise import standard
from hannan.players import seeds
from hannan.players.certificate import Certificate
from hannan.players.incarnations import Incarnate
from hannan.refusals import Array
from hannan.saving import fields


class Point(NamedTuple):
    """The ticket of one move in a convex set, and `distance`: how far at most it is from the exact argmin."""

    player: str
    round: int
    action: tuple[float, ...]
    distance: float


@dataclass(frozen=True)
class ConvexCertificate(Certificate):
    """A certificate whose moves were solved for: `solver_cost` = (ridge/2) r^2 + lipschitz * sum of distances.

    It is in the bound. `farthest` is the largest distance of a move from its exact argmin; `word` what
    could not be checked of the losses.
    """

    farthest: float = 0.0
    solver_cost: float = 0.0
    privacy: str = ""
    word: str = ""

    def rows(self) -> list[tuple[str, str]]:
        kept = [row for row in super().rows() if row[0] != "stability" or self.claimed_rate is not None]
        if self.solver_cost > 0.0:
            kept.append(("solver", f"costs {self.solver_cost:.3g}, in the bound; moves within {self.farthest:.3g}"))
        said = (("privacy", self.privacy), ("not checked", self.word))
        return [*kept, *(row for row in said if row[1])]


class ConvexPlayer(Incarnate):
    """`act()` draws noise and moves; `observe(move, loss)` adds the loss function, whenever it comes.

    Not thread-safe: guard it with a lock of your own.

    >>> from hannan.mathematics.convex.domains import Ball
    >>> from hannan import Convex
    >>> from hannan.mathematics.convex.losses import Logistic
    >>> player = Convex(Ball(2), lipschitz=1.0, loss_bound=2.0).start(seed=0)
    >>> player.observe(player.act(), Logistic([0.6, 0.8], 1))
    >>> move = player.act()
    >>> len(move.action), move.distance < 1e-7
    (2, True)
    """

    def __init__(self, learner: Any, seed: int | None, name: str | None = None) -> None:
        self.learner = learner
        entropy = self._christen(seed, name)
        # Private moves are of the operating system's noise, unless a seed was given for an experiment.
        self._secret = learner.guarantee == "privacy" and seed is None
        drawn = standard if self._secret else None
        self._leader = Leader(learner.domain, learner.rules(), entropy, output=learner.output_scale(), drawn=drawn)
        self._open: dict[int, Point] = {}
        self._round = self._settled = self._forgotten = self._largest_delay = 0
        self._level = 0.0
        self._refused = False
        self._shape: Shape = "linear"
        self._seen: list[Loss] = []

    def __repr__(self) -> str:
        return f"<player {self.id} of {self.learner!r}, {self._settled} rounds settled, {len(self._open)} open>"

    @property
    def open_moves(self) -> tuple[Point, ...]:
        """The tickets whose loss has not come yet."""
        return tuple(self._open.values())

    @property
    def round(self) -> int:
        """How many moves were drawn."""
        return self._round

    def distribution(self) -> Array:
        """Not offered: the move has a density, or atoms where the domain is flat, and no list of probabilities."""
        raise ValueError("a convex player has no distribution over finitely many actions; audit measures its law")

    def act(self) -> Point:
        """Draw the round's noise and move to the perturbed leader."""
        try:
            x, distance = self._leader.act()
        except NotConverged:
            self._refused = True
            raise
        self._round += 1
        self._largest_delay = max(self._largest_delay, len(self._open))
        move = Point(self.id, self._round, tuple(x.tolist()), distance)
        self._open[self._round] = move
        return move

    def observe(self, move: Point, loss: Loss) -> None:
        """Settle a move with its loss function. A bad loss or ticket is refused and changes nothing."""
        self._ticket(move)
        loss = self.learner.admit(loss)
        if loss.is_sequence:
            raise ValueError(f"the loss of a move must be one loss; got a sequence of {len(loss)}")
        x = np.array(move.action)
        refuse_at(loss, x, None, self.learner.loss_bound)
        # Between the margins that were tried at the door phi is on the user's word: look where it is played.
        steepest = max(float(loss.lipschitz(self.learner.domain)), steepest_at(loss, x))
        self._leader.observe(x, loss)
        if isinstance(self.learner.noise, GammaNoise):
            self._level = max(self._level, steepest / self.learner.schedule().scale(1, 0.0))
        self._shape = wider(self._shape, loss.shape)
        if isinstance(loss, RankOne):
            self._seen.append(loss)
        del self._open[move.round]
        self._settled += 1

    def through(self, losses: Loss) -> Array:
        """Act and observe through a sequence of losses, in compiled code: the moves, shape (T, d)."""
        losses = self.learner.admit(losses)
        if self._open or isinstance(losses, RankOne) or not losses.is_sequence:
            raise ValueError("through takes a sequence of the package's losses, and no move may be open")
        moves = self._leader.play(losses)
        if isinstance(self.learner.noise, GammaNoise):
            steepest = float(np.max(losses.lipschitz(self.learner.domain), initial=0.0))
            self._level = max(self._level, steepest / self.learner.schedule().scale(1, 0.0))
        self._shape = wider(self._shape, losses.shape)
        self._round += len(losses)
        self._settled += len(losses)
        return moves

    def solver_cost(self) -> float:
        """What the ridge, and solving for the moves, have cost so far; it is in the bound."""
        run = self._leader.run
        return float(self.learner.solver_cost(run.ridge, run.distance))

    def leader(self) -> Array:
        """The leader without noise: the best point for the losses so far. No privacy is stated of it."""
        return self._leader.minimise(np.zeros(self.learner.domain.d), *self._leader.hindsight_ridge())[0]

    def forget(self, move: Point) -> None:
        """Close a move whose loss will never come. The bound is withheld from then on."""
        self._ticket(move)
        del self._open[move.round]
        self._forgotten += 1

    def _ticket(self, move: Any) -> None:
        if not isinstance(move, tuple) or len(move) != 4:
            raise ValueError(f"a move must be a Point that act() returned; got {move!r}")
        player, number = move[0], move[1]
        found = self._open.get(number) if isinstance(number, int) else None
        if found == move:
            return
        if player != self.id:
            raise ValueError(f"a move must be of this player, {self.id!r}; got one of {player!r}")
        if found is None and isinstance(number, int) and 1 <= number <= self._round:
            raise ValueError(f"a move must be open; that of round {number} is settled or forgotten already")
        if found is None:
            raise ValueError(f"a move must be of a round that was played; got round {number!r}")
        raise ValueError(f"a move must be as act() returned it, {found}; got {move}")

    # Certificates

    def certificate(self, delta: float | None = None) -> ConvexCertificate:
        """What the player may say of itself now; of one run with probability 1 - `delta` nothing is proved."""
        delta = None if delta is None else refusals.between(delta, 0.0, 1.0, "delta", "()")
        learner, run = self.learner, self._leader.run
        own, best = run.own, best_in_hindsight(self._leader, self._seen)
        cost = self.solver_cost()
        bound, withheld = self._bound(own, best, cost)
        gamma = isinstance(learner.noise, GammaNoise)
        return ConvexCertificate(
            learner=repr(learner),
            rounds=self._settled,
            open_moves=len(self._open),
            forgotten=self._forgotten,
            largest_delay=self._largest_delay,
            bound=bound,
            withheld=withheld,
            own_loss=own,
            best_loss=best,
            regret=own - best,
            identity={},
            estimated_regret=None,
            gamma=1.0,
            realised_level=self._level,
            claimed_rate=learner.lipschitz / learner.schedule().scale(1, 0.0) if gamma else None,
            seeded=self.seed is not None,
            farthest=run.farthest,
            solver_cost=cost,
            privacy=self._private(),
            word=ON_YOUR_WORD if self._seen else "",
            delta=delta,
            on_this_run_says=""
            if delta is None
            else "the regret below is that of this run; of others nothing is proved",
        )

    def _bound(self, own: float, best: float, cost: float) -> tuple[Bound | None, str]:
        if not self.learner.fresh:
            return None, "noise that is kept shows in past moves, and losses that follow them break the bound"
        wrong = self._contradiction(own, best)
        if wrong:
            return None, wrong
        if self._forgotten:
            return None, f"{self._forgotten} moves were forgotten, perhaps for what they were"
        if self._largest_delay:
            return None, "a move was open while another was drawn, and no delay bound applies"
        shape = wider(self._shape, "linear")
        try:
            return self.learner.bounded(self._settled, max(best, 0.0), bias=cost, shape=shape), ""
        except ValueError as reason:
            return None, str(reason)

    def _contradiction(self, own: float, best: float) -> str:
        """What went wrong, if what was seen cannot be under the conditions of the bound."""
        learner = self.learner
        claim = learner.lipschitz / learner.schedule().scale(1, 0.0)
        if self._level > claim * (1.0 + 1e-8):
            return (
                f"the realised level {self._level:.6g} is above the {claim:.6g} claimed: a loss was steeper at a move "
                "than at the ends of its range, so its phi is not convex"
            )
        most = self._settled * (learner.loss_bound or np.inf)
        if own - best > most * (1.0 + 1e-8):
            return f"the regret {own - best:.6g} is above rounds x loss_bound = {most:.6g}: losses were not as stated"
        return ""

    def _private(self) -> str:
        """What the moves tell of one observation; nothing is stated where a condition fails."""
        if self.learner.guarantee != "privacy":
            return ""
        if not self._secret:
            return "none: of a given seed, so that the moves are a fixed function of the losses"
        if self._refused:
            return "none: a move was refused, and that tells of the losses"
        if not self.learner.fresh and self._round > 1:
            return "none: one draw of noise used in many rounds hides no single loss"
        try:
            said = self.learner.privacy()
        except ValueError as reason:
            return f"withheld: {reason}"
        text = f"epsilon = {said.epsilon:.6g}, delta = {said.delta:g}, one observation and one move"
        if self._round > 1:
            text += f"; all {self._round} moves at most {self._round} times as much"
        return f"{text} ({said.source}; {said.condition})"

    # Saving

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the player to one file, whole or not at all; `hannan.load(path)` goes on from it.

        The noise of a private player is not in the file: a loaded one draws its own.
        """
        if self._seen:
            raise ValueError("a saved player must have losses of the package; a file cannot hold functions of your own")
        content = {
            "kind": "player",
            "learner": saving.describe(self.learner),
            **self._who(),
            "counts": [self._round, self._settled, self._forgotten, self._largest_delay],
            "level": saving.to_hex(np.array([self._level])),
            "shape": self._shape,
            "refused": self._refused,
            "open": [
                [move.player, move.round, saving.to_hex(np.array([*move.action, move.distance]))]
                for move in self.open_moves
            ],
            "leader": self._leader.content(),
        }
        saving.write(path, content)

    def _renew(self) -> None:
        run = self._leader.run
        run.words = seeds.renewed(run.words)

    def _resume(self, content: dict[str, Any]) -> None:
        counts = fields.items(content["counts"], "counts", 4)
        self._round = fields.whole(counts[0], "rounds")
        self._settled, self._forgotten, self._largest_delay = (
            fields.whole(count, "counts", 0, self._round) for count in counts[1:]
        )
        self._level = float(fields.numbers(content["level"], 1, "level", 0.0)[0])
        if content["shape"] not in SHAPES:
            raise ValueError(f"its shape must be one of {SHAPES}; got {refusals.brief(content['shape'])}")
        self._shape = content["shape"]
        if not isinstance(content["refused"], bool):
            raise ValueError(f"its refused must be true or false; got {refusals.brief(content['refused'])}")
        self._refused = content["refused"]
        for entry in fields.items(content["open"], "open moves"):
            player, number, numbers = fields.items(entry, "open move", 3)
            *action, distance = fields.numbers(numbers, self.learner.domain.d + 1, "open move").tolist()
            fields.whole(number, "round of an open move", 1, self._round)
            if number in self._open:
                raise ValueError(f"its open moves must be of different rounds; got {number} twice")
            self._open[number] = Point(fields.text(player, "player"), number, tuple(action), distance)
        if self._settled + self._forgotten + len(self._open) != self._round:
            raise ValueError(f"its counts must add up to {self._round} rounds; they do not")
        self._leader.resume(content["leader"])


def wider(first: Shape, second: Shape) -> Shape:
    """The shape that covers both.

    >>> wider("linear", "one-signed")
    'one-signed'
    """
    return max(first, second, key=SHAPES.index)
