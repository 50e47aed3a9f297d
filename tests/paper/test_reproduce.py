"""Claims of the paper: each has its expected verdict, and the printed form of a correction makes its claim fail."""

from __future__ import annotations

import io
import itertools
import json
import math
import re
import sys
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from rejections import rejected

from hannan.games import driver
from hannan.games.play import play
from hannan.games.record import Record
from hannan.learners.bandits import Bandit
from hannan.learners.estimators import GeometricResampling
from hannan.learners.experts import Experts
from hannan.learners.tuning import Fixed, Horizon
from hannan.mathematics.laws.light import Exponential
from hannan.mathematics.potentials import FTRL
from hannan.mathematics.regularizers import Entropy
from hannan.paper import Claim, Effort, chapters, claims, experts
from hannan.paper.bandit_lemmas import walked
from hannan.paper.claim import CORRECTIONS, STATEMENTS, as_printed, at_most, broken, form, holds, upper
from hannan.paper.page import controls, counts, page
from hannan.paper.running import Result, run

ALL = claims()


def test_claims_have_unique_names() -> None:
    assert len(ALL) >= 45
    assert len({claim.name for claim in ALL}) == len(ALL)
    assert {claim.section for claim in ALL} == {chapter.title for chapter in chapters()}


def test_every_statement_of_the_paper_has_a_claim() -> None:
    assert {claim.label for claim in ALL} == set(STATEMENTS)


def test_every_claim_has_a_statement_and_conditions() -> None:
    for claim in ALL:
        assert claim.statement.endswith("."), claim.name
        assert claim.conditions, claim.name
        assert not claim.corrects or claim.corrects in CORRECTIONS, claim.name


def test_every_claim_has_a_negative_control() -> None:
    assert [claim.name for claim in ALL if not claim.turned] == []


def test_expected_outcomes_are_consistent() -> None:
    for claim in ALL:
        assert claim.expected != "fails", claim.name
        # The paper neither states an addition nor gets it wrong.
        assert not claim.ours or claim.expected == "holds", claim.name
        assert not claim.corrects or claim.expected in ("improved", "holds as corrected"), claim.name


def test_every_correction_has_a_claim() -> None:
    assert {claim.corrects for claim in ALL} - {""} == set(CORRECTIONS)


def _judge(claim: Claim, quick: bool = True) -> None:
    """Check that the verdict is the expected one and that the negative control fails."""
    result = next(iter(run([claim], Effort(quick))))
    assert result.verdict.outcome == claim.expected, result.verdict
    assert result.control_failed is not False, (claim.turned, result.control)
    for picture in result.verdict.pictures:
        assert picture.alt
        assert all(layer.rows for layer in picture.layers)


@pytest.mark.parametrize("claim", ALL, ids=lambda c: c.name)
def test_claim_has_its_verdict_and_its_control_fails(claim: Claim) -> None:
    _judge(claim)


@pytest.mark.slow
@pytest.mark.parametrize("claim", ALL, ids=lambda c: c.name)
def test_claim_has_its_verdict_on_full_grids(claim: Claim) -> None:
    _judge(claim, quick=False)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 6))
def test_verdicts_do_not_depend_on_the_seed(seed: int) -> None:
    assert [r.claim.name for r in run(ALL, Effort(True, seed)) if not r.as_expected] == []


def test_printed_form_is_used_only_inside_the_context() -> None:
    claim = claims("key-lemma")[0]
    with as_printed("key-lemma"):
        assert claim.run(quick=True).outcome == "fails"
    assert form("key-lemma") is CORRECTIONS["key-lemma"].corrected
    assert claim.run(quick=True).outcome == "holds as corrected"


def test_unknown_correction_is_rejected() -> None:
    rejected(lambda: as_printed("nothing").__enter__(), "correction", "'nothing'")


def test_equal_seeds_give_equal_verdicts() -> None:
    for name in ("bandit-lemma", "resampling-bound", "stability-surface"):
        claim = claims(name)[0]
        first, second = claim.run(True, seed=3), claim.run(True, seed=3)
        assert (first.value, first.bound, first.outcome) == (second.value, second.bound, second.outcome)


def test_worker_processes_give_the_same_verdicts() -> None:
    chosen = [claims(name)[0] for name in ("triangle", "rate-form", "key-lemma")]
    alone = {r.claim.name: r.verdict for r in run(chosen, Effort())}
    apart = {r.claim.name: r.verdict for r in run(chosen, Effort(), jobs=2)}
    assert {k: (v.outcome, v.value) for k, v in alone.items()} == {k: (v.outcome, v.value) for k, v in apart.items()}
    back = {r.claim.name: r.verdict.outcome for r in run(chosen, Effort(), jobs=2, printed=("key-lemma",))}
    assert back == {"triangle": "holds as corrected", "rate-form": "improved", "key-lemma": "fails"}


def test_check_that_raises_is_a_failure() -> None:
    def check(effort: Effort) -> None:
        raise RuntimeError("no")

    one = Claim("broken", "x", "s", "c", "exact", check, control="anything")  # type: ignore[arg-type]
    results = list(run([one, claims("rate-form")[0]]))
    assert [r.verdict.outcome for r in results] == ["fails", "improved"]
    assert "RuntimeError: no" in results[0].verdict.note
    # A control that raises does not count as rejected.
    assert [r.control_failed for r in results] == [False, True]


def test_control_detects_a_check_with_a_constant_result() -> None:
    claim = Claim("idle", "x", "s", "c", "exact", lambda effort: holds(True, 0.5, 1.0), control="anything")
    result = next(iter(run([claim])))
    assert result.verdict.outcome == claim.expected
    assert not result.as_expected


def test_unexpected_verdict_is_detected() -> None:
    claim = Claim("other", "x", "s", "c", "exact", lambda effort: broken(True, 2.0, 1.0))
    assert not next(iter(run([claim]))).as_expected


def test_summary_counts_unexpected_verdicts_and_accepted_controls() -> None:
    wrong = Claim("wrong", "x", "s", "c", "exact", lambda effort: broken(True, 2.0, 1.0), control="anything")
    results = list(run([wrong, *claims("prop:POD"), *claims("hockey-stick")]))
    found = counts(results)
    assert {name: count for name, count in found.items() if count} == {
        "addition": 1, "holds as corrected": 1, "fails as printed": 1, "fails": 1,
    }  # fmt: skip
    assert controls(results) == "3 of 4 deliberately broken variants were rejected"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_claims_show_no_progress_of_their_games(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "DELAY", 0.0)
    monkeypatch.setattr(sys, "stderr", Terminal())
    list(run(claims("experts-hedge-horizon") + claims("leader-unstable")))
    assert sys.stderr.getvalue() == ""  # type: ignore[attr-defined]
    play(Experts(2), np.ones((5000, 2)), runs=200)  # control: the same terminal shows the progress bar of a game
    assert "playing" in sys.stderr.getvalue()  # type: ignore[attr-defined]


def test_results_are_json() -> None:
    result = next(iter(run(claims("table-gaussian"))))
    assert isinstance(result, Result)
    data = json.loads(json.dumps(result.as_json(), allow_nan=False))
    assert {"label", "verdict", "value", "bound", "runs", "seconds", "expected", "control", "printed"} <= set(data)
    assert data["number"] == "Table 1"
    assert data["bound"] is None


def test_links_of_the_page_have_unique_targets() -> None:
    """A chapter and a claim may have the same name: "Key lemma" and key-lemma."""
    chosen = [*claims("key-lemma"), *claims("be-the-leader")]
    text = page(list(run(chosen)), quick=True, seed=0).html()
    ids = re.findall(r' id="([^"]+)"', text)
    assert {"key-lemma", "chapter-key-lemma", "be-the-leader", "chapter-be-the-leader"} <= set(ids)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'href="#([^"]+)"', text)) <= set(ids)


def test_only_accepts_a_label_or_a_name() -> None:
    assert {claim.name for claim in claims("prop:POD")} == {"pod", "pod-conditions"}
    assert [claim.label for claim in claims("pod")] == ["prop:POD"]
    rejected(lambda: claims("prop:nothing"), "claim", "'prop:nothing'")


def test_at_most_is_false_for_nan() -> None:
    assert not at_most(float("nan"), 1.0)
    assert at_most(1.0, 1.0)


def test_upper_is_the_confidence_limit_of_the_regret() -> None:
    record = play(Bandit(3, Exponential(), Horizon(50)), np.eye(3)[np.arange(50) % 3], runs=20, seed=1)
    low, high = (float(end[-1]) for end in record.interval(0.999))
    assert upper(record) == high
    assert low < float(record.mean_regret[-1]) < high
    # t of 19 degrees at 99.9 %: 3.883.
    error = float(record.regret[:, -1].std(ddof=1)) / math.sqrt(20)
    assert upper(record) == pytest.approx(float(record.mean_regret[-1]) + 3.8834 * error, rel=1e-4)


def test_claim_fails_for_a_bandit_that_exceeds_its_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    # The claim plays the learner of the library: with all weights equal to 1 the regret exceeds the bound.
    def worse(learner: Bandit, losses: object, **options: Any) -> Record:
        return play(replace(learner, estimator=GeometricResampling(1)), losses, **options)

    monkeypatch.setattr(import_module("hannan.paper.bandits"), "play", worse)
    assert claims("bandits-part-2")[0].run(quick=True).outcome == "fails"


def test_dynamic_programming_finds_the_worst_sequences() -> None:
    """Compare dynamic programming with the enumeration of all sequences of {0, 1}²."""
    learner = Experts(2, Exponential(), Horizon(5))
    scale = learner.schedule().scale(1, 0.0)
    every = [
        experts.regret(learner, np.array(losses, dtype=float).reshape(5, 2))
        for losses in itertools.product((0, 1), repeat=10)
    ]
    value, losses = experts.zero_order(Exponential(), [scale] * 5)
    assert value == pytest.approx(max(every), abs=1e-9)
    assert experts.regret(learner, losses) == pytest.approx(value, abs=1e-9)
    # With a best loss of at most 1, five rounds cannot give more regret than any number of rounds.
    most, _ = experts.first_order(Exponential(), scale, 1)
    kept = [
        experts.regret(learner, np.array(losses, dtype=float).reshape(5, 2))
        for losses in itertools.product((0, 1), repeat=10)
        if min(sum(losses[::2]), sum(losses[1::2])) <= 1
    ]
    assert max(kept) <= most + 1e-9


def test_sum_over_all_paths_equals_the_mean_of_games() -> None:
    """Sum over all paths against the mean of 20,000 games: 4.9 standard errors, false-alarm probability 1e-6."""
    losses = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    exact = walked(FTRL(Entropy(), 2.0), losses).regret
    record = play(Bandit(2, Entropy(), Fixed(2.0)), losses, runs=20_000, seed=3)
    error = float(record.regret[:, -1].std(ddof=1)) / math.sqrt(20_000)
    assert abs(float(record.mean_regret[-1]) - exact) < 4.9 * error


def test_caption_of_the_printed_key_lemma_states_the_crossing() -> None:
    [claim] = [claim for claim in claims() if claim.name == "key-lemma-printed"]
    [picture] = claim.check(Effort(quick=True)).pictures
    [found] = re.findall(r"\bε up to (\d\.\d\d)\b", picture.alt)
    said = float(found)
    regrets, printed = (layer.rows for layer in picture.layers)
    for mine, bound in zip(regrets, printed, strict=True):
        assert mine["ε"] == bound["ε"]
        assert (mine["regret"] > bound["printed"]) == (mine["ε"] <= said + 1e-9)
    assert said == 0.92  # The curves cross at 0.93, between two points of the picture.
