"""Learners by name: kind, or kind:smoothing, or kind:smoothing:parameter, as a command line has them."""

from __future__ import annotations

from typing import Any

from hannan import laws, regularizers
from hannan.data.point_losses import PointLoss
from hannan.learners.adahedge import AdaHedge
from hannan.learners.bandits import Bandit
from hannan.learners.expert_bandits import ExpertBandit
from hannan.learners.experts import Experts
from hannan.learners.learner import Learner, Smoothing
from hannan.regularizers import LogBarrier
from hannan.tuning import Horizon, SelfConfident

_PLAIN: dict[str, Smoothing] = {
    "exponential": laws.Exponential(),
    "gumbel": laws.Gumbel(),
    "laplace": laws.Laplace(),
    "entropy": regularizers.Entropy(),
    "tsallis": regularizers.Tsallis(),
    "log-barrier": regularizers.LogBarrier(),
}
_WITH_NUMBER: dict[str, Any] = {
    "frechet": laws.Frechet,
    "pareto": laws.Pareto,
    "gamma": laws.Gamma,
    "tsallis": regularizers.Tsallis,
}
#: Usual names of compositions.
_ALIASES = {"hedge": "experts:entropy", "exp3": "bandit:entropy", "exp4": "expert-bandit:entropy"}
NAMES = "adahedge, experts, hedge, bandit, exp3, or kind:smoothing such as experts:tsallis:0.5 or bandit:log-barrier"


def smoothing(text: str) -> Smoothing:
    """A smoothing by name, with its parameter after a colon.

    >>> smoothing("frechet:3"), smoothing("entropy")
    (Frechet(alpha=3.0), Entropy())
    """
    name, _, number = text.lower().partition(":")
    if not number and name in _PLAIN:
        return _PLAIN[name]
    if number and name in _WITH_NUMBER:
        try:
            value = float(number)
        except ValueError:
            raise ValueError(f"the parameter of {name} must be a number; got {number!r}") from None
        built: Smoothing = _WITH_NUMBER[name](value)
        return built
    known = ", ".join([*_PLAIN, *(f"{name}:number" for name in _WITH_NUMBER)])
    raise ValueError(f"smoothing must be one of {known}; got {text!r}")


def named(text: str, n: int, loss_range: tuple[float, float] | None, rounds: int | None) -> Learner:
    """A learner of n arms or experts by name.

    >>> named("bandit:tsallis", 3, None, None)
    Bandit(3, smoothing=Tsallis(alpha=0.5), tuning=Anytime(factor=None))
    """
    kind, _, rest = _ALIASES.get(text.lower(), text.lower()).partition(":")
    units: dict[str, Any] = {} if loss_range is None else {"loss_range": loss_range}
    if kind == "adahedge" and not rest:
        return AdaHedge(n, **units)
    if kind not in ("experts", "bandit"):
        raise ValueError(f"learner must be one of {NAMES}; got {text!r}")
    make: Any = Experts if kind == "experts" else Bandit
    if not rest:
        learner: Learner = make(n, **units)
        return learner
    shape = smoothing(rest)
    if isinstance(shape, LogBarrier):
        if rounds is None:
            raise ValueError("log-barrier needs the number of rounds, which a stream has not; got one")
        units["tuning"] = SelfConfident(rounds)
    composed: Learner = make(n, shape, **units)
    return composed


def for_forecasts(
    learner: Any, n: int, loss: PointLoss, loss_range: tuple[float, float] | None, rounds: int | None
) -> Experts | AdaHedge:
    """The learner of `combine`: AdaHedge, which refuses losses outside a range if one is stated, or what was asked."""
    if loss_range is None and loss.cap < float("inf"):
        loss_range = (0.0, loss.cap)
    if isinstance(learner, (Experts, AdaHedge)):
        if loss_range is not None and learner.loss_range != loss_range:
            raise ValueError(f"the learner must have the stated loss_range {loss_range}; got {learner!r}")
        return learner
    if learner is None:
        return AdaHedge(n) if loss_range is None else AdaHedge(n, _range(loss_range))
    if not isinstance(learner, str):
        raise ValueError(f"learner must be Experts, AdaHedge, or a name; got {learner!r}")
    if loss_range is None and learner.lower() != "adahedge":
        raise ValueError(f"{learner} needs the range of the losses, --range LOW:HIGH or loss_range; adahedge does not")
    built = named(learner, n, None if loss_range is None else _range(loss_range), rounds)
    if not isinstance(built, (Experts, AdaHedge)):
        raise ValueError(f"forecasts are seen by all: the learner must be experts or adahedge; got {learner!r}")
    return built


def _range(pair: Any) -> tuple[float, float]:
    try:
        low, high = pair
    except (TypeError, ValueError):
        raise ValueError(f"loss_range must be a pair (low, high); got {pair!r}") from None
    return float(low), float(high)


def for_decisions(
    learner: Any, actions: int, experts: int, loss_range: tuple[float, float], gains: bool, rounds: int
) -> list[Bandit | ExpertBandit]:
    """The learners of `replay`, one or several: bandits, or with advice bandits with experts."""
    asked = learner if isinstance(learner, (list, tuple)) else [learner]
    return [_decider(one, actions, experts, _range(loss_range), gains, rounds) for one in (asked or [None])]


def called(learner: Any) -> list[str]:
    """What to call the learners that were asked for; nothing unless all were asked for by name."""
    asked = learner if isinstance(learner, (list, tuple)) else [learner]
    return list(asked) if asked and all(isinstance(one, str) for one in asked) else []


def _decider(
    learner: Any, actions: int, experts: int, loss_range: tuple[float, float], gains: bool, rounds: int
) -> Bandit | ExpertBandit:
    word = "expert-bandit" if experts else "bandit"
    if isinstance(learner, (Bandit, ExpertBandit)):
        n = learner.actions if isinstance(learner, ExpertBandit) else learner.n
        right = n == actions and (not isinstance(learner, ExpertBandit) or learner.experts == experts)
        if not (isinstance(learner, ExpertBandit if experts else Bandit) and right):
            raise ValueError(
                f"the learner must be {'an' if experts else 'a'} {word} of the log's {actions} actions"
                f"{f' and {experts} experts' if experts else ''}; got {learner!r}"
            )
        return learner
    if learner is not None and not isinstance(learner, str):
        raise ValueError(f"learner must be Bandit, ExpertBandit, or a name; got {learner!r}")
    kind, _, rest = _ALIASES.get((learner or word).lower(), (learner or word).lower()).partition(":")
    if kind != word:
        raise ValueError(
            f"a log {'with' if experts else 'without'} advice needs {word}, or with a smoothing as {word}:entropy; "
            f"got {learner!r}"
        )
    units: dict[str, Any] = {"loss_range": loss_range, "gains": gains}
    if rest:
        units["smoothing"] = smoothing(rest)
        if isinstance(units["smoothing"], LogBarrier):
            units["tuning"] = SelfConfident(rounds) if not experts else Horizon(rounds)
    built: Bandit | ExpertBandit = ExpertBandit(actions, experts, **units) if experts else Bandit(actions, **units)
    return built


def parse_range(text: str) -> tuple[float, float]:
    """LOW:HIGH.

    >>> parse_range("0:2.5")
    (0.0, 2.5)
    """
    low, mark, high = text.partition(":")
    try:
        pair = float(low), float(high)
    except ValueError:
        mark = ""
    if not mark or not pair[0] < pair[1]:
        raise ValueError(f"a range must be LOW:HIGH, two numbers, LOW < HIGH; got {text!r}")
    return pair
