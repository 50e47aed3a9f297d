"""Ctrl-C: a command stops at once, whatever it is doing, and leaves nothing half made.

An exception in the main thread would not do: compiled code does not hear of it before it returns, pools wait for
their threads, and a library that swallows one exception swallows this one. So a thread of its own waits for the
signal (which the interpreter passes on by a wakeup file descriptor even while compiled code runs), kills the
processes that were started, removes what is in the making, and ends the program.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from contextlib import suppress

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
        for processes in ("hannan.paper.workers", "hannan.games.grid.local"):
            # One that is just being imported has started none.
            getattr(sys.modules.get(processes), "kill_all", lambda: None)()
        if "hannan.saving.output" in sys.modules:
            sys.modules["hannan.saving.output"].sweep()
    finally:
        os._exit(code)
