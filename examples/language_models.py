"""Choose among language models by cost and quality, where the verdict on an answer comes late.

Simulated: three models of different price and skill; a user's verdict comes after some minutes, or never. The reward of
an answer is its quality minus its cost. Each kind of task has a separate learner: `key` is the task. A missing verdict
counts as indifference, reward 0.2: the simulation settles such decisions after a while; in production `store.add(...,
wait=600, default=0.2)` does.

    python examples/language_models.py
"""

from __future__ import annotations

import heapq
import tempfile
from pathlib import Path

import numpy as np

import hannan as hn

#: Cost of an answer, and its quality in each kind of task.
MODELS = {
    "small": (0.02, {"summary": 0.70, "code": 0.30, "chat": 0.65}),
    "medium": (0.10, {"summary": 0.75, "code": 0.55, "chat": 0.68}),
    "large": (0.30, {"summary": 0.80, "code": 0.95, "chat": 0.72}),
}
TASKS = ("summary", "code", "chat")


def simulate(path: Path, requests: int, rng: np.random.Generator) -> dict[str, dict[str, int]]:
    """Serve requests, and return the number of answers per model in the last quarter of the requests, by task."""
    names = list(MODELS)
    chosen = {task: dict.fromkeys(names, 0) for task in TASKS}
    coming: list[tuple[float, int, str, float]] = []  # (when, number, ticket, reward): verdicts on their way
    with hn.Store(path) as store:
        # Rewards lie in [-0.3, 1]: quality minus cost.
        store.add("model", hn.Bandit(names, loss_range=(-0.3, 1.0), gains=True))
        for now in range(requests):
            task = TASKS[int(rng.integers(3))]
            move = store.act("model", key=task)
            cost, quality = MODELS[move.arm]
            liked = float(rng.random() < quality[task])
            silent = rng.random() < 0.1
            when, reward = (now + 100.0, 0.2) if silent else (now + rng.exponential(20.0), liked - cost)
            heapq.heappush(coming, (when, now, move.ticket, reward))
            while coming and coming[0][0] <= now:
                _, _, ticket, reward = heapq.heappop(coming)
                store.observe(ticket, reward=reward)
            if now >= 0.75 * requests:
                chosen[task][move.arm] += 1
        print(store.certificate("model", key="code"))
    return chosen


def main(requests: int = 6000) -> dict[str, dict[str, int]]:
    with tempfile.TemporaryDirectory() as folder:
        chosen = simulate(Path(folder) / "models.db", requests, np.random.default_rng(0))
    for task, counts in chosen.items():
        best = max(MODELS, key=lambda name: MODELS[name][1][task] - MODELS[name][0])
        share = counts[best] / sum(counts.values())
        print(f"{task:8} best is {best:6}: chosen in {share:.0%} of the last requests  {counts}")
    return chosen


if __name__ == "__main__":
    main()
