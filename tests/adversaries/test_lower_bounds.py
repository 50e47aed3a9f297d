"""What leaders of noisy sums cannot do: dropout at L* = 0, on coins, and without its binary losses.

That the random walk loses sqrt(T) where L* = 0 is in test_noisy.py.
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
    """The others lose in every round, and an expert of whom nothing was heard in t rounds, probability 2^-t, shares
    the lead: n 2^-t of them, so log2(n) rounds are paid for. Over 8 doublings the slope in log2(n) is 1; its error
    is below 0.012 (400 runs, sd below 1.3 each), so 0.9..1.1 is left once in 1e15, and time costs nothing at all.
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
        # After 60 rounds an expert unheard of is left with probability n 2^-60, below 1e-15.
        np.testing.assert_allclose(found[0], found[1], atol=1e-9)
        regrets.append(mean_and_error(found[0])[0])
        assert regrets[-1] <= hn.Dropout(n).bound(600, best_loss=0.0).value
    assert 0.9 < slope(np.log2(sizes), regrets) < 1.1


def test_dropout_regret_on_bernoulli_losses_grows_like_sqrt_best_loss():
    """Coins of mean q: whoever plays loses q T on average, and the best of n about sqrt(2 q T ln n) less.

    So the exponent of the regret in L* is 1/2, for dropout as for anyone (0.45 here: L* is a little below q T). The
    error of the fit is 0.023 (240 games a point, four points from L* = 97 to 2970): 0.32..0.58 is 5 of it, 6e-7.
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
    """Regrets of follow the leader on losses kept whole with probability 1/2, else dropped: not made 0 or 1 first."""
    rng, (_, n) = np.random.default_rng(seed), losses.shape
    heard, own = np.zeros((runs, n)), np.zeros(runs)
    for row in losses:
        leads = heard == heard.min(axis=1, keepdims=True)
        own += (leads * row).sum(axis=1) / leads.sum(axis=1)
        heard += row * (rng.random((runs, n)) < 0.5)
    return own - losses.sum(axis=0).min()


def ladder(n, parts=40):
    """Tiny losses, 0.001 in all at most and four times as much an expert as the one before, then 1s: to the first
    expert until it has surely been heard of, then to the second, and so on; the last is spared."""
    tiny = 1e-3 * 4.0 ** (np.arange(n) - n + 1) / parts
    often = math.ceil(math.log2(n)) + 2
    return np.vstack([np.tile(tiny, (parts, 1)), np.repeat(np.eye(n)[:-1], often, axis=0)])


def test_dropout_of_losses_without_binarization_has_regret_of_order_n():
    """Kept whole, the tiny losses order the experts, and the adversary always finds the leader: 2 an expert, as it is
    heard with probability 1/2, less for those that come back unheard: 1.8 n in all. Made binary they are not heard
    of, all the unhurt share the lead, and it is 2 (H_n - 1), a little less. Errors of the means are below 2 % (plain)
    and 0.08 (binary): each limit is at least 5 of them away, 6e-7.
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
