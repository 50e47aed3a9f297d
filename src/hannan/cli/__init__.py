"""The command `hannan`: its entry point. The module `commands` contains the command group."""

from __future__ import annotations

import sys


def main(arguments: list[str] | None = None) -> None:
    """Run the command. An error of the user is printed as one line on standard error, with exit code 2."""
    if arguments is None:
        # Before the slow imports. A caller that passes arguments handles its own signals.
        from hannan.cli.commands import handle_signals, ignore_signals

        handle_signals()
    from hannan.cli.commands import run

    try:
        code = run(arguments)
    finally:
        if arguments is None:
            ignore_signals()
    sys.exit(code)
