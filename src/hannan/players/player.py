"""A learner at play: tickets out, losses in, in any order; certificates; saved and resumed bit for bit."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hannan import _engine, refusals
from hannan.mathematics.bounds import Bound
from hannan.mathematics.laws.law import Law
from hannan.mathematics.stability import stability
from hannan.mathematics.streams import NO_WORDS, words
from hannan.players import incarnations, seeds
from hannan.players.certificate import MADE_OF_LOSSES, Certificate
from hannan.players.conditions import at_observed, contradicted, untenable
from hannan.players.descriptions import Chooser
from hannan.players.tickets import Book, Move, move_of
from hannan.refusals import Array
from hannan.saving import fields
from hannan.saving.words import figure


class Player(_engine.Player, Book):
    """A learner at play: it draws moves and takes their losses, whenever they come.

    A learner at play. Not thread-safe: guard it with a lock of your own.

    `act()` draws a move; `observe(move, loss)` settles it, whenever the loss comes and in whatever order;
    `forget(move)` if it never does. A ticket that is not open here is refused, and nothing changes.

    `learner`: its description. `seed` and `name`: as `learner.start` was given them.

    >>> import hannan as hn
    >>> player = hn.Bandit(["red", "blue"]).start(seed=0)
    >>> move = player.act()
    >>> player.observe(move, 0.25)
    >>> player.certificate().rounds, player.open_moves
    (1, ())
    """

    #: Whether every loss is seen, so that the regret itself is known.
    sees_all = False
    #: Whether every bound of its certificates is a function of the losses that were seen.
    _made_of_losses = False
    #: Noun for what the regret compares with.
    comparator = "arm"

    learner: Chooser

    def __init__(self, learner: Chooser, seed: int | None, name: str | None = None) -> None:
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

    def distribution(self) -> Array:
        """p of the next act() (over the experts, for `ExpertBandit`); changes nothing."""
        p: Array = self._distribution(None)
        return p

    @property
    def losses(self) -> Array:
        """The cumulative losses so far, of losses in [0, 1]; those of a bandit are estimates."""
        losses: Array = self._losses
        return losses

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

    def _check_loss_keyword(self, loss: Any) -> None:
        """Raise if `loss=` was given by name to a learner of gains; a positional value is in the learner's units."""
        if self.learner.gains:
            raise ValueError(
                "loss= is for learners of losses, and this one plays gains (gains=True); got "
                f"loss={refusals.brief(loss)}. Pass reward="
            )

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
            **self._standing(),
            bound=bound,
            withheld=withheld,
            own_loss=learner.in_units(own, self._settled),
            best_loss=best,
            regret=regret if self.sees_all else None,
            identity=self._identity(least) if self.sees_all else {},
            estimated_regret=None if self.sees_all or not self._program.estimates else regret,
            gamma=gamma,
            realised_level=self._level,
            claimed_rate=claim,
            delta=delta,
            on_this_run=line,
            on_this_run_says=says,
            notes=(*self._of_moves(bound, best), *self._notes()),
            comparator=self.comparator,
            restricted=self._restricted,
        )

    @property
    def _restricted(self) -> bool:
        """Return whether the estimates cover only the rounds in which an arm was available."""
        return False

    def _of_moves(self, bound: Bound | None, best: float | None) -> tuple[tuple[str, str], ...]:
        """What a bound that the losses seen have made says of moves that are drawn; nothing of others."""
        if bound is None or best is None or bound.sense != "mean":
            return ()
        unseen = None if self._made_of_losses else self._bound(None)[0]
        if bound.at_most is None and unseen is not None and unseen.value == bound.value:
            return ()
        return (("of moves drawn", MADE_OF_LOSSES),)

    def _notes(self) -> tuple[tuple[str, str], ...]:
        """What else has to be known to read its certificate."""
        return self._own_law()

    def _own_law(self) -> tuple[tuple[str, str], ...]:
        """How exactly a law of the user's own is played; nothing of others."""
        law = self._program.smoothing
        if not isinstance(law, Law) or law.kernel:
            return ()
        from hannan.mathematics.laws.tabulated import tabulated  # only where there is one
        from hannan.mathematics.quadrature import ACCURACY

        found = tabulated(law)
        table = f"within {figure(found.reached)} of the law where they were compared" if found is not None else ""
        said = (
            f"by a table, {table}" if table else f"by its integral in every round, to {ACCURACY:g}: no table follows it"
        )
        return (("your law is played", said),)

    def _refuted(self, bound: Bound, own: float, regret: float | None, claim: float | None) -> str:
        """Why what was seen contradicts what the bound supposes; empty where it does not."""
        learner = self.learner
        reason = contradicted(bound, regret, self._level, claim, self._settled, learner.width)
        if reason or self.sees_all or bound.at_most is None:
            return reason
        return untenable(bound, own, learner.tuned_best(), learner.width)

    def _on_this_run(self, delta: float, regret: float) -> tuple[float | None, str]:
        """A bound on the regret of this run and its sentence, or None and why there is none."""
        return None, f"nothing is proved of one run of {type(self.learner).__name__}"

    def _unsettled(self) -> str:
        """Why nothing is said of this run yet; empty where every move has its loss."""
        if lost := self._lost():
            return lost
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
        if withheld := self._lost() or self._late():
            return None, withheld
        try:
            return at_observed(self.learner, self.learner.bound(self._settled, best, against="any"), best), ""
        except ValueError:
            pass  # whoever sets the losses of a live player may look at its moves; what is left is said to be less
        try:
            return at_observed(self.learner, self.learner.bound(self._settled, best), best), ""
        except ValueError as reason:
            return None, str(reason)

    # Saving

    def _renew(self) -> None:
        stream, noise = self._words
        self._set_words(seeds.renewed(stream), seeds.renewed(noise) if self._program.own_noise else noise)

    def _chosen(self, *rest: Any) -> tuple[Any, ...]:
        action, probability = rest
        fields.whole(action, "action", 0, self._choices - 1)
        return action, fields.number(probability, "probability", 1e-30, 1.0)

    @property
    def _choices(self) -> int:
        """How many actions a move may have."""
        return self._n
