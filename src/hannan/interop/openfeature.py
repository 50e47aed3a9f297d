"""OpenFeature provider for `hannan serve` that reports rewards with `client.track`."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Any

from hannan import validation
from hannan.client import Client

try:
    from openfeature.contrib.provider.ofrep import OFREPProvider
except ImportError as missing:
    from hannan import extras

    raise ModuleNotFoundError(
        f"hannan.interop.openfeature requires openfeature-provider-ofrep: {extras.command('openfeature')}"
    ) from missing

logger = logging.getLogger("hannan.interop.openfeature")


class TrackingProvider(OFREPProvider):
    """Provider of OpenFeature that evaluates flags with the official one, and sends `client.track` as feedback.

    Parameters
    ----------
    url : str
        Address of the service.
    events : mapping of str to str or iterable of str
        Per tracking event, the flags whose reward it reports.
    token : str, optional
        Access token with the roles act and observe, or admin.
    timeout : float
        Time limit of a request, in seconds.
    remember : int
        Largest number of decisions whose tickets are kept; the oldest ones are dropped first.

    Notes
    -----
    `client.track(event, context, details)` settles the last decision of each flag of the event for the targeting key of
    the context, with the reward `details.value` (default: 1). An event without a decision, or after the feedback of the
    same decision, has no effect. Tickets are kept in the memory of this process: a process that did not evaluate the
    flag cannot report its reward. An error of the service is logged as a warning and not raised, because flags must not
    stop an application; the ticket is kept, so that the next event reports the reward.

    Examples
    --------
    ::

        from openfeature import api
        from openfeature.evaluation_context import EvaluationContext
        from openfeature.track import TrackingEventDetails

        api.set_provider(TrackingProvider("http://localhost:8414", events={"clicked": "banner"}))
        client, visitor = api.get_client(), EvaluationContext("visitor-17")
        color = client.get_string_value("banner", "red", visitor)
        client.track("clicked", visitor, TrackingEventDetails(value=1.0))
    """

    def __init__(
        self, url: str, *, events: Mapping[str, str | Iterable[str]], token: str | None = None, timeout: float = 5.0,
        remember: int = 100_000,
    ) -> None:  # fmt: skip
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        super().__init__(url, headers_factory=lambda: headers, timeout=timeout)
        self._events = {name: (flags,) if isinstance(flags, str) else tuple(flags) for name, flags in events.items()}
        self._remember = validation.count(remember, "remember")
        self._client = Client(url, token, timeout=timeout, tries=2)
        self._tickets: OrderedDict[tuple[str, str], str] = OrderedDict()
        self._lock = threading.Lock()

    def _resolve(self, flag_type: Any, flag_key: str, default_value: Any, evaluation_context: Any = None) -> Any:
        found = super()._resolve(flag_type, flag_key, default_value, evaluation_context)
        ticket, person = (found.flag_metadata or {}).get("ticket"), getattr(evaluation_context, "targeting_key", None)
        if isinstance(ticket, str) and person:
            with self._lock:
                self._tickets[person, flag_key] = ticket
                self._tickets.move_to_end((person, flag_key))
                while len(self._tickets) > self._remember:
                    self._tickets.popitem(last=False)
        return found

    def track(
        self, tracking_event_name: str, evaluation_context: Any = None, tracking_event_details: Any = None
    ) -> None:
        """Settle the last decisions of the flags of an event.

        Parameters
        ----------
        tracking_event_name : str
            Name of the event, a key of `events`. Other events have no effect.
        evaluation_context : EvaluationContext, optional
            Context with the targeting key of the decision.
        tracking_event_details : TrackingEventDetails, optional
            Details whose value is the reward. Default: reward 1.
        """
        value = getattr(tracking_event_details, "value", None)
        person = getattr(evaluation_context, "targeting_key", None) or ""
        for flag in self._events.get(tracking_event_name, ()):
            with self._lock:
                ticket = self._tickets.get((person, flag))
            if ticket is None:
                continue
            try:
                self._client.observe(ticket, reward=1.0 if value is None else float(value))
            except (ValueError, OSError) as error:
                logger.warning("the reward of flag %r was not counted: %s", flag, error)
                continue
            with self._lock:
                if self._tickets.get((person, flag)) == ticket:
                    del self._tickets[person, flag]
