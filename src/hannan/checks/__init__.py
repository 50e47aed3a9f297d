"""The contract of learners and of laws, for yours as for ours: the suite that every learner of the package passes.

::

    import hannan as hn

    print(hn.checks.check_learner(MyLearner(4)))         # raises Failed, with every broken promise; else a report
    print(hn.checks.check_law(MyLaw()))

    @pytest.mark.parametrize(("name", "check"), hn.checks.learner_checks(MyLearner(4)))
    def test_contract(name, check):
        check()                                          # raises Failed, or Skipped with its reason

A learner of yours has `start(seed)`, and its player `act()` and `observe(move, loss)`; what else it offers is held to
its word, and what it does not offer is reported as skipped, each with the reason. Nothing is skipped silently.
"""

from hannan.checks.laws import check_law, law_checks
from hannan.checks.learners import check_learner, learner_checks
from hannan.checks.report import Failed, Report, Skipped

__all__ = ["Failed", "Report", "Skipped", "check_law", "check_learner", "law_checks", "learner_checks"]
