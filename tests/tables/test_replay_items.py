"""Replay by items: unbiased estimates of items and fixed slates, their intervals, and logs that do not support them."""

import math

import numpy as np
import pytest

import hannan as hn
from tests.oracles.rejections import rejected

MEANS = np.array([0.2, 0.3, 0.5, 0.6, 0.7])


def logged_game(rounds, seed):
    """Return the log of a game of slates."""
    rng, rows = np.random.default_rng(seed), []
    player = hn.SlateBandit(5, 2, hn.Fixed(8.0), draw="conditional").start(seed=seed)
    losses = (rng.random((rounds, 5)) < MEANS).astype(float)
    for t in range(rounds):
        move = player.act()
        shown = list(move.actions)
        player.observe(move, losses[t, shown])
        rows += [(t, i, losses[t, i], p) for i, p in zip(shown, move.probabilities, strict=True)]
    return dict(zip(("page", "item", "loss", "p"), map(np.array, zip(*rows, strict=True)), strict=True)), losses


def replayed(log, **options):
    options = {"slates": {"first": [0, 1], "last": [3, 4]}} | options
    return hn.replay(log, "item", "loss", "p", by="items", slate="page", **options)


def test_intervals_cover_the_losses_of_items_and_slates():
    """60 games, 2 slates and 5 items at 95%: conservative intervals. Five misses occur with probability below 0.2%."""
    missed, errors = 0, []
    for seed in range(60):
        log, losses = logged_game(400, seed)
        told = replayed(log)
        for estimate, members in zip(told.slates, ([0, 1], [3, 4]), strict=True):
            truth = losses[:, members].sum(axis=1).mean()
            missed += not estimate.interval[0] <= truth <= estimate.interval[1]
            errors.append((estimate.value - truth) / estimate.error)
        by_name = {int(one.name): one for one in told.single}
        missed += any(not by_name[i].interval[0] <= losses[:, i].mean() <= by_name[i].interval[1] for i in range(5))
    assert missed < 5
    # The mean of 120 standardized errors is 0 within five standard errors, for dependent pairs.
    assert abs(np.mean(errors)) < 5.0 * math.sqrt(2.0 / 120.0)


def test_control_other_propensities_are_rejected_or_biased():
    log, losses = logged_game(2000, 0)
    with pytest.raises(ValueError, match="inclusion probabilities"):
        replayed(log | {"p": log["p"] / 2.0})
    # Without the check, x/m instead of x doubles the corrections.
    truth = losses[:, [0, 1]].sum(axis=1).mean()
    weighted = (log["loss"] / (log["p"] / 2.0))[np.isin(log["item"], [0, 1])].sum() / 2000
    assert abs(weighted - truth) > 0.3


def test_estimates_equal_the_definition():
    log, _ = logged_game(80, 3)
    told = replayed(log, slates={"two": [1, 3]})
    total = 0.0
    for item in (1, 3):
        seen = []
        for t in range(80):
            r = np.mean(seen) if seen else 0.5
            here = np.flatnonzero((log["page"] == t) & (log["item"] == item))
            total += r + sum((log["loss"][k] - r) / log["p"][k] for k in here)
            seen += [log["loss"][k] for k in here]
    assert told.slates[0].value == pytest.approx(total / 80)
    assert told.logged.value == pytest.approx(log["loss"].sum() / 80)


def test_result_prints_and_exports():
    log, _ = logged_game(300, 1)
    told = replayed(log, gains=True, missing=0.0)
    assert told.best_item.name in ("3", "4")
    text = str(told)
    assert "Mean gain per round" in text
    assert "one" not in told.items
    assert len(told.to_frame()) == 1 + 2 + 5
    assert told.to_dict()["rounds"] == 300


def test_missing_feedback_counts_as_stated():
    log, _ = logged_game(300, 2)
    holes = log | {"loss": np.where(np.arange(600) % 7 == 0, np.nan, log["loss"])}
    zeros = log | {"loss": np.where(np.arange(600) % 7 == 0, 0.0, log["loss"])}
    rejected(lambda: replayed(holes), "'loss'", "row 0", "missing")
    assert replayed(holes, missing=0.0).slates[0].value == replayed(zeros).slates[0].value


@pytest.mark.parametrize(
    ("change", "options", "parts"),
    [
        ({}, {"slates": {"x": [0, 9]}}, ("'x'", "'9'")),
        ({}, {"slates": {"x": [0, 0]}}, ("'x'", "different")),
        ({}, {"missing": "drop"}, ("missing", "'drop'")),
        ({}, {"learner": "bandit"}, ("learner", "items")),
        ({"p": 0.0}, {}, ("'p'", "(0, 1]")),
        ({"loss": 1.5}, {}, ("'loss'", "1.5", "row 3")),
        ({"item": "twice"}, {}, ("twice", "slate")),
    ],
)
def test_rejects_invalid_logs_and_arguments(change, options, parts):
    log, _ = logged_game(60, 0)
    for name, value in change.items():
        log[name] = log[name].copy()
        log[name][3] = log["item"][2] if value == "twice" else value
    rejected(lambda: replayed(log, **options), *parts)


def test_rejects_missing_columns_and_other_modes():
    log, _ = logged_game(60, 0)
    rejected(lambda: hn.replay(log, "item", "loss", by="items", slate="page"), "propensity")
    rejected(lambda: hn.replay(log, "item", "loss", "p", by="items"), "slate")
    rejected(lambda: hn.replay(log, "item", "loss", "p", slate="page"), "slate", "items")
    rejected(lambda: hn.replay(log, "item", "loss", "p", by="pages"), "by", "'pages'")
