"""Where a key stands in a TOML file, so that a refusal can say the line."""

from __future__ import annotations

import re

_HEAD = re.compile(r"^\s*\[\[?\s*([^\]]+?)\s*\]\]?\s*(#.*)?$")
_KEY = re.compile(r"""^\s*((?:"[^"]*"|'[^']*'|[A-Za-z0-9_-]+)(?:\s*\.\s*(?:"[^"]*"|'[^']*'|[A-Za-z0-9_-]+))*)\s*=""")
_PART = re.compile(r""""([^"]*)"|'([^']*)'|([A-Za-z0-9_-]+)""")


def lines_of(text: str) -> dict[tuple[str, ...], int]:
    """Path of keys -> its line, counted from 1; what stands inside a value has the line of its key.

    >>> lines_of('seed = 1\\n[learners]\\n"my own" = "exp3"\\n[environments.clicks]\\nmeans = [0.1,\\n 0.2]')
    {('seed',): 1, ('learners',): 2, ('learners', 'my own'): 3, ('environments', 'clicks'): 4, \
('environments', 'clicks', 'means'): 5}
    """
    found: dict[tuple[str, ...], int] = {}
    table: tuple[str, ...] = ()
    depth = 0
    for number, line in enumerate(text.splitlines(), start=1):
        bare = _without_strings(line)
        if depth == 0:
            if (head := _HEAD.match(line)) and "=" not in bare:
                table = _parts(head[1])
                found.setdefault(table, number)
                continue
            if key := _KEY.match(line):
                found.setdefault((*table, *_parts(key[1])), number)
        depth = max(0, depth + sum(bare.count(c) for c in "[{") - sum(bare.count(c) for c in "]}"))
    return found


def line_of(lines: dict[tuple[str, ...], int], path: tuple[str, ...]) -> int | None:
    """The line of the path, or of what stands in it first, or of the longest part of it that has one."""
    within = [line for known, line in lines.items() if known[: len(path)] == path]
    if within:
        return min(within)
    for length in range(len(path), 0, -1):
        if path[:length] in lines:
            return lines[path[:length]]
    return None


def _parts(text: str) -> tuple[str, ...]:
    return tuple(a or b or c for a, b, c in _PART.findall(text))


def _without_strings(line: str) -> str:
    """The line without what stands in quotes, and without its comment."""
    return re.sub(r'"[^"]*"|\'[^\']*\'', "", line).split("#", 1)[0]
