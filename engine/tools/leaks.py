"""Whether code for newer machines stays in its namespace: outside it, the linker could hand it to an old machine.

python engine/tools/leaks.py <build folder>     # exit code 1, and the names, where some does not

Of the objects that are compiled with AVX2, each function that other objects can see must be one of hn::v3.
"""

import re
import subprocess
import sys
from pathlib import Path

#: A name of hn::v3, or of something local to one.
WITHIN = re.compile("_Z[ZNKV]+2hn2v3")


def leaks(listing: str) -> list[str]:
    """The functions outside hn::v3 in what `nm --defined-only` says; tables of numbers may be shared."""
    rows = [line.split() for line in listing.splitlines()]
    return [row[2] for row in rows if len(row) == 3 and row[1] in "TWi" and not WITHIN.match(row[2])]


def main(folder: str) -> str | None:
    """What is wrong with the objects below a folder, or None."""
    objects = [str(path) for path in Path(folder).rglob("kernels_v3.dir/**/*.o")]
    if not objects:
        return f"{folder} must be a build of the engine for x86-64; no objects of hn::v3 are in it"
    listing = subprocess.run(["nm", "--defined-only", *objects], capture_output=True, text=True, check=True)
    found = leaks(listing.stdout)
    return None if not found else "compiled with AVX2 and outside hn::v3:\n  " + "\n  ".join(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
