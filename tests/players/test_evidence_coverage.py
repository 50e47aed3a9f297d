"""Statements of evidence hold at all times in many games; methods that are not made for this fail in the same games.

The games are those of tests/oracles/bandit_games.py, with a second implementation of the capitals, to which the engine
is compared. Seeds are fixed. For a method whose miss rate is at most alpha, the rates of one setting exceed alpha plus
three standard errors for less than 1% of all seeds; the statements miss far less often, so that the tests do not.
"""

from __future__ import annotations

import itertools
import math
from functools import partial

import numpy as np
import pytest
from bandit_games import ALPHA, CONTROLS, POLICIES, STATEMENTS, WORLDS, draw, misses, settled_only
from capitals import Capitals

from hannan import _engine

#: Policy, world and number of rounds. Uniform play declares the best arm most often.
SETTINGS = [
    *((policy, world, 500) for policy in POLICIES if policy != "uniform" for world in WORLDS if world != "seeking"),
    ("greedy", "seeking", 500),
    ("uniform", "stationary", 1500),
    ("uniform", "adaptive", 1500),
]


def limit(games):
    """Return alpha plus three standard errors."""
    return ALPHA + 3.0 * math.sqrt(ALPHA * (1.0 - ALPHA) / games)


def test_engine_agrees_with_the_second_implementation():
    rng, games, n, rounds = np.random.default_rng(0), 4, 3, 120
    reference, tables, open_ = Capitals(games, n), [_engine.Evidence(n) for _ in range(games)], []
    means = np.zeros((games, n))
    for t in range(1, rounds + 1):
        p = rng.dirichlet([0.3] * n, size=games)
        p = np.maximum(p, 1e-4) / np.maximum(p, 1e-4).sum(axis=1, keepdims=True)
        arm, loss = draw(p, rng), rng.random(games)
        means += rng.random((games, n))
        reference.act(p, arm)
        for game, table in enumerate(tables):
            table.act(p[game], arm[game])
        open_.append((t, arm, p[np.arange(games), arm], loss))
        if t % 3:  # later moves first; a third stays pending
            s, a, q, x = open_.pop()
            reference.settle(np.arange(games), s, a, q, x)
            for game, table in enumerate(tables):
                table.settle(s, a[game], q[game], x[game])
    for game, table in enumerate(tables):
        assert (table.draws, table.pending) == (rounds, reference.pending[game])
        assert table.own == pytest.approx(reference.own[game])
        for a, side, level in itertools.product(range(n), range(2), (0.5, 2.0, 4.0)):
            other, drawn = (a + 1) % n, reference.drawn[game, a]
            for low, capital in (
                (table.arm_low(a, side, level), partial(reference.arm, a, side)),
                (table.regret_low(a, level), partial(reference.regret, a)),
                (table.pair_low(a, other, level), partial(reference.pair, a, other)),
                (table.fixed_low(a, side, level), lambda at, a=a, side=side, n=drawn: reference.fixed(a, side, at / n)),
            ):
                above, below = (float(capital(np.full(games, at))[game]) for at in (low + 1e-6, low - 1e-6))
                assert above <= level
                assert below > level or low == 0.0


@pytest.mark.parametrize(
    ("policy", "world"),
    [("tsallis", "stationary"), ("hedge", "adaptive"), ("greedy", "drifting"), ("thompson", "rare clicks"),
     ("greedy", "seeking"), ("uniform", "stationary")],
)  # fmt: skip
def test_statements_hold_at_all_times(policy, world):
    found = misses(policy, world, 400, 250, seed=1)
    assert max(found[name] for name in STATEMENTS) <= limit(400), found
    assert max(found["wald"], found["sample mean"]) > 2.0 * ALPHA  # controls


def test_controls_fail():
    assert settled_only(200, 500, seed=1)["settled only"] > 0.9
    assert settled_only(200, 500, seed=1)["table"] <= limit(200)
    assert misses("hedge", "drifting", 300, 1500, seed=1)["fixed"] > 2.0 * ALPHA


@pytest.mark.slow
def test_statements_hold_at_all_times_in_5000_games_per_setting():
    print(f"\n{'policy':10}{'world':14}" + "".join(f"{name:>13}" for name in (*STATEMENTS, *CONTROLS, "declared")))
    rows = {}
    for number, (policy, world, rounds) in enumerate(SETTINGS):
        rows[policy, world] = found = misses(policy, world, 5000, rounds, seed=number)
        print(f"{policy:10}{world:14}" + "".join(f"{100 * rate:12.2f}%" for rate in found.values()), flush=True)
    assert sum(found["declared"] for found in rows.values()) > 0.2
    assert sum(found["best"] for found in rows.values()) < 0.01
    late = settled_only(5000, 500, seed=99)
    print(late)
    for setting, found in rows.items():
        assert max(found[name] for name in STATEMENTS) <= limit(5000), setting
    assert min(found["wald"] for found in rows.values()) > 2.0 * ALPHA
    assert min(found["sample mean"] for found in rows.values()) > 2.0 * ALPHA
    assert max(found["fixed"] for (_, world), found in rows.items() if world == "drifting") > 2.0 * ALPHA
    assert late["settled only"] > 0.9
    assert late["table"] <= limit(5000)
