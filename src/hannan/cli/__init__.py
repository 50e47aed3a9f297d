"""The command `hannan`. Its commands are in `commands`; this file only makes sure that it can be stopped."""

from __future__ import annotations

import sys


def main(arguments: list[str] | None = None) -> None:
    """Run the command; a user's mistake is one line on standard error and exit code 2, never a traceback."""
    if arguments is None:
        # Before anything that takes time is imported. Whoever passes arguments is a program with signals of its own.
        from hannan.cli.commands import done, stoppable

        stoppable()
    from hannan.cli.commands import run

    try:
        code = run(arguments)
    finally:
        if arguments is None:
            done()
    sys.exit(code)
