"""Check that the headers of this Python are installed; if not, print the package that contains them.

python engine/tools/headers.py [folder]
"""

import os
import sys
import sysconfig

ADVICE = """\
building the engine needs the headers of this Python ({python}); no such file: {folder}/Python.h.
Install them (Debian, Ubuntu: apt install python3-dev; Fedora: dnf install python3-devel; Alpine: apk add python3-dev),
or use another Python (PYTHON=..., for example from pyenv, conda or uv, which include the headers)."""


def missing(folder: str) -> bool:
    """Return True if the folder has no Python.h."""
    return not os.path.exists(os.path.join(folder, "Python.h"))


if __name__ == "__main__":
    where = sys.argv[1] if len(sys.argv) > 1 else sysconfig.get_path("include")
    if missing(where):
        sys.exit(ADVICE.format(python=sys.executable, folder=where))
