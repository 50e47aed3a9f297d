"""A player, a fleet and a convex leader have one caller at a time: a second caller is rejected without a change.

Under `make sanitize` this also shows that no freed memory is read.
"""

import contextlib
import gc
import subprocess
import sys
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

import hannan as hn


@dataclass(frozen=True)
class Calling(hn.Law):
    """A law on [0, 1], which cannot be tabulated: it is called in every round, and then calls the function that is
    set.
    """

    call: ClassVar[Any] = None

    @property
    def support(self) -> tuple[float, float]:
        return (0.0, 1.0)

    def density(self, z: Any) -> Any:
        z = np.asarray(z, dtype=float)
        return np.where((z >= 0.0) & (z <= 1.0), 1.0, 0.0)

    def cdf(self, z: Any) -> Any:
        call, Calling.call = Calling.call, None
        if call is not None:
            call()
        return np.clip(np.asarray(z, dtype=float), 0.0, 1.0)


@pytest.fixture(autouse=True)
def quiet():
    yield
    Calling.call = None


REFUSED = "must be used by one caller at a time; another call is in progress"
LAW, SCALE = Calling(), hn.Fixed(2.0)
ADVICE = [0, 1]


@pytest.mark.parametrize(
    ("learner", "given", "loss"),
    [
        (hn.Bandit(3, LAW, SCALE), (), 0.5),
        (hn.Experts(3, LAW, SCALE), (), np.full(3, 0.5)),
        (hn.ExpertBandit(3, 2, LAW, SCALE), (ADVICE,), 0.5),
    ],
    ids=["bandit", "experts", "advice"],
)
def test_law_that_calls_its_player_is_rejected_without_a_change(learner, given, loss):
    """The control: the same loss without the call is accepted afterwards, and counted once."""
    player = learner.start(1)
    first, _ = player.act(*given), player.act(*given)
    for call in (
        lambda: player.observe(first, loss),
        lambda: player.act(*given),
        lambda: player.forget(first),
        player.distribution,
    ):
        before = player.losses.copy()
        Calling.call = call
        with pytest.raises(ValueError, match=REFUSED):
            player.observe(first, loss)
        assert (len(player.open_moves), player.round) == (2, 2)
        np.testing.assert_array_equal(player.losses, before)
    player.observe(first, loss)
    assert (len(player.open_moves), player.certificate().rounds) == (1, 1)


def test_law_that_calls_its_fleet_is_rejected_without_a_change():
    fleet = hn.Fleet(hn.Bandit(3, LAW, SCALE), seed=0)
    moves, others = fleet.act([1, 2, 3]), fleet.act(list(range(10, 300)))
    calls = {
        "act": lambda: fleet.act([1]),
        "a new key": lambda: fleet.act([7]),
        "observe": lambda: fleet.observe(moves, [0.1, 0.2, 0.3]),
        "forget": lambda: fleet.forget(others),
        "retire": fleet.retire,
        "certificate": lambda: fleet.certificate(2),
        "save": fleet.to_bytes,
    }
    for name, call in calls.items():
        Calling.call = call
        with pytest.raises(ValueError, match=REFUSED):
            fleet.observe(moves, [0.1, 0.2, 0.3])
        assert len(fleet) == 293, name
        assert fleet.certificate().open_moves == 293, name
    fleet.observe(moves, [0.1, 0.2, 0.3])
    assert fleet.certificate(2).rounds == 1


def test_act_in_a_finalizer_draws_no_move_twice():
    """The garbage collector may run while a ticket is created."""
    player = hn.Bandit(3).start(0)

    class Circle:
        def __init__(self) -> None:
            self.me = self

        def __del__(self) -> None:
            with contextlib.suppress(ValueError):
                drawn.append(player.act())

    drawn: list[Any] = []
    was = gc.get_threshold()
    try:
        gc.set_threshold(1, 1, 1)
        for _ in range(300):
            Circle()
            drawn.append(player.act())
    finally:
        gc.set_threshold(*was)
    assert len({move.round for move in drawn}) == len(drawn) == player.round
    for move in drawn:
        player.observe(move, 0.5)


@pytest.mark.parametrize("setting", ["combine", "replay"])
def test_exception_of_a_law_is_raised(setting):
    """Ctrl-C is one of them: it was reported as a smoothing that failed."""

    class Stopped(KeyboardInterrupt):
        pass

    def stop() -> None:
        raise Stopped

    rng = np.random.default_rng(0)
    columns = {name: rng.random(40) for name in "abcy"}
    log = {"a": rng.integers(0, 3, 60).tolist(), "l": rng.random(60), "p": np.full(60, 1 / 3)}
    rounds = iter(range(30))

    def later() -> None:
        Calling.call = stop if next(rounds) == 20 else later

    play = {
        "combine": lambda: hn.combine(columns, "y", learner=hn.Experts(3, LAW, SCALE)),
        "replay": lambda: hn.replay(log, "a", "l", "p", learner=hn.Bandit(3, LAW, SCALE)),
    }[setting]
    Calling.call = later
    with pytest.raises(Stopped):
        play()


def test_snapshot_keeps_its_fleet_alive():
    fleet = hn.Fleet(hn.Bandit(3), seed=0)
    fleet.act(list(range(200)))
    snapshot = fleet._snapshot_of_all()
    del fleet
    del snapshot


THREADS = """
import threading
import numpy as np
import hannan as hn

rng = np.random.default_rng(0)
def losses(count):
    z = rng.normal(size=(count, 20))
    return hn.Logistic(z / (2 * np.linalg.norm(z, axis=1, keepdims=True)), np.where(rng.random(count) < 0.5, 1, -1))

player = hn.Convex(hn.Ball(20), lipschitz=1.0, loss_bound=2.0).start(seed=0)
first, longer = losses(1500), [losses(1500 * 2**k) for k in range(5)]
at_work = threading.Thread(target=lambda: player.through(first))
at_work.start()
refused = 0
while at_work.is_alive() and refused < 50:
    try:
        player.through(longer[refused % 5])
    except ValueError as error:
        assert "one caller at a time" in str(error), error
        refused += 1
at_work.join()
print("whole", player.certificate().rounds >= 1500)
"""


def test_second_thread_of_a_convex_player_is_rejected():
    """In a separate process: rows that another thread was reading were moved, which ended the process."""
    done = subprocess.run([sys.executable, "-c", THREADS], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "whole True"), done.stderr


def test_loss_above_the_largest_float_is_rejected():
    player = hn.Bandit(3).start(0)
    move = player.act()
    with pytest.raises(ValueError, match="loss must be a number"):
        player.observe(move, 10**400)
