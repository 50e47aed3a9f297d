"""Online decisions with proof: perturbed and regularized leaders that know their stability and their regret.

The public surface is flat and lazy: `import hannan as hn` loads only NumPy; a name loads its module on first
use. A *smoothing* (law or regularizer) times a *scale* is a potential; its gradient is the play.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.2.0"

#: module -> the public names that live there
_HOME: dict[str, tuple[str, ...]] = {
    "divergences": ("tsallis_log", "max_divergence", "tsallis_divergence", "hockey_stick"),
    "law": ("Law",),
    "laws": ("Exponential", "Gamma", "Gumbel", "Weibull", "Frechet", "Pareto", "Laplace", "Gaussian"),
    "regularizers": ("Regularizer", "Entropy", "Tsallis", "LogBarrier"),
    "stability": ("Stability",),
    "potentials": ("Potential", "FTPL", "FTRL"),
    "auditing": ("audit", "Finding"),
    "bounds": ("Bound", "Withheld"),
    "tuning": ("Fixed", "Horizon", "BestLoss", "Anytime", "SelfConfident"),
    "estimators": (
        "ImportanceWeighted",
        "GeometricResampling",
        "ConditionalResampling",
        "ReducedVariance",
        "ImplicitExploration",
    ),
    "clipping": ("clip",),
    "saving": ("register",),
    "moves": ("Move",),
    "certificate": ("Certificate",),
    "player": ("Player", "load"),
    "learners.experts": ("Experts",),
    "learners.adahedge": ("AdaHedge",),
    "learners.bandits": ("Bandit",),
    "learners.expert_bandits": ("ExpertBandit",),
    "learners.convex": ("Convex",),
    "learners.gradient": ("OnlineGradientDescent", "ExponentiatedGradient"),
    "domains": ("Domain", "Ball", "Box", "Simplex", "Polytope"),
    "losses": ("Loss", "Linear", "Squared", "Logistic", "Huber", "SmoothedHinge", "RankOne"),
    "noise": ("Noise", "GammaNoise", "GaussianNoise"),
    "convexity.privacy": ("Privacy",),
    "convexity.audit": ("audit_convex",),
    "learners.second_order": ("Squint", "AdaNormalHedge", "MLPoly"),
    "learners.fixed_share": ("FixedShare", "Exp3S"),
    "learners.lb_inf": ("LBInf",),
    "learners.delayed": ("TsallisShannon",),
    "learners.noisy": ("Dropout", "RandomWalk"),
    "learners.myga": ("MYGA",),
    "learners.fpl": ("FPL",),
    "learners.fpl_trix": ("FPLTrix",),
    "decisions": ("MSets", "ShortestPaths", "Assignments"),
    "rivals": (
        "hedge",
        "exp3",
        "exp4",
        "exp4_clipped",
        "tsallis_inf",
        "frechet_ftpl",
        "exp3_ix",
        "lb_inf",
        "squint",
        "adanormalhedge",
        "ml_poly",
        "fixed_share",
        "exp3_s",
        "delayed_ftrl",
        "dropout",
        "random_walk",
        "myga",
        "gaussian_ftpl",
    ),
    "game": ("play",),
    "record": ("Record",),
    "games.compare": ("compare",),
    "games.comparison": ("Comparison",),
    "data.combine": ("combine", "Combined"),
    "data.replay": ("replay",),
    "data.route": ("route",),
    "serving.store": ("Store",),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}
_MODULES: tuple[str, ...] = ("adversaries", "sklearn")

#: What needs an extra is there by name, but `from hannan import *` must not ask for it.
_EXTRAS = ("sklearn",)

__all__ = ["__version__", *_MODULE_OF, *(name for name in _MODULES if name not in _EXTRAS)]


def __getattr__(name: str) -> Any:
    if name in _MODULE_OF:
        value = getattr(import_module(f"hannan.{_MODULE_OF[name]}"), name)
    elif name in _MODULES:
        value = import_module(f"hannan.{name}")
    else:
        raise AttributeError(f"module 'hannan' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, *_EXTRAS])
