"""Seeds: the same one makes the same play, and without one nobody can foresee it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hannan.checks.report import Check, hold, needs, skip
from hannan.checks.seats import seat


def a_seed_is_the_play(learner: Any) -> None:
    """The same seed makes the same moves; another one makes others, where there is a choice."""
    first = seat(learner, 7).run(0, 100)
    hold(first == seat(learner, 7).run(0, 100), "the same seed must make the same moves; it made others")
    if seat(learner).has_a_choice and _draws(learner):
        others = (seat(learner, other).run(0, 100) for other in (8, 9, 10))
        hold(any(run != first for run in others), "seeds must make different moves; four made the same")


def nobody_foresees_it_without_a_seed(learner: Any) -> None:
    """Two players without a seed make different moves: by what p says they agree by chance at most once in 1e6.

    100 moves are drawn while no loss has come, so that both stand at the same p."""
    one, two = seat(learner, None), seat(learner, None)
    if not one.has_a_choice:
        skip("it has one choice")
    if not _draws(learner):
        skip("it says that it draws nothing: its moves are known, and its bound is one of known moves")
    if getattr(learner, "own_noise", False):
        skip("the noise that it keeps decides its first moves")  # and may decide those of two players alike
    chance, same = 0.0, True
    for t in range(100):
        if not one.apart and not one.advised and hasattr(one.player, "distribution"):
            chance += math.log(float(np.square(one.player.distribution()).sum()))
        same &= bool(one.action(one.act(t)) == two.action(two.act(t)))
    if chance > math.log(1e-6) and not (one.apart or one.advised):
        skip(f"its first moves are nearly certain: two players agree by chance with probability {math.exp(chance):.3g}")
    hold(not same, "players without a seed must draw for themselves; two made the same 100 moves")


def a_seed_is_said(learner: Any) -> None:
    """A certificate says of a player with a seed that it has one, and of one without that it has none."""
    with_seed, without = seat(learner, 3).player, seat(learner, None).player
    needs(with_seed, "certificate")
    if not _draws(learner):
        skip("it says that it draws nothing, and a seed changes nothing")
    hold(with_seed.certificate().seeded, "the certificate must say that a seed was given; it does not")
    hold("of a seed that was given" in str(with_seed.certificate()), "the certificate must print that it has a seed")
    hold(not without.certificate().seeded, "the certificate must say that no seed was given; it says one was")
    hold("randomness" not in str(without.certificate()), "the certificate must print no seed where none was given")


def _draws(learner: Any) -> bool:
    """Whether its moves are drawn; a learner whose moves are not says `draws = False`."""
    return bool(getattr(learner, "draws", True))


CHECKS: tuple[Check, ...] = (a_seed_is_the_play, nobody_foresees_it_without_a_seed, a_seed_is_said)
