"""Subscripts and superscripts on pages of theory: p_i, e^(−ε) and D_{∞,γ} are shown as formulas.

The sources are plain text. Formulas in indented blocks wrap on narrow screens.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from docutils import nodes

PAGES = ("which", "all_learners", "mathematics", "lens", "search", "proofs/", "learners/")
#: Words that an index may follow; else the base is one letter or two, or no letter at all.
WORDS = {"min", "max", "sup", "inf", "log", "own", "scale", "drift", "still", "stab", "pinball"}
INDEX = re.compile(r"(?:[^\W_²³½]|[\u0300-\u036f∞*+])+(?:,[^\W_](?!\w))*")
POWER = re.compile(r"[-−+]?(?:[a-z]{3,}|\d+(?:/\d+)?|[^\W\d_²³][\u0300-\u036f]*|[∞½*])")
CLOSING = {"{": "}", "(": ")"}
#: Distinguishes programs from formulas.
CODE = re.compile(r"\bhn\.|\bhannan |>>>|\bmake |^\$|\bimport ")


def pieces(text: str) -> Iterator[nodes.Node]:
    """Yield the text with subscripts and superscripts as nodes.

    >>> "".join(str(node) for node in pieces("p_i²N^aT, loss_range=10_000"))
    'p<subscript>i</subscript>²N<superscript>a</superscript>T, loss_range=10_000'

    >>> "".join(str(node) for node in pieces("p_i(L + sℓ) ≥ e^(−s ε_t) on best_loss"))
    'p<subscript>i</subscript>(L + sℓ) ≥ e<superscript>−s ε<subscript>t</subscript></superscript> on best_loss'
    >>> "".join(str(node) for node in pieces("D_{∞,γ}^δ, [0, 1]^N, b^top_mean, x ^ y"))
    'D<subscript>∞,γ</subscript><superscript>δ</superscript>, [0, 1]<superscript>N</superscript>, \
b<superscript>top</superscript><subscript>mean</subscript>, x ^ y'
    """
    start = at = after = 0
    while at < len(text):
        found = _argument(text, at, after) if text[at] in "_^" else None
        if found is None:
            at += 1
            continue
        inner, end = found
        if at > start:
            yield nodes.Text(text[start:at])
        node: nodes.Element = nodes.subscript() if text[at] == "_" else nodes.superscript()
        node += list(pieces(inner))
        yield node
        start = at = after = end
    if start < len(text):
        yield nodes.Text(text[start:])


def _argument(text: str, at: int, after: int) -> tuple[str, int] | None:
    """Return the subscript or superscript with its end, or None if there is none."""
    before = text[:at]
    if not before or before[-1].isspace():
        return None
    word = re.search(r"[A-Za-z]*$", before)
    if text[at] == "_" and at != after and word and len(word[0]) > 2 and word[0] not in WORDS:
        return None
    if text[at] == "_" and before[-1].isdigit():  # 10_000
        return None
    opening = text[at + 1 : at + 2]
    if opening == "{" or (opening == "(" and text[at] == "^"):
        depth = 0
        for end in range(at + 1, len(text)):
            depth += (text[end] == opening) - (text[end] == CLOSING[opening])
            if depth == 0:
                return text[at + 2 : end], end + 1
        return None
    found = (INDEX if text[at] == "_" else POWER).match(text, at + 1)
    return (found[0], found.end()) if found else None


def _show(app: Any, doctree: nodes.document) -> None:
    if not app.env.docname.startswith(PAGES):
        return
    for block in list(doctree.findall(nodes.literal_block)):
        if block.get("language", "none") in ("none", "default", "text") and not CODE.search(block.astext()):
            block.replace_self(nodes.paragraph("", "", nodes.Text(block.astext()), classes=["formula"]))
    for text in list(doctree.findall(nodes.Text)):
        if _prose(text):
            told = text.astext()
            if app.env.docname in ("which", "all_learners"):
                told = re.sub(r"\bsqrt ?", "√", told)
            if told != text.astext() or "_" in told or "^" in told:
                text.parent.replace(text, list(pieces(told)))


def _prose(node: nodes.Node) -> bool:
    while node.parent is not None:
        node = node.parent
        if isinstance(
            node, nodes.literal | nodes.literal_block | nodes.math | nodes.math_block | nodes.raw | nodes.comment
        ):
            return False
    return True


def setup(app: Any) -> dict[str, bool]:
    """Connect to Sphinx, before titles are copied into tables of contents."""
    app.connect("doctree-read", _show, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
