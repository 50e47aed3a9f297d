"""Pages of combinations in a browser."""

from __future__ import annotations

import itertools
import os

import numpy as np
import pytest

import hannan as hn


def test_text_of_the_user_is_escaped(tmp_path):
    pytest.importorskip("vl_convert")
    names = ["<script>alert(1)</script>", "=1+1", "*b*", "a&b", "'\"", "x</script><script>alert(2)</script>"]
    rng = np.random.default_rng(0)
    combined = hn.combine({name: rng.random(30) for name in names} | {"y": rng.random(30)}, "y")
    page = (combined.save(tmp_path / "out") / "index.html").read_text()
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "<span>=1+1</span>" in page
    assert "<span>*b*</span>" in page
    assert page.count("</script>") == page.count("<script")


def test_the_page_opens_in_a_browser(tmp_path):
    """Drawn without an error, without the network, and without running code in a name."""
    playwright = pytest.importorskip("playwright.sync_api")
    browser_path = next((p for p in ("/usr/bin/chromium", "/usr/bin/chromium-browser") if os.path.exists(p)), None)
    if browser_path is None:
        pytest.skip("no Chromium on this machine")
    names = ["<img src=x onerror=alert(1)>", "plain"]
    rng = np.random.default_rng(0)
    combined = hn.combine({name: rng.random(50) for name in names} | {"y": rng.random(50)}, "y")
    page_file = combined.save(tmp_path / "out") / "index.html"
    trouble = []
    with playwright.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        page = browser.new_page()
        page.on("dialog", lambda dialog: (trouble.append("dialog"), dialog.dismiss()))
        page.on("pageerror", lambda error: trouble.append(str(error)))
        page.on("request", lambda request: trouble.append(request.url) if request.url.startswith("http") else None)
        page.goto(page_file.as_uri())
        page.wait_for_function("document.documentElement.dataset.drawn === 'true'", timeout=60_000)
        assert page.locator(".chart svg, .chart canvas").count() == 5
        assert page.get_by_text("<img src=x onerror=alert(1)>").count() >= 1
        browser.close()
    assert trouble == []


def test_the_page_fits_a_phone(tmp_path):
    """Every cell of the tables and every label of the pictures; the control: a page for another combination."""
    pytest.importorskip("altair")
    from browser import chromium

    rng = np.random.default_rng(0)
    y = rng.normal(size=90).cumsum()
    experts = {f"a forecast with a rather long name, number {i}": y + rng.normal(size=90) for i in range(9)}
    hn.combine({**experts, "y": y}, "y").save(tmp_path / "one")
    long = {"unique_id": np.repeat(["north of here", "south of here"], 45), "ds": np.tile(np.arange(45), 2), "y": y}
    hn.combine({**long, **experts}, "y", by="unique_id").save(tmp_path / "many")
    outside = """[...document.querySelectorAll("td, caption, .chart svg text")].filter(
        (e) => e.closest("details") === null && e.getBoundingClientRect().right > innerWidth + 1).length"""
    with chromium() as browser:
        for name in ("one", "many"):
            page = browser.new_page(viewport={"width": 390, "height": 844})
            page.goto((tmp_path / name / "index.html").as_uri())
            page.wait_for_function("document.documentElement.dataset.drawn === 'true'", timeout=60_000)
            assert page.evaluate(outside) == 0, name
            page.add_style_tag(content="table.sortable td{display:inline!important;white-space:nowrap}")
            assert page.evaluate(outside) > 0, name
            page.close()


def horizons(rows=60, ahead=4, every=2):
    """A table of one series in the format of cross_validation, with overlapping windows, and its last window open."""
    rng = np.random.default_rng(5)
    y = rng.normal(size=rows).cumsum()
    table = {"cutoff": [], "ds": [], "y": [], "a": [], "b": []}
    for cutoff in range(8, rows - ahead, every):
        for step in range(1, ahead + 1):
            open_ = cutoff + every >= rows - ahead
            values = cutoff, cutoff + step, np.nan if open_ else y[cutoff + step], y[cutoff], y[cutoff] + step * 0.1
            for name, value in zip(table, values, strict=True):
                table[name].append(float(value))
    return table


def bands(figure):
    return [layer.rows for layer in figure.picture.layers if layer.mark == "band"]


@pytest.mark.parametrize("by", [False, True])
def test_intervals_are_one_band_per_issue_time(by):
    """Connected rows ascend in time and belong to one issue time; the control: all rows together go back and forth."""
    pytest.importorskip("altair")
    from hannan.tables.combine.page import combined_page
    from hannan.tables.combine.panel_summary import panel_page

    table = horizons()
    more = {"unique_id": ["s"] * len(table["y"])} if by else {}
    told = hn.combine({**more, **table}, coverage=0.8)
    page = panel_page(told.summary) if by else combined_page(told.summary)
    assert page.sections[0].title == "Forecast"
    first, values = page.sections[0].blocks
    (rows,) = bands(first)
    assert first.picture.layers[0].group == "issued"
    windows = {}
    for row in rows:
        windows.setdefault(row["issued"], []).append(row["row"])
    ends = [(min(times), max(times)) for times in windows.values()]
    assert len(windows) > 3
    assert all(times == sorted(times) and len(times) == 4 for times in windows.values())
    assert all(before[1] < after[0] for before, after in itertools.pairwise(ends))
    assert table["ds"] != sorted(table["ds"])
    # The next values are the last window, with their intervals.
    assert len(values.rows) == 4
    assert "with coverage 80%" in values.rows[-1][-1].text
    low, high = told.interval[-1]
    assert told.summary.as_dict()["forecasts"][-1]["intervals"] == [{"coverage": 0.8, "low": low, "high": high}]


def test_page_has_coverage_and_explains_bounds():
    pytest.importorskip("altair")
    from hannan.tables.combine.page import BOUNDS, combined_page

    rng = np.random.default_rng(0)
    y = rng.normal(size=200)
    told = hn.combine({"a": y + rng.normal(size=200), "b": y + 1.0, "shop": ["n", "s"] * 100, "y": y}, coverage=0.8,
                      groups=["shop"])  # fmt: skip
    page = combined_page(told.summary)
    titles = [section.title for section in page.sections]
    assert titles[:3] == ["Forecast", "Losses", "Coverage"]
    picture, groups = page.sections[2].blocks
    assert [row[0].text for row in groups.rows] == ["all rows", "shop n", "shop s"]
    assert picture.picture.layers[1].rows[0]["y"] == 0.8
    assert page.sections[-1].blocks[0].blocks[0].text == BOUNDS
    assert told.summary.verdict in page.lead or told.summary.verdict[1:] in page.lead
