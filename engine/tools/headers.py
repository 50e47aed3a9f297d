"""Whether this Python has its headers, without which nothing can be built: says which package has them if not.

python engine/tools/headers.py [folder]
"""

import os
import sys
import sysconfig

ADVICE = """\
the engine of hannan is compiled, and this Python ({python}) has no headers: {folder}/Python.h is not there.
Install them (Debian, Ubuntu: apt install python3-dev; Fedora: dnf install python3-devel; Alpine: apk add python3-dev),
or use another Python (PYTHON=..., e.g. one of pyenv, conda or uv, which bring theirs)."""


def missing(folder: str) -> bool:
    """Whether Python.h is not in the folder."""
    return not os.path.exists(os.path.join(folder, "Python.h"))


if __name__ == "__main__":
    where = sys.argv[1] if len(sys.argv) > 1 else sysconfig.get_path("include")
    if missing(where):
        sys.exit(ADVICE.format(python=sys.executable, folder=where))
