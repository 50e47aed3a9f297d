"""User-defined laws in the engine: a table plays like the law's own quadrature, or no table is used."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import hannan as hn
from hannan.learners.tuning import Schedule
from hannan.mathematics.laws.tabulated import ENOUGH, tabulated
from hannan.mathematics.quadrature import GeneralRule
from hannan.saving.formatting import figure


@dataclass(frozen=True)
class Logistic(hn.Law):
    def density(self, z: Any) -> Any:
        return 0.25 / np.cosh(np.asarray(z) / 2) ** 2

    def cdf(self, z: Any) -> Any:
        return 0.5 + 0.5 * np.tanh(np.asarray(z) / 2)


@dataclass(frozen=True)
class OneSided(hn.Law):
    @property
    def support(self) -> tuple[float, float]:
        return (0.0, np.inf)

    def density(self, z: Any) -> Any:
        z = np.asarray(z, dtype=float)
        return np.where(z >= 0.0, np.exp(-np.maximum(z, 0.0)), 0.0)

    def cdf(self, z: Any) -> Any:
        return -np.expm1(-np.maximum(np.asarray(z, dtype=float), 0.0))


@dataclass(frozen=True)
class Even(hn.Law):
    """On [0, 1]: a bounded support, for which there is no table."""

    @property
    def support(self) -> tuple[float, float]:
        return (0.0, 1.0)

    def density(self, z: Any) -> Any:
        z = np.asarray(z, dtype=float)
        return np.where((z >= 0.0) & (z <= 1.0), 1.0, 0.0)

    def cdf(self, z: Any) -> Any:
        return np.clip(np.asarray(z, dtype=float), 0.0, 1.0)


@pytest.mark.parametrize("law", [Logistic(), OneSided()], ids=repr)
def test_table_gives_the_distribution_of_the_law(law):
    found = tabulated(law)
    assert found is not None
    assert found.reached < ENOUGH
    for gaps in (np.zeros(3), np.array([0.0, 0.3, 2.0, 7.0]), np.array([0.0, 25.0])):
        p, total, _, fine = found.table.leaders(gaps, 1.0)
        assert fine
        np.testing.assert_allclose(p / total, GeneralRule(law, gaps).play(), rtol=0.0, atol=1e-8)


def test_a_player_and_a_game_of_a_table_make_the_same_moves():
    learner = hn.Bandit(4, Logistic(), hn.Fixed(3.0))
    losses = np.random.default_rng(0).random((200, 4))
    record = hn.play(learner, losses, seed=2, keep="all")
    player = learner.start(2)
    for t in range(200):
        move = player.act()
        assert move.action == record.actions[0, t]
        player.observe(move, float(losses[t, move.action]))


def test_law_without_a_table_is_evaluated_in_every_round():
    """The control: no table, but a player that plays the law."""
    assert tabulated(Even()) is None
    player = hn.Bandit(3, Even(), hn.Fixed(2.0)).start(1)
    player.observe(player.act(), 0.5)
    phi = hn.FTPL(Even(), 2.0)
    np.testing.assert_allclose(player.distribution(), phi.gradient(player.losses), atol=1e-8)


def test_certificate_states_the_accuracy_of_a_user_defined_law():
    """The control: laws of the package have no such line."""
    said = [
        dict(hn.Bandit(3, law, hn.Fixed(2.0)).start(1).certificate().rows()).get("distribution", "")
        for law in (Logistic(), Even(), hn.Gumbel())
    ]
    assert f"from a table, within {figure(tabulated(Logistic()).reached)} of the distribution" in said[0]
    assert "by numerical integration in every round, with accuracy 1e-08" in said[1]
    assert said[2] == ""


@dataclass(frozen=True)
class Asked(Logistic):
    """Counts the evaluations."""

    hazard = 1.0
    times: list[int] = field(default_factory=lambda: [0], compare=False)

    def density(self, z: Any) -> Any:
        self.times[0] += 1
        return super().density(z)


def test_audit_uses_the_table_of_a_law(monkeypatch):
    """A second audit evaluates nothing.

    The control: without a table the law is evaluated a thousand times per trial.
    """
    law, phi = Asked(), hn.FTPL(Logistic(), 2.0)
    first = hn.audit(hn.FTPL(law, 2.0), n=3)
    law.times[0] = 0
    again = hn.audit(hn.FTPL(law, 2.0), n=3)
    assert law.times[0] < 100
    assert again.measured == first.measured
    before, after = (phi.gradient(L) for L in (first.witness[0], first.witness[0] + first.witness[1]))
    found = float(hn.max_divergence(before, after))  # the audit allows for 1e-8 in each probability
    assert found - 1e-3 < first.measured <= found
    monkeypatch.setattr("hannan.mathematics.laws.tabulated.tabulated", lambda _: None)
    hn.FTPL(law, 2.0).many_gradients()(np.zeros(3))
    assert law.times[0] > 500


@pytest.mark.parametrize("law", [Logistic(), OneSided(), Even(), hn.Exponential()], ids=repr)
def test_many_gradients_equal_the_gradient(law):
    phi = hn.FTPL(law, 2.0)
    play = phi.many_gradients()
    for L in (np.zeros(3), np.array([5.0, 0.3, 2.0, 7.0]), np.array([0.0, 50.0])):
        np.testing.assert_allclose(play(L), phi.gradient(L), rtol=0.0, atol=1e-8)
    with pytest.raises(ValueError, match="must be finite"):
        play([0.0, np.nan])


class Broken(Exception):
    pass


@pytest.mark.parametrize("build", [hn.Experts, hn.Bandit, lambda *given: hn.ExpertBandit(3, *given)])
def test_law_that_fails_once_leaves_the_player_unchanged(build, monkeypatch):
    """In the past, the loss of a move that failed was counted, and counted again when it was sent again.

    A scale that was not reached was taken for the scale of the weights.
    """
    broken: list[bool] = []

    def weigh(losses, scale, valued):
        if broken:
            raise Broken
        w = np.exp((losses.min() - losses) / scale)
        return w / w.sum(), 0.0

    monkeypatch.setattr("hannan.mathematics.potentials.by_gradient", lambda smoothing: weigh)
    schedule = Schedule(2.0, a=1.0, b=1.0)
    monkeypatch.setattr(hn.Fixed, "schedule", lambda *given: schedule)
    learner = build(3, Even(), hn.Fixed(2.0))
    heard = [[0, 1, 2]] if hasattr(learner, "experts") else []
    player = learner.start(0)
    loss = [0.3, 0.1, 0.9] if player.sees_all else 0.3
    player.observe(player.act(*heard), loss)
    move = player.act(*heard)

    def state():
        return [repr(player.state()[name]) for name in ("numbers", "losses", "weights", "stream", "drawn")]

    before = state()
    for fails in (lambda: player.act(*heard), lambda: player.observe(move, loss)):
        broken.append(True)
        with pytest.raises(Broken):
            fails()
        broken.clear()
        assert state() == before
        assert player.open_moves == (move,)
    player.observe(move, loss)
    assert state() != before  # the control
    assert player.certificate().rounds == 2
    np.testing.assert_allclose(player.distribution(), weigh(player.losses, schedule.scale(3, 0.0), False)[0])
