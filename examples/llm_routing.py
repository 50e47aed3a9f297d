"""Route requests to language models through an outage and a price cut, and compare with LiteLLM's own strategies.

Mock completions: three deployments of one model group differ in time and price. In the second third of the requests the
cheap one fails; in the last third it is back, and the fast one costs a tenth. The loss of a request is 1 if it failed,
and otherwise half its time over 0.25 s plus half its cost over 10 cents.

    pip install '.[serve]' 'litellm>=1.106'
    python examples/llm_routing.py
"""

from __future__ import annotations

import asyncio
import logging
import tempfile
import time
from pathlib import Path
from typing import Any

import litellm

import hannan as hn
from hannan.interop.litellm import BanditRouting, Call, weighted_loss

#: Time in seconds and price in cents of each deployment, in each phase; a negative time is an outage.
PHASES = (
    {"fast": (0.01, 10), "cheap": (0.03, 2), "slow": (0.15, 1)},
    {"fast": (0.01, 10), "cheap": (-1.0, 2), "slow": (0.15, 1)},
    {"fast": (0.01, 1), "cheap": (0.03, 2), "slow": (0.15, 1)},
)
STRATEGIES = ("simple-shuffle", "least-busy", "latency-based-routing", "cost-based-routing")
LOSS = weighted_loss(0.25, cost_limit=0.10, cost_weight=0.5)
MESSAGES = [{"role": "user", "content": "Hello"}]


class Provider(litellm.CustomLLM):
    """Deployments whose answers are billed by tokens, at one cent per token."""

    phase = 0

    async def acompletion(self, model: str, *args: Any, **kwargs: Any) -> Any:
        seconds, cents = PHASES[self.phase][model]
        if seconds < 0:
            raise litellm.InternalServerError("outage", "mock", model)
        await asyncio.sleep(seconds)
        answer = litellm.ModelResponse(choices=[{"message": {"role": "assistant", "content": "Hello"}}])
        answer.usage = litellm.Usage(prompt_tokens=cents, completion_tokens=0, total_tokens=cents)
        return answer


def router_of(strategy: str) -> litellm.Router:
    """A router of three deployments; LiteLLM takes a deployment that fails out for a second."""
    deployments = [
        {
            "model_name": "chat",
            "litellm_params": {"model": f"mocked/{name}", "input_cost_per_token": 0.01, "output_cost_per_token": 0.01},
            "model_info": {"id": f"{strategy}-{name}"},
        }
        for name in PHASES[0]
    ]
    return litellm.Router(deployments, routing_strategy=strategy, num_retries=0, cooldown_time=1, allowed_fails=3)


async def play(router: litellm.Router, provider: Provider, requests: int) -> list[float]:
    """Send requests, ten at a time; return the average loss in each phase."""
    averages = []
    for phase in range(len(PHASES)):
        provider.phase, losses = phase, list[float]()

        async def one(losses: list[float] = losses) -> None:
            began = time.monotonic()
            try:
                answer = await router.acompletion("chat", messages=MESSAGES)
                cost = float(answer._hidden_params["response_cost"])
                took = time.monotonic() - began
                losses.append(LOSS(Call(False, took, took, cost, {}, answer)))
            except litellm.InternalServerError:
                losses.append(1.0)

        for _ in range(requests // len(PHASES) // 10):
            await asyncio.gather(*(one() for _ in range(10)))
        averages.append(sum(losses) / len(losses))
    return averages


async def compare(requests: int) -> dict[str, list[float]]:
    """Return the average loss per phase of each strategy."""
    provider, found = Provider(), dict[str, list[float]]()
    litellm.custom_provider_map = [{"provider": "mocked", "custom_handler": provider}]
    with tempfile.TemporaryDirectory() as folder, hn.Store(Path(folder) / "routing.db") as store:
        for strategy in STRATEGIES:
            found[strategy] = await play(router_of(strategy), provider, requests)
        router = router_of("simple-shuffle")
        BanditRouting(store, loss=LOSS).attach(router)
        found["hannan"] = await play(router, provider, requests)
    return found


def main(requests: int = 900) -> dict[str, list[float]]:
    """Print the average loss of every strategy."""
    logging.getLogger("LiteLLM").setLevel(logging.ERROR)
    logging.getLogger("LiteLLM Router").setLevel(logging.CRITICAL)
    litellm.suppress_debug_info = True
    found = asyncio.run(compare(requests))
    print(f"{'average loss':24}{'normal':>8}{'outage':>8}{'price cut':>11}{'all':>8}")
    for name, (normal, outage, cut) in found.items():
        print(f"{name:24}{normal:8.3f}{outage:8.3f}{cut:11.3f}{(normal + outage + cut) / 3:8.3f}")
    return found


if __name__ == "__main__":
    main()
