"""Audits by sampling give user-defined learners fresh random generators, and reject runs that repeat each other."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest
from rejections import rejected

from hannan.audits.sampling import _regular, audit_by_sampling, refuse_repeats, renewed
from hannan.validation import Array


@dataclass(frozen=True)
class Frozen:
    rng: Any


class Slotted:
    __slots__ = ("__rng", "empty")

    def __init__(self, rng: Any) -> None:
        self.__rng = rng

    @property
    def rng(self) -> Any:
        return self.__rng


class Pair(NamedTuple):
    rng: Any
    other: int


class Uniform:
    """Draws uniformly, by a generator that `reach` finds in `core`."""

    def __init__(self, core: Any, reach: Callable[[Any], Any]) -> None:
        self.core, self.reach, self.me = core, reach, self

    def act(self) -> int:
        draw = self.reach(self.core)
        return min(int(3.0 * (draw if callable(draw) else draw.random)()), 2)

    def observe(self, losses: Array) -> None:
        pass


def seeded() -> np.random.Generator:
    return np.random.default_rng(5)


PLACES: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "itself": (seeded, lambda core: core),
    "frozen": (lambda: Frozen(seeded()), lambda core: core.rng),
    "two deep": (lambda: Frozen(Frozen(np.random.RandomState(5))), lambda core: core.rng.rng),
    "slots": (lambda: Slotted(random.Random(5)), lambda core: core.rng),
    "list": (lambda: [1, seeded()], lambda core: core[1]),
    "deque": (lambda: deque([seeded()]), lambda core: core[0]),
    "tuple": (lambda: (1, (2, seeded())), lambda core: core[1][1]),
    "named tuple": (lambda: Pair(seeded(), 1), lambda core: core.rng),
    "dict": (lambda: {"a": [Frozen(seeded())]}, lambda core: core["a"][0].rng),
    "method": (lambda: seeded().random, lambda core: core),
    "method of Python's": (lambda: Frozen(random.Random(5).random), lambda core: core.rng),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("given", ["factory", "object"])
def test_uniform_learner_is_not_refuted(place: str, given: str) -> None:
    """The level is 0; a lower bound above 0 has probability 1e-6. If all runs are equal, instability is "proved"."""
    core, reach = PLACES[place]
    subject: Any = (lambda: Uniform(core(), reach)) if given == "factory" else Uniform(core(), reach)
    found = audit_by_sampling(subject, 3, level=0.5, samples=400, confidence=1.0 - 1e-6, rounds=2)
    assert found.verdict == f"not refuted in {found.trials} trials"
    assert found.lower == 0.0


def test_shared_generator_stays_shared() -> None:
    shared = seeded()
    learner = renewed(Uniform([shared, Frozen(shared)], lambda core: core[0]), np.random.default_rng(1))
    assert learner.core[0] is learner.core[1].rng is not shared
    assert learner.me is learner
    # Each run has another generator, and that of the learner is not used.
    again = renewed(Uniform([shared], lambda core: core[0]), np.random.default_rng(2))
    assert again.core[0].random() != learner.core[0].random() != seeded().random() == shared.random()


class Taped(Uniform):
    """The moves were drawn before, so there is no generator to replace."""

    def __init__(self, seed: int = 5) -> None:
        tape = deque(np.random.default_rng(seed).random(200).tolist())
        super().__init__(tape, lambda core: core.popleft)


class Deaf(Uniform):
    """Accepts a seed and ignores it."""

    def __init__(self, seed: int) -> None:
        super().__init__(seeded(), lambda core: core)


class Short(Taped):
    """Plays at most eleven rounds; an audit of eight rounds asks for ten."""

    def observe(self, losses: Array) -> None:
        if len(self.core) < 190:
            raise RuntimeError("no more rounds")


@pytest.mark.parametrize("subject", [Taped(), lambda: Taped(), Deaf, lambda: Short()])
def test_identical_runs_are_rejected(subject: Any) -> None:
    rejected(lambda: audit_by_sampling(subject, 3, level=0.5, samples=400, rounds=8), "same moves", 60)


def test_control_learner_that_uses_its_seed_is_audited() -> None:
    found = audit_by_sampling(Taped, 3, level=0.5, samples=400, confidence=1.0 - 1e-6)
    assert found.verdict == f"not refuted in {found.trials} trials"


class Leader:
    """Follows the leader: deterministic."""

    def __init__(self) -> None:
        self.L = np.zeros(3)

    def act(self) -> int:
        return int(np.argmin(self.L))

    def observe(self, losses: Array) -> None:
        self.L = self.L + losses


class Round(Leader):
    """Plays all arms in turn: deterministic too."""

    def act(self) -> int:
        self.t = getattr(self, "t", -1) + 1
        return self.t % 3


@pytest.mark.parametrize("subject", [Leader, Leader(), Round, Round()])
def test_deterministic_learner_is_audited(subject: Any) -> None:
    found = audit_by_sampling(subject, 3, level=0.5, samples=400)
    assert found.verdict == "not stable at the level claimed"


def test_periodic_moves_are_recognized() -> None:
    rng = np.random.default_rng(3)
    assert _regular([0] * 64)
    assert _regular([0, 1, 2] * 21 + [0])
    assert _regular([0, 1, 2, 1, 2, 0, *([1] * 58)])
    # A fair coin: probability 1/60,000 each.
    assert not any(_regular(rng.integers(2, size=64).tolist()) for _ in range(100))


def test_learner_with_one_random_draw_is_accepted() -> None:
    """A run with one random draw in a hundred coins: 60 runs are equal with probability 2^-59."""

    def run(losses: Array, rng: np.random.Generator) -> Iterator[int]:
        tape = np.random.default_rng(int(rng.integers(2)))
        return iter(tape.integers(2, size=len(losses)).tolist())

    refuse_repeats(run, 2, 8, np.random.default_rng(0))
    one_stream = np.random.default_rng
    rejected(lambda: refuse_repeats(lambda losses, _: run(losses, one_stream(1)), 2, 8, one_stream(0)), "same moves")
