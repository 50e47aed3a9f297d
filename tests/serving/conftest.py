"""Fixtures of the tests of stores."""

from pathlib import Path

import pytest


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the path of a new store."""
    return tmp_path / "decisions.db"
