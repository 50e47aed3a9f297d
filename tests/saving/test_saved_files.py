"""Saved files: complete or absent, and validated. Crafted files have a correct checksum."""

from __future__ import annotations

import copy
import inspect
import io
import json
import os
import random
import re
import signal
import stat
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest
from rejections import rejected

import hannan as hn
from hannan import saving
from hannan.learners.fpl import MSets
from hannan.mathematics.convex.polytope import NotConverged
from hannan.players.load import resumed
from hannan.saving import files

LEARNERS = [
    hn.Experts(4), hn.Experts(70, hn.Entropy()), hn.Experts(3, hn.Entropy(), prior=(0.5, 0.3, 0.2)),
    hn.AdaHedge(4), hn.Squint(4), hn.FixedShare(4, 3.0, 0.01), hn.RandomWalk(4), hn.Dropout(4),
    hn.RandomPlayout(4, 900),
    hn.PrivateExperts(4, 1.0, rounds=900), hn.PrivateExperts(3, 1.0), hn.SlateBandit(6, 2), hn.SlateExperts(6, 2),
    hn.LocallyPrivate(hn.Bandit(4), 1.0), hn.PrivateBall(hn.Ball(2), 1.0, 1.0, rounds=900),
    hn.Bandit(4), hn.Bandit(4, hn.Exponential()), hn.Bandit(70, hn.Entropy(), hn.Horizon(400)),
    hn.tsallis_inf(4, False),
    hn.Bandit(4, hn.LogBarrier(), hn.Horizon(400)), hn.LBInf(4, 400), hn.TsallisShannon(4),
    hn.UCB1(4), hn.MOSS(4, 400), hn.KLUCB(4), hn.EpsilonGreedy(4), hn.ExploreThenCommit(4, 400, 5),
    hn.Thompson(4), hn.Thompson(4, "gaussian"), hn.LBInf(4),
    hn.Green(4, 3.0, 0.01), hn.Exp3Light(4),
    hn.ExpertBandit(7, 5, hn.Entropy()), hn.ExpertBandit(3, 5, clip="tuned"), hn.MYGA(3, 5, 50),
    hn.FPL(MSets(6, 2), 2.0), hn.FPLTrix(MSets(6, 2)), hn.Convex(hn.Ball(2), 1.0, loss_bound=2.0),
    hn.AdaNormalHedge(4), hn.MLPoly(4), hn.Exp3S(4, 20.0, 0.01),
    hn.OptimisticDescent(hn.Ball(2), 1.0), hn.SmoothDescent(hn.Ball(2), 1.0, 0.25),
    hn.OnlineNewton(hn.Ball(2), 1.0, 0.3, 0.25), hn.BarrierBandit(hn.Ball(2), 1.0, 900),
    hn.OnlineGradientDescent(hn.Ball(2), 1.0), hn.ExponentiatedGradient(hn.Simplex(2), 1.0),
]  # fmt: skip


def test_every_learner_is_tested():
    public = [value for name in hn.__all__ if inspect.isclass(value := getattr(hn, name)) and hasattr(value, "start")]
    assert len(public) > 20
    assert set(public) <= {type(learner) for learner in LEARNERS}


def act(player, rng):
    if hasattr(player.learner, "actions"):
        return player.act(rng.integers(0, player.learner.actions, player.learner.experts))
    return player.act()


def loss_of(player, move, rng):
    if isinstance(player.learner, (hn.Convex, hn.SmoothDescent, hn.OnlineNewton)):
        return hn.Logistic([0.6, 0.8], 1 if rng.random() < 0.5 else -1)
    if hasattr(player.learner, "domain"):
        return hn.Linear(rng.random(2) / 2)
    if isinstance(move.action, tuple):
        return rng.random(player.learner.n if player.sees_all else len(move.action))
    return rng.random(player.learner.n) if player.sees_all else float(rng.random())


def play_on(player, rounds, seed):
    """Play, with a valid distribution before every move if there is a distribution."""
    rng = np.random.default_rng(seed)
    for _ in range(rounds):
        if hasattr(player, "distribution") and not hasattr(player.learner, "domain"):
            p = player.distribution()
            assert np.isfinite(p).all()
            assert (p >= 0.0).all()
            assert abs(p.sum() - getattr(player.learner, "size", 1)) < 1e-9
        move = act(player, rng)
        player.observe(move, loss_of(player, move, rng))
    for move in player.open_moves:
        player.observe(move, loss_of(player, move, rng))


def saved(learner, path):
    player = learner.start(seed=1)
    play_on(player, 25, 0)
    rng = np.random.default_rng(5)
    for _ in range(3):
        act(player, rng)
    player.save(path)
    return json.loads(json.loads(path.read_text())["content"])


def places(data, at=()):
    """All positions in a JSON tree."""
    yield at
    if isinstance(data, dict):
        for key, value in data.items():
            yield from places(value, (*at, key))
    elif isinstance(data, list):
        for i, value in enumerate(data):
            yield from places(value, (*at, i))


WORDS = [
    0.0, -0.0, 1.0, -1.0, 3.0, 1e6, -1e6, 2.0**53, 1e18, -1e18, 1e300, -1e300, np.inf, -np.inf, np.nan, 0.5, 5e-324,
]  # fmt: skip
VALUES = [
    None, True, -1, 0, 1, 2, 7, 10**6, 10**12, 2**63, 10**400, -1.5, 1e308, "", "x", "00" * 8, [], [[]], {},
    {"class": "Experts"},
]  # fmt: skip


def mutated(content, rng):
    """A crafted content: one or two entries changed; hexadecimal numbers mostly replaced by other numbers."""
    content = copy.deepcopy(content)
    for _ in range(rng.choice((1, 1, 2))):
        path = rng.choice([at for at in places(content) if at])
        if rng.random() < 0.5:
            hexes = [
                at
                for at in places(content)
                if at and at[-1] in ("state", "numbers", "hex", "number", "move", "linear", "rows", "mirrors")
            ]
            path = rng.choice([at for at in hexes if isinstance(reach(content, at), str)] or [path])
        parent = reach(content, path[:-1])
        old = parent[path[-1]]
        if isinstance(old, str) and len(old) >= 16 and set(old) <= set("0123456789abcdef"):
            at = 16 * rng.randrange(min(len(old) // 16, rng.choice((48, 10**6))))
            word = np.array([rng.choice(WORDS)]).astype("<f8").tobytes().hex()
            if rng.random() < 0.3:
                word = rng.choice((np.array([rng.choice((-1, 1 << 40, 99))]).astype("<i8").tobytes().hex(), ""))
            parent[path[-1]] = old[:at] + word + old[at + 16 :]
        elif path[-1] == "number":
            parent[path[-1]] = float(rng.choice(WORDS)).hex()
        elif rng.random() < 0.2 and isinstance(parent, dict):
            del parent[path[-1]]
        else:
            parent[path[-1]] = rng.choice(VALUES)
    return content


def reach(data, path):
    for key in path:
        data = data[key]
    return data


def fuzz(folder, times, first):
    """Load crafted files; return (number rejected, number resumed); any other error is raised."""
    refused = played = 0
    for which, learner in enumerate(LEARNERS):
        path = Path(folder) / "player.json"
        content = saved(learner, path)
        for k in range(times):
            rng = random.Random(1000 * which + first + k)
            saving.write(path, mutated(content, rng))
            try:
                player = hn.load(path, resume=rng.choice((None, "exact")))
            except ValueError as error:
                if str(path) not in str(error):
                    raise
                refused += 1
                continue
            try:
                play_on(player, 12, k)
            except (NotConverged, ValueError):
                # Losses that the file cannot prove impossible, and that no solver can follow, raise an error.
                if not hasattr(learner, "domain"):
                    raise
                refused += 1
                continue
            if hasattr(player, "certificate"):
                player.certificate()
            played += 1
    return refused, played


def apart(tmp_path, call):
    """Return the numbers that a function of this file prints in another process, which may crash."""
    code = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parents[1] / 'oracles')!r}); "
        "import importlib.util; s = importlib.util.spec_from_file_location('crafted', sys.argv[1]); "
        f"m = importlib.util.module_from_spec(s); s.loader.exec_module(m); print(*m.{call})"
    )
    done = subprocess.run([sys.executable, "-c", code, __file__, str(tmp_path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return map(int, done.stdout.split())


def test_crafted_files_are_rejected_or_resume(tmp_path):
    """No file crashes the process: each is rejected with its name, or the player resumes."""
    refused, played = apart(tmp_path, "fuzz(sys.argv[2], 45, 0)")
    assert refused + played == 45 * len(LEARNERS) >= 1000
    assert refused > 500
    assert played > 50


def swept(folder):
    """Every number of a state, and the first of every array, replaced by an impossible one: (rejected, resumed)."""
    refused = played = 0
    for learner in LEARNERS:
        content = saved(learner, Path(folder) / "player.json")
        for at in places(content["state"]):
            if not at or at[-1] not in ("number", "hex") or at[0] == "leader":
                continue
            parent = reach(content["state"], at[:-1])
            old = parent[at[-1]]
            for word in (np.nan, 1e300):
                first = np.array([word]).astype("<f8").tobytes().hex()
                parent[at[-1]] = float(word).hex() if at[-1] == "number" else (first + old[16:])[: len(old)]
                try:
                    player = resumed(content)  # as if read from a file that takes long to write
                except ValueError:
                    refused += 1
                    continue
                told = player.certificate()
                assert np.isfinite([told.own_loss, *told.identity.values()]).all(), (learner, at, word)
                play_on(player, 2, 0)
                played += 1
            parent[at[-1]] = old
    return refused, played


def test_every_number_of_a_state_is_validated(tmp_path):
    """The memory of Squint was not validated: a signed file changed an index, and the process ended.

    Accepted changes concern numbers that are not used: those of another smoothing, or of a move that is settled.
    """
    refused, played = apart(tmp_path, "swept(sys.argv[2])")
    assert refused > 2.5 * played > 0


def test_a_crafted_memory_is_rejected(tmp_path):
    """Every learner with a memory validates it. Control: the unchanged memory is accepted (below)."""
    path = tmp_path / "player.json"
    for learner, place, word in (
        (hn.Squint(4), 0, 1e300), (hn.Squint(4), 4, -0.5), (hn.AdaNormalHedge(4), 5, 26.0), (hn.MLPoly(4), 4, 1e9),
        (hn.FixedShare(4, 3.0, 0.01), 1, 0.125), (hn.Exp3S(4, 20.0, 0.01), 0, -1.0), (hn.Dropout(4), 4, 0.5),
        (hn.RandomWalk(4), 0, 14.0), (hn.RandomWalk(4), 0, 0.25), (hn.RandomPlayout(4, 9), 0, 99.0),
        (hn.TsallisShannon(4), 1, -1.0),
        (hn.AdaHedge(4), 0, -1e-3), (hn.AdaHedge(4), 2, -1.0), (hn.LBInf(4), 0, 1.0), (hn.UCB1(4), 0, 99.0),
    ):  # fmt: skip
        content = saved(learner, path)
        memory = saving.from_hex(content["state"]["memory"]["hex"])
        memory[place] = word
        content["state"]["memory"]["hex"] = saving.to_hex(memory)
        saving.write(path, content)
        rejected(lambda: hn.load(path), "player.json", "memory")


def test_crafted_numbers_of_a_leader_are_rejected(tmp_path):
    path = tmp_path / "player.json"
    learner = hn.Convex(hn.Ball(2), 1.0, loss_bound=2.0)
    for field, word in (("modelled", 5e-324), ("modelled", 1e9), ("farthest", 1e9), ("last", 1.0), ("distance", -1.0)):
        content = saved(learner, path)
        content["state"]["leader"]["numbers"][field] = {"number": float(word).hex()}
        saving.write(path, content)
        message = rejected(lambda: hn.load(path), "player.json")
        assert re.search("modelled|distance", message)


def test_crafted_terms_of_the_identity_are_rejected(tmp_path):
    path = tmp_path / "player.json"
    for field, more in (("start", 0.01), ("value", 1.0), ("drift", -1.0), ("change", 0.5), ("drift", np.nan)):
        content = saved(hn.Experts(4), path)
        kept = content["state"]["numbers"][field]
        content["state"]["numbers"][field] = {"number": (float.fromhex(kept["number"]) + more).hex()}
        saving.write(path, content)
        message = rejected(lambda: hn.load(path), "player.json")
        assert re.search("start|identity|finite", message)


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_control_an_unchanged_file_is_accepted(learner, tmp_path):
    """The same content, written again, resumes as the player that was saved."""
    path = tmp_path / "player.json"
    content = saved(learner, path)
    saving.write(path, content)
    play_on(hn.load(path), 12, 0)


@pytest.mark.parametrize("field", ["arm", "round", "settled", "taken", "fresh", "total", "scale"])
@pytest.mark.parametrize("word", [-2.0, 0.5, 1e6, 2.0**53, 1e300, np.nan, np.inf])
def test_crafted_numbers_of_a_state_are_rejected(field, word, tmp_path):
    """Numbers of a state index arrays of the engine: each is validated before use."""
    path = tmp_path / "player.json"
    for learner in (hn.Bandit(70, hn.Entropy(), hn.Horizon(400)), hn.Squint(4), hn.ExpertBandit(7, 5, hn.Entropy())):
        content = saved(learner, path)
        content["state"]["numbers"][field] = {"number": float(word).hex()}
        saving.write(path, content)
        if field == "scale" and 0.0 < word < np.inf:
            continue  # any scale is allowed: weights that do not belong to it are rejected below
        rejected(lambda: hn.load(path), "player.json", field)


@pytest.mark.parametrize("name", ["losses", "weights", "memory", "baselines"])
def test_arrays_of_wrong_length_are_rejected(name, tmp_path):
    path = tmp_path / "player.json"
    for learner in (hn.Bandit(4), hn.Squint(4), hn.Experts(4)):
        content = saved(learner, path)
        for digits in (content["state"][name]["hex"] + "00" * 8, content["state"][name]["hex"][16:] or "00" * 16):
            crafted = copy.deepcopy(content)
            crafted["state"][name]["hex"] = digits
            saving.write(path, crafted)
            message = rejected(lambda: hn.load(path), "player.json")
            assert re.search(f"{name}|state", message)


def test_weights_that_do_not_follow_from_the_losses_are_rejected(tmp_path):
    """The crafted weights have the right sum, but are not what the learner plays after these losses."""
    path = tmp_path / "player.json"
    for learner in (hn.Bandit(4), hn.Experts(4), hn.Bandit(70, hn.Entropy(), hn.Horizon(400)), hn.AdaHedge(4)):
        content = saved(learner, path)
        weights = saving.from_hex(content["state"]["weights"]["hex"])
        content["state"]["weights"]["hex"] = saving.to_hex(np.roll(weights, 1))
        saving.write(path, content)
        rejected(lambda: hn.load(path), "player.json", "weights")


def test_a_crafted_size_is_rejected_without_allocating(tmp_path):
    path = tmp_path / "player.json"
    content = saved(hn.Experts(4), path)
    for thing in (
        {"class": "Experts", "n": 10**12},
        {"class": "AdaHedge", "n": 10**12},
        {"class": "ExpertBandit", "actions": 10**12, "experts": 10**12},
        {"class": "MYGA", "actions": 2, "experts": 2, "rounds": 10**12},
        {"class": "FPL", "decisions": {"class": "MSets", "components": 10**12, "m": 2}, "scale": 1.0},
        {"class": "Convex", "domain": {"class": "Ball", "dimension": 10**9}, "lipschitz": 1.0, "loss_bound": 1.0},
        {"class": "Experts", "n": 10**400},
        {"class": "Move"}, {"class": "load"}, {"class": "Horizon", "rounds": 4}, 7, None,
    ):  # fmt: skip
        saving.write(path, {**content, "learner": thing})
        began = time.perf_counter()
        rejected(lambda: hn.load(path), "player.json")
        assert time.perf_counter() - began < 2.0


def test_nesting_and_constants_are_limited(tmp_path):
    path = tmp_path / "player.json"
    for text in ("[" * 100_000, '{"a":' * 100_000, "[NaN]", "9" * 10_000):
        path.write_text(text)
        rejected(lambda: hn.load(path), "player.json")
        rejected(lambda text=text: saving.from_json(text), "description")
        body = json.dumps({"format": saving.FORMAT, "sha256": saving.digest(text), "content": text})
        path.write_text(body)
        rejected(lambda: hn.load(path), "player.json")
    deep = '{"class":"Fixed","scale":' * 100 + "1" + "}" * 100
    rejected(lambda: saving.from_json(deep), 32)
    rejected(lambda: saving.from_json('{"class":"Fixed","scale":1e999}'), "finite", "inf")


# Places


def test_the_target_of_a_link_is_replaced(tmp_path):
    real, link = tmp_path / "real.json", tmp_path / "link.json"
    player = hn.Experts(3).start()
    player.save(real)
    os.chmod(real, 0o640)
    link.symlink_to(real.name)
    player.act()
    player.save(link)
    assert link.is_symlink()
    assert hn.load(real).round == 1
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    dangling = tmp_path / "dangling.json"
    dangling.symlink_to("new.json")
    player.save(dangling)
    assert (tmp_path / "new.json").is_file()
    # Only the owner can read a new file, because it contains the random stream.
    assert stat.S_IMODE((tmp_path / "new.json").stat().st_mode) == 0o600


def test_pipes_folders_and_devices_are_rejected(tmp_path):
    player, record = hn.Experts(3).start(), hn.play(hn.Experts(2), np.zeros((4, 2)))
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path, what in ((pipe, "a pipe"), (tmp_path, "a folder"), (Path("/dev/null"), "a device")):
        for thing in (player, record):
            rejected(lambda path=path, thing=thing: thing.save(path), "file", what, str(path))
        for load in (hn.load, hn.Record.load):
            rejected(lambda path=path, load=load: load(path), "file", what, str(path))
    assert stat.S_ISFIFO(pipe.lstat().st_mode)


def test_the_next_save_removes_the_file_of_a_killed_save(tmp_path):
    path = tmp_path / "player.json"
    code = (
        "import os, signal, sys, hannan as hn; from hannan.saving import files; "
        "files.write_whole(sys.argv[1], lambda f: (f.write(b'x'), f.flush(), os.kill(os.getpid(), signal.SIGKILL)))"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert len(list(tmp_path.iterdir())) == 1
    other = tmp_path / ".player.json.mine.saving"
    other.write_text("not of this kind")
    # A file that is being written is locked, and stays.
    with files.beside(path) as (_, busy):
        hn.Experts(3).start().save(path)
        assert sorted(p.name for p in tmp_path.iterdir()) == sorted([busy.name, other.name, path.name])
        busy.unlink()


def test_the_folder_is_flushed(tmp_path, monkeypatch):
    flushed = []
    real = os.fsync

    def watch(handle):
        flushed.append(stat.S_ISDIR(os.fstat(handle).st_mode))
        real(handle)

    monkeypatch.setattr(os, "fsync", watch)
    hn.Experts(3).start().save(tmp_path / "player.json")
    assert flushed == [False, True]


# Records


def npz(path, **members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(f"{name}.npy", data)


def npy(array, shape=None, dtype=None):
    out = io.BytesIO()
    header = {
        "descr": dtype or np.lib.format.dtype_to_descr(array.dtype), "fortran_order": False,
        "shape": array.shape if shape is None else shape,
    }  # fmt: skip
    np.lib.format.write_array_header_1_0(out, header)
    return out.getvalue() + array.tobytes()


def test_crafted_records_are_rejected(tmp_path):
    path = tmp_path / "record.npz"
    record = hn.play(hn.Experts(2), np.zeros((4, 2)), runs=3)
    record.save(path)
    with np.load(path) as file:
        good = {name: npy(file[name]) for name in file.files}
    npz(path, **good)
    assert (hn.Record.load(path).regret == record.regret).all()
    regret = np.zeros((3, 4))
    crafted = {
        "huge shape": {"regret": npy(regret, (10**12, 10**6))},
        "overflowing shape": {"regret": npy(regret, (2**62, 8))},
        "objects": {"regret": npy(regret, dtype="|O")},
        "other rows": {"regret": npy(np.zeros((2, 4)))},
        "text": {"checkpoints": npy(np.array(["a", "b"]))},
        "unknown": {"other": npy(regret)},
        "checkpoints": {"checkpoints": npy(np.array([9, 3, 2, 1]))},
        "torn": {"regret": npy(regret)[:-8]},
        "no array": {"regret": b"hello"},
        "about": {"about": npy(np.frombuffer(b"[" * 50_000, dtype=np.uint8))},
    }
    for name, members in crafted.items():
        npz(path, **{**good, **members})
        assert "record" in rejected(lambda: hn.Record.load(path), "record.npz"), name
