"""reStructuredText of our docstrings, which are plain words with `code` between backticks.

Stars, bars and trailing underscores mean themselves. A public name between backticks becomes a link, and so does a page
of docs/. Indented lines are a formula, shown as it stands. A paragraph of parameters, "`n`: how many. `seed`: ...",
becomes a list. Examples are left to Sphinx.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import hannan

ITEM = re.compile(r"^(\s*)([-*]|\d+\.) ")
SPAN = re.compile(r"(:[a-z:]+:`[^`]+`)|``(.+?)``|`([^`]+)`")
#: Where a parameter is explained: at the beginning, or after a sentence.
PARAMETER = re.compile(r"(?:^|(?<=[.;] ))(?=`[^`]+`(?:, `[^`]+`| and `[^`]+`)*: )")
PAGE = re.compile(r"docs/([\w/]+)\.md")
DOCS = Path(__file__).resolve().parents[1]
PUBLIC = re.compile(r"^(?:hn\.|hannan\.)?([A-Za-z]\w*)(\(\))?$")


def plain(text: str) -> str:
    """Words in which nothing is markup.

    >>> print(plain("a*b |x| L_ and L_t"))
    a\\*b \\|x\\| L\\_ and L_t
    """
    parts = PAGE.split(text)  # words, page, words, ...
    said = [re.sub(r"_(?!\w)", r"\\_", re.sub(r"([\\*|])", r"\\\1", part)) for part in parts]
    said[1::2] = [_linked(page) for page in parts[1::2]]
    return "".join(said)


def _linked(page: str) -> str:
    there = (DOCS / f"{page}.md").exists()
    return f":doc:`docs/{page}.md </{page}>`" if there else f"docs/{page}.md"


def coded(text: str) -> str:
    """What stands between backticks: a link where it is a public name, else code.

    >>> coded("hn.play"), coded("a | b")
    (':py:obj:`hn.play <hannan.play>`', '``a | b``')
    """
    found = PUBLIC.match(text)
    if found and found[1] in hannan.__all__:
        return f":py:obj:`{text} <hannan.{found[1]}>`"
    return f"``{text}``"


def inline(line: str) -> str:
    """A line of words.

    >>> inline("`play` gives p_i * |l|")
    ':py:obj:`play <hannan.play>` gives p_i \\\\* \\\\|l\\\\|'
    """
    parts, end = [], 0
    for found in SPAN.finditer(line):
        parts += [plain(line[end : found.start()]), found[1] or coded(found[2] or found[3])]
        end = found.end()
    return re.sub(r"(?<=\w)(:py:obj:)", r"\\ \1", "".join([*parts, plain(line[end:])]))


def depth(line: str) -> int:
    """Spaces before the first word."""
    return len(line) - len(line.lstrip())


def markup(lines: list[str]) -> list[str]:
    """The whole docstring.

    >>> print("\\n".join(markup(["The play,", "", "    p_i ~ e^(-L_i)", "", "of `Law`."])))
    The play,
    <BLANKLINE>
    ::
    <BLANKLINE>
        p_i ~ e^(-L_i)
    <BLANKLINE>
    of :py:obj:`Law <hannan.Law>`.
    """
    told: list[str] = []
    k, before = 0, ""  # before: the last line of words, or the item that it belongs to
    while k < len(lines):
        line = lines[k]
        if not line.strip():
            told.append("")
            k += 1
        elif line.lstrip().startswith(">>>"):
            k = _copied(lines, k, told, lambda later: bool(later.strip()))
            told.append("")
        elif depth(line) and not ITEM.match(before):
            if told and told[-1]:
                told.append("")
            told += ["::", ""]
            k = _copied(lines, k, told, lambda later: not later.strip() or depth(later) > 0)
            if told[-1]:
                told.append("")
        elif PARAMETER.match(line.strip()) and not ITEM.match(before) and not (told and told[-1]):
            start = k
            while k < len(lines) and lines[k].strip():
                k += 1
            words = " ".join(part.strip() for part in lines[start:k])
            told += [f"- {inline(one.strip())}" for one in PARAMETER.split(words) if one.strip()]
        else:
            if ITEM.match(line) and not ITEM.match(before) and told and told[-1]:
                told.append("")
            told.append(" " * depth(line) + inline(line.strip()))
            before = line if ITEM.match(line) or not (ITEM.match(before) and depth(line)) else before
            k += 1
    return told


def _copied(lines: list[str], k: int, told: list[str], goes_on: Any) -> int:
    """Lines as they stand, while the block goes on."""
    while k < len(lines) and goes_on(lines[k]):
        told.append(lines[k])
        k += 1
    return k


def setup(app: Any) -> dict[str, bool]:
    """Every docstring that a page shows."""

    def process(app: Any, what: str, name: str, found: Any, options: Any, lines: list[str]) -> None:
        lines[:] = markup(lines)

    app.connect("autodoc-process-docstring", process)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
