"""CONTRIBUTING.md, applied: its examples of how to add a class are put into a copy of the tree and run.

A block that is fenced with a path is a new file, a diff is rows put after a line, and `python run` is run.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hannan import _engine

ROOT = Path(__file__).parents[1]
FENCED = re.compile(r"^```(\w+) (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
#: The changes that each example may need: (new files, including tests; rows of tables).
SIZES = {
    "Add a compiled law": (3, 1), "Add a regularizer": (1, 1), "Add an estimator": (1, 1), "Add a tuning": (1, 1),
    "Add a learner with a memory": (2, 1),
}  # fmt: skip


def blocks(title: str) -> list[tuple[str, str, str]]:
    """(language, path or "run", text) of each fenced block under a heading."""
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = page.split(f"## {title}\n")[1].split("\n## ")[0]
    return FENCED.findall(section)


def rows(text: str) -> list[str]:
    return [line[1:] for line in text.splitlines() if line.startswith("+")]


def apply(title: str, tree: Path) -> None:
    """Add the files and rows of an example to a tree."""
    for language, path, text in blocks(title):
        if language == "diff":
            before = text.splitlines()[0][1:]
            whole = (tree / path).read_text(encoding="utf-8")
            assert whole.count(before) == 1, f"{path} must have the line {before!r} once"
            (tree / path).write_text(whole.replace(before, "\n".join([before, *rows(text)])), encoding="utf-8")
        elif path != "run":
            assert not (tree / path).exists(), f"{path} is there already"
            (tree / path).parent.mkdir(parents=True, exist_ok=True)
            (tree / path).write_text(text, encoding="utf-8")


#: An editable install would be found before the copy.
ALONE = """import sys
sys.meta_path[:] = [finder for finder in sys.meta_path if "hannan" not in type(finder).__module__]
"""


#: Exits with 1 unless the docstring of a name is complete and its examples run.
DOCUMENTED = """import doctest, importlib
import docstrings, hannan
module, name = sys.argv[1:]
found = docstrings.errors(f"hannan.{name}")
tried = doctest.testmod(importlib.import_module(f"hannan.{module}"))
getattr(hannan, name).__doc__ = "short"
assert docstrings.errors(f"hannan.{name}"), "a docstring without sections must be found"  # control
sys.exit("\\n".join(found) if found else int(tried.failed or not tried.attempted))
"""


def run(title: str, tree: Path) -> None:
    """Run the code, the tests and the docstrings of an example with the package of the tree."""
    told = os.environ | {"PYTHONPATH": os.pathsep.join([str(tree / "src"), str(ROOT / "tests" / "language")])}
    for module, name in re.findall(
        r'^\+ *"(.*)": \("(.*)",\),$', "".join(text for *_, text in blocks(title)), re.MULTILINE
    ):
        command = [sys.executable, "-c", ALONE + DOCUMENTED, module, name]
        subprocess.run(command, cwd=tree, env=told, check=True)
    for language, path, text in blocks(title):
        if (language, path) == ("python", "run"):
            subprocess.run([sys.executable, "-c", ALONE + text], cwd=tree, env=told, check=True)
        elif path.startswith("tests/"):
            code = f"{ALONE}import pytest\nsys.exit(pytest.main(['-q', '-p', 'no:cacheprovider', {path!r}]))"
            command = [sys.executable, "-c", code]
            subprocess.run(command, cwd=tree, env=told, check=True)


@pytest.mark.parametrize("title", SIZES)
def test_an_example_has_the_stated_size(title: str) -> None:
    found = blocks(title)
    files = [path for language, path, _ in found if language != "diff" and path != "run"]
    added = [row for language, _, text in found if language == "diff" for row in rows(text)]
    assert (len(files), len(added)) == SIZES[title]
    assert len(found) > len(files)


@pytest.mark.parametrize("title", ["Add a regularizer", "Add an estimator", "Add a tuning"])
def test_a_class_in_plain_python_is_added(title: str, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(_engine.__file__, tmp_path / "src" / "hannan")
    apply(title, tmp_path)
    run(title, tmp_path)


@pytest.mark.slow  # the engine is built again: two minutes of one core
def test_a_law_and_a_learner_are_added_to_the_engine(tmp_path: Path) -> None:
    nanobind = pytest.importorskip("nanobind")
    for folder in ("src", "engine"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
    shutil.copy(ROOT / "CMakeLists.txt", tmp_path)
    compiled = ("Add a compiled law", "Add a learner with a memory")
    for title in compiled:
        apply(title, tmp_path)
    build = tmp_path / "build"
    given = ["-DCMAKE_BUILD_TYPE=Release", f"-DPython_EXECUTABLE={sys.executable}"]
    given += [f"-Dnanobind_DIR={nanobind.cmake_dir()}", "-DCMAKE_CXX_FLAGS_RELEASE=-O1"]
    tools = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    subprocess.run(["cmake", "-S", tmp_path, "-B", build, "-G", "Ninja", *given], env=tools, check=True)
    subprocess.run(["cmake", "--build", build], env=tools, check=True)
    for module in build.glob("_engine*"):
        shutil.copy(module, tmp_path / "src" / "hannan")
    for title in compiled:
        run(title, tmp_path)
