"""docs/web.md, walked: its application in an empty folder, clicked, killed, started again; and the example like it."""

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


@contextlib.contextmanager
def uvicorn(folder: Path, port: int, app: str = "app:app", end: signal.Signals = signal.SIGTERM) -> Iterator[str]:
    """The application, until it is stopped so."""
    process = subprocess.Popen(
        [sys.executable, "-m", "uvicorn", app, "--port", str(port), "--log-level", "error"],
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
        assert got(address + "/decisions/v1/learners/banner/log").count("\n") == 3


def test_the_example(tmp_path: Path) -> None:
    (tmp_path / "web_application.py").write_text((ROOT / "examples" / "web_application.py").read_text())
    with uvicorn(tmp_path, free(), "web_application:app") as address:
        page = got(address + "/")
        assert "href=" in got(address + link(page))  # a click leads back to a page
        assert json.loads(got(address + "/decisions/v1/learners/banner"))["rounds"] == 1
