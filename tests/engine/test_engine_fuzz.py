"""Games with losses of every shape, type and stride that NumPy supports equal games with a contiguous copy."""

import numpy as np
import pytest

import hannan as hn

SMOOTHINGS = [hn.Entropy(), hn.Tsallis(0.5), hn.Tsallis(0.7), hn.LogBarrier(), hn.Exponential(), hn.Frechet(2.0)]
ESTIMATORS = [
    hn.ImportanceWeighted(),
    hn.ReducedVariance(),
    hn.GeometricResampling(20),
    hn.ConditionalResampling(20),
    hn.ImplicitExploration(0.1),
]
SIZES = [1, 2, 3, 4, 5, 7, 8, 9, 12, 13, 15, 16, 17, 31, 33, 63, 64, 65, 66, 79, 80, 81, 127, 128, 129, 255, 257, 300]


def laid_out(rng: np.random.Generator, rounds: int, n: int) -> np.ndarray:
    """Return losses in [0, 1] in one of the memory layouts of NumPy."""
    plain = (rng.random((rounds, n)) < 0.5).astype(np.float64) if rng.random() < 0.5 else rng.random((rounds, n))
    kind = rng.integers(9)
    if kind == 0:
        return np.asfortranarray(plain)
    if kind == 1:
        wide = np.ones((rounds, 2 * n + 1))
        wide[:, 1::2] = plain
        return wide[:, 1::2]
    if kind == 2:
        return plain[::-1, ::-1]
    if kind == 3:
        return plain.astype(np.float32)
    if kind == 4:
        return np.rint(plain).astype(rng.choice([np.int8, np.uint8, np.int64, np.uint32]))
    if kind == 5:
        return np.rint(plain).astype(bool)
    if kind == 6:
        return np.broadcast_to(plain[:1], (rounds, n))
    if kind == 7:
        return plain.astype(">f8")
    return plain


def learner_of(rng: np.random.Generator, n: int) -> object:
    smoothing = SMOOTHINGS[rng.integers(len(SMOOTHINGS))]
    scale = hn.Fixed(float(10.0 ** rng.uniform(-1, 2)))
    if rng.random() < 0.4:
        return hn.Experts(n, smoothing, scale, gains=bool(rng.integers(2)))
    return hn.Bandit(n, smoothing, scale, ESTIMATORS[rng.integers(len(ESTIMATORS))], gains=bool(rng.integers(2)))


@pytest.mark.parametrize("seed", range(8))
def test_games_of_every_shape(seed):
    rng = np.random.default_rng([seed, 99])
    for _ in range(250):  # eight seeds: two thousand games, each played twice
        n, rounds, runs = int(rng.choice(SIZES)), int(rng.integers(1, 40)), int(rng.integers(1, 22))
        learner, losses = learner_of(rng, n), laid_out(rng, rounds, n)
        if rng.random() < 0.1:
            losses = np.stack([laid_out(rng, rounds, n) for _ in range(runs)], axis=int(rng.integers(2)))
            losses = losses if losses.shape[0] == runs and losses.shape[1] == rounds else losses.transpose(1, 0, 2)
        keep = "all" if rng.random() < 0.5 else "checkpoints"
        one = hn.play(learner, losses, runs=runs, seed=3, threads=1, keep=keep)
        plain = np.ascontiguousarray(losses, dtype=np.float64)
        two = hn.play(learner, plain, runs=runs, seed=3, threads=2, keep=keep)
        assert one.counts.sum(axis=1).tolist() == [rounds] * runs
        assert (one.counts == two.counts).all()
        assert one.regret.tobytes() == two.regret.tobytes()
        assert np.isfinite(one.regret).all()


@pytest.mark.parametrize("seed", range(4))
def test_advice_of_every_shape(seed):
    rng = np.random.default_rng([seed, 7])
    for _ in range(250):  # four seeds: a thousand games
        actions, experts = int(rng.integers(1, 20)), int(rng.choice(SIZES))
        rounds, runs = int(rng.integers(1, 20)), int(rng.integers(1, 5))
        losses = laid_out(rng, rounds, actions)
        if rng.random() < 0.5:
            heard = rng.integers(0, actions, (rounds, experts)).astype(rng.choice([np.uint8, np.int64, np.int16]))
        else:
            heard = rng.dirichlet(np.ones(actions), size=(rounds, experts))
        clip = 0.0 if rng.random() < 0.5 or actions == 1 else 0.5 / actions
        learner = hn.ExpertBandit(actions, experts, hn.Entropy(), hn.Fixed(5.0), clip=clip)
        one = hn.play(learner, losses, runs=runs, seed=1, advice=heard, threads=1)
        two = hn.play(learner, losses, runs=runs, seed=1, advice=np.asfortranarray(heard), threads=2)
        assert (one.counts == two.counts).all()
        assert one.counts.sum(axis=1).tolist() == [rounds] * runs


@pytest.mark.parametrize("n", [1, 1000, 100_000, 3_000_000])
def test_large_and_small_losses(n):
    losses = np.zeros((2, n))
    losses[:, n // 2 :] = 1.0
    for learner in (hn.Bandit(n, hn.Entropy(), hn.Fixed(3.0)), hn.Experts(n, hn.Entropy(), hn.Fixed(30.0))):
        record = hn.play(learner, losses, seed=1)
        assert record.counts.sum() == 2


def test_invalid_shapes_and_types_are_rejected():
    """The control: a wrong shape, a wrong type and an invalid entry are reported, for every memory layout."""
    learner = hn.Bandit(4, hn.Entropy(), hn.Fixed(3.0))
    for losses in (np.zeros((3, 5)), np.zeros(4), np.zeros((0, 4)), np.array([["a"] * 4])):
        with pytest.raises(ValueError):
            hn.play(learner, losses)
    bad = np.zeros((40, 8))[:, ::2]
    bad[33, 2] = np.nan
    with pytest.raises(ValueError, match="round 33, arm 2"):
        hn.play(learner, bad)
