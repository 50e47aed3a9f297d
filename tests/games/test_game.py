"""Whole games: equal to the stepping player, to slow oracles, on any threads and in any blocks; bad input."""

import itertools
import math
import subprocess
import sys
import textwrap

import naive_games as naive
import numpy as np
import pytest

import hannan as hn
from hannan.adversaries import Bernoulli
from hannan.games.play import play
from hannan.learners.bandits import Bandit
from hannan.learners.estimators import ConditionalResampling, GeometricResampling, ImportanceWeighted
from hannan.learners.expert_bandits import ExpertBandit
from hannan.learners.experts import Experts
from hannan.learners.tuning import Anytime, BestLoss, Fixed, Horizon, SelfConfident
from hannan.mathematics.laws.heavy import Frechet
from hannan.mathematics.laws.law import Law
from hannan.mathematics.laws.light import Exponential, Gumbel, Laplace
from hannan.mathematics.regularizers import Entropy, LogBarrier, Tsallis

ROUNDS = 1000


def losses_of(rounds, n, seed=0):
    rng = np.random.default_rng(seed)
    return (rng.random((rounds, n)) < np.linspace(0.3, 0.7, n)).astype(float) * rng.uniform(0.5, 1.0, (rounds, n))


def built(make):
    """A learner, or None where the package has no such tuning (it refuses)."""
    try:
        return make()
    except ValueError:
        return None


SMOOTHINGS = [Entropy(), Gumbel(), Tsallis(0.5), Tsallis(0.3), LogBarrier(), Exponential(), Laplace(), Frechet(3.0)]
TUNINGS = [Fixed(7.0), Horizon(ROUNDS), Anytime(), BestLoss(100.0, ROUNDS), SelfConfident(ROUNDS)]
ESTIMATORS = [ImportanceWeighted(), GeometricResampling(40), ConditionalResampling(40)]
BANDITS = [
    learner
    for smoothing, tuning, estimator in itertools.product(SMOOTHINGS, TUNINGS, ESTIMATORS)
    if (learner := built(lambda: Bandit(5, smoothing, tuning, estimator=estimator)))  # noqa: B023
] + [Bandit(100, Entropy(), Fixed(30.0)), Bandit(100, Entropy(), Anytime()), Bandit(1, Entropy(), Fixed(1.0))]
EXPERTS = [
    learner
    for smoothing, tuning in itertools.product(SMOOTHINGS, TUNINGS)
    if (learner := built(lambda: Experts(5, smoothing, tuning)))  # noqa: B023
] + [
    Experts(100, Entropy(), Fixed(30.0)),
    Experts(100, Entropy(), Fixed(3.0)),
    Experts(100, Entropy(), SelfConfident()),
    Experts(3, Entropy(), Fixed(4.0), prior=(0.7, 0.2, 0.1)),
    Experts(4, Entropy(), Anytime(), loss_range=(-1.0, 3.0), gains=True),
]


def moves_of(player, losses, advice=None):
    moves = []
    for t, row in enumerate(losses):
        move = player.act() if advice is None else player.act(advice[t])
        player.observe(move, row if player.sees_all else float(row[move.action]))
        moves.append(move.action)
    return moves


def in_units(learner, losses):
    low, high = learner.loss_range
    return low + (high - low) * losses


@pytest.mark.parametrize("learner", BANDITS, ids=repr)
def test_a_bandit_player_is_run_0(learner):
    rounds = 300 if not isinstance(learner.smoothing, Entropy | Tsallis) else ROUNDS
    losses = in_units(learner, losses_of(rounds, learner.n))
    player = learner.start(3)
    record = play(learner, losses, runs=1, seed=3, keep="all")
    assert record.actions[0].tolist() == moves_of(player, losses)
    own = losses[np.arange(rounds), record.actions[0]].cumsum()
    best = losses.cumsum(axis=0).min(axis=1)
    np.testing.assert_allclose(record.regret[0], own - best, atol=1e-9)
    certificate = player.certificate()
    assert record.estimated_regret[0] == pytest.approx(certificate.estimated_regret, abs=1e-9)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 10, 33, 64, 65])
@pytest.mark.parametrize("scale", [0.05, 5.0, 300.0])
def test_a_softmax_bandit_is_the_same_alone_side_by_side_and_stepped(n, scale):
    """Three texts of one game: a run alone, eight at a time, and the player. At scale 0.05 the weights are made anew
    again and again."""
    learner, losses = Bandit(n, Entropy(), Fixed(scale)), losses_of(ROUNDS, n, seed=n)
    stepped = moves_of(learner.start(2), losses)
    alone, many = (play(learner, losses, runs=runs, seed=2, keep="all") for runs in (1, 17))
    assert alone.actions[0].tolist() == stepped
    assert many.actions[0].tolist() == stepped
    np.testing.assert_array_equal(alone.regret[0], many.regret[0])


@pytest.mark.parametrize("n", [2, 10, 64])
def test_side_by_side_on_threads_shares_nothing(n):
    learner, losses = Bandit(n, Entropy(), Fixed(20.0)), losses_of(20_000, n)
    one, two = (play(learner, losses, runs=32, threads=threads) for threads in (1, 2))
    np.testing.assert_array_equal(one.counts, two.counts)
    np.testing.assert_array_equal(one.regret, two.regret)


def test_many_experts_are_followed_to_the_end():
    """Three million experts: what is kept of them is given back to the system the moment it is freed."""
    rng, n = np.random.default_rng(0), 3_000_000
    advice, losses = rng.integers(0, 4, (6, n), dtype=np.uint8), rng.random((6, 4))
    record = play(ExpertBandit(4, n, Entropy(), Fixed(100.0)), losses, advice=advice)
    assert record.best_loss == pytest.approx(losses[np.arange(6)[:, None], advice].sum(axis=0).min(), abs=1e-12)


@pytest.mark.parametrize("learner", EXPERTS, ids=repr)
def test_an_experts_player_is_run_0(learner):
    rounds = 300 if not isinstance(learner.smoothing, Entropy | Tsallis) else ROUNDS
    losses = in_units(learner, losses_of(rounds, learner.n))
    player = learner.start(3)
    record = play(learner, losses, runs=3, seed=3, keep="all")
    assert record.actions[0].tolist() == moves_of(player, losses)
    sign = -1.0 if learner.gains else 1.0
    best = sign * (sign * losses).cumsum(axis=0).min(axis=1)
    for run in range(3):
        own = losses[np.arange(rounds), record.actions[run]].cumsum()
        np.testing.assert_allclose(record.regret[run], sign * (own - best), atol=1e-8)
    assert record.expected_regret[-1] == pytest.approx(player.certificate().regret, abs=1e-8)
    assert record.best_loss == pytest.approx(best[-1])


CLIPS = [0.0, 0.1, "tuned"]


@pytest.mark.parametrize("smoothing", [Entropy(), Exponential(), Tsallis(0.5)], ids=repr)
@pytest.mark.parametrize("clip", CLIPS)
@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize("experts", [6, 80])
def test_an_expert_bandit_player_is_run_0(smoothing, clip, mixed, experts):
    rng = np.random.default_rng(0)
    rounds = 200 if isinstance(smoothing, Exponential) else 600
    advice = rng.dirichlet(np.ones(4), (rounds, experts)) if mixed else rng.integers(0, 4, (rounds, experts))
    losses = losses_of(rounds, 4)
    tunings = [SelfConfident(), Anytime()] if clip == "tuned" else [Fixed(9.0), Anytime(), Horizon(rounds)]
    played = 0
    for tuning in tunings:
        learner = built(lambda: ExpertBandit(4, experts, smoothing, tuning, clip=clip))  # noqa: B023
        if learner is None:
            continue
        played += 1
        record = play(learner, losses, runs=1, seed=5, advice=advice, keep="all")
        assert record.actions[0].tolist() == moves_of(learner.start(5), losses, advice)
        share = advice if mixed else np.eye(4)[advice]
        best = np.einsum("tij,tj->ti", share, losses).cumsum(axis=0).min(axis=1)
        own = losses[np.arange(rounds), record.actions[0]].cumsum()
        np.testing.assert_allclose(record.regret[0], own - best, atol=1e-9)
    assert played or isinstance(smoothing, Tsallis)


def test_against_slow_oracles():
    losses = losses_of(600, 5)
    for learner, oracle in [
        (Bandit(5, Entropy(), Fixed(6.0)), naive.softmax),
        (Bandit(5, Entropy(), Anytime(2.0)), naive.softmax),
        (Bandit(5, Tsallis(0.5), Anytime(1.0)), naive.tsallis_half),
    ]:
        schedule = learner.schedule()
        record = play(learner, losses, runs=2, seed=9, keep="all")
        for run in range(2):
            actions, _ = naive.bandit(oracle, schedule.scale, losses, 9, run)
            assert record.actions[run].tolist() == actions.tolist()
    for fictitious in (False, True):
        learner = Experts(5, Entropy(), SelfConfident())
        record = play(learner, losses, runs=2, seed=9, keep="all", fictitious=fictitious)
        for run in range(2):
            actions, own, mean = naive.experts(naive.softmax, learner.schedule().scale, losses, 9, run, fictitious)
            assert record.actions[run].tolist() == actions.tolist()
            best = losses.cumsum(axis=0).min(axis=1)
            np.testing.assert_allclose(record.regret[run], own - best, atol=1e-9)
            np.testing.assert_allclose(record.expected_regret, mean - best, atol=1e-9)
    assert "fictitious" in record.note
    assert record.bound is None
    rng = np.random.default_rng(1)
    losses = losses_of(600, 3)
    for clip, mixed in itertools.product([0.0, 0.2], [False, True]):
        advice = rng.dirichlet(np.ones(3), (600, 7)) if mixed else rng.integers(0, 3, (600, 7))
        learner = ExpertBandit(3, 7, Entropy(), Fixed(8.0), clip=clip)
        record = play(learner, losses, runs=2, seed=4, advice=advice, keep="all")
        for run in range(2):
            actions, _ = naive.expert_bandit(
                naive.softmax,
                lambda t, own: 8.0,
                losses,
                advice,
                4,
                run,
                lambda own: clip,  # noqa: B023
            )
            assert record.actions[run].tolist() == actions.tolist()


def same(first, second):
    for name in ("regret", "counts", "checkpoints", "best_loss", "actions", "expected_regret", "estimated_regret"):
        a, b = getattr(first, name), getattr(second, name)
        assert (a is None and b is None) or np.array_equal(a, b), name


GAMES = [
    (Bandit(5, Entropy(), Fixed(9.0)), {}),
    (Bandit(5, Tsallis(0.5), Anytime()), {}),
    (Bandit(80, Entropy(), Fixed(9.0)), {}),
    (Experts(5, Entropy(), SelfConfident()), {}),
    (Experts(80, Entropy(), Fixed(20.0)), {}),
    (ExpertBandit(5, 30, Entropy(), Fixed(9.0)), {"experts": 30}),
]


@pytest.mark.parametrize(("learner", "more"), GAMES, ids=lambda x: repr(x) if not isinstance(x, dict) else "")
def test_threads_blocks_and_sources_do_not_matter(learner, more, tmp_path, monkeypatch):
    n, runs, rounds = (5 if more else learner.n), 21, 700
    losses = losses_of(rounds, n)
    rng = np.random.default_rng(3)
    given = {"advice": rng.integers(0, n, (rounds, more["experts"]), dtype=np.uint8)} if more else {}
    whole = play(learner, losses, runs, 8, threads=1, keep="all", **given)
    same(whole, play(learner, losses, runs, 8, threads=2, keep="all", **given))
    same(whole, play(learner, losses, runs, 8, threads=5, keep="all", **given))
    tiled = play(learner, np.tile(losses, (runs, 1, 1)), runs, 8, keep="all", **given)
    assert np.array_equal(whole.actions, tiled.actions)
    assert np.array_equal(whole.regret, tiled.regret)
    path = tmp_path / "losses.npy"
    np.save(path, losses)
    same(whole, play(learner, np.load(path, mmap_mode="r"), runs, 8, keep="all", **given))
    same(whole, play(learner, np.asfortranarray(losses), runs, 8, keep="all", **given))
    blocks = play(learner, iter(np.array_split(losses, 13)), runs, 8, keep="all", **given)
    same(whole, blocks)
    monkeypatch.setattr("hannan.games.runners.BLOCK_NUMBERS", 37 * n)
    same(whole, play(learner, losses, runs, 8, keep="all", **given))
    few = play(learner, losses, runs, 8, **given)
    at = few.checkpoints - 1
    assert np.array_equal(few.regret, whole.regret[:, at])
    assert few.actions is None


def test_one_loss_sequence_a_run():
    rng = np.random.default_rng(0)
    losses = rng.random((9, 300, 4))
    for learner in (Bandit(4, Entropy(), Anytime()), Experts(4, Entropy(), Anytime())):
        record = play(learner, losses, runs=9, seed=2, keep="all", threads=2)
        np.testing.assert_allclose(record.best_loss, losses.sum(axis=1).min(axis=1))
        for run in (0, 8):
            own = losses[run, np.arange(300), record.actions[run]].cumsum()
            best = losses[run].cumsum(axis=0).min(axis=1)
            np.testing.assert_allclose(record.regret[run], own - best, atol=1e-10)
        alone = play(learner, losses[0], runs=1, seed=2, keep="all")
        assert np.array_equal(alone.actions[0], record.actions[0])


def test_bernoulli_losses_are_drawn_inside():
    """Mean own loss of a uniform player: 5 standard errors, 6e-7."""
    means = np.array([0.2, 0.5, 0.8])
    learner = Bandit(3, Entropy(), Fixed(1e9))
    record = play(learner, Bernoulli(means, 2000), runs=50, seed=1)
    own = record.regret[:, -1] + record.best_loss
    assert record.best_loss == pytest.approx(400.0)
    assert abs(own.mean() - 1000.0) < 5 * math.sqrt(2000 * 0.25 / 50)
    moving = np.tile(means, (2000, 1))
    again = play(learner, Bernoulli(moving, 2000), runs=50, seed=1, threads=2)
    assert np.array_equal(again.counts, record.counts)
    np.testing.assert_allclose(again.regret, record.regret, atol=1e-9)
    seen = play(Experts(3, Entropy(), Anytime()), Bernoulli(means, 500), runs=4, seed=1)
    assert seen.best_loss.shape == (4,)
    assert (np.abs(seen.best_loss - 100) < 5 * math.sqrt(500 * 0.16)).all()


def test_equal_in_law_beyond_the_first_thousand_rounds():
    """5,000 rounds of players and games with other seeds: mean own losses differ by less than 5 standard errors
    (Welch), a false alarm of 6e-7."""
    losses = losses_of(5000, 4)
    learner = Bandit(4, Entropy(), Anytime())
    game = play(learner, losses, runs=40, seed=0)
    stepped = []
    for seed in range(100, 112):
        player = learner.start(seed)
        stepped.append(sum(losses[t, a] for t, a in enumerate(moves_of(player, losses))))
    own = game.regret[:, -1] + game.best_loss
    error = math.sqrt(own.var(ddof=1) / 40 + np.var(stepped, ddof=1) / 12)
    assert abs(own.mean() - np.mean(stepped)) < 5 * error


class SlowExponential(Law):
    """The exponential law as a user might write it: density and cdf, no kernel."""

    hazard = 1.0
    support = (0.0, math.inf)

    def density(self, z):
        return np.where(np.asarray(z) >= 0, np.exp(-np.maximum(z, 0.0)), 0.0)

    def cdf(self, z):
        return np.where(np.asarray(z) >= 0, -np.expm1(-np.maximum(z, 0.0)), 0.0)


def test_a_law_of_ones_own_is_stepped_to_the_same_record():
    losses = losses_of(12, 3)
    for make in (lambda law: Bandit(3, law, Fixed(4.0)), lambda law: Experts(3, law, Fixed(4.0))):
        slow = play(make(SlowExponential()), losses, seed=2, keep="all")
        fast = play(make(Exponential()), losses, seed=2, keep="all")
        assert np.array_equal(slow.actions, fast.actions)
        np.testing.assert_allclose(slow.regret, fast.regret, atol=1e-9)
        if slow.expected_regret is not None:
            np.testing.assert_allclose(slow.expected_regret.reshape(-1), fast.expected_regret, atol=1e-6)
    # With advice the same law of moves is drawn in another way: only the shape of the record is the same.
    advice = np.random.default_rng(0).integers(0, 3, (12, 4))
    record = play(ExpertBandit(3, 4, SlowExponential(), Fixed(4.0)), losses, runs=2, advice=advice)
    own = record.regret[:, -1] + record.best_loss
    assert (own >= losses.min(axis=1).sum() - 1e-9).all()
    assert record.counts.sum() == 24


class Cyclic:
    """A learner of a user's own."""

    n = 3

    def start(self, seed):
        return CyclicPlayer()

    def __repr__(self):
        return "Cyclic()"


class CyclicPlayer:
    def __init__(self):
        self.t = -1

    def act(self):
        self.t += 1
        return self.t % 3

    def observe(self, move, loss):
        assert isinstance(loss, float)


def test_a_learner_of_ones_own_is_stepped():
    losses = losses_of(300, 3)
    record = play(Cyclic(), losses, runs=2, keep="all")
    assert record.actions[0].tolist() == [t % 3 for t in range(300)]
    best = losses.cumsum(axis=0).min(axis=1)
    np.testing.assert_allclose(record.regret[1], losses[np.arange(300), np.arange(300) % 3].cumsum() - best)
    assert record.bound is None
    assert "gives no bound" in record.bound_withheld
    assert play(Cyclic(), Bernoulli([0.1, 0.2, 0.3], 50)).rounds == 50
    assert play(Cyclic(), iter([losses[:100], losses[100:]]), rounds=300).rounds == 300


BAD = [
    (np.zeros((10, 4)), "columns"),
    (np.zeros((0, 3)), "at least one round"),
    (np.zeros(10), "shape"),
    (np.full((10, 3), 1.5), "round 0, arm 0"),
    ([["a", "b", "c"]], "real numbers"),
    (np.zeros((4, 10, 3)), "runs"),
    (iter([]), "at least one round"),
    (iter([np.zeros((5, 2))]), r"\(rounds, 3\)"),
]


@pytest.mark.parametrize(("losses", "words"), BAD)
def test_bad_losses_are_refused(losses, words):
    with pytest.raises(ValueError, match=words):
        play(Bandit(3, Entropy(), Fixed(1.0)), losses, runs=2)


def test_a_bad_loss_is_named():
    losses = losses_of(5000, 6)
    losses[17, 3] = np.nan
    words = r"losses must be finite and in \[0, 1\]; got nan at round 17, "
    with pytest.raises(ValueError, match=words + "arm 3"):
        play(Bandit(6, Entropy(), Fixed(1.0)), losses)
    with pytest.raises(ValueError, match=words + "expert 3"):
        play(Experts(6, Entropy(), Fixed(1.0)), losses, runs=20)
    with pytest.raises(ValueError, match=words + "action 3"):
        play(ExpertBandit(6, 2, Entropy(), Fixed(1.0)), losses, advice=np.zeros((5000, 2), dtype=int))
    tall = np.tile(losses_of(400, 6), (3, 1, 1))
    tall[2, 399, 5] = 7.0
    for learner in (Bandit(6, Entropy(), Fixed(1.0)), Experts(6, Entropy(), Fixed(1.0))):
        with pytest.raises(ValueError, match=r"got 7\.0 at run 2, round 399"):
            play(learner, tall, runs=3)
    with pytest.raises(ValueError, match="got nan at round 117, arm 3"):
        play(Bandit(6, Entropy(), Fixed(1.0)), iter([losses_of(100, 6), losses]))


def test_bad_arguments_are_refused():
    learner, losses = Bandit(3, Entropy(), Fixed(1.0)), losses_of(10, 3)
    for given in ({"runs": 0}, {"seed": -1}, {"threads": 0}, {"keep": "some"}, {"rounds": 0}, {"advice": losses}):
        with pytest.raises(ValueError):
            play(learner, losses, **given)
    with pytest.raises(ValueError, match="fictitious"):
        play(learner, losses, fictitious=True)
    with pytest.raises(ValueError, match="learner"):
        play("no learner", losses)
    advised = ExpertBandit(3, 2, Entropy(), Fixed(1.0))
    for advice, words in [
        (None, "advice must be given"),
        (np.zeros((9, 2), dtype=int), "10 rounds"),
        (np.zeros((10, 3), dtype=int), "shape"),
        (np.full((10, 2), 3), "got 3 at round 0, expert 0"),
        (np.zeros((10, 2)), "whole numbers"),
        (np.full((10, 2, 3), 0.4), "distributions"),
    ]:
        with pytest.raises(ValueError, match=words):
            play(advised, losses, advice=advice)


def test_an_early_end_is_told():
    losses = losses_of(300, 3)
    record = play(Bandit(3, Entropy(), Fixed(5.0)), iter([losses]), rounds=1000)
    assert record.rounds == 300
    assert "1000" in record.note
    assert "300" in record.note
    assert play(Bandit(3, Entropy(), Fixed(5.0)), losses, rounds=200).rounds == 200


def test_an_endless_iterator_stays_within_its_columns():
    def blocks():
        for k in range(40):
            yield losses_of(500, 2, k)

    record = play(Bandit(2, Entropy(), Anytime()), blocks(), runs=2)
    assert record.rounds == 20_000
    assert 400 < len(record.checkpoints) <= 1001
    assert record.checkpoints[-1] == 20_000
    assert (np.diff(record.checkpoints) > 0).all()
    again = play(Bandit(2, Entropy(), Anytime()), np.concatenate(list(blocks())), runs=2, keep="all")
    assert np.array_equal(record.regret, again.regret[:, record.checkpoints - 1])


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_is_prompt_and_leaves_no_worker():
    code = textwrap.dedent("""
        import _thread, os, signal, sys, threading, time
        import numpy as np
        from hannan.adversaries import Bernoulli
        from hannan.games.play import play
        from hannan.learners.bandits import Bandit
        from hannan.mathematics.regularizers import Entropy
        from hannan.learners.tuning import Fixed
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job may ignore it
        learner = Bandit(10, Entropy(), Fixed(30.0))
        play(learner, np.zeros((5, 10)))
        seen = []
        def stop():
            while _thread._count() < 2:  # this thread and the game's other one
                pass
            seen.append(_thread._count())
            os.kill(os.getpid(), signal.SIGINT)
        timer = threading.Timer(1.0, stop)
        timer.start()
        began = time.monotonic()
        try:
            play(learner, Bernoulli(np.full(10, 0.5), 10**10), runs=64, threads=2)
        except KeyboardInterrupt:
            timer.join()
            print("stopped", time.monotonic() - began < 8, seen, _thread._count())
    """)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "stopped True [2] 0", done.stderr


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak memory of a process")
def test_ten_million_rounds_in_bounded_memory(tmp_path):
    code = textwrap.dedent("""
        import sys
        import numpy as np
        from hannan.games.play import play
        from hannan.learners.bandits import Bandit
        from hannan.mathematics.regularizers import Entropy
        from hannan.learners.tuning import Horizon
        file = np.lib.format.open_memmap(sys.argv[1], "w+", np.float64, (10**7, 10))
        for t in range(0, 10**7, 10**5):
            file[t : t + 10**5] = (np.arange(10) >= 5) * 1.0
            file.flush()
            file._mmap.madvise(4)
        del file
        record = play(Bandit(10, Entropy(), Horizon(10**7)), np.load(sys.argv[1], mmap_mode="r"))
        assert record.rounds == 10**7
        # VmHWM, not ru_maxrss: that one keeps the peak of the process that started this one.
        print(int(next(s.split()[1] for s in open("/proc/self/status") if s.startswith("VmHWM"))) / 1024)
    """)
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "losses.npy")], capture_output=True, text=True, timeout=300
    )
    assert float(done.stdout) < 300, done.stderr


OWN_GAMES = [
    (hn.AdaHedge(3), np.random.default_rng(5).random((40, 3))),
    (hn.AdaHedge(3, gains=True), np.random.default_rng(6).random((2, 40, 3))),
    (hn.FPL(hn.MSets(3, 1), 5.0), np.random.default_rng(5).random((40, 3))),
    (hn.FPLTrix(hn.MSets(3, 1)), np.random.default_rng(5).random((40, 3))),
    (hn.Convex(hn.Ball(2), 1.0, loss_bound=2.0), hn.Logistic(np.full((40, 2), 0.5), np.ones(40))),
    (hn.Convex(hn.Ball(2), 1.0, hn.GaussianNoise(), hn.Horizon(40)), hn.Linear(np.full((40, 2), 0.5))),
    (hn.OnlineGradientDescent(hn.Ball(2), 1.0), hn.Linear(np.full((40, 2), 0.5))),
    (hn.ExponentiatedGradient(hn.Simplex(2), 1.0), hn.Linear(np.full((40, 2), 0.5))),
]


@pytest.mark.parametrize(("learner", "losses"), OWN_GAMES, ids=lambda x: type(x).__name__)
def test_learners_with_a_play_of_their_own_take_rounds_and_refuse_the_rest(learner, losses):
    """They once dropped `rounds`, `advice` and `fictitious` in silence."""
    short = play(learner, losses, runs=2, rounds=12)
    cut = losses[:, :12] if getattr(losses, "ndim", 2) == 3 else losses[:12]
    same = play(learner, cut, runs=2)
    assert short.rounds == 12
    assert short.note == ""
    assert (short.regret == same.regret).all()
    longer = play(learner, losses, runs=2, rounds=50)
    assert longer.rounds == 40
    assert longer.note == "50 rounds were asked for and the losses ended after 40"
    with pytest.raises(ValueError, match=f"advice must be None for {type(learner).__name__}"):
        play(learner, losses, runs=2, advice=[[0, 1]])
    with pytest.raises(ValueError, match=r"fictitious must be False.*got "):
        play(learner, losses, runs=2, fictitious=True)
    with pytest.raises(ValueError, match="rounds must be an integer"):
        play(learner, losses, runs=2, rounds=0)


def test_a_play_of_ones_own_is_not_called():
    """The driver plays everybody; a learner has `start`, whatever else it has."""

    class Stranger:
        def play(self, losses, **given):
            raise AssertionError

    with pytest.raises(ValueError, match="learner must be a learner, with a method start"):
        play(Stranger(), np.zeros((3, 2)))

    class Stepped(Cyclic):
        play = Stranger.play

    assert play(Stepped(), losses_of(30, 3)).rounds == 30
