"""A progress bar for long games: only in a terminal, only after a second, gone when the game is over."""

from __future__ import annotations

import sys
import time
from typing import Any

DELAY = 1.0


class Progress:
    """Bar of the work done so far, on a terminal, if the work takes longer than DELAY.

    `rounds` is the total amount of work, None if unknown; `task` is the word before the bar. With `show=False` there is
    no bar.
    """

    def __init__(self, rounds: int | None, task: str = "playing", show: bool = True) -> None:
        self._rounds, self._name = rounds, task
        self._began = time.monotonic()
        self._bar: Any = None
        self._task: Any = None
        shown = sys.stderr  # a service may have closed it, or have none
        self._wanted = show and shown is not None and not getattr(shown, "closed", False) and shown.isatty()

    def update(self, played: int) -> None:
        """Show the amount of work done so far."""
        if not self._wanted:
            return
        if self._bar is None:
            if time.monotonic() - self._began < DELAY:
                return
            from rich.console import Console
            from rich.progress import Progress as Bar

            self._bar = Bar(console=Console(stderr=True), transient=True)
            self._bar.start()
            self._task = self._bar.add_task(self._name, total=self._rounds)
        self._bar.update(self._task, completed=played)

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Leave the terminal as it was."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
