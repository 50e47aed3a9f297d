"""Logs with empty losses, and logs in which an action had no chance: errors, stated meanings, verified conditions."""

from __future__ import annotations

import contextlib
import json
import re

import numpy as np
import pytest
from click.testing import CliRunner

import hannan as hn
from hannan.cli.replay import command
from hannan.mathematics.intervals import of_mean
from hannan.tables.read.table import BadTable
from hannan.tables.replay.log import Missing, NoSupport

#: Fewer of 120 intervals at 95% than this contain the truth with probability 5.5e-7: binomial(120, 0.95).
FEWEST_OF_120 = 100
#: More of 120 intervals at 95% than this miss the truth with probability 5.5e-7.
MOST_MISSES = 20


def clicks(rows, seed, rate=0.1):
    """Return a log of uniform draws in which only clicks have a reward."""
    rng = np.random.default_rng(seed)
    reward = np.where(rng.random(rows) < rate, 1.0, np.nan)
    return {"arm": rng.integers(2, size=rows), "reward": reward, "p": np.full(rows, 0.5)}


def test_empty_rewards_need_a_stated_meaning():
    """Rewards of clicks alone, at a rate of 0.1: empty means 0. The control leaves them out, and sees only clicks."""
    log = clicks(1000, 0)
    empty = int(np.isnan(log["reward"]).sum())
    with pytest.raises(BadTable, match=rf"reward in every row; got {empty} empty rows of 1000.*missing=0.*'drop'"):
        hn.replay(log, "arm", "reward", "p", gains=True)
    told = hn.replay(log, "arm", "reward", "p", gains=True, missing=0)
    assert told.rows == 1000
    low, high = told.logged.interval
    assert low < 0.1 < high < 0.15
    said = f"{empty} of 1000 rows without a reward count as reward 0 (assumed, not verified)"
    assert said in " ".join(str(told).split())
    assert told.to_dict()["missing"] == {"meaning": 0.0, "rows": empty, "of": 1000, "condition": said}
    control = hn.replay(log, "arm", "reward", "p", gains=True, missing="drop")
    assert (control.rows, control.logged.value) == (1000 - empty, 1.0)
    assert "depends neither on that reward nor on the action" in " ".join(str(control).split())
    assert control.to_dict()["missing"]["meaning"] == "drop"
    complete = hn.replay(log | {"reward": np.nan_to_num(log["reward"])}, "arm", "reward", "p", gains=True)
    assert complete.to_dict()["missing"] is None
    assert "without a reward" not in str(complete)
    assert complete.learners[0].estimates == told.learners[0].estimates


def test_dropped_rows_leave_the_intervals_valid_if_they_are_chosen_blindly():
    """120 logs in which 40% of the losses were removed at random; fewer than 100 intervals contain the truth: 5.5e-7.

    The control removes the large losses.
    """
    covered = control = 0
    for seed in range(120):
        rng = np.random.default_rng(seed)
        a, coin = rng.integers(2, size=600), rng.random(600)
        losses = (rng.random(600) < 0.4).astype(float)
        for by_loss in (False, True):
            lost = coin < (0.8 * losses if by_loss else 0.4)
            log = {"a": a, "l": np.where(lost, np.nan, losses), "p": np.full(600, 0.5)}
            told = hn.replay(log, "a", "l", "p", runs=1, missing="drop")
            low, high = told.learners[0].estimates["ips"].interval
            covered += not by_loss and low <= 0.4 <= high
            control += by_loss and low <= 0.4 <= high
    assert covered >= FEWEST_OF_120 > control


def test_dropped_rows_are_as_if_never_written():
    """Advice, contexts, policies and the smallest probability of the other rows stay with their rows."""
    rng = np.random.default_rng(3)
    rows, names = 900, np.array(["x", "y"])
    a = rng.integers(2, size=rows)
    log = {
        "a": names[a], "l": rng.random(rows), "p": np.full(rows, 0.5), "e": names[rng.integers(2, size=rows)],
        "device": names[rng.integers(2, size=rows)], "s": np.full(rows, 0.5), "qx": rng.random(rows),
    }  # fmt: skip
    log["qy"] = 1.0 - log["qx"]
    gone = rng.random(rows) < 0.3
    few = {name: column[~gone] for name, column in log.items()}
    log["l"] = np.where(gone, np.nan, log["l"])
    policies = {"own": {"x": "qx", "y": "qy"}}
    for options in ({"advice": ["e"]}, {"contexts": ["device"]}, {"policies": policies}):
        one = hn.replay(log, "a", "l", "p", runs=1, missing="drop", smallest="s", actions=["x", "y"], **options)
        two = hn.replay(few, "a", "l", "p", runs=1, smallest="s", actions=["x", "y"], **options)
        assert [x.estimates for x in one.learners] == [x.estimates for x in two.learners]
        assert one.single == two.single


def test_errors_name_rows_of_the_table():
    """A loss outside its range after rows that are left out."""
    losses = np.full(60, 0.5)
    losses[[0, 4, 5]], losses[9] = np.nan, 3.0
    frame = {"a": np.arange(60) % 2, "l": losses}
    with pytest.raises(BadTable, match=r"row 10: loss must be in the stated range 0:1; got 3"):
        hn.replay(frame, "a", "l", missing="drop")
    told = Missing("drop")
    told.filled(losses[:5], 1)
    told.filled(losses[5:], 6)
    assert [told.row(k) for k in range(5)] == [2, 3, 4, 7, 8]


@pytest.mark.parametrize("missing", ["dropped", np.nan, np.inf, True, 2.0, -1.0, "", [0]])
def test_an_invalid_meaning_is_rejected(missing):
    with pytest.raises(ValueError, match="missing must be"):
        hn.replay(clicks(1000, 0), "arm", "reward", "p", gains=True, missing=missing)


def test_an_action_without_any_loss_is_rejected():
    """If all losses of an action are empty, leaving these rows out would leave the action out."""
    log = {"a": np.arange(200) % 2, "l": np.where(np.arange(200) % 2, np.nan, 0.5), "p": np.full(200, 0.5)}
    with pytest.raises(NoSupport, match="action '1'"):
        hn.replay(log, "a", "l", "p", missing="drop")
    assert hn.replay(log, "a", "l", "p", missing=1).best_action.name == "0"


# An action that was added late


def late(seed, rows=2000, before=400):
    """Return a log whose action c had probability 0 in the first rows and 0.1 afterwards; c always costs 1."""
    rng = np.random.default_rng(seed)
    p = np.where(np.arange(rows)[:, None] < before, [[0.5, 0.5, 0.0]], [[0.45, 0.45, 0.1]])
    a = (rng.random(rows)[:, None] >= p.cumsum(axis=1)).sum(axis=1)
    return {
        "a": np.array(list("abc"))[a], "l": np.where(a == 2, 1.0, 0.0), "p": p[np.arange(rows), a],
        "smallest_probability": p.min(axis=1), "qa": np.zeros(rows), "qb": np.zeros(rows), "qc": np.ones(rows),
    }  # fmt: skip


#: A learner that never learns.
UNIFORM = hn.Bandit(3, hn.Entropy(), hn.Fixed(1e9))
ALWAYS_C = {"always c": {"a": "qa", "b": "qb", "c": "qc"}}


def ips_of_c(log, **options):
    told = hn.replay(log, "a", "l", "p", learner=UNIFORM, policies=ALWAYS_C, runs=1, **options)
    return told.learners[-1].estimates["ips"]


def test_a_late_action_misses_without_the_smallest_probabilities_and_is_reported_with_them():
    """Policy "always c" costs 1 per row; 120 logs in which c had no chance in the first 20%.

    The control, without the column: more than 20 of 120 intervals miss, which has probability 5.5e-7 at 95%. With the
    column every log is rejected; intervals from its rows above 0 are valid: fewer than 100 contain 1 in 5.5e-7.
    """
    misses = covered = 0
    for seed in range(120):
        log = late(seed)
        with contextlib.suppress(NoSupport):
            misses += not ips_of_c(log).interval[1] >= 1.0
        with pytest.raises(NoSupport, match=r"is 0 in 400 of 2000 rows, between row 1 and row 400.*never drawn.*'c'"):
            ips_of_c(log, smallest="smallest_probability")
        some = {name: column[log["smallest_probability"] > 0.0] for name, column in log.items()}
        estimate = ips_of_c(some, smallest="smallest_probability")
        covered += estimate.interval[0] <= 1.0 <= estimate.interval[1]
        assert "verified by column 'smallest_probability'" in estimate.method
        assert "assumed" not in estimate.method
    assert misses > MOST_MISSES
    assert covered >= FEWEST_OF_120
    assert "assumed, not verified" in ips_of_c(some).method


def test_the_verified_floor_is_in_the_interval():
    """An arm with probability 0.01 that is never drawn in the evaluated rows: only its column shows it.

    The weights are bounded by 2^7, the next power of two above 100, at a miss probability of 0.05/(7*8).
    """
    rng = np.random.default_rng(0)
    rows = 20000
    a = rng.integers(2, size=rows)
    log = {"a": a, "l": rng.random(rows), "p": np.full(rows, 0.5), "s": np.full(rows, 0.01)}
    log |= {"q0": np.full(rows, 0.3), "q1": np.full(rows, 0.7)}
    policies = {"own": {"0": "q0", "1": "q1"}}
    told = hn.replay(log, "a", "l", "p", policies=policies, runs=1, smallest="s")
    estimate = told.learners[-1].estimates["ips"]
    terms = np.where(a == 0, 0.3, 0.7) / 0.5 * log["l"]
    before = np.concatenate([[0.0], terms.cumsum()[:-1] / np.arange(1, rows)])
    squares = np.square(terms - before).sum()
    low, high = of_mean(terms.sum(), squares, rows, 128.0, 1.0 - 0.05 / 56)
    assert 0.0 < low < high < 1.0
    assert estimate.interval == pytest.approx((low, high), rel=1e-9)
    assert told.to_dict()["smallest"] == {"column": "s", "value": 0.01}
    assert "below 2^-7 in any row" in estimate.method
    plain = hn.replay(log, "a", "l", "p", policies=policies, runs=1)
    assert plain.to_dict()["smallest"] is None
    assert plain.learners[-1].estimates["ips"].interval[1] < estimate.interval[1]


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (0.6, r"row 1, column 's': .* at most the propensity .* got 0.6"),
        (-0.1, r"row 1, column 's': .* got -0.1"),
        (0.4, r"must be at most 1/3, because the log has 3 actions; got 0.4"),
        (np.nan, r"got 90 empty rows of 90"),
        (1e-200, r"must be at least 1e-100.*got 1e-200"),
    ],
)
def test_an_invalid_smallest_probability_is_rejected(change, match):
    log = {"a": np.arange(90) % 3, "l": np.full(90, 0.5), "p": np.full(90, 0.5), "s": np.full(90, change)}
    with pytest.raises(ValueError, match=match):
        hn.replay(log, "a", "l", "p", smallest="s")


def test_smallest_probability_needs_propensities():
    log = {"a": np.arange(90) % 3, "l": np.full(90, 0.5), "s": np.full(90, 1 / 3)}
    with pytest.raises(BadTable, match=r"propensity is required with smallest.*'s'"):
        hn.replay(log, "a", "l", smallest="s")
    with pytest.raises(BadTable, match="one role; got 'p' as the propensity and as the smallest probability"):
        hn.replay(log | {"p": log["s"]}, "a", "l", "p", smallest="p")


def test_the_command_takes_both_options(tmp_path):
    """The same numbers as from the function; empty cells of a CSV file are empty losses."""
    log = clicks(1000, 1) | {"s": np.full(1000, 0.5)}
    lines = ["arm,reward,p,s"]
    for arm, reward, p, s in zip(*log.values(), strict=True):
        lines.append(f"{arm},{'' if np.isnan(reward) else reward},{p},{s}")
    file = tmp_path / "log.csv"
    file.write_text("\n".join(lines) + "\n")
    options = [str(file), "--action", "arm", "--loss", "reward", "--gains", "--propensity", "p", "--runs", "1"]
    failed = CliRunner().invoke(command, options)
    assert re.search(r"empty rows of 1000.*--missing", str(failed.exception))
    done = CliRunner().invoke(command, [*options, "--missing", "0", "--smallest", "s", "--json"])
    told = json.loads(done.stdout)
    same = hn.replay(log, "arm", "reward", "p", gains=True, runs=1, missing=0, smallest="s")
    assert told["learners"] == same.to_dict()["learners"]
    assert (told["missing"]["meaning"], told["smallest"]) == (0.0, {"column": "s", "value": 0.5})
    dropped = CliRunner().invoke(command, [*options, "--missing", "drop", "--json"])
    assert json.loads(dropped.stdout)["rows"] < 200
    wrong = CliRunner().invoke(command, [*options, "--missing", "never"])
    assert "missing must be a number or 'drop'; got 'never'" in str(wrong.exception)
