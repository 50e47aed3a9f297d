"""Controls: for every check of the contract, a subject that violates its rule and fails the check."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import math
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hannan as hn
from hannan.checks import laws, learners
from hannan.players.sleeping import SleepingPlayer
from hannan.players.tickets import DELAYED


class Spoiled:
    """A learner of the package with a replaced method of the learner or of its player."""

    def __init__(self, learner: Any, start: Any = None, bound: Any = None, **methods: Any) -> None:
        self._learner, self._start, self._methods = learner, start, methods
        if bound is not None:
            self.bound = bound

    def __getattr__(self, name: str) -> Any:
        return getattr(self._learner, name)

    def start(self, seed: int | None = None, name: str | None = None) -> Any:
        player = self._learner.start(seed, name) if self._start is None else self._start(self._learner, seed)
        return SpoiledPlayer(player, self._methods)


class SpoiledPlayer:
    def __init__(self, player: Any, methods: dict[str, Any]) -> None:
        self._player, self._methods = player, methods

    def __getattr__(self, name: str) -> Any:
        if name not in self._methods:
            return getattr(self._player, name)
        found = self._methods[name]
        return (lambda *given: found(self._player, *given)) if callable(found) else found


@dataclass(frozen=True)
class Stranger:
    """User-defined learner: Hedge over three experts in a few lines; its moves are plain numbers."""

    n: int = 3

    def start(self, seed: int | None = None) -> Any:
        return self.Player(seed)

    class Player:
        sees_all = True

        def __init__(self, seed: int | None) -> None:
            self.rng, self.losses, self.rounds = np.random.default_rng(seed), np.zeros(3), 0

        def distribution(self) -> Any:
            w = np.exp(-0.5 * (self.losses - self.losses.min()))
            return w / w.sum()

        def act(self) -> int:
            return int(self.rng.choice(3, p=self.distribution()))

        def observe(self, move: int, loss: Any) -> None:
            row = np.asarray(loss)
            if row.shape != (3,) or row.dtype.kind != "f" or not ((row >= 0.0) & (row <= 1.0)).all():
                raise ValueError(f"losses must be 3 numbers of [0, 1]; got {loss!r}")
            self.losses = self.losses + row
            self.rounds += 1


def stranger(**methods: Any) -> Any:
    """The user-defined learner with replaced methods of its player."""
    player = type("Player", (Stranger.Player,), methods)
    return type("Broken", (Stranger,), {"Player": player})(3)


def taking_anything(self: Any, move: Any, loss: Any) -> None:
    self.losses = self.losses + np.nan_to_num(np.resize(np.asarray(loss, dtype=np.float64), 3))


def by_reference(self: Any, move: Any, loss: Any) -> None:
    self.losses = loss


def sideways(self: Any) -> Any:
    p = np.array([1.0 + self.rounds, 1.0, 1.0])
    return p / p.sum()


def upside_down(self: Any) -> Any:
    w = np.exp(0.5 * (self.losses - self.losses.max()))
    return w / w.sum()


def swallowing(player: Any, move: Any, loss: Any) -> None:
    with contextlib.suppress(ValueError):
        player.observe(move, loss)


def changed(**fields: Any) -> Any:
    """A certificate with fields replaced."""
    return lambda player: dataclasses.replace(player.certificate(), **fields)


@dataclass
class Loose:
    """Not frozen, and the hash is the address."""

    x: int = 1

    def __hash__(self) -> int:
        return id(self)


@dataclass(frozen=True, repr=False)
class Boast:
    x: int = 1

    def __repr__(self) -> str:
        return "Boast(x=2)"


@hn.register
@dataclass(frozen=True, repr=False)
class Stale(hn.Experts):
    """Saves a player that has not played."""

    def start(self, seed: int | None = None, name: str | None = None) -> Any:
        return StalePlayer(self, seed, name)


class StalePlayer(SleepingPlayer):
    def save(self, path: Any) -> None:
        if self.round > 2:
            hn.Experts(3).start(4).save(path)
        else:
            super().save(path)


@hn.register
@dataclass(frozen=True, repr=False)
class Twinned(hn.Experts):
    """Continues with the stream of a file without reporting it."""

    def start(self, seed: int | None = None, name: str | None = None) -> Any:
        return TwinnedPlayer(self, seed, name)


class TwinnedPlayer(SleepingPlayer):
    def certificate(self, delta: float | None = None) -> Any:
        return dataclasses.replace(super().certificate(delta), resumed=False)


@hn.register
@dataclass(frozen=True, repr=False)
class Credulous(hn.Experts):
    """Accepts the moves of its copies."""

    def start(self, seed: int | None = None, name: str | None = None) -> Any:
        return CredulousPlayer(self, seed, name)


class CredulousPlayer(SleepingPlayer):
    def observe(self, move: Any, loss: Any) -> None:
        if move.player.split(".")[0] == self.name and move.round == self.round and self.open_moves:
            move = self.open_moves[-1]
        super().observe(move, loss)


THREE = hn.Experts(3, hn.Entropy())
#: Checks, with subjects that violate them in different ways.
BROKEN_LEARNERS: dict[str, list[Any]] = {
    "repr_evaluates_to_an_equal_object": [Boast()],
    "equal_objects_have_equal_hashes": [Loose()],
    "fields_are_read_only": [Loose()],
    "json_round_trip_restores_the_object": [Spoiled(THREE)],
    "bound_is_valid_or_withheld": [
        Spoiled(THREE, bound=lambda rounds: hn.Bound(-1.0, {}, "none")),
        Spoiled(THREE, bound=lambda rounds: hn.Bound(math.nan, {}, "none")),
        Spoiled(THREE, bound=lambda rounds: hn.Bound(float(rounds), {}, "")),
        Spoiled(THREE, bound=lambda rounds: hn.Bound(2.0 * rounds, {}, "more than there is to lose")),
        Spoiled(THREE, bound=lambda rounds: hn.Bound(rounds * math.exp(-rounds), {}, "falls with the rounds")),
    ],
    "moves_are_valid": [Spoiled(THREE, act=lambda player: player.act()._replace(action=3))],
    "move_probability_matches_distribution": [
        Spoiled(THREE, distribution=lambda player: 1.01 * player.distribution()),
        Spoiled(THREE, distribution=lambda player: np.array([2.0, -0.5, -0.5])),
        Spoiled(hn.Experts(3, hn.Entropy(), prior=(0.5, 0.3, 0.2)), distribution=lambda player: np.full(3, 1 / 3)),
    ],
    "moves_follow_the_distribution": [stranger(act=lambda self: 0)],
    "distribution_keeps_the_state": [
        Spoiled(THREE, distribution=lambda player: (player.act(), player.distribution())[1]),
        stranger(distribution=lambda self: self.rng.dirichlet(np.ones(3))),
    ],
    "losses_are_not_modified_or_kept": [stranger(observe=by_reference)],
    "invalid_losses_are_rejected": [stranger(observe=taking_anything), Spoiled(THREE, observe=swallowing)],
    "invalid_advice_is_rejected": [
        Spoiled(hn.ExpertBandit(3, 5), act=lambda player, advice: player.act(np.zeros(5, dtype=np.int64)))
    ],
    "equal_losses_keep_the_distribution": [stranger(distribution=sideways)],
    "worst_arm_is_least_likely": [stranger(distribution=upside_down)],
    "certificate_is_consistent": [
        Spoiled(THREE, certificate=changed(rounds=1)),
        Spoiled(THREE, certificate=changed(regret=0.0)),
        Spoiled(THREE, certificate=changed(best_loss=0.0, regret=0.0)),
        Spoiled(THREE, certificate=changed(claimed_rate=1e-9)),
        Spoiled(THREE, certificate=changed(bound=None)),
        Spoiled(THREE, certificate=changed(bound=None, withheld=DELAYED)),
        Spoiled(THREE, certificate=changed(identity={"start": 1e3})),
        Spoiled(hn.Bandit(3), certificate=changed(own_loss=0.0)),
    ],
    "seed_determines_the_moves": [
        Spoiled(THREE, start=lambda learner, seed: learner.start()),
        Spoiled(THREE, start=lambda learner, seed: learner.start(0)),
    ],
    "unseeded_players_make_different_moves": [Spoiled(THREE, start=lambda learner, seed: learner.start(seed or 0))],
    "certificate_reports_a_seed": [
        Spoiled(THREE, certificate=changed(seeded=False)),
        Spoiled(THREE, certificate=changed(seeded=True)),
    ],
    "relabeled_arms_relabel_the_distribution": [
        Spoiled(hn.Experts(3, hn.Entropy(), prior=(0.5, 0.3, 0.2)), prior=None),
        Spoiled(hn.Bandit(3), distribution=lambda player: player.distribution() * np.array([1.0, 1.0, 0.9])),
    ],
    "delayed_losses_are_accepted": [
        Spoiled(THREE, open_moves=()),
        Spoiled(THREE, certificate=changed(largest_delay=0)),
        Spoiled(THREE, observe=lambda player, move, loss: player.observe(player.open_moves[0], loss), open_moves=()),
    ],
    "dropped_move_withholds_the_bound": [
        Spoiled(THREE, certificate=changed(forgotten=0)),
        Spoiled(THREE, certificate=lambda player: dataclasses.replace(player.certificate(), bound=1.0)),
    ],
    "move_is_settled_once": [
        Spoiled(THREE, observe=swallowing),
        Spoiled(THREE, observe=lambda player, move, loss: player.observe(player.open_moves[0], loss)),
    ],
    "saved_player_resumes_exactly": [Stale(3), Twinned(3)],
    "loaded_copies_are_independent": [Credulous(3)],
    # Every start has another seed, so that the game and the player differ.
    "run_0_of_play_matches_the_player": [
        Spoiled(THREE, start=lambda learner, seed, starts=itertools.count(): learner.start((seed or 0) + next(starts)))
    ],
}


def test_every_check_of_learners_has_a_control() -> None:
    assert list(BROKEN_LEARNERS) == [check.__name__ for check in learners.CHECKS]


@pytest.mark.parametrize(
    ("check", "subject"),
    [(check, subject) for check in learners.CHECKS for subject in BROKEN_LEARNERS[check.__name__]],
)
def test_broken_learner_fails_its_check(check: Any, subject: Any) -> None:
    with pytest.raises(hn.checks.Failed):
        check(subject)


def test_a_correct_user_defined_learner_passes_with_reasons_for_skipped_checks() -> None:
    report = hn.checks.check_learner(Stranger())
    assert "moves_follow_the_distribution" in report.passed
    assert "run_0_of_play_matches_the_player" in report.passed
    assert "certificate" in report.skipped["certificate_is_consistent"]
    assert "tickets" in report.skipped["move_is_settled_once"]
    assert re.search(rf"\b{len(report.passed)}\b.*\b{len(report.skipped)}\b", str(report).splitlines()[0])
    assert len(report.passed) >= 10


def test_all_failed_checks_are_reported_together() -> None:
    with pytest.raises(hn.checks.Failed) as told:
        hn.checks.check_learner(stranger(act=lambda self: 0, observe=taking_anything))
    assert re.search(r"\b4\b", str(told.value).splitlines()[0])
    for name in ("moves_follow_the_distribution", "invalid_losses_are_rejected", "seed_determines_the_moves"):
        assert name in str(told.value)


@dataclass(frozen=True)
class Wrong(hn.Exponential):
    """The exponential law with one defect."""

    what: str = ""

    def __getattribute__(self, name: str) -> Any:
        wrong = {
            "forms": {"density": lambda z: np.array([1.0])},
            "cdf": {"cdf": lambda z: 0.5 * np.asarray(hn.Exponential().cdf(z))},
            "outside": {"density": lambda z: np.exp(-np.abs(np.asarray(z)))},
            "survival": {"survival": lambda z: 1.001 - np.asarray(hn.Exponential().cdf(z))},
            "logs": {"log_cdf": lambda z: 1e-6 + np.asarray(hn.Exponential().log_cdf(z))},
            "density": {"density": lambda z: 1.00001 * np.exp(-np.asarray(z)) * (np.asarray(z) > 0.0)},
            "quantile": {"survival_quantile": lambda s: -1.001 * np.log(s)},
            "sample": {"sample": lambda rng, size=None: 1.1 * rng.standard_exponential(size)},
            "stream": {"sample": lambda rng, size=None: np.random.default_rng().standard_exponential(size)},
            "mean": {"mean": 1.001},
            "max": {"expected_max": lambda n: 1.0},
            "hazard": {"hazard": 0.99},
            "concave": {"log_density": lambda z: np.sqrt(1.0 + np.asarray(z) ** 2)},
            "play": {"kernel": "laplace"},
        }
        found = wrong.get(object.__getattribute__(self, "what"), {})
        return found[name] if name in found else super().__getattribute__(name)


BROKEN_LAWS: dict[str, list[Any]] = {
    "repr_evaluates_to_an_equal_object": [Boast()],
    "equal_objects_have_equal_hashes": [Loose()],
    "fields_are_read_only": [Loose()],
    "json_round_trip_restores_the_object": [Spoiled(THREE)],
    "functions_accept_numbers_and_arrays": [Wrong("forms")],
    "cdf_is_a_distribution_function": [Wrong("cdf"), Wrong("outside")],
    "survival_is_one_minus_cdf": [Wrong("survival")],
    "log_functions_match": [Wrong("logs")],
    "density_is_the_derivative_of_the_cdf": [Wrong("density")],
    "quantiles_invert_the_survival_function": [Wrong("quantile")],
    "samples_follow_the_cdf": [Wrong("sample")],
    "samples_depend_on_the_generator_only": [Wrong("stream")],
    "mean_matches_the_density": [Wrong("mean")],
    "expected_max_matches_the_density": [Wrong("max")],
    "hazard_is_an_upper_bound": [Wrong("hazard")],
    "log_concavity_is_true": [Wrong("concave")],
    "play_matches_the_density": [Wrong("play")],
}


def test_every_check_of_laws_has_a_control() -> None:
    assert list(BROKEN_LAWS) == [check.__name__ for check in laws.CHECKS]


@pytest.mark.parametrize(
    ("check", "law"), [(check, law) for check in laws.CHECKS for law in BROKEN_LAWS[check.__name__]]
)
def test_broken_law_fails_its_check(check: Any, law: Any) -> None:
    with pytest.raises(hn.checks.Failed):
        check(law)


def test_unmodified_law_passes() -> None:
    """Control: the tests of broken laws fail because of the defect alone."""
    for check in laws.CHECKS[4:]:
        check(Wrong(""))


def test_pytest_reports_skipped_checks(tmp_path: Path) -> None:
    """As shown in the documentation."""
    (tmp_path / "test_mine.py").write_text(
        "import pytest\nimport hannan as hn\n"
        '@pytest.mark.parametrize(("name", "check"), hn.checks.law_checks(hn.Pareto(1.0)))\n'
        "def test_contract(name, check):\n    check()\n"
    )
    told = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", "test_mine.py"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "15 passed, 2 skipped" in told.stdout
    assert "infinite" in told.stdout
