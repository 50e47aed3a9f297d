"""A learner at play: tickets out, losses in, in any order; certificates; saved and resumed bit for bit."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from hannan import _engine, validation
from hannan.mathematics.bounds import Bound, rounded_up
from hannan.mathematics.laws.law import Law
from hannan.mathematics.stability import stability
from hannan.mathematics.streams import NO_WORDS, words
from hannan.players import identity
from hannan.players.certificate import (
    EVERY_TIME,
    FROM_LOSSES,
    Certificate,
    at_observed,
    contradicted,
    no_run_bound,
    untenable,
)  # fmt: skip
from hannan.players.tickets import DELAYED, Book, Chooser, Move, move_of
from hannan.saving import fields
from hannan.saving.formatting import counted, figure, sure
from hannan.validation import Array


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
        given, entropy = identity.origin(seed)
        noise = words(entropy, 0, 2) if self._program.own_noise else NO_WORDS
        #: The class of its moves: with the names of the actions, where there are any.
        self._move = move_of(getattr(learner, "arms", None) or ())
        super().__init__(self._program.setup(), words(entropy, 0), noise, "", self._move)
        self.seed = given
        self._called(identity.named(name), "")

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
                f"loss={validation.brief(loss)}. Pass reward="
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
        return validation.between(loss, low, high, "loss")

    # Certificates

    def certificate(self, delta: float | None = None) -> Certificate:
        """What the player may say of itself now; with `delta`, of this very run with probability 1 - delta too."""
        delta = None if delta is None else validation.between(delta, 0.0, 1.0, "delta", "()")
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
        """Return the meaning of a bound for sampled moves if it was computed from the observed losses."""
        if bound is None or best is None or bound.sense != "mean":
            return ()
        unseen = None if self._made_of_losses else self._bound(None)[0]
        if bound.at_most is None and unseen is not None and unseen.value == bound.value:
            return ()
        return (("data", FROM_LOSSES),)

    def _notes(self) -> tuple[tuple[str, str], ...]:
        """Return further assumptions of the certificate, as (label, text)."""
        return self._own_law()

    def _own_law(self) -> tuple[tuple[str, str], ...]:
        """Return the accuracy with which a user-defined distribution is played; nothing for the package's own."""
        law = self._program.smoothing
        if not isinstance(law, Law) or law.kernel:
            return ()
        from hannan.mathematics.laws.tabulated import tabulated  # only where there is one
        from hannan.mathematics.quadrature import ACCURACY

        found = tabulated(law)
        if found is None:
            played = f"by numerical integration in every round, with accuracy {ACCURACY:g}; no table approximates it"
        else:
            played = f"from a table, within {figure(found.reached)} of the distribution at the points compared"
        return (("distribution", f"your perturbation distribution is played {played}"),)

    def _refuted(self, bound: Bound, own: float, regret: float | None, claim: float | None) -> str:
        """Return why the observations contradict an assumption of the bound; an empty string if they do not."""
        learner = self.learner
        reason = contradicted(bound, regret, self._level, claim, self._settled, learner.width)
        if reason or self.sees_all or bound.at_most is None:
            return reason
        return untenable(bound, own, learner.tuned_best(), learner.width)

    def _on_this_run(self, delta: float, regret: float) -> tuple[float | None, str]:
        """Return (bound on the regret of this run or None, its sentence or the reason)."""
        return None, no_run_bound(type(self.learner).__name__)

    def _unsettled(self) -> str:
        """Return why there is no bound on this run yet; an empty string if every move is settled."""
        if lost := self._lost():
            return f"no bound: {lost}"
        count = counted(self._open_count, "pending move")
        return f"no bound yet: {count}; it needs the losses of all moves" if self._open_count else ""

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
        self._set_words(identity.renewed(stream), identity.renewed(noise) if self._program.own_noise else noise)

    def _chosen(self, *rest: Any) -> tuple[Any, ...]:
        action, probability = rest
        fields.whole(action, "action", 0, self._choices - 1)
        return action, fields.number(probability, "probability", 1e-30, 1.0)

    @property
    def _choices(self) -> int:
        """How many actions a move may have."""
        return self._n


class ExpertsPlayer(Player):
    """Plays `Experts`: a move is one expert, a loss is the vector of all of them.

    Own loss is <p, l> under the p that a move was drawn from. While no other loss comes in, that is the
    distribution in place; a copy is kept only when one does.
    """

    sees_all = True

    if TYPE_CHECKING:  # what the engine does, with its types

        def act(self, awake: Any = None) -> Move: ...
        def observe(self, move: Move, loss: Any = None, *, reward: Any = None) -> None: ...
    else:
        act = _engine.Player._act_expert
        observe = _engine.Player._observe_row

    def _act_awake(self, awake: Any) -> Move:
        """Draw among the experts awake; the ticket carries what settling it needs."""
        raise ValueError(f"{type(self.learner).__name__} has no experts who sleep; got awake={awake!r}")

    def _charged(self, losses: Any, mask: Any, p: Array) -> Array:
        """The losses of a move drawn among the awake, sleepers charged."""
        raise NotImplementedError

    def _observe_slowly(self, move: Move, loss: Any) -> None:
        """What the engine does not take as it is: refused in words, or made plain and settled."""
        number = self._ticket(move)
        row = self._vector(loss) if self._is_plain(number) else self._charged(loss, *self._kept(number))
        bad = self._settle_row(number, row)
        if bad >= 0:
            raise self._bad_row(row, bad)

    def _vector(self, losses: Any) -> Array:
        array = validation.losses(losses)
        if array.shape != (self._n,):
            raise ValueError(f"losses must be {self._n} numbers, one for each expert; got shape {array.shape}")
        return np.ascontiguousarray(array)

    def _bad_row(self, row: Array, bad: int) -> ValueError:
        low, high = self.learner.loss_range
        value = float(row[bad])
        return ValueError(f"losses must be finite and in [{low:g}, {high:g}]; got {value!r} at index {bad}")

    def _bound(self, best: float | None) -> tuple[Bound | None, str]:
        if not self._largest_delay or self._forgotten:
            return super()._bound(best)
        try:
            learner: Any = self.learner
            bound: Bound = learner.bound(self._settled, best, delay=self._largest_delay)
            return at_observed(learner, bound, best), ""
        except ValueError as reason:
            return None, f"{DELAYED}: {reason}"

    def _on_this_run(self, delta: float, regret: float) -> tuple[float | None, str]:
        # The learner's loss is the conditional mean of the sampled losses; Azuma and Hoeffding bound the difference.
        if unsettled := self._unsettled():
            return None, unsettled
        more = self.learner.width * math.sqrt(self._settled * math.log(1.0 / delta) / 2.0)
        says = f"with probability {sure(delta)}, for a horizon fixed in advance"
        return rounded_up(regret + more), f"{says} (sampled moves; the mean play has the regret below)"


class BanditPlayer(Player):
    """Plays `Bandit`: a move is one arm, a loss is the number that it cost."""

    if TYPE_CHECKING:

        def act(self, awake: Any = None) -> Move: ...
        def observe(self, move: Move, loss: Any = None, *, reward: Any = None) -> None: ...
    else:
        act = _engine.Player._act_arm
        observe = _engine.Player._observe_arm

    def _observe_slowly(self, move: Move, loss: Any) -> None:
        """What the engine does not take as it is: refused in words, or made plain and settled."""
        number = self._ticket(move)
        x = self._scalar(loss)
        if not self._is_plain(number):
            (mask,) = self._kept(number)
            self._settle_among(number, mask, x)
        else:
            self._settle_arm(number, x)

    def _on_this_run(self, delta: float, regret: float) -> tuple[float | None, str]:
        gamma: float | None = getattr(getattr(self.learner, "estimator", None), "gamma", None)
        if gamma is None:
            return None, f"{no_run_bound(type(self.learner).__name__)}; use exp3_ix({self._n}, rounds)"
        if unsettled := self._unsettled():
            return None, unsettled
        # exp(2 gamma (Lhat_i - L_i)) is a supermartingale for each arm, whoever sets the losses; Ville.
        line = regret + self.learner.width * math.log(self._n / delta) / (2.0 * gamma)
        return rounded_up(line), f"with probability {sure(delta)}, {EVERY_TIME}"

    def _no_delays(self) -> str:
        return f"{super()._no_delays()}; use hn.TsallisShannon({self._n})"

    def _act_awake(self, awake: Any) -> Move:
        """Draw among the arms awake; the ticket carries who they were."""
        raise ValueError(
            f"arms may sleep where a proof covers it, as of Bandit({self._n}, Tsallis(0.5)), which is to be played "
            f"instead; got awake={awake!r} for {self.learner!r}"
        )


class ExpertBanditPlayer(Player):
    """Plays `ExpertBandit`: a move is one action, drawn on advice; a loss is the number that it cost."""

    comparator = "expert"
    observe = _engine.Player._observe_on_advice

    def act(self, advice: Any, awake: Any = None) -> Move:
        """Draw an action. `advice`: an action for each expert, or a distribution (experts, actions)."""
        if awake is not None:
            raise ValueError(f"{self.learner!r} has no experts who sleep: no proof covers it; got awake={awake!r}")
        move: Move = self._act_on_advice(self._advice(advice))
        return move

    def _observe_slowly(self, move: Move, loss: Any) -> None:
        """What the engine does not take as it is: refused in words, or made plain and settled."""
        self._settle_on_advice(self._ticket(move), self._scalar(loss))

    @property
    def _choices(self) -> int:
        return int(self._program.actions)

    def _told(self, move: Move, plain: Any, kept: Any) -> Any:
        n, actions = self._n, self._choices
        if plain is True and isinstance(kept, np.ndarray) and kept.shape == (n,) and kept.dtype == np.int64:
            return fields.within(kept, "advice", 0, actions - 1)
        if plain is True and isinstance(kept, np.ndarray) and kept.shape == (n * actions,) and kept.dtype == np.float64:
            fields.within(kept, "advice", 0.0, 1.0 + 1e-9)
            return validation.distribution(kept.reshape(n, actions), "its advice").ravel()
        raise ValueError(f"its open moves must have the advice that they were drawn on; got {validation.brief(kept)}")

    def _advice(self, advice: Any) -> Any:
        """A clean copy, flat: whole numbers, or distributions."""
        rows = np.array(validation.unmasked(advice, "advice"))
        n, actions = self._n, self._choices
        if rows.shape == (n,) and rows.dtype.kind in "iu":
            if rows.min() < 0 or rows.max() >= actions:
                bad = int(np.argmax((rows < 0) | (rows >= actions)))
                raise ValueError(f"advice must be actions of 0..{actions - 1}; got {rows[bad]} at index {bad}")
            return rows.astype(np.int64)
        if rows.shape == (n, actions):
            return np.ascontiguousarray(validation.distribution(rows, "advice").ravel())
        raise ValueError(
            f"advice must be {n} integers, or {n} distributions over {actions} actions; "
            f"got {rows.dtype.name} values of shape {rows.shape}"
        )
