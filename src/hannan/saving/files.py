"""Files that are whole or not there: written beside, flushed, renamed; and read only if they are ordinary files."""

from __future__ import annotations

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


#: Files and folders that are being written and will be renamed or removed.
UNFINISHED: set[Path] = set()


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A file to write bytes to; it takes the place of `path` when all of it is on the disk, and else is removed.

    The target of a link is replaced, not the link. A device or a FIFO, which cannot be replaced, is written to.
    """
    from pathlib import Path

    target = Path(os.path.realpath(path))
    if target.exists() and not stat.S_ISREG(target.stat().st_mode):
        with target.open("wb") as file:
            yield file
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    beside = _registered(target.parent, target.name)
    try:
        handle = os.open(beside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fchmod(handle, target.stat().st_mode & 0o777 if target.exists() else _usual_mode())
            os.fsync(handle)
        os.replace(beside, target)
        _settle(target.parent)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    finally:
        UNFINISHED.discard(beside)


def write(path: str | os.PathLike[str], content: str | bytes) -> Path:
    """Write text (UTF-8) or bytes, whole or not at all; gives the path back."""
    with whole_file(path) as file:
        file.write(content.encode() if isinstance(content, str) else content)
    from pathlib import Path

    return Path(path)


class Outbox:
    """A folder in the making: `with Outbox(folder) as out:` writes to `out.path(name)`; at the end all is moved.

    If anything is raised inside, the folder is as it was before.
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
        """Where to write the file of this name."""
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
            _settle(file)
        if self._folder.exists():
            for file in sorted(beside.iterdir()):
                os.replace(file, self._folder / file.name)
            _settle(self._folder)
        else:
            _settle(beside)
            os.replace(beside, self._folder)
        _settle(self._folder.absolute().parent)


def _registered(parent: Path, name: str) -> Path:
    """Return a new hidden path beside the output, in `UNFINISHED` before it exists: Ctrl-C may come in between."""
    import secrets

    beside = parent / f".{name[:100]}.{secrets.token_hex(8)}"
    UNFINISHED.add(beside)
    return beside


def sweep() -> None:
    """Remove what is in the making: for a program that is about to leave without another word."""
    for path in list(UNFINISHED):
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def _settle(path: Path) -> None:
    """Wait until a file or a folder is on the disk; a folder cannot be opened on every system."""
    try:
        handle = os.open(path, os.O_RDONLY)
    except PermissionError:
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _umask() -> int:
    # There is no way to read it but to set it.
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def _usual_mode() -> int:
    return 0o666 & ~_umask()
