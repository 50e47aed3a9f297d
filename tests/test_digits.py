"""Printed results, pages and tables have rounded numbers with at most four digits, and none like 9e-172.

Integers, dates and values that the user passed (in the description of a learner as code) keep all digits. `to_dict()`
and JSON have full precision.
"""

from __future__ import annotations

import contextlib
import re
from functools import cache
from html.parser import HTMLParser

import numpy as np
import pytest

import hannan as hn
from hannan.cli import main
from hannan.report import Table
from hannan.saving.formatting import AtMost, ceiling, figure
from hannan.saving.result import Shown, as_text

#: Numbers, except after "=": arguments in the description of a learner are code and exact.
NUMBER = re.compile(r"(?<![\w.:/=-])[-−+]?\d+(?:\.\d+)?(?:e[-+−]?\d+)?")
RNG = np.random.default_rng(0)
LOSSES = (RNG.random((900, 3)) < [0.3, 0.5, 0.7]).astype(float)
WAVE = 1234.5678 * np.sin(np.arange(120.0)) + 5000.0
#: The last targets are unknown, so their rows are forecasts.
TABLE = {"up": WAVE + 55.51234, "down": WAVE - 44.41234, "y": np.where(np.arange(120) < 117, WAVE, np.nan)}
GAPS = {0.1: -5.123, 0.5: 0.0, 0.9: 5.77}
BANDS = {f"{m}-q-{q}": WAVE + s + gap for m, s in (("a", 3.0), ("b", -7.7)) for q, gap in GAPS.items()}
LONG = {k: np.tile(v, 3) for k, v in TABLE.items()} | {"id": np.repeat(list("abc"), 120), "ds": np.tile(range(120), 3)}


def too_long(text: str, given: str = "") -> list[str]:
    """Return numbers with more than four digits that are neither integers nor in `given`, and numbers below 1e-12."""
    found = []
    for number in NUMBER.findall(text):
        digits, _, power = number.lstrip("+-−").partition("e")
        many = len(digits.replace(".", "").lstrip("0")) > 4 and "." in digits
        if (many or (power.startswith("-") and int(power) < -12)) and number not in given:
            found.append(number)
    return found


class Words(HTMLParser):
    """Visible text of an HTML page, and its alternative text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.said: list[str] = []
        self.hidden = 0
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.hidden += tag in ("script", "style")
        # The title of a cell, a tooltip, has all digits.
        self.said += [value for name, value in attrs if name in ("aria-label", "alt") and value]

    def handle_endtag(self, tag):
        self.hidden -= tag in ("script", "style")

    def handle_data(self, data):
        self.said += [] if self.hidden else [data]


def played(learner, rounds: int = 40):
    """Return a certificate after some rounds."""
    player = learner.start(seed=0)
    for t in range(rounds):
        move = player.act([0, 1, 2, t % 3]) if isinstance(learner, hn.ExpertBandit) else player.act()
        one = learner.setup().setting != "experts"
        player.observe(move, float(0.7123 * LOSSES[t, move.action]) if one else 0.7123 * LOSSES[t])
    return player.certificate(delta=0.05) if learner == hn.exp3_ix(3, 1000) else player.certificate()


def convex(learner):
    player = learner.start(seed=0)
    for _ in range(9):
        player.observe(player.act(), hn.Linear(0.3 * np.ones(3)))
    return player.certificate()


def combiner():
    told = hn.Combiner(["up", "down"])
    for t in range(50):
        told.answer(t, [TABLE["up"][t], TABLE["down"][t]])
        told.settle(t, WAVE[t])
    return told.certificate()


def fleet(key=None):
    fleet = hn.Fleet(hn.Bandit(3))
    fleet.observe(fleet.act(np.arange(20)), RNG.random(20))
    return fleet.certificate() if key is None else fleet.certificate(key)


def replayed():
    action = RNG.integers(3, size=900)
    return hn.replay({"a": action, "l": LOSSES[np.arange(900), action]}, "a", "l", runs=2)


LEARNERS = [
    hn.Bandit(3, hn.Exponential()),
    hn.Bandit(3, hn.Tsallis(0.37), hn.Horizon(1234)),
    hn.Experts(3, hn.Gumbel(), hn.SelfConfident()),
    hn.Experts(3, hn.Gamma(2.0), hn.BestLoss(77.7)),
    hn.AdaHedge(3, loss_range=(0.0, 1.0)),
    hn.Squint(3),
    hn.MLPoly(3),
    hn.LBInf(3),
    hn.exp3_ix(3, 1000),
    hn.exp3_s(3, 1000),
    hn.fixed_share(3, 1000),
    hn.ExpertBandit(3, 4),
    hn.exp4_clipped(3, 4),
]
PRIVATE = hn.Convex(hn.Ball(3), 1.0, hn.GaussianNoise(1e-6), hn.Fixed(2.0), smooth=0, guarantee="privacy")
#: Every public result, with a function that computes it.
RESULTS = {
    **{f"bound of {learner!r}": (lambda learner=learner: learner.bound(rounds=777)) for learner in LEARNERS},
    **{f"certificate of {learner!r}": (lambda learner=learner: played(learner)) for learner in LEARNERS},
    "convex bound": lambda: hn.gaussian_ftpl(hn.Ball(3), 500).bound(333),
    "convex certificate": lambda: convex(PRIVATE),
    "privacy": lambda: PRIVATE.privacy(rounds=10),
    "curve": lambda: PRIVATE.privacy_curve(rounds=100, delta=1e-6),
    "record": lambda: hn.play(hn.Bandit(3), LOSSES, runs=7),
    "stability": lambda: hn.FTPL(hn.Gamma(2.5), 1.7).stability(3),
    "finding": lambda: hn.audit(hn.FTPL(hn.Gamma(2.5), 1.7), 3),
    "fleet": fleet,
    "key": lambda: fleet(3),
    "combiner": combiner,
    "replay": replayed,
    "combined": lambda: hn.combine(TABLE, "y"),
    "combined by adahedge": lambda: hn.combine(TABLE, "y", "squared", "adahedge"),
    "quantiles": lambda: hn.combine(BANDS | {"y": TABLE["y"]}, "y"),
    "panel": lambda: hn.combine(LONG, "y", by="id"),
    "routes": lambda: hn.route(LOSSES, ["bandit", "exp3", "hedge"], runs=3),
    "comparison": lambda: hn.compare({"ours": hn.Bandit(3), "exp3": hn.exp3(3)}, {"clicks": LOSSES}, runs=3),
}
PAGED = ("replay", "combined", "combined by adahedge", "quantiles", "panel", "routes", "comparison")
COMMANDS = [
    "bound --learner bandit --smoothing tsallis --n 3 --rounds 777",
    "bound --learner experts --smoothing gumbel --n 10 --best-loss 100",
    "audit --smoothing gamma:2.5 --n 3 --scale 1.7",
    "privacy --d 3 --rounds 100 --epsilon 0.77 --curve",
    "play --learner bandit --smoothing tsallis --n 3 --rounds 99 --runs 3",
]


@cache
def made(name: str):
    return RESULTS[name]()


def test_control_finds_five_digits_and_tiny_numbers():
    """Integers, short numbers and given numbers are accepted."""
    assert too_long("scale 5.57629, 9e-172, 0.00123456 and -12.345") == ["5.57629", "9e-172", "0.00123456", "-12.345"]
    assert too_long("123456 rounds, seed 987654321, 0.0001234, 1e-6, 12.34, 2024-01-15.5, v1.23456, 3.5e-8") == []
    assert too_long("Fixed(scale=1.23456)") == []
    assert too_long("Exp3S(3, 12.184568)", given="12.184568") == []
    assert too_long(f"{figure(5.57629)} {ceiling(5.57629)} {figure(9e-172)} {ceiling(123456.7)}") == []
    assert too_long(" ".join(Words("<p>1.23456<script>2.34567</script><i alt=3.45678>").said)) == [
        "1.23456",
        "3.45678",
    ]


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_has_four_digits(name):
    given = name + str(getattr(made(name), "learner", ""))
    assert too_long(str(made(name)), given) == []
    assert too_long(" ".join(Words(made(name)._repr_html_()).said), given) == []


def test_full_precision_stays_in_the_dict():
    bound = made(f"bound of {LEARNERS[1]!r}")
    assert bound.to_dict()["value"] == bound.value != float(ceiling(bound.value)) >= bound.value
    assert made("panel").to_dict()["combination"]["total"] == made("panel").summary.total


@pytest.mark.parametrize("name", PAGED)
def test_a_page_has_four_digits(name, tmp_path):
    pytest.importorskip("vl_convert")
    folder = made(name).save(tmp_path / "out")
    words = " ".join(Words((folder / "index.html").read_text(encoding="utf-8")).said)
    assert len(words) > 400
    assert too_long(words, repr(LEARNERS) + hn.__version__) == []


@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_has_four_digits(line, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with contextlib.suppress(SystemExit):
        main(line.split())
    told = capsys.readouterr()
    assert told.err == ""
    assert len(told.out) > 100
    assert too_long(told.out, line) == []


def test_a_bound_in_a_table_is_rounded_up():
    rows = [(AtMost(2.00004), 2.00004)]
    assert as_text(Shown("t", (), ("bound", "number"), rows)).split()[-2:] == ["2.001", "2"]
    assert Table(("bound", "number"), tuple(rows)).html().count(">2.001</span>") == 1
    for line in str(made("curve")).partition("\n\nDetails")[0].splitlines()[-3:]:
        assert line.split()[0].replace(".", "").isdigit()
    told = made("curve").shown().table
    assert all(float(figure(cell)) >= cell for row in told for cell in row[1:] if cell is not None)
