"""docs/architecture.md names packages and files that exist, and tests use the public interface."""

import ast
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "hannan"
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
#: Modules that stand in no room, beside `__init__`.
LOOSE = 3


def drawn(page: str) -> set[str]:
    """The rooms and loose modules in the picture of the tree: the first word of a line, or of its column."""
    tree = page.split("src/hannan/\n")[1].split("engine/")[0]
    return set(re.findall(r"(?:^  |  )([a-z_]+(?:/|\.py))(?=  )", tree, re.MULTILINE))


def standing(source: Path) -> set[str]:
    """What stands on the ground floor."""
    rooms = {f"{p.name}/" for p in source.iterdir() if (p / "__init__.py").is_file()}
    return rooms | {p.name for p in source.glob("*.py") if p.name != "__init__.py"}


def mentioned(page: str) -> set[str]:
    """Every path between backticks."""
    return {p for p in re.findall(r"`([\w./-]+/[\w./-]*|\.importlinter)`", page) if "." in p or p.endswith("/")}


def lacking(page: str) -> list[str]:
    """Paths of the page that are not there, from the root or from src/hannan."""
    return [p for p in sorted(mentioned(page)) if not ((ROOT / p).exists() or (SOURCE / p).exists())]


def test_the_picture_is_the_tree():
    assert drawn(PAGE) == standing(SOURCE)
    # The controls: a room that is not drawn, and one that does not stand.
    assert drawn(PAGE.replace("  audits/   ", "  attics/   ")) != standing(SOURCE)


def test_every_path_of_the_page_is_there():
    assert len(mentioned(PAGE)) > 25
    assert lacking(PAGE) == []
    assert lacking(PAGE.replace("games/feeds.py", "games/foods.py")) == ["games/foods.py"]


def test_few_modules_stand_in_no_room():
    assert len([name for name in standing(SOURCE) if name.endswith(".py")]) <= LOOSE


ROOMS = sorted(p.name for p in SOURCE.iterdir() if (p / "__init__.py").is_file())


@pytest.mark.parametrize("room", ROOMS)
def test_every_room_has_its_tests(room):
    assert list((ROOT / "tests" / room).glob("test_*.py")), f"tests/{room} must have tests"


def test_nothing_is_called_by_a_word_that_says_nothing():
    words = {"utils", "util", "core", "base", "common", "helpers", "misc"}
    tracked = subprocess.run(
        ["git", "ls-files", "src", "engine"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if tracked.returncode:
        pytest.skip("not a git checkout")
    assert not [p for p in tracked.stdout.split() if words & set(Path(p).with_suffix("").parts)]


#: What tests may know of the inside, and why: attribute -> the reason.
INSIDE = {
    "_put": "no public way leads to losses of 1e7 rounds at once",
    "_player": "a row of a fleet, as the player that it would be: compared with one, field by field",
    "_fields": "a row of a fleet, field by field",
    "_words": "a stream is compared, and given, word by word",
    "_set_words": "as _words",
    "_digest": "a file is forged, with a checksum that is right",
    "_restore": "a state that no play reaches",
    "_leader": "that private noise is not in memory can only be seen there",
    "_mmap": "NumPy's own",
    "_rolling": "a function of an example",
    "_close": "who holds whom",
    "_saved": "the distribution that an open move keeps, bit for bit",
    "_visited": "the work of late settlement, counted",
    "_open_count": "the number of open decisions of a fleet in a file of version 0.2",
    "_asdict": "Python's own", "_replace": "Python's own", "_make": "Python's own", "_repr_html_": "Jupyter's own",
}  # fmt: skip


def inside(text: str) -> set[str]:
    """Private attributes of anything but `self` that a test looks at."""
    found = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Attribute))
    return {
        node.attr
        for node in found
        if re.match(r"_[a-z]", node.attr)
        and not (isinstance(node.value, ast.Name) and node.value.id in ("self", "cls", "_engine", "os", "sys", "hn"))
    }


def test_tests_use_the_public_surface():
    """Not so: tests of the engine, of a store that is broken on purpose, and of other libraries' classes."""
    tests = [
        p for room in ROOMS for p in (ROOT / "tests" / room).glob("test_*.py") if room not in ("serving", "interop")
    ]
    assert len(tests) > 50
    seen = {attribute: p.name for p in tests for attribute in inside(p.read_text(encoding="utf-8"))}
    assert {name: where for name, where in seen.items() if name not in INSIDE} == {}
    assert inside("player._secret + self._mine + move._asdict()") == {"_secret", "_asdict"}
