"""Reference values beyond the golden file: further laws, gaps and depths, from tests/oracles/naive.py.

`python tests/oracles/references.py` recomputes references.json (some minutes); a slow test recomputes a part of it.
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

import mpmath as mp
import naive

import hannan as hn

FILE = Path(__file__).with_name("references.json")

LAWS: list[tuple[str, tuple[Any, ...]]] = [
    ("Exponential", ()),
    ("Gumbel", ()),
    ("Laplace", ()),
    ("Gaussian", ()),
    ("Gamma", (0.3,)),
    ("Gamma", (2.5,)),
    ("Gamma", (50.0,)),
    ("Weibull", (0.2,)),
    ("Weibull", (0.5,)),
    ("Weibull", (3.0,)),
    ("Weibull", (0.2, True)),
    ("Weibull", (0.6, True)),
    ("Weibull", (2.0, True)),
    ("Frechet", (0.7,)),
    ("Frechet", (1.1,)),
    ("Frechet", (5.5,)),
    ("Frechet", (20.0,)),
    ("Pareto", (0.5,)),
    ("Pareto", (1.05,)),
    ("Pareto", (30.0,)),
]


def depth(law: hn.Law) -> float:
    """A gap at which the probability is about 1e-80, or 1e15 if it is never so small."""
    if isinstance(law, hn.Gaussian):
        return 27.0
    if isinstance(law, hn.Gamma):
        return 184.0 + 3.0 * law.shape
    if isinstance(law, hn.Weibull):
        return 184.0 ** (1.0 / law.k) - float(law.conditioned)
    if isinstance(law, hn.Frechet | hn.Pareto):
        return min(10.0 ** (80.0 / law.alpha), 1e15)
    return 184.0


def losses(law: hn.Law) -> list[list[float]]:
    """Near, nearly tied, far, far behind two leaders."""
    deep = depth(law)
    return [[0.0, 0.3, 1.7], [0.0, 1e-9, 4.0], [0.0, deep], [deep, 0.0, 0.5]]


def reference(name: str, parameters: tuple[Any, ...], L: list[float]) -> dict[str, Any]:
    """p, -Hess_ii and value at scale 1."""
    law = getattr(hn, name)(*parameters)
    leader = naive.Leader(law, L, 1.0)
    arms = range(len(L))
    slopes = {(i, j): leader.slope(i, j) for i in arms for j in arms if i < j}
    rows = [mp.fsum(s for pair, s in slopes.items() if i in pair) for i in arms]
    return {
        "law": name,
        "parameters": list(parameters),
        "L": L,
        "p": [mp.nstr(leader.probability(i), 20) for i in arms],
        "curvature": [mp.nstr(row, 20) for row in rows],
        "value": mp.nstr(leader.value(), 20) if math.isfinite(law.mean) else "-inf",
    }


def load() -> list[dict[str, Any]]:
    """The stored references."""
    return list(json.loads(FILE.read_text()))


if __name__ == "__main__":
    rows = []
    for name, parameters in LAWS:
        for L in losses(getattr(hn, name)(*parameters)):
            rows.append(reference(name, parameters, L))
            print(name, parameters, L, file=sys.stderr)
            FILE.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")
