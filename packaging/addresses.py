"""Write the address of the repository into the metadata of a release.

A fork, or a repository that moves, publishes its own address: the release job passes it. Relative links of README.md,
which a package index cannot follow, become links to the files of the released commit.

Usage: python packaging/addresses.py https://example.org/owner/hannan v0.3.0
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LINK = re.compile(r"(!?)\[((?:[^\]\[]|\n)+)\]\((?!https?:|mailto:|#)([^)\s]+)\)")


def absolute(text: str, repository: str, commit: str) -> str:
    """Return a page with absolute links.

    >>> absolute("[a](docs/a.md), ![b](docs/b.png), [c](https://c.org)", "https://x.org/h", "v1")
    '[a](https://x.org/h/blob/v1/docs/a.md), ![b](https://x.org/h/raw/v1/docs/b.png), [c](https://c.org)'
    """

    def link(found: re.Match[str]) -> str:
        image, words, path = found.groups()
        return f"{image}[{words}]({repository}/{'raw' if image else 'blob'}/{commit}/{path.removeprefix('./')})"

    return LINK.sub(link, text)


def urls(repository: str, commit: str) -> str:
    """Return the table of addresses for pyproject.toml.

    >>> print(urls("https://x.org/h", "v1").splitlines()[1])
    Homepage = "https://x.org/h"
    """
    pages = {
        "Homepage": repository,
        "Documentation": f"{repository}/tree/{commit}/docs",
        "Source": repository,
        "Issues": f"{repository}/issues",
        "Changelog": f"{repository}/blob/{commit}/CHANGELOG.md",
    }
    return "[project.urls]\n" + "".join(f'{name} = "{address}"\n' for name, address in pages.items())


def main(repository: str, commit: str, root: Path = ROOT) -> None:
    """Rewrite README.md and pyproject.toml in a checkout."""
    repository = repository.rstrip("/")
    if not re.fullmatch(r"https://[\w.-]+(/[\w.-]+)+", repository):
        raise SystemExit(f"the address of the repository must be https://host/owner/name; got {repository!r}")
    readme, project = root / "README.md", root / "pyproject.toml"
    text = project.read_text(encoding="utf-8")
    if "[project.urls]" in text:
        raise SystemExit("pyproject.toml already has [project.urls]; run this program in a fresh checkout")
    readme.write_text(absolute(readme.read_text(encoding="utf-8"), repository, commit), encoding="utf-8")
    project.write_text(
        text.replace("[project.scripts]", urls(repository, commit) + "\n[project.scripts]", 1), encoding="utf-8"
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
