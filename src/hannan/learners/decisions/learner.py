"""What learners over decisions share: tickets, the player, saving, and whole games by stepping."""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hannan import refusals, saving
from hannan.games.checkpoints import spread
from hannan.games.play import ended
from hannan.games.stepped import run_seed
from hannan.learners.decisions.sets import Decisions
from hannan.mathematics.bounds import Bound, Withheld
from hannan.players import seeds
from hannan.players.incarnations import Incarnate
from hannan.refusals import Array
from hannan.saving import fields

if TYPE_CHECKING:
    from hannan.games.adaptive import Table
    from hannan.games.record import Record


class Plan(NamedTuple):
    """The ticket of one decision: whose, which round, and its components."""

    player: str
    round: int
    action: tuple[int, ...]

    def to_json(self) -> str:
        """The ticket as JSON text."""
        return json.dumps(self._asdict())

    @classmethod
    def from_json(cls, text: str) -> Plan:
        """The ticket of a JSON text."""
        try:
            told = json.loads(text)
            return cls(told["player"], told["round"], tuple(told["action"]))
        except (TypeError, ValueError, KeyError) as error:
            raise ValueError(f"a plan must be JSON with {', '.join(cls._fields)}: {error}") from None


@dataclass(frozen=True)
class Combinatorial(saving.Described):
    """A learner over decisions, losses of the components in [0, 1]."""

    decisions: Decisions

    def __post_init__(self) -> None:
        if not isinstance(self.decisions, Decisions):
            raise ValueError(f"decisions must be MSets, ShortestPaths or Assignments; got {self.decisions!r}")

    @property
    def n(self) -> int:
        """How many components there are."""
        return self.decisions.d

    def bound(self, rounds: int | None = None, best_loss: float | None = None) -> Bound:
        """A bound on the expected regret against the best decision."""
        raise NotImplementedError

    def start(self, seed: int | None = None, name: str | None = None) -> CombinatorialPlayer:
        """A live player; the same seed makes the same moves, and without one nobody can foresee them."""
        raise NotImplementedError

    def _moves(self, rows: Array, seeds: list[int]) -> Iterator[Array]:
        """The decisions of all runs, blocks (runs, rounds, d) of 0s and 1s, one after another: here by stepping."""
        players = [self.start(seed) for seed in seeds]
        for row in rows:
            chosen = np.zeros((len(players), 1, self.n))
            for run, player in enumerate(players):
                plan = player.act()
                picked = list(plan.action)
                chosen[run, 0, picked] = 1.0
                player.observe(plan, row if player.sees_all else row[picked])
            yield chosen

    def play(self, losses: Any, *, runs: int, seed: int, threads: int, keep: str, rounds: int | None = None) -> Record:
        """What `hannan.play` calls: the record against the best decision in hindsight; run 0 is `start(seed)`."""
        from hannan.games.record import Record

        began = time.perf_counter()
        rows = refusals.losses(losses)
        if rows.ndim != 2 or rows.shape[1] != self.n:
            raise ValueError(f"losses must have shape (rounds, {self.n}), a column a component; got {rows.shape}")
        rows = rows[:rounds]
        _in_range(rows)
        at = spread(len(rows), keep == "all")
        sums = np.cumsum(rows, axis=0)[at - 1]
        best = (self.decisions.best_each(sums) * sums).sum(axis=1)
        own, counts = np.zeros((runs, len(at))), np.zeros((runs, self.n), dtype=np.int64)
        paid, first = np.zeros((runs, 1)), 0
        for chosen in self._moves(rows, [run_seed(seed, run) for run in range(runs)]):
            last = first + chosen.shape[1]
            curve = paid + np.cumsum((chosen * rows[first:last]).sum(axis=2), axis=1)
            here = (at > first) & (at <= last)
            own[:, here] = curve[:, at[here] - first - 1]
            counts += chosen.sum(axis=1).astype(np.int64)
            paid, first = curve[:, -1:], last
        return Record(
            learner=repr(self), setting="decisions", rounds=len(rows), runs=runs, seed=seed, checkpoints=at,
            regret=own - best, best_loss=float(best[-1]), counts=counts, seconds=time.perf_counter() - began,
            threads=1, loss=own, note=ended(len(rows), rounds), source=self,
        )  # fmt: skip

    def table(self) -> Table:
        """What a game against an adversary asks for."""
        from hannan.games.decision_table import DecisionTable

        return DecisionTable(self)


class CombinatorialPlayer(Incarnate):
    """A learner over decisions at play. Not thread-safe: guard it with a lock of your own.

    `act()` draws a decision; `observe(plan, losses)` settles it: the losses of all components, or only of those
    chosen where `sees_all` is False. A plan that is not open here is refused, and nothing changes.
    """

    sees_all = True

    def __init__(self, learner: Any, seed: int | None, name: str | None = None) -> None:
        self.learner = learner
        entropy = self._christen(seed, name)
        self.losses: Array = np.zeros(learner.n)
        self.own, self.round, self.late = 0.0, 0, 0
        self._rng = stream(entropy)
        self._open: dict[int, tuple[Plan, tuple[float, ...]]] = {}

    def _draw(self) -> tuple[Array, tuple[float, ...]]:
        """The decision, and what settling it needs."""
        raise NotImplementedError

    def _settle(self, plan: Plan, row: Array, kept: tuple[float, ...]) -> None:
        """Take in the losses."""
        raise NotImplementedError

    @property
    def open_moves(self) -> tuple[Plan, ...]:
        """The plans whose losses have not come yet."""
        return tuple(plan for plan, _ in self._open.values())

    def act(self) -> Plan:
        """Draw a decision."""
        self.late = max(self.late, len(self._open))
        chosen, kept = self._draw()
        self.round += 1
        plan = Plan(self.id, self.round, tuple(int(i) for i in np.flatnonzero(chosen)))
        self._open[self.round] = (plan, kept)
        return plan

    def _ticket(self, plan: Any) -> tuple[Plan, tuple[float, ...]]:
        found = self._open.get(plan.round) if isinstance(plan, Plan) and isinstance(plan.round, int) else None
        if found is None or found[0] != plan:
            raise ValueError(f"a plan must be open, of this player and as act() returned it; got {plan!r}")
        return found

    def observe(self, plan: Plan, loss: Any) -> None:
        """Settle a plan. Bad losses or plans are refused and change nothing."""
        found = self._ticket(plan)
        row = refusals.losses(loss)
        size = self.learner.n if self.sees_all else len(plan.action)
        if row.shape != (size,):
            raise ValueError(f"losses must be {size} numbers, one a component; got shape {row.shape}")
        _in_range(row)
        self.own += float(row[list(plan.action)].sum() if self.sees_all else row.sum())
        self._settle(plan, row, found[1])
        del self._open[plan[1]]

    def regret_bound(self) -> Bound:
        """The learner's bound for the rounds settled, or why there is none (`Withheld`)."""
        if self.late:
            raise Withheld("a plan was open while another was drawn, and no delay bound is proved")
        bound: Bound = self.learner.bound(self.round - len(self._open))
        return bound

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the player to one file; `hannan.load(path)` goes on from it."""
        saving.write(path, self._content())

    def _content(self) -> dict[str, Any]:
        state: Any = self._rng.bit_generator.state["state"]
        return {
            "kind": "player",
            "learner": saving.describe(self.learner),
            **self._who(),
            "counts": [self.round, self.late],
            "stream": [str(state["state"]), str(state["inc"])],
            "numbers": saving.to_hex(self._numbers()),
            "open": [[list(plan[:2]), list(plan[2]), list(kept)] for plan, kept in self._open.values()],
        }

    def _renew(self) -> None:
        state: Any = self._rng.bit_generator.state["state"]
        words = [state[key] >> shift & (1 << 64) - 1 for key in ("state", "inc") for shift in (0, 64)]
        fresh = seeds.renewed(np.array(words, dtype=np.uint64))
        self._rng = stream(int.from_bytes(fresh.astype("<u8").tobytes(), "little"))

    def _numbers(self) -> Array:
        return np.concatenate([[self.own], self.losses])

    def _resume(self, content: dict[str, Any]) -> None:
        counts = fields.items(content["counts"], "counts", 2)
        rounds = fields.whole(counts[0], "rounds")
        # Estimates of semi-bandits grow with the square of the rounds at most; a larger sum would resample for ever.
        most = 100.0 * self.learner.n * (rounds + 10.0) ** 2
        self._renumber(fields.numbers(content["numbers"], self._numbers().size, "state", 0.0, most))
        self.round, self.late = rounds, fields.whole(counts[1], "largest delay", 0, rounds)
        stream = [fields.text(word, "stream") for word in fields.items(content["stream"], "stream", 2)]
        if not all(word.isascii() and word.isdigit() and len(word) < 40 for word in stream):
            raise ValueError(f"its stream must be two whole numbers below 2^128; got {refusals.brief(stream)}")
        value, inc = map(int, stream)
        if not (value < 1 << 128 and inc < 1 << 128 and inc & 1):
            raise ValueError("its stream must be two whole numbers below 2^128, the second odd; it is not")
        state = self._rng.bit_generator.state
        self._rng.bit_generator.state = {**state, "state": {"state": value, "inc": inc}}
        entries = fields.items(content["open"], "open plans")
        fields.whole(len(entries), "open plans", 0, rounds)
        for entry in entries:
            head, action, kept = fields.items(entry, "open plan", 3)
            player, number = fields.items(head, "open plan", 2)
            chosen = tuple(fields.whole(i, "component", 0, self.learner.n - 1) for i in fields.items(action, "plan"))
            if chosen != tuple(sorted(set(chosen))) or not 0 < len(chosen) <= self.learner.decisions.most:
                raise ValueError(f"its open plans must be decisions, in order; got {refusals.brief(chosen)}")
            size = 0 if self.sees_all else len(chosen)
            trials = tuple(fields.number(k, "trials", 1.0, 1e15) for k in fields.items(kept, "trials", size))
            fields.whole(number, "round of an open plan", 1, rounds)
            if number in self._open:
                raise ValueError(f"its open plans must be of different rounds; got {number} twice")
            self._open[number] = (Plan(fields.text(player, "player"), number, chosen), trials)

    def _renumber(self, numbers: Array) -> None:
        self.own, self.losses = float(numbers[0]), numbers[1 : 1 + self.learner.n].copy()


def stream(seed: int) -> np.random.Generator:
    """The randomness of a player: not that of default_rng(seed), from which its losses may have been drawn."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(1957,))))


def _in_range(rows: Array) -> None:
    bad = ~((rows >= 0.0) & (rows <= 1.0))
    if bad.any():
        where = tuple(int(i) for i in np.argwhere(bad)[0])
        raise ValueError(
            f"losses must be in [0, 1]; got {rows[where]} at index {where if len(where) > 1 else where[0]}"
        )


def harmonic_like(d: int) -> float:
    """1 + ln d, above E max of d exponentials.

    >>> harmonic_like(1)
    1.0
    """
    return 1.0 + math.log(d)
