"""Apply small wrong changes to a copy of the package, and check that the tests detect each of them.

    make mutants                                  # all mutants
    python tests/mutants/run.py -k combine -k seed
    python tests/mutants/run.py --check           # resolve all rows, run no test

A mutant is a row of `mutants.toml` with these keys:

- `name`: unique name of the mutant;
- `function`: qualified name of the function to change, for example "Promises.bound", "outer.inner", or a class;
- `before`: source of one expression or statement of the function;
- `after`: replacement;
- `tests`: tests that must detect the change;
- `file`: path of the file, required only if several files define the function.

A Python row matches the expression or statement whose syntax tree equals that of `before`, so line breaks and comments
do not matter. If no syntax tree is equal, for example because `before` is part of an argument list or is inside an
f-string, the text of `before` must occur exactly once in the function. The function "<module-level>" together with
`file` denotes the statements of a module outside its functions and classes. If no Python function has the name, the
function is searched in the C++ sources of the engine, where only the text is compared.

The tests of all rows must pass on the unchanged copy. Then each mutant is applied alone, and at least one of its tests
must fail. The exit code is 1 if a mutant survives, and 2 if a row does not resolve to exactly one place.

The copy is stored in `build/mutants`, which git ignores. No other file is changed. Mutants of the engine are compiled
in the copy, which takes about twenty seconds per mutant.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PLACE = ROOT / "build" / "mutants"

#: Source of `sitecustomize`, which every interpreter executes at startup, including interpreters started by tests. The
#: source removes the import hook of an editable install, so that the copy is imported.
SITE = """
import sys

sys.meta_path[:] = [finder for finder in sys.meta_path if "hannan" not in type(finder).__module__]
"""

#: Source of a process that runs pytest once per line of arguments and prints its exit code. Each run is a forked child,
#: which imports the package again but shares the slow imports of other packages.
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
        try:
            import hannan
        except BaseException as error:
            print(f"the copy cannot be imported: {error!r}", flush=True)
            os._exit(3)
        if not hannan.__file__.startswith(os.getcwd()):
            print(f"hannan must be imported from the copy; got {hannan.__file__}", flush=True)
            os._exit(3)
        code = pytest.main(json.loads(line))
        sys.stdout.flush()
        os._exit(code)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


#: Value of `function` for the statements of a module outside its functions and classes.
MODULE_LEVEL = "<module-level>"
#: Python syntax nodes that have a qualified name.
DEFINITION = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
#: C++ comments, string literals and character literals. A quote between digits is a separator.
CPP_TEXT = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'", re.DOTALL)
#: C++ keywords that can precede a parenthesis and a block.
CPP_KEYWORDS = frozenset({"if", "for", "while", "switch", "catch", "constexpr", "requires", "noexcept", "decltype"})


class UnresolvedError(ValueError):
    """A row that does not match exactly one place of the source."""


@dataclass(frozen=True)
class Mutant:
    """One row of mutants.toml."""

    name: str
    function: str
    before: str
    after: str
    tests: tuple[str, ...]
    file: str | None = None


@dataclass(frozen=True)
class Scope:
    """Part of a file that a row can change: a definition, or one statement of a module."""

    file: str
    text: str
    start: int
    end: int
    node: ast.AST | None = None

    def ranges(self, before: str) -> Iterator[tuple[int, int]]:
        """Yield the start and end of each expression or statement whose syntax tree equals that of `before`."""
        wanted = _tree(before)
        if self.node is None or wanted is None:
            return
        dump = ast.dump(wanted)
        # Parentheses around an expression are no part of its node.
        start, end = _range(before, wanted)
        left, right = before[:start], before[end:]
        for node in _walk(self.node):
            if type(node) is type(wanted) and ast.dump(node) == dump:
                start, end = _range(self.text, node)
                if self.text[:start].endswith(left) and self.text[end:].startswith(right):
                    yield start - len(left), end + len(right)

    def occurrences(self, before: str) -> Iterator[tuple[int, int]]:
        """Yield the start and end of each occurrence of the text of `before`."""
        at = self.text.find(before, self.start, self.end)
        while at >= 0:
            yield at, at + len(before)
            at = self.text.find(before, at + 1, self.end)


def _range(text: str, node: ast.expr | ast.stmt) -> tuple[int, int]:
    """Return the start and end of a node in its text; `ast` counts lines from 1 and columns in UTF-8 bytes."""
    lines = text.split("\n")

    def position(line: int, column: int) -> int:
        return sum(len(before) + 1 for before in lines[: line - 1]) + len(lines[line - 1].encode()[:column].decode())

    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    return position(node.lineno, node.col_offset), position(node.end_lineno, node.end_col_offset)


def _tree(source: str) -> ast.expr | ast.stmt | None:
    """Return the syntax tree of one expression or statement, or None if the source is neither."""
    try:
        statements = ast.parse(source).body
    except SyntaxError:
        return None
    if len(statements) != 1:
        return None
    only = statements[0]
    return only.value if isinstance(only, ast.Expr) else only


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the node and its descendants outside f-strings."""
    yield node  # Python 3.11 reports wrong positions inside f-strings.
    if not isinstance(node, ast.JoinedStr):
        for child in ast.iter_child_nodes(node):
            yield from _walk(child)


def _python_scopes(file: str, text: str) -> Iterator[tuple[str, Scope]]:
    """Yield the qualified name and the scope of each definition of a module, and of its other statements."""
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)

    def scope(node: ast.stmt) -> Scope:
        first = min([node.lineno, *(decorator.lineno for decorator in getattr(node, "decorator_list", ()))])
        return Scope(file, text, starts[first - 1], starts[node.end_lineno or node.lineno], node)

    def definitions(parent: ast.AST, prefix: str) -> Iterator[tuple[str, Scope]]:
        for node in ast.iter_child_nodes(parent):
            if isinstance(node, DEFINITION):
                yield prefix + node.name, scope(node)
                yield from definitions(node, f"{prefix}{node.name}.")
            else:
                yield from definitions(node, prefix)

    module = ast.parse(text)
    yield from definitions(module, "")
    for node in module.body:
        if not isinstance(node, DEFINITION):
            yield MODULE_LEVEL, scope(node)


def _closing(code: str, at: int, brackets: str) -> int:
    """Return the position after the bracket that closes the one at `at`, or -1 if the bracket is never closed."""
    depth = 0
    for found in re.compile(f"[{re.escape(brackets)}]").finditer(code, at):
        depth += 1 if found[0] == brackets[0] else -1
        if depth == 0:
            return found.end()
    return -1


def _cpp_scopes(file: str, text: str) -> Iterator[tuple[str, Scope]]:
    """Yield the name and the scope of each C++ function with a body: a name, parentheses, then a block in braces."""
    code = CPP_TEXT.sub(lambda found: " " * len(found[0]), text)
    for found in re.finditer(r"\b([A-Za-z_]\w*)\s*\(", code):
        after = _closing(code, found.end() - 1, "()")
        if found[1] in CPP_KEYWORDS or after < 0:
            continue
        # Specifiers, a return type or an initializer list, but no call: `)`, `,`, `;` or an operator follows a call.
        block = re.compile(r"\s*(?:(?:const|noexcept|override|final|mutable)\b\s*|->[^;{}()]*|:(?!:)[^;{}]*)*\{").match(
            code, after
        )
        end = _closing(code, block.end() - 1, "{}") if block else -1
        if end > 0:
            yield found[1], Scope(file, text, found.start(), end)


class Sources:
    """Definitions in the Python package and in the engine, by qualified name."""

    def __init__(self, root: Path) -> None:
        self.texts: dict[str, str] = {}
        self._python = self._index(root, "src/hannan", {".py"})
        self._engine = self._index(root, "engine", {".cpp", ".hpp"})

    def _index(self, root: Path, folder: str, suffixes: set[str]) -> dict[str, list[Scope]]:
        index = defaultdict(list)
        for path in sorted(path for path in (root / folder).rglob("*") if path.suffix in suffixes):
            file = path.relative_to(root).as_posix()
            text = self.texts[file] = path.read_text(encoding="utf-8")
            for name, scope in (_python_scopes if path.suffix == ".py" else _cpp_scopes)(file, text):
                index[name].append(scope)
        return dict(index)

    def scopes(self, mutant: Mutant) -> list[Scope]:
        """Return the definitions of the function of a mutant, which are all in one file."""
        if mutant.file is not None and mutant.file not in self.texts:
            raise UnresolvedError(f"{mutant.name}: no such file: {mutant.file!r}")
        if mutant.file is None:
            found = self._python.get(mutant.function) or self._engine.get(mutant.function, [])
        else:
            both = self._python.get(mutant.function, []) + self._engine.get(mutant.function, [])
            found = [scope for scope in both if scope.file == mutant.file]
        if not found:
            place = mutant.file or "src/hannan or engine"
            raise UnresolvedError(f"{mutant.name}: no function {mutant.function!r} in {place}")
        files = sorted({scope.file for scope in found})
        if len(files) > 1:
            raise UnresolvedError(
                f"{mutant.name}: function {mutant.function!r} is defined in {len(files)} files. "
                f"Set `file` to one of {', '.join(files)}"
            )
        return found

    def resolve(self, mutant: Mutant) -> Change:
        """Return the one place that a mutant changes."""
        scopes = self.scopes(mutant)
        places = {place for scope in scopes for place in scope.ranges(mutant.before)}
        places = places or {place for scope in scopes for place in scope.occurrences(mutant.before)}
        if len(places) != 1:
            raise UnresolvedError(
                f"{mutant.name}: `before` must occur exactly once in {mutant.function!r} of {scopes[0].file}; "
                f"found {len(places)} times: {mutant.before!r}"
            )
        change = Change(mutant, scopes[0].file, scopes[0].text, *places.pop())
        if not change.compiled:
            try:
                ast.parse(change.mutated)
            except SyntaxError as error:  # Every test would fail, whatever the test checks.
                raise UnresolvedError(
                    f"{mutant.name}: {change.file} with `after` is not valid Python: {error}"
                ) from None
        return change


@dataclass(frozen=True)
class Change:
    """A mutant with the file and the range of the text that the mutant replaces."""

    mutant: Mutant
    file: str
    text: str
    start: int
    end: int

    @property
    def compiled(self) -> bool:
        """True if the file belongs to the engine."""
        return self.file.startswith("engine/")

    @property
    def mutated(self) -> str:
        """Text of the file after the change."""
        return self.text[: self.start] + self.mutant.after + self.text[self.end :]


def rows(path: Path = HERE / "mutants.toml") -> list[Mutant]:
    """Read the rows of a file."""
    listed = [
        Mutant(**{**row, "tests": tuple(row["tests"])})
        for row in tomllib.loads(path.read_text(encoding="utf-8"))["mutant"]
    ]
    names = [mutant.name for mutant in listed]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(f"names of mutants must be unique; repeated: {', '.join(repeated)}")
    return listed


def resolved(mutants: Iterable[Mutant], root: Path = ROOT) -> list[Change]:
    """Return the change of each mutant; the error lists all mutants that do not resolve."""
    sources, changes, errors = Sources(root), [], []
    for mutant in mutants:
        try:
            changes.append(sources.resolve(mutant))
        except UnresolvedError as error:
            errors.append(str(error))
    if errors:
        raise UnresolvedError("\n".join(errors))
    return changes


def copied() -> Path:
    """Copy the source, and the compiled engine if it exists."""
    copy = PLACE / "hannan"
    shutil.rmtree(copy, ignore_errors=True)
    leave = shutil.ignore_patterns(".git", ".venv", "build", "dist", ".*_cache", "__pycache__", ".hypothesis")
    shutil.copytree(ROOT, copy, ignore=leave)
    package = copy / "src" / "hannan"
    engine = find_spec("hannan._engine")
    if engine is not None and engine.origin is not None:
        shutil.copy2(engine.origin, package)  # An editable install stores the engine elsewhere.
    return copy


class Engine:
    """Build of the engine of a copy with less optimization, which gives the same bits as other builds."""

    def __init__(self, copy: Path) -> None:
        import nanobind

        self._package, self._folder = copy / "src" / "hannan", PLACE / "engine"
        flags = ["-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_FLAGS_RELEASE=-O1 -DNDEBUG"]
        place = [f"-DPython_EXECUTABLE={sys.executable}", f"-Dnanobind_DIR={nanobind.cmake_dir()}"]
        self._run("cmake", "-S", str(copy), "-B", str(self._folder), "-G", "Ninja", *flags, *place)

    def build(self) -> None:
        """Compile the changed files, and copy the engine into the package of the copy."""
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
    """Tests of a copy."""

    def __init__(self, copy: Path, engine: Engine | None = None) -> None:
        self.copy, self.engine, self._output = copy, engine, PLACE / "pytest.txt"
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
            [sys.executable, "-c", SERVER, str(self._output)],
            cwd=copy, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def fails(self, tests: Iterable[str]) -> bool:
        """Return True if one of the tests fails; raise ValueError if pytest neither passes nor fails."""
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        arguments = ["-x", "-q", "-p", "no:cacheprovider", "-m", "", *tests]
        print(json.dumps(arguments), file=self._server.stdin, flush=True)
        code = self._server.stdout.readline().strip()
        # Exit code 2: a test file cannot be imported. 3: the package cannot be imported. 4 and 5: no such test.
        if code not in ("0", "1"):
            raise ValueError(f"{' '.join(tests)}: ended with {code}\n{self.output()}")
        return code != "0"

    def detects(self, change: Change) -> bool:
        """Return True if a test of the mutant fails; restore the copy afterwards."""
        path = self.copy / change.file
        engine = self.engine if change.compiled else None
        path.write_text(change.mutated, encoding="utf-8")
        try:
            if engine is not None:
                engine.build()
            return self.fails(change.mutant.tests)
        finally:
            path.write_text(change.text, encoding="utf-8")
            if engine is not None:
                engine.build()

    def output(self) -> str:
        """Return the end of the output of the last tests."""
        return self._output.read_text()[-2000:]

    def close(self) -> None:
        """End the server."""
        self._server.communicate()


def main() -> int:
    """Run the mutants chosen on the command line, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "-k", action="append", default=[], metavar="WORD", help="run only mutants with WORD in the name"
    )
    parser.add_argument("--check", action="store_true", help="resolve all rows and run no test")
    options = parser.parse_args()
    survived = []
    try:
        changes = resolved(rows())  # All rows, also those that are not run.
        if options.check:
            print(f"{len(changes)} rows resolve")
            return 0
        chosen = [c for c in changes if not options.k or any(word in c.mutant.name for word in options.k)]
        copy = copied()
        engine = Engine(copy) if any(change.compiled for change in chosen) else None
        if engine is not None:
            engine.build()
        suite = Suite(copy, engine)
        if suite.fails(dict.fromkeys(test for change in chosen for test in change.mutant.tests)):
            raise ValueError(f"the tests must pass on the unchanged copy\n{suite.output()}")
        for change in chosen:
            began = time.perf_counter()
            detected = suite.detects(change)
            seconds = time.perf_counter() - began
            print(f"{'detected' if detected else 'SURVIVED'}  {seconds:5.1f} s  {change.mutant.name}", flush=True)
            if not detected:
                survived.append(change.mutant.name)
        suite.close()
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    print(f"{len(chosen)} mutants, {len(chosen) - len(survived)} detected, {len(survived)} survived")
    return 1 if survived else 0


if __name__ == "__main__":
    sys.exit(main())
