"""Fleets saved, loaded, split and joined: equal bit for bit, and every number of a file is validated."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hannan as hn
from hannan.players import fleet_file

LEARNERS = {
    "default": hn.Bandit(4),
    "sleeping": hn.Bandit(70, hn.Tsallis(0.5)),
    "hedge": hn.Bandit(80, hn.Entropy(), hn.Horizon(100)),
    "tsallis 0.3": hn.Bandit(3, hn.Tsallis(0.3)),
    "log-barrier": hn.Bandit(3, hn.LogBarrier(), hn.SelfConfident(100)),
    "frechet without a mean": hn.Bandit(3, hn.Frechet(1.0), hn.Fixed(2.0)),
    "lb-inf": hn.LBInf(4, 100),
    "delayed": hn.TsallisShannon(3),
    "exp3.s": hn.exp3_s(4, 1000, 3),
}


def played(learner: Any, keys: Any, name: str | None = None, seed: int | None = 1) -> Any:
    """A fleet with settled decisions and some open ones."""
    fleet, rng = hn.Fleet(learner, seed=seed, name=name), np.random.default_rng(0)
    sleepy = learner == LEARNERS["sleeping"]
    for t in range(30):
        awake = rng.random(learner.n) < 0.7 if sleepy and t % 3 else None
        if awake is not None:
            awake[0] = True
        moves = fleet.act(keys, awake)
        fleet.observe(moves[: len(moves) - t % 2], rng.random(len(moves) - t % 2))
    return fleet


def moves_alike(one: Any, other: Any, keys: Any) -> None:
    for _ in range(3):
        mine, theirs = one.act(keys), other.act(keys)
        np.testing.assert_array_equal(mine.action, theirs.action)
        np.testing.assert_array_equal(mine.probability, theirs.probability)
        losses = np.linspace(0.0, 1.0, len(mine))
        one.observe(mine, losses)
        other.observe(theirs, losses)


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("keys", [[3, 1, 2**40], ["anna", "ben", "cleo"]], ids=["numbers", "text"])
def test_exact_resume_continues_bit_for_bit(name: str, keys: Any, tmp_path: Path) -> None:
    fleet = played(LEARNERS[name], keys, "f", None)
    fleet.save(tmp_path / "f")
    again = hn.Fleet.load(tmp_path / "f", resume="exact")
    assert again.to_bytes() == fleet.to_bytes()
    assert (again.id, list(again.keys)) == (fleet.id, keys)
    # New keys too: their stream is in the file as well.
    moves_alike(fleet, again, [*keys, "new" if isinstance(keys[0], str) else 77])
    assert again.to_bytes() == fleet.to_bytes()


def test_plain_load_draws_other_moves_and_settles_pending_ones() -> None:
    fleet = hn.Fleet(hn.Bandit(4), seed=5, name="f")
    keys = np.arange(200)
    before = fleet.act(keys)
    data = fleet.to_bytes()
    one, two = hn.Fleet.from_bytes(data), hn.Fleet.from_bytes(data)
    assert len({fleet.id, one.id, two.id}) == 3
    drawn = [each.act(keys) for each in (fleet, one, two)]
    # 200 keys with four arms: two keys with the same draws have a probability of 4^-200.
    assert len({tuple(moves.action.tolist()) for moves in drawn}) == 3
    for each in (one, two):
        each.observe(before, np.full(200, 0.5))
        with pytest.raises(ValueError, match="already been settled or dropped"):
            each.observe(before[:1], [0.5])
        with pytest.raises(ValueError, match="not drawn by this fleet"):
            each.observe(drawn[0].ticket, np.full(200, 0.5))
        with pytest.raises(ValueError, match=r"not drawn by this fleet|differs"):
            each.observe(drawn[0], np.full(200, 0.5))
    with pytest.raises(ValueError, match="another fleet"):
        one.observe(drawn[2], np.full(200, 0.5))


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("keys", [list(range(-2, 6)), list("abcdefgh")], ids=["numbers", "text"])
def test_parts_of_a_split_fleet_continue_bit_for_bit(name: str, keys: Any) -> None:
    whole, fleet = played(LEARNERS[name], keys, "f"), played(LEARNERS[name], keys, "f")
    late = fleet.act(keys)
    whole.observe(whole.act(keys), np.full(8, 0.25))
    part = fleet.split(keys[2], keys[5])
    assert (list(part.keys), list(fleet.keys)) == (keys[2:5], keys[:2] + keys[5:])
    with pytest.raises(ValueError, match=r"already been settled or dropped|not drawn by this fleet"):
        fleet.observe(late[2:5], [0.25] * 3)
    part.observe(late[2:5], [0.25] * 3)
    fleet.observe(late[[0, 1, 5, 6, 7]], [0.25] * 5)
    fleet.join(part)
    assert len(part) == 0
    moves_alike(whole, fleet, keys)


def test_rejected_joins_change_nothing() -> None:
    fleet, other = hn.Fleet(hn.Bandit(3), seed=0), hn.Fleet(hn.Bandit(3), seed=1)
    fleet.act([1, 2])
    other.act([2, 3])
    before = fleet.to_bytes(), other.to_bytes()
    for wrong, message in [
        (other, "no common key; got 2"),
        (fleet, "different Fleet"),
        (hn.Fleet(hn.Bandit(4)), "the same learner and prior"),
        (7, "different Fleet; got 7"),
    ]:
        with pytest.raises(ValueError, match=message):
            fleet.join(wrong)  # type: ignore[arg-type]
    text = hn.Fleet(hn.Bandit(3))
    text.act(["a"])
    with pytest.raises(ValueError, match="keys of the same kind"):
        fleet.join(text)
    assert before == (fleet.to_bytes(), other.to_bytes())


def test_numbers_of_retired_learners_are_not_reused() -> None:
    fleet = hn.Fleet(hn.Bandit(3), seed=0)
    moves = fleet.act(range(10))
    assert fleet.retire(2, 5) == 3
    assert fleet.keys.tolist() == [0, 1, 5, 6, 7, 8, 9]
    with pytest.raises(ValueError, match=r"index 0 \(round 1 of 3\) has already been settled or dropped"):
        fleet.observe(moves[3:4], [0.5])
    fleet.observe(moves[5:], [0.5] * 5)
    assert fleet.number([3], touch=True).tolist() == [10]
    assert fleet.certificate(3).rounds == 0
    assert hn.Fleet.from_bytes(fleet.to_bytes(), "exact").to_bytes() == fleet.to_bytes()
    assert fleet.retire() == 8
    assert len(fleet) == 0
    with pytest.raises(ValueError, match="low must be an integer"):
        played(hn.Bandit(3), [1]).retire("a")


def edited(data: bytes, change: Any) -> bytes:
    """A file with a correct checksum and one wrong entry."""
    line, _, body = data[len(fleet_file.FORMAT) :].partition(b"\n")
    header = json.loads(line)
    plan = header["columns"]
    sizes = [width * header["open" if name.endswith("_open") or name in ("learner", "origin", "marks") else "learners"]
             for name, _, width in plan]  # fmt: skip
    columns, at = {}, 0
    for (name, kind, _), size in zip(plan, sizes, strict=True):
        columns[name] = np.frombuffer(body, f"<{kind}8", size, at).copy()
        at += 8 * size
    change(header, columns)
    body = b"".join(columns[name].tobytes() for name, _, _ in plan if name in columns)
    header["sha256"] = fleet_file._digest(header, body)
    return fleet_file.FORMAT + json.dumps(header, sort_keys=True).encode() + b"\n" + body


def put(name: str, value: Any) -> Any:
    def change(header: Any, columns: Any) -> None:
        columns[name][0] = value

    return change


def head(name: str, value: Any) -> Any:
    def change(header: Any, columns: Any) -> None:
        header[name] = value

    return change


LIES = {
    **{f"{name} {value}": put(name, value) for name, value in [
        ("losses", np.nan), ("losses", np.inf), ("losses", 1e9), ("base", np.nan), ("placed", np.nan),
        ("placed", -50.0),
        ("placed", 1e300), ("moved", 0.5), ("moved", np.inf), ("own", -1.0), ("own", 1e9), ("drawn", 2**32 - 1),
        ("drawn", 0), ("forgotten", 1000), ("delay", 2**40), ("slept", 1), ("behind", 2), ("learner", 2**63),
        ("learner", 3), ("round_open", 0), ("round_open", 10**9), ("arm_open", 4), ("arm_open", 2**63), ("origin", 1),
        ("slept_open", 1), ("marks", 2**40), ("probability_open", 0.0), ("probability_open", np.nan),
        ("probability_open", 1.5), ("weight_open", np.inf), ("weight_open", -1.0), ("number", 2**31), ("number", 5),
    ]},
    **{f"{name} {value}": head(name, value) for name, value in [
        ("learners", 4), ("learners", -1), ("learners", 2**60), ("open", 0), ("open", True), ("born", 0),
        ("born", 2**31), ("born", 2**40), ("ids", []), ("ids", ["f", "f"]), ("ids", [1]), ("ids", ["g"]),
        ("text", True),
        ("text", 3), ("names", ["a"]), ("prior", "00"), ("prior", "zz"), ("spawning", [0] * 4), ("spawning", [-1] * 5),
        ("seed", 1), ("seed", "-1"), ("learner", {"class": "Experts", "n": 4}), ("learner", {"class": "Fleet"}),
        ("learner", 3), ("columns", []), ("name", None),
    ]},
}  # fmt: skip


@pytest.mark.parametrize("lie", LIES)
def test_every_inconsistent_field_of_a_file_is_rejected(lie: str) -> None:
    fleet = played(hn.Bandit(4), [1, 2, 3], "f")
    data = edited(fleet.to_bytes(), lambda header, columns: None)
    assert hn.Fleet.from_bytes(data, "exact").to_bytes() == fleet.to_bytes()
    with pytest.raises(ValueError, match="the data cannot be resumed as a fleet"):
        hn.Fleet.from_bytes(edited(fleet.to_bytes(), LIES[lie]), "exact")


def test_small_file_without_learners_allocates_little() -> None:
    """The control: a fleet without learners, of ordinary size."""
    data = hn.Fleet(hn.Bandit(4), seed=0).to_bytes()
    assert len(hn.Fleet.from_bytes(data)) == 0

    def of_many_arms(header: Any, columns: Any) -> None:
        header["learner"]["n"] = 30_000_000

    with pytest.raises(ValueError, match="at most 1048576 arms without learners; found 30000000"):
        hn.Fleet.from_bytes(edited(data, of_many_arms))


@pytest.mark.parametrize("name", ["value", "start", "drift", "change"])
def test_potentials_of_a_file_are_finite(name: str) -> None:
    """Otherwise a certificate could not be computed. The control: of a law without a mean it is infinite."""
    data = played(LEARNERS["tsallis 0.3"], [1, 2, 3], "f").to_bytes()
    with pytest.raises(ValueError, match=r"cannot be resumed as a fleet.*change must be finite"):
        hn.Fleet.from_bytes(edited(data, put(name, np.inf)), "exact")
    again = hn.Fleet.from_bytes(edited(data, put(name, 0.25)), "exact")
    assert again.certificate(1).rounds == 30
    data = played(LEARNERS["frechet without a mean"], [1, 2, 3], "f").to_bytes()
    assert hn.Fleet.from_bytes(edited(data, put(name, np.inf)), "exact").certificate(1).rounds == 30


def test_keys_and_pending_decisions_are_unique() -> None:
    def keys(header: Any, columns: Any) -> None:
        columns["key"][0] = columns["key"][1]

    def decisions(header: Any, columns: Any) -> None:
        columns["round_open"][:2], columns["learner"][:2] = columns["round_open"][0], columns["learner"][0]

    def streams(header: Any, columns: Any) -> None:
        columns["stream"][:4] = 0

    for change in (keys, decisions, streams):
        with pytest.raises(ValueError, match=r"cannot be resumed as a fleet: .*(once|zero)"):
            hn.Fleet.from_bytes(edited(played(hn.Bandit(4), [1, 2, 3]).to_bytes(), change))


@pytest.mark.parametrize("cut", [0, 5, 20, 300, -1])
def test_truncated_and_foreign_files_are_rejected_by_name(cut: int, tmp_path: Path) -> None:
    path = tmp_path / "torn"
    path.write_bytes(played(hn.Bandit(3), ["a"]).to_bytes()[:cut])
    with pytest.raises(ValueError, match="torn cannot be resumed as a fleet"):
        hn.Fleet.load(path)
    with pytest.raises(ValueError, match="torn is not a saved player"):
        hn.load(path)


def test_flipped_bit_is_detected() -> None:
    data = bytearray(played(hn.Bandit(3), [1]).to_bytes())
    for place in range(len(fleet_file.FORMAT), len(data), 37):
        data[place] ^= 1
        with pytest.raises(ValueError, match="cannot be resumed"):
            hn.Fleet.from_bytes(bytes(data))
        data[place] ^= 1
    hn.Fleet.from_bytes(bytes(data))


def test_resume_must_be_exact_or_none() -> None:
    with pytest.raises(ValueError, match='resume must be "exact" or None'):
        hn.Fleet.from_bytes(b"", "soon")


@pytest.mark.parametrize("text", [False, True])
def test_copy_does_not_change_with_later_rounds_and_keys(text: bool) -> None:
    """Rows are copied gradually: rows that change are copied first.

    The control: without these copies the result differs.
    """
    keys: Any = [f"user {k}" for k in range(1500)] if text else np.arange(1500)
    fleet, rng = hn.Fleet(hn.Bandit(3), seed=0, name="f"), np.random.default_rng(0)
    fleet.observe(fleet.act(keys), rng.random(1500))
    waiting = fleet.act(keys[:300])
    fleet.retire(keys[70], keys[71] if text else 200)
    kept = fleet.to_bytes()
    one, other = fleet_file.gathered(fleet), fleet_file.gathered(fleet)
    fleet.observe(waiting[:60], rng.random(60))
    fleet.forget(waiting[60:65])
    fleet.act(keys[1000:1200])
    assert b"".join(one()) == kept  # one after the other, each with its own pages
    fleet.retire(keys[300], None)
    fleet.act(["new"] if text else [10_000])
    fleet.restart(7)
    assert b"".join(other()) == kept
    assert fleet.to_bytes() != kept
    left = fleet_file.gathered(fleet)
    del fleet, one, other  # copied rows stay until the copy is complete
    assert len(b"".join(left())) > 1000


@pytest.mark.parametrize("arms", [2, 70, 3000])
def test_fleet_can_grow_during_a_copy(arms: int) -> None:
    """Rows move to larger memory as learners are created: a copy that has begun is of the moment when it began."""
    learner = hn.Bandit(arms, hn.Tsallis(0.5))
    fleet, alone, copies = hn.Fleet(learner, seed=1), hn.Fleet(learner, seed=1), []
    for count in (1, 60, 70, 130, 900):
        moves, single = fleet.act(np.arange(count)), alone.act([0])
        assert (moves.action[0], moves.probability[0]) == (single.action[0], single.probability[0])
        fleet.observe(moves, np.linspace(0.5, 0.0, count))
        alone.observe(single, [0.5])
        copies.append((fleet.to_bytes(), fleet_file.gathered(fleet)))
    for before, copied in copies:
        assert b"".join(copied()) == before
        assert hn.Fleet.from_bytes(before, "exact").to_bytes() == before


def test_small_fleet_is_copied_without_a_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """A store has two fleets per learner. The control: 100,000 learners are copied with pauses."""
    pauses: list[float] = []
    monkeypatch.setattr(fleet_file.time, "sleep", pauses.append)
    fleet = hn.Fleet(hn.Bandit(3), seed=1)
    fleet.act([7])
    fleet.to_bytes()
    assert not pauses
    assert fleet.nbytes["keys"] < 20_000
    fleet.act(np.arange(100_000))
    fleet.to_bytes()
    assert pauses
