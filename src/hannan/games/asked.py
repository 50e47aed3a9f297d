"""What `play` was asked for, checked once for every setting; what a setting cannot honour it refuses by name."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from hannan import refusals


class Asked(NamedTuple):
    """The arguments of `play`. `threads` is None where nobody asked: then as many as there are cores.

    `at_most`: where many games are asked for at once, of which some are stepped, those have one thread.
    """

    runs: int
    seed: int
    advice: Any
    threads: int | None
    everything: bool
    rounds: int | None
    fictitious: bool
    at_most: bool = False

    @property
    def cores(self) -> int:
        """How many threads there may be."""
        if self.threads is not None:
            return self.threads
        if hasattr(os, "sched_getaffinity"):
            return max(1, len(os.sched_getaffinity(0)))
        return os.cpu_count() or 1

    def no_advice(self, learner: Any) -> None:
        """Refuse advice for a learner that takes none."""
        if self.advice is not None:
            raise ValueError(f"advice must be None for {type(learner).__name__}, which takes none; got advice")

    def not_fictitious(self, learner: Any) -> None:
        """Refuse A+ where it is not built: its losses must be a table, of a known range, and seen whole."""
        if self.fictitious:
            raise ValueError(
                "the fictitious player needs a compiled learner that sees every loss, of a range that is known; "
                f"got {learner!r}"
            )

    def one_thread(self, learner: Any) -> None:
        """Refuse more threads than one where Python steps the rounds."""
        if self.threads is not None and self.threads > 1 and not self.at_most:
            raise ValueError(
                f"threads must be 1, or left out, for {type(learner).__name__}, whose rounds Python steps one by one; "
                f"got {self.threads}"
            )


def asked(
    runs: Any, seed: Any, advice: Any, threads: Any, keep: Any, rounds: Any, fictitious: Any
) -> Asked:  # fmt: skip
    """Every argument by its own rule."""
    if keep not in ("checkpoints", "all"):
        raise ValueError(f'keep must be "checkpoints" or "all"; got {keep!r}')
    if not isinstance(fictitious, bool):
        raise ValueError(f"fictitious must be True or False; got {fictitious!r}")
    return Asked(
        refusals.count(runs, "runs"),
        refusals.count(seed, "seed", least=0),
        advice,
        None if threads is None else refusals.count(threads, "threads"),
        keep == "all",
        None if rounds is None else refusals.count(rounds, "rounds"),
        fictitious,
    )
