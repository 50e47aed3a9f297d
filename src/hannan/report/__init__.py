"""Builder of self-contained HTML pages from sections of text, tables, tiles, cards and pictures.

>>> from hannan.report import Page, Section, Table, Text
>>> page = Page("A title", sections=(Section("First", blocks=(Text("Some *text*."), Table(("a", "b"), ((1, 2.5),)))),))
>>> "<h2" in page.html()
True
"""

from __future__ import annotations

from hannan.report.page import (
    Badge,
    Block,
    Card,
    Facts,
    Figure,
    File,
    Fold,
    Link,
    Page,
    Section,
    Table,
    Text,
    Tile,
    Tiles,
)
from hannan.report.pictures import Layer, Picture

__all__ = [
    "Badge",
    "Block",
    "Card",
    "Facts",
    "Figure",
    "File",
    "Fold",
    "Layer",
    "Link",
    "Page",
    "Picture",
    "Section",
    "Table",
    "Text",
    "Tile",
    "Tiles",
]
