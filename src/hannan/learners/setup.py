"""A learner as the engine takes it: plain fields, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from hannan.mathematics.bounds import Units
from hannan.validation import Array

Weigh = Callable[[Array, float, bool], tuple[Array, float]]


class Program(NamedTuple):
    """What a learner is to the engine. `smoothing` has `kernel`, its name there ("" for a law of the user's own), and
    `kernel_parameters`; the scale is c sqrt(a + b t + d own).

    Tuned clipping has kappa > 0 and the smoothing's rate h: a = min(1/2, kappa (1 + own)^(-1/3)),
    eps = 2 a^2 / (K - 1), rho = a / (K - 1), scale = h / eps.
    """

    setting: str
    n: int
    smoothing: Any
    schedule: Any
    loss_range: tuple[float, float] = (0.0, 1.0)
    gains: bool = False
    actions: int = 0
    #: Name of the rule in the engine, or the callback of a user-defined estimator.
    estimator: Any = "importance_weighted"
    estimator_parameter: float = 0.0
    clip: float = 0.0
    kappa: float = 0.0
    rate: float = 1.0
    log_prior: Array | None = None
    gamma: float = 1.0
    own_noise: bool = False
    #: Whether losses are played as they are, in whatever units: no range normalises them.
    as_they_are: bool = False
    #: Whether L estimates the losses of every arm, so that own loss - min L estimates the regret.
    estimates: bool = True

    @property
    def stepped(self) -> bool:
        """Whether games are made of a player's steps, one by one."""
        return False

    @property
    def calls_python(self) -> bool:
        """True if a round calls a user-defined regularizer or estimator."""
        smoothing = self.smoothing
        return callable(self.estimator) or not (smoothing.kernel or smoothing.perturbation)

    @property
    def low(self) -> float:
        return self.loss_range[0]

    @property
    def high(self) -> float:
        return self.loss_range[1]

    @property
    def units(self) -> Units:
        """Between the user's losses and those that are played."""
        return Units(0.0, 1.0, self.gains) if self.as_they_are else Units.of(self.loss_range, self.gains)

    def setup(self) -> Any:
        """The engine's own, checked."""
        from hannan import _engine

        kernel, law, table = self.smoothing.kernel, None, None
        if not kernel:
            found = self.smoothing.tabulated()
            kernel, table = ("table", found.table) if found is not None else ("foreign", None)
            law = by_gradient(self.smoothing) if found is None else None
        schedule, rule = self.schedule, self.estimator
        return _engine.Setup(
            setting=getattr(_engine.Setting, self.setting),
            n=self.n,
            actions=self.actions or self.n,
            weigher=weigher(kernel),
            parameters=[float(x) for x in self.smoothing.kernel_parameters],
            schedule=(float(schedule.c), float(schedule.a), float(schedule.b), float(schedule.d)),
            estimator=_engine.Estimator.foreign if callable(rule) else getattr(_engine.Estimator, rule),
            estimator_parameter=float(self.estimator_parameter),
            low=float(self.low),
            high=float(self.high),
            gains=self.gains,
            clip=float(self.clip),
            kappa=float(self.kappa),
            rate=float(self.rate),
            gamma=float(self.gamma),
            log_prior=[] if self.log_prior is None else [float(x) for x in self.log_prior],
            law=law,
            table=table,
            estimate=rule if callable(rule) else None,
        )


def weigher(kernel: str) -> Any:
    """Return the member of the engine's enums with this name: a smoothing, or a learner with a memory or counts."""
    from hannan import _engine

    kinds = (_engine.Smoothing, _engine.Memory, _engine.Counter)
    return next(kind.__members__[kernel] for kind in kinds if kernel in kind.__members__)


class SteppedProgram(Program):
    """Of a player that moves by itself, with the tickets and the stream of the engine's."""

    stepped = True


def by_gradient(smoothing: Any) -> Weigh:
    """A smoothing that the engine does not know, as it asks for it: p and, where wanted, Phi at L and a scale."""
    from hannan.mathematics.potentials import potential

    def weigh(losses: Array, scale: float, valued: bool) -> tuple[Array, float]:
        phi = potential(smoothing, scale)
        p = np.maximum(phi.gradient(losses), 0.0)
        return np.ascontiguousarray(p), float(phi.value(losses)) if valued else 0.0

    return weigh
