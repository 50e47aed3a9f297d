"""Atomic writes of files and folders, and reads of ordinary files."""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows: no file locks, so stale files are not removed
    fcntl = None  # type: ignore[assignment]

#: Largest size of a file in bytes.
LARGEST = 1 << 31
_SUFFIX = ".saving"
_LOCKS: bool = fcntl is not None


#: Files and folders that are being written and will be renamed or removed.
UNFINISHED: set[Path] = set()


def write_whole(path: str | os.PathLike[str], fill: Callable[[IO[bytes]], Any], private: bool = False) -> None:
    """Replace a file atomically by what `fill` writes; when the function returns, file and name are on the disk.

    The target of a symbolic link is replaced, not the link. Pipes, devices and folders are rejected. If `private`, only
    the owner can read a new file.
    """
    from pathlib import Path  # not for a game that saves nothing

    target = Path(os.path.realpath(path))
    _ordinary(path, target)
    with _replacing(target, 0o600 if private else None) as file:
        fill(file)
        _ordinary(path, target)


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file for writing bytes; it replaces `path` atomically at the end, or is removed if an error is raised.

    The target of a symbolic link is replaced, not the link. Missing folders are created. A device or a pipe, which
    cannot be replaced, is written to.
    """
    from pathlib import Path

    target = Path(os.path.realpath(path))
    if target.exists() and not stat.S_ISREG(target.stat().st_mode):
        with target.open("wb") as file:
            yield file
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    with _replacing(target, None) as file:
        yield file


def write(path: str | os.PathLike[str], content: str | bytes) -> Path:
    """Write text (UTF-8) or bytes atomically; return the path."""
    with whole_file(path) as file:
        file.write(content.encode() if isinstance(content, str) else content)
    from pathlib import Path

    return Path(path)


@contextmanager
def _replacing(target: Path, mode: int | None) -> Iterator[IO[bytes]]:
    """Open a file that replaces the target at the end, with the mode of the target or, for a new file, `mode`."""
    _clean(target)
    with beside(target) as (file, temporary):
        yield file
        file.flush()
        kept = stat.S_IMODE(target.stat().st_mode) if target.exists() else mode
        os.chmod(temporary, _usual_mode() if kept is None else kept)
        os.fsync(file.fileno())
        os.replace(temporary, target)
    _sync(target.parent)


@contextmanager
def beside(target: Path) -> Iterator[tuple[IO[bytes], Path]]:
    """Create a temporary file in the folder of the target, locked so that `_clean` keeps it; remove it on errors."""
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
    temporary = _registered(target.parent, target.name, 4, _SUFFIX)
    try:
        while True:
            handle = os.open(temporary, flags, 0o600)
            if _LOCKS:
                fcntl.flock(handle, fcntl.LOCK_EX)
            # Another save may have removed the file before it was locked.
            if temporary.exists():
                break
            os.close(handle)
        with open(handle, "r+b") as file:
            yield file, temporary
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    finally:
        UNFINISHED.discard(temporary)


def read_ordinary(path: str | os.PathLike[str], what: str) -> bytes:
    """Return the bytes of an ordinary file; pipes, devices, folders and huge files are rejected without waiting."""
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
    """Close a handle that is not an ordinary file, which `open` does not accept."""
    try:
        yield None
    finally:
        os.close(handle)


def _clean(target: Path) -> None:
    """Remove temporary files of killed writes of this target: those that are not locked."""
    if not (_LOCKS and target.parent.is_dir()):
        return
    start = f".{target.name[:100]}."
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
            pass  # locked, or owned by another user
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


def _sync(path: Path) -> None:
    """Wait until a file or folder is on the disk; folders that the system cannot open or flush are skipped."""
    try:
        handle = os.open(path, os.O_RDONLY)
    except PermissionError:
        return
    try:
        os.fsync(handle)
    except OSError as error:
        if not (path.is_dir() and error.errno in (errno.EINVAL, errno.ENOTSUP)):
            raise
    finally:
        os.close(handle)


class Outbox:
    """Folder that is written atomically: `with Outbox(folder) as out:` writes files to `out.path(name)`.

    The files are moved to the folder at the end. If an error is raised, the folder is unchanged.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        from pathlib import Path

        self._folder = Path(folder)
        if self._folder.exists() and not self._folder.is_dir():
            raise ValueError(f"the output must go to a folder; {self._folder} is a file")
        self._beside: Path | None = None

    def __enter__(self) -> Outbox:
        parent = self._folder.absolute().parent
        try:
            parent.mkdir(parents=True, exist_ok=True)
            self._beside = _registered(parent, self._folder.name)
            self._beside.mkdir(mode=0o700)
        except OSError as error:
            if self._beside is not None:
                UNFINISHED.discard(self._beside)
            raise ValueError(f"the output folder must be writable; {parent}: {error.strerror}") from None
        return self

    def path(self, name: str) -> Path:
        """Return the path to which the file of a name is written."""
        assert self._beside is not None, "an Outbox must be entered"
        return self._beside / name

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        assert self._beside is not None
        try:
            if kind is None:
                self._keep(self._beside)
        finally:
            shutil.rmtree(self._beside, ignore_errors=True)
            UNFINISHED.discard(self._beside)

    def _keep(self, beside: Path) -> None:
        beside.chmod(0o777 & ~_umask())
        for file in beside.iterdir():
            _sync(file)
        if self._folder.exists():
            for file in sorted(beside.iterdir()):
                os.replace(file, self._folder / file.name)
            _sync(self._folder)
        else:
            _sync(beside)
            os.replace(beside, self._folder)
        _sync(self._folder.absolute().parent)


def _registered(parent: Path, name: str, random: int = 8, suffix: str = "") -> Path:
    """Return a new hidden path in a folder, added to `UNFINISHED` before it exists, in case Ctrl-C comes in between."""
    path = parent / f".{name[:100]}.{os.urandom(random).hex()}{suffix}"
    UNFINISHED.add(path)
    return path


def sweep() -> None:
    """Remove unfinished files and folders, for a program that ends immediately."""
    for path in list(UNFINISHED):
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def _umask() -> int:
    # The umask can be read only by setting it.
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def _usual_mode() -> int:
    return 0o666 & ~_umask()
