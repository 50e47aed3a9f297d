"""Scripts of `examples/` run on real data and print the expected numbers; the gallery is tested in test_gallery.py."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


def load(name):
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_language_models(capsys):
    chosen = load("language_models").main(requests=2400)
    told = capsys.readouterr().out
    assert "Bandit(3 arms), " in told
    # The expensive model is worth its price in one of three tasks; 600 requests per task separate 0.65 from 0.45.
    assert chosen["code"]["large"] > 0.6 * sum(chosen["code"].values())
    assert chosen["summary"]["large"] < 0.3 * sum(chosen["summary"].values())


def test_demo_shows_combination_and_evidence(capsys, tmp_path):
    pytest.importorskip("river")
    demo = load("demo")
    demo.main(str(tmp_path / "demo"))
    printed = capsys.readouterr().out
    assert re.search(r"59\.0%.*you_gov.*31\.2%", printed)
    bars = [line for line in printed.splitlines() if "█" in line]
    assert len(bars) == 8
    assert "COMBINATION" in bars[0]
    assert (tmp_path / "demo" / "combined.csv").exists()
    found = demo.banners()
    assert found.best == "blue"
    assert f"{found.decisions:,} decisions" in printed
    for arm, rate in demo.CLICKS.items():
        low, high = found.arms[arm].interval
        assert low <= rate <= high


def test_example_with_open_bandit_data(capsys):
    """Skipped without the data files of obp: pip install --no-deps obp."""
    import real_data

    example = load("open_bandit")
    try:
        real_data.open_bandit()
    except real_data.NotInstalled as missing:
        example.main()
        assert "pip install --no-deps obp" in capsys.readouterr().out
        pytest.skip(str(missing))
    example.main()
    told = capsys.readouterr().out
    assert re.search(r"10000 rows.*34 actions", told)
    assert told.count("  dr ") == 3


def test_missing_data_sets_name_the_command_that_installs_them(monkeypatch):
    import real_data

    monkeypatch.setattr(real_data, "find_spec", lambda name: None)
    for load_set in (
        real_data.electricity,
        real_data.approval,
        real_data.flights,
        real_data.stocks,
        real_data.open_bandit,
    ):
        with pytest.raises(real_data.NotInstalled, match="pip install"):
            load_set()
    assert "hannan" in sys.modules


def test_compare(tmp_path, capsys):
    pytest.importorskip("pyarrow")
    found = load("compare").main([str(tmp_path / "out"), "--quick"])
    told = capsys.readouterr().out
    assert re.search(r"10 arms.*400 rounds.*8 runs", told)
    assert r"\toprule" in told
    assert found.cell("default (Tsallis-INF)", "drifting").last_bound < 400.0
    assert found.cell("user-defined softmax", "drifting").last_bound is None
    assert (tmp_path / "out" / "figure.png").stat().st_size > 10_000
