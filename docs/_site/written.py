"""What pages have of the package itself, written into their Markdown: it is there without a site too.

`make pages` writes it between the marks of a page; tests/test_site.py fails where the package has moved on since.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(DOCS.parent))  # `benchmarks` has the list of learners

import claim_pages  # noqa: E402
import learner_map  # noqa: E402

MAKERS = {
    "which-first": learner_map.first_table,
    "which-needs": learner_map.needs_table,
    "which-all": learner_map.whole_table,
    "claims": claim_pages.page,
}
MARKED = re.compile(r"(<!-- made: (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)


def pages() -> list[Path]:
    """The pages that have such marks."""
    return sorted(page for page in DOCS.glob("*.md") if MARKED.search(page.read_text(encoding="utf-8")))


def fresh(text: str) -> str:
    """A page with what stands between its marks made anew.

    >>> "| hn.Bandit(n) |" in fresh("<!-- made: which-first -->\\nold\\n<!-- end -->").replace("`", "")
    True
    """
    return MARKED.sub(lambda found: f"{found[1]}\n{MAKERS[found[2]]().strip()}\n\n{found[3]}", text)


if __name__ == "__main__":
    for page in pages():
        page.write_text(fresh(page.read_text(encoding="utf-8")), encoding="utf-8")
