"""Private experts: numbers of the bounds, exact worst cases, adaptive attacks, privacy and its limits."""

import math

import numpy as np
import pytest

import hannan as hn

#: (N, T): bound at epsilon 1, at epsilon 1/2, and for a game without end at epsilon 1; delta = 1e-6, add/remove.
BOUNDS = {
    (2, 10**3): (17.8, 18.1, 30.5),
    (2, 10**4): (56.4, 56.4, 85.0),
    (2, 10**6): (564.2, 564.2, 832.8),
    (10, 10**3): (51.2, 73.4, 96.9),
    (10, 10**4): (120.4, 149.4, 178.2),
    (10, 10**5): (345.4, 360.9, 490.5),
    (10, 10**6): (1075.6, 1082.4, 1521.4),
    (100, 10**4): (286.4, 443.8, 488.2),
    (100, 10**6): (1557.2, 1657.5, 2206.7),
    (1000, 10**3): (712.4, 1000.0, 1000.0),
    (1000, 10**6): (2303.1, 3191.4, 3302.6),
}


@pytest.mark.parametrize(("game", "values"), BOUNDS.items())
def test_bounds_of_the_table(game, values):
    n, rounds = game
    found = (
        hn.PrivateExperts(n, 1.0, rounds=rounds).bound().value,
        hn.PrivateExperts(n, 0.5, rounds=rounds).bound().value,
        hn.PrivateExperts(n, 1.0).bound(rounds).value,
    )
    assert np.abs(np.array(found) - values).max() <= 0.0501


def test_one_hot_losses_need_less_noise():
    assert hn.PrivateExperts(100, 1.0, rounds=10**4, sparsity=1).bound().value == pytest.approx(160.0, abs=0.051)
    assert hn.PrivateExperts(1000, 1.0, rounds=10**4, sparsity=1).bound().value == pytest.approx(196.2, abs=0.051)


@pytest.mark.parametrize(
    ("n", "neighbors", "sparsity", "expected"),
    [
        (2, "add-remove", None, math.sqrt(0.5)),
        (3, "add-remove", None, math.sqrt(2 / 3)),
        (10, "add-remove", None, math.sqrt(10) / 2),
        (10, "replace", None, math.sqrt(10)),
        (10, "add-remove", 1, math.sqrt(0.9)),
        (10, "replace", 2, 2.0),
        (3, "replace", 2, 2 * math.sqrt(2 / 3)),
    ],
)
def test_sensitivity_is_the_largest_distance(n, neighbors, sparsity, expected):
    from hannan.learners.private_experts import sensitivity

    assert sensitivity(n, neighbors, sparsity) == pytest.approx(expected, rel=1e-15)
    # The largest over all vertices, by enumeration.
    q = n if sparsity is None else sparsity
    counts = range(q + 1)
    if neighbors == "add-remove":
        found = max(math.sqrt(k - k * k / n) for k in counts)
    else:
        found = max(math.sqrt(a + b - (a - b) ** 2 / n) for a in counts for b in counts if a + b <= n)
    assert found == pytest.approx(expected, rel=1e-12)


# The exact worst case over all sequences of losses 0 and 1, two experts, by dynamic programming over the gap.

HERMITE, SHARE = np.polynomial.hermite_e.hermegauss(96)
SHARE = SHARE / SHARE.sum()


def worst_case(learner, rounds):
    """Return the largest expected regret of Hedge on noisy sums over all sequences in {0, 1}^2."""
    gaps = np.arange(-rounds, rounds + 1)
    value = -np.minimum(gaps, 0.0)  # own loss - L_2, at the end compared with the smaller of the two
    for t in range(rounds, 0, -1):
        level = learner.noise_level(t)
        scale = float(learner._scales(np.array([t]))[0])
        noisy = (gaps[:, None] + math.sqrt(2.0) * level * HERMITE) / scale
        first = (SHARE / (1.0 + np.exp(np.clip(noisy, -700, 700)))).sum(1)
        up, down = np.full_like(value, -np.inf), np.full_like(value, -np.inf)
        up[:-1] = first[:-1] + value[1:]
        down[1:] = -first[1:] + value[:-1]
        value = np.maximum(np.maximum(up, down), value)
    return value[rounds]


@pytest.mark.parametrize(("epsilon", "ratio"), [(8.0, 0.963), (3.0, 0.946), (1.0, 0.883), (0.3, 0.837)])
def test_worst_case_of_the_horizon_form(epsilon, ratio):
    learner = hn.PrivateExperts(2, epsilon, rounds=500)
    hedge = learner.form._replace(kind="hedge", padded=0.0, scale=math.sqrt((500 + 2 * learner.noise_level(500) ** 2) / (8 * math.log(2))))
    object.__setattr__(learner, "form", hedge)
    bound = math.fsum(learner._oblivious(hedge, 500).values())
    worst = worst_case(learner, 500)
    assert worst <= bound
    assert worst / math.sqrt((500 + 2 * learner.noise_level(500) ** 2) * math.log(2) / 2) == pytest.approx(ratio, abs=2e-3)
    if epsilon == 0.3:  # the control: without the privacy term the bound is exceeded
        assert worst > math.sqrt(500 * math.log(2) / 2)


@pytest.mark.parametrize(("epsilon", "ratio"), [(8.0, 0.905), (1.0, 0.732), (0.3, 0.679)])
def test_worst_case_of_the_anytime_form(epsilon, ratio):
    learner = hn.PrivateExperts(2, epsilon)
    learner = hn.PrivateExperts(2, epsilon, rounds=None)
    worst = worst_case(learner, 500)
    assert worst <= learner.bound(500).value
    assert ratio - 0.05 < worst / learner.bound(500).value < ratio + 0.05
