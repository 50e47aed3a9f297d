"""The tournament: every contestant plays, no bound is exceeded, and the report opens in a browser."""

from __future__ import annotations

import inspect
import json
import re
import shutil

import numpy as np
import pytest

import hannan as hn
from benchmarks.tournament import contest
from benchmarks.tournament.__main__ import command
from benchmarks.tournament.arenas import COMBINED, advised, arenas
from benchmarks.tournament.field import contestants
from benchmarks.tournament.page import _map, page, standings
from hannan.games.compare.numbers import interval

TINY = contest.Size(n=4, rounds=60, runs=3, most_rows=60, greedy=12)


@pytest.fixture(scope="module")
def outcomes():
    return list(contest.hold(size=TINY))


def test_every_learner_plays_against_every_adversary(outcomes):
    for setting in contest.SETTINGS:
        names = {arena.name for arena in arenas(setting, TINY, 0)}
        if setting == "combinatorial":
            assert {name for name in names if name.startswith("paths")}
            assert {f"pairs, {name.replace('_', ' ')}" for name in COMBINED} <= names
        else:
            assert {name.replace("_", " ") for name in contest.known_adversaries()} <= names
        played = {(o.learner, o.adversary) for o in outcomes if o.setting == setting}
        assert played == {(c.name, name) for c in contestants(setting) for name in names}


def test_picture_states_its_number_of_sequences(outcomes):
    games = [o for o in outcomes if o.setting == "experts"]
    picture = _map(games, list(dict.fromkeys(o.learner for o in games)))
    shown = {row["losses"] for row in picture.layers[0].rows}
    assert len(shown) < len({o.adversary for o in games})  # losses of adaptive adversaries differ by learner
    assert picture.alt.endswith(f" on {len(shown)} loss sequences.")


def test_every_exported_learner_takes_part():
    exported = {
        value for name in hn.__all__
        if inspect.isclass(value := getattr(hn, name)) and hasattr(value, "start") and hasattr(value, "bound")
    }  # fmt: skip
    field = {type(c.build(4, 100)) for s in ("experts", "bandit") for c in contestants(s)}
    field |= {type(c.build(4, 8, 100)) for c in contestants("expert_bandit")}
    field |= {type(c.build(hn.MSets(4, 2), 100)) for c in contestants("combinatorial")}
    # Convex sets have losses of another kind, and no adversaries in common with arms. Slates are sets of one size, not
    # paths. The regret of private learners includes the cost of privacy, which the tournament does not measure.
    others = {
        "Convex",
        "OnlineGradientDescent",
        "ExponentiatedGradient",
        "SlateBandit",
        "SlateExperts",
        "PrivateExperts",
    }
    others |= {"LocallyPrivate", "PrivateBall", "OptimisticDescent", "SmoothDescent", "OnlineNewton", "BarrierBandit"}
    assert {cls.__name__ for cls in exported - field} <= others


def test_listed_decisions_have_the_losses_of_their_components():
    arena = next(a for a in arenas("combinatorial", TINY, 0) if a.name.startswith("paths"))
    paths, listed = arena.decisions, arena.losses_of(hn.hedge(20))
    assert listed.shape == (TINY.rounds, 20)
    assert listed.sum(axis=0).min() == pytest.approx(paths.best(arena.losses.sum(axis=0)) @ arena.losses.sum(axis=0))
    assert arena.losses_of(hn.FPLTrix(paths)) is arena.losses


def test_no_bound_is_exceeded(outcomes):
    assert [(o.learner, o.adversary) for o in outcomes if o.kept is False] == []
    assert all((o.bound is None) == bool(o.withheld) for o in outcomes)


def test_standings_are_sorted_and_complete(outcomes):
    games = [o for o in outcomes if o.setting == "bandit"]
    rows = standings(games, {c.name: c.promise for c in contestants("bandit")})
    assert [row["share"] for row in rows] == sorted(row["share"] for row in rows)
    assert {row["learner"] for row in rows} == {c.name for c in contestants("bandit")}
    assert all(row["low"] <= row["share"] <= row["high"] for row in rows)
    assert all(row["microseconds"] > 0.0 and row["promise"] for row in rows)


def test_user_defined_tables_are_played(tmp_path):
    rng = np.random.default_rng(0)
    own = {"mine": rng.random((80, 3)), "pair": rng.random((50, 2))}
    for setting in contest.SETTINGS:
        found = {a.name: a for a in arenas(setting, TINY, 0, own) if a.real}
        assert [name.removeprefix("pairs, ") for name in found] == (
            ["mine"] if setting == "combinatorial" else list(own)
        )
        assert all(len(arena.losses) <= TINY.most_rows for arena in found.values())
    for text, rule in (
        ("a,b\n0.5,1.5\n", "must be in [0, 1]; got 1.5"),
        ("a,b\n", "must have at least one row of losses"),
    ):
        (tmp_path / "bad.csv").write_text(text)
        with pytest.raises(ValueError, match=re.escape(rule)):
            command(["--quick", "--table", f"bad={tmp_path / 'bad.csv'}", "--out", str(tmp_path / "t")])


def test_exact_expectation_has_an_interval_of_length_zero(outcomes):
    hedge = next(o for o in outcomes if o.learner == "Hedge")
    assert hedge.interval() == (hedge.regret, hedge.regret)
    low, high = interval(np.array([1.0, 2.0, 3.0]))
    assert (low + high) / 2 == pytest.approx(2.0)
    assert high - low == pytest.approx(2 * 4.302652729911275 / np.sqrt(3), rel=1e-9)


def test_advice_has_the_stated_accuracy():
    """The last expert is correct in 3 of 4 rounds, and by chance in a quarter of the others: 0.8125 of 20,000, 5
    standard deviations.
    """
    losses = np.random.default_rng(0).random((20_000, 4))
    advice = advised(losses, 16, 0)
    assert (advice[:, :4] == np.arange(4)).all()
    share = (advice[:, -1] == losses.argmin(axis=1)).mean()
    assert abs(share - 0.8125) < 5 * np.sqrt(0.8125 * 0.1875 / 20_000)


def test_the_command(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(contest.Size, "of", classmethod(lambda cls, quick: TINY))
    with pytest.raises(SystemExit) as leave:
        command(["--quick", "--setting", "expert-bandit", "--json", "--out", str(tmp_path)])
    assert leave.value.code == 0
    data = json.loads(capsys.readouterr().out)
    assert list(data["standings"]) == ["expert_bandit"]
    assert json.loads((tmp_path / "tournament.json").read_text())["games"] == data["games"]
    assert "<table" in (tmp_path / "index.html").read_text()


def test_the_page_opens_in_chromium(outcomes, tmp_path):
    executable = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if executable is None:
        pytest.skip("no Chromium is installed (chromium, chromium-browser or google-chrome on the path)")
    sync = pytest.importorskip("playwright.sync_api")
    promises = {s: {c.name: c.promise for c in contestants(s)} for s in contest.SETTINGS}
    path = page(outcomes, promises, {"seed": "0"}, ["a note"]).write(tmp_path / "index.html")
    with sync.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox", "--disable-gpu"])
        window = browser.new_page(viewport={"width": 1280, "height": 900})
        said, asked = [], []
        window.on("pageerror", lambda error: said.append(str(error)))
        window.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
        window.on("request", lambda request: asked.append(request.url))
        window.goto(path.as_uri())
        window.wait_for_selector(".chart canvas, .chart svg")
        assert window.locator("section").count() == 4
        assert window.locator("#bandit table").count() == 2
        before = window.locator("#bandit table").first.locator("tbody tr td").first.inner_text()
        window.locator("#bandit table").first.locator("th button", has_text="µs per round").click()
        times = window.locator("#bandit table").first.locator("tbody tr td:last-child").all_inner_texts()
        browser.close()
    assert said == []
    assert all(re.match(r"(file|data|blob):", url) for url in asked)
    assert before
    numbers = [float(text) for text in times]
    assert numbers in (sorted(numbers), sorted(numbers, reverse=True))
