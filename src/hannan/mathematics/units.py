"""Units: a user's losses or gains in any range, and losses in [0, 1], in which everything is computed and proved."""

from __future__ import annotations

from typing import Any, NamedTuple


class Units(NamedTuple):
    """loss in [0, 1] = (value - zero)/width, of gains (zero - value)/width: `zero` is the best value there is.

    >>> rewards = Units.of((0.0, 5.0), gains=True)
    >>> rewards.normal(12.0, rounds=4), rewards.total(1.6, rounds=4)
    (1.6, 12.0)
    """

    zero: float
    width: float
    gains: bool

    @property
    def plain(self) -> bool:
        """Whether these are losses in [0, 1] themselves: they are handed on, not copied."""
        return self == (0.0, 1.0, False)

    @classmethod
    def of(cls, loss_range: tuple[float, float], gains: bool) -> Units:
        """Those of a range; gains are best at its upper end."""
        low, high = loss_range
        return cls(high if gains else low, high - low, gains)

    def lost(self, total: Any, rounds: Any) -> Any:
        """How much a cumulative loss (or gain) is worse than the best possible, in the user's units."""
        return self.zero * rounds - total if self.gains else total - self.zero * rounds

    def normal(self, total: Any, rounds: Any) -> Any:
        """A cumulative loss (or gain) of the user's, as one of losses in [0, 1]."""
        return total if self.plain else self.lost(total, rounds) / self.width

    def total(self, normal: Any, rounds: Any) -> Any:
        """A cumulative loss of losses in [0, 1], as a loss (or gain) in the user's units."""
        if self.plain:
            return normal
        more = normal * self.width
        return self.zero * rounds - more if self.gains else self.zero * rounds + more
