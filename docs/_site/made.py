"""The directive `made`: text that is made when the site is built, from the package itself, so that it cannot drift.

For what only the site has, its reference; what a guide shows is written into its Markdown (written.py).
"""

from __future__ import annotations

from typing import Any

import reference
from docutils import nodes
from plain_docstrings import inline
from sphinx.util.docutils import SphinxDirective


def names(content: list[str]) -> str:
    """Public names with their first words, in reStructuredText."""
    told = []
    for name in content:
        about = inline(reference.first_words(name)) or name
        told += [f":py:obj:`hannan.{name} <{reference.path(name)}>`", f"   {about}", ""]
    return "\n".join(told)


MAKERS = {
    "names": names,
}


class Made(SphinxDirective):
    """`{made} NAME`: what the maker of that name returns, read as the page around it is."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        text = MAKERS[self.arguments[0]](list(self.content))
        return self.parse_text_to_nodes(text, allow_section_headings=True)


def setup(app: Any) -> dict[str, bool]:
    """The directive."""
    app.add_directive("made", Made)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
