"""Stores with `hn.LocallyPrivate`: feedback is randomized before it is counted, written or repeated in an error."""

from __future__ import annotations

import json
import math
import struct
import time
from pathlib import Path
from typing import Any

import pytest
from stores import crash

import hannan as hn
from hannan.serving import Refused
from hannan.serving.app import App
from hannan.serving.service import Request, arms, metrics, observe
from hannan.serving.store import Store

ARMS = ["red", "blue"]
PLAIN = hn.Bandit(ARMS, gains=True, floor=0.5)
PRIVATE = hn.LocallyPrivate(PLAIN, epsilon=1.0)
#: A reward that no report and no other number of the store is equal to.
SECRET = 0.123456789


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "decisions.db"


def bytes_of(path: Path) -> bytes:
    return b"".join(one.read_bytes() for one in path.parent.glob(path.name + "*"))


def play(store: Store, rates: dict[str, float], rounds: int, key: Any = None) -> None:
    """Rewards of 1 in a fixed pattern, with these rates."""
    seen = dict.fromkeys(rates, 0.0)
    for _ in range(rounds // 500):
        drawn, _ = store.queue.draws("a", 500) if key is None else store.queue.draws_for("a", [key] * 500)
        feedback = []
        for ticket, arm in zip(drawn.ticket, drawn.arm, strict=True):
            seen[arm] += rates[arm]
            reward = float(seen[arm] >= 1.0)
            seen[arm] -= reward
            feedback.append((ticket, reward, None))
        store.queue.settle(feedback)
    store.queue.journal.wait(store.queue.contents.sequence)


@pytest.mark.parametrize(("learner", "hidden"), [(PRIVATE, True), (PLAIN, False)])
def test_the_reward_is_in_no_file(path: Path, learner: Any, hidden: bool) -> None:
    with Store(path) as store:
        store.add("a", learner)
        for key in (None, "anna"):
            assert store.observe(store.act("a", key).ticket, reward=SECRET) is True
        store.queue.settle([(store.act("a").ticket, SECRET, None) for _ in range(3)])
        assert (struct.pack("<d", SECRET) not in bytes_of(path)) is hidden
        text = metrics(App(store).service, Request(b"")).body.decode()
        sums = [float(line.split()[-1]) for line in text.splitlines() if line.startswith("hannan_reward_sum")]
        assert all(value.is_integer() for value in sums) is hidden
    assert (struct.pack("<d", SECRET) not in bytes_of(path)) is hidden
    with Store(path) as store:
        assert store.certificate("a").rounds == 4


@pytest.mark.parametrize(("learner", "hidden"), [(PRIVATE, True), (PLAIN, False)])
@pytest.mark.parametrize(
    "feedback",
    [{"reward": 7.654321}, {"reward": 7.654321, "loss": 7.654321}, {"reward": "7.654321"}, {"reward": -7.654321}],
)
def test_errors_do_not_repeat_the_reward(path: Path, learner: Any, hidden: bool, feedback: dict[str, Any]) -> None:
    with Store(path) as store:
        store.add("a", learner)
        ticket = store.act("a").ticket
        with pytest.raises(Refused) as raised:
            store.observe(ticket, **feedback)
        assert ("7.65" not in str(raised.value)) is hidden
        body = json.dumps({"ticket": ticket, **feedback}).encode()
        service = App(store).service
        answer = service.handle(observe, Request(body))
        assert answer.status in (400, 422)
        if hidden:
            assert b"7.65" not in answer.body
        assert store.observe(ticket, reward=1) is True  # still pending


def test_expired_decisions_are_randomized(path: Path) -> None:
    """A report of the default 0 is 1 with probability 1/(1 + e) = 0.269: five standard errors, false alarm 6e-7."""
    for name, learner, share in (("private", PRIVATE, 1.0 / (1.0 + math.e)), ("plain", PLAIN, 0.0)):
        with Store(path.with_name(f"{name}.db")) as store:
            store.add("a", learner, wait=0.05, default=0)
            store.queue.draws("a", 400)
            for _ in range(200):
                if store.certificate("a").open_moves == 0:
                    break
                time.sleep(0.05)
            log = store.log("a")
            assert log["expired"].all()
            values = sorted(set(log["reward"]))
            ones = float((log["reward"] > 0.5).mean())
            assert abs(ones - share) <= 5.0 * math.sqrt(share * (1.0 - share) / 400.0)
            assert values == ([0.0] if name == "plain" else pytest.approx(PRIVATE.report_values))


def test_certificate_states_privacy_and_its_limits(path: Path) -> None:
    with Store(path) as store:
        store.add("a", hn.LocallyPrivate(hn.TsallisShannon(ARMS, gains=True), epsilon=1.0))
        for _ in range(50):
            store.observe(store.act("a").ticket, reward=1)
        found = store.certificate("a")
    rows = dict(found.rows())
    assert "(1, 0) for any number of rounds" in rows["privacy"]
    assert "does not cover whether and when feedback arrived" in rows["arrival"]
    assert "reports" in rows


def test_crash_reproduces_the_reports(path: Path) -> None:
    store = Store(path)
    store.add("a", PRIVATE)
    play(store, {"red": 0.2, "blue": 0.8}, 1000)
    log = store.log("a")
    crash(store)
    with Store(path) as store:
        assert store.log("a").equals(log)
        assert store.queue.contents.find("a").learner == PRIVATE


def test_evidence_is_mapped_and_covers_the_rewards(path: Path) -> None:
    """Intervals are wrong with probability 0.05 at most by the theorem, and far less in simulations."""
    rates = {"red": 0.1, "blue": 0.9}
    with Store(path) as store:
        store.add("a", PRIVATE)
        play(store, rates, 20_000)
        found = store.evidence("a")
        plain = store.queue.contents.find("a").evidence
        assert plain is not None
        from hannan.players.evidence import read

        reports = read(plain.engine, ARMS, PRIVATE.units)  # the control: not mapped
        service = App(store).service
        told = json.loads(service.handle(arms, Request(b"", "a")).body)
    factor = 1.0 / math.tanh(0.5)
    assert found.best == "blue"
    assert found.regret is None
    assert found.to_dict()["regret"] is None
    assert "withheld" in dict(found.assumed)["reports"]
    for arm, rate in rates.items():
        low, high = found.arms[arm].interval
        assert low <= rate <= high
        assert found.arms[arm].mean == pytest.approx(0.5 + (reports.arms[arm].mean - 0.5) * factor, abs=1e-9)
        raw_low, raw_high = reports.arms[arm].interval
        assert not raw_low <= rate <= raw_high
    low, high = found.lead("blue", "red")
    assert low <= 0.8 <= high
    assert (low, high) == pytest.approx([factor * end for end in reports.lead("blue", "red")], abs=1e-9)
    assert told["privacy"].startswith("(epsilon, delta) = (1, 0)")
    for arm in told["arms"]:
        # Sum of n reports with standard deviation below n^0.5/2: five standard errors.
        assert abs(arm["total"] - rates[arm["arm"]] * arm["settled"]) <= 2.5 * factor * math.sqrt(arm["settled"])


def test_replay_of_the_log_is_mapped(path: Path) -> None:
    rates = {"red": 0.1, "blue": 0.9}
    with Store(path) as store:
        store.add("a", PRIVATE)
        play(store, rates, 10_000)
        log = store.log("a")
    found = hn.replay(log, "arm", "reward", "probability", gains=True, loss_range=PRIVATE.report_values, runs=1)
    for one in found.single:
        low, high = one.interval
        assert low <= rates[one.name] <= high
    raw = log.assign(reward=(log["reward"] > 0.5).astype(float))
    control = hn.replay(raw, "arm", "reward", "probability", gains=True, runs=1)
    assert not any(one.interval[0] <= rates[one.name] <= one.interval[1] for one in control.single)


def test_arms_and_keys(path: Path) -> None:
    with Store(path) as store:
        store.add("a", PRIVATE)
        store.add("a", PRIVATE)
        play(store, {"red": 0.1, "blue": 0.9}, 500, key="anna")
        store.add_arm("a", "green")
        stored = store.queue.contents.find("a")
        assert (stored.learner.arms, stored.learner.epsilon, stored.stage.ordinal) == (("red", "blue", "green"), 1.0, 2)
        store.add("a", PRIVATE)  # the list of the last add: no effect
        assert store.queue.contents.find("a").stage.ordinal == 2
        store.add("a", hn.LocallyPrivate(hn.Bandit(["red", "pink"], gains=True, floor=0.5), epsilon=1.0))
        assert store.queue.contents.find("a").stage.ordinal == 3
        with pytest.raises(Refused, match="another description"):
            store.add("a", hn.LocallyPrivate(PLAIN, epsilon=2.0))
        with pytest.raises(Refused, match="another description"):
            store.add("a", PLAIN)
