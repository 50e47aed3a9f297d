"""The live player of a bandit with `ReducedVariance`: a late loss meets the baselines of its own ticket."""

from __future__ import annotations

from typing import Any

from hannan import refusals, saving, told
from hannan.kernels.state import SCRATCH
from hannan.live import BanditPlayer
from hannan.moves import Move
from hannan.refusals import Array


class BaselinePlayer(BanditPlayer):
    """Plays `Bandit` with baselines: those of the last move are in the state, the others' are kept."""

    __slots__ = ("_kept",)

    def _bind(self) -> None:
        super()._bind()
        self._kept: dict[int, Array] = {}

    @property
    def _baselines(self) -> Array:
        first = int(self._state[SCRATCH])
        return self._state[first : first + self._n]

    def _keep(self) -> None:
        """Copy the baselines of the last move, if it is open and the state alone has them."""
        if self._round in self._open and self._round not in self._kept:
            self._kept[self._round] = self._baselines.copy()

    def act(self, awake: Any = None) -> Move:
        """Draw an arm."""
        if self._open and awake is None:
            self._keep()
        return super().act(awake)

    def observe(self, move: Move, loss: Any) -> None:
        """Settle a move with the loss of its arm."""
        self._ticket(move)
        loss = self._scalar(loss)
        number = move[1]
        if number in self._kept:
            self._keep()
            self._baselines[:] = self._kept.pop(number)
        super().observe(move, loss)

    def forget(self, move: Move) -> None:
        super().forget(move)
        self._kept.pop(move[1], None)

    def _content(self) -> dict[str, Any]:
        kept = [[number, saving.to_hex(b)] for number, b in self._kept.items()]
        return {**super()._content(), "kept": kept}

    def _resume(self, content: dict[str, Any]) -> None:
        super()._resume(content)
        for item in told.items(content["kept"], "kept baselines"):
            number, b = told.items(item, "kept baselines", 2)
            if number not in self._open:
                raise ValueError(f"its kept baselines must be of open moves; got {refusals.brief(number)}")
            self._kept[number] = told.numbers(b, self._n, "kept baselines", -1e30, 1e30)
