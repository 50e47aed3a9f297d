"""A PostgreSQL server of Debian's package: started in a new folder, removed with it."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

#: The locale of the tests may be C, in which initdb would create databases without an encoding.
LOCALE = ("--locale=C", "--encoding=UTF8")


def programs() -> Path | None:
    """Folder of initdb and pg_ctl, or None."""
    found = shutil.which("initdb")
    places = [Path(found).resolve().parent] if found else []
    places += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((place for place in places if (place / "initdb").exists() and (place / "pg_ctl").exists()), None)


def why_not() -> str:
    """The reason why no server can be started; empty if it can."""
    if programs() is None:
        return "no PostgreSQL is installed (initdb and pg_ctl)"
    if os.getuid() == 0 and (shutil.which("setpriv") is None or "postgres" not in {u.pw_name for u in pwd.getpwall()}):
        return "PostgreSQL does not run as root, and there is no setpriv or no user postgres to run it as"
    return ""


class Database:
    """A server that can be stopped as in a crash, and started again."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._bin = folder, programs()
        self._user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"] if os.getuid() == 0 else []
        if self._user:
            shutil.chown(folder, "postgres")
        self._run("initdb", "-D", str(folder / "data"), "-A", "trust", "-U", "hannan", "--no-sync", *LOCALE)
        self.address = f"postgresql://hannan@/postgres?host={folder}"

    def _run(self, program: str, *words: str) -> None:
        assert self._bin is not None
        subprocess.run(
            [*self._user, str(self._bin / program), *words],
            check=True, cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
        )  # fmt: skip

    def start(self) -> None:
        """Start the server; it listens in its folder only."""
        options = f"-c listen_addresses='' -c unix_socket_directories={self.folder}"
        log = str(self.folder / "log")
        self._run("pg_ctl", "-D", str(self.folder / "data"), "-w", "-o", options, "-l", log, "start")

    def stop(self, how: str = "immediate") -> None:
        """`immediate`: without a checkpoint, as in a crash."""
        self._run("pg_ctl", "-D", str(self.folder / "data"), "-m", how, "-w", "stop")


@contextmanager
def database() -> Iterator[Database]:
    """A running server."""
    with tempfile.TemporaryDirectory(prefix="hannan-pg-", dir="/tmp") as folder:
        made = Database(Path(folder))
        made.start()
        try:
            yield made
        finally:
            made.stop()
