"""The first moves of every learner for three seeds: recorded once in paths.json, and reproduced by every engine.

Every number of a learner is given explicitly, defaults included, so that a better default does not change a path.
`python tests/oracles/paths.py` writes the file; `tests/engine/test_paths.py` compares the engine with it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import hannan as hn
from hannan.learners.fpl import MSets
from hannan.mathematics.convex.domains import Ball, Box, Simplex

ROUNDS = 1000
SEEDS = (1, 2, 3)
FILE = Path(__file__).with_name("paths.json")
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ!#$%&()*+,-./:;<=>?@[]^_`{|}~"


def losses(n: int, kind: str = "any") -> np.ndarray:
    """Losses in [0, 1]: some arms are better than others, and the best arm changes after half of the rounds."""
    rng = np.random.default_rng([n, 7])
    means = np.linspace(0.3, 0.7, n)
    table = rng.random((ROUNDS, n)) * 0.6 + 0.4 * means
    table[ROUNDS // 2 :] = table[ROUNDS // 2 :, ::-1]
    return (table < 0.5).astype(np.float64) if kind == "bits" else table


def advice(experts: int, actions: int, mixed: bool) -> np.ndarray:
    rng = np.random.default_rng([experts, actions])
    if mixed:
        return rng.dirichlet(np.ones(actions), size=(ROUNDS, experts))
    return rng.integers(0, actions, size=(ROUNDS, experts))


SMOOTHINGS: dict[str, Any] = {
    "entropy": hn.Entropy(),
    "tsallis half": hn.Tsallis(0.5),
    "tsallis 0.3": hn.Tsallis(0.3),
    "tsallis 0.8": hn.Tsallis(0.8),
    "log-barrier": hn.LogBarrier(),
    "exponential": hn.Exponential(),
    "laplace": hn.Laplace(),
    "gumbel": hn.Gumbel(),
    "gamma 2": hn.Gamma(2.0),
    "gamma 0.5": hn.Gamma(0.5),
    "weibull 0.5": hn.Weibull(0.5),
    "weibull 0.5 conditioned": hn.Weibull(0.5, conditioned=True),
    "frechet 2": hn.Frechet(2.0),
    "frechet 3.5": hn.Frechet(3.5),
    "pareto 2": hn.Pareto(2.0),
    "pareto 3.5": hn.Pareto(3.5),
    "gaussian": hn.Gaussian(),
}
#: Scales at which a bandit is not yet chaotic: at smaller scales two engines diverge after some hundred rounds.
TUNINGS: dict[str, Any] = {"fixed": hn.Fixed(60.0), "anytime": hn.Anytime(2.5)}


def tables() -> dict[str, tuple[Any, dict[str, Any]]]:
    """name -> (learner, argument of `play`): learners that choose one of n."""
    made: dict[str, tuple[Any, dict[str, Any]]] = {}
    for name, smoothing in SMOOTHINGS.items():
        for word, tuning in TUNINGS.items():
            if word == "anytime" and name in ("log-barrier", "gamma 0.5", "weibull 0.5", "gaussian"):
                continue  # no rate, or no rate without a number of rounds: no such tuning
            made[f"experts, {name}, {word}"] = hn.Experts(10, smoothing, tuning), {"losses": losses(10)}
            estimator = hn.ImportanceWeighted()
            made[f"bandit, {name}, {word}"] = hn.Bandit(10, smoothing, tuning, estimator), {"losses": losses(10)}
    for n in (2, 5, 64, 65, 90):
        for word, tuning in TUNINGS.items():
            made[f"bandit, entropy, {word}, n={n}"] = hn.Bandit(n, hn.Entropy(), tuning), {"losses": losses(n)}
            made[f"bandit, tsallis half, {word}, n={n}"] = hn.Bandit(n, hn.Tsallis(0.5), tuning), {"losses": losses(n)}
            made[f"experts, entropy, {word}, n={n}"] = hn.Experts(n, hn.Entropy(), tuning), {"losses": losses(n)}
    small = hn.Fixed(30.0)
    made["experts, entropy, times"] = hn.Experts(10, hn.Entropy(), small), {"losses": losses(10)}
    prior = tuple(float(x) for x in np.arange(1.0, 11.0) / 55.0)
    made["experts, entropy, prior"] = hn.Experts(10, hn.Entropy(), small, prior=prior), {"losses": losses(10)}
    made["experts, log-barrier, self-confident"] = (
        hn.Experts(10, hn.LogBarrier(), hn.SelfConfident(ROUNDS)),
        {"losses": losses(10)},
    )
    made["experts, entropy, self-confident"] = hn.Experts(10, hn.Entropy(), hn.SelfConfident()), {"losses": losses(10)}
    made["experts, gains"] = hn.Experts(5, hn.Entropy(), small, gains=True), {"losses": losses(5)}
    made["bandit, log-barrier, self-confident"] = (
        hn.Bandit(10, hn.LogBarrier(), hn.SelfConfident(ROUNDS), hn.ImportanceWeighted()),
        {"losses": losses(10)},
    )
    estimators = {
        "geometric": hn.GeometricResampling(50),
        "conditional": hn.ConditionalResampling(20),
        "reduced variance": hn.ReducedVariance(),
        "implicit exploration": hn.ImplicitExploration(0.02),
    }
    for word, estimator in estimators.items():
        for name in ("entropy", "tsallis half", "exponential", "frechet 2"):
            for tuned, tuning in TUNINGS.items():
                made[f"bandit, {name}, {tuned}, {word}"] = (
                    hn.Bandit(10, SMOOTHINGS[name], tuning, estimator),
                    {"losses": losses(10)},
                )
    made["bandit, gains"] = hn.Bandit(5, hn.Tsallis(0.5), TUNINGS["anytime"], gains=True), {"losses": losses(5)}
    made["bandit, range"] = (
        hn.Bandit(5, hn.Entropy(), TUNINGS["fixed"], loss_range=(-1.0, 3.0)),
        {"losses": losses(5)},
    )
    for actions, experts in ((3, 8), (8, 20), (8, 130)):
        for mixed in (False, True):
            heard = {"losses": losses(actions), "advice": advice(experts, actions, mixed)}
            word = f"{actions}x{experts}{', mixed' if mixed else ''}"
            made[f"advice, entropy, fixed, {word}"] = hn.ExpertBandit(actions, experts, hn.Entropy(), small), heard
            made[f"advice, entropy, anytime, {word}"] = (
                hn.ExpertBandit(actions, experts, hn.Entropy(), hn.Anytime(0.8)),
                heard,
            )
            made[f"advice, exponential, clipped, {word}"] = (
                hn.ExpertBandit(actions, experts, hn.Exponential(), hn.SelfConfident(), clip="tuned"),
                heard,
            )
            made[f"advice, tsallis half, clip 0.02, {word}"] = (
                hn.ExpertBandit(actions, experts, hn.Tsallis(0.5), small, clip=0.02),
                heard,
            )
    for name, cls in {
        "squint": hn.Squint, "adanormalhedge": hn.AdaNormalHedge, "ml_poly": hn.MLPoly, "dropout": hn.Dropout,
        "random_walk": hn.RandomWalk, "delayed_ftrl": hn.TsallisShannon,
    }.items():  # fmt: skip
        made[name] = cls(10), {"losses": losses(10, "bits" if name == "dropout" else "any")}
    made["fixed_share"] = hn.FixedShare(10, 5.0, 0.01), {"losses": losses(10)}
    made["exp3_s"] = hn.Exp3S(10, 60.0, 0.01), {"losses": losses(10)}
    made["lb_inf"] = hn.LBInf(10, ROUNDS), {"losses": losses(10)}
    made["random_playout"] = hn.RandomPlayout(10, ROUNDS), {"losses": losses(10)}
    made["green"] = hn.Green(10, 12.0, 0.01), {"losses": losses(10)}
    made["exp3_light"] = hn.Exp3Light(10), {"losses": losses(10)}
    made["myga"] = hn.MYGA(3, 8, 200, 60.0), {"losses": losses(3)[:200], "advice": advice(8, 3, True)[:200]}
    made["adahedge"] = hn.AdaHedge(10), {"losses": 3.0 * losses(10) - 1.0}
    made["adahedge, 17"] = hn.AdaHedge(17), {"losses": losses(17)}
    made["adahedge, gains"] = hn.AdaHedge(5, gains=True), {"losses": losses(5)}
    return made


@dataclass(frozen=True)
class Logistic(hn.Law):
    """A user-defined law, which the engine plays from a table."""

    def density(self, z: Any) -> Any:
        return 0.25 / np.cosh(np.asarray(z) / 2) ** 2

    def cdf(self, z: Any) -> Any:
        return 0.5 + 0.5 * np.tanh(np.asarray(z) / 2)


def younger() -> dict[str, tuple[Any, dict[str, Any]]]:
    """As `tables`: learners added after the paths were recorded."""
    made: dict[str, Any] = {
        "ucb1": hn.UCB1(6), "moss": hn.MOSS(6, ROUNDS), "kl-ucb": hn.KLUCB(6), "epsilon-greedy": hn.EpsilonGreedy(6),
        "explore then commit": hn.ExploreThenCommit(6, ROUNDS), "thompson": hn.Thompson(6),
        "thompson, gaussian": hn.Thompson(6, "gaussian"), "lb-inf without rounds": hn.LBInf(6),
        "tsallis and shannon": hn.TsallisShannon(6), "exp3-ix": hn.exp3_ix(6, ROUNDS), "frechet": hn.frechet_ftpl(6),
        "named": hn.Bandit(["a", "b", "c", "d", "e", "f"]), "own law": hn.Bandit(6, Logistic(), hn.Fixed(30.0)),
        "own law, experts": hn.Experts(6, Logistic(), hn.Fixed(9.0)),
        "floor": hn.Bandit(6, floor=0.1), "floor, entropy": hn.Bandit(6, hn.Entropy(), floor="fourth-root"),
        "floor, law": hn.Bandit(6, hn.Gumbel(), hn.Fixed(9.0), floor=0.1),
        "floor, constant": hn.Bandit(6, hn.Tsallis(0.5), hn.Fixed(9.0), floor="fourth-root"),
        "floor, reduced": hn.Bandit(6, estimator=hn.ReducedVariance(), floor=0.1),
        "private": hn.PrivateExperts(6, 1.0, rounds=ROUNDS), "private, without end": hn.PrivateExperts(6, 1.0),
    }  # fmt: skip
    return {name: (learner, {"losses": losses(6)}) for name, learner in made.items()}


def points() -> dict[str, tuple[Any, Any]]:
    """name -> (learner, losses): learners whose moves are points; the points after every tenth round are recorded."""
    rng = np.random.default_rng(11)
    z = rng.standard_normal((200, 4))
    z /= np.linalg.norm(z, axis=1, keepdims=True)
    y = np.sign(z @ np.array([1.0, -1.0, 0.5, 0.2]) + 0.1)
    linear, logistic, squared = hn.Linear(z), hn.Logistic(z, y), hn.Squared(z, 0.3 * y)
    made: dict[str, tuple[Any, Any]] = {}
    for word, domain in {"ball": Ball(4), "box": Box([-0.5] * 4, [0.5] * 4), "simplex": Simplex(4)}.items():
        for noise_word, noise in {"gamma": hn.GammaNoise(), "gaussian": hn.GaussianNoise()}.items():
            for loss_word, table in {"linear": linear, "logistic": logistic, "squared": squared}.items():
                made[f"convex, {word}, {noise_word}, {loss_word}"] = (
                    lambda domain=domain, noise=noise, table=table: hn.Convex(
                        domain, 2.0, noise, hn.Fixed(3.0), smooth=0.0 if table is linear else 2.0
                    ),
                    table,
                )
    return made


def code(actions: np.ndarray) -> str:
    return "".join(DIGITS[k] for k in actions)


def path(learner: Any, given: dict[str, Any], seed: int) -> str:
    """The moves of run 0, one letter per move."""
    rest = {key: value for key, value in given.items() if key != "losses"}
    record = hn.play(learner, given["losses"], seed=seed, keep="all", threads=1, **rest)
    assert record.actions is not None
    return code(record.actions[0])


def regrets(make: Callable[[], Any], table: Any, seed: int) -> list[float]:
    record = hn.play(make(), table, seed=seed, keep="all", threads=1)
    return [float(x) for x in record.regret[0][9::10]]


def sets(seed: int) -> dict[str, list[list[int]]]:
    """FPL over sets of three of eight."""
    made: dict[str, list[list[int]]] = {}
    table = losses(8)[:300]
    for noise in ("uniform", "exponential"):
        player = hn.FPL(MSets(8, 3), 12.0, noise).start(seed)
        made[f"fpl, {noise}"] = []
        for row in table:
            move = player.act()
            player.observe(move, row)
            made[f"fpl, {noise}"].append([int(k) for k in np.flatnonzero(np.asarray(move.action))])
    return made


def main() -> None:
    found: dict[str, Any] = {"paths": {}, "regrets": {}, "sets": {}}
    for name, (learner, given) in tables().items():
        found["paths"][name] = {str(seed): path(learner, given, seed) for seed in SEEDS}
        print(name, flush=True)
    FILE.write_text(json.dumps(found, indent=0) + "\n")
    for name, (make, table) in points().items():
        try:
            found["regrets"][name] = {str(seed): regrets(make, table, seed) for seed in SEEDS}
            print(name, flush=True)
        except ValueError as reason:
            print("no", name, reason)
    for seed in SEEDS:
        found["sets"][str(seed)] = sets(seed)
    FILE.write_text(json.dumps(found, indent=0) + "\n")


if __name__ == "__main__":
    main()
