"""Check that functions compiled with AVX2 are in namespace hn::v3.

python engine/tools/leaks.py <build folder>     # exit code 1 and the names of all others

The linker keeps one copy of an inline function. If that copy used AVX2 and were outside hn::v3, a machine without AVX2
would call it.
"""

import re
import subprocess
import sys
from pathlib import Path

#: Mangled name in hn::v3, or local to a function in hn::v3.
WITHIN = re.compile("_Z[ZNKV]+2hn2v3")


def leaks(listing: str) -> list[str]:
    """Return the functions outside hn::v3 in the output of `nm --defined-only`. Tables of numbers may be shared."""
    rows = [line.split() for line in listing.splitlines()]
    return [row[2] for row in rows if len(row) == 3 and row[1] in "TWi" and not WITHIN.match(row[2])]


def main(folder: str) -> str | None:
    """Return an error message for the object files below a folder, or None."""
    objects = [str(path) for path in Path(folder).rglob("kernels_v3.dir/**/*.o")]
    if not objects:
        return f"{folder} must be a build of the engine for x86-64; it has no object files of hn::v3"
    listing = subprocess.run(["nm", "--defined-only", *objects], capture_output=True, text=True, check=True)
    found = leaks(listing.stdout)
    return None if not found else "compiled with AVX2 and outside hn::v3:\n  " + "\n  ".join(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
