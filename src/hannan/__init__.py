"""Online learning with proved guarantees: perturbed and regularized leaders with stability levels and regret bounds.

All public names are members of the package and are imported lazily: `import hannan as hn` loads only NumPy, and a name
loads its module at its first use. A *smoothing* (law or regularizer) multiplied by a *scale* is a potential; the
gradient of the potential is the distribution that is played.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.3.0"

#: Public names by module.
_HOME: dict[str, tuple[str, ...]] = {
    "mathematics.divergences": (
        "tsallis_log",
        "max_divergence",
        "tsallis_divergence",
        "hockey_stick",
        "clip",
    ),
    "mathematics.smoothing": ("Smoothing", "Stability"),
    "mathematics.laws.law": ("Law",),
    "mathematics.laws.light": ("Exponential", "Gamma", "Gumbel", "Weibull", "Laplace", "Gaussian"),
    "mathematics.laws.heavy": (
        "Frechet",
        "Pareto",
    ),
    "mathematics.regularizers": (
        "Regularizer",
        "Entropy",
        "Tsallis",
        "LogBarrier",
    ),
    "mathematics.potentials": (
        "Potential",
        "FTPL",
        "FTRL",
    ),
    "audits.audit": ("audit", "Finding", "audit_convex"),
    "mathematics.bounds": (
        "Bound",
        "Withheld",
    ),
    "learners.tuning": (
        "Fixed",
        "Horizon",
        "BestLoss",
        "Anytime",
        "SelfConfident",
    ),
    "learners.estimators": (
        "Estimator",
        "ImportanceWeighted",
        "GeometricResampling",
        "ConditionalResampling",
        "ReducedVariance",
        "ImplicitExploration",
    ),
    "saving": ("register",),
    "players.tickets": ("Move",),
    "players.certificate": ("Certificate",),
    "players.evidence": ("Evidence",),
    "players.player": ("Player",),
    "players.load": ("load",),
    "players.fleet": (
        "Fleet",
        "Moves",
    ),
    "players.fleet_certificate": ("FleetCertificate",),
    "learners.experts": ("Experts",),
    "learners.adahedge": ("AdaHedge",),
    "learners.bandits": ("Bandit",),
    "learners.expert_bandits": ("ExpertBandit",),
    "learners.convex.learner": ("Convex",),
    "learners.convex.private_ball": ("PrivateBall",),
    "learners.convex.barrier": ("BarrierBandit",),
    "learners.convex.optimistic": ("OptimisticDescent",),
    "learners.convex.smooth": ("SmoothDescent", "OnlineNewton"),
    "learners.convex.gradient": (
        "OnlineGradientDescent",
        "ExponentiatedGradient",
    ),
    "mathematics.convex.domains": (
        "Domain",
        "Ball",
        "Box",
        "Simplex",
    ),
    "mathematics.convex.polytope": ("Polytope",),
    "mathematics.convex.losses": (
        "Loss",
        "RankOne",
        "Linear",
        "Squared",
        "Logistic",
        "Huber",
        "SmoothedHinge",
    ),
    "mathematics.convex.noise": (
        "Noise",
        "GammaNoise",
        "GaussianNoise",
    ),
    "learners.convex.privacy": (
        "Privacy",
        "PrivacyCurve",
    ),
    "learners.second_order": (
        "Squint",
        "AdaNormalHedge",
        "MLPoly",
    ),
    "learners.fixed_share": (
        "FixedShare",
        "Exp3S",
    ),
    "learners.lb_inf": ("LBInf",),
    "learners.first_order": ("Green", "Exp3Light"),
    "learners.stochastic": ("UCB1", "MOSS", "KLUCB", "EpsilonGreedy", "ExploreThenCommit", "Thompson"),
    "learners.delayed": ("TsallisShannon",),
    "learners.slates": ("SlateBandit", "SlateExperts"),
    "learners.private_experts": ("PrivateExperts",),
    "learners.locally_private": ("LocallyPrivate",),
    "learners.noisy": (
        "Dropout",
        "RandomWalk",
        "RandomPlayout",
    ),
    "learners.myga": ("MYGA",),
    "learners.fpl": ("FPL", "FPLTrix", "MSets", "ShortestPaths", "Assignments"),
    "learners.algorithms": (
        "hedge",
        "exp3",
        "exp4",
        "exp4_clipped",
        "tsallis_inf",
        "frechet_ftpl",
        "exp3_ix",
        "fixed_share",
        "exp3_s",
        "gaussian_ftpl",
    ),
    "games.play": ("play",),
    "games.record": ("Record",),
    "games.compare": (
        "compare",
        "Comparison",
    ),
    "games.sweep": ("sweep",),
    "tables.combine.function": (
        "combine",
        "Combined",
    ),
    "tables.combine.combiner": ("Combiner",),
    "tables.combine.conformal": ("Conformal",),
    "tables.combine.coverage_certificate": ("CoverageCertificate",),
    "tables.replay": (
        "replay",
        "Replay",
    ),
    "tables.route": (
        "route",
        "Routes",
    ),
    "serving.store": ("Store",),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}
#: Public names that are modules.
_MODULES = {"adversaries": "adversaries", "checks": "checks", "sklearn": "interop.sklearn", "sktime": "interop.sktime"}

#: Removed public names, and the classes to use instead; an error names the class until version 0.4.
_REMOVED = {
    "lb_inf": "LBInf",
    "squint": "Squint",
    "adanormalhedge": "AdaNormalHedge",
    "ml_poly": "MLPoly",
    "delayed_ftrl": "TsallisShannon",
    "dropout": "Dropout",
    "random_walk": "RandomWalk",
    "myga": "MYGA",
}

#: Names that need an extra exist, but `from hannan import *` must not import the extra.
_EXTRAS = ("sklearn", "sktime")

__all__ = ["__version__", *_MODULE_OF, *(name for name in _MODULES if name not in _EXTRAS)]


def __getattr__(name: str) -> Any:
    if name in _MODULE_OF:
        value = getattr(import_module(f"hannan.{_MODULE_OF[name]}"), name)
    elif name in _MODULES:
        value = import_module(f"hannan.{_MODULES[name]}")
    elif name in _REMOVED:
        raise AttributeError(f"module 'hannan' has no attribute {name!r}; use the class hn.{_REMOVED[name]}")
    else:
        raise AttributeError(f"module 'hannan' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, *_EXTRAS])
