"""Page of the service: one file with the style of the other pages of the package."""

from __future__ import annotations

from importlib import resources

from hannan import __version__

_PARTS = {
    "STYLE": ("report/page.css", "serving/page.css"),
    "SCRIPT": ("serving/page.js",),
}


def _page() -> bytes:
    source = resources.files("hannan")
    text = (source / "serving" / "page.html").read_text(encoding="utf-8")
    for place, files in _PARTS.items():
        text = text.replace(place, "".join((source / name).read_text(encoding="utf-8") for name in files))
    return text.replace("VERSION", __version__).encode()


PAGE = _page()
