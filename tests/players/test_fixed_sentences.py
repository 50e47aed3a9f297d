"""Golden test of the fixed sentences of bounds and certificates.

Before a sentence is changed, compare it with its proof: hypothesis, conclusion and quantifiers. A shorter sentence must
be a weaker one.
"""

from __future__ import annotations

import numpy as np
import pytest

import hannan as hn
from hannan.learners.convex import privacy
from hannan.mathematics import bounds
from hannan.players import certificate, convex, fleet_certificate, tickets
from hannan.serving import stored_learner

PSEUDO = "bounds the pseudo-regret only"
ADAPTIVE = "(adaptive adversary, same horizon)"
FIXED = "if losses do not depend on your moves, for a horizon fixed in advance"
MAP = "the maximum of E[learner's loss - loss of the map] over maps from keys to arms fixed in advance"
SETS = "if neither losses nor the set of available arms depends on your moves, for a horizon fixed in advance"
VALIDITY = {
    ("any", "run"): ("on every run", ""),
    ("any", "moves"): ("on every loss sequence, even if a loss depends on the move of its round", ""),
    ("any", "mean"): (
        "for the mean play on every loss sequence; for sampled moves in expectation, even if losses depend on past "
        "moves",
        "",
    ),
    ("any", "draws"): ("in expectation, even if losses depend on past moves", ""),
    ("any", "likely"): ("on one run with the stated probability, even if losses depend on past moves", ""),
    ("oblivious", "kept"): (FIXED, "nothing is proved"),
    ("oblivious", "arm"): (FIXED, f"{ADAPTIVE} {PSEUDO}: max_i E[learner's loss - loss of arm i]"),
    ("oblivious", "expert"): (
        "if neither losses nor advice depends on your moves, for a horizon fixed in advance",
        f"{ADAPTIVE} {PSEUDO}: max_i E[learner's loss - loss of expert i]",
    ),
    ("oblivious", "path"): (
        FIXED,
        f"{ADAPTIVE} {PSEUDO}: the maximum of E[learner's loss - loss of the path] over paths of arms fixed in advance",
    ),
    ("oblivious", "point"): (
        FIXED,
        f"{ADAPTIVE} {PSEUDO}: the maximum of E[learner's loss - loss of the point] over points fixed in advance",
    ),
    ("oblivious", "slate"): (
        FIXED,
        f"{ADAPTIVE} {PSEUDO}: the maximum of E[learner's loss - loss of the slate] over slates fixed in advance",
    ),
    ("oblivious", "available_slate"): (
        SETS,
        f"{ADAPTIVE} {PSEUDO}: the maximum of E[learner's loss - loss of the slate] over slates fixed in advance, "
        "whose unavailable items are replaced as stated",
    ),
    ("oblivious", "map"): (FIXED, f"{ADAPTIVE} {PSEUDO}: {MAP}"),
    ("oblivious", "available"): (
        SETS,
        f"{ADAPTIVE} {PSEUDO}: max_i E[learner's loss - loss of arm i], both over the rounds in which arm i was "
        "available",
    ),
    ("oblivious", "available_map"): (
        SETS,
        f"{ADAPTIVE} {PSEUDO}: {MAP}, both over the rounds in which the arm of the key was available",
    ),
    ("oblivious", ""): ("if losses do not depend on your moves", ""),
    ("iid", ""): (
        "if losses are drawn independently from one distribution, for a horizon fixed in advance",
        "nothing is proved",
    ),
}
CONSTANTS = {
    bounds.ADVERSARIES["any"]: "even against an adaptive adversary",
    bounds.ADVERSARIES["oblivious"]: "against an oblivious adversary",
    bounds.ADVERSARIES["iid"]: "for i.i.d. losses only",
    bounds.FIXED_LOSSES: "if losses do not depend on your moves",
    bounds.FIXED_SETS: "if neither losses nor the set of available arms depends on your moves",
    bounds.FIXED_ADVICE: "if neither losses nor advice depends on your moves",
    certificate.ESTIMATE: "estimate; not a bound on this run",
    certificate.ESTIMATED: "learner's loss - min_i of the importance-weighted losses; its expectation is at least the "
    "expected regret {assumption}, otherwise at least the pseudo-regret max_i E[learner's loss - loss of {comparator} "
    "i]",
    certificate.KINDS["mean"]: "mean play",
    certificate.KINDS["realized"]: "realized on this run",
    certificate.IN_EXPECTATION: "; the bound is on its expectation",
    certificate.SETTLED: "the bound covers settled rounds only; for sampled moves it assumes that which rounds are "
    "settled does not depend on the moves",
    certificate.SETTLED_ESTIMATE: "the estimate covers settled rounds only, and assumes that which rounds are settled "
    "does not depend on the moves or their losses",
    certificate.FROM_LOSSES: "the bound was computed from the observed losses, so for sampled moves it holds on "
    "average: E[regret] <= E[bound] over runs",
    certificate.AVAILABLE: "the regret against each {who} covers only the rounds in which that {who} was available",
    certificate.SEEDED: "a seed was given: bound and estimate do not hold against an adversary that knows it",
    certificate.RESUMED: "the random state is in a file, from which a copy can continue with the same moves "
    '(resume="exact"): bound and estimate do not hold against an adversary that runs such a copy',
    certificate.EVERY_TIME: "uniformly over time, even against an adaptive adversary, if each loss is fixed before the "
    "move of its round is drawn",
    certificate.KEPT_NOISE: "no high-probability bound is proved for noise that is kept",
    certificate.MEAN_PLAY: "no high-probability bound; the mean play has the regret below",
    certificate.THIS_RUN_ONLY: "the regret below is that of this run; no high-probability bound on other runs is "
    "proved",
    certificate.NOT_RANDOM: "the moves are not random: the regret below is that of every run",
    certificate.no_run_bound("X"): "no high-probability bound is proved for X",
    tickets.LOST: "the loss is unknown, and a bound must cover the losses of all moves",
    tickets.DELAYED: "feedback was delayed (a move was drawn while another was pending)",
    fleet_certificate.CHOICE_OF_KEYS: "which keys are in the fleet does not depend on their moves or losses; the sum "
    "does not hold for the remaining keys if keys were retired or split off because of their results",
    fleet_certificate.APART: "losses of a key may depend on the moves of other keys if those do not depend on its own "
    "moves; keys that react to each other make losses that depend on moves",
    fleet_certificate.TRAFFIC: "the number of rounds of a key does not depend on its moves",
    stored_learner.CHANGED_ARMS: "the regret against an arm covers only the rounds in which that arm was available; "
    "an arm that was added or retired because of earlier results makes the set of available arms depend on your moves",
    privacy.BETWEEN: "neighboring sequences: one loss added or removed, in both directions",
    privacy.CONDITION: "covers the moves only: not the learner's loss, the regret or the certificate; assumes "
    "real-valued noise that no one can reproduce (a player started without a seed)",
    convex.OF_THIS_COPY: "counts the moves of this copy only; it was saved, loaded or copied, and the moves of other "
    "copies spend more",
}
EVERY_RUN = "if the best loss L* <= 100 on every run"


@pytest.mark.parametrize(("whom", "golden"), VALIDITY.items(), ids=str)
def test_sentences_about_the_adversary(whom: tuple[str, str], golden: tuple[str, str]) -> None:
    assert bounds.validity(*whom) == golden
    joined = f"{bounds.ADVERSARIES[whom[0]]}: {golden[0]}" + (f"; otherwise {golden[1]}" if golden[1] else "")
    assert bounds.sentence(*whom) == joined


def test_every_sense_has_a_golden_sentence() -> None:
    from typing import get_args

    assert {sense for _, sense in VALIDITY if sense} == set(get_args(bounds.Sense))


def test_sentences_are_constants() -> None:
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
    bound = hn.Bound(1.0, {"x": 1.0}, "s", sense="arm", condition="assumed, not verified")
    for gains in (False, True):
        supposed = bound.supposing(12.5, gains)
        assert supposed.at_most == 12.5
        assert supposed.condition.endswith("; assumed, not verified")
        assert supposed.observed() == bound
    assert bound.observed() is bound


def rows_of(player: object) -> dict[str, str]:
    return dict(player.certificate().rows())  # type: ignore[attr-defined]


def test_regret_is_printed_with_its_kind() -> None:
    """A realized regret may be above the bound, which is for its expectation; the regret of the mean play may not."""
    experts = hn.Experts(2).start(seed=0)
    experts.observe(experts.act(), [0.0, 1.0])
    assert rows_of(experts)["regret"].endswith(" (mean play)")
    convex = hn.Convex(hn.Simplex(2), 1.0, loss_bound=1.0, tuning=hn.Horizon(1000)).start(seed=0)
    for t in range(400):
        convex.observe(convex.act(), hn.Linear(np.eye(2)[t % 2]))
    assert rows_of(convex)["regret"].endswith(" (realized on this run; the bound is on its expectation)")
    descent = hn.OnlineGradientDescent(hn.Ball(2), 1.0).start()
    descent.observe(descent.act(), hn.Linear(np.array([0.6, 0.8])))
    assert rows_of(descent)["regret"].endswith(" (realized on this run)")


def test_estimated_regret_names_its_comparator() -> None:
    on_advice = hn.ExpertBandit(2, 3).start(seed=0)
    on_advice.observe(on_advice.act([0, 1, 1]), 0.5)
    assert "max_i E[learner's loss - loss of expert i]" in rows_of(on_advice)["estimate"]
    arms = hn.Bandit(2).start(seed=0)
    arms.observe(arms.act(), 0.5)
    assert "max_i E[learner's loss - loss of arm i]" in rows_of(arms)["estimate"]
    decisions = hn.FPLTrix(hn.MSets(4, 2)).start(seed=0)
    plan = decisions.act()
    decisions.observe(plan, [0.5, 0.5])
    assert "max_i E[learner's loss - loss of decision i]" in rows_of(decisions)["estimate"]


def test_keys_with_a_trivial_bound_are_counted_once() -> None:
    fleet = hn.Fleet(hn.Bandit(10), seed=0)
    fleet.observe(fleet.act([1, 2]), [0.5, 0.5])
    assert rows_of(fleet)["trivial"].startswith("for 2 of 2 keys")
    assert str(fleet.certificate()).count("trivial") == 1


# Headlines


def test_headlines_carry_the_adversary_and_the_condition() -> None:
    """One of three phrases, and no others; a condition is in the first line."""
    said = {
        hn.Experts(10).bound(10_000): "expected regret <= 281.7, even against an adaptive adversary",
        hn.Bandit(10).bound(10_000): "expected regret <= 766.9 against an oblivious adversary",
        hn.UCB1(2).bound(100_000): "expected regret <= 6261 for i.i.d. losses only",
        hn.Experts(10, tuning=hn.BestLoss(100)).bound(): "expected regret <= 21.58 if the best loss L* <= 100 on every "
        "run, even against an adaptive adversary",
        hn.exp3_ix(8, 4000).bound(delta=0.05): "regret <= 1057 with probability 0.95, even against an adaptive "
        "adversary",
        hn.Bandit(10).bound(3): "expected regret <= 3 (trivial: rounds x range), even against an adaptive adversary",
    }
    for bound, line in said.items():
        assert str(bound).splitlines()[0] == bound.headline == line


def test_first_line_of_a_certificate_has_the_bound_or_none() -> None:
    player = hn.Bandit(3).start(seed=0)
    player.observe(player.act(), 0.5)
    assert player.certificate().summary().splitlines()[0] == "Bandit(3), 1 round: no useful bound yet"
    for _ in range(1000):
        player.observe(player.act(), 0.5)
    first = player.certificate().summary().splitlines()[0]
    assert first.startswith("Bandit(3), 1001 rounds: expected regret <= ")
    assert first.endswith(" against an oblivious adversary")
    player.forget(player.act())
    lines = player.certificate().summary().splitlines()
    assert lines[0] == "Bandit(3), 1001 settled rounds (1 dropped): no bound"
    assert " ".join(lines[1:3]).split()[:7] == ["why", "1", "move", "was", "dropped:", "the", "loss"]


def test_a_summary_leaves_out_the_details_and_nothing_else() -> None:
    player = hn.Experts(3).start(seed=0)
    player.observe(player.act(), [0.0, 1.0, 0.5])
    told = player.certificate()
    assert str(told).startswith(told.summary())
    assert str(told)[len(told.summary()) :].split()[0] == "Details"
    labels = [name for name, _ in told.rows()]
    assert len(set(labels)) == len(labels)


def test_adaptive_is_another_name_of_any() -> None:
    """Everywhere in Python; a stored bound keeps the word "any". Control: an unknown word is an error."""
    assert hn.Experts(3).bound(100, against="adaptive") == hn.Experts(3).bound(100, against="any")
    assert hn.Bound(1.0, {"x": 1.0}, "s", against="adaptive").against == "any"  # type: ignore[arg-type]
    for learner in (hn.AdaHedge(3, loss_range=(0, 1)), hn.exp3_ix(3, 100), hn.OnlineGradientDescent(hn.Ball(2), 1.0)):
        assert learner.bound(100, against="adaptive") == learner.bound(100, against="any")
    for bound in (hn.Bandit(3).bound, hn.Experts(3).bound):
        with pytest.raises(ValueError, match=r"against.*adaptive.*'all'"):
            bound(1000, against="all")
