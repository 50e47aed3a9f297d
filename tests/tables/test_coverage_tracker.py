"""Trackers of coverage: the identity, the bounds before play and the cost, against adaptive targets and late rows.

Every check runs against a broken variant too, its control, on which it must fail.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from naive_coverage import NaiveTracker

from hannan import _engine

NONE = np.empty(0, dtype=np.int64)
STEP, START = 0.03, 0.1


def tracker_of(rates=(0.05,), sides=(True, True), step=STEP, start=START, group_step=0.1):
    return _engine.CoverageTracker(np.array(rates), *sides, step, start, group_step)


class Game:
    """Rows with base ends 0 and unit 1, answered and settled after random delays, in any order."""

    def __init__(self, seed, late, step=STEP, rate=0.05, reach=10.0, groups=None, start=START):
        self.rng, self.late, self.step, self.rate, self.reach = np.random.default_rng(seed), late, step, rate, reach
        self.tracker = tracker_of((rate,), (False, True), step, start)
        self.groups, self.start = groups, start
        if groups is not None:
            self.tracker.groups(1 + max(g for one in groups for g in one))
        self.misses = self.rows = self.rejudged = 0
        self.clipped = start
        self.now = 0.0
        self.most = 0

    def score(self, t, end, kind):
        top = self.reach
        if kind == 0:
            return self.rng.uniform(-top, top)
        if kind == 1:
            return top if end < top else -top
        if kind == 2:
            return -top
        return top * math.sin(t / 40) if t % 500 < 400 else (top if end < top / 2 else -top)

    def play(self, rows, kind):
        waiting, self.history = [], []
        for t in range(rows):
            groups = NONE if self.groups is None else np.array(self.groups[t % len(self.groups)], dtype=np.int64)
            end = float(self.tracker.issue(t, np.zeros(1), 1.0, groups)[0])
            y = self.score(t, end, kind)
            waiting.append((t + int(self.rng.integers(0, self.late + 1)), t, y, end, groups))
            self.most = max(self.most, len(waiting))
            due = [one for one in waiting if one[0] <= t]
            waiting = [one for one in waiting if one[0] > t]
            for k in self.rng.permutation(len(due)):
                _, row, y, end, groups = due[k]
                theta = self.start + self.step * (self.misses - self.rate * self.rows)
                self.rejudged += y > math.sinh(theta)
                miss = y > end
                self.clipped = min(max(self.clipped + self.step * (miss - self.rate), -0.5), 0.5)
                self.tracker.settle(row, y)
                self.misses += miss
                self.rows += 1
                self.history.append((miss, groups))
        return self


def error(misses, rows, rate):
    return misses / rows - rate


@pytest.mark.parametrize("late", [0, 7, 60])
def test_counts_equal_a_recount_and_the_identity_holds(late):
    off, clipped = [], []
    for kind in range(4):
        game = Game(kind, late).play(800, kind)
        counts = game.tracker.counts[0]
        assert counts.tolist() == [game.rows, game.misses, 0.0]
        theta = START + STEP * (counts[1] - 0.05 * counts[0])
        assert error(game.misses, game.rows, 0.05) == pytest.approx((theta - START) / (STEP * game.rows), abs=1e-15)
        off.append(abs(error(game.rejudged, game.rows, 0.05) - (theta - START) / (STEP * game.rows)))
        clipped.append(abs(error(game.misses, game.rows, 0.05) - (game.clipped - START) / (STEP * game.rows)))
    # Controls: misses judged by the current ends (late rows only), and states that are clipped.
    assert max(off) > 0.001 or late == 0
    assert max(clipped) > 0.01


def sides_of(game, open_rows):
    """Return the error of the miss rate relative to the upper and the lower bound of Theorem 2."""
    reach, n = math.asinh(game.reach), game.rows
    gap = error(game.misses, n, game.rate)
    up = (reach - game.start) / (game.step * n) + (1.0 - game.rate) * open_rows / n
    down = (reach + game.start) / (game.step * n) + game.rate * open_rows / n
    return gap / up, -gap / down


def test_bound_before_play_holds_for_adaptive_scores_and_any_delays():
    worst, without_open = 0.0, 0.0
    for k in range(60):
        late = (0, 3, 60)[k % 3]
        game = Game(k, late, step=(0.03, 0.3, 1.0)[k // 3 % 3], rate=(0.05, 0.3)[k // 9 % 2], reach=(0.5, 3.0)[k % 2])
        game.play(400, k % 4)
        worst = max(worst, *sides_of(game, game.most))
        without_open = max(without_open, *sides_of(game, 0))
    assert 0.5 < worst <= 1.0
    assert without_open > 1.5  # control: late rows are not counted


def test_cost_is_bounded_with_prompt_and_late_rows():
    excess, controls = [], []
    for k in range(24):
        late, unit = (0, 20)[k % 2], (1.0, 7.0)[k // 2 % 2]
        rng, tracker, waiting = np.random.default_rng(k), tracker_of((0.1,), (False, True), 0.1), []
        cost = raw = drift = 0.0
        for t in range(600):
            u = unit if t % 2 else 1.0
            end = float(tracker.issue(t, np.zeros(1), u, NONE)[0])
            y = 3.0 * u if rng.random() < 0.5 and end < 3.0 * u else -3.0 * u
            waiting.append((t + int(rng.integers(0, late + 1)), t, y, end, u))
            for one in [one for one in waiting if one[0] <= t]:
                waiting.remove(one)
                _, row, y, end, u = one
                rows, misses, _ = tracker.counts[0]
                theta = START + 0.1 * (misses - 0.1 * rows)
                d = float(y > end) - 0.1
                drift += d * (math.sinh(theta) - end / u)
                paid = 0.9 * max(y - end, 0.0) + 0.1 * max(end - y, 0.0)
                base = 0.9 * max(y, 0.0) + 0.1 * max(-y, 0.0)
                cost += (paid - base) / u
                raw += paid - base
                tracker.settle(row, y)
        rows, misses, _ = tracker.counts[0]
        theta = START + 0.1 * (misses - 0.1 * rows)
        told, terms, _ = tracker.sums[0]
        bound = terms + (math.cosh(START) - math.cosh(theta)) / 0.1
        assert told == pytest.approx(cost, rel=1e-9, abs=1e-9)
        excess.append(cost - bound)
        controls.append((cost - (bound - drift) if late else -math.inf, raw - bound))
    assert max(excess) <= 1e-9
    assert max(x for x, _ in controls) > 1.0  # control: the drift is left out
    assert max(x for _, x in controls) > 1.0  # control: rows are not divided by their units


def energy(counts, steps, starts, rate):
    """Return W, the sum of theta^2 / step over the groups."""
    theta = starts + steps * (counts[:, 1] - rate * counts[:, 0])
    return float((theta**2 / steps).sum())


def test_groups_have_the_identity_and_bounded_states():
    ratios, controls = [], []
    for k in range(24):
        rng, late = np.random.default_rng(k), (0, 0, 10)[k % 3]
        sets = [np.flatnonzero(rng.random(6) < 0.4) + 1 for _ in range(8)]
        start = (0.0, 5.0)[k % 2]
        game = Game(k, late, step=0.03, rate=0.1, reach=math.sinh(2.0), groups=sets, start=start).play(600, k % 4)
        counts, reach, a = game.tracker.counts, 2.0, 0.1
        for g in range(1, 7):
            of = [miss for miss, groups in game.history if g in groups]
            assert counts[g, :2].tolist() == [len(of), sum(of)] if len(counts) > g else not of
        steps = np.array([0.03] + [0.1] * (len(counts) - 1))
        starts = np.array([start] + [0.0] * (len(counts) - 1))
        n, m, most = game.rows, game.misses, max(len(s) for s in sets)
        total = 0.03 + 0.1 * most
        first = 2.0 * ((1 - a) * reach * m + a * reach * (n - m))
        others = total * ((1 - a) ** 2 * m + a**2 * (n - m)) + 2 * (1 - a) ** 2 * total * n * (game.most - 1)
        w, w0 = energy(counts, steps, starts, a), start**2 / 0.03
        ratios.append(w / (w0 + first + others))
        controls.append(w / others if late == 0 else 0.0)
    assert max(ratios) <= 1.0
    assert max(controls) > 1.5  # control: the term of the scores is left out
    # Control: the start is left out, right after the start.
    tracker = tracker_of((0.1,), (False, True), 0.03, 5.0)
    tracker.issue(0, np.zeros(1), 1.0, NONE)
    tracker.settle(0, 0.0)
    w = energy(tracker.counts, np.array([0.03]), np.array([5.0]), 0.1)
    later = 2.0 * 0.1 * 0.9 + 0.03 * 0.01
    assert later < w <= 25.0 / 0.03 + later


def nested_bound(rates, level, reach, step, start, most, rows):
    up = down = 0.0
    for k, rate in enumerate(rates[: level + 1]):
        below = reach + step * rate * most
        if k:
            below += up + down + step * (1.0 - rates[k - 1]) * (most - 1)
        up, down = reach + step * (1.0 - rate) * most, below
    return (up - start) / (step * rows), (down + start) / (step * rows)


def test_nested_intervals_are_nested_and_have_a_bound():
    rates, worst = (0.3, 0.1, 0.02), 0.0
    for k in range(24):
        rng, late, reach = np.random.default_rng(k), (0, 15)[k % 2], 2.0
        tracker, waiting, most, misses, rows = tracker_of(rates, (False, True), 0.2), [], 0, np.zeros(3), 0
        for t in range(400):
            ends = tracker.issue(t, np.zeros(3), 1.0, NONE)
            assert (np.diff(ends) >= 0.0).all()
            phase = t // 100 % 2 if k % 3 else 1
            score = reach if ends[phase] < math.sinh(reach) else -reach
            y = math.sinh(score) if k % 4 else -math.sinh(reach)
            waiting.append((t + int(rng.integers(0, late + 1)), t, y, ends))
            most = max(most, len(waiting))
            for one in [one for one in waiting if one[0] <= t]:
                waiting.remove(one)
                tracker.settle(one[1], one[2])
                misses += one[2] > one[3]
                rows += 1
        assert tracker.counts[0][:4].tolist() == [rows, *misses]
        for level, rate in enumerate(rates):
            up, down = nested_bound(rates, level, reach, 0.2, START, most, rows)
            gap = misses[level] / rows - rate
            worst = max(worst, gap / up, -gap / down)
    assert 0.3 < worst <= 1.0


def test_states_do_not_depend_on_the_order_of_settlement():
    targets = np.random.default_rng(0).normal(size=60)
    told = []
    for seed in range(4):
        tracker = tracker_of((0.1, 0.05))
        tracker.groups(3)
        for t in range(60):
            tracker.issue(t, np.array([-1.0, 1.0, -2.0, 2.0]), 1.0, np.array([1 + t % 2]))
        for t in np.random.default_rng(seed).permutation(60):
            tracker.settle(int(t), float(targets[t]))
        told.append(tracker.counts.tolist())
    assert told[0] == told[1] == told[2] == told[3]


def test_tracker_equals_the_oracle():
    rng = np.random.default_rng(1)
    tracker = tracker_of()
    tracker.groups(4)
    low, high = NaiveTracker(upper=False), NaiveTracker()
    for t in range(500):
        base, unit = np.sort(rng.normal(size=2)), rng.uniform(0.5, 2.0)
        groups = [1 + t % 2, 3][: 1 + t % 3 % 2]
        ends = tracker.issue(t, base, unit, np.array(groups))
        assert ends == pytest.approx([low.answer(t, base[0], unit, groups), high.answer(t, base[1], unit, groups)])
        if t >= 5:
            y = rng.normal() * 2.0
            for one in (tracker, low, high):
                one.settle(t - 5, y)


def test_batch_equals_live_rows_bit_for_bit():
    rng = np.random.default_rng(2)
    rows, base = 300, np.sort(rng.normal(size=(300, 2)), axis=1)
    units, targets = rng.uniform(0.5, 2.0, size=rows), 2.0 * rng.normal(size=rows)
    labels = rng.integers(1, 4, size=rows)
    live, batch = tracker_of(), tracker_of()
    order, told = [], []
    for t in range(rows):
        order.append(t)
        told.append(math.nan)
        if t >= 7:
            order.append(~(t - 7))
            told.append(targets[t - 7])
    for one in (live, batch):
        one.groups(4)
    ends = np.array(list(_played(live, base, units, labels, targets)))
    out = np.empty((rows, 2))
    half = 2 * 150 - 7
    starts = np.arange(151, dtype=np.int64)
    for k, part in enumerate((slice(0, half), slice(half, None))):
        here = slice(150 * k, 150 * k + 150)
        events = np.array(order[part])
        events = np.where(events >= 0, events - 150 * k, events)
        batch.events(
            events, np.array(told[part]), 150 * k,
            base=base[here], units=units[here], groups=labels[here], starts=starts, ends=out[here],
        )  # fmt: skip
    assert (out == ends).all()
    assert (batch.counts == live.counts).all()
    assert (batch.sums == live.sums).all()
    assert (batch.open_rows, batch.most_open) == (live.open_rows, live.most_open) == (7, 8)


def _played(tracker, base, units, labels, targets):
    for t in range(len(units)):
        yield tracker.issue(t, base[t], float(units[t]), labels[t : t + 1])
        if t >= 7:
            tracker.settle(t - 7, float(targets[t - 7]))


def test_far_states_leave_ends_finite_and_counts_exact():
    tracker = tracker_of((0.05,), (False, True), 1.0)
    for t in range(800):
        end = float(tracker.issue(t, np.zeros(1), 1e-300, NONE)[0])
        assert math.isfinite(end)
        tracker.settle(t, 1e100)
    assert tracker.counts[0].tolist() == [800, 800, 0]
    for t in range(800, 900):
        end = float(tracker.issue(t, np.zeros(1), 1e100, NONE)[0])
        assert math.isfinite(end)
        tracker.settle(t, 0.0)
    assert tracker.counts[0].tolist() == [900, 800, 0]
