"""Convex certificates: losses rejected on input, reasons to withhold a bound, and unchecked conditions."""

from __future__ import annotations

import numpy as np
import pytest

from hannan.games.play import play
from hannan.learners.convex.gradient import OnlineGradientDescent
from hannan.learners.convex.learner import Convex
from hannan.learners.tuning import Anytime, Fixed, Horizon
from hannan.mathematics.convex.domains import Ball, Box, Simplex
from hannan.mathematics.convex.leader import Leader
from hannan.mathematics.convex.losses import Linear, RankOne, SmoothedHinge
from hannan.mathematics.convex.polytope import Polytope, cone_residual, model_step
from hannan.players.convex import refuted

# User-defined phi


def smooth_absolute(u):
    return np.sqrt(1.0 + u**2)


def its_slope(u):
    return u / np.sqrt(1.0 + u**2)


@pytest.mark.parametrize(
    ("phi", "derivative", "curvature", "message"),
    [
        (lambda u: 1.0 - 0.1 * u**2, lambda u: -0.2 * u, None, r"phi must be convex.*; got phi'\(-1"),
        (lambda u: 0.2 * np.cos(3 * u) + 0.5, lambda u: -0.6 * np.sin(3 * u), None, "phi must be convex"),
        (smooth_absolute, lambda u: 0.5 * its_slope(u), None, "derivative must be phi'"),
        (smooth_absolute, lambda u: -its_slope(-u) + 0.1, None, "derivative must be phi'"),
        (lambda u: -smooth_absolute(u), its_slope, None, "derivative must be phi'"),
        (lambda u: np.where(u > 0.5, np.nan, u), lambda u: np.ones_like(u), None, "phi must be finite on the domain"),
        (lambda u: np.sum(u), lambda u: np.ones_like(u), None, "phi must return an array of the shape"),
        (smooth_absolute, its_slope, 0.9, "phi'' must be at most curvature = 0.9; got 0.99999"),
    ],
)
def test_phi_that_is_not_convex_or_inconsistent_is_rejected(phi, derivative, curvature, message):
    """In the past, the printed certificate contradicted itself."""
    loss = RankOne([0.6, 0.8], phi, derivative, curvature=curvature)
    learner = Convex(Ball(2), 1.0, tuning=Fixed(1.0), loss_bound=3.0)
    player = learner.start(0)
    move = player.act()
    with pytest.raises(ValueError, match=message):
        player.observe(move, loss)
    assert player.open_moves == (move,)
    losses = RankOne([[0.6, 0.8]] * 5, phi, derivative, curvature=curvature)
    for other in (learner, OnlineGradientDescent(Ball(2), 1.0)):
        with pytest.raises(ValueError, match=message):
            play(other, losses)


def test_correct_phi_with_kinks_and_jumps_is_accepted():
    """The control: convex losses, smooth or not, at scales from 1e-6 to 1e6, with the unchecked conditions stated."""
    for size in (1e-6, 1.0, 1e6):
        for phi, derivative in [
            (smooth_absolute, its_slope),
            (lambda u: np.abs(u), np.sign),
            (lambda u: np.maximum(u, 0.3), lambda u: (u > 0.3).astype(float)),
            (lambda u: np.logaddexp(0.0, 9 * u) / 9, lambda u: 1 / (1 + np.exp(-9 * u))),
        ]:
            loss = RankOne([0.6, 0.8], lambda u, f=phi, s=size: s * f(u), lambda u, f=derivative, s=size: s * f(u))
            player = Convex(Ball(2), size, tuning=Fixed(size), loss_bound=2.0 * size).start(0)
            player.observe(player.act(), loss)
            said = player.certificate()
            assert said.bound is not None
            assert "assumed, not verified" in str(said)
    losses = RankOne([[0.6, 0.8]] * 5, smooth_absolute, its_slope)
    record = play(Convex(Ball(2), 1.0, tuning=Fixed(1.0), loss_bound=2.0), losses)
    assert "assumed, not verified" in str(record.bound)
    player = Convex(Ball(2), 1.0, tuning=Fixed(1.0), loss_bound=3.0).start(0)
    player.observe(player.act(), Linear([0.0, 0.0]))
    assert "assumed, not verified" not in str(player.certificate())


def test_level_above_the_claim_withholds_the_bound():
    """A spike between the margins tested on input is detected where it is played."""
    player = Convex(Box([-1.0], [1.0]), 1.0, tuning=Fixed(1.0), loss_bound=3.0).start(0)
    where = [np.inf]

    def slope(u):
        return np.where(np.abs(u - where[0]) < 1e-9, 5.0, its_slope(u))

    loss = RankOne([1.0], smooth_absolute, slope)
    for _ in range(20):
        player.observe(player.act(), loss)
    assert player.certificate().bound is not None
    move = player.act()
    where[0] = move.action[0]
    assert abs(where[0]) < 1.0
    player.observe(move, loss)
    where[0] = np.inf
    said = player.certificate()
    assert said.bound is None
    assert "stability 5 exceeds the claimed 1:" in said.withheld


def test_loss_above_the_loss_bound_is_rejected_at_the_move():
    player = Convex(Ball(2), 1.0, tuning=Fixed(1.0), loss_bound=3.0).start(1)
    move = player.act()
    x = move.action[0]

    def spike(u):
        return np.where(np.abs(u - x) < 1e-9, 50.0, smooth_absolute(u))

    with pytest.raises(ValueError, match=r"the loss of a move must be in \[0, loss_bound = 3\]; got 50"):
        player.observe(move, RankOne([1.0, 0.0], spike, its_slope))
    assert player.certificate().rounds == 0


def test_game_rejects_losses_that_only_its_moves_contradict():
    """A loss with spikes between the tested margins, at a move: slope 5, value 50; the regret is above the bound."""
    learner, z = Convex(Ball(2), 1.0, tuning=Fixed(1.0), loss_bound=3.0), np.tile([1.0, 0.0], (3, 1))
    there = play(learner, RankOne(z, smooth_absolute, its_slope), seed=4, keep="all").actions[0, 0, 0]
    assert abs(there) < 0.999

    def slope(u):
        return np.where(np.abs(u - there) < 1e-9, 5.0, its_slope(u))

    def spike(u):
        return np.where(np.abs(u - there) < 1e-9, 50.0, smooth_absolute(u))

    with pytest.raises(ValueError, match=r"lipschitz = 1; got 5 at .*move"):
        play(learner, RankOne(z, smooth_absolute, slope), seed=4)
    with pytest.raises(ValueError, match=r"loss_bound = 3\]; got 50"):
        play(learner, RankOne(z, spike, its_slope), seed=4)
    # The first move of a descent is the center, 0.3, which is not in the tested grid of [-1.17, 1.3].
    descent, there = OnlineGradientDescent(Ball(2, 1.0, (0.3, 0.0)), 1.0), 0.3
    z[2] = [-0.9, 0.0]
    fine = play(descent, RankOne(z, smooth_absolute, its_slope))
    assert "assumed, not verified" in fine.bound.condition
    record = play(descent, RankOne(z, spike, its_slope))
    assert record.bound is None
    assert "impossible for convex losses" in record.bound_withheld
    # A live player tests every loss alone, with a grid around its own center: the spike is rejected on input.
    player = descent.start()
    with pytest.raises(ValueError, match="derivative must be phi'"):
        player.observe(player.act(), RankOne(z, spike, its_slope)[0])
    (move,) = player.open_moves
    for loss in RankOne(z, smooth_absolute, its_slope):
        player.observe(move, loss)
        move = player.act()
    said = player.certificate()
    assert (said.bound, said.withheld) == (fine.bound, "")
    assert refuted(said.bound.value * 1.01, said.bound).startswith("the regret")
    assert refuted(said.bound.value, said.bound) == ""
    with pytest.raises(ValueError, match="user-defined losses cannot be saved"):
        player.save("nowhere.json")


# Reused noise


def test_kept_noise_has_no_certificate_live():
    """Charge the coordinate that is played most: reused noise is visible in past moves, 10 times its bound and more."""
    T = 600
    learner = Convex(Simplex(2), 1.0, tuning=Horizon(T), loss_bound=1.0, smooth=0, fresh=False)
    regrets = {}
    for fresh in (False, True):
        player = Convex(Simplex(2), 1.0, tuning=Horizon(T), loss_bound=1.0, smooth=0, fresh=fresh).start(3)
        last = 0
        for _ in range(T):
            move = player.act()
            # The losses depend on past moves only: the expert of the last move is charged.
            player.observe(move, Linear(np.eye(2)[last]))
            last = int(np.argmax(move.action))
        said = player.certificate()
        regrets[fresh] = said.regret
        assert (said.bound is None) == (not fresh)
        if not fresh:
            assert "the same noise is used in all rounds" in said.withheld
    bound = learner.bound().value
    assert regrets[False] > 3 * bound
    assert regrets[True] < bound


# Polytopes


def crossed(seed: int) -> Polytope:
    """The cube of side 2 cut by random half-spaces that hold 0."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(2, 5))
    A = rng.standard_normal((d + int(rng.integers(2, 6)), d))
    b = np.concatenate([np.abs(rng.standard_normal(len(A))) + 0.3, np.ones(2 * d)])
    return Polytope(np.vstack([A, np.eye(d), -np.eye(d)]), b)


def test_polytope_with_mostly_flat_losses_is_solved():
    """Smoothed hinges that are mostly flat leave only the ridge, 5e-6: the step must remain in the polytope."""
    for seed in range(20):
        domain, rng = crossed(seed), np.random.default_rng(1000 + seed)
        z = rng.standard_normal((40, domain.d))
        losses = SmoothedHinge(z / np.linalg.norm(z, axis=1, keepdims=True), rng.integers(0, 2, 40), 0.5)
        A, b = domain.rows
        leader = Leader(domain)
        for n in (1, 4, 10, 25):
            leader.absorb(losses[leader.curved : leader.curved + n])
            noise = 10.0 ** rng.uniform(-1, 1) * rng.standard_normal(domain.d)
            ridge = 1e-6 * (1 + n)
            x, left = leader.minimise(noise, ridge, 1e-7 * ridge)
            assert left <= 1e-7 * ridge
            assert (A @ x <= b + 1e-13).all()
            value = leader.value(x) + noise @ x
            for y in domain.project(x + 0.1 * rng.standard_normal((5, domain.d))):
                assert value <= leader.value(y) + noise @ y + 1e-5 * ridge + 1e-12 * abs(value) + 4 * ridge


@pytest.mark.parametrize("seed", [0, 3])
def test_ordinary_games_in_a_polytope_converge(seed):
    """Seed 0 raised NotConverged at the sixth move."""
    domain, rng = crossed(seed), np.random.default_rng(seed)
    z = rng.standard_normal((12, domain.d))
    z /= np.linalg.norm(z, axis=1, keepdims=True)
    losses = SmoothedHinge(z, rng.random(12) < 0.5, 0.5)
    learner = Convex(domain, 1.0, tuning=Anytime(), loss_bound=float(np.max(losses.interval(domain)[1])))
    record = play(learner, losses, seed=seed, keep="all")
    A, b = domain.rows
    assert (record.actions[0] @ A.T <= b + 1e-12).all()


def test_steps_of_the_quadratic_model_reach_its_minimum():
    """Against the optimality conditions: a nonnegative multiplier for each active constraint."""
    rng = np.random.default_rng(5)
    for seed in range(30):
        domain = crossed(seed)
        A, b = domain.rows
        root = rng.standard_normal((domain.d, domain.d))
        H = root @ root.T + 10.0 ** rng.uniform(-6, 0) * np.eye(domain.d)
        x, g = domain.project(rng.standard_normal(domain.d)), 10.0 * rng.standard_normal(domain.d)
        step = model_step(A, b, x, g, H)
        assert (A @ (x + step) <= b + 1e-13).all()
        assert cone_residual(A, b, x + step, g + H @ step) < 1e-10 * np.linalg.norm(g)
        # The control: a step that is shorter by 1 in 1000 does not satisfy them.
        short = 0.999 * step
        if np.linalg.norm(step) > 1e-3:
            assert cone_residual(A, b, x + short, g + H @ short) > 1e-6
