"""Golden test of the fixed sentences of bounds and certificates.

Before a sentence is changed, compare it with its proof: hypothesis, conclusion and quantifiers. A shorter sentence must
be a weaker one.
"""

from __future__ import annotations

import numpy as np
import pytest

import hannan as hn
from hannan.mathematics import bounds
from hannan.players import certificate, fleet_certificate
from hannan.serving import stored_learner

ARM = "E[own loss - loss of any one arm named in advance]"
MAP = "E[own loss - loss of any one map key -> arm named in advance]"
SENTENCES = {
    ("any", "run"): "any losses: on every run",
    ("any", "moves"): "any losses: on every sequence, also if a loss is set in sight of the move",
    ("any", "mean"): "any losses: of the mean play on every sequence; of moves drawn in expectation, also if losses "
    "depend on past moves",
    ("any", "draws"): "any losses: in expectation, also if losses depend on past moves",
    ("any", "likely"): "any losses: on a run, with the probability said, also if losses depend on past moves",
    ("oblivious", "kept"): "oblivious losses: if losses do not depend on your moves, at a time fixed in advance; if "
    "they do, nothing is promised",
    (
        "oblivious",
        "arm",
    ): "oblivious losses: if losses do not depend on your moves, at a time fixed in advance; if they "
    f"do, it bounds {ARM}",
    ("oblivious", "expert"): "oblivious losses: if neither losses nor advice depends on your moves, at a time fixed in "
    "advance; otherwise it bounds E[own loss - loss of any one expert named in advance]",
    (
        "oblivious",
        "path",
    ): "oblivious losses: if losses do not depend on your moves, at a time fixed in advance; if they "
    "do, it bounds E[own loss - loss of any one path named in advance]",
    (
        "oblivious",
        "map",
    ): "oblivious losses: if losses do not depend on your moves, at a time fixed in advance; if they "
    f"do, it bounds {MAP}",
    ("oblivious", "available"): "oblivious losses: if neither losses nor the set of available arms depends on your "
    f"moves, at a time fixed in advance; otherwise it bounds the pseudo-regret {ARM}, both over the rounds in "
    "which that arm was available",
    ("oblivious", "available_map"): "oblivious losses: if neither losses nor the set of available arms depends on your "
    f"moves, at a time fixed in advance; otherwise it bounds the pseudo-regret {MAP}, both over the rounds in "
    "which the arm of the key was available",
    ("oblivious", ""): "oblivious losses: if losses do not depend on your moves",
    ("iid", ""): "i.i.d. losses: if they are drawn independently from one law, at a time fixed in advance; if not, "
    "nothing is promised",
}
CONSTANTS = {
    bounds.FIXED_LOSSES: "if losses do not depend on your moves",
    bounds.FIXED_SETS: "if neither losses nor the set of available arms depends on your moves",
    bounds.FIXED_ADVICE: "if neither losses nor advice depends on your moves",
    certificate.ESTIMATED: "own loss - min Lhat: its expectation is at least the expected regret {assumption}, else at "
    "least the regret against any one {comparator} named in advance; it is no bound on this run",
    certificate.KINDS["mean"]: "of the mean play",
    certificate.KINDS["realized"]: "realized, of the moves of this run",
    certificate.IN_EXPECTATION: "; the bound is on its expectation",
    certificate.UNTOLD: "; it is of the settled rounds, and that holds if which those are does not depend on "
    "the moves or their losses",
    certificate.OF_THE_SETTLED: "those settled; of moves drawn it holds if which those are does not depend on the "
    "moves",
    certificate.MADE_OF_LOSSES: "in expectation over all runs, of this number too, which the losses seen have made",
    certificate.AVAILABLE: "the regret against each {who} covers only the rounds in which that {who} was available",
    certificate.SEEDED: "of a seed that was given, for experiments: the bound does not hold against losses of one who "
    "knows it",
    certificate.RESUMED: 'in a file, from which another copy may go on alike (resume="exact"): the bound does not hold '
    "against losses of one who plays it",
    fleet_certificate.CHOICE_OF_KEYS: "which keys are in the fleet must not depend on their moves or losses: "
    "the sum does not hold for the keys that are left if keys were retired or split off because of their results",
    fleet_certificate.APART: "losses of a key may depend on the moves of other keys, as long as those do not "
    "depend on its own: keys that react to each other make losses that depend on moves",
    fleet_certificate.TRAFFIC: "how often a key comes must not depend on its moves",
    stored_learner.CHANGED_ARMS: "the regret against an arm covers only the rounds in which that arm was available; "
    "an arm that was added or retired because of earlier results makes the set of available arms depend on your moves",
}
EVERY_RUN = "if the best loss L* <= 100 on every run"


@pytest.mark.parametrize(("whom", "sentence"), SENTENCES.items(), ids=str)
def test_sentence_about_the_adversary(whom: tuple[str, str], sentence: str) -> None:
    assert bounds.sentence(*whom) == sentence


def test_every_sense_has_a_golden_sentence() -> None:
    from typing import get_args

    assert {sense for _, sense in SENTENCES if sense} == set(get_args(bounds.Sense))


def test_constants() -> None:
    for found, golden in CONSTANTS.items():
        assert found == golden


def test_conditions_on_the_best_loss() -> None:
    named = "(if losses depend on your moves: if the expected loss of one arm named in advance is <= 100)"
    for sense in ("mean", "draws", "likely"):
        assert bounds.best_loss_condition(100.0, False, "any", sense) == EVERY_RUN
    assert bounds.best_loss_condition(100.0, False, "oblivious", "arm") == f"{EVERY_RUN} {named}"
    advised = (
        "(if losses or advice depend on your moves: if the expected loss of one expert named in advance is <= 100)"
    )
    assert bounds.best_loss_condition(100.0, False, "oblivious", "expert") == f"{EVERY_RUN} {advised}"
    assert bounds.best_loss_condition(90.0, True, "any", "mean") == "if the best gain G* >= 90 on every run"


def test_observed_removes_the_condition_and_nothing_else() -> None:
    bound = hn.Bound(1.0, {"x": 1.0}, "s", sense="arm", condition="on your word")
    for gains in (False, True):
        supposed = bound.supposing(12.5, gains)
        assert supposed.at_most == 12.5
        assert supposed.condition.endswith("; on your word")
        assert supposed.observed() == bound
    assert bound.observed() is bound


def rows_of(player: object) -> dict[str, str]:
    return dict(player.certificate().rows())  # type: ignore[attr-defined]


def test_regret_is_printed_with_its_kind() -> None:
    """A realized regret may be above the bound, which is on its expectation; that of the mean play may not."""
    experts = hn.Experts(2).start(seed=0)
    experts.observe(experts.act(), [0.0, 1.0])
    assert rows_of(experts)["regret"].endswith("(of the mean play)")
    convex = hn.Convex(hn.Simplex(2), 1.0, loss_bound=1.0, tuning=hn.Horizon(1000)).start(seed=0)
    for t in range(400):
        convex.observe(convex.act(), hn.Linear(np.eye(2)[t % 2]))
    assert rows_of(convex)["regret"].endswith("(realized, of the moves of this run; the bound is on its expectation)")
    descent = hn.OnlineGradientDescent(hn.Ball(2), 1.0).start()
    descent.observe(descent.act(), hn.Linear(np.array([0.6, 0.8])))
    assert rows_of(descent)["regret"].endswith("(realized, of the moves of this run)")


def test_estimated_regret_names_its_comparator() -> None:
    on_advice = hn.ExpertBandit(2, 3).start(seed=0)
    on_advice.observe(on_advice.act([0, 1, 1]), 0.5)
    assert "against any one expert named in advance" in rows_of(on_advice)["estimated regret"]
    arms = hn.Bandit(2).start(seed=0)
    arms.observe(arms.act(), 0.5)
    assert "against any one arm named in advance" in rows_of(arms)["estimated regret"]
    decisions = hn.FPLTrix(hn.MSets(4, 2)).start(seed=0)
    plan = decisions.act()
    decisions.observe(plan, [0.5, 0.5])
    assert "against any one decision named in advance" in rows_of(decisions)["estimated regret"]


def test_vacuous_keys_are_counted_once() -> None:
    fleet = hn.Fleet(hn.Bandit(10), seed=0)
    fleet.observe(fleet.act([1, 2]), [0.5, 0.5])
    assert rows_of(fleet)["  vacuous"] == "all 2 keys counted with the number of rounds times the loss range"
    assert str(fleet.certificate()).count("vacuous") == 1
