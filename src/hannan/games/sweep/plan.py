"""Plan of a sweep: learners, environments and seeds, read from Python or TOML, with a digest per cell."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import inspect
import json
import math
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hannan import __version__, validation
from hannan.games.compare import alike, check, common_arms, fits
from hannan.games.compare.environments import Environment, environment
from hannan.games.compare.numbers import Entrant, entrants, module_name

_HEAD = re.compile(r"^\s*\[\[?\s*([^\]]+?)\s*\]\]?\s*(#.*)?$")
_KEY = re.compile(r"""^\s*((?:"[^"]*"|'[^']*'|[A-Za-z0-9_-]+)(?:\s*\.\s*(?:"[^"]*"|'[^']*'|[A-Za-z0-9_-]+))*)\s*=""")
_PART = re.compile(r""""([^"]*)"|'([^']*)'|([A-Za-z0-9_-]+)""")


def lines_of(text: str) -> dict[tuple[str, ...], int]:
    """Return {path of keys: line}, counted from 1; parts of a value have the line of its key.

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
    """Return the first line of a path of keys, or the line of its longest prefix that has one."""
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
    """Return a line without quoted strings and comment."""
    return re.sub(r'"[^"]*"|\'[^\']*\'', "", line).split("#", 1)[0]


KEYS = ("learners", "environments", "n", "rounds", "runs", "seed", "share_streams")


class BadPlan(ValueError):
    """Raised if a plan is invalid; the message begins with the file and the line."""


@dataclass(frozen=True)
class Place:
    """Position of a cell in the grid."""

    learner: str
    environment: str
    n: int
    rounds: int


@dataclass(frozen=True, eq=False)
class Plan:
    """Grid of games. `places` lists the cells by environment, because cells of one environment share its losses."""

    learners: dict[str, Entrant]
    environments: dict[str, Environment]
    places: tuple[Place, ...]
    runs: int
    seed: int
    share_streams: bool = False


def plan_of(given: Any, seed: int | None = None) -> Plan:
    """Return the plan of a dict or a TOML file after validating every cell; `seed` replaces the seed of the plan.

    >>> plan = plan_of({"learners": {"a": "exp3"}, "environments": {"c": {"means": [0.1, 0.2]}}, "rounds": [10, 20]})
    >>> [(place.n, place.rounds) for place in plan.places]
    [(2, 10), (2, 20)]
    """
    if isinstance(given, Plan):
        return given
    if isinstance(given, Mapping):
        return _plan(dict(given), _Source("plan", {}, Path.cwd()), seed)
    if not isinstance(given, (str, os.PathLike)):
        raise BadPlan(f"a plan must be a dict or the path of a TOML file; got {type(given).__name__}")
    path = Path(given)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadPlan(f"{path}: cannot read the plan; {error}") from None
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadPlan(f"{path}: a plan must be TOML; {error}") from None
    return _plan(data, _Source(str(path), lines_of(text), path.parent), seed)


@dataclass(frozen=True)
class _Source:
    """File of a plan, for error messages and for paths relative to the file."""

    name: str
    lines: dict[tuple[str, ...], int]
    folder: Path

    @contextmanager
    def at(self, *path: str) -> Iterator[None]:
        """Add the line of a key to errors that are raised in the block."""
        try:
            yield
        except BadPlan:
            raise
        except (ValueError, TypeError, OSError) as reason:
            line = line_of(self.lines, path)
            where = self.name if line is None else f"{self.name}, line {line}"
            raise BadPlan(f"{where}: {reason}") from None


def _plan(data: dict[str, Any], source: _Source, seed: int | None) -> Plan:
    for key in data:
        with source.at(str(key)):
            if key not in KEYS:
                raise ValueError(
                    f"keys of a plan must be in {', '.join(KEYS)}; got {key!r}{validation.meant(key, KEYS)}"
                )
    who = _things(data, "learners", source, lambda name, given: entrants(name, given, source.folder))
    where = _things(
        data, "environments", source, lambda name, given: [environment(name, _beside(given, source.folder))]
    )
    with source.at("runs"):
        runs = validation.count(data.get("runs", 100), "runs")
    with source.at("seed"):
        start = validation.count(data.get("seed", 0) if seed is None else seed, "seed", least=0)
    with source.at("share_streams"):
        shared = data.get("share_streams", False)
        if not isinstance(shared, bool):
            raise ValueError(f"share_streams must be true or false; got {shared!r}")
    with source.at("n"):
        sizes = _counts(data.get("n", []), "n")
        if sizes and all(place.n is not None for place in where.values()):
            raise ValueError(
                f"n applies only to environments with any number of arms, which the plan lacks; got {list(sizes)}"
            )
    with source.at("rounds"):
        if "rounds" in data and not isinstance(data["rounds"], int) and len(data["rounds"]) == 0:
            raise ValueError("rounds must not be empty; got []")
        lengths = _counts(data.get("rounds", []), "rounds")
    places = tuple(_places(who, where, sizes, lengths, runs, source))
    return Plan(who, where, places, runs, start, shared)


def _things(data: dict[str, Any], what: str, source: _Source, make: Any) -> dict[str, Any]:
    with source.at(what):
        given = data.get(what)
        if not isinstance(given, Mapping):
            raise ValueError(f"{what} must be a table of names; got {given!r}")
        if not given:
            raise ValueError(f"{what} must not be empty; got {given!r}")
    made = {}
    for name, thing in given.items():
        with source.at(what, str(name)):
            if not isinstance(name, str) or not name.strip():
                raise ValueError(f"names of {what} must be non-empty strings; got {name!r}")
            for one in make(name, thing):
                if one.name in made:
                    raise ValueError(f"names of {what} must be unique; got {one.name!r} twice")
                made[one.name] = one
    return made


def _beside(given: Any, folder: Path) -> Any:
    """Return the description of an environment with its file relative to the folder of the plan."""
    if isinstance(given, str) and (folder / given).is_file():
        return str(folder / given)
    if isinstance(given, Mapping) and isinstance(given.get("file"), str):
        return {**given, "file": str(folder / given["file"])}
    return given


def _counts(given: Any, name: str) -> tuple[int, ...]:
    """Return one integer, or a list of distinct integers, as a tuple."""
    values = list(given) if isinstance(given, (list, tuple, range)) else [given]
    counts = tuple(validation.count(value, name) for value in values)
    for value in counts:
        if counts.count(value) > 1:
            raise ValueError(f"{name} must have distinct values; got {value} twice")
    return counts


def _places(
    who: dict[str, Entrant], where: dict[str, Environment], sizes: tuple[int, ...], lengths: tuple[int, ...], runs: int,
    source: _Source,
) -> Iterator[Place]:  # fmt: skip
    for name, place in where.items():
        with source.at("environments", name):
            given = (place.n,) if place.n is not None else sizes
            columns = given or (common_arms(place, who.values(), where.values()),)
            rounds = lengths or ((place.rounds,) if place.rounds is not None else ())
            if not rounds:
                raise ValueError(f"rounds is required for environment {name!r}, which has no fixed number of rounds")
        for n in columns:
            for length in rounds:
                with source.at("environments", name):
                    check(place, n, length, runs)
                built = []
                for player in who.values():
                    with source.at("learners", player.described or player.name):
                        built.append((player, fits(player, place, n, length)))
                with source.at("learners"):
                    alike(place, built)
                for player in who.values():
                    yield Place(player.name, name, n, length)


FORMAT = 1


@functools.lru_cache(maxsize=1)
def engine_digest() -> str:
    """Return the first 128 bits of the SHA-256 of the compiled engine, in hex."""
    from hannan import _engine

    return hashlib.sha256(Path(str(_engine.__file__)).read_bytes()).hexdigest()[:32]


def keys_of(plan: Plan) -> dict[str, Place]:
    """Return {key: place} of the cells of a plan."""
    said = {name: _content(f"environment {name!r}", where.made_of) for name, where in plan.environments.items()}
    whole: dict[str, Any] = {
        "format": FORMAT, "hannan": __version__, "engine": engine_digest(), "runs": plan.runs, "seed": plan.seed,
        "shared": plan.share_streams,
    }  # fmt: skip
    found = {}
    for place in plan.places:
        who, where = plan.learners[place.learner], plan.environments[place.environment]
        told = {
            **whole, "place": [place.learner, place.environment, place.n, place.rounds],
            "environment": said[place.environment],
            "learner": _content(f"learner {who.name!r}", who.built(where, place.n, place.rounds)),
        }  # fmt: skip
        text = json.dumps(told, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        found[hashlib.sha256(text.encode()).hexdigest()[:40]] = place
    return found


def _content(what: str, thing: Any) -> Any:
    try:
        return content(thing)
    except ValueError as reason:
        raise ValueError(f"{what} has no key: {reason}") from None


def content(thing: Any, depth: int = 0) -> Any:
    """Return the content of an object as JSON; equal objects have equal content on every machine.

    >>> content({"means": [0.5, 1]})
    {'dict': {'means': {'list': [{'float': '0x1.0000000000000p-1'}, 1]}}}
    """
    if depth > 16:
        raise ValueError("fields must be nested at most 16 levels deep")
    if thing is None or isinstance(thing, (bool, int, str)):
        return thing
    if isinstance(thing, float):
        return {"float": thing.hex() if math.isfinite(thing) else repr(thing)}
    if isinstance(thing, (np.ndarray, np.generic)):
        return _array(np.asarray(thing))
    if isinstance(thing, Mapping):
        return {"dict": {str(key): content(value, depth + 1) for key, value in thing.items()}}
    if isinstance(thing, (list, tuple)):
        return {"list": [content(item, depth + 1) for item in thing]}
    if isinstance(thing, type):
        return {"class": f"{module_name(thing)}.{thing.__qualname__}", "code": _source(thing)}
    if inspect.ismodule(thing):
        return {"module": thing.__name__}
    if inspect.isbuiltin(thing) or isinstance(thing, np.ufunc):
        return {"builtin": f"{getattr(thing, '__module__', '')}.{thing.__name__}"}
    if inspect.isfunction(thing) or inspect.ismethod(thing):
        return _function(thing, depth)
    if isinstance(thing, functools.partial):
        return {"partial": [content(part, depth + 1) for part in (thing.func, list(thing.args), thing.keywords)]}
    return _object(thing, depth)


def _array(array: Any) -> Any:
    if array.dtype.kind not in "fiub":
        raise ValueError(f"arrays must be numeric; got {array.dtype}")
    plain = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    return {"array": [plain.dtype.str, list(plain.shape), hashlib.sha256(plain.tobytes()).hexdigest()]}


def _function(function: Any, depth: int) -> Any:
    enclosed = [cell.cell_contents for cell in (getattr(function, "__closure__", None) or ())]
    # Numbers and text in global variables that the code names: a lambda in a notebook often has its parameters there.
    named = {name: function.__globals__.get(name) for name in sorted(set(function.__code__.co_names))}
    plain = {name: value for name, value in named.items() if isinstance(value, (bool, int, float, str))}
    return {
        "function": function.__qualname__, "code": _source(function),
        "enclosed": [content(value, depth + 1) for value in enclosed],
        "defaults": content(list(function.__defaults__ or ()), depth + 1), "globals": content(plain, depth + 1),
    }  # fmt: skip


def _object(thing: Any, depth: int) -> Any:
    cls = type(thing)
    if hasattr(thing, "to_numpy"):
        return content(thing.to_numpy(), depth + 1)  # a frame
    if dataclasses.is_dataclass(thing):
        fields = {field.name: getattr(thing, field.name) for field in dataclasses.fields(thing)}
    elif hasattr(thing, "__dict__"):
        fields = dict(vars(thing))
    else:
        raise ValueError(f"parts must be numbers, strings, arrays, functions or plain objects; got {cls.__name__}")
    told = {"class": f"{module_name(cls)}.{cls.__qualname__}", "fields": content(fields, depth + 1)}
    return told if cls.__module__.startswith("hannan.") else {**told, "code": _source(cls)}


def _source(thing: Any) -> str:
    if str(getattr(thing, "__module__", "")).startswith("hannan."):
        return __version__
    try:
        return hashlib.sha256(inspect.getsource(thing).encode()).hexdigest()
    except (OSError, TypeError):
        raise ValueError(f"the source of user-defined code must be in a file; got {thing!r}") from None
