"""docs/web.md, executed: its application in an empty folder, clicked, killed, started again; and the example."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import hannan as hn

ROOT = Path(__file__).resolve().parents[2]


#: The command with which this Python runs the programs of the guide.
PROGRAMS = {
    ".venv/bin/uvicorn": [sys.executable, "-m", "uvicorn"],
    ".venv/bin/hannan": [sys.executable, "-c", "from hannan.cli import main; main()"],
}


def told(*words: str) -> list[str]:
    """The command of docs/web.md that begins with these words, run by this Python."""
    text = (ROOT / "docs" / "web.md").read_text(encoding="utf-8")
    lines = [line for block in re.findall(r"```console\n(.*?)```", text, re.DOTALL) for line in block.splitlines()]
    (line,) = [line.split() for line in lines if line.split()[: len(words)] == list(words)]
    return [*PROGRAMS[line[0]], *line[1:]]


def test_every_command_of_the_guide_is_run_or_installs() -> None:
    text = (ROOT / "docs" / "web.md").read_text(encoding="utf-8")
    programs = re.findall(r"^(\.venv/bin/\w+|python3 -m venv)", text, re.MULTILINE)
    assert programs == [
        "python3 -m venv",
        ".venv/bin/pip",
        ".venv/bin/uvicorn",
        ".venv/bin/hannan",
        ".venv/bin/uvicorn",
    ]
    with pytest.raises(ValueError):  # the control: a command that is not in the guide
        told(".venv/bin/uvicorn", "other:app")


#: Beginnings of the statements of the guide, in its order, and the test that walks each. Titles, code that doctest
#: runs, and introductions to the next statement are walked by "doctest" or "reading".
WALK = {
    "This guide is for": "reading",
    "Save as `app.py`": "test_the_guide",
    "Run it, with one process": "test_the_guide",
    "- Every page is a decision": "test_the_guide",
    "- Click: ": "test_the_guide",
    "- Stop the application, kill it": "test_the_guide",
    "- Edit a letter of a ticket": "test_the_guide",
    "- <http://127.0.0.1:8000/decisions/> shows": "test_the_page_and_the_certificate",
    "- `curl 127.0.0.1:8000/decisions/v1/learners/banner/log`": "test_the_log_is_replayed",
    "**Late feedback.** A click": "test_late_feedback",
    "To learn separately for each user": "test_each_user_has_a_learner",
    "Without access tokens the mounted service": "test_access",
    "Change the list and restart": "doctest",
    "- A stage is a fresh learner": "test_stages",
    "- The certificate covers the current stage": "test_stages",
    "- Everything but the arms must stay": "test_stages",
    "A store has one writer": "test_several_workers",
    "and save as `workers.py`": "test_several_workers",
    "Click, reload, kill a worker": "test_several_workers",
    "When you know which banner is better": "doctest",
    "- *blue has been the best so far": "test_the_answers_are_those_of_the_page",
    "- *Not sure yet": "test_the_answers_are_those_of_the_page",
    "- *red was shown": "test_the_answers_are_those_of_the_page",
    "- Nothing is claimed about the future": "test_the_answers_are_those_of_the_page",
    "[Evidence](evidence.md) has": "reading",
}


def statements(text: str) -> list[str]:
    """The paragraphs and bullets of a page, without titles and code."""
    text = re.sub(r"```.*?```|^#.*?$", "\n", text, flags=re.DOTALL | re.MULTILINE)
    blocks = re.split(r"\n\s*\n|\n(?=- )", text)
    return [block.strip() for block in blocks if block.strip()]


def unwalked(text: str) -> list[str]:
    """The statements that are not in WALK, and the entries of WALK that are not on the page, in its order."""
    found = statements(text)
    extra = [one for one in found if not any(one.startswith(begin) for begin in WALK)]
    order = [begin for one in found for begin in WALK if one.startswith(begin)]
    return extra + [begin for begin in WALK if begin not in order] + ([] if order == list(WALK) else ["order"])


def test_every_statement_of_the_guide_is_walked() -> None:
    text = (ROOT / "docs" / "web.md").read_text(encoding="utf-8")
    assert unwalked(text) == []
    assert unwalked(text + "\n- A new promise.\n") == ["- A new promise."]  # the control
    assert {test for test in WALK.values() if test.startswith("test_")} <= globals().keys()
    assert re.findall("^## (.*)", text, re.MULTILINE)[-1] == "May I stop?"


@contextlib.contextmanager
def uvicorn(folder: Path, port: int, app: str | None = None, end: signal.Signals = signal.SIGTERM) -> Iterator[str]:
    """The application of the guide, or another one, until it is stopped."""
    command = told(".venv/bin/uvicorn", "app:app") if app is None else [sys.executable, "-m", "uvicorn", app]
    process = subprocess.Popen(
        [*command, "--port", str(port), "--log-level", "error"],
        cwd=folder, env={**os.environ, "DECISIONS": str(folder / "decisions.db")},
    )  # fmt: skip
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(400):
            with contextlib.suppress(OSError):
                urllib.request.urlopen(address + "/decisions/healthz", timeout=5).close()
                break
            time.sleep(0.05)
        yield address
    finally:
        process.send_signal(end)
        process.wait(30)


def free() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


def got(address: str) -> Any:
    with urllib.request.urlopen(address, timeout=20) as answer:
        return answer.read().decode()


def link(page: str) -> str:
    found = re.search(r'href="([^"]+)"', page)
    assert found is not None
    return found[1]


def test_the_guide(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "web.md").read_text(encoding="utf-8")
    code = re.search(r"```python\n(.*?)```", text, re.DOTALL)
    assert code is not None
    (tmp_path / "app.py").write_text(code[1])
    port = free()
    with uvicorn(tmp_path, port, end=signal.SIGKILL) as address:
        links = [link(got(address + "/")) for _ in range(4)]
        assert json.loads(got(address + links[0])) == {"thanks": True, "counted": True}
        assert json.loads(got(address + links[0])) == {"thanks": True, "counted": False}
    with uvicorn(tmp_path, port) as address:
        assert json.loads(got(address + links[0]))["counted"] is False
        assert json.loads(got(address + links[1]))["counted"] is True
        edited = links[2][:-3] + ("A" if links[2][-3] != "A" else "B") + links[2][-2:]
        with pytest.raises(urllib.error.HTTPError, match="400"):
            got(address + edited)
        assert "Decisions" in got(address + "/decisions/")
        assert json.loads(got(address + "/decisions/v1/learners/banner"))["rounds"] == 2
        assert got(address + "/decisions/v1/learners/banner/log").count("\n") == 5


def test_the_example(tmp_path: Path) -> None:
    (tmp_path / "web_application.py").write_text((ROOT / "examples" / "web_application.py").read_text())
    with uvicorn(tmp_path, free(), "web_application:app") as address:
        page = got(address + "/")
        assert "href=" in got(address + link(page))  # a click leads back to a page
        assert json.loads(got(address + "/decisions/v1/learners/banner"))["rounds"] == 1


@contextlib.contextmanager
def running(command: list[str], folder: Path, **more: str) -> Iterator[None]:
    """A process of the guide, stopped at the end."""
    process = subprocess.Popen(command, cwd=folder, env={**os.environ, **more}, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.terminate()
        process.wait(30)


def answers(address: str) -> Any:
    """The content of an address, as soon as the server answers."""
    for _ in range(400):
        with contextlib.suppress(OSError):
            return got(address)
        time.sleep(0.05)
    raise AssertionError(f"{address} never answered")


def test_several_workers(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "web.md").read_text(encoding="utf-8")
    code = re.search(r"```python workers.py\n(.*?)```", text, re.DOTALL)
    assert code is not None
    (tmp_path / "workers.py").write_text(code[1])
    port, service = free(), free()
    serve = [*told(".venv/bin/hannan", "serve"), "--port", str(service)]
    workers = [*told(".venv/bin/uvicorn", "workers:app"), "--port", str(port), "--log-level", "error"]
    address = f"http://127.0.0.1:{port}"
    with running(workers, tmp_path, DECISIONS=f"http://127.0.0.1:{service}"):
        with running(serve, tmp_path):
            answers(f"http://127.0.0.1:{service}/healthz")
            links = [link(answers(address + "/")) for _ in range(6)]
            assert json.loads(got(address + links[0])) == {"thanks": True, "counted": True}
        away = got(address + "/")  # without the service there is still a page
        assert ("color:red" in away, "ticket" in away) == (True, False)
        assert json.loads(got(address + link(away))) == {"thanks": True, "counted": False}
        with running(serve, tmp_path):  # the service was stopped and started, but the workers were not
            answers(f"http://127.0.0.1:{service}/healthz")
            assert [json.loads(got(address + one))["counted"] for one in links[:3]] == [False, True, True]
            with pytest.raises(urllib.error.HTTPError, match="400"):
                got(address + links[5][:-4] + "AAAA")


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The application of the guide with some clicks."""
    folder = tmp_path_factory.mktemp("shop")
    text = (ROOT / "docs" / "web.md").read_text(encoding="utf-8")
    code = re.search(r"```python\n(.*?)```", text, re.DOTALL)
    assert code is not None
    (folder / "app.py").write_text(code[1])
    with uvicorn(folder, free()) as address:
        links = [link(got(address + "/")) for _ in range(120)]
        for one in links[:10]:
            got(address + one)
        yield address


def test_the_page_and_the_certificate(shop: str) -> None:
    from browser import chromium

    with chromium() as browser:
        page = browser.new_page()
        page.goto(shop + "/decisions/")
        page.wait_for_selector("section .verdict")
        assert page.inner_text(".verdict").startswith("Not sure yet")
        assert page.query_selector("#over .chart") is not None
        page.click("#certificate summary")
        page.wait_for_selector("table.certificate", state="visible")
        page.close()


def test_late_feedback(tmp_path: Path) -> None:
    arms = ["red", "blue"]
    bounds = [hn.TsallisShannon(arms, delay=delay).bound(10**6).value for delay in (100, 400, 1600)]
    assert bounds == sorted(bounds)
    assert bounds[2] / bounds[1] < 2.2  # the square root of 4, and lower terms
    with hn.Store(tmp_path / "decisions.db") as store:
        store.add("late", hn.TsallisShannon(arms, gains=True, delay=500))
        store.add("plain", hn.Bandit(arms, gains=True))
        for name in ("late", "plain"):
            first, second = store.act(name), store.act(name)
            for move in (second, first):
                store.observe(move.ticket, reward=1)
        assert store.certificate("plain").bound is None
        assert "pending" in str(store.certificate("plain").withheld)
        assert store.evidence("late").regret is not None
        assert store.evidence("plain").regret is not None


def test_the_log_is_replayed(shop: str, tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_text(got(shop + "/decisions/v1/learners/banner/log"))
    lines = log.read_text().splitlines()
    place = lines[0].split(",").index("reward")
    assert sum(not line.split(",")[place] for line in lines[1:]) == 110
    command = [*PROGRAMS[".venv/bin/hannan"], "replay", str(log), "--action", "arm", "--loss", "reward", "--gains",
               "--propensity", "probability", "--runs", "1"]  # fmt: skip
    assert subprocess.run(command, capture_output=True, check=False).returncode != 0  # empty rewards without a meaning
    assert subprocess.run([*command, "--missing", "0"], capture_output=True, check=False).returncode == 0


def test_each_user_has_a_learner(tmp_path: Path) -> None:
    with hn.Store(tmp_path / "decisions.db") as store:
        store.add("banner", hn.Bandit(["red", "blue"], gains=True, floor=0.1))
        for _ in range(60):
            for user, best in (("anna", "red"), ("ben", "blue")):
                move = store.act("banner", key=user)
                store.observe(move.ticket, reward=move.arm == best)
        arms = {one.key: one.arm for one in store.keys("banner").keys}
    assert arms == {"anna": "red", "ben": "blue"}  # 60 decisions with rewards 0 and 1: false alarm below 1e-6


def test_access(shop: str, tmp_path: Path) -> None:
    def status(path: str, **headers: str) -> int:
        try:
            with urllib.request.urlopen(urllib.request.Request(shop + path, headers=headers), timeout=20) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            return int(error.code)

    path = "/decisions/v1/learners"
    assert status(path) == 200
    assert status(path, host="decisions.example") == 403
    assert status(path, **{"sec-fetch-site": "cross-site"}) == 403
    assert 'hannan_draws_total{learner="banner",arm="' in got(shop + "/decisions/metrics")
    from hannan.serving.access import Access
    from hannan.serving.app import App

    secret = "s" * 20
    with hn.Store(tmp_path / "decisions.db") as store:
        app = App(store, Access(["admin:" + secret]))
        assert app.access.roles(f"Bearer {secret}".encode()) is not None
        assert app.access.roles(None) is None


def test_stages(tmp_path: Path) -> None:
    with hn.Store(tmp_path / "decisions.db") as store:
        store.add("banner", hn.Bandit(["red", "blue"], gains=True), wait=3600, default=0)
        for _ in range(50):
            store.observe(store.act("banner").ticket, reward=1)
        store.add("banner", hn.Bandit(["red", "blue", "green"], gains=True), wait=3600, default=0)
        assert store.act("banner").probability == pytest.approx(1 / 3)
        assert [store.certificate("banner", stage=stage).rounds for stage in (1, 2)] == [50, 0]
        assert "since" in dict(store.certificate("banner").rows())["stage"]
        for learner, more in (
            (hn.Bandit(["red", "blue", "green"], gains=True), {"wait": 60, "default": 0}),
            (hn.Bandit(["red", "blue", "green"], gains=True, loss_range=(0, 2)), {"wait": 3600, "default": 0}),
            (hn.Bandit(["green", "blue", "red"], gains=True), {"wait": 3600, "default": 0}),
        ):
            with pytest.raises(ValueError, match="banner"):
                store.add("banner", learner, **more)


def test_the_answers_are_those_of_the_page() -> None:
    """The guide quotes the words of the page."""
    from hannan.players.evidence import TARGET
    from hannan.serving.page import PAGE

    text = " ".join((ROOT / "docs" / "web.md").read_text(encoding="utf-8").split())
    page = PAGE.decode()
    for words in ("has been the best so far", "; sure since ", "Not sure yet", "more decisions at this pace"):
        assert words in page
        assert words in text
    assert "Nothing is claimed about the future" in page
    assert "nothing is claimed about the future" in TARGET
    assert "--floor" in page
