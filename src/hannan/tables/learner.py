"""Learners for tables, by name or as objects: of forecasts or of decisions. Names are those of `learners.names`."""

from __future__ import annotations

from typing import Any

from hannan import validation
from hannan.learners import names
from hannan.learners.adahedge import AdaHedge, Rule
from hannan.learners.bandits import Bandit
from hannan.learners.expert_bandits import ExpertBandit
from hannan.learners.experts import Experts


def for_forecasts(learner: Any, n: int, loss: Any, loss_range: tuple[float, float] | None, rounds: int | None) -> Any:
    """Return the learner of `combine`: a rule or learner by name, a learner, or a user-defined object.

    The default is AdaHedge if losses are capped, because a capped loss is not convex.
    """
    if loss_range is None and loss.cap < float("inf"):
        loss_range = (0.0, loss.cap)
    units: dict[str, Any] = {} if loss_range is None else {"loss_range": _range(loss_range)}
    if learner is None:
        return Rule(**units) if loss.convex else AdaHedge(n, **units)
    if isinstance(learner, Rule):
        return learner
    if hasattr(learner, "start") and hasattr(learner, "loss_range"):
        if not isinstance(learner, (Experts, AdaHedge)) and not getattr(learner, "_sees_all", False):
            raise ValueError(f"learner must observe all losses, like Experts, to combine forecasts; got {learner!r}")
        if loss_range is not None and learner.loss_range != loss_range:
            raise ValueError(f"learner must have loss_range={loss_range}; got {learner!r}")
        return learner
    if not isinstance(learner, str):
        if callable(getattr(learner, "weights", None)) and callable(getattr(learner, "settle", None)):
            return learner
        raise ValueError(
            "learner must be a name, Experts, AdaHedge, or an object with weights(awake) and "
            f"settle(forecasts, weights, target); got {learner!r}"
        )
    name = learner.strip().lower()
    if name in names.FORECASTS:
        return Rule(name, **units)
    kind = names.parse(learner, names.offered("adahedge", "experts", more=tuple(names.FORECASTS))).kind
    if kind not in ("experts", "adahedge"):
        raise ValueError(
            f"learner must be {', '.join(names.FORECASTS)}, adahedge or experts to combine forecasts; got {learner!r}"
        )
    if loss_range is None and kind != "adahedge":
        raise ValueError(
            f"loss_range (--range LOW:HIGH) is required for learner {learner!r}; adahedge does not need it"
        )
    return names.learner(learner, n, numbers=names.Numbers(rounds), **units)


def _range(pair: Any) -> tuple[float, float]:
    try:
        low, high = pair
    except (TypeError, ValueError):
        raise ValueError(f"loss_range must be a pair (low, high); got {pair!r}") from None
    return float(low), float(high)


def for_decisions(
    learner: Any, actions: int, experts: int, loss_range: tuple[float, float], gains: bool, rounds: int
) -> list[Bandit | ExpertBandit]:
    """Return the learners of `replay`: bandits, or bandits with expert advice if there is advice."""
    asked = learner if isinstance(learner, (list, tuple)) else [learner]
    validation.once((one for one in asked if isinstance(one, str)), "learners")
    return [_decider(one, actions, experts, _range(loss_range), gains, rounds) for one in (asked or [None])]


def called(learner: Any) -> list[str]:
    """Return the names of the learners; an empty list unless all learners were given by name."""
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
                f"learner must be {'an' if experts else 'a'} {word} with the {actions} actions"
                f"{f' and {experts} experts' if experts else ''} of the log; got {learner!r}"
            )
        return learner
    if learner is not None and not isinstance(learner, str):
        raise ValueError(f"learner must be Bandit, ExpertBandit, or a name; got {learner!r}")
    name = learner or word
    if names.parse(name, names.offered(word)).kind != word:
        raise ValueError(
            f"learner must be {word}, or {word} with a smoothing such as {word}:entropy, for a log "
            f"{'with' if experts else 'without'} advice; got {learner!r}"
        )
    built: Bandit | ExpertBandit = names.learner(
        name, experts or actions, actions=actions, numbers=names.Numbers(rounds), loss_range=loss_range, gains=gains
    )
    return built


def parse_range(text: str) -> tuple[float, float]:
    """Return the two numbers of LOW:HIGH.

    >>> parse_range("0:2.5")
    (0.0, 2.5)
    """
    low, mark, high = text.partition(":")
    try:
        pair = float(low), float(high)
    except ValueError:
        mark = ""
    if not mark or not pair[0] < pair[1]:
        raise ValueError(f"the range must be LOW:HIGH with numbers LOW < HIGH; got {text!r}")
    return pair
