"""store.log: pending decisions, and the smallest probability of any arm at each draw."""

from __future__ import annotations

import csv
import io
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hannan as hn
from hannan.cli import commands
from hannan.serving import journal
from hannan.serving.log import exported
from hannan.serving.store import Store
from hannan.tables.read.table import BadTable
from hannan.tables.replay.log import NoSupport

#: Nearly uniform draws, so that a log supports an estimate.
STEADY = hn.Bandit(["red", "blue"], hn.Tsallis(0.5), hn.Fixed(100.0), gains=True)
ROLES = {"action": "arm", "loss": "reward", "propensity": "probability"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "decisions.db"


def clicks(store: Store, name: str, count: int, rate: float, seed: int = 0) -> int:
    """Draw decisions and settle the clicks among them with reward 1; return the number of clicks."""
    drawn, _ = store.queue.draws(name, count)
    clicked = np.random.default_rng(seed).random(count) < rate
    store.queue.settle([(drawn.ticket[k], 1.0, None) for k in np.flatnonzero(clicked)])
    return int(clicked.sum())


def test_pending_decisions_are_rows_without_a_reward(path: Path, tmp_path: Path) -> None:
    """With clicks alone, at a rate of 0.1, the log gives the rate; the control keeps settled rows only, as before."""
    with Store(path) as store:
        store.add("banner", STEADY)
        clicked = clicks(store, "banner", 1000, 0.1)
        log = store.log("banner")
        file = tmp_path / "log.csv"
        file.write_bytes(exported(store._exporting("banner")(), "csv"))
        (tmp_path / "log.parquet").write_bytes(exported(store._exporting("banner")(), "parquet"))
    assert len(log) == 1000
    pending = log["reward"].isna()
    assert int((~pending).sum()) == clicked
    assert (log["settled"].isna() == pending).all()
    assert not log["expired"].any()
    assert log["round"].tolist() == list(range(1, 1001))
    with pytest.raises(BadTable, match=f"{1000 - clicked} empty rows of 1000"):
        hn.replay(log, **ROLES, gains=True)
    # The clicks are seeded, so that this number is always the same.
    told = hn.replay(log, **ROLES, gains=True, runs=1, missing=0, smallest="smallest_probability")
    assert told.logged.value == clicked / 1000
    assert told.logged.interval[0] < 0.1 < told.logged.interval[1] < 0.2
    control = hn.replay(log[~pending], **ROLES, gains=True, runs=1)
    assert control.logged.interval[0] > 0.9
    cells = list(csv.DictReader(io.StringIO(file.read_text())))
    assert sum(row["reward"] == "" and row["settled"] == "" for row in cells) == 1000 - clicked
    words = ["--action", "arm", "--loss", "reward", "--propensity", "probability", "--gains", "--runs", "1"]
    for form in ("csv", "parquet"):
        asked = ["replay", str(tmp_path / f"log.{form}"), *words]
        assert commands.run(asked) != 0
        assert commands.run([*asked, "--missing", "0", "--smallest", "smallest_probability"]) == 0


LEARNERS = [
    hn.Bandit(4, gains=True),
    hn.Bandit(4, hn.Tsallis(0.5), gains=True),
    hn.Bandit(4, hn.Exponential(), hn.Horizon(500), hn.GeometricResampling(40), gains=True),
    hn.Bandit(4, tuning=hn.Horizon(500), gains=True),
    hn.Bandit(4, hn.LogBarrier(), hn.Horizon(500), gains=True),
    hn.TsallisShannon(4, gains=True),
    hn.Bandit(4, hn.Entropy(), hn.Horizon(500), hn.ImplicitExploration(0.02), gains=True),
]


def followed(store: Store, name: str, keys: tuple[Any, ...], rounds: int, seed: int = 0) -> dict[Any, list[float]]:
    """Play with late and missing feedback; return the live probabilities {arm: p} before each draw, in order."""
    rng, seen, moves = np.random.default_rng(seed), [], []
    for t in range(rounds):
        key = keys[t % len(keys)]
        stored = store.queue.contents.find(name)
        seen.append((key, dict(zip(map(str, stored.arms.labels), stored.weights(key), strict=True))))
        moves.append(store.act(name, key=key))
        assert seen[-1][1][str(moves[-1].arm)] == moves[-1].probability
        if t % 3:
            store.observe(moves[int(rng.integers(len(moves)))].ticket, reward=rng.random() ** (1 + moves[-1].action))
    return seen


def expected(seen: list[Any], log: Any) -> list[float]:
    """The smallest live probability of the arms of the log, 0 for an arm that is not in a row."""
    arms = set(log["arm"])
    return [min(p.get(arm, 0.0) for arm in arms) for _, p in seen]


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
@pytest.mark.parametrize("keys", [(None,), (5, None, -1, 2**62), ("anna", "ben")], ids=str)
def test_smallest_probabilities_are_exact(path: Path, learner: Any, keys: tuple[Any, ...]) -> None:
    """Bit for bit the live probabilities, after a restart too. Control: they are not the propensities."""
    store = Store(path, snapshot_events=50)
    with store:
        store.add("other", learner)
        store.add("a", learner)
        seen = followed(store, "a", keys, 60)
        store.act("other", key="x")
    with Store(path) as store:
        seen += followed(store, "a", keys, 40, seed=1)
        log = store.log("a")
        weights = store.log("a", weights=True)
    assert log["smallest_probability"].tolist() == expected(seen, log)
    # The probabilities of all arms are those of the live learner, bit for bit.
    for (_, p), row in zip(seen, weights.to_dict("records"), strict=True):
        assert {arm: row[f"probability_{arm}"] for arm in p} == p
        assert row[f"probability_{row['arm']}"] == pytest.approx(row["probability"], rel=1e-12)
    assert [name for name in weights if name not in log] == [f"probability_{arm}" for arm in seen[0][1]]
    assert (log["smallest_probability"] <= log["probability"]).all()
    assert (log["smallest_probability"] < log["probability"]).any()


def test_unavailable_arms_have_probability_zero(path: Path) -> None:
    """An arm is added after 40 draws, another one retires after 80: only the rows in between have all of them.

    Draws are nearly uniform; some arm is missing in 40 draws of three arms with probability 3e-7, about 3 (2/3)^40.
    """
    learner = hn.Bandit(4, hn.Tsallis(0.5), hn.Fixed(1e4), gains=True)
    with Store(path) as store:
        store.add("a", learner, arms=["red", "blue", "2"])
        seen = followed(store, "a", (None,), 40)
        store.add_arm("a", "green")
        seen += followed(store, "a", (None,), 40, seed=1)
        store.retire_arm("a", "red")
        when = store.queue.journal.clock.now()
        seen += followed(store, "a", (None,), 40, seed=2)
        log, late = store.log("a"), store.log("a", since=when)
    smallest = log["smallest_probability"]
    assert smallest.tolist() == expected(seen, log)
    assert (smallest > 0).tolist() == [False] * 40 + [True] * 40 + [False] * 40
    # Without the rows of red, red does not count.
    assert set(late["arm"]) == {"blue", "2", "green"}
    assert len(late) == 40
    assert (late["smallest_probability"] > 0).all()


def test_an_arm_that_was_never_drawn_does_not_count(path: Path) -> None:
    with Store(path) as store:
        store.add("a", hn.Bandit(3, hn.Tsallis(0.5), gains=True), arms=["red", "blue"])
        followed(store, "a", (None,), 30)
        store.add_arm("a", "green")
        log = store.log("a")
    assert (log["smallest_probability"] > 0).all()


def test_stages_with_other_arms_have_probability_zero(path: Path) -> None:
    """A late arm begins a stage. The whole log is rejected, the rows of the second stage are verified."""
    with Store(path) as store:
        store.add("a", STEADY)
        clicks(store, "a", 200, 1.0)
        store.add_arm("a", "green")
        clicks(store, "a", 800, 0.3)
        log, second = store.log("a"), store.log("a", stage=2)
        weights = store.log("a", weights=True)
        assert (weights["probability_green"][:200] == 0).all()
        assert (weights["probability_green"][200:] > 0).all()
        columns = [f"probability_{arm}" for arm in ("red", "blue", "green")]
        np.testing.assert_allclose(weights[columns].sum(axis=1), 1.0, rtol=1e-12)
        told = hn.replay(weights, **ROLES, gains=True, runs=1, missing=0, anytime=True,
                         probabilities=dict(zip(("red", "blue", "green"), columns, strict=True)))  # fmt: skip
        green = next(one for one in told.single if one.name == "green")
        assert green.interval[1] - green.interval[0] > 0.2  # its rewards in the first 200 rows are unknown
        store.rename_arm("a", "green", "lime")
        assert "probability_lime" in store.log("a", weights=True)
        with pytest.raises(ValueError, match=r"weights.*3"):
            store.log("a", weights=3)
        assert len(store.log("a", stage=1)) == 200
        for stage, match in ((3, "stages 1 to 2; got stage 3"), (0, "stage"), (1.5, "stage")):
            with pytest.raises(ValueError, match=match):
                store.log("a", stage=stage)
        with pytest.raises(ValueError, match="since"):
            store.log("a", since=-1.0)
    assert (log["smallest_probability"][:200] == 0).all()
    assert (log["smallest_probability"][200:] > 0).all()
    with pytest.raises(
        NoSupport, match=r"0 in 200 of 1000 rows, between row 1 and row 200, never drawn there: 'green'"
    ):
        hn.replay(log, **ROLES, gains=True, missing=0, smallest="smallest_probability")
    for rows in (second, log[log["smallest_probability"] > 0]):
        told = hn.replay(rows, **ROLES, gains=True, runs=1, missing=0, smallest="smallest_probability")
        assert "verified" in told.learners[0].estimates["ips"].method


def test_pruned_events_leave_what_a_snapshot_can_rebuild(path: Path) -> None:
    """A pending decision stops pruning before the older snapshot: draws up to that snapshot cannot be rebuilt.

    The other ones are exactly as before pruning. Control: before pruning no row is empty. Draws are nearly uniform: an
    arm is missing in the 36 rows that are left, and so in their minimum, with probability 1.4e-6.
    """

    def play(store: Store, count: int) -> None:
        for t in range(count):
            store.observe(store.act("a").ticket, reward=0.1 * (t % 10))

    with Store(path) as store:
        store.add("a", hn.Bandit(3, hn.Tsallis(0.5), hn.Fixed(1e4), gains=True))
        play(store, 20)
        store.act("a")
        play(store, 20)
    with Store(path) as store:
        play(store, 10)
    with Store(path) as store:
        play(store, 5)
        whole = store.log("a")
        assert whole["smallest_probability"].notna().all()
        assert store.prune(0.0) > 0
        left = store.log("a")
    assert (len(whole), len(left)) == (56, 36)
    assert left["smallest_probability"].isna().tolist() == [True] * 21 + [False] * 15
    assert left["smallest_probability"][21:].tolist() == whole["smallest_probability"][41:].tolist()
    with pytest.raises(NoSupport, match="got 21 empty rows of 36"):
        hn.replay(left, **ROLES, gains=True, missing=0, smallest="smallest_probability")


def test_journal_that_is_not_reproduced_has_no_smallest_probabilities(path: Path) -> None:
    """Control of the exactness: a changed probability in the journal ends the rebuilding at that draw."""
    with Store(path) as store:
        store.add("a", hn.Bandit(3, gains=True))
        for _ in range(30):
            store.observe(store.act("a").ticket, reward=0.5)
        groups, backend = store.queue.backend.groups, store.queue.backend
        acts = 0

        def altered(start: int) -> Any:
            nonlocal acts
            for first, blob in groups(start):
                body, when = journal.opened(blob, first)
                slots = np.frombuffer(body, journal.RECORD).copy()
                for k in np.flatnonzero(slots["kind"] == journal.ACT):
                    acts += 1
                    if acts % 30 == 20:
                        slots["value"][k] = math.nextafter(slots["value"][k], 1.0)
                yield first, journal.group(slots.tobytes(), when)

        backend.groups = altered  # type: ignore[method-assign]
        log = store.log("a")
        del backend.groups
    assert log["smallest_probability"].notna().tolist() == [True] * 19 + [False] * 11
