"""Checks that a user-defined learner or perturbation distribution satisfies the rules that the library relies on.

::

    import hannan as hn

    print(hn.checks.check_learner(MyLearner(4)))         # raises Failed with every violation, or returns a report
    print(hn.checks.check_law(MyLaw()))

    @pytest.mark.parametrize(("name", "check"), hn.checks.learner_checks(MyLearner(4)))
    def test_learner(name, check):
        check()                                          # raises Failed, or Skipped with the reason

Every learner of this library passes the same checks. A learner needs a method `start(seed)` that returns a player with
`act()` and `observe(move, loss)`. Optional methods and attributes are checked if they exist; otherwise the check is
reported as skipped, with the reason.
"""

from hannan.checks.laws import check_law, law_checks
from hannan.checks.learners import check_learner, learner_checks
from hannan.checks.report import Failed, Report, Skipped

__all__ = ["Failed", "Report", "Skipped", "check_law", "check_learner", "law_checks", "learner_checks"]
