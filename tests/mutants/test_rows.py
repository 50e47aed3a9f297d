"""Rows of the mutation tests resolve to exactly one place each. No mutant is run here."""

import importlib.util
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("run.py")
spec = importlib.util.spec_from_file_location("mutants_run", SCRIPT)
run = importlib.util.module_from_spec(spec)
sys.modules[spec.name] = run  # Required by dataclasses.
spec.loader.exec_module(run)

PYTHON = '''
LIMIT = 3


class Box:
    def area(self, width, height):
        """Return the area."""
        total = (
            width  # Comment.
            * height
        )
        label = "é"; total = total + 1
        print(f"{width - height}", total, sep="")
        return 2 * (total + 0.5)

    def width(self):
        return self.half + self.half


def shared():
    return 1
'''
OTHER = "def shared():\n    return 2\n"
CPP = """
// int area(int w) { return w; }
struct Tank {
    Tank(int n) : size(n), text("}") { fill(n); }
    int volume(int n) const noexcept {
        if (n > 1'000) { return fill(n) + 1; }
        return n;
    }
    void fill(int n);
};
int twice(int n) { return 2 * n; }
"""


@pytest.fixture
def sources(tmp_path):
    """Return the definitions of a small package."""
    for file, text in {"src/hannan/box.py": PYTHON, "src/hannan/other.py": OTHER, "engine/tank.hpp": CPP}.items():
        path = tmp_path / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return run.Sources(tmp_path)


def mutant(function, before, after="0", file=None):
    """Return a row."""
    return run.Mutant("row", function, before, after, ("tests",), file)


def test_all_rows_resolve():
    assert len(run.resolved(run.rows())) == len(run.rows()) > 250


def test_check_prints_the_number_of_rows():
    done = subprocess.run([sys.executable, str(SCRIPT), "--check"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, f"{len(run.rows())} rows resolve\n")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"function": "no_such_function"}, "no function 'no_such_function'"),
        ({"before": "no_such_name + 1"}, "found 0 times"),
        ({"file": "src/hannan/no_such_file.py"}, "no such file"),
    ],
)
def test_control_row_does_not_resolve(change, words):
    rows = run.rows()
    broken = replace(rows[0], **change)
    with pytest.raises(run.UnresolvedError) as error:
        run.resolved([broken, *rows[1:]])
    assert str(error.value).startswith(f"{broken.name}: ")
    assert words in str(error.value)
    assert "\n" not in str(error.value)  # The other rows still resolve.


def test_control_check_exits_with_2(tmp_path):
    """A copy of the script next to an empty package resolves no row."""
    folder = tmp_path / "tests" / "mutants"
    folder.mkdir(parents=True)
    for file in ("run.py", "mutants.toml"):
        (folder / file).write_text(SCRIPT.with_name(file).read_text(encoding="utf-8"), encoding="utf-8")
    done = subprocess.run([sys.executable, str(folder / "run.py"), "--check"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == len(run.rows())


@pytest.mark.parametrize(
    ("row", "old", "new"),
    [
        (mutant("Box.area", "width * height"), "width  # Comment.\n            * height", "0"),
        (
            mutant("Box.area", "total = total + 1", "pass"),
            "total = total + 1",
            "pass",
        ),  # After a character of two bytes.
        (mutant("Box.area", "(total + 0.5)"), "(total + 0.5)", "0"),
        (mutant("Box.area", 'total, sep=""', 'None, sep=""'), 'total, sep=""', 'None, sep=""'),  # Part of a call.
        (mutant("Box.area", "width - height"), "width - height", "0"),  # Inside an f-string.
        (mutant("Box", "2 * (total + 0.5)"), "2 * (total + 0.5)", "0"),
        (mutant("shared", "return 1", "return 0", "src/hannan/box.py"), "return 1", "return 0"),
        (mutant("<module-level>", "3", "4", "src/hannan/box.py"), "3", "4"),
    ],
)
def test_python_row_changes_one_range(sources, row, old, new):
    assert PYTHON.count(old) == 1
    change = sources.resolve(row)
    assert (change.file, change.compiled) == ("src/hannan/box.py", False)
    assert change.mutated == PYTHON.replace(old, new)


@pytest.mark.parametrize(
    ("row", "old"),
    [
        (mutant("Tank", "fill(n)"), "{ fill(n); }"),
        (mutant("volume", "fill(n)"), "return fill(n)"),
        (mutant("volume", "return n;"), "        return n;"),
        (mutant("twice", "2 * n"), "2 * n"),
    ],
)
def test_cpp_row_changes_one_range(sources, row, old):
    assert CPP.count(old) == 1
    change = sources.resolve(row)
    assert (change.file, change.compiled) == ("engine/tank.hpp", True)
    assert change.mutated == CPP.replace(old, old.replace(row.before, "0"))


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (mutant("shared", "return 1"), "defined in 2 files"),
        (mutant("Box.width", "self.half"), "found 2 times"),
        (mutant("Box.width", "LIMIT"), "found 0 times"),
        (mutant("<module-level>", "return 2", file="src/hannan/other.py"), "no function"),
        (mutant("Box.area", "width * height", "width *"), "not valid Python"),
        (mutant("volume", "return"), "found 2 times"),
        (mutant("area", "return w;"), "no function 'area'"),  # Inside a comment.
        (mutant("fill", "n"), "no function 'fill'"),  # Declaration and calls only.
    ],
)
def test_ambiguous_or_missing_place_is_an_error(sources, row, words):
    with pytest.raises(run.UnresolvedError, match=words):
        sources.resolve(row)


def test_moved_function_resolves_in_its_new_file(tmp_path):
    row = mutant("Box.area", "width * height")
    for file in ("box.py", "merged.py"):
        package = tmp_path / file / "src" / "hannan"
        package.mkdir(parents=True)
        (package / file).write_text(PYTHON, encoding="utf-8")
        assert run.Sources(tmp_path / file).resolve(row).file == f"src/hannan/{file}"


def test_rows_with_one_name_are_an_error(tmp_path):
    row = "[[mutant]]\nname = 'same'\nfunction = 'f'\nbefore = '1'\nafter = '2'\ntests = ['t']\n"
    (tmp_path / "rows.toml").write_text(row * 2, encoding="utf-8")
    with pytest.raises(ValueError, match=r"unique.*same"):
        run.rows(tmp_path / "rows.toml")


def test_copy_that_cannot_be_imported_is_an_error(tmp_path, monkeypatch):
    """A test that fails for this reason detects nothing."""
    monkeypatch.setattr(run, "PLACE", tmp_path)
    package = tmp_path / "copy" / "src" / "hannan"
    package.mkdir(parents=True)
    (tmp_path / "copy" / "test_passes.py").write_text("def test_passes():\n    pass\n", encoding="utf-8")
    suite = run.Suite(tmp_path / "copy")
    try:
        (package / "__init__.py").write_text("", encoding="utf-8")
        assert not suite.fails(["test_passes.py"])
        (package / "__init__.py").write_text("raise KeyError('broken')\n", encoding="utf-8")
        with pytest.raises(ValueError, match=r"ended with 3\n.*broken"):
            suite.fails(["test_passes.py"])
    finally:
        suite.close()
