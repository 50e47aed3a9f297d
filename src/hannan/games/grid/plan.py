"""The plan of a sweep: learners x environments x n x rounds, from a dict or a TOML file; refused before it is run."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hannan import refusals
from hannan.games.compare import check, common_arms, fits
from hannan.games.entrants import Entrant, entrant
from hannan.games.environments import Environment, environment
from hannan.games.grid.lines import line_of, lines_of

KEYS = ("learners", "environments", "n", "rounds", "runs", "seed", "share_streams")


class BadPlan(ValueError):
    """A plan that cannot be run; the message begins with where it says so."""


@dataclass(frozen=True)
class Place:
    """Where a cell stands in the grid."""

    learner: str
    environment: str
    n: int
    rounds: int


@dataclass(frozen=True, eq=False)
class Plan:
    """What is to be played. `places` lists every cell, those of an environment together: they share its losses."""

    learners: dict[str, Entrant]
    environments: dict[str, Environment]
    places: tuple[Place, ...]
    runs: int
    seed: int
    share_streams: bool = False


def plan_of(given: Any, seed: int | None = None) -> Plan:
    """The plan of a dict or of a TOML file, every cell of it checked; `seed` stands in for the plan's own.

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
        raise BadPlan(f"{path}: a plan must be a TOML file that can be read; {error}") from None
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadPlan(f"{path}: a plan must be TOML; {error}") from None
    return _plan(data, _Source(str(path), lines_of(text), path.parent), seed)


@dataclass(frozen=True)
class _Source:
    """Where the plan was read, for refusals and for the files that it names."""

    name: str
    lines: dict[tuple[str, ...], int]
    folder: Path

    @contextmanager
    def at(self, *path: str) -> Iterator[None]:
        """What is refused inside is refused with the line of this key."""
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
                raise ValueError(f"a plan must have some of {', '.join(KEYS)}; got {key!r}{refusals.meant(key, KEYS)}")
    who = _things(data, "learners", source, entrant)
    where = _things(data, "environments", source, lambda name, given: environment(name, _beside(given, source.folder)))
    with source.at("runs"):
        runs = refusals.count(data.get("runs", 100), "runs")
    with source.at("seed"):
        start = refusals.count(data.get("seed", 0) if seed is None else seed, "seed", least=0)
    with source.at("share_streams"):
        shared = data.get("share_streams", False)
        if not isinstance(shared, bool):
            raise ValueError(f"share_streams must be true or false; got {shared!r}")
    with source.at("n"):
        sizes = _counts(data.get("n", []), "n")
        if sizes and all(place.n is not None for place in where.values()):
            raise ValueError(f"n must be for environments with any number of arms; got {list(sizes)}, and none is such")
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
            raise ValueError(f"a plan must have {what}, name by name; got {given!r}")
        if not given:
            raise ValueError(f"{what} must not be empty; got none")
    made = {}
    for name, thing in given.items():
        with source.at(what, str(name)):
            if not isinstance(name, str) or not name.strip():
                raise ValueError(f"{what} must have names that are text; got {name!r}")
            made[name] = make(name, thing)
    return made


def _beside(given: Any, folder: Path) -> Any:
    """A file that is named is looked for beside the plan."""
    if isinstance(given, str) and (folder / given).is_file():
        return str(folder / given)
    if isinstance(given, Mapping) and isinstance(given.get("file"), str):
        return {**given, "file": str(folder / given["file"])}
    return given


def _counts(given: Any, name: str) -> tuple[int, ...]:
    """One whole number, or a list of different ones."""
    values = list(given) if isinstance(given, (list, tuple, range)) else [given]
    counts = tuple(refusals.count(value, name) for value in values)
    for value in counts:
        if counts.count(value) > 1:
            raise ValueError(f"{name} must differ from each other; got {value} twice")
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
                raise ValueError(f"rounds must be given for environment {name!r}, which has any number; got none")
        for n in columns:
            for length in rounds:
                with source.at("environments", name):
                    check(place, n, length, runs)
                for player in who.values():
                    with source.at("learners", player.name):
                        fits(player, place, n, length)
                    yield Place(player.name, name, n, length)
