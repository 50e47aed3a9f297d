"""The greedy adversary: a sequence that answers one learner, round by round, and maximises its regret."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from hannan import validation
from hannan.validation import Array

_ALL_SUBSETS_UP_TO = 5  # 2^5 - 2 candidates; beyond, those ordered by probability
_SIZES = 16  # of the sets of likeliest arms


def greedy(learner: Any, rounds: int) -> Array:
    """l_t = argmax over l in {0,1}^n of <p_t, l> - (Phi_t(L + l) - Phi_t(L)), then an endgame.

    p_t is what the learner plays, L its losses so far, Phi_t its own potential at the scale of round t: its
    smoothed best loss. So l_t makes the regret against the smoothed best grow the most; this growth is the
    term D_t >= 0 of the master identity, regret = sum_t D_t + Phi(L_T) - min L_T - Phi(0) at one scale.
    Growth against min L itself is myopic: it makes one arm good for ever and stops at a constant regret.

    Only the first k arms may win; the others always lose 1. The candidates are all subsets of the k for
    k <= 5; for more, for up to 16 sizes j the j of them with the largest probability, and their complements.
    Beside this argmax a second rule is tried, by which the likelier half of the k arms lose (for k = 2, the
    alternating leader). The endgame, the last m rounds, cashes in: l = 1 - e_j, j the least probable of the
    arms of least loss, the exact maximiser over {0,1}^n of <p_t, l> - (min(L + l) - min L). Of the two
    rules, k = 2, 8, 32, ..., n and m = 0, 1, 2, 4, ..., rounds, what has the largest exact expected regret is
    returned.

    The sequence does not depend on any draw: it is oblivious, and the learner, which has full information,
    has this expected regret exactly. A learner of your own without a smoothing (it has `start`, its player
    `act`, `distribution` and `observe`) is played the endgame throughout. The losses come in the learner's
    own units (`loss_range`, `gains`).

    >>> import hannan as hn
    >>> learner = hn.Experts(2, hn.Entropy(), tuning=hn.Horizon(100))
    >>> losses = greedy(learner, 100)
    >>> losses.shape, sorted(set(losses.ravel().tolist()))
    ((100, 2), [0.0, 1.0])
    """
    rounds = validation.count(rounds, "rounds")
    if not hasattr(learner, "start"):
        raise ValueError(f"learner must have start(seed), as hn.Experts has; got {type(learner).__name__}")
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
    """Whether its play is the gradient of a potential whose scale is known beforehand."""
    if not (hasattr(learner, "smoothing") and hasattr(learner, "schedule")):
        return False
    try:
        learner.schedule()
    except ValueError:
        return False
    return True


def _against(learner: Any, rounds: int, rule: Callable[[_ExactPlay, int], Array], live: int) -> tuple[float, Array]:
    """The exact expected regret and the losses of one rule, when only the first `live` arms may win."""
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
    """The learner's distribution as a function of the losses so far; nothing is drawn."""

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
        # A prior is a head start: arm i begins with the loss -scale log(prior_i).
        self._start = 0.0 if self._log_prior is None else -scale * self._log_prior
        self._p = self._potential.gradient(self._start + self._L)

    def worst_smoothed(self, live: int) -> Array:
        """The candidate with the largest D_t."""
        if live == 1:
            return np.ones(len(self._p))
        candidates = _candidates(self._p, live)
        here = self._start + self._L
        grown = np.asarray(self._potential.value(here + candidates))
        drift = candidates @ self._p - (grown - self._potential.value(here))
        worst: Array = candidates[int(np.argmax(drift))]
        return worst

    def likelier_half(self, live: int) -> Array:
        """The likelier half of the first `live` arms lose, and all others."""
        loss = np.ones(len(self._p))
        loss[np.argsort(-self._p[:live], kind="stable")[live // 2 :]] = 0.0
        return loss

    def worst_now(self) -> Array:
        """1 - e_j, j the least probable arm among those of least loss."""
        return _all_but_the_leader(self._L, self._p)

    def suffer(self, loss: Array) -> None:
        self._own += float(self._p @ loss)
        self._L += loss
        self._round += 1
        self._refresh()

    def regret(self) -> float:
        return self._own - float(self._L.min())


def _candidates(p: Array, live: int) -> Array:
    """Losses in {0,1}^n, 1 beyond the first `live` arms, neither all 0 nor all 1 on those."""
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
    """first, factor first, factor^2 first, ... below last, and last."""
    numbers = []
    while first < last:
        numbers.append(first)
        first *= factor
    return [*numbers, last]


def _stepped(learner: Any, rounds: int) -> Array:
    """The endgame throughout, against a learner that is only known by stepping it."""
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
