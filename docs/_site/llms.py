"""llms.txt: the site in one text, a line a page, in the order of the table of contents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from docutils import nodes

HEAD = "# Hannan\n\n> Online decisions with proof: learners that print what they guarantee, and against whom.\n"


def order(includes: dict[str, list[str]], page: str, seen: dict[str, None]) -> dict[str, None]:
    """Pages below a page, in order, each once.

    >>> list(order({"a": ["b", "c"], "b": ["d"]}, "a", {}))
    ['a', 'b', 'd', 'c']
    """
    if page not in seen:
        seen[page] = None
        for below in includes.get(page, []):
            order(includes, below, seen)
    return seen


def about(tree: nodes.document) -> str:
    """The first sentence of a page that is one."""
    for paragraph in tree.findall(nodes.paragraph):
        text = " ".join(paragraph.astext().split())
        if len(text) > 20 and isinstance(paragraph.parent, (nodes.section, nodes.document)):
            return text if len(text) <= 200 else text[:200].rsplit(" ", 1)[0] + " …"
    return ""


def write(app: Any, failed: Exception | None) -> None:
    """When the site is built."""
    if failed is not None or app.builder.name != "html":
        return
    env, lines = app.env, [HEAD]
    for page in order(env.toctree_includes, env.config.root_doc, {}):
        said = about(env.get_doctree(page))
        link = f"[{env.titles[page].astext()}]({app.builder.get_target_uri(page)})"
        lines.append(f"- {link}: {said}" if said else f"- {link}")
    (Path(app.outdir) / "llms.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def setup(app: Any) -> dict[str, bool]:
    """At the end."""
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
