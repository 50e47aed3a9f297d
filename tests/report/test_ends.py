"""Bars with error bars where lines coincide, dots with error bars elsewhere."""

from __future__ import annotations

import numpy as np
import pytest

import hannan as hn
from hannan.report.pictures import NEAR, coincide


def marks(chart: dict) -> list[str]:
    """The marks of a chart, in drawing order."""
    if "layer" in chart:
        return [mark for layer in chart["layer"] for mark in marks(layer)]
    return [chart["mark"]["type"]]


def test_lines_coincide_within_the_stated_fraction():
    assert coincide([0.0, 100.0, 100.0 * (1.0 - NEAR)])
    assert not coincide([0.0, 100.0, 99.9 * (1.0 - NEAR)])
    assert coincide([-100.0, -99.0])
    assert coincide([0.0, 0.0])
    assert not coincide([])


def test_bars_are_used_if_lines_coincide():
    pytest.importorskip("altair")
    losses = (np.random.default_rng(0).random((300, 2)) < [0.2, 0.7]).astype(float)
    same = hn.route(losses, ["hedge", "experts:gumbel", "bandit"], runs=3)  # one play, so one line
    chart = same.plot().to_dict()
    assert marks(chart) == ["bar", "rule"]
    assert chart["title"] == "Regret (bars, since lines coincide)"
    # The control: separate lines are dots, on an axis of their own.
    apart = hn.route(losses, ["hedge", "bandit"], runs=3).plot().to_dict()
    assert marks(apart) == ["rule", "point"]
    assert apart["title"] == "Regret"


def test_comparison_uses_bars_if_lines_coincide(tmp_path):
    pytest.importorskip("vl_convert")
    losses = (np.random.default_rng(0).random((100, 2)) < [0.2, 0.7]).astype(float)
    twins = {"one": hn.Experts(2, hn.Entropy()), "two": hn.Experts(2, hn.Gumbel())}
    for learners, bars in ((twins, True), ({"hedge": twins["one"], "exp3": hn.exp3(2)}, False)):
        folder = hn.compare(learners, {"clicks": losses}, runs=3).save(tmp_path / str(bars))
        said = (folder / "index.html").read_text(encoding="utf-8")
        assert ("Regret at the end (bars, since lines coincide)" in said) == bars
