"""The little markup of statements: `code`, *emphasis*, x_{sub} and x^{sup}, for a page and for a terminal."""

from __future__ import annotations

import re
from html import escape

from hannan.saving.words import number as number

_RULES = (
    (re.compile(r"`([^`]+)`"), r"<code>\1</code>"),
    (re.compile(r"_\{([^{}]+)\}"), r"<sub>\1</sub>"),
    (re.compile(r"\^\{([^{}]+)\}"), r"<sup>\1</sup>"),
    (re.compile(r"(?<![\w*])\*([^*\s][^*]*)\*(?![\w*])"), r"<em>\1</em>"),
)


def to_html(text: str) -> str:
    """Escaped HTML with the markup applied.

    >>> to_html("D_{∞}^{δ} < `eps`")
    'D<sub>∞</sub><sup>δ</sup> &lt; <code>eps</code>'
    """
    html = escape(text, quote=False)
    for pattern, replacement in _RULES:
        html = pattern.sub(replacement, html)
    return html


def to_plain(text: str) -> str:
    """The same for a terminal or for alternative text: braces and backticks dropped.

    >>> to_plain("D_{∞}^{δ} of `audit`, p_{i}, e^{ε s}")
    'D∞^δ of audit, p_i, e^(ε s)'
    """
    text = text.replace("`", "").replace("_{∞}", "∞")
    text = re.sub(r"([_^])\{([^{}]+)\}", lambda found: found[1] + _grouped(found[2]), text)
    return re.sub(r"(?<![\w*])\*([^*\s][^*]*)\*(?![\w*])", r"\1", text)


def _grouped(text: str) -> str:
    return text if len(text) == 1 else f"({text})"
