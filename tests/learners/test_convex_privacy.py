"""Privacy of moves: sources of noise, statements of certificates, and exact distributions that try to exceed a
statement.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from hannan.games.play import play
from hannan.learners.convex.learner import Convex
from hannan.learners.convex.privacy import composed_epsilon, levels, output_scale
from hannan.learners.tuning import Fixed, Horizon, SelfConfident
from hannan.mathematics.bounds import Withheld
from hannan.mathematics.convex import noise as system_noise
from hannan.mathematics.convex.domains import Ball, Box, Simplex
from hannan.mathematics.convex.leader import Leader
from hannan.mathematics.convex.losses import Huber, Linear, Logistic, Loss, SmoothedHinge, Squared
from hannan.mathematics.convex.noise import GammaNoise, GaussianNoise
from hannan.mathematics.convex.polytope import NotConverged, Polytope, descend
from hannan.players.load import load


def linear(**options) -> Convex:
    return Convex(Ball(3), 2.0, tuning=Fixed(4.0), smooth=0, guarantee="privacy", **options)


def curved(**options) -> Convex:
    given = {"accuracy": 1e-3, "loss_bound": 5.0, "tuning": Fixed(4.0), **options}
    return Convex(Ball(2), 1.0, smooth=0.25, guarantee="privacy", **given)


def logistic(T: int, d: int) -> Logistic:
    rng = np.random.default_rng(d)
    z = rng.standard_normal((T, d))
    z /= np.linalg.norm(z, axis=1, keepdims=True)
    return Logistic(z, rng.random(T) < 1 / (1 + np.exp(-4 * z[:, 0])))


# Noise of the operating system


@pytest.mark.parametrize("d", [1, 2, 5])
def test_noise_of_the_operating_system_has_its_distribution(d):
    """Kolmogorov-Smirnov for the norm and for a coordinate, each rejected at p < 1e-7: 12 tests, about 1e-6 in
    total.
    """
    for noise, norm in ((GammaNoise(), stats.gamma(d)), (GaussianNoise(), stats.chi(d))):
        drawn = np.array([system_noise.standard(noise.kernel, d) for _ in range(4000)])
        assert stats.kstest(np.linalg.norm(drawn, axis=1), norm.cdf).pvalue > 1e-7
        other = noise.sample(np.random.default_rng(d), d, 40_000)
        assert stats.ks_2samp(drawn[:, -1], other[:, -1]).pvalue > 1e-7


def test_draws_have_the_resolution_of_doubles():
    """Uniforms below 2^-8 that are not multiples of 2^-53, and the same for normals and exponentials: 200,000 draws."""
    u = system_noise.uniforms(200_000)
    assert u.min() > 0.0
    assert u.max() < 1.0
    assert stats.kstest(u, "uniform").pvalue > 1e-7
    small = u[u < 2.0**-8] * 2.0**53
    # At least 700 of them, each a multiple with probability at most 1/256.
    assert (small != np.floor(small)).mean() > 0.9
    e = system_noise.exponentials(200_000)
    assert stats.kstest(e, "expon").pvalue > 1e-7
    assert stats.kstest(system_noise.normals(199_999), "norm").pvalue > 1e-7
    assert (e[e < 2.0**-8] * 2.0**53 % 1.0 != 0.0).mean() > 0.9


class Fixed64:
    """The same words each time, instead of those of the operating system."""

    def __init__(self) -> None:
        self.rng = np.random.default_rng(0)

    def __call__(self, n: int) -> np.ndarray:
        return self.rng.integers(0, 2**64, n, dtype=np.uint64)


def test_private_player_draws_from_the_operating_system_only(monkeypatch):
    """With fixed bytes of the system, players without a seed make equal moves, and those with a seed do not use the
    bytes.
    """
    losses = {"linear": Linear(logistic(6, 3).z), "curved": logistic(6, 2)}
    makes = {"linear": linear, "curved": curved}

    def moves(kind, seed):
        player = makes[kind]().start(seed)
        answer = []
        for loss in losses[kind]:
            move = player.act()
            answer.append(move.action)
            player.observe(move, loss)
        return answer

    for kind in losses:
        assert moves(kind, None) != moves(kind, None)
        assert moves(kind, 7) == moves(kind, 7)
        with monkeypatch.context() as held:
            held.setattr(system_noise, "_words", Fixed64())
            first = moves(kind, None)
            held.setattr(system_noise, "_words", Fixed64())
            assert moves(kind, None) == first
            held.setattr(system_noise, "_words", lambda n: pytest.fail("not asked for"))
            moves(kind, 7)
    # The control: a player without a privacy guarantee draws from its own stream.
    with monkeypatch.context() as held:
        held.setattr(system_noise, "_words", lambda n: pytest.fail("not asked for"))
        Convex(Ball(3), 2.0, tuning=Fixed(4.0), smooth=0).start(1).act()


def test_only_a_player_without_a_seed_states_privacy():
    for learner, epsilon in ((linear(), "(epsilon, delta) = (0.5, 0)"), (curved(), "(epsilon, delta) = (")):
        player = learner.start()
        player.act()
        said = player.certificate()
        assert said.privacy.startswith(epsilon)
        assert "real-valued noise that no one can reproduce" in said.private_if
        assert "covers the moves only: not the learner's loss, the regret or the certificate" in said.private_if
        assert "a fixed function of the losses" in learner.start(seed=1).certificate().privacy
        assert "real-valued noise that no one can reproduce" in learner.privacy().condition
    record = play(linear(), Linear(np.zeros((5, 3))), runs=2)
    assert "privacy: epsilon" not in str(record)
    assert "(epsilon, delta)" not in str(record)
    player = linear().start()
    for _ in range(3):
        player.observe(player.act(), Linear([0.1, 0.0, 0.0]))
    assert "(epsilon, delta) = (1.5, 0) for 3 moves" in player.certificate().spent
    assert "(epsilon, delta) = (1.5, 0) for 3 moves" in str(player.certificate())
    assert linear().start(seed=1).certificate().spent == ""
    for learner in (linear(), curved()):
        player = learner.start()
        assert len({player.act().action for _ in range(4)}) == 4
    kept = linear(fresh=False).start()
    assert kept.act().action == kept.act().action
    assert "one draw of noise" in kept.certificate().privacy
    assert Convex(Ball(3), 2.0, tuning=Fixed(4.0)).start().certificate().privacy == ""


def test_noise_is_never_saved_nor_used_again(tmp_path):
    for make in (linear, lambda: linear(fresh=False), curved):
        learner = make()
        player = learner.start()
        for _ in range(3):
            move = player.act()
        player.save(tmp_path / "one.json")
        copies = [load(tmp_path / "one.json") for _ in range(2)] + [load(tmp_path / "one.json", resume="exact")]
        actions = {copy.act().action for copy in copies} | {move.action}
        assert len(actions) == 4
        assert not np.any(player._leader.run.fields()["normals"])
    # The control: with a seed the noise is that of the stream, and an exact resumption uses it again.
    player = linear().start(5)
    player.act()
    player.save(tmp_path / "two.json")
    assert load(tmp_path / "two.json", resume="exact").act().action == player.act().action


def test_failed_move_ends_the_privacy_statement(monkeypatch, tmp_path):
    player = curved().start()
    player.observe(player.act(), logistic(1, 2)[0])
    assert player.certificate().privacy.startswith("(epsilon, delta) = ")
    with monkeypatch.context() as broken:

        def stuck(*_):
            raise NotConverged("stuck")

        broken.setattr(Leader, "surely", stuck)
        with pytest.raises(NotConverged):
            player.act()
    player.act()
    assert "the solver failed to compute a move" in player.certificate().privacy
    player.save(tmp_path / "player.json")
    assert "the solver failed to compute a move" in load(tmp_path / "player.json").certificate().privacy


# Statements


def test_privacy_of_linear_losses():
    learner = linear()
    one = learner.privacy()
    assert (one.epsilon, one.delta, one.rounds) == (0.5, 0.0, 1)
    assert learner.privacy(rounds=10).epsilon == 5.0
    pytest.importorskip("dp_accounting")
    assert learner.privacy(rounds=100, delta=1e-5).epsilon < 50.0
    gaussian = Convex(Ball(3), 2.0, GaussianNoise(1e-6), Fixed(40.0), smooth=0, guarantee="privacy")
    assert gaussian.privacy().epsilon == pytest.approx(GaussianNoise(1e-6).epsilon_of(2.0, 40.0))
    # T Gaussian moves are one with sigma/sqrt(T).
    composed = gaussian.privacy(rounds=25).epsilon
    assert composed == pytest.approx(GaussianNoise(1e-6).epsilon_of(2.0, 8.0), rel=2e-3)


def test_privacy_of_curved_losses_in_closed_form():
    """epsilon = (beta/scale + log(1 + smooth/ridge))/(1 - share), and for Gaussian noise with its own level."""
    learner = curved(ridge=0.5, output_share=0.2)
    assert learner.privacy().epsilon == pytest.approx((0.25 + math.log(1.5)) / 0.8)
    assert learner.privacy().delta == 0.0
    assert learner.privacy(rounds=7).epsilon == pytest.approx(7 * learner.privacy().epsilon)
    parts = levels(learner, "rank-one")
    assert parts.output == pytest.approx(0.2 * learner.privacy().epsilon)
    assert output_scale(learner) == pytest.approx(2e-3 / parts.output)
    # The default ridge is smooth/level, and J is then below the level.
    assert curved().privacy_ridge() == pytest.approx(0.25 * 4.0)
    noise = GaussianNoise(1e-5)
    gaussian = curved(noise=noise, tuning=Fixed(5.0), ridge=0.5)
    two = noise.epsilon_of(1.0, 5.0, "rank-one")
    assert gaussian.privacy().epsilon == pytest.approx((two + math.log(1.5)) / 0.9)
    assert gaussian.privacy().delta == 1e-5
    one = noise.epsilon_of(1.0, 5.0)
    assert two > one
    output = levels(gaussian, "rank-one").output
    assert gaussian.privacy(shape="one-signed").epsilon == pytest.approx(one + math.log(1.5) + output)
    many = gaussian.privacy(rounds=20)
    spent = 20 * (math.log(1.5) + output)
    assert many.epsilon == pytest.approx(spent + composed_epsilon(0.2, "rank-one", 20, 1e-5))
    assert many.epsilon < 20 * gaussian.privacy().epsilon
    assert gaussian.privacy(20, 1e-3, "one-signed").epsilon < many.epsilon


def test_privacy_is_withheld_with_the_reason():
    printed = Convex(Ball(2), 1.0, GaussianNoise(0.1, "paper"), Fixed(1.0), smooth=0, guarantee="privacy")
    for learner, message in [
        (curved(accuracy=None), "pass accuracy="),
        (Convex(Ball(2), 1.0, tuning=Fixed(1.0)), "guarantee='privacy'"),
        (printed, "calibration='paper'"),
    ]:
        with pytest.raises(Withheld, match=message):
            learner.privacy()
    reused = linear(fresh=False)
    assert reused.privacy().epsilon == 0.5
    with pytest.raises(Withheld, match="one draw of noise"):
        reused.privacy(rounds=2)
    for build, message in [
        (lambda: linear(accuracy=1e-3), "accuracy.*accuracy=0.001"),
        (lambda: linear(ridge=1.0), "ridge.*ridge=1.0"),
        (lambda: Convex(Ball(2), 1.0, tuning=Fixed(1.0), accuracy=1e-3), "accuracy.*accuracy=0.001"),
        (lambda: curved(accuracy=0.0), "accuracy must be a finite number > 0"),
        (lambda: curved(accuracy=1e-10), "accuracy must be at least 1e-09 x radius.*1e-10"),
        (lambda: curved(ridge=-1.0), "ridge must be a finite number > 0"),
        (lambda: curved(output_share=1.0), r"output_share must be in \(0, 1\)"),
        (lambda: curved(tuning=SelfConfident()), "tuning must have a constant scale"),
        (lambda: curved().privacy(shape="cubic"), "shape must be"),
        (lambda: curved().privacy(rounds=0), "rounds must be"),
    ]:
        with pytest.raises(ValueError, match=message):
            build()


# Play


def test_ridge_of_a_private_learner_does_not_depend_on_the_number_of_losses():
    assert curved(ridge=0.3).ridge_after(0, 4.0) == curved(ridge=0.3).ridge_after(1000, 4.0) == 0.3
    # The control: the ridge of a regret bound does depend on it.
    open_ = Convex(Ball(2), 1.0, tuning=Fixed(4.0), smooth=0.25)
    assert open_.ridge_after(0, 4.0) < open_.ridge_after(1000, 4.0)


@pytest.mark.parametrize("domain", [Ball(2), Simplex(2), Polytope([[1, 1], [-1, 0], [0, -1]], [1, 0.2, 0.2])], ids=repr)
def test_private_games_are_those_of_the_player_and_below_their_bound(domain):
    losses = logistic(40, 2)
    learner = Convex(
        domain, 1.0, tuning=Fixed(4.0), smooth=0.25, guarantee="privacy", loss_bound=3.0, accuracy=1e-3, ridge=0.5
    )
    record = play(learner, losses, runs=3, seed=2, keep="all")
    player = learner.start(2)
    for t, loss in enumerate(losses):
        move = player.act()
        assert move.action == tuple(record.actions[0, t])
        assert domain.contains(move.action)
        # The remaining error of the solver is not released, only the accuracy.
        assert move.distance == 1e-3
        player.observe(move, loss)
    cost = 0.25 * domain.radius**2 + 40 * (1e-3 + 2 * output_scale(learner))
    assert record.source.cost == pytest.approx(cost)
    assert player.certificate().solver_cost == pytest.approx(cost)
    bound = learner.bound(rounds=40, best_loss=record.best_loss)
    assert record.bound.value == pytest.approx(bound.value)
    assert record.mean_regret[-1] <= record.bound.value


def test_output_noise_has_its_scale():
    """E||w|| = d 2r/epsilon_2 inside a large ball: 4,000 moves, six standard errors (1 in 5e8)."""
    learner = Convex(Ball(2, 1e3), 1.0, tuning=Fixed(1e-6), smooth=0.25, guarantee="privacy", accuracy=1e-3, ridge=1.0)
    player = learner.start(3)
    norms = np.array([np.linalg.norm(player.act().action) for _ in range(4000)])
    assert abs(norms.mean() - 2 * output_scale(learner)) < 6 * norms.std() / math.sqrt(4000)


@pytest.mark.parametrize("domain", [Ball(4, 0.7), Box([-0.5] * 4, [0.5] * 4), Simplex(4)], ids=repr)
def test_gradient_steps_reach_the_minimizer_of_newton(domain, monkeypatch):
    rng = np.random.default_rng(0)
    leader = Leader(domain)
    leader.absorb(logistic(30, 4))
    for ridge in (0.05, 1.0):
        noise = 3.0 * rng.standard_normal(4)
        x, _ = leader.minimise(noise, ridge, 1e-10)
        y, left = descend(
            lambda x, noise=noise, ridge=ridge: leader.slope(x) + noise + ridge * (x - domain.center),
            domain.project, ridge, 1e-8, domain.center,
        )  # fmt: skip
        assert left <= 1e-8
        assert np.linalg.norm(x - y) <= 1e-8 / ridge + 1e-9
    monkeypatch.setattr("hannan.mathematics.convex.polytope.LIMIT", 20)
    with pytest.raises(NotConverged, match="residual is"):
        descend(lambda x: x - 3.0, domain.project, 1.0, -1.0, domain.center)


# Exact distributions in one dimension, with atoms at both ends of X = [-1, 1]

GRID = np.linspace(-1.0, 1.0, 1601)


def masses(losses: list[Loss], ridge: float, tail) -> np.ndarray:
    """P(x* = -1), of each cell between, P(x* = 1): x* <= x where b >= -G'(x), by the tail of b."""
    slope = ridge * GRID + sum(loss.slope(loss.z[0] * GRID) * loss.z[0] for loss in losses)
    above = tail(-slope)  # P(b >= -G'(x)) = P(x* <= x)
    inner = np.diff(above)
    return np.concatenate([[above[0]], inner, [tail(slope[-1])]])


def excess(p: np.ndarray, q: np.ndarray, epsilon: float) -> float:
    """Return sup over sets of P(B) - e^epsilon Q(B)."""
    return float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum())


def worlds(shape: str, seed: int) -> tuple[list[Loss], Loss, float, float]:
    """(history, one further loss, its Lipschitz constant on X, its curvature)."""
    rng = np.random.default_rng(seed)
    z = rng.uniform(0.5, 3.0, (4, 1)) * rng.choice([-1.0, 1.0], (4, 1))
    make = {
        "linear": lambda z: Linear(z),
        "logistic": lambda z: Logistic(z, int(rng.integers(0, 2))),
        "hinge": lambda z: SmoothedHinge(z, int(rng.integers(0, 2)), rng.uniform(0.1, 1.0)),
        "huber": lambda z: Huber(z, rng.uniform(-1, 1), rng.uniform(0.2, 1.0)),
        "squared": lambda z: Squared(z, rng.uniform(-1, 1)),
    }[shape]
    history = [make(row) for row in z[: int(rng.integers(0, 4))]]
    loss = make(z[3])
    return history, loss, float(loss.lipschitz(Box([-1.0], [1.0]))), float(loss.smooth)


def laplace(scale):
    return lambda b: stats.laplace.sf(b, scale=scale)


def normal(sigma):
    return lambda b: stats.norm.sf(b, scale=sigma)


KINDS = ("linear", "logistic", "hinge", "huber", "squared")


@pytest.mark.parametrize("kind", KINDS)
def test_gamma_levels_hold_in_both_directions_and_need_the_ridge(kind):
    """Exact cell masses: forward beta/scale, backward beta/scale + J; with a twentieth of the ridge this is
    exceeded.
    """
    exceeded = 0
    for seed in range(12):
        history, loss, beta, smooth = worlds(kind, seed)
        ridge, scale = 0.3 + 0.2 * seed, 3.0 * beta
        J = math.log1p(smooth / ridge)
        p, q = (masses(part, ridge, laplace(scale)) for part in (history, [*history, loss]))
        some = (p > 1e-12) & (q > 1e-12)
        assert np.log(p[some] / q[some]).max() <= beta / scale + 1e-6
        assert np.log(q[some] / p[some]).max() <= beta / scale + J + 1e-6
        p, q = (masses(part, 0.05 * ridge, laplace(scale)) for part in ([], [loss]))
        some = (p > 1e-12) & (q > 1e-12)
        exceeded += np.log(q[some] / p[some]).max() > beta / scale + J + 1e-3
    assert (exceeded > 0) == (kind != "linear")


@pytest.mark.parametrize("kind", KINDS)
def test_gaussian_deltas_hold_in_both_directions(kind):
    """delta_0 if phi' has one sign, 2 delta_0 otherwise; backward at epsilon - J."""
    exceeded, closest = 0, 0.0
    shape = {"linear": "linear", "logistic": "one-signed", "hinge": "one-signed"}.get(kind, "rank-one")
    for seed in range(12):
        history, loss, beta, smooth = worlds(kind, seed)
        ridge, sigma = 0.3 + 0.2 * seed, (1.0 + 0.3 * seed) * beta
        J = math.log1p(smooth / ridge)
        noise = GaussianNoise()
        p, q = (masses(part, ridge, normal(sigma)) for part in (history, [*history, loss]))
        thin_p, thin_q = (masses(part, 1e-3 * ridge, normal(sigma)) for part in ([], [loss]))
        for epsilon in (0.1, 0.3, 0.8):
            allowed = noise.delta_of(epsilon, beta, sigma, shape)
            assert excess(p, q, epsilon) <= allowed * (1 + 1e-9) + 1e-13
            assert excess(q, p, epsilon + J) <= allowed * (1 + 1e-9) + 1e-13
            closest = max(closest, excess(p, q, epsilon) / allowed)
            exceeded += excess(thin_q, thin_p, epsilon + J) > 1.01 * allowed + 1e-12
    assert closest > (0.95 if kind == "linear" else 0.02)
    assert (exceeded > 0) == (kind != "linear")


def released(points: np.ndarray, weights: np.ndarray, scale: float, ends: np.ndarray) -> np.ndarray:
    """Return the cell masses of a distribution plus Laplace noise."""
    cdf = stats.laplace.cdf(ends[:, None] - points, scale=scale) @ weights
    return np.diff(cdf, prepend=0.0, append=weights.sum())


@pytest.mark.parametrize("kind", ["logistic", "huber"])
def test_the_statement_of_a_learner_holds_for_a_hostile_solver(kind):
    """A solver whose result is on another grid for each data set, within r of the argmin.

    Without output noise the digits distinguish the two data sets; with it the stated epsilon holds.
    """
    for seed in range(4):
        history, loss, beta, smooth = worlds(kind, seed)
        r, cells = 0.02, np.linspace(-1.5, 1.5, 1201)
        learner = Convex(
            Box([-1.0], [1.0]), beta, tuning=Fixed(3.0 * beta), smooth=smooth, guarantee="privacy",
            accuracy=r, ridge=1.0, output_share=0.3,
        )  # fmt: skip
        epsilon, scale = learner.privacy().epsilon, output_scale(learner)
        centers = np.concatenate([[-1.0], 0.5 * (GRID[1:] + GRID[:-1]), [1.0]])
        laws, bare = [], []
        for part, offset in ((history, 0.0), ([*history, loss], 0.5)):
            weights = masses(part, 1.0, laplace(3.0 * beta))
            answered = 2 * r * (np.round(centers / (2 * r) - offset) + offset)
            assert np.abs(answered - centers).max() <= r + 1e-12
            laws.append(released(answered, weights, scale, cells))
            bare.append(np.histogram(answered, np.linspace(-1.1, 1.1, 2200), weights=weights)[0])
        p, q = laws
        assert max(np.log(p / q).max(), np.log(q / p).max()) <= epsilon
        # The control: the same without output noise.
        assert excess(*bare, 10 * epsilon) > 0.9


def test_two_curved_moves_compose_by_the_majorant_only():
    """Both moves after the loss, with exact product distributions: within the majorant, and beyond the linear
    composition.
    """
    worst, beyond = 0.0, 0.0
    for seed in range(6):
        rng = np.random.default_rng(100 + seed)
        history, loss, beta, smooth = worlds("logistic", seed)
        sigma = rng.uniform(1.0, 2.5) * beta
        for ridge in (0.1, 1.0):
            J, noise = math.log1p(smooth / ridge), GaussianNoise(1e-4)
            between = [*history, Linear([rng.uniform(-1, 1)])]
            pairs = [
                [masses(part, ridge, normal(sigma))[::4] for part in (before, [*before, loss])]
                for before in (history, between)
            ]
            # Cells are merged in groups of four to keep the product small, which can only decrease the divergence.
            pairs = [
                [
                    np.add.reduceat(masses(part, ridge, normal(sigma)), np.arange(0, 1602, 6))
                    for part in (before, [*before, loss])
                ]
                for before in (history, between)
            ]
            p, q = (np.outer(pairs[0][k], pairs[1][k]).ravel() for k in (0, 1))
            stated = 2 * J + composed_epsilon(beta / sigma, "one-signed", 2, 1e-4)
            worst = max(worst, excess(p, q, stated) / 1e-4, excess(q, p, stated) / 1e-4)
            alike = noise.epsilon_of(math.sqrt(2.0) * beta, sigma)
            beyond = max(beyond, excess(q, p, alike) / 1e-4)
    assert worst <= 1.0
    assert beyond > 10.0


@pytest.mark.parametrize("shape", ["one-signed", "rank-one"])
def test_the_majorant_is_above_its_expectation_and_near_it(shape):
    """delta at the given epsilon, from 100,000 samples of sums of V: at most the target, within six standard errors."""
    rng = np.random.default_rng(1)
    for mu, rounds, delta in ((0.5, 1, 1e-2), (0.3, 5, 1e-2), (1.0, 3, 3e-2), (0.05, 30, 1e-2)):
        epsilon = composed_epsilon(mu, shape, rounds, delta)
        y = rng.standard_normal((100_000, rounds))
        V = np.maximum(0.0, 0.5 * mu**2 + mu * (np.abs(y) if shape == "rank-one" else y)).sum(axis=1)
        lost = -np.expm1(np.minimum(epsilon - V, 0.0))
        error = lost.std() / math.sqrt(len(lost))
        assert lost.mean() <= delta + 6 * error
        assert lost.mean() >= 0.97 * delta - 6 * error
    # One round in closed form, down to tiny deltas.
    for delta in (1e-3, 1e-8, 1e-12):
        exact = GaussianNoise(delta).epsilon_of(0.5, 1.0)
        if shape == "one-signed":
            assert exact <= composed_epsilon(0.5, shape, 1, delta) <= 1.001 * exact


def test_horizon_of_a_private_learner_is_public():
    learner = Convex(Ball(3), 1.0, GaussianNoise(1e-6), Horizon(100), smooth=0, guarantee="privacy")
    assert learner.privacy().delta == 1e-6
