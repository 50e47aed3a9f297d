"""The pieces of the engine against slow oracles: exp and its kin, streams, draws, weights, estimators."""

from __future__ import annotations

import math

import mpmath
import naive_games as naive
import numpy as np
import pytest

import hannan as hn
from hannan import _engine, streams
from hannan._engine import Function


def worst_ulps(function, oracle, x):
    """The largest error in units of the last place."""
    with mpmath.workprec(140):
        return max(
            float(abs((mpmath.mpf(float(y)) - oracle(mpmath.mpf(float(a)))) / mpmath.mpf(float(np.spacing(abs(y))))))
            for a, y in zip(x, _engine.each(function, x), strict=True)
        )


RNG = np.random.default_rng(0)
WIDE = np.concatenate([RNG.uniform(-708, 0, 1000), RNG.uniform(-2, 2, 1000), RNG.uniform(0, 709, 300)])
POSITIVE = np.concatenate([10.0 ** RNG.uniform(-300, 300, 800), RNG.uniform(0.5, 2.0, 800)])


@pytest.mark.parametrize(
    ("function", "oracle", "x", "ulps"),
    [
        (Function.exp, mpmath.exp, WIDE, 1.0),
        (Function.exp_soon, mpmath.exp, WIDE, 1.3),
        (Function.exp_small, mpmath.exp, np.linspace(-0.1, 0.0, 1001), 2.0),
        (Function.expm1, mpmath.expm1, np.concatenate([RNG.uniform(-30, 30, 1000), RNG.uniform(-1e-3, 1e-3, 500)]), 2.0),
        (Function.log, mpmath.log, POSITIVE, 1.0),
        (Function.log1p, mpmath.log1p, np.concatenate([RNG.uniform(-0.9, 10.0, 800), RNG.uniform(-1e-6, 1e-6, 300)]), 2.0),
        (Function.erfc, mpmath.erfc, RNG.uniform(-6.0, 20.0, 800), 8.0),
    ],
    ids=lambda x: x.name if isinstance(x, Function) else "",
)
def test_functions_of_one_number(function, oracle, x, ulps):
    assert worst_ulps(function, oracle, x) < ulps


def test_powers():
    x, rng = 10.0 ** np.random.default_rng(2).uniform(-20, 20, 500), np.random.default_rng(3)
    for a in rng.uniform(-8, 8, 6):
        np.testing.assert_allclose(_engine.power(x, a), x**a, rtol=1e-15)


def test_exp_at_the_edges():
    out = _engine.each(
        Function.exp, np.array([0.0, -0.0, -708.3, -708.5, -1e300, -np.inf, 709.3, 709.5, np.inf, 1e-320])
    )
    assert out[:2].tolist() == [1.0, 1.0]
    assert out[2] == pytest.approx(math.exp(-708.3), rel=1e-13)
    assert out[3:6].tolist() == [0.0, 0.0, 0.0]
    assert out[6] == pytest.approx(math.exp(709.3), rel=1e-12)
    assert (out[7:9] > 1e308).all()
    assert out[9] == 1.0


@pytest.mark.parametrize("function", [Function.exp, Function.exp_soon, Function.exp_small, Function.expm1])
def test_four_at_a_time_and_one_by_one_agree_bit_for_bit(function):
    x = -np.random.default_rng(1).uniform(0, 50, 803)
    assert (_engine.each(function, x, True) == _engine.each(function, x, False)).all()


def test_stream_is_xoshiro():
    words = streams.words(7, 3)
    state = words.copy()
    out = _engine.uniforms(state, 2000)
    oracle = naive.Xoshiro(words)
    assert out.tolist() == [oracle.uniform() for _ in range(2000)]
    assert state.tolist() == oracle.s


@pytest.mark.parametrize("seed", [0, 1, 2**31, 2**64 + 5, 2**128 - 1, 2**130])
def test_streams_of_many_runs_are_those_of_each(seed):
    for key in ((), (1,), (2, 7)):
        each = np.stack([streams.words(seed, run, *key) for run in range(40)])
        for runs in (3, 40):
            assert (streams.words_of_runs(seed, runs, *key) == each[:runs]).all()


def test_uniforms_are_uniform_and_independent():
    # 256 cells, chi-square with 255 degrees: beyond 5 sd of its normal approximation (skewed, so 1e-6 at +-5.3).
    out = _engine.uniforms(streams.words(11, 0), 1 << 20)
    for x in (out, (out * 2**20) % 1.0):
        counts = np.bincount((x * 256).astype(int), minlength=256)
        chi = ((counts - out.size / 256) ** 2).sum() / (out.size / 256)
        assert abs(chi - 255) < 5.3 * math.sqrt(510)
    lag = np.corrcoef(out[:-1], out[1:])[0, 1]
    other = _engine.uniforms(streams.words(11, 1), 1 << 20)
    # A correlation of independent uniforms has standard deviation 2^-10: 4.9 of them, two-sided 1e-6.
    assert abs(lag) < 4.9 / 1024
    assert abs(np.corrcoef(out, other)[0, 1]) < 4.9 / 1024


@pytest.mark.parametrize("n", [1, 2, 3, 5, 10, 16, 17, 64, 65, 100, 256, 257, 1000])
@pytest.mark.parametrize("tuning", [hn.Fixed(3.0), hn.Anytime(0.4)], ids=repr)
def test_draws_are_inverse_cdf(n, tuning):
    """The arm drawn is where the partial sums of p pass the next uniform of the stream: with a tree of sums too."""
    learner = hn.Bandit(n, hn.Entropy(), tuning)
    player, oracle, rng = learner.start(5), naive.stream(5, 0), np.random.default_rng(n)
    for _ in range(300):
        edges, u = np.cumsum(player.distribution()), oracle.uniform()
        move = player.act()
        expected = min(int(np.searchsorted(edges, u, side="right")), n - 1)
        assert move.action == expected or abs(edges[min(move.action, expected)] - u) < 1e-12
        player.observe(move, float(rng.random()))


@pytest.mark.parametrize("n", [1, 2, 3, 4, 9, 10, 33, 100])
@pytest.mark.parametrize("estimator", [hn.ImportanceWeighted(), hn.ReducedVariance()], ids=repr)
@pytest.mark.parametrize("tuning", [hn.Anytime(0.5), hn.Fixed(0.02), hn.Fixed(30.0)], ids=repr)
def test_tsallis_half_after_one_arm_is_that_from_anywhere(n, estimator, tuning):
    """The one pass of a bandit's round, round after round, against bisection from the losses: p to 1e-8."""
    learner = hn.Bandit(n, hn.Tsallis(0.5), tuning, estimator)
    player, rng = learner.start(3), np.random.default_rng(n)
    for t in range(200):
        p = player.distribution()
        assert abs(p.sum() - 1.0) < 1e-13
        scale = learner.schedule().scale(t + 1, 0.0)
        np.testing.assert_allclose(p, naive.tsallis_half(player._losses, scale), rtol=1e-8, atol=1e-300)
        player.observe(player.act(), float((rng.random(), 0.0, 1.0)[t % 3]))


def test_a_constant_scale_loses_nothing_in_20_000_rounds():
    """Weights kept one at a time against weights made from L at the end, tree and no tree."""
    for n in (10, 300):
        player = hn.Bandit(n, hn.Entropy(), hn.Fixed(20.0)).start(0)
        for t in range(20_000):
            move = player.act()
            player.observe(move, float(t % 7 == move.action % 7))
        p = player.distribution()
        np.testing.assert_allclose(p, naive.softmax(player._losses, 20.0), rtol=1e-11, atol=1e-300)
        assert abs(p.sum() - 1.0) < 1e-12


@pytest.mark.parametrize("estimator", [hn.GeometricResampling, hn.ConditionalResampling])
@pytest.mark.parametrize("cap", [1, 3, 50, 10**6])
def test_resampled_weights_have_their_law(estimator, cap):
    """Mean of the weight against its closed form; 5 standard errors, so 6e-7 a case."""
    learner = hn.Bandit(3, hn.Entropy(), hn.Fixed(1.0), estimator(cap))
    found = {}
    for seed in range(4000):
        player = learner.start(seed)
        move = player.act()
        player.observe(move, 0.7)
        L = player._losses
        found.setdefault(move.action, []).append(L[move.action] / 0.7)
    for weights in found.values():
        # All three arms are tied: sigma = 3 for conditional resampling, and p = 1/3.
        sigma = 3.0 if estimator is hn.ConditionalResampling else 1.0
        q = sigma / 3.0
        mean = sigma * (1.0 - (1.0 - q) ** cap) / q
        got = np.array(weights)
        assert abs(got.mean() - mean) < 5.0 * got.std() / math.sqrt(len(got)) + 1e-9


@pytest.mark.parametrize("name", ["base", "v3"])
def test_the_same_bits_on_every_instruction_set(name):
    """Games and live steps of every path of the engine, on the base instructions and on AVX2."""
    best = _engine.instruction_set()
    losses = np.random.default_rng(0).random((300, 12))
    learners = [
        hn.Bandit(12), hn.Bandit(12, hn.Entropy(), hn.Horizon(300)), hn.Bandit(12, hn.Exponential(), hn.Horizon(300)),
        hn.Bandit(12, hn.LogBarrier(), hn.Horizon(300)), hn.Bandit(12, hn.Frechet(3.0), hn.Fixed(4.0)),
        hn.Experts(12, hn.Entropy()), hn.Experts(12, hn.Gaussian(), hn.Horizon(300)), hn.AdaHedge(12), hn.Squint(12),
    ]  # fmt: skip
    expected = [hn.play(learner, losses, runs=5, seed=1, keep="all") for learner in learners]
    try:
        if not _engine.use_instruction_set(name):
            pytest.skip(f"this machine has no {name}")
        for learner, record in zip(learners, expected, strict=True):
            again = hn.play(learner, losses, runs=5, seed=1, keep="all")
            assert (again.actions == record.actions).all(), learner
            assert (again.regret == record.regret).all(), learner
    finally:
        _engine.use_instruction_set(best)


def test_a_bad_loss_changes_nothing():
    player = hn.Bandit(3, hn.Entropy(), hn.Fixed(2.0)).start(0)
    move = player.act()
    before = repr(player._saved()["numbers"])
    for bad in (math.nan, math.inf, -0.1, 1.1):
        with pytest.raises(ValueError, match="loss must be"):
            player.observe(move, bad)
    assert repr(player._saved()["numbers"]) == before
