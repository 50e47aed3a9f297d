"""What a combination may say of itself: how much more than the mean, each column, and a combination it can have lost.

Everything in it was observed: docs/proofs/combine.md has the theorem. The bounds hold for convex losses, whatever the
delays of the targets, their order, and who sleeps when.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hannan import refusals
from hannan.mathematics.bounds import Bound, rounded_up
from hannan.refusals import Array

TWO_LAYERS = "two layers of rule B, docs/proofs/combine.md"
RULE_B = "rule B, docs/proofs/combine.md"
SLOPES = "AdaHedge on slopes, 2 Delta, docs/proofs/combine.md"
NOT_CONVEX = (
    "a capped loss is not convex: what its slopes teach bounds nothing. Play adahedge, whose drawn expert has a bound"
)


@dataclass(frozen=True)
class Promises:
    """`columns[i]` bounds loss - loss of column i; `realised[i]` is what it was. Where column i sleeps, it is replaced
    by a member of the combination (`filled` says so). `base + q @ parts` bounds loss - loss of the combination q of
    columns that never sleep. None: withheld, and `withheld` says why."""

    source: str
    columns: Array | None = field(hash=False)
    realised: Array = field(hash=False)
    mean: float | None
    mean_realised: float
    base: float | None
    parts: Array | None = field(hash=False)
    withheld: str = ""
    mean_withheld: str = ""
    combination_withheld: str = ""
    filled: str = ""

    def combination(self, q: Any) -> float | None:
        """The bound against the fixed combination with weights q >= 0 that sum to 1, of columns that never slept."""
        weights = refusals.distribution(q, "the weights of a combination")
        if weights.shape != self.realised.shape:
            raise ValueError(
                f"the weights of a combination must be {len(self.realised)} numbers, one for each column; "
                f"got shape {weights.shape}"
            )
        if self.base is None or self.parts is None:
            return None
        return rounded_up(self.base + float(weights @ np.where(weights > 0.0, self.parts, 0.0)))

    def column(self, i: int) -> float | None:
        """The bound against column i."""
        return None if self.columns is None else rounded_up(float(self.columns[i]))

    def bound(self, i: int) -> Bound | None:
        """The bound against column i, with its source."""
        value = self.column(i)
        if value is None:
            return None
        terms = {"observed": value}
        return Bound(value, terms, self.source, sense="mean", against="any")


def withheld(why: str, sums: Any) -> Promises:
    """Nothing is promised."""
    realised = sums.beside - sums.losses
    return Promises("", None, realised, None, sums.mixture - sums.mean_loss, None, None, why, why, why)


def of_rule(name: str, sums: Any, convex: bool) -> Promises:
    """The promises of a rule at play in the engine, of its `RuleSums`."""
    if not convex:
        return withheld(NOT_CONVEX, sums)
    ahead, losses = sums.mixture - sums.mean_loss, sums.losses
    beside = sums.beside - losses
    sleepers = bool((sums.awake < sums.settled).any())
    if name == "two-layers":
        top, parts = sums.above, sums.bounds
        through, own = top[0] + parts, top[2] + 2.0 * sums.gap
        by_b = through <= own
        realised = sums.mixture - losses - np.where(by_b, sums.slept_b, sums.slept_adahedge)
        filled = "while it sleeps, B or AdaHedge in its place" if sleepers else ""
        bounds = np.where(by_b, through, own)
        return Promises(
            TWO_LAYERS, bounds, realised, rounded_up(float(top[3])), ahead, float(top[0]), parts, filled=filled
        )
    alone = "over its waking rows" if sleepers else ""
    if name in ("b", "adahedge:slopes"):
        parts = sums.bounds if name == "b" else np.full(len(losses), 2.0 * sums.gap)
        asleep = "the mean of the awake is no fixed combination where columns sleep" if sleepers else ""
        mean = None if sleepers else rounded_up(float(parts.mean()))
        source = RULE_B if name == "b" else SLOPES
        return Promises(source, parts, beside, mean, ahead, 0.0, parts, mean_withheld=asleep, filled=alone)
    return withheld(f"no bound is proved here for {name} in whatever units the losses are", sums)
