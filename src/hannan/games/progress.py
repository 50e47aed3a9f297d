"""A progress bar for long games: only in a terminal, only after a second, gone when the game is over."""

from __future__ import annotations

import sys
import time
from typing import Any

DELAY = 1.0


class Progress:
    """Tell it the rounds played; it decides whether to show."""

    def __init__(self, rounds: int | None) -> None:
        self._rounds = rounds
        self._began = time.monotonic()
        self._bar: Any = None
        self._task: Any = None
        shown = sys.stderr  # a service may have closed it, or have none
        self._wanted = shown is not None and not getattr(shown, "closed", False) and shown.isatty()

    def update(self, played: int) -> None:
        """So many rounds were played."""
        if not self._wanted:
            return
        if self._bar is None:
            if time.monotonic() - self._began < DELAY:
                return
            from rich.console import Console
            from rich.progress import Progress as Bar

            self._bar = Bar(console=Console(stderr=True), transient=True)
            self._bar.start()
            self._task = self._bar.add_task("playing", total=self._rounds)
        self._bar.update(self._task, completed=played)

    def close(self) -> None:
        """Leave the terminal as it was."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
