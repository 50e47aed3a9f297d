"""Whole games: `play(learner, losses, runs)` returns a `Record`.

The runner of the setting (`SETTINGS`) holds the state of the game. The driver advances it block by block.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from hannan.games import driver
from hannan.games.record import Record
from hannan.games.runners import Request, Runner, is_stepped, setup_of
from hannan.saving import once
from hannan.validation import brief


@dataclass(frozen=True)
class OwnLearner:
    """A class or factory of players as a learner: builds one player per run.

    >>> class Stays:
    ...     def __init__(self, n): self.arm = n - 1
    ...     def act(self): return self.arm
    ...     def observe(self, move, loss): pass
    >>> built(Stays, 3, 100).start(seed=0).act()
    2
    """

    make: Callable[..., Any]
    n: int
    rounds: int | None = None
    gains: bool = False
    loss_range: Any = (0.0, 1.0)

    def start(self, seed: int | None = None) -> Any:
        """Return a new player for one run."""
        return called(self.make, self.n, self.rounds, seed)

    def __repr__(self) -> str:
        return label(self.make)


def own_learner(learner: Any, losses: Any, rounds: int | None) -> Any:
    """Return the learner that a class or factory stands for in a game with these losses; other objects unchanged."""
    if not (is_class(learner) or is_factory(learner)):
        return learner
    n = stated_n(learner)
    if n is None:
        shape = np.shape(losses.means if hasattr(losses, "means") else losses)
        if len(shape) >= 2 or hasattr(losses, "means"):
            n = int(shape[-1])
            rounds = int(getattr(losses, "rounds", None) or shape[-2]) if rounds is None else rounds
    return built(learner, n, rounds)


def stated_n(learner: Any) -> int | None:
    """Return the number of actions or choices that a learner states, or that a partial has bound; None if neither."""
    bound = learner.keywords if isinstance(learner, functools.partial) else {}
    said = [bound.get("actions"), bound.get("n"), getattr(learner, "actions", None), getattr(learner, "n", None)]
    return next((int(n) for n in said if isinstance(n, (int, np.integer)) and n), None)


def built(make: Any, n: int | None, rounds: int | None) -> Any:
    """Return the learner of a class of players, or of a factory, for n choices.

    A factory is called once here. It may return a learner, the name of one, a class of players, or a player.
    """
    made = make if isinstance(make, type) else called(make, n, rounds, 0)
    if is_class(made) and made is not make:
        return built(made, n, rounds)
    if isinstance(made, str):
        return made
    if hasattr(made, "start") and not isinstance(made, type):
        if "seed" in _open(make):
            raise ValueError(
                f"{label(make)} must not take seed, because it returns a learner, which gets a seed per run by start; "
                f"got {made!r}"
            )
        return made
    if not is_player(made) and not is_class(made):
        raise ValueError(
            f"{label(make)} must return a learner with start(seed), a player with act() and observe(move, loss), or a "
            f"class of players; got {brief(made)}"
        )
    n = n if n is not None else getattr(made, "n", None)
    if n is None:
        raise ValueError(f"{label(make)} must have n, the number of its choices, to play these losses; got no n")
    return OwnLearner(
        make, n, rounds, bool(getattr(made, "gains", False)), getattr(made, "loss_range", (0.0, 1.0))
    )  # fmt: skip


def called(make: Callable[..., Any], n: int | None, rounds: int | None, seed: int | None) -> Any:
    """Call a class or factory with those of n, rounds and seed that it takes.

    Parameters named n, rounds or seed are passed by name. Other required parameters of a function get n, then rounds.

    >>> called(lambda k, seed: (k, seed), 3, 100, 7), called(lambda n, width=5: (n, width), 3, 100, 7)
    ((3, 7), (3, 5))
    """
    known = {"n": n, "rounds": rounds, "seed": seed}
    named = _open(make)
    rest = [known[name] for name in ("n", "rounds") if name not in named]
    args: list[Any] = []
    keywords: dict[str, Any] = {}
    for name, parameter in named.items():
        spread = parameter.kind is parameter.VAR_POSITIONAL
        if name in known and not spread:
            value = known[name]
        elif spread and not isinstance(make, type) and not keywords:
            args += rest
            continue
        elif parameter.default is not parameter.empty or spread or parameter.kind is parameter.VAR_KEYWORD:
            continue
        elif rest and parameter.kind is not parameter.KEYWORD_ONLY:
            value = rest.pop(0)
        else:
            raise ValueError(
                f"{label(make)} must take no required parameters other than n, rounds and seed; got {name!r}. "
                "Bind it with functools.partial"
            )
        if value is None and n is None and (name == "n" or name not in known):
            raise ValueError(
                f"{label(make)} must have n, the number of its choices, to play these losses; got no n. Bind it with "
                "functools.partial"
            )
        if parameter.kind is parameter.POSITIONAL_ONLY:
            args.append(value)
        else:
            keywords[name] = value
    return make(*args, **keywords)


def _open(make: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """Return the parameters that a call can pass, without those that a partial has bound."""
    try:
        taken = dict(inspect.signature(make).parameters)
    except (TypeError, ValueError):  # compiled callables may have no signature
        taken = {"args": inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL)}
    bound = make.keywords if isinstance(make, functools.partial) else {}
    return {name: parameter for name, parameter in taken.items() if name not in bound}


def is_class(learner: Any) -> bool:
    """Return True for a class of players.

    >>> is_class(OwnLearner)
    False
    """
    return isinstance(learner, type) and is_player(learner)


def is_player(thing: Any) -> bool:
    """Return True if a thing has act and observe."""
    return hasattr(thing, "act") and hasattr(thing, "observe")


def is_factory(thing: Any) -> bool:
    """Return True for a callable that is neither a class nor a learner nor a player.

    >>> is_factory(lambda n: None), is_factory(OwnLearner), is_factory("bandit")
    (True, False, False)
    """
    return callable(thing) and not isinstance(thing, type) and not hasattr(thing, "start") and not hasattr(thing, "act")


def label(thing: Any) -> str:
    """Return a short name of a class, callable or object that is the same in every process.

    >>> label(functools.partial(OwnLearner, n=3)), label(lambda: None)
    ('OwnLearner(n=3)', '<lambda>')
    """
    if isinstance(thing, functools.partial):
        values = [("", value) for value in thing.args] + [(f"{name}=", value) for name, value in thing.keywords.items()]
        parts = [f"{name}{_clipped(label(value))}" for name, value in values]
        return f"{label(thing.func)}({', '.join(parts)})"
    if isinstance(thing, type) or callable(thing):
        name = getattr(thing, "__name__", None)
        if isinstance(name, str):
            return name
    # The default repr has an address, which differs from process to process.
    return type(thing).__name__ if getattr(type(thing), "__repr__", None) is object.__repr__ else repr(thing)


def _clipped(text: str, most: int = 60) -> str:
    return text if len(text) <= most else f"{text[:most]}..."


class Setting(NamedTuple):
    """Classes that play a setting: against fixed losses, and against an adaptive adversary. Written `module:class`."""

    runner: str
    table: str


#: Modules are imported when they are needed, so that a game of experts does not wait for convex optimization.
SETTINGS = {
    "experts": Setting("runners:ExpertsRunner", "stepped:VectorTable"),
    "bandit": Setting("runners:BanditRunner", "stepped:VectorTable"),
    "expert_bandit": Setting("runners:ExpertBanditRunner", "stepped:AdvisedTable"),
    "convex": Setting("convex:ConvexRunner", "convex:ConvexTable"),
    "descent": Setting("convex:DescentRunner", "convex:DescentTable"),
    "private_ball": Setting("convex:PrivateBallRunner", "convex:PointTable"),
    "barrier": Setting("convex:BarrierRunner", "convex:PointTable"),
    "decisions": Setting("decisions:DecisionsRunner", "decisions:DecisionTable"),
    "stepped": Setting("stepped:SteppedRunner", "stepped:VectorTable"),
}


def setting_of(learner: Any, losses: Any) -> Setting:
    """Return the classes that play a learner. User-defined learners are stepped in Python."""
    stated = getattr(learner, "setting", None)
    if stated in ("convex", "descent", "private_ball", "barrier", "decisions"):
        return SETTINGS[stated]
    setting = setup_of(learner, losses).setting
    if is_stepped(learner):
        return SETTINGS["stepped"]._replace(table=SETTINGS.get(setting, SETTINGS["stepped"]).table)
    return SETTINGS[setting]


def load(name: str) -> Any:
    """Return a class of this package, written `module:class`."""
    module, _, found = name.partition(":")
    return getattr(importlib.import_module(f"hannan.games.{module}"), found)


def begin(learner: Any, losses: Any, request: Request) -> Runner:
    """Return the runner of a game."""
    if isinstance(learner, type):
        raise ValueError(f"learner must be an instance; got the class {learner.__name__}")
    if not hasattr(learner, "start"):
        hint = ". Pass its class or a function that makes it, so that each run has a new one" * is_player(learner)
        raise ValueError(f"learner must be a learner, with a method start; got {learner!r}{hint}")
    if not is_adversary(losses):
        runner: Runner = load(setting_of(learner, losses).runner)(learner, losses, request)
        return runner
    if request.fictitious:
        name = type(learner).__name__
        raise ValueError(
            f"fictitious must be False against an adversary: {name} moves before it observes the losses; got True"
        )
    from hannan.games.stepped import AdaptiveRunner

    return AdaptiveRunner(load(setting_of(learner, None).table)(learner, request), losses, request)


def is_adversary(losses: Any) -> bool:
    """Return True for an adversary: a function of (t, past), or an object with `loss(t, past)` or `start`.

    >>> is_adversary(lambda t, past: [0.0, 1.0]), is_adversary([[0.0, 1.0]])
    (True, False)
    """
    return callable(losses) or callable(getattr(losses, "loss", None)) or _begins(losses)


def _begins(losses: Any) -> bool:
    return hasattr(losses, "start") and not hasattr(losses, "act") and not hasattr(losses, "bound")


_said = once(repr)


def play(
    learner: Any,
    losses: Any,
    runs: int = 1,
    seed: int = 0,
    advice: Any = None,
    threads: int | None = None,
    keep: str = "checkpoints",
    *,
    rounds: int | None = None,
    fictitious: bool = False,
) -> Record:
    """Play a learner against losses and return the record of the game.

    Parameters
    ----------
    learner : learner, class or callable
        A learner; a user-defined learner, whose ``start(seed)`` returns a new player for every run; a class of players
        with ``act`` and ``observe``; or a function that returns a learner or a player. Classes and functions receive
        those of ``n``, ``rounds`` and ``seed`` that they have as parameters.
    losses : array_like, Bernoulli, iterator, adversary or sequence of loss functions
        Losses of shape (T, n), or (runs, T, n) with one sequence per run; a memory map; Bernoulli means
        (`hannan.adversaries.Bernoulli`); an iterator of blocks of shape (t, n); or an adaptive adversary
        (`hannan.adversaries.adaptive`). For `ExpertBandit`, n is the number of actions. For `Convex` and gradient
        learners, a sequence such as ``Linear(z)`` with z of shape (T, d). For `FPL` and `FPLTrix`, one column per
        component.
    runs : int, default 1
        Number of independent runs.
    seed : int, default 0
        Seed of all random streams. Run r uses the stream (seed, r), so the record does not depend on `threads`.
        Run 0 makes the moves of ``learner.start(seed)``.
    advice : array_like, optional
        Advice for `ExpertBandit`: actions of shape (T, experts), where uint8 is fastest, or distributions of shape
        (T, experts, actions).
    threads : int, optional
        Largest number of threads. Default: all cores. Games that are stepped in Python use one thread.
    keep : {"checkpoints", "all"}, default "checkpoints"
        Store the curves at about 500 rounds, or at every round together with all moves.
    rounds : int, optional
        Largest number of rounds. Required for an adaptive adversary.
    fictitious : bool, default False
        Play at round t what the learner plays at round t + 1: the player A+ of the key lemma. Full information only.

    Returns
    -------
    Record
        Regret of every run, with the proved bound or the reason why there is no bound.

    Raises
    ------
    ValueError
        If an argument is invalid, or if the setting of the learner does not support it.

    Examples
    --------
    >>> import numpy as np, hannan as hn
    >>> losses = np.tile([0.25, 0.75], (1000, 1))
    >>> record = play(hn.Experts(2, hn.Entropy(), hn.Horizon(1000)), losses, runs=4, seed=1)
    >>> record.best_loss, record.regret.shape[0], bool(record.expected_regret[-1] < record.bound.value)
    (250.0, 4, True)
    """
    request = Request.checked(
        runs=runs, seed=seed, advice=advice, threads=threads, keep=keep, rounds=rounds, fictitious=fictitious
    )
    return driven(learner, losses, request)


def driven(learner: Any, losses: Any, request: Request) -> Record:
    """Play a game to its end, and return the record."""
    began = time.perf_counter()
    learner = own_learner(learner, losses, request.rounds)
    runner = begin(learner, losses, request)
    used = runner.threads(request)
    driver.run(runner, used)
    if runner.taken == 0:
        raise ValueError("losses must have at least one round; got 0 rounds")
    seconds = time.perf_counter() - began
    result = runner.result()
    note = [part for part in (result.note, ended(result.rounds, request.rounds)) if part]
    return Record(
        learner=_said(learner),
        setting=runner.setting,
        runs=request.runs,
        seed=request.seed,
        seconds=seconds,
        threads=used,
        **result._replace(note="; ".join(note))._asdict(),
    )


def ended(played: int, rounds: int | None) -> str:
    """Return a note if the losses ended before the requested number of rounds, else an empty string.

    >>> ended(10, 10), ended(10, 12)
    ('', '12 rounds were requested, but the losses ended after round 10')
    """
    if rounds is None or played >= rounds:
        return ""
    return f"{rounds} rounds were requested, but the losses ended after round {played}"
