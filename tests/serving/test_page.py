"""The page of the service, in a browser: learners, weights over time, certificates; a key where one is asked for."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import chromium

from hannan.client import Client

KEY = "k" * 20


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", "from hannan.cli import main; main()", "serve", "decisions.db", "--port", "0",
         "--add", "banner=red,<b>blue</b>"],
        cwd=tmp_path_factory.mktemp("page"), stderr=subprocess.PIPE, text=True,
        env={**os.environ, "HANNAN_KEYS": f"admin:{KEY}"},
    )  # fmt: skip
    assert process.stderr is not None
    where = next(told["address"] for line in process.stderr if (told := json.loads(line))["event"] == "listening")
    yield where
    process.terminate()
    process.wait(30)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as opened:
        yield opened


def test_the_page_shows_what_is_there(browser: Any, address: str) -> None:
    client = Client(address, KEY)
    for _ in range(10):
        move = client.act("banner")
        client.observe(move.ticket, reward=1.0 if move.arm == "red" else 0.0)
    page, said, asked = browser.new_page(), [], []
    page.on("console", lambda m: said.append(m.text) if m.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda r: asked.append(r.url))
    page.goto(address + "/")
    page.wait_for_selector("#login:not([hidden])")
    assert "requires an access token" in page.inner_text("#message")
    assert page.query_selector("section") is None
    said.clear()  # the browser's own line on the 401
    page.fill("#key", KEY)
    page.click("#login button")
    page.wait_for_selector("section table")
    text = page.inner_text("section")
    assert "banner" in text
    assert "10 settled, 0 pending" in text
    assert "<b>blue</b>" in text  # as text: a name of an arm is no markup
    assert page.query_selector("section b") is None
    assert len(page.query_selector_all("svg polyline")) == 2
    points = page.query_selector_all("svg polyline")[0].get_attribute("points").split()
    assert len(points) >= 2
    chart = page.inner_text("section figure")
    assert chart.splitlines()[0].startswith("Probability of each arm, 0 to 1, from ")
    assert chart.splitlines()[1:4] == ["1", "0.5", "0"]
    assert "time of day, in round 10 now" in chart
    assert page.inner_text("#message") == ""
    assert said == []
    assert all(url.startswith(address) for url in asked)
    page.close()


def test_a_narrow_page_does_not_scroll_sideways(browser: Any, address: str) -> None:
    page = browser.new_page(viewport={"width": 390, "height": 800})
    page.goto(address + "/")
    page.wait_for_selector("#login:not([hidden])")
    page.fill("#key", KEY)
    page.click("#login button")
    page.wait_for_selector("section table")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    page.close()


def test_nothing_is_kept_of_the_page(tmp_path: Path) -> None:
    from hannan.serving.schemas import PAGE

    assert b"http://" not in PAGE.replace(b"http://www.w3.org/2000/svg", b"")
    assert b"https://" not in PAGE
