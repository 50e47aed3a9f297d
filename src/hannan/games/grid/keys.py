"""The key of a cell: a hash of what it computes, the version and the engine's digest.

Data are hashed by content, learners by their description, and user-defined code by its source text, the values that it
encloses, and the numbers and strings in global variables that it names. Other functions that the code calls are not
hashed: rename the learner or environment if you change them.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import inspect
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from hannan import __version__
from hannan.games.grid.plan import Place, Plan

FORMAT = 1


@functools.lru_cache(maxsize=1)
def engine_digest() -> str:
    """The first 128 bits of the SHA-256 of the compiled engine."""
    from hannan import _engine

    return hashlib.sha256(Path(str(_engine.__file__)).read_bytes()).hexdigest()[:32]


def keys_of(plan: Plan) -> dict[str, Place]:
    """Key -> place, for every cell of a plan."""
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
        raise ValueError(f"{what} must be told apart by its key; {reason}") from None


def content(thing: Any, depth: int = 0) -> Any:
    """What a thing is made of, as JSON: equal for equal things, on any machine.

    >>> content({"means": [0.5, 1]})
    {'dict': {'means': {'list': [{'float': '0x1.0000000000000p-1'}, 1]}}}
    """
    if depth > 16:
        raise ValueError("its fields must be at most 16 deep; got deeper ones")
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
        return {"class": f"{thing.__module__}.{thing.__qualname__}", "code": _source(thing)}
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
        raise ValueError(f"its arrays must be numbers; got {array.dtype}")
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
        raise ValueError(f"its parts must be numbers, text, arrays, functions or plain objects; got {cls.__name__}")
    told = {"class": f"{cls.__module__}.{cls.__qualname__}", "fields": content(fields, depth + 1)}
    return told if cls.__module__.startswith("hannan.") else {**told, "code": _source(cls)}


def _source(thing: Any) -> str:
    if str(getattr(thing, "__module__", "")).startswith("hannan."):
        return __version__
    try:
        return hashlib.sha256(inspect.getsource(thing).encode()).hexdigest()
    except (OSError, TypeError):
        raise ValueError(f"code of your own must have its source in a file; got {thing!r}") from None
