"""Replay of logs: unbiased where the truth is known, with intervals that contain it, and errors for unsuitable logs."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from click.testing import CliRunner

import hannan as hn
from hannan.cli.replay import command
from hannan.mathematics.intervals import clopper_pearson
from hannan.tables.read.table import BadTable
from hannan.tables.replay.evaluated import comparators, replay_page
from hannan.tables.replay.log import Log, NoSupport, Scope, check_uniform, estimates

MEANS = np.array([0.2, 0.5, 0.8])


def log_of(rows, odds, seed, means=MEANS):
    rng = np.random.default_rng(seed)
    a = rng.choice(len(means), p=odds, size=rows)
    return {"a": a, "l": (rng.random(rows) < means[a]).astype(float), "p": np.asarray(odds)[a]}


def test_a_learner_that_never_learns_has_a_known_value():
    """Hedge at an enormous scale plays uniformly: every estimate is of the mean of the arms.

    Four estimates on each of 60 logs; a z above 6 has probability 2e-9, so false alarms are below 1e-6.
    """
    learner = hn.Bandit(3, hn.Entropy(), hn.Fixed(1e9))
    errors = {name: [] for name in ("replay", "ips", "snips", "dr")}
    covered = dict.fromkeys(errors, 0)
    for seed in range(60):
        told = hn.replay(log_of(2000, [0.2, 0.3, 0.5], seed), "a", "l", "p", learner=learner, runs=1, seed=seed)
        for name, estimate in told.learners[0].estimates.items():
            assert abs(estimate.value - 0.5) < 6 * estimate.error
            errors[name].append(estimate.value - 0.5)
            covered[name] += estimate.interval[0] <= 0.5 <= estimate.interval[1]
    for name, all_errors in errors.items():
        # The mean of 60 is within 6 of its own standard errors, and most 95% intervals contain the truth.
        spread = np.std(all_errors) / np.sqrt(60)
        assert abs(np.mean(all_errors)) < 6 * spread, name
        assert covered[name] >= 46, name  # binomial(60, .95): below 46 has probability 4e-7


def test_estimates_agree_with_a_game_of_the_same_length():
    """The accepted rows are a game of the learner: the same mean loss as in a Bernoulli game of the same length."""
    learner = hn.Bandit(3)
    accepted, values = [], []
    for seed in range(40):
        log = log_of(1500, [0.25, 0.25, 0.5], 100 + seed)
        one = hn.replay(log, "a", "l", "p", learner=learner, runs=1, seed=seed).learners[0]
        accepted.append(one.accepted)
        values.append(one.estimates["replay"].value)
    rounds = int(np.mean(accepted))
    # Acceptance is floor * sum_a q(a) = 1/4 of the rows.
    assert abs(rounds - 375) < 6 * np.sqrt(1500 * 0.25 * 0.75 / 40) + 1
    rng = np.random.default_rng(7)
    losses = (rng.random((300, rounds, 3)) < MEANS).astype(float)
    record = hn.play(learner, losses, runs=300)
    own = (record.regret[:, -1] + record.best_loss) / rounds
    error = np.sqrt(np.var(values) / len(values) + np.var(own) / len(own))
    assert abs(np.mean(values) - own.mean()) < 6 * error


def test_uniform_logs_need_no_propensities():
    log = log_of(3000, np.full(3, 1 / 3), 1)
    told = hn.replay(log, "a", "l", runs=2)
    with_odds = hn.replay(log, "a", "l", "p", runs=2)
    for name, estimate in told.learners[0].estimates.items():
        assert estimate.value == pytest.approx(with_odds.learners[0].estimates[name].value, rel=1e-6)
    assert told.best_action.name == "0"
    assert told.logged.value == pytest.approx(log["l"].mean())
    for i, single in enumerate(sorted(told.single, key=lambda e: e.name)):
        assert single.value == pytest.approx(log["l"][log["a"] == i].mean())


def test_a_learner_that_learns_is_better_than_the_log():
    log = log_of(6000, [0.2, 0.2, 0.6], 2)
    told = hn.replay(log, "a", "l", "p", learner=["bandit", "exp3", "bandit:exponential"], runs=3)
    for one in told.learners:
        assert one.estimates["dr"].interval[1] < told.logged.value
        assert one.estimates["dr"].error <= one.estimates["ips"].error
        assert 0 < one.effective <= 6000
    assert [one.name for one in told.learners] == ["bandit", "exp3", "bandit:exponential"]
    assert "effective" in str(told)


def test_advice_selects_a_bandit_with_experts():
    """The context determines the good arm; one expert uses it."""
    rng = np.random.default_rng(3)
    rows = 6000
    context = rng.integers(2, size=rows)
    means = np.array([[0.1, 0.9], [0.9, 0.1]])
    a = rng.integers(2, size=rows)
    log = {"a": a, "l": (rng.random(rows) < means[context, a]).astype(float),
           "knows": context, "wrong": 1 - context, "zero": np.zeros(rows, dtype=int)}  # fmt: skip
    told = hn.replay(log, "a", "l", advice=["knows", "wrong", "zero"], runs=2)
    assert told.learners[0].learner.startswith("ExpertBandit(2, 3")
    assert told.learners[0].estimates["dr"].value < 0.2
    clipped = hn.replay(log, "a", "l", advice=["knows", "wrong", "zero"], learner=hn.ExpertBandit(2, 3, clip="tuned"))
    assert clipped.learners[0].estimates["snips"].value < 0.3
    blind = hn.replay(log, "a", "l", runs=2)
    assert blind.learners[0].estimates["dr"].value > 0.4


def test_estimates_of_gains_mirror_those_of_losses():
    log = log_of(3000, np.full(3, 1 / 3), 4)
    losses = hn.replay(log, "a", "l", runs=2)
    gains = hn.replay(log | {"l": 1.0 - log["l"]}, "a", "l", runs=2, gains=True)
    assert gains.best_action.name == losses.best_action.name
    for name in ("replay", "ips", "snips"):
        mine = gains.learners[0].estimates[name].value
        assert abs(mine - (1.0 - losses.learners[0].estimates[name].value)) < 0.05


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"p": None}, "uniformly; got .* x '2'"),
        ({"p": np.full(3000, 1 / 3)}, "propensities do not fit the log"),
        ({"p": np.ones(3000)}, "could not be drawn in part of the log"),
        ({"p": np.zeros(3000)}, r"row 1: propensity must be in \[1e-100, 1\]; got 0"),
        ({"p": np.full(3000, 1.5)}, r"propensity must be in \[1e-100, 1\]; got 1.5"),
        ({"p": np.full(3000, np.nan)}, "row 1, column 'p': a value is required"),
        ({"l": np.full(3000, 2.0)}, "loss must be in the stated range 0:1; got 2"),
        ({"l": np.full(3000, np.nan)}, "loss in every row; got 3000 empty rows of 3000, the first at row 1"),
        ({"actions": ["0", "1", "2", "3"]}, "every action must occur in the log.*'3'"),
        ({"actions": ["0", "1"]}, "must be one of the stated actions; got '2'"),
        ({"learner": "hedge"}, "learner must be bandit"),
        ({"learner": "foo"}, "learner must be one of bandit, exp3, or kind:smoothing such as bandit:log-barrier; got"),
        ({"learner": hn.Bandit(4)}, "a bandit with the 3 actions"),
        ({"learner": hn.Experts(3)}, "learner must be Bandit"),
        ({"runs": 0}, "runs"),
        ({"level": 1.0}, "level"),
    ],
)
def test_logs_without_support_are_rejected(change, match):
    log = log_of(3000, [0.1, 0.2, 0.7], 5)
    options = {k: v for k, v in change.items() if k in ("actions", "learner", "runs", "level")}
    log |= {k: v for k, v in change.items() if k in log and v is not None}
    propensity = None if "p" in change and change["p"] is None else "p"
    with pytest.raises(ValueError, match=match):
        hn.replay(log, "a", "l", propensity, **options)


def test_log_with_an_impossible_action_is_rejected():
    """A log whose policy chose by context: in half of the rows one action was certain."""
    rng = np.random.default_rng(6)
    context = rng.integers(2, size=4000)
    a = np.where(context == 1, 0, rng.integers(2, size=4000))
    p = np.where(context == 1, 1.0, 0.5)
    with pytest.raises(NoSupport, match=r"'1'.*could not be drawn in part of the log"):
        hn.replay({"a": a, "l": np.zeros(4000), "p": p}, "a", "l", "p")


def test_estimates_from_few_effective_rows_are_rejected():
    """An action with a propensity of 1e-4 that the learner plays half of the time."""
    rng = np.random.default_rng(0)
    a = np.zeros(3000, dtype=int)
    a[rng.integers(3000, size=2)] = 1
    p = np.where(a == 1, 1e-4, 1 - 1e-4)
    with pytest.raises(NoSupport):
        hn.replay({"a": a, "l": np.zeros(3000), "p": p}, "a", "l", "p")


def test_the_uniformity_test_keeps_its_level():
    """Uniform counts are rejected with probability 1e-6: not once in 200."""
    rng = np.random.default_rng(1)
    for _ in range(200):
        check_uniform(rng.multinomial(5000, np.full(10, 0.1)).astype(float), [str(i) for i in range(10)])
    with pytest.raises(NoSupport, match="about 5 per action"):
        check_uniform(np.ones(10), [str(i) for i in range(10)])


def test_few_accepted_rows_have_no_interval():
    sums = np.array([100.0, 100, 120, 40, 30, 35, 25, 41, 20, 5, 2, 1.5, 14, 3, 1])
    assert "replay" not in estimates(sums, Scope(100, (0.0, 1.0), 2.0, 0.95))


def test_empty_labels_are_rejected():
    log = Log()
    with pytest.raises(BadTable, match="row 2: the action is required"):
        log.add(["a", ""], np.zeros(2), None, [], 1)


def write(path, log):
    names = list(log)
    lines = [",".join(names)] + [",".join(str(x) for x in row) for row in zip(*log.values(), strict=True)]
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def test_command(tmp_path):
    log = log_of(3000, [0.2, 0.3, 0.5], 8)
    log["a"] = np.array(["<b>x</b>", "=1+1", "z"])[log["a"]]
    file = write(tmp_path / "log.csv", log)
    options = [file, "--action", "a", "--loss", "l", "--propensity", "p", "--learner", "exp3", "--runs", "2"]
    result = CliRunner().invoke(command, [*options, "--json", "--out", str(tmp_path / "out")], catch_exceptions=False)
    told = json.loads(result.stdout)
    same = hn.replay(log, "a", "l", "p", learner="exp3", runs=2)
    assert told["learners"][0]["dr"]["value"] == same.learners[0].estimates["dr"].value
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["index.html", "summary.json"]
    page = (tmp_path / "out" / "index.html").read_text()
    assert "&lt;b&gt;x&lt;/b&gt;" in page
    assert "<b>x</b>" not in page
    plain = CliRunner().invoke(command, options, catch_exceptions=False)
    assert "logged policy" in plain.stdout
    piped = CliRunner().invoke(command, ["-", *options[1:], "--json"], input=(tmp_path / "log.csv").read_text())
    assert json.loads(piped.stdout)["learners"] == told["learners"]


def test_rejected_command_writes_nothing(tmp_path):
    log = log_of(300, [0.1, 0.2, 0.7], 9)
    file = write(tmp_path / "log.csv", log)
    out = ["--out", str(tmp_path / "out")]
    for options, match in [
        (["--action", "a", "--loss", "l"], "uniformly"),
        (["--action", "b", "--loss", "l"], "no column 'b'"),
        (["--action", "a", "--loss", "l", "--propensity", "p", "--range", "x"], "LOW:HIGH"),
        (["--action", "a", "--loss", "l", "--propensity", "p", "--context-advice", "e"], "no column 'e'"),
    ]:
        result = CliRunner().invoke(command, [file, *options, *out])
        assert match in str(result.exception)
        assert [p.name for p in tmp_path.iterdir()] == ["log.csv"]


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        (("a", "a", "p", ()), "'a' as the action and as the loss"),
        (("a", "l", "l", ()), "'l' as the loss and as the propensity"),
        (("a", "l", "p", ("a",)), "'a' as the action and as advice"),
        (("a", "l", "p", ("e", "e")), "'e' as advice twice"),
    ],
)
def test_a_column_of_a_log_has_one_role(columns, says, tmp_path):
    action, loss, propensity, advice = columns
    frame = {name: np.ones(9) for name in "alpe"}
    with pytest.raises(ValueError, match=f"a column must have only one role; got {says}"):
        hn.replay(frame, action, loss, propensity, advice)
    (tmp_path / "log.csv").write_text("a,l,p,e\n1,1,1,1\n")
    options = ["--action", action, "--loss", loss, "--propensity", propensity]
    options += ["--context-advice", ",".join(advice)] if advice else []
    done = CliRunner().invoke(command, [str(tmp_path / "log.csv"), *options])
    assert says in str(done.exception)


@pytest.mark.filterwarnings("error")
def test_numbers_that_would_overflow_are_rejected():
    frame = {"a": np.arange(60) % 2, "l": np.full(60, 0.5), "p": np.full(60, 0.5)}
    frame["p"][7] = 1e-320
    with pytest.raises(ValueError, match=r"row 8: propensity must be in \[1e-100, 1\]; got 9.99989e-321"):
        hn.replay(frame, "a", "l", "p")
    frame["p"][7], frame["l"] = 0.5, np.linspace(0.0, 1e200, 60)
    with pytest.raises(ValueError, match="must have finite squares; theirs overflow"):
        hn.replay(frame, "a", "l", "p", loss_range=(0.0, 1e200))


# Rare events, the best of many, user-defined policies, contexts


def rare(seed, arms=80, rows=10_000, rate=0.005):
    rng = np.random.default_rng(seed)
    return {"a": rng.integers(arms, size=rows), "l": (rng.random(rows) < rate).astype(float)}


def test_action_without_clicks_has_a_positive_upper_end():
    log = rare(0)
    told = hn.replay(log, "a", "l", gains=True, runs=1)
    for one in told.single:
        low, high = one.interval
        assert low <= one.value <= high
        assert high > 0.02
        assert "Clopper" in one.method
        mine = log["l"][log["a"] == int(one.name)]
        # All 80 at once: each at 1 - 0.05/80, two-sided.
        assert one.interval == pytest.approx(clopper_pearson(int(mine.sum()), len(mine), 1.0 - 0.05 / 80 / 2))
    assert min(one.value for one in told.single) == 0.0
    text = str(told)
    assert "0 .. 0" not in text
    for estimate in told.learners[0].estimates.values():
        low, high = estimate.interval
        assert 0.0 <= low <= high <= 1.0
        assert high > estimate.value


def test_intervals_of_eighty_actions_hold_simultaneously():
    """All 80 simultaneous intervals hold in at least 95% of the logs: below 46 of 60 has probability 4e-7.

    The control: 80 single intervals at 95% all hold in few logs.
    """
    whole = alone = 0
    for seed in range(60):
        data, log = rare(seed), Log()
        log.add([str(a) for a in data["a"]], data["l"], None, [], 1)
        log.check()
        _, single = comparators(log, Scope(len(log), (0.0, 1.0), 80.0, 0.95))
        whole += all(one.interval[0] <= 0.005 <= one.interval[1] for one in single)
        each = [clopper_pearson(round(one.value * n), int(n), 0.975) for one, n in zip(single, log.counts, strict=True)]
        alone += all(low <= 0.005 <= high for low, high in each)
        log.close()
    assert whole >= 46
    assert alone < 30


def test_fixed_policy_has_no_learning_curve():
    log = log_of(300, np.full(3, 1 / 3), 4) | {f"q{i}": np.full(300, q) for i, q in enumerate((0.1, 0.2, 0.7))}
    told = hn.replay(log, "a", "l", policies={"mostly 2": {"0": "q0", "1": "q1", "2": "q2"}}, runs=1)
    assert re.search(r"mostly 2 +a fixed policy: it learns nothing", str(told))
    assert "withheld" not in str(told)
    learner, policy = told.to_dict()["learners"]
    assert (learner["accepted"] > 30, policy["accepted"]) == (True, None)
    table, settles = replay_page(told).sections[1].blocks[:2]
    assert {row[5] for row in table.rows if row[0].text == "mostly 2"} == {None}
    assert table.caption.endswith("A user-defined policy does not learn, so it has no accepted rows.")
    assert settles.picture.alt.endswith("User-defined policies are not drawn, because they do not learn.")


@pytest.mark.parametrize("uniform", [True, False])
def test_user_defined_policy_has_a_known_value(uniform):
    """Two policies on 40 logs: each estimate is within 6 standard errors, and its interval contains the truth.

    240 values of z above 6 have probability 5e-7; of 40 intervals at 95%, below 28 has probability 3e-8.
    """
    odds = np.full(3, 1 / 3) if uniform else np.array([0.2, 0.3, 0.5])
    q = np.array([0.7, 0.2, 0.1])
    covered = 0
    for seed in range(40):
        log = log_of(1500, odds, 900 + seed)
        log |= {f"q{i}": np.full(1500, q[i]) for i in range(3)}
        log |= {"zero": np.zeros(1500), "one": np.ones(1500)}
        policies = {"mine": {"0": "q0", "1": "q1", "2": "q2"}, "always": {"0": "one", "1": "zero"}}
        told = hn.replay(log, "a", "l", None if uniform else "p", policies=policies, runs=1)
        mine, always = told.learners[1:]
        assert [mine.name, always.name] == ["mine", "always"]
        for one, truth in ((mine, q @ MEANS), (always, 0.2)):
            assert "replay" not in one.estimates
            for estimate in one.estimates.values():
                assert abs(estimate.value - truth) < 6 * estimate.error
        covered += mine.estimates["snips"].interval[0] <= q @ MEANS <= mine.estimates["snips"].interval[1]
        # Always the same action: the estimate of that action, except for the simultaneous interval.
        single = next(one for one in told.single if one.name == "0")
        assert always.estimates["snips"].value == pytest.approx(single.value)
    assert covered >= 28


@pytest.mark.parametrize(
    ("policies", "match"),
    [
        ({"mine": {"0": "x", "1": "y", "2": "y"}}, "a different column for each action"),
        ({"mine": {"0": "x", "1": "y"}}, r"row 1: probabilities of policy 'mine' must be in \[0, 1\] and sum to 1"),
        ({"mine": ["x", "y"]}, "'mine' must be {action: column"),
        ({"mine": {"0": "l", "1": "y"}}, "a column must have only one role; got 'l' as the loss and as a probability"),
        (
            {"mine": {"0": "half", "9": "other"}},
            "policy 'mine' plays an action that is not in the log.*'9'",
        ),
        ({"mine": {"0": "none", "1": "y"}}, "no column 'none'"),
    ],
)
def test_invalid_policies_are_rejected(policies, match):
    log = log_of(600, np.full(3, 1 / 3), 1)
    log |= {"x": np.full(600, 0.3), "y": np.full(600, 0.3), "half": np.full(600, 0.5), "other": np.full(600, 0.5)}
    with pytest.raises(ValueError, match=match):
        hn.replay(log, "a", "l", "p", policies=policies)


def test_contexts_become_advice():
    """Which arm is good depends on the context: its expert learns this, and a bandit without contexts cannot."""
    rng = np.random.default_rng(3)
    context = rng.integers(2, size=6000)
    means = np.array([[0.1, 0.9], [0.9, 0.1]])
    a = rng.integers(2, size=6000)
    log = {"a": a, "l": (rng.random(6000) < means[context, a]).astype(float), "device": np.array(["tv", "pc"])[context],
           "day": rng.integers(7, size=6000)}  # fmt: skip
    told = hn.replay(log, "a", "l", contexts=["device", "day"], runs=2)
    assert told.learners[0].learner.startswith("ExpertBandit(2, 2")
    assert told.learners[0].estimates["dr"].value < 0.2
    assert hn.replay(log, "a", "l", contexts=["day"], runs=2).learners[0].estimates["dr"].value > 0.4
    with pytest.raises(ValueError, match="'a' as the action and as a context"):
        hn.replay(log, "a", "l", contexts=["a"])


def test_contexts_claim_no_gain_in_noise():
    """Losses that depend on nothing, 400 contexts: a model of the rows before claims no gain.

    A policy fitted to the whole log claims half of the loss, with a wrong interval. The seed is fixed.
    """
    rng = np.random.default_rng(0)
    a, context, losses = (
        rng.integers(4, size=4000),
        rng.integers(400, size=4000),
        rng.integers(2, size=4000).astype(float),
    )
    paid, seen = np.zeros((400, 4)), np.zeros((400, 4))
    np.add.at(paid, (context, a), losses)
    np.add.at(seen, (context, a), 1.0)
    whole = np.where(seen > 0, paid / np.maximum(seen, 1.0), 1.0).argmin(axis=1)[context]
    log = {"a": a, "l": losses, "c": context, "whole": whole}
    told = hn.replay(log, "a", "l", contexts=["c"], runs=2)
    low, high = told.learners[0].estimates["dr"].interval
    assert low < 0.5 < high
    assert "from earlier rows only" in told.condition
    # The control.
    fitted = hn.replay(log, "a", "l", advice=["whole"], runs=2)
    assert fitted.learners[0].estimates["dr"].interval[1] < 0.3
    assert "whole must not have been fitted to the losses of this log" in fitted.condition
    assert fitted.to_dict()["condition"] == fitted.condition
    assert hn.replay(log, "a", "l", runs=1).condition == ""


def test_command_accepts_policies_and_contexts(tmp_path):
    log = log_of(2000, [0.2, 0.3, 0.5], 8)
    log |= {"q0": np.full(2000, 0.5), "q1": np.full(2000, 0.5), "day": np.arange(2000) % 7}
    file = write(tmp_path / "log.csv", log)
    options = ["--action", "a", "--loss", "l", "--propensity", "p", "--runs", "1", "--json"]
    mine = ["--policy", "mine=0:q0,1:q1", "--contexts", "day"]
    told = json.loads(CliRunner().invoke(command, [file, *options, *mine], catch_exceptions=False).stdout)
    same = hn.replay(log, "a", "l", "p", policies={"mine": {"0": "q0", "1": "q1"}}, contexts=["day"], runs=1)
    assert [one["name"] for one in told["learners"]][-1] == "mine"
    for mine, one in zip(told["learners"], same.learners, strict=True):
        assert mine["dr"]["value"] == pytest.approx(one.estimates["dr"].value)
    wrong = CliRunner().invoke(command, [file, *options, "--policy", "mine"])
    assert "NAME=ACTION:COLUMN" in str(wrong.exception)


def test_chart_of_many_actions_contains_learner_and_logged_policy():
    from hannan.tables.replay.evaluated import spans

    rng = np.random.default_rng(0)
    log = {"a": [f"{k:02d}" for k in rng.integers(50, size=3000)], "r": (rng.random(3000) < 0.02).astype(float)}
    picture = spans(hn.replay(log, "a", "r", gains=True, runs=1))
    kinds = [row["kind"] for row in picture.layers[0].rows]
    assert (kinds.count("logged"), kinds.count("learner"), kinds.count("one action")) == (1, 1, 28)
    assert "the best 28 of 50 actions" in picture.alt
