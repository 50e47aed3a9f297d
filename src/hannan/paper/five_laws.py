"""The five laws of the theorems on experts and bandits."""

from __future__ import annotations

from typing import Any

from hannan.mathematics.laws.table import Frechet, Gamma, Gumbel, Pareto, Weibull

#: With parameters that have a finite mean for every N.
LAWS: tuple[tuple[str, Any], ...] = (
    ("Gamma(2)", Gamma(2.0)),
    ("Gumbel", Gumbel()),
    ("Fréchet(7)", Frechet(7.0)),
    ("Weibull(1)", Weibull(1.0)),
    ("Pareto(7)", Pareto(7.0)),
)
