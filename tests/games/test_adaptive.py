"""Games against adversaries that observe past moves: their observations, rejected arguments, and the record."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

import hannan as hn
from hannan.adversaries import ChargeTheLast, Past, SpareTheUnlikely, adaptive_adversaries, all_adversaries
from hannan.games.record import _PLAIN

EXPERTS = [
    hn.Experts(3), hn.Experts(3, hn.Entropy(), hn.Horizon(200)), hn.Experts(3, hn.Laplace(), hn.Anytime()),
    hn.Experts(3, hn.Tsallis(), hn.Horizon(200)), hn.Experts(3, hn.LogBarrier(), hn.Horizon(200)),
    hn.AdaHedge(3, (0.0, 1.0)), hn.Squint(3), hn.AdaNormalHedge(3), hn.MLPoly(3), hn.fixed_share(3, 200),
]  # fmt: skip
BANDITS = [
    hn.Bandit(3), hn.exp3(3, 200), hn.exp3_ix(3, 200), hn.LBInf(3, 200), hn.exp3_s(3, 200), hn.TsallisShannon(3),
    hn.Bandit(3, hn.LogBarrier(), hn.Horizon(200)),
]  # fmt: skip
HIDDEN = [
    hn.Dropout(3), hn.RandomWalk(3), hn.RandomPlayout(3, 200),
    hn.Bandit(3, hn.Entropy(), hn.Horizon(200), hn.GeometricResampling(50)),
    hn.Bandit(3, hn.Entropy(), hn.Horizon(200), hn.ConditionalResampling(50)),
]  # fmt: skip


def answers(rows):
    """An adversary that ignores the past: it returns the rows of a table in order."""
    return lambda t, past: rows[t - 1]


# Equality with compiled games


@pytest.mark.parametrize("learner", [*EXPERTS, *BANDITS, *HIDDEN], ids=repr)
def test_adversary_that_ignores_the_past_equals_a_table(learner):
    """Run 0 makes the moves of the compiled game, with the same loss."""
    rows = np.random.default_rng(1).random((200, 3))
    stepped = hn.play(learner, answers(rows), rounds=200, seed=3, keep="all")
    compiled = hn.play(learner, rows, seed=3, keep="all")
    assert (stepped.actions == compiled.actions).all()
    assert stepped.regret == pytest.approx(compiled.regret, abs=1e-9)
    assert (stepped.counts == compiled.counts).all()
    assert stepped.best_loss == pytest.approx(np.atleast_1d(compiled.best_loss))
    assert (stepped.adaptive, compiled.adaptive) == (True, False)
    if compiled.expected_regret is not None:
        assert stepped.expected_regret[0] == pytest.approx(np.ravel(compiled.expected_regret), abs=1e-9)
    if compiled.estimated_regret is not None:
        assert stepped.estimated_regret == pytest.approx(compiled.estimated_regret, rel=1e-9)


@pytest.mark.parametrize(
    "learner",
    [hn.ExpertBandit(3, 4), hn.ExpertBandit(3, 4, clip="tuned"), hn.exp4(3, 4, 60), hn.MYGA(3, 4, 60)],
    ids=repr,
)
@pytest.mark.parametrize("mixed", [False, True])
def test_advice(learner, mixed):
    rng = np.random.default_rng(2)
    rows = rng.random((60, 3))
    advice = rng.dirichlet(np.ones(3), (60, 4)) if mixed else rng.integers(0, 3, (60, 4))
    stepped = hn.play(learner, answers(rows), rounds=60, seed=1, advice=advice, keep="all")
    table = hn.play(learner, rows, seed=1, advice=advice, keep="all")
    assert (stepped.actions == table.actions).all()
    assert stepped.regret == pytest.approx(table.regret, abs=1e-9)
    with pytest.raises(ValueError, match="advice is required"):
        hn.play(learner, answers(rows), rounds=60)
    with pytest.raises(ValueError, match="advice must have 61 rounds"):
        hn.play(learner, answers(rows), rounds=61, advice=advice)


@pytest.mark.parametrize("clip", [0.0, 0.1, "tuned"])
@pytest.mark.parametrize("mixed", [False, True])
def test_with_advice_the_distribution_is_over_actions(clip, mixed):
    rng = np.random.default_rng(4)
    advice = rng.dirichlet(np.ones(3), (40, 4)) if mixed else rng.integers(0, 3, (40, 4))
    tuning = {} if clip == "tuned" else {"tuning": hn.Fixed(6.0)}
    learner, told = hn.ExpertBandit(3, 4, hn.Entropy(), clip=clip, **tuning), []
    rows = rng.random((40, 3))

    def adversary(t, past):
        told.append(past.distribution)
        return rows[t - 1]

    hn.play(learner, adversary, rounds=40, advice=advice, seed=5)
    player = learner.start(5)
    for t in range(40):
        move = player.act(advice[t])
        assert told[t][move.action] == pytest.approx(move.probability, rel=1e-9)
        assert told[t].sum() == pytest.approx(1.0)
        player.observe(move, float(rows[t, move.action]))


@pytest.mark.parametrize("learner", [hn.FPL(hn.MSets(4, 2), 5.0), hn.FPLTrix(hn.MSets(4, 2))], ids=repr)
def test_decisions(learner):
    rows = np.random.default_rng(3).random((50, 4))
    stepped, table = hn.play(learner, answers(rows), rounds=50, seed=2), hn.play(learner, rows, seed=2)
    assert stepped.regret == pytest.approx(table.regret, abs=1e-9)
    assert (stepped.counts == table.counts).all()
    seen = []

    def adversary(t, past):
        seen.append(past)
        return rows[t - 1]

    hn.play(learner, adversary, rounds=50, seed=2)
    assert seen[9].moves.shape == (9, 4)
    assert set(seen[9].moves.sum(axis=1)) == {2}
    assert seen[9].distribution is None
    with pytest.raises(ValueError, match=r"round 1 of run 0: losses must be in \[0, 1\]; got 2.0 at index 1"):
        hn.play(learner, lambda t, past: [0, 2, 0, 0], rounds=5)


CONVEX = [
    (hn.Convex(hn.Simplex(3), 1.0, loss_bound=1.0), hn.Linear(np.eye(3)[np.arange(30) % 3])),
    (hn.Convex(hn.Ball(3), 1.0, loss_bound=2.0), hn.Logistic(np.eye(3)[np.arange(30) % 3], np.arange(30) % 2)),
    (hn.gaussian_ftpl(hn.Ball(3), 30), hn.Linear(np.eye(3)[np.arange(30) % 3])),
    (hn.OnlineGradientDescent(hn.Ball(3), 1.0), hn.Linear(np.eye(3)[np.arange(30) % 3])),
    (hn.ExponentiatedGradient(hn.Simplex(3), 1.0), hn.Linear(np.eye(3)[np.arange(30) % 3])),
]


@pytest.mark.parametrize(("learner", "losses"), CONVEX, ids=lambda x: type(x).__name__)
def test_convex(learner, losses):
    seen = []

    def adversary(t, past):
        seen.append(past)
        return losses[t - 1]

    stepped = hn.play(learner, adversary, rounds=30, seed=2, keep="all")
    table = hn.play(learner, losses, seed=2, keep="all")
    assert stepped.actions == pytest.approx(table.actions, abs=1e-9)
    assert stepped.regret == pytest.approx(table.regret, abs=1e-7)
    past = seen[9]
    assert past.moves == pytest.approx(table.actions[0, :9], abs=1e-9)
    assert len(past.losses) == 9
    assert (past.losses[-1].z == losses[8].z).all()
    assert past.distribution is None
    with pytest.raises(ValueError, match=r"round 1 of run 0: gradients of the losses"):
        hn.play(learner, lambda t, past: hn.Linear([5.0, 0.0, 0.0]), rounds=3)
    other = hn.SmoothedHinge if isinstance(losses, hn.Logistic) else hn.Logistic
    kinds = losses[0], other([0.1, 0.1, 0.1], 1)
    with pytest.raises(ValueError, match=r"round 2 of run 0: (losses of one game must be of one kind|curvatures)"):
        hn.play(learner, lambda t, past: kinds[t - 1], rounds=3)
    with pytest.raises(ValueError, match=r"round 1 of run 0: (loss must be Linear|losses must be losses of hannan)"):
        hn.play(learner, lambda t, past: [0.1, 0.1, 0.1], rounds=3)
    with pytest.raises(ValueError, match="the loss of a round must be one loss; got a sequence of 30"):
        hn.play(learner, lambda t, past: losses, rounds=3)


# Observations of the adversary


@pytest.mark.parametrize("learner", [*EXPERTS, *BANDITS, *HIDDEN], ids=repr)
def test_adversary_receives_past_moves_and_losses(learner):
    """An adversary receives t - 1 moves and losses, read-only, and p of the next move if past moves determine it."""
    rows, seen = np.random.default_rng(1).random((40, 3)), []

    def adversary(t, past):
        assert isinstance(past, Past)
        assert past.moves.shape == (t - 1,)
        assert past.losses.shape == (t - 1, 3)
        for array in past:
            assert array is None or not array.flags.writeable
        seen.append(past)
        return rows[t - 1]

    record = hn.play(learner, adversary, rounds=40, seed=6, keep="all")
    player = learner.start(6)
    for t, past in enumerate(seen):
        assert (past.moves == record.actions[0, :t]).all()
        assert (past.losses == rows[:t]).all()
        assert (past.distribution is None) == (learner in HIDDEN)
        if past.distribution is not None:
            assert past.distribution == pytest.approx(player.distribution(), abs=1e-15)
        move = player.act()
        player.observe(move, rows[t] if player.sees_all else float(rows[t, move.action]))


def test_distribution_of_a_user_defined_learner_is_unknown_unless_stated():
    class Even:
        n = 2

        def start(self, seed):
            return self

        def act(self):
            return 0

        def observe(self, move, loss):
            pass

        def distribution(self):
            return np.array([0.5, 0.5])

    told = []

    def adversary(t, past):
        told.append(past.distribution)
        return [1.0, 0.0]

    record = hn.play(Even(), adversary, rounds=4)
    assert told == [None] * 4
    assert record.regret[0, -1] == 4.0
    known = type("Known", (Even,), {"own_noise": False})
    hn.play(known(), adversary, rounds=1)
    assert told[-1].tolist() == [0.5, 0.5]


# One adversary per run


class Counting:
    """Counts its calls."""

    def __init__(self):
        self.asked = 0

    def loss(self, t, past):
        self.asked += 1
        assert self.asked == t
        return [0.0, 1.0]


@dataclasses.dataclass(frozen=True)
class Description:
    share: float = 0.5

    def start(self, n, rounds):
        assert (n, rounds) == (2, 10)
        return Counting()


@pytest.mark.parametrize("adversary", [Counting, Description()], ids=["class", "description"])
def test_every_run_has_its_own_adversary(adversary):
    record = hn.play(hn.Bandit(2), adversary, rounds=10, runs=3)
    assert record.regret.shape == (3, 10)
    assert repr(adversary) in record.note or "Counting" in record.note
    assert "stepped against" in record.note
    # The control: one object for all runs, which counts the calls of all runs.
    with pytest.raises(AssertionError):
        hn.play(hn.Bandit(2), Counting(), rounds=10, runs=3)


def test_runs_and_their_losses_differ():
    record = hn.play(hn.Bandit(4), SpareTheUnlikely(), rounds=100, runs=5, seed=1, keep="all")
    again = hn.play(hn.Bandit(4), SpareTheUnlikely(), rounds=100, runs=5, seed=1, keep="all")
    assert (record.actions == again.actions).all()
    assert len({tuple(row) for row in record.actions}) == 5
    assert record.best_loss.shape == (5,)
    assert set(record.best_loss) == {78.0}


# Refused


BAD = [
    (lambda t, past: [0.0, 2.0], r"losses must be in \[0, 1\]; got 2.0 at index 1"),
    (lambda t, past: [0.0, math.nan], "losses must be finite; got nan at index 1"),
    (lambda t, past: [0.0], r"losses.*2 numbers.*shape \(1,\)"),
    (lambda t, past: 0.5, "losses must be a non-empty vector"),
    (lambda t, past: None, "losses must be real numbers"),
    (lambda t, past: np.ma.array([0.0, 1.0], mask=[False, True]), "losses must have no masked entries"),
]


@pytest.mark.parametrize(("bad", "rule"), BAD, ids=range(len(BAD)))
@pytest.mark.parametrize("learner", [hn.Experts(2), hn.Bandit(2), hn.AdaHedge(2, (0.0, 1.0))], ids=repr)
def test_errors_of_losses_name_the_adversary_and_the_round(learner, bad, rule):
    def grim(t, past):
        return [0.0, 1.0] if t < 7 else bad(t, past)

    with pytest.raises(ValueError, match=rf"grim, round 7 of run 0: {rule}"):
        hn.play(learner, grim, rounds=10)


def test_unsupported_arguments_are_rejected():
    adversary = ChargeTheLast()
    with pytest.raises(ValueError, match=r"rounds is required.*ChargeTheLast\(charge=1.0, spare=0.0\).*None"):
        hn.play(hn.Experts(2), adversary)
    with pytest.raises(ValueError, match="advice must be None"):
        hn.play(hn.Experts(2), adversary, rounds=5, advice=[[0, 1]])
    with pytest.raises(ValueError, match=r"fictitious must be False.*Experts.*got True"):
        hn.play(hn.Experts(2), adversary, rounds=5, fictitious=True)
    with pytest.raises(ValueError, match=r"adversary must be.*loss\(t, past\)"):
        hn.play(hn.Experts(2), type("Nothing", (), {}), rounds=5)

    class Own:
        def play(self, losses, **options):
            raise AssertionError

    with pytest.raises(ValueError, match="learner must be a learner, with a method start"):
        hn.play(Own(), adversary, rounds=5)

    class Endless:
        def start(self, seed):
            raise AssertionError

    with pytest.raises(ValueError, match="Endless must have n"):
        hn.play(Endless(), adversary, rounds=5)

    def fails(t, past):
        return {}["x"]

    with pytest.raises(KeyError) as caught:
        hn.play(hn.Experts(2), fails, rounds=5)
    assert "in round 1 of run 0" in caught.value.__notes__[0]


@pytest.mark.parametrize("field", [{"share": 1.0}, {"share": math.nan}, {"charge": math.inf}, {"spare": "x"}], ids=repr)
def test_invalid_adversaries_are_rejected(field):
    with pytest.raises(ValueError, match=next(iter(field))):
        SpareTheUnlikely(**field)


def test_units_and_gains():
    learner = hn.Bandit(3, loss_range=(-2.0, 6.0), gains=True)
    record = hn.play(learner, SpareTheUnlikely(charge=-2.0, spare=6.0), rounds=100, seed=1)
    assert record.best_loss.tolist() == [-2.0 * 78 + 6.0 * 22]
    assert 0.0 <= record.regret[0, -1] <= 8.0 * 22


def test_lists_of_adversaries_are_disjoint():
    assert not set(all_adversaries()) & set(adaptive_adversaries())
    for adversary in adaptive_adversaries().values():
        assert hash(adversary) == hash(dataclasses.replace(adversary))


# Records


def test_record_states_that_the_game_was_adaptive(tmp_path):
    record = hn.play(hn.exp3(3, 50), ChargeTheLast(), rounds=50)
    record.save(tmp_path / "a.npz")
    loaded = hn.Record.load(tmp_path / "a.npz")
    assert loaded.adaptive
    assert loaded.bound is None
    assert loaded.bound_withheld == record.bound_withheld
    assert "stepped against ChargeTheLast" in repr(loaded)


def test_records_of_earlier_versions_are_not_adaptive(tmp_path, monkeypatch):
    record = hn.play(hn.exp3(3, 50), np.zeros((50, 3)))
    with monkeypatch.context() as patch:
        patch.setattr("hannan.games.record._PLAIN", tuple(name for name in _PLAIN if name != "adaptive"))
        record.save(tmp_path / "old.npz")
    assert not hn.Record.load(tmp_path / "old.npz").adaptive


def test_adaptive_game_withholds_oblivious_bounds():
    """The same learner on the same losses: the bound is printed for a table, and withheld for an adversary."""
    rows = np.random.default_rng(0).random((200, 3))
    for learner in (hn.exp3(3, 200), hn.RandomWalk(3), hn.TsallisShannon(3), hn.exp3_s(3, 200)):
        fixed, asked = hn.play(learner, rows), hn.play(learner, answers(rows), rounds=200)
        assert fixed.bound is None or fixed.bound.against == "oblivious" or fixed.bound.sense == "run"
        if fixed.bound is not None and fixed.bound.against == "oblivious":
            assert asked.bound is None
            assert "no non-trivial bound is proved against an adaptive adversary" in asked.bound_withheld
            assert len(asked.bound_curve()[0]) == 0
    ix = hn.exp3_ix(3, 2000)
    rows = np.tile(rows, (10, 1))
    fixed, asked = hn.play(ix, rows), hn.play(ix, answers(rows), rounds=2000)
    assert (fixed.bound.against, asked.bound.against) == ("oblivious", "any")
    assert asked.bound.value > fixed.bound.value
    kept = hn.Convex(hn.Simplex(3), 1.0, loss_bound=1.0, tuning=hn.Horizon(30), fresh=False)
    record = hn.play(kept, lambda t, past: CONVEX[0][1][t - 1], rounds=30)
    assert record.bound is None
