"""Tables and lists of pages that are generated from the package, and written into the Markdown between marks.

`make pages` writes them. tests/test_site.py fails if a page is out of date.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(DOCS.parent))  # `benchmarks` has the list of learners

import claim_pages  # noqa: E402
import learner_map  # noqa: E402

MAKERS = {
    "which-first": learner_map.first_table,
    "which-needs": learner_map.needs_table,
    "all-learners": learner_map.whole_table,
    "claims": claim_pages.page,
}
MARKED = re.compile(r"(<!-- made: (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)


def pages() -> list[Path]:
    """Return the pages that contain marks."""
    return sorted(page for page in DOCS.glob("*.md") if MARKED.search(page.read_text(encoding="utf-8")))


def fresh(text: str) -> str:
    """Return the text of a page, with the parts between marks generated anew.

    >>> "| hn.Bandit(n) |" in fresh("<!-- made: which-first -->\\nold\\n<!-- end -->").replace("`", "")
    True
    """
    return MARKED.sub(lambda found: f"{found[1]}\n{MAKERS[found[2]]().strip()}\n\n{found[3]}", text)


#: Notebook that is committed with its outputs.
NOTEBOOK = DOCS.parent / "examples" / "paper.ipynb"


def executed(path: Path) -> Any:
    """Return a notebook with fresh outputs, without times of execution; consecutive parts of a stream are joined."""
    import nbclient
    import nbformat

    book = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(book, timeout=300, kernel_name="python3", record_timing=False).execute()
    for cell in book.cells:
        if text := "".join(out["text"] for out in cell.get("outputs", []) if out.get("name") == "stdout"):
            cell["outputs"] = [nbformat.v4.new_output("stream", name="stdout", text=text)]
    book.metadata["language_info"] = {"name": "python"}
    return book


if __name__ == "__main__":
    for page in pages():
        page.write_text(fresh(page.read_text(encoding="utf-8")), encoding="utf-8")
    import nbformat

    nbformat.write(executed(NOTEBOOK), NOTEBOOK)
