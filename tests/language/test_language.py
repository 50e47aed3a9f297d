"""The checks of language find deliberate mistakes, and accept the repository."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from rejections import rejected

import hannan as hn

FOLDER = Path(__file__).parent


def load(name: str) -> ModuleType:
    """Return a script of this folder as a module."""
    spec = importlib.util.spec_from_file_location(f"language_{name}", FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


phrases, subjects = load("phrases"), load("subjects")

PYTHON = '''"""Nobody checks the docstring of a module."""


class Learner:
    """A learner of your own."""

    def act(self):
        """Return a move."""

        def inner():
            """Nobody sees it."""

    def _close(self):
        """Nobody calls it."""


def fail(n):
    # Nobody reads it.
    raise ValueError(f"n must be there; got {n}, at once " "beside it")


"""twins"""
HELP = "the least loss a row"
KEY = "stranger"
'''


def banned(tmp_path: Path, name: str, text: str) -> list[tuple[int, str]]:
    """Return (line, phrase) of the banned phrases in a file."""
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    lines = [line.removeprefix(f"{path}:").split(": ") for line in phrases.errors(path)]
    assert all(rest[-1].startswith("write ") for _, *rest in lines)
    return sorted((int(number), rest[0].strip("'")) for number, *rest in lines)


def test_control_phrases_in_python(tmp_path: Path) -> None:
    found = banned(tmp_path, "module.py", PYTHON)
    assert found == [
        (5, "of your own"), (19, "at once"), (19, "beside"), (19, "must be there"),
        (23, "loss a row"), (23, "the least loss"),
    ]  # fmt: skip


def test_control_docstrings_of_commands_are_help_texts(tmp_path: Path) -> None:
    (tmp_path / "cli").mkdir()
    text = 'def _run():\n    """Play; nobody waits."""\n'
    assert banned(tmp_path, "cli/run.py", text) == [(2, "nobody")]
    assert banned(tmp_path, "run.py", text) == []


def test_control_phrases_in_cpp_and_pages(tmp_path: Path) -> None:
    cpp = '// nobody\nthrow Error("the arm is told twice");\n/* at once */ auto k = "nobody";\n'
    assert banned(tmp_path, "a.hpp", cpp) == [(2, "is told")]
    page = "# Title\n\nCode `at once` is not read,\nbut beside it is.\n\n```python\nnobody = 1\n```\n"
    assert banned(tmp_path, "a.md", page) == [(4, "beside")]


def test_plain_sentences_are_accepted(tmp_path: Path) -> None:
    text = "It costs 12 ns per round. A number of rounds is required. What is a regret? As many as there are rows.\n"
    assert banned(tmp_path, "plain.md", text) == []


def test_no_file_outside_the_list_has_a_banned_phrase(capsys: pytest.CaptureFixture[str]) -> None:
    failed = phrases.main([])
    assert not failed, capsys.readouterr().out


def test_unfinished_files_exist() -> None:
    assert [path for path in phrases.UNFINISHED if not (phrases.ROOT / path).is_file()] == []


@pytest.mark.parametrize(
    ("subject", "word"),
    [
        ("Add a check", "scope"),
        ("tests: The check", "form"),
        ("tests: adds a check", "adds"),
        ("tests: a check that fails", "a"),
        ("tests: add a check.", "full stop"),
        ("tests: add a check; remove another", "semicolon"),
        ("tests: add " + "a" * 72, "72"),
    ],
)
def test_control_subjects_that_are_rejected(subject: str, word: str) -> None:
    (error,) = subjects.errors(subject)
    assert word in error


@pytest.mark.parametrize(
    "subject", ["tests: add a check", "tests, docs: use one name", "certificate: label regret as mean-play or realized"]
)
def test_subjects_that_are_accepted(subject: str) -> None:
    assert subjects.errors(subject) == []


def commit(folder: Path, *messages: str) -> None:
    """Add empty commits."""
    for message in messages:
        who = ("-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false")
        subprocess.run(["git", *who, "commit", "-q", "--allow-empty", "-m", message], cwd=folder, check=True)


def test_commits_of_full_and_shallow_clones(tmp_path: Path) -> None:
    assert subjects.subjects(tmp_path) == []  # not a repository
    origin = tmp_path / "origin"
    origin.mkdir()
    subprocess.run(["git", "init", "-q", "-b", "main"], cwd=origin, check=True)
    commit(origin, "Bad first", "tests: add one", "tests: add two")
    assert subjects.subjects(origin) == ["tests: add two"]
    assert subjects.subjects(origin, "HEAD~2") == ["tests: add two", "tests: add one"]
    rejected(lambda: subjects.subjects(origin, "no-such"), "base", "'no-such'")
    shallow = tmp_path / "shallow"
    subprocess.run(["git", "clone", "-q", "--depth", "1", origin.as_uri(), str(shallow)], check=True)
    assert subjects.main([], shallow) == 0
    subprocess.run(["git", "checkout", "-q", "-b", "topic"], cwd=shallow, check=True)
    commit(shallow, "tests: add three", "Four; five.")
    assert subjects.subjects(shallow) == ["Four; five.", "tests: add three"]
    assert subjects.main([], shallow) == 1


@pytest.fixture(scope="module")
def docstrings() -> ModuleType:
    return load("docstrings")


def test_listed_names_are_valid(docstrings: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    failed = docstrings.main([])
    assert not failed, capsys.readouterr().out


def test_listed_names_exist(docstrings: ModuleType) -> None:
    for listed in (docstrings.CHECKED["docstrings"], docstrings.CHECKED["methods"]):
        assert [one for one in listed if not docstrings.names([one])] == []


def test_control_finds_missing_sections(docstrings: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    def bad(x: int) -> int:
        return x

    bad.__doc__ = "returns x"

    def good(x: int) -> int:
        """Return a number.

        Parameters
        ----------
        x : int
            Number to return.

        Returns
        -------
        int
            The number.

        Examples
        --------
        >>> 1
        1
        """
        return x

    monkeypatch.setattr(hn, "bad", bad, raising=False)
    monkeypatch.setattr(hn, "good", good, raising=False)
    codes = {error.split(": ")[1].split()[0] for error in docstrings.errors("hannan.bad")}
    assert {"SS02", "SS03", "PR01", "RT01", "EX01"} <= codes
    assert docstrings.errors("hannan.good") == []
