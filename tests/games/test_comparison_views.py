"""Views of a comparison: means, quantiles, the largest run, the lead beyond noise, and figures for print."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import hannan as hn
from hannan.games.compare.numbers import Cell, lead
from hannan.report.pictures import STYLES, style
from tests.oracles.rejections import rejected


def cells(values: np.ndarray, paired: bool = True) -> list[Cell]:
    """Return one cell per column of final regrets."""
    marks = np.array([10])
    return [
        Cell(
            learner=f"l{k}", environment="e", n=2, rounds=10, runs=len(values), seed=0, at=marks,
            regret=values[:, k : k + 1], loss=values[:, k : k + 1], bound=np.array([np.nan]), against="", source="",
            withheld="", seconds=0.0, paired=paired,
        )
        for k in range(values.shape[1])
    ]  # fmt: skip


@pytest.fixture(scope="module")
def result() -> hn.Comparison:
    return hn.compare(
        {"ours": "bandit", "Exp3": "exp3", "worst": {"learner": "exp3", "scale": 0.5}},
        {"clicks": {"means": [0.2, 0.4]}, "charged": "charge_the_likely"}, n=2, runs=20, rounds=2000,
    )  # fmt: skip


@pytest.mark.parametrize("paired", [True, False])
def test_significant_lead_is_rarely_wrong(paired: bool) -> None:
    # Five equal learners: a lead beyond noise has probability at most 5%. Of 800 trials more than 75 have
    # probability below 1e-6 (binomial).
    rng = np.random.default_rng(1)
    draws = rng.normal(size=(800, 12, 5))
    wrong = sum(not lead(cells(values, paired)).level_with for values in draws)
    assert wrong <= 75
    # Control: comparing the best with the second at 95%, without regard to the choice, is wrong much more often.
    naive = 0
    for values in draws:
        order = np.argsort(values.mean(axis=0))
        gap = values[:, order[1:]] - values[:, order[:1]]
        naive += bool((gap.mean(axis=0) > 2.2 * gap.std(axis=0, ddof=1) / np.sqrt(12)).any())
    assert naive > 150


def test_a_clear_lead_is_found_with_its_size() -> None:
    values = np.random.default_rng(2).normal(size=(30, 3)) + np.array([0.0, 10.0, 20.0])
    found = lead(cells(values))
    assert (found.best, found.level_with) == ("l0", [])
    assert found.gaps["l1"][0] == pytest.approx(float((values[:, 1] - values[:, 0]).mean()))
    assert found.gaps["l1"][1] < found.gaps["l1"][0] < found.gaps["l1"][2]
    smallest = min(gap[1] for gap in found.gaps.values())
    assert float(re.findall(r"[\d.]+", str(found))[-1]) == pytest.approx(smallest, rel=1e-3)


def test_pairs_of_runs_use_the_common_losses() -> None:
    rng = np.random.default_rng(3)
    values = rng.normal(scale=100.0, size=(20, 1)) + rng.normal(size=(20, 2)) + [0.0, 5.0]
    assert lead(cells(values, paired=True)).level_with == []
    assert lead(cells(values, paired=False)).level_with == ["l1"]  # control: the common part is noise


def test_one_run_gives_no_lead() -> None:
    one = hn.compare({"a": "bandit", "b": "exp3"}, {"e": {"means": [0.1, 0.9]}}, runs=1, rounds=500)
    assert len(one.lead("e").level_with) == 1
    assert one.to_latex().count(r"\mathbf") == 1  # one run shows nothing but its smallest number


def test_the_headline_names_the_winner(result: hn.Comparison) -> None:
    assert result.lead("clicks").best == "ours"
    assert "ours in 1 of 2 environments" in result.headline() or "ours in 2 of 2" in result.headline()
    single = replace(result, cells=tuple(result.among("clicks")))
    assert single.headline() == str(result.lead("clicks"))
    assert single.headline() in str(single)
    rejected(lambda: result.lead("click"), "environment", "click")


def test_learners_that_are_not_significantly_worse_are_bold() -> None:
    rng = np.random.default_rng(4)
    common = rng.normal(size=(40, 1))
    values = common + rng.normal(scale=0.1, size=(40, 3)) + [0.0, 0.01, 5.0]
    latex = hn.Comparison(tuple(cells(values))).to_latex()
    rows = [line for line in latex.splitlines() if line.startswith("l") and "&" in line]
    assert [r"\mathbf" in row for row in rows] == [True, True, False]


def test_quantiles_and_the_largest_run(result: hn.Comparison) -> None:
    final = result.cell("Exp3", "clicks").final
    latex = result.to_latex(show="quantiles")
    assert f"{np.median(final):.4g}\\ ({np.quantile(final, 0.95):.4g})" in latex
    assert f"{final.max():.4g}" in result.to_latex(show="largest")
    drawn = {show: str(result.plot(show=show).to_dict()) for show in ("mean", "quantiles", "largest")}
    assert len(set(drawn.values())) == 3
    lines = {show: result.figure(show=show).axes[0].lines[1].get_ydata()[-1] for show in drawn}
    assert lines == pytest.approx(
        {"mean": final.mean(), "quantiles": np.median(final), "largest": final.max()}
    )  # fmt: skip
    for call in (result.plot, result.figure, result.to_latex):
        rejected(lambda call=call: call(show="median"), "show", "median")


def test_learners_have_the_same_style_in_page_chart_and_figure(result: hn.Comparison) -> None:
    assert len({style(k) for k in range(12)}) == 12
    assert len({style(k)[0] for k in range(8)}) == 8
    expected = {name: style(k) for k, name in enumerate(result.learners)}
    lines = {line.get_label(): line for line in result.figure().axes[0].lines}
    assert {name: line.get_color() for name, line in lines.items()} == {n: color for n, (color, _) in expected.items()}
    spec = str(result.plot().to_dict())
    from hannan.games.compare.page import page

    whole = str(page(replace(result, cells=tuple(result.among("clicks")))))
    for color, _ in expected.values():
        assert color in spec
    assert "dashed=True" in whole
    many = tuple(replace(result.cells[0], learner=f"l{k}") for k in range(STYLES + 1))
    for call in (hn.Comparison(many).plot, hn.Comparison(many).figure):
        rejected(call, "learners", str(STYLES), str(STYLES + 1))


def test_a_folder_has_figures_for_print(result: hn.Comparison, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    result.save(tmp_path / "out")
    assert (tmp_path / "out" / "figure.pdf").read_bytes().startswith(b"%PDF")
    assert "<svg" in (tmp_path / "out" / "figure.svg").read_text()


def test_printed_lead_is_in_the_table_and_missing_bounds_have_a_reason() -> None:
    losses = hn.adversaries.stochastically_constrained(3000, 5)
    learners = {"Exp3": "exp3", "Tsallis-INF": "bandit", "UCB1": "ucb1"}
    printed = str(hn.compare(learners, {"drift": losses}, runs=20))
    best, least = re.search(r"  (.*) has the smallest mean regret, by at least ([\d.]+) beyond noise", printed).groups()
    assert f"minus {best}" in printed
    ends = [float(low) for low in re.findall(r"\(\+([\d.]+) \.\. ", printed)]
    assert min(ends) == float(least)
    assert "bound on the mean" in printed
    assert re.search(r"– UCB1: no bound: .*i\.i\.d\.", printed)
    # Control: with a baseline, the column has one interval per pair and the difference to that learner.
    other = str(hn.compare(learners, {"drift": losses}, runs=20, baseline="Exp3"))
    assert "minus Exp3" in other
    assert [float(low) for low in re.findall(r"\(\+([\d.]+) \.\. ", other)] != ends
