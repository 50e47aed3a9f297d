"""Numbers printed by commands and pages: each has the stated meaning, and each option has an effect."""

from __future__ import annotations

import json
import math
import re

import numpy as np
import pytest

import hannan as hn
from benchmarks.tournament.contest import Outcome
from benchmarks.tournament.page import standings
from hannan.audits.sampling import audit_by_sampling
from hannan.cli import commands
from hannan.cli.play import _page
from hannan.saving.formatting import ceiling, figure, number
from hannan.tables.combine.hindsight import best_combination
from hannan.tables.combine.losses import Absolute
from hannan.tables.combine.page import combined_page
from hannan.tables.combine.timing import Pending, Timing
from hannan.tables.replay.evaluated import replay_page
from hannan.tables.replay.log import Scope, estimates
from hannan.tables.route import route_page


@pytest.fixture
def told(capsys, tmp_path, monkeypatch):
    """The JSON of a command."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    rows = rng.random((200, 3))
    (tmp_path / "t.csv").write_text("a,b,y\n" + "".join(f"{a},{b},{y}\n" for a, b, y in rows.round(6)))
    log = [(k % 2, rng.random()) for k in range(400)]
    (tmp_path / "log.csv").write_text("a,l\n" + "".join(f"{a},{loss:.6f}\n" for a, loss in log))

    def run(*arguments):
        assert commands.run([*arguments, "--json"]) in (0, 1)
        return json.loads(capsys.readouterr().out)

    return run


# Options have an effect


def test_combine_seed_changes_the_draws(told, tmp_path):
    drawn = []
    for seed in (0, 3):
        told("combine", "t.csv", "--target", "y", "--learner", "adahedge", "--seed", str(seed), "--out", f"out{seed}")
        lines = (tmp_path / f"out{seed}" / "combined.csv").read_text().splitlines()[1:]
        drawn.append([line.split(",")[2] for line in lines])
    # Two sequences of 200 fair draws are equal with probability 2^-200.
    assert drawn[0] != drawn[1]


def test_replay_and_route_depend_on_the_seed(told):
    for arguments in (("replay", "log.csv", "--action", "a", "--loss", "l", "--runs", "1"),
                      ("route", "t.csv", "--learner", "exp3", "--runs", "1")):  # fmt: skip
        first, same, other = (told(*arguments, "--seed", seed)["learners"][0] for seed in "003")
        kept = [{k: v for k, v in one.items() if k != "seconds"} for one in (first, same, other)]
        assert kept[0] == kept[1] != kept[2]


def test_play_seed_is_used_for_game_and_adversary(told):
    data = told("play", "--learner", "exp3", "--n", "3", "--rounds", "50", "--runs", "3", "--seed", "7")
    losses = hn.adversaries.all_adversaries()["switching"](50, 3, seed=7)
    record = hn.play(hn.exp3(3, 50), losses, runs=3, seed=7)
    assert data["mean_regret"] == record.mean_regret.tolist()
    # The control: another seed, in either place, gives another record.
    assert data["mean_regret"] != hn.play(hn.exp3(3, 50), losses, runs=3, seed=8).mean_regret.tolist()


def test_cap_and_best_loss_options_change_the_result(told):
    plain, capped = (
        told("combine", "t.csv", "--target", "y", *more)["mixture"]["total"] for more in ((), ("--cap", ".1"))
    )
    assert capped <= 0.1 * 200 < plain
    near, far = (told("bound", "--n", "5", "--best-loss", best)["bound"]["value"] for best in ("10", "1000"))
    assert near == pytest.approx(hn.Experts(5, tuning=hn.BestLoss(10.0)).bound(best_loss=10.0).value)
    assert far > 5 * near
    played = told("play", "--n", "5", "--rounds", "20", "--runs", "1", "--best-loss", "13")
    assert "BestLoss(bound=13.0" in played["learner"]


STEEP = """
import numpy as np

def play(losses, rng):
    L = np.reshape(losses, (-1, 2)).sum(axis=0)
    return int(rng.random() < 1.0 / (1.0 + np.exp(2.0 * (L[1] - L[0]))))
"""


def test_audit_uses_confidence_and_delta(told, tmp_path):
    (tmp_path / "fixed_player.py").write_text(STEEP)
    arguments = ("audit", "fixed_player:play", "--n", "2", "--samples", "2000")
    sure, unsure = (told(*arguments, "--confidence", level) for level in ("0.999", "0.6"))
    assert (sure["confidence"], unsure["confidence"]) == (0.999, 0.6)
    assert sure["lower"] < unsure["lower"]
    assert told(*arguments, "--delta", "0.2")["delta"] == 0.2
    exact = ("audit", "--smoothing", "laplace", "--scale", "2", "--n", "2")
    pure, loose = told(*exact), told(*exact, "--delta", "0.1")
    assert loose["claim"]["delta"] == 0.1
    assert loose["measured"] < pure["measured"]


def test_bound_uses_best_loss_and_against(told):
    at = told("bound", "--n", "5", "--tuning", "self-confident", "--rounds", "1000", "--best-loss", "10")
    assert at["bound"]["value"] == hn.Experts(5).bound(1000, 10.0).value < 0.3 * hn.Experts(5).bound(1000).value
    bandit = ("bound", "--learner", "bandit", "--n", "5", "--rounds", "1000")
    assert told(*bandit, "--against", "oblivious")["bound"]["against"] == "oblivious"
    assert commands.run([*bandit, "--against", "any"]) == 2  # no bound is proved


def test_audit_uses_gamma(told):
    data = told("audit", "--smoothing", "tsallis", "--scale", "2", "--n", "2", "--gamma", "1.2")
    assert data["claim"]["gamma"] == 1.2


def _leader(losses, rng):
    return int(np.reshape(losses, (-1, 2)).sum(axis=0).argmin())


def test_sampling_audit_splits_the_error_probability():
    """A leader that is certain: all draws before, none after, so both limits have a closed form."""
    confidence, fresh = 0.9, 500
    found = audit_by_sampling(_leader, 2, samples=4 * fresh, confidence=confidence)
    low = ((1 - confidence) / 2) ** (1 / fresh)
    assert found.lower == pytest.approx(math.log(low / (1 - low)), rel=1e-9)


# Pages


def tiles(page):
    return {tile.name.split(" (95%")[0]: tile.value for tile in page.head[0].items}


def alts(page):
    return " ".join(picture.alt for picture in page.pictures())


def test_combine_page_shows_the_computed_numbers():
    rng = np.random.default_rng(1)
    y = rng.random(300)
    table = {"a": y + 0.3, "b": rng.random(300), "y": y}
    combined = hn.combine(table, "y")
    summary = combined.summary
    # All numbers are different, so that an exchange of two would be detected.
    kept = (summary.regret, summary.mix_loss, summary.mean_loss, summary.median_loss, summary.bound.value)
    assert len({number(x) for x in kept[:3]} | {number(kept[4])}) == 4
    losses = {name: abs(table[name] - y).sum() for name in "ab"}
    best = min(losses, key=losses.get)
    own, mean = abs(combined.forecast - y).sum(), abs((table["a"] + table["b"]) / 2 - y).sum()
    page = combined_page(summary)
    beside_best, beside_mean = 100 * (1 - own / losses[best]), 100 * (1 - own / mean)
    assert tiles(page)[f"compared with {best}, your best model"] == f"{beside_best:+.1f}%"
    assert tiles(page)["compared with the average of your models"] == f"{beside_mean:+.1f}%"
    assert tiles(page)["mean loss of the combination"] == number(own / 300)
    words = ["better" if x >= 0 else "worse" for x in (beside_best, beside_mean)]
    said = f"{abs(beside_best):.1f}% {words[0]} than your best model ({best})"
    said += f", {abs(beside_mean):.1f}% {words[1]} than the equal-weight average"
    assert page.title == said
    assert summary.headline == said
    over_mean, over_best = summary.improvements
    assert (over_mean.percent, over_best.percent) == (pytest.approx(beside_mean), pytest.approx(beside_best))
    for one in summary.improvements:
        assert any(f"(95% interval {one.low:+.1f}% to {one.high:+.1f}%)" in tile.name for tile in page.head[0].items)
    assert f"Excess loss of the combination over the best expert, {figure(own - losses[best])} at the end" in alts(page)
    assert f"ends at {ceiling(summary.bound.value)}." in alts(page)
    assert f"average of models {figure(mean / 300)}" in alts(page)
    assert summary.median_loss == pytest.approx(mean)  # of two


def test_replay_page_shows_the_computed_numbers():
    rng = np.random.default_rng(2)
    log = {"a": rng.integers(2, size=600), "l": rng.random(600)}
    replayed = hn.replay(log, "a", "l", runs=2)
    page = replay_page(replayed)
    rows = {row[1]: row for row in page.sections[1].blocks[0].rows}
    for name, estimate in replayed.learners[0].estimates.items():
        low, high = estimate.interval
        assert rows[name][2:5] == (estimate.value, low, high)
        # Wider than the normal interval, which is not valid for rare events, but at most about twice as wide.
        assert 1.96 * estimate.error < min(high - estimate.value, estimate.value - low)
        assert high - low < 6.0 * 1.96 * estimate.error
    ranked = sorted(replayed.single, key=lambda one: one.value)
    for row, single in zip(page.sections[2].blocks[0].rows, ranked, strict=True):
        assert row[2] < row[1] == single.value < row[3]
    assert tiles(page)["mean loss of the logged policy"] == number(replayed.logged.value)


def test_play_and_route_pages_show_the_computed_numbers():
    losses = (np.random.default_rng(3).random((200, 3)) < [0.3, 0.5, 0.7]).astype(float)
    routed = hn.route(losses, ["exp3", "bandit"], runs=3)
    least = min(routed.routes, key=lambda one: one.regret)
    assert tiles(route_page(routed))[f"smallest regret, {least.name}, sees one loss"] == number(least.regret)
    record = hn.play(hn.Bandit(3), losses, runs=3)
    page = _page(record, "switching")
    assert tiles(page)["regret after 200 rounds"] == figure(record.mean_regret[-1])
    assert f"The regret after 200 rounds is {figure(record.mean_regret[-1])} (mean of 3 runs)" in alts(page)


def test_standings_report_the_largest_regret_over_bound():
    games = [Outcome("bandit", "x", f"g{k}", False, 100, np.array([r]), b, "s", "", 1.0)
             for k, (r, b) in enumerate([(1.0, 10.0), (9.0, 10.0), (4.0, 16.0)])]  # fmt: skip
    (row,) = standings(games, {})
    assert row["worst"] == 0.9


# Intervals and estimates


def test_bootstrap_interval_has_its_level():
    losses = np.random.default_rng(4).random((60, 3))
    record = hn.play(hn.Bandit(3), losses, runs=25, seed=5)
    rng = np.random.default_rng(5)
    means = np.array([c @ record.regret[:, -1] for c in rng.multinomial(25, np.full(25, 0.04), size=2000)]) / 25
    low, high = record.interval(method="bootstrap")
    assert (low[-1], high[-1]) == pytest.approx(tuple(np.quantile(means, [0.025, 0.975])))


def test_intervals_of_logged_policy_and_snips():
    rng = np.random.default_rng(6)
    a, loss, p = rng.integers(2, size=500), rng.random(500), np.full(500, 0.5)
    replayed = hn.replay({"a": a, "l": loss, "p": p}, "a", "l", "p", runs=1)
    assert replayed.logged.error == pytest.approx(loss.std(ddof=1) / math.sqrt(500))
    for single in replayed.single:
        w = (a == int(single.name)) / p
        theta = (w * loss).sum() / w.sum()
        assert single.value == pytest.approx(theta)
        assert single.error == pytest.approx(math.sqrt((w**2 * (loss - theta) ** 2).sum()) / w.sum())
    w = rng.random(500)
    sums = [500, w.sum(), (w**2).sum(), (w * loss).sum(), ((w * loss) ** 2).sum(), (w**2 * loss).sum(),
            (w**2 * loss**2).sum(), 0, 0, 0, 0, 0, 0, 0, 0]  # fmt: skip
    snips = estimates(np.array(sums, dtype=float), Scope(500, (0.0, 1.0), 2.0, 0.95))["snips"]
    theta = (w * loss).sum() / w.sum()
    assert snips.error == pytest.approx(math.sqrt((w**2 * (loss - theta) ** 2).sum()) / w.sum())


def test_estimates_follow_from_sums():
    rng = np.random.default_rng(9)
    w, loss, terms, own = rng.random(400), rng.random(400), rng.random(400), rng.random(90)
    sums = [400, w.sum(), (w**2).sum(), (w * loss).sum(), ((w * loss) ** 2).sum(), (w**2 * loss).sum(),
            (w**2 * loss**2).sum(), terms.sum(), (terms**2).sum(), 90, own.sum(), (own**2).sum(),
            30.0, 30.0, 7.0]  # fmt: skip
    found = estimates(np.array(sums, dtype=float), Scope(400, (0.0, 1.0), 2.0, 0.95))
    for name, each in (("ips", w * loss), ("dr", terms), ("replay", own)):
        assert found[name].value == pytest.approx(each.mean())
        assert found[name].error == pytest.approx(each.std(ddof=1) / math.sqrt(len(each)))


def test_error_does_not_shrink_with_runs_on_one_log():
    """They share the noise of the log: four of them contain no more information than one."""
    rng = np.random.default_rng(5)
    log = {"a": rng.integers(2, size=500), "l": rng.random(500)}
    learner = hn.Bandit(2, hn.Entropy(), hn.Fixed(1e12))  # uniform, whatever the losses
    one, four = (hn.replay(log, "a", "l", learner=learner, runs=runs).learners[0].estimates["dr"] for runs in (1, 4))
    assert four.error == pytest.approx(one.error, rel=1e-6)
    assert four.interval == pytest.approx(one.interval, rel=1e-6)


def test_dr_model_excludes_its_own_row():
    rng = np.random.default_rng(7)
    a, loss = rng.integers(2, size=300), rng.random(300)
    learner = hn.Bandit(2, hn.Entropy(), hn.Fixed(1e12))  # uniform, whatever the losses
    # Two runs: the second must not use the rows of the first.
    value = hn.replay({"a": a, "l": loss, "p": np.full(300, 0.5)}, "a", "l", "p", learner=learner, runs=2)
    sums, counts, terms = np.zeros(2), np.zeros(2), []
    for action, cost in zip(a, loss, strict=True):
        mean = sums.sum() / counts.sum() if counts.sum() else 0.0
        model = [sums[j] / counts[j] if counts[j] else mean for j in range(2)]
        terms.append(0.5 * sum(model) + (cost - model[action]))
        sums[action] += cost
        counts[action] += 1
    assert value.learners[0].estimates["dr"].value == pytest.approx(np.mean(terms), rel=1e-9)
    assert value.learners[0].estimates["dr"].error == pytest.approx(np.std(terms, ddof=1) / math.sqrt(300), rel=1e-9)


# Combining


def test_delayed_targets_count_for_the_best_combination():
    rng = np.random.default_rng(8)
    f, y = rng.random((20, 2)), rng.random(20)
    times = [f"{t:02d}" for t in range(20)]
    late = y.copy()
    late[10] = np.nan
    table = {"t": [*times, "10"], "a": [*f[:, 0], np.nan], "b": [*f[:, 1], np.nan], "y": [*late, y[10]]}
    summary = hn.combine(table, "y", time="t").summary
    assert summary.late == 1
    assert summary.oracle.loss == pytest.approx(best_combination(Absolute(), f, y).loss, rel=1e-4)
    without = best_combination(Absolute(), f, late).loss
    assert abs(summary.oracle.loss - without) > 1e-3  # so that a lost target would be noticed
    pending = Pending(Timing("t"))
    pending.brought.append((11, 21, 0.5))
    targets = pending.rejoin(np.append(late, 0.5))
    assert targets[10] == 0.5
    assert np.isnan(targets[20])


def test_delayed_targets_count_for_the_best_combination_of_the_command(told, tmp_path):
    rng = np.random.default_rng(10)
    f, y = rng.random((20, 2)), rng.random(20).round(6).tolist()
    rows = [f"{t:02d},{a!r},{'' if t == 10 else y[t]},{b!r}" for t, (a, b) in enumerate(f.tolist())]
    (tmp_path / "late.csv").write_text("\n".join(["t,a,y,b", *rows, f"10,,{y[10]},", ""]))
    data = told("combine", "late.csv", "--target", "y", "--time", "t")
    assert data["rows"]["late"] == 1
    best = best_combination(Absolute(), f, np.array(y)).loss
    assert data["best_combination"]["total"] == pytest.approx(best, rel=1e-4)
    assert abs(best_combination(Absolute(), np.delete(f, 10, 0), np.delete(y, 10)).loss - best) > 1e-2


def test_combined_rows_are_numbered_by_input_row(told, tmp_path):
    """Rows are counted from 0 in the library and from 1 in a table; a row that only has a target has no answer."""
    rng = np.random.default_rng(11)
    f, y = rng.random((6, 2)), rng.random(6)
    y[2] = np.nan
    times, y_late = ["1", "2", "3", "4", "5", "6", "3"], [*y, 0.5]
    late = np.vstack([f, [np.nan, np.nan]])
    timed = hn.combine({"t": times, "a": late[:, 0], "y": y_late, "b": late[:, 1]}, "y", time="t")
    assert timed.rows.tolist() == [0, 1, 2, 3, 4, 5]
    assert [one.row for one in timed.summary.forecasts] == []
    plain = hn.combine({"a": f[:, 0], "y": y, "b": f[:, 1]}, "y", seed=0)
    assert plain.forecast[0] == pytest.approx(f[0].mean())  # nothing is known yet
    assert [one.row for one in plain.summary.forecasts] == [3]
    plain.save(tmp_path / "library")
    lines = (f"{a!r},{'' if np.isnan(c) else c},{b!r}" for (a, b), c in zip(f.tolist(), y.tolist(), strict=True))
    (tmp_path / "f.csv").write_text("\n".join(["a,y,b", *lines, ""]))
    told("combine", "f.csv", "--target", "y", "--out", "command")
    for name in ("combined.csv", "weights.csv"):
        rows = (tmp_path / "library" / name).read_text().splitlines()
        assert [row.split(",")[0] for row in rows] == ["row", "1", "2", "3", "4", "5", "6"]
        assert rows == (tmp_path / "command" / name).read_text().splitlines()


def test_mean_of_an_expert_covers_rows_with_a_forecast():
    y = np.zeros(40)
    sleeper = np.where(np.arange(40) % 4 == 0, 0.1, np.nan)
    summary = hn.combine({"a": y + 0.5, "s": sleeper, "y": y}, "y").summary
    best = summary.as_dict()["best_expert"]
    assert (best["name"], best["rows"]) == ("s", 10)
    assert best["mean"] == pytest.approx(0.1)
    assert summary.as_dict()["experts"][1]["mean"] == pytest.approx(0.1)
    # The improvement covers 10 rows: too few for an interval.
    assert "compared with s, your best model, so far" in tiles(combined_page(summary))
    assert "too early to compare with the best model (s) after 10 rows: at least 20 are needed" in summary.verdict
    assert re.search(r"best model \(s\) +1 +0\.1 +in 10 rows", str(summary))
