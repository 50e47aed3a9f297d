"""Pages of combinations in a browser."""

from __future__ import annotations

import os

import numpy as np
import pytest

import hannan as hn


def test_text_of_the_user_is_no_markup(tmp_path):
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
    """Drawn without an error, without the network, without running what a name says."""
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
        assert page.locator(".chart svg, .chart canvas").count() == 4
        assert page.get_by_text("<img src=x onerror=alert(1)>").count() >= 1
        browser.close()
    assert trouble == []


def test_the_page_fits_a_phone(tmp_path):
    """Every cell of the tables and every label of the pictures; the control: a page that is not made for it."""
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
