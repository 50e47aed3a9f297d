"""Check of all links of the built site: `python docs/_site/links.py build/docs/html`.

Every page, picture, script and anchor that a page links must exist, and pages must not load anything from other hosts.
"""

from __future__ import annotations

import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import keywords

#: Resources that a page loads: they must be part of the site.
SHOWN = {("script", "src"), ("img", "src"), ("link", "href"), ("iframe", "src"), ("source", "src"), ("object", "data")}


class Reader(HTMLParser):
    """Anchors of a page, and its links as (tag, attribute, address)."""

    def __init__(self) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.named: list[tuple[str, str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" or (tag == "a" and name == "name"):
                self.anchors.add(value or "")
            elif name in ("href", "src", "data") and value:
                self.named.append((tag, name, value))


@cache
def read(path: Path) -> Reader:
    """Return the parsed page."""
    reader = Reader()
    reader.feed(path.read_text(encoding="utf-8"))
    return reader


def broken(site: Path) -> list[str]:
    """Return the broken and the external links, as lines."""
    site = site.resolve()
    found = []
    for page in sorted(site.rglob("*.html")):
        for tag, attribute, address in read(page).named:
            parts = urlsplit(address)
            if parts.scheme in ("data", "mailto", "javascript"):
                continue
            where = f"{page.relative_to(site)}: {address}"
            if parts.scheme or parts.netloc:
                if (tag, attribute) in SHOWN:
                    found.append(f"{where} is fetched from elsewhere")
                continue
            path = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            path = path / "index.html" if path.is_dir() else path
            if not path.is_relative_to(site) or not path.is_file():
                found.append(f"{where} is not there")
            elif parts.fragment and path.suffix == ".html" and unquote(parts.fragment) not in read(path).anchors:
                found.append(f"{where}: the page has no such anchor")
    return found


def main(site: Path) -> int:
    """Print broken links, and keywords that the search does not find."""
    pages = len(list(site.rglob("*.html")))
    wrong = broken(site)
    index = site / "searchindex.js"
    lost = keywords.missing(index.read_text(encoding="utf-8")) if index.is_file() else []
    print(*wrong, *(f"the search does not find {word}" for word in lost), sep="\n", end="\n" if wrong or lost else "")
    print(f"{pages} pages, {len(wrong)} broken links")
    return 1 if wrong or lost or not pages else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
