"""Table 1 of the paper (tab:dist) and friends: the laws of a perturbation, with their exact constants.

Standard draws: exponential rate 1; Gumbel cdf exp(-e^-z); Frechet cdf exp(-z^-a), z > 0; Pareto cdf
1 - z^-a, z >= 1; Laplace density e^-|z|/2; Gaussian N(0, 1); Gamma of a shape, rate 1; Weibull cdf
1 - exp(-z^k).
"""

from __future__ import annotations

from hannan.mathematics.laws.exponential import Exponential
from hannan.mathematics.laws.frechet import Frechet
from hannan.mathematics.laws.gamma import Gamma
from hannan.mathematics.laws.gaussian import Gaussian
from hannan.mathematics.laws.gumbel import Gumbel
from hannan.mathematics.laws.laplace import Laplace
from hannan.mathematics.laws.pareto import Pareto
from hannan.mathematics.laws.weibull import Weibull

__all__ = ["Exponential", "Frechet", "Gamma", "Gaussian", "Gumbel", "Laplace", "Pareto", "Weibull"]
