"""Learners by name: the grammar of all commands, and of `hn.combine`, `replay` and `route`.

    learner   = kind [":" smoothing] ["@" tuning]       bandit, bandit:tsallis:0.5, experts:entropy@fixed:3
              | own [":" number]                         thompson, thompson:gaussian, ucb1, kl-ucb:0, moss:10000
    smoothing = name [":" number]                       exponential, pareto:3
    tuning    = name [":" number]                       anytime, horizon, fixed:3, best-loss:40

Omitted parts have the default of the learner; if the number of a tuning is omitted, the caller must supply it. Upper
and lower case are equivalent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from importlib import import_module
from typing import Any

#: name -> (class, default parameter; None if there is no parameter). Classes are named, so that they are not imported.
_LAWS: dict[str, tuple[str, float | None]] = {
    "exponential": ("Exponential", None),
    "gamma": ("Gamma", 2.0),
    "gumbel": ("Gumbel", None),
    "weibull": ("Weibull", 1.0),
    "frechet": ("Frechet", 5.0),
    "pareto": ("Pareto", 5.0),
    "laplace": ("Laplace", None),
    "gaussian": ("Gaussian", None),
}
_REGULARIZERS: dict[str, tuple[str, float | None]] = {
    "entropy": ("Entropy", None),
    "tsallis": ("Tsallis", 0.5),
    "log-barrier": ("LogBarrier", None),
}
SMOOTHINGS = (*_LAWS, *_REGULARIZERS)
TUNINGS = ("fixed", "horizon", "best-loss", "anytime", "self-confident")
#: Learners without smoothing and tuning: module, class, and the parameter of a number after a colon ("" if none).
#: With "rounds", a missing number is required from the caller.
_OWN: dict[str, tuple[str, str, str]] = {
    "adahedge": ("adahedge", "AdaHedge", ""),
    "ucb1": ("stochastic", "UCB1", ""),
    "moss": ("stochastic", "MOSS", "rounds"),
    "kl-ucb": ("stochastic", "KLUCB", "c"),
    "epsilon-greedy": ("stochastic", "EpsilonGreedy", "epsilon"),
    "explore-then-commit": ("stochastic", "ExploreThenCommit", "rounds"),
    "thompson": ("stochastic", "Thompson", "belief"),
    "lb-inf": ("lb_inf", "LBInf", "rounds?"),
    "green": ("first_order", "Green", "rounds"),
    "exp3-light": ("first_order", "Exp3Light", ""),
}
OWN = tuple(_OWN)
KINDS = ("experts", "bandit", "expert-bandit", *OWN)
#: Rules for forecasts only (`hannan combine`), and their names in the engine.
FORECASTS = {
    "two-layers": "two_layers",
    "b": "rule_b",
    "adahedge:slopes": "adahedge_slopes",
    "ml-poly": "ml_poly",
    "boa": "boa",
    "squint": "squint",
    "adanormalhedge": "ada_normal_hedge",
    "fixed-share": "fixed_share",
    "mean": "mean",
    "median": "median",
}
#: Common names of compositions.
ALIASES = {"hedge": "experts:entropy", "exp3": "bandit:entropy", "exp4": "expert-bandit:entropy"}


def offered(*kinds: str, more: Sequence[str] = ()) -> str:
    """Return the names that a command accepts, for a message: names of some kinds, and `more` names.

    >>> offered("bandit")
    'bandit, exp3, or kind:smoothing such as bandit:log-barrier'
    """
    usual = [alias for alias, whole in ALIASES.items() if whole.partition(":")[0] in kinds]
    examples = ("experts:tsallis:0.5", "bandit:log-barrier", "expert-bandit:tsallis")
    such = [name for name in examples if name.partition(":")[0] in kinds][:2]
    return f"{', '.join((*more, *kinds, *usual))}, or kind:smoothing such as {' or '.join(such)}"


NAMES = offered(*KINDS)


@dataclass(frozen=True)
class Name:
    """Parts of the name of a learner; "" if a part has its default."""

    kind: str
    smoothing: str = ""
    tuning: str = ""


@dataclass(frozen=True)
class Numbers:
    """Numbers that a tuning may need and that a name does not contain."""

    rounds: int | None = None
    best_loss: float | None = None
    scale: float | None = None


def parse(text: str, known: str = NAMES) -> Name:
    """Split a name into its parts; raise ValueError with the `known` names if it is invalid.

    >>> parse("bandit:tsallis:0.5@horizon")
    Name(kind='bandit', smoothing='tsallis:0.5', tuning='horizon')
    >>> parse("Hedge")
    Name(kind='experts', smoothing='entropy', tuning='')
    """
    whole, at, tuned = text.strip().lower().partition("@")
    whole = ALIASES.get(whole, whole)
    kind, colon, shape = whole.partition(":")
    fixed = kind in OWN and (at or (colon and not _OWN[kind][2]))
    if kind not in KINDS or fixed or (colon and not shape) or (at and not tuned):
        reason = f"; smoothing and tuning of {kind} are fixed" if fixed else ""
        hint = "" if kind in KINDS else _meant(kind, [name for name in (*KINDS, *ALIASES, *FORECASTS) if name in known])
        raise ValueError(f"learner must be one of {known}{reason}; got {text!r}{hint}")
    return Name(kind, shape, tuned)


def smoothing(text: str) -> Any:
    """Return a law or a regularizer by name.

    >>> smoothing("tsallis"), smoothing("pareto:3"), smoothing("log-barrier")
    (Tsallis(alpha=0.5), Pareto(alpha=3.0), LogBarrier())
    """
    import hannan

    word, colon, given = text.strip().lower().partition(":")
    if word not in SMOOTHINGS:
        if found := _public(word, "smoothing"):
            return found(*([number(given, text)] if colon else []))
        raise ValueError(
            f"smoothing must be one of {', '.join(SMOOTHINGS)}, some with a parameter as in pareto:3; got {text!r}"
            f"{_meant(word, SMOOTHINGS)}"
        )
    name, default = _LAWS.get(word) or _REGULARIZERS[word]
    if default is None:
        if colon:
            raise ValueError(f"{word} takes no parameter; got {text!r}")
        return getattr(hannan, name)()
    return getattr(hannan, name)(number(given, text) if colon else default)


def tuning(text: str, numbers: Numbers | None = None) -> Any:
    """Return a tuning by name; missing numbers are taken from `numbers`.

    >>> tuning("horizon", Numbers(rounds=100)), tuning("best-loss:20"), tuning("fixed:3")
    (Horizon(rounds=100), BestLoss(bound=20.0, rounds=None), Fixed(scale=3.0))
    """
    from hannan.learners import tuning as rules

    numbers = numbers or Numbers()
    word, colon, given = text.strip().lower().partition(":")
    if word not in TUNINGS:
        if found := _public(word, "tuning"):
            return found(*([number(given, text)] if colon else []))
        raise ValueError(
            f"tuning must be one of {', '.join(TUNINGS)}, with :NUMBER where it takes one; got {text!r}"
            f"{_meant(word, TUNINGS)}"
        )
    said = number(given, text) if colon else None
    if word == "fixed":
        return rules.Fixed(_needed(said, numbers.scale, "--scale", text))
    if word == "horizon":
        return rules.Horizon(_whole(_needed(said, numbers.rounds, "--rounds", text), text))
    if word == "best-loss":
        return rules.BestLoss(_needed(said, numbers.best_loss, "--best-loss", text), rounds=numbers.rounds)
    if word == "anytime":
        return rules.Anytime(said)
    return rules.SelfConfident(numbers.rounds if said is None else _whole(said, text))


def learner(
    name: str | Name, n: int, *, actions: int | None = None, numbers: Numbers | None = None, **settings: Any
) -> Any:
    """Return the learner with a name, for n arms or experts; `settings` are parameters of its class.

    Smoothing, tuning and estimator may be given as text. A log-barrier has no anytime tuning: its default is
    self-confident or, for an expert-bandit, Horizon with the rounds of `numbers`. If `numbers` has a best loss, experts
    and log-barriers are tuned to it; if it has a scale, every learner uses it.

    >>> learner("bandit:tsallis", 3)
    Bandit(3, smoothing=Tsallis(alpha=0.5), tuning=Anytime(factor=None))
    >>> learner("moss", 3, numbers=Numbers(rounds=500)), learner("kl-ucb:0", 3)
    (MOSS(3, 500), KLUCB(3, c=0.0))
    """
    from hannan.learners.bandits import Bandit
    from hannan.learners.expert_bandits import ExpertBandit
    from hannan.learners.experts import Experts

    parts, numbers = parse(name) if isinstance(name, str) else name, numbers or Numbers()
    given = _settings(name, parts, numbers, settings)
    if parts.kind in OWN:
        return _own(parts, n, numbers, given)
    if parts.smoothing:
        given["smoothing"] = smoothing(parts.smoothing)
    barrier = getattr(given.get("smoothing"), "needs_rounds", False)
    if "tuning" not in given:
        tuned = parts.tuning or _usual(parts.kind, barrier, given.get("clip") == "tuned", numbers)
        given |= {"tuning": tuning(tuned, numbers)} if tuned else {}
    if parts.kind == "experts":
        return _made(Experts, (n,), given)
    if parts.kind == "bandit":
        return _made(Bandit, (n,), given)
    if actions is None:
        raise ValueError(
            "actions (--actions) is required for expert-bandit: the number of actions; n is the number of experts"
        )
    return _made(ExpertBandit, (actions, n), given)


def _settings(name: str | Name, parts: Name, numbers: Numbers, settings: dict[str, Any]) -> dict[str, Any]:
    """Return the settings with text parsed; raise if the name or the numbers state the same setting."""
    given = dict(settings)
    for part, parsed in (("smoothing", smoothing), ("tuning", lambda text: tuning(text, numbers))):
        if part in given and getattr(parts, part):
            raise ValueError(
                f"pass {part} either in the name or as a parameter; got {name!r} and {part}={given[part]!r}"
            )
        if isinstance(given.get(part), str):
            given[part] = parsed(given[part])
    if "tuning" in given and numbers.scale is not None:
        raise ValueError(f"pass either tuning or scale; got {given['tuning']!r} and {numbers.scale!r}")
    if isinstance(given.get("estimator"), str):
        word, colon, value = given["estimator"].strip().lower().partition(":")
        found = _public(word, "estimator")
        if found is None:
            raise ValueError(
                "estimator must be the name of a class such as importance-weighted, reduced-variance or "
                f"implicit-exploration:0.1; got {given['estimator']!r}"
            )
        given["estimator"] = found(*([number(value, given["estimator"])] if colon else []))
    return given


def _made(cls: Any, args: tuple[Any, ...], given: dict[str, Any]) -> Any:
    """Return an instance of a class of learners; raise if it has no such parameter."""
    known = [field.name for field in fields(cls) if field.init]
    for name in given:
        if name not in known:
            raise ValueError(
                f"parameters of hn.{cls.__name__} are {', '.join(known)}; got {name!r}{_meant(name, known)}"
            )
    return cls(*args, **given)


def _own(parts: Name, n: int, numbers: Numbers, given: dict[str, Any]) -> Any:
    """Return a learner without smoothing and tuning."""
    module, name, parameter = _OWN[parts.kind]
    text = f"{parts.kind}:{parts.smoothing}"
    if parameter == "belief":
        given |= {"belief": parts.smoothing} if parts.smoothing else {}
    elif parameter == "rounds?":
        given |= {"rounds": _whole(number(parts.smoothing, text), text)} if parts.smoothing else {}
    elif parameter == "rounds":
        said = number(parts.smoothing, text) if parts.smoothing else None
        given["rounds"] = _whole(_needed(said, numbers.rounds, "--rounds", parts.kind), parts.kind)
    elif parts.smoothing:
        given[parameter] = number(parts.smoothing, text)
    return _made(getattr(import_module(f"hannan.learners.{module}"), name), (n,), given)


def _usual(kind: str, barrier: bool, clipped: bool, numbers: Numbers) -> str:
    """Return the default tuning for a name; an empty string for the default of its class."""
    if numbers.scale is not None:
        return "fixed"
    if numbers.best_loss is not None and kind != "expert-bandit" and (kind == "experts" or barrier):
        return "best-loss"
    if not barrier:
        return ""
    if numbers.rounds is None:
        raise ValueError(
            "rounds is required for log-barrier, whose range depends on it; a stream has no number of rounds"
        )
    return "horizon" if kind == "expert-bandit" and not clipped else "self-confident"


def _public(word: str, what: str) -> Any:
    """Return a public smoothing, tuning or estimator by its name in words (half-logistic is HalfLogistic), or None."""
    import hannan
    from hannan.learners.estimators import Estimator
    from hannan.learners.tuning import Tuning
    from hannan.mathematics.laws.law import Law
    from hannan.mathematics.regularizers import Regularizer
    from hannan.mathematics.smoothing import Smoothing

    name = "".join(part.capitalize() for part in word.split("-"))
    found = getattr(hannan, name) if name in hannan.__all__ else None
    kind: Any = {"smoothing": Smoothing, "tuning": Tuning, "estimator": Estimator}[what]
    own = isinstance(found, type) and issubclass(found, kind) and found not in (kind, Law, Regularizer)
    return found if own else None


def _meant(word: str, known: Sequence[str]) -> str:
    from hannan.validation import meant  # Needs NumPy, which `hannan --help` does not import.

    return meant(word, known)


def number(text: str, whole: str) -> float:
    """Return the number after a colon."""
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"the parameter after a colon must be a number, as in pareto:3; got {whole!r}") from None


def _whole(value: float, text: str) -> int:
    if not float(value).is_integer():
        raise ValueError(f"the number of rounds must be an integer; got {text!r}")
    return int(value)


def _needed(said: float | None, known: float | None, option: str, text: str) -> float:
    if said is not None:
        return said
    if known is None:
        raise ValueError(f"{option} is required for {text}; pass the option, or write the number after a colon")
    return known
