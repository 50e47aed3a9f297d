"""Frechet and Pareto in repeated rounds, by tables of nodes, against adaptive quadrature."""

import numpy as np
import plays
import pytest

import hannan as hn

LAWS = [
    hn.Frechet(1.0),
    hn.Frechet(2.0),
    hn.Frechet(7.0),
    hn.Pareto(1.0),
    hn.Pareto(2.0),
    hn.Pareto(7.0),
    hn.Pareto(60.0),
]


def totals(rng, n):
    """Ties, near ties, and gaps from 1e-2 to 1e8, at two scales."""
    yield np.zeros(n)
    yield rng.random(n)
    yield 10.0 * rng.random(n)
    yield np.exp(rng.uniform(-4.0, 18.0, n))
    yield np.where(np.arange(n) == 0, 0.0, 5.0 + 0.1 * rng.random(n))
    yield 30.0 * (np.arange(n) % 3) + rng.random(n)


@pytest.mark.parametrize("law", LAWS, ids=repr)
@pytest.mark.parametrize("n", [1, 2, 9, 10, 40])
def test_distribution_of_a_round_equals_the_potential(law, n):
    player = hn.Experts(n, law, hn.Fixed(2.0)).start(0)
    for L in totals(np.random.default_rng(n), n):
        player._put(L)
        plays.assert_play(player.distribution(), hn.FTPL(law, 2.0).gradient(L))


def test_control_comparison_detects_an_error_of_1e_8():
    player = hn.Experts(10, hn.Pareto(2.0), hn.Fixed(2.0)).start(0)
    L = np.linspace(0.0, 3.0, 10)
    player._put(L)
    with pytest.raises(AssertionError):
        plays.assert_play(player.distribution(), hn.FTPL(hn.Pareto(2.0), 2.0 + 1e-8).gradient(L))


@pytest.mark.parametrize("law", [hn.Frechet, hn.Pareto])
@pytest.mark.parametrize("a", [3.0, 4.0, 5.0])
def test_powers_as_products_are_exact_for_many_experts(law, a):
    """From 65 experts on whole powers are products; a slightly different index, with exponentials, is the control."""
    rng = np.random.default_rng(2)
    for scale in (0.1, 5.0):
        learner = hn.Experts(70, law(a), hn.Fixed(scale))
        player, losses = learner.start(0), np.zeros(70)
        for _ in range(12):
            row = rng.random(70) ** rng.integers(1, 6)
            player.observe(player.act(), row)
            losses += row
        np.testing.assert_allclose(player.distribution(), hn.FTPL(law(a), scale).gradient(losses), rtol=1e-10)
        near, other = (hn.FTPL(law(a + shift), scale).gradient(losses) for shift in (0.0, 1e-6))
        assert np.abs(other / near - 1).max() > 1e-10
