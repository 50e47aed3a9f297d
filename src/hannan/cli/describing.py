"""Words of the command line -> smoothings, tunings and learners."""

from __future__ import annotations

from typing import Any

import click

LEARNERS = ("experts", "bandit", "expert-bandit")
SMOOTHINGS = (
    "exponential",
    "gamma",
    "gumbel",
    "weibull",
    "frechet",
    "pareto",
    "laplace",
    "gaussian",
    "entropy",
    "tsallis",
    "log-barrier",
)
DEFAULT = "A bandit without smoothing and tuning is Tsallis-INF with reduced variance."
TUNINGS = ("fixed", "horizon", "best-loss", "anytime", "self-confident")


def smoothing(text: str) -> Any:
    """`name` or `name:number`.

    >>> smoothing("tsallis"), smoothing("pareto:3"), smoothing("log-barrier")
    (Tsallis(alpha=0.5), Pareto(alpha=3.0), LogBarrier())
    """
    from hannan import laws, regularizers

    word, _, given = text.partition(":")
    kinds: dict[str, tuple[Any, float | None, bool]] = {
        # the class, the parameter where none is given, whether it takes one
        "exponential": (laws.Exponential, None, False),
        "gamma": (laws.Gamma, 2.0, True),
        "gumbel": (laws.Gumbel, None, False),
        "weibull": (laws.Weibull, 1.0, True),
        "frechet": (laws.Frechet, 5.0, True),
        "pareto": (laws.Pareto, 5.0, True),
        "laplace": (laws.Laplace, None, False),
        "gaussian": (laws.Gaussian, None, False),
        "entropy": (regularizers.Entropy, None, False),
        "tsallis": (regularizers.Tsallis, 0.5, True),
        "log-barrier": (regularizers.LogBarrier, None, False),
    }
    if word not in kinds:
        raise ValueError(
            f"smoothing must be one of {', '.join(SMOOTHINGS)}, with :NUMBER where it takes one; got {text!r}"
        )
    kind, default, takes = kinds[word]
    if not takes:
        if given:
            raise ValueError(f"{word} takes no parameter; got {text!r}")
        return kind()
    return kind(_number(given, text) if given else default)


def tuning(text: str, rounds: int | None, best_loss: float | None, scale: float | None) -> Any:
    """A tuning by name, with the numbers of the other options.

    >>> tuning("horizon", 100, None, None), tuning("best-loss", None, 20.0, None)
    (Horizon(rounds=100), BestLoss(bound=20.0, rounds=None))
    """
    from hannan import tuning as rules

    if text == "fixed":
        return rules.Fixed(_given(scale, "--scale", text))
    if text == "horizon":
        return rules.Horizon(int(_given(rounds, "--rounds", text)))
    if text == "best-loss":
        return rules.BestLoss(_given(best_loss, "--best-loss", text), rounds=rounds)
    if text == "anytime":
        return rules.Anytime()
    return rules.SelfConfident(rounds=rounds)


def learner(
    kind: str,
    n: int,
    actions: int | None,
    smooth: str | None,
    tuned: str | None,
    rounds: int | None,
    best_loss: float | None,
    scale: float | None,
    clip: str | None,
) -> Any:
    """The learner of the options; what is not given is the learner's own default."""
    from hannan.learners.bandits import Bandit
    from hannan.learners.expert_bandits import ExpertBandit
    from hannan.learners.experts import Experts

    given: dict[str, Any] = {}
    if smooth is not None:
        given["smoothing"] = smoothing(smooth)
    if scale is not None and tuned is None:
        tuned = "fixed"
    if tuned is None and best_loss is not None and (kind == "experts" or _barrier(given)):
        tuned = "best-loss"
    if tuned is None and _barrier(given):
        tuned = "self-confident"
    if tuned is not None:
        given["tuning"] = tuning(tuned, rounds, best_loss, scale)
    if kind == "experts":
        return Experts(n, **given)
    if kind == "bandit":
        return Bandit(n, **given)
    if actions is None:
        raise ValueError("an expert-bandit needs --actions, the number of actions; --n is the number of experts")
    if clip is not None:
        given["clip"] = clip if clip == "tuned" else _number(clip, clip)
    return ExpertBandit(actions, n, **given)


def _barrier(given: dict[str, Any]) -> bool:
    return type(given.get("smoothing")).__name__ == "LogBarrier"


def _number(text: str, whole: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"a parameter must be a number, as in pareto:3; got {whole!r}") from None


def _given(value: float | None, option: str, tuned: str) -> float:
    if value is None:
        raise ValueError(f"--tuning {tuned} needs {option}")
    return value


def learner_options(function: Any) -> Any:
    """--learner, --smoothing, --n and the rest of what describes a learner."""
    options = (
        click.option(
            "--learner", "kind", type=click.Choice(LEARNERS), default="experts", show_default=True, help="What is seen."
        ),
        click.option("--n", type=click.IntRange(min=1), required=True, help="Experts, or arms."),
        click.option("--actions", type=click.IntRange(min=1), help="Actions of an expert-bandit."),
        click.option(
            "--smoothing", "smooth", metavar="NAME[:NUMBER]", help=f"One of {', '.join(SMOOTHINGS)}. {DEFAULT}"
        ),
        click.option("--tuning", "tuned", type=click.Choice(TUNINGS), help="How the scale is set."),
        click.option("--scale", type=float, help="The scale of --tuning fixed."),
        click.option("--clip", metavar="RHO|tuned", help="Clipping of an expert-bandit."),
    )
    for option in reversed(options):
        function = option(function)
    return function
