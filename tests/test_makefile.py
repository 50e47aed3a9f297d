"""Commands of the Makefile: the oldest pip of Python 3.11 knows their options."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
#: Options of `pip install` and `pip wheel` in pip 22.3, the first that came with Python 3.11. `-C` is of pip 23.1.
KNOWN = {
    "--config-settings", "--disable-pip-version-check", "--editable", "--no-build-isolation", "--no-compile",
    "--no-deps", "--quiet", "--target", "--upgrade", "--wheel-dir",
}  # fmt: skip
TARGETS = ("demo", "setup", "engine-only", "editable", "docs", "sanitize", "wheel", "bench")


def unknown(commands: str) -> set[str]:
    """Options of pip in shell commands that are not known to be old."""
    lines = re.findall(r"-m pip (?:install|wheel) ([^\n;&]*)", commands)
    assert lines
    return {word for line in lines for word in shlex.split(line) if word.startswith("-")} - KNOWN


def test_pip_options_are_old() -> None:
    done = subprocess.run(
        ["make", "--dry-run", "--always-make", *TARGETS], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.count("--config-settings build-dir=") == 6
    assert unknown(done.stdout) == set()


@pytest.mark.parametrize("option", ["-Cbuild-dir=build/editable", "--config-setting", "--group"])
def test_control_finds_new_options(option: str) -> None:
    assert unknown(f".venv/bin/python -m pip install --quiet {option} . && true") == {option}
