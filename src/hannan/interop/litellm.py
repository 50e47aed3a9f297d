"""Routing strategy for LiteLLM: a bandit chooses deployments, and learns from failures, time and cost."""

from __future__ import annotations

import asyncio
import json
import logging
import random
import re
import uuid
import weakref
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

from hannan import validation
from hannan.learners.bandits import Bandit

try:
    import litellm
    from litellm.integrations.custom_logger import CustomLogger
    from litellm.types.router import CustomRoutingStrategyBase
except ImportError as missing:
    # Without an extra: it installs about 60 packages.
    raise ModuleNotFoundError("hannan.interop.litellm requires litellm: pip install 'litellm>=1.106'") from missing

logger = logging.getLogger("hannan.interop.litellm")
#: Fields of the metadata of a request: the ticket of its decision, and the routing that drew it.
TICKET, ROUTING = "hannan_ticket", "hannan_routing"


class Call(NamedTuple):
    """Result of one attempt to serve a request.

    Attributes
    ----------
    failed : bool
        Whether the attempt failed.
    seconds : float
        Time to the last chunk of the answer.
    first : float
        Time to the first token of a stream, or `seconds`.
    cost : float
        Cost of the answer as LiteLLM computes it.
    details : dict
        Arguments of the callback of LiteLLM.
    response : Any
        Answer, or None.
    """

    failed: bool
    seconds: float
    first: float
    cost: float
    details: dict[str, Any]
    response: Any


def weighted_loss(
    patience: float = 30.0, *, cost_limit: float | None = None, cost_weight: float = 0.5,
    until: Literal["last", "first"] = "last",
) -> Callable[[Call], float]:  # fmt: skip
    """Return a loss in [0, 1]: 1 for a failure, otherwise a weighted sum of time and cost.

    Parameters
    ----------
    patience : float
        Time in seconds from which on an answer has time loss 1.
    cost_limit : float, optional
        Cost from which on an answer has cost loss 1. Default: the cost does not count.
    cost_weight : float
        Weight of the cost; the time has weight 1 - cost_weight. It is 0 without `cost_limit`.
    until : {"last", "first"}
        Whether the time of a stream ends with its last chunk or with its first token.

    Returns
    -------
    callable
        Function from `Call` to a loss.

    Examples
    --------
    >>> loss = weighted_loss(10.0, cost_limit=0.02, cost_weight=0.5)
    >>> loss(Call(False, 5.0, 1.0, 0.01, {}, None)), loss(Call(True, 0.1, 0.1, 0.0, {}, None))
    (0.5, 1.0)
    """
    patience = validation.positive(patience, "patience")
    limit = None if cost_limit is None else validation.positive(cost_limit, "cost_limit")
    share = 0.0 if limit is None else validation.between(cost_weight, 0.0, 1.0, "cost_weight")
    if until not in ("last", "first"):
        raise ValueError(f'until must be "last" or "first"; got {validation.brief(until)}')

    def loss(call: Call) -> float:
        if call.failed:
            return 1.0
        slow = min(1.0, max(0.0, (call.first if until == "first" else call.seconds) / patience))
        dear = 0.0 if limit is None else min(1.0, max(0.0, call.cost / limit))
        return (1.0 - share) * slow + share * dear

    return loss


class _Callbacks(CustomLogger):  # type: ignore[misc]
    """Callbacks of all routings: LiteLLM ignores a second logger of the same class."""

    def __init__(self) -> None:
        super().__init__()
        self.routings: weakref.WeakValueDictionary[str, BanditRouting] = weakref.WeakValueDictionary()

    async def async_log_success_event(self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any) -> None:
        """Settle the decision of an attempt that succeeded."""
        await self._settle(kwargs, response_obj, start_time, end_time, failed=False)

    async def async_log_failure_event(self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any) -> None:
        """Settle the decision of an attempt that failed."""
        await self._settle(kwargs, response_obj, start_time, end_time, failed=True)

    async def _settle(self, kwargs: Any, response: Any, start: Any, end: Any, *, failed: bool) -> None:
        metadata = (kwargs.get("litellm_params") or {}).get("metadata") or {}
        routing, ticket = self.routings.get(metadata.get(ROUTING, "")), metadata.get(TICKET)
        if routing is None or not isinstance(ticket, str):
            return
        try:
            first = kwargs.get("completion_start_time") or end
            cost = float(kwargs.get("response_cost") or 0.0)
            await routing.settle(
                ticket, Call(failed, _seconds(start, end), _seconds(start, first), cost, kwargs, response)
            )
        except Exception as error:  # a request must not fail because of its feedback
            logger.warning("an attempt was not settled, and expires: %s: %s", type(error).__name__, error)


class BanditRouting(CustomRoutingStrategyBase):  # type: ignore[misc]
    """Routing strategy in which one bandit per model group chooses the deployment of every attempt.

    Parameters
    ----------
    store : hn.Store or hannan.client.Client
        Where decisions are stored. A model group is a learner, and the ids of its deployments are the arms.
    loss : callable, optional
        Function from `Call` to a loss in [0, 1]. Default: `weighted_loss()`.
    learner : callable, optional
        Function from the ids of the deployments to a learner of losses. Default: `hn.Bandit(ids, floor=0.05)`, which
        notices when a deployment recovers or becomes cheaper.
    wait, default : float
        An attempt whose callback is lost is settled with the loss `default` after `wait` seconds.
    prefix : str
        Beginning of the names of the learners.

    Notes
    -----
    LiteLLM replaces its own strategy by this one, and its filters (cooldowns, tags, budgets, rate limits) are applied
    here by `router.async_get_healthy_deployments`. If the drawn deployment is filtered out, its decision is settled
    with loss 1, and one other is drawn under a new ticket. If that one is filtered out, too, a healthy deployment is
    chosen at random, without a decision: redrawing until a deployment fits would make the recorded probabilities wrong.

    The bound on the regret refers to the loss. Nothing is guaranteed about budgets. Fallbacks to another model group
    are decisions of another learner. An error of the store is logged, and the request is served by a random healthy
    deployment. Only the asynchronous methods of the router are supported. LiteLLM resets custom strategies when the
    settings of the router are updated: call `attach` again.

    Examples
    --------
    ::

        router = litellm.Router(model_list=[...])
        routing = BanditRouting(hn.Store("routing.db"), loss=weighted_loss(20.0, cost_limit=0.01))
        routing.attach(router)
        answer = await router.acompletion("chat", messages=[{"role": "user", "content": "Hello"}])
    """

    def __init__(
        self, store: Any, *, loss: Callable[[Call], float] | None = None,
        learner: Callable[[list[str]], Any] | None = None, wait: float = 600.0, default: float = 1.0, prefix: str = "",
    ) -> None:  # fmt: skip
        self._store, self._loss, self._prefix = store, loss or weighted_loss(), prefix
        self._learner = learner or (lambda ids: Bandit(ids, floor=0.05))
        self._expiry = {"wait": wait, "default": default}
        self._router: Any = None
        self._key = uuid.uuid4().hex
        #: Ids of the deployments of each model group, when its learner was added.
        self._added: dict[str, list[str]] = {}

    def attach(self, router: Any) -> None:
        """Make this the strategy of a router, and receive its callbacks.

        Parameters
        ----------
        router : litellm.Router
            The router. A repeated call has no further effect.
        """
        self._router = router
        router.set_custom_routing_strategy(self)
        CALLBACKS.routings[self._key] = self
        if not any(one is CALLBACKS for one in litellm.callbacks):
            litellm.callbacks.append(CALLBACKS)

    def name_of(self, model: str) -> str:
        """Return the name of the learner of a model group.

        Parameters
        ----------
        model : str
            Name of the model group.

        Returns
        -------
        str
            Name in the store.
        """
        return re.sub(r"[^A-Za-z0-9._-]", "_", f"{self._prefix}{model}")

    # Called by the router

    def get_available_deployment(self, *_: Any, **__: Any) -> Any:
        """Raise ValueError: only asynchronous requests are routed."""
        raise ValueError("BanditRouting routes asynchronous requests only: await router.acompletion(...)")

    async def async_get_available_deployment(
        self, model: str, messages: Any = None, input: Any = None, specific_deployment: bool | None = False,
        request_kwargs: dict[str, Any] | None = None,
    ) -> Any:  # fmt: skip
        """Return the deployment of the next attempt.

        Parameters
        ----------
        model : str
            Name of the model group.
        messages, input, specific_deployment : optional
            Request, for the filters of the router.
        request_kwargs : dict, optional
            Arguments of the request, whose metadata receives the ticket.

        Returns
        -------
        dict
            An element of `router.model_list`.
        """
        request = {} if request_kwargs is None else request_kwargs
        healthy = await self._router.async_get_healthy_deployments(
            model=model, request_kwargs=request, messages=messages, input=input, specific_deployment=specific_deployment
        )
        _mark(request, {})
        if isinstance(healthy, dict):
            return healthy
        ids = sorted(_id(one) for one in self._router.model_list if one["model_name"] == model)
        usable = {_id(one): one for one in healthy}
        if len(ids) > 1 and request_kwargs is not None:
            try:
                return await self._drawn(model, ids, usable, request)
            except (ValueError, RuntimeError, OSError) as error:
                logger.warning("the deployment of %r was chosen at random: %s", model, error)
        return random.choice(healthy)

    async def _drawn(self, model: str, ids: list[str], usable: dict[str, Any], request: dict[str, Any]) -> Any:
        name = self.name_of(model)
        if self._added.get(name) != ids:
            await asyncio.to_thread(self._add, name, ids)
        for _ in range(2):
            move = await asyncio.to_thread(self._store.act, name)
            if move.arm in usable:
                _mark(request, {TICKET: move.ticket, ROUTING: self._key})
                return usable[move.arm]
            await asyncio.to_thread(lambda ticket: self._store.observe(ticket, loss=1.0), move.ticket)
        return random.choice(list(usable.values()))

    def _add(self, name: str, ids: list[str]) -> None:
        """Add the learner of a model group, or a new stage of it with other deployments."""
        learner = self._learner(ids)
        if learner.gains or tuple(learner.loss_range) != (0.0, 1.0):
            raise ValueError(f"learner must return a learner of losses in [0, 1]; got {learner!r}")
        if hasattr(self._store, "queue"):
            self._store.add(name, learner, **self._expiry)
        else:
            self._store.add(name, learner=json.loads(learner.to_json()), **self._expiry)
        self._added[name] = ids

    async def settle(self, ticket: str, call: Call) -> None:
        """Report the loss of an attempt; called after each attempt.

        Parameters
        ----------
        ticket : str
            Ticket of the decision.
        call : Call
            Result of the attempt.
        """
        value = self._loss(call)
        await asyncio.to_thread(lambda: self._store.observe(ticket, loss=value))


CALLBACKS = _Callbacks()


def _id(deployment: Any) -> str:
    return str(deployment["model_info"]["id"])


def _mark(request: dict[str, Any], fields: dict[str, str]) -> None:
    """Put the ticket of an attempt into fresh metadata: the callback of the previous attempt may still read the old."""
    old = {name: value for name, value in (request.get("metadata") or {}).items() if name not in (TICKET, ROUTING)}
    request["metadata"] = {**old, **fields}


def _seconds(start: Any, end: Any) -> float:
    return max(0.0, float((end - start).total_seconds()))
