"""Formulas in LaTeX become MathML when the site is built: nothing is fetched, and no script runs to show them."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml


def visit(self: Any, node: nodes.Element) -> None:
    """Inline, or on a line of its own."""
    block = isinstance(node, nodes.math_block)
    formula = tex2mathml(node.astext(), as_block=block)
    self.body.append(f'<div class="math">{formula}</div>' if block else formula)
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    """The renderer of formulas."""
    app.add_html_math_renderer("mathml", (visit, None), (visit, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
