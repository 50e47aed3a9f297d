"""llms.txt: one line per page of the site, in the order of the table of contents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from docutils import nodes

HEAD = "# Hannan\n\n> Online learning with proved guarantees: combine forecasts, run bandits, compare algorithms.\n"


def order(includes: dict[str, list[str]], page: str, seen: dict[str, None]) -> dict[str, None]:
    """Return the pages below a page, in order, without repetitions.

    >>> list(order({"a": ["b", "c"], "b": ["d"]}, "a", {}))
    ['a', 'b', 'd', 'c']
    """
    if page not in seen:
        seen[page] = None
        for below in includes.get(page, []):
            order(includes, below, seen)
    return seen


def about(tree: nodes.document) -> str:
    """Return the beginning of the first paragraph with more than 20 characters."""
    for paragraph in tree.findall(nodes.paragraph):
        text = " ".join(paragraph.astext().split())
        if len(text) > 20 and isinstance(paragraph.parent, (nodes.section, nodes.document)):
            return text if len(text) <= 200 else text[:200].rsplit(" ", 1)[0] + " …"
    return ""


def write(app: Any, failed: Exception | None) -> None:
    """Write the file after the build."""
    if failed is not None or app.builder.name != "html":
        return
    env, lines = app.env, [HEAD]
    for page in order(env.toctree_includes, env.config.root_doc, {}):
        said = about(env.get_doctree(page))
        link = f"[{env.titles[page].astext()}]({app.builder.get_target_uri(page)})"
        lines.append(f"- {link}: {said}" if said else f"- {link}")
    (Path(app.outdir) / "llms.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def setup(app: Any) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
