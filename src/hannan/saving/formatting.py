"""Formatting of numbers with four digits, and of short names of learners."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

#: Numbers with more digits than a name needs.
_LONG = re.compile(r"(?<![\w.])\d+\.\d{4,}(?:e[-+]?\d+)?(?![\w.])")
#: Smaller absolute values are printed as approximately 0.
NOTHING = 1e-12


class AtMost(float):
    """Number that is an upper bound: it is rounded up in tables.

    >>> number(2.00004), number(AtMost(2.00004)), figure(AtMost(2.00004))
    ('2', '2.001', '2.001')
    """


def number(value: float, digits: int = 4) -> str:
    """Return a number with four significant digits, for pages.

    >>> [number(x) for x in (0.79098, 12690.4, 3.5e-8, 2.0, float("inf"), 0.0, 9e-172)]
    ['0.791', '12690', '3.5e-8', '2', '∞', '0', '≈0']
    """
    if value != value:
        return "–"
    if isinstance(value, AtMost):
        value = _up(value, digits)
    if value in (float("inf"), float("-inf")):
        return "∞" if value > 0 else "−∞"
    if value == 0:
        return "0"
    size = abs(value)
    if size < NOTHING:
        return "≈0"
    if size >= 10**digits and size < 1e7:
        text = f"{value:.0f}"
    elif size < 1e-4 or size >= 1e7:
        mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
        mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
        text = f"{mantissa}e{int(exponent)}"
    else:
        text = f"{value:.{digits}g}"
    return text.replace("-", "−", 1) if text.startswith("-") else text


def figure(value: float, digits: int = 4) -> str:
    """Return a number with four significant digits in ASCII, for terminals.

    >>> figure(-12690.4), figure(float("inf"))
    ('-12690', 'inf')
    """
    return number(value, digits).replace("−", "-").replace("∞", "inf")


def ceiling(value: float, digits: int = 4) -> str:
    """Return an upper bound rounded up, so that the printed number is a bound; rounding errors of 1e-12 are ignored.

    >>> [ceiling(x) for x in (2 / 3, 12690.4, 1.0, 0.0, 9e-172, -2 / 3, 3 * 1.1)]
    ['0.6667', '12700', '1', '0', '1e-12', '-0.6666', '3.3']
    """
    return figure(_up(value, digits), digits)


def _up(value: float, digits: int) -> float:
    """Return the smallest number of this many digits that is not below `value`; at least `NOTHING` if positive."""
    if not math.isfinite(value) or value == 0.0:
        return float(value)
    up = _cut(value, digits, "ROUND_CEILING")
    return max(NOTHING, up) if value > 0.0 else up


def _cut(value: float, digits: int, rounding: str) -> float:
    from decimal import Context  # not for a game

    return float(Context(prec=digits, rounding=rounding).create_decimal(f"{value:.11e}"))


def chance(value: float) -> str:
    """Return an allowed probability, such as delta, rounded up.

    >>> [chance(x) for x in (1e-6, 1.00000049e-6, 0.0, 0.05, 1e-20)]
    ['1e-06', '1.00001e-06', '0', '0.05', '1e-20']
    """
    return f"{_cut(value, 6, 'ROUND_CEILING'):g}"


def sure(miss: float) -> str:
    """Return the probability 1 - `miss`, rounded down; near 1 as a difference.

    >>> [sure(x) for x in (0.05, 1.0 - 0.999, 1e-8, 1e-20, 2 / 3)]
    ['0.95', '0.999', '1 - 1e-08', '1 - 1e-20', '0.333333']
    """
    return f"1 - {chance(miss)}" if miss < 1e-4 else f"{_cut(1.0 - miss, 6, 'ROUND_FLOOR'):g}"


def counted(count: int, what: str) -> str:
    """Return a number with its noun, in singular or plural.

    >>> counted(1, "round"), counted(200, "run")
    ('1 round', '200 runs')
    """
    return f"{count} {what}" + "s" * (count != 1)


def per_second(rate: float, what: str) -> str:
    """Return a rate with three digits, in millions from 1e6 on.

    >>> per_second(12.1e6, "rounds"), per_second(15300.0, "rounds")
    ('12.1 M rounds/s', '15300 rounds/s')
    """
    return f"{figure(rate / 1e6, 3)} M {what}/s" if rate >= 1e6 else f"{figure(rate, 3)} {what}/s"


def percent(value: float) -> str:
    """Return a percentage with one decimal; without decimals if it is large.

    >>> percent(91.64), percent(6180.3), percent(0.0)
    ('91.6%', '6180%', '0.0%')
    """
    return f"{value:.1f}%" if abs(value) < 999.95 else f"{figure(value)}%"


def short(name: str, most: int = 40) -> str:
    """Return a description without its options, with the number of arms instead of their names.

    >>> short("Bandit(4, smoothing=Entropy(), tuning=Horizon(rounds=2000))")
    'Bandit(4)'
    >>> short("Bandit(['red', 'green', 'blue'], smoothing=Entropy())"), short("hedge")
    ('Bandit(3 arms)', 'hedge')
    >>> short("Convex(Ball(dimension=3, radius=1.0, middle=None), 1.0, smooth=0.0)")
    'Convex(Ball(3, 1.0), 1.0)'
    >>> short("FixedShare(3, 3.517382039359558, 0.001001001001001001)")
    'FixedShare(3, 3.517, 0.001001)'
    """
    head, arguments = taken_apart(name)
    if arguments is not None:
        name = f"{head}({', '.join(_within(_counted(text)) for text in arguments if not _is_option(text))})"
    return clipped(name, most)


def _within(text: str) -> str:
    """Return a description inside another: the values of its options, without their names."""
    head, options = taken_apart(text)
    values = [option.partition("=")[2] if _is_option(option) else option for option in options or ()]
    return text if options is None else f"{head}({', '.join(value for value in values if value != 'None')})"


def apart(names: Sequence[str], most: int = 60) -> list[str]:
    """Return short names that differ, by the arguments that differ; equal descriptions are numbered.

    >>> apart(["Bandit(4, smoothing=Entropy())", "Bandit(4, smoothing=Tsallis(alpha=0.5))", "UCB1(4)", "UCB1(4)"])
    ['Bandit(4, Entropy())', 'Bandit(4, Tsallis(alpha=0.5))', 'UCB1(4) (1)', 'UCB1(4) (2)']
    """
    told = [short(name) for name in names]
    for group in {text for text in told if told.count(text) > 1}:
        places = [k for k, text in enumerate(told) if text == group]
        of_each = [taken_apart(names[k])[1] or [names[k]] for k in places]
        for k, arguments in zip(places, of_each, strict=True):
            own = [text for text in arguments if not all(text in others for others in of_each)]
            if own:
                inside = ", ".join(_counted(text.partition("=")[2] if _is_option(text) else text) for text in own)
                told[k] = clipped(f"{group[:-1]}, {inside})" if group.endswith(")") else inside, most)
    return [text if told.count(text) == 1 else f"{text} ({told[: k + 1].count(text)})" for k, text in enumerate(told)]


def taken_apart(name: str) -> tuple[str, list[str] | None]:
    """Return the name of a call and its arguments; None instead of arguments if the text is not a call.

    >>> taken_apart("Convex(Ball(3, 1.0), 1.0, fresh=False)")
    ('Convex', ['Ball(3, 1.0)', '1.0', 'fresh=False'])
    """
    head, bracket, rest = name.partition("(")
    if not (bracket and rest.endswith(")") and head.isidentifier()):
        return name, None
    found, depth, quoted, begun = [], 0, "", 0
    rest = rest[:-1]
    for k, letter in enumerate(rest):
        if quoted:
            quoted = "" if letter == quoted and rest[k - 1] != "\\" else quoted
        elif letter in "'\"":
            quoted = letter
        elif letter in "([{":
            depth += 1
        elif letter in ")]}":
            depth -= 1
        elif letter == "," and depth == 0:
            found.append(rest[begun:k].strip())
            begun = k + 1
    return head, [*found, rest[begun:].strip()] if rest.strip() else []


def clipped(text: str, most: int) -> str:
    """Return the text, cut to `most` characters with an ellipsis."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _is_option(text: str) -> bool:
    return text.partition("=")[0].isidentifier() and "=" in text


def _counted(text: str) -> str:
    if text[:1] not in "([":
        return _LONG.sub(lambda found: figure(float(found[0])), text)
    inside = text[1:-1].rstrip().rstrip(",")
    return f"{len(taken_apart(f'x({inside})')[1] or [])} arms"
