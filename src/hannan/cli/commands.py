"""Each command is a file of this package with a `command`; its name goes into COMMANDS."""

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

#: In the order of `hannan --help`; the file of `x-y` is `x_y.py`.
COMMANDS = (
    "reproduce",
    "play",
    "audit",
    "bound",
    "combine",
    "replay",
    "route",
    "sweep",
    "serve",
    "privacy",
)

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

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from hannan.validation import meant  # needs NumPy, which --help does not

            raise click.UsageError(f"No such command {args[0]!r}{meant(args[0], COMMANDS)}", ctx)
        return super().resolve_command(ctx, args)


@click.group(cls=Commands, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="hannan %(version)s")
def hannan() -> None:
    """Online decisions with proof: play, bound and audit perturbed and regularized leaders.

    Every command but serve takes --json (then standard output is JSON and nothing else), --seed and --out.
    """


def run(arguments: list[str] | None = None) -> int:
    """Run the command and say how it went: 0, 1 where a check failed, 2 for a mistake, 130 when it was stopped."""
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115, open to the end
    if sys.stdout is None:
        return _refuse("standard output must be open; it is closed")
    try:
        with warnings.catch_warnings():
            # A number that overflowed is no result.
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
        code = _refuse(mistake.format_message() + hint)
    except BrokenPipeError:
        code = 0  # the reader of a pipe has gone
    except OSError as mistake:
        what = f"{mistake.filename}: " if mistake.filename else ""
        code = _refuse(f"{what}{mistake.strerror or mistake}")
    except ValueError as mistake:
        code = _refuse(str(mistake))
    except MemoryError as mistake:
        code = _refuse(f"it must fit in memory; got {str(mistake) or 'too much for it'}")
    except (ArithmeticError, RecursionError, RuntimeWarning) as mistake:
        code = _refuse(f"the numbers must stay within what a computer holds; got {type(mistake).__name__}: {mistake}")
    except ModuleNotFoundError as missing:
        if missing.name is None:  # a sentence of ours, which says what to install
            code = _refuse(str(missing))
        elif missing.name in ("altair", "vl_convert"):
            code = _refuse(f"the report needs {missing.name}: {extras.command('report')}")
        else:
            raise
    return _flushed(code if isinstance(code, int) else 0)


def _flushed(code: int) -> int:
    """The exit code, once all that was printed has arrived: a full disk is found out here at the latest."""
    try:
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        pass
    except (OSError, ValueError) as mistake:
        code = code or _refuse(f"standard output: {getattr(mistake, 'strerror', None) or mistake}")
    # Else the interpreter would try, and complain, once more at its end.
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code


def _refuse(message: str) -> int:
    click.echo(f"hannan: error: {' '.join(message.split())}", err=True)
    return 2


#: What a shell makes of a process that ends by a signal: 128 + its number.
CODES = {int(signal.SIGINT): 130, int(signal.SIGTERM): 143}

_open: list[socket.socket] = []
#: Set once a signal is being followed: what the main thread comes to then is no result.
_leaving = threading.Event()


def stoppable() -> None:
    """From now on SIGINT and SIGTERM end this program within moments: one line, exit code 130 or 143."""
    if threading.current_thread() is not threading.main_thread():
        return
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)
    _open[:] = [ours, theirs]  # closed sockets would take the signal with them
    for number in CODES:
        # Who started us in the background may have told us to ignore it.
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _heard)
    signal.set_wakeup_fd(theirs.fileno(), warn_on_full_buffer=False)
    threading.Thread(target=_wait, args=(ours,), name="hannan-stopping", daemon=True).start()


def let_be() -> None:
    """This command has a way of its own to stop: signals come as they would without us."""
    if threading.current_thread() is not threading.main_thread() or not _open:
        return
    signal.set_wakeup_fd(-1)
    for number in CODES:
        if signal.getsignal(number) is _heard:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)


def done() -> None:
    """The command is over and its code stands: a signal while the interpreter closes would end it by another."""
    if threading.current_thread() is not threading.main_thread():
        return
    if _leaving.is_set():
        threading.Event().wait()  # the thread that heard the signal ends the program
    for number in CODES:
        signal.signal(number, signal.SIG_IGN)


def _heard(number: int, frame: object) -> None:
    """Nothing: the thread has heard it too."""


def _wait(ours: socket.socket) -> None:
    while heard := ours.recv(64):
        for number in heard:
            if number in CODES:
                _leave(CODES[number])


def _leave(code: int) -> None:
    _leaving.set()
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None and stream.isatty():
                os.write(stream.fileno(), b"\r\033[K\033[?25h")  # a bar may have hidden the cursor
        with suppress(OSError):
            os.write(2, b"hannan: stopped\n")
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # whoever loses its processes now may complain of it
        # What was never imported has nothing to end.
        for processes in ("hannan.paper.running", "hannan.games.sweep.local"):
            # One that is just being imported has started none.
            getattr(sys.modules.get(processes), "kill_all", lambda: None)()
        if "hannan.saving.files" in sys.modules:
            sys.modules["hannan.saving.files"].sweep()
    finally:
        os._exit(code)
