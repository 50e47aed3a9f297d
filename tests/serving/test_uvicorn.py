"""The fast path and uvicorn's internals: supported versions use it; changed internals lead to plain ASGI."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from hannan.client import Client, Refused

#: Changes of uvicorn's internals: a class, a method, a signature or an attribute.
CHANGES = {
    "class": "impl.Renamed = impl.HttpToolsProtocol; del impl.HttpToolsProtocol",
    "method": "del impl.HttpToolsProtocol._unset_keepalive_if_required",
    "signature": "impl.HttpToolsProtocol.on_response_complete = lambda self, cycle: None",
    "attribute": "changed('pipeline')",
}
PROGRAM = """
import uvicorn.protocols.http.httptools_impl as impl

def changed(name):
    made = impl.HttpToolsProtocol.__init__
    def init(self, *arguments, **more):
        made(self, *arguments, **more)
        delattr(self, name)
    impl.HttpToolsProtocol.__init__ = init

{change}
{control}
from hannan.cli import main
main()
"""
#: The service as it would be without the fallback.
CONTROL = """
import hannan.serving.server as server
from hannan.serving.fast_path import fast_protocol
server._protocol = lambda app, events: fast_protocol(app)
"""
#: Program that records on standard error, as JSON, which requests take the fast path, and the version of uvicorn.
RECORDED = """
import json, sys, uvicorn
from hannan.serving.fast_path import FastProtocol
told = FastProtocol._told
def recorded(self):
    print(json.dumps({"event": "fast", "version": uvicorn.__version__}), file=sys.stderr, flush=True)
    told(self)
FastProtocol._told = recorded
from hannan.cli import main
main()
"""


@contextmanager
def served(folder: Path, program: str, path: Path | None = None) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Start `hannan serve`; yield its address and the events that it has logged, which are complete at the end."""
    environment = {**os.environ} if path is None else {**os.environ, "PYTHONPATH": str(path)}
    process = subprocess.Popen(
        [sys.executable, "-c", program, "serve", "decisions.db", "--port", "0", "--add", "banner=red,blue"],
        cwd=folder, stderr=subprocess.PIPE, text=True, env=environment,
    )  # fmt: skip
    assert process.stderr is not None
    events: list[dict[str, Any]] = []
    try:
        for line in process.stderr:
            events.append(json.loads(line) if line.startswith("{") else {"event": "text", "text": line})
            if events[-1]["event"] == "listening":
                break
        else:
            raise ConnectionError("".join(event.get("text", "") for event in events))
        yield events[-1]["address"], events
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            _, rest = process.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    events += [json.loads(line) for line in rest.splitlines() if line.startswith("{")]
    assert process.returncode == 0


def round_trip(address: str) -> None:
    """Ask for decisions and settle them, over one connection."""
    client = Client(address, tries=1, timeout=5)
    for _ in range(3):
        move = client.act("banner")
        assert move.arm in ("red", "blue")
        assert client.observe(move.ticket, reward=1.0) is True
        assert client.observe(move.ticket, reward=1.0) is False
    assert client.learners() == ["banner"]


def fast_of(events: list[dict[str, Any]]) -> list[str]:
    """Return the version of uvicorn per request on the fast path, without those of the check before the start."""
    names = [event["event"] for event in events]
    assert "warning" not in names
    return [event["version"] for event in events[names.index("listening") :] if event["event"] == "fast"]


@pytest.mark.parametrize("change", CHANGES)
def test_changed_internals_lead_to_plain_asgi(tmp_path: Path, change: str) -> None:
    with served(tmp_path, PROGRAM.format(change=CHANGES[change], control="")) as (address, events):
        round_trip(address)
    [warning] = [event["message"] for event in events if event["event"] == "warning"]
    assert "plain ASGI" in warning
    assert "\n" not in warning
    assert events[-1]["event"] == "closed"


@pytest.mark.parametrize("change", CHANGES)
def test_control_without_the_fallback_the_service_fails(tmp_path: Path, change: str) -> None:
    def attempt() -> None:
        with served(tmp_path, PROGRAM.format(change=CHANGES[change], control=CONTROL)) as (address, _):
            round_trip(address)

    with pytest.raises((OSError, Refused)):
        attempt()


def test_installed_version_uses_the_fast_path(tmp_path: Path) -> None:
    with served(tmp_path, RECORDED) as (address, events):
        round_trip(address)
    assert len(fast_of(events)) == 9


@pytest.mark.slow
@pytest.mark.parametrize("version", ["==0.30.0", "==0.30.*", ""], ids=["oldest", "oldest minor", "newest"])
def test_supported_versions_use_the_fast_path(tmp_path: Path, version: str) -> None:
    """Install a version of uvicorn from the package index into a folder, and serve with it."""
    packages = tmp_path / "packages"
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "-q", "--target", packages, f"uvicorn{version}"], check=True
    )
    with served(tmp_path, RECORDED, packages) as (address, events):
        round_trip(address)
    fast = fast_of(events)
    [installed] = packages.glob("uvicorn-*.dist-info")
    print(f"uvicorn {fast[0]}: {len(fast)} requests on the fast path")
    assert fast == [installed.name.removeprefix("uvicorn-").removesuffix(".dist-info")] * 9
