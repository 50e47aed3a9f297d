"""Intervals of a replay that hold at all times: exact checks, agreement with the engine and stores, and controls.

The games have fixed seeds. Miss rates of at most alpha plus three standard errors are exceeded for less than 1% of all
seeds by a method whose rate is alpha; the rates here are far smaller.
"""

from __future__ import annotations

import json
import math
import re

import numpy as np
import pytest

import hannan as hn
from hannan import _engine
from hannan.cli import commands
from hannan.mathematics.intervals import clopper_pearson
from hannan.tables.replay.anytime import BETS, Capitals, Rows


def offers(rows=6000, seed=7):
    """Return the log of docs/replay.md, with the probabilities of all offers."""
    import random

    draw, rate, odds = random.Random(seed), {"A": 0.03, "B": 0.05, "C": 0.09}, {"A": 0.5, "B": 0.3, "C": 0.2}
    log: dict = {"offer": [], "reward": [], "p": []}
    for _ in range(rows):
        offer = draw.choices(list(odds), list(odds.values()))[0]
        log["offer"].append(offer)
        log["reward"].append(float(draw.random() < rate[offer]))
        log["p"].append(odds[offer])
    for name, p in odds.items():
        log[f"p_{name}"] = [p] * rows
    log["to_A"], log["to_B"], log["to_C"] = ([p] * rows for p in (0.1, 0.2, 0.7))
    return log


ALL = {name: f"p_{name}" for name in "ABC"}
MOSTLY = {"mostly C": {name: f"to_{name}" for name in "ABC"}}


def replayed(log=None, **options):
    return hn.replay(
        offers() if log is None else log, "offer", "reward", options.pop("propensity", "p"), gains=True, runs=2,
        anytime=True, **options,
    )  # fmt: skip


# One row, exactly


def capitals_after(p, plays, x, known, centers):
    """Return the capitals after one row, per drawn action."""
    found = []
    for action in range(len(p)):
        table = Capitals(len(p), 1)
        table.centers = np.array(centers)
        rows = Rows(np.array([action]), np.array([x[action]]), np.array([p[action]]), known[None])
        table.add(rows, [plays[None]])
        found.append(table)
    return found


@pytest.mark.parametrize("knowledge", [1.0, 0.5, 0.0])
def test_mean_of_every_factor_is_at_most_one(knowledge):
    rng = np.random.default_rng(0)
    for _ in range(500):
        p, plays, x, centers = rng.dirichlet([0.5] * 3), rng.dirichlet([0.5] * 3), rng.random(3), rng.random(3)
        tables = capitals_after(p, plays, x, knowledge * p, centers)
        for side, losses in ((0, x), (1, 1.0 - x)):
            mean = sum(
                q * np.exp(t.policies[0].W[side] + BETS * t.policies[0].C[side]) for q, t in zip(p, tables, strict=True)
            )
            assert (mean <= np.exp(BETS * (plays @ losses)) * (1.0 + 1e-12)).all()
            for arm in range(3):
                mean = sum(
                    q * np.exp(t.actions[arm].W[side] + BETS * t.actions[arm].C[side])
                    for q, t in zip(p, tables, strict=True)
                )
                assert (mean <= np.exp(BETS * losses[arm]) * (1.0 + 1e-12)).all()
            mean = sum(q * np.exp(t.logged.W[side] + BETS * t.logged.C[side]) for q, t in zip(p, tables, strict=True))
            assert (mean <= np.exp(BETS * (p @ losses)) * (1.0 + 1e-12)).all()


def test_control_a_center_from_the_drawn_probability_alone_violates_the_bound():
    """The bound on the probabilities must be known before the draw: 1 for the drawn action and 0 for others is not."""
    p, x = np.array([0.5, 0.5]), np.array([0.9, 0.9])
    mean = 0.0
    for action in range(2):
        table = Capitals(2)
        known = p * (np.arange(2) == 1 - action)  # the center of an action is used only if it is not drawn
        table.add(Rows(np.array([action]), x[[action]], p[[action]], known[None]), [])
        mean = mean + 0.5 * np.exp(table.actions[0].W[0] + BETS * table.actions[0].C[0])
    assert (mean > np.exp(BETS * 0.9) * 1.001).any()


# Agreement


def test_capitals_equal_those_of_the_engine():
    rng, table, capitals = np.random.default_rng(1), _engine.Evidence(3), Capitals(3)
    p = rng.dirichlet([1.0] * 3, size=500)
    actions = np.array([rng.choice(3, p=q) for q in p])
    losses = rng.random(500)
    for t in range(500):
        table.act(p[t], int(actions[t]))
        table.settle(t + 1, int(actions[t]), p[t, actions[t]], losses[t])
    drawn = p[np.arange(500), actions]
    for part in (slice(0, 130), slice(130, 500)):
        capitals.add(Rows(actions[part], losses[part], drawn[part], p[part]), [])
    for arm, one in enumerate(capitals.actions):
        for side in range(2):
            low = _engine.capital_low(one.W[side], one.C[side], 500.0, 4.0)
            assert low == pytest.approx(table.arm_low(arm, side, 4.0), abs=1e-7)
        assert one.estimate() == pytest.approx(table.estimate(arm), abs=1e-7)


@pytest.mark.parametrize("gains", [False, True])
def test_replay_of_a_store_gives_the_statements_of_its_evidence(tmp_path, gains):
    rng = np.random.default_rng(0)
    with hn.Store(tmp_path / "a.db") as store:
        store.add("banner", hn.EpsilonGreedy(["red", "blue", "green"], 0.3, gains=gains))
        for k in range(600):
            move = store.act("banner", k % 3)
            value = float(rng.random() < {"red": 0.7, "blue": 0.5}.get(move.arm, 0.3))
            store.observe(move.ticket, **({"reward": value} if gains else {"loss": value}))
        found, log = store.evidence("banner"), store.log("banner", weights=True)
    arms = ("red", "blue", "green")
    # The panel of evidence gives 0.4 of its alpha to the arms, and as much to the differences.
    told = hn.replay(
        log, "arm", "reward" if gains else "loss", "probability", gains=gains, anytime=True, level=1.0 - 0.4 * 0.05,
        probabilities={arm: f"probability_{arm}" for arm in arms}, runs=1,
    )  # fmt: skip
    for one in told.single:
        assert one.interval == pytest.approx(found.arms[one.name].interval, abs=1e-5)
        assert one.value == pytest.approx(found.arms[one.name].mean, abs=1e-5)
    for lead in told.leads:
        low, high = found.lead(lead.action, lead.over)
        assert (lead.low, lead.high) == pytest.approx((low, high) if gains else (-high, -low), abs=1e-5)


def test_widths_agree_with_the_published_ones():
    for probabilities, published in ((ALL, 0.041), (None, 0.093)):
        told = replayed(policies=MOSTLY, probabilities=probabilities)
        low, high = told.learners[1].estimates["anytime"].interval
        assert high - low == pytest.approx(published, rel=0.1)
        truth = 0.1 * 0.03 + 0.2 * 0.05 + 0.7 * 0.09
        assert low < truth < high
    assert told.known == "drawn"


def test_smallest_probability_narrows_intervals():
    log = offers()
    log["smallest"] = [0.2] * 6000
    widths = {}
    for name, options in (("all", {"probabilities": ALL}), ("smallest", {"smallest": "smallest"}), ("drawn", {})):
        told = replayed(log, **options)
        assert told.known == name
        widths[name] = [one.interval[1] - one.interval[0] for one in told.single]
    assert all(a < b < c for a, b, c in zip(widths["all"], widths["smallest"], widths["drawn"], strict=True) if a != b)


# Results


def test_result_shows_all_actions_and_differences():
    told = replayed(policies=MOSTLY, probabilities=ALL)
    text = " ".join(str(told).split())
    for words in ("always 'A'", "always 'B'", "always 'C'", "'C' - 'A'", "for all numbers of rows simultaneously",
                  "all differences of two actions hold simultaneously"):  # fmt: skip
        assert words in text
    assert "fixed in advance" not in text
    found = json.loads(json.dumps(told.to_dict()))
    assert [one["action"] for one in found["single"]] == list(told.actions)
    assert len(found["leads"]) == 6
    assert found["known"] == "all"
    best = next(one for one in found["leads"] if (one["action"], one["over"]) == ("C", "A"))
    assert best["low"] > 0.0


def test_page_is_written(tmp_path):
    pytest.importorskip("altair")
    replayed(probabilities=ALL, policies=MOSTLY).save(tmp_path / "page")
    assert "at all times" in (tmp_path / "page/index.html").read_text()


def test_action_that_could_not_be_drawn_in_some_rows_is_allowed():
    rng, rows = np.random.default_rng(0), 4000
    p = np.where(np.arange(rows)[:, None] < 1500, [0.5, 0.5, 0.0], [0.3, 0.3, 0.4])
    action = (rng.random((rows, 1)) > p.cumsum(axis=1)).sum(axis=1)
    reward = (rng.random(rows) < np.array([0.2, 0.5, 0.8])[action]).astype(float)
    log = {"offer": np.array(list("ABC"))[action], "reward": reward, "p": p[np.arange(rows), action]}
    log |= {f"p_{name}": p[:, i] for i, name in enumerate("ABC")}
    told = replayed(log, probabilities=ALL)
    for one in told.single:
        low, high = one.interval
        assert low < {"A": 0.2, "B": 0.5, "C": 0.8}[one.name] < high
    # Rows without a draw leave the mean of C unknown between 0 and 1.
    c = next(one for one in told.single if one.name == "C")
    assert c.interval[1] - c.interval[0] > 1500 / 4000
    with pytest.raises(ValueError, match="could not be drawn"):
        replayed({name: log[name] for name in ("offer", "reward", "p")})
    unknown = dict(log)
    for name in "ABC":
        unknown[f"p_{name}"] = np.where(np.arange(rows) < 2500, np.nan, log[f"p_{name}"])
    with pytest.raises(ValueError, match="could not be drawn"):
        replayed(unknown, probabilities=ALL)


def test_rows_with_unknown_probabilities_widen_intervals():
    log = offers()
    for name in "ABC":
        log[f"p_{name}"] = [math.nan] * 2000 + log[f"p_{name}"][2000:]
    some, every = replayed(log, probabilities=ALL), replayed(probabilities=ALL)
    for a, b in zip(some.single, every.single, strict=True):
        assert a.interval[1] - a.interval[0] > b.interval[1] - b.interval[0]


def test_propensity_is_taken_from_the_probabilities():
    log = offers()
    assert replayed(propensity=None, probabilities=ALL).single == replayed(probabilities=ALL).single
    assert log["p"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"p_A": 0.6}, "sum to 1"),
        ({"p_A": -0.5}, r"in \[0, 1\]"),
        ({"p_A": 0.3, "p_B": 0.5}, "agree with the propensity"),
        ({"p_A": math.nan}, r"in \[0, 1\]"),
    ],
)
def test_invalid_probabilities_are_rejected_with_their_row(change, words):
    log = offers(400)
    row = log["offer"].index("A") + 1
    for name, value in change.items():
        log[name][row - 1] = value
    with pytest.raises(ValueError, match=f"row {row}.*{words}"):
        replayed(log, probabilities=ALL)


def test_arguments_are_checked():
    with pytest.raises(ValueError, match=r"row \d+: probabilities.*'C'"):
        replayed(probabilities={"A": "p_A", "B": "p_B"})
    with pytest.raises(ValueError, match="anytime"):
        hn.replay(offers(), "offer", "reward", "p", gains=True, probabilities=ALL)
    with pytest.raises(ValueError, match=r"anytime.*1"):
        hn.replay(offers(), "offer", "reward", "p", gains=True, anytime=1)
    with pytest.raises(ValueError, match=r"row 5.*range"):
        replayed({**offers(), "reward": [0.0] * 4 + [1.5] + [0.0] * 5995})


def test_command_gives_the_same_intervals(capsys, tmp_path):
    log = offers(1500)
    lines = [",".join(log), *(",".join(str(column[t]) for column in log.values()) for t in range(1500))]
    (tmp_path / "log.csv").write_text("\n".join(lines))
    code = commands.run(
        ["replay", str(tmp_path / "log.csv"), "--action", "offer", "--loss", "reward", "--gains", "--propensity", "p",
         "--anytime", "--probabilities", "A:p_A,B:p_B,C:p_C", "--runs", "2", "--json"]
    )  # fmt: skip
    found = json.loads(capsys.readouterr().out)
    assert code == 0
    told = replayed(log, probabilities=ALL)
    assert found["single"] == json.loads(json.dumps(told.to_dict()))["single"]


# Coverage


def stopped(games, look, rng):
    """Return the share of logs with an interval of arm 0 that excludes its mean at one of the looks."""
    wrong = 0
    for _ in range(games):
        action, capitals = rng.integers(2, size=1000), Capitals(2)
        loss = (rng.random(1000) < 0.3).astype(float)
        missed = False
        for first in range(0, 1000, 25):
            part = slice(first, first + 25)
            p = np.full((25, 2), 0.5)
            capitals.add(Rows(action[part], loss[part], p[:, 0], p), [])
            low, high = look(capitals, action[: first + 25], loss[: first + 25])
            missed |= not low <= 0.3 <= high
        wrong += missed
    return wrong / games


def test_intervals_survive_optional_stopping_and_those_of_a_single_look_do_not():
    def anytime(capitals, action, loss):
        return capitals.actions[0].interval(0.05)

    def single(capitals, action, loss):
        here = action == 0
        return clopper_pearson(int(loss[here].sum()), max(int(here.sum()), 1), 0.975) if here.any() else (0.0, 1.0)

    assert stopped(200, anytime, np.random.default_rng(0)) <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 200)
    assert stopped(200, single, np.random.default_rng(0)) > 0.1  # control


@pytest.mark.parametrize("error", ["right", "greedy", "stale", "clipped"])
def test_wrong_propensities_make_intervals_miss(error):
    """The errors of docs/propensity.md; an interval accounts for randomness, not for wrong weights."""
    rng, missed, rows = np.random.default_rng(0), 0, 12_000
    hour = np.arange(rows) % 24
    scores = np.stack([np.cos(hour / 4), np.sin(hour / 4), -np.ones(rows)], axis=1)
    policy = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    swing = np.stack([1 + 0.6 * scores[:, 0], 1 + 0.6 * scores[:, 1], 1.0 + (hour >= 12)], axis=1)
    rate = np.array([0.25, 0.3, 0.35]) * swing
    for _ in range(10):
        played = policy
        if error == "greedy":
            played = 0.9 * (np.arange(3) == scores.argmax(axis=1)[:, None]) + 0.1 / 3
        logged = policy
        if error == "stale":
            before = np.exp(np.stack([np.cos((hour - 5) / 4), np.sin((hour - 5) / 4), -np.ones(rows)], axis=1))
            logged = before / before.sum(axis=1, keepdims=True)
        if error == "clipped":
            logged = np.maximum(policy, 0.2)
        action = np.minimum((rng.random((rows, 1)) > played.cumsum(axis=1)).sum(axis=1), 2)
        loss = (rng.random(rows) < rate[np.arange(rows), action]).astype(float)
        capitals = Capitals(3)
        capitals.add(Rows(action, loss, logged[np.arange(rows), action], logged), [])
        inside = [one.interval(0.05 / 3) for one in capitals.actions]
        missed += any(not low <= mean <= high for (low, high), mean in zip(inside, rate.mean(axis=0), strict=True))
    assert missed == 0 if error == "right" else missed >= 8


def test_fixed_sentences_name_no_single_look():
    from hannan.tables.replay import anytime

    for text in (anytime.ANYTIME, anytime.DIFFERENCES, *anytime.KNOWN.values()):
        assert not re.search("significant|p-value|fixed in advance", text)
