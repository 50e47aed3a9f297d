"""Commands write atomically and report errors: a full disk, closed streams, missing extras, and interrupts."""

from __future__ import annotations

import errno
import json
import os
import re
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
#: Commands that write files, with the names of the files.
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
    """Return (exit code, standard error)."""
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
    # The files of every command are larger, so each write fails after some bytes, as on a full disk.
    import signal

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))


@pytest.mark.parametrize("name", WRITERS)
def test_a_full_disk_leaves_the_folder_unchanged(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments, files = WRITERS[name]
    monkeypatch.chdir(folder)
    (folder / "out").mkdir()
    for file in files:
        (folder / "out" / file).write_text("old")
    before = sorted(path.name for path in folder.iterdir())
    with monkeypatch.context() as full:
        full.setattr(os, "fsync", _full)
        assert commands.run([*arguments, "--out", "out"]) == 2
    assert "No space left on device" in capsys.readouterr().err
    assert {path.name: path.read_text() for path in (folder / "out").iterdir()} == dict.fromkeys(files, "old")
    assert sorted(path.name for path in folder.iterdir()) == before
    # Control: without the error, all files are written.
    assert commands.run([*arguments, "--out", "out", "--json"]) == 0
    assert isinstance(json.loads(capsys.readouterr().out), dict)
    assert all((folder / "out" / file).read_bytes() != b"old" for file in files)


def _full(handle: int) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_limit_on_file_sizes_leaves_no_file(folder: Path) -> None:
    """A limit of the system fails during a write."""
    code, error = run(*WRITERS["bound"][0], "--out", "out", cwd=folder, before=small_files)
    assert code == 2
    assert "File too large" in error
    assert not (folder / "out").exists() or not list((folder / "out").iterdir())


@pytest.mark.parametrize("more", [(), ("--json",)])
def test_output_that_cannot_be_written_is_an_error(more: tuple[str, ...], folder: Path) -> None:
    with open("/dev/full", "w") as full:
        code, error = run(*WRITERS["bound"][0], *more, cwd=folder, stdout=full)
    assert code == 2
    assert "No space left on device" in error


def test_closed_streams(folder: Path) -> None:
    arguments = WRITERS["bound"][0]
    code, error = run(*arguments, cwd=folder, before=lambda: os.close(1))
    assert code == 2
    assert re.search("standard output.*closed", error)
    assert run(*arguments, cwd=folder, before=lambda: os.close(2)) == (0, "")


def test_a_closed_standard_input_is_an_error(folder: Path) -> None:
    for arguments in (
        ("combine", "-", "--target", "y"),
        ("route", "-"),
        ("replay", "-", "--action", "a", "--loss", "l"),
    ):
        code, error = run(*arguments, cwd=folder, before=lambda: os.close(0))
        assert code == 2
        assert re.search("standard input.*closed", error)


@pytest.mark.parametrize("name", ["play", "reproduce", "combine"])
def test_numbers_are_written_if_pages_cannot_be_drawn(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments, files = WRITERS[name]
    monkeypatch.chdir(folder)
    monkeypatch.setitem(sys.modules, "altair", None)
    assert commands.run([*arguments, "--out", "out"]) == 0
    assert extras.command("report") in capsys.readouterr().out
    assert {path.name for path in (folder / "out").iterdir()} == {file for file in files if not file.endswith("html")}


def test_files_are_written_atomically(tmp_path: Path) -> None:
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


def test_sweep_removes_unfinished_files_and_folders(tmp_path: Path) -> None:
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
    """The interrupt comes immediately after the system call: the new file is registered already, and is removed."""
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


def test_the_next_write_removes_the_file_of_a_killed_write(tmp_path: Path) -> None:
    code = (
        "import os, signal, sys; from hannan.saving.files import whole_file\n"
        "with whole_file(sys.argv[1]) as file: file.write(b'x'); file.flush(); os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "a")], check=False)
    assert len(list(tmp_path.iterdir())) == 1
    output.write(tmp_path / "a", "second")
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
