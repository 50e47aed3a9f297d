"""Learners of slates in a store: one live player without keys, whose slates and feedback are in the journal."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from hannan.learners.slates import SlateBandit
from hannan.players.fleet import Fleet
from hannan.players.load import resumed
from hannan.players.slates import SlateMove
from hannan.saving.formatting import counted
from hannan.serving import CONFLICT, REWARD, Refused
from hannan.serving.journal import MAX_ITEMS, SlateAct, SlateFeedback
from hannan.serving.stored_learner import CHANGED_ARMS, StoredLearner
from hannan.serving.tickets import Key, Slate, Ticket


class StoredSlates(StoredLearner, of=SlateBandit):
    """One stage of a learner of slates. Its items come and go like the arms of other learners."""

    player: Any

    def _open_fleets(self, learner: Any, wait: Any) -> tuple[list[Fleet | None], bool]:
        if wait is not None:
            raise ValueError(f"wait and default are not available for learners of slates; got wait={wait!r}")
        if learner.size > MAX_ITEMS:
            raise ValueError(f"a store supports slates of at most {MAX_ITEMS} items; got size={learner.size}")
        self.player = learner.start(None, self.name)
        #: Pending slates by round.
        self.pending: dict[int, SlateMove] = {}
        return [None, None], learner.rule == "tsallis"

    @property
    def open(self) -> int:
        return len(self.pending)

    @property
    def drawn(self) -> int:
        return int(self.player.round)

    def weights(self, key: Key = None) -> list[float]:
        self.require_no_key(key)
        return [float(x) for x in self.player.distribution(self.arms.mask)]

    def require_no_key(self, key: Key) -> None:
        """Raise Refused if a key is given."""
        if key is not None:
            raise Refused(
                CONFLICT, f"{self.name!r} shows slates and has no keys; add one learner per key; got key={key!r}"
            )

    def number_of(self, key: Key) -> int:
        return -1

    # Evidence

    def count_evidence(self, start: str = "") -> None:
        """Evidence about the items of a slate is withheld (docs/proofs/slates.md)."""

    @property
    def lacks_evidence(self) -> bool:
        return False

    def stating(self, *_: Any, **__: Any) -> NoReturn:
        raise Refused(
            CONFLICT,
            f"no evidence is proved for the items of a slate; export the log of {self.name!r} and use hn.replay with "
            'by="items"',
            "no_evidence",
        )

    # Play

    def renew(self, entropy: int) -> None:
        self._entropy = entropy
        text = f"{entropy}/{self.number}/slates".encode()
        words = np.frombuffer(hashlib.blake2b(text, digest_size=32).digest(), dtype="<u8")
        self.player._run.words = words.astype(np.uint64)

    def show(self) -> SlateMove:
        """Draw a slate of the available items."""
        move: SlateMove = self.player.act(self.arms.mask)
        self.pending[move.round] = move
        return move

    def found(self, said: Ticket) -> tuple[SlateMove | None, bool]:
        """Return (the pending slate of a ticket or None, whether the ticket is that of a slate of this learner)."""
        move = self.pending.get(said.round)
        if move is None:
            return None, 1 <= said.round <= self.player.round
        return move, said.arms == move.action and said.probabilities == move.probabilities

    def values(self, reward: Any, loss: Any, size: int) -> tuple[float, ...]:
        """Return one number per shown item; raise Refused if one of them is invalid."""
        if (reward is None) == (loss is None):
            raise Refused(REWARD, f"exactly one of reward and loss is required; got reward={reward!r}, loss={loss!r}")
        given, gains = ("reward", True) if loss is None else ("loss", False)
        if gains != self.learner.gains:
            expected = "reward" if self.learner.gains else "loss"
            raise Refused(REWARD, f"{self.name!r} takes {expected}=, not {given}=")
        told = reward if gains else loss
        if not isinstance(told, (list, tuple, np.ndarray)):
            raise Refused(REWARD, f"{given} must be a list of {size} numbers, one per shown item; got {told!r}")
        try:
            row, _ = self.player.filled(told, size, None)
        except ValueError as error:
            raise Refused(REWARD, str(error)) from None
        return tuple(float(x) for x in row)

    def settle_slate(self, round: int, values: tuple[float, ...]) -> None:
        """Settle a pending slate with one number per item."""
        self.player.observe(self.pending[round], list(values))
        del self.pending[round]

    def replays(self, part: SlateAct | SlateFeedback) -> bool:
        """Replay a slate or its feedback; return whether the journal is reproduced bit for bit."""
        if isinstance(part, SlateAct):
            return _same(slate_act(self, self.show()), part)
        if part.round not in self.pending or len(part.values) != len(self.pending[part.round].action):
            return False
        self.settle_slate(part.round, part.values)
        return True

    def replay(self, events: Any, sequences: Any, time: float) -> int:
        """A learner of slates has no events of single arms: the first one differs."""
        return 0

    def certificate(self, key: Key, delta: float | None) -> Any:
        self.require_no_key(key)
        told = self.player.certificate(delta)
        notes = list(told.notes)
        if self.earlier is not None or self.later is not None:
            notes.append(("stage", self._stage_words()))
        if self.arms.changes:
            notes.append(("arms", f"{self.arms.says}; {CHANGED_ARMS}"))
        if self.arms.renamings:
            notes.append(("names", self.arms.renamed))
        return dataclasses.replace(told, notes=tuple(notes))

    @property
    def so_far(self) -> str:
        return counted(self.decisions, "slate")

    # Snapshots

    def _blobs(self) -> dict[str, Callable[[], list[bytes]]]:
        content = self.player.content()
        return {"slates": lambda: [json.dumps(content, separators=(",", ":")).encode()]}

    def _recover(self, blobs: dict[str, bytes]) -> None:
        self.player = resumed(json.loads(blobs["slates"]))
        self.player.resumed = False  # opening a store begins an epoch with fresh entropy
        self.pending = {move.round: move for move in self.player.open_moves}

    def digest(self) -> bytes:
        return json.dumps(self.player.content(), sort_keys=True).encode()


def slate_act(stored: StoredSlates, move: SlateMove) -> SlateAct:
    """Return the record of a slate."""
    chance = math.nan if move.probability is None else move.probability
    return SlateAct(stored.number, 0, move.round, Slate(move.action, move.probabilities, chance))


def _same(one: SlateAct, other: SlateAct) -> bool:
    """Return whether two records are equal; an unknown probability, NaN, equals itself."""
    if math.isnan(one.slate.probability) and math.isnan(other.slate.probability):
        one, other = (two._replace(slate=two.slate._replace(probability=0.0)) for two in (one, other))
    return one == other
