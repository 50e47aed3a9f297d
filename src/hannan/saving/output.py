"""Output that is whole or not there: written beside its place, flushed to the disk, then renamed.

A full disk, a crash or Ctrl-C leaves what was there before. `UNFINISHED` knows what is in the making, so that
a command that is stopped from outside can take it away.
"""

from __future__ import annotations

import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import IO

#: Files and folders that are being written and will be renamed or removed.
UNFINISHED: set[Path] = set()


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A file to write bytes to; it takes the place of `path` when all of it is on the disk, and else is removed.

    The target of a link is replaced, not the link. A device or a FIFO, which cannot be replaced, is written to.
    """
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
    return Path(path)


class Outbox:
    """A folder in the making: `with Outbox(folder) as out:` writes to `out.path(name)`; at the end all is moved.

    If anything is raised inside, the folder is as it was before.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
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
