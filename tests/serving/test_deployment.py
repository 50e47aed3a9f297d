"""Files for operators: image, compose file, systemd unit, proxy, metrics and dashboard, against a running service."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from hannan.cli.serve import command as serve
from hannan.client import Client
from hannan.serving.service import Limits

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "packaging" / "deploy"
TOKEN = "k" * 20


def instructions(name: str) -> dict[str, list[str]]:
    """The instructions of a Dockerfile by name, with continued lines joined."""
    text = re.sub(r"\\\n\s*", "", (FOLDER / name).read_text(encoding="utf-8"))
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            word, _, rest = line.strip().partition(" ")
            found.setdefault(word, []).append(rest)
    return found


IMAGE = instructions("Dockerfile")
PROGRAM = [sys.executable, "-c", "from hannan.cli import main; main()"]


@contextmanager
def running(folder: Path, keys: str = f"admin:{TOKEN}") -> Iterator[subprocess.Popen[str]]:
    """The program of the image, on a free port."""
    words = [*json.loads(IMAGE["ENTRYPOINT"][0]), *json.loads(IMAGE["CMD"][0])]
    assert words[0] == "hannan"
    process = subprocess.Popen(
        [*PROGRAM, *words[1:], "--port", "0", "--add", "banner=red,blue"], cwd=folder,
        stderr=subprocess.PIPE, text=True, env={**os.environ, "HANNAN_KEYS": keys},
    )  # fmt: skip
    yield process
    process.terminate()
    process.wait(30)


def listening(process: subprocess.Popen[str]) -> int:
    assert process.stderr is not None
    for line in process.stderr:
        found = json.loads(line) if line.startswith("{") else {}
        if found.get("event") == "listening":
            return int(found["address"].rpartition(":")[2])
    raise AssertionError("the service does not listen")


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with running(tmp_path_factory.mktemp("deployed")) as process:
        yield listening(process)


def test_the_health_check_of_the_image(port: int) -> None:
    words = json.loads(IMAGE["HEALTHCHECK"][0].partition("CMD ")[2])
    script = words[2]
    assert words[:2] == ["python", "-c"]
    assert ":8414/" in script
    for place, good in ((port, True), (1, False)):  # nothing listens on port 1
        done = subprocess.run(
            [sys.executable, "-c", script.replace("8414", str(place))], capture_output=True, check=False
        )
        assert (done.returncode == 0) is good


def test_the_image_requires_tokens(tmp_path: Path) -> None:
    with running(tmp_path, keys="") as process:
        assert process.wait(60) == 2
        assert process.stderr is not None
        assert "--keys is required" in process.stderr.read()


def test_the_image_does_not_run_as_root() -> None:
    assert IMAGE["USER"] == ["10001"]
    assert "--uid 10001" in " ".join(IMAGE["RUN"])


def test_the_image_copies_what_the_build_needs() -> None:
    lines = (FOLDER / "Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines()
    kept = {line[1:] for line in lines if line.startswith("!")}
    assert all((ROOT / name).exists() for name in kept)
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert {"pyproject.toml", "CMakeLists.txt", "engine", "src", "LICENSE", "README.md"} <= kept
    assert all(name in kept for name in re.findall(r'(?:readme = |license-files = \[)"([\w.]+)"', project))


def parsed(words: list[str]) -> dict[str, Any]:
    """The options of `hannan serve` for a command line."""
    return serve.make_context("serve", list(words)).params


def test_the_compose_file() -> None:
    services = yaml.safe_load((FOLDER / "compose.yaml").read_text(encoding="utf-8"))["services"]
    for name in ("decisions", "standby"):
        service = services[name]
        options = parsed([*json.loads(IMAGE["ENTRYPOINT"][0])[2:], *service["command"]])
        assert options["standby"] is True
        assert options["store"].startswith("postgresql://hannan@database/")
        assert {"HANNAN_KEYS", "PGPASSWORD"} == set(service["environment"])
    assert services["database"]["environment"]["POSTGRES_DB"] == options["store"].rpartition("/")[2]
    with pytest.raises(click.UsageError):  # the control
        parsed(["decisions.db", "--stand-by"])


def test_the_unit(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    text = (FOLDER / "hannan.service").read_text(encoding="utf-8").replace("/opt/hannan/bin/hannan", "/bin/true")
    for name, content, good in (("good", text, True), ("bad", text.replace("UMask=", "Umask="), False)):
        unit = tmp_path / f"{name}.service"
        unit.write_text(content)
        done = subprocess.run(
            ["systemd-analyze", "verify", "--man=no", str(unit)], capture_output=True, text=True, check=False
        )
        assert (unit.name not in done.stderr) is good
    (words,) = re.findall(r"^ExecStart=\S+ serve (.*)$", text, re.MULTILINE)
    given = words.replace("${CREDENTIALS_DIRECTORY}/keys", str(FOLDER / "hannan.service"))
    assert parsed(given.split())["as_json"] is True


def metrics(port: int) -> str:
    request = urllib.request.Request(f"http://127.0.0.1:{port}/metrics", headers={"authorization": f"Bearer {TOKEN}"})
    with urllib.request.urlopen(request, timeout=20) as answer:
        return answer.read().decode()


def test_the_dashboard_and_the_alerts_use_metrics_that_exist(port: int) -> None:
    client = Client(f"http://127.0.0.1:{port}", TOKEN)
    client.add("waiting", ["a", "b"], wait=0.01, default=0)
    for name in ("banner", "waiting"):
        client.observe(client.act(name).ticket, reward=1)
    client.act("waiting")
    time.sleep(0.1)
    exist = set(re.findall(r"^(hannan_\w+)", metrics(port), re.MULTILINE))
    dashboard = json.loads((FOLDER / "grafana.json").read_text(encoding="utf-8"))
    queries = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    queries += [one["query"] for one in dashboard["templating"]["list"]]
    guide = (ROOT / "docs" / "deployment.md").read_text(encoding="utf-8")
    used = set(re.findall(r"hannan_\w+", " ".join(queries))) | set(re.findall(r"hannan_\w+", guide))
    assert len(used) > 12
    assert used <= exist
    assert "hannan_clicks_total" not in exist  # the control
    assert {"hannan_draws_total", "hannan_reward_sum", "hannan_open_decisions"} <= used
    places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in dashboard["panels"]]
    assert len(set(places)) == len(places)


def test_the_scrape_configuration() -> None:
    (job,) = yaml.safe_load((FOLDER / "prometheus.yml").read_text(encoding="utf-8"))["scrape_configs"]
    assert job["metrics_path"] == "/metrics"
    assert job["static_configs"][0]["targets"] == ["decisions:8414"]


def test_the_proxy_waits_longer_than_the_service() -> None:
    text, limits = (FOLDER / "nginx.conf").read_text(encoding="utf-8"), Limits()
    for name in ("proxy_send_timeout", "proxy_read_timeout"):
        (seconds,) = re.findall(rf"{name} (\d+)s;", text)
        assert float(seconds) > max(limits.body_timeout, limits.head_timeout)
    assert "proxy_next_upstream off;" in text
    assert "proxy_cache off;" in text
    assert "client_max_body_size 1m;" in text
    assert limits.body == 1 << 20


def test_the_guide_names_files_that_exist() -> None:
    guide = (ROOT / "docs" / "deployment.md").read_text(encoding="utf-8")
    named = set(re.findall(r"packaging/deploy/([\w.]+\w)", guide))
    assert named == {path.name for path in FOLDER.iterdir()} - {"Dockerfile.dockerignore"}
