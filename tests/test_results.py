"""Every public result shows itself: as text, in a notebook, as a dict or a frame, in files, in pictures, safely."""

from __future__ import annotations

import json
import re
from functools import cache
from html.parser import HTMLParser

import numpy as np
import pytest
from rejections import rejected

import hannan as hn
from hannan.saving.formatting import apart, short
from hannan.saving.result import Result, Shown, as_html, as_page, as_text

NASTY = '<script>alert("x")</script>'
PLAIN = "red"


def record(arm: str) -> hn.Record:
    losses = np.random.default_rng(0).random((400, 2)) * [0.2, 1.0]
    return hn.play(hn.Bandit([arm, "blue"]), losses, runs=4)


def certificate(arm: str) -> hn.Certificate:
    player = hn.Bandit([arm, "blue"]).start(seed=0)
    for _ in range(30):
        player.observe(player.act(), 0.25)
    return player.certificate()


def finding(arm: str) -> hn.Finding:
    return hn.audit(hn.FTPL(hn.Exponential(), 2.0), 3)


def privacy(arm: str) -> hn.Privacy:
    private = hn.Convex(hn.Ball(3), 1.0, tuning=hn.Fixed(2.0), smooth=0, guarantee="privacy")
    return private.privacy(rounds=10)


def combined(arm: str) -> hn.Combined:
    y = np.sin(np.arange(90.0))
    return hn.combine({arm: y + 0.4, "down": y - 0.5, "y": y}, "y")


def panel(arm: str) -> Result:
    y = np.sin(np.arange(90.0))
    series = np.repeat(["north", "south"], 45)
    return hn.combine({"s": series, arm: y + 0.4, "down": y - 0.5, "y": y}, "y", by="s")


def replayed(arm: str) -> hn.Replay:
    rng = np.random.default_rng(0)
    a = rng.integers(3, size=900)
    losses = (rng.random(900) < np.array([0.2, 0.5, 0.8])[a]).astype(float)
    return hn.replay({"a": np.array([arm, "b", "c"])[a], "l": losses}, "a", "l", runs=2)


def routed(arm: str) -> hn.Routes:
    losses = (np.random.default_rng(0).random((300, 2)) < [0.3, 0.6]).astype(float)
    return hn.route({arm: losses[:, 0], "b": losses[:, 1]}, ["bandit", "exp3", "hedge"], runs=3)


def compared(arm: str) -> hn.Comparison:
    losses = (np.random.default_rng(0).random((300, 2)) < [0.3, 0.6]).astype(float)
    return hn.compare({arm: hn.Bandit(2), "exp3": hn.exp3(2)}, {f"{arm} losses": losses}, runs=3)


MADE = {
    "Record": record,
    "Bound": lambda arm: hn.Bandit(10).bound(rounds=1000),
    "Certificate": certificate,
    "Finding": finding,
    "Stability": lambda arm: hn.FTPL(hn.Gamma(2.0), 3.0).stability(4),
    "Privacy": privacy,
    "Combined": combined,
    "Panel": panel,
    "Replay": replayed,
    "Routes": routed,
    "Comparison": compared,
}
#: Positions at which the names of the user's arms, columns or learners are shown.
NAMED = ("Record", "Certificate", "Combined", "Panel", "Replay", "Routes", "Comparison")
PICTURED = ("Record", "Combined", "Replay", "Routes", "Comparison")


@cache
def made(name: str, arm: str = PLAIN) -> Result:
    return MADE[name](arm)


class Read(HTMLParser):
    """The tags and the words of some HTML."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, list[tuple[str, str | None]]]] = []
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, attrs))

    def handle_data(self, data):
        self.words.append(data)


TABLES = ("div", "table", "thead", "tbody", "tr", "th", "td")
SHAPES = ("svg", "g", "path", "rect", "line", "text", "tspan", "defs", "clippath", "lineargradient", "stop")


def safe(html: str) -> bool:
    """True for tables, and shapes of a picture: no script, no event, no reference that is fetched."""

    def attribute(tag: str, name: str, value: str | None) -> bool:
        if tag in TABLES:
            return name == "style"
        fetched = "url(" in (value or "").replace("url(#", "")
        return not name.startswith("on") and name not in ("href", "xlink:href", "src") and not fetched

    return all(
        tag in TABLES + SHAPES and all(attribute(tag, name, value) for name, value in attrs)
        for tag, attrs in Read(html).tags
    )


@pytest.mark.parametrize("name", [name for name in MADE if name != "Panel"])
def test_result_has_its_type(name):
    assert type(made(name)) is getattr(hn, name)
    assert isinstance(made(name), Result)


@pytest.mark.parametrize("name", MADE)
def test_text_is_formatted_for_readers(name):
    text = str(made(name))
    assert "object at 0x" not in text
    assert not text.startswith(f"{name}("), "a raw repr"
    assert len(text.splitlines()) > 2
    # Four digits: no number has more, except counts and seeds; and no number like 9e-172.
    assert not re.search(r"[1-9]\.\d{4}", text)
    assert not re.search(r"e-\d{3}", text)


@pytest.mark.parametrize("name", MADE)
def test_html_is_a_safe_table(name):
    for arm in (PLAIN, NASTY):
        html = made(name, arm)._repr_html_()
        assert "<table" in html
        assert "<script" not in html
        assert safe(html)
    said = "".join(Read(made(name, NASTY)._repr_html_()).words)
    assert (NASTY in said) == (name in NAMED)


def test_control_unsafe_html_is_found():
    """The control of the test above."""
    assert not safe(f"<table>{NASTY}</table>")
    assert not safe('<div onclick="x()">a</div>')
    assert not safe('<svg><g onload="x()"></g></svg>')
    assert not safe('<svg><image href="a.png"></image></svg>')
    assert not safe('<svg><rect fill="url(http://a)"></rect></svg>')
    assert safe('<svg><rect fill="url(#a)"></rect></svg>')
    assert safe(as_html(Shown(NASTY, [(NASTY, NASTY)], (NASTY,), [(NASTY,)])))
    assert "<script" not in as_page(Shown(NASTY))


LAYOUT = Shown(
    "Bandit(2), 10 rounds: expected regret <= 3",
    [("regret", "4 (estimate)")],
    ("arm", "loss"),
    [("red", 1.0)],
    assumptions=[("valid", "word " * 40)],
    details=[("terms", "a  1\nb  2"), ("learner", "Bandit(2)")],
)


def test_text_has_its_sections_in_order_and_aligned() -> None:
    """Labels of all sections share one column; the lines of a text keep their breaks."""
    lines = as_text(LAYOUT).splitlines()
    assert lines[:2] == [LAYOUT.title, "  regret   4 (estimate)"]
    assert [line for line in lines if line and line[0] != " "][1:] == ["Assumptions", "Details"]
    assert lines[-3:] == ["  terms    a  1", "           b  2", "  learner  Bandit(2)"]
    short = as_text(LAYOUT, details=False)
    assert as_text(LAYOUT).startswith(short)
    assert "Assumptions" in short
    assert "Details" not in short
    html = as_html(LAYOUT)
    assert html.index("estimate") < html.index("Assumptions") < html.index("Details")


@pytest.mark.parametrize(("columns", "longest"), [("72", 72), ("400", 110), ("5", 60)])
def test_text_is_wrapped_to_the_terminal(monkeypatch, columns, longest) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    widths = [len(line) for line in as_text(LAYOUT).splitlines()]
    assert longest - 6 < max(widths) <= longest


@pytest.mark.parametrize("name", MADE)
def test_dicts_are_json(name):
    told = made(name).to_dict()
    again = json.loads(json.dumps(told, allow_nan=False))
    assert again == told
    assert told


@pytest.mark.parametrize("name", MADE)
def test_files(name, tmp_path):
    if name == "Record":
        path = made(name).save(tmp_path / "record.npz")
        assert hn.Record.load(path).learner == made(name).learner
    elif name in ("Combined", "Panel", "Replay", "Routes", "Comparison"):
        folder = made(name).save(tmp_path / "out")
        assert json.loads((folder / "summary.json").read_text())
        assert list(folder.glob("*.html"))
    else:
        path = made(name).save(tmp_path / "result.json")
        assert json.loads(path.read_text()) == made(name).to_dict()
        page = made(name, NASTY).save(tmp_path / "result.html").read_text()
        assert "<script" not in page
        rejected(lambda: made(name).save(tmp_path / "result.doc"), "path", ".json", ".html", "result.doc")
        assert sorted(p.name for p in tmp_path.iterdir()) == ["result.html", "result.json"]


@pytest.mark.parametrize("name", PICTURED)
def test_pictures(name):
    pytest.importorskip("altair")
    chart = made(name).plot().to_dict()
    assert "$schema" in chart


@pytest.mark.parametrize("name", ["Record", "Combined", "Panel", "Replay", "Routes", "Comparison"])
def test_frames(name):
    frame = made(name).to_frame()
    assert len(frame)
    assert len(frame.columns) > 1


def drawn_bound(chart: dict) -> bool:
    return any("strokeDash" in layer.get("mark", {}) for layer in chart["layer"])


def test_large_bound_is_not_drawn():
    pytest.importorskip("altair")
    seen = made("Record")
    assert seen.bound.value > 3 * seen.mean_regret.max()
    chart = seen.plot().to_dict()
    assert not drawn_bound(chart)
    assert any(str(seen.bound.says.split()[-1]) in line for line in chart["title"]["subtitle"])
    assert drawn_bound(seen.plot(log=True).to_dict())
    # The control: a bound that is near is drawn.
    worst = np.tile(np.eye(2), (500, 1))
    near = hn.play(hn.Experts(2, hn.Entropy(), hn.Fixed(0.3)), worst)
    assert near.bound.value < 2.5 * near.mean_regret.max()
    assert drawn_bound(near.plot().to_dict())


def test_names_are_short_and_differ():
    learners = [hn.Bandit(10, hn.Entropy()), hn.Bandit(10, hn.Tsallis(0.25)), hn.UCB1(10), hn.UCB1(10)]
    names = apart([repr(one) for one in learners])
    assert names == ["Bandit(10, Entropy())", "Bandit(10, Tsallis(alpha=0.25))", "UCB1(10) (1)", "UCB1(10) (2)"]
    assert short(repr(hn.Bandit([f"arm, {i})" for i in range(80)]))) == "Bandit(80 arms)"
    assert len(short("x" * 500)) == 40
    assert "Bandit(2 arms)" in str(made("Record")).splitlines()[0]


def test_tiny_numbers_are_printed_as_0():
    shown = Shown("t", (), ("a",), [(9e-172,), (0.123456,), (-1e6,), (None,), (True,)])
    assert as_text(shown).split() == ["t", "a", "≈0", "0.1235", "-1000000", "–", "yes"]
    assert "e-172" not in as_html(shown)
