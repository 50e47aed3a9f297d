"""Markdown page of the claims of the paper, generated from the claims that `hannan reproduce` checks."""

from __future__ import annotations

from collections.abc import Iterator

from hannan.paper import Claim, chapters
from hannan.paper.claim import CORRECTIONS
from hannan.paper.page import KINDS, METHODS, kind
from hannan.report.page import to_html


def page() -> str:
    """Return the claims by chapter and statement of the paper."""
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
    group = KINDS[kind(claim, claim.expected)]
    yield f"- **{group.mark} {group.label}**: {_line(claim.statement)}"
    details = [f"*Conditions:* {_line(claim.conditions)}."] if claim.conditions else []
    if claim.corrects:
        details.append(f"*Correction:* {_line(CORRECTIONS[claim.corrects].says)}.")
    details.append(f"*Negative control:* {_line(claim.turned)}." if claim.turned else "")
    details.append(f"*Method:* {METHODS[claim.method]}, `hannan reproduce --only {claim.name}`.")
    yield "  " + " ".join(filter(None, details))


def _line(text: str) -> str:
    """Return the markup of a statement as inline HTML, which Markdown keeps."""
    return " ".join(to_html(text).replace("|", "&#124;").replace("*", "&#42;").replace("_", "&#95;").split())
