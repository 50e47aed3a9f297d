"""A comparison as a table for a paper: booktabs, learners by environments."""

from __future__ import annotations

from hannan.games.cells import Cell, interval
from hannan.games.compared import Compared

_SPECIAL = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "√": r"$\surd$",
}  # fmt: skip


def escaped(text: str) -> str:
    r"""Text that LaTeX prints as it is.

    >>> escaped("a_b & 95%")
    'a\\_b \\& 95\\%'
    """
    return "".join(_SPECIAL.get(letter, letter) for letter in text)


def table(comparison: Compared, level: float = 0.95, caption: str = "", label: str = "") -> str:
    """Mean regret -+ half its interval over the runs; the least mean of each environment is bold."""
    environments = comparison.environments
    lines = [r"\begin{table}", r"\centering", rf"\begin{{tabular}}{{l{'r' * len(environments)}}}", r"\toprule"]
    lines.append(" & ".join(["", *map(escaped, environments)]) + r" \\")
    lines.append(r"\midrule")
    least = {name: min(float(cell.final.mean()) for cell in comparison.among(name)) for name in environments}
    for learner in comparison.learners:
        cells = [c for name in environments for c in comparison.among(name) if c.learner == learner]
        found = {cell.environment: _entry(cell, level, least[cell.environment]) for cell in cells}
        lines.append(" & ".join([escaped(learner), *(found.get(name, "--") for name in environments)]) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}"]
    runs = sorted({cell.runs for cell in comparison.cells})
    told = f"{runs[0]}" if len(runs) == 1 else f"{runs[0]} to {runs[-1]}"
    said = (
        caption
        or f"Regret, mean of {told} runs $\\pm$ half the {level * 100:g}\\% $t$ interval "
        "(approximate); bold: the smallest mean."
    )
    lines.append(rf"\caption{{{said}}}")
    if label:
        lines.append(rf"\label{{{label}}}")
    return "\n".join([*lines, r"\end{table}"]) + "\n"


def _entry(cell: Cell, level: float, least: float) -> str:
    mean = float(cell.final.mean())
    low, high = interval(cell.final, level)
    half = (high - low) / 2
    body = f"{mean:.4g}" if half == 0.0 else rf"{mean:.4g} \pm {half:.2g}"
    return rf"$\mathbf{{{body}}}$" if mean <= least else f"${body}$"
