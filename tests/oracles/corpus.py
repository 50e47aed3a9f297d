"""Recorder of files and numbers of a released version, which later versions must reproduce.

    python tests/oracles/corpus.py tests/corpus/0.2

records the corpus with the installed version. tests/saving/test_corpus.py opens the files, continues from them, and
compares. Values computed by the engine are equal bit for bit on every machine and are kept as digests; points of
numerical solvers are kept as numbers and compared with a tolerance.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import hannan as hn
from hannan.learners import names
from hannan.learners.fpl import MSets

PLAYERS: dict[str, Callable[[], Any]] = {
    "experts": lambda: hn.Experts(4),
    "experts-entropy-70": lambda: hn.Experts(70, hn.Entropy()),
    "experts-prior": lambda: hn.Experts(3, hn.Entropy(), prior=(0.5, 0.3, 0.2)),
    "experts-gumbel-best-loss": lambda: hn.Experts(4, hn.Gumbel(), hn.BestLoss(100)),
    "experts-gains": lambda: hn.Experts(4, gains=True, loss_range=(0, 5)),
    "adahedge": lambda: hn.AdaHedge(4),
    "squint": lambda: hn.Squint(4),
    "adanormalhedge": lambda: hn.AdaNormalHedge(4),
    "ml-poly": lambda: hn.MLPoly(4),
    "fixed-share": lambda: hn.FixedShare(4, 3.0, 0.01),
    "random-walk": lambda: hn.RandomWalk(4),
    "dropout": lambda: hn.Dropout(4),
    "bandit": lambda: hn.Bandit(4),
    "bandit-named-arms": lambda: hn.Bandit(["red", "blue", "green"], gains=True),
    "bandit-exponential": lambda: hn.Bandit(4, hn.Exponential()),
    "bandit-frechet": lambda: hn.Bandit(4, hn.Frechet(3.0)),
    "bandit-horizon-70": lambda: hn.Bandit(70, hn.Entropy(), hn.Horizon(400)),
    "bandit-log-barrier": lambda: hn.Bandit(4, hn.LogBarrier(), hn.Horizon(400)),
    "bandit-implicit": lambda: hn.Bandit(4, hn.Entropy(), hn.Horizon(400), hn.ImplicitExploration(0.05)),
    "bandit-tsallis-horizon": lambda: hn.Bandit(4, tuning=hn.Horizon(400)),
    "bandit-reduced-horizon": lambda: hn.Bandit(4, hn.Tsallis(0.5), hn.Horizon(400), hn.ReducedVariance()),
    "tsallis-inf": lambda: hn.tsallis_inf(4, False),
    "lb-inf": lambda: hn.LBInf(4),
    "lb-inf-400": lambda: hn.LBInf(4, 400),
    "tsallis-shannon": lambda: hn.TsallisShannon(4),
    "ucb1": lambda: hn.UCB1(4),
    "moss": lambda: hn.MOSS(4, 400),
    "kl-ucb": lambda: hn.KLUCB(4),
    "epsilon-greedy": lambda: hn.EpsilonGreedy(4),
    "explore-then-commit": lambda: hn.ExploreThenCommit(4, 400, 5),
    "thompson": lambda: hn.Thompson(4),
    "thompson-gaussian": lambda: hn.Thompson(4, "gaussian"),
    "exp3-s": lambda: hn.Exp3S(4, 20.0, 0.01),
    "expert-bandit": lambda: hn.ExpertBandit(7, 5, hn.Entropy()),
    "expert-bandit-clipped": lambda: hn.ExpertBandit(3, 5, clip="tuned"),
    "myga": lambda: hn.MYGA(3, 5, 50),
    "fpl": lambda: hn.FPL(MSets(6, 2), 2.0),
    "fpl-trix": lambda: hn.FPLTrix(MSets(6, 2)),
    "convex": lambda: hn.Convex(hn.Ball(2), 1.0, loss_bound=2.0),
    "convex-privacy": lambda: hn.Convex(
        hn.Ball(2), 1.0, loss_bound=2.0, smooth=0.25, guarantee="privacy", tuning=hn.Fixed(5.0)
    ),
    "gradient-descent": lambda: hn.OnlineGradientDescent(hn.Ball(2), 1.0),
    "exponentiated-gradient": lambda: hn.ExponentiatedGradient(hn.Simplex(2), 1.0),
}

FLEETS: dict[str, Callable[[], Any]] = {
    "default": lambda: hn.Fleet(hn.Bandit(["red", "blue", "green"], gains=True), seed=3, name="default"),
    "entropy": lambda: hn.Fleet(hn.Bandit(4, hn.Entropy()), seed=3, name="entropy"),
    "ucb1": lambda: hn.Fleet(hn.UCB1(4), seed=3, name="ucb1"),
    "tsallis-shannon": lambda: hn.Fleet(hn.TsallisShannon(4), seed=3, name="tsallis-shannon"),
    "log-barrier": lambda: hn.Fleet(hn.Bandit(4, hn.LogBarrier(), hn.Horizon(100)), seed=3, name="log-barrier"),
    "reduced-horizon": lambda: hn.Fleet(PLAYERS["bandit-reduced-horizon"](), seed=3, name="reduced-horizon"),
    "diagnosed": lambda: hn.Fleet.diagnosed(hn.Bandit(4), seed=3, name="diagnosed"),
}

COMBINERS: dict[str, dict[str, Any]] = {
    "two-layers": {},
    "two-layers-squared": {"loss": "squared"},
    "two-layers-prior": {"prior": [0.5, 0.3, 0.2]},
    "b": {"learner": "b"},
    "adahedge-slopes": {"learner": "adahedge:slopes"},
    "ml-poly": {"learner": "ml-poly"},
    "boa": {"learner": "boa"},
}


def act(player: Any, rng: np.random.Generator) -> Any:
    """Play one move, with random advice if the learner takes advice."""
    if hasattr(player.learner, "actions"):
        return player.act(rng.integers(0, player.learner.actions, player.learner.experts))
    return player.act()


def feedback(player: Any, move: Any, rng: np.random.Generator) -> Any:
    """Return random feedback of the kind that the learner takes."""
    if isinstance(player.learner, hn.Convex):
        return hn.Logistic([0.6, 0.8], 1 if rng.random() < 0.5 else -1)
    if hasattr(player.learner, "domain"):
        return hn.Linear(rng.random(2) / 2)
    if isinstance(move.action, tuple):
        return rng.random(player.learner.n if player.sees_all else len(move.action))
    return rng.random(player.learner.n) if player.sees_all else float(rng.random())


def played(player: Any, rounds: int, seed: int) -> Any:
    """Play, settle every open move, and return the digest of all moves (points of a convex set: the points)."""
    rng, digest, points = np.random.default_rng(seed), hashlib.sha256(), []
    for _ in range(rounds):
        move = act(player, rng)
        if hasattr(player.learner, "domain"):
            points.append(np.asarray(move.action, dtype=np.float64).tolist())
        else:
            digest.update(repr((move.action, float(getattr(move, "probability", None) or 0.0).hex())).encode())
        player.observe(move, feedback(player, move, rng))
    for move in player.open_moves:
        player.observe(move, feedback(player, move, rng))
    return points or digest.hexdigest()


def fleet_played(fleet: Any, batches: int, seed: int) -> str:
    """Play a fleet of text keys, one batch after another, and return the digest of its moves."""
    rng, digest = np.random.default_rng(seed), hashlib.sha256()
    for _ in range(batches):
        moves = fleet.act([f"user {k}" for k in rng.integers(0, 9, 6)])
        for array in (moves.action, moves.round, moves.probability):
            digest.update(np.ascontiguousarray(array).tobytes())
        fleet.observe(moves, rng.random(len(moves)))
    return digest.hexdigest()


def forecast_rows(rows: int, seed: int) -> Iterator[tuple[list[float], float]]:
    """Yield forecasts of three columns and their target."""
    rng = np.random.default_rng(seed)
    for t in range(rows):
        y = 5.0 + np.sin(t / 7.0)
        yield [float(v) for v in y + rng.normal([0.3, -0.2, 0.0], [0.2, 0.3, 0.5])], float(y)


def combined(combiner: Any, rows: int, seed: int, first: int) -> str:
    """Answer and settle rows; return the digest of answers and weights."""
    digest = hashlib.sha256()
    for t, (forecasts, y) in enumerate(forecast_rows(rows, seed)):
        answer = combiner.answer(first + t, forecasts)
        digest.update(np.float64(answer).tobytes() + np.ascontiguousarray(combiner.weights()).tobytes())
        combiner.settle(first + t, y)
    return digest.hexdigest()


def combiner_digests(combiner: Any) -> dict[str, str]:
    """Continue a loaded combiner: settle what is open, then forty rows; the losses are part of the digest."""
    for row in sorted(combiner.open):
        combiner.settle(row, 5.0)
    forecasts = combined(combiner, 40, 11, 1000)
    return {"forecasts": forecasts, "losses": hashlib.sha256(combiner.certificate().losses.tobytes()).hexdigest()}


def games() -> dict[str, Any]:
    """Digests of games and bounds of all learners that have a name."""
    losses, found = np.random.default_rng(0).random((200, 4)), dict[str, Any]()
    smoothings = (
        "entropy", "exponential", "gumbel", "laplace", "gaussian", "gamma:2", "weibull:1", "frechet:3", "pareto:3",
        "tsallis:0.5", "tsallis:0.3", "log-barrier",
    )  # fmt: skip
    described = [f"{kind}:{s}@fixed:3" for kind in ("experts", "bandit") for s in smoothings]
    described += ["experts", "bandit", "adahedge", "ucb1", "kl-ucb", "thompson", "lb-inf"]
    for name in described:
        try:
            learner = names.learner(name, 4)
        except ValueError:
            continue
        record = hn.play(learner, losses, runs=5, seed=7, threads=1)
        digest = hashlib.sha256(np.ascontiguousarray(record.regret).tobytes() + record.counts.tobytes()).hexdigest()
        try:
            bound: Any = learner.bound(200).value
        except ValueError:
            bound = None
        found[name] = {"game": digest, "player": played(learner.start(seed=7), 100, 1), "bound": bound}
    advice = np.random.default_rng(1).integers(0, 4, (200, 6))
    record = hn.play(hn.ExpertBandit(4, 6), losses, advice=advice, runs=5, seed=7, threads=1)
    found["expert-bandit"] = {"game": hashlib.sha256(np.ascontiguousarray(record.regret).tobytes()).hexdigest()}
    return found


def combinations() -> dict[str, Any]:
    """Digests of combinations in which every column has a forecast in every row."""
    rng, found = np.random.default_rng(2), dict[str, Any]()
    y = np.sin(np.arange(300.0))
    table = {name: y + rng.normal(bias, 0.2, 300) for name, bias in (("a", 0.3), ("b", -0.2), ("c", 0.0))} | {"y": y}
    for rule in (None, "b", "adahedge", "ml-poly", "boa", "squint", "adanormalhedge", "fixed-share", "mean", "median"):
        for loss in ("absolute", "squared"):
            result = hn.combine(table, "y", learner=rule, loss=loss)
            digest = hashlib.sha256(result.forecast.tobytes() + result.weights.tobytes()).hexdigest()
            found[f"{rule or 'default'} {loss}"] = digest
    return found


def rule_b_games(missing: bool) -> dict[str, str]:
    """Digests of forty combinations by rule B and two layers; `missing`: the first column begins in row 10."""
    found = {}
    for seed in range(40):
        rng = np.random.default_rng([seed, 20])
        rule, loss = ("b", "two-layers")[seed % 2], ("absolute", "squared", "pinball:0.8")[seed % 3]
        n, rows, horizon = int(rng.integers(3, 9)), 60, int(rng.choice([1, 6]))
        y = rng.normal(size=rows).cumsum()
        forecasts = y[:, None] + rng.normal(rng.normal(size=n), rng.uniform(0.2, 1.5, n), (rows, n))
        if missing:
            forecasts[:10, 0] = np.nan
        table = {str(i): column for i, column in enumerate(forecasts.T)} | {"y": y}
        prior = rng.dirichlet(np.ones(n)) * 0.9 + 0.1 / n if seed % 5 == 0 else None
        result = hn.combine(table, "y", loss, learner=rule, horizon=horizon, prior=prior)
        digest = hashlib.sha256(result.forecast.tobytes() + result.weights.tobytes())
        found[f"{seed} {rule} {loss}"] = digest.hexdigest()
    return found


# Recording


def record_players(folder: Path) -> dict[str, Any]:
    found = {}
    for name, make in PLAYERS.items():
        player = make().start(seed=1)
        played(player, 25, 0)
        rng = np.random.default_rng(5)
        for _ in range(3):
            act(player, rng)
        path = folder / f"{name}.json"
        player.save(path)
        found[name] = played(hn.load(path, resume="exact"), 40, 9)
    return found


def record_fleets(folder: Path) -> dict[str, Any]:
    found = {}
    for name, make in FLEETS.items():
        fleet = make()
        fleet_played(fleet, 20, 0)
        fleet.act(["user 1", "user 1", "user 8"])
        path = folder / f"{name}.fleet"
        fleet.save(path)
        loaded = hn.Fleet.load(path, resume="exact")
        found[name] = {"keys": len(loaded), "open": loaded._open_count, "moves": fleet_played(loaded, 10, 9)}
    return found


def record_combiners(folder: Path) -> dict[str, Any]:
    found = {}
    for name, options in COMBINERS.items():
        for missing in (False, True):
            combiner = hn.Combiner(["anna", "ben", "naive"], **options)
            combined(combiner, 50, 3, 0)
            if missing:  # a column that was updated before it slept
                combiner.answer("gap", [5.0, None, 5.5])
                combiner.settle("gap", 5.2)
            combiner.answer(900, [5.0, 5.1, 5.2])
            combiner.answer(901, [5.0, 5.3, 5.2])
            path = folder / f"{name}{'-missing' if missing else ''}.json"
            combiner.save(path)
            found[path.stem] = combiner_digests(hn.Combiner.load(path))
    for name in ("b", "two-layers"):  # the last column has no update yet
        combiner = hn.Combiner(["anna", "ben", "naive", "new"], learner=name)
        for t, (forecasts, y) in enumerate(forecast_rows(50, 3)):
            combiner.answer(t, [*forecasts, None])
            combiner.settle(t, y)
        combiner.save(folder / f"{name}-unseen.json")
    quantiles = hn.Combiner([f"{model}-q-{q}" for model in ("m", "n") for q in ("0.1", "0.5", "0.9")])
    for t, (forecasts, y) in enumerate(forecast_rows(30, 4)):
        quantiles.answer(t, sorted(forecasts) + sorted(f + 0.1 for f in forecasts))
        quantiles.settle(t, y)
    quantiles.save(folder / "quantiles.json")
    loaded = hn.Combiner.load(folder / "quantiles.json")
    found["quantiles"] = {"answer": [float(v) for v in loaded.answer(99, [4.0, 5.0, 6.0, 4.5, 5.5, 6.5])]}
    return found


#: Learners of `fill_store` that take losses.
LOSSES = ("page", "item", "room")


def fill_store(store: Any) -> dict[str, Any]:
    """Play a store: plain, keyed and expiring learners, an arm that came and one that went, tickets that wait."""
    store.add("banner", hn.Bandit(["red", "blue"], gains=True))
    store.add("page", hn.Bandit(3, hn.Entropy(), hn.Horizon(1000)))
    store.add("item", hn.Bandit(3))
    store.add("ad", hn.Bandit(["x", "y"], hn.Entropy(), gains=True), wait=1e9, default=0.0)
    store.add("room", hn.Bandit(4, hn.Exponential()), arms=["a", "b"])
    rng, pending, settled = np.random.default_rng(0), [], []
    for t in range(60):
        keyed = (("page", f"user {t % 3}"), ("item", t % 5))
        for name, key in (("banner", None), *keyed, ("ad", None), ("room", None)):
            decision = store.act(name, key=key, id=f"{name}-{t}" if name == "ad" else None)
            if t % 6 == 5:
                pending.append(decision.ticket)
            else:
                store.observe(decision.ticket, **{"loss" if name in LOSSES else "reward": float(rng.random())})
                settled.append(decision.ticket)
        if t == 20:
            store.add_arm("room", "c")
        if t == 40:
            store.retire_arm("room", "a")
    return {"pending": pending, "settled": settled[-5:], "ad": [store.act("ad", id="ad-3").ticket]}


def killed(path: Path, fill: str) -> Any:
    """Fill a store in a process that ends without a snapshot; return what `fill` returned."""
    here = Path(__file__).resolve()
    child = (
        f"import sys, os, json; sys.path.insert(0, {str(here.parent)!r}); import hannan as hn, corpus\n"
        f"store = hn.Store({str(path)!r}, snapshot_seconds=1e9, snapshot_events=10**9)\n"
        f"print(json.dumps(corpus.{fill}(store)), flush=True); os._exit(1)"
    )
    ended = subprocess.run([sys.executable, "-c", child], capture_output=True, text=True, check=False)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # a small file; the store itself wrote no snapshot
    return json.loads(ended.stdout)


#: Learners whose tuning or default was changed after version 0.2.
CHANGED: dict[str, Callable[[], Any]] = {
    "tsallis": lambda: hn.Bandit(["red", "blue"], tuning=hn.Horizon(1000)),
    "places": lambda: hn.Bandit(4, tuning=hn.Horizon(1000)),
    "reduced": lambda: hn.Bandit(3, hn.Tsallis(0.5), hn.Horizon(1000), hn.ReducedVariance(), gains=True),
}


def add_changed(store: Any) -> None:
    """Add the learners of `CHANGED`; one has places for arms that come later."""
    for name, make in CHANGED.items():
        store.add(name, make(), arms=["a", "b"] if name == "places" else None)


def fill_changed(store: Any) -> dict[str, Any]:
    """Play the learners of `CHANGED`; the last decision of each stays open."""
    add_changed(store)
    rng = np.random.default_rng(0)
    for _ in range(40):
        for name in CHANGED:
            store.observe(store.act(name).ticket, **{"reward" if name == "reduced" else "loss": float(rng.random())})
    pending = {name: store.act(name) for name in CHANGED}
    return {name: [decision.ticket, decision.probability] for name, decision in pending.items()}


def record_stores(folder: Path) -> dict[str, Any]:
    """Two stores in SQLite: one closed, with its snapshot; one whose process ended without a snapshot."""
    found: dict[str, Any] = {}
    with hn.Store(folder / "closed.db") as store:
        found["closed"] = fill_store(store)
        found["closed"]["certificates"] = {n: store.certificate(n).rounds for n in ("banner", "ad", "room")}
    found["killed"] = killed(folder / "killed.db", "fill_store")
    found["changed"] = killed(folder / "changed.db", "fill_changed")
    for name in ("closed", "killed"):  # the next decisions of a copy that is opened
        copy = folder / "copy.db"
        for path in folder.glob(f"{name}.db*"):
            shutil.copy(path, folder / path.name.replace(f"{name}.db", "copy.db"))
        with hn.Store(copy) as store:
            for ticket in found[name]["pending"]:
                assert store.observe(ticket, **feedback_for(ticket, store)) is True
            found[name]["rounds"] = {n: store.certificate(n).rounds for n in ("banner", "ad", "room")}
            found[name]["log"] = {n: len(next(iter(store._columns(n).values()))) for n in store.learners}
        for path in folder.glob("copy.db*"):
            path.unlink()
    for junk in folder.glob("*.lock"):
        junk.unlink()
    return found


def feedback_for(ticket: str, store: Any) -> dict[str, float]:
    """Return the feedback for a ticket of `fill_store`, in the units of its learner."""
    learner = store.queue.contents.owner(store.queue.signer.parse(ticket)).name
    return {"loss" if learner in LOSSES else "reward": 0.5}


def record_postgres(folder: Path) -> dict[str, Any]:
    """A store in PostgreSQL, as the text of its tables."""
    from database import database

    with database() as server:
        with hn.Store(server.address) as store:
            found = fill_store(store)
        program = shutil.which("pg_dump") or str(server._bin / "pg_dump")  # type: ignore[operator]
        dump = subprocess.run(
            [program, "--inserts", "--no-owner", "--no-privileges", server.address],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        (folder / "postgres.sql").write_text(dump.stdout)
    return found


def main(folder: Path) -> None:
    facts: dict[str, Any] = {"version": hn.__version__, "games": games(), "combinations": combinations()}
    facts["rule_b"] = {"full": rule_b_games(False), "missing": rule_b_games(True)}
    for part, recorder in (
        ("players", record_players), ("fleets", record_fleets), ("combiners", record_combiners),
        ("stores", record_stores),
    ):  # fmt: skip
        (folder / part).mkdir(parents=True, exist_ok=True)
        facts[part] = recorder(folder / part)
    facts["stores"]["postgres"] = record_postgres(folder / "stores")
    (folder / "facts.json").write_text(json.dumps(facts, indent=1) + os.linesep)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
