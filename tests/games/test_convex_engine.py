"""The engine of convex games: equal bits everywhere, live and in games; saved fields are checked."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import hannan as hn
from hannan import _engine
from hannan.games.convex import hindsight
from hannan.games.play import play
from hannan.mathematics.convex.domains import Ball, Box, Simplex
from hannan.mathematics.convex.leader import Leader
from hannan.mathematics.convex.polytope import Polytope

SETS = {
    "ball": lambda d: Ball(d, 1.5, tuple(np.linspace(0.1, 0.2, d))),
    "box": lambda d: Box([-0.5] * d, [0.7] * d),
    "simplex": Simplex,
}


def losses(kind: str, d: int, rounds: int = 60) -> hn.Linear:
    rng = np.random.default_rng([d, rounds])
    z = rng.standard_normal((rounds, d))
    z /= np.linalg.norm(z, axis=1, keepdims=True)
    y = np.where(rng.random(rounds) < 0.6, 1.0, -1.0)
    made = {
        "linear": lambda: hn.Linear(z),
        "squared": lambda: hn.Squared(z, 0.3 * y),
        "logistic": lambda: hn.Logistic(z, y),
        "huber": lambda: hn.Huber(z, y, 0.4),
        "hinge": lambda: hn.SmoothedHinge(z, y, 0.5),
    }
    return made[kind]()


def learner(where: str, kind: str, noise: str, d: int) -> hn.Convex:
    law = hn.GammaNoise() if noise == "gamma" else hn.GaussianNoise()
    smooth = 0.0 if kind == "linear" else 2.0
    return hn.Convex(SETS[where](d), 4.0, law, hn.Fixed(3.0), smooth=smooth)


KINDS = ("linear", "squared", "logistic", "huber", "hinge")


@pytest.mark.parametrize("where", SETS)
@pytest.mark.parametrize("kind", KINDS)
def test_bits_are_the_same_for_all_instruction_sets(where, kind):
    found = []
    try:
        for name in ("base", "v3"):
            if not _engine.use_instruction_set(name):
                pytest.skip("this machine has one instruction set only")
            moves = [
                play(learner(where, kind, noise, d), losses(kind, d), runs=2, keep="all", threads=1).actions
                for noise in ("gamma", "gaussian")
                for d in (1, 2, 5, 8, 11)
            ]
            found.append(np.concatenate([move.ravel() for move in moves]))
    finally:
        _engine.use_instruction_set("")
    np.testing.assert_array_equal(found[0].view(np.uint64), found[1].view(np.uint64))


@pytest.mark.parametrize("where", SETS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("d", [1, 3, 4, 9])
def test_player_equals_its_game_bit_for_bit(where, kind, d):
    table = losses(kind, d, 40)
    for noise in ("gamma", "gaussian"):
        chosen = learner(where, kind, noise, d)
        record = play(chosen, table, seed=3, keep="all")
        player = chosen.start(3)
        moves = []
        for loss in table:
            moves.append(player.act())
            player.observe(moves[-1], loss)
        np.testing.assert_array_equal([move.action for move in moves], record.actions[0])
        assert player.certificate().regret == pytest.approx(record.regret[0, -1], abs=1e-7)
        twin = chosen.start(3)
        np.testing.assert_array_equal(twin.through(table), record.actions[0])


@pytest.mark.parametrize("where", SETS)
@pytest.mark.parametrize("d", [1, 2, 3, 7, 8])
def test_runs_played_together_equal_single_runs(where, d):
    """Numbers of rows with every remainder modulo four, and so few rows that a vector load would read beyond the
    end.
    """
    for rounds in (1, 2, 3, 50):
        chosen, table = learner(where, "linear", "gamma", d), losses("linear", d, rounds)
        alone = play(chosen, table, runs=5, seed=2, keep="all", threads=1)
        for threads in (1, 2, 7):
            together = play(chosen, table, runs=5, seed=2, threads=threads)
            at = together.checkpoints - 1
            np.testing.assert_array_equal(together.regret[:, -1], alone.regret[:, -1])
            np.testing.assert_allclose(together.regret, alone.regret[:, at], atol=1e-12)


def test_points_stay_in_the_simplex_while_the_hessian_is_nearly_singular():
    """The Hessian of one loss has rank one, and the ridge of a hindsight computation is 1e-11: the sum must not
    drift.
    """
    table = losses("logistic", 4, 200)
    domain = Simplex(4)
    marks = np.arange(1, 201)
    from_the_last = hindsight(domain, table, marks)
    leader = Leader(domain)
    leader.absorb(table)
    x, _ = leader.minimise(np.zeros(4), *leader.hindsight_ridge())
    assert abs(x.sum() - 1.0) < 1e-14
    assert from_the_last[-1] == pytest.approx(leader.value(x), abs=1e-8)
    played = play(learner("simplex", "logistic", "gamma", 4), table, keep="all").actions[0]
    assert np.abs(played.sum(axis=1) - 1.0).max() < 1e-14


def played_leader(where: str, kind: str) -> Leader:
    chosen = learner(where, kind, "gamma", 3)
    leader = Leader(chosen.domain, chosen.rules(), 5)
    leader.play(losses(kind, 3, 20))
    return leader


@pytest.mark.parametrize("where", SETS)
@pytest.mark.parametrize("kind", KINDS)
def test_saved_fields_resume_bit_for_bit(where, kind):
    leader, table = played_leader(where, kind), losses(kind, 3, 50)
    copy = Leader(leader.domain, leader.rules)
    copy.resume(leader.content())
    assert copy.content() == leader.content()
    pickled = pickle.loads(pickle.dumps(leader))
    moves = leader.play(table)
    np.testing.assert_array_equal(copy.play(table), moves)
    np.testing.assert_array_equal(pickled.play(table), moves)


BAD = [
    (("numbers", "round"), -1.0), (("numbers", "round"), 2.5), (("numbers", "own"), np.nan),
    (("numbers", "scale"), -1.0),
    (("numbers", "modelled"), 22.0), (("numbers", "ridge"), np.inf), (("numbers", "last"), "x"), (("numbers",), 3),
    (("stream",), (0, 0, 0, 0)), (("stream",), (1, 2, 3)), (("stream",), (-1, 2, 3, 4)), (("phi",), 5), (("phi",), 1),
    (("phi",), -1), (("phi",), 0), (("phi",), "logistic"), (("parameter",), 1.0), (("parameter",), -1.0),
    (("squares",), -1), (("squares",), 1), (("squares",), 2**60), (("move",), np.zeros(4)),
    (("move",), np.full(3, np.nan)),
    (("normals",), np.zeros(2)), (("linear",), np.full(3, np.inf)), (("linear",), None), (("quadratic",), np.zeros(8)),
    (("rows",), np.zeros(59)), (("rows",), np.full(60, 1e200)), (("targets",), np.zeros(19)), (("targets",), "none"),
    (("model",), {}), (("model", "mirrors"), np.zeros(8)), (("model", "diagonal"), np.full(3, np.nan)),
]  # fmt: skip


@pytest.mark.parametrize(("path", "value"), BAD, ids=lambda part: str(part)[:30])
def test_invalid_field_is_rejected_by_name_without_a_change(path, value):
    run = played_leader("ball", "logistic").run
    fields = run.fields()
    inner = fields
    for name in path[:-1]:
        inner = inner[name]
    inner[path[-1]] = value
    fresh = Leader(Ball(3), learner("ball", "logistic", "gamma", 3).rules())
    before = fresh.content()
    with pytest.raises(ValueError, match=r" must |missing field"):
        fresh.run.restore(fields)
    assert fresh.content() == before
    for name in path:  # absent
        whole = run.fields()
        whole.pop(path[0]) if len(path) == 1 else whole[path[0]].pop(name, None)
        if whole.keys() == run.fields().keys() and whole[path[0]].keys() == run.fields()[path[0]].keys():
            continue
        with pytest.raises(ValueError, match=f"missing field {name}"):
            fresh.run.restore(whole)
    fresh.run.restore(run.fields())  # the control


def test_a_player_has_one_caller_at_a_time():
    player = hn.Convex(Ball(2), 1.0, tuning=hn.Fixed(1.0)).start(0)
    inside = []

    def slope(u):
        if inside:
            player.act()
        return np.tanh(u)

    loss = hn.RankOne([0.6, 0.8], lambda u: np.log(np.cosh(u)), slope)
    player.observe(player.act(), loss)
    player.act()
    inside.append(True)
    with pytest.raises(ValueError, match="one caller at a time"):
        player.act()
    inside.clear()
    assert player.act().round == 3


def test_slopes_of_a_user_defined_phi_are_broadcast():
    """A derivative that returns one number for all margins is broadcast, as in NumPy."""
    leader = Leader(Ball(2))
    leader.observe(np.zeros(2), hn.RankOne([1.0, 0.0], lambda u: 0.3 * u, lambda u: 0.3))
    np.testing.assert_allclose(leader.slope(np.zeros(2)), [0.3, 0.0])


def test_engine_rejects_unsupported_sets_and_losses():
    rules = learner("ball", "linear", "gamma", 3).rules()
    run = Leader(Ball(3), rules).run
    none = np.zeros(0, dtype=np.int64), np.zeros(0), None
    for rows, targets in ((np.zeros((4, 2)), np.zeros(4)), (np.zeros((4, 3)), np.zeros(3))):
        with pytest.raises(ValueError, match="rows and targets"):
            run.play(_engine.Phi.linear, rows, targets, *none)
    with pytest.raises(ValueError, match="prepare"):
        run.play(_engine.Phi.logistic, np.zeros((4, 3)), np.zeros(4), *none)
    with pytest.raises(ValueError, match="one at a time"):
        run.play(_engine.Phi.own, np.zeros((4, 3)), np.zeros(4), *none)
    with pytest.raises(ValueError, match="one coordinate per dimension"):
        run.observe(np.zeros(2), _engine.Phi.linear, np.zeros(3), 0.0)
    with pytest.raises(ValueError, match="own must have one row per run"):
        _engine.play_linear([run], np.zeros((4, 3)), np.array([1]), np.zeros((2, 1)))
    with pytest.raises(ValueError, match="one caller at a time"):
        _engine.play_linear([run, run], np.zeros((4, 3)), np.array([1]), np.zeros((2, 1)))
    square = Polytope([[1, 0], [-1, 0], [0, 1], [0, -1]], [1, 1, 1, 1])
    with pytest.raises(ValueError, match="cannot minimize"):
        Leader(square, rules).run.act()
    with pytest.raises(ValueError, match="requires rules"):
        Leader(Ball(2)).run.act()
