"""Small wrong changes, each made to a copy of the package, and whether the suite notices.

    make mutants                    # all of them
    python tests/mutants/run.py -k combine -k seed

A mutant is a row of `mutants.toml`: a file, a text that stands in it once, what it becomes, and the tests that are to
notice. The tests of all rows first pass on the copy as it is: a test that fails anyway notices nothing. Then each
mutant alone: at least one of its tests must fail. Exit code 1 if one survives, 2 if a row no longer fits the source.

The copy is `build/mutants`, which git does not see; nothing else is changed. Where a mutant is one of the engine, the
copy's own engine is built, there, and built again for each: what depends on the file, some twenty seconds.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PLACE = ROOT / "build" / "mutants"

#: Read by every interpreter at its start, also by those that tests start. An editable install may have put a finder
#: before the path; without it the copy is imported.
SITE = """
import sys

sys.meta_path[:] = [finder for finder in sys.meta_path if "hannan" not in type(finder).__module__]
"""

#: Runs pytest for each line of arguments, and answers with its exit code: in a child of its own, which imports the
#: package anew, while what takes long to import and is never changed is there already.
SERVER = """
import contextlib, importlib, json, os, sys
import pytest
for name in ("hypothesis", "mpmath", "pandas", "scipy.optimize", "scipy.special", "scipy.stats"):
    with contextlib.suppress(ImportError):
        importlib.import_module(name)
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        sys.stdin = open(os.devnull)
        said = os.open(sys.argv[1], os.O_CREAT | os.O_TRUNC | os.O_WRONLY)
        os.dup2(said, 1), os.dup2(said, 2)
        import hannan
        if not hannan.__file__.startswith(os.getcwd()):
            print(f"the copy must be what is imported; got {hannan.__file__}", flush=True)
            os._exit(3)
        code = pytest.main(json.loads(line))
        sys.stdout.flush()
        os._exit(code)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@dataclass(frozen=True)
class Mutant:
    """One wrong change."""

    name: str
    file: str
    before: str
    after: str
    tests: tuple[str, ...]

    @property
    def compiled(self) -> bool:
        """Whether it is one of the engine."""
        return self.file.startswith("engine/")

    def applied(self, text: str) -> str:
        """The text of the file with the change in it; refused where it does not stand there exactly once."""
        found = text.count(self.before)
        if found != 1:
            raise ValueError(f"{self.name}: the text must stand once in {self.file}; found {found} times")
        return text.replace(self.before, self.after)


def mutants(words: list[str]) -> list[Mutant]:
    """The rows of mutants.toml whose name has one of the words; all, without words."""
    rows = tomllib.loads((HERE / "mutants.toml").read_text(encoding="utf-8"))["mutant"]
    listed = [Mutant(row["name"], row["file"], row["before"], row["after"], tuple(row["tests"])) for row in rows]
    if len({m.name for m in listed}) < len(listed):
        raise ValueError("mutants must have names of their own; two have the same")
    for mutant in listed:  # all of them, and before anything is run
        mutant.applied((ROOT / mutant.file).read_text(encoding="utf-8"))
    return [m for m in listed if not words or any(word in m.name for word in words)]


def copied() -> Path:
    """A fresh copy of the source, with the compiled engine if there is one."""
    copy = PLACE / "hannan"
    shutil.rmtree(copy, ignore_errors=True)
    leave = shutil.ignore_patterns(".git", ".venv", "build", "dist", ".*_cache", "__pycache__", ".hypothesis")
    shutil.copytree(ROOT, copy, ignore=leave)
    package = copy / "src" / "hannan"
    engine = find_spec("hannan._engine")
    if engine is not None and engine.origin is not None:
        shutil.copy2(engine.origin, package)  # an editable install keeps it elsewhere
    return copy


class Engine:
    """The engine of a copy, compiled quickly: the same bits as of any build."""

    def __init__(self, copy: Path) -> None:
        import nanobind

        self._package, self._folder = copy / "src" / "hannan", PLACE / "engine"
        flags = ["-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_FLAGS_RELEASE=-O1 -DNDEBUG"]
        place = [f"-DPython_EXECUTABLE={sys.executable}", f"-Dnanobind_DIR={nanobind.cmake_dir()}"]
        self._run("cmake", "-S", str(copy), "-B", str(self._folder), "-G", "Ninja", *flags, *place)

    def build(self) -> None:
        """Compile what has changed, and put it where the copy imports it."""
        self._run("cmake", "--build", str(self._folder))
        for old in self._package.glob("_engine.*.so"):
            old.unlink()
        for built in self._folder.glob("_engine*.so"):
            shutil.copy2(built, self._package)

    def _run(self, *command: str) -> None:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(command, env={**os.environ, "PATH": path}, capture_output=True, text=True)
        if done.returncode:
            raise ValueError(
                f"{' '.join(command)}: ended with {done.returncode}\n{(done.stdout + done.stderr)[-2000:]}"
            )


class Suite:
    """The tests of a copy."""

    def __init__(self, copy: Path, engine: Engine | None = None) -> None:
        self.copy, self.engine, self._said = copy, engine, PLACE / "pytest.txt"
        site = PLACE / "site"
        site.mkdir(parents=True, exist_ok=True)
        (site / "sitecustomize.py").write_text(SITE, encoding="utf-8")
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join((str(site), str(copy / "src"))),
            "OPENBLAS_NUM_THREADS": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        self._server = subprocess.Popen(
            [sys.executable, "-c", SERVER, str(self._said)],
            cwd=copy, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def fails(self, tests: Iterable[str]) -> bool:
        """Whether one of the tests fails. Anything but passed and failed is an error of this script."""
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        arguments = ["-x", "-q", "-p", "no:cacheprovider", "-m", "", *tests]
        print(json.dumps(arguments), file=self._server.stdin, flush=True)
        code = self._server.stdout.readline().strip()
        # 2: the package no longer imports, so the change is no small one; 4 and 5: no such test.
        if code not in ("0", "1"):
            raise ValueError(f"{' '.join(tests)}: ended with {code}\n{self.last_words()}")
        return code != "0"

    def notices(self, mutant: Mutant) -> bool:
        """Whether its tests notice a mutant; the copy is as before afterwards."""
        path = self.copy / mutant.file
        source = path.read_text(encoding="utf-8")
        engine = self.engine if mutant.compiled else None
        path.write_text(mutant.applied(source), encoding="utf-8")
        try:
            if engine is not None:
                engine.build()
            return self.fails(mutant.tests)
        finally:
            path.write_text(source, encoding="utf-8")
            if engine is not None:
                engine.build()

    def last_words(self) -> str:
        """What the last tests said."""
        return self._said.read_text()[-2000:]

    def close(self) -> None:
        """End the server."""
        self._server.communicate()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-k", action="append", default=[], metavar="WORD", help="only mutants whose name has the word")
    words = parser.parse_args().k
    survived = []
    try:
        chosen = mutants(words)
        copy = copied()
        engine = Engine(copy) if any(mutant.compiled for mutant in chosen) else None
        if engine is not None:
            engine.build()
        suite = Suite(copy, engine)
        if suite.fails(dict.fromkeys(test for mutant in chosen for test in mutant.tests)):
            raise ValueError(f"the tests of the list must pass before anything is changed\n{suite.last_words()}")
        for mutant in chosen:
            began = time.perf_counter()
            seen = suite.notices(mutant)
            seconds = time.perf_counter() - began
            print(f"{'noticed ' if seen else 'SURVIVED'}  {seconds:5.1f} s  {mutant.name}", flush=True)
            if not seen:
                survived.append(mutant.name)
        suite.close()
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    print(f"{len(chosen)} mutants, {len(chosen) - len(survived)} noticed, {len(survived)} survived")
    return 1 if survived else 0


if __name__ == "__main__":
    sys.exit(main())
