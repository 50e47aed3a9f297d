"""The page of the service in a browser: answers, keys, changes of arms, colors, phones, and access tokens."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from browser import chromium

import hannan as hn
from hannan.client import Client
from hannan.serving.page import PAGE

ADMIN, ACT = "k" * 20, "a" * 20


@contextmanager
def serving(store: Path, *options: str) -> Iterator[str]:
    """The address of a service with access tokens."""
    process = subprocess.Popen(
        [sys.executable, "-c", "from hannan.cli import main; main()", "serve", str(store), "--port", "0", *options],
        stderr=subprocess.PIPE, text=True, env={**os.environ, "HANNAN_KEYS": f"admin:{ADMIN} act:{ACT}"},
    )  # fmt: skip
    assert process.stderr is not None
    try:
        yield next(told["address"] for line in process.stderr if (told := json.loads(line))["event"] == "listening")
    finally:
        process.terminate()
        process.wait(30)


def play(
    store: hn.Store, name: str, reward: Callable[[str, int], float], rounds: int, keys: Any = None, batch: int = 500
) -> None:
    """Draw decisions, in batches, and report their rewards."""
    queue, done = store.queue, 0
    while done < rounds:
        some = min(rounds - done, batch)
        drawn, _ = queue.draws(name, some) if keys is None else queue.draws_for(name, keys(some))
        feedback = enumerate(zip(drawn.ticket, drawn.arm, strict=True), done)
        queue.settle([(ticket, reward(arm, place), None) for place, (ticket, arm) in feedback])
        done += some


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    path, rng = tmp_path_factory.mktemp("page") / "decisions.db", random.Random(0)
    arms = ["red", "blue", "<b>green</b>"]
    with hn.Store(path) as store:
        store.add("banner", hn.Bandit(arms, gains=True, floor=0.5))
        play(store, "banner", lambda arm, place: float(arm == "red"), 1000)
        # Equal arms: a wrong verdict has probability 0.05 at most, by the theorem, and 0.0007 by simulation.
        store.add("unsure", hn.Bandit(["hero", "video"], gains=True, floor=0.9))
        play(store, "unsure", lambda arm, place: float(place % 10 < 5), 1000)
        store.add("empty", hn.Bandit(["red", "blue"], gains=True))
        # The losing arm is drawn with probability 0.0005, about 5 times in 10,000: 20 times with probability 2e-7.
        store.add("rare", hn.EpsilonGreedy(["red", "blue"], 0.001, gains=True))
        play(store, "rare", lambda arm, place: float(arm == "blue"), 20, batch=1)
        play(store, "rare", lambda arm, place: float(arm == "blue"), 10_000)
        store.add("two", hn.Bandit(["red", "blue"], gains=True))
        play(store, "two", lambda arm, place: 1.0, 200, lambda some: [2**62 + rng.randrange(2) for _ in range(some)])
        store.add("shops", hn.Bandit(["red", "blue"], gains=True))
        every = [f"Shop-{place:03d}" for place in range(300)]
        play(store, "shops", lambda arm, place: float(arm == "red"), 300, lambda some: every[:some])
        play(store, "shops", lambda arm, place: 0.5, 40, lambda some: ["Shop-299"] * some)
    with serving(path, "--add", "changed=red,blue") as where:
        yield where


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as opened:
        yield opened


@contextmanager
def opened(browser: Any, address: str, name: str, token: str = ADMIN, **more: Any) -> Iterator[Any]:
    """The page of a learner, which must neither log errors nor send requests elsewhere."""
    page, logged, asked = browser.new_page(**more), [], []
    page.on("pageerror", lambda error: logged.append(str(error)))
    page.on("console", lambda line: logged.append(line.text) if line.type in ("error", "warning") else None)
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{address}/#{name}")
    page.wait_for_selector("#login:not([hidden])")
    logged.clear()  # the browser logs the status 401
    page.fill("#token", token)
    page.click("#login button")
    page.wait_for_selector(f"section[data-learner={name}] .verdict")
    yield page
    expected = [line for line in logged if "status of 403" in line and token == ACT]
    assert logged == expected
    assert all(url.startswith(address) for url in asked)
    page.close()


def evidence(address: str, name: str) -> Any:
    return Client(address, ADMIN).evidence(name)


def cells(page: Any, arm: str) -> list[str]:
    """The cells of an arm in the first table, in one line each."""
    row = page.query_selector(f"table.arms tr[data-arm={json.dumps(arm)}]")
    return [" ".join(cell.inner_text().split()) for cell in row.query_selector_all("td")]


def test_a_token_is_required(browser: Any, address: str) -> None:
    page = browser.new_page()
    page.goto(address + "/")
    page.wait_for_selector("#login:not([hidden])")
    assert "requires an access token" in page.inner_text("#message")
    assert page.query_selector("section") is None
    page.close()


def test_the_first_screen_answers(browser: Any, address: str) -> None:
    found = evidence(address, "banner")
    with opened(browser, address, "banner", viewport={"width": 1280, "height": 800}) as page:
        assert found["best"] == "red"
        since = found["sure_since"].replace(":" + found["sure_since"][17:19], "", 1)
        assert page.inner_text(".verdict") == f"red has been the best so far; sure since {since}"
        assert "at most 5%, however often you look" in page.inner_text(".sub")
        red, blue = cells(page, "red"), cells(page, "blue")
        shown = {arm["arm"]: arm["shown"] for arm in found["arms"]}
        assert red[:3] == ["red", f"{shown['red']:,}", f"{shown['red']:,}"]
        assert blue[:3] == ["blue", f"{shown['blue']:,}", "0"]
        [lead] = [one for one in found["leads"] if (one["arm"], one["over"]) == ("red", "blue")]
        low, high = (float(end) for end in re.findall(r"(-?[\d.]+) to (-?[\d.]+)", blue[5])[0])
        assert red[5] == "best so far"
        assert 100 * lead["low"] - 1 < low <= 100 * lead["low"] + 1e-9  # rounded outward
        assert 100 * lead["high"] - 1e-9 <= high < 100 * lead["high"] + 1
        tiles = page.inner_text(".tiles")
        assert "1,000" in tiles
        assert f"at most {int(-(-found['regret']['at_most'] // 1)):,}" in tiles
        box = page.query_selector("table.arms").bounding_box()
        assert box["y"] + box["height"] < 800
        chart, certificate = (page.query_selector(one).bounding_box()["y"] for one in (".chart", "#certificate"))
        assert box["y"] + box["height"] < chart < certificate
        assert page.query_selector("section b > *") is None
        assert page.query_selector("section .arm b") is None  # the name of an arm is text
        assert cells(page, "<b>green</b>")[0] == "<b>green</b>"
        assert not page.is_visible("table.certificate")
        page.click("#certificate summary")
        page.wait_for_selector("table.certificate", state="visible")
        assert "regret" in page.inner_text("table.certificate")


def test_not_sure_yet(browser: Any, address: str) -> None:
    found = evidence(address, "unsure")
    with opened(browser, address, "unsure") as page:
        assert (found["best"], found["more"] is None) == (None, False)
        assert page.inner_text(".verdict") == f"Not sure yet: about {found['more']:,} more decisions at this pace"
        assert f"No arm is better than {found['within']['arm']} by more than" in page.inner_text(".sub")


def test_without_decisions(browser: Any, address: str) -> None:
    with opened(browser, address, "empty") as page:
        assert page.inner_text(".verdict") == "No decisions yet"
        assert cells(page, "red") == ["red", "0", "0", "–", "", "–", "50%"]
        assert page.query_selector(".chart") is None


@pytest.mark.parametrize(("name", "recommended"), [("rare", True), ("banner", False)])
def test_a_floor_is_recommended_for_a_rare_arm(browser: Any, address: str, name: str, recommended: bool) -> None:
    with opened(browser, address, name) as page:
        text = page.inner_text("#answer")
        assert ("too rarely to compare" in text) is recommended
        assert ("--add rare-2=red,blue --floor 0.05" in text) is recommended


def test_colors_are_those_of_the_names(browser: Any, address: str) -> None:
    with opened(browser, address, "banner") as page:
        script = "nodes => nodes.map(node => getComputedStyle(node).backgroundColor)"
        red, blue, green = (
            [int(part) for part in re.findall(r"\d+", color)][:3]
            for color in page.eval_on_selector_all("table.arms .swatch", script)
        )
        assert (red.index(max(red)), green.index(max(green)), blue.index(max(blue))) == (0, 1, 2)


def test_keys_are_searched_and_paged(browser: Any, address: str) -> None:
    with opened(browser, address, "shops") as page:
        assert "All 300 keys together" in page.inner_text("#answer")
        assert "next decision" not in page.inner_text("#answer")  # the learner without a key was never played
        assert page.inner_text(".pages span").startswith("1 to 25 of 300 keys;")
        assert page.inner_text("table.keys tbody tr:first-child").split()[:2] == ["Shop-299", "41"]
        page.click("text=Next")
        page.wait_for_selector("text=26 to 50 of 300")
        page.fill("input[type=search]", "shop-01")
        page.wait_for_selector("text=1 to 10 of 10 keys that contain")
        page.fill("input[type=search]", "nothing")
        page.wait_for_selector("text=0 keys that contain")
        page.fill("input[type=search]", "299")
        page.wait_for_selector("text=1 to 1 of 1 keys")
        page.click("table.keys button")
        page.wait_for_selector("#key-detail .card")
        text = page.inner_text("#key-detail")
        assert "Key Shop-299" in text
        for arm in Client(address, ADMIN).arms("shops", "Shop-299")["arms"]:
            assert re.search(rf"{arm['arm']}\s+{arm['shown']}\s", text)
        page.click("#key-certificate summary")
        assert "regret" in page.inner_text("#key-certificate table")


def test_integer_keys_are_exact(browser: Any, address: str) -> None:
    with opened(browser, address, "two") as page:
        assert page.inner_text(".pages span").startswith("1 to 2 of 2 keys;")
        keys = {row.split()[0] for row in page.inner_text("table.keys tbody").splitlines() if row.strip()}
        assert {str(2**62), str(2**62 + 1)} <= keys
        page.click(f"table.keys button >> text={2**62 + 1}")
        page.wait_for_selector(f"text=Key {2**62 + 1}")


def test_arms_are_added_renamed_and_retired(browser: Any, address: str) -> None:
    client = Client(address, ADMIN)

    def names() -> list[str]:
        return [arm["arm"] for arm in client.arms("changed")["arms"]]

    for _ in range(20):
        client.observe(client.act("changed").ticket, reward=1.0)
    with opened(browser, address, "changed") as page:
        asked: list[str] = []
        answers = [False, True, True, True]

        def answer(dialog: Any) -> None:
            asked.append(dialog.message)
            (dialog.accept if answers.pop(0) else dialog.dismiss)()

        page.on("dialog", answer)
        color = page.get_attribute("table.arms tr[data-arm=red] .swatch", "style")
        page.click("#change summary")
        page.fill("[aria-label='Name of the new arm']", "hero")
        page.click("#change >> text=Add >> nth=-1")
        assert [arm["arm"] for arm in client.arms("changed")["arms"]] == [
            "red",
            "blue",
        ]  # the question was answered with no
        page.click("#change >> text=Add >> nth=-1")
        page.wait_for_selector("#changed >> text=hero was added")
        assert "A new stage begins" in asked[1]
        assert page.inner_text(".verdict") == "No decisions yet"
        assert "hero was added at the start" in page.inner_text("[data-note=start]")
        assert page.query_selector("#over line title").inner_html().endswith("hero was added")
        for _ in range(5):
            client.act("changed")
        page.fill("[aria-label='New name of red']", "crimson")
        page.click("form:has([aria-label='New name of red']) >> text=Rename")
        page.wait_for_selector("#changed >> text=red is now called crimson")
        assert page.get_attribute("table.arms tr[data-arm=crimson] .swatch", "style") == color
        assert cells(page, "crimson")[1] == str(
            next(a for a in client.arms("changed")["arms"] if a["arm"] == "crimson")["shown"]
        )
        page.click("form:has([aria-label='New name of blue']) >> text=Retire")
        page.wait_for_selector("#changed >> text=blue was retired")
        assert names() == ["crimson", "hero"]
        assert answers == []


def test_changes_require_the_role_admin(browser: Any, address: str) -> None:
    with opened(browser, address, "empty", token=ACT) as page:
        page.on("dialog", lambda dialog: dialog.accept())
        page.click("#change summary")
        page.fill("[aria-label='Name of the new arm']", "hero")
        page.click("#change >> text=Add >> nth=-1")
        page.wait_for_selector("#message >> text=requires a token with role admin")
        assert [arm["arm"] for arm in Client(address, ADMIN).arms("empty")["arms"]] == ["red", "blue"]


def test_a_learner_with_one_arm_has_no_evidence(browser: Any, tmp_path: Path) -> None:
    with hn.Store(tmp_path / "decisions.db") as store:
        store.add("banner", hn.Bandit(["red", "blue"], gains=True))
        store.retire_arm("banner", "red")
        store.act("banner")
    with serving(tmp_path / "decisions.db") as where, opened(browser, where, "banner") as page:
        assert page.inner_text(".verdict") == "1 decision"
        assert page.query_selector("#change button:has-text('Retire')").is_disabled()


def test_a_floor_is_set_once_and_kept(tmp_path: Path) -> None:
    for options in (["--floor", "0.25"], []):
        with serving(tmp_path / "decisions.db", "--add", "banner=red,blue", *options) as where:
            assert "floor=0.25" in Client(where, ADMIN).about("banner")["learner"]
    with serving(tmp_path / "other.db", "--add", "banner=red,blue") as where:  # the control
        assert "floor" not in Client(where, ADMIN).about("banner")["learner"]


def test_slates_are_shown_without_a_comparison(browser: Any, tmp_path: Path) -> None:
    with hn.Store(tmp_path / "decisions.db") as store:
        store.add("feed", hn.SlateBandit(["red", "blue", "green"], 2, gains=True))
        for _ in range(5):
            store.act("feed")
    with serving(tmp_path / "decisions.db") as where, opened(browser, where, "feed") as page:
        assert page.inner_text(".verdict") == "5 decisions"
        assert "not compared" in page.inner_text(".sub")
        assert cells(page, "red")[:3] == ["red", "–", "–"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_does_not_scroll_sideways(browser: Any, address: str, scheme: str) -> None:
    for name in ("banner", "unsure", "empty", "rare", "shops", "two"):
        with opened(browser, address, name, viewport={"width": 390, "height": 844}, color_scheme=scheme) as page:
            page.click("#change summary")
            page.click("#certificate summary")
            page.wait_for_selector("table.certificate", state="visible")
            assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
            paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
            assert paper == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(17, 22, 29)")


def test_the_page_has_a_color_for_every_arm() -> None:
    from hannan.serving.arms import COLORS

    for name in COLORS:
        assert f"--c-{name}:".encode() in PAGE
        assert f"--c-{name}2:".encode() in PAGE


def test_the_page_loads_nothing_from_elsewhere() -> None:
    assert b"http://" not in PAGE.replace(b"http://www.w3.org/2000/svg", b"")
    assert b"https://" not in PAGE
