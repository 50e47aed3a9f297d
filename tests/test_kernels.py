"""The compiled pieces against slow oracles: exp, streams, draws, weights, estimators."""

import math
import re
from pathlib import Path

import mpmath
import naive_games as naive
import numpy as np
import pytest

from hannan.kernels import compile as compiling
from hannan.kernels import drawing, exponential, steps, streams
from hannan.kernels import state as slots
from hannan.laws import Exponential
from hannan.regularizers import Entropy, LogBarrier, Tsallis
from hannan.tuning import Schedule


def test_exp_is_within_two_ulp():
    mpmath.mp.prec = 120
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.uniform(-708, 0, 2000), rng.uniform(-2, 2, 2000), rng.uniform(0, 709, 500)])
    out = np.empty_like(x)
    exponential.exp_each(x, out, False)
    worst = max(
        float(abs((mpmath.mpf(float(y)) - mpmath.exp(float(a))) / mpmath.mpf(float(np.spacing(y)))))
        for a, y in zip(x, out, strict=True)
    )
    assert worst < 1.0


def test_exp_at_the_edges():
    x = np.array([0.0, -0.0, -708.3, -708.5, -1e300, -np.inf, 709.3, 709.5, np.inf, 1e-320])
    out = np.empty_like(x)
    exponential.exp_each(x, out, False)
    assert out[:2].tolist() == [1.0, 1.0]
    assert out[2] == pytest.approx(math.exp(-708.3), rel=1e-13)
    assert out[3:6].tolist() == [0.0, 0.0, 0.0]
    assert out[6] == pytest.approx(math.exp(709.3), rel=1e-12)
    assert (out[7:9] > 1e308).all()
    assert out[9] == 1.0


def test_vector_and_scalar_exp_agree_bit_for_bit():
    x = np.random.default_rng(1).uniform(0, 50, 803)
    whole, single = np.empty(803), np.empty(803)
    exponential.exp_each(x, whole, False)
    for i in range(803):
        exponential.exp_each(x[i : i + 1], single[i : i + 1], False)
    assert (whole == single).all()


def test_small_exp():
    x = np.linspace(-0.1, 0.0, 1001)
    out = np.empty_like(x)
    exponential.exp_each(x, out, True)
    assert np.abs(out / np.exp(x) - 1.0).max() < 5e-16


def test_stream_is_xoshiro():
    words = streams.words(7, 3)
    state, out = words.view(np.float64).copy(), np.empty(2000)
    streams.uniforms(state, 0, out)
    oracle = naive.Xoshiro(words)
    assert out.tolist() == [oracle.uniform() for _ in range(2000)]
    assert state.view(np.uint64).tolist() == oracle.s


@pytest.mark.parametrize("seed", [0, 1, 2**31, 2**64 + 5, 2**128 - 1, 2**130])
def test_streams_of_many_runs_are_those_of_each(seed):
    for key in ((), (1,), (2, 7)):
        each = np.stack([streams.words(seed, run, *key) for run in range(40)])
        for runs in (3, 40):
            assert (streams.words_of_runs(seed, runs, *key) == each[:runs]).all()


def test_uniforms_are_uniform_and_independent():
    # 256 cells, chi-square with 255 degrees: beyond 5 sd of its normal approximation (skewed, so 1e-6 at +-5.3).
    out = np.empty(1 << 20)
    streams.uniforms(streams.words(11, 0).view(np.float64).copy(), 0, out)
    for x in (out, (out * 2**20) % 1.0):
        counts = np.bincount((x * 256).astype(int), minlength=256)
        chi = ((counts - out.size / 256) ** 2).sum() / (out.size / 256)
        assert abs(chi - 255) < 5.3 * math.sqrt(510)
    lag = np.corrcoef(out[:-1], out[1:])[0, 1]
    other = np.empty_like(out)
    streams.uniforms(streams.words(11, 1).view(np.float64).copy(), 0, other)
    # A correlation of independent uniforms has standard deviation 2^-10: 4.9 of them, two-sided 1e-6.
    assert abs(lag) < 4.9 / 1024
    assert abs(np.corrcoef(out, other)[0, 1]) < 4.9 / 1024


@pytest.mark.parametrize("n", [1, 2, 3, 5, 10, 16, 17, 64, 65, 100, 256, 257, 1000, 5000])
def test_draws_are_inverse_cdf(n):
    rng = np.random.default_rng(n)
    L = rng.exponential(3.0, n)
    L[rng.random(n) < 0.3] = 1e6  # weights of zero are never drawn
    if n > 1:
        L[0] = 0.0
    program = steps.program("bandit", n, Entropy(), Schedule.constant(1.0))
    state = steps.new_state(program, 0)
    state[slots.HEADER : slots.HEADER + n] = L
    steps.begin(state, 0)
    w = state[slots.HEADER + n : slots.HEADER + 2 * n]
    u, out = rng.random(4000), np.empty(4000, dtype=np.int64)
    drawing.draws(state, slots.HEADER + n, n, int(state[slots.TREE]), u, out)
    edges = np.cumsum(w / w.sum())
    expected = np.searchsorted(edges, u, side="right").clip(0, n - 1)
    off = out != expected
    assert (np.abs(edges[np.minimum(out, expected)[off]] - u[off]) < 1e-12).all()
    assert (w[out] > 0.0).all()
    ends = np.empty(2, dtype=np.int64)
    drawing.draws(state, slots.HEADER + n, n, int(state[slots.TREE]), np.array([0.0, 1.0]), ends)
    assert ends[0] == np.flatnonzero(w)[0]
    assert ends[1] == np.flatnonzero(w)[-1]


@pytest.mark.parametrize("n", [1, 2, 7, 10, 100])
@pytest.mark.parametrize("scale", [1e-3, 0.3, 1.0, 40.0, 1e4])
def test_tsallis_half_is_the_root(n, scale):
    rng = np.random.default_rng(n)
    program = steps.program("bandit", n, Tsallis(0.5), Schedule.constant(scale))
    state = steps.new_state(program, 0)
    for L in (np.zeros(n), rng.exponential(1.0, n), 1e3 * rng.random(n), np.sort(1e7 * rng.random(n))):
        state[slots.HEADER : slots.HEADER + n] = L
        assert steps.begin(state, 0) == 0
        p = state[slots.HEADER + n : slots.HEADER + 2 * n] / state[slots.TOTAL]
        np.testing.assert_allclose(p, naive.tsallis_half(L, scale), rtol=1e-8, atol=1e-300)
        value = p @ L + 2.0 * scale * (1.0 - np.sqrt(p).sum())
        assert state[slots.VALUE] == pytest.approx(value, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 9, 10, 33, 100])
@pytest.mark.parametrize("estimator", [slots.IMPORTANCE_WEIGHTED, slots.REDUCED_VARIANCE])
@pytest.mark.parametrize("tuning", [Schedule(0.5, b=1.0), Schedule.constant(0.02), Schedule.constant(30.0)])
def test_tsallis_half_after_one_arm_is_that_from_anywhere(n, estimator, tuning):
    """The one pass of a bandit's round, round after round, against Newton's method from the start: p to 1e-13."""
    program = steps.program("bandit", n, Tsallis(0.5), tuning, estimator=estimator)
    state = steps.new_state(program, 3)
    w = slice(slots.HEADER + n, slots.HEADER + 2 * n)
    rng = np.random.default_rng(n)
    for t in range(400):
        arm = steps.bandit_act(state, 0, False)
        loss = (rng.random(), 0.0, 1.0)[t % 3]
        args = (arm, state[slots.PROBABILITY], state[slots.WEIGHT], loss, False)
        assert steps.bandit_observe(state, 0, *args) == slots.FINE
        twin = state.copy()
        assert steps.begin(twin, 0) == slots.FINE
        p, q = state[w] / state[slots.TOTAL], twin[w] / twin[slots.TOTAL]
        np.testing.assert_allclose(p, q, rtol=1e-13, atol=0.0)
        assert abs(p.sum() - 1.0) < 1e-14


def test_a_constant_scale_loses_nothing_in_1e5_rounds():
    """Weights kept one at a time against weights made from L at the end, tree and no tree."""
    for n in (10, 300):
        program = steps.program("bandit", n, Entropy(), Schedule.constant(20.0))
        state = steps.new_state(program, 0)
        for t in range(20_000):
            arm = steps.bandit_act(state, 0, False)
            steps.bandit_observe(state, 0, arm, 0.0, state[slots.WEIGHT], float(t % 7 == arm % 7), False)
        L = state[slots.HEADER : slots.HEADER + n]
        p = state[slots.HEADER + n : slots.HEADER + 2 * n] / state[slots.TOTAL]
        np.testing.assert_allclose(p, naive.softmax(L, 20.0), rtol=1e-11, atol=1e-300)
        assert abs(p.sum() - 1.0) < 1e-12


def test_probabilities_vanish_only_below_1e_300():
    program = steps.program("bandit", 2, Entropy(), Schedule.constant(1.0))
    state = steps.new_state(program, 0)
    for gap in (100.0, 650.0, 690.0):
        state[slots.HEADER : slots.HEADER + 2] = 1e6, 1e6 + gap
        steps.begin(state, 0)
        p = state[slots.HEADER + 3] / state[slots.TOTAL]
        assert p == pytest.approx(math.exp(-gap), rel=1e-12)


@pytest.mark.parametrize("estimator", [1, 2])
@pytest.mark.parametrize("cap", [1, 3, 50, 10**6])
def test_resampled_weights_have_their_law(estimator, cap):
    """Mean of the weight against its closed form; 5 standard errors, so 6e-7 a case."""
    n, draws = 4, 40_000
    program = steps.program(
        "bandit", n, Entropy(), Schedule.constant(1.0), estimator=estimator, estimator_parameter=cap
    )
    state = steps.new_state(program, 5)
    L = np.array([0.0, 0.7, 0.7, 2.0])
    state[slots.HEADER : slots.HEADER + n] = L
    steps.begin(state, 0)
    p = naive.softmax(L, 1.0)
    weights = [[] for _ in range(n)]
    for _ in range(draws):
        arm = steps.bandit_act(state, 0, False)
        weights[arm].append(state[slots.WEIGHT])
        assert state[slots.PROBABILITY] == pytest.approx(p[arm], rel=1e-13)
    for arm in range(n):
        sigma = float((L[arm] >= L).sum()) if estimator == 2 else 1.0
        q = sigma * p[arm]
        mean = sigma * (1.0 - (1.0 - q) ** cap) / q
        got = np.array(weights[arm])
        assert abs(got.mean() - mean) < 5.0 * got.std() / math.sqrt(len(got)) + 1e-9


def test_smoothings_by_pointer_give_distributions():
    for smoothing in (LogBarrier(), Tsallis(0.3), Exponential()):
        program = steps.program("bandit", 6, smoothing, Schedule.constant(2.0))
        state = steps.new_state(program, 0)
        p = state[slots.HEADER + 6 : slots.HEADER + 12] / state[slots.TOTAL]
        np.testing.assert_allclose(p, 1 / 6, rtol=1e-9)


def test_a_bad_loss_changes_nothing():
    program = steps.program("bandit", 3, Entropy(), Schedule.constant(2.0))
    state = steps.new_state(program, 0)
    before = state.copy()
    for bad in (math.nan, math.inf, -0.1, 1.1):
        assert steps.bandit_observe(state, 0, 1, 0.3, 3.0, bad, True) == slots.BAD_LOSS
    assert (state.view(np.uint64) == before.view(np.uint64)).all()
    program = steps.program("experts", 3, Entropy(), Schedule.constant(2.0))
    state = steps.new_state(program, 0)
    before = state.copy()
    assert steps.experts_observe(state, 0, np.array([0.5, 0.5, math.nan]), np.empty(0), True) == 2
    assert (state.view(np.uint64) == before.view(np.uint64)).all()


def test_no_kernel_frees_what_it_points_to():
    """An array of a kernel's own is freed after the last line that names it: `alive` must be that line."""
    for path in Path(compiling.__file__).parent.glob("*.py"):
        for body in re.split(r"\n(?=@|def )", path.read_text(encoding="utf-8")):
            pointed = set(re.findall(r"data_of\((\w+)\)", body))
            for line in re.findall(r"^ +(.*) = .*np\.(?:zeros|empty|ones)\(", body, re.MULTILINE):
                own = pointed & set(re.findall(r"\w+", line))
                assert all(f"alive({name})" in body for name in own), f"{path.name}: {own}"


def test_the_cache_key_follows_imports():
    assert "drawing" in compiling._imported("from hannan.kernels.drawing import (\n    draw,\n)\nimport x\n")
    assert {"a", "b"} <= compiling._imported("from hannan.kernels import a, b\n")
    assert compiling.fingerprint("bandit_game") != compiling.fingerprint("survey")
