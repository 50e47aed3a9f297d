"""The reference: a page for each public name, written before the site is built, and one that lists them by job."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import hannan

#: What a base class of Python's own brings is not ours to explain.
STRANGERS = "object, tuple, dict, list, Exception, ValueError, ModuleType"


class Job(NamedTuple):
    """A group of names: its folder, its title, what it is for, and where the names live (beginnings of modules)."""

    folder: str
    title: str
    about: str
    homes: tuple[str, ...]


#: The first whose home a module begins with has it; the longest beginnings come first.
JOBS = (
    Job("iid", "Learners for i.i.d. losses", "Published bounds where losses are drawn from one law; elsewhere nothing.",
        ("learners.index_rules", "learners.greedy", "learners.thompson", "learners.stochastic")),
    Job("names", "Algorithms by their usual names", "Each is a smoothing, a tuning and an estimator put together.",
        ("learners.rivals",)),
    Job("convex", "Points of a convex set", "Learners that meet loss functions, their sets, losses and noise.",
        ("learners.convex", "mathematics.convex", "audits.convex")),
    Job("decisions", "Sets of choices", "Paths, assignments, so many out of n: one decision has many parts.",
        ("learners.decisions",)),
    Job("parts", "Tunings and estimators", "How the scale is set, and how a bandit estimates what it did not see.",
        ("learners.tuning", "learners.estimators", "mathematics.clipping")),
    Job("learners", "Learners", "How to play: frozen, printable descriptions that know their bounds.", ("learners",)),
    Job("players", "Learners at play", "What an application embeds: moves, feedback, certificates, fleets.",
        ("players",)),
    Job("serving", "Decisions that survive", "Learners on disk and over HTTP.", ("serving",)),
    Job("tables", "Your own tables", "Combine forecasts, replay a log, compare learners on a table of losses.",
        ("tables",)),
    Job("games", "Games and experiments", "Whole games, many runs, records, comparisons, sweeps, adversaries.",
        ("games", "adversaries")),
    Job("smoothings", "Smoothings and potentials", "Laws, regularizers, and what they make at a scale.",
        ("mathematics.smoothing", "mathematics.laws", "mathematics.regularizers", "mathematics.potentials")),
    Job("stability", "Stability, bounds and audits", "Divergences, levels, rates; what a bound is; who checks it.",
        ("mathematics", "audits")),
    Job("more", "Extend and connect", "The public contract of learners and laws; other libraries.",
        ("checks", "interop", "saving", "report", "frozen", "refusals", "client", "cli", "paper")),
)  # fmt: skip


def homes() -> dict[str, str]:
    """Public name -> module it lives in."""
    return {**hannan._MODULE_OF, **hannan._MODULES}


def job_of(module: str) -> Job:
    """The job of a module.

    >>> job_of("learners.bandits").folder, job_of("learners.rivals").folder
    ('learners', 'names')
    """
    for job in JOBS:
        if any(module == home or module.startswith(home + ".") for home in job.homes):
            return job
    raise ValueError(f"a public module must have a job in docs/_site/reference.py; got {module!r}")


def listed() -> dict[Job, list[str]]:
    """Every public name under its job, in the order of the package."""
    found: dict[Job, list[str]] = {job: [] for job in JOBS}
    for name, module in homes().items():
        found[job_of(module)].append(name)
    return {job: names for job, names in found.items() if names}


def first_words(name: str) -> str:
    """The first sentence or line of a docstring, for the list."""
    text = inspect.getdoc(getattr(hannan, name)) or ""
    return " ".join(text.split("\n\n")[0].split())


def path(name: str) -> str:
    """Where a public name is documented: a module under its own name.

    >>> path("Bandit"), path("adversaries")
    ('hannan.Bandit', 'hannan.adversaries')
    """
    value = getattr(hannan, name)
    return value.__name__ if inspect.ismodule(value) else f"hannan.{name}"


def page(name: str) -> str:
    """The page of one name, in reStructuredText."""
    value = getattr(hannan, name)
    lines = [name, "=" * len(name), ""]
    if inspect.ismodule(value):
        lines += [f".. automodule:: {value.__name__}", "   :members:", ""]
    elif inspect.isclass(value):
        lines += [f".. autoclass:: hannan.{name}", "   :members:", f"   :inherited-members: {STRANGERS}", ""]
    else:
        lines += [f".. autofunction:: hannan.{name}", ""]
    heading = f"Examples that use {name}"
    lines += [f".. minigallery:: hannan.{name}", f"   :add-heading: {heading}", "   :heading-level: -", ""]
    return "\n".join(lines)


def contents() -> Iterator[tuple[str, str]]:
    """(path below docs/api, text) of every page."""
    index = ["Reference", "=========", "", "Every public name, by what it is for; ``import hannan as hn``.", ""]
    groups = sorted(listed().items(), key=lambda item: ORDER.index(item[0].folder))
    index += [".. toctree::", "   :maxdepth: 1", "", *(f"   {job.folder}/index" for job, _ in groups), ""]
    for job, names in groups:
        text = [job.title, "=" * len(job.title), "", job.about, ""]
        text += [".. toctree::", "   :hidden:", "", *(f"   {name}" for name in names), ""]
        text += [".. made:: names", "", *(f"   {name}" for name in names), ""]
        yield f"{job.folder}/index.rst", "\n".join(text)
        yield from ((f"{job.folder}/{name}.rst", page(name)) for name in names)
    yield "index.rst", "\n".join(index)


#: The order in which a reader meets them.
ORDER = ("learners", "names", "iid", "convex", "decisions", "parts", "players", "tables", "serving", "games",
         "smoothings", "stability", "more")  # fmt: skip


def write(app: Any) -> None:
    """Write the pages that changed, and take away those of names that are gone."""
    folder, kept = Path(app.srcdir) / "api", set()
    for path, text in contents():
        target = folder / path
        kept.add(target)
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists() or target.read_text(encoding="utf-8") != text:
            target.write_text(text, encoding="utf-8")
    for stale in set(folder.rglob("*.rst")) - kept:
        stale.unlink()


def foreign(app: Any, what: str, name: str, value: Any, skip: bool, options: Any) -> bool | None:
    """Methods that another package put on a class of ours have no place here."""
    home = getattr(value, "__module__", None) if callable(value) else None
    return True if isinstance(home, str) and home.split(".")[0] != "hannan" else None


def setup(app: Any) -> dict[str, bool]:
    """Before pages are found."""
    app.connect("builder-inited", write, priority=100)
    app.connect("autodoc-skip-member", foreign)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
