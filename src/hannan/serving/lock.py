"""One writer: a lock that the system takes back when its process ends, however it ends.

`flock` on a file beside the store (on the store itself it would meet SQLite's own locks). Where there is no `flock`
(Windows), `msvcrt.locking`; where there is neither, no store is opened.
"""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import IO

from hannan.serving.errors import CONFLICT, Refused


class Lock:
    """Held from its making to `release()`; a second one is refused by name."""

    def __init__(self, path: Path) -> None:
        self.path = path.with_name(path.name + ".lock")
        self._file: IO[str] = open(self.path, "a+")  # noqa: SIM115, held
        try:
            _lock(self._file.fileno())
        except OSError:
            self._file.seek(0)
            holder = self._file.read(200).strip() or "another process"
            self._file.close()
            raise Refused(CONFLICT, f"{path} must have one writer; it is open in {holder}") from None
        except ValueError:
            self._file.close()
            raise
        self._file.truncate(0)
        self._file.write(f"process {os.getpid()} of {socket.gethostname()}\n")
        self._file.flush()

    def release(self) -> None:
        """Let another one write. The file stays: to remove it would let two hold two locks of one name."""
        self._file.close()


def _lock(handle: int) -> None:
    try:
        import fcntl
    except ImportError:
        pass
    else:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return
    try:
        import msvcrt
    except ImportError:
        raise ValueError("a store needs flock or msvcrt to keep others from writing; here is neither") from None
    os.lseek(handle, 1 << 20, os.SEEK_SET)  # past the text that says who holds it
    msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
