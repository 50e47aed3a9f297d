"""`hannan audit`: measure a claim of stability."""

from __future__ import annotations

import sys
import warnings
from contextlib import redirect_stdout
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from traceback import walk_tb
from typing import Any

import click

from hannan.cli.options import emit, rows, shared, written
from hannan.learners.names import SMOOTHINGS, smoothing

EPILOG = """\b
Examples:
  hannan audit --smoothing exponential --scale 2 --n 10
  hannan audit my_module:my_learner --n 5 --level 0.5 --samples 100000
"""


@click.command(epilog=EPILOG)
@click.argument("subject", required=False, metavar="[MODULE:NAME]")
@click.option("--smoothing", "smooth", metavar="NAME[:NUMBER]", help=f"One of {', '.join(SMOOTHINGS)}.")
@click.option("--scale", type=float, help="The scale of the smoothing.")
@click.option("--n", type=click.IntRange(min=2), required=True, help="Arms.")
@click.option("--gamma", type=float, help="The divergence D_inf,gamma; the smoothing's own by default.")
@click.option("--delta", type=float, help="The divergence D_inf^delta.")
@click.option("--level", type=float, help="The level that a stranger's learner claims.")
@click.option(
    "--samples",
    type=click.IntRange(min=100),
    default=40_000,
    show_default=True,
    help="Draws from a stranger's learner.",
)
@click.option("--confidence", type=float, default=0.999, show_default=True, help="Of the level proved by sampling.")
@click.option(
    "--rounds", type=click.IntRange(min=0), default=32, show_default=True, help="Longest history tried by sampling."
)
@shared("Write audit.json here.")
def command(
    subject: str | None,
    smooth: str | None,
    scale: float | None,
    n: int,
    gamma: float | None,
    delta: float | None,
    level: float | None,
    samples: int,
    confidence: float,
    rounds: int,
    as_json: bool,
    seed: int,
    out: Path | None,
) -> None:
    """Measure the one-step level of a smoothing, exactly, or of a stranger's learner, by sampling.

    MODULE:NAME is a function play(losses, rng) -> action, a class or factory of objects with act() and
    observe(losses), or such an object. It is called "not stable at the level claimed" only when that is proved
    at the stated confidence. Exit code 1 if a claim is exceeded.
    """
    if (subject is None) == (smooth is None):
        raise ValueError("audit takes either --smoothing with --scale, or MODULE:NAME of a learner")
    _refuse_unheard(exact=subject is None)
    if subject is None:
        data, text, broken = _exactly(str(smooth), scale, n, gamma, delta, seed)
    else:
        data, text, broken = _by_sampling(subject, n, level, delta, samples, confidence, rounds, seed)
    if out is not None:
        written(data, out / "audit.json")
    emit(data, text, as_json)
    if broken:
        sys.exit(1)


#: What only one of the two audits hears.
_OF_A_SMOOTHING, _OF_A_LEARNER = ("scale", "gamma"), ("level", "samples", "confidence", "rounds")


def _refuse_unheard(exact: bool) -> None:
    """An option that changes nothing would be taken for one that was obeyed: a verdict on a level never looked at."""
    asked = click.get_current_context()
    for name in _OF_A_LEARNER if exact else _OF_A_SMOOTHING:
        if asked.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
            whose, here = ("MODULE:NAME", "--smoothing") if exact else ("--smoothing", "MODULE:NAME")
            got = f"--{name} {asked.params[name]:g} with {here}"
            raise ValueError(f"--{name} must come with {whose}, the only audit that hears it; got {got}")


def _exactly(
    smooth: str, scale: float | None, n: int, gamma: float | None, delta: float | None, seed: int
) -> tuple[dict[str, Any], str, bool]:
    from hannan.audits.audit import audit
    from hannan.mathematics.potentials import potential
    from hannan.saving.formatting import figure

    if scale is None:
        raise ValueError("audit of a smoothing needs --scale")
    phi = potential(smoothing(smooth), scale)
    finding = audit(phi, n, gamma=gamma, delta=delta, seed=seed)
    claim = finding.claim
    L, loss = finding.witness
    data = {
        "subject": repr(phi),
        "n": n,
        "claim": asdict(claim),
        "measured": finding.measured,
        "witness": {"losses": L.tolist(), "loss": loss.tolist()},
        "verdict": finding.verdict,
    }
    name = f"D_inf^{claim.delta:g}" if claim.delta else "D_inf" if claim.gamma == 1.0 else f"D_inf,{claim.gamma:g}"
    text = rows(
        [
            (repr(phi), f"n = {n}"),
            ("verdict", finding.headline),
            ("measured", f"{figure(finding.measured)} in {name}"),
            (
                "claimed",
                f"{figure(claim.level)} ({'exact' if claim.exact else 'an upper bound'}; rate {figure(claim.rate)})",
            ),
            ("source", claim.source),
            ("witness L", ", ".join(map(figure, L))),
            ("witness loss", ", ".join(map(figure, loss))),
        ]
    )
    return data, text, finding.broken


def _by_sampling(
    subject: str,
    n: int,
    level: float | None,
    delta: float | None,
    samples: int,
    confidence: float,
    rounds: int,
    seed: int,
) -> tuple[dict[str, Any], str, bool]:
    from hannan.audits.sampling import audit_by_sampling

    # What a stranger prints is not our output.
    with redirect_stdout(sys.stderr), warnings.catch_warnings():
        warnings.simplefilter("default")
        learner = _load(subject)
        try:
            finding = audit_by_sampling(
                learner,
                n,
                level=level,
                delta=delta or 0.0,
                samples=samples,
                confidence=confidence,
                rounds=rounds,
                seed=seed,
            )
        except (Exception, SystemExit) as error:
            if isinstance(error, ValueError) and not _raised_by(error, subject.partition(":")[0]):
                raise  # a rule of ours
            raise ValueError(f"{subject} must play without an error; got {_told(error)}") from None
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
    return data, f"{subject}: {finding}", finding.broken


def _raised_by(error: BaseException, module: str) -> bool:
    """Whether an error came out of a function of that module, or of one that it called."""
    return any(frame.f_globals.get("__name__") == module for frame, _ in walk_tb(error.__traceback__))


def _told(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _load(subject: str) -> Any:
    """MODULE:NAME, looked for in the current folder as well."""
    module, colon, name = subject.partition(":")
    if not (module and colon and name):
        raise ValueError(f"a learner must be given as MODULE:NAME; got {subject!r}")
    sys.path.insert(0, str(Path.cwd()))
    try:
        found: Any = import_module(module)
    except (Exception, SystemExit) as error:  # a stranger's module may do anything
        raise ValueError(f"the module must be importable; got {module!r}: {_told(error)}") from None
    finally:
        sys.path.pop(0)
    for part in name.split("."):
        if not hasattr(found, part):
            raise ValueError(f"{module} must have the name that is audited; got {name!r}")
        found = getattr(found, part)
    return found
