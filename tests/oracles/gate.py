"""Record the behavior that a restructuring must preserve, as JSON.

    python tests/oracles/gate.py > before.json
    python tests/oracles/gate.py > after.json
    diff before.json after.json

The record has the public names with their signatures, the parameters of every command with types and defaults, bounds,
certificates as JSON, and digests of games, of stepped players with immediate and late feedback, of fleets, stores,
convex games, combinations and saved files. Everything is seeded, so two runs of one version print the same text. A
withheld bound is recorded as such. Any other error ends the script: no row records an error in place of a result.
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
#: Arguments of each class after the number of arms.
CLASSES: dict[str, tuple[float, ...]] = {
    **dict.fromkeys(("AdaHedge", "Squint", "AdaNormalHedge", "MLPoly", "LBInf", "UCB1", "KLUCB", "Thompson"), ()),
    **dict.fromkeys(("TsallisShannon", "Dropout", "RandomWalk", "EpsilonGreedy"), ()),
    "MOSS": (ROUNDS,), "ExploreThenCommit": (ROUNDS,), "FixedShare": (3.0, 0.05), "Exp3S": (20.0, 0.05),
}  # fmt: skip


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


def bound(learner: Any) -> str:
    """Return all digits of a bound, or "withheld"."""
    try:
        return repr(learner.bound(ROUNDS).value)
    except hn.Withheld:
        return "withheld"


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
        f"{kind}:{s}@fixed:3": names.learner(f"{kind}:{s}@fixed:3", ARMS)
        for kind in ("experts", "bandit")
        for s in SMOOTHINGS
    }
    learners |= {name: getattr(hn, name)(ARMS, *more) for name, more in CLASSES.items()}
    for name, learner in learners.items():
        record = hn.play(learner, LOSSES, runs=5, seed=7, threads=1)
        full = learner.start(seed=0).sees_all
        out[name] = (
            digest(record.regret, record.counts),
            [stepped(learner, full, late) for late in (0, 3)],
            bound(learner),
            json.loads(learner.to_json()),
        )
    return out


def advised() -> dict[str, Any]:
    """Return digests of bandits with expert advice."""
    rng = np.random.default_rng(1)
    advice, losses = rng.dirichlet(np.ones(3), size=(ROUNDS, 5)), rng.random((ROUNDS, 3))
    learners = {"clip 0.0": hn.ExpertBandit(3, 5), "clip 0.1": hn.ExpertBandit(3, 5, clip=0.1)}
    learners["MYGA"] = hn.MYGA(3, 5, ROUNDS)
    out = {}
    for name, learner in learners.items():
        record = hn.play(learner, losses, advice=advice, runs=3, seed=2, threads=1)
        player, moves = learner.start(seed=2), []
        for row, advised in zip(losses, advice, strict=True):
            move = player.act(advised)
            moves.append((move.action, float(move.probability)))
            player.observe(move, float(row[move.action]))
        out[name] = digest(record.regret, record.counts), digest(moves), bound(learner)
    return out


def convex() -> dict[str, Any]:
    """Return digests of convex games and players."""
    z = np.random.default_rng(3).standard_normal((60, 3))
    z /= np.linalg.norm(z, axis=1, keepdims=True)
    out = {}
    for name, domain in (("ball", hn.Ball(3)), ("box", hn.Box([0.0] * 3, [1.0] * 3)), ("simplex", hn.Simplex(3))):
        regularized = hn.Convex(domain, 1.0, tuning=hn.Horizon(60), loss_bound=4.0)
        signed = hn.Convex(domain, 1.0, tuning=hn.Horizon(60), smooth=0.0)
        rivals = [hn.OnlineGradientDescent(domain, 1.0)]
        rivals += [hn.ExponentiatedGradient(domain, 1.0)] if name == "simplex" else []
        linear, logistic = hn.Linear(z), hn.Logistic(z, np.sign(z[:, 0]))
        for learner, losses in ((regularized, logistic), (signed, linear), *((rival, linear) for rival in rivals)):
            record = hn.play(learner, losses, runs=2, seed=5, threads=1)
            player, moves = learner.start(seed=5), []
            for row in z[:20]:
                one = hn.Linear(row) if losses is linear else hn.Logistic(row, float(np.sign(row[0])))
                move = player.act()
                moves.append(move.action)
                player.observe(move, one)
            kind = type(learner).__name__, type(losses).__name__
            out[" ".join((name, *kind))] = digest(record.regret), digest(moves)
    return out


def decisions() -> dict[str, Any]:
    """Return digests of games with combinatorial decisions."""
    losses = np.random.default_rng(6).random((60, 4)) / 2.0
    learners = (hn.FPL(hn.MSets(4, 2), 5.0), hn.FPL(hn.Assignments(2), 5.0, "exponential"), hn.FPLTrix(hn.MSets(4, 2)))
    return {repr(one): digest(hn.play(one, losses, runs=2, seed=5, threads=1).regret) for one in learners}


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
            rows = len(list(log))
        fields = sorted(vars(certificate)) if hasattr(certificate, "__dict__") else sorted(certificate.to_dict())
        return {"fields": fields, "rows": rows}


def combinations() -> dict[str, Any]:
    """Return digests of combinations."""
    y = np.sin(np.arange(300.0))
    table = {"a": y + 0.3, "b": y - 0.2, "c": 0.9 * y, "y": y}
    out = {}
    for rule in (None, "b", "adahedge", "ml-poly", "boa", "squint", "fixed-share", "mean", "median"):
        for loss in ("squared", "absolute"):
            c = hn.combine(table, "y", learner=rule, loss=loss)
            out[f"{rule} {loss}"] = digest(c.forecast, c.weights), repr(c.summary.own_regret)
    return out


def options() -> dict[str, Any]:
    """Return the parameters of every command and subcommand: names, type, default, and number of values."""
    out = {}
    for name in sorted(COMMANDS):
        command = hannan.get_command(None, name)
        for title, one in (
            (name, command),
            *((f"{name} {sub}", c) for sub, c in getattr(command, "commands", {}).items()),
        ):
            options = sorted((p for p in one.params if p.param_type_name == "option"), key=lambda p: str(p.name))
            arguments = [p for p in one.params if p.param_type_name == "argument"]
            out[title] = [parameter(p.to_info_dict()) for p in (*arguments, *options)]
    return out


def parameter(info: dict[str, Any]) -> dict[str, Any]:
    """Return the description of a command's parameter without its help text."""
    return {key: str(value) for key, value in info.items() if key not in ("help", "hidden", "prompt")}


def main() -> None:
    """Print the record."""
    public = {n: (type(getattr(hn, n)).__name__, signature(getattr(hn, n))) for n in sorted(hn.__all__)}
    record = {
        "names": public, "commands": options(), "games": games(), "advice": advised(), "convex": convex(),
        "decisions": decisions(), "fleets": fleets(), "stores": stores(), "combinations": combinations(),
    }  # fmt: skip
    print(json.dumps(record, indent=1, default=str, sort_keys=True))


if __name__ == "__main__":
    main()
