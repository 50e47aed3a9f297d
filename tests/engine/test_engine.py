"""Parts of the engine against slow oracles: functions, streams, draws, weights and estimators, with equal bits."""

import hashlib
import math
import subprocess
import sys
from pathlib import Path

import mpmath
import naive_games as naive
import numpy as np
import pytest

import hannan as hn
from hannan import _engine
from hannan.learners.learner import Weigher
from hannan.learners.tuning import Schedule
from hannan.mathematics import streams
from hannan.mathematics.laws.light import Exponential
from hannan.mathematics.regularizers import Entropy, LogBarrier, Tsallis

F = _engine.Function
ROOT = Path(__file__).resolve().parents[2]


def worst_ulps(got, x, exact):
    mpmath.mp.prec = 120
    return max(
        float(abs((mpmath.mpf(float(y)) - exact(mpmath.mpf(float(a)))) / mpmath.mpf(float(np.spacing(abs(y))))))
        for a, y in zip(x, got, strict=True)
        if y != 0.0
    )


FUNCTIONS = {
    F.exp: (mpmath.exp, [(-708, 0, 1500), (-2, 2, 1500), (0, 709, 500)], 1.0),
    F.exp_soon: (mpmath.exp, [(-708, 0, 1500), (-2, 2, 1500), (0, 709, 500)], 1.5),
    F.exp_small: (mpmath.exp, [(-0.1, 0.0, 1000)], 1.0),
    F.expm1: (mpmath.expm1, [(-3, 3, 1500), (-1e-6, 1e-6, 200), (-50, 300, 300)], 2.0),
    F.log: (mpmath.log, [(1e-300, 1e-290, 200), (0.5, 2, 3000), (1 - 1e-6, 1 + 1e-6, 300), (2, 1e300, 300)], 1.0),
    F.log1p: (mpmath.log1p, [(-0.99, 1, 2000), (-1e-9, 1e-9, 300), (1, 1e10, 300)], 1.5),
    F.erfc: (mpmath.erfc, [(-5, 26, 1500)], 4.0),
}


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.name)
def test_functions_are_accurate_for_one_and_for_four_numbers(function):
    exact, ranges, ulps = FUNCTIONS[function]
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.uniform(*of) for of in ranges])
    got = _engine.each(function, x, by_fours=False)
    assert worst_ulps(got, x, exact) < ulps
    assert (_engine.each(function, x, by_fours=True).view(np.uint64) == got.view(np.uint64)).all()


@pytest.mark.parametrize("a", [-3.5, -2.0, -0.5, 1 / 3, 0.3, 10.0])
def test_powers(a):
    x = np.exp(np.random.default_rng(1).uniform(-60, 60, 500))
    assert worst_ulps(_engine.power(x, a), x, lambda v: v ** mpmath.mpf(a)) < 2.5


def test_exp_at_the_limits_of_its_range():
    x = np.array([0.0, -0.0, -708.3, -708.5, -1e300, -np.inf, 709.3, 709.5, np.inf, 1e-320])
    for function in (F.exp, F.exp_soon):
        out = _engine.each(function, x)
        assert out[:2].tolist() == [1.0, 1.0]
        assert out[2] == pytest.approx(math.exp(-708.3), rel=1e-13)
        assert out[3:6].tolist() == [0.0, 0.0, 0.0]
        assert out[6] == pytest.approx(math.exp(709.3), rel=1e-12)
        assert (out[7:9] > 1e308).all()
        assert out[9] == 1.0
    logs = _engine.each(F.log, np.array([0.0, -1.0, np.inf, 1.0, 5e-324]))
    assert logs[0] == -np.inf
    assert np.isnan(logs[1])
    assert logs[2] == np.inf
    assert logs[3] == 0.0
    assert logs[4] == pytest.approx(math.log(5e-324), rel=1e-15)


def test_stream_is_xoshiro():
    words = streams.words(7, 3)
    oracle = naive.Xoshiro(words.copy())
    out = _engine.uniforms(words, 2000)
    assert out.tolist() == [oracle.uniform() for _ in range(2000)]
    assert words.tolist() == oracle.s


@pytest.mark.parametrize("seed", [0, 1, 2**31, 2**32, 2**64 + 5, 2**128 - 1, 2**128, 2**130, 2**256 - 189])
@pytest.mark.parametrize("key", [(0,), (7,), (2**32 - 1, 1), (2**40, 2), (1, 2, 3)])
def test_stream_starts_as_in_numpy(seed, key):
    """SeedSequence is implemented again, so that numpy.random need not be imported: the words are equal."""
    oracle = np.random.SeedSequence(seed, spawn_key=key).generate_state(4, np.uint64)
    assert streams.words(seed, *key).tolist() == oracle.tolist()


@pytest.mark.parametrize("seed", [0, 1, 2**31, 2**64 + 5, 2**128 - 1, 2**130])
def test_streams_of_many_runs_equal_single_streams(seed):
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
    other = _engine.uniforms(streams.words(11, 1), 1 << 20)
    # A correlation of independent uniforms has standard deviation 2^-10: 4.9 of them, two-sided 1e-6.
    assert abs(np.corrcoef(out[:-1], out[1:])[0, 1]) < 4.9 / 1024
    assert abs(np.corrcoef(out, other)[0, 1]) < 4.9 / 1024


def setup_of(setting, n, smoothing, schedule, loss_range=(0.0, 1.0), estimator=None, estimator_parameter=0.0, **parts):
    """Return an engine setup, whose parts no learner validates."""
    if estimator:
        parts["estimate"] = _engine.Estimate(getattr(_engine.Estimator, estimator), estimator_parameter)
    return _engine.Setup(
        getattr(_engine.Setting, setting), n, Weigher(smoothing).part(), _engine.Schedule(*schedule),
        _engine.Units(*loss_range), **parts,
    )  # fmt: skip


def player_of(setting, n, smoothing, schedule, seed=0, **rest):
    return _engine.Player(
        setup_of(setting, n, smoothing, schedule, **rest), streams.words(seed, 0), streams.NO_WORDS, "p", hn.Move
    )


@pytest.mark.parametrize("n", [1, 2, 3, 5, 10, 16, 17, 64, 65, 100, 256, 257, 1000, 5000])
@pytest.mark.parametrize("setting", ["experts", "bandit"])
def test_draws_are_inverse_cdf(n, setting):
    rng = np.random.default_rng(n)
    L = rng.exponential(3.0, n)
    L[rng.random(n) < 0.3] = 1e6  # weights of zero are never drawn
    if n > 1:
        L[0] = 0.0
    player = player_of(setting, n, Entropy(), Schedule.constant(1.0))
    player._put(L)
    w = player._saved()["weights"]
    act = player._act_expert if setting == "experts" else player._act_arm
    oracle = naive.Xoshiro(streams.words(0, 0))
    u = np.array([oracle.uniform() for _ in range(3000)])
    out = np.array([act()[2] for _ in u])
    edges = np.cumsum(w / w.sum())
    expected = np.searchsorted(edges, u, side="right").clip(0, n - 1)
    off = out != expected
    assert (np.abs(edges[np.minimum(out, expected)[off]] - u[off]) < 1e-12).all()
    assert (w[out] > 0.0).all()


@pytest.mark.parametrize("n", [1, 2, 7, 10, 100])
@pytest.mark.parametrize("scale", [1e-3, 0.3, 1.0, 40.0, 1e4])
def test_weights_of_tsallis_half_solve_their_equation(n, scale):
    rng = np.random.default_rng(n)
    player = player_of("bandit", n, Tsallis(0.5), Schedule.constant(scale))
    for L in (np.zeros(n), rng.exponential(1.0, n), 1e3 * rng.random(n), np.sort(1e7 * rng.random(n))):
        player._put(L)
        p = player._distribution(None)
        np.testing.assert_allclose(p, naive.tsallis_half(L, scale), rtol=1e-8, atol=1e-300)
        value = p @ L + 2.0 * scale * (1.0 - np.sqrt(p).sum())
        assert player._value == pytest.approx(value, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 9, 10, 33, 100])
@pytest.mark.parametrize("estimator", ["importance_weighted", "reduced_variance"])
@pytest.mark.parametrize("smoothing", [Tsallis(0.5), LogBarrier(), Tsallis(0.7)], ids=repr)
@pytest.mark.parametrize("tuning", [Schedule(0.5, b=1.0), Schedule.constant(0.02), Schedule.constant(30.0)])
def test_series_after_one_arm_equals_newton_from_the_start(n, estimator, smoothing, tuning):
    """The single pass of a bandit's round equals Newton's method from the start: p to 1e-12 in every round."""
    player = player_of("bandit", n, smoothing, tuning, 3, estimator=estimator)
    rng = np.random.default_rng(n)
    for t in range(200):
        move = player._act_arm()
        player._observe_arm(move, (float(rng.random()), 0.0, 1.0)[t % 3])
        p = player._distribution(None)
        phi = hn.FTRL(smoothing, player._scale)
        np.testing.assert_allclose(p, phi.gradient(player._losses), rtol=1e-12, atol=0.0)
        assert abs(p.sum() - 1.0) < 1e-14


def test_updated_weights_are_accurate_after_1e5_rounds():
    """Weights that were updated one at a time equal weights computed from L at the end, with and without the tree of
    sums.
    """
    for n in (10, 300):
        player = player_of("bandit", n, Entropy(), Schedule.constant(20.0))
        for t in range(100_000):
            move = player._act_arm()
            player._observe_arm(move, float(t % 7 == move[2] % 7))
        p = player._distribution(None)
        np.testing.assert_allclose(p, naive.softmax(player._losses, 20.0), rtol=1e-11, atol=1e-300)
        assert abs(p.sum() - 1.0) < 1e-12


def test_probabilities_vanish_only_below_1e_300():
    player = player_of("bandit", 2, Entropy(), Schedule.constant(1.0))
    for gap in (100.0, 650.0, 690.0):
        player._put(np.array([1e6, 1e6 + gap]))
        assert player._distribution(None)[1] == pytest.approx(math.exp(-gap), rel=1e-12)


@pytest.mark.parametrize("estimator", ["geometric", "conditional"])
@pytest.mark.parametrize("cap", [1, 3, 50, 10**6])
def test_resampled_weights_have_the_stated_mean(estimator, cap):
    """Mean of the weight against its closed form: 5 standard errors, so 6e-7 per case."""
    n, draws = 4, 40_000
    player = player_of(
        "bandit", n, Entropy(), Schedule.constant(1.0), 5, estimator=estimator, estimator_parameter=float(cap)
    )
    L = np.array([0.0, 0.7, 0.7, 2.0])
    player._put(L)
    p = naive.softmax(L, 1.0)
    moves = [player._act_arm() for _ in range(draws)]
    drawn = np.array([move[2] for move in moves])
    weights = np.array([ticket["weight"] for ticket in player._saved()["open"]])
    for arm in range(n):
        sigma = float((L[arm] >= L).sum()) if estimator == "conditional" else 1.0
        q = sigma * p[arm]
        mean = sigma * (1.0 - (1.0 - q) ** cap) / q
        got = weights[drawn == arm]
        assert abs(got.mean() - mean) < 5.0 * got.std() / math.sqrt(len(got)) + 1e-9


def test_smoothings_start_with_uniform_weights():
    for smoothing in (LogBarrier(), Tsallis(0.3), Exponential()):
        player = player_of("bandit", 6, smoothing, Schedule.constant(2.0))
        np.testing.assert_allclose(player._distribution(None), 1 / 6, rtol=1e-9)


def test_arguments_of_the_engine_are_validated():
    given = ("bandit", 3, Entropy(), Schedule.constant(2.0))
    with pytest.raises(ValueError, match="n must be"):
        setup_of("bandit", 0, *given[2:])
    with pytest.raises(ValueError, match="low must be below high"):
        setup_of(*given, loss_range=(1.0, 1.0))
    with pytest.raises(ValueError, match="scale of round 1"):
        setup_of(*given[:3], Schedule(0.0))
    with pytest.raises(ValueError, match="prior"):
        setup_of(*given, log_prior=[0.0, 0.0])
    with pytest.raises(ValueError, match="call must be a callable"):
        setup_of(*given, estimate=_engine.Estimate(_engine.Estimator.foreign))
    runs = _engine.Runs(setup_of(*given), streams.words_of_runs(0, 2))

    def play(last=2, losses=9, ends=(), columns=(), **curves):
        arrays = {
            "own": np.zeros((2, 1)),
            "best": np.zeros((1, 1)),
            "counts": np.zeros((2, 3), dtype=np.int64),
            "moves": np.zeros((2, 0), dtype=np.int32),
        }
        block = _engine.Block(np.zeros(losses), 3, per_round=3)
        marks = _engine.Marks(np.array(ends, dtype=np.int64), np.array(columns, dtype=np.int64))
        return runs.play(0, last, block, marks, _engine.Curves(**arrays | curves))

    assert not play(ends=[3], columns=[0])
    for wrong, words in [
        ({"losses": 8}, "losses.*entry per round"),
        ({"last": 3}, "runs must be"),
        ({"ends": [2, 1], "columns": [0, 0]}, "ends.*ascend"),
        ({"ends": [4], "columns": [0]}, "ends.*<= rounds"),
        ({"ends": [2], "columns": [1]}, "columns of marks"),
        ({"ends": [2], "columns": [-1]}, "columns of marks"),
        ({"counts": np.zeros((1, 3), dtype=np.int64)}, "counts.*row per run"),
        ({"counts": np.zeros((2, 2), dtype=np.int64)}, "counts.*column per arm"),
        ({"moves": np.zeros((2, 2), dtype=np.int32)}, "moves.*column per round"),
        ({"best": np.zeros((1, 2))}, "best.*same columns"),
    ]:
        with pytest.raises(ValueError, match=words):
            play(**wrong)


def test_outcome_names_kind_round_and_column():
    hindsight = _engine.Hindsight(3, 0, 0.0, 1.0, False, 1)
    curves = _engine.Curves(
        own=np.zeros((1, 1)),
        best=np.zeros((1, 1)),
        counts=np.zeros((1, 3), dtype=np.int64),
        moves=np.zeros((1, 0), dtype=np.int32),
    )
    marks = _engine.Marks(np.array([4]), np.array([0]))
    losses = np.zeros((4, 3))
    assert not hindsight.take(0, _engine.Block(losses.reshape(-1), 4, per_round=3), marks, curves)
    losses[2, 1] = np.nan
    outcome = hindsight.take(0, _engine.Block(losses.reshape(-1), 4, per_round=3), marks, curves)
    assert outcome
    assert (outcome.kind.name, outcome.run, outcome.round, outcome.column) == ("bad_loss", 0, 2, 1)


@pytest.mark.parametrize("gains", [False, True])
def test_hindsight_normalizes_the_best_choice(gains):
    """The control: the sum of the other arm."""
    losses = np.array([[1.0, 4.0], [2.0, 5.0], [3.0, 3.0]])
    hindsight = _engine.Hindsight(2, 0, 1.0, 5.0, gains, 1)
    best = np.zeros((1, 2))
    curves = _engine.Curves(
        own=np.zeros((1, 2)),
        best=best,
        counts=np.zeros((1, 2), dtype=np.int64),
        moves=np.zeros((1, 0), dtype=np.int32),
    )
    marks = _engine.Marks(np.array([1, 3]), np.array([0, 1]))
    assert not hindsight.take(0, _engine.Block(losses.reshape(-1), 3, per_round=2), marks, curves)
    expected = [1 / 4, 3 / 4] if gains else [0.0, 3 / 4]
    assert best[0].tolist() == expected
    assert hindsight.best().tolist() == expected[1:]
    other = (losses[:, 0 if gains else 1] - 1.0).sum() / 4.0
    assert best[0, 1] != (3.0 - other if gains else other)


DIGEST = """
import hashlib, sys
sys.path.insert(0, {tests!r})
import numpy as np, paths, hannan as hn
digest = hashlib.sha256()
games = {{**paths.tables(), **paths.younger()}}
points = {{name: (make(), {{"losses": table[:60]}}) for name, (make, table) in paths.points().items()}}
for name, (learner, given) in sorted({{**games, **points}}.items()):
    threads = None if name == "myga" else {threads}  # which is stepped
    record = hn.play(learner, **given, seed=5, runs=1 if name == "myga" else 9, threads=threads)
    for array in (record.regret, record.counts, np.asarray(record.best_loss)):
        digest.update(np.ascontiguousarray(array).tobytes())
print(hn._engine.instruction_set(), digest.hexdigest())
"""


def _digest(isa: str, threads: int) -> str:
    code = DIGEST.format(tests=str(ROOT / "tests" / "oracles"), threads=threads)
    environment = {**__import__("os").environ, "HANNAN_ISA": isa}
    out = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    return out.stdout.split()[-1]


def test_bits_are_the_same_for_all_instruction_sets_and_threads():
    """Nine runs of every learner: lanes of four runs, a single run, short and long vectors, one thread and two
    threads.
    """
    assert _digest("base", 1) == _digest("", 1) == _digest("", 2)


def test_missing_headers_are_reported_before_the_build(tmp_path):
    script = ROOT / "engine" / "tools" / "headers.py"
    told = subprocess.run([sys.executable, str(script), str(tmp_path)], capture_output=True, text=True)
    assert told.returncode != 0
    assert "python3-dev" in told.stderr
    assert str(tmp_path) in told.stderr
    (tmp_path / "Python.h").write_text("")
    assert subprocess.run([sys.executable, str(script), str(tmp_path)]).returncode == 0
    text = (ROOT / "CMakeLists.txt").read_text()
    assert text.index("headers.py") < text.index("find_package(nanobind")


def test_digest_is_computed_from_bytes():
    """The control of the digest: another seed gives another digest."""
    record = [hn.play(hn.Bandit(3), np.ones((5, 3)) * 0.5, seed=seed) for seed in (1, 1, 2)]
    one, same, other = (hashlib.sha256(r.counts.tobytes()).hexdigest() for r in record)
    assert one == same
    assert one != other or record[0].counts.tolist() == record[2].counts.tolist()


def test_advice_is_checked_before_it_is_used_as_an_index():
    """Games check their advice in Python; the engine checks it too, in the round that uses it."""
    from hannan import _engine
    from hannan.mathematics import streams

    none = np.zeros(0, dtype=np.int64)
    advice = np.zeros((50, 100), dtype=np.uint8)
    advice[31:] = 200
    for clip in (0.0, 0.01):
        learner = hn.ExpertBandit(10, 100, hn.Entropy(), hn.Horizon(50), clip=clip)
        runs = _engine.Runs(learner.setup(), streams.words_of_runs(0, 1))
        curves = _engine.Curves(
            own=np.zeros((1, 1)),
            best=np.zeros((1, 1)),
            counts=np.zeros((1, 10), dtype=np.int64),
            moves=np.zeros((1, 0), dtype=np.int32),
        )
        block = _engine.Block(np.zeros(500), 50, per_round=10, advice=advice.reshape(-1))
        outcome = runs.play(0, 1, block, _engine.Marks(none, none), curves)
        assert (outcome.kind.name, outcome.round, outcome.column) == ("bad_advice", 31, 0)
