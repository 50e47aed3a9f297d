"""One driver for every setting: it supports or rejects each argument, stops on request, and builds the record."""

from __future__ import annotations

import ast
import inspect
import io
import json
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import hannan as hn
from hannan.games.driver import JOB_SECONDS, Pace, run
from hannan.games.runners import Runner

SOURCE = Path(hn.__file__).parent
ROWS = np.random.default_rng(5).random((60, 3))
POINTS = np.random.default_rng(6).random((60, 2)) / 2


class Cyclic:
    """User-defined learner."""

    n = 3

    def start(self, seed):
        return Cyclic()

    def act(self):
        return 1

    def observe(self, move, loss):
        pass


#: Arguments of `hn.play` by name: learner, losses, further arguments.
SETTINGS = {
    "experts": (hn.Experts(3), ROWS, {}),
    "adahedge": (hn.AdaHedge(3), 7.0 * ROWS, {}),
    "noisy": (hn.RandomWalk(3), ROWS, {}),
    "bandit": (hn.Bandit(3), ROWS, {}),
    "advice": (hn.ExpertBandit(3, 4), ROWS, {"advice": np.random.default_rng(0).integers(0, 3, (60, 4))}),
    "stepped": (hn.MYGA(3, 4, 60), ROWS, {"advice": np.random.default_rng(0).integers(0, 3, (60, 4))}),
    "stranger": (Cyclic(), ROWS, {}),
    "fpl": (hn.FPL(hn.MSets(3, 1), 5.0), ROWS, {}),
    "fpl-trix": (hn.FPLTrix(hn.MSets(3, 1)), ROWS, {}),
    "linear": (hn.Convex(hn.Ball(2), 1.0, hn.GaussianNoise(), hn.Horizon(60)), hn.Linear(POINTS), {}),
    "convex": (hn.Convex(hn.Ball(2), 1.0, loss_bound=2.0), hn.Logistic(POINTS, np.arange(60) % 2), {}),
    "polytope": (
        hn.Convex(hn.Polytope(np.vstack([np.eye(2), -np.eye(2)]), [1.0] * 4), 1.0, tuning=hn.Fixed(2.0)),
        hn.Linear(POINTS), {},
    ),
    "descent": (hn.OnlineGradientDescent(hn.Ball(2), 1.0), hn.Linear(POINTS), {}),
    "adaptive": (hn.Bandit(3), hn.adversaries.ChargeTheLast(), {"rounds": 60}),
    "adaptive points": (
        hn.Convex(hn.Ball(2), 1.0, loss_bound=1.0), lambda t, past: hn.Linear([0.0, 0.0]), {"rounds": 60},
    ),
}  # fmt: skip
#: Settings whose rounds are stepped in Python.
STEPPED = {"stepped", "stranger", "polytope", "descent", "adaptive", "adaptive points"}
EVERY = pytest.mark.parametrize("name", SETTINGS)


@EVERY
def test_every_setting_supports_the_arguments_of_play(name):
    learner, losses, more = SETTINGS[name]
    record = hn.play(learner, losses, runs=9, seed=2, **more)
    assert (record.runs, record.rounds, record.seed) == (9, 60, 2)
    assert record.learner == repr(learner)
    assert record.regret.shape == record.loss.shape == (9, len(record.checkpoints))
    assert record.checkpoints[-1] == 60
    assert record.counts.shape[0] == 9
    assert record.actions is None
    assert record.adaptive == name.startswith("adaptive")
    assert record.threads == 1 if name in STEPPED else record.threads >= 1
    again = hn.play(learner, losses, runs=9, seed=2, keep="all", threads=1, **more)
    assert (again.regret[:, record.checkpoints - 1] == record.regret).all()
    assert again.actions.shape[:2] == (9, 60)
    # The control: another seed gives another game, except for deterministic learners.
    other = hn.play(learner, losses, runs=9, seed=3, keep="all", **more)
    assert (other.actions == again.actions).all() == (name in ("stranger", "descent"))


@EVERY
def test_run_0_makes_the_moves_of_the_player(name):
    learner, losses, more = SETTINGS[name]
    if name.startswith("adaptive") or name == "stranger":
        pytest.skip("no table to step through")
    record, player = hn.play(learner, losses, seed=4, keep="all", runs=2, **more), learner.start(4)
    for t in range(60):
        move = player.act(more["advice"][t]) if "advice" in more else player.act()
        if name.startswith("fpl"):
            assert tuple(np.flatnonzero(record.actions[0, t])) == move.action
            player.observe(move, losses[t] if player.sees_all else losses[t][list(move.action)])
        elif hasattr(learner, "domain"):
            assert tuple(record.actions[0, t]) == move.action
            player.observe(move, losses[t])
        else:
            assert record.actions[0, t] == move.action
            player.observe(move, losses[t] if player.sees_all else float(losses[t, move.action]))


@EVERY
def test_arguments_that_a_setting_does_not_support_are_rejected(name):
    learner, losses, more = SETTINGS[name]
    kind = type(learner).__name__
    if "advice" not in more:
        with pytest.raises(ValueError, match=f"advice must be None for {kind}"):
            hn.play(learner, losses, **more, advice=[[0, 1]])
    if name not in ("experts", "noisy"):
        with pytest.raises(ValueError, match="fictitious must be False"):
            hn.play(learner, losses, **more, fictitious=True)
    if name in STEPPED:
        with pytest.raises(ValueError, match=f"threads must be 1.*{kind}.*got 2"):
            hn.play(learner, losses, **more, threads=2)
    else:
        one, two = (hn.play(learner, losses, runs=20, **more, threads=k, keep="all") for k in (1, 2))
        assert two.threads == 2
        assert (one.regret == two.regret).all()
        assert (one.actions == two.actions).all()
    for bad in ({"runs": 0}, {"seed": -1}, {"threads": 0}, {"keep": "some"}, {"rounds": 0}, {"fictitious": 1}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            hn.play(learner, losses, **{**more, **bad})


@pytest.mark.parametrize("name", ["fpl", "fpl-trix"])
def test_decision_games_reject_unsupported_losses(name):
    learner = SETTINGS[name][0]
    for losses, rule in (
        (np.zeros((20, 4)), r"3 columns.*component.*20, 4"),
        (np.full((20, 3), 1.5), r"in \[0, 1\]; got 1.5 at round 0, component 0"),
        (iter([np.zeros((5, 3)), np.full((5, 3), np.nan)]), "got nan at round 5, component 0"),
        (iter([]), "at least one round"),
    ):
        with pytest.raises(ValueError, match=rule):
            hn.play(learner, losses, runs=2)


def test_advice_given_with_blocks_of_losses_must_be_complete():
    """Some advice was dropped, and missing advice raised an unrelated error. The controls are played."""
    learner, advice = hn.ExpertBandit(3, 4), np.random.default_rng(0).integers(0, 3, (60, 4))
    shares = np.random.default_rng(1).dirichlet(np.ones(3), (60, 4))
    whole = hn.play(learner, ROWS, advice=advice, keep="all")
    halves = [(ROWS[:31], advice[:31]), (ROWS[31:], advice[31:])]
    for blocks, more in ((halves, {}), ([ROWS[:31], ROWS[31:]], {"advice": advice})):
        assert (hn.play(learner, iter(blocks), keep="all", **more).actions == whole.actions).all()
    for blocks, more, rule in (
        ([ROWS], {}, "a block must be a pair .losses, advice.*round 0"),
        ([halves[0], ROWS[31:]], {}, "a block must be a pair .*round 30"),
        (halves, {"advice": advice}, "advice must be .*not both; got both at round 0"),
        ([ROWS], {"advice": np.vstack([advice, advice])}, "advice must have 60 rounds.*got 120"),
        ([(ROWS[:31], advice[:31]), (ROWS[31:], shares[31:])], {}, r"axes in all blocks; got shape \(29, 4, 3\)"),
        ([(ROWS[:30], advice[:30]), (ROWS[30:], shares[30:])], {}, r"axes in all blocks; got shape \(30, 4, 3\)"),
    ):
        with pytest.raises(ValueError, match=rule):
            hn.play(learner, iter(blocks), **more)
    for given, rule in (
        (3, r"advice must have shape .*got \(\)"),
        ([[0, 1], [0]], "advice must be a rectangular array"),
    ):
        with pytest.raises(ValueError, match=rule):
            hn.play(learner, ROWS, advice=given)


def test_comparison_limits_the_threads_of_stepped_games():
    """Some games of a comparison are stepped in Python: they have one thread, and the others as many as requested."""
    places = {"fixed": ROWS, "answers": lambda t, past: ROWS[t - 1]}
    one, two = (hn.compare({"ours": hn.Bandit(3)}, places, runs=4, rounds=60, threads=k) for k in (1, 2))
    assert [row["regret"] for row in one.rows()] == [row["regret"] for row in two.rows()]


def test_records_are_built_in_one_place():
    """The control: the search finds the one place that exists."""
    built, plays = [], []
    for file in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", None) == "Record":
                built.append(file.relative_to(SOURCE).as_posix())
    assert built == ["games/play.py"]
    learners = [value for name in hn.__all__ if inspect.isclass(value := getattr(hn, name)) and hasattr(value, "start")]
    plays = [value.__name__ for value in learners if hasattr(value, "play") or hasattr(value, "table")]
    assert len(learners) > 15
    assert plays == []


def test_progress_on_a_closed_stream_and_a_failing_terminal(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

        def write(self, text):
            raise OSError("the terminal is gone")

    closed = io.StringIO()
    closed.close()
    monkeypatch.setattr("hannan.games.driver.DELAY", 0.0)
    for stream in (closed, None):
        monkeypatch.setattr("sys.stderr", stream)
        assert hn.play(hn.Bandit(3), ROWS).rounds == 60
    monkeypatch.setattr("sys.stderr", Terminal())
    with pytest.raises(OSError, match="the terminal is gone"):
        hn.play(hn.Bandit(3), ROWS)


# Pace


class Counted(Runner):
    """Runner whose rounds take a given time."""

    setting, total, abreast = "none", None, 40

    def __init__(self, numbers, seconds, monkeypatch):
        self.numbers, self.seconds, self.now, self.done, self.blocks = numbers, seconds, 0.0, 0, []
        monkeypatch.setattr("hannan.games.driver.time.perf_counter", lambda: self.now)

    @property
    def taken(self):
        return self.done

    def advance(self, limit, parts):
        if self.done > 10**6:
            return None
        self.done += limit
        self.blocks.append((limit, parts))

        def job():
            self.now += self.seconds * limit * self.abreast / parts

        return [job] * parts


@pytest.mark.parametrize("seconds", [1e-9, 1e-6, 1e-4, 2e-3])
def test_jobs_are_short_from_the_first_one_on(seconds, monkeypatch):
    """For every cost of a round up to the estimate of 20 us per number, a job takes 20 ms, and blocks soon become
    long.
    """
    runner = Counted(100.0, seconds, monkeypatch)
    run(runner, 1)
    taken = [limit * runner.abreast * seconds / parts for limit, parts in runner.blocks]
    assert max(taken) <= 2 * JOB_SECONDS
    if seconds <= 1e-6:
        # Full speed is reached after a few blocks.
        assert max(taken[4:8]) > JOB_SECONDS / 4 or max(limit for limit, _ in runner.blocks) == runner.most


def test_first_block_without_wide_vectors_is_short(monkeypatch):
    """The first job of Entropy would take half a second there. The control: with wide vectors, a short game is one
    block.
    """
    from hannan import _engine
    from hannan.games import driver, runners

    learner, losses = hn.ExpertBandit(10, 1000, hn.Entropy(), hn.Fixed(50.0)), np.full((200, 10), 0.5)
    advice, guesses = np.zeros((200, 1000), dtype=np.uint8), []
    monkeypatch.setattr(driver, "Pace", lambda runner, threads: guesses.append(runner.guess) or Pace(runner, threads))
    try:
        for name in ("base", "v3"):
            if _engine.use_instruction_set(name):
                hn.play(learner, losses, advice=advice)
    finally:
        _engine.use_instruction_set("")
    assert guesses in ([runners.QUICK], [runners.QUICK, runners.QUICKEST])


def test_low_estimate_of_the_cost_is_corrected_after_one_block(monkeypatch):
    runner = Counted(1e-3, 1e-4, monkeypatch)
    pace = Pace(runner, 1)
    limit, _ = pace.next()
    assert limit * 40 * 1e-4 > 10 * JOB_SECONDS  # the control: the first block is far too long
    runner.now += limit * 40 * 1e-4
    pace.learn(limit, 1)
    limit, parts = pace.next()
    assert limit * 40 * 1e-4 / parts <= JOB_SECONDS


# Ctrl-C

CTRL_C = """
import json, os, signal, sys, threading, time
import numpy as np
import hannan as hn
from hannan.games import driver
driver.JOB_SECONDS = float(sys.argv[1])
rng = np.random.default_rng(0)
z = rng.standard_normal((40_000, 20)) / 20
box = np.vstack([np.eye(20), -np.eye(20)])
even = hn.adversaries.Bernoulli(np.full(20, 0.5), 10**10)
rows, advice = rng.random((400_000, 20)), rng.integers(0, 20, (400_000, 100), dtype=np.uint8)


class Own:
    n = 20
    def start(self, seed): return Own()
    def act(self): return 3
    def observe(self, move, loss): pass


signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job may ignore it
games = {
    "bandit": (hn.Bandit(20), even, dict(runs=64)),
    "slow law": (hn.Bandit(20, hn.Gamma(1.5), hn.Fixed(9.0)), even, dict(runs=2000)),
    "experts": (hn.Experts(20, hn.Frechet(3.0)), even, dict(runs=50)),
    "adahedge": (hn.AdaHedge(20), even, dict(runs=50)),
    "advice": (hn.ExpertBandit(20, 100), rows, dict(runs=500, advice=advice)),
    "linear": (hn.Convex(hn.Ball(20), 1.0, hn.GaussianNoise(), hn.Horizon(40_000)), hn.Linear(z), dict(runs=3000)),
    "convex": (hn.Convex(hn.Ball(20), 1.0, loss_bound=2.0), hn.Logistic(z, np.arange(40_000) % 2), dict(runs=3)),
    "polytope": (hn.Convex(hn.Polytope(box, np.ones(40)), 1.0, tuning=hn.Fixed(2.0)), hn.Linear(z), dict(runs=3)),
    "descent": (hn.OnlineGradientDescent(hn.Ball(20), 1.0), hn.Linear(np.tile(z, (2, 1))), {}),
    "fpl": (hn.FPL(hn.MSets(20, 3), 5.0), rows, dict(runs=200)),
    "fpl-trix": (hn.FPLTrix(hn.MSets(20, 3)), rows, dict(runs=50)),
    "stranger": (Own(), rows, dict(runs=20)),
    "adaptive": (hn.Bandit(20), hn.adversaries.ChargeTheLast(), dict(rounds=10**7)),
}
for name, (learner, losses, more) in games.items():
    if sys.argv[2:] and name not in sys.argv[2:]:
        continue
    told = []
    def stop():
        told.append(time.process_time())
        os.kill(os.getpid(), signal.SIGINT)
    timer = threading.Timer(0.25, stop)
    try:
        timer.start()
        hn.play(learner, losses, threads=1, **more)
        print(json.dumps([name, None]))
    except KeyboardInterrupt:
        print(json.dumps([name, time.process_time() - told[0]]), flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_stops_every_setting_within_50_ms():
    """In CPU time, because machines are shared. The control: jobs of a second are not stopped in time."""

    def stopped(*given):
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(CTRL_C), *given], capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, done.stderr
        return dict(json.loads(line) for line in done.stdout.splitlines())

    found = stopped(str(JOB_SECONDS))
    assert len(found) == 13
    assert max(found.values()) <= 0.05, found
    assert stopped("2.0", "slow law")["slow law"] > 0.05


def test_game_without_available_threads_is_the_same(monkeypatch):
    def refuse(*given):
        tried.append(given)
        raise RuntimeError("can't start new thread")

    tried = []
    rows = np.random.default_rng(8).random((4000, 3))
    game = {"runs": 32, "seed": 1, "threads": 2}
    usual = hn.play(hn.Bandit(3), rows, **game)
    monkeypatch.setattr("_thread.start_new_thread", refuse)
    assert np.array_equal(usual.regret, hn.play(hn.Bandit(3), rows, **game).regret)
    assert tried
