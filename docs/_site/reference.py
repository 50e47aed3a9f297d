"""Index of the API reference: every public name by topic. autosummary writes the page of each name."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import hannan


class Topic(NamedTuple):
    """A section of the index: title, description, and the modules whose public names belong to it (as prefixes)."""

    title: str
    about: str
    modules: tuple[str, ...]


#: In the order of the index. A name belongs to the topic with the longest matching prefix.
TOPICS = (
    Topic("Learners", "Descriptions of algorithms: immutable, printable, with their bounds.", ("learners",)),
    Topic("Algorithms by their usual names", "Functions that combine a smoothing, a tuning and an estimator.",
          ("learners.algorithms",)),
    Topic("Learners for i.i.d. losses", "Their published bounds hold only if losses are drawn from one distribution.",
          ("learners.stochastic",)),
    Topic("Online convex optimization", "Learners that observe loss functions; domains, losses and noise.",
          ("learners.convex", "mathematics.convex")),
    Topic("Combinatorial decisions", "Sets of decisions with several parts, such as paths and assignments.",
          ("learners.fpl",)),
    Topic("Tunings and loss estimators", "Learning-rate schedules, and estimates of unobserved losses.",
          ("learners.tuning", "learners.estimators")),
    Topic("Players and fleets", "Running learners: moves, feedback, certificates, saved players.", ("players",)),
    Topic("Tables of data", "Combine forecasts, replay a log, compare learners on a table of losses.", ("tables",)),
    Topic("Serving", "Learners that are stored on disk and served over HTTP.", ("serving",)),
    Topic("Games and experiments", "Complete games, many runs, comparisons, sweeps and adversaries.",
          ("games", "adversaries")),
    Topic("Perturbation distributions and regularizers", "Smoothings, and the potentials that they define at a scale.",
          ("mathematics.smoothing", "mathematics.laws", "mathematics.regularizers", "mathematics.potentials")),
    Topic("Stability, bounds and audits", "Divergences, stability levels and rates, bounds, numerical checks.",
          ("mathematics", "audits")),
    Topic("Extensions and other libraries", "Checks for user-defined classes; adapters to other libraries.",
          ("checks", "interop", "saving")),
)  # fmt: skip

HEAD = """API reference
=============

Every public name of the package, by topic, with its summary. All names are attributes of ``hannan``, which the examples
import as ``hn``.
"""


def modules() -> dict[str, str]:
    """Return the module that defines each public name."""
    return {**hannan._MODULE_OF, **hannan._MODULES}


def topic(module: str) -> Topic:
    """Return the topic of a module.

    >>> topic("learners.bandits").title, topic("learners.algorithms").title
    ('Learners', 'Algorithms by their usual names')
    """
    matches = [
        (len(prefix), found)
        for found in TOPICS
        for prefix in found.modules
        if module == prefix or module.startswith(prefix + ".")
    ]
    if not matches:
        raise ValueError(f"a public module must belong to a topic of docs/_site/reference.py; got {module!r}")
    return max(matches, key=lambda match: match[0])[1]


def listed() -> dict[Topic, list[str]]:
    """Return the public names of each topic, in the order of the package."""
    found: dict[Topic, list[str]] = {topic: [] for topic in TOPICS}
    for name, module in modules().items():
        found[topic(module)].append(name)
    return found


def index() -> str:
    """Return the index in reStructuredText."""
    lines = [HEAD]
    for section, names in listed().items():
        lines += [section.title, "-" * len(section.title), "", section.about, ""]
        lines += [".. autosummary::", "   :nosignatures:", "   :toctree: .", ""]
        lines += [f"   hannan.{name}" for name in names]
        lines.append("")
    return "\n".join(lines)


def write(app: Any, config: Any) -> None:
    """Write the index before Sphinx looks for sources, if it changed."""
    target = Path(app.srcdir) / "api" / "index.rst"
    target.parent.mkdir(parents=True, exist_ok=True)
    text = index()
    if not target.exists() or target.read_text(encoding="utf-8") != text:
        target.write_text(text, encoding="utf-8")


def foreign(app: Any, what: str, name: str, value: Any, skip: bool, options: Any) -> bool | None:
    """Skip methods that another package, such as scikit-learn, adds to a class."""
    home = getattr(value, "__module__", None) if callable(value) else None
    return True if isinstance(home, str) and home.split(".")[0] != "hannan" else None


def setup(app: Any) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.connect("config-inited", write)
    app.connect("autodoc-skip-member", foreign)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
