"""A learner as numbers: what the compiled steps and games take."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hannan.kernels import state as slots

Array = NDArray[np.float64]
SETTINGS = {"experts": slots.EXPERTS, "bandit": slots.BANDIT, "expert_bandit": slots.EXPERT_BANDIT}


#: Estimators that the compiled steps know.
ESTIMATORS = (
    slots.IMPORTANCE_WEIGHTED,
    slots.GEOMETRIC,
    slots.CONDITIONAL,
    slots.REDUCED_VARIANCE,
    slots.IMPLICIT,
)


class Program(NamedTuple):
    """A learner as the compiled steps take it: numbers, and an array or None."""

    setting: str
    n: int
    actions: int
    code: int
    parameters: tuple[float, ...]
    c: float
    a: float
    b: float
    d: float
    estimator: int
    estimator_parameter: float
    low: float
    high: float
    gains: bool
    clip: float
    kappa: float
    rate: float
    log_prior: Array | None
    gamma: float

    @property
    def is_constant(self) -> bool:
        """Whether the scale never changes."""
        return self.b == 0.0 and self.d == 0.0 and self.kappa == 0.0

    @property
    def path(self) -> int:
        """How the weights are kept."""
        if self.code == 0:
            if not self.is_constant:
                return slots.ENTROPY
            return slots.ENTROPY_ONE if self.setting == "bandit" else slots.ENTROPY_TIMES
        if self.code == 1 and self.parameters[0] == 0.5:
            return slots.TSALLIS_HALF
        return slots.POINTER


def program(
    setting: str,
    n: int,
    smoothing: Any,
    schedule: Any,
    loss_range: tuple[float, float] = (0.0, 1.0),
    gains: bool = False,
    *,
    actions: int = 0,
    estimator: int = 0,
    estimator_parameter: float = 0.0,
    clip: float = 0.0,
    kappa: float = 0.0,
    rate: float = 1.0,
    log_prior: Array | None = None,
    gamma: float = 1.0,
) -> Program:
    """The program of a learner; `schedule` has the tuning's c, a, b, d, `smoothing` its kernel code.

    Tuned clipping has kappa > 0 and the smoothing's rate h: a = min(1/2, kappa (1 + own)^(-1/3)),
    eps = 2 a^2 / (K - 1), rho = a / (K - 1), scale = h / eps.
    """
    if setting not in SETTINGS:
        raise ValueError(f"setting must be one of {', '.join(SETTINGS)}; got {setting!r}")
    if estimator not in ESTIMATORS:
        raise ValueError(f"estimator must be one of the codes {ESTIMATORS}; got {estimator!r}")
    if log_prior is not None and smoothing.kernel_code != 0:
        raise ValueError(f"a prior needs Entropy or Gumbel; got {smoothing!r}")
    return Program(
        setting,
        int(n),
        int(actions) if setting == "expert_bandit" else int(n),
        int(smoothing.kernel_code),
        tuple(float(x) for x in smoothing.kernel_parameters),
        float(schedule.c),
        float(schedule.a),
        float(schedule.b),
        float(schedule.d),
        int(estimator),
        float(estimator_parameter),
        float(loss_range[0]),
        float(loss_range[1]),
        bool(gains),
        float(clip),
        float(kappa),
        float(rate),
        log_prior,
        float(gamma),
    )


def pointer(program: Program) -> int:
    """The address of the smoothing's C function; 0 where the steps have their own."""
    if program.path != slots.POINTER:
        return 0
    if program.code < 0:
        raise ValueError("a smoothing without a compiled kernel is played by its own player")
    if program.code >= 20:
        from hannan.kernels import remembering

        return int(remembering.pointer(program.code))
    if program.code < 10:
        from hannan.kernels import regularized

        return int(regularized.pointer(program.code))
    from hannan.kernels import perturbed

    return int(perturbed.pointer(program.code))


def memory_size(code: int, n: int) -> int:
    """How many numbers a learner with a memory keeps besides L and w."""
    from hannan.kernels import remembering

    return remembering.size(code, n)


def remember(state: Array, code: int, n: int, seed: Any, run: int) -> None:
    """The memory before the first move."""
    from hannan.kernels import remembering

    remembering.begin(state, code, n, seed, run)
