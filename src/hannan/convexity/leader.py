"""The perturbed leader of a convex game: the losses seen, the compiled solver's state, and the argmin.

On a ball, a box and a simplex everything happens in compiled code; a polytope is served here, by linear
programs for linear losses and by Newton steps within the polytope (`active_set`) for the others.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from hannan import saving, told
from hannan.convexity.active_set import newton
from hannan.convexity.descending import NotConverged, descend
from hannan.domains import Domain, Polytope, Simplex
from hannan.losses import Logistic, Loss, RankOne, SmoothedHinge
from hannan.noise import GammaNoise
from hannan.refusals import Array

if TYPE_CHECKING:
    from hannan.kernels.convex import Rules

__all__ = ["Leader", "NotConverged", "columns"]

LINEAR, SQUARED, OWN = 0, 1, 5
_CALLBACK = ctypes.CFUNCTYPE(
    ctypes.c_double,
    ctypes.POINTER(ctypes.c_double),
    ctypes.c_int64,
    ctypes.c_int64,
    ctypes.c_double,
    ctypes.c_int64,
)


def columns(loss: Loss) -> tuple[int, Array, Array]:
    """(code of phi, z, y) as the kernels take them: one row a loss, labels folded into z."""
    z = np.atleast_2d(loss.z)
    if isinstance(loss, (Logistic, SmoothedHinge)):
        return loss.kernel_code, z * np.atleast_1d(loss.y)[:, None], np.zeros(len(z))
    y = np.atleast_1d(getattr(loss, "y", np.zeros(len(z))))
    return loss.kernel_code, np.ascontiguousarray(z), np.ascontiguousarray(y, dtype=np.float64)


class Leader:
    """argmin_X G(x) + <b, x>: `act` draws b and moves (by the rules), `observe` adds a loss to G.

    `drawn(code of the noise, d)`, where it is given, draws in the place of the state's own stream; what it
    drew is never part of the state, which may be saved. `output` is the scale of the Gamma noise that is
    added to a move before it is projected.
    """

    def __init__(
        self, domain: Domain, rules: Rules | None = None, seed: int = 0, run: int = 0,
        output: float = 0.0, drawn: Callable[[int, int], Array] | None = None,
    ) -> None:  # fmt: skip
        from hannan.kernels import convex, convex_sets, streams

        self.domain, self.rules, d = domain, rules, domain.d
        low, high = domain.box
        if isinstance(domain, Simplex):
            low, high = np.zeros(d), np.full(d, np.inf)
        self.region = convex_sets.Region(domain.kernel_code, domain.center, domain.radius, low, high)
        self.state = np.zeros(convex.HEADER + 3 * d)
        self.state[convex.STREAM : convex.STREAM + 4].view(np.uint64)[:] = streams.words(seed, run)
        self.model = convex.new_model(d)
        self._q, self._Q, self._count = np.zeros(d), np.zeros((0, 0)), np.zeros(2, dtype=np.int64)
        self._Z, self._y = np.zeros((d, 16)), np.zeros(16)
        self._family, self._parameter = LINEAR, 0.0
        self._targets = 0.0  # sum of y^2/2 of the squared losses
        self._own: RankOne | None = None
        self._callback: Any = None
        self._error: BaseException | None = None
        self._output, self._drawn = output, drawn
        self._kept: Array | None = None

    # Compiled code is imported when it is needed, and is no part of a leader's state.

    @property
    def _convex(self) -> Any:
        from hannan.kernels import convex

        return convex

    @property
    def _sums(self) -> Any:
        from hannan.kernels import convex_sums

        return convex_sums

    # What was seen

    @property
    def curved(self) -> int:
        """How many losses were not linear."""
        return int(self._count.sum())

    @property
    def sums(self) -> Any:
        """The losses seen, as the kernels take them."""
        address = 0 if self._callback is None else ctypes.cast(self._callback, ctypes.c_void_p).value or 0
        return self._sums.Losses(
            self._family, self._parameter, address, self._Z, self._y, self._q, self._Q, self._count
        )

    def prepare(self, loss: Loss, more: int = 1) -> None:
        """Make room for `more` losses of a kind, or refuse the kind."""
        code = loss.kernel_code
        if code == SQUARED and not self._Q.size:
            self._Q = np.zeros((self.domain.d, self.domain.d))
        if code in (LINEAR, SQUARED):
            return
        parameter = float(getattr(loss, "parameter", 0.0))
        own = loss if isinstance(loss, RankOne) else None
        if self._family == LINEAR:
            self._family, self._parameter, self._own = code, parameter, own
            self._callback = None if own is None else _CALLBACK(self._slopes)
        same = own is None or (self._own is not None and own.derivative is self._own.derivative)
        if (code, parameter) != (self._family, self._parameter) or not same:
            raise ValueError(
                "one player takes one kind of loss that is neither linear nor squared; "
                f"got {type(loss).__name__} after another"
            )
        needed = int(self._count[0]) + more
        if needed > self._y.size:
            size = max(2 * self._y.size, needed)
            Z, y = np.zeros((self.domain.d, size)), np.zeros(size)
            Z[:, : self._y.size], y[: self._y.size] = self._Z, self._y
            self._Z, self._y = Z, y

    def _slopes(self, buffer: Any, size: int, m: int, _: float, curved: int) -> float:
        """phi' (and phi'') of a user's own phi at a block of margins; NaN tells the kernel of an exception."""
        block = self._sums.BLOCK
        work = np.ctypeslib.as_array(buffer, (size,))
        u = work[:m].copy()
        own = self._own
        assert own is not None
        try:
            work[block : block + m] = own.slope(u)
            if curved:
                work[2 * block : 2 * block + m] = own.bend(u)
        except BaseException as error:
            self._error = error
            return float("nan")
        return 0.0 if np.isfinite(work[block : block + m]).all() else float("nan")

    # Moves

    @property
    def stepped(self) -> bool:
        """Whether its games are played here, one round at a time."""
        return self.domain.kernel_code < 0 or self._output > 0.0 or self._drawn is not None

    def act(self) -> tuple[Array, float]:
        """Draw the round's noise and move: (x, the largest distance from the exact argmin)."""
        if self._drawn is not None:
            x, distance = self._act_by_drawn()
        elif self.domain.kernel_code < 0:
            x, distance = self._act_in_polytope()
        else:
            x, distance = self._act_compiled()
        return (x, distance) if self._output == 0.0 else self._hidden(x, distance)

    def _hidden(self, x: Array, distance: float) -> tuple[Array, float]:
        """The move with output noise, and the distance that was promised of the solver: what it left would tell."""
        assert self.rules is not None
        d, convex = self.domain.d, self._convex
        if self._drawn is not None:
            w = self._drawn(GammaNoise.kernel_code, d)
        else:
            from hannan.kernels.convex_noise import draws

            out = np.empty((1, d))
            draws(GammaNoise.kernel_code, self.state[convex.STREAM : convex.STREAM + 4], out)
            w = out[0]
        # On average the move is so far from the argmin: r + E||w||.
        self.state[convex.DISTANCE] += self.rules.accuracy + d * self._output - distance
        return self.domain.project(x + self._output * w), self.rules.accuracy

    def _act_by_drawn(self) -> tuple[Array, float]:
        """A move whose noise comes from outside; it is not written to the state, which may be saved."""
        assert self.rules is not None
        assert self._drawn is not None
        convex, state, rules = self._convex, self.state, self.rules
        state[convex.ROUND] += 1.0
        own = rules.d * state[convex.OWN_LOSS]
        state[convex.SCALE] = rules.c * math.sqrt(rules.a + rules.b * state[convex.ROUND] + own)
        b = self._drawn(rules.noise, self.domain.d) if self._kept is None else self._kept
        self._kept = None if rules.fresh else b
        ridge = float(convex.ridge_of(rules, self.curved, state[convex.SCALE]))
        if ridge == 0.0:
            self.move[:] = self.domain.argmin(self._q + state[convex.SCALE] * b)
            return self.move.copy(), 0.0
        start = self.move.copy() if state[convex.RIDGE] > 0.0 else self.domain.center
        state[convex.RIDGE] = ridge
        x, left = self.surely(state[convex.SCALE] * b, ridge, rules.accuracy * ridge, start)
        self.move[:] = x
        state[convex.LAST] = left / ridge
        state[convex.DISTANCE] += left / ridge
        state[convex.FARTHEST] = max(state[convex.FARTHEST], left / ridge)
        return x, left / ridge

    def _act_compiled(self) -> tuple[Array, float]:
        none, row = np.zeros(0), np.zeros((1, self.domain.d))
        status = self._convex.curved_game(
            self.rules, self.region, self.sums, self.state, self.model, 0,
            row, row[0], none.astype(np.int64), none, row[:0], False,
        )  # fmt: skip
        distance = float(self.state[self._convex.LAST])
        self.judge(status, distance)
        return self.move.copy(), distance

    @property
    def move(self) -> Array:
        """The last move, a view."""
        return self.state[self._convex.HEADER : self._convex.HEADER + self.domain.d]

    def play(self, losses: Loss) -> Array:
        """Move and observe through a sequence of losses: the moves."""
        code, z, y = columns(losses)
        moves = np.zeros(z.shape)
        if self.stepped:
            for t, loss in enumerate(losses):
                moves[t], _ = self.act()
                self.observe(moves[t], loss)
            return moves
        self.prepare(losses, len(z))
        if code == SQUARED:
            self._targets += 0.5 * float(y @ y)
        none = np.zeros(0)
        status = self._convex.curved_game(
            self.rules, self.region, self.sums, self.state, self.model, code, z, y, none.astype(np.int64), none,
            moves, True,
        )  # fmt: skip
        self.judge(status, float(self.state[self._convex.LAST]))
        return moves

    def observe(self, x: Array, loss: Loss) -> float:
        """Add a loss to the sum, and its value at x to the player's own loss."""
        code, z, y = columns(loss)
        self.prepare(loss)
        if isinstance(loss, RankOne):
            y = np.atleast_1d(loss.value(x))
        if code == SQUARED:
            self._targets += 0.5 * float(y[0]) ** 2
        return float(self._convex.observe_once(self.sums, self.state, x, code, z[0], float(y[0])))

    def absorb(self, losses: Loss) -> None:
        """Add a sequence of losses to the sum, and to nothing else."""
        code, z, y = columns(losses)
        self.prepare(losses, len(z))
        for row, target in zip(z, y, strict=True):
            if code == SQUARED:
                self._targets += 0.5 * float(target) ** 2
            self._convex.include_once(self.sums, code, row, float(target))

    def minimise(self, noise: Array, ridge: float, tolerance: float, start: Array | None = None) -> tuple[Array, float]:
        """(argmin_X G + <noise, x> + (ridge/2)||x - center||^2, its residual); apart from the game's state."""
        if self.curved == 0 and ridge == 0.0:
            return self.domain.argmin(self._q + noise), 0.0
        x = np.array(self.domain.center if start is None else start)
        if self.domain.kernel_code < 0:
            return self._newton(x, noise, ridge, tolerance)
        model, state = self._convex.new_model(self.domain.d), np.zeros(self._convex.HEADER)
        status, left = self._convex.leader(self.region, self.sums, ridge, tolerance, noise, x, state, model)
        self.judge(status, left)
        return x, float(left)

    def surely(self, noise: Array, ridge: float, tolerance: float, start: Array) -> tuple[Array, float]:
        """`minimise`, and where Newton steps give up, accelerated gradient steps for as long as it takes.

        A refusal to move would tell of the losses. The objective is strongly convex, so the steps converge;
        only a tolerance below the rounding of the gradient stops them.
        """
        try:
            return self.minimise(noise, ridge, tolerance, start)
        except NotConverged:
            center = self.domain.center
            return descend(
                lambda x: self.slope(x) + noise + ridge * (x - center), self.domain.project, ridge, tolerance, start
            )

    # Hindsight

    @property
    def linear(self) -> Array:
        """The sum of the linear losses (and of the linear parts of the squared ones)."""
        return self._q

    def hindsight_ridge(self) -> tuple[float, float]:
        """(ridge, tolerance) without noise: as small as the solver can do; the gap that is left is measured."""
        size = float(self.curved) + float(np.abs(self._q).sum()) + float(np.abs(self._Q).sum())
        return (1e-11 * size, 1e-11 * size) if self.domain.kernel_code >= 0 else (1e-6 * size, 1e-9 * size)

    def slope(self, x: Array) -> Array:
        """grad G(x), without ridge."""
        g, d = np.zeros(self.domain.d), self.domain.d
        if not self._sums.gradient(
            self.sums, self.domain.center, 0.0, np.zeros(d), x, g, np.zeros(3 * self._sums.BLOCK)
        ):
            self.judge(self._convex.FAILED, np.inf)
        return g

    def value(self, x: Array) -> float:
        """G(x), without ridge and without the user's own losses; squared ones include their targets."""
        return float(self._sums.value(self.sums, x)) + self._targets

    def judge(self, status: int, left: float) -> None:
        """Raise unless a move is fine."""
        error, self._error = self._error, None
        if error is not None:
            raise error
        if status == self._convex.FAILED:
            raise ValueError("phi' must be finite on the domain; the derivative given is not")
        if status != self._convex.FINE:
            raise NotConverged(f"the solver must converge to make a move; it is {left:.3g} from the argmin")

    # Saving

    def content(self) -> dict[str, Any]:
        """Everything that is needed to go on later, bit for bit, as JSON data."""
        n = int(self._count[0])
        arrays = {name: getattr(self, name) for name in ("_q", "_Q", "state")} | {
            "_Z": self._Z[:, :n],
            "_y": self._y[:n],
            **{name: getattr(self.model, name) for name in ("H", "diagonal", "beside", "mirrors")},
        }
        return {
            "kind": [self._family, self._count.tolist()],
            "numbers": saving.to_hex(np.array([self._parameter, self._targets])),
            "arrays": {name: saving.to_hex(np.ascontiguousarray(array)) for name, array in arrays.items()},
        }

    def resume(self, content: dict[str, Any]) -> None:
        """Go on from `content`."""
        d, texts, convex = self.domain.d, content["arrays"], self._convex
        family, counts = told.items(content["kind"], "kind of losses", 2)
        self._family = told.whole(family, "kind of losses", 0, OWN - 1)
        # Squared losses have a sum of their own, and no row.
        curved, squared = told.items(counts, "counts of losses", 2)
        size = len(told.text(texts["_y"], "losses")) // 16
        if self._family in (LINEAR, SQUARED) and (self._family == SQUARED or curved != 0):
            raise ValueError(f"its losses must be of a kind that has rows, or none; got kind {self._family}")
        self._count[:] = told.whole(curved, "losses", size, size), told.whole(squared, "squared losses")
        self._parameter, self._targets = told.numbers(content["numbers"], 2, "parameters", 0.0).tolist()
        if self._family in (LINEAR, 2) and self._parameter != 0.0:
            raise ValueError(f"its losses must have no parameter, of kind {self._family}; got {self._parameter}")
        self._q = told.numbers(texts["_q"], d, "sum of linear losses")
        if squared or texts["_Q"]:
            self._Q = told.numbers(texts["_Q"], d * d, "sum of squared losses").reshape(d, d)
        self._Z = np.ascontiguousarray(told.numbers(texts["_Z"], d * size, "losses").reshape(d, size))
        self._y = told.numbers(texts["_y"], size, "losses")
        for name in ("H", "diagonal", "beside", "mirrors"):
            kept = getattr(self.model, name)
            kept[...] = told.numbers(texts[name], kept.size, "model of the losses").reshape(kept.shape)
        state = told.bits(texts["state"], self.state.size, "state")
        stream = slice(convex.STREAM, convex.STREAM + 4)
        loose = state.copy()
        loose[stream] = 0.0
        told.within(loose, "state")
        told.within(np.delete(loose[: convex.HEADER], convex.OWN_LOSS), "state", 0.0)
        told.within(loose[[convex.MODELLED]], "state", 0.0, 1.0 + float(self._count.sum()))
        if not state[stream].view(np.uint64).any():
            raise ValueError("its random stream must not be four zeros, which it never leaves; it is")
        self.state.view(np.uint64)[:] = state.view(np.uint64)

    # Polytopes

    def _act_in_polytope(self) -> tuple[Array, float]:
        convex, d, state = self._convex, self.domain.d, self.state
        convex.perturb_once(self.rules, state, d)
        noise = state[convex.HEADER + 2 * d :]
        ridge = convex.ridge_of(self.rules, self.curved, state[convex.SCALE])
        if ridge == 0.0:
            self.move[:] = self.domain.argmin(self._q + noise)
            return self.move.copy(), 0.0
        state[convex.RIDGE] = ridge
        start = self.domain.argmin(self._q + noise)
        assert self.rules is not None
        x, left = self._newton(start, noise, ridge, self.rules.accuracy * ridge)
        self.move[:] = x
        state[convex.DISTANCE] += left / ridge
        state[convex.FARTHEST] = max(state[convex.FARTHEST], left / ridge)
        return x.copy(), left / ridge

    def _newton(self, x: Array, noise: Array, ridge: float, tolerance: float) -> tuple[Array, float]:
        """Newton steps in a polytope."""
        domain, work = self.domain, np.zeros(3 * self._sums.BLOCK)
        assert isinstance(domain, Polytope)

        def slope(x: Array) -> Array:
            return self.slope(x) + noise + ridge * (x - domain.center)

        def hessian(x: Array) -> Array:
            H = np.zeros((domain.d, domain.d))
            self._sums.hessian(self.sums, ridge, x, H, work)
            return H

        return newton(*domain.rows, slope, hessian, tolerance, domain.project(x))
