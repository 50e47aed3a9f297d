"""Files of a release: versions agree, workflows run programs that exist, links of README.md become absolute."""

from __future__ import annotations

import doctest
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
sys.path.insert(0, str(ROOT / "packaging"))
import addresses  # noqa: E402
import release  # noqa: E402

#: Programs that the machines of the workflows have, or that packaging/requirements.txt installs.
PROGRAMS = {"sudo", "apt-get", "git", "python", "make", "bash", "cyclonedx-py"}


def commands(workflow: dict[str, Any]) -> list[str]:
    """Return the shell commands of a workflow."""
    steps = [step for job in workflow["jobs"].values() for step in job.get("steps", ())]
    return [part.strip() for step in steps for part in re.split(r"&&|\n", step.get("run", "")) if part.strip()]


def missing(command: str) -> list[str]:
    """Return the programs, targets and files of a command that do not exist."""
    words = command.split(" #")[0].split()
    lost = [] if words[0] in PROGRAMS or (ROOT / words[0]).is_file() else [words[0]]
    if words[0] == "make":
        targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
        lost += [word for word in words[1:] if "=" not in word and word not in targets]
    return lost + [word for word in words[1:] if word.startswith((".ci/", "packaging/")) and not (ROOT / word).exists()]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflow_runs_existing_programs(path: Path) -> None:
    workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert workflow["permissions"] == {"contents": "read"}
    assert [command for command in commands(workflow) if missing(command)] == []
    for job in workflow["jobs"].values():
        assert "steps" in job or (ROOT / job["uses"]).is_file()


def test_control_finds_missing_programs() -> None:
    assert missing("make tset PYTHON=python") == ["tset"]
    assert missing("python packaging/address.py x") == ["packaging/address.py"]
    assert missing("packaging/gone") == ["packaging/gone"]


def test_every_supported_python_is_tested() -> None:
    tests = yaml.safe_load((ROOT / ".github" / "workflows" / "tests.yml").read_text(encoding="utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    stated = [line.split(" :: ")[-1] for line in project["classifiers"] if re.search(r":: 3\.\d+$", line)]
    assert tests["jobs"]["linux"]["strategy"]["matrix"]["python"] == stated
    assert project["requires-python"] == f">={stated[0]}"


def test_files_state_one_version() -> None:
    versions = release.stated()
    assert len(set(versions.values())) == 1, versions
    version = versions["pyproject.toml"]
    release.main(f"v{version}")
    with pytest.raises(SystemExit, match=r"v9\.9\.9.*pyproject\.toml"):  # control
        release.main("v9.9.9")


def test_release_has_absolute_links(tmp_path: Path) -> None:
    for name in ("README.md", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path / name)
    relative = re.compile(r"\]\((?!https?:|#)")
    assert relative.search((tmp_path / "README.md").read_text(encoding="utf-8"))
    addresses.main("https://example.org/owner/hannan", "v0.3.0", tmp_path)
    assert not relative.search((tmp_path / "README.md").read_text(encoding="utf-8"))
    urls = tomllib.loads((tmp_path / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]
    assert urls["Changelog"] == "https://example.org/owner/hannan/blob/v0.3.0/CHANGELOG.md"
    with pytest.raises(SystemExit, match=r"urls"):
        addresses.main("https://example.org/owner/hannan", "v0.3.0", tmp_path)
    with pytest.raises(SystemExit, match=r"javascript"):
        addresses.main("javascript:alert(1)", "v0.3.0", tmp_path)


@pytest.mark.parametrize("module", [addresses, release])
def test_examples(module: ModuleType) -> None:
    assert doctest.testmod(module).failed == 0


def test_release_programs_have_hashes() -> None:
    text = (ROOT / "packaging" / "requirements.txt").read_text(encoding="utf-8")
    pinned = re.findall(r"^([\w.-]+)==[^\\\n]+\\\n    --hash=sha256:[0-9a-f]{64}", text, re.MULTILINE)
    assert len(pinned) == len(re.findall(r"^[\w.-]+==", text, re.MULTILINE))
    asked = [line for line in (ROOT / "packaging" / "requirements.in").read_text().splitlines() if line[0] != "#"]
    assert set(asked) <= set(pinned)


def test_scripts_are_valid_shell() -> None:
    for script in (ROOT / "packaging" / "from_source", *sorted((ROOT / ".ci").iterdir())):
        assert subprocess.run(["bash", "-n", script], check=False).returncode == 0
