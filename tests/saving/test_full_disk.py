"""A full disk, a closed stream, a missing extra: what a command leaves is whole or not there, and it says so."""

from __future__ import annotations

import errno
import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hannan import extras
from hannan.cli import commands
from hannan.saving import files as output

RUN = "from hannan.cli import main; main()"
#: Commands that write files, with what they write.
WRITERS = {
    "bound": (("bound", "--n", "9", "--rounds", "100"), {"bound.json"}),
    "audit": (("audit", "--smoothing", "exponential", "--scale", "2", "--n", "3"), {"audit.json"}),
    "play": (("play", "--n", "3", "--rounds", "50", "--runs", "2"), {"index.html", "record.json", "record.npz"}),
    "combine": (
        ("combine", "table.csv", "--target", "y"),
        {"combined.csv", "weights.csv", "summary.json", "index.html"},
    ),
    "route": (("route", "table.csv", "--runs", "2", "--learner", "exp3"), {"summary.json", "index.html"}),
    "replay": (("replay", "log.csv", "--action", "a", "--loss", "l", "--runs", "1"), {"summary.json", "index.html"}),
    "reproduce": (("reproduce", "--quick", "--only", "triangle", "--jobs", "1"), {"index.html", "claims.json"}),
}


def run(
    *arguments: str, cwd: Path, before: Callable[[], None] | None = None, program: str = RUN, **streams: Any
) -> tuple[int, str]:
    """(exit code, standard error)"""
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, **streams}
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        cwd=cwd, text=True, stderr=subprocess.PIPE, preexec_fn=before, check=False, timeout=120, **streams,
    )  # fmt: skip
    return done.returncode, done.stderr


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = "".join(f"0.{t % 9}1,0.{t % 7}5,0.{t % 5}\n" for t in range(60))
    (tmp_path / "table.csv").write_text("a,b,y\n" + rows)
    (tmp_path / "log.csv").write_text("a,l\n" + "".join(f"{t % 2},0.{t % 9}\n" for t in range(60)))
    return tmp_path


def small_files() -> None:
    # Every command's files are larger than this, so each fails in the midst of writing, as on a full disk.
    import signal

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))


@pytest.mark.parametrize("name", WRITERS)
def test_a_full_disk_leaves_the_folder_as_it_was(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments, files = WRITERS[name]
    monkeypatch.chdir(folder)
    (folder / "out").mkdir()
    for file in files:
        (folder / "out" / file).write_text("of before")
    before = sorted(path.name for path in folder.iterdir())
    with monkeypatch.context() as full:
        full.setattr(os, "fsync", _full)
        assert commands.run([*arguments, "--out", "out"]) == 2
    assert capsys.readouterr().err == "hannan: error: No space left on device\n"
    assert {path.name: path.read_text() for path in (folder / "out").iterdir()} == dict.fromkeys(files, "of before")
    assert sorted(path.name for path in folder.iterdir()) == before
    # The control: with room, all of it is written.
    assert commands.run([*arguments, "--out", "out", "--json"]) == 0
    assert isinstance(json.loads(capsys.readouterr().out), dict)
    assert all((folder / "out" / file).read_bytes() != b"of before" for file in files)


def _full(handle: int) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_files_that_may_not_grow(folder: Path) -> None:
    """The same with a limit of the system's own, which strikes in the midst of writing."""
    code, error = run(*WRITERS["bound"][0], "--out", "out", cwd=folder, before=small_files)
    assert (code, error) == (2, "hannan: error: File too large\n")
    assert not (folder / "out").exists() or not list((folder / "out").iterdir())


@pytest.mark.parametrize("more", [(), ("--json",)])
def test_output_that_does_not_arrive_is_an_error(more: tuple[str, ...], folder: Path) -> None:
    with open("/dev/full", "w") as full:
        code, error = run(*WRITERS["bound"][0], *more, cwd=folder, stdout=full)
    assert (code, error) == (2, "hannan: error: No space left on device\n")


def test_closed_streams(folder: Path) -> None:
    arguments = WRITERS["bound"][0]
    assert run(*arguments, cwd=folder, before=lambda: os.close(1)) == (
        2, "hannan: error: standard output must be open; it is closed\n",
    )  # fmt: skip
    assert run(*arguments, cwd=folder, before=lambda: os.close(2)) == (0, "")


def test_a_closed_standard_input_is_said_to_be(folder: Path) -> None:
    for arguments in (
        ("combine", "-", "--target", "y"),
        ("route", "-"),
        ("replay", "-", "--action", "a", "--loss", "l"),
    ):
        code, error = run(*arguments, cwd=folder, before=lambda: os.close(0))
        assert (code, error) == (2, "hannan: error: standard input must be open to read - from it; it is closed\n")


@pytest.mark.parametrize("name", ["play", "reproduce", "combine"])
def test_numbers_are_kept_where_a_page_cannot_be_drawn(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments, files = WRITERS[name]
    monkeypatch.chdir(folder)
    monkeypatch.setitem(sys.modules, "altair", None)
    assert commands.run([*arguments, "--out", "out"]) == 0
    assert extras.command("report") in capsys.readouterr().out
    assert {path.name for path in (folder / "out").iterdir()} == {file for file in files if not file.endswith("html")}


def test_a_file_is_whole_or_not_there(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    output.write(target, "first")
    link = tmp_path / "link"
    link.symlink_to(target)
    output.write(link, "second")
    assert link.is_symlink()
    assert target.read_text() == "second"
    target.chmod(0o600)
    with pytest.raises(RuntimeError):
        _half(target)
    assert (target.read_text(), target.stat().st_mode & 0o777) == ("second", 0o600)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt", "link"]
    assert not output.UNFINISHED
    assert output.write("/dev/null", "a device is written to, not replaced") == Path("/dev/null")
    assert not Path("/dev/null").is_file()


def _half(target: Path) -> None:
    with output.whole_file(target) as file:
        file.write(b"third")
        assert output.UNFINISHED
        raise RuntimeError


def test_what_is_in_the_making_can_be_swept_away(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        _swept(output.whole_file(tmp_path / "a"), tmp_path)
    with pytest.raises(FileNotFoundError):
        _swept(output.Outbox(tmp_path / "out"), tmp_path)


def _swept(making: Any, folder: Path) -> None:
    with making:
        assert list(folder.iterdir())
        output.sweep()
        assert not list(folder.iterdir())


@pytest.mark.parametrize("kind", ["folder", "file"])
def test_ctrl_c_right_after_creation_leaves_nothing(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The interrupt comes when the system call has returned: what was created is known, and is removed."""
    sound = {"folder": os.mkdir, "file": os.open}[kind]

    def interrupted(path: Any, *rest: Any, **options: Any) -> Any:
        made = sound(path, *rest, **options)
        if ".out." in str(path):
            raise KeyboardInterrupt
        return made

    monkeypatch.setattr(os, sound.__name__, interrupted)
    with pytest.raises(KeyboardInterrupt):
        output.Outbox(tmp_path / "out").__enter__() if kind == "folder" else output.write(tmp_path / "out", b"x")
    monkeypatch.undo()
    output.sweep()
    assert list(tmp_path.iterdir()) == []
