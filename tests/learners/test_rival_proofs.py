"""The steps behind the bounds of Squint, AdaNormalHedge and ML-Poly (docs/mathematics.md, section 8), one by one."""

from __future__ import annotations

import itertools
import math

import mpmath as mp
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.special import expi

import hannan as hn


def test_sums_of_shares_grow_like_a_logarithm():
    """sum_t a_t/(1 + S_{t-1}) <= 1 + ln(1 + S_T) for a_t in [0, 1].

    This sum is the cost per round of ML-Poly and AdaNormalHedge.
    """
    rng = np.random.default_rng(0)
    for T in (1, 2, 10, 1000):
        for a in (np.ones(T), np.zeros(T), rng.random(T), rng.random(T) ** 9, (rng.random(T) < 0.1).astype(float)):
            before = np.concatenate([[0.0], np.cumsum(a)])
            assert (a / (1.0 + before[:-1])).sum() <= 1.0 + math.log1p(before[-1]) + 1e-12


def test_potential_of_ml_poly_is_bounded():
    """sum_k [R_k]_+^2/(1 + V_k) <= sum_k (1 + ln(1 + V_k)) in every round, for adaptive losses."""
    rng = np.random.default_rng(1)
    for n in (2, 3, 10):
        player, R, V = hn.MLPoly(n).start(0), np.zeros(n), np.zeros(n)
        for t in range(400):
            p = player.distribution()
            losses = p / p.max() if t % 3 else rng.random(n)
            player.observe(player.act(), losses)
            r = p @ losses - losses
            R, V = R + r, V + r * r
            held = (np.maximum(R, 0.0) ** 2 / (1.0 + V)).sum()
            assert held <= (1.0 + np.log1p(V)).sum() * (1.0 + 1e-12)
            assert R.max() <= hn.MLPoly(n).observed(t + 1, float(V[R.argmax()])).value * (1.0 + 1e-12)


def log_phi(R, C):
    return np.maximum(R, 0.0) ** 2 / (3.0 * np.maximum(C, 1e-300))


def test_potential_of_adanormalhedge_grows_as_in_the_lemma():
    """Phi(R + r, C + |r|) <= Phi(R, C) + w(R, C) r + 3|r|/(2(C + 1)), w = (Phi(R+1, C+1) - Phi(R-1, C+1))/2.

    Checked on a grid of |R| <= C <= 1e5 and r in [-1, 1], relative to Phi(R, C). At r = 0 there is equality.
    """
    worst = -math.inf
    for C in (0.0, 1e-3, 0.1, 0.5, 1.0, 2.0, 5.0, 20.0, 100.0, 1e3, 1e5):
        shares = np.concatenate([np.linspace(-1.0, 1.0, 81), [-1e-6, 1e-6, 3.0 / max(C, 3.0)]])
        R, r = np.meshgrid(C * shares, np.concatenate([np.linspace(-1.0, 1.0, 81), [-1e-4, 1e-4]]))
        # exp(log - base): only differences of exponents are formed, so that nothing overflows
        base = log_phi(R, C) if C > 0.0 else np.zeros_like(R)
        up, down = np.exp(log_phi(R + 1, C + 1) - base), np.exp(log_phi(R - 1, C + 1) - base)
        step = np.exp(log_phi(R + r, C + np.abs(r)) - base) if C > 0.0 else np.exp(log_phi(r, np.abs(r)))
        gain = step - 1.0 - 0.5 * (up - down) * r - 1.5 * np.abs(r) / (C + 1.0) * np.exp(-base)
        worst = max(worst, float(gain.max()))
    assert worst <= 1e-12


def phi(R, V):
    """int_0^(1/2) (e^(eta R - eta^2 V) - 1)/eta d eta."""
    peak = min(max(R / (2.0 * V), 1e-9), 0.5) if V > 0.0 else 0.5
    whole, _ = quad(
        lambda eta: math.expm1(eta * R - eta * eta * V) / eta, 0.0, 0.5, points=sorted({peak / 2, peak}), limit=400
    )
    return whole


def test_negative_potential_of_squint_is_bounded():
    """-Phi(R, V) <= 1/2 + ln(T + 1) for R >= -T, V <= T: in the worst case, Ein(3T/4) <= 1/2 + ln(T + 1).

    The steps of the proof: ln(3/4) + gamma < 1/2, and E_1(3T/4) < ln(1 + 1/T).
    """
    assert math.log(0.75) + np.euler_gamma < 0.5
    for T in [*range(1, 200), 10**3, 10**4, 10**6, 10**9]:
        x = 0.75 * T
        assert -expi(-x) <= math.exp(-x) * math.log1p(1.0 / x) < math.log1p(1.0 / T)
        assert math.log(x) + np.euler_gamma - expi(-x) <= 0.5 + math.log1p(T)
        if T <= 100:
            assert -phi(-float(T), float(T)) <= math.log(x) + np.euler_gamma - expi(-x) + 1e-9


def exact_phi(R, V):
    """Phi(R, V) to thirty digits."""
    with mp.workdps(30):
        peak = mp.mpf(R) / (2 * V) if V > 0 else mp.mpf(1)
        cuts = {
            min(mp.mpf(1) / 2, peak * x) for x in (0, 0.1, 0.3, 0.5, 0.7, 0.9, 1, 1.1, 1.3, 1.5, 2, 3, 10, 1e3, 1e5)
        }
        return mp.quad(
            lambda eta: mp.expm1(eta * R - eta * eta * V) / eta if eta > 0 else mp.mpf(R),
            [*sorted(cuts), mp.mpf(1) / 2],
        )


@pytest.mark.parametrize("n", [2, 8, 10**6])
@pytest.mark.parametrize("T", [1, 10, 10**4, 10**9])
@pytest.mark.parametrize("share", [0.0, 1e-9, 0.01, 0.3, 1.0])
def test_squint_prints_an_upper_bound_on_the_root(n, T, share):
    """Phi(R, V) >= c at the printed R; the control: at a millionth below this R, Phi is below c."""
    V, c = share * T, n * (0.5 + math.log(T + 1))
    R = sum(hn.Squint(n).terms(T, V).values())
    assert exact_phi(R, V) >= c > exact_phi(R * (1 - 1e-6), V)
    published = math.sqrt(2.0 * V) * (1.0 + math.sqrt(2.0 * math.log(c))) + 5.0 * math.log1p(2.0 * c)
    assert published >= R


def test_bound_of_squint_increases_with_squares_and_rounds():
    """Before play, V is bounded by iteration, which needs a root that increases with V and T."""
    roots = [sum(hn.Squint(5).terms(T, V).values()) for T, V in ((50, 0.0), (50, 1.0), (50, 50.0), (500, 50.0))]
    assert roots == sorted(roots)
    assert hn.Squint(8).bound(10_000).value == pytest.approx(420.985, abs=0.001)
    assert hn.Squint(8, (0.0, 3.0)).bound(10_000).value == pytest.approx(3 * 420.985, abs=0.003)
    assert hn.Squint(8).bound(10_000, best_loss=100.0).value == pytest.approx(68.82, abs=0.01)


def test_printed_terms_are_those_of_the_proofs():
    """The proofs bound the quantities that the learners print."""
    n, T, V = 7, 500, 40.0
    squint = brentq(lambda R: phi(R, V) - n * (0.5 + math.log(T + 1)), 0.0, 200.0)
    assert sum(hn.Squint(n).terms(T, V).values()) == pytest.approx(squint, rel=1e-6)
    hedge = math.sqrt(3 * V * math.log(n * (1 + 1.5 * (1 + math.log1p(T)))))
    assert sum(hn.AdaNormalHedge(n).terms(T, V).values()) == pytest.approx(hedge, rel=1e-12)
    poly = math.sqrt((1 + V) * n * (1 + math.log1p(T)))
    assert sum(hn.MLPoly(n).terms(T, V).values()) == pytest.approx(poly, rel=1e-12)


@pytest.mark.parametrize(("d", "m"), [(2, 1), (5, 2), (6, 3), (7, 5)])
def test_drift_of_hedge_over_sets_is_bounded_by_half_the_trace(d, m):
    """D <= m (1 - m/d)/(4 s) at random L and the worst losses, over all sets (docs/proofs/others.md)."""
    sets = np.array([[i in chosen for i in range(d)] for chosen in itertools.combinations(range(d), m)], dtype=float)
    rng, worst = np.random.default_rng(0), 0.0
    for scale in (0.5, 2.0, 30.0):
        for spread in (0.0, 0.0, 1.0, 4.0):
            L = spread * scale * rng.random(d)
            p = np.exp(-(sets @ L - (sets @ L).min()) / scale)
            p /= p.sum()
            for losses in itertools.product((0.0, 1.0), repeat=d):
                cost = sets @ np.array(losses)
                gap = float(p @ cost + scale * math.log(p @ np.exp(-cost / scale)))
                worst = max(worst, gap * 4 * scale / (m * (1 - m / d)))
    assert worst <= 1.0 + 1e-9
    if d == 2:
        assert worst > 0.9  # the control: nine tenths are exceeded
    best = math.sqrt(m * (1 - m / d) * 10_000 * math.log(math.comb(d, m)))
    listed = hn.Experts(len(sets), hn.Entropy(), hn.Horizon(10_000), loss_range=(0.0, float(m))).bound().value
    assert m * math.sqrt(10_000 * math.log(len(sets)) / 2) == pytest.approx(listed)
    assert m == 1 or best < listed
