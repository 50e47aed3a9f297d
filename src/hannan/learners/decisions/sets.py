"""Sets of decisions for combinatorial linear optimization: v in {0,1}^d, given by an argmin oracle.

The loss of a decision is <v, l>, where l are the losses of its components. `best(costs)` returns a decision of minimum
cost as 0s and 1s; a user-defined set needs no other method.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hannan import extras, validation
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
        """Return a shortest path by Bellman's recursion in topological order, for costs of any sign."""
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
        """Topological order of the nodes; (from, to, edge) of the edges in that order; start node of each edge."""
        networkx, graph = self._graph
        at = {node: k for k, node in enumerate(networkx.topological_sort(graph))}
        order = [(at[a], at[b], place) for a in at for _, b, place in graph.out_edges(a, data="place")]
        return at, order, np.array([at[a] for a, _ in self.edges])

    def best_each(self, costs: Array) -> Array:
        """Return the results of `best` for all rows, computed together."""
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
