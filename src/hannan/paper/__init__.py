"""Claims of the paper, which `hannan reproduce` checks.

>>> from hannan.paper import claims
>>> len(claims()) >= 45 and len({claim.name for claim in claims()}) == len(claims())
True
"""

from __future__ import annotations

from importlib import import_module

from hannan.paper.claim import OUTCOMES, Chapter, Claim, Effort, Verdict

#: Chapters in the order of the paper: module, and name of the chapter in it.
_CHAPTERS = (
    ("divergences", "CHAPTER"),
    ("divergences", "LEMMAS"),
    ("key_lemma", "CHAPTER"),
    ("noise", "CHAPTER"),
    ("noise", "GAUSSIAN"),
    ("convex", "CHAPTER"),
    ("convex", "LINEAR"),
    ("convex", "LEADER"),
    ("stability", "CHAPTER"),
    ("consistency", "CHAPTER"),
    ("stability", "LEVELS_CHAPTER"),
    ("table", "CHAPTER"),
    ("table", "NOTES"),
    ("experts", "CHAPTER"),
    ("experts", "CASES"),
    ("experts", "GROWTH"),
    ("bandit_lemmas", "CHAPTER"),
    ("resampling", "OBSERVABLE"),
    ("bandits", "CHAPTER"),
    ("bandits", "GROWTH"),
    ("resampling", "CHAPTER"),
    ("expert_bandits", "CHAPTER"),
    ("expert_bandits", "CLIPPED"),
    ("whole_game", "CHAPTER"),
    ("slates", "CHAPTER"),
    ("coverage", "CHAPTER"),
    ("first_order", "CHAPTER"),
    ("evidence", "CHAPTER"),
)

__all__ = ["OUTCOMES", "Chapter", "Claim", "Effort", "Verdict", "chapters", "claims"]


def chapters() -> tuple[Chapter, ...]:
    """Return all chapters in the order of the paper."""
    return tuple(getattr(import_module(f"hannan.paper.{module}"), name) for module, name in _CHAPTERS)


def claims(only: str | None = None) -> tuple[Claim, ...]:
    """Return all claims, or those with the label or name `only`."""
    every = tuple(claim for chapter in chapters() for claim in chapter.claims)
    if only is None:
        return every
    chosen = tuple(claim for claim in every if only in (claim.label, claim.name))
    if not chosen:
        known = ", ".join(sorted({claim.label for claim in every}))
        raise ValueError(f"no claim with label or name {only!r}; labels are {known}")
    return chosen
