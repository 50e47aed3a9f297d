"""User-defined learners: a class with `act` and `observe`, or a factory that returns a learner or a player.

A factory is any callable: a function, a lambda, a `functools.partial`, a bound method. It is called with those of `n`,
`rounds` and `seed` that it takes.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from hannan.refusals import brief


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
        raise ValueError(f"{label(make)} must have n, the number of its choices, to meet these losses; got none")
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
                f"{label(make)} must take no required parameters besides n, rounds and seed; got {name!r}. "
                "Bind it with functools.partial"
            )
        if value is None and n is None and (name == "n" or name not in known):
            raise ValueError(
                f"{label(make)} must have n, the number of its choices, to meet these losses; got none. Bind it with "
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
