"""The project's numba decorators, and a disk cache that is never stale.

numba's own cache watches only the file of the function it stores, so an edit of an imported kernel would
return the old machine code. Here the cache directory carries a hash of the file *and of every kernel file it
imports*, so helpers may be shared across files. Floating point is strict everywhere: no fastmath, NumPy's
error model (the default zero-division check blocks vectorisation).
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
import stat
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numba
from numba import types
from numba.core.caching import FunctionCache

_HERE = Path(__file__).resolve().parent
_MODULE = re.compile(r"^(?:from|import) +(?:hannan\.kernels)?\.(\w+)", re.MULTILINE)
_LISTED = re.compile(r"^from +(?:hannan\.kernels|\.) +import +(\([^)]*\)|.*)$", re.MULTILINE)
_LOCK = threading.RLock()

#: float64 f(float64* state, int64 size, int64 n, float64 scale, int64 changed): the shape of a smoothing.
SMOOTHING = types.float64(types.CPointer(types.float64), types.int64, types.int64, types.float64, types.int64)


def _imported(source: str) -> set[str]:
    """Names of the kernel modules that a source file imports at its top (other words do no harm)."""
    names = set(_MODULE.findall(source))
    for listed in _LISTED.findall(source):
        names.update(re.findall(r"\w+", listed))
    return names


@functools.cache
def _file(name: str) -> tuple[bytes, set[str]] | None:
    """A kernel module's source and what it imports; None where there is no such module."""
    try:
        source = (_HERE / f"{name}.py").read_bytes()
    except FileNotFoundError:
        return None
    return source, _imported(source.decode())


@functools.cache
def fingerprint(module: str) -> str:
    """Hash of a kernel module and of all kernel modules it imports, directly or not."""
    seen: dict[str, bytes] = {}
    todo = [module, "compile"]
    while todo:
        name = todo.pop()
        if name not in seen and (found := _file(name)) is not None:
            seen[name] = found[0]
            todo.extend(found[1])
    digest = hashlib.sha256()
    for name in sorted(seen):
        digest.update(name.encode() + b"\0" + seen[name] + b"\0")
    return digest.hexdigest()[:16]


@functools.cache
def _root() -> str:
    """Where machine code is kept: numba's directory if one is set, beside the source, or the user's cache."""
    chosen: list[str] = [numba.config.CACHE_DIR] if numba.config.CACHE_DIR else []
    chosen.append(str(_HERE / "__pycache__"))
    chosen.append(os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "hannan"))
    for folder in chosen:
        try:
            os.makedirs(folder, exist_ok=True)
            tempfile.TemporaryFile(dir=folder).close()
        except OSError:
            continue
        return folder
    user = os.getuid() if hasattr(os, "getuid") else 0
    return private(os.path.join(tempfile.gettempdir(), f"hannan-{user}"), user)


def private(folder: str, user: int) -> str:
    """The folder, if this user alone can enter it, made so if it is not there; else a fresh one.

    Cached machine code is run: a folder that somebody else made, or may write to, is not read.
    """
    with suppress(OSError):
        os.mkdir(folder, 0o700)
    try:
        found = os.lstat(folder)
    except OSError:
        return tempfile.mkdtemp(prefix="hannan-")
    mine = stat.S_ISDIR(found.st_mode) and (not hasattr(os, "getuid") or found.st_uid == user)
    if mine and (not hasattr(os, "getuid") or stat.S_IMODE(found.st_mode) == 0o700):
        return folder
    return tempfile.mkdtemp(prefix="hannan-")


def _discarding(cache: Any) -> None:
    """Let a damaged cache be thrown away, and its function compiled again."""
    load = cache.load_overload

    def careful(*given: Any) -> Any:
        try:
            return load(*given)
        except Exception:
            cache.flush()
            return None

    cache.load_overload = careful


@contextmanager
def _cache_of(function: Callable[..., Any]) -> Iterator[None]:
    """numba decides on a cache directory when a decorator runs: set it for that moment only."""
    module = Path(function.__code__.co_filename).stem
    with _LOCK:
        before = numba.config.CACHE_DIR
        numba.config.CACHE_DIR = os.path.join(_root(), f"hannan-{module}-{fingerprint(module)}")
        try:
            yield
        finally:
            numba.config.CACHE_DIR = before


def kernel(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Compile strictly, without the interpreter lock, and cache on disk: `@kernel` or `@kernel(...)`."""
    if function is None:
        return functools.partial(kernel, **options)
    with _cache_of(function):
        settings: dict[str, Any] = {"cache": True, "error_model": "numpy", "nogil": True, **options}
        compiled = numba.njit(**settings)(function)
    if settings["cache"] and hasattr(compiled, "_cache"):
        _discarding(compiled._cache)
    return compiled


def step(function: Callable[..., Any]) -> Any:
    """A piece of a round: inlined by LLVM wherever it is called, so a game and a live player share it."""
    return kernel(function, forceinline=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)


def aside(function: Callable[..., Any]) -> Any:
    """A rare or long piece: called, never inlined, so that it is compiled once and keeps the loops small."""
    return kernel(function, no_cpython_wrapper=True, no_cfunc_wrapper=True)


def smoothing_pointer(function: Callable[..., Any]) -> Any:
    """Compile a smoothing as a C function; keep the result alive as long as its `.address` is in use."""
    with _cache_of(function):
        compiled = functools.partial(numba.cfunc, SMOOTHING, nopython=True, cache=True, error_model="numpy")
        try:
            return compiled()(function)
        except Exception:
            # Its cache is read at once, and may be damaged; an error of the function itself comes again.
            FunctionCache(function).flush()
            return compiled()(function)
