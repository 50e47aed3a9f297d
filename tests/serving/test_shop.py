"""A shop whose visitors see a banner through the client of OpenFeature, with late, lost and repeated clicks."""

from __future__ import annotations

import heapq
import json
import random
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from hannan.client import Client

api = pytest.importorskip("openfeature.api", reason="pip install '.[openfeature]'")

from openfeature.contrib.provider.ofrep import OFREPProvider  # noqa: E402
from openfeature.evaluation_context import EvaluationContext  # noqa: E402

#: Share of the visitors who click each banner, of clicks whose report is lost, and of clicks that are reported twice.
RATES = {"red": 0.10, "blue": 0.16, "green": 0.28}
LOST, TWICE = 0.1, 0.2


@contextmanager
def service(store: Path, wait: str) -> Iterator[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", "from hannan.cli import main; main()", "serve", str(store), "--port", "0",
         "--add", "banner=red,blue", "--wait", wait, "--default", "0", "--floor", "0.4"],
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stderr is not None
    try:
        yield next(told["address"] for line in process.stderr if (told := json.loads(line))["event"] == "listening")
    finally:
        process.terminate()
        process.wait(60)


def add_arm(address: str, arm: str) -> None:
    request = urllib.request.Request(
        f"{address}/v1/learners/banner/arms", json.dumps({"arm": arm}).encode(), {"content-type": "application/json"}
    )
    urllib.request.urlopen(request, timeout=30).close()


def right(found: dict[str, Any], rates: dict[str, float]) -> None:
    """Check intervals, differences and verdict against the shares of reported clicks.

    All statements together are wrong with probability 0.05 at most, by the theorem, and 0.015 in simulations.
    """
    assert {arm["arm"] for arm in found["arms"]} == set(rates)
    for arm in found["arms"]:
        assert arm["low"] <= rates[arm["arm"]] <= arm["high"], arm
    for lead in found["leads"]:
        assert lead["low"] <= rates[lead["arm"]] - rates[lead["over"]] <= lead["high"], lead
    assert found["best"] in (None, max(rates, key=rates.__getitem__))


def shop(folder: Path, visitors: int, wait: float) -> dict[str, Any]:
    """Run the shop; add a third banner in the middle; return both panels, the log and the number of clicks."""
    rng, coming = random.Random(1), list[tuple[int, int, str]]()  # (visitor at whose time it arrives, number, ticket)
    clicks = number = 0
    with service(folder / "decisions.db", f"{wait:g}s") as address:
        client = Client(address)
        api.set_provider(OFREPProvider(address))
        flags = api.get_client()
        for visitor in range(visitors):
            if visitor == visitors // 2:
                before = client.evidence("banner")
                add_arm(address, "green")
            context = EvaluationContext(targeting_key=f"visitor-{visitor}")
            flag = flags.get_string_details("banner", "red", context)
            ticket = str(flag.flag_metadata["ticket"])
            if visitor % 50 == 0:  # the page asks again: the same decision
                again = flags.get_string_details("banner", "red", context)
                assert (again.value, again.flag_metadata["ticket"]) == (flag.value, ticket)
            if rng.random() < RATES[flag.value] and rng.random() >= LOST:
                clicks += 1
                for _ in range(1 + (rng.random() < TWICE)):
                    number += 1
                    heapq.heappush(coming, (visitor + rng.randrange(200), number, ticket))
            while coming and coming[0][0] <= visitor:
                client.observe(heapq.heappop(coming)[2], reward=1)
        for _, _, ticket in sorted(coming):
            client.observe(ticket, reward=1)
        for _ in range(int(10 * wait) + 600):
            if client.arms("banner")["pending"] == 0:
                break
            time.sleep(0.1)
        with urllib.request.urlopen(f"{address}/v1/learners/banner/log", timeout=60) as answer:
            lines = answer.read().decode().splitlines()
        api.clear_providers()
        return {"before": before, "after": client.evidence("banner"), "log": lines, "clicks": clicks,
                "arms": client.arms("banner")}  # fmt: skip


@pytest.mark.parametrize("visitors", [1000, pytest.param(20_000, marks=pytest.mark.slow)])
def test_shop(tmp_path: Path, visitors: int) -> None:
    found = shop(tmp_path, visitors, wait=10.0 if visitors < 5000 else 60.0)
    rates = {arm: (1.0 - LOST) * rate for arm, rate in RATES.items()}
    right(found["before"], {arm: rates[arm] for arm in ("red", "blue")})
    right(found["after"], rates)
    assert found["before"]["decisions"] == found["after"]["decisions"] == visitors // 2
    assert found["after"]["pending"] == 0
    assert "green was added at the start" in found["after"]["assumed"]["start"]
    head, *rows = (line.split(",") for line in found["log"])
    table = [dict(zip(head, row, strict=True)) for row in rows]
    assert len(table) == visitors  # a repeated evaluation draws nothing
    assert sum(float(row["reward"]) for row in table) == found["clicks"]  # a click counts once, in its own stage
    assert {row["stage"] for row in table} == {"1", "2"}
    assert sum(arm["shown"] for arm in found["arms"]["arms"]) == visitors // 2
    # The control: averages of settled decisions, without the lost clicks and the waiting ones, are all 1.
    settled = [float(row["reward"]) for row in table if row["expired"] == "False"]
    assert min(settled) == 1.0
    if visitors >= 20_000:
        assert found["after"]["best"] == "green"
        print({key: found["after"][key] for key in ("best", "sure_since", "arms", "regret")})
