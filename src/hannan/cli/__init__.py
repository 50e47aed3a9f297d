"""The command `hannan`. Each command is a file of this package with a `command`; its name goes into COMMANDS."""

from __future__ import annotations

import os
import sys
from importlib import import_module

import click

#: In the order of `hannan --help`; the file of `x-y` is `x_y.py`.
COMMANDS = ("reproduce", "play", "audit", "bound", "combine", "replay", "route", "tournament")

EPILOG = """\b
Examples:
  hannan reproduce --quick
  hannan play --learner bandit --smoothing tsallis --n 10 --rounds 100000
  hannan bound --learner experts --n 10 --best-loss 100 --json

\b
Shell completion (bash; for zsh or fish put its name for bash):
  eval "$(_HANNAN_COMPLETE=bash_source hannan)"
"""


class Commands(click.Group):
    """Commands that are imported when they are asked for, so that `hannan --help` stays instant."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command = import_module(f"hannan.cli.{cmd_name.replace('-', '_')}").command
        assert isinstance(command, click.Command)
        return command


@click.group(cls=Commands, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="hannan", message="hannan %(version)s")
def hannan() -> None:
    """Online decisions with proof: play, bound and audit perturbed and regularized leaders.

    Every command takes --json (then standard output is JSON and nothing else), --seed and --out.
    """


def main(arguments: list[str] | None = None) -> None:
    """Run the command; a user's mistake is one line on standard error and exit code 2, never a traceback."""
    try:
        code = hannan.main(args=arguments, prog_name="hannan", standalone_mode=False)
    except click.exceptions.Exit as leave:
        code = leave.exit_code
    except click.exceptions.NoArgsIsHelpError as empty:
        click.echo(empty.format_message(), err=True)
        code = 2
    except click.Abort:
        _refuse("stopped")
        code = 130
    except click.ClickException as mistake:
        where = getattr(mistake, "ctx", None)
        hint = f" (see {where.command_path} --help)" if isinstance(mistake, click.UsageError) and where else ""
        code = _refuse(" ".join(mistake.format_message().split()) + hint)
    except BrokenPipeError:
        # The reader of a pipe has gone; without this the interpreter would complain once more at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except (ValueError, OSError) as mistake:
        code = _refuse(" ".join(str(mistake).split()))
    except ModuleNotFoundError as missing:
        if missing.name not in ("altair", "vl_convert"):
            raise
        code = _refuse(f"the report needs {missing.name}: pip install 'hannan[report]'")
    sys.exit(code if isinstance(code, int) else 0)


def _refuse(message: str) -> int:
    click.echo(f"hannan: error: {message}", err=True)
    return 2
