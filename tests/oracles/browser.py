"""A browser for the tests of pages: Debian's Chromium, driven by playwright; tests are skipped if it is missing."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)
#: As root and without network, as in CI; otherwise Chromium looks for updates.
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@contextmanager
def chromium(*flags: str) -> Iterator[Any]:
    """An open browser."""
    if CHROMIUM is None:
        pytest.skip("no Chromium is installed (chromium, chromium-browser or google-chrome on the path)")
    sync = pytest.importorskip("playwright.sync_api")
    with sync.sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=CHROMIUM, args=[*FLAGS, *flags])
        yield launched
        launched.close()
