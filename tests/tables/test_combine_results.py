"""Printed results of combinations."""

from __future__ import annotations

import re

import numpy as np
from forecasts import table

import hannan as hn
from hannan.tables.combine import guarantees, hindsight, panel_summary, summary


def test_result_states_rows_without_a_forecast_of_a_model(tmp_path):
    y = np.sin(np.arange(60.0))
    frame = {"good": y + 0.01, "bad": y + 1.0, "y": y}
    frame["bad"][5] = np.nan
    told = hn.combine(frame, "y").summary
    assert told.sleepers
    assert "than your best model (good)" in told.headline
    frame["good"][7] = np.nan
    assert "than your best model (good) in the 59 rows with its forecasts" in hn.combine(frame, "y").summary.headline


def test_one_row_and_a_loss_below_the_mean_in_words(tmp_path):
    told = hn.combine({"a": [1.0], "b": [2.0], "y": [0.0]}, "y")
    page = (told.save(tmp_path / "out") / "index.html").read_text()
    assert "1 row answered, 1 settled, 2 experts. Each" in page
    y = np.sin(np.arange(200.0))
    rows = dict(hn.combine({"good": y + 0.01, "bad": y + 9.0, "y": y}, "y").summary.rows())
    assert re.fullmatch(r"-[\d.]+, proved bound [\d.]+", rows["excess over average of models"])
    assert re.fullmatch(r"[\d.]+, proved bound [\d.]+", rows["excess over best model"])


def test_terminal_and_json_have_the_order_of_the_page():
    """The answer, the losses, the experts, then the proved statements."""
    forecasts, targets = table(60)
    found = hn.combine(forecasts, targets).summary
    told, shown = list(found.as_dict()), str(found)
    order = ["answer", "rows", "loss", "mixture", "mean_of_experts", "median_of_experts", "best_expert",
             "best_combination", "experts", "regret", "promises", "guarantee"]  # fmt: skip
    assert [name for name in told if name in order] == order
    lines = ["Combined forecast: ", "60 rows", "combined ", "average of models ", "median of models ", "best model (",
             "best fixed weights ", "model ", "excess loss over ", "  average of models ", "Bounds hold "]  # fmt: skip
    places = [f"\n{shown}".index(f"\n{line}") for line in lines]
    assert places == sorted(places)


def test_fixed_sentences_of_results():
    """Before a change, compare hypothesis, conclusion and quantifiers with docs/proofs/combine.md."""
    told = {
        guarantees.ANY_ROWS: "Bounds hold for the combined forecast itself, for any targets and forecasts (convex "
        "loss) and any delays",
        guarantees.COMBINATION: "promises.combination(q) is a bound on the excess loss over fixed weights q >= 0 that "
        "sum to 1, of columns without missing forecasts",
        summary.ON_MEAN_LOSS: "the bound is on the weighted mean <p, l> of the models' losses, which the combined "
        "forecast never exceeds",
        summary.ON_DRAWN: "the loss is not convex: the bound is on playing an expert drawn from the weights",
        guarantees.REPLACED: "in rows without a forecast of the model, rule B or AdaHedge stands in for it",
        guarantees.OWN_ROWS: "the comparison covers the rows with a forecast of the model",
        guarantees.NOT_CONVEX: "a capped loss is not convex: the proof does not apply. Use the learner adahedge, whose "
        "drawn expert has a bound",
        hindsight.ONE_LOOK: "95% intervals for one look at the result, from the variation between blocks of "
        "consecutive rows and the correlation of neighbors; the best model is chosen in hindsight, which favors it",
        panel_summary.SCALED: "losses divided by the mean loss of the average of models in their series; every series "
        "counts equally",
        panel_summary.MISSING: "some forecasts of models are missing; hn.Combiner has bounds for a single series",
    }
    for sentence, golden in told.items():
        assert sentence == golden


LAYOUT = """\
Combined forecast: 50.0% worse than your best model (a), 0.0% better than the equal-weight average
40 rows; loss: absolute; rule: mean
verdict  the same loss as the average of models; 50.0% worse than the best model (a) (50.0% to 50.0%)

                    total loss  per row
combined                    60      1.5
average of models           60      1.5
median of models            60      1.5
best model (a)              40        1
best fixed weights          40        1   in hindsight; no fixed weights are below 40

model  mean loss  rows  weight now
a              1    40         0.5
b              2    40         0.5

excess loss over      actual  proved bound
  average of models        0          none
  best model              20          none
  best fixed weights      20          none
No bound over the average of models, best model, best fixed weights: no bound is proved for the rule mean

Assumptions
  improvements  95% intervals for one look at the result, from the variation between blocks of consecutive rows and
                the correlation of neighbors; the best model is chosen in hindsight, which favors it"""


def columns(holes=False):
    y = np.tile([0.0, 4.0], 20)
    a = y + 1.0
    if holes:
        a[::2] = np.nan
    return {"a": a, "b": y + 2.0, "y": y}


def test_layout_of_the_printed_summary():
    told = str(hn.combine(columns(), "y", learner="mean"))
    assert told == LAYOUT


def test_assumptions_are_printed_only_if_they_apply():
    whole, holes = str(hn.combine(columns(), "y")), str(hn.combine(columns(holes=True), "y"))
    assert "best fixed weights  over" not in whole
    assert guarantees.ANY_ROWS in whole
    assert guarantees.REPLACED in holes
    assert "best fixed weights  over the 1 model without missing forecasts" in holes
    drawn, capped = (str(hn.combine(columns(), "y", learner="adahedge", cap=cap)) for cap in (None, 2.0))
    assert "best model, expert drawn" in drawn
    assert " ".join(drawn.split()).count(summary.ON_MEAN_LOSS) == 1
    assert " ".join(capped.split()).count(summary.ON_DRAWN) == 1


def test_panel_with_missing_forecasts_has_no_bound_over_its_best_model():
    table = {"series": np.repeat(["p", "q"], 20), **columns(holes=True)}
    told = str(hn.combine(table, "y", by="series"))
    assert told.splitlines()[1].startswith("2 series by series; 40 rows; loss: absolute; rule: two-layers")
    assert f"No bound over the best model: {panel_summary.MISSING}" in told
    assert guarantees.ANY_ROWS in told
