"""Claims beyond the paper: prediction intervals around combined experts, with certified coverage."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hannan.paper.claim import Chapter, Effort, Verdict, at_most, bars, holds
from hannan.tables.combine.conformal import Conformal
from hannan.tables.combine.coverage import START, STEP, CertifiedIntervals, Coverage
from hannan.tables.combine.coverage_certificate import CoverageCertificate

CHAPTER = Chapter(
    "Coverage of intervals",
    "The paper combines experts and has no intervals. The ends of combined intervals move after each target, so that "
    "their coverage holds on every sequence of targets (docs/proofs/coverage.md).",
)


@CHAPTER.claim("coverage-identity")
def _identity(effort: Effort) -> Verdict:
    """On every sequence of targets, the certificate of `hn.Conformal` has the exact numbers of settled rows, and of
    targets below and above the intervals that were issued for them."""
    worst, runs = 0.0, effort.pick(6, 40)
    for k in range(runs):
        rng = effort.rng(f"coverage-identity-{k}")
        side, late = ("both", "lower", "upper")[k % 3], (0, 25)[k % 2]
        live = Conformal(2, float(rng.uniform(0.5, 0.95)), side=side)
        waiting: list[tuple[int, int, float, tuple[float, float]]] = []
        counted = np.zeros(3)
        now = -math.inf, math.inf
        for t in range(400):
            point = 10.0 * math.sin(t / 30.0)
            now = live.answer(t, [point, point + rng.normal()])
            low, high = (end if math.isfinite(end) else point for end in now)
            y = float(rng.choice([low - 0.1, high + 0.1, 0.5 * (low + high), point + 3.0 * rng.normal()]))
            waiting.append((t + int(rng.integers(0, late + 1)), t, y, now))
            for one in [one for one in waiting if one[0] <= t]:
                waiting.remove(one)
                _, row, y, issued = one
                if rng.random() < 0.1:
                    live.forget(row)
                    continue
                live.settle(row, y)
                if math.isfinite(issued[0]) or math.isfinite(issued[1]):
                    low, high = effort.turn(issued, now)
                    counted += 1.0, y < low, y > high
        told = live.certificate().groups[0]
        worst = max(worst, float(np.abs(counted - [told.rows, sum(told.below), sum(told.above)]).max()))
    return holds(worst == 0.0, worst, 0.0, runs=runs, what="largest difference between a recount and the certificate")


@dataclass
class Game:
    """One upper end at miss rate 0.1 around the base end 0, against targets at most one unit away."""

    seed: Any
    late: int
    kind: int
    certified: CertifiedIntervals = field(init=False)
    rows: int = 0
    misses: int = 0
    #: Sum of d (sinh of the state at settlement - shift that was issued).
    drift: float = 0.0
    #: Certificates after every 20 rows.
    course: list[CoverageCertificate] = field(default_factory=list)

    def play(self, rows: int) -> Game:
        """Answer and settle rows; each target depends on the end that was issued."""
        self.certified, rng = CertifiedIntervals(Coverage.of(0.9, "upper"), (0.9,)), self.seed
        waiting: list[tuple[int, int, float, float, float]] = []
        for t in range(rows):
            end, theta = float(self.certified.answer(t, np.zeros(1), np.zeros(1))[0]), self._theta()
            unit = end / math.sinh(theta) if math.isfinite(end) and theta else 1.0
            attack = 0.999 * unit if end < 0.999 * unit else -0.999 * unit
            y = (attack, -0.999 * unit, 0.999 * unit * float(rng.uniform(-1, 1)), attack if t % 200 < 100 else -attack)
            delay = int(rng.integers(0, self.late + 1)) if self.kind else self.late
            waiting.append((t + delay, t, y[self.kind], end, unit))
            for one in [one for one in waiting if one[0] <= t]:
                waiting.remove(one)
                _, row, target, end, unit = one
                if math.isfinite(end):
                    miss = target > end
                    self.drift += (miss - 0.1) * (math.sinh(self._theta()) - end / unit)
                    self.rows, self.misses = self.rows + 1, self.misses + miss
                self.certified.settle(row, target)
            if t % 20 == 19 and self.rows:
                self.course.append(self.certified.certificate())
        return self

    def _theta(self) -> float:
        return START + STEP * (self.misses - 0.1 * self.rows)


def _games(effort: Effort, name: str, late: tuple[int, ...], rows: int) -> list[Game]:
    kinds = [(most, kind) for most in late for kind in range(4)] * effort.pick(1, 4)
    return [Game(effort.rng(f"{name}-{k}"), *one).play(rows) for k, one in enumerate(kinds)]


@CHAPTER.claim("coverage-before-play")
def _before_play(effort: Effort) -> Verdict:
    """If every target lies within X units of the base end and at most O rows are open at the same time, the miss rate
    after n settled rows differs from a by at most (asinh(X) + θ_{0})/(ηn) + O/n, for every sequence of targets. The
    printed bound is the sharper one of its two sides."""
    late = 0, 6, 60
    games, each = _games(effort, "coverage-before-play", late, effort.pick(300, 1000)), dict.fromkeys(late, 0.0)
    for game in games:
        for told in game.course:
            bound = told.bound(within=1.0, open_rows=effort.turn(None, 1))
            ratio = abs(sum(told.groups[0].above) / told.rows - 0.1) / bound
            each[game.late] = max(each[game.late], ratio)
    worst = max(each.values())
    largest = [{"what": f"up to {k} rows late", "y": ratio} for k, ratio in each.items()]
    picture = bars(
        "Error of the miss rate, divided by the bound before play", largest, "The error is at most the bound.",
        y="error / bound", rules={"1": 1.0},
    )  # fmt: skip
    return holds(
        at_most(worst, 1.0),
        worst,
        1.0,
        runs=len(games),
        pictures=(picture,),
        what="largest error, divided by the bound",
    )


@CHAPTER.claim("coverage-cost")
def _cost(effort: Effort) -> Verdict:
    """The pinball loss of the issued ends, each row divided by its unit, exceeds that of the base ends by at most the
    printed bound, which is computed from observed terms: for every sequence of targets and any delays."""
    worst, games = -math.inf, _games(effort, "coverage-cost", (0, 20), effort.pick(300, 1000))
    for game in games:
        told = game.certified.certificate()
        bound = told.cost_bound[0]
        assert bound is not None
        worst = max(worst, told.cost[0] - effort.turn(bound, bound - max(game.drift, 0.0)))
    return holds(at_most(worst, 0.0), worst, 0.0, runs=len(games), what="largest excess over the bound, in units")
