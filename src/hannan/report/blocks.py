"""Blocks of a section, such as text, tables and cards; each block returns its HTML."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any, Literal
from urllib.parse import quote

from hannan.report.pictures import Picture
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
    """Paragraph in the markup of `hannan.report.blocks`."""

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
