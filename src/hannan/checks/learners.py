"""The contract of learners: what is held of the description, of its player, of tickets and of files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from hannan.checks import descriptions, feedback, games, players, randomness, saved, symmetry
from hannan.checks.report import Report, named, run

CHECKS = (
    *descriptions.CHECKS,
    *players.CHECKS,
    *randomness.CHECKS,
    *symmetry.CHECKS,
    *feedback.CHECKS,
    *saved.CHECKS,
    *games.CHECKS,
)


def learner_checks(learner: Any) -> Iterator[tuple[str, Callable[[], None]]]:
    """(name, check) of every promise of the contract, for `pytest.mark.parametrize`.

    A check raises `Failed` where the learner breaks the promise, and `Skipped`, which pytest reports with its reason,
    where the learner offers nothing to hold to it.

    >>> import hannan as hn
    >>> dict(learner_checks(hn.Experts(3)))["a_seed_is_the_play"]()
    """
    return named(CHECKS, learner)


def check_learner(learner: Any) -> Report:
    """Hold a learner to the whole contract: a report of what passed and what was skipped, or `Failed`.

    >>> import hannan as hn
    >>> print(check_learner(hn.Dropout(3)))
    Dropout(3): 22 checks passed, 3 skipped
      bad_advice_is_refused: skipped, it takes no advice
      nobody_foresees_it_without_a_seed: skipped, the noise that it keeps decides its first moves
      relabelled_arms_relabel_the_play: skipped, the noise that it keeps tells the arms apart
    """
    return run(learner_checks(learner), learner)
