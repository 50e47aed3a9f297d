"""Check that a tag may be released: every file that states a version states that of the tag.

python packaging/release.py v0.3.0
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: Files with a version, and where it is.
STATED = {
    "pyproject.toml": r'^version = "([^"]+)"',
    "src/hannan/__init__.py": r'^__version__ = "([^"]+)"',
    "CITATION.cff": r"^version: (\S+)",
    "CHANGELOG.md": r"^## ([\d.]+)",
    "packaging/conda/recipe.yaml": r"^  version: (\S+)",
}


def stated(root: Path = ROOT) -> dict[str, str]:
    """Return the version that each file states."""
    found = {name: re.search(place, (root / name).read_text(encoding="utf-8"), re.M) for name, place in STATED.items()}
    return {name: match[1] if match else "none" for name, match in found.items()}


def main(tag: str, root: Path = ROOT) -> None:
    """Exit with an error if a file states another version than the tag."""
    others = {name: version for name, version in stated(root).items() if f"v{version}" != tag}
    if others:
        raise SystemExit(f"the tag is {tag}, but " + ", ".join(f"{name} states {it}" for name, it in others.items()))


if __name__ == "__main__":
    main(*sys.argv[1:])
