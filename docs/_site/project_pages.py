"""Pages outside of docs/: each is copied into `docs/project/`, and links to and from it are adapted.

Links to files that are not part of the site, such as folders of sources, become plain text.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

#: From the root of the repository -> page of the site, from docs/.
PAGES = {
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
    "benchmarks/results.md": "project/benchmarks.md",
    "engine/README.md": "project/engine.md",
}
#: The gallery's pages are written by sphinx-gallery.
GALLERY = {"examples/gallery": "examples/index.rst"}
LINK = re.compile(r"(?<!!)\[([^\]\n]+(?:\n[^\]\n]+)?)\]\((?!https?:|mailto:|#)([^)\s#]+)(#[^)\s]*)?\)")


def turned(text: str, origin: str, root: Path) -> str:
    """Return the text of the page `origin` (a path from the root) with the links of the site.

    >>> turned("see [how](../CONTRIBUTING.md#add) and [files](../src)", "docs/architecture.md", Path("."))
    'see [how](/project/contributing.md#add) and files'
    >>> turned("[a](docs/web.md)", "README.md", Path("."))
    '[a](/web.md)'
    """

    def turn(found: re.Match[str]) -> str:
        words, target, anchor = found[1], found[2], found[3] or ""
        path = posixpath.normpath(posixpath.join(posixpath.dirname(origin), target))
        page = {**PAGES, **GALLERY}.get(path)
        if page:
            return f"[{words}](/{page}{anchor})"
        if path.startswith("docs/") and path.endswith(".md"):
            return f"[{words}](/{path.removeprefix('docs/')}{anchor})"
        return found[0] if (root / path).is_file() and path.startswith("docs/") else words

    return LINK.sub(turn, text)


def write(app: Any) -> None:
    """Copy the pages that changed."""
    root = Path(app.srcdir).parent
    for origin, page in PAGES.items():
        target = Path(app.srcdir) / page
        text = turned((root / origin).read_text(encoding="utf-8"), origin, root)
        target.parent.mkdir(exist_ok=True)
        if not target.exists() or target.read_text(encoding="utf-8") != text:
            target.write_text(text, encoding="utf-8")


def read(app: Any, name: str, source: list[str]) -> None:
    """Adapt the links of a page of docs/."""
    if not name.startswith(("project/", "api/", "examples/")):
        source[0] = turned(source[0], f"docs/{name}.md", Path(app.srcdir).parent)


def setup(app: Any) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.connect("builder-inited", write, priority=100)
    app.connect("source-read", read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
