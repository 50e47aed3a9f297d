"""Interrupted grids resume with the same table, byte for byte; invalid plans are rejected with their line."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import numpy as np
import pytest
from rejections import rejected

import hannan as hn
from hannan.games.sweep import SweepFailed, Swept, workers
from hannan.games.sweep.folder import Estimate, Folder
from hannan.games.sweep.plan import BadPlan, Place, content, keys_of, plan_of

pyarrow = pytest.importorskip("pyarrow")
pytest.importorskip("pyarrow.parquet")
pytest.importorskip("cloudpickle")

PLAN = {
    "learners": {"ours": "bandit", "Exp3": "exp3"},
    "environments": {"clicks": {"means": [0.2, 0.4]}, "drift": "drifting"},
    "n": [2, 3],
    "rounds": [40, 80],
    "runs": 3,
}
CELLS = 2 * (2 + 4)


def swept(out: Path, plan: object = PLAN, **more: object) -> Swept:
    return hn.sweep(plan, out, **({"workers": 1, "progress": False} | more))


def exported(found: Swept, to: Path) -> bytes:
    found.export(to)
    return to.read_bytes()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("whole")
    return exported(swept(folder / "out"), folder / "table.parquet")


def test_a_sweep_is_the_comparison_of_its_cells(tmp_path: Path) -> None:
    found = swept(tmp_path / "out")
    assert found.status["done"] == found.status["cells"] == CELLS
    one = hn.compare(PLAN["learners"], {"clicks": PLAN["environments"]["clicks"]}, runs=3, rounds=80)
    cell = found.comparison.cell("Exp3", "clicks, T = 80")
    assert np.array_equal(cell.regret, one.cell("Exp3", "clicks").regret)
    assert np.array_equal(cell.bound, one.cell("Exp3", "clicks").bound)
    frame = found.to_frame()
    assert list(frame.columns[:5]) == ["key", "learner", "environment", "n", "rounds"]
    assert frame["key"].is_monotonic_increasing
    assert "n = 3, T = 40" in str(found)
    assert r"\toprule" in found.to_latex()
    assert len(found.plot().to_dict()["concat"]) == 6
    assert len(found.summary()) == CELLS


def test_processes_shards_and_one_process_give_the_same_bytes(tmp_path: Path, whole: bytes) -> None:
    both = swept(tmp_path / "two", workers=2)
    assert exported(both, tmp_path / "two.parquet") == whole
    for i in (2, 1, 3):
        last = swept(tmp_path / "shards", shard=(i, 3))
    assert len(list((tmp_path / "shards").glob("index-*-of-3.sqlite"))) == 3
    assert exported(last, tmp_path / "shards.parquet") == whole


def test_a_complete_folder_computes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    swept(tmp_path / "out")
    monkeypatch.setattr(workers, "play_cell", lambda *a, **k: pytest.fail("it was played again"))
    assert swept(tmp_path / "out").status["left"] == 0


def test_larger_plan_computes_only_new_cells(tmp_path: Path) -> None:
    swept(tmp_path / "out")
    before = {path.name: path.read_bytes() for path in (tmp_path / "out").glob("part-*")}
    more = PLAN | {"learners": PLAN["learners"] | {"hedge": "hedge"}}
    assert swept(tmp_path / "out", more).status == swept(tmp_path / "out", more).status | {"done": CELLS + 6}
    after = {path.name: path.read_bytes() for path in (tmp_path / "out").glob("part-*")}
    assert before.items() <= after.items()
    assert swept(tmp_path / "out").status["cells"] == CELLS


@pytest.mark.parametrize(
    "harm", ["index lost", "index torn", "part lost", "part torn", "part not entered", "left beside"]
)
def test_damaged_files_are_computed_again(
    tmp_path: Path, whole: bytes, harm: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "TOGETHER", 0.0)
    out = tmp_path / "out"
    swept(out).folder.close()
    index, part = out / "index.sqlite", sorted(out.glob("part-*"))[3]
    if harm == "index lost":
        index.unlink()
    elif harm == "index torn":
        index.write_bytes(index.read_bytes()[:3000] + b"nonsense" * 20)
    elif harm == "part lost":
        part.unlink()
    elif harm == "part torn":
        part.write_bytes(part.read_bytes()[:-50])
    elif harm == "part not entered":
        with sqlite3.connect(index) as open_index:
            open_index.execute("DELETE FROM cells WHERE part = ?", (part.name,))
    else:
        (out / f".{part.name}.123").write_bytes(b"PAR1 and no more")
    assert exported(swept(out), tmp_path / "table.parquet") == whole


def flips(path: Path, to: Path, count: int, errors: tuple[type[Exception], ...] = (ValueError,)) -> dict[str, int]:
    """Flip one bit of a part in each trial; count exports that are the same, different, or rejected with `errors`."""
    part = sorted(path.glob("part-*"))[0]
    sound, rng, found = part.read_bytes(), np.random.default_rng(0), {"same": 0, "different": 0, "rejected": 0}
    Folder(path).export(to)
    expected = to.read_bytes()
    for place in rng.integers(0, 8 * len(sound), count).tolist():
        changed = bytearray(sound)
        changed[place >> 3] ^= 1 << (place & 7)
        part.write_bytes(changed)
        try:
            Folder(path).export(to)
        except errors:
            found["rejected"] += 1
        else:
            found["same" if to.read_bytes() == expected else "different"] += 1
    part.write_bytes(sound)
    return found


def test_flipped_bits_of_a_part_are_never_exported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "TOGETHER", 1e9)  # one part
    swept(tmp_path / "out").folder.close()
    found = flips(tmp_path / "out", tmp_path / "t.csv", 200)
    assert found["different"] == 0
    assert found["rejected"] > 100
    # Negative control: without verification other numbers are exported, or pyarrow fails with errors of its own.
    real = pyarrow.parquet.ParquetFile
    monkeypatch.setattr(pyarrow.parquet, "ParquetFile", lambda path, **_: real(path))
    errors = (ValueError, pyarrow.ArrowException)
    assert flips(tmp_path / "out", tmp_path / "t.csv", 200, errors)["different"] > 0


def test_csv_is_the_same_table(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    found = swept(tmp_path / "out")
    rows = found.export(tmp_path / "t.csv")
    # Older versions of pandas read numbers to the last digit only when asked.
    read = pandas.read_csv(tmp_path / "t.csv", float_precision="round_trip")
    assert len(read) == rows
    assert np.array_equal(read["regret"], found.to_frame()["regret"])
    rejected(lambda: found.export(tmp_path / "t.txt"), ".parquet", ".csv")


def test_key_identifies_the_computation() -> None:
    def key(**more: object) -> set[str]:
        plan = {"learners": {"a": "exp3"}, "environments": {"c": {"means": [0.1, 0.2]}}, "rounds": 10} | more
        return set(keys_of(plan_of(plan)))

    assert key() == key()
    others = [
        key(seed=1), key(runs=7), key(rounds=11), key(share_streams=True), key(learners={"a": "bandit"}),
        key(learners={"b": "exp3"}), key(environments={"c": {"means": [0.1, 0.3]}}),
        key(learners={"a": hn.exp3(2, 10)}),
        key(environments={"d": {"means": [0.1, 0.2]}}), key(environments={"c": np.zeros((10, 2))}),
        key(environments={"c": np.ones((10, 2))}),
    ]  # fmt: skip
    assert len({frozenset(k) for k in [key(), *others]}) == len(others) + 1
    # the same learner, given as text and as an object
    assert key(learners={"a": hn.Bandit(2, hn.Entropy())}) == key()


def test_version_and_engine_are_in_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    from hannan.games.sweep import plan as keys

    plan = plan_of(PLAN)
    before = set(keys_of(plan))
    monkeypatch.setattr(keys, "__version__", "9.9.9")
    assert not before & set(keys_of(plan))
    monkeypatch.undo()
    monkeypatch.setattr(keys, "engine_digest", lambda: "another")
    assert not before & set(keys_of(plan))


def test_user_defined_code_is_identified_by_its_source() -> None:
    def maker(k: float) -> object:
        def charge(t: int, past: object) -> list[float]:
            return [k, 0.0]

        return charge

    assert content(maker(0.5)) == content(maker(0.5)) != content(maker(0.25))
    rejected(lambda: content(iter([1])), "list_iterator")


#: Words of the error message -> (plan, line of the error).
BAD = {
    "learner 'x'": ('rounds = 10\n[learners]\na = "exp3"\nx = "exp33"\n[environments]\nc = {means = [0.1, 0.2]}\n', 4),
    "'driftin'": ('rounds = 10\nn = 3\n[learners]\na = "exp3"\n[environments]\nc = "driftin"\n', 6),
    "'x'": (
        'rounds = 10\nn = 3\n[learners]\na = "exp3"\n[environments]\n"my c" = {adversary = "switching", x = 3}\n', 6,
    ),
    'learners': ('rounds = 10\n[learners]\n[environments]\nc = {means = [0.1]}\n', 2),
    '[]': ('rounds = []\n[learners]\na = "exp3"\n[environments]\nc = {means = [0.1]}\n', 1),
    "rounds|twice": ('rounds = [1, 1]\n[learners]\na = "exp3"\n[environments]\nc = {means = [0.1]}\n', 1),
    "'c'": ('[learners]\na = "exp3"\n[environments.c]\nmeans = [0.1]\n', 3),
    'n': ('rounds = 3\n[learners]\na = "exp3"\n[environments]\nc = "cyclic"\n', 5),
    '[2]': ('rounds = 3\nn = [2]\n[learners]\na = "exp3"\n[environments]\nc = {means = [0.1]}\n', 2),
    'advice': ('rounds = 3\n[learners]\na = "exp4"\n[environments]\nc = {means = [0.1]}\n', 3),
    'no.csv': ('rounds = 3\n[learners]\na = "exp3"\n[environments]\n\nc = {file = "no.csv"}\n', 6),
    'runs': ('rounds = 3\nruns = 0\n[learners]\na = "exp3"\n[environments]\nc = {means = [0.1]}\n', 2),
    "'run'": ('rounds = 3\nrun = 5\n[learners]\na = "exp3"\n[environments]\nc = {means = [0.1]}\n', 2),
    '3|rounds|9': (
        'rounds = [\n 2,\n 9]\n[learners]\na = "exp3"\n[environments]\nc = {file = "three.csv"}\n', 7,
    ),
    'means|1.5': ('rounds = 3\n[learners]\na = "exp3"\n[environments]\nc.means = [0.1, 1.5]\n', 5),
    "learner 'a'": ('rounds = 3\n[learners]\na = "exp3@fixed"\n[environments]\nc = {means = [0.1, 0.5]}\n', 3),
}  # fmt: skip


@pytest.mark.parametrize("words", sorted(BAD))
def test_an_invalid_plan_is_rejected_with_its_line(tmp_path: Path, words: str) -> None:
    text, line = BAD[words]
    (tmp_path / "three.csv").write_text("x,y\n0,1\n1,0\n0.5,0.5\n")
    path = tmp_path / "plan.toml"
    path.write_text(text)
    rejected(lambda: hn.sweep(path, tmp_path / "out"), "plan.toml", f"line {line}", *words.split("|"), kind=BadPlan)
    assert not (tmp_path / "out").exists()


def test_files_that_are_not_plans_are_rejected(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text("rounds = = 3\n")
    rejected(lambda: plan_of(tmp_path / "plan.toml"), "plan.toml", "TOML", "line 1", kind=BadPlan)
    rejected(lambda: plan_of(tmp_path / "none.toml"), "none.toml", kind=BadPlan)
    rejected(lambda: plan_of(3), "dict", "int", kind=BadPlan)
    rejected(lambda: Folder(tmp_path), str(tmp_path), "plan.json")


def test_files_are_relative_to_the_plan(tmp_path: Path) -> None:
    (tmp_path / "losses.csv").write_text("x,y\n" + "0,1\n" * 30)
    (tmp_path / "plan.toml").write_text('[learners]\na = "exp3"\n[environments]\nreal = "losses.csv"\n')
    place = plan_of(tmp_path / "plan.toml").places[0]
    assert (place.n, place.rounds) == (2, 30)


class Bad:
    """A learner that fails in its third round."""

    n = 2

    def start(self, seed: int) -> Bad:
        player = Bad()
        player.left = 2
        return player

    def act(self) -> int:
        self.left -= 1
        if self.left < 0:
            raise RuntimeError("no more moves")
        return 0

    def observe(self, move: int, loss: float) -> None:
        pass


def test_a_cell_that_fails_does_not_stop_the_others(tmp_path: Path) -> None:
    plan = {
        "learners": {"bad": Bad(), "good": "exp3"},
        "environments": {"c": {"means": [0.1, 0.2]}},
        "rounds": 9,
        "runs": 2,
    }
    words = ("1 of 2 cells", "bad in c, n 2, 9 rounds", "no more")
    rejected(lambda: swept(tmp_path / "out", plan), *words, kind=SweepFailed)
    assert Swept(tmp_path / "out").status["done"] == 1


class Killer:
    """A learner that kills its process."""

    n = 2

    def start(self, seed: int) -> None:
        import os
        import signal

        os.kill(os.getpid(), signal.SIGKILL)


def test_a_cell_whose_process_dies_fails_alone(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(workers, "DEATHS", 1)
    plan = {
        "learners": {"good": "exp3", "killer": Killer(), "also good": "bandit"},
        "environments": {"c": {"means": [0.1, 0.2]}}, "rounds": 5, "runs": 1,
    }  # fmt: skip
    words = ("1 of 3 cells", "killer in c", "died 1 times")
    rejected(lambda: swept(tmp_path / "out", plan, workers=2), *words, kind=SweepFailed)
    assert Swept(tmp_path / "out").status["done"] == 2


def test_workers_of_another_version_raise(monkeypatch: pytest.MonkeyPatch) -> None:
    orders = workers.orders_of(plan_of(PLAN))
    monkeypatch.setattr(workers, "__version__", "0.0.1")
    rejected(lambda: workers.Worker(orders), hn.__version__, "0.0.1")


def test_the_estimate_of_the_remaining_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("hannan.games.sweep.folder.time.monotonic", lambda: now[0])
    places = {str(k): Place("quick" if k < 4 else "slow", "c", 2, 100) for k in range(8)}
    estimate = Estimate(places, runs=1, workers=1)
    assert estimate.seconds() == (None, ["quick", "slow"])
    for k in range(3):
        now[0] += 1.0
        estimate.done(str(k), 1.0)
    left, unseen = estimate.seconds()
    assert left == pytest.approx(5.0)
    assert unseen == ["slow"]
    assert estimate.text() == "3 of 8 cells, about 5 s left (slow not yet timed)"
    now[0] += 10.0
    estimate.done("4", 10.0)
    # one quick cell of 1 s and three slow ones of 10 s are left
    assert estimate.seconds() == (pytest.approx(31.0), [])


def test_the_plan_is_stored(tmp_path: Path) -> None:
    swept(tmp_path / "out")
    plan = json.loads((tmp_path / "out" / "plan.json").read_text())
    assert plan["learners"] == PLAN["learners"]
    assert len(plan["cells"]) == CELLS


@pytest.mark.parametrize("shard", [(0, 2), (3, 2), 2, (1,)])
def test_invalid_shards_are_rejected(tmp_path: Path, shard: object) -> None:
    rejected(lambda: swept(tmp_path / "out", shard=shard), "shard")
