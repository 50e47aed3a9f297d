"""Small sets of decisions, and learners over them."""

import pytest

import hannan as hn

GRAPH = tuple((f"{i}{j}", f"{a}{b}") for i in range(3) for j in range(3) for a, b in ((i + 1, j), (i, j + 1))
              if a < 3 and b < 3)  # fmt: skip


def decision_sets():
    pytest.importorskip("networkx")
    return [hn.MSets(6, 2), hn.ShortestPaths(GRAPH, "00", "22"), hn.Assignments(3)]


def learners(decisions, rounds=100):
    return [hn.FPL.tuned(decisions, rounds), hn.FPL.tuned(decisions, rounds, "exponential"), hn.FPLTrix(decisions)]
