"""Commands that install extras: the ones that error messages and docs give work while the package is not published."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from hannan import extras

ROOT = Path(__file__).resolve().parents[1]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
#: Installs the name `hannan` from a package index; a path that ends in `hannan` is allowed.
FROM_AN_INDEX = re.compile(r"pip3? install[^\n`#]*(?<![\w/.-])hannan(?![\w/.-])")


def pages() -> list[Path]:
    """Files with text for users."""
    folders = [ROOT / "src", ROOT / "docs", ROOT / "examples", ROOT / "tests", ROOT / "benchmarks", ROOT / "engine"]
    made = [ROOT / "docs" / name for name in ("api", "examples", "project")]  # written by `make docs`
    found = [*ROOT.glob("*.md"), *(path for folder in folders for path in folder.rglob("*.*"))]
    texts = [path for path in found if path.suffix in (".py", ".md", ".ipynb", ".toml", ".html", ".js", ".txt")]
    return [path for path in texts if path != Path(__file__) and not any(path.is_relative_to(one) for one in made)]


def test_no_page_installs_hannan_from_an_index() -> None:
    wrong = [f"{path}: {found[0]}" for path in pages() if (found := FROM_AN_INDEX.search(path.read_text("utf-8")))]
    assert wrong == []


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("pip install 'hannan[serve]'", True),
        (".venv/bin/pip install hannan", True),
        ("pip install --upgrade hannan==0.2", True),
        ("pip install '/path/to/hannan[serve]' fastapi", False),
        ("pip install '.[serve]'", False),
    ],
)
def test_control_finds_installation_from_an_index(line: str, wrong: bool) -> None:
    assert bool(FROM_AN_INDEX.search(line)) == wrong


def test_every_extra_that_is_named_exists() -> None:
    text = "\n".join(path.read_text("utf-8") for path in pages())
    groups = re.findall(r"(?:/hannan|'\.)\[([\w, ]+)\]'|extras\.command\(['\"](\w+)", text)
    named = {name.strip() for group in groups for name in "".join(group).split(",")}
    assert {"report", "serve", "sweep", "data", "privacy", "interop", "graphs", "sklearn"} <= named <= set(EXTRAS)


@pytest.mark.parametrize("extra", sorted(EXTRAS))
def test_command_has_the_requirements_of_the_extra(extra: str) -> None:
    def canonical(line: str) -> tuple[str, frozenset[str]]:
        name = re.match(r"[\w.\[\]-]+", line)
        assert name is not None
        return name[0], frozenset(line[name.end() :].split(","))

    words = shlex.split(extras.command(extra))
    assert words[:2] == ["pip", "install"]
    assert {*map(canonical, words[2:])} == {*map(canonical, EXTRAS[extra])}


def test_command_is_accepted_by_pip() -> None:
    """Nothing is downloaded: the tests need these packages, so that all of them are installed. A control is not."""

    def accepted(*commands: str) -> bool:
        words = [word for command in commands for word in shlex.split(command)[2:]]
        done = subprocess.run(
            [sys.executable, "-m", "pip", "install", "--dry-run", "--no-index", "--no-deps", "-q", *words],
            capture_output=True, text=True,
        )  # fmt: skip
        return done.returncode == 0

    assert accepted(*map(extras.command, ("report", "serve", "sweep", "privacy", "sklearn", "graphs", "interop")))
    assert not accepted(extras.command("report"), "pip install hannan-that-does-not-exist")


def test_command_names_a_checkout_if_hannan_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [])  # no distribution is found
    assert extras.command("report") == "pip install '.[report]' in the checkout"
