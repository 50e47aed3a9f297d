"""Steps by the gradient, for a smoothing without a compiled kernel: the same state, slower, as right.

The functions have the names, arguments and results of `hannan.kernels.steps`, so a player cannot tell.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from hannan.estimators import Drawn, ImportanceWeighted
from hannan.potentials import potential
from hannan.refusals import Array
from hannan.tuning import ClippedSchedule

if TYPE_CHECKING:
    from hannan.learners.learner import Learner

_FINE, _BAD_LOSS = 0, 1
#: Probabilities of the general rule are right to this; below this span their rounding would drown the level.
_ACCURACY, _LEAST_SPAN = 1e-8, 1e-3


class GradientSteps:
    """p = potential(smoothing, scale).gradient(L), one round at a time."""

    def __init__(self, learner: Learner) -> None:
        from hannan.kernels import state, steps, streams

        self._slots, self._kernel_steps, self._streams = state, steps, streams
        self._learner: Any = learner
        self._program = learner.program()
        self._schedule = learner.schedule()
        self._n = self._program.n
        self._estimator = getattr(learner, "estimator", ImportanceWeighted())

    def new_state(self, seed: int) -> Array:
        """The state of a run before its first move, laid out as a compiled one's."""
        stand_in = self._program._replace(code=0, parameters=())
        state: Array = self._kernel_steps.new_state(stand_in, seed)
        self._weigh(state, state[self._slots.SCALE], True)
        state[self._slots.START] = state[self._slots.VALUE]
        return state

    # The parts of a step

    def _losses(self, state: Array) -> Array:
        return state[self._slots.HEADER : self._slots.HEADER + self._n]

    def _weights(self, state: Array) -> Array:
        first = self._slots.HEADER + self._n
        return state[first : first + self._n]

    def _weigh(self, state: Array, scale: float, value: bool) -> None:
        """Weights for L at a scale, and VALUE where it is asked for."""
        phi = potential(self._learner.smoothing, float(scale))
        losses = self._losses(state).copy()
        p = np.maximum(phi.gradient(losses), 0.0)
        self._weights(state)[:] = p
        state[self._slots.TOTAL] = p.sum()
        state[self._slots.SCALE] = scale
        if value:
            state[self._slots.VALUE] = phi.value(losses)

    def _uniform(self, state: Array) -> Callable[[], float]:
        out = np.empty(1)

        def draw() -> float:
            self._streams.uniforms(state, self._slots.STREAM, out)
            return float(out[0])

        return draw

    def _next_scale(self, state: Array) -> float:
        slots = self._slots
        return self._schedule.scale(int(state[slots.ROUND]) + 1, float(state[slots.OWN]))

    def _rescale(self, state: Array, diagnose: bool) -> None:
        slots, scale = self._slots, self._next_scale(state)
        if scale != state[slots.SCALE]:
            before = state[slots.VALUE]
            self._weigh(state, scale, diagnose)
            if diagnose:
                state[slots.CHANGE] += before - state[slots.VALUE]

    def _settle(self, state: Array, step: Array, paid: float, span: float, diagnose: bool) -> None:
        """L += step; the weights of the next round; the terms of the master identity and the level."""
        slots = self._slots
        before, value = self._weights(state) / state[slots.TOTAL], state[slots.VALUE]
        self._losses(state)[:] += step
        if not diagnose:
            self._weigh(state, self._next_scale(state), False)
            return
        self._weigh(state, state[slots.SCALE], True)
        state[slots.DRIFT] += paid - (state[slots.VALUE] - value)
        if span >= _LEAST_SPAN:
            after = self._weights(state) / state[slots.TOTAL]
            seen = (before > _ACCURACY) & (after > _ACCURACY)
            # What is left when the quadrature took its error both ways: no step is charged with that.
            gap = np.log((before[seen] - _ACCURACY) / (after[seen] + _ACCURACY))
            state[slots.LEVEL] = max(state[slots.LEVEL], float(gap.max()) / span)
        self._rescale(state, True)

    def _pick(self, masses: Array, u: float) -> int:
        edges = np.cumsum(masses)
        drawn = int(np.searchsorted(edges, u * edges[-1], side="right"))
        return min(drawn, int(np.flatnonzero(masses)[-1]))

    def _normal(self, state: Array, loss: Any) -> Any:
        return (loss - state[self._slots.ORIGIN]) * state[self._slots.SLOPE]

    # The steps themselves

    def begin(self, state: Array, pointer: None) -> int:
        """Weights and VALUE for the losses of a state."""
        self._weigh(state, float(state[self._slots.SCALE]), True)
        return _FINE

    def make_ready(self, state: Array, pointer: None, diagnose: bool) -> int:
        """Bring the weights to the scale of the round to be played."""
        self._rescale(state, diagnose)
        return _FINE

    def _draw(self, state: Array, masses: Array) -> int:
        slots = self._slots
        action = self._pick(masses, self._uniform(state)())
        state[slots.PROBABILITY] = masses[action] / masses.sum()
        state[slots.ROUND] += 1.0
        return action

    def experts_act(self, state: Array, pointer: None, diagnose: bool) -> int:
        """Draw an expert."""
        self._rescale(state, diagnose)
        return self._draw(state, self._weights(state))

    def experts_observe(self, state: Array, pointer: None, losses: Array, ticket: Array, diagnose: bool) -> int:
        """Add a row of losses; -1, or the index of the first bad one."""
        slots = self._slots
        good = (losses >= state[slots.LOW]) & (losses <= state[slots.HIGH])
        if not good.all():
            return int(np.argmin(good))
        p = ticket if ticket.size else self._weights(state) / state[slots.TOTAL]
        row = self._normal(state, losses)
        own = float(p @ row)
        state[slots.OWN] += own
        self._settle(state, row, own, float(row.max() - row.min()), diagnose)
        return -1

    def bandit_act(self, state: Array, pointer: None, diagnose: bool) -> int:
        """Draw an arm."""
        slots = self._slots
        self._rescale(state, diagnose)
        p = self._weights(state) / state[slots.TOTAL]
        action = self._draw(state, p)
        drawn = Drawn(action, p, self._losses(state), float(state[slots.SCALE]))
        state[slots.WEIGHT] = self._estimator.weight(drawn, self._uniform(state))
        baselines = self._estimator.baselines(drawn)
        if baselines is not None:
            self._baselines(state)[:] = baselines
        return action

    def _baselines(self, state: Array) -> Array:
        first = int(state[self._slots.SCRATCH])
        return state[first : first + self._n]

    def bandit_observe(
        self,
        state: Array,
        pointer: None,
        action: int,
        probability: float,
        weight: float,
        loss: float,
        diagnose: bool,
    ) -> int:
        """Add the loss of a move."""
        if not state[self._slots.LOW] <= loss <= state[self._slots.HIGH]:
            return _BAD_LOSS
        x = float(self._normal(state, loss))
        state[self._slots.OWN] += x
        if state[self._slots.ESTIMATOR] == self._slots.REDUCED_VARIANCE:
            step = self._baselines(state).copy()
            step[action] += (x - step[action]) * weight
            paid = float(self._weights(state) @ step) / float(state[self._slots.TOTAL])
            self._settle(state, step, paid, float(step.max() - step.min()), diagnose)
            return _FINE
        step = np.zeros(self._n)
        step[action] = x * weight
        self._settle(state, step, probability * x * weight, x * weight, diagnose)
        return _FINE

    def expert_bandit_act(self, state: Array, pointer: None, advice: Any, mixed: bool, diagnose: bool) -> int:
        """Draw an action on advice."""
        slots = self._slots
        self._rescale(state, diagnose)
        p = self._weights(state) / state[slots.TOTAL]
        q = p @ self._shares(advice, mixed)
        rho = self._learner.rho
        if isinstance(self._schedule, ClippedSchedule):
            rho = self._schedule.rho(float(state[slots.OWN]))
        kept = q >= rho
        kept[np.argmax(q)] = True
        action = self._draw(state, np.where(kept, q, 0.0))
        state[slots.WEIGHT] = 1.0 / state[slots.PROBABILITY]
        return action

    def expert_bandit_observe(
        self, state: Array, pointer: None, advice: Any, mixed: bool, action: int, probability: float,
        weight: float, loss: float, diagnose: bool,
    ) -> int:  # fmt: skip
        """Add the loss of a move, given the advice it was drawn with."""
        slots = self._slots
        if not state[slots.LOW] <= loss <= state[slots.HIGH]:
            return _BAD_LOSS
        x = float(self._normal(state, loss))
        p = self._weights(state) / state[slots.TOTAL]
        state[slots.OWN] += x
        step = self._shares(advice, mixed)[:, action] * (x * weight)
        self._settle(state, step, float(p @ step), float(step.max() - step.min()), diagnose)
        return _FINE

    def _shares(self, advice: Any, mixed: bool) -> Array:
        """E_ij, the experts' distributions over the actions."""
        actions = self._program.actions
        shares: Array = advice.reshape(self._n, actions) if mixed else np.eye(actions)[advice]
        return shares
