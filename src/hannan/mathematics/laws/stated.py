"""What a law of your own states of itself, its hazard and log-concavity, held against its density and cdf."""

from __future__ import annotations

import math

import numpy as np

from hannan.mathematics.laws.law import Law

#: Where it is looked at: survival from 1 - 1e-6 down to 1e-9, where 1 - F still has seven digits.
_LEVELS = np.concatenate([1.0 - np.logspace(-6, -2, 60), np.linspace(0.985, 0.02, 200), np.logspace(-1.75, -9, 140)])
#: 1 - F is right to so much, and quotients to a few more digits less.
_LOST, _SLACK = 1e-14, 1e-6


def on_your_word(law: object) -> str:
    """What to print of a law of your own; refuses what its density or cdf contradicts. Empty for the package's laws."""
    if not _is_yours(law):
        return ""
    return "; ".join(filter(None, (checked_hazard(law), checked_concavity(law))))


def _is_yours(law: object) -> bool:
    return isinstance(law, Law) and type(law).__module__.split(".")[0] != "hannan"


def hazard_of_yours(law: object) -> float | None:
    """The hazard that a law of your own states; None for laws of the package, and where none is stated."""
    if not _is_yours(law):
        return None
    assert isinstance(law, Law)
    try:
        stated = float(law.hazard)
    except ValueError:
        return None
    return stated if math.isfinite(stated) else None


def checked_hazard(law: object) -> str:
    """What to print of the hazard that a law of your own states; refuses one that its density or cdf exceeds.

    h >= f/S at each quantile, and S(a) <= e^(h (b - a)) S(b) between neighbours, which needs the cdf alone.
    Empty for laws of the package.
    """
    stated = hazard_of_yours(law)
    if stated is None:
        return ""
    assert isinstance(law, Law)
    name = type(law).__name__
    if stated <= 0.0:
        raise ValueError(f"the hazard of {name} must be > 0; got {stated!r}")
    said = f"on your word that the hazard of {name} is at most {stated:.15g}"
    with np.errstate(all="ignore"):
        z = np.unique(np.asarray(law.survival_quantile(_LEVELS), dtype=np.float64))
        f, S = np.asarray(law.density(z), dtype=np.float64), np.asarray(law.survival(z), dtype=np.float64)
        usable = np.isfinite(z) & np.isfinite(f) & (S >= 0.5e-9) & (S <= 1.0)
        z, f, S = z[usable], f[usable], S[usable]
        if z.size < 50:
            return f"{said}, which could not be checked"
        kept = S * (1.0 + _SLACK) + _LOST
        steep = f / kept
        fall = np.log((S[:-1] - _LOST) / (S[1:] + _LOST)) / np.diff(z)
    worst = int(np.argmax(steep))
    if steep[worst] > stated:
        raise ValueError(
            f"the hazard of {name} must be at least f/(1-F), which is {f[worst] / S[worst]:.6g} at {z[worst]:.6g}; "
            f"got {stated!r}"
        )
    fastest = int(np.argmax(np.where(np.isfinite(fall), fall, -np.inf)))
    if fall[fastest] > stated * (1.0 + _SLACK) + 1e-9:
        raise ValueError(
            f"the hazard of {name} must be at least the fall of log(1-F), {fall[fastest]:.6g} between {z[fastest]:.6g} "
            f"and {z[fastest + 1]:.6g}; got {stated!r}"
        )
    return f"{said}, which fits at {z.size} quantiles"


def checked_concavity(law: object) -> str:
    """The same for `log_concave`: the slope of log f, from quantile to quantile, must not rise."""
    if not (_is_yours(law) and isinstance(law, Law) and law.log_concave):
        return ""
    name = type(law).__name__
    said = f"on your word that the density of {name} is log-concave"
    with np.errstate(all="ignore"):
        z = np.unique(np.asarray(law.survival_quantile(_LEVELS[::4]), dtype=np.float64))
        g = np.log(np.asarray(law.density(z), dtype=np.float64))
        z, g = z[np.isfinite(g)], g[np.isfinite(g)]
        if z.size < 20:
            return f"{said}, which could not be checked"
        gaps = np.diff(z)
        slope = np.diff(g) / gaps
        # Logarithms are right to 1e-12, and a slope to that over its gap.
        lost = 1e-12 * (1.0 + np.abs(g).max()) / gaps
        rise = np.diff(slope) - lost[:-1] - lost[1:] - _SLACK * np.abs(slope[:-1])
    worst = int(np.argmax(rise))
    if rise[worst] > 0.0:
        raise ValueError(f"{name} must be log-concave, as it says; the slope of log f rises at {z[worst + 1]:.6g}")
    return f"{said}, which fits at {z.size} quantiles"
