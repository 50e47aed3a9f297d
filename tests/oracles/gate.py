"""Record the behavior that a restructuring must preserve, as JSON.

    python tests/oracles/gate.py > before.json
    python tests/oracles/gate.py > after.json
    diff before.json after.json

The record has the public names with their signatures, the options of every command, bounds, certificates as JSON, and
digests of games, of stepped players with immediate and late feedback, of fleets, stores, convex games, combinations and
saved files. Everything is seeded, so two runs of one version print the same text.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import hannan as hn
from hannan.cli.commands import COMMANDS, hannan
from hannan.learners import names

ROUNDS, ARMS = 200, 4
LOSSES = np.random.default_rng(0).random((ROUNDS, ARMS))
SMOOTHINGS = (
    "entropy", "exponential", "gumbel", "laplace", "gaussian", "gamma:2", "weibull:1", "frechet:3", "pareto:3",
    "tsallis:0.5", "tsallis:0.3", "log-barrier",
)  # fmt: skip
CLASSES = (
    "AdaHedge", "Squint", "AdaNormalHedge", "MLPoly", "LBInf", "UCB1", "MOSS", "KLUCB", "Thompson", "TsallisShannon",
    "Dropout", "RandomWalk", "MYGA", "FixedShare", "Exp3S", "EpsilonGreedy", "ExploreThenCommit",
)  # fmt: skip


def digest(*parts: Any) -> str:
    """Return a short hash of arrays, bytes and values."""
    h = hashlib.sha256()
    for part in parts:
        h.update(np.ascontiguousarray(part).tobytes() if isinstance(part, np.ndarray) else repr(part).encode())
    return h.hexdigest()[:16]


def signature(thing: Any) -> str:
    """Return the signature of a callable without module names, or an empty string."""
    try:
        return ".".join(part.rpartition(".")[2] for part in str(inspect.signature(thing)).split("hannan."))
    except (TypeError, ValueError):
        return ""


def attempt(call: Any) -> Any:
    """Return the value of a call, or the class of its error."""
    try:
        return call()
    except (ValueError, TypeError, AttributeError) as error:
        return f"{type(error).__name__}: {error}"


def stepped(learner: Any, full: bool, late: int) -> str:
    """Play one player, with feedback that is `late` rounds late, and hash its moves and its saved file."""
    player, moves, pending = learner.start(seed=7, name="gate"), [], []
    for row in LOSSES[:100]:
        move = player.act()
        moves.append((move.action, float(move.probability)))
        pending.append((move, row if full else float(row[move.action])))
        if len(pending) > late:
            player.observe(*pending.pop(0))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "player.json"
        player.save(path)
        again = hn.load(path)
        if not late:
            moves.append(np.asarray(again.distribution()).tolist())
        return digest(moves, path.stat().st_size)


def games() -> dict[str, Any]:
    """Return digests of games and players, with bounds and descriptions."""
    out: dict[str, Any] = {}
    learners: dict[str, Any] = {
        f"{kind}:{s}@fixed:3": attempt(lambda kind=kind, s=s: names.learner(f"{kind}:{s}@fixed:3", ARMS))
        for kind in ("experts", "bandit")
        for s in SMOOTHINGS
    }
    learners |= {cls: attempt(lambda cls=cls: getattr(hn, cls)(ARMS)) for cls in CLASSES}
    for name, learner in learners.items():
        if isinstance(learner, str):
            out[name] = learner
            continue
        record = attempt(lambda learner=learner: hn.play(learner, LOSSES, runs=5, seed=7, threads=1))
        if isinstance(record, str):
            out[name] = record
            continue
        full = type(learner).__name__ in ("Experts", "AdaHedge", "Squint", "AdaNormalHedge", "MLPoly", "Dropout",
                                          "RandomWalk", "FixedShare")  # fmt: skip
        out[name] = (
            digest(record.regret, record.counts),
            [attempt(lambda late=late, learner=learner, full=full: stepped(learner, full, late)) for late in (0, 3)],
            attempt(lambda learner=learner: repr(learner.bound(ROUNDS).value)),
            attempt(lambda learner=learner: json.loads(learner.to_json())),
        )
    return out


def advised() -> dict[str, Any]:
    """Return digests of bandits with expert advice."""
    rng = np.random.default_rng(1)
    advice, losses = rng.dirichlet(np.ones(3), size=(ROUNDS, 5)), rng.random((ROUNDS, 3))
    out = {}
    for clip in (0.0, 0.1):
        learner = hn.ExpertBandit(3, 5, clip=clip)
        record = hn.play(learner, losses, advice=advice, runs=3, seed=2, threads=1)
        out[f"clip {clip}"] = (
            digest(record.regret, record.counts),
            repr(attempt(lambda learner=learner: learner.bound(ROUNDS).value)),
        )
    return out


def convex() -> dict[str, Any]:
    """Return digests of convex games."""
    z = np.random.default_rng(3).standard_normal((60, 3))
    z /= np.linalg.norm(z, axis=1, keepdims=True)
    out = {}
    for name, domain in (("ball", hn.Ball(3)), ("box", hn.Box([0.0] * 3, [1.0] * 3)), ("simplex", hn.Simplex(3))):
        for kind, losses in (("linear", hn.Linear(z)), ("logistic", hn.Logistic(z, np.sign(z[:, 0])))):
            learner = hn.Convex(domain, 1.0, tuning=hn.Horizon(60), loss_bound=4.0)
            record = attempt(lambda learner=learner, losses=losses: hn.play(learner, losses, runs=2, seed=5, threads=1))
            out[f"{name} {kind}"] = record if isinstance(record, str) else digest(record.regret)
    return out


def fleets() -> dict[str, Any]:
    """Return digests of fleets and of their certificates."""
    out = {}
    for learner in (hn.Bandit(3), hn.Bandit(3, hn.Entropy()), hn.LBInf(3)):
        fleet = hn.Fleet(learner, seed=4)
        keys = np.arange(20) % 7
        h = []
        for t in range(30):
            moves = fleet.act(keys)
            rows = np.random.default_rng(t).random((20, 3))
            actions = np.asarray(moves.action)
            h += [actions.tolist(), np.asarray(moves.probability).tolist()]
            fleet.observe(moves, rows[np.arange(20), actions])
        out[repr(learner)] = digest(h), len(fleet.to_bytes())
    return out


def stores() -> dict[str, Any]:
    """Return what a store counts and certifies after a reopening."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "decisions.db"
        with hn.Store(path) as store:
            store.add("banner", hn.Bandit(3))
            for i in range(40):
                decision = store.act("banner", id=f"d{i}")
                if i % 4:
                    store.observe(decision.ticket, loss=1.0)
        with hn.Store(path) as store:
            certificate = store.certificate("banner")
            log = store.log("banner")
            rows = attempt(lambda: len(list(log)))
        fields = sorted(vars(certificate)) if hasattr(certificate, "__dict__") else sorted(certificate.to_dict())
        return {"fields": fields, "rows": rows}


def combinations() -> dict[str, Any]:
    """Return digests of combinations."""
    y = np.sin(np.arange(300.0))
    table = {"a": y + 0.3, "b": y - 0.2, "c": 0.9 * y, "y": y}
    out = {}
    for rule in (None, "b", "adahedge", "ml-poly", "boa", "squint", "fixed-share", "mean", "median"):
        for loss in ("squared", "absolute"):
            c = attempt(lambda rule=rule, loss=loss: hn.combine(table, "y", learner=rule, loss=loss))
            key = f"{rule} {loss}"
            out[key] = c if isinstance(c, str) else (digest(c.forecast, c.weights), repr(c.summary.own_regret))
    return out


def options() -> dict[str, list[str]]:
    """Return the options of every command."""
    out = {}
    for name in sorted(COMMANDS):
        command = hannan.get_command(None, name)
        out[name] = sorted(option for p in command.params for option in (*p.opts, *p.secondary_opts))
        out[name] += [f"{sub} {o}" for sub, c in sorted(getattr(command, "commands", {}).items())
                      for p in c.params for o in p.opts]  # fmt: skip
    return out


def main() -> None:
    """Print the record."""
    public = {n: (type(getattr(hn, n)).__name__, signature(getattr(hn, n))) for n in sorted(hn.__all__)}
    record = {
        "names": public, "commands": options(), "games": games(), "advice": advised(), "convex": convex(),
        "fleets": fleets(), "stores": stores(), "combinations": combinations(),
    }  # fmt: skip
    print(json.dumps(record, indent=1, default=str, sort_keys=True))


if __name__ == "__main__":
    main()
