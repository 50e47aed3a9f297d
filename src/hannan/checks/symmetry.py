"""Arms in another order are played as they were, in that order."""

from __future__ import annotations

from typing import Any

import numpy as np

from hannan.checks.report import Check, hold, needs, skip
from hannan.checks.seats import Seat, of_arms, seat
from hannan.refusals import Array


def relabelled_arms_relabel_the_play(learner: Any) -> None:
    """Where all is seen: 60 rounds with the columns in another order. Of bandits: whatever arms were drawn, the p of
    those drawn and of the rest depends on when they were drawn alone, not on which they are."""
    taken = of_arms(learner)
    needs(taken.player, "distribution")
    if taken.advised:
        skip("its losses are told apart by the advice")
    if getattr(learner, "prior", None) is not None:
        skip("its prior tells the arms apart")
    if getattr(learner, "own_noise", False):
        skip("the noise that it keeps tells the arms apart")
    if taken.choices == 1:
        skip("it has one choice")
    if taken.full:
        _whole_rows(learner)
    elif getattr(getattr(learner, "estimator", None), "draws", False):
        skip("its estimates are drawn, so that equal paths differ")
    else:
        _paths(learner)


def _whole_rows(learner: Any) -> None:
    plain, turned = seat(learner), seat(learner)
    order = np.random.default_rng(3).permutation(plain.choices)
    for t in range(60):
        _same(turned.player.distribution(), plain.player.distribution()[order])
        row = plain.losses(t)
        plain.observe(plain.act(t), row)
        turned.observe(turned.act(t), row[order])


def _paths(learner: Any) -> None:
    """Losses depend on the round alone: two paths that differ in the names of the arms only have one p."""
    seen: dict[tuple[int, ...], Array] = {}
    met = 0
    for seed in range(60):
        taken = seat(learner, seed)
        drawn: list[int] = []
        for t in range(4):
            move = taken.act(t)
            drawn.append(int(taken.action(move)))
            taken.observe(move, taken.row(np.full(taken.choices, 0.2 + 0.2 * t)))
            shape, p = _shape(drawn, taken)
            met += shape in seen
            _same(p, seen.setdefault(shape, p))
    hold(met > 60, f"of 240 paths at least 60 should have met another of their shape; {met} did")


def _shape(drawn: list[int], taken: Seat) -> tuple[tuple[int, ...], Array]:
    """The path with its arms numbered as they came, and p in that order, the arms never drawn after them."""
    first = list(dict.fromkeys(drawn))
    rest = [arm for arm in range(taken.choices) if arm not in first]
    return tuple(first.index(arm) for arm in drawn), np.asarray(taken.player.distribution())[[*first, *rest]]


def _same(found: Array, right: Array) -> None:
    far = np.abs(found - right) - 1e-8 * right
    hold((far <= 1e-13).all(), f"relabelled arms must have the play relabelled; got {found}, not {right}")


CHECKS: tuple[Check, ...] = (relabelled_arms_relabel_the_play,)
