"""docs/architecture.md names packages and files that exist, and tests use the public interface."""

import ast
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "hannan"
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
PACKAGES = sorted(p.name for p in SOURCE.iterdir() if (p / "__init__.py").is_file())


def missing(page: str) -> list[str]:
    """Return the packages that the tree on the page does not list."""
    tree = page.split("src/hannan/\n")[1].split("engine/")[0]
    return [name for name in PACKAGES if not re.search(rf"^ +{name}/ ", tree, re.MULTILINE)]


def mentioned(page: str) -> set[str]:
    """Return the paths between backticks."""
    return {p for p in re.findall(r"`([\w./-]+/[\w./-]*|\.importlinter)`", page) if "." in p or p.endswith("/")}


def lacking(page: str) -> list[str]:
    """Return the paths on the page that exist neither in the root nor in src/hannan."""
    return [p for p in sorted(mentioned(page)) if not ((ROOT / p).exists() or (SOURCE / p).exists())]


def test_the_page_lists_every_package():
    assert missing(PAGE) == []
    assert missing(PAGE.replace("  audits/   ", "  attics/   ")) == ["audits"]  # control


def test_every_path_on_the_page_exists():
    assert len(mentioned(PAGE)) > 25
    assert lacking(PAGE) == []
    assert lacking(PAGE.replace("games/feeds.py", "games/foods.py")) == ["games/foods.py"]


@pytest.mark.parametrize("package", PACKAGES)
def test_every_package_has_tests(package):
    assert list((ROOT / "tests" / package).glob("test_*.py")), f"tests/{package} must contain tests"


def test_no_module_has_a_meaningless_name():
    words = {"utils", "util", "core", "base", "common", "helpers", "misc"}
    tracked = subprocess.run(
        ["git", "ls-files", "src", "engine"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if tracked.returncode:
        pytest.skip("not a git checkout")
    assert not [p for p in tracked.stdout.split() if words & set(Path(p).with_suffix("").parts)]


#: Private attributes that tests may use, with the reason.
INSIDE = {
    "_put": "no public call reaches losses of 1e7 rounds quickly",
    "_player": "a row of a fleet as a player, compared field by field with a player",
    "_fields": "the fields of a row of a fleet",
    "_evidence": "the table of evidence is compared bit by bit",
    "_words": "a random stream is compared and set word by word",
    "_set_words": "sets what _words returns",
    "_digest": "a crafted file with a correct checksum",
    "_restore": "a state that no sequence of rounds reaches",
    "_leader": "the only place where private noise could be stored",
    "_mmap": "an attribute of NumPy",
    "_rolling": "a function of an example",
    "_close": "references between objects",
    "_saved": "the distribution stored with an open move, bit for bit",
    "_visited": "counts the steps of a late settlement",
    "_open_count": "the number of open decisions of a fleet in a file of version 0.2",
    "_asdict": "namedtuple", "_replace": "namedtuple", "_make": "namedtuple", "_repr_html_": "Jupyter",
}  # fmt: skip


def of_python(text: str) -> bool:
    """True if C++ code names a type of Python or of nanobind; comments do not count."""
    code = re.sub(r"//[^\n]*", "", text)
    return bool(re.search(r"\bnb::|nanobind|\bPy[A-Z]\w*|bindings/", code))


def test_only_bindings_use_types_of_python():
    """Control: every file of the bindings does."""
    files = {path.relative_to(ROOT / "engine"): path.read_text() for path in (ROOT / "engine").rglob("*.[ch]pp")}
    found = {path for path, text in files.items() if of_python(text)}
    assert len(files) > 100
    assert found == {path for path in files if path.parts[0] == "bindings"}


def inside(text: str) -> set[str]:
    """Return the private attributes that a test uses, except those of `self`."""
    found = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Attribute))
    return {
        node.attr
        for node in found
        if re.match(r"_[a-z]", node.attr)
        and not (isinstance(node.value, ast.Name) and node.value.id in ("self", "cls", "_engine", "os", "sys", "hn"))
    }


def test_tests_use_the_public_interface():
    """Excluded: tests of the engine, of stores that are damaged on purpose, and of classes of other libraries."""
    tests = [
        p
        for package in PACKAGES
        for p in (ROOT / "tests" / package).glob("test_*.py")
        if package not in ("serving", "interop")
    ]
    assert len(tests) > 50
    seen = {attribute: p.name for p in tests for attribute in inside(p.read_text(encoding="utf-8"))}
    assert {name: where for name, where in seen.items() if name not in INSIDE} == {}
    assert inside("player._secret + self._mine + move._asdict()") == {"_secret", "_asdict"}
