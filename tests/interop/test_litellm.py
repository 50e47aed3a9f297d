"""The routing strategy for LiteLLM with the real router: failures, retries, cooldowns, lost callbacks, late quality.

The extra `test` does not install litellm. Run `pip install '.[serve]' 'litellm>=1.106' pytest` in another environment.
"""

from __future__ import annotations

import asyncio
import doctest
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import hannan as hn

litellm = pytest.importorskip("litellm", reason="pip install litellm")

from hannan.interop import litellm as adapter  # noqa: E402
from hannan.interop.litellm import BanditRouting, Call, weighted_loss  # noqa: E402

#: LiteLLM calls back in the event loop of the first request.
LOOP = asyncio.new_event_loop()
MESSAGES = [{"role": "user", "content": "Hello"}]


class Provider(litellm.CustomLLM):  # type: ignore[misc]
    """Provider whose deployments answer after a delay, or fail."""

    def __init__(self) -> None:
        super().__init__()
        self.delay: dict[str, float] = {}
        self.calls: dict[str, int] = {}

    async def acompletion(self, model: str, *args: Any, **kwargs: Any) -> Any:
        self.calls[model] = self.calls.get(model, 0) + 1
        delay = self.delay.get(model, 0.0)
        if delay < 0.0:
            raise litellm.InternalServerError("down", "mock", model)
        await asyncio.sleep(delay)
        return litellm.ModelResponse(choices=[{"message": {"role": "assistant", "content": "Hello"}}])


@pytest.fixture
def provider() -> Iterator[Provider]:
    found = Provider()
    before = litellm.custom_provider_map
    litellm.custom_provider_map = [{"provider": "mocked", "custom_handler": found}]
    yield found
    litellm.custom_provider_map = before


def router_of(*names: str, **options: Any) -> Any:
    deployments = [
        {"model_name": "chat/one", "litellm_params": {"model": f"mocked/{name}"}, "model_info": {"id": name}}
        for name in names
    ]
    return litellm.Router(model_list=deployments, **{"disable_cooldowns": True, "num_retries": 0, **options})


async def settled(store: Any, name: str) -> Any:
    """The certificate when no decision is pending, or after five seconds."""
    for _ in range(100):
        if store.certificate(name).open_moves == 0:
            break
        await asyncio.sleep(0.05)
    return store.certificate(name)


async def ask(router: Any, count: int) -> int:
    """Send requests one by one; return the number of errors."""
    errors = 0
    for _ in range(count):
        try:
            await router.acompletion("chat/one", messages=MESSAGES)
        except litellm.InternalServerError:
            errors += 1
    return errors


def test_it_learns_and_settles_every_attempt(provider: Provider, tmp_path: Path) -> None:
    provider.delay = {"good": 0.0, "slow": 0.2, "down": -1.0}
    with hn.Store(tmp_path / "routing.db") as store:
        router = router_of("good", "slow", "down")
        routing = BanditRouting(store, loss=weighted_loss(0.2), learner=lambda ids: hn.Bandit(ids))
        routing.attach(router)
        routing.attach(router)

        async def run() -> Any:
            await ask(router, 150)
            return await settled(store, "chat_one")

        found = LOOP.run_until_complete(run())
        log = store.log("chat_one")
    assert (found.rounds, found.open_moves) == (150, 0)
    assert sum(provider.calls.values()) == 150
    assert (log["arm"] == "good").sum() > 100
    assert set(log["loss"][log["arm"] == "down"]) == {1.0}
    assert log["loss"][log["arm"] == "good"].median() < 0.5


def test_a_retry_has_a_ticket_of_its_own(provider: Provider, tmp_path: Path) -> None:
    provider.delay = {"good": 0.0, "down": -1.0}
    with hn.Store(tmp_path / "routing.db") as store:
        router = router_of("good", "down", num_retries=8, retry_after=0)
        BanditRouting(store, loss=weighted_loss(0.2)).attach(router)

        async def run() -> tuple[int, Any]:
            errors = await ask(router, 40)
            return errors, await settled(store, "chat_one")

        errors, found = LOOP.run_until_complete(run())
        log = store.log("chat_one")
    assert errors == 0  # nine attempts fail with probability below 1e-9 when the weights have moved
    assert found.rounds == len(log) == sum(provider.calls.values())
    assert (log["arm"] == "good").sum() == 40
    assert set(log["loss"][log["arm"] == "down"]) == {1.0}
    assert log["loss"][log["arm"] == "good"].max() < 1.0  # no failure was charged to the retry


def test_a_deployment_in_cooldown_is_a_failure(provider: Provider, tmp_path: Path) -> None:
    provider.delay = {"good": 0.0, "down": -1.0}
    with hn.Store(tmp_path / "routing.db") as store:
        router = router_of("good", "down", disable_cooldowns=False, allowed_fails=0, cooldown_time=600)
        BanditRouting(store, loss=weighted_loss(5.0), learner=lambda ids: hn.Bandit(ids, floor=0.5)).attach(router)

        async def run() -> Any:
            await ask(router, 80)
            return await settled(store, "chat_one")

        LOOP.run_until_complete(run())
        log = store.log("chat_one")
    down = log[log["arm"] == "down"]
    assert provider.calls["down"] < len(down)  # the others were settled without a request
    assert set(down["loss"]) == {1.0}
    assert log["settled"].notna().all()


def test_errors_of_the_store_do_not_stop_requests(
    provider: Provider, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = hn.Store(tmp_path / "routing.db")
    router = router_of("a", "b")
    BanditRouting(store).attach(router)
    store.close()
    assert LOOP.run_until_complete(ask(router, 5)) == 0
    assert "chosen at random" in caplog.text


@pytest.mark.parametrize("value", [2.0, float("nan"), "bad"])
def test_an_invalid_loss_expires(
    provider: Provider, tmp_path: Path, caplog: pytest.LogCaptureFixture, value: Any
) -> None:
    with hn.Store(tmp_path / "routing.db") as store:
        router = router_of("a", "b")
        BanditRouting(store, loss=lambda call: value, wait=0.3, default=1.0).attach(router)

        async def run() -> Any:
            await ask(router, 3)
            return await settled(store, "chat_one")

        assert LOOP.run_until_complete(run()).rounds == 3
        log = store.log("chat_one")
    assert log["expired"].all()
    assert "was not settled" in caplog.text


def test_two_routers_settle_their_own_decisions(provider: Provider, tmp_path: Path) -> None:
    with hn.Store(tmp_path / "one.db") as one, hn.Store(tmp_path / "two.db") as two:
        routers = [router_of("a", "b"), router_of("a", "b")]
        for router, store, loss in zip(routers, (one, two), (0.25, 0.75), strict=True):
            BanditRouting(store, loss=lambda call, loss=loss: loss).attach(router)

        async def run() -> list[Any]:
            for router in routers:
                await ask(router, 5)
            return [await settled(store, "chat_one") for store in (one, two)]

        assert [found.rounds for found in LOOP.run_until_complete(run())] == [5, 5]
        assert [set(store.log("chat_one")["loss"]) for store in (one, two)] == [{0.25}, {0.75}]


def test_one_deployment_needs_no_decision(provider: Provider, tmp_path: Path) -> None:
    with hn.Store(tmp_path / "routing.db") as store:
        router = router_of("a")
        BanditRouting(store).attach(router)
        assert LOOP.run_until_complete(ask(router, 3)) == 0
        assert store.learners == ()


def test_other_deployments_begin_a_stage(provider: Provider, tmp_path: Path) -> None:
    with hn.Store(tmp_path / "routing.db") as store:
        router = router_of("a", "b")
        BanditRouting(store).attach(router)
        LOOP.run_until_complete(ask(router, 3))
        router.add_deployment(
            litellm.types.router.Deployment(
                model_name="chat/one", litellm_params={"model": "mocked/c"}, model_info={"id": "c"}
            )
        )
        LOOP.run_until_complete(ask(router, 3))
        assert store.queue.contents.find("chat_one").arms.labels == ["a", "b", "c"]


def test_synchronous_requests_are_rejected(provider: Provider, tmp_path: Path) -> None:
    with hn.Store(tmp_path / "routing.db") as store:
        router = router_of("a", "b")
        BanditRouting(store).attach(router)
        with pytest.raises(ValueError, match="acompletion"):
            router.completion("chat/one", messages=MESSAGES)


def test_a_learner_of_rewards_is_not_used(provider: Provider, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with hn.Store(tmp_path / "routing.db") as store:
        router = router_of("a", "b")
        BanditRouting(store, learner=lambda ids: hn.Bandit(ids, gains=True)).attach(router)
        assert LOOP.run_until_complete(ask(router, 2)) == 0
        assert store.learners == ()
    assert "learner must return a learner of losses" in caplog.text


def test_losses() -> None:
    assert doctest.testmod(adapter).failed == 0
    call = Call(False, 4.0, 1.0, 0.03, {}, None)
    assert weighted_loss(10.0)(call) == 0.4
    assert weighted_loss(10.0, until="first")(call) == 0.1
    assert weighted_loss(10.0, cost_limit=0.06, cost_weight=0.25)(call) == pytest.approx(0.75 * 0.4 + 0.25 * 0.5)
    assert weighted_loss(1.0)(call) == 1.0
    for broken in ({"patience": 0.0}, {"patience": 1.0, "until": "end"}, {"patience": 1.0, "cost_limit": -1.0}):
        with pytest.raises(ValueError, match=list(broken)[-1]):
            weighted_loss(**broken)


def test_the_example(capsys: pytest.CaptureFixture[str]) -> None:
    import sys

    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))
    import llm_routing

    before = litellm.custom_provider_map
    found = LOOP.run_until_complete(llm_routing.compare(60))
    litellm.custom_provider_map = before
    assert set(found) == {*llm_routing.STRATEGIES, "hannan"}
    assert all(0.0 < loss < 1.0 for losses in found.values() for loss in losses[:1])
