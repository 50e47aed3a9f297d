"""The little markup of statements: `code`, *emphasis*, x_{sub} and x^{sup}, for a page and for a terminal."""

from __future__ import annotations

import re
from html import escape

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


def number(value: float, digits: int = 4) -> str:
    """A number for people: four significant digits, no noise.

    >>> [number(x) for x in (0.79098, 12690.4, 3.5e-8, 2.0, float("inf"), 0.0)]
    ['0.791', '12690', '3.5e-8', '2', '∞', '0']
    """
    if value != value:
        return "–"
    if value in (float("inf"), float("-inf")):
        return "∞" if value > 0 else "−∞"
    if value == 0:
        return "0"
    size = abs(value)
    if size >= 10**digits and size < 1e7:
        text = f"{value:.0f}"
    elif size < 1e-4 or size >= 1e7:
        mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
        mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
        text = f"{mantissa}e{int(exponent)}"
    else:
        text = f"{value:.{digits}g}"
    return text.replace("-", "−", 1) if text.startswith("-") else text
