"""Learners with a memory that play a bandit: their arms may have names, `UCB1(["red", "blue"])`."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any, ClassVar

from hannan.frozen import frozen
from hannan.learners.arms import name_arms
from hannan.learners.memory import Remembered

if TYPE_CHECKING:
    from hannan.learners.arms import Arms


@frozen(repr=False)
class NamedArms(Remembered):
    """A bandit with a memory: `n` is a count or the names of its arms, which `arms` then has.

    A subclass says `n: Arms` again: of an inherited frozen field mypy knows what goes in and not what comes out.
    """

    n: Arms
    arms: tuple[str, ...] | None = field(default=None, repr=False, kw_only=True)

    setting: ClassVar[str] = "bandit"

    def __post_init__(self) -> None:
        name_arms(self)
        super().__post_init__()

    def _said(self, name: str) -> Any:
        return list(self.arms) if name == "n" and self.arms else super()._said(name)
