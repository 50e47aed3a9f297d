"""The command group `hannan`: lazy commands, error messages, exit codes and signals."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import warnings
from contextlib import suppress
from importlib import import_module

import click

from hannan import __version__, extras

#: Commands by job, in the order of `hannan --help`. The module `hannan.cli.NAME` defines each of them as `command`.
JOBS = {
    "Forecasts": ("combine",),
    "Decisions": ("serve", "store", "evidence", "replay"),
    "Experiments": ("play", "bound", "route", "sweep"),
    "Privacy and theory": ("privacy", "audit", "reproduce"),
}
COMMANDS = tuple(name for names in JOBS.values() for name in names)

EPILOG = """\b
Examples:
  hannan play --learner bandit --n 10 --rounds 100000
  hannan bound --learner experts --n 10 --best-loss 100
  hannan combine forecasts.csv --target y --out combined

\b
Shell completion (replace bash by zsh or fish):
  eval "$(_HANNAN_COMPLETE=bash_source hannan)"
"""


class Commands(click.Group):
    """Group that imports a command when it is used, so that `hannan --help` starts quickly."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands by job."""
        found = {name: self.get_command(ctx, name) for name in COMMANDS}
        width = formatter.width - 6 - max(map(len, COMMANDS))
        for job, names in JOBS.items():
            with formatter.section(job):
                rows = [(name, command.get_short_help_str(width)) for name in names if (command := found[name])]
                formatter.write_dl(rows, col_spacing=2 + max(map(len, COMMANDS)) - max(map(len, names)))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command = import_module(f"hannan.cli.{cmd_name}").command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from hannan.validation import meant  # imports NumPy, which --help does not need

            raise click.UsageError(f"no such command {args[0]!r}{meant(args[0], COMMANDS)}", ctx)
        return super().resolve_command(ctx, args)


@click.group(cls=Commands, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="hannan %(version)s")
def hannan() -> None:
    """Combine forecasts, run bandits and compare online learners, with proved regret bounds.

    All commands except serve and store accept --json, --seed and --out.
    """


def run(arguments: list[str] | None = None) -> int:
    """Run the command and return its exit code.

    The code is 0 on success, 1 if a check failed, 2 after an error of the user, and 130 if the command was stopped.
    """
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115, open until the process ends
    if sys.stdout is None:
        return _report_error("standard output is closed")
    try:
        with warnings.catch_warnings():
            # A result computed with an overflow would be wrong.
            warnings.simplefilter("error", RuntimeWarning)
            code = hannan.main(args=arguments, prog_name="hannan", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.Exit as leave:
        code = leave.exit_code
    except SystemExit as leave:
        code = leave.code if isinstance(leave.code, int) else 1
    except click.exceptions.NoArgsIsHelpError as empty:
        click.echo(empty.format_message(), err=True)
        code = 2
    except click.Abort:
        click.echo("hannan: stopped", err=True)
        code = 130
    except click.ClickException as mistake:
        where = getattr(mistake, "ctx", None)
        hint = f" (see {where.command_path} --help)" if isinstance(mistake, click.UsageError) and where else ""
        code = _report_error(mistake.format_message() + hint)
    except BrokenPipeError:
        code = 0  # the reader of the pipe has exited
    except OSError as mistake:
        what = f"{mistake.filename}: " if mistake.filename else ""
        code = _report_error(f"{what}{mistake.strerror or mistake}")
    except ValueError as mistake:
        code = _report_error(str(mistake))
    except MemoryError as mistake:
        code = _report_error(": ".join(["out of memory", *filter(None, [str(mistake)])]))
    except (ArithmeticError, RecursionError, RuntimeWarning) as mistake:
        code = _report_error(f"numeric overflow: {type(mistake).__name__}: {mistake}")
    except ModuleNotFoundError as missing:
        if missing.name is None:  # raised by hannan, with the command that installs the package
            code = _report_error(str(missing))
        elif missing.name in ("altair", "vl_convert"):
            code = _report_error(f"the report needs {missing.name}: {extras.command('report')}")
        else:
            raise
    return _flush(code if isinstance(code, int) else 0)


def _flush(code: int) -> int:
    """Flush standard output and return the exit code: 2 if the output cannot be written, for example to a full disk."""
    try:
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        pass
    except (OSError, ValueError) as mistake:
        code = code or _report_error(f"standard output: {getattr(mistake, 'strerror', None) or mistake}")
    # Otherwise the interpreter flushes again at exit and prints a second error.
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code


def _report_error(message: str) -> int:
    click.echo(f"hannan: error: {' '.join(message.split())}", err=True)
    return 2


#: Exit codes after a signal, as a shell reports them: 128 + number of the signal.
CODES = {int(signal.SIGINT): 130, int(signal.SIGTERM): 143}

_open: list[socket.socket] = []
#: Set when a signal is being handled. The main thread then must not exit with a result.
_leaving = threading.Event()


def handle_signals() -> None:
    """End this program soon after SIGINT or SIGTERM, with one line on standard error and exit code 130 or 143."""
    if threading.current_thread() is not threading.main_thread():
        return
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)
    _open[:] = [ours, theirs]  # keep the sockets open: the wake-up of the signal is lost otherwise
    for number in CODES:
        # A background job of a script inherits an ignored SIGINT, and keeps ignoring it.
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _received)
    signal.set_wakeup_fd(theirs.fileno(), warn_on_full_buffer=False)
    threading.Thread(target=_wait, args=(ours,), name="hannan-stopping", daemon=True).start()


def restore_signals() -> None:
    """Restore the default signal handlers, for a command that stops in its own way."""
    if threading.current_thread() is not threading.main_thread() or not _open:
        return
    signal.set_wakeup_fd(-1)
    for number in CODES:
        if signal.getsignal(number) is _received:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)


def ignore_signals() -> None:
    """Ignore signals after the command has ended, so that the exit code does not change while the interpreter exits."""
    if threading.current_thread() is not threading.main_thread():
        return
    if _leaving.is_set():
        threading.Event().wait()  # the thread that received the signal ends the program
    for number in CODES:
        signal.signal(number, signal.SIG_IGN)


def _received(number: int, frame: object) -> None:
    """Do nothing: the thread of `handle_signals` reads the signal from its socket."""


def _wait(ours: socket.socket) -> None:
    while received := ours.recv(64):
        for number in received:
            if number in CODES:
                _leave(CODES[number])


def _leave(code: int) -> None:
    _leaving.set()
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None and stream.isatty():
                os.write(stream.fileno(), b"\r\033[K\033[?25h")  # clear the progress bar and show the cursor
        with suppress(OSError):
            os.write(2, b"hannan: stopped\n")
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # suppress errors about killed worker processes
        # Look the modules up without importing them: a module that was not imported has no processes or files.
        # The attribute is missing while the module is being imported.
        getattr(sys.modules.get("hannan.games.sweep.workers"), "kill_all", lambda: None)()
        if "hannan.saving.files" in sys.modules:
            sys.modules["hannan.saving.files"].sweep()
    finally:
        os._exit(code)
