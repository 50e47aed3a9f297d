"""The contract of laws: its forms agree, its numbers are those of its density, and it plays as it says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from hannan.checks import law_forms, law_numbers
from hannan.checks.descriptions import OF_VALUES
from hannan.checks.report import Report, named, run
from hannan.mathematics.laws.law import Law

CHECKS = (*OF_VALUES, *law_forms.CHECKS, *law_numbers.CHECKS)


def law_checks(law: Law) -> Iterator[tuple[str, Callable[[], None]]]:
    """(name, check) of every promise of the contract, for `pytest.mark.parametrize`; see `learner_checks`.

    >>> import hannan as hn
    >>> dict(law_checks(hn.Gumbel()))["samples_follow_the_cdf"]()
    """
    return named(CHECKS, law)


def check_law(law: Any) -> Report:
    """Hold a law to the whole contract: a report of what passed and what was skipped, or `Failed`.

    >>> import hannan as hn
    >>> print(check_law(hn.Frechet(1.0)))
    Frechet(alpha=1.0): 15 checks passed, 2 skipped
      mean_is_that_of_the_density: skipped, its mean is infinite
      log_concave_is_no_more_than_it_is: skipped, it does not say that it is log-concave
    """
    if not isinstance(law, Law):
        raise ValueError(f"law must be a hannan Law such as Exponential(); got {law!r}")
    return run(law_checks(law), law)
