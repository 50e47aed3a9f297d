"""The official OpenFeature providers for JavaScript evaluate flags of the service; npm installs them."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from sockets import Served

import hannan as hn
from hannan.serving.access import Access
from hannan.serving.app import App
from hannan.serving.store import Store

PACKAGES = ("server-sdk", "ofrep-provider", "web-sdk", "ofrep-web-provider")


@pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not installed")
def test_javascript_providers(tmp_path: Path) -> None:
    assert shutil.which("npm"), "Node.js is installed without npm, which installs the providers"
    (tmp_path / "package.json").write_text("{}")
    packages = [f"@openfeature/{name}" for name in PACKAGES]
    subprocess.run(["npm", "install", "--no-audit", "--no-fund", *packages], cwd=tmp_path, check=True, timeout=300)
    program = Path(__file__).with_name("ofrep_clients.mjs")
    shutil.copy(program, tmp_path)
    with Store(tmp_path / "decisions.db") as store:
        store.add("banner", hn.Bandit(["red", "blue"], gains=True))
        store.add("checkout", hn.Bandit(["true", "false"], gains=True))
        with Served(store, "httptools", access=Access(), asgi=lambda _: App(store, ofrep_bulk=["banner"])) as running:
            done = subprocess.run(
                ["node", program.name, f"http://127.0.0.1:{running.port}"],
                cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True,
            )  # fmt: skip
        found, decisions = json.loads(done.stdout), store.queue.counts.decisions
    first, again, checkout, unknown, without = found["server"]
    assert first == again
    assert (first["value"] in ("red", "blue"), first["reason"], first["probability"]) == (True, "SPLIT", 0.5)
    assert isinstance(checkout["value"], bool)
    assert (unknown["value"], unknown["errorCode"]) == ("default", "FLAG_NOT_FOUND")
    assert (without["value"], without["errorCode"]) == ("default", "TARGETING_KEY_MISSING")
    web, later, absent = found["web"]
    assert web["ticket"] == later["ticket"] == first["ticket"]
    assert absent["errorCode"] == "FLAG_NOT_FOUND"  # not selected for bulk evaluation
    assert found["statuses"][0] == 200
    assert set(found["statuses"][1:]) == {304}
    assert decisions == 2
