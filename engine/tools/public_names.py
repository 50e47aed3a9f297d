"""Write src/hannan/__init__.pyi, which imports the public names for type checkers.

python engine/tools/public_names.py [file]
"""

import sys
from pathlib import Path
from textwrap import fill

import hannan

HEAD = '''"""The public names, for type checkers and editors. Written by engine/tools/public_names.py."""

__version__: str
'''


def text() -> str:
    """Return the text of the stub: imports of names and modules, and `__all__`."""
    lines = []
    for home, names in hannan._HOME.items():
        lines += [f"from hannan.{home} import {name} as {name}" for name in names]
    for name, home in hannan._MODULES.items():
        room, _, module = f"hannan.{home}".rpartition(".")
        lines.append(f"from {room} import {module} as {name}")
    listed = fill(
        ", ".join(f'"{name}"' for name in hannan.__all__), 110, initial_indent="    ", subsequent_indent="    "
    )
    return "\n".join([HEAD, *sorted(lines), "", f"__all__ = [\n{listed}\n]", ""])


if __name__ == "__main__":
    target = Path(__file__).resolve().parents[2] / "src" / "hannan" / "__init__.pyi"
    Path(sys.argv[1] if len(sys.argv) > 1 else target).write_text(text(), encoding="utf-8")
