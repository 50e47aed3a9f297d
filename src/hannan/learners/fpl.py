"""Decisions for combinatorial linear optimization: sets of v in {0,1}^d, and follow the perturbed leader over them.

The loss of a decision is <v, l>, where l are the losses of its components. `best(costs)` of a set returns a decision of
minimum cost as 0s and 1s; a user-defined set needs no other method. FPL is due to Kalai and Vempala (2005).
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from hannan import extras, saving, validation
from hannan.mathematics import bounds
from hannan.mathematics.bounds import Bound, Terms, Withheld
from hannan.players.decisions import DecisionsPlayer
from hannan.validation import Array


@dataclass(frozen=True)
class Decisions:
    """Set of decisions with d components; a decision has at most `most` of them."""

    @property
    def d(self) -> int:
        """Number of components."""
        raise NotImplementedError

    @property
    def most(self) -> int:
        """Largest number of components of a decision."""
        raise NotImplementedError

    @property
    def diameter(self) -> int:
        """Upper bound on the L1 distance of two decisions."""
        return min(2 * self.most, self.d)

    @property
    def total_weight(self) -> float:
        """Largest cumulative loss of a decision if each component has loss 1."""
        return self.most

    def paid(self, losses: Array) -> float:
        """Return the loss of a decision from the losses of its components, in their order."""
        return float(losses.sum())

    def best(self, costs: Array) -> Array:
        """Return a decision of minimum cost, argmin_v <costs, v>."""
        raise NotImplementedError

    def best_each(self, costs: Array) -> Array:
        """Return a decision of minimum cost for each row of costs."""
        return np.array([self.best(row) for row in costs])

    def every(self) -> Array:
        """Return all decisions, one row each; their number can be very large."""
        raise NotImplementedError(f"{type(self).__name__} cannot list its decisions")


@dataclass(frozen=True)
class MSets(Decisions):
    """Decisions that choose m of d items, such as slates, teams or portfolios of equal parts.

    Parameters
    ----------
    components : int
        Number of items, d.
    m : int
        Number of chosen items.

    Notes
    -----
    A decision is a 0/1 vector with m ones.

    Examples
    --------
    >>> MSets(4, 2).best(np.array([3.0, 1.0, 2.0, 5.0])).tolist()
    [0.0, 1.0, 1.0, 0.0]
    """

    components: int
    m: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "components", validation.count(self.components, "components"))
        object.__setattr__(self, "m", validation.count(self.m, "m"))
        if self.m > self.components:
            raise ValueError(f"m must be at most components = {self.components}; got {self.m}")

    @property
    def d(self) -> int:
        return self.components

    @property
    def most(self) -> int:
        return self.m

    @property
    def diameter(self) -> int:
        return 2 * min(self.m, self.components - self.m)

    def best(self, costs: Array) -> Array:
        chosen = np.zeros(self.d)
        chosen[np.argsort(costs, kind="stable")[: self.m]] = 1.0
        return chosen

    def best_each(self, costs: Array) -> Array:
        chosen = np.zeros(costs.shape)
        cheapest = np.argsort(costs, axis=1, kind="stable")[:, : self.m]
        chosen[np.arange(len(costs))[:, None], cheapest] = 1.0
        return chosen

    def every(self) -> Array:
        return np.array([np.isin(range(self.d), kept) for kept in itertools.combinations(range(self.d), self.m)], float)


@dataclass(frozen=True)
class RankedSets(MSets):
    """Decisions that show m of d items in an order, where the loss of an item counts with the weight of its position.

    Parameters
    ----------
    components : int
        Number of items, d.
    m : int
        Number of shown items.
    weights : tuple of float
        Weight of each position, nonincreasing and above 0.

    Notes
    -----
    A decision is the vector of the weights of the items; the weight of an item that is not shown is 0.

    Examples
    --------
    >>> RankedSets(4, 2, (1.0, 0.5)).best(np.array([3.0, 1.0, 2.0, 5.0])).tolist()
    [0.0, 1.0, 0.5, 0.0]
    """

    weights: tuple[float, ...] = ()

    @property
    def total_weight(self) -> float:
        return math.fsum(self.weights)

    def paid(self, losses: Array) -> float:
        return float(np.asarray(self.weights)[: len(losses)] @ losses)

    def best(self, costs: Array) -> Array:
        return np.asarray(self.best_each(np.asarray(costs)[None])[0])

    def best_each(self, costs: Array) -> Array:
        chosen = np.zeros(costs.shape)
        cheapest = np.argsort(costs, axis=1, kind="stable")[:, : self.m]
        chosen[np.arange(len(costs))[:, None], cheapest] = self.weights
        return chosen

    def every(self) -> Array:
        chosen = np.zeros((math.perm(self.d, self.m), self.d))
        for row, order in zip(chosen, itertools.permutations(range(self.d), self.m), strict=True):
            row[list(order)] = self.weights
        return chosen


@dataclass(frozen=True)
class ShortestPaths(Decisions):
    """Decisions that are paths from a source to a target of a directed acyclic graph, such as routes.

    Parameters
    ----------
    edges : tuple of (node, node)
        Start and end of each edge. The edges are the components, in this order.
    source, target : node
        Start and end of the paths.

    Notes
    -----
    Requires networkx.

    Examples
    --------
    >>> paths = ShortestPaths((("s", "a"), ("a", "t"), ("s", "t")), "s", "t")
    >>> paths.best(np.array([1.0, 1.0, 3.0])).tolist(), paths.most
    ([1.0, 1.0, 0.0], 2)
    """

    edges: tuple[tuple[Any, Any], ...]
    source: Any
    target: Any

    def __post_init__(self) -> None:
        edges = tuple((a, b) for a, b in self.edges)
        object.__setattr__(self, "edges", edges)
        if len(set(edges)) != len(edges) or not edges:
            raise ValueError(f"edges must be a non-empty sequence of different pairs; got {self.edges!r}")
        networkx, graph = self._graph
        # Noise can make a cost negative; a shortest path exists because there are no cycles.
        if not networkx.is_directed_acyclic_graph(graph):
            raise ValueError(f"the graph must have no cycles; got {networkx.find_cycle(graph)!r}")
        for node in (self.source, self.target):
            if node not in graph:
                raise ValueError(f"source and target must be nodes of the graph; got {node!r}")
        if self.source == self.target or not networkx.has_path(graph, self.source, self.target):
            raise ValueError(f"no path leads from source {self.source!r} to target {self.target!r}")

    @cached_property
    def _graph(self) -> tuple[Any, Any]:
        try:
            import networkx
        except ImportError:
            raise ModuleNotFoundError(
                f"shortest paths need networkx: {extras.command('graphs')}", name="networkx"
            ) from None
        graph = networkx.DiGraph()
        graph.add_edges_from((a, b, {"place": k}) for k, (a, b) in enumerate(self.edges))
        return networkx, graph

    @property
    def d(self) -> int:
        return len(self.edges)

    @cached_property
    def most(self) -> int:
        return int(self.best(-np.ones(self.d)).sum())

    def best(self, costs: Array) -> Array:
        """Return a shortest path by Bellman's recursion in topological order, for costs of any sign.

        Parameters
        ----------
        costs : numpy.ndarray of shape (d,)
            Cost of each edge.

        Returns
        -------
        numpy.ndarray of shape (d,)
            The path, as zeros and ones.
        """
        nodes, order, start_of = self._plan
        source, at, price = nodes[self.source], nodes[self.target], costs.tolist()
        reached, via = [math.inf] * len(nodes), [0] * len(nodes)
        reached[source] = 0.0
        for a, b, place in order:
            through = reached[a] + price[place]
            if through < reached[b]:
                reached[b], via[b] = through, place
        chosen = np.zeros(self.d)
        while at != source:
            chosen[via[at]] = 1.0
            at = int(start_of[via[at]])
        return chosen

    @cached_property
    def _plan(self) -> tuple[dict[Any, int], list[tuple[int, int, int]], NDArray[np.int64]]:
        """Return the nodes in topological order, the edges in that order as (from, to, edge), and the start node of
        each edge.
        """
        networkx, graph = self._graph
        at = {node: k for k, node in enumerate(networkx.topological_sort(graph))}
        order = [(at[a], at[b], place) for a in at for _, b, place in graph.out_edges(a, data="place")]
        return at, order, np.array([at[a] for a, _ in self.edges])

    def best_each(self, costs: Array) -> Array:
        """Return the results of `best` for all rows, computed together.

        Parameters
        ----------
        costs : numpy.ndarray of shape (rows, d)
            Costs of the edges, one row per path.

        Returns
        -------
        numpy.ndarray of shape (rows, d)
            One path per row.
        """
        nodes, order, start_of = self._plan
        source, rows = nodes[self.source], np.arange(len(costs))
        reached = np.full((len(nodes), len(costs)), np.inf)
        reached[source] = 0.0
        via = np.zeros(reached.shape, dtype=np.int64)
        for a, b, place in order:
            through = reached[a] + costs[:, place]
            nearer = through < reached[b]
            np.copyto(reached[b], through, where=nearer)
            via[b][nearer] = place
        chosen, at = np.zeros(costs.shape), np.full(len(costs), nodes[self.target])
        while rows.size:
            place = via[at, rows]
            chosen[rows, place] = 1.0
            at = start_of[place]
            rows, at = rows[at != source], at[at != source]
        return chosen

    def every(self) -> Array:
        networkx, graph = self._graph
        found = networkx.all_simple_edge_paths(graph, self.source, self.target)
        return np.array([np.isin(range(self.d), [self.edges.index(e) for e in path]) for path in found], float)


@dataclass(frozen=True)
class Assignments(Decisions):
    """Decisions that assign k items to k places, one item per place.

    Parameters
    ----------
    k : int
        Number of items.

    Notes
    -----
    A decision is a permutation; the components are the k x k cells of the cost matrix, row by row (SciPy's
    linear_sum_assignment).

    Examples
    --------
    >>> Assignments(2).best(np.array([1.0, 0.0, 0.0, 1.0])).tolist()
    [0.0, 1.0, 1.0, 0.0]
    """

    k: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", validation.count(self.k, "k"))

    @property
    def d(self) -> int:
        return self.k * self.k

    @property
    def most(self) -> int:
        return self.k

    @property
    def diameter(self) -> int:
        return 2 * self.k if self.k > 1 else 0

    def every(self) -> Array:
        return np.array([np.eye(self.k)[list(turn)].ravel() for turn in itertools.permutations(range(self.k))])

    def best(self, costs: Array) -> Array:
        from scipy.optimize import linear_sum_assignment

        chosen = np.zeros((self.k, self.k))
        chosen[linear_sum_assignment(costs.reshape(self.k, self.k))] = 1.0
        return chosen.ravel()


@dataclass(frozen=True)
class Combinatorial(saving.Described):
    """Learner over decisions, for losses of the components in [0, 1]."""

    decisions: Decisions

    setting: ClassVar[str] = "decisions"
    #: True if the losses of all components are observed, False if only those of the chosen components are.
    sees_all: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not isinstance(self.decisions, Decisions):
            raise ValueError(f"decisions must be MSets, ShortestPaths or Assignments; got {self.decisions!r}")

    @property
    def n(self) -> int:
        """Number of components."""
        return self.decisions.d

    def bound(self, rounds: int | None = None, best_loss: float | None = None, *, against: str | None = None) -> Bound:
        """Return a bound on the expected regret against the best decision."""
        raise NotImplementedError

    def drawn(self, losses: Array, rng: np.random.Generator) -> tuple[Array, tuple[float, ...]]:
        """Return a decision after these losses, and numbers that are needed to settle it."""
        raise NotImplementedError

    def met(self, losses: Array, picked: list[int], row: Array, kept: tuple[float, ...]) -> Array:
        """Return the cumulative losses after a decision was settled; by default all components are observed."""
        return np.asarray(losses + row)

    def start(self, seed: int | None = None, name: str | None = None) -> DecisionsPlayer:
        """Return a live player. The same seed repeats the moves; without a seed they cannot be predicted."""
        return DecisionsPlayer(self, seed, name)


def harmonic_like(d: int) -> float:
    """Return 1 + ln d, an upper bound on the expected maximum of d exponentials.

    >>> harmonic_like(1)
    1.0
    """
    return 1.0 + math.log(d)


@dataclass(frozen=True)
class FPL(Combinatorial):
    """Follow the perturbed leader: choose a path, a set or an assignment per round by one perturbed problem.

    Parameters
    ----------
    decisions : Decisions
        Set of decisions, such as `ShortestPaths`.
    scale : float
        Scale of the perturbations, > 0.
    noise : {"uniform", "exponential"}, default "uniform"
        Distribution of the perturbations.

    Notes
    -----
    v = argmin_v <L + z, v> with fresh z: uniform on [0, scale]^d, or -z exponential with mean `scale`. Losses of the
    components are in [0, 1], so that ``|l|_1 <= A = d`` and <v, l> <= R = m; D is the L1 diameter of the set.

    - uniform: E[learner's loss] <= L* + R A T/scale + D scale
    - exponential: E[learner's loss] <= e^(A/scale) (L* + D scale (1 + ln d)), because
      ``p(L + l) >= e^(-|l|_1/scale) p(L)``

    `FPL.tuned(decisions, rounds)` has the scale with the smallest uniform bound, 2 sqrt(D R A T).

    References
    ----------
    Kalai and Vempala, Efficient algorithms for online decision problems, JCSS 2005.

    Examples
    --------
    >>> from hannan.learners.fpl import MSets
    >>> FPL.tuned(MSets(10, 2), rounds=1000).bound(1000).value < 600
    True
    """

    scale: float
    noise: Literal["uniform", "exponential"] = "uniform"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "scale", validation.positive(self.scale, "scale"))
        if self.noise not in ("uniform", "exponential"):
            raise ValueError(f"noise must be 'uniform' or 'exponential'; got {self.noise!r}")

    @classmethod
    def tuned(cls, decisions: Decisions, rounds: int, noise: Literal["uniform", "exponential"] = "uniform") -> FPL:
        """Return the learner with the smallest bound for a number of rounds.

        The scale is sqrt(R A T/D), or A (1 + sqrt(1 + 4 R T/c))/2 with c = A D (1 + ln d) for exponential noise.

        Parameters
        ----------
        decisions : MSets, ShortestPaths or Assignments
            Set of decisions.
        rounds : int
            Number of rounds.
        noise : {"uniform", "exponential"}, default "uniform"
            Distribution of the perturbations.
        """
        rounds = validation.count(rounds, "rounds")
        spread, most = max(decisions.diameter, 1), decisions.most * rounds
        if noise == "uniform":
            return cls(decisions, math.sqrt(most * decisions.d / spread))
        c = decisions.d * spread * harmonic_like(decisions.d)
        return cls(decisions, decisions.d * (1.0 + math.sqrt(1.0 + 4.0 * most / c)) / 2.0, noise)

    def bound(self, rounds: int | None = None, best_loss: float | None = None, *, against: str | None = None) -> Bound:
        """Return a bound on the expected regret against the best decision, even against an adaptive adversary.

        Parameters
        ----------
        rounds : int, optional
            Number of rounds.
        best_loss : float, optional
            Cumulative loss of the best choice in hindsight, or an upper bound on it.
        against : {"adaptive", "oblivious", "iid"}, optional
            Adversary the bound must hold against.

        Returns
        -------
        Bound
            Value, terms, theorem and adversary.
        """
        if rounds is None:
            raise ValueError("rounds is required: the bound depends on the number of rounds")
        rounds = validation.count(rounds, "rounds", least=0)
        v = self.decisions
        most = float(v.most * rounds)
        best = most if best_loss is None else validation.between(best_loss, 0.0, most, "best_loss")
        terms: Terms
        if self.noise == "uniform":
            terms = {"R A T/scale": v.most * v.d * rounds / self.scale, "D scale": v.diameter * self.scale}
            source = "Kalai and Vempala 2005, uniform noise"
        else:
            grown = math.exp(min(v.d / self.scale, 700.0))
            terms = {
                "drift": (grown - 1.0) * best,
                "range": grown * v.diameter * self.scale * harmonic_like(v.d),
            }
            source = "after Kalai and Vempala 2005, one-sided exponential noise"
        value = bounds.rounded_up(math.fsum(terms.values()))
        if value >= most:
            return bounds.trivial(most, "rounds x m", "largest loss")
        bound = Bound(value, terms, source, self.scale, sense="draws", against="any")
        if self.noise != "uniform" and best < most:
            bound = bound.supposing(best)
        return bound.asked(against)

    def noise_of(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        """Return fresh perturbations z.

        Parameters
        ----------
        rng : numpy.random.Generator
            Source of random numbers.
        shape : tuple of int
            Shape of the result.

        Returns
        -------
        numpy.ndarray
            Perturbations of the given shape.
        """
        if self.noise == "uniform":
            return np.asarray(rng.random(shape) * self.scale)
        return np.asarray(-rng.standard_exponential(shape) * self.scale)

    def drawn(self, losses: Array, rng: np.random.Generator) -> tuple[Array, tuple[float, ...]]:
        return self.decisions.best(losses + self.noise_of(rng, (self.n,))), ()


#: Number of perturbations of the first attempt; every further attempt draws twice as many.
TIMES = 16


@dataclass(frozen=True)
class FPLTrix(Combinatorial):
    """Follow the perturbed leader with semi-bandit feedback: only the losses of the chosen components are observed.

    Parameters
    ----------
    decisions : Decisions
        Set of decisions, such as `MSets`.

    Notes
    -----
    v = argmin_v <eta_t Lhat - z, v>, with z_i exponential given that z_i <= B_t. The estimate is lhat_i = l_i K_i,
    where K_i, the number of draws until i is chosen or a coin of probability gamma_t shows heads, replaces
    1/(q_i + gamma_t (1 - q_i)) for q_i = P(i chosen). eta_t = min(1, sqrt(D/S)), D = log(d/m) + 1, S = 1/D + the sum of
    the estimates so far, gamma_t = min(1, m eta_t), e^(-B_t) = min(1/2, m eta_t/d). The regret is
    13 m sqrt(d L* D) + O(m^2 d log(dT)). The last term has no published constant, so `bound` raises Withheld.

    References
    ----------
    Neu, First-order regret bounds for combinatorial semi-bandits, COLT 2015.

    Examples
    --------
    >>> from hannan.learners.fpl import MSets
    >>> player = FPLTrix(MSets(5, 2)).start(seed=1)
    >>> plan = player.act()
    >>> player.observe(plan, [0.5, 1.0])
    >>> int((player.losses > 0).sum())
    2
    """

    sees_all: ClassVar[bool] = False

    @property
    def spread(self) -> float:
        """The constant D = log(d/m) + 1."""
        return math.log(self.decisions.d / self.decisions.most) + 1.0

    def bound(self, rounds: int | None = None, best_loss: float | None = None, *, against: str | None = None) -> Bound:
        """Raise Withheld, because one term of the published bound has no explicit constant.

        Parameters
        ----------
        rounds : int, optional
            Number of rounds.
        best_loss : float, optional
            Cumulative loss of the best choice in hindsight, or an upper bound on it.
        against : {"adaptive", "oblivious", "iid"}, optional
            Adversary the bound must hold against.
        """
        raise Withheld("the bound of FPL-TRIX has a term without explicit constants, O(m^2 d log dT) (Neu 2015)")

    def eta(self, losses: Array) -> Array:
        """Return eta_t for the estimates so far, one row per run.

        Parameters
        ----------
        losses : numpy.ndarray of shape (runs, d)
            Estimated cumulative losses per run.

        Returns
        -------
        numpy.ndarray of shape (runs,)
            Learning rates.
        """
        return np.asarray(np.minimum(1.0, np.sqrt(self.spread / (1.0 / self.spread + losses.sum(axis=1)))))

    def leaders(self, losses: Array, eta: Array, u: Array) -> Array:
        """Return argmin_v <eta Lhat - z, v> for uniforms u (runs, times, d); z is drawn by inversion, given z <= B.

        Parameters
        ----------
        losses : numpy.ndarray of shape (runs, d)
            Estimated cumulative losses per run.
        eta : numpy.ndarray of shape (runs,)
            Learning rates.
        u : numpy.ndarray of shape (runs, times, d)
            Uniform numbers in [0, 1).

        Returns
        -------
        numpy.ndarray of shape (runs, times, d)
            Decisions as zeros and ones.
        """
        v = self.decisions
        below = 1.0 - np.minimum(0.5, v.most * eta / v.d)
        costs = (eta[:, None] * losses)[:, None] + np.log1p(-u * below[:, None, None])
        return v.best_each(costs.reshape(-1, v.d)).reshape(costs.shape)

    def draw(self, losses: Array, streams: list[np.random.Generator]) -> tuple[Array, Array]:
        """Return (v, K), one row per run: the decisions, and the numbers that replace 1/(q + gamma (1 - q)).

        Each component has a separate coin, so K_i is the first draw in which i is chosen or its coin shows heads.

        Parameters
        ----------
        losses : numpy.ndarray of shape (runs, d)
            Estimated cumulative losses per run.
        streams : list of numpy.random.Generator
            Random streams, one per run.

        Returns
        -------
        tuple of numpy.ndarray
            Decisions and numbers of trials.
        """
        eta, d = self.eta(losses), self.n
        u = np.stack([rng.random((2 + TIMES, d)) for rng in streams])
        tried = self.leaders(losses, eta, u[:, 1:])
        chosen, tried = tried[:, 0], tried[:, 1:]
        trials = np.where(chosen > 0.0, _geometric(u[:, 0], np.minimum(1.0, self.decisions.most * eta)), 0.0)
        trials = np.minimum(trials, _first(tried))
        done, times = TIMES, 2 * TIMES
        while (who := np.flatnonzero((trials > done).any(axis=1))).size:
            u = np.stack([streams[run].random((times, d)) for run in who])
            tried = self.leaders(losses[who], eta[who], u)
            trials[who] = np.minimum(trials[who], done + _first(tried))
            done, times = done + times, 2 * times
        return chosen, trials

    def drawn(self, losses: Array, rng: np.random.Generator) -> tuple[Array, tuple[float, ...]]:
        chosen, trials = self.draw(losses[None], [rng])
        return chosen[0], tuple(trials[0][chosen[0] > 0.0].tolist())

    def met(self, losses: Array, picked: list[int], row: Array, kept: tuple[float, ...]) -> Array:
        grown = losses.copy()
        grown[picked] += row * np.array(kept)
        return grown


def _first(tried: Array) -> Array:
    """Return the number of the first draw that chose each component, from 1; inf if no draw did."""
    came = tried > 0.0
    return np.where(came.any(axis=1), 1.0 + came.argmax(axis=1), np.inf)


def _geometric(u: Array, gamma: Array) -> Array:
    """Return K with P(K > k) = (1 - gamma)^k, by inversion, one row per run; K = 1 if gamma is 1."""
    sure = gamma[:, None] >= 1.0
    falls = np.log1p(-np.where(sure, 0.5, gamma[:, None]))
    return np.where(sure, 1.0, 1.0 + np.floor(np.log1p(-u) / falls))
