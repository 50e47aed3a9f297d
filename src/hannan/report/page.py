"""Page with sections of blocks (text, tables, cards), which opens from a file without a network."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from html import escape
from importlib import import_module, resources
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from hannan.report.pictures import Picture, javascript
from hannan.saving import files
from hannan.saving.formatting import number
from hannan.saving.result import plain

_RULES = (
    (re.compile(r"`([^`]+)`"), r"<code>\1</code>"),
    (re.compile(r"_\{([^{}]+)\}"), r"<sub>\1</sub>"),
    (re.compile(r"\^\{([^{}]+)\}"), r"<sup>\1</sup>"),
    (re.compile(r"(?<![\w*])\*([^*\s][^*]*)\*(?![\w*])"), r"<em>\1</em>"),
)


def to_html(text: str) -> str:
    """Return text as escaped HTML, with its markup applied.

    >>> to_html("D_{∞}^{δ} < `eps`")
    'D<sub>∞</sub><sup>δ</sup> &lt; <code>eps</code>'
    """
    html = escape(text, quote=False)
    for pattern, replacement in _RULES:
        html = pattern.sub(replacement, html)
    return html


def to_plain(text: str) -> str:
    """Return text without markup, for a terminal or for alternative text.

    >>> to_plain("D_{∞}^{δ} of `audit`, p_{i}, e^{ε s}")
    'D∞^δ of audit, p_i, e^(ε s)'
    """
    text = text.replace("`", "").replace("_{∞}", "∞")
    text = re.sub(r"([_^])\{([^{}]+)\}", lambda found: found[1] + _grouped(found[2]), text)
    return re.sub(r"(?<![\w*])\*([^*\s][^*]*)\*(?![\w*])", r"\1", text)


def _grouped(text: str) -> str:
    return text if len(text) == 1 else f"({text})"


Tone = Literal["good", "note", "warn", "bad", "plain"]


class Block:
    """Part of a page."""

    def html(self) -> str:
        """Return the HTML of the block."""
        raise NotImplementedError

    def pictures(self) -> Iterator[Picture]:
        """Yield the pictures of the block in order."""
        return iter(())


@dataclass(frozen=True)
class Badge:
    """Short colored label for a cell or a card; the mark has the same meaning without color."""

    text: str
    tone: Tone = "plain"
    mark: str = ""

    def html(self) -> str:
        mark = f'<span aria-hidden="true">{escape(self.mark)}</span> ' if self.mark else ""
        return f'<span class="badge {self.tone}">{mark}{escape(self.text)}</span>'


@dataclass(frozen=True)
class Link:
    """Link to an anchor of the page, for a cell."""

    text: str
    anchor: str

    def html(self) -> str:
        return f'<a href="#{escape(self.anchor)}">{to_html(self.text)}</a>'


@dataclass(frozen=True)
class File(Badge):
    """Link to a file in the folder of the page, for a cell; the text is its path."""

    def html(self) -> str:
        return f'<a href="{escape(quote(self.text))}">{escape(self.text)}</a>'


@dataclass(frozen=True)
class Text(Block):
    """Paragraph in the markup of `hannan.report.page`."""

    text: str
    tone: Tone = "plain"

    def html(self) -> str:
        return f'<p class="{self.tone}">{to_html(self.text)}</p>'


#: A text with more characters does not fit in a narrow column.
LONG = 60


@dataclass(frozen=True)
class Facts(Block):
    """Names and values in columns; a long text takes the whole width."""

    items: Mapping[str, Any] = field(hash=False)

    def html(self) -> str:
        rows = "".join(
            f"<div{' class=long' if isinstance(value, str) and len(value) > LONG else ''}>"
            f"<dt>{to_html(name)}</dt><dd>{_cell(value)}</dd></div>"
            for name, value in self.items.items()
        )
        return f'<dl class="facts">{rows}</dl>'


@dataclass(frozen=True)
class Tile:
    """Large number with a label. Clicking a tile with a `filter` shows only the rows with that word."""

    value: str
    name: str
    tone: Tone = "plain"
    filter: str = ""


@dataclass(frozen=True)
class Tiles(Block):
    """Row of tiles."""

    items: tuple[Tile, ...]

    def html(self) -> str:
        return f'<div class="tiles">{"".join(self._tile(tile) for tile in self.items)}</div>'

    def _tile(self, tile: Tile) -> str:
        inside = f"<b>{escape(tile.value)}</b><span>{escape(tile.name)}</span>"
        if not tile.filter:
            return f'<div class="tile {tile.tone}">{inside}</div>'
        return (
            f'<button type="button" class="tile {tile.tone}" data-filter="{escape(tile.filter)}" '
            f'aria-pressed="false">{inside}</button>'
        )


@dataclass(frozen=True)
class Table(Block):
    """Table of text, numbers, badges and links.

    Parameters
    ----------
    columns : tuple of str
        Headings.
    rows : tuple of sequences
        Cells.
    caption : str, optional
        Caption.
    sortable : bool, default True
        Sort the rows by a column when its heading is clicked.
    words : tuple of str, optional
        Word of each row by which a tile filters the rows.
    """

    columns: tuple[str, ...]
    rows: tuple[Sequence[Any], ...] = field(hash=False)
    caption: str = ""
    sortable: bool = True
    words: tuple[str, ...] = ()

    def html(self) -> str:
        numeric = [
            bool(self.rows) and all(isinstance(row[i], (int, float)) or row[i] is None for row in self.rows)
            for i in range(len(self.columns))
        ]
        heads = "".join(self._head(name, numeric[i]) for i, name in enumerate(self.columns))
        body = "".join(self._row(k, row, numeric) for k, row in enumerate(self.rows))
        caption = f"<caption>{to_html(self.caption)}</caption>" if self.caption else ""
        kind = ' class="sortable"' if self.sortable else ""
        return (
            f'<div class="scroll"><table{kind}>{caption}<thead><tr>{heads}</tr></thead>'
            f"<tbody>{body}</tbody></table></div>"
        )

    def _head(self, name: str, numeric: bool) -> str:
        kind = ' class="n"' if numeric else ""
        label = to_html(name)
        return (
            f'<th scope="col"{kind}><button type="button">{label}</button></th>'
            if self.sortable
            else f"<th{kind}>{label}</th>"
        )

    def _row(self, index: int, row: Sequence[Any], numeric: list[bool]) -> str:
        word = f' data-word="{escape(self.words[index])}"' if self.words else ""
        cells = "".join(
            f'<td data-label="{escape(to_plain(self.columns[i]))}"{" class=n" if numeric[i] else ""}'
            f"{_sort_key(value)}>{_cell(value)}</td>"
            for i, value in enumerate(row)
        )
        return f"<tr{word}>{cells}</tr>"


@dataclass(frozen=True)
class Figure(Block):
    """Picture, drawn when the page opens, with its title and alternative text."""

    picture: Picture

    def html(self) -> str:
        # "<" is escaped, so that no text of the specification can end the script.
        spec = json.dumps(plain(self.picture.spec()), separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")
        return (
            f"<figure><figcaption>{to_html(self.picture.title)}</figcaption>"
            f'<div class="chart" role="img" aria-label="{escape(to_plain(self.picture.alt))}" '
            f'style="min-height:{self.picture.height + 60}px"></div>'
            f'<script type="application/json">{spec}</script>'
            f'<p class="alt">{to_html(self.picture.alt)}</p></figure>'
        )

    def pictures(self) -> Iterator[Picture]:
        yield self.picture


@dataclass(frozen=True)
class Card(Block):
    """Box with a title and an anchor; on wide screens the pictures are to the right of the text."""

    anchor: str
    title: str
    badge: Badge
    blocks: tuple[Block, ...] = ()
    kicker: str = ""
    figures: tuple[Figure, ...] = ()

    def html(self) -> str:
        words = "".join(block.html() for block in self.blocks)
        drawn = "".join(figure.html() for figure in self.figures)
        side = f'<div class="pictures">{drawn}</div>' if drawn else ""
        kicker = f'<a class="kicker" href="#{escape(self.anchor)}">{escape(self.kicker)}</a>' if self.kicker else ""
        return (
            f'<article class="card {self.badge.tone}{" wide" if drawn else ""}" id="{escape(self.anchor)}">'
            f"<header>{kicker}{self.badge.html()}<h3>{to_html(self.title)}</h3></header>"
            f'<div class="body"><div class="words">{words}</div>{side}</div></article>'
        )

    def pictures(self) -> Iterator[Picture]:
        for block in (*self.blocks, *self.figures):
            yield from block.pictures()


@dataclass(frozen=True)
class Fold(Block):
    """Blocks that are hidden until the title is clicked."""

    title: str
    blocks: tuple[Block, ...]

    def html(self) -> str:
        inside = "".join(block.html() for block in self.blocks)
        return f'<details class="fold"><summary>{to_html(self.title)}</summary>{inside}</details>'

    def pictures(self) -> Iterator[Picture]:
        for block in self.blocks:
            yield from block.pictures()


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, (Badge, Link)):
        return value.html()
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (int, float)):
        return f'<span title="{value!r}">{number(value)}</span>'
    return to_html(str(value))


def _sort_key(value: Any) -> str:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return f' data-sort="{float(value)!r}"'
    text = value.text if isinstance(value, (Badge, Link)) else "" if value is None else str(value)
    return f' data-sort="{escape(to_plain(text))}"'


#: File name of a page in a folder.
PAGE = "index.html"


@dataclass(frozen=True)
class Section:
    """Heading with blocks.

    Parameters
    ----------
    title : str
        Heading.
    blocks : tuple of Block
        Content.
    anchor : str, optional
        Fragment of links to this section. Default: the title in lower case.
    intro : str, optional
        Paragraph after the heading.
    """

    title: str
    blocks: tuple[Block, ...] = ()
    anchor: str = ""
    intro: str = ""

    @property
    def id(self) -> str:
        """Fragment of links to this section."""
        return self.anchor or re.sub(r"[^a-z0-9]+", "-", self.title.lower()).strip("-")

    def html(self) -> str:
        intro = f'<p class="intro">{to_html(self.intro)}</p>' if self.intro else ""
        blocks = "".join(block.html() for block in self.blocks)
        return f'<section id="{self.id}"><h2>{to_html(self.title)}</h2>{intro}{blocks}</section>'


@dataclass(frozen=True)
class Page:
    """Report in one HTML file, with styles, scripts and data included.

    Parameters
    ----------
    title : str
        Title.
    lead : str, optional
        Paragraph under the title.
    head : tuple of Block, optional
        Blocks before the first section.
    sections : tuple of Section, optional
        Sections, with a table of contents if there are several.
    facts : mapping of str to str, optional
        Names and values in the footer, such as seeds and versions.
    language : str, default "en"
        Language of the page.
    search : str, optional
        Placeholder of the search box of a long page, which filters cards and rows. Default: no search box.

    Examples
    --------
    >>> from hannan.report import Page, Section, Text
    >>> "<h2>First</h2>" in Page("A title", sections=(Section("First", (Text("Some text."),)),)).html()
    True
    """

    title: str
    lead: str = ""
    head: tuple[Block, ...] = ()
    sections: tuple[Section, ...] = ()
    facts: Mapping[str, str] = field(default_factory=dict, hash=False)
    language: str = "en"
    search: str = ""

    def pictures(self) -> Iterator[Picture]:
        """Yield the pictures of the page in order."""
        for block in (*self.head, *(block for section in self.sections for block in section.blocks)):
            yield from block.pictures()

    def html(self) -> str:
        """Return the page as HTML."""
        links = "".join(f'<a href="#{s.id}">{to_html(s.title)}</a>' for s in self.sections)
        finder = (
            f'<div class="find"><input type="search" id="find" placeholder="{escape(self.search)}" '
            f'aria-label="{escape(self.search)}" autocomplete="off"><output id="found"></output></div>'
        )
        inside = (finder if self.search else "") + links
        contents = f'<nav aria-label="Sections">{inside}</nav>' if len(self.sections) > 1 else ""
        kind = ' class="long"' if self.search else ""
        facts = "".join(f"<div><dt>{escape(k)}</dt><dd>{escape(v)}</dd></div>" for k, v in self.facts.items())
        drawing = f'<script type="module">{_drawing()}</script>' if any(True for _ in self.pictures()) else ""
        return (
            f'<!doctype html><html lang="{escape(self.language)}"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            '<meta name="color-scheme" content="light dark">'
            f'<title>{escape(self.title)}</title><link rel="icon" href="data:,">'
            f"<style>{_own('page.css')}</style></head>"
            f'<body{kind}><a class="skip" href="#main">Skip to the results</a><header class="top"><div>'
            f"<h1>{to_html(self.title)}</h1><p>{to_html(self.lead)}</p></div>"
            '<button type="button" id="theme" aria-label="Switch between light and dark">◐</button></header>'
            f'<main id="main">{"".join(block.html() for block in self.head)}{contents}'
            f"{''.join(section.html() for section in self.sections)}</main>"
            f'<footer><dl class="facts">{facts}</dl></footer>'
            f"<script>{_own('page.js')}</script>{drawing}</body></html>\n"
        )

    def write(self, path: str | Path) -> Path:
        """Write the page to a file atomically.

        Parameters
        ----------
        path : str or Path
            File to write.

        Returns
        -------
        Path
            The path.
        """
        return files.write(path, self.html())


def drawable() -> bool:
    """Return whether pictures can be drawn, that is, whether the extra [report] is installed."""
    try:
        for name in ("altair", "vl_convert"):
            import_module(name)
    except ImportError:
        return False
    return True


def _own(name: str) -> str:
    return resources.files("hannan.report").joinpath(name).read_text(encoding="utf-8")


@lru_cache(maxsize=1)
def _drawing() -> str:
    """Return Vega, Vega-Lite and vega-embed with the script that draws the pictures."""
    return (javascript() + _own("draw.js")).replace("</script", "<\\/script")
