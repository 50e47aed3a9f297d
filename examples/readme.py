"""Run the first Python example of the README, as pasted."""

from __future__ import annotations

import re
from pathlib import Path

text = (Path(__file__).resolve().parent.parent / "README.md").read_text(encoding="utf-8")
code = re.search(r"```python\n(.*?)```", text, re.DOTALL)
assert code is not None, "README.md has no Python example"
exec(compile(code.group(1), "README.md", "exec"))
