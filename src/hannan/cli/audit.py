"""`hannan audit`: the measured stability level of a smoothing or learner."""

from __future__ import annotations

import sys
import warnings
from contextlib import redirect_stdout
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from traceback import walk_tb
from typing import TYPE_CHECKING, Any

import click

from hannan.cli.options import emit, rows, shared, written
from hannan.learners.names import SMOOTHINGS, smoothing

if TYPE_CHECKING:
    from hannan.audits.audit import Finding
    from hannan.audits.sampling import SampledFinding

EPILOG = """\b
Examples:
  hannan audit --smoothing exponential --scale 2 --n 10
  hannan audit my_module:my_learner --n 5 --level 0.5 --samples 100000
"""


@click.command(epilog=EPILOG, short_help="Measure the one-step stability of a learner.")
@click.argument("subject", required=False, metavar="[MODULE:NAME]")
@click.option("--smoothing", "smooth", metavar="NAME[:NUMBER]", help=f"Built-in smoothing: {', '.join(SMOOTHINGS)}.")
@click.option("--scale", type=float, help="Scale (1/learning rate) of the smoothing.")
@click.option("--n", type=click.IntRange(min=2), required=True, help="Number of arms.")
@click.option("--gamma", type=float, help="Parameter of the divergence D_inf,gamma (default: that of the smoothing).")
@click.option(
    "--delta",
    type=float,
    help="Parameter of the divergence D_inf^delta (default: that of the smoothing; 0 for your learner).",
)
@click.option("--level", type=float, help="Stability level claimed for your learner.")
@click.option(
    "--samples",
    type=click.IntRange(min=100),
    default=40_000,
    show_default=True,
    help="Number of samples drawn from your learner.",
)
@click.option("--confidence", type=float, default=0.999, show_default=True, help="Confidence of the sampled verdict.")
@click.option(
    "--rounds",
    type=click.IntRange(min=0),
    default=32,
    show_default=True,
    help="Length of the longest loss history tried on your learner.",
)
@shared("Folder for audit.json.")
def command(
    subject: str | None, smooth: str | None, scale: float | None, gamma: float | None, as_json: bool, out: Path | None,
    **options: Any,
) -> None:  # fmt: skip
    """Measure the one-step stability level: exactly for a built-in smoothing, by sampling for your own learner.

    MODULE:NAME is a function play(losses, rng) -> action, a class or factory of objects with act() and
    observe(losses), or such an object. The claim is rejected only if the sample contradicts it at the given
    confidence. Exit code 1 if it is rejected.
    """
    if (subject is None) == (smooth is None):
        got = "neither" if smooth is None else f"--smoothing {smooth} and {subject}"
        raise ValueError(f"exactly one of --smoothing and MODULE:NAME is required; got {got}")
    _check_options(exact=subject is None)
    n, delta, seed = options["n"], options["delta"], options["seed"]
    if subject is not None:
        sampled = _audit_by_sampling(subject, {**options, "delta": delta or 0.0})
        broken = sampled.broken
        data, text = _sampled_result(subject, n, sampled)
    else:
        from hannan.audits.audit import audit
        from hannan.mathematics.potentials import potential

        if scale is None:
            raise ValueError("--scale is required to audit a smoothing")
        phi = potential(smoothing(str(smooth)), scale)
        finding = audit(phi, n, gamma=gamma, delta=delta, seed=seed)
        broken = finding.broken
        data, text = _exact_result(repr(phi), n, finding)
    if out is not None:
        written(data, out / "audit.json")
    emit(data, text, as_json)
    if broken:
        sys.exit(1)


#: Options that apply to one of the two audits only.
_SMOOTHING_ONLY, _LEARNER_ONLY = ("scale", "gamma"), ("level", "samples", "confidence", "rounds")


def _check_options(exact: bool) -> None:
    """Raise if an option does not apply to this audit: the verdict would ignore it."""
    context = click.get_current_context()
    for name in _LEARNER_ONLY if exact else _SMOOTHING_ONLY:
        if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
            required, given = ("MODULE:NAME", "--smoothing") if exact else ("--smoothing", "MODULE:NAME")
            raise ValueError(
                f"--{name} applies only to an audit of {required}; got --{name} {context.params[name]:g} with {given}"
            )


def _exact_result(subject: str, n: int, finding: Finding) -> tuple[dict[str, Any], str]:
    """Return (data for JSON, text)."""
    from hannan.saving.formatting import figure

    claim = finding.claim
    L, loss = finding.witness
    data = {
        "subject": subject,
        "n": n,
        "claim": asdict(claim),
        "measured": finding.measured,
        "witness": {"losses": L.tolist(), "loss": loss.tolist()},
        "verdict": finding.verdict,
    }
    name = f"D_inf^{claim.delta:g}" if claim.delta else "D_inf" if claim.gamma == 1.0 else f"D_inf,{claim.gamma:g}"
    kind = "exact" if claim.exact else "an upper bound"
    text = rows(
        [
            (subject, f"n = {n}"),
            ("verdict", finding.headline),
            ("measured", f"{figure(finding.measured)} in {name}"),
            ("claimed", f"{figure(claim.level)} ({kind}; rate {figure(claim.rate)})"),
            ("source", claim.source),
            ("witness L", ", ".join(map(figure, L))),
            ("witness loss", ", ".join(map(figure, loss))),
        ]
    )
    return data, text


def _sampled_result(subject: str, n: int, finding: SampledFinding) -> tuple[dict[str, Any], str]:
    """Return (data for JSON, text)."""
    history, loss, actions = finding.witness
    data = {
        "subject": subject,
        "n": n,
        "claimed": finding.claimed,
        "lower": finding.lower,
        "estimate": finding.estimate,
        "confidence": finding.confidence,
        "samples": finding.samples,
        "delta": finding.delta,
        "witness": {"history": history.tolist(), "loss": loss.tolist(), "actions": list(actions)},
        "verdict": finding.verdict,
    }
    return data, f"{subject}: {finding}"


def _audit_by_sampling(subject: str, options: dict[str, Any]) -> SampledFinding:
    """Audit a learner of another module. What the learner prints goes to standard error."""
    from hannan.audits.sampling import audit_by_sampling

    with redirect_stdout(sys.stderr), warnings.catch_warnings():
        warnings.simplefilter("default")
        learner = _load(subject)
        try:
            return audit_by_sampling(learner, **options)
        except (Exception, SystemExit) as error:
            if isinstance(error, ValueError) and not _raised_by(error, subject.partition(":")[0]):
                raise  # the arguments of the audit are invalid
            raise ValueError(f"{subject} raised {_described(error)}") from None


def _raised_by(error: BaseException, module: str) -> bool:
    """Return whether an error was raised by a function of that module, or by a function that it called."""
    return any(frame.f_globals.get("__name__") == module for frame, _ in walk_tb(error.__traceback__))


def _described(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _load(subject: str) -> Any:
    """Import MODULE:NAME, also from the current folder."""
    module, colon, name = subject.partition(":")
    if not (module and colon and name):
        raise ValueError(f"the learner must be given as MODULE:NAME; got {subject!r}")
    sys.path.insert(0, str(Path.cwd()))
    try:
        found: Any = import_module(module)
    except (Exception, SystemExit) as error:  # importing runs arbitrary code
        raise ValueError(f"cannot import module {module!r}: {_described(error)}") from None
    finally:
        sys.path.pop(0)
    for part in name.split("."):
        if not hasattr(found, part):
            raise ValueError(f"module {module} has no attribute {name!r}")
        found = getattr(found, part)
    return found
