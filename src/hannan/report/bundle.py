"""The chart library as text, made once a version: vl-convert bundles it in seconds, a file is read in milliseconds."""

from __future__ import annotations

import os
import tempfile
from functools import lru_cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path


@lru_cache(maxsize=1)
def javascript() -> str:
    """Vega, Vega-Lite and vega-embed as vl-convert carries them; kept in the user's cache folder where it can be."""
    try:
        kept = _folder() / f"vega-{version('vl-convert-python')}.js"
    except (PackageNotFoundError, RuntimeError):
        return _made()
    try:
        text = kept.read_text(encoding="utf-8")
        if text.endswith(_END):
            return text
    except (OSError, UnicodeDecodeError):
        pass
    text = _made()
    _keep(kept, text)
    return text


#: The last line of a file that is whole.
_END = "\n// end of bundle\n"


def _made() -> str:
    return str(import_module("vl_convert").javascript_bundle()) + _END


def _folder() -> Path:
    root = os.environ.get("XDG_CACHE_HOME")
    return (Path(root) if root else Path.home() / ".cache") / "hannan"


def _keep(path: Path, text: str) -> None:
    """Write beside the place and rename; a folder that cannot be written to is no reason to fail."""
    beside = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, beside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with open(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(beside, path)
    except OSError:
        if beside is not None:
            Path(beside).unlink(missing_ok=True)
