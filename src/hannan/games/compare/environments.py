"""Environments of `hn.compare` and `hn.sweep`: everything that a learner can be played against, as one class.

An environment computes the losses of all runs from one seed. All learners of a run receive the same losses, unless the
losses depend on past moves.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from hannan import adversaries, validation
from hannan.adversaries.sequences import Bernoulli
from hannan.games.driver import derived
from hannan.games.feeds import Tosses, losses_of

Kind = Literal["iid", "oblivious", "adaptive"]

#: Largest array of losses that may be drawn by a user's function, in bytes.
LARGEST = 1 << 31
#: Up to this size in bytes, Bernoulli losses are drawn once for all learners; above, they are drawn again per learner.
LARGEST_KEPT = 1 << 28
#: Sequences that do not depend on the seed.
_SCRIPTED = ("all_ones", "alternating_leader", "cyclic")
#: Bernoulli sequences whose means are constant.
_ONE_LAW = ("stochastic", "bandits_lower_bound", "experts_lower_bound")


@dataclass(frozen=True)
class Asked:
    """Sizes and seed of one game."""

    n: int
    rounds: int
    runs: int
    seed: int


@dataclass(frozen=True, eq=False)
class Environment:
    """Source of losses. `losses(asked)` returns an argument of `hn.play`; equal arguments give equal losses.

    `n` and `rounds` are None if they can be chosen. For Bernoulli losses, `bernoulli(asked)` returns the means, and
    the comparator of the regret is the best mean. `answers(learner)` returns losses that depend on the learner.
    """

    name: str
    kind: Kind
    n: int | None
    rounds: int | None
    losses: Callable[[Asked], Any]
    bernoulli: Callable[[Asked], Any] | None = None
    advice: Any = None
    answers: Callable[[Any], Any] | None = None
    #: Number of runs with given losses; None if any number of runs can be played.
    runs: int | None = None
    #: Raises ValueError if the parameters do not fit n and rounds; called before any game.
    check: Callable[[int, int], Any] | None = None
    #: Data and code that determine the losses; equal for equal environments.
    made_of: Any = None
    #: Facts for the function that created the environment.
    about: Any = None

    @property
    def experts(self) -> int | None:
        """Number of experts that give advice; None without advice."""
        return None if self.advice is None else int(np.shape(self.advice)[1])


def environment(name: str, given: Any) -> Environment:
    """Return the environment for a description; `hn.compare` lists the possible descriptions.

    >>> environment("clicks", {"means": [0.9, 0.5]}).kind, environment("drift", "drifting").kind
    ('iid', 'oblivious')
    """
    try:
        made = _environment(name, given)
        return made if made.made_of is not None else replace(made, made_of=given)
    except (ValueError, TypeError) as reason:
        raise ValueError(f"environment {name!r}: {reason}") from None


def _environment(name: str, given: Any) -> Environment:
    if isinstance(given, Environment):
        return given
    if isinstance(given, str):
        return _text(name, given)
    if isinstance(given, Mapping):
        return _mapping(name, dict(given))
    if isinstance(given, Bernoulli):
        return _coins(name, given)
    if callable(given) and not isinstance(given, type) and _is_sequence(given):
        return _function(name, given)
    if getattr(given, "is_sequence", False):
        return Environment(name, "oblivious", None, len(given.z), lambda asked: given[: asked.rounds])
    if _answers(given):
        return Environment(name, "adaptive", None, None, lambda asked: given)
    return _array(name, given)


def _answers(given: Any) -> bool:
    from hannan.games.play import is_adversary

    return is_adversary(given)


def _is_sequence(function: Any) -> bool:
    """Return True for a function of (rounds, n, ...), False for one of (t, past)."""
    try:
        names = list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return False
    return names[:2] == ["rounds", "n"]


def _array(name: str, given: Any, advice: Any = None) -> Environment:
    values = given if isinstance(given, np.ndarray) else np.asarray(validation.unmasked(given, "losses"))
    if values.dtype.kind not in "fiub":
        raise ValueError(
            "an environment must be an array of losses, Bernoulli means, the name of an adversary, a file or an "
            f"adaptive adversary; got {type(given).__name__}"
        )
    if values.ndim not in (2, 3) or 0 in values.shape:
        raise ValueError(f"losses must have shape (rounds, n) or (runs, rounds, n); got shape {values.shape}")
    rounds, n = (int(k) for k in values.shape[-2:])
    runs = int(values.shape[0]) if values.ndim == 3 else None
    if advice is not None and len(advice) != rounds:
        raise ValueError(f"advice must have {rounds} rounds, like the losses; got {len(advice)}")

    def cut(asked: Asked) -> Any:
        return values[..., : asked.rounds, :]

    return Environment(name, "oblivious", n, rounds, cut, advice=advice, runs=runs)


def _coins(name: str, given: Bernoulli) -> Environment:
    def cut(asked: Asked) -> Bernoulli:
        return Bernoulli(given.means if given.means.ndim == 1 else given.means[: asked.rounds], asked.rounds)

    return _tossed(name, cut, given.n, given.rounds, given.means.ndim == 1)


def _tossed(
    name: str, means: Callable[[Asked], Bernoulli], n: int | None, rounds: int | None, iid: bool
) -> Environment:
    def table(asked: Asked) -> Any:
        return Tosses(means(asked), asked.runs, asked.seed).whole()

    kept = _Kept(table)

    def losses(asked: Asked) -> Any:
        if asked.runs * asked.rounds * asked.n <= LARGEST_KEPT:
            return kept(asked)
        return Tosses(means(asked), asked.runs, asked.seed)

    return Environment(name, "iid" if iid else "oblivious", n, rounds, losses, bernoulli=means)


class _Kept:
    """Cache of one call: the learners of an environment are played one after the other on the same losses."""

    def __init__(self, make: Callable[[Asked], Any]) -> None:
        self._make = make
        self._asked: Asked | None = None
        self._made: Any = None

    def __call__(self, asked: Asked) -> Any:
        if asked != self._asked:
            self._made, self._asked = None, None
            self._made = self._make(asked)
            self._made.flags.writeable = False
            self._asked = asked
        return self._made


def _function(name: str, make: Callable[..., Any]) -> Environment:
    """Return the environment of a function of (rounds, n, seed) that returns the losses of one run."""
    known = adversaries.all_adversaries()
    for word, function in known.items():
        if make is function:
            return _named(name, word, {})
    seeded = "seed" in inspect.signature(make).parameters

    def losses(asked: Asked) -> Any:
        if not seeded:
            return np.asarray(make(asked.rounds, asked.n))
        return _every_run(lambda seed: make(asked.rounds, asked.n, seed=seed), asked)

    return Environment(name, "oblivious", None, None, _Kept(losses))


def _every_run(make: Callable[[int], Any], asked: Asked) -> Any:
    size = 8 * asked.runs * asked.rounds * asked.n
    if size > LARGEST:
        raise ValueError(
            f"losses drawn by a function must fit in {LARGEST >> 30} GiB; got {size / 2**30:.3g} GiB. Use fewer runs "
            "or rounds, or Bernoulli means, which are drawn round by round"
        )
    table = np.empty((asked.runs, asked.rounds, asked.n))
    for run in range(asked.runs):
        one = np.asarray(make(derived(asked.seed, "run", run)))
        if one.shape != table.shape[1:]:
            raise ValueError(f"losses of run {run} must have shape {table.shape[1:]}; got shape {one.shape}")
        table[run] = one
    return table


def _text(name: str, given: str) -> Environment:
    if given in adversaries.all_adversaries() or given in adversaries.adaptive_adversaries():
        return _named(name, given, {})
    if "." in given or "/" in given:
        table = losses_of(given)
        return replace(_array(name, table), made_of=table)
    hint = validation.meant(given, _known().split(", "))
    raise ValueError(f"no such adversary or file: {given!r}{hint}; adversaries are {_known()}")


def _mapping(name: str, given: dict[str, Any]) -> Environment:
    if "means" in given:
        _only(given, ("means",), "means")
        means = np.asarray(validation.losses(given["means"], "means"), dtype=np.float64)
        if means.ndim == 2:
            return _coins(name, Bernoulli(means))
        Bernoulli(means, 1)  # Validates the means before any game.
        return _tossed(name, lambda asked: Bernoulli(means, asked.rounds), len(means), None, True)
    if "adversary" in given:
        return _named(name, given.pop("adversary"), given)
    if "file" in given:
        _only(given, ("file", "columns"), "a file")
        table = losses_of(given["file"], given.get("columns"))
        return replace(_array(name, table), made_of=table)
    if "losses" in given:
        _only(given, ("losses", "advice"), "losses")
        return _array(name, given["losses"], given.get("advice"))
    raise ValueError(
        f"an environment must have the key means, adversary, file or losses; got {', '.join(given) or 'no key'}"
    )


def _only(given: dict[str, Any], known: tuple[str, ...], what: str) -> None:
    for key in given:
        if key not in known:
            raise ValueError(f"an environment given by {what} takes only {', '.join(known)}; got {key!r}")


def _known() -> str:
    return ", ".join(sorted((*adversaries.all_adversaries(), *adversaries.adaptive_adversaries())))


def _named(name: str, word: Any, parameters: dict[str, Any]) -> Environment:
    """Return the environment of a built-in adversary; parameter names are checked here, values at construction."""
    sequences, adaptive = adversaries.all_adversaries(), adversaries.adaptive_adversaries()
    if not isinstance(word, str) or (word not in sequences and word not in adaptive):
        hint = validation.meant(word, _known().split(", "))
        raise ValueError(f"adversary must be one of {_known()}; got {word!r}{hint}")
    if word in adaptive:
        adversary = _built(type(adaptive[word]), word, parameters)
        return Environment(name, "adaptive", None, None, lambda asked: adversary)
    drawn: Callable[..., Any] | None = (
        _fair if word == "experts_lower_bound" else getattr(adversaries, f"{word}_means", None)
    )
    make: Callable[..., Any] = drawn or sequences[word]
    takes = [key for key in inspect.signature(make).parameters if key not in ("rounds", "n", "seed")]
    for key in parameters:
        if key not in takes:
            hint = validation.meant(key, takes)
            raise ValueError(f"{word} takes {', '.join(takes) or 'no parameters'}; got parameter {key!r}{hint}")

    def check(n: int, rounds: int) -> Any:
        return make(rounds=rounds, n=n, **parameters)

    if drawn is None:
        made = _scripted(name, make, parameters) if word in _SCRIPTED else _function(name, _with(make, parameters))
        return replace(made, check=check)
    seeded = "seed" in inspect.signature(make).parameters

    def means(asked: Asked) -> Bernoulli:
        seeds = {"seed": derived(asked.seed, "means")} if seeded else {}
        coins: Bernoulli = make(asked.rounds, asked.n, **seeds, **parameters)
        return coins

    return replace(_tossed(name, means, None, None, word in _ONE_LAW), check=check)


def _scripted(name: str, make: Callable[..., Any], parameters: dict[str, Any]) -> Environment:
    return Environment(name, "oblivious", None, None, lambda asked: make(asked.rounds, asked.n, **parameters))


def _with(make: Callable[..., Any], parameters: dict[str, Any]) -> Callable[..., Any]:
    return lambda rounds, n, seed: make(rounds, n, seed=seed, **parameters)


def _fair(rounds: int, n: int) -> Bernoulli:
    return Bernoulli(np.full(n, 0.5), rounds)


def _built(cls: Any, word: str, parameters: dict[str, Any]) -> Any:
    try:
        return cls(**parameters)
    except TypeError:
        takes = ", ".join(inspect.signature(cls).parameters)
        raise ValueError(f"{word} takes {takes}; got parameters {', '.join(parameters)}") from None
