"""Numbers of the statements of the paper, counted as LaTeX counts them from an outline of the source."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hannan.paper.claim import STATEMENTS

OUTLINE = Path(__file__).parents[1].joinpath("oracles", "paper_outline.tex").read_text(encoding="utf-8")
NAMES = {"algorithm": "Algorithm {}", "table": "Table {}", "equation": "Equation ({})"}


def counted(source: str) -> dict[str, str]:
    """Return the number of each label: theorems share a counter per section; sections after \\appendix have letters."""
    titles = dict(re.findall(r"\\newtheorem\{(\w+)\}(?:\[theorem\])?\{(\w+)\}", source))
    section, theorem, counts = 0, 0, dict.fromkeys(NAMES, 0)
    appendix, environment, current, lines = False, "", "", source.splitlines()
    found: dict[str, str] = {}
    for k, line in enumerate(lines):
        if line == r"\appendix":
            appendix, section = True, 0
        elif line == r"\section{}":
            section, theorem = section + 1, 0
            current = f"Section {chr(64 + section) if appendix else section}"
        elif line.startswith(r"\begin"):
            environment = line[len(r"\begin{") : -1]
            if environment in titles:
                theorem += 1
                current = f"{titles[environment]} {chr(64 + section) if appendix else section}.{theorem}"
            if environment in ("equation", "align"):
                # Each line of an align has a number, except for lines with \notag.
                body = " ".join(lines[k + 1 : lines.index(rf"\end{{{environment}}}", k)]).split("\\\\")
                counts["equation"] += sum(r"\notag" not in part for part in body)
                current = NAMES["equation"].format(counts["equation"])
        elif line == r"\caption":
            counts[environment] += 1
            current = NAMES[environment].format(counts[environment])
        elif line.startswith(r"\label"):
            found[line[len(r"\label{") : -1]] = current
    return found


COUNTED = counted(OUTLINE)


@pytest.mark.parametrize("label", [label for label in STATEMENTS if not label.startswith("sec:")])
def test_labels_have_the_numbers_of_latex(label: str) -> None:
    assert COUNTED[label] == STATEMENTS[label].number


def test_every_numbered_statement_is_listed() -> None:
    # Equations and sections without a statement may be omitted; theorems, algorithms and the table may not.
    left_out = {label for label in COUNTED if label not in STATEMENTS}
    assert all(label.startswith(("eq:", "sec:", "app:")) for label in left_out), left_out


def test_control_an_additional_lemma_changes_the_numbers() -> None:
    more = OUTLINE.replace(r"\label{sec:full_info}", "\\label{sec:full_info}\n\\begin{lemma}\n\\end{lemma}")
    assert counted(more)["lemma:regret_lstar"] == "Lemma 3.2"
    assert counted(more)["lem:regret_bandit"] == COUNTED["lem:regret_bandit"] == "Lemma 4.1"
