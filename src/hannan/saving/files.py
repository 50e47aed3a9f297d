"""Files that are whole or not there: written beside, flushed, renamed; and read only if they are ordinary files."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows: nothing to lock with, and nothing stale is looked for
    fcntl = None  # type: ignore[assignment]

#: No saved file is larger.
LARGEST = 1 << 31
_SUFFIX = ".saving"
_LOCKS: bool = fcntl is not None


def write_whole(path: str | os.PathLike[str], fill: Callable[[IO[bytes]], Any], private: bool = False) -> None:
    """Let `fill` write a file, which then takes the place of the one at `path` at once, or not at all.

    A symbolic link stays, and what it points to is replaced. What is no ordinary file is refused. `private`: a new file
    can be read by its owner alone. After it returns, the file and its name are on the disk.
    """
    from pathlib import Path  # not for a game that saves nothing

    target = Path(os.path.realpath(path))
    _ordinary(path, target)
    _clean(target)
    with beside(target, 0o600 if private else 0o666) as (file, temporary):
        fill(file)
        file.flush()
        if target.exists():
            os.chmod(temporary, stat.S_IMODE(target.stat().st_mode))
        os.fsync(file.fileno())
        _ordinary(path, target)
        os.replace(temporary, target)
    _sync(target.parent)


def read_ordinary(path: str | os.PathLike[str], what: str) -> bytes:
    """The bytes of an ordinary file of a decent size; pipes, devices and folders are refused, never waited for."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    found = os.fstat(handle)
    with open(handle, "rb", closefd=True) if stat.S_ISREG(found.st_mode) else _closing(handle) as file:
        if not stat.S_ISREG(found.st_mode):
            raise ValueError(f"{os.fspath(path)} must be {what}, an ordinary file; got {_kind(found.st_mode)}")
        if found.st_size > LARGEST:
            raise ValueError(f"{os.fspath(path)} must be {what} of at most {LARGEST} bytes; got {found.st_size}")
        return file.read(LARGEST)


@contextmanager
def _closing(handle: int) -> Iterator[Any]:
    """For what Python opens as no file."""
    try:
        yield None
    finally:
        os.close(handle)


@contextmanager
def beside(target: Path, mode: int) -> Iterator[tuple[IO[bytes], Path]]:
    """A new file beside the target, locked so that nobody takes it for stale; gone when anything fails."""
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
    while True:
        temporary = target.parent / f".{target.name[:200]}.{os.urandom(4).hex()}{_SUFFIX}"
        handle = os.open(temporary, flags, mode)
        if _LOCKS:
            fcntl.flock(handle, fcntl.LOCK_EX)
        # Another save may have cleaned it away before it was locked.
        if temporary.exists():
            break
        os.close(handle)
    try:
        with open(handle, "r+b") as file:
            yield file, temporary
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _clean(target: Path) -> None:
    """Remove what a killed save of this target left behind: files that nobody holds a lock on."""
    if not (_LOCKS and target.parent.is_dir()):
        return
    start = f".{target.name[:200]}."
    for name in os.listdir(target.parent):
        if not (name.startswith(start) and name.endswith(_SUFFIX) and len(name) == len(start) + 8 + len(_SUFFIX)):
            continue
        stale = target.parent / name
        try:
            handle = os.open(stale, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
        except OSError:
            continue
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            stale.unlink(missing_ok=True)
        except OSError:
            pass  # in use, or not ours
        finally:
            os.close(handle)


def _ordinary(path: str | os.PathLike[str], target: Path) -> None:
    try:
        mode = target.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISREG(mode):
        raise ValueError(f"{os.fspath(path)} must be an ordinary file, or a new name; it is {_kind(mode)}")


def _kind(mode: int) -> str:
    kinds = {
        stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket", stat.S_IFLNK: "a link in a circle",
        stat.S_IFCHR: "a device", stat.S_IFBLK: "a device",
    }  # fmt: skip
    return kinds.get(stat.S_IFMT(mode), "something else")


def _sync(folder: Path) -> None:
    """Let the new name reach the disk, where folders can be flushed."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError:
        pass
    finally:
        os.close(handle)
