"""Results in a notebook: a kernel runs cells, and the output that Jupyter would show is checked."""

from __future__ import annotations

import os
import re
from pathlib import Path

import generated
import pytest

ROOT = Path(__file__).parents[1]

CELLS = [
    """import numpy as np, hannan as hn
rng = np.random.default_rng(0)
losses = (rng.random((2000, 3)) < [0.3, 0.5, 0.7]).astype(float)
learner = hn.Bandit(["red", "green", "<b>blue</b>"])
record = hn.play(learner, losses, runs=20)
record""",
    "record.bound",
    "record.plot(hn.play(hn.exp3(3), losses, runs=20))",
    """player = learner.start()
for row in losses[:100]:
    move = player.act()
    player.observe(move, row[move.action])
player.certificate()""",
    "hn.audit(hn.FTPL(hn.Exponential(), 2.0), 3)",
    "hn.FTPL(hn.Gamma(2.0), 3.0).stability(4)",
    "hn.Convex(hn.Ball(3), 1.0, tuning=hn.Fixed(2.0), smooth=0, guarantee='privacy').privacy(rounds=10)",
    """y = np.sin(np.arange(200.0))
combined = hn.combine({"up": y + 0.5, "down": y - 0.4, "naive": np.roll(y, 1), "y": y}, "y")
combined""",
    "combined.plot('weights')",
    """a = rng.integers(3, size=3000)
replay = hn.replay({"a": a, "l": losses[:, 0][a % 2]}, "a", "l", runs=2)
replay""",
    "replay.plot()",
    "routes = hn.route(losses, ['bandit', 'exp3', 'hedge'], runs=5)\nroutes",
    "routes.plot()",
    "comparison = hn.compare({'ours': learner, 'exp3': hn.exp3(3)}, {'clicks': losses}, runs=5)\ncomparison",
    "comparison.plot()",
    "learner",
    "hn.Experts(4).start(seed=0)",
    "hn.Convex(hn.Ball(3), 1.0, tuning=hn.Horizon(100), smooth=0.0, loss_bound=1.0).start(seed=0)",
    "hn.Thompson(3)",
]
#: Cells whose result shows a picture above its table.
PICTURED = {"record", "combined", "replay", "routes", "comparison"}
#: Control: the same chart as Altair shows it, which loads a script.
CONTROL = "import altair as alt\nalt.LayerChart.from_dict(routes.plot().to_dict())"


def fetched(data: dict[str, str]) -> list[str]:
    """Return the addresses that a browser would load, without names of XML languages."""
    addresses = [
        found for said in data.values() for found in re.findall(r"(?:https?:)?//[\w.-]+\.\w+[^\s\"'<>]*", said)
    ]
    return [address for address in addresses if not address.startswith("http://www.w3.org/")]


def notebook():
    """Return a notebook of the cells after running it."""
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in [*CELLS, CONTROL]])
    nbclient.NotebookClient(book, timeout=120, kernel_name="python3").execute()
    return book


def test_every_result_is_displayed(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", f"{ROOT / 'src'}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    book = notebook()
    for cell in book.cells:
        (shown,) = [out for out in cell.outputs if out.output_type == "execute_result"]
        if cell.source == CONTROL:
            # The browser of the reader would load a script.
            assert fetched(shown.data)
            continue
        assert fetched(shown.data) == [], cell.source
        if ".plot(" in cell.source:
            assert set(shown.data) == {"image/svg+xml", "text/plain"}
            assert shown.data["image/svg+xml"].count("<path") > 4
            continue
        html = shown.data["text/html"]
        assert "<table" in html
        assert "<b>" not in html
        assert "<script" not in html
        assert ("<svg" in html) == (cell.source.split("\n")[-1] in PICTURED), cell.source
        assert len(shown.data["text/plain"].splitlines()) >= 1
    keep = os.environ.get("HANNAN_NOTEBOOK")
    if keep:  # for visual inspection
        import nbformat

        nbformat.write(book, keep)


def test_sliders_of_the_lens_draw_their_pictures(monkeypatch):
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipywidgets")
    monkeypatch.setenv("PYTHONPATH", f"{ROOT / 'src'}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    book = nbformat.read(ROOT / "examples" / "lens.ipynb", as_version=4)
    assert all(not cell.get("outputs") for cell in book.cells), "commit the notebook without outputs"
    client = nbclient.NotebookClient(book, timeout=120, kernel_name="python3")
    client.execute()
    widgets = [
        out
        for cell in book.cells
        for out in cell.get("outputs", [])
        if "application/vnd.jupyter.widget-view+json" in out.get("data", {})
    ]
    assert len(widgets) == 3
    drawn = [out for state in client.widget_state.values() for out in state.get("outputs", [])]
    assert sum("image/png" in out.get("data", {}) for out in drawn) == 3


def test_the_companion_of_the_paper_prints_its_outputs():
    """The notebook has one cell per family of claims, and is committed with its outputs; `make pages` writes them."""
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("nbclient")
    kept, fresh = nbformat.read(generated.NOTEBOOK, as_version=4), generated.executed(generated.NOTEBOOK)
    cells = [cell for cell in fresh.cells if cell.cell_type == "code"]
    for old, new in zip((cell for cell in kept.cells if cell.cell_type == "code"), cells, strict=True):
        assert old.outputs == new.outputs, old.source
    text = "".join(out.text for cell in cells for out in cell.outputs)
    assert len(re.findall("control: fails\n", text)) >= 30
    assert "control: holds" not in text
    assert len(cells) == len([cell for cell in fresh.cells if cell.cell_type == "markdown"])
