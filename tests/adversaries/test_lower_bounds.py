"""Limits of leaders of noisy sums: dropout at L* = 0, on coin flips, and without binarized losses.

The random walk has regret of order sqrt(T) at L* = 0: test_noisy.py.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import hannan as hn


def slope(x, y):
    return float(np.polyfit(x, y, 1)[0])


def mean_and_error(values):
    return float(np.mean(values)), float(np.std(values, ddof=1) / math.sqrt(len(values)))


def test_dropout_regret_is_logarithmic_if_one_expert_never_loses():
    """The regret is about log2(n), because an expert has no recorded loss in t rounds with probability 2^-t.

    The other experts lose in every round, and the n 2^-t experts without a recorded loss share the lead. Over 8
    doublings of n the slope in log2(n) is 1. Its error is below 0.012 (400 runs, standard deviation below 1.3 each), so
    it is outside of 0.9..1.1 with probability 1e-15, and the number of rounds has no effect.
    """
    sizes, regrets = (4, 16, 64, 256, 1024), []
    for n in sizes:
        found = []
        for rounds in (60, 600):
            losses = np.ones((rounds, n))
            losses[:, n // 2] = 0.0
            record = hn.play(hn.Dropout(n), losses, runs=400, seed=1, threads=1)
            assert record.best_loss == 0.0
            found.append(record.expected_regret[:, -1])
        # After 60 rounds an expert without a recorded loss exists with probability n 2^-60, below 1e-15.
        np.testing.assert_allclose(found[0], found[1], atol=1e-9)
        regrets.append(mean_and_error(found[0])[0])
        assert regrets[-1] <= hn.Dropout(n).bound(600, best_loss=0.0).value
    assert 0.9 < slope(np.log2(sizes), regrets) < 1.1


def test_dropout_regret_on_bernoulli_losses_grows_like_sqrt_best_loss():
    """The regret on coin flips with mean q is of order sqrt(L* ln n).

    Every learner loses q T on average, and the best of n experts about sqrt(2 q T ln n) less, so the exponent of the
    regret in L* is 1/2 for every learner (0.45 here, because L* is slightly below q T). The error of the fit is 0.023
    (240 games per point, four points from L* = 97 to 2970): the interval 0.32..0.58 has a half-width of 5 errors, false
    alarm 6e-7.
    """
    rounds, n, runs, best, regrets = 12_000, 8, 20, [], []
    for k in range(4):
        lost, paid = [], []
        for part in range(12):
            coins = np.random.default_rng([k, part]).random((runs, rounds, n)) < 0.009375 * 3**k
            record = hn.play(hn.Dropout(n), coins.astype(float), runs=runs, seed=part, threads=1)
            lost.append(record.best_loss)
            paid.append(record.expected_regret[:, -1])
        best.append(float(np.mean(lost)))
        regrets.append(float(np.mean(paid)))
        assert 0.6 < regrets[-1] / math.sqrt(best[-1] * math.log(n)) < 1.4
        assert regrets[-1] <= hn.Dropout(n).bound(rounds, best_loss=best[-1]).value
    assert 0.32 < slope(np.log(best), np.log(regrets)) < 0.58


def plain_dropout(losses, runs, seed):
    """Return regrets of follow-the-leader on losses that are kept unchanged with probability 1/2 and otherwise dropped,
    without binarization.
    """
    rng, (_, n) = np.random.default_rng(seed), losses.shape
    heard, own = np.zeros((runs, n)), np.zeros(runs)
    for row in losses:
        leads = heard == heard.min(axis=1, keepdims=True)
        own += (leads * row).sum(axis=1) / leads.sum(axis=1)
        heard += row * (rng.random((runs, n)) < 0.5)
    return own - losses.sum(axis=0).min()


def ladder(n, parts=40):
    """Return tiny losses, at most 0.001 in total and four times as large for each next expert, and then losses of 1.

    The losses of 1 are charged to the first expert until one of them has almost certainly been recorded, then to the
    second, and so on; the last expert is never charged.
    """
    tiny = 1e-3 * 4.0 ** (np.arange(n) - n + 1) / parts
    often = math.ceil(math.log2(n)) + 2
    return np.vstack([np.tile(tiny, (parts, 1)), np.repeat(np.eye(n)[:-1], often, axis=0)])


def test_dropout_of_losses_without_binarization_has_regret_of_order_n():
    """Without binarization the regret is of order n, with binarization of order log n.

    If losses are kept unchanged, the tiny losses order the experts, and the adversary always knows the leader: each
    expert costs 2, or less if an earlier one leads again, 1.8 n in total. Binarized tiny losses are almost never
    recorded, all experts without a recorded loss share the lead, and the regret is slightly below 2 (H_n - 1). Errors
    of the means are below 2% (plain) and 0.08 (binarized): each limit is at least 5 errors away, false alarm 6e-7.
    """
    sizes, plain, binary = (4, 8, 16, 32, 64), [], []
    for n in sizes:
        losses = ladder(n)
        assert losses.sum(axis=0).min() < 2e-3
        plain.append(mean_and_error(plain_dropout(losses, 200, n))[0])
        record = hn.play(hn.Dropout(n), losses, runs=200, seed=n, threads=1)
        binary.append(mean_and_error(record.expected_regret[:, -1])[0])
        assert binary[-1] <= record.bound.value
        assert plain[-1] > n
        assert binary[-1] == pytest.approx(2.0 * sum(1.0 / i for i in range(2, n + 1)) - 0.2, abs=0.4)
    assert 0.95 < slope(np.log(sizes), np.log(plain)) < 1.25
    # A doubling of n costs ln 2 twice, however large n is.
    assert 1.0 < slope(np.log2(sizes), binary) < 1.6
    assert plain[-1] > hn.Dropout(64).bound(1000, best_loss=1.4e-3).value
