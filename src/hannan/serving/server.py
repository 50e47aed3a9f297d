"""Life of a service: open the store, listen, log events, and stop cleanly."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import math
import signal
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal, NamedTuple

import httptools  # noqa: F401  # Required by the fast path: `hannan serve` reports a missing package.
import uvicorn

from hannan.learners.bandits import Bandit
from hannan.serving import Ended
from hannan.serving.access import Access
from hannan.serving.app import App
from hannan.serving.service import Limits
from hannan.serving.store import Store
from hannan.serving.stored_learner import StoredLearner

#: Seconds that pending requests have after the service was stopped.
GRACE = 10
#: Signals that stop a service, unless they are ignored.
STOPPING = (signal.SIGINT, signal.SIGTERM)
#: Warning of a service without the fast path.
FALLBACK = "uvicorn has changed: requests are served through plain ASGI, slower and without --head-timeout"
#: Seconds between two deletions of old events.
PRUNE = 3600.0


class Settings(NamedTuple):
    """Settings of the command."""

    store: str
    host: str
    port: int
    access: Access
    limits: Limits
    learners: list[tuple[str, list[str]]]
    as_json: bool = False
    shard: int = 0
    shards: int = 1
    patience: float = 0.0
    #: Age in seconds after which events are deleted.
    keep: float = math.inf
    #: Largest number of keys per learner.
    max_keys: int | None = None
    #: Expiry of the learners that the command adds.
    wait: float | None = None
    default: float | None = None
    #: Exploration floor of these learners.
    floor: Any = 0.0
    #: Seconds for which ids are remembered.
    remember: float = 7 * 86400.0
    #: Learners that bulk evaluations of flags draw.
    ofrep_bulk: tuple[str, ...] = ()


class EventLog:
    """Log on standard error: a line that is updated in place on a terminal, and JSON lines otherwise.

    The log contains no tokens, tickets or bodies.
    """

    def __init__(self, as_json: bool) -> None:
        self.live = sys.stderr.isatty() and not as_json

    def write(self, what: str, **more: Any) -> None:
        """Log an event."""
        if self.live:
            told = ", ".join(f"{name} {value}" for name, value in more.items())
            sys.stderr.write(f"\r\033[K{what}{': ' if told else ''}{told}\n")
        else:
            now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            sys.stderr.write(json.dumps({"time": now, "event": what, **more}) + "\n")
        sys.stderr.flush()

    def line(self, text: str) -> None:
        """Update the line on a terminal."""
        if self.live:
            sys.stderr.write(f"\r\033[K{text}")
            sys.stderr.flush()


def run(settings: Settings) -> None:
    """Serve a store until a signal stops the service."""
    # A short interval lets the writer thread, on which replies wait, run soon. An interval of 0.5 ms would often
    # interrupt batches, which take 0.3 ms, and make them 14 % slower.
    sys.setswitchinterval(0.002)
    _check(settings)
    events = EventLog(settings.as_json)
    bound = _listening(settings.host, settings.port)
    store = Store(
        settings.store, shard=settings.shard, shards=settings.shards, patience=settings.patience,
        max_keys=settings.max_keys, remember=settings.remember,
    )  # fmt: skip
    try:
        for name, arms in settings.learners:
            _add(store, name, arms, settings)
        _check_flags(store, settings.ofrep_bulk)
    except BaseException:  # no request was served, and nothing was logged
        store.close()
        raise
    try:
        replayed = store.queue.journal.replayed
        events.write("opened", store=store.queue.backend.name, learners=len(store.learners), replay=round(replayed, 3))
        app = App(store, settings.access, settings.limits, ofrep_bulk=settings.ofrep_bulk)
        gc.collect()
        gc.freeze()  # exclude existing objects from later collections
        config = uvicorn.Config(
            app, log_config=None, access_log=False, lifespan="on",
            http=_protocol(app, events), ws="none", proxy_headers=False, server_header=False, date_header=False,
            timeout_graceful_shutdown=GRACE,
        )  # fmt: skip
        asyncio.run(_serve(_Server(config), bound, app, events, settings))
    finally:
        gc.unfreeze()
        store.close()
        failure = store.queue.journal.failure
        events.write("closed", sequence=store.queue.contents.sequence, **({"failure": str(failure)} if failure else {}))
    if failure is not None:
        raise ValueError(str(failure))


def _protocol(app: App, events: EventLog) -> type[asyncio.Protocol] | Literal["h11"]:
    """Return the fast protocol, or uvicorn's own one and a warning if the internals of uvicorn have changed."""
    try:
        from hannan.serving import fast_path

        fast_path.check()
    except Exception as error:  # A changed internal may raise anything.
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        events.write("warning", message=f"{FALLBACK} (uvicorn {uvicorn.__version__}, {reason})")
        return "h11"
    return fast_path.fast_protocol(app)


def _check(settings: Settings) -> None:
    """Validate the learners before a store is opened or created."""
    told: dict[str, list[str]] = {}
    for name, arms in settings.learners:
        StoredLearner(0, name, Bandit(arms, gains=True, floor=settings.floor), None, settings.wait, settings.default)
        if told.setdefault(name, arms) != arms:
            raise ValueError(f"--add {name} has two different lists of arms; got {told[name]} and {arms}")
    if settings.floor and not settings.learners:
        raise ValueError("--floor applies to learners added with --add; got no --add")
    if settings.wait is not None and not settings.learners:
        raise ValueError("--wait and --default apply to learners that --add creates; got no --add")


def _add(store: Store, name: str, arms: list[str], settings: Settings) -> None:
    """Add a bandit for rewards. Other arms begin a new stage. Without --wait and --floor the existing ones stay."""
    there = store.queue.contents.by_name.get(name)
    expiry = {"wait": settings.wait, "default": settings.default}
    if there is not None and settings.wait is None:
        expiry = {part: there.declared[part] for part in expiry}
    floor: Any = settings.floor
    if there is not None and not floor:
        floor = getattr(there.learner, "floor", 0.0)
    store.add(name, Bandit(arms, gains=True, floor=floor), **expiry)


def _check_flags(store: Store, names: tuple[str, ...]) -> None:
    """Raise ValueError if a flag for bulk evaluation is no learner of the store."""
    for name in names:
        if name not in store.learners:
            raise ValueError(
                f"--ofrep-bulk must name learners of the store, {', '.join(store.learners) or 'none'}; got {name!r}"
            )


class _Server(uvicorn.Server):
    """Server that does not raise the signal again after it has stopped."""

    def handle_exit(self, sig: int, frame: Any) -> None:
        self.force_exit = self.should_exit  # second signal
        self.should_exit = True

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Keep ignoring signals that were ignored at the start, such as SIGINT in a background job of a script."""
        ignored = [number for number in STOPPING if signal.getsignal(number) is signal.SIG_IGN]
        with super().capture_signals():
            for number in ignored:
                if signal.getsignal(number) is not signal.SIG_IGN:  # outside the main thread uvicorn sets no handlers
                    signal.signal(number, signal.SIG_IGN)
            yield


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        raise ValueError(f"cannot listen on {host} port {port}: {error.strerror or error}") from None


async def _serve(server: _Server, bound: socket.socket, app: App, events: EventLog, settings: Settings) -> None:
    watch = asyncio.gather(_watch(server, app, events), _prune(app, events, settings.keep))
    host, port = bound.getsockname()[:2]
    where = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    events.write("listening", address=where, keys=settings.access.guarded)
    try:
        await server.serve([bound])
    finally:
        watch.cancel()
        [ended] = await asyncio.gather(watch, return_exceptions=True)  # retrieve its exception
        if isinstance(ended, Exception):
            events.write("failed", reason=str(ended))


async def _prune(app: App, events: EventLog, keep: float) -> None:
    """Delete old events periodically."""
    while keep < math.inf:
        gone = await asyncio.to_thread(app.service.store.prune, keep)
        if gone:
            events.write("pruned", events=gone)
        await asyncio.sleep(PRUNE)


async def _watch(server: _Server, app: App, events: EventLog) -> None:
    """Update the line on a terminal, and stop the server if the store has ended."""
    journal, counts, warned = app.service.queue.journal, app.service.queue.counts, set[str]()
    before, at = counts.decisions + counts.counted, time.monotonic()
    while True:
        await asyncio.sleep(1.0)
        now, count = time.monotonic(), counts.decisions + counts.counted
        events.line(
            f"{len(app.service.store.learners)} learners, {counts.decisions} decisions, {counts.counted} feedbacks, "
            f"{(count - before) / (now - at):.0f}/s, {1000 * journal.last:.1f} ms to the disk, {journal.waiting} wait"
        )
        before, at = count, now
        for stored in list(app.service.queue.contents.by_name.values()):
            if stored.name not in warned and (text := stored.pending_warning()):
                warned.add(stored.name)
                events.write("warning", learner=stored.name, message=text)
        with contextlib.suppress(Ended):
            journal.check()  # even if no event is written
        if journal.failure is not None:
            events.write("failed", reason=str(journal.failure))
            server.should_exit = True
