"""Commands that install the packages of an extra."""

from __future__ import annotations

import re


def command(extra: str, *packages: str) -> str:
    """Return a shell command that installs the packages of an extra, or only those named.

    The command names the packages instead of `hannan[extra]`, so that it works while hannan is not published, in any
    folder, and without building the engine again.

    >>> command("sklearn")
    "pip install 'scikit-learn>=1.5'"
    >>> command("data", "pyarrow")
    "pip install 'pyarrow>=15'"
    """
    from importlib.metadata import PackageNotFoundError, requires  # takes longer to import than most commands need

    try:
        declared = [line.split(";") for line in requires("hannan") or ()]
    except PackageNotFoundError:  # imported from a folder that is not installed
        return f"pip install '.[{extra}]' in the checkout"
    found = [
        requirement.strip()
        for requirement, *markers in declared
        if re.search(rf"extra\s*==\s*['\"]{extra}['\"]", ";".join(markers))
        and (not packages or re.split(r"[^\w.-]", requirement.strip())[0] in packages)
    ]
    return "pip install " + " ".join(f"'{requirement}'" for requirement in found)
