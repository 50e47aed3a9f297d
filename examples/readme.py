"""Run the first Python example of the README, as pasted; with a path, draw the README's picture there.

python examples/readme.py [docs/approval.png]
"""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def first() -> str:
    """The first Python of the README."""
    code = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert code is not None, "README.md has no Python example"
    return code.group(1)


def picture(path: str) -> None:
    """The picture of the gallery's first page."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    runpy.run_path(str(ROOT / "examples" / "gallery" / "plot_approval.py"))
    pyplot.gcf().savefig(path, dpi=90)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        picture(sys.argv[1])
    else:
        exec(compile(first(), "README.md", "exec"))
