"""Loss sequences fixed in advance: scripts, random draws and lower-bound constructions."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from hannan import validation
from hannan.saving import frozen
from hannan.validation import Array


@frozen(eq=False)
class Bernoulli:
    """Independent Bernoulli losses, described by their means.

    Parameters
    ----------
    means : array_like of shape (n,) or (rounds, n)
        Mean losses in [0, 1]: the same in every round, or one row per round.
    rounds : int, optional
        Number of rounds. Required with means of shape (n,).

    Attributes
    ----------
    means : numpy.ndarray
        Mean losses, read-only.
    rounds : int
        Number of rounds.

    Raises
    ------
    ValueError
        If a mean is not in [0, 1], or `rounds` is missing or differs from the number of rows.

    Notes
    -----
    The loss of arm i in round t has the distribution Bernoulli(m_{t,i}), independently over rounds and arms. A game
    draws the losses while it runs and needs memory O(n); `draw` returns the whole array.

    Examples
    --------
    >>> losses = Bernoulli([0.2, 0.5], rounds=1000)
    >>> losses.shape
    (1000, 2)
    >>> losses.draw(seed=1).mean(axis=0).round(2).tolist()
    [0.19, 0.48]
    >>> Bernoulli([0.2, 1.5], rounds=10)
    Traceback (most recent call last):
    ValueError: means must be in [0, 1]; got 1.5 at index 1
    """

    means: Array
    rounds: int

    def __init__(self, means: ArrayLike, rounds: int | None = None) -> None:
        array = np.array(validation.losses(means, "means"), dtype=np.float64, order="C")
        if array.ndim > 2:
            raise ValueError(f"means must have shape (n,) or (rounds, n); got shape {array.shape}")
        outside = np.argwhere((array < 0.0) | (array > 1.0))
        if len(outside):
            where = tuple(int(k) for k in outside[0])
            place = where[0] if len(where) == 1 else where
            raise ValueError(f"means must be in [0, 1]; got {array[where]} at index {place}")
        if rounds is None:
            if array.ndim == 1:
                raise ValueError(f"rounds is required with means of shape (n,); got shape {array.shape}")
            rounds = len(array)
        rounds = validation.count(rounds, "rounds")
        if array.ndim == 2 and len(array) != rounds:
            raise ValueError(f"means of shape (rounds, n) must have {rounds} rows; got {len(array)}")
        array.flags.writeable = False
        object.__setattr__(self, "means", array)
        object.__setattr__(self, "rounds", rounds)

    @property
    def n(self) -> int:
        """Number of arms."""
        return int(self.means.shape[-1])

    @property
    def shape(self) -> tuple[int, int]:
        """Shape (rounds, n) of the losses."""
        return self.rounds, self.n

    def draw(self, seed: int = 0) -> Array:
        """Return one sequence of losses.

        Parameters
        ----------
        seed : int, default 0
            Random seed.

        Returns
        -------
        numpy.ndarray of shape (rounds, n)
            Losses in {0, 1}.

        Notes
        -----
        A compiled game draws from its own random stream, so that it has the same distribution but other losses.

        Examples
        --------
        >>> Bernoulli([0.0, 1.0], rounds=2).draw().tolist()
        [[0.0, 1.0], [0.0, 1.0]]
        """
        uniforms = stream(seed, "coins").random(self.shape)
        return (uniforms < self.means).astype(np.float64)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Bernoulli):
            return NotImplemented
        return self.rounds == other.rounds and np.array_equal(self.means, other.means)

    def __hash__(self) -> int:
        return hash((self.rounds, self.means.shape, self.means.tobytes()))


# Means and losses are drawn from different streams, so that they are independent.
_STREAMS = {"means": 0, "coins": 1}


def stream(seed: int, name: str) -> np.random.Generator:
    """Return the random generator `name` ("means" or "coins") of a seed."""
    entropy = validation.count(seed, "seed", least=0)
    return np.random.default_rng(np.random.SeedSequence(entropy, spawn_key=(_STREAMS[name],)))


def stochastic(rounds: int, n: int, seed: int = 0, gap: float = 0.125, best: int = 0) -> Array:
    """Return i.i.d. Bernoulli losses with one best arm.

    Parameters
    ----------
    rounds : int
        Number of rounds.
    n : int
        Number of arms or experts.
    seed : int, default 0
        Random seed.
    gap : float, default 0.125
        Difference of the mean losses of the other arms and of the best arm, in [0, 1].
    best : int, default 0
        Index of the best arm.

    Returns
    -------
    numpy.ndarray of shape (rounds, n)
        Losses in {0, 1}.

    Raises
    ------
    ValueError
        If an argument is not an integer in its range, or `gap` is not in [0, 1].

    Notes
    -----
    The mean loss is (1 - gap)/2 for the best arm and (1 + gap)/2 for the others. Zimmert and Seldin (2021) and Honda,
    Ito and Tsuchiya (2023) use n = 8 and gap = 0.125.

    References
    ----------
    Zimmert, J. and Seldin, Y. (2021). Tsallis-INF: an optimal algorithm for stochastic and adversarial bandits.
    *Journal of Machine Learning Research* 22. https://jmlr.org/papers/v22/19-753.html

    Honda, J., Ito, S. and Tsuchiya, T. (2023). Follow-the-perturbed-leader achieves best-of-both-worlds for bandit
    problems. *Proceedings of Algorithmic Learning Theory*. https://proceedings.mlr.press/v201/honda23a.html

    Examples
    --------
    >>> stochastic(10_000, 3, gap=0.5).mean(axis=0).round(2).tolist()
    [0.25, 0.76, 0.75]
    """
    return stochastic_means(rounds, n, gap, best).draw(seed)


def stochastic_means(rounds: int, n: int, gap: float = 0.125, best: int = 0) -> Bernoulli:
    """Return the means of `stochastic`.

    Parameters
    ----------
    rounds : int
        Number of rounds.
    n : int
        Number of arms or experts.
    gap : float, default 0.125
        Difference of the mean losses of the other arms and of the best arm, in [0, 1].
    best : int, default 0
        Index of the best arm.

    Returns
    -------
    Bernoulli
        Description of the losses, whose coins are tossed during a game.

    Raises
    ------
    ValueError
        If an argument is not an integer in its range, or `gap` is not in [0, 1].

    Examples
    --------
    >>> stochastic_means(100, 3, gap=0.5).means.tolist()
    [0.25, 0.75, 0.75]
    """
    rounds, n, gap = _sizes(rounds, n, gap)
    means = np.full(n, (1.0 + gap) / 2.0)
    means[_arm(best, n)] = (1.0 - gap) / 2.0
    return Bernoulli(means, rounds)


def stochastically_constrained(
    rounds: int,
    n: int = 8,
    seed: int = 0,
    gap: float = 0.125,
    growth: float = 1.6,
    first: int = 10,
    best: int = 0,
) -> Array:
    """Return Bernoulli losses whose means alternate between a low and a high level.

    Parameters
    ----------
    rounds : int
        Number of rounds.
    n : int, default 8
        Number of arms or experts.
    seed : int, default 0
        Random seed.
    gap : float, default 0.125
        Difference of the mean losses of the other arms and of the best arm, in [0, 1].
    growth : float, default 1.6
        Factor by which the length of the phases grows, at least 1.
    first : int, default 10
        Length of the first phase.
    best : int, default 0
        Index of the best arm.

    Returns
    -------
    numpy.ndarray of shape (rounds, n)
        Losses in {0, 1}.

    Raises
    ------
    ValueError
        If an argument is not an integer in its range, `growth` is below 1, or `gap` is not in [0, 1].

    Notes
    -----
    Phase k = 0, 1, ... has floor(first growth^k) rounds. The mean losses of the best arm and of the others are
    (0, gap) in even phases and (1 - gap, 1) in odd phases. The gap is constant, but the level changes: an estimate that
    averages over several phases is misleading.

    References
    ----------
    Zimmert, J. and Seldin, Y. (2021). Tsallis-INF: an optimal algorithm for stochastic and adversarial bandits.
    *Journal of Machine Learning Research* 22. https://jmlr.org/papers/v22/19-753.html

    Honda, J., Ito, S. and Tsuchiya, T. (2023). Follow-the-perturbed-leader achieves best-of-both-worlds for bandit
    problems. *Proceedings of Algorithmic Learning Theory*. https://proceedings.mlr.press/v201/honda23a.html

    Examples
    --------
    >>> losses = stochastically_constrained(26, n=3)
    >>> losses[:10, 0].tolist() == [0.0] * 10          # the best arm has no loss in phase 0
    True
    >>> losses[10:26, 1:].min()                        # the other arms always lose in phase 1
    np.float64(1.0)
    """
    return stochastically_constrained_means(rounds, n, gap, growth, first, best).draw(seed)


def stochastically_constrained_means(
    rounds: int, n: int = 8, gap: float = 0.125, growth: float = 1.6, first: int = 10, best: int = 0
) -> Bernoulli:
    """Return the means of `stochastically_constrained`.

    Parameters
    ----------
    rounds : int
        Number of rounds.
    n : int, default 8
        Number of arms or experts.
    gap : float, default 0.125
        Difference of the mean losses of the other arms and of the best arm, in [0, 1].
    growth : float, default 1.6
        Factor by which the length of the phases grows, at least 1.
    first : int, default 10
        Length of the first phase.
    best : int, default 0
        Index of the best arm.

    Returns
    -------
    Bernoulli
        Description of the losses, whose coins are tossed during a game.

    Raises
    ------
    ValueError
        If an argument is not an integer in its range, `growth` is below 1, or `gap` is not in [0, 1].

    Examples
    --------
    >>> stochastically_constrained_means(11, n=2).means[[0, 9, 10]].tolist()
    [[0.0, 0.125], [0.0, 0.125], [0.875, 1.0]]
    """
    rounds, n, gap = _sizes(rounds, n, gap)
    growth = validation.real(growth, "growth")
    if growth < 1.0:
        raise ValueError(f"growth must be >= 1; got {growth!r}")
    first = validation.count(first, "first")
    best = _arm(best, n)
    means = np.empty((rounds, n))
    start, phase = 0, 0
    while start < rounds:
        stop = start + int(min(rounds - start, first * growth**phase))
        means[start:stop] = 1.0 if phase % 2 else gap
        means[start:stop, best] = 1.0 - gap if phase % 2 else 0.0
        start, phase = stop, phase + 1
    return Bernoulli(means)


def switching(rounds: int, n: int, seed: int = 0, phases: int = 10, gap: float = 0.5) -> Array:
    """Return Bernoulli losses whose best arm changes from phase to phase.

    Parameters
    ----------
    rounds : int
        Number of rounds.
    n : int
        Number of arms or experts.
    seed : int, default 0
        Random seed.
    phases : int, default 10
        Number of phases of equal length.
    gap : float, default 0.5
        Difference of the mean losses of the other arms and of the best arm of the phase, in [0, 1].

    Returns
    -------
    numpy.ndarray of shape (rounds, n)
        Losses in {0, 1}.

    Raises
    ------
    ValueError
        If an argument is not an integer in its range, or `gap` is not in [0, 1].

    Notes
    -----
    The mean loss in round t is (1 - gap)/2 for the best arm of the phase and (1 + gap)/2 for the others. Round
    t = 0, 1, ... belongs to phase floor(t phases/rounds). The best arm of a phase is drawn uniformly from all arms
    except the best arm of the phase before. Regret is relative to the best fixed arm, as for the other sequences.

    Examples
    --------
    >>> switching(6, 2, phases=3, gap=1.0).argmin(axis=1).tolist()
    [1, 1, 0, 0, 1, 1]
    """
    return switching_means(rounds, n, seed, phases, gap).draw(seed)


def switching_means(rounds: int, n: int, seed: int = 0, phases: int = 10, gap: float = 0.5) -> Bernoulli:
    """Return the means of `switching`.

    Parameters
    ----------
    rounds : int
        Number of rounds.
    n : int
        Number of arms or experts.
    seed : int, default 0
        Random seed.
    phases : int, default 10
        Number of phases of equal length.
    gap : float, default 0.5
        Difference of the mean losses of the other arms and of the best arm of the phase, in [0, 1].

    Returns
    -------
    Bernoulli
        Description of the losses, whose coins are tossed during a game.

    Raises
    ------
    ValueError
        If an argument is not an integer in its range, or `gap` is not in [0, 1].

    Examples
    --------
    >>> switching_means(6, 2, phases=2).means.shape
    (6, 2)
    """
    rounds, n, gap = _sizes(rounds, n, gap)
    phases = validation.count(phases, "phases")
    rng = stream(seed, "means")
    best = np.empty(phases, dtype=np.int64)
    best[0] = rng.integers(n)
    for k in range(1, phases):
        # A shift by 1..n-1 is uniform over the other arms.
        best[k] = (best[k - 1] + (rng.integers(1, n) if n > 1 else 0)) % n
    leader = best[np.arange(rounds) * phases // rounds]
    means = np.full((rounds, n), (1.0 + gap) / 2.0)
    means[np.arange(rounds), leader] = (1.0 - gap) / 2.0
    return Bernoulli(means)


def drifting(rounds: int, n: int, seed: int = 0, step: float | None = None) -> Array:
    """Return Bernoulli losses whose means follow random walks.

    Parameters
    ----------
    rounds : int
        Number of rounds.
    n : int
        Number of arms or experts.
    seed : int, default 0
        Random seed.
    step : float, optional
        Standard deviation of one step of the random walk. Default: 1/sqrt(rounds), so that a mean moves by about 1 over
        the whole game.

    Returns
    -------
    numpy.ndarray of shape (rounds, n)
        Losses in {0, 1}.

    Raises
    ------
    ValueError
        If `rounds` or `n` is not an integer >= 1, or `step` is not positive.

    Notes
    -----
    The first mean m_0 of each arm is uniform on [0, 1], and m_{t+1} = fold(m_t + step g_t), where g_t is standard
    normal and ``fold(x) = 1 - |1 - (x mod 2)|`` reflects at 0 and 1.

    Examples
    --------
    >>> drifting(1000, 4).shape
    (1000, 4)
    """
    return drifting_means(rounds, n, seed, step).draw(seed)


def drifting_means(rounds: int, n: int, seed: int = 0, step: float | None = None) -> Bernoulli:
    """Return the means of `drifting`.

    Parameters
    ----------
    rounds : int
        Number of rounds.
    n : int
        Number of arms or experts.
    seed : int, default 0
        Random seed.
    step : float, optional
        Standard deviation of one step of the random walk. Default: 1/sqrt(rounds).

    Returns
    -------
    Bernoulli
        Description of the losses, whose coins are tossed during a game.

    Raises
    ------
    ValueError
        If `rounds` or `n` is not an integer >= 1, or `step` is not positive.

    Examples
    --------
    >>> walk = drifting_means(1000, 2, step=0.01).means
    >>> bool(abs(np.diff(walk, axis=0)).max() < 0.05)
    True
    """
    rounds, n, _ = _sizes(rounds, n, 0.0)
    step = 1.0 / np.sqrt(rounds) if step is None else validation.positive(step, "step")
    rng = stream(seed, "means")
    walk = np.empty((rounds, n))
    walk[0] = rng.random(n)
    walk[1:] = step * rng.standard_normal((rounds - 1, n))
    # Folding the free random walk once is equivalent to reflecting it at every step.
    np.cumsum(walk, axis=0, out=walk)
    return Bernoulli(1.0 - np.abs(1.0 - np.mod(walk, 2.0)))


def _sizes(rounds: int, n: int, gap: float) -> tuple[int, int, float]:
    return (
        validation.count(rounds, "rounds"),
        validation.count(n, "n"),
        validation.between(gap, 0.0, 1.0, "gap"),
    )


def _arm(best: int, n: int) -> int:
    best = validation.count(best, "best", least=0)
    if best >= n:
        raise ValueError(f"best must be an integer in 0..{n - 1}; got {best}")
    return best


def experts_lower_bound(rounds: int, n: int, seed: int = 0) -> Array:
    """Return i.i.d. Bernoulli(1/2) losses, a lower bound for all learners with expert feedback.

    Parameters
    ----------
    rounds : int
        Number of rounds.
    n : int
        Number of arms or experts.
    seed : int, default 0
        Random seed.

    Returns
    -------
    numpy.ndarray of shape (rounds, n)
        Losses in {0, 1}.

    Notes
    -----
    The expected loss of every learner is T/2, so that its expected regret is T/2 - E min_i sum_t l_{t,i}, which is
    sqrt(T ln(n)/2) (1 + o(1)). No bound for experts can have a smaller constant.

    References
    ----------
    Cesa-Bianchi, N. and Lugosi, G. (2006). *Prediction, Learning, and Games*, Theorem 3.7. Cambridge University Press.
    https://doi.org/10.1017/CBO9780511546921

    Examples
    --------
    >>> losses = experts_lower_bound(10_000, 2)
    >>> losses.mean(axis=0).round(2).tolist()
    [0.5, 0.51]
    """
    n = validation.count(n, "n")
    return Bernoulli(np.full(n, 0.5), rounds).draw(seed)


def bandits_lower_bound(rounds: int, n: int, seed: int = 0, gap: float | None = None) -> Array:
    """Return Bernoulli losses of a lower bound for all bandit learners.

    Parameters
    ----------
    rounds : int
        Number of rounds.
    n : int
        Number of arms or experts.
    seed : int, default 0
        Random seed.
    gap : float, optional
        Difference of the mean losses of the other arms and of the good arm, in [0, 1/2].
        Default: min(1, sqrt(n/rounds))/4.

    Returns
    -------
    numpy.ndarray of shape (rounds, n)
        Losses in {0, 1}.

    Raises
    ------
    ValueError
        If `gap` is not in [0, 1/2].

    Notes
    -----
    The mean loss is 1/2 - gap for one good arm, which is drawn uniformly, and 1/2 for the others. With the default gap
    and n >= 2, the expected regret of every bandit learner over the losses and the choice of the good arm is at least
    min(sqrt(n T), T)/20: in T rounds the good arm cannot be identified.

    References
    ----------
    Auer, P., Cesa-Bianchi, N., Freund, Y. and Schapire, R. (2002). The nonstochastic multiarmed bandit problem,
    Theorem 5.1. *SIAM Journal on Computing* 32(1). https://doi.org/10.1137/S0097539701398375

    Examples
    --------
    >>> losses = bandits_lower_bound(40_000, 2, gap=0.25)
    >>> sorted(losses.mean(axis=0).round(2).tolist())
    [0.25, 0.5]
    """
    return bandits_lower_bound_means(rounds, n, seed, gap).draw(seed)


def bandits_lower_bound_means(rounds: int, n: int, seed: int = 0, gap: float | None = None) -> Bernoulli:
    """Return the means of `bandits_lower_bound`.

    Parameters
    ----------
    rounds : int
        Number of rounds.
    n : int
        Number of arms or experts.
    seed : int, default 0
        Random seed.
    gap : float, optional
        Difference of the mean losses of the other arms and of the good arm, in [0, 1/2].
        Default: min(1, sqrt(n/rounds))/4.

    Returns
    -------
    Bernoulli
        Description of the losses, whose coins are tossed during a game.

    Raises
    ------
    ValueError
        If `gap` is not in [0, 1/2].

    Examples
    --------
    >>> sorted(bandits_lower_bound_means(10_000, 4).means.tolist())
    [0.495, 0.5, 0.5, 0.5]
    """
    rounds, n = validation.count(rounds, "rounds"), validation.count(n, "n")
    if gap is None:
        gap = min(1.0, math.sqrt(n / rounds)) / 4.0
    means = np.full(n, 0.5)
    means[stream(seed, "means").integers(n)] = 0.5 - validation.between(gap, 0.0, 0.5, "gap")
    return Bernoulli(means, rounds)


def all_ones(rounds: int, n: int, seed: int = 0) -> Array:
    """Return losses that are all 1.

    Parameters
    ----------
    rounds : int
        Number of rounds.
    n : int
        Number of arms or experts.
    seed : int, default 0
        Accepted for a uniform signature, and not used.

    Returns
    -------
    numpy.ndarray of shape (rounds, n)
        Losses in [0, 1].

    Notes
    -----
    Every learner has regret 0, and a tuning that depends on the losses reaches the end of its range.

    Examples
    --------
    >>> all_ones(2, 3).tolist()
    [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]
    """
    del seed
    return np.ones((validation.count(rounds, "rounds"), validation.count(n, "n")))


def alternating_leader(rounds: int, n: int, seed: int = 0) -> Array:
    """Return losses for which follow-the-leader is wrong in every round.

    Parameters
    ----------
    rounds : int
        Number of rounds.
    n : int
        Number of arms or experts.
    seed : int, default 0
        Accepted for a uniform signature, and not used.

    Returns
    -------
    numpy.ndarray of shape (rounds, n)
        Losses in [0, 1].

    Notes
    -----
    Arm 0 has the losses 1/2, 0, 1, 0, 1, ..., arm 1 has 0, 1, 0, 1, 0, ..., and every other arm has the loss 1 in each
    round. After each round, the leader is the arm that loses 1 in the next round. From the second round on,
    follow-the-leader loses 1 per round and the better of the two arms 1 per two rounds.

    Examples
    --------
    >>> alternating_leader(4, 3).tolist()
    [[0.5, 0.0, 1.0], [0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [0.0, 1.0, 1.0]]
    """
    del seed
    losses = np.ones((validation.count(rounds, "rounds"), validation.count(n, "n")))
    losses[0, 0] = 0.5
    losses[1::2, 0] = 0.0
    if n > 1:
        losses[0::2, 1] = 0.0
    return losses


def cyclic(rounds: int, n: int, seed: int = 0, losers: int = 1) -> Array:
    """Return losses that rotate over the arms.

    Parameters
    ----------
    rounds : int
        Number of rounds.
    n : int
        Number of arms or experts.
    seed : int, default 0
        Accepted for a uniform signature, and not used.
    losers : int, default 1
        Number of arms that lose 1 per round, in 0..n.

    Returns
    -------
    numpy.ndarray of shape (rounds, n)
        Losses in [0, 1].

    Raises
    ------
    ValueError
        If `losers` is larger than `n`.

    Notes
    -----
    The loss of arm i in round t = 0, 1, ... is 1 if (i - t) mod n < losers, and 0 otherwise. Over n rounds all arms
    have the same loss.

    Examples
    --------
    >>> cyclic(3, 3).tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    del seed
    rounds, n = validation.count(rounds, "rounds"), validation.count(n, "n")
    losers = validation.count(losers, "losers", least=0)
    if losers > n:
        raise ValueError(f"losers must be at most n = {n}; got {losers}")
    turn = (np.arange(n)[None, :] - np.arange(rounds)[:, None]) % n
    return (turn < losers).astype(np.float64)


def small_best_loss(rounds: int, n: int, seed: int = 0, best_loss: float | None = None) -> Array:
    """Return losses whose best arm has exactly the given cumulative loss.

    Parameters
    ----------
    rounds : int
        Number of rounds.
    n : int
        Number of arms or experts.
    seed : int, default 0
        Random seed.
    best_loss : float, optional
        Cumulative loss of the best arm, in [0, rounds]. Default: floor(sqrt(rounds)).

    Returns
    -------
    numpy.ndarray of shape (rounds, n)
        Losses in [0, 1].

    Raises
    ------
    ValueError
        If `best_loss` is not in [0, rounds].

    Notes
    -----
    The best arm is drawn uniformly. It loses 1 in floor(best_loss) rounds and the remaining fraction in one more round.
    Every other arm loses 1 in max(ceil(rounds/2), ceil(best_loss)) rounds. The rounds are drawn uniformly and
    independently for each arm.

    Examples
    --------
    >>> losses = small_best_loss(1000, 5, best_loss=12.5)
    >>> sorted(losses.sum(axis=0).tolist())
    [12.5, 500.0, 500.0, 500.0, 500.0]
    """
    rounds, n = validation.count(rounds, "rounds"), validation.count(n, "n")
    if best_loss is None:
        best_loss = float(math.isqrt(rounds))
    best_loss = validation.between(best_loss, 0.0, rounds, "best_loss")
    rng = stream(seed, "means")
    totals = np.full(n, float(max(-(-rounds // 2), math.ceil(best_loss))))
    totals[rng.integers(n)] = best_loss
    losses = np.zeros((rounds, n))
    for arm, total in enumerate(totals):
        whole = math.floor(total)
        order = rng.permutation(rounds)
        losses[order[:whole], arm] = 1.0
        if whole < rounds:
            losses[order[whole], arm] = total - whole
    return losses
