"""Steps of Algorithm 1 beside SciPy's SLSQP and cvxpy on the same problems, and the cost of a round.

A step is one argmin over a ball of logistic losses seen plus noise, warm-started from the last move. SLSQP gets the
gradient and the same start, and is run twice: on the objective as it stands, and divided by t, which suits it
better. cvxpy builds its problem once. Each is to reach the same objective within 1e-8, and what it reached is shown.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import timing
from timing import ratio, shown, table

import hannan as hn
from hannan.learners.convex.learner import Convex
from hannan.mathematics.convex.domains import Ball
from hannan.mathematics.convex.leader import Leader
from hannan.mathematics.convex.losses import Linear, Logistic

RADIUS = 5.0


def losses(rounds: int, d: int) -> Logistic:
    """Unit rows, labels from a logistic model."""
    rng = np.random.default_rng(d)
    z = rng.standard_normal((rounds, d))
    z /= np.linalg.norm(z, axis=1, keepdims=True)
    w = rng.standard_normal(d)
    return Logistic(z, rng.random(rounds) < 1.0 / (1.0 + np.exp(-3.0 * z @ w)))


class Problem:
    """The argmin of round t of a logistic game on a ball, with fresh noise for each evaluation."""

    def __init__(self, rounds: int, d: int) -> None:
        self.seen = losses(rounds, d)
        self.learner = Convex(Ball(d, RADIUS), 1.0, loss_bound=float(np.log1p(np.exp(RADIUS))))
        self.scale = self.learner.schedule().scale(rounds, 0.6 * rounds)
        self.ridge = self.learner.ridge_after(rounds, self.scale)
        self.rng = np.random.default_rng(1)
        self.leader = Leader(self.learner.domain, self.learner.rules())
        self.leader.absorb(self.seen)
        self.signed = self.seen.z * self.seen.y[:, None]
        self.start = np.zeros(d)
        self.built: Any = None  # cvxpy's problem
        self.fresh()

    def fresh(self) -> None:
        """Draw the noise of a round."""
        self.noise = self.scale * self.learner.noise.sample(self.rng, self.seen.d)

    def objective(self, x: Any) -> float:
        """Objective to minimize."""
        return float(np.logaddexp(0.0, -self.signed @ x).sum() + self.noise @ x + 0.5 * self.ridge * (x @ x))

    def slope(self, x: Any) -> Any:
        """Gradient of the objective."""
        tail = np.exp(-np.logaddexp(0.0, self.signed @ x))
        return -(tail @ self.signed) + self.noise + self.ridge * x

    def hannan(self) -> Any:
        """One step of the live solver: the stored model, with the last move as the start."""
        tolerance = self.learner.rules().accuracy * self.ridge
        status, x, _ = self.leader.run.minimise(self.noise, self.ridge, tolerance, self.start, warm=True)
        assert status.name == "fine"
        return x

    def plain_slsqp(self) -> Any:
        """SLSQP of SciPy with the gradient, and the objective unchanged."""
        return self._slsqp(1.0, 1e-8)

    def scaled_slsqp(self) -> Any:
        """The same with the objective divided by t, which is better conditioned."""
        return self._slsqp(1.0 / len(self.seen), 1e-10)

    def _slsqp(self, share: float, ftol: float) -> Any:
        # The loosest power of ten at which every problem here comes within 1e-8.
        from scipy.optimize import minimize

        ball = {
            "type": "ineq",
            "fun": lambda x: 1.0 - x @ x / RADIUS**2,
            "jac": lambda x: -2.0 * x / RADIUS**2,
        }
        return minimize(
            lambda x: share * self.objective(x), self.start, jac=lambda x: share * self.slope(x), method="SLSQP",
            constraints=[ball], options={"ftol": ftol, "maxiter": 1000},
        ).x  # fmt: skip

    def cvxpy(self) -> Any:
        """cvxpy with its default solver; the problem is built once, with the noise as its parameter."""
        import cvxpy

        if self.built is None:
            x, noise = cvxpy.Variable(self.seen.d), cvxpy.Parameter(self.seen.d)
            total = cvxpy.sum(cvxpy.logistic(-self.signed @ x)) + noise @ x
            total += 0.5 * self.ridge * cvxpy.sum_squares(x)
            self.built = cvxpy.Problem(cvxpy.Minimize(total), [cvxpy.norm(x, 2) <= RADIUS]), x, noise
        problem, x, noise = self.built
        noise.value = self.noise
        problem.solve()
        return x.value

    def cvxpy_once(self) -> float:
        """Seconds of one call, as reported by the solver of cvxpy."""
        self.cvxpy()
        return float(self.built[0].solver_stats.solve_time)


def excess(problem: Problem, moves: dict[str, Any]) -> dict[str, float]:
    """Relative excess of each solver's objective over the best one, after projection of its point on the ball.

    A point outside of the ball has a value that is too low: SLSQP can stop 1e-4 outside.
    """
    inside = {name: x * min(1.0, RADIUS / float(np.linalg.norm(x))) for name, x in moves.items()}
    values = {name: problem.objective(x) for name, x in inside.items()}
    best = min(values.values())
    return {name: (value - best) / abs(best) for name, value in values.items()}


def step(rounds: int, d: int, repeats: int) -> tuple[dict[str, float], dict[str, float]]:
    """Return (median seconds of one step, largest excess of the objective) by solver, on the same noise, alternately.

    Where cvxpy takes a minute a call it is called once, on the first noise, and its building is not counted.
    """
    problem = Problem(rounds, d)
    solvers: dict[str, Callable[[], Any]] = {
        "hannan": problem.hannan,
        "SLSQP": problem.plain_slsqp,
        "SLSQP/t": problem.scaled_slsqp,
    }
    for solve in solvers.values():
        solve()  # compiles, imports, builds
    slow = rounds * d > 100_000
    if not slow:
        solvers["cvxpy"] = problem.cvxpy
        problem.cvxpy()
    problem.start = problem.hannan()
    taken: dict[str, list[float]] = {name: [] for name in solvers}
    worst = dict.fromkeys(solvers, 0.0)
    for _ in range(repeats):
        problem.fresh()
        moves = {}
        for name, solve in solvers.items():
            began = timing._clock()
            moves[name] = solve()
            taken[name].append(timing._clock() - began)
        for name, above in excess(problem, moves).items():
            worst[name] = max(worst[name], above)
        problem.start = moves["hannan"]
    if slow:
        taken["cvxpy"] = [problem.cvxpy_once()]
        moves = {"hannan": problem.hannan(), "cvxpy": problem.built[1].value}
        worst["cvxpy"] = excess(problem, moves)["cvxpy"]
    return {name: float(np.median(seconds)) for name, seconds in taken.items()}, worst


def linear_round(threads: int | None = None, d: int = 10, rounds: int = 20_000, repeats: int = 15) -> float:
    """Median seconds per round of linear losses on a ball in `play`, eight runs, on all cores or some threads."""
    rows = np.random.default_rng(0).random((rounds, d)) / np.sqrt(d)
    learner = Convex(Ball(d, 1.0, (1.0,) * d), 1.0, loss_bound=2.0 * float(np.sqrt(d)))
    game = Linear(rows)
    contestant = timing.Contestant("linear", lambda: hn.play(learner, game, runs=8, threads=threads), rounds * 8)
    timing.interleave([contestant], repeats)
    return contestant.cost


def round_against_t(d: int = 10, rounds: int = 10_000) -> list[tuple[int, float]]:
    """Seconds per round of one logistic game, at several t."""
    game = losses(rounds, d)
    player = Convex(Ball(d, RADIUS), 1.0, loss_bound=float(np.log1p(np.exp(RADIUS)))).start(0)
    found, done = [], 0
    for t in (*(t for t in (100, 300, 1000, 3000) if t < rounds), rounds):
        player.through(game[done : t - 50])
        began = timing._clock()
        player.through(game[t - 50 : t])
        found.append((t, (timing._clock() - began) / 50))
        done = t
    return found


def run(quick: bool = False) -> str:
    """The section of the results, as Markdown; ratios are to `hannan`."""
    rows = []
    for d in (10, 100):
        for t in (1000,) if quick else (1000, 10_000):
            seconds, worst = step(t, d, repeats=3 if quick else 7)
            ours = seconds["hannan"]
            cells = [
                f"{shown(seconds[name])} ({ratio(seconds[name] / ours)})" for name in ("SLSQP", "SLSQP/t", "cvxpy")
            ]
            reached = ", ".join(f"{name} {above:.0e}" for name, above in worst.items())
            rows.append((f"d = {d}, t = {t}", shown(ours), *cells, reached))
    header = ("logistic on a ball", "hannan", "SLSQP", "SLSQP, objective/t", "cvxpy", "worst excess of the objective")
    against = round_against_t(rounds=2000 if quick else 10_000)
    return "\n\n".join(
        [
            table(header, rows),
            f"Linear losses on a ball, d = 10, a round inside `play`: {shown(linear_round())} "
            f"({shown(linear_round(1))} on one thread; the goal is 100 ns).",
            "A logistic game, d = 10, the cost of a round as losses add up:",
            table(("t", "a round"), [(t, shown(cost)) for t, cost in against]),
        ]
    )


if __name__ == "__main__":
    timing.use_cpu_time()
    print(run())
