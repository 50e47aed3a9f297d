"""Games that are stepped in Python: user-defined learners, and adaptive adversaries."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hannan import validation
from hannan.adversaries.adaptive import Past, fresh, name_of
from hannan.games.checkpoints import spread
from hannan.games.feeds import Advice
from hannan.games.runners import BanditRunner, Job, Request, Result, Runner, setup_of, units_of
from hannan.learners.adahedge import AdaHedge
from hannan.learners.learner import Learner
from hannan.mathematics.bounds import Bound
from hannan.mathematics.divergences import clip
from hannan.players.identity import run_seed
from hannan.validation import Array


def started(learner: Any, seed: int, run: int) -> Any:
    """Return the player of a run."""
    if "run" in inspect.signature(learner.start).parameters:
        return learner.start(seed, run=run)
    return learner.start(run_seed(seed, run))


class Apart:
    """Check that every run has its own object, because a shared object would carry its state from run to run."""

    def __init__(self, whose: Any) -> None:
        self._whose, self._seen = whose, dict[int, tuple[int, Any]]()

    def check(self, run: int, made: Any) -> Any:
        """Return the object of a run. Raises ValueError if another run has the same object."""
        before, _ = self._seen.setdefault(id(made), (run, made))  # kept alive, so that its id stays unique
        if before != run:
            raise ValueError(
                f"start of {self._whose!r} must return a new object for every run; "
                f"got the same for runs {before} and {run}"
            )
        return made


def stated(learner: Any, losses: Any) -> Any:
    """Return what a user-defined learner states about itself, completed by the shape of the losses."""
    n = getattr(learner, "n", None)
    if n is None:
        shape = np.shape(losses.means if hasattr(losses, "means") else losses)
        n = shape[-1] if shape else 0
    given = validation.loss_range(getattr(learner, "loss_range", (0.0, 1.0)))
    gains = bool(getattr(learner, "gains", False))
    return SimpleNamespace(
        setting=getattr(learner, "setting", "stranger"), n=n, actions=getattr(learner, "actions", n),
        low=given[0], high=given[1], gains=gains, own_noise=False, as_they_are=False,
    )  # fmt: skip


class SteppedRunner(BanditRunner):
    """Players with `act()` and `observe(move, loss)`, stepped one round at a time.

    `sees_all` means that `observe` receives the losses of all choices. A move is an integer or has an `action`. If the
    player has `distribution()`, the sum of <p, l> is stored as well.
    """

    stepped = True

    def start(self, request: Request) -> None:
        request.one_thread(self.learner)
        apart = Apart(self.learner)
        self.players = [apart.check(run, started(self.learner, request.seed, run)) for run in range(self.runs)]
        self.hindsight = self.comparators()
        self.sees_all = bool(getattr(self.players[0], "sees_all", False))
        self.own, self.mean = np.zeros(self.runs), np.zeros(self.runs)
        self.expects = self.sees_all and hasattr(self.players[0], "distribution")
        if self.expects:
            self.curves["mean"] = np.zeros((self.runs, self.marks.columns))

    def jobs(self, block: Any, marks: Any, curves: Any, parts: int) -> list[Job]:
        def job() -> None:
            for sequence in range(self.sequences):
                self.look(sequence, block, marks, curves)
            at = list(zip(marks.ends.tolist(), marks.columns.tolist(), strict=True))
            for run in range(self.runs):
                self._play(run, block, at, curves.moves)

        return [job]

    def _rows(self, run: int, block: Any) -> Any:
        """Return the losses of a run, (rounds, n)."""
        n = self.feed.n
        if self.feed.coins is not None:
            from hannan._engine import toss

            return toss(self.feed.coins[run], block.losses, block.per_round, block.rounds, n).reshape(-1, n)
        first = block.per_run * run
        return block.losses[first : first + block.rounds * n].reshape(block.rounds, n)

    def _play(self, run: int, block: Any, at: list[tuple[int, int]], moves: Any) -> None:
        player, rows = self.players[run], self._rows(run, block)
        units = units_of(self.setup)
        advice = block.advice
        if advice is not None:
            mixed = advice.dtype == np.float64
            advice = advice.reshape(block.rounds, self.setup.n, *([self.feed.n] if mixed else []))
        marks = iter(at)
        end, column = next(marks, (0, 0))
        for t in range(block.rounds):
            if self.expects:
                self.mean[run] += units.normal(float(player.distribution() @ rows[t]), 1)
            move = player.act() if advice is None else player.act(advice[t])
            action = int(getattr(move, "action", move))
            player.observe(move, rows[t] if self.sees_all else float(rows[t, action]))
            self.own[run] += units.normal(float(rows[t, action]), 1)
            self.counts[run, action] += 1
            if self.everything:
                moves[run, t] = action
            if t + 1 == end:
                self.curves["own"][run, column] = self.own[run]
                if self.expects:
                    self.curves["mean"][run, column] = self.mean[run]
                end, column = next(marks, (0, 0))

    def totals(self) -> dict[str, Any]:
        mean = {"mean": self.mean.copy()} if self.expects else {}
        return {"own": self.own.copy(), "best": self.hindsight.best()} | mean

    def min_estimates(self) -> Any:
        return None


class Table:
    """Rules of a setting in a game against an adversary, shared by all runs."""

    #: Name of the setting in the record; type and shape of a stored move.
    setting: str
    n: int
    gains = False
    kind: Any = np.int64
    shape: tuple[int, ...] = ()
    #: True if the sum of <p, l> is stored.
    expects = False

    def __init__(self, learner: Any, request: Request) -> None:
        request.no_advice(learner)
        self.learner = learner

    def start(self, seed: int, run: int) -> Any:
        """Return the player of a run."""
        return started(self.learner, seed, run)

    def distribution(self, player: Any, t: int) -> Array | None:
        """Return the distribution of the move of round t + 1 if past moves determine it, else None."""
        return None

    def act(self, player: Any, t: int) -> Any:
        """Return the move of round t + 1."""
        return player.act()

    def shown(self, move: Any) -> Any:
        """Return the move as the adversary observes it."""
        return int(getattr(move, "action", move))

    def admit(self, loss: Any) -> Any:
        """Validate the loss of a round."""
        raise NotImplementedError

    def settle(self, player: Any, move: Any, loss: Any) -> float:
        """Pass the loss to the player, and return the loss of the move."""
        raise NotImplementedError

    def seen(self, rounds: int) -> tuple[Any, Callable[[int], Any]]:
        """Return (storage for the losses of a run, function from t to a view of the first t losses)."""
        kept = np.zeros((rounds, self.n))
        shown = read_only(kept)
        return kept, lambda t: shown[:t]

    def best(self, losses: Any, marks: NDArray[np.int64]) -> Array:
        """Return the best cumulative loss (or gain) in hindsight at each mark."""
        sums = np.cumsum(losses, axis=0)[marks - 1]
        return np.asarray(sums.max(axis=1) if self.gains else sums.min(axis=1))

    def counted(self, moves: NDArray[Any]) -> NDArray[np.int64]:
        """Return how often each choice was made."""
        return np.bincount(moves, minlength=self.n)

    def source(self, players: Sequence[Any], losses: Sequence[Any]) -> Any:
        """Return the object whose `bound` gives the bound of the record."""
        return self.learner


class AdaptiveRunner(Runner):
    """Game against an adaptive adversary, which sets the losses of a round from past moves.

    Runs are played one after another, each with its own player and adversary. An adversary without `start` is one
    object for all runs, and receives round 1 again at the start of each run. The regret compares with the best choice
    for the losses of this run; against that choice the adversary might have set other losses.
    """

    stepped = True

    def __init__(self, table: Table, adversary: Any, request: Request) -> None:
        if request.rounds is None:
            name = name_of(adversary)
            raise ValueError(f"rounds is required for the adversary {name}; got None")
        request.one_thread(table.learner)
        self.table, self.adversary, self.setting = table, adversary, table.setting
        self.runs, self.seed, self.rounds, self.everything = (
            request.runs,
            request.seed,
            request.rounds,
            request.everything,
        )
        self.total, self.numbers = self.runs * self.rounds, float(table.n)
        self.marks = spread(self.rounds, self.everything)
        shape = (self.runs if self.everything else 1, self.rounds, *table.shape)
        self.moves: NDArray[Any] = np.zeros(shape, dtype=table.kind)
        self.own, self.mean, self.best = (np.zeros((self.runs, len(self.marks))) for _ in range(3))
        self.counts: list[NDArray[np.int64]] = []
        self.players: list[Any] = []
        self.played: list[Any] = []
        self._apart = Apart(table.learner), Apart(adversary)
        self.done = 0

    @property
    def taken(self) -> int:
        return self.done

    def advance(self, limit: int, parts: int) -> list[Job] | None:
        run, t = divmod(self.done, self.rounds)
        if run == self.runs:
            return None
        if t == 0:
            self._start(run)
        count = min(limit, self.rounds - t)
        self.done += count

        def job() -> None:
            self._play(run, t, t + count)
            if t + count == self.rounds:
                self._close(run)

        return [job]

    def _start(self, run: int) -> None:
        self.player, self.answer = self.table.start(self.seed, run), fresh(self.adversary, self.table.n, self.rounds)
        self._apart[0].check(run, self.player)
        if hasattr(self.adversary, "start"):
            self._apart[1].check(run, getattr(self.answer, "__self__", self.answer))
        self.losses, self.seen = self.table.seen(self.rounds)
        self.room = self.moves[run if self.everything else 0]
        self.shown, self.paid, self.expected = read_only(self.room), np.zeros(self.rounds), np.zeros(self.rounds)

    def _play(self, run: int, first: int, last: int) -> None:
        table, player, answer, shown, seen = self.table, self.player, self.answer, self.shown, self.seen
        losses, room, paid = self.losses, self.room, self.paid
        for t in range(first, last):
            p = table.distribution(player, t)
            try:
                loss = answer(t + 1, Past(shown[:t], seen(t), p))
            except Exception as error:
                error.add_note(f"raised by {name_of(self.adversary)} in round {t + 1} of run {run}")
                raise
            try:
                loss = table.admit(loss)
            except ValueError as reason:
                raise ValueError(f"{name_of(self.adversary)}, round {t + 1} of run {run}: {reason}") from None
            if table.expects:
                self.expected[t] = (player.distribution() if p is None else p) @ loss
            move = table.act(player, t)
            losses[t], room[t] = loss, table.shown(move)
            paid[t] = table.settle(player, move, loss)

    def _close(self, run: int) -> None:
        at = self.marks - 1
        self.own[run], self.mean[run] = np.cumsum(self.paid)[at], np.cumsum(self.expected)[at]
        self.best[run] = self.table.best(self.losses, self.marks)
        self.counts.append(self.table.counted(self.room))
        self.players.append(self.player)
        self.played.append(self.losses)

    def result(self) -> Result:
        table, sign = self.table, -1.0 if self.table.gains else 1.0
        return Result(
            rounds=self.rounds,
            checkpoints=self.marks,
            regret=sign * (self.own - self.best),
            loss=self.own,
            best_loss=self.best[:, -1].copy(),
            counts=np.array(self.counts, dtype=np.int64),
            source=table.source(self.players, self.played),
            actions=self.moves if self.everything else None,
            expected_regret=sign * (self.mean - self.best) if table.expects else None,
            estimated_regret=_estimated(self.players),
            note=f"stepped against {name_of(self.adversary)}, which observes past moves",
            adaptive=True,
        )


def _estimated(players: Sequence[Any]) -> Array | None:
    """Return the estimated regret of each run, or None if the players do not estimate losses."""
    if getattr(players[0], "sees_all", True) or not hasattr(players[0], "certificate"):
        return None
    told = [getattr(player.certificate(), "estimated_regret", None) for player in players]
    return None if None in told else np.array(told, dtype=np.float64)


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Return a read-only view."""
    view = array.view()
    view.flags.writeable = False
    return view


class VectorTable(Table):
    """Experts and bandits against an adversary: a loss is one number per choice."""

    def __init__(self, learner: Any, request: Request) -> None:
        if not (isinstance(learner, Learner) or hasattr(learner, "n")):
            name = type(learner).__name__
            raise ValueError(f"{name} must have n, the number of its choices, to meet an adversary; got {learner!r}")
        super().__init__(learner, request)
        self.setup = setup = setup_of(learner, None)
        self.setting, self.n, self._range = setup.setting, int(setup.n), 0.0
        self.low, self.high, self.gains = setup.low, setup.high, setup.gains
        self.compiled = isinstance(learner, Learner)
        # The distribution of a learner with noise of its own reveals that noise, which its moves do not. A user-defined
        # learner may have such noise unless it states own_noise = False.
        draws = getattr(getattr(learner, "estimator", None), "draws", False)
        self.hidden = bool(getattr(learner, "own_noise", not self.compiled)) or draws

    def start(self, seed: int, run: int) -> Any:
        player = super().start(seed, run)
        self.sees_all = bool(getattr(player, "sees_all", False))
        self.expects = self.sees_all and hasattr(player, "distribution")
        return player

    def distribution(self, player: Any, t: int) -> Array | None:
        return None if self.hidden else read_only(player.distribution())

    def admit(self, loss: Any) -> Array:
        row = validation.row(loss, self.n, self.low, self.high)
        if self.setup.as_they_are:
            self._range = max(self._range, float(np.ptp(row)))
        return row

    def source(self, players: Sequence[Any], losses: Sequence[Any]) -> Any:
        return with_range(self.learner, self._range) if self.setup.as_they_are else self.learner

    def settle(self, player: Any, move: Any, loss: Array) -> float:
        paid = float(loss[self.shown(move)])
        player.observe(move, loss if self.sees_all else paid)
        return paid


class AdvisedTable(VectorTable):
    """Bandits with expert advice against an adversary: the regret is against the best expert."""

    def __init__(self, learner: Any, request: Request) -> None:
        advice, rounds = request.advice, request.rounds
        super().__init__(learner, request._replace(advice=None))
        setup = self.setup
        self.n = int(setup.actions)
        if advice is None:
            raise ValueError(
                "advice is required: actions (rounds, experts) or distributions (rounds, experts, actions)"
            )
        values = np.asarray(validation.unmasked(advice, "advice"))
        if values.ndim == 0 or rounds is None or len(values) < rounds:
            raise ValueError(f"advice must have {rounds} rounds; got shape {values.shape}")
        heard = Advice(int(setup.n), self.n, values)
        flat, mixed = heard.rows(0, rounds, None)
        shape = (rounds, int(setup.n)) + ((self.n,) if mixed else ())
        self.advice, self.mixed = flat.reshape(shape), mixed

    def act(self, player: Any, t: int) -> Any:
        return player.act(self.advice[t])

    def start(self, seed: int, run: int) -> Any:
        self._own = 0.0
        return super().start(seed, run)

    def settle(self, player: Any, move: Any, loss: Array) -> float:
        paid = super().settle(player, move, loss)
        self._own += (self.high - paid if self.gains else paid - self.low) / (self.high - self.low)
        return paid

    def distribution(self, player: Any, t: int) -> Array | None:
        """Return the distribution over actions, C_rho(sum_i p_i E_i), if the learner clips."""
        clipped = getattr(self.learner, "clip", None)
        if clipped is None or self.hidden:
            return None
        p, heard = player.distribution(), self.advice[t]
        q = p @ heard if self.mixed else np.bincount(heard, weights=p, minlength=self.n)
        if clipped != 0.0:
            schedule = self.learner.schedule()
            q = clip(q, schedule.rho(self._own) if hasattr(schedule, "rho") else self.learner.rho)
        return read_only(np.asarray(q))

    def best(self, losses: Any, marks: NDArray[np.int64]) -> Array:
        if self.mixed:
            charged = np.einsum("tea,ta->te", self.advice, losses)
        else:
            charged = np.take_along_axis(losses, self.advice.astype(np.intp), axis=1)
        return super().best(charged, marks)


@dataclass(frozen=True)
class Played:
    """A learner with the largest loss range of a round, which its bound depends on."""

    learner: AdaHedge
    spread: float

    @property
    def gains(self) -> bool:
        return self.learner.gains

    def bound(self, rounds: int | None = None, best_loss: float | None = None, *, against: str | None = None) -> Bound:
        """Return the bound of the learner for the observed loss range."""
        return self.learner.bound(rounds, best_loss, spread=self.spread, against=against)


def with_range(learner: AdaHedge, largest: float) -> Played | AdaHedge:
    """Return the object whose `bound` holds for losses whose largest range in a round was `largest`."""
    return Played(learner, largest) if largest > 0.0 else learner
