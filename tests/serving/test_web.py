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
