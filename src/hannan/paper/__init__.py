"""The paper, claim by claim: what `hannan reproduce` runs.

>>> from hannan.paper import claims
>>> len(claims()) >= 45 and len({claim.name for claim in claims()}) == len(claims())
True
"""

from __future__ import annotations

from importlib import import_module

from hannan.paper.claim import OUTCOMES, Chapter, Claim, Effort, Verdict

#: One file a section, in the order of the paper.
_FILES = (
    "divergences",
    "divergence_lemmas",
    "key_lemma",
    "noise",
    "gaussian",
    "convex",
    "linear",
    "leader",
    "stability",
    "consistency",
    "levels",
    "table",
    "table_notes",
    "experts",
    "expert_cases",
    "expert_growth",
    "bandit_lemmas",
    "observable",
    "bandits",
    "bandit_growth",
    "resampling",
    "expert_bandits",
    "clipped",
)

__all__ = ["OUTCOMES", "Chapter", "Claim", "Effort", "Verdict", "chapters", "claims"]


def chapters() -> tuple[Chapter, ...]:
    """Every section, in the order of the paper."""
    return tuple(import_module(f"hannan.paper.{name}").CHAPTER for name in _FILES)


def claims(only: str | None = None) -> tuple[Claim, ...]:
    """Every claim, or those whose label or name is `only`."""
    every = tuple(claim for chapter in chapters() for claim in chapter.claims)
    if only is None:
        return every
    chosen = tuple(claim for claim in every if only in (claim.label, claim.name))
    if not chosen:
        known = ", ".join(sorted({claim.label for claim in every}))
        raise ValueError(f"a claim must be one of the labels {known}, or a claim's name; got {only!r}")
    return chosen
