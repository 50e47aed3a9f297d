"""Feeds: losses and advice of a game in contiguous, read-only blocks of rounds.

A source is an array (T, n), one array per run (runs, T, n), a memory map, Bernoulli means, or an iterator of blocks.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hannan import _engine, extras, validation
from hannan.mathematics import streams
from hannan.validation import Array

if TYPE_CHECKING:
    from pathlib import Path

    from hannan.games.runners import Request


@dataclass
class Feed:
    """Source of the rounds of a game.

    `rounds` is None for an iterator that has not ended. `drawn` means that the numbers are means from which losses are
    drawn, `steady` that these means are constant.
    """

    n: int
    rounds: int | None
    per_run: bool = False
    drawn: bool = False
    steady: bool = False
    losses: Any = None
    blocks: Iterator[Any] | None = None
    advice: Advice | None = None
    taken: int = 0
    file: Any = None
    #: Streams of the runs, (runs, 4), from which losses are drawn.
    coins: NDArray[np.uint64] | None = None
    _left: Any = None
    _left_advice: Any = None

    def take(self, limit: int) -> _engine.Block | None:
        """Return the next rounds, at most `limit`, or None at the end.

        Every block but the last has an even number of rounds, because some sums add rounds in pairs and must not
        depend on the blocks.
        """
        limit = max(2, limit - limit % 2)
        if self.rounds is not None:
            limit = min(limit, self.rounds - self.taken)
        if limit <= 0:
            return None
        self._release()
        rows, own_advice = self._rows(limit)
        if rows is None:
            self.rounds = self.taken
            if self.advice is not None and self.advice.values is not None:
                _same_length(self.advice, self.taken)
            return None
        rounds = limit if self.steady else rows.shape[-2]
        heard = None if self.advice is None else self.advice.rows(self.taken, rounds, own_advice)[0]
        self.taken += rounds
        return _engine.Block(
            _frozen(np.ascontiguousarray(rows, dtype=np.float64).reshape(-1)),
            rounds,
            per_run=rounds * self.n if self.per_run else 0,
            per_round=0 if self.steady else self.n,
            advice=heard,
            coins=self.coins,
        )

    def _release(self) -> None:
        """Release the played pages of a memory map, so that a long game needs little memory."""
        if self.file is None or self.taken == 0:
            return
        import mmap  # only if there is a map

        line = mmap.ALLOCATIONGRANULARITY
        done = self.file.offset % line + self.taken * self.file.strides[0]
        try:
            self.file._mmap.madvise(mmap.MADV_DONTNEED, 0, done - done % line)
        except (AttributeError, OSError, ValueError):
            self.file = None

    def _rows(self, limit: int) -> tuple[Any, Any]:
        """Return (losses, advice or None) of the next rounds."""
        if self.blocks is None:
            if self.steady:
                return self.losses, None
            first = self.taken
            return self.losses[..., first : first + limit, :], None
        while self._left is None or len(self._left) < 2:
            block = next(self.blocks, None)
            if block is None:
                break
            self._keep(*self._block(block))
        if self._left is None or len(self._left) == 0:
            return None, None
        count = min(limit, len(self._left))
        count -= count % 2 if count > 1 else 0
        rows, self._left = self._left[:count], self._left[count:]
        heard = None
        if self._left_advice is not None:
            heard, self._left_advice = self._left_advice[:count], self._left_advice[count:]
        return rows, heard

    def _keep(self, rows: Any, heard: Any) -> None:
        """Append a block to the rounds that are left of earlier blocks."""
        if self._left is not None and len(self._left):
            rows = np.concatenate([self._left, rows])
            heard = None if heard is None else np.concatenate([self._left_advice, heard])
        self._left, self._left_advice = rows, heard

    def _block(self, block: Any) -> tuple[Any, Any]:
        heard = None
        if self.advice is not None:
            block, heard = self.advice.beside(block, self.taken)
        rows = _numbers(block, "losses")
        if rows.ndim != 2 or rows.shape[1] != self.n:
            raise ValueError(
                f"a block of losses must have shape (rounds, {self.n}); got {rows.shape} at round {self.taken}"
            )
        if heard is not None and len(heard) != len(rows):
            raise ValueError(f"a block of {len(rows)} rounds must have {len(rows)} rounds of advice; got {len(heard)}")
        return rows, heard


@dataclass
class Advice:
    """Advice for bandits with experts: (T, experts) actions, or (T, experts, actions) distributions."""

    experts: int
    actions: int
    values: Any
    #: True if advice in bytes is checked by the engine.
    unread: bool = False
    #: Number of axes of the advice that comes with the losses, once it is known.
    kind: int | None = None

    def beside(self, block: Any, first: int) -> tuple[Any, Any]:
        """Return (losses, advice or None) of a block from an iterator."""
        pair = isinstance(block, tuple) and len(block) == 2 and np.ndim(block[0]) == 2
        if self.values is not None:
            if pair:
                raise ValueError(
                    f"advice must be passed as `advice` or with the losses, not both; got both at round {first}"
                )
            return block, None
        if not pair:
            raise ValueError(
                f"a block must be a pair (losses, advice) if `advice` is None; got losses only at round {first}"
            )
        heard = _sliceable(block[1])
        if self.kind is not None and heard.ndim != self.kind:
            raise ValueError(
                f"advice must have the same number of axes in all blocks; got shape {heard.shape} at round {first}"
            )
        self.kind = heard.ndim
        return block[0], heard

    @property
    def width(self) -> int:
        """Numbers of advice per expert and round."""
        return 1 if getattr(self.values, "ndim", 3) == 2 else self.actions

    def rows(self, first: int, rounds: int, given: Any) -> tuple[NDArray[Any], bool]:
        """Return (flat advice, distributions or not) of some rounds; `given` is advice that came with the losses."""
        values = given if given is not None else self.values[first : first + rounds]
        values = np.asarray(validation.unmasked(values, "advice"))
        mixed = values.ndim == 3
        shape = (rounds, self.experts, self.actions) if mixed else (rounds, self.experts)
        if values.shape != shape:
            raise ValueError(
                f"advice must have shape (rounds, experts) = {(rounds, self.experts)} or "
                f"(rounds, experts, actions); got {values.shape} at round {first}"
            )
        if mixed:
            return self._distributions(values, first), True
        if values.dtype.kind not in "iu":
            raise ValueError(f"advice of shape (rounds, experts) must be integers; got {values.dtype.name}")
        if not (self.unread and values.dtype == np.uint8):
            self.refuse(values, first)
        kind = np.uint8 if self.actions <= 256 else np.int64
        return _frozen(np.ascontiguousarray(values, dtype=kind).reshape(-1)), False

    def refuse(self, values: NDArray[Any], first: int) -> None:
        """Raise ValueError if advice (rounds, experts) contains invalid actions; rounds are counted from `first`."""
        below = values.dtype.kind == "i" and values.size and int(values.min()) < 0
        if below or (values.size and int(values.max()) >= self.actions):
            t, i = (int(k) for k in np.argwhere((values < 0) | (values >= self.actions))[0])
            raise ValueError(
                f"advice must be actions in 0..{self.actions - 1}; got {values[t, i]} at round {first + t}, expert {i}"
            )

    def _distributions(self, values: NDArray[Any], first: int) -> NDArray[Any]:
        clean = np.ascontiguousarray(values, dtype=np.float64)
        wrong = ~(np.abs(clean.sum(axis=2) - 1.0) <= validation.SUM_TOLERANCE) | (clean < 0.0).any(axis=2)
        if wrong.any():
            t, i = (int(k) for k in np.argwhere(wrong)[0])
            raise ValueError(
                f"advice must be distributions over actions; got {clean[t, i].tolist()} at round {first + t}, "
                f"expert {i}"
            )
        return _frozen(clean.reshape(-1))


def feed(losses: Any, n: int, request: Request, *, experts: int = 0, column: str = "arm", unread: bool = False) -> Feed:
    """Return the feed of losses with n columns.

    `experts` is 0 if the learner does not take advice; `column` names a column in errors; see `Advice.unread`.
    """
    heard, runs, rounds, advice = None, request.runs, request.rounds, request.advice
    if experts:
        if advice is None and not isinstance(losses, Iterator):
            raise ValueError(
                "advice is required: actions (rounds, experts) or distributions (rounds, experts, actions)"
            )
        heard = Advice(experts, n, _sliceable(advice), unread)
    elif advice is not None:
        raise ValueError("advice must be None for a learner that does not take advice; got advice")
    if hasattr(losses, "means"):
        return _drawn(losses, n, rounds, heard)
    if isinstance(losses, Iterator):
        return Feed(n, rounds, blocks=losses, advice=heard)
    if getattr(losses, "made_in_order", False):
        return _made(losses, n, runs, rounds, heard)
    values = _numbers(losses, "losses")
    if values.ndim not in (2, 3):
        raise ValueError(f"losses must have shape (rounds, n) or (runs, rounds, n); got {values.shape}")
    if values.shape[-1] != n:
        raise ValueError(f"losses must have {n} columns, one per {column}; got shape {values.shape}")
    if values.ndim == 3 and values.shape[0] != runs:
        raise ValueError(f"losses (runs, rounds, n) must have {runs} runs; got shape {values.shape}")
    length = values.shape[-2]
    if length == 0:
        raise ValueError(f"losses must have at least one round; got shape {values.shape}")
    _same_length(heard, length)
    # Read-only maps only: changes to a private map are lost when its pages are released.
    by_rows = isinstance(losses, np.memmap) and losses.mode == "r" and values.ndim == 2 and values.flags.c_contiguous
    file = losses if by_rows else None
    return Feed(n, _least(length, rounds), per_run=values.ndim == 3, losses=values, advice=heard, file=file)


def _made(losses: Any, n: int, runs: int, rounds: int | None, heard: Advice | None) -> Feed:
    """Return the feed of losses (runs, rounds, n) that are computed in order, block by block."""
    if losses.shape[0] != runs or losses.shape[2] != n:
        raise ValueError(f"losses must have {runs} runs and {n} columns, one per arm; got shape {losses.shape}")
    _same_length(heard, losses.shape[1])
    return Feed(n, _least(losses.shape[1], rounds), per_run=True, losses=losses, advice=heard)


def _drawn(losses: Any, n: int, rounds: int | None, heard: Advice | None) -> Feed:
    means = np.asarray(validation.unmasked(losses.means, "means"), dtype=np.float64)
    length = validation.count(losses.rounds, "rounds")
    if means.shape not in ((n,), (length, n)):
        raise ValueError(f"means must have shape ({n},) or ({length}, {n}); got {means.shape}")
    if not ((means >= 0.0) & (means <= 1.0)).all():
        bad = means[~((means >= 0.0) & (means <= 1.0))][0]
        raise ValueError(f"means must be in [0, 1]; got {bad}")
    _same_length(heard, length)
    steady = means.ndim == 1
    rows = means[None, :] if steady else means
    return Feed(n, _least(length, rounds), drawn=True, steady=steady, losses=rows, advice=heard)


def _same_length(heard: Advice | None, rounds: int) -> None:
    if heard is not None and len(heard.values) != rounds:
        raise ValueError(f"advice must have {rounds} rounds, like the losses; got {len(heard.values)}")


def _least(length: int, rounds: int | None) -> int:
    return length if rounds is None else min(length, rounds)


def _sliceable(values: Any) -> Any:
    """Return advice as an array; a memory map is not read yet."""
    if values is None:
        return None
    if not hasattr(values, "shape"):
        validation.unmasked(values, "advice")
        try:
            values = np.asarray(values)
        except ValueError:
            raise ValueError("advice must be a rectangular array; got rows of different lengths") from None
    if len(values.shape) not in (2, 3):
        raise ValueError(f"advice must have shape (rounds, experts) or (rounds, experts, actions); got {values.shape}")
    return values


def _numbers(values: Any, name: str) -> Any:
    """Return values as an array of real numbers; a memory map is not read yet."""
    validation.unmasked(values, name)
    try:
        array = np.asarray(values)
    except ValueError:
        raise ValueError(f"{name} must be a rectangular array of numbers; got rows of different lengths") from None
    if array.dtype.kind not in "fiub":
        raise ValueError(f"{name} must be real numbers; got {array.dtype.name}")
    return array


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Return a read-only view."""
    view = array.view()
    view.flags.writeable = False
    return view


def losses_of(path: str | Path, columns: Sequence[str] | None = None) -> Any:
    """Return the losses of a file, (rounds, n). `columns` selects columns of CSV and Parquet files."""
    from pathlib import Path

    path = Path(path)
    if not path.is_file():
        raise ValueError(f"no such file of losses: {str(path)!r}")
    kind = path.suffix.lower()
    if kind == ".npy":
        if columns is not None:
            raise ValueError(f"columns must be None for .npy files; got {list(columns)} for {str(path)!r}")
        return np.load(path, mmap_mode="r", allow_pickle=False)
    if kind == ".csv":
        return _csv(path, columns)
    if kind == ".parquet":
        return _parquet(path, columns)
    raise ValueError(f"a file of losses must be .npy, .csv or .parquet; got {str(path)!r}")


def _csv(path: Path, columns: Sequence[str] | None) -> Any:
    with path.open(newline="", encoding="utf-8-sig") as file:
        rows = csv.reader(file)
        chosen = _chosen(next(rows, []), columns, path)
        table = []
        for row in rows:
            try:
                table.append([float(row[i]) for i in chosen])
            except (ValueError, IndexError):
                raise ValueError(f"a row of {path} must be numbers; got {row[:8]} at line {rows.line_num}") from None
    if not table:
        raise ValueError(f"{path} must have at least one row of losses; got 0 rows")
    return np.array(table)


def _parquet(path: Path, columns: Sequence[str] | None) -> Any:
    try:
        from pyarrow import parquet
    except ImportError:
        raise ValueError(f"{path} is Parquet, which needs pyarrow: {extras.command('data', 'pyarrow')}") from None
    file = parquet.ParquetFile(path)
    names = list(file.schema_arrow.names)
    table = file.read([names[i] for i in _chosen(names, columns, path)])
    try:
        return np.column_stack([column.to_numpy().astype(np.float64) for column in table.columns])
    except (ValueError, TypeError) as error:
        raise ValueError(f"columns of {path} must be numbers: {error}") from None


def _chosen(names: Sequence[str], columns: Sequence[str] | None, path: Path) -> list[int]:
    if columns is None:
        return list(range(len(names)))
    for column in columns:
        if column not in names:
            raise ValueError(f"no column {column!r} in {path}; columns are {', '.join(names[:20])}")
    return [list(names).index(column) for column in columns]


class Tosses:
    """Bernoulli losses of all runs: an array (runs, rounds, n) of zeros and ones, drawn block by block, in order.

    >>> import hannan as hn
    >>> table = Tosses(hn.adversaries.Bernoulli([0.2, 0.5], rounds=1000), runs=3, seed=0)
    >>> table.shape, table[..., 0:600, :].shape
    ((3, 1000, 2), (3, 600, 2))
    """

    #: The rounds must be read once, in order.
    made_in_order = True
    ndim = 3

    def __init__(self, bernoulli: Any, runs: int, seed: int) -> None:
        self._means: Array = bernoulli.means
        self.rounds, self.n = int(bernoulli.rounds), int(self._means.shape[-1])
        self.shape = (runs, self.rounds, self.n)
        self._coins = streams.words_of_runs(seed, runs, 1)
        self._tossed = 0

    def whole(self) -> NDArray[np.uint8]:
        """Return all losses, one byte each."""
        out = np.empty(self.shape, dtype=np.uint8)
        step = max(2, (1 << 20) // (self.shape[0] * self.n))
        for first in range(0, self.rounds, step):
            out[:, first : first + step] = self[..., first : first + step, :]
        return out

    def __getitem__(self, where: tuple[Any, slice, slice]) -> NDArray[np.float64]:
        first, last = where[1].start, min(where[1].stop, self.rounds)
        if first != self._tossed:
            raise ValueError(f"rounds must be read in order, from round {self._tossed} on; got round {first}")
        self._tossed = last
        steady = self._means.ndim == 1
        means = np.ascontiguousarray(self._means if steady else self._means[first:last]).reshape(-1)
        out = np.empty((self.shape[0], last - first, self.n))
        for run, coins in enumerate(self._coins):
            out[run] = _engine.toss(coins, means, 0 if steady else self.n, last - first, self.n).reshape(-1, self.n)
        return out


def best_means(bernoulli: Any, at: NDArray[np.int64], gains: bool, decisions: Any = None) -> Array:
    """Return the largest (gains) or smallest sum of means of an arm over the first t rounds, for each t of `at`.

    With `decisions`, such as slates, it is the sum of means of the best decision.

    >>> import hannan as hn
    >>> best_means(hn.adversaries.Bernoulli([0.25, 0.5], rounds=8), np.array([4, 8]), gains=False).tolist()
    [1.0, 2.0]
    """
    means = bernoulli.means
    best = np.max if gains else np.min
    if decisions is not None:
        sums = np.outer(at, means) if means.ndim == 1 else np.cumsum(means, axis=0)[at - 1]
        return np.asarray((decisions.best_each(-sums if gains else sums) * sums).sum(axis=1))
    if means.ndim == 1:
        return np.asarray(at * best(means))
    return np.asarray(best(np.cumsum(means, axis=0)[at - 1], axis=1))
