"""Players: running learners that draw moves, settle them in any order, give certificates, and can be saved."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from hannan import _engine, validation
from hannan.mathematics.bounds import Bound, Units, at_observed, rounded_up
from hannan.mathematics.laws.law import Law
from hannan.mathematics.smoothing import stability
from hannan.mathematics.streams import NO_WORDS, words
from hannan.players import identity
from hannan.players.certificate import (
    EVERY_TIME,
    FROM_LOSSES,
    Certificate,
    contradicted,
    no_run_bound,
    untenable,
)  # fmt: skip
from hannan.players.tickets import DELAYED, Book, Chooser, Move, move_of
from hannan.saving import fields
from hannan.saving.formatting import counted, figure, sure
from hannan.validation import Array

if TYPE_CHECKING:
    from hannan.players.evidence import Evidence, Means


class Player(_engine.Player, Book):
    """A running learner: it draws moves, and settles them when their losses arrive.

    `learner.start(seed)` returns a player. `act()` draws a move, `observe(move, loss)` settles it, at any time and in
    any order, and `forget(move)` drops it if its loss will never be known.

    Parameters
    ----------
    learner : learner
        Description of the algorithm.
    seed : int or None
        Seed, as given to `learner.start`.
    name : str, optional
        Id, as given to `learner.start`. Default: a new one.

    Notes
    -----
    An invalid loss or move raises ValueError, and the player is unchanged. A player is not thread-safe: guard it with
    a lock.

    Examples
    --------
    >>> import hannan as hn
    >>> player = hn.Bandit(["red", "blue"]).start(seed=0)
    >>> move = player.act()
    >>> player.observe(move, 0.25)
    >>> player.certificate().rounds, player.open_moves
    (1, ())
    """

    #: Whether all losses are observed, so that the regret is known.
    sees_all = False
    #: Whether every bound of its certificates is computed from observed losses.
    _made_of_losses = False
    #: Noun for what the regret compares with.
    comparator = "arm"

    learner: Chooser

    def __init__(self, learner: Chooser, seed: int | None, name: str | None = None) -> None:
        self.learner = learner
        self._setup: Any = learner.setup()
        self._n = int(self._setup.n)
        given, entropy = identity.origin(seed)
        noise = words(entropy, 0, 2) if self._setup.own_noise else NO_WORDS
        #: Class of its moves, which has the names of the actions, if they have names.
        self._move = move_of(getattr(learner, "arms", None) or ())
        super().__init__(self._setup, words(entropy, 0), noise, "", self._move)
        self.seed = given
        self._called(identity.named(name), "")

    def distribution(self) -> Array:
        """Return the probabilities of the next move (of the experts, for `ExpertBandit`); the state is unchanged.

        Returns
        -------
        numpy.ndarray
            One probability per choice.
        """
        p: Array = self._distribution(None)
        return p

    @property
    def losses(self) -> Array:
        """Cumulative losses so far, scaled to [0, 1] per round; estimates for a bandit."""
        losses: Array = self._losses
        return losses

    def observe(self, move: Move, loss: Any) -> None:
        """Settle a pending move with its loss.

        Parameters
        ----------
        move : Move
            The object returned by `act`.
        loss : float or array-like
            Loss of the move for a bandit; losses of all experts otherwise. Rewards are passed by `reward=`.

        Raises
        ------
        ValueError
            If the loss is invalid, or the move is not pending. The player is then unchanged.
        """
        raise NotImplementedError

    def _observe_reward(self, move: Move, loss: Any, reward: Any) -> None:
        """Settle a move with its reward, for a learner with gains=True."""
        if loss is not None:
            raise ValueError(f"pass loss= or reward=, not both; got loss={loss!r}, reward={reward!r}")
        if not self.learner.gains:
            raise ValueError(
                f"this learner takes losses; pass loss=, or create it with gains=True; got reward={reward!r}"
            )
        self.observe(move, reward)

    def _check_loss_keyword(self, loss: Any) -> None:
        """Raise if `loss=` was given by name to a learner of gains; a positional value is in the learner's units."""
        if self.learner.gains:
            raise ValueError(
                f"this learner takes rewards (gains=True); pass reward=; got loss={validation.brief(loss)}"
            )

    def _failed(self) -> ArithmeticError:
        return ArithmeticError(f"the smoothing of {self.learner!r} failed numerically at these losses")

    def _scalar(self, loss: Any) -> float:
        """Return a loss that is not a Python float as one; booleans count as 1 and 0."""
        if isinstance(loss, (bool, np.bool_)):
            loss = float(loss)
        if isinstance(loss, np.ndarray) and loss.ndim != 0:
            raise ValueError(
                f"loss must be a number (a bandit observes the loss of the chosen arm only); got shape {loss.shape}"
            )
        low, high = self.learner.loss_range
        return validation.between(loss, low, high, "loss")

    # Certificates

    def certificate(self, delta: float | None = None) -> Certificate:
        """Return the certificate so far: bound, regret as far as it is known, and stability.

        Parameters
        ----------
        delta : float, optional
            Also bound the regret of this run, with probability 1 - delta, if that is proved for the learner.

        Returns
        -------
        Certificate
            The certificate; docs/certificate.md explains every line of it.
        """
        delta = None if delta is None else validation.between(delta, 0.0, 1.0, "delta", "()")
        learner, own, least = self.learner, self._own, float(self._losses.min())
        regret = (own - least) * learner.width
        best = learner.in_units(least, self._settled) if self.sees_all else None
        bound, withheld = self._bound(best)
        gamma = float(self._setup.gamma)
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
            estimated_regret=None if self.sees_all or not self._setup.estimates else regret,
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

    def _of_learner(self) -> tuple[tuple[str, str], ...]:
        """Return the assumptions that hold for all learners of a fleet together, as (label, text)."""
        return self._own_law()

    def _own_law(self) -> tuple[tuple[str, str], ...]:
        """Return the accuracy with which a user-defined distribution is played; nothing for the package's own."""
        law = getattr(self.learner, "smoothing", None)
        if not isinstance(law, Law) or law.kernel:
            return ()
        from hannan.mathematics.laws.tabulated import tabulated  # only if there is one
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
        """Return the rate that the bounds rely on, at the first and smallest scale; None if there is none."""
        learner = self.learner
        try:
            rate = stability(learner.smoothing, learner.schedule().scale(1, 0.0), self._n, gamma, 0.0).rate
        except ValueError:
            return None  # a user-defined distribution without a stated hazard
        return rate if math.isfinite(rate) else None

    def _identity(self, least: float) -> dict[str, float]:
        """Return the terms of the master identity; none if a potential is infinite (a distribution without a mean)."""
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
        """Return (bound now or None, reason if None)."""
        if withheld := self._lost() or self._late():
            return None, withheld
        try:
            return at_observed(self.learner, self.learner.bound(self._settled, best, against="any"), best), ""
        except ValueError:
            pass  # no bound holds against an adaptive adversary; the reason below names a weaker adversary
        try:
            return at_observed(self.learner, self.learner.bound(self._settled, best), best), ""
        except ValueError as reason:
            return None, str(reason)

    # Saving

    def _renew(self) -> None:
        stream, noise = self._words
        self._set_words(identity.renewed(stream), identity.renewed(noise) if self._setup.own_noise else noise)

    def _chosen(self, *rest: Any) -> tuple[Any, ...]:
        action, probability = rest
        fields.whole(action, "action", 0, self._choices - 1)
        return action, fields.number(probability, "probability", 1e-30, 1.0)

    @property
    def _choices(self) -> int:
        """Number of actions that a move can have."""
        return self._n


class ExpertsPlayer(Player):
    """Player of `Experts`: a move is one expert, and the losses of all experts are observed.

    The learner's loss is <p, l> for the distribution p from which the move was drawn. This is the current distribution
    until another loss arrives; only then a copy is stored.
    """

    sees_all = True

    if TYPE_CHECKING:  # signatures of the methods of the engine

        def act(self, awake: Any = None) -> Move: ...
        def observe(self, move: Move, loss: Any = None, *, reward: Any = None) -> None: ...
    else:
        act = _engine.Player._act_expert
        observe = _engine.Player._observe_row

    def _act_awake(self, awake: Any) -> Move:
        """Draw among the available experts; the ticket stores what settling it needs."""
        raise ValueError(f"awake= is not supported by {type(self.learner).__name__}; got awake={awake!r}")

    def _charged(self, losses: Any, mask: Any, p: Array) -> Array:
        """Return the losses of a move drawn among available experts, with a loss for each unavailable one."""
        raise NotImplementedError

    def _observe_slowly(self, move: Move, loss: Any) -> None:
        """Settle input that the engine's fast path does not accept, after conversion; raise if it is invalid."""
        number = self._ticket(move)
        row = self._vector(loss) if self._is_plain(number) else self._charged(loss, *self._kept(number))
        bad = self._settle_row(number, row)
        if bad >= 0:
            raise self._bad_row(row, bad)

    def _vector(self, losses: Any) -> Array:
        array = validation.losses(losses)
        if array.shape != (self._n,):
            raise ValueError(f"losses must be {self._n} numbers, one per expert; got shape {array.shape}")
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
    """Player of `Bandit`: a move is one arm, and its loss is observed."""

    def __init__(self, learner: Chooser, seed: int | None, name: str | None = None, evidence: bool = False) -> None:
        super().__init__(learner, seed, name)
        if not isinstance(evidence, bool):
            raise ValueError(f"evidence must be True or False; got {validation.brief(evidence)}")
        if evidence:
            self._keep_evidence(None)

    if TYPE_CHECKING:

        def act(self, awake: Any = None) -> Move: ...
        def observe(self, move: Move, loss: Any = None, *, reward: Any = None) -> None: ...
    else:
        act = _engine.Player._act_arm
        observe = _engine.Player._observe_arm

    def _observe_slowly(self, move: Move, loss: Any) -> None:
        """Settle input that the engine's fast path does not accept, after conversion; raise if it is invalid."""
        number = self._ticket(move)
        x = self._scalar(loss)
        if not self._is_plain(number):
            (mask,) = self._kept(number)
            self._settle_among(number, mask, x)
        else:
            self._settle_arm(number, x)

    # Evidence

    def evidence(self, alpha: float = 0.05, means: Means = "any") -> Evidence:
        """Return statements about the arms that are valid at all times, however often they are read.

        Parameters
        ----------
        alpha : float
            Probability that any statement is ever wrong.
        means : {"any", "fixed"}
            "any" for averages over all decisions so far, which may change in any way; "fixed" assumes constant means,
            which is not verified. Choose one of them, and alpha, before the first look.

        Returns
        -------
        Evidence
            Intervals, differences, the arm that has been the best so far, and a bound on the realized regret.

        Raises
        ------
        ValueError
            If the player was started without evidence.

        Examples
        --------
        >>> import hannan as hn
        >>> player = hn.Bandit(["red", "blue"], gains=True).start(seed=0, evidence=True)
        >>> for _ in range(2000):
        ...     move = player.act()
        ...     player.observe(move, reward=float(move.arm == "red"))
        >>> found = player.evidence()
        >>> found.best, found.arms["red"].interval[0] > found.arms["blue"].interval[1]
        ('red', True)
        """
        from hannan.players import evidence

        table = self._evidence
        if table is None:
            raise ValueError("the player keeps no evidence; start it with start(evidence=True)")
        names = [str(name) for name in getattr(self.learner, "arms", None) or range(self._n)]
        return evidence.read(
            table,
            names,
            Units.of(self.learner.loss_range, self.learner.gains),
            alpha=alpha,
            means=means,
            probabilities=self.distribution().tolist(),
            sure_since=f"decision {table.sure_since:,}",
            assumed=[
                row
                for row, holds in ((evidence.SEEDED, self.seed is not None), (evidence.RESUMED, self.resumed))
                if holds
            ],
        )

    def content(self) -> dict[str, Any]:
        table, content = self._evidence, super().content()
        return content if table is None else {**content, "evidence": table.to_bytes().hex()}

    def _resume(self, content: dict[str, Any]) -> None:
        super()._resume(content)
        if "evidence" in content:
            self._keep_evidence(bytes.fromhex(fields.text(content["evidence"], "evidence")))

    def _on_this_run(self, delta: float, regret: float) -> tuple[float | None, str]:
        gamma: float | None = getattr(getattr(self.learner, "estimator", None), "gamma", None)
        if gamma is None:
            return None, f"{no_run_bound(type(self.learner).__name__)}; use exp3_ix({self._n}, rounds)"
        if unsettled := self._unsettled():
            return None, unsettled
        # exp(2 gamma (Lhat_i - L_i)) is a supermartingale for each arm, for every rule that sets the losses; Ville's
        # inequality.
        line = regret + self.learner.width * math.log(self._n / delta) / (2.0 * gamma)
        return rounded_up(line), f"with probability {sure(delta)}, {EVERY_TIME}"

    def _no_delays(self) -> str:
        return f"{super()._no_delays()}; use hn.TsallisShannon({self._n})"

    def _act_awake(self, awake: Any) -> Move:
        """Draw among the available arms; the ticket stores which ones they are."""
        raise ValueError(
            f"awake= is not supported by {self.learner!r}: no proof covers it; use hn.Bandit({self._n}, "
            f"hn.Tsallis(0.5)); got awake={awake!r}"
        )


class ExpertBanditPlayer(Player):
    """Player of `ExpertBandit`: a move is one action, drawn on advice, and its loss is observed."""

    comparator = "expert"
    observe = _engine.Player._observe_on_advice

    def act(self, advice: Any, awake: Any = None) -> Move:
        """Draw an action on the advice of the experts.

        Parameters
        ----------
        advice : array-like
            One action per expert, or one distribution over actions per expert, shape (experts, actions).
        awake : None
            Not supported: no proof covers unavailable experts.

        Returns
        -------
        Move
            The action.
        """
        if awake is not None:
            raise ValueError(f"awake= is not supported by {self.learner!r}: no proof covers it; got awake={awake!r}")
        move: Move = self._act_on_advice(self._advice(advice))
        return move

    def _observe_slowly(self, move: Move, loss: Any) -> None:
        """Settle input that the engine's fast path does not accept, after conversion; raise if it is invalid."""
        self._settle_on_advice(self._ticket(move), self._scalar(loss))

    @property
    def _choices(self) -> int:
        return int(self._setup.actions)

    def _told(self, move: Move, plain: Any, kept: Any) -> Any:
        n, actions = self._n, self._choices
        if plain is True and isinstance(kept, np.ndarray) and kept.shape == (n,) and kept.dtype == np.int64:
            return fields.within(kept, "advice", 0, actions - 1)
        if plain is True and isinstance(kept, np.ndarray) and kept.shape == (n * actions,) and kept.dtype == np.float64:
            fields.within(kept, "advice", 0.0, 1.0 + 1e-9)
            return validation.distribution(kept.reshape(n, actions), "its advice").ravel()
        raise ValueError(f"corrupt file: expected the advice of a pending move; found {validation.brief(kept)}")

    def _advice(self, advice: Any) -> Any:
        """Return the advice as a flat array: one integer or one distribution per expert."""
        rows = np.array(validation.unmasked(advice, "advice"))
        n, actions = self._n, self._choices
        if rows.shape == (n,) and rows.dtype.kind in "iu":
            if rows.min() < 0 or rows.max() >= actions:
                bad = int(np.argmax((rows < 0) | (rows >= actions)))
                raise ValueError(f"advice must be integers in 0..{actions - 1}; got {rows[bad]} at index {bad}")
            return rows.astype(np.int64)
        if rows.shape == (n, actions):
            return np.ascontiguousarray(validation.distribution(rows, "advice").ravel())
        raise ValueError(
            f"advice must be {n} integers, or {n} distributions over {actions} actions; "
            f"got {rows.dtype.name} values of shape {rows.shape}"
        )
