"""Games against adversaries that look at past moves: stepped, run after run, with the same record.

Such an adversary has no losses before it is asked for them, so nothing here is compiled beyond the player's steps.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hannan import refusals
from hannan.adversaries.past import Past
from hannan.games.checkpoints import spread
from hannan.games.progress import Progress
from hannan.games.record import Record
from hannan.games.stepped import started
from hannan.mathematics.clipping import clip
from hannan.refusals import Array

Answer = Callable[[int, "Past"], Any]


class Table:
    """What the loop of a game asks of a setting; one for all runs of a game."""

    #: The setting, as the record names it, and what a move is written down as.
    setting: str
    n: int
    gains = False
    kind: Any = np.int64
    shape: tuple[int, ...] = ()
    #: Whether <p, l> is kept beside the loss of the draw.
    expects = False

    def __init__(self, learner: Any) -> None:
        self.learner = learner

    def start(self, seed: int, run: int) -> Any:
        """The player of a run."""
        return started(self.learner, seed, run)

    def distribution(self, player: Any, t: int) -> Array | None:
        """p of the move of round t + 1, where past moves determine it."""
        return None

    def act(self, player: Any, t: int) -> Any:
        """The ticket of round t + 1."""
        return player.act()

    def shown(self, move: Any) -> Any:
        """The move as the adversary sees it."""
        return int(getattr(move, "action", move))

    def admit(self, loss: Any) -> Any:
        """The loss as it is played; a bad one is refused."""
        raise NotImplementedError

    def settle(self, player: Any, move: Any, loss: Any) -> float:
        """Tell the player, and return what the move cost."""
        raise NotImplementedError

    def seen(self, rounds: int) -> tuple[Any, Callable[[int], Any]]:
        """A place for the losses of a run, and what the adversary sees of it before round t + 1."""
        kept = np.zeros((rounds, self.n))
        shown = read_only(kept)
        return kept, lambda t: shown[:t]

    def best(self, losses: Any, marks: NDArray[np.int64]) -> Array:
        """The best cumulative loss (or gain) in hindsight at each mark."""
        sums = np.cumsum(losses, axis=0)[marks - 1]
        return np.asarray(sums.max(axis=1) if self.gains else sums.min(axis=1))

    def counted(self, moves: NDArray[Any]) -> NDArray[np.int64]:
        """How often each choice was made."""
        return np.bincount(moves, minlength=self.n)

    def source(self, players: Sequence[Any], losses: Sequence[Any]) -> Any:
        """What the record asks for its bound."""
        return self.learner


def is_adversary(losses: Any) -> bool:
    """Whether these losses are an adversary's: a function of (t, past), or what has `loss(t, past)` or makes it.

    >>> is_adversary(lambda t, past: [0.0, 1.0]), is_adversary([[0.0, 1.0]])
    (True, False)
    """
    return callable(losses) or callable(getattr(losses, "loss", None)) or _begins(losses)


def _begins(losses: Any) -> bool:
    return hasattr(losses, "start") and not hasattr(losses, "act") and not hasattr(losses, "bound")


def name_of(adversary: Any) -> str:
    """A function or class by its name, anything else by its description."""
    return str(getattr(adversary, "__qualname__", None) or repr(adversary))


def fresh(adversary: Any, n: int, rounds: int) -> Answer:
    """The adversary of one run: a class is built, a description with `start(n, rounds)` is started."""
    if isinstance(adversary, type):
        adversary = adversary()
    if hasattr(adversary, "start"):
        adversary = adversary.start(n, rounds)
    answer = getattr(adversary, "loss", adversary)
    if not callable(answer):
        raise ValueError(f"an adversary must have loss(t, past), or be a function of them; got {adversary!r}")
    return answer  # type: ignore[no-any-return]


def play_adaptive(table: Table, adversary: Any, runs: int, seed: int, rounds: int | None, keep: str) -> Record:
    """The game: each round the adversary answers the past, then the player moves, then it is told.

    Each run has its own player and its own adversary. The regret is against the best choice for the losses that
    were realised in that run: had it been played throughout, the adversary might have set others.
    """
    if rounds is None:
        raise ValueError(f"rounds must be given for {name_of(adversary)}, which has losses for any number; got None")
    began = time.perf_counter()
    marks = spread(rounds, keep == "all")
    own, best = np.zeros((runs, len(marks))), np.zeros((runs, len(marks)))
    mean = np.zeros((runs, len(marks)))
    moves = np.zeros((runs if keep == "all" else 1, rounds, *table.shape), dtype=table.kind)
    counts, players, played = [], [], []
    progress = Progress(runs * rounds)
    try:
        for run in range(runs):
            room = moves[run if keep == "all" else 0]
            player, losses, paid, expected = _run(table, adversary, seed, run, rounds, room, progress)
            own[run] = np.cumsum(paid)[marks - 1]
            mean[run] = np.cumsum(expected)[marks - 1]
            best[run] = table.best(losses, marks)
            counts.append(table.counted(room))
            players.append(player)
            played.append(losses)
    finally:
        progress.close()
    sign = -1.0 if table.gains else 1.0
    return Record(
        learner=repr(table.learner),
        setting=table.setting,
        rounds=rounds,
        runs=runs,
        seed=seed,
        checkpoints=marks,
        regret=sign * (own - best),
        best_loss=best[:, -1].copy(),
        counts=np.array(counts, dtype=np.int64),
        seconds=time.perf_counter() - began,
        threads=1,
        actions=moves if keep == "all" else None,
        expected_regret=sign * (mean - best) if table.expects else None,
        estimated_regret=_estimated(players),
        loss=own,
        note=f"stepped against {name_of(adversary)}, which sees past moves",
        adaptive=True,
        source=table.source(players, played),
    )


def _run(
    table: Table, adversary: Any, seed: int, run: int, rounds: int, moves: NDArray[Any], progress: Progress
) -> tuple[Any, Any, Array, Array]:
    player, answer = table.start(seed, run), fresh(adversary, table.n, rounds)
    losses, seen = table.seen(rounds)
    shown, paid, expected = read_only(moves), np.zeros(rounds), np.zeros(rounds)
    for t in range(rounds):
        p = table.distribution(player, t)
        try:
            loss = answer(t + 1, Past(shown[:t], seen(t), p))
        except Exception as error:
            error.add_note(f"in round {t + 1} of run {run}, asked of {name_of(adversary)}")
            raise
        try:
            loss = table.admit(loss)
        except ValueError as reason:
            raise ValueError(f"{name_of(adversary)}, round {t + 1} of run {run}: {reason}") from None
        if table.expects:
            expected[t] = (player.distribution() if p is None else p) @ loss
        move = table.act(player, t)
        losses[t], moves[t] = loss, table.shown(move)
        paid[t] = table.settle(player, move, loss)
        if t % 256 == 255:
            progress.update(run * rounds + t + 1)
    return player, losses, paid, expected


def _estimated(players: Sequence[Any]) -> Array | None:
    """own loss - min Lhat of each run, where players say it."""
    if getattr(players[0], "sees_all", True) or not hasattr(players[0], "certificate"):
        return None
    told = [getattr(player.certificate(), "estimated_regret", None) for player in players]
    return None if None in told else np.array(told, dtype=np.float64)


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """A view that cannot be written."""
    view = array.view()
    view.flags.writeable = False
    return view


class VectorTable(Table):
    """Experts and bandits: a loss is a row, a number for each of n."""

    def __init__(self, learner: Any, program: Any) -> None:
        super().__init__(learner)
        self.setting, self.n = program.setting, int(program.n)
        self.low, self.high, self.gains = program.low, program.high, program.gains
        self.compiled = hasattr(learner, "program")
        # The noise that a learner keeps shows in its distribution, and not in its moves. Of a stranger's nothing is
        # known, unless it says that it has none.
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
        return refusals.row(loss, self.n, self.low, self.high)

    def settle(self, player: Any, move: Any, loss: Array) -> float:
        paid = float(loss[self.shown(move)])
        player.observe(move, loss if self.sees_all else paid)
        return paid


class AdvisedTable(VectorTable):
    """Bandits with experts: a loss is a row, a number for each action; the best expert is the comparator."""

    def __init__(self, learner: Any, program: Any, advice: Any, rounds: int | None) -> None:
        from hannan.games.feeds import Advice

        super().__init__(learner, program)
        self.n = int(program.actions)
        if advice is None:
            raise ValueError("advice must be given: (rounds, experts) actions or (rounds, experts, actions)")
        values = np.asarray(refusals.unmasked(advice, "advice"))
        if values.ndim == 0 or rounds is None or len(values) < rounds:
            raise ValueError(f"advice must have {rounds} rounds; got shape {values.shape}")
        heard = Advice(int(program.n), self.n, values)
        flat, mixed = heard.rows(0, rounds, None)
        shape = (rounds, int(program.n)) + ((self.n,) if mixed else ())
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
        """Over the actions, C_rho(sum_i p_i E_i), of a learner that has this rule."""
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
