"""Greedy adversary: a loss sequence that nearly maximizes the regret of one learner."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from hannan import validation
from hannan.validation import Array

_ALL_SUBSETS_UP_TO = 5  # 2^5 - 2 candidates; for more arms, sets ordered by probability
_SIZES = 16  # Number of sizes of the sets of the most likely arms.


def greedy(learner: Any, rounds: int) -> Array:
    """Return a loss sequence that gives one learner a large expected regret.

    Parameters
    ----------
    learner : Experts, or an object with `start(seed)`
        Learner with full information. Its player needs `act`, `distribution` and `observe`.
    rounds : int
        Number of rounds.

    Returns
    -------
    numpy.ndarray of shape (rounds, n)
        Losses in the units of the learner (`loss_range`, `gains`).

    Raises
    ------
    ValueError
        If the learner has no `start`, or observes only some of the losses.

    Notes
    -----
    The losses of round t maximize <p_t, l> - (Phi_t(L + l) - Phi_t(L)) over l in {0, 1}^n, where p_t is the
    distribution of the learner, L the cumulative losses and Phi_t its potential at the scale of round t. This
    expression is the term D_t >= 0 of the identity regret = sum_t D_t + Phi(L_T) - min L_T - Phi(0) at one scale.
    Maximizing the regret against min L instead would be myopic: one arm would become good for ever, and the regret
    would stop growing.

    Only the first k arms can avoid a loss. For k <= 5 the candidates are all subsets of these arms. For larger k the
    candidates are, for up to 16 sizes j, the j most likely of them and their complements. A second rule is also tried:
    the more likely half of the k arms loses (for k = 2 the alternating leader). In the last m rounds l = 1 - e_j, where
    j is the least likely of the arms with the smallest loss, which maximizes <p_t, l> - (min(L + l) - min L) exactly.
    The function returns the sequence with the largest exact expected regret over both rules, k = 2, 8, 32, ..., n and
    m = 0, 1, 2, 4, ..., rounds.

    The sequence does not depend on any random draw, so it is oblivious. A learner without a smoothing faces the rule of
    the last m rounds in all rounds.

    Examples
    --------
    >>> import hannan as hn
    >>> learner = hn.Experts(2, hn.Entropy(), tuning=hn.Horizon(100))
    >>> losses = greedy(learner, 100)
    >>> losses.shape, sorted(set(losses.ravel().tolist()))
    ((100, 2), [0.0, 1.0])
    """
    rounds = validation.count(rounds, "rounds")
    if not hasattr(learner, "start"):
        raise ValueError(f"learner must have a method start(seed), as hn.Experts does; got {type(learner).__name__}")
    if hasattr(learner, "estimator") or hasattr(learner, "actions"):
        raise ValueError(f"greedy needs a learner with full information, such as hn.Experts; got {learner!r}")
    if not _is_a_potential(learner):
        return _stepped(learner, rounds)
    best, losses = -np.inf, np.empty((0, 0))
    for live in _powers(2, 4, learner.n):
        for rule in (_ExactPlay.worst_smoothed, _ExactPlay.likelier_half):
            regret, answer = _against(learner, rounds, rule, live)
            if regret > best:
                best, losses = regret, answer
    return _in_units(learner, losses)


def _is_a_potential(learner: Any) -> bool:
    """Return whether the learner plays the gradient of a potential whose scale is known in advance."""
    if not (hasattr(learner, "smoothing") and hasattr(learner, "schedule")):
        return False
    try:
        learner.schedule()
    except ValueError:
        return False
    return True


def _against(learner: Any, rounds: int, rule: Callable[[_ExactPlay, int], Array], live: int) -> tuple[float, Array]:
    """Return (exact expected regret, losses) of one rule if only the first `live` arms can avoid a loss."""
    losses = np.empty((rounds, learner.n))
    play = _ExactPlay(learner)
    lengths = _powers(1, 2, rounds)
    branches: dict[int, _ExactPlay] = {}
    for t in range(rounds):
        if rounds - t in lengths:
            branches[rounds - t] = copy.deepcopy(play)
        losses[t] = rule(play, live)
        play.suffer(losses[t])
    best, ending = play.regret(), np.empty((0, learner.n))
    for length, branch in branches.items():
        answer = np.empty((length, learner.n))
        for k in range(length):
            answer[k] = branch.worst_now()
            branch.suffer(answer[k])
        if branch.regret() > best:
            best, ending = branch.regret(), answer
    losses[rounds - len(ending) :] = ending
    return best, losses


class _ExactPlay:
    """Distribution of the learner as a function of the losses so far, without any random draw."""

    def __init__(self, learner: Any) -> None:
        self._smoothing, self._schedule = learner.smoothing, learner.schedule()
        prior = getattr(learner, "prior", None)
        self._log_prior = None if prior is None else np.log(np.asarray(prior))
        self._round, self._own, self._L = 1, 0.0, np.zeros(learner.n)
        self._refresh()

    def __deepcopy__(self, memo: dict[int, Any]) -> _ExactPlay:
        twin = copy.copy(self)
        twin._L = self._L.copy()
        return twin

    def _refresh(self) -> None:
        from hannan.mathematics.potentials import potential

        scale = self._schedule.scale(self._round, self._own)
        self._potential = potential(self._smoothing, scale)
        # A prior is equivalent to the initial loss -scale log(prior_i) of arm i.
        self._start = 0.0 if self._log_prior is None else -scale * self._log_prior
        self._p = self._potential.gradient(self._start + self._L)

    def worst_smoothed(self, live: int) -> Array:
        """Return the candidate with the largest D_t."""
        if live == 1:
            return np.ones(len(self._p))
        candidates = _candidates(self._p, live)
        here = self._start + self._L
        grown = np.asarray(self._potential.value(here + candidates))
        drift = candidates @ self._p - (grown - self._potential.value(here))
        worst: Array = candidates[int(np.argmax(drift))]
        return worst

    def likelier_half(self, live: int) -> Array:
        """Return losses for the more likely half of the first `live` arms, and for all other arms."""
        loss = np.ones(len(self._p))
        loss[np.argsort(-self._p[:live], kind="stable")[live // 2 :]] = 0.0
        return loss

    def worst_now(self) -> Array:
        """Return 1 - e_j, where j is the least likely arm among those with the smallest loss."""
        return _all_but_the_leader(self._L, self._p)

    def suffer(self, loss: Array) -> None:
        self._own += float(self._p @ loss)
        self._L += loss
        self._round += 1
        self._refresh()

    def regret(self) -> float:
        return self._own - float(self._L.min())


def _candidates(p: Array, live: int) -> Array:
    """Return losses in {0, 1}^n that are 1 beyond the first `live` arms, and neither all 0 nor all 1 on those."""
    if live <= _ALL_SUBSETS_UP_TO:
        among = np.array([x for x in itertools.product((0.0, 1.0), repeat=live) if 0.0 < sum(x) < live])
    else:
        rank = np.empty(live, dtype=np.int64)
        rank[np.argsort(-p[:live], kind="stable")] = np.arange(live)
        sizes = np.unique(np.linspace(1, live - 1, min(live - 1, _SIZES)).round())
        likeliest = (rank[None, :] < sizes[:, None]).astype(np.float64)
        among = np.concatenate([likeliest, 1.0 - likeliest])
    candidates = np.ones((len(among), len(p)))
    candidates[:, :live] = among
    return candidates


def _all_but_the_leader(L: Array, p: Array) -> Array:
    leaders = np.flatnonzero(L.min() == L)
    loss = np.ones(len(L))
    loss[leaders[np.argmin(p[leaders])]] = 0.0
    return loss


def _powers(first: int, factor: int, last: int) -> list[int]:
    """Yield first, factor first, factor^2 first, ... below last, and last."""
    numbers = []
    while first < last:
        numbers.append(first)
        first *= factor
    return [*numbers, last]


def _stepped(learner: Any, rounds: int) -> Array:
    """Return losses by the final rule in all rounds, for a learner known only through its player."""
    player = learner.start(0)
    L = np.zeros(len(player.distribution()))
    losses = np.empty((rounds, len(L)))
    for t in range(rounds):
        losses[t] = _all_but_the_leader(L, np.asarray(player.distribution()))
        player.observe(player.act(), losses[t])
        L += losses[t]
    return losses


def _in_units(learner: Any, losses: Array) -> Array:
    low, high = learner.loss_range
    if getattr(learner, "gains", False):
        return np.asarray(high - (high - low) * losses)
    return losses if (low, high) == (0, 1) else np.asarray(low + (high - low) * losses)
