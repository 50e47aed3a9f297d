"""Losses (and advice) as a game takes them: blocks of rounds, contiguous, read-only, never the whole at once.

A source is an array (T, n), one per run (runs, T, n), a memory map, Bernoulli means, or an iterator of blocks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hannan import refusals
from hannan.frozen import frozen
from hannan.refusals import Array


@frozen
class Block:
    """Some rounds: `losses` is flat, (rounds, n) or (runs, rounds, n); `advice` is flat, or empty."""

    rounds: int
    losses: Array
    advice: NDArray[Any]
    mixed: bool = False


@dataclass
class Feed:
    """Where the rounds come from. `rounds` is None while an iterator has not ended.

    `drawn`: the numbers are means, and losses are drawn from them; `steady`: the means do not change.
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
    _left: Any = None
    _left_advice: Any = None

    def take(self, limit: int) -> Block | None:
        """The next rounds, at most `limit`; None at the end. An even number but for the last: some sums go by pairs,
        and may not depend on how a game is cut."""
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
        heard, mixed = _NONE, False
        if self.advice is not None:
            heard, mixed = self.advice.rows(self.taken, rounds, own_advice)
        self.taken += rounds
        return Block(rounds, _frozen(np.ascontiguousarray(rows, dtype=np.float64).reshape(-1)), heard, mixed)

    def _release(self) -> None:
        """Give back the pages of a memory map that were played, so that a long game stays small."""
        if self.file is None or self.taken == 0:
            return
        import mmap  # only where there is a map

        line = mmap.ALLOCATIONGRANULARITY
        done = self.file.offset % line + self.taken * self.file.strides[0]
        try:
            self.file._mmap.madvise(mmap.MADV_DONTNEED, 0, done - done % line)
        except (AttributeError, OSError, ValueError):
            self.file = None

    def _rows(self, limit: int) -> tuple[Any, Any]:
        """(losses, advice that came with them) of the next rounds."""
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
        """Put a block behind what is left of those before it: one round at most, or nothing."""
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
            raise ValueError(f"a block of {len(rows)} rounds must have as many of advice; got {len(heard)}")
        return rows, heard


@dataclass
class Advice:
    """Advice for bandits with experts: (T, experts) actions, or (T, experts, actions) distributions."""

    experts: int
    actions: int
    values: Any
    #: Whether bytes are handed over as they are, to an engine that looks at them; then `refuse` says what is wrong.
    unread: bool = False
    #: Of advice that comes with the losses: how many axes it has, once it is known.
    kind: int | None = None

    def beside(self, block: Any, first: int) -> tuple[Any, Any]:
        """(losses, advice) of a block from an iterator: the pair that it is, where the advice comes with the losses."""
        pair = isinstance(block, tuple) and len(block) == 2 and np.ndim(block[0]) == 2
        if self.values is not None:
            if pair:
                raise ValueError(f"advice must come with the losses or by itself; got both at round {first}")
            return block, None
        if not pair:
            raise ValueError(
                f"a block must be a pair (losses, advice), where none was given by itself; got none at round {first}"
            )
        heard = _sliceable(block[1])
        if self.kind is not None and heard.ndim != self.kind:
            raise ValueError(f"advice must be of one kind in all blocks; got shape {heard.shape} at round {first}")
        self.kind = heard.ndim
        return block[0], heard

    @property
    def width(self) -> int:
        """How many numbers an expert may say in a round."""
        return 1 if getattr(self.values, "ndim", 3) == 2 else self.actions

    def rows(self, first: int, rounds: int, given: Any) -> tuple[NDArray[Any], bool]:
        """The advice of some rounds, checked, flat; `given` came with the losses, or None."""
        values = given if given is not None else self.values[first : first + rounds]
        values = np.asarray(refusals.unmasked(values, "advice"))
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
            raise ValueError(f"advice of shape (rounds, experts) must be whole numbers; got {values.dtype.name}")
        if not (self.unread and values.dtype == np.uint8):
            self.refuse(values, first)
        kind = np.uint8 if self.actions <= 256 else np.int64
        return _frozen(np.ascontiguousarray(values, dtype=kind).reshape(-1)), False

    def refuse(self, values: NDArray[Any], first: int) -> None:
        """Refuse (rounds, experts) of which some are no actions; the rounds are counted from `first`."""
        below = values.dtype.kind == "i" and values.size and int(values.min()) < 0
        if below or (values.size and int(values.max()) >= self.actions):
            t, i = (int(k) for k in np.argwhere((values < 0) | (values >= self.actions))[0])
            raise ValueError(
                f"advice must be actions in 0..{self.actions - 1}; got {values[t, i]} at round {first + t}, expert {i}"
            )

    def _distributions(self, values: NDArray[Any], first: int) -> NDArray[Any]:
        clean = np.ascontiguousarray(values, dtype=np.float64)
        wrong = ~(np.abs(clean.sum(axis=2) - 1.0) <= refusals.SUM_TOLERANCE) | (clean < 0.0).any(axis=2)
        if wrong.any():
            t, i = (int(k) for k in np.argwhere(wrong)[0])
            raise ValueError(
                f"advice must be distributions over actions; got {clean[t, i].tolist()} at round {first + t}, "
                f"expert {i}"
            )
        return _frozen(clean.reshape(-1))


_NONE: NDArray[Any] = np.empty(0, dtype=np.uint8)


def feed(
    losses: Any,
    n: int,
    runs: int,
    rounds: int | None,
    advice: Any,
    experts: int,
    column: str = "arm",
    unread: bool = False,
) -> Feed:
    """The feed of what a user gave; `experts` is 0 where no advice is taken, `column` what a column of losses is;
    `unread`: as advice has it."""
    heard = None
    if experts:
        if advice is None and not isinstance(losses, Iterator):
            raise ValueError("advice must be given: (rounds, experts) actions or (rounds, experts, actions)")
        heard = Advice(experts, n, _sliceable(advice), unread)
    elif advice is not None:
        raise ValueError("advice must be None for a learner that takes none; got advice")
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
        raise ValueError(f"losses must have {n} columns, one for each {column}; got shape {values.shape}")
    if values.ndim == 3 and values.shape[0] != runs:
        raise ValueError(f"losses (runs, rounds, n) must have {runs} runs; got shape {values.shape}")
    length = values.shape[-2]
    if length == 0:
        raise ValueError(f"losses must have at least one round; got shape {values.shape}")
    _same_length(heard, length)
    # Only a read-only map by rows: what was written to a private one would be lost with its pages.
    by_rows = isinstance(losses, np.memmap) and losses.mode == "r" and values.ndim == 2 and values.flags.c_contiguous
    file = losses if by_rows else None
    return Feed(n, _least(length, rounds), per_run=values.ndim == 3, losses=values, advice=heard, file=file)


def _made(losses: Any, n: int, runs: int, rounds: int | None, heard: Advice | None) -> Feed:
    """Losses of every run, (runs, rounds, n), that are made as they are taken, from the first round on."""
    if losses.shape[0] != runs or losses.shape[2] != n:
        raise ValueError(f"losses must have {runs} runs and {n} columns, one per arm; got shape {losses.shape}")
    _same_length(heard, losses.shape[1])
    return Feed(n, _least(losses.shape[1], rounds), per_run=True, losses=losses, advice=heard)


def _drawn(losses: Any, n: int, rounds: int | None, heard: Advice | None) -> Feed:
    means = np.asarray(refusals.unmasked(losses.means, "means"), dtype=np.float64)
    length = refusals.count(losses.rounds, "rounds")
    if means.shape not in ((n,), (length, n)):
        raise ValueError(f"means must have shape ({n},) or ({length}, {n}); got {means.shape}")
    if not ((means >= 0.0) & (means <= 1.0)).all():
        raise ValueError("means must be in [0, 1]; got others")
    _same_length(heard, length)
    steady = means.ndim == 1
    rows = means[None, :] if steady else means
    return Feed(n, _least(length, rounds), drawn=True, steady=steady, losses=rows, advice=heard)


def _same_length(heard: Advice | None, rounds: int) -> None:
    if heard is not None and len(heard.values) != rounds:
        raise ValueError(f"advice must have {rounds} rounds, as the losses; got {len(heard.values)}")


def _least(length: int, rounds: int | None) -> int:
    return length if rounds is None else min(length, rounds)


def _sliceable(values: Any) -> Any:
    """Advice by rounds; nothing is read yet of a memory map."""
    if values is None:
        return None
    if not hasattr(values, "shape"):
        refusals.unmasked(values, "advice")
        try:
            values = np.asarray(values)
        except ValueError:
            raise ValueError("advice must be a rectangular array; got rows of different lengths") from None
    if len(values.shape) not in (2, 3):
        raise ValueError(f"advice must have shape (rounds, experts) or (rounds, experts, actions); got {values.shape}")
    return values


def _numbers(values: Any, name: str) -> Any:
    """An array of real numbers; nothing is read yet of a memory map."""
    refusals.unmasked(values, name)
    try:
        array = np.asarray(values)
    except ValueError:
        raise ValueError(f"{name} must be a rectangular array of numbers; got rows of different lengths") from None
    if array.dtype.kind not in "fiub":
        raise ValueError(f"{name} must be real numbers; got {array.dtype.name}")
    return array


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    """A read-only view: nobody writes into a user's losses."""
    view = array.view()
    view.flags.writeable = False
    return view
