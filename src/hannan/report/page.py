"""Page with sections, which opens from a file without a network."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from html import escape
from importlib import import_module, resources
from pathlib import Path

from hannan.report.blocks import Block, to_html
from hannan.report.pictures import Picture, javascript
from hannan.saving import files

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
