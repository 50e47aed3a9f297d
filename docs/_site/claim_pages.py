"""The paper, claim by claim, as Markdown: made of the claims that `hannan reproduce` runs."""

from __future__ import annotations

from collections.abc import Iterator

from hannan.paper import Claim, chapters
from hannan.paper.claim import CORRECTIONS
from hannan.paper.page import MARKS, METHODS
from hannan.report.blocks import to_html


def page() -> str:
    """Chapter by chapter, number by number."""
    return "\n".join(line for chapter in chapters() for line in _chapter(chapter.title, chapter.intro, chapter.claims))


def _chapter(title: str, intro: str, claims: list[Claim]) -> Iterator[str]:
    yield from ("", f"## {title}", "", _line(intro), "")
    for label in dict.fromkeys(claim.label for claim in claims):
        group = [claim for claim in claims if claim.label == label]
        yield from ("", f"### {group[0].number} ({label})", "")
        printed = [claim.printed for claim in group if not claim.ours]
        for text in dict.fromkeys(printed or [group[0].printed]):
            yield from ("> " + _line(text), "")
        for claim in group:
            yield from _claim(claim)


def _claim(claim: Claim) -> Iterator[str]:
    verdict = f"**{MARKS[claim.expected]} {claim.expected}**"
    yield f"- {verdict}{', ours' if claim.ours else ''}: {_line(claim.statement)}"
    details = [f"*When:* {_line(claim.conditions)}."] if claim.conditions else []
    if claim.corrects:
        details.append(f"*Corrected:* {_line(CORRECTIONS[claim.corrects].says)}.")
    details.append(f"*Control, which must fail:* {_line(claim.turned)}." if claim.turned else "")
    yield f"  {' '.join(filter(None, details))} `hannan reproduce --only {claim.name}`, {METHODS[claim.method]}."


def _line(text: str) -> str:
    """The small markup of statements, as HTML that Markdown lets through."""
    return " ".join(to_html(text).replace("|", "&#124;").replace("*", "&#42;").replace("_", "&#95;").split())
